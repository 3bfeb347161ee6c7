"""Whether counts look like a law, by SciPy's own chi-square test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

UNLIKELY = 1e-4
"""The level at which counts that have the law are accused: seeds are fixed, so never by chance."""


def p_value(counts: Sequence[int], law: Sequence[object]) -> float:
    """How likely counts like these are under `law`; 0 when something impossible was drawn."""
    observed, masses = np.asarray(counts), np.array([float(mass) for mass in law])
    assert observed.shape == masses.shape
    assert abs(masses.sum() - 1) < 1e-9
    possible = masses > 0
    if observed[~possible].any():
        return 0.0
    if possible.sum() == 1:
        return 1.0
    expected = masses[possible] / masses[possible].sum() * observed.sum()
    assert expected.min() >= 3, "too few draws for a chi-square test"
    return float(stats.chisquare(observed[possible], expected).pvalue)


def fits(counts: Sequence[int], law: Sequence[object]) -> bool:
    return p_value(counts, law) >= UNLIKELY
