"""The two-outcome display: exact for a stipulated success, and honest about the step."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import fractions, play
from strategies import law_pairs, ticket_pairs

from lab import binomial, one_step
from lab.display import positive_residual, two_outcomes

WORKED = fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5")


def test_worked_example():
    # Design, section 2: success is B, failure is C; A stays outside.
    shown = two_outcomes(one_step(*WORKED), Fraction(3, 4))
    assert (shown.success_token, shown.failure_token) == (1, 2)
    assert shown.bars == fractions("3/4 1/4") == binomial(Fraction(3, 4), 1)[::-1]
    assert shown.displayed == fractions("0 3/4 1/4")
    assert shown.scaled == fractions("0 3/10 1/10")
    assert shown.recovered == fractions("1/5 1/2 3/10")
    assert shown.misses == (0, 0, 0)
    assert shown.distance == 0
    assert shown.true_success == Fraction(3, 4)


def test_a_wrong_stipulation_misses_p_and_says_by_how_much():
    shown = two_outcomes(one_step(*WORKED), Fraction(1, 2))
    # Z = 0.4 on one half each: 0.2 + 0.2 for B and 0.2 + 0.2 for C.
    assert shown.recovered == fractions("1/5 2/5 2/5")
    assert shown.misses == fractions("0 -1/10 1/10")
    assert shown.distance == Fraction(1, 10)


@given(ticket_pairs(most=4), st.fractions(0, 1, max_denominator=30))
def test_the_display_against_the_experiment(pair, success):
    p, q = pair
    played = play(p, q)
    step = one_step(p, q)
    positive = tuple(i for i, mass in enumerate(played.replacement or ()) if mass)
    assert positive_residual(step) == positive
    shown = two_outcomes(step, success)
    if len(positive) != 2:
        assert shown is None
        return
    one, other = positive
    assert (shown.success_token, shown.failure_token) == positive
    assert shown.true_success == played.replacement[one]
    assert shown.displayed[one] == success
    assert shown.displayed[other] == 1 - success
    assert sum(shown.displayed) == 1
    rejected = sum(played.thrown)
    for i, mass in enumerate(shown.recovered):
        assert mass == played.kept[i] + rejected * shown.displayed[i]
    assert (shown.recovered == p) == (success == shown.true_success)
    assert sum(shown.misses) == 0
    # What is missing on one token is too much on the other.
    assert shown.distance == rejected * abs(success - shown.true_success)


@given(law_pairs())
def test_the_true_success_recovers_p(pair):
    step = one_step(*pair)
    shown = two_outcomes(step, Fraction(1, 2))
    if shown is None:
        assert len(positive_residual(step)) != 2
        return
    assert two_outcomes(step, shown.true_success).recovered == step.target


@pytest.mark.parametrize(
    ("p", "q"), [("1/2 1/2", "1/2 1/2"), ("1 0", "0 1"), ("1/3 1/3 1/3 0", "0 0 0 1")]
)
def test_no_display_without_exactly_two_outcomes(p, q):
    assert two_outcomes(one_step(fractions(p), fractions(q)), Fraction(1, 2)) is None
