"""Draws that have exactly their probabilities.

A uniform number is drawn by its binary digits, 32 at a time, and compared with an exact
probability as soon as it is certain on which side of it the number lies: when the probability
is not strictly inside the cell of numbers that begin with these digits. So each event has
exactly its probability, given that the generator's bits are fair; 53-bit floats would round it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

_DIGITS = 32


def _more_digits(rng: np.random.Generator, drawn: int) -> int:
    return drawn << _DIGITS | int(rng.integers(1 << _DIGITS))


def toss(rng: np.random.Generator, probability: Fraction) -> Fraction:
    """A coin in [0, 1), by the digits drawn. It is below `probability` exactly that often."""
    drawn, places = 0, 0
    while True:
        drawn, places = _more_digits(rng, drawn), places + _DIGITS
        line = probability * (1 << places)
        if not drawn < line < drawn + 1:
            return Fraction(drawn, 1 << places)


class Wheel:
    """Draws the position of one of several integer weights, each exactly as often as its share."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._ends = list(accumulate(weights))

    def spin(self, rng: np.random.Generator) -> int:
        """One draw."""
        return self._settle(rng, _more_digits(rng, 0), _DIGITS)

    def spins(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """How often each position comes up in `count` draws."""
        if count == 1:
            counts = np.zeros(len(self._ends), dtype=np.int64)
            counts[self.spin(rng)] = 1
            return counts
        floors, split = self._cells
        drawn = rng.integers(1 << _DIGITS, size=count, dtype=np.uint64)
        unsettled = np.isin(drawn, split)
        positions = np.searchsorted(floors, drawn[~unsettled], side="right")
        counts = np.bincount(positions, minlength=len(self._ends))
        for digits in drawn[unsettled]:
            counts[self._settle(rng, int(digits), _DIGITS)] += 1
        return counts

    def _settle(self, rng: np.random.Generator, drawn: int, places: int) -> int:
        """The position of the number that begins with these digits, drawing more if need be."""
        whole = self._ends[-1]
        while True:
            # The first share that ends at or after the end of the cell has it all, unless an
            # earlier one ends inside.
            position = bisect_left(self._ends, -(-(drawn + 1) * whole >> places))
            if not position or self._ends[position - 1] << places <= drawn * whole:
                return position
            drawn, places = _more_digits(rng, drawn), places + _DIGITS

    @cached_property
    def _cells(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Where each share ends, in cells of the first digits; and the cells with an end inside."""
        whole = self._ends[-1]
        scaled = [divmod(end << _DIGITS, whole) for end in self._ends]
        floors = np.array([cell for cell, _ in scaled], dtype=np.uint64)
        return floors, np.array(sorted({cell for cell, rest in scaled if rest}), dtype=np.uint64)
