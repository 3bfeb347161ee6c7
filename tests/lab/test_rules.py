"""Rules by all their runs, against the experiment with tickets, integrals, and draws."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise

import numpy as np
import pytest
from goodness import fits
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from oracle import fractions, from_target, play, without_the_rejected
from scipy import integrate
from strategies import law_pairs, ticket_pairs

from lab.errors import LabError
from lab.rules import (
    Again,
    Keep,
    NoLawError,
    RandomDraws,
    Replace,
    draw,
    outcome_law,
    ratio,
    second_winner,
    shortfall,
    step_law,
    step_rule,
    token_of,
)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
WORKED = fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5")
FOUR = fractions("3/10 3/10 3/10 1/10"), fractions("1/10 1/5 3/10 2/5")
DISJOINT = fractions("1/3 2/3 0 0"), fractions("0 0 1/4 3/4")


def no_zeros(law):
    return {token: mass for token, mass in enumerate(law) if mass}


def all_fractions(law):
    return all(type(mass) is Fraction for mass in law)


# ---------------------------------------------------------------- the right rule


@given(ticket_pairs())
@settings(max_examples=80)
@example(WORKED)
@example(DISJOINT)
@example((fractions("1"), fractions("1")))
@example((fractions("1/2 1/2 0"), fractions("1/2 1/2 0")))
def test_the_right_rule_has_the_law_of_the_experiment(pair):
    p, q = pair
    law, played = step_law(step_rule(p, q), len(p)), play(p, q)
    assert law.kept == played.kept
    assert law.replaced == played.owed
    assert law.output == played.output == p
    assert law.acceptance == sum(played.kept)
    assert law.replacement == played.replacement
    assert law.rounds == 1


@given(law_pairs())
@settings(max_examples=80)
def test_the_right_rule_gives_p_for_every_pair(pair):
    p, q = pair
    law = step_law(step_rule(p, q), len(p))
    assert law.output == p
    assert law.kept == tuple(map(min, p, q))
    assert law.replaced == tuple(a - min(a, b) for a, b in zip(p, q, strict=True))


@given(ticket_pairs())
def test_the_experiments_with_other_urns(pair):
    p, q = pair
    from_p = step_law(step_rule(p, q, replacement=p), len(p))
    assert from_p.output == play(p, q, from_target).output

    def one_removed(draws):
        x = draws.choose(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Replace(p, without=x)

    played = play(p, q, without_the_rejected)
    law = step_law(one_removed, len(p))
    assert (law.kept, law.output) == (played.kept, played.output)


@given(ticket_pairs(), st.data())
def test_the_parts_of_a_rule_can_be_changed_one_by_one(pair, data):
    p, q = pair
    n = len(p)
    laws = st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any)
    proposal, owed = (
        tuple(Fraction(part, sum(parts)) for part in parts)
        for parts in (data.draw(laws), data.draw(laws))
    )
    chances = data.draw(st.lists(st.fractions(0, 1, max_denominator=9), min_size=n, max_size=n))
    law = step_law(
        step_rule(p, q, proposal=proposal, keeps=chances.__getitem__, replacement=owed), n
    )
    kept = tuple(a * b for a, b in zip(proposal, chances, strict=True))
    assert law.kept == kept
    assert law.output == tuple(a + (1 - sum(kept)) * b for a, b in zip(kept, owed, strict=True))


def test_ratio_and_shortfall():
    p, q = fractions("1/2 1/4 0 0 1/4"), fractions("1/4 1/2 1/4 0 0")
    assert [ratio(p, q, x) for x in range(5)] == [1, HALF, 0, 0, 1]
    assert shortfall(p, q) == fractions("1/4 0 0 0 1/4")
    assert all_fractions(shortfall(p, q))
    assert all(type(mass) is float for mass in shortfall((0.5, 0.5), (0.25, 0.75)))


# ---------------------------------------------------------------- floats


@given(ticket_pairs())
def test_floats_in_floats_out(pair):
    p, q = pair
    law = step_law(step_rule(tuple(map(float, p)), tuple(map(float, q))), len(p))
    exact = step_law(step_rule(p, q), len(p))
    for mine, right in ((law.kept, exact.kept), (law.replaced, exact.replaced)):
        assert all(mass == 0 or type(mass) is float for mass in mine)
        assert mine == pytest.approx(tuple(map(float, right)), abs=1e-15)


def test_float_comparisons_take_the_same_branches():
    # 0.1 + 0.2 is more than 0.3 in floats: a rule is run in the numbers that it is given.
    law = outcome_law(lambda draws: draws.uniform() < 0.1 + 0.2)
    assert law == {True: 0.1 + 0.2, False: 1 - (0.1 + 0.2)}
    assert 0.1 + 0.2 != 0.3


def test_fractions_stay_exact_where_floats_cannot():
    tiny = Fraction(1, 10**40)
    p, q = (HALF + tiny, HALF - tiny), (HALF, HALF)
    law = step_law(step_rule(p, q), 2)
    assert law.replaced == (tiny, 0)
    assert law.output == p


# ---------------------------------------------------------------- one number, several decisions


@given(st.lists(st.fractions(-1, 2, max_denominator=12), max_size=5))
@settings(max_examples=80)
def test_a_number_is_compared_as_one_number(thresholds):
    def run(draws):
        u = draws.uniform()
        return tuple(u < threshold for threshold in thresholds)

    # On each cell of a common grid every comparison comes out the same.
    grid = sorted({Fraction(0), Fraction(1), *(t for t in thresholds if 0 < t < 1)})
    wanted = {}
    for low, high in pairwise(grid):
        middle = (low + high) / 2
        falls = tuple(middle < threshold for threshold in thresholds)
        wanted[falls] = wanted.get(falls, 0) + high - low
    assert outcome_law(run) == wanted


def test_two_numbers_are_independent():
    def run(draws):
        first, second = draws.uniform(), draws.uniform()
        return first < HALF, second < THIRD, first < Fraction(1, 4)

    assert outcome_law(run) == {
        (True, True, True): Fraction(1, 12),
        (True, False, True): Fraction(1, 6),
        (True, True, False): Fraction(1, 12),
        (True, False, False): Fraction(1, 6),
        (False, True, False): Fraction(1, 6),
        (False, False, False): THIRD,
    }


def shared_number(p, q, weights):
    def run(draws):
        x, u = draws.choose(q), draws.uniform()
        return Keep(x) if u < ratio(p, q, x) else Replace(weights, by=u)

    return run


def cells(p, q, weights):
    """The same on a grid: what each cell of [0, 1) does with its number."""
    ends = list(accumulate(Fraction(w, sum(weights)) for w in weights))
    n = len(p)
    kept, replaced = [Fraction()] * n, [Fraction()] * n
    grid = sorted({Fraction(0), *ends, *(min(1, a / b) for a, b in zip(p, q, strict=True) if b)})
    for low, high in pairwise(grid):
        for x in range(n):
            if q[x] and low < min(1, p[x] / q[x]):
                kept[x] += q[x] * (high - low)
            elif q[x]:
                replaced[next(y for y in range(n) if low < ends[y])] += q[x] * (high - low)
    return tuple(kept), tuple(replaced)


@given(ticket_pairs(), st.data())
@settings(max_examples=80)
@example(FOUR, None)
def test_a_shared_number_against_a_grid(pair, data):
    p, q = pair
    weights = (
        shortfall(p, q)
        if data is None
        else data.draw(st.lists(st.integers(0, 6), min_size=len(p), max_size=len(p)))
    )
    assume(any(weights))
    weights = tuple(map(Fraction, weights))
    law = step_law(shared_number(p, q, weights), len(p))
    assert (law.kept, law.replaced) == cells(p, q, weights)


def test_a_shared_number_in_floats_loses_nothing():
    # Ten tenths end just short of 1; what lies above goes to the last token that has weight.
    weights = (*[1.0] * 10, 0.0)
    assert list(accumulate(weight / 10 for weight in weights))[-1] < 1

    for line in 0.5, 1 - 2.0**-50:

        def run(draws, line=line):
            u = draws.uniform()
            return Keep(0) if u < line else Replace(weights, by=u)

        law = step_law(run, 11)
        assert math.fsum(law.replaced) == pytest.approx(1 - line, rel=1e-9, abs=0)
        assert law.replaced[9] == pytest.approx(min(0.1, 1 - line), rel=1e-9, abs=0)
        assert law.replaced[10] == 0
        literal = outcome_law(partial(token_of, run))
        assert [literal.get(x, 0) for x in range(11)] == pytest.approx(law.output, abs=1e-15)


# ---------------------------------------------------------------- one race, two winners


def second_by_pairs(q, r, x):
    """P(y wins under r | x won under q), for every y, from the joint law of all clocks.

    With T = E(x)/q(x) and S = E(y)/r(y) = sT, T integrates to 1/g(s)² and s is integrated piece
    by piece, with g(s) = q(x) + r(y)s + Σ max(q(z), r(z)s) over the other tokens.
    """
    n, law = len(q), []
    for y in range(n):
        if not r[y]:
            law.append(Fraction())
            continue
        others = [z for z in range(n) if z not in (x, y)]
        start = q[y] / r[y]
        breaks = sorted({q[z] / r[z] for z in others if r[z] and q[z] / r[z] > start})
        mass = Fraction()
        for low, high in pairwise([start, *breaks, None]):
            ringing = [z for z in others if r[z] and q[z] / r[z] <= low]
            slope = r[y] + sum(r[z] for z in ringing)
            height = q[x] + sum(q[z] for z in others if z not in ringing)
            until = 0 if high is None else 1 / (height + slope * high)
            mass += (1 / (height + slope * low) - until) / slope
        law.append(r[y] * mass)
    return law


@st.composite
def races(draw):
    """Weights of two races, and a winner of the first that has no weight in the second."""
    n = draw(st.integers(2, 6))
    numbers = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    q, r = draw(numbers), draw(numbers)
    winner = draw(st.integers(0, n - 1))
    q[winner], r[winner] = q[winner] + 1, 0
    assume(any(r))
    return tuple(map(Fraction, q)), tuple(map(Fraction, r)), winner


@given(races())
@settings(max_examples=80)
def test_a_second_winner_by_the_joint_law_of_the_clocks(race):
    q, r, x = race
    whole_q, whole_r = sum(q), sum(r)
    law = second_winner(q, r, x)
    assert law == second_by_pairs([w / whole_q for w in q], [w / whole_r for w in r], x)
    assert sum(law) == 1
    floats = second_winner(tuple(map(float, q)), tuple(map(float, r)), x)
    assert floats == pytest.approx(list(map(float, law)), abs=1e-13)


def test_a_second_winner_by_a_double_integral():
    q, r, x = (0.4, 0.1, 0.3, 0.2), (0.0, 0.5, 0.2, 0.3), 0
    law = second_winner(q, r, x)
    for y in 1, 2, 3:
        others = [z for z in (1, 2, 3) if z != y]

        def density(s, t, y=y, others=others):
            if r[y] * s <= q[y] * t:
                return 0.0
            late = sum(max(q[z] * t, r[z] * s) for z in others)
            return r[y] * math.exp(-q[x] * t - r[y] * s - late)

        # Divided by P(x first) = q(x), which cancels the density of x's clock.
        mass, _ = integrate.dblquad(
            density, 0, 60, lambda t, y=y: q[y] * t / r[y], 120, epsabs=1e-5, epsrel=1e-5
        )
        assert mass == pytest.approx(law[y], abs=1e-4)


def test_the_clocks_of_a_race_run_on():
    # Two hundred thousand sets of clocks, for whoever wins the first race.
    q, r = np.array([0.3, 0.1, 0.2, 0.4]), np.array([0.0, 0.5, 0.5, 0.0])
    clocks = np.random.default_rng(1).exponential(size=(200_000, 4))
    first = np.argmin(clocks / q, axis=1)
    with np.errstate(divide="ignore"):
        second = np.argmin(clocks / r, axis=1)
    assert fits(np.bincount(first, minlength=4), q)
    for winner in 0, 3:
        counts = np.bincount(second[first == winner], minlength=4)
        assert fits(counts, second_winner(tuple(q), tuple(r), winner))
        assert not fits(counts, r)


@given(ticket_pairs())
def test_a_race_that_picks_proposal_and_replacement(pair):
    p, q = pair
    owed = shortfall(p, q)

    def run(draws):
        race = draws.race()
        x = race.winner(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Replace(owed, by=race)

    law = step_law(run, len(p))
    played = play(p, q)
    assert law.kept == played.kept
    replaced = [Fraction()] * len(p)
    for x, mass in enumerate(played.thrown):
        if mass:
            for y, share in enumerate(second_by_pairs(q, played.replacement, x)):
                replaced[y] += mass * share
    assert law.replaced == tuple(replaced)
    literal = outcome_law(partial(token_of, run))
    assert no_zeros(law.output) == literal


def test_a_race_alone_is_a_choice():
    weights = fractions("1/2 0 1/3 1/6")
    assert outcome_law(lambda draws: draws.race().winner(weights)) == no_zeros(weights)


# ---------------------------------------------------------------- handed over, or drawn


@st.composite
def leaves(draw):
    """Three tokens or so, weights with something left of them, and how they are drawn from."""
    p, q = draw(ticket_pairs(tickets=8))
    n = len(p)
    weights = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return (
        p,
        q,
        tuple(map(Fraction, weights)),
        draw(st.sampled_from(["fresh", "number"])),
        (draw(st.sampled_from([None, "rejected", *range(n)]))),
    )


@given(leaves())
@settings(max_examples=120)
def test_a_replacement_handed_over_is_a_replacement_drawn(leaf):
    p, q, weights, by, without = leaf

    def handed_over(draws):
        x, u = draws.choose(q), draws.uniform()
        if u < ratio(p, q, x):
            return Keep(x)
        out = x if without == "rejected" else without
        return Replace(weights, without=out, by=u if by == "number" else None)

    def drawn(draws):
        x, u = draws.choose(q), draws.uniform()
        if u < ratio(p, q, x):
            return x
        out = x if without == "rejected" else without
        left = [Fraction(0) if y == out else w for y, w in enumerate(weights)]
        if by == "fresh" or not any(left):
            return draws.choose(left)
        *ends, _ = accumulate(w / sum(left) for w in left)
        return next((y for y, end in enumerate(ends) if u < end), len(left) - 1)

    try:
        wanted = outcome_law(drawn)
    except NoLawError:
        for law in (
            lambda: step_law(handed_over, len(p)),
            lambda: outcome_law(partial(token_of, handed_over)),
        ):
            with pytest.raises(NoLawError):
                law()
        return
    assert no_zeros(step_law(handed_over, len(p)).output) == wanted
    assert outcome_law(partial(token_of, handed_over)) == wanted


def test_without_a_token_that_has_nearly_all_in_floats():
    # What is left is found by adding up: 1 less the token's share would be half wrong here.
    tiny = 1e-16
    law = step_law(lambda draws: Replace((1.0, tiny, 2 * tiny), without=0), 3)
    assert law.output == pytest.approx((0, 1 / 3, 2 / 3), rel=1e-12)

    def either(draws):
        return Replace(weights, without=draws.choose((0.5, 0.5, 0.0)))

    weights = (1.0, tiny, 2 * tiny)
    assert step_law(either, 3).output == pytest.approx((0.5, 1 / 6, 1 / 3), rel=1e-12)


def test_weights_made_anew_in_each_run_are_told_apart():
    # Vectors that live for one run only: no identity may be taken for that of another.
    def run(draws):
        x = draws.choose([THIRD] * 3)
        return Replace([Fraction(int(y == x)) for y in range(3)])

    assert step_law(run, 3).output == (THIRD,) * 3

    def literal(draws):
        x = draws.choose([Fraction(1), Fraction(2)])
        return draws.choose([Fraction(int(y != x)) for y in range(2)])

    assert outcome_law(literal) == {0: 2 * THIRD, 1: THIRD}


# ---------------------------------------------------------------- starting over


@given(ticket_pairs())
def test_starting_over_until_something_is_kept(pair):
    p, q = pair

    def run(draws):
        x = draws.choose(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Again()

    played = play(p, q)
    alpha = sum(played.kept)
    if not alpha:
        with pytest.raises(NoLawError, match=r"goes round for ever"):
            step_law(run, len(p))
        return
    law = step_law(run, len(p))
    assert law.output == law.kept == tuple(mass / alpha for mass in played.kept)
    assert set(law.replaced) == {0}
    assert law.rounds == 1 / alpha
    assert law.acceptance == 1
    assert law.replacement is None


def test_starting_over_with_a_way_out():
    # Half are kept, a quarter replaced, a quarter starts over: two thirds and one third come out.
    quarter = Fraction(1, 4)

    def run(draws):
        way = draws.choose([HALF, quarter, quarter])
        return (Keep(0), Replace((Fraction(0), Fraction(5))), Again())[way]

    law = step_law(run, 2)
    assert (law.kept, law.replaced) == ((2 * THIRD, 0), (0, THIRD))
    assert law.rounds == Fraction(4, 3)
    assert law.acceptance == 2 * THIRD


def test_a_tiny_chance_to_end_is_one_in_floats_too():
    def run(draws):
        return Keep(draws.choose([0.25, 0.75])) if draws.uniform() < 1e-20 else Again()

    law = step_law(run, 2)
    assert law.output == pytest.approx((0.25, 0.75), abs=1e-15)
    assert law.rounds == pytest.approx(1e20)


# ---------------------------------------------------------------- no law


@pytest.mark.parametrize(
    "run",
    [
        lambda draws: Keep(draws.choose((Fraction(0), Fraction(0)))),
        lambda draws: Replace((Fraction(0), Fraction(0))),
        lambda draws: Replace((0.0, 0.0)),
        lambda draws: Replace((Fraction(1), Fraction(0)), without=0),
        lambda draws: Replace((Fraction(0), Fraction(0)), by=draws.uniform()),
        lambda draws: Keep(0) if draws.uniform() < 1 - Fraction(1, 10**30) else Replace([0, 0]),
    ],
)
def test_zero_by_zero_is_no_law(run):
    with pytest.raises(NoLawError, match=r"^This rule divides 0 by 0"):
        step_law(run, 2)
    with pytest.raises(NoLawError, match=r"^This rule divides 0 by 0"):
        outcome_law(partial(token_of, run))


def test_zero_by_zero_that_is_never_reached_is_no_fault():
    def run(draws):
        return Keep(1) if draws.uniform() < 1 else Replace((Fraction(0), Fraction(0)))

    assert step_law(run, 2).output == (0, 1)
    assert issubclass(NoLawError, LabError)


# ---------------------------------------------------------------- anything that code draws


def test_the_law_of_a_sum():
    die = [Fraction(1, 6)] * 6
    law = outcome_law(lambda draws: 2 + draws.choose(die) + draws.choose(die))
    assert law == {s: Fraction(6 - abs(s - 7), 36) for s in range(2, 13)}


def test_runs_of_different_depth():
    def run(draws):
        """Heads at the first, second or third toss, or never."""
        for toss in range(3):
            if draws.uniform() < THIRD:
                return toss
        return None

    assert outcome_law(run) == {
        0: THIRD,
        1: Fraction(2, 9),
        2: Fraction(4, 27),
        None: Fraction(8, 27),
    }


def test_nothing_drawn_is_sure():
    assert outcome_law(lambda draws: "always") == {"always": 1}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(any))
def test_weights_need_no_sum(weights):
    law = outcome_law(lambda draws: draws.choose(list(map(Fraction, weights))))
    assert law == {x: Fraction(w, sum(weights)) for x, w in enumerate(weights) if w}


# ---------------------------------------------------------------- draws


class Digits:
    """A generator whose digits are given; it refuses to give more."""

    def __init__(self, *digits):
        self.left = list(digits)

    def integers(self, high):
        assert high == 1 << 32
        return self.left.pop(0)


@pytest.mark.parametrize(
    ("digits", "threshold", "below"),
    [
        # 1/3 is 0x0.55555555…: the comparison is decided by the first digit that differs.
        ([0x55555554], THIRD, True),
        ([0x55555556], THIRD, False),
        ([0x55555555] * 5 + [0x55555554], THIRD, True),
        ([0x55555555] * 5 + [0x55555556], THIRD, False),
        # A half ends: its digits are those of the half itself, which is not below.
        ([0x80000000], HALF, False),
        ([0x7FFFFFFF], HALF, True),
        ([0], Fraction(1, 10**30), None),
        ([0, 0, 0, 1], Fraction(1, 10**30), True),
        ([0, 0, 1], Fraction(1, 10**30), False),
        ([0, 1], Fraction(1, 10**30), False),
        ([], Fraction(1), True),
        ([], Fraction(0), False),
        ([], Fraction(-1, 3), False),
        ([0x7FFFFFFF], 0.5, True),
    ],
)
def test_a_drawn_number_is_compared_exactly(digits, threshold, below):
    rng = Digits(*digits)
    number = RandomDraws(rng).uniform()
    if below is None:
        with pytest.raises(IndexError):  # it asks for more digits
            assert number < threshold
    else:
        assert (number < threshold) is below


def test_a_drawn_number_stays_one_number():
    number = RandomDraws(Digits(0x55555555, 0x55555555, 0x55555556)).uniform()
    assert number < HALF
    assert not number < Fraction(1, 4)
    assert not number < THIRD  # takes all three digits
    assert not number < THIRD  # and no further one
    assert number < THIRD + Fraction(1, 10**9)


def removed(p, q):
    def run(draws):
        x = draws.choose(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Replace(p, without=x)

    return run


def raced(p, q):
    owed = shortfall(p, q)

    def run(draws):
        race = draws.race()
        x = race.winner(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Replace(owed, by=race)

    return run


def started_over(p, q):
    def run(draws):
        x = draws.choose(q)
        return Keep(x) if draws.uniform() < ratio(p, q, x) else Again()

    return run


RULES = {
    "right": step_rule,
    "shared number": lambda p, q: shared_number(p, q, shortfall(p, q)),
    "without": removed,
    "race": raced,
    "again": started_over,
}


@pytest.mark.parametrize("kind", [Fraction, float])
@pytest.mark.parametrize("name", RULES)
def test_draws_have_the_law(name, kind):
    p, q = (tuple(map(kind, vector)) for vector in FOUR)
    law = step_law(RULES[name](p, q), 4)
    counts = draw(RULES[name](p, q), 2500, 4, np.random.default_rng(5))
    assert sum(counts) == 2500
    assert fits(counts, law.output)
    assert not fits(counts, (0.25, 0.3, 0.3, 0.15))


def test_a_drawn_race_has_one_set_of_clocks():
    draws = RandomDraws(np.random.default_rng(9))
    even, uneven = (0.25,) * 4, (0.4, 0.3, 0.2, 0.1)
    winners = set()
    for _ in range(40):
        race = draws.race()
        winner = race.winner(uneven)
        assert race.winner(uneven) == winner
        assert race.winner([w if y == winner else w / 2 for y, w in enumerate(uneven)]) == winner
        winners.add(race.winner(even))
    assert winners == {0, 1, 2, 3}
    with pytest.raises(NoLawError):
        draws.race().winner((0.0, 0.0))


def test_draws_follow_their_seed():
    rule = step_rule(*WORKED)
    first, again, other = (draw(rule, 200, 3, np.random.default_rng(s)) for s in (1, 1, 2))
    assert first == again
    assert first != other
    assert draw(rule, 0, 3, np.random.default_rng(1)) == [0, 0, 0]


def test_draws_that_divide_zero_by_zero():
    p = fractions("1/2 1/2")
    rng = np.random.default_rng(1)
    assert sum(draw(step_rule(p, p), 50, 2, rng)) == 50
    with pytest.raises(NoLawError):
        draw(step_rule(p, p, keeps=lambda x: HALF), 50, 2, rng)
