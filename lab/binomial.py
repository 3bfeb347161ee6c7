"""The exact Binomial(n, s) bars behind the two-outcome display."""

from __future__ import annotations

import math
from fractions import Fraction
from operator import index
from typing import overload

from lab.errors import LabError
from lab.vectors import parse_number

MOST_TRIALS = 200
"""What the page offers: more bars cannot be told apart. The function itself has no limit."""


@overload
def binomial(success: Fraction | int | str, trials: int) -> tuple[Fraction, ...]: ...
@overload
def binomial(success: float, trials: int) -> tuple[float, ...]: ...
def binomial(
    success: Fraction | float | str, trials: int
) -> tuple[Fraction, ...] | tuple[float, ...]:
    """The probabilities of 0, 1, …, `trials` successes.

    P(k) = C(n, k) · s^k · (1 − s)^(n − k), computed exactly.

    Parameters
    ----------
    success : Fraction, int, str or float
        The probability s of one success, in [0, 1]. A float gives floats: the exact values for
        the number that it stores, each rounded once.
    trials : int
        n, 1 or more.

    Returns
    -------
    tuple
        trials + 1 probabilities; as fractions they sum to exactly 1.

    Raises
    ------
    LabError
        When `success` or `trials` is out of range; it names which.

    >>> binomial(Fraction(3, 4), 1)
    (Fraction(1, 4), Fraction(3, 4))
    """
    try:
        s = parse_number(success) if isinstance(success, str) else Fraction(success)
    except (LabError, TypeError, ValueError, OverflowError):
        s = Fraction(-1)
    if not 0 <= s <= 1:
        raise LabError(f"Success p is {success}; accepted is a number from 0 to 1.")
    try:
        n = -1 if isinstance(trials, bool) else index(trials)
    except TypeError:
        n = -1
    if n < 1:
        raise LabError(f"Trials n is {trials}; accepted is a whole number from 1 up.")
    hit, whole = s.numerator, s.denominator
    miss, every = whole - hit, whole**n
    law = tuple(Fraction(math.comb(n, k) * hit**k * miss ** (n - k), every) for k in range(n + 1))
    return tuple(map(float, law)) if isinstance(success, float) else law
