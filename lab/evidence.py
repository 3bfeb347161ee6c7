"""What counts of draws say about a law, and how many draws it takes to say it.

Pearson's chi-square test compares counts with the law they should have. Tokens that are expected
less than `LEAST_EXPECTED` times are pooled, rarest first, since the test's distribution is only
good for larger expectations. A token that the law rules out needs no test: one draw of it is
enough.

Source: Pearson (1900); for the pooling Cochran (1954), "Some Methods for Strengthening the Common
χ² Tests"; for the power of the test the noncentral chi-square distribution, with Cohen (1988),
chapter 7; for the intervals Clopper and Pearson (1934).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from lab.errors import LabError, LengthError

LEVEL = 0.01
"""How often a test may accuse counts that do have the law."""

POWER = 0.9
"""How often `draws_needed` draws show what is wrong: 9 times in 10."""

LEAST_EXPECTED = 5
"""A bin that is expected less often than that is pooled with others."""

_FARTHEST = 1e6
"""A noncentrality at which no test passes: with a million degrees of freedom some 5,000 will do."""

_MOST_COUNTED = 10**290
"""Draws beyond which floats cannot follow."""

MOST_DRAWS = 10_000_000
"""Draws that `draw_counts` takes at a time."""

Law = Sequence[Fraction] | Sequence[float] | npt.NDArray[Any]
Counts = Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's test of counts against a law.

    Attributes
    ----------
    count : the number of draws
    statistic : Σ (observed − expected)² / expected over the bins
    freedom : bins − 1
    p_value : how often counts that have the law give a statistic as large; 1 when there is only
        one bin, which nothing can be said about, and 0 when something impossible was drawn
    bins : how many bins were compared
    pooled : how many tokens share a bin with others
    impossible : positions that were drawn though the law rules them out
    """

    count: int
    statistic: float
    freedom: int
    p_value: float
    bins: int
    pooled: int
    impossible: tuple[int, ...]

    @property
    def fails(self) -> bool:
        """Whether the counts do not look like the law, at `LEVEL`."""
        return self.p_value < LEVEL


def chi_square(counts: Counts, law: Law) -> ChiSquare:
    """Test counts against the law they should have.

    Parameters
    ----------
    counts : sequence of int, shape (n,), 0 or more
    law : sequence of Fraction or float, shape (n,)
        It is divided by its sum, which for floats need not be exactly 1.

    Raises
    ------
    LengthError
        When there is not one count for each entry of the law.
    LabError
        When a count is negative or not whole, nothing was counted, or the law has no mass.
    """
    observed, expected = _counted(counts), _floats(law)
    if observed.size != expected.size:
        raise LengthError(
            f"There are {observed.size:,} counts for {expected.size:,} entries of the law; "
            "accepted is one count for each."
        )
    total = int(observed.sum())
    if not total:
        raise LabError("Nothing was counted; accepted are counts with at least one draw.")
    expected *= total
    impossible = tuple(np.flatnonzero((expected == 0) & (observed > 0)).tolist())
    groups, pooled = _bins(expected)
    bins = int(groups.max()) + 1
    seen = np.bincount(groups[groups >= 0], weights=observed[groups >= 0], minlength=bins)
    due = np.bincount(groups[groups >= 0], weights=expected[groups >= 0], minlength=bins)
    statistic = float((((seen - due) ** 2) / due).sum())
    freedom = bins - 1
    p_value = float(special.chdtrc(freedom, statistic)) if freedom else 1.0
    if impossible:
        statistic, p_value = math.inf, 0.0
    return ChiSquare(total, statistic, freedom, p_value, bins, pooled, impossible)


def _bins(expected: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], int]:
    """The bin of each token, −1 for a token that cannot come; and how many tokens are pooled."""
    groups = np.full(expected.size, -1, np.int64)
    order = np.argsort(expected, kind="stable")
    order = order[expected[order] > 0]
    pooled = _pooled(expected[order], np.cumsum(expected[order]), 1)
    groups[order] = np.maximum(np.arange(order.size) - max(pooled - 1, 0), 0)
    return groups, pooled


def _pooled(law: npt.NDArray[np.float64], below: npt.NDArray[np.float64], count: int) -> int:
    """How many tokens share a bin with others in `count` draws.

    The rarest together until they are expected often enough; each of the rest by itself. `law` is
    in ascending order, and `below` its running sums.
    """
    pooled = int(np.searchsorted(law, LEAST_EXPECTED / count))
    if pooled and below[pooled - 1] * count < LEAST_EXPECTED:
        pooled = min(pooled + 1, law.size)
    return pooled if pooled > 1 else 0


class _Apart:
    """How far one law is from another, as the test of counts sees it.

    Differences of fractions are exact: 10^-38 is seen beside 1/2.

    Attributes
    ----------
    law : the possible entries of the law tested against, in ascending order
    ruled_out : what the other draws where this law is 0
    """

    def __init__(self, actual: Law, law: Law) -> None:
        found, right = _floats(actual), _floats(law)
        gaps = found - right
        if all(isinstance(mass, Fraction) for mass in (*actual, *law)):
            gaps = np.array([float(a - b) for a, b in zip(actual, law, strict=True)])
        order = np.argsort(right, kind="stable")
        order = order[right[order] > 0]
        self.ruled_out = float(found[right == 0].sum())
        self.law, gaps = right[order], gaps[order]
        self._below, self._gaps_below = np.cumsum(self.law), np.cumsum(gaps)
        # √Σ gap²/law over the tokens from each on; squares of tiny gaps would be 0
        scaled = (gaps / np.sqrt(self.law)).tolist()
        self._from = [0.0]
        for value in reversed(scaled):
            self._from.append(math.hypot(self._from[-1], value))
        self._from.reverse()

    def bins(self, count: int) -> tuple[float, int]:
        """√Σ gap²/law over the bins of `count` draws, and the degrees of freedom."""
        pooled = _pooled(self.law, self._below, count)
        if not pooled:
            return self._from[0], self.law.size - 1
        shared = self._gaps_below[pooled - 1] / math.sqrt(self._below[pooled - 1])
        return math.hypot(self._from[pooled], shared), self.law.size - pooled

    def power(self, count: int) -> float:
        effect, freedom = self.bins(count)
        misses = 1.0  # a single bin says nothing
        if freedom:
            critical = special.chdtri(freedom, LEVEL)
            far = count * effect**2
            # From there on SciPy gives NaN; a test that far off fails always.
            misses = float(special.chndtr(critical, freedom, far)) if far < _FARTHEST else 0.0
        return 1 - misses * (1 - self.ruled_out) ** count

    def needed_unpooled(self) -> int | None:
        """How many draws would do if no tokens were pooled."""
        needed: list[float | Fraction] = []
        if self.ruled_out > 0:
            certain = self.ruled_out >= 1
            needed.append(1 if certain else math.log1p(-POWER) / math.log1p(-self.ruled_out))
        freedom = self.law.size - 1
        if self._from[0] > 0 and freedom:
            critical = special.chdtri(freedom, LEVEL)
            far = float(special.chndtrinc(critical, freedom, 1 - POWER))
            needed.append(Fraction(math.sqrt(far) / self._from[0]) ** 2)
        return max(1, math.ceil(min(needed))) if needed else None


def draws_needed(actual: Law, law: Law) -> int | None:
    """How many draws from `actual` the chi-square test against `law` needs to fail 9 times in 10.

    None when the two are equal: no number of draws tells them apart. See `power`.

    Parameters
    ----------
    actual, law : sequences of Fraction or float, shape (n,)
    """
    apart = _Apart(actual, law)
    unpooled = apart.needed_unpooled()
    if unpooled is None or _is_single(apart, unpooled):
        return unpooled
    # Pooling hides differences, and lessens the degrees of freedom: too few draws, then enough.
    few, enough = 0, min(unpooled, _MOST_COUNTED)
    while apart.power(enough) < POWER:
        if enough >= _MOST_COUNTED:
            return math.ceil(LEAST_EXPECTED / Fraction(float(apart.law[0])))
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if apart.power(middle) >= POWER else (middle, enough)
    return enough


def _is_single(apart: _Apart, count: int) -> bool:
    """Whether in so many draws each token has a bin of its own."""
    return Fraction(apart.law[0]) * count >= LEAST_EXPECTED


def power(actual: Law, law: Law, count: int) -> float:
    """How often the chi-square test of `count` draws from `actual` against `law` fails.

    By the noncentral chi-square distribution, with noncentrality Σ (actual − law)²/law over the
    test's bins, times `count`; an approximation, good to some percent. A draw that `law` rules
    out is enough by itself. Where the two are equal it is `LEVEL`, and with a single bin 0.
    """
    return _Apart(actual, law).power(count)


def interval(hits: int, count: int) -> tuple[float, float]:
    """The Clopper–Pearson interval, at 1 − `LEVEL`, for a probability seen `hits` times."""
    low = float(special.betaincinv(hits, count - hits + 1, LEVEL / 2)) if hits else 0.0
    high = 1.0
    if hits < count:
        high = float(special.betaincinv(hits + 1, count - hits, 1 - LEVEL / 2))
    return low, high


def share_p_value(hits: int, count: int, probability: Fraction | float) -> float:
    """The exact two-sided binomial test of `hits` out of `count` against one probability.

    Twice the smaller tail, at most 1.
    """
    chance = float(probability)
    if not 0 < chance < 1:
        return 1.0 if hits == count * chance else 0.0
    # By the incomplete beta function: SciPy's binomial tails end at 2^31 draws.
    below = float(special.betainc(count - hits, hits + 1, 1 - chance)) if hits < count else 1.0
    above = float(special.betainc(hits, count - hits + 1, chance)) if hits else 1.0
    return min(1.0, 2 * min(below, above))


def share_draws_needed(actual: Fraction | float, probability: Fraction | float) -> int | None:
    """How many draws a test of one probability needs to fail 9 times in 10; None when equal."""
    return draws_needed((actual, 1 - actual), (probability, 1 - probability))  # type: ignore[arg-type]


def draw_counts(law: Law, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """How often each position comes up in `count` draws from `law`, as one multinomial.

    Parameters
    ----------
    law : sequence of Fraction or float, shape (n,)
    count : int
        0 to `MOST_DRAWS`.
    rng : numpy.random.Generator

    Raises
    ------
    LabError
        When the law does not sum to 1 within what float64 explains, or `count` is out of range.
    """
    if isinstance(count, bool) or not 0 <= count <= MOST_DRAWS:
        raise LabError(f"{count:,} draws; accepted are 0 to {MOST_DRAWS:,}.")
    masses = np.array([float(mass) for mass in law])
    miss = abs(float(masses.sum()) - 1)
    # n roundings of numbers up to 1, each by half a unit in the last place
    if not miss <= masses.size * 2.0**-52:
        raise LabError(f"The law misses 1 by {miss:.3g}; draws need a law.")
    counts = np.zeros(masses.size, np.int64)
    # NumPy hands what is missing from 1 to the last entry: it must be one that can come.
    support = np.flatnonzero(masses)
    counts[support] = rng.multinomial(count, masses[support] / masses.sum())
    return counts


def _counted(counts: Counts) -> npt.NDArray[np.float64]:
    values = np.asarray(counts)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise LabError("Counts are accepted as one row of whole numbers.")
    floats = values.astype(np.float64)
    bad = ~(np.isfinite(floats) & (floats >= 0) & (floats == np.floor(floats)))
    if bad.any():
        position = int(np.argmax(bad))
        raise LabError(
            f"Counts, entry {position + 1} (“{values[position]}”): accepted are whole numbers, 0 "
            "or more."
        )
    return floats


def _floats(law: Law) -> npt.NDArray[np.float64]:
    masses = np.array([float(mass) for mass in law]) if isinstance(law, tuple | list) else law
    floats: npt.NDArray[np.float64] = np.array(masses, dtype=np.float64)
    total = floats.sum()
    if not total > 0:
        raise LabError("The law has no mass; accepted are entries that sum to 1.")
    floats /= total
    return floats
