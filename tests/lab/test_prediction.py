"""Predictions against the truth, with laws that the experiment yields, not the code."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import fractions, from_target, play, without_the_rejected
from strategies import ticket_pairs

from lab import LabError, one_step
from lab.feedback import named_laws
from lab.groups import leading
from lab.mistakes import STEP_MISTAKES
from lab.prediction import NamedLaw, Prediction, compare, read_bars, truth

FINE = Fraction(1, 10**9)
TICK = Fraction(1, 100)
THREE = fractions("1/2 3/10 1/5"), fractions("1/5 3/10 1/2")
WORKED = fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5")
SCENARIOS = {
    "worked example": WORKED,
    "partial zeros": (fractions("0 2/5 7/20 1/4"), fractions("3/10 0 1/2 1/5")),
    "four tokens": (fractions("2/5 3/10 1/5 1/10"), fractions("1/10 1/5 3/10 2/5")),
    "disjoint": (fractions("3/10 7/10 0 0"), fractions("0 0 2/5 3/5")),
    "one-hot draft": (fractions("11/20 1/4 3/20 1/20"), fractions("1 0 0 0")),
}


def alone(n: int):
    return tuple((i,) for i in range(n))


def divided(masses):
    whole = sum(masses)
    return tuple(mass / whole for mass in masses)


def wrong_laws(quantity, p, q):
    """(words of the sentence, wrong law) for each mistake people make, from the experiment."""
    played = play(p, q)
    if quantity == "accepted":
        yield "p itself", p
        yield "q itself", q
        yield "still owed", played.owed
        yield "min(1, p/q)", played.kept_when_proposed
        if any(played.kept):
            yield "min(p, q)/α", divided(played.kept)
    elif quantity == "output":
        yield "q itself", q
        if any(played.thrown):
            yield "r itself", played.replacement
        yield "min(p, q) alone", played.kept
        if any(played.thrown):
            yield "drawn from p instead of r", play(p, q, from_target).output
        else:
            yield "drawn from p instead of r", p
    elif any(played.thrown):
        either = tuple(a + b for a, b in zip(played.owed, played.thrown, strict=True))
        yield "p itself", p
        yield "not yet divided by Z", played.owed
        yield "|p − q|, divided by its sum", divided(either)
        yield "|p − q|: ", either
        yield "where positive, divided by Z", divided(played.thrown)
        yield "where it is positive", played.thrown
        yield (
            "only the rejected token removed",
            play(p, q, without_the_rejected).replacement,
        )
        yield "q itself", q
    else:
        yield "p itself", p


def judge(p, q, quantity, values, step=FINE):
    laws = one_step(p, q)
    groups = alone(len(p))
    known = named_laws(laws, quantity, groups)
    return compare(Prediction(values, step), truth(laws, quantity, groups), known)


def others(known, wanted):
    """The gallery's entries among the known laws beyond those that the experiment here has."""
    return {m.slug for m in known if not any(words in m.sentence for words, _ in wanted)}


GALLERY = set(STEP_MISTAKES)

# ---------------------------------------------------------------- named mistakes


@pytest.mark.parametrize("quantity", ["residual", "accepted", "output"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_known_mistakes_are_those_of_the_experiment(name, quantity):
    p, q = SCENARIOS[name]
    right = getattr(one_step(p, q), quantity)
    known = named_laws(one_step(p, q), quantity, alone(len(p)))
    wanted = list(wrong_laws(quantity, p, q))
    for words, law in wanted:
        matching = [mistake.law for mistake in known if words in mistake.sentence]
        assert law in matching or law == right, words
    assert others(known, wanted) <= GALLERY


@given(ticket_pairs(most=4, tickets=10), st.sampled_from(["residual", "accepted", "output"]))
@settings(max_examples=50)
def test_mistakes_of_any_scenario_are_those_of_the_experiment(pair, quantity):
    p, q = pair
    laws = one_step(p, q)
    known = named_laws(laws, quantity, alone(len(p)))
    wanted = list(wrong_laws(quantity, p, q))
    assert [mistake.law for mistake in known if not mistake.sentence.startswith("This is ")] == []
    right = getattr(laws, quantity)
    assert {law for _, law in wanted} <= {mistake.law for mistake in known} | {right}
    assert others(known, wanted) <= GALLERY
    for words, law in wanted:
        comparison = judge(p, q, quantity, law)
        right = truth(laws, quantity, alone(len(p)))
        if right is None:
            assert comparison.verdict == "no residual"
            assert words in comparison.mistake.sentence
        elif law == right:
            assert comparison.verdict == "right"
            assert comparison.mistake is None
        else:
            assert comparison.verdict == "named mistake"
            assert comparison.mistake.law == law


@pytest.mark.parametrize("quantity", ["residual", "accepted", "output"])
def test_each_mistake_is_recognised_by_name_on_the_worked_example(quantity):
    # All wrong laws differ there, so each is named by its own sentence.
    wanted = list(wrong_laws(quantity, *WORKED))
    assert len({law for _, law in wanted}) == len(wanted)
    for words, law in wanted:
        comparison = judge(*WORKED, quantity, law)
        assert comparison.verdict == "named mistake"
        assert words in comparison.mistake.sentence


@pytest.mark.parametrize("quantity", ["residual", "accepted", "output"])
def test_near_misses_are_not_named(quantity):
    for words, law in wrong_laws(quantity, *WORKED):
        for i in range(3):
            for sign in 1, -1:
                inside = [*law[:i], law[i] + sign * TICK / 2, *law[i + 1 :]]
                outside = [*law[:i], law[i] + sign * (TICK / 2 + FINE), *law[i + 1 :]]
                assert words in judge(*WORKED, quantity, tuple(inside), TICK).mistake.sentence
                comparison = judge(*WORKED, quantity, tuple(outside), TICK)
                assert comparison.mistake is None
                assert comparison.verdict != "named mistake"


def test_the_case_of_a_replacement_from_p():
    # MI01: output 7/20, 39/100, 13/50.
    p, q = fractions("1/2 3/10 1/5"), fractions("1/5 3/10 1/2")
    comparison = judge(p, q, "output", fractions("7/20 39/100 13/50"))
    assert "drawn from p instead of r" in comparison.mistake.sentence
    assert comparison.distance == Fraction(3, 20)


def test_the_case_of_removing_only_the_rejected_token():
    # MI08: with that rule the output is 17/60, 27/80, 4/15, 9/80; the accepted mass is known.
    p, q = SCENARIOS["four tokens"]
    output = fractions("17/60 27/80 4/15 9/80")
    kept = fractions("1/10 1/5 1/5 1/10")
    replacement = tuple((o - k) / Fraction(2, 5) for o, k in zip(output, kept, strict=True))
    comparison = judge(p, q, "residual", replacement)
    assert "only the rejected token removed" in comparison.mistake.sentence


def test_removing_only_the_rejected_token_is_right_for_a_one_hot_draft():
    p, q = SCENARIOS["one-hot draft"]
    law = play(p, q, without_the_rejected).replacement
    assert judge(p, q, "residual", law).verdict == "right"


# ---------------------------------------------------------------- verdicts


@given(ticket_pairs(), st.sampled_from(["residual", "accepted", "output"]))
def test_the_truth_is_that_of_the_experiment_and_right(pair, quantity):
    p, q = pair
    played = play(p, q)
    wanted = {"residual": played.replacement, "accepted": played.kept, "output": p}[quantity]
    assert truth(one_step(p, q), quantity, alone(len(p))) == wanted
    comparison = judge(p, q, quantity, wanted)
    assert comparison.verdict == "right"
    assert comparison.mistake is None
    if wanted is not None:
        assert set(comparison.gaps) == {0}
        assert comparison.distance == 0


laws = st.lists(st.integers(0, 20), min_size=3, max_size=3).map(
    lambda weights: tuple(Fraction(w, 20) for w in weights)
)


@given(laws, laws)
def test_gaps_and_distance_are_exact(values, right):
    comparison = compare(Prediction(values, TICK), right)
    assert comparison.truth == right
    assert all(t + g == v for v, t, g in zip(values, right, comparison.gaps, strict=True))
    assert 2 * comparison.distance == sum(map(abs, comparison.gaps))


@given(laws, laws)
def test_verdicts_without_named_mistakes(values, right):
    assume(values != right)  # twentieths: what differs at all differs by more than half a tick
    verdict = compare(Prediction(values, TICK), right).verdict
    if sum(values) != sum(right):
        assert verdict == "wrong total"
    elif [v > 0 for v in values] == [t > 0 for t in right]:
        assert verdict == "right support"
    else:
        assert verdict == "wrong support"


def test_a_third_cannot_be_dragged():
    third = fractions("1/3 1/3 1/3")
    comparison = compare(Prediction(fractions("33/100 33/100 34/100"), TICK), third)
    # 0.34 is more than half a tick off; 0.33 is not.
    assert comparison.verdict == "right support"
    comparison = compare(Prediction(fractions("33/100 33/100 33/100"), TICK), third)
    assert comparison.verdict == "right"
    assert comparison.gaps == (Fraction(-1, 300),) * 3
    assert comparison.distance == Fraction(1, 200)


@pytest.mark.parametrize(("off", "verdict"), [(TICK / 2, "right"), (TICK / 2 + FINE, "right sup")])
def test_right_ends_at_half_a_tick(off, verdict):
    right = fractions("1/2 1/4 1/4")
    values = (right[0] + off, right[1] - off, right[2])
    assert compare(Prediction(values, TICK), right).verdict.startswith(verdict)


@pytest.mark.parametrize(
    ("extra", "verdict"),
    [(Fraction(15, 1000), "right support"), (Fraction(15, 1000) + FINE, "wrong total")],
)
def test_a_total_may_be_off_by_half_a_tick_a_bar(extra, verdict):
    right = fractions("1/2 1/4 1/4")
    values = (right[0] + extra, *right[1:])
    assert compare(Prediction(values, TICK), right).verdict == verdict


def test_the_first_mistake_that_agrees_is_named():
    law = fractions("1/2 1/2")
    first, second = NamedLaw("first", law), NamedLaw("second", law)
    comparison = compare(Prediction(law, TICK), fractions("1 0"), [first, second])
    assert comparison.mistake is first
    assert comparison.others == (second,)


def test_right_comes_before_a_mistake_with_the_same_law():
    # Disjoint supports: r is p, and to say p is then no mistake.
    p, q = SCENARIOS["disjoint"]
    comparison = judge(p, q, "residual", p)
    assert (comparison.verdict, comparison.mistake) == ("right", None)


def test_no_residual():
    p = fractions("1/8 3/8 1/2")
    claimed = judge(p, p, "residual", None)
    assert claimed.verdict == "right"
    assert (claimed.gaps, claimed.distance, claimed.truth, claimed.mistake) == (None,) * 4

    # A uniform vector must not be taken for a residual of p = q.
    drawn = judge(p, p, "residual", fractions("1/3 1/3 1/3"))
    assert drawn.verdict == "no residual"
    assert (drawn.gaps, drawn.distance, drawn.truth) == (None,) * 3
    assert drawn.mistake.slug == "floor-residual"
    other = judge(p, p, "residual", fractions("1/2 1/2 0"))
    assert (other.verdict, other.mistake) == ("no residual", None)

    fallback = judge(p, p, "residual", p)
    assert fallback.verdict == "no residual"
    assert "p itself" in fallback.mistake.sentence


@pytest.mark.parametrize("quantity", ["residual", "accepted", "output"])
def test_a_residual_exists(quantity):
    comparison = judge(*WORKED, quantity, None)
    assert comparison.verdict == "a residual exists"
    assert (comparison.gaps, comparison.distance, comparison.mistake) == (None, None, None)
    assert comparison.truth is not None


def test_bars_of_zeros_are_bars():
    comparison = judge(*WORKED, "residual", fractions("0 0 0"))
    assert comparison.verdict == "wrong total"
    comparison = judge(fractions("1 0"), fractions("1 0"), "residual", fractions("0 0"))
    assert comparison.verdict == "no residual"


@pytest.mark.parametrize("values", ["1", "1/4 1/4 1/4 1/4"])
def test_another_number_of_bars_is_refused(values):
    values = fractions(values)
    with pytest.raises(LabError, match=f"has {len(values)} bars and the truth 3"):
        judge(*WORKED, "residual", values)


def test_groups_are_judged_as_one_bar():
    p, q = SCENARIOS["four tokens"]
    step = one_step(p, q)
    groups = leading(p, 3)
    assert groups == ((0,), (1,), (2, 3))
    right = truth(step, "accepted", groups)
    assert right == fractions("1/10 1/5 3/10")
    known = named_laws(step, "accepted", groups)
    comparison = compare(Prediction(fractions("2/5 3/10 3/10"), FINE), right, known)
    assert "p itself" in comparison.mistake.sentence
    assert all(len(mistake.law) == 3 for mistake in known)


# ---------------------------------------------------------------- reading bars


def test_bars_are_read_exactly():
    assert read_bars(["0.2", "1/3", "25%", "1e-7", "1", "0"]) == (
        fractions("1/5 1/3 1/4 1/10000000 1 0"),
        {},
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "not predicted yet"),
        ("", "it is empty, which is not 0"),
        (" ", "it is empty, which is not 0"),
        ("-0.1", "negative"),
        ("1.01", "more than 1"),
        ("101%", "more than 1"),
        ("nan", "not a number"),
        ("inf", "infinite"),
        ("half", "cannot be read"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_faults_stand_at_their_bar(text, words, place):
    texts = ["0.5", "0", "0.5"]
    texts[place] = text
    _, faults = read_bars(texts)
    assert list(faults) == [place]
    assert words in faults[place]
    assert faults[place].endswith(".")


@given(st.lists(st.one_of(st.none(), st.text(max_size=8), st.floats(-1, 2).map(str)), max_size=8))
def test_any_bars_are_read_or_have_a_reason(texts):
    values, faults = read_bars(texts)
    assert set(faults) <= set(range(len(texts)))
    assert all(type(value) is Fraction and value >= 0 for value in values)
    if not faults:
        assert len(values) == len(texts)
        assert all(value <= 1 for value in values)


# ---------------------------------------------------------------- the gallery


@pytest.mark.parametrize("slug", STEP_MISTAKES)
def test_the_output_of_each_biased_mistake_is_recognised_on_its_witness(slug):
    mistake = STEP_MISTAKES[slug]
    law = tuple(map(Fraction, mistake.law(*mistake.witness)))
    comparison = judge(*mistake.witness, "output", law)
    found = [m.slug for m in (comparison.mistake, *comparison.others) if m]
    if mistake.verdict != "biased" or mistake.wanted:
        assert slug not in found  # its output is p
    else:
        assert slug in found


@pytest.mark.parametrize(
    ("slug", "bars"),
    [
        ("resample-from-target", "1/2 3/10 1/5"),
        ("swapped-roles", "0 0 1"),
        ("redraw-until-accepted", "1/5 3/10 1/2"),
        ("unnormalised-last-token", "3/10 0 7/10"),
        ("unnormalised-last-token", "3/10 0 0"),
        ("absolute-difference", "1/2 0 1/2"),
        ("only-rejected-removed", "5/8 3/8 0"),
    ],
)
def test_a_predicted_residual_leads_to_the_gallery(slug, bars):
    comparison = judge(*THREE, "residual", fractions(bars))
    assert comparison.verdict == "named mistake"
    assert comparison.mistake.slug == slug


def test_many_tokens_still_have_the_likeliest_mistakes():
    n = 1_500
    p = tuple(Fraction(2 * i + 1, n * n) for i in range(n))
    q = p[::-1]
    step = one_step(p, q)
    groups = leading(p, 10)
    for quantity, slugs in (
        ("residual", {"resample-from-target", "swapped-roles"}),
        ("output", {"always-accept"}),
    ):
        assert slugs <= {m.slug for m in named_laws(step, quantity, groups)}
