"""Numbers as text: exact ones read back, rounded ones say so and never pass for 0 or 1."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.figures import decimal, exact, fine, short, terminates

numbers = st.one_of(
    st.fractions(0, 1, max_denominator=10**6),
    st.fractions(-3, 3),
    st.builds(lambda n, k: Fraction(n, 10**k), st.integers(-(10**9), 10**9), st.integers(0, 40)),
    st.builds(lambda n, a, b: Fraction(n, 2**a * 5**b), st.integers(), *[st.integers(0, 60)] * 2),
    st.floats(0, 1).map(Fraction),
)
# Close to 0, to 1, and to the middle between two numbers of four decimals.
near = st.builds(
    lambda where, n, k: where + Fraction(n, 10**k),
    st.sampled_from([Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 20000), Fraction(1, 3)]),
    st.integers(-100, 100),
    st.integers(4, 12),
)


def as_read(text: str) -> Fraction:
    """What a person makes of a number on screen: ``1 − 1e-7`` is a difference, ``−x`` negative."""
    for sign, factor in (" − ", -1), (" + ", 1):
        if sign in text:
            left, right = text.split(sign)
            return as_read(left) + factor * as_read(right)
    return Fraction(text.replace("−", "-"))


@given(numbers)
def test_exact_text_is_the_number(number):
    assert Fraction(exact(number)) == number


@given(numbers)
def test_exact_prefers_the_decimal_while_it_is_short(number):
    text = exact(number)
    if "/" in text:
        assert not terminates(number) or len(decimal(number)) > 24
    assert len(text) <= max(24, len(str(number)))


@given(numbers)
def test_decimals_are_exact_or_correctly_rounded_to_17_digits(number):
    text = decimal(number)
    if terminates(number):
        assert Fraction(text) == number
        return
    with localcontext() as context:
        context.prec = 17
        assert Decimal(text) == Decimal(number.numerator) / Decimal(number.denominator)


@given(st.integers(1, 10**5), st.integers(0, 12), st.integers(0, 12))
def test_terminates_is_about_twos_and_fives(denominator, twos, fives):
    number = Fraction(1, denominator * 2**twos * 5**fives)
    # 10**40 holds every power of 2 and 5 that can occur here, so divisibility decides.
    assert terminates(number) == (10**40 % number.denominator == 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"),
        ("1", "1"),
        ("0.1234567890123456789", "0.1234567890123456789"),
        ("1/10000000", "1e-7"),
        ("1/1000000", "0.000001"),
        ("123/100000000000", "1.23e-9"),
        ("-1/8", "-0.125"),
        ("1000", "1000"),
        ("-2/3", "-0.66666666666666667"),
    ],
)
def test_decimal_examples(value, text):
    assert decimal(Fraction(value)) == text


@given(st.one_of(numbers, near))
@settings(max_examples=250)
def test_what_is_read_is_the_number_or_marked_as_rounded(number):
    text = short(number)
    value = as_read(text.removeprefix("≈"))
    if not text.startswith("≈"):
        assert value == number
    else:
        assert value != number
        # Half a unit of the fourth decimal, or three digits of what is left over.
        assert abs(value - number) <= Fraction(1, 20000)
        if abs(number) < Fraction(1, 20000):
            assert abs(value - number) <= abs(number) / 200


@given(st.one_of(numbers, near))
@settings(max_examples=250)
def test_only_0_reads_0_and_only_1_reads_1(number):
    # Design, section 7: a value that is not zero never reads 0.00.
    value = as_read(short(number).removeprefix("≈"))
    for landmark in (0, 1, -1):
        assert (value == landmark) == (number == landmark)
    assert (value < 0) == (number < 0)


@pytest.mark.parametrize("value", ["0.00005", "0.99995", "1.00005", "-0.00005", "-0.99995"])
def test_halves_of_the_last_decimal_are_not_rounded_to_0_or_1(value):
    # Rounding half to even makes 0 of 0.00005 and 1 of 0.99995.
    assert as_read(short(Fraction(value)).removeprefix("≈")) not in (0, 1, -1)


@pytest.mark.parametrize("tail", [Fraction(1, 10**7), -Fraction(1, 10**7), Fraction(1, 3 * 10**6)])
def test_a_negative_number_close_to_minus_1_reads_as_itself(tail):
    # "−1 − 1e-7" is not the negative of "1 − 1e-7".
    number = -(1 - tail)
    assert abs(as_read(short(number).removeprefix("≈")) - number) <= abs(tail) / 200


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(3, 4), "0.75"),
        (Fraction(1, 3), "≈0.3333"),
        (Fraction(-1, 3), "≈−0.3333"),
        (Fraction(-1, 4), "−0.25"),
        (Fraction(1, 10**19), "1e-19"),
        (1 - Fraction(1, 10**7), "1 − 1e-7"),
        (1 + Fraction(1, 10**7), "1 + 1e-7"),
        (1 - Fraction(1, 3 * 10**7), "≈1 − 3.33e-8"),
        (0.5, "0.5"),
        (5e-324, "≈4.94e-324"),
        (0.1, "≈0.1000"),
    ],
)
def test_short_examples(value, text):
    assert short(value) == text


def test_a_huge_number_has_a_text_too():
    # It can be typed (1e309/3), so a message must be able to show it.
    assert short(Fraction(10**309, 3))


@given(st.one_of(numbers, near))
def test_fine_leaves_three_digits_where_short_leaves_fewer(number):
    text = fine(number)
    near_1 = abs(abs(number) - 1)
    if min(abs(number), near_1) >= Fraction(1, 100) or not short(number).startswith("≈"):
        assert text == short(number)
        return
    value = as_read(text.removeprefix("≈"))
    assert text.startswith("≈") == (value != number)
    off, size = abs(value - number), min(abs(number), near_1)
    assert off <= size / 200
