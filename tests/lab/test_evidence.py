"""Counts against laws: SciPy's tests where they have one, and simulations where nobody has."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from goodness import fits
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import fractions
from scipy import stats
from strategies import law_pairs

from lab.errors import LabError, LengthError
from lab.evidence import (
    LEAST_EXPECTED,
    LEVEL,
    MOST_DRAWS,
    POWER,
    chi_square,
    draw_counts,
    draws_needed,
    interval,
    power,
    share_draws_needed,
    share_p_value,
)

EVEN = fractions("1/2 1/2")


@st.composite
def counted_laws(draw, least=1):
    """A law without much of a shape, and counts of it; some masses and counts are 0."""
    n = draw(st.integers(least, 8))
    parts = st.one_of(st.integers(0, 3), st.integers(0, 1000))
    weights = draw(st.lists(parts, min_size=n, max_size=n).filter(any))
    law = tuple(Fraction(w, sum(weights)) for w in weights)
    tops = draw(st.sampled_from([3, 60, 2000]))
    counts = draw(st.lists(st.integers(0, tops), min_size=n, max_size=n).filter(any))
    return counts, law


# ---------------------------------------------------------------- the chi-square test


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(5, 9)), min_size=2, max_size=9))
@settings(max_examples=60)
def test_without_pooling_it_is_scipys(rows):
    counts, weights = zip(*rows, strict=True)
    total = sum(counts)
    law = tuple(Fraction(w, sum(weights)) for w in weights)
    if not total or min(law) * total < LEAST_EXPECTED:
        return
    wanted = stats.chisquare(counts, [float(mass * total) for mass in law])
    found = chi_square(counts, law)
    assert found.statistic == pytest.approx(wanted.statistic, rel=1e-9, abs=1e-12)
    assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-9, abs=1e-300)
    assert (found.count, found.bins, found.freedom) == (total, len(counts), len(counts) - 1)
    assert (found.pooled, found.impossible) == (0, ())
    assert found.fails == (wanted.pvalue < 0.01)


def pooled_by_hand(counts, law):
    """Bins as (seen, expected): the rarest together until 5 are expected, each other alone."""
    total = sum(counts)
    rows = sorted((mass * total, c) for c, mass in zip(counts, law, strict=True) if mass)
    rare = [row for row in rows if row[0] < LEAST_EXPECTED]
    rest = rows[len(rare) :]
    if rare and sum(due for due, _ in rare) < LEAST_EXPECTED and rest:
        # Several may be expected equally often: which of them is taken makes no difference to
        # how many bins there are, and the test takes the first.
        rare.append(rest.pop(0))
    bins = [(sum(c for _, c in rare), sum(due for due, _ in rare))] if rare else []
    return bins + [(c, due) for due, c in rest], len(rare) if len(rare) > 1 else 0


@given(counted_laws())
@settings(max_examples=120)
@example(([1, 2], EVEN))
@example(([3, 0, 0], fractions("0 1/2 1/2")))
def test_pooling(counted):
    counts, law = counted
    total = sum(counts)
    dues = sorted(mass * total for mass in law)
    if LEAST_EXPECTED in dues or sum(due for due in dues if due < LEAST_EXPECTED) == LEAST_EXPECTED:
        return  # exactly 5, which a float may miss; see the worked pooling below
    found = chi_square(counts, law)
    bins, pooled = pooled_by_hand(counts, law)
    assert found.count == total
    assert found.bins == len(bins) == found.freedom + 1
    assert found.pooled == pooled
    # All that is possible is in a bin, and each is large enough or the only one.
    assert sum(due for _, due in bins) == total
    assert all(due >= LEAST_EXPECTED for _, due in bins) or len(bins) == 1
    assert found.impossible == tuple(
        i for i, (c, mass) in enumerate(zip(counts, law, strict=True)) if c and not mass
    )
    if found.impossible:
        assert (found.statistic, found.p_value, found.fails) == (math.inf, 0, True)
        return
    assert sum(seen for seen, _ in bins) == total
    if len({mass for mass in law if mass}) < sum(1 for mass in law if mass):
        return  # of tokens that are expected equally often either may be pooled
    statistic = sum((seen - due) ** 2 / due for seen, due in bins)
    assert found.statistic == pytest.approx(float(statistic), rel=1e-9, abs=1e-12)
    if len(bins) == 1:
        assert (found.p_value, found.fails) == (1, False)
    else:
        wanted = stats.chi2.sf(float(statistic), len(bins) - 1)
        assert found.p_value == pytest.approx(wanted, rel=1e-6, abs=1e-300)


@given(counted_laws(least=2), st.randoms(use_true_random=False))
def test_the_order_of_tokens_is_no_matter(counted, random):
    counts, law = counted
    if len(set(law)) < len(law):
        return
    order = list(range(len(law)))
    random.shuffle(order)
    first = chi_square(counts, law)
    second = chi_square([counts[i] for i in order], [law[i] for i in order])
    assert second.statistic == pytest.approx(first.statistic, rel=1e-9, abs=1e-12)
    assert (second.bins, second.pooled) == (first.bins, first.pooled)
    assert sorted(order[i] for i in second.impossible) == list(first.impossible)


def test_worked_pooling():
    # 100 draws: 1, 2 and 3 are expected and pooled to 6; 14, 30 and 50 stay.
    law = fractions("0.3 0.01 0.5 0.02 0.14 0.03")
    found = chi_square([30, 4, 50, 0, 14, 2], law)
    assert (found.bins, found.pooled, found.p_value) == (4, 3, 1)
    assert found.statistic == pytest.approx(0, abs=1e-20)
    # 1 and 2 are too few: the next rarest, 17, joins them.
    found = chi_square([30, 4, 50, 16], fractions("0.3 0.01 0.5 0.19"))
    assert (found.bins, found.pooled) == (3, 2)
    assert found.statistic == pytest.approx(0, abs=1e-20)
    # One that is expected exactly 5 times stays alone.
    assert chi_square([5, 95], fractions("0.05 0.95")).bins == 2


def test_one_draw_of_the_impossible_is_enough():
    found = chi_square([500_000, 1, 500_000, 0], (0.5, 0, 0.5, 0))
    assert found.impossible == (1,)
    assert (found.p_value, found.fails) == (0, True)
    assert chi_square([0, 1], fractions("1 0")).impossible == (1,)


def test_floats_and_arrays_are_laws_too():
    counts = [30, 50, 20]
    exact = chi_square(counts, fractions("0.2 0.5 0.3"))
    law = np.array([0.2, 0.5, 0.3])
    for given_law in ([0.2, 0.5, 0.3], law, law.astype(np.float32), (0.4, 1.0, 0.6)):
        found = chi_square(np.array(counts), given_law)
        assert found.statistic == pytest.approx(exact.statistic, rel=1e-6)
    assert law.tolist() == [0.2, 0.5, 0.3]
    assert chi_square([30.0, 50.0, 20.0], law) == chi_square(counts, law)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([1, -1], "entry 2 (“-1”): accepted are whole numbers"),
        ([1.5, 2], "entry 1 (“1.5”): accepted are whole numbers"),
        ([float("nan"), 1.0], "entry 1 (“nan”): accepted are whole numbers"),
        ([1.0, float("inf")], "entry 2 (“inf”): accepted are whole numbers"),
        (["1", "2"], "accepted as one row of whole numbers"),
        ([True, False], "accepted as one row of whole numbers"),
        ([[1, 2]], "accepted as one row of whole numbers"),
        ([0, 0], "accepted are counts with at least one draw"),
    ],
)
def test_bad_counts_are_refused(counts, words):
    with pytest.raises(LabError) as fault:
        chi_square(counts, EVEN)
    assert words in str(fault.value)
    assert str(fault.value).endswith(".")


def test_counts_and_law_of_different_lengths_are_refused():
    with pytest.raises(LengthError, match="There are 3 counts for 2 entries of the law"):
        chi_square([1, 2, 3], EVEN)
    for law in ((0, 0), (0.0, float("nan"))):
        with pytest.raises(LabError, match="no mass"):
            chi_square([1, 2], law)


# ---------------------------------------------------------------- power

SEEN = {  # how far the two are apart → a law that is drawn from, and the right one
    "coin": ("0.55 0.45", "0.5 0.5"),
    "three": ("7/20 39/100 13/50", "0.5 0.3 0.2"),
    "four": ("4/15 1/3 3/10 1/10", "0.3 0.3 0.3 0.1"),
    "eight": ("0.14 0.11 0.13 0.12 0.14 0.11 0.13 0.12", "1/8 1/8 1/8 1/8 1/8 1/8 1/8 1/8"),
}


def share_of_failures(actual, law, count, repeats=1500):
    """How often the test fails, of so many samples."""
    masses = np.array([float(mass) for mass in actual])
    samples = np.random.default_rng(2).multinomial(count, masses, size=repeats)
    return sum(chi_square(row, law).fails for row in samples) / repeats


@pytest.mark.parametrize("name", SEEN)
def test_so_many_draws_find_it_nine_times_in_ten(name):
    actual, law = map(fractions, SEEN[name])
    needed = draws_needed(actual, law)
    assert share_of_failures(actual, law, needed) == pytest.approx(POWER, abs=0.03)
    assert power(actual, law, needed) == pytest.approx(POWER, abs=0.002)
    assert power(actual, law, needed) >= POWER
    assert power(actual, law, needed - 1) < POWER
    half = needed // 2
    found = share_of_failures(actual, law, half)
    assert found == pytest.approx(power(actual, law, half), abs=0.04)
    assert found < 0.75


@pytest.mark.parametrize("name", SEEN)
def test_the_right_law_is_accused_once_in_a_hundred(name):
    _, law = map(fractions, SEEN[name])
    assert share_of_failures(law, law, 800, 3000) == pytest.approx(LEVEL, abs=0.006)
    assert power(law, law, 800) == pytest.approx(LEVEL, rel=1e-6)


def test_power_is_that_of_the_noncentral_law():
    actual, law = fractions("0.4 0.4 0.2"), fractions("0.5 0.3 0.2")
    noncentrality = 200 * float(sum((a - b) ** 2 / b for a, b in zip(actual, law, strict=True)))
    wanted = stats.ncx2.sf(stats.chi2.isf(LEVEL, 2), 2, noncentrality)
    assert power(actual, law, 200) == pytest.approx(wanted, rel=1e-6)


@given(law_pairs(most=5), st.integers(1, 10**6))
def test_power_grows(pair, count):
    actual, law = pair
    powers = [power(actual, law, k * count) for k in (1, 2, 50)]
    assert powers == pytest.approx(sorted(powers), abs=1e-9)
    assert all(0 <= value <= 1 for value in powers)
    needed = draws_needed(actual, law)
    if needed is not None and needed < 10**9:
        assert power(actual, law, needed) >= POWER - 1e-6


@given(law_pairs(most=5))
def test_equal_laws_cannot_be_told_apart(pair):
    actual, law = pair
    needed = draws_needed(actual, law)
    assert (needed is None) == (actual == law)
    assert draws_needed(law, law) is None
    assert draws_needed(list(map(float, law)), np.array(law, float)) is None


def test_what_floats_would_not_see():
    # A floor of 10^-38 is no help to anybody, but is not nothing.
    tiny = Fraction(1, 10**38)
    needed = draws_needed((EVEN[0] + tiny, EVEN[1] - tiny), EVEN)
    assert needed == pytest.approx(3.72e76, rel=0.01)
    tiny = Fraction(1, 10**200)
    assert draws_needed((EVEN[0] + tiny, EVEN[1] - tiny), EVEN) > 10**399


def test_what_the_law_rules_out_is_soon_seen():
    actual, law = fractions("0.45 0.45 0.1"), fractions("0.5 0.5 0")
    # 1 − 0.9^N reaches 0.9 at N = 22.
    assert draws_needed(actual, law) == 22
    assert power(actual, law, 22) >= POWER
    assert draws_needed(fractions("0 1"), fractions("1 0")) == 1
    assert power(fractions("0 1"), fractions("1 0"), 1) == 1
    assert draws_needed(fractions("0.9 0.1"), fractions("1 0")) == 22
    assert power(fractions("0.9 0.1"), fractions("1 0"), 22) == pytest.approx(1 - 0.9**22)
    samples = np.random.default_rng(4).multinomial(22, [0.9, 0.1], size=2000)
    seen = sum(chi_square(row, fractions("1 0")).fails for row in samples)
    assert seen / 2000 == pytest.approx(1 - 0.9**22, abs=0.03)


def test_power_is_that_of_the_test_with_its_pooled_bins():
    # p and q exchanged, on the worked example: with 9 draws everything shares one bin.
    actual, law = fractions("0.186667 0.24 0.573333"), fractions("0.2 0.5 0.3")
    assert chi_square([2, 2, 5], law).freedom == 0
    assert power(actual, law, 9) == 0
    needed = draws_needed(actual, law)
    assert chi_square([needed - 2, 1, 1], law).freedom > 0
    assert power(actual, law, needed - 1) < POWER <= power(actual, law, needed)
    # Rare tokens: the unpooled formula would promise 9 in 10 from half as many draws.
    actual = fractions("0.36 0.44 0.05 0.05 0.02 0.04 0.04")
    law = fractions("0.4 0.4 0.04 0.04 0.04 0.04 0.04")
    for count in (60, 110, 300):
        found = share_of_failures(actual, law, count, 4000)
        assert found == pytest.approx(power(actual, law, count), abs=0.04)


@pytest.mark.parametrize("tiny", [1e-12, 1e-20, 1e-300])
def test_rare_tokens_neither_promise_nor_break_the_test(tiny):
    law = (tiny, 0.5, 0.5 - tiny)
    actual = (0.2, 0.4, 0.4)
    assert power(actual, law, 2) < 0.5  # everything shares a bin
    needed = draws_needed(actual, law)
    assert 100 < needed < 1000
    assert share_of_failures(actual, law, needed) > 0.85
    assert power(actual, law, 10**9) == 1.0
    floor = (1e-5, 0.5, 0.49999)
    assert share_of_failures(floor, law, 1000) < 0.05
    assert power(floor, law, 1000) == pytest.approx(LEVEL, abs=0.002)


def test_more_draws_than_scipy_counts():
    count = 2**33
    assert share_p_value(count // 2, count, 0.5) == pytest.approx(1, abs=1e-4)
    assert share_p_value(int(count * 0.4), count, 0.6) < 1e-100
    off = 2 * int(math.sqrt(count) / 2)  # two standard deviations
    wanted = 2 * stats.norm.sf(2)
    assert share_p_value(count // 2 + off, count, 0.5) == pytest.approx(wanted, rel=1e-3)


def test_the_smallest_float_is_no_overflow():
    tiny = 5e-324
    needed = draws_needed((0.2, 0.4, 0.4), (tiny, 0.5, 0.5))
    assert 100 < needed < 1000
    assert power((0.2, 0.4, 0.4), (tiny, 0.5, 0.5), 1000) > POWER


def test_a_million_tokens_are_far_apart_long_before_scipy_gives_up():
    for freedom in (1, 10, 10**6):
        critical = stats.chi2.isf(LEVEL, freedom)
        assert stats.norm.cdf((critical - freedom - 1e6) / math.sqrt(2 * freedom + 4e6)) < 1e-9


def test_a_single_possible_token_is_never_accused():
    assert power((1.0,), (1.0,), 100) == 0
    assert not chi_square([100], (1.0,)).fails
    assert draws_needed((1.0,), (1.0,)) is None


# ---------------------------------------------------------------- one probability


@given(st.integers(1, 10_000), st.data())
@settings(max_examples=60)
def test_intervals_are_those_of_clopper_and_pearson(count, data):
    hits = data.draw(st.integers(0, count) | st.sampled_from([0, count]))
    wanted = stats.binomtest(hits, count).proportion_ci(1 - LEVEL, method="exact")
    assert interval(hits, count) == pytest.approx((wanted.low, wanted.high), rel=1e-9, abs=1e-12)


def test_an_interval_covers_what_it_should():
    # Over all counts of 60 draws, weighed: at least 99 in 100 intervals hold the probability.
    for chance in 0.03, 0.3, 0.5:
        hits = [h for h in range(61) if interval(h, 60)[0] <= chance <= interval(h, 60)[1]]
        assert 1 - LEVEL <= stats.binom.pmf(hits, 60, chance).sum() < 1


@given(st.integers(1, 5000), st.data())
@settings(max_examples=60)
def test_the_exact_test_of_a_share(count, data):
    hits = data.draw(st.integers(0, count))
    chance = data.draw(st.fractions(0, 1, max_denominator=50).filter(lambda c: 0 < c < 1))
    tails = (
        stats.binomtest(hits, count, float(chance), alternative=side).pvalue
        for side in ("less", "greater")
    )
    wanted = min(1, 2 * min(tails))
    assert share_p_value(hits, count, chance) == pytest.approx(wanted, rel=1e-8, abs=1e-200)


def test_an_interval_holds_what_the_test_does_not_accuse():
    for hits in range(41):
        low, high = interval(hits, 40)
        for chance in np.linspace(0.01, 0.99, 99):
            assert (low < chance < high) == (share_p_value(hits, 40, chance) > LEVEL)


def test_shares_that_are_sure():
    assert share_p_value(10, 10, 1) == share_p_value(0, 10, Fraction(0)) == 1
    assert share_p_value(9, 10, 1) == share_p_value(1, 10, 0) == 0


def test_draws_for_a_share():
    actual, right = Fraction(11, 20), Fraction(1, 2)
    needed = share_draws_needed(actual, right)
    assert needed == draws_needed((actual, 1 - actual), (right, 1 - right)) == 1488
    assert share_draws_needed(right, right) is None
    assert share_draws_needed(0.55, 0.5) == pytest.approx(needed, abs=1)
    hits = np.random.default_rng(6).binomial(needed, 0.55, size=1500)
    found = np.mean([share_p_value(int(h), needed, right) < LEVEL for h in hits])
    assert found == pytest.approx(POWER, abs=0.03)


# ---------------------------------------------------------------- counts of draws


def test_drawn_counts_have_the_law():
    law = fractions("0.2 0 0.5 0.3 0")
    counts = draw_counts(law, 100_000, np.random.default_rng(8))
    assert counts.dtype == np.int64
    assert counts.sum() == 100_000
    assert fits(counts, law)
    assert not fits(counts, fractions("0.21 0 0.49 0.3 0"))
    again = draw_counts(law, 100_000, np.random.default_rng(8))
    assert again.tolist() == counts.tolist()


@given(law_pairs(), st.integers(0, 10_000), st.integers(0, 99))
def test_what_cannot_come_never_comes(pair, count, seed):
    law = pair[0]
    for kind in Fraction, float:
        masses = tuple(map(kind, law))
        counts = draw_counts(masses, count, np.random.default_rng(seed))
        assert counts.shape == (len(law),)
        assert counts.sum() == count
        assert min(counts) >= 0
        assert all(mass or not drawn for mass, drawn in zip(law, counts.tolist(), strict=True))


class Greedy:
    """A generator that hands all it can to the last entry, as NumPy does with missing mass."""

    def multinomial(self, count, masses):
        assert masses.sum() == pytest.approx(1, abs=1e-15)
        counts = np.zeros(len(masses), np.int64)
        counts[-1] = count
        return counts


def test_missing_mass_goes_to_nobody_who_has_none():
    # Ten tenths in floats, and a last token that is never due: NumPy would pay it the rest.
    law = (0.1,) * 10 + (0.0,)
    assert sum(law) < 1
    assert draw_counts(law, 50, Greedy()).tolist() == [0] * 9 + [50, 0]


@pytest.mark.parametrize(
    "law",
    [(0.5, 0.4), (0.5, 0.6), (0.0, 0.0), (0.5, 0.5 + 1e-12), (float("nan"), 1.0), EVEN[:1]],
)
def test_a_law_that_is_none_is_refused(law):
    with pytest.raises(LabError, match="draws need a law"):
        draw_counts(law, 10, np.random.default_rng(1))


@pytest.mark.parametrize("count", [-1, MOST_DRAWS + 1, True])
def test_too_many_draws_are_refused(count):
    with pytest.raises(LabError, match="accepted are 0 to 10,000,000"):
        draw_counts(EVEN, count, np.random.default_rng(1))


def test_the_most_draws():
    assert draw_counts(EVEN, MOST_DRAWS, np.random.default_rng(1)).sum() == MOST_DRAWS
    assert draw_counts(EVEN, 0, np.random.default_rng(1)).tolist() == [0, 0]
