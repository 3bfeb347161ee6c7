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
    # The rarest together until they are expected often enough; each of the rest by itself.
    pooled = int(np.searchsorted(expected[order], LEAST_EXPECTED))
    if pooled and expected[order[:pooled]].sum() < LEAST_EXPECTED:
        pooled = min(pooled + 1, order.size)
    if pooled <= 1:
        pooled = 0
    groups[order] = np.maximum(np.arange(order.size) - max(pooled - 1, 0), 0)
    return groups, pooled


def draws_needed(actual: Law, law: Law) -> int | None:
    """How many draws from `actual` the chi-square test against `law` needs to fail 9 times in 10.

    None when the two are equal: no number of draws tells them apart. The test's power is that of
    the noncentral chi-square distribution, with noncentrality N · Σ (actual − law)²/law, and no
    pooling; where `actual` draws what `law` rules out, one such draw is enough. The number is an
    approximation that is good from a few hundred draws on.

    Parameters
    ----------
    actual, law : sequences of Fraction or float, shape (n,)
    """
    effect, ruled_out, freedom = _apart(actual, law)
    needed: list[float | Fraction] = []
    if ruled_out > 0:
        needed.append(math.log1p(-POWER) / math.log1p(-ruled_out) if ruled_out < 1 else 1)
    if effect > 0 and freedom:
        needed.append(Fraction(math.sqrt(_noncentrality(freedom)) / effect) ** 2)
    return max(1, math.ceil(min(needed))) if needed else None


def _apart(actual: Law, law: Law) -> tuple[float, float, int]:
    """√Σ (actual − law)²/law, what `actual` has where `law` is 0, and the degrees of freedom.

    Differences of fractions are exact: 10^-38 is seen beside 1/2.
    """
    found, right = _floats(actual), _floats(law)
    gaps = found - right
    if all(isinstance(mass, Fraction) for mass in (*actual, *law)):
        gaps = np.array([float(a - b) for a, b in zip(actual, law, strict=True)])
    possible = right > 0
    effect = math.hypot(*(gaps[possible] / np.sqrt(right[possible])).tolist())
    return effect, float(found[~possible].sum()), int(possible.sum()) - 1


def _noncentrality(freedom: int) -> float:
    """The noncentrality at which a test with so many degrees of freedom fails 9 times in 10."""
    critical = special.chdtri(freedom, LEVEL)
    return float(special.chndtrinc(critical, freedom, 1 - POWER))


def power(actual: Law, law: Law, count: int) -> float:
    """How often the chi-square test of `count` draws from `actual` against `law` fails.

    Where the two are equal that is `LEVEL`; with one possible token it is 0. See `draws_needed`
    for how good it is.
    """
    effect, ruled_out, freedom = _apart(actual, law)
    misses = 1.0  # a single bin says nothing
    if freedom:
        critical = special.chdtri(freedom, LEVEL)
        misses = float(special.chndtr(critical, freedom, count * effect**2))
    return 1 - misses * (1 - ruled_out) ** count


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
    below = float(special.bdtr(hits, count, chance))
    above = float(special.bdtrc(hits - 1, count, chance)) if hits else 1.0
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
