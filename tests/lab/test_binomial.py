"""The two-outcome bars, against tosses counted one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import tosses

from lab import LabError, binomial, one_step
from lab.binomial import MOST_TRIALS

chances = st.one_of(st.fractions(0, 1, max_denominator=50), st.fractions(0, 1))


@given(chances, st.integers(1, 25))
def test_tosses_counted_one_by_one(success, trials):
    assert binomial(success, trials) == tosses(success.numerator, success.denominator, trials)


@given(chances, st.integers(1, 60))
@settings(max_examples=40)
def test_exact_law_with_the_right_mean_and_variance(success, trials):
    law = binomial(success, trials)
    assert len(law) == trials + 1
    assert all(type(mass) is Fraction and mass >= 0 for mass in law)
    assert sum(law) == 1
    mean = sum(k * mass for k, mass in enumerate(law))
    assert mean == trials * success
    assert sum((k - mean) ** 2 * mass for k, mass in enumerate(law)) == mean * (1 - success)


@given(chances, st.integers(1, 40))
def test_failures_are_the_mirror_of_successes(success, trials):
    assert binomial(success, trials) == binomial(1 - success, trials)[::-1]


@given(st.floats(0, 1), st.integers(1, 30))
def test_floats_are_the_exact_values_rounded_once(success, trials):
    law = binomial(success, trials)
    stored = Fraction(success)
    wanted = tosses(stored.numerator, stored.denominator, trials)
    assert all(type(mass) is float for mass in law)
    # Fraction.__float__ rounds once, to nearest.
    assert law == tuple(map(float, wanted))


@pytest.mark.parametrize(("success", "certain"), [(0, 0), (1, 7), ("0", 0), ("1", 7), (1.0, 7)])
def test_certainty(success, certain):
    assert binomial(success, 7) == tuple(int(k == certain) for k in range(8))


def test_one_trial_is_the_two_outcomes_themselves():
    assert binomial(Fraction(3, 4), 1) == (Fraction(1, 4), Fraction(3, 4))


def test_worked_example_two_outcomes():
    # Design, section 2: success is B, failure C; Z × (0.75, 0.25) = (0.3, 0.1).
    step = one_step(["0.2", "0.5", "0.3"], ["0.6", "0.2", "0.2"])
    failure, success = binomial(step.residual[1], 1)
    assert (success, failure) == (Fraction(3, 4), Fraction(1, 4))
    assert (step.rejection * success, step.rejection * failure) == (
        Fraction(3, 10),
        Fraction(1, 10),
    )


def test_text_is_read_exactly():
    assert binomial("0.1", 2) == (Fraction(81, 100), Fraction(18, 100), Fraction(1, 100))
    assert binomial("1/3", 1) == (Fraction(2, 3), Fraction(1, 3))


def test_numpy_doubles_are_floats():
    assert binomial(np.float64(0.5), 1) == (0.5, 0.5)


def test_the_largest_offer_is_exact_and_symmetric():
    law = binomial(Fraction(1, 2), MOST_TRIALS)
    assert sum(law) == 1
    assert law == law[::-1]
    assert law[0] == Fraction(1, 2**MOST_TRIALS)
    assert max(law) == law[MOST_TRIALS // 2]


@pytest.mark.parametrize(
    "success",
    [-1, 2, "1.0000001", "-0.1", "nan", "inf", "", "x", "1/0", float("nan"), float("inf"), -1e-9],
)
def test_success_out_of_range_is_named(success):
    with pytest.raises(LabError) as fault:
        binomial(success, 3)
    assert type(fault.value) is LabError
    assert str(fault.value) == f"Success p is {success}; accepted is a number from 0 to 1."


@pytest.mark.parametrize("trials", [0, -1, 1.5, 2.0, "3", None, True])
def test_trials_out_of_range_are_named(trials):
    with pytest.raises(LabError) as fault:
        binomial(Fraction(1, 2), trials)
    assert str(fault.value) == f"Trials n is {trials}; accepted is a whole number from 1 up."
