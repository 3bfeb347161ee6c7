"""Floating-point types, spelled out bit by bit; nothing here imports the code under test.

A type is its bit patterns, decoded as IEEE 754 defines them; numbers grow with their patterns.
Rounding is a search for the nearest of two neighbours; between two the one with the even pattern.
Arithmetic is exact arithmetic, rounded.
"""

from __future__ import annotations

from fractions import Fraction

Law = tuple[Fraction, ...]

SHAPES = {  # bits of the exponent and of the fraction
    "float16": (5, 10),
    "bfloat16": (8, 7),
    "float32": (8, 23),
    "float64": (11, 52),
}


def parts(pattern: int, kind: str) -> tuple[int, int]:
    """A bit pattern without its sign bit, as a whole number and the power of two it is times."""
    exponents, places = SHAPES[kind]
    bias = 2 ** (exponents - 1) - 1
    exponent, fraction = divmod(pattern, 2**places)
    if exponent == 0:
        return fraction, 1 - bias - places
    return 2**places + fraction, exponent - bias - places


def decode(pattern: int, kind: str) -> Fraction:
    """The number of a bit pattern."""
    whole, power = parts(pattern, kind)
    return whole * Fraction(2) ** power


def at_most(pattern: int, kind: str, value: Fraction) -> bool:
    """Whether the number of a bit pattern does not exceed a value; in whole numbers."""
    whole, power = parts(pattern, kind)
    left, right = whole * value.denominator, value.numerator
    return left << max(power, 0) <= right << max(-power, 0)


def count(kind: str) -> int:
    """How many patterns are finite numbers, 0 among them: the first of infinity."""
    exponents, places = SHAPES[kind]
    return (2**exponents - 1) * 2**places


def below(value: Fraction, kind: str) -> int:
    """The pattern of the largest number that does not exceed a value: they grow together."""
    low, high = 0, count(kind)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at_most(middle, kind, value) else (low, middle)
    return low


def nearest(value: Fraction, kind: str) -> Fraction:
    """The number of the type that is nearest to a value, 0 or more and within its range."""
    pattern = below(value, kind)
    low, high = decode(pattern, kind), decode(pattern + 1, kind)
    if value - low != high - value:
        return low if value - low < high - value else high
    return low if pattern % 2 == 0 else high


def running(values: Law, kind: str) -> Fraction:
    """The sum from left to right, each partial sum rounded."""
    sum_ = Fraction()
    for value in values:
        sum_ = nearest(sum_ + value, kind)
    return sum_


def signed(value: Fraction, kind: str) -> Fraction:
    return -nearest(-value, kind) if value < 0 else nearest(value, kind)


def coin(passes, kind: str, bits: int) -> Fraction:
    """The share of k = 0 … 2^bits − 1 whose k/2^bits, rounded, passes; every k is visited."""
    hits = sum(passes(nearest(Fraction(k, 2**bits), kind)) for k in range(2**bits))
    return Fraction(hits, 2**bits)
