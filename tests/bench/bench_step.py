"""`one_step` on float vectors against the usual formulas and against a plain copy.

All contenders return the same four things: min(p, q), α, r and Z.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from lab import one_step
from tests.bench.timing import best

SIZES = (8, 1_000, 32_000, 131_072, 262_144)


def naive(p, q):
    """The expression as it stands in a textbook, with sums in the vectors' own type."""
    accepted = np.minimum(p, q)
    shortfall = np.maximum(p - q, 0)
    rejection = shortfall.sum()
    return accepted, accepted.sum(), shortfall / rejection, rejection


def clamped(p, q):
    """Clamp the difference, then divide by its sum, guarded by a tiny floor."""
    residual = np.clip(p - q, 0, None)
    rejection = residual.sum(dtype=np.float64)
    residual = residual / max(rejection, np.finfo(p.dtype).tiny)
    accepted = np.minimum(p, q)
    return accepted, accepted.sum(dtype=np.float64), residual.astype(p.dtype), rejection


def where(p, q):
    """Acceptance ratios for all tokens, and a residual that is masked instead of clamped."""
    ratio = np.minimum(1, p / np.where(q > 0, q, 1))
    accepted = ratio * q
    residual = np.where(p > q, p - q, 0)
    rejection = residual.sum()
    return accepted, accepted.sum(), residual / (rejection if rejection > 0 else 1), rejection


def copied(p, q):
    """The memory floor: as many bytes read and written as the results need, nothing computed."""
    return p.copy(), q.copy()


def main() -> None:
    """Print microseconds, and each as a multiple of `one_step`'s time."""
    rng = np.random.default_rng(0)
    print("\none_step: min(p, q), α, r and Z, in microseconds; (×) is the time over one_step's")
    print(f"{'tokens':>8} {'type':>8} {'one_step':>10} {'naive':>17} {'clamped':>17}", end="")
    print(f" {'where':>17} {'copy':>10}  one_step/copy")
    for size in SIZES:
        for kind in (np.float32, np.float64):
            p, q = rng.dirichlet(np.full(size, 0.3), size=2).astype(kind)
            times = best(
                {f.__name__: partial(f, p, q) for f in (one_step, naive, clamped, where, copied)},
                budget=1.5,
            )
            own = times["one_step"]
            print(f"{size:>8} {np.dtype(kind).name:>8} {own * 1e6:>10.1f}", end="")
            for name in ("naive", "clamped", "where"):
                print(f" {times[name] * 1e6:>9.1f} ({times[name] / own:>4.1f}×)", end="")
            print(f" {times['copied'] * 1e6:>10.1f}  {own / times['copied']:>4.1f}")


if __name__ == "__main__":
    main()
