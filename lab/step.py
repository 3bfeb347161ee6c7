"""One step of speculative sampling: what is accepted, what is owed, and what comes out.

Source: Leviathan, Kalman, Matias (2023), "Fast Inference from Transformers via Speculative
Decoding", section 2.3 and appendix A.1; Chen et al. (2023), "Accelerating Large Language Model
Decoding with Speculative Sampling", theorem 1. They name target and draft the other way round
from each other; here the target is p and the draft is q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from lab.errors import LengthError
from lab.vectors import (
    Exact,
    Floats,
    Vector,
    as_floats,
    check_floats,
    convert,
    require_total_1,
    row_sums,
    total,
)

Case = Literal[
    "equal", "disjoint", "partial", "rejection without residual", "residual without rejection"
]


V = TypeVar("V", Exact, Floats)
S = TypeVar("S", Fraction, float)


@dataclass(frozen=True, eq=False)
class OneStep(Generic[V, S]):
    """The laws of one step. Vectors are in token order: tuples of Fraction, or read-only arrays.

    Attributes
    ----------
    target, draft : p and q, as given
    accepted : min(p, q), the mass a token receives by being proposed and kept
    acceptance : α = Σ min(p, q), the probability that a proposal is kept
    rejection : Z = Σ max(0, p − q), the probability of a rejection
    residual : r = max(0, p − q) / Z, the law of the correction given a rejection.
        None when no entry of p exceeds that of q: then there is nothing to divide.
    """

    target: V
    draft: V
    accepted: V
    acceptance: S
    rejection: S
    residual: V | None

    @cached_property
    def shortfall(self) -> V:
        """max(0, p − q), the target mass still required."""
        return _minus(self.target, self.accepted)

    @cached_property
    def excess(self) -> V:
        """max(0, q − p), the proposal mass thrown away."""
        return _minus(self.draft, self.accepted)

    @cached_property
    def correction(self) -> V:
        """Z · r, the mass a token receives through a rejection; all 0 when there is no residual."""
        if self.residual is None:
            return _minus(self.accepted, self.accepted)
        return _times(self.rejection, self.residual)

    @cached_property
    def output(self) -> V:
        """min(p, q) + Z · r, the law of the token that comes out."""
        return _plus(self.accepted, self.correction)

    @property
    def case(self) -> Case:
        """What p and q have in common, decided by comparing entries, never by a sum.

        The two cases with "without" can only arise in float arithmetic, when the vectors do not
        share one total there.
        """
        rejectable = _any_positive(self.excess)
        if rejectable and self.residual is None:
            return "rejection without residual"
        if not rejectable and self.residual is not None:
            return "residual without rejection"
        if not rejectable:
            return "equal"
        return "partial" if _any_positive(self.accepted) else "disjoint"


ExactStep = OneStep[Exact, Fraction]
FloatStep = OneStep[Floats, float]


def one_step(
    target: Sequence[object] | npt.NDArray[Any], draft: Sequence[object] | npt.NDArray[Any]
) -> ExactStep | FloatStep:
    """The laws of one step from a target p and a draft q.

    Parameters
    ----------
    target, draft : sequence or array, shape (n,), n ≥ 1
        p and q over the same tokens in the same order, entries 0 or more. Fractions, whole
        numbers, decimals and texts are computed exactly; float arrays in their own type (the
        wider one if they differ), with sums in float64.

    Returns
    -------
    OneStep
        Exact in, exact out; floats in, floats out. Float arrays are not copied: `target` and
        `draft` share their memory, so do not change it while the result is in use.

    Raises
    ------
    EntryError
        For an entry that is no number, not finite or negative; it names the entry.
    LengthError
        When p and q do not have the same number of entries.
    TotalError
        When an exact vector does not sum to exactly 1. The sums of float vectors are not
        judged here: rounding moves them, and by how much is the caller's question.

    >>> step = one_step(["0.2", "0.5", "0.3"], ["0.6", "0.2", "0.2"])
    >>> step.rejection, step.residual
    (Fraction(2, 5), (Fraction(0, 1), Fraction(3, 4), Fraction(1, 4)))
    """
    p, q = _pair(target, draft)
    if isinstance(p, tuple) and isinstance(q, tuple):
        return exact_step(p, q)
    assert isinstance(p, np.ndarray) and isinstance(q, np.ndarray)
    return _float_step(p, q)


def law_pair(
    target: Sequence[object] | npt.NDArray[Any], draft: Sequence[object] | npt.NDArray[Any]
) -> tuple[Vector, Vector]:
    """p and q, checked, and both exact or both floats of one type. Arguments as for `one_step`.

    Raises
    ------
    EntryError, LengthError, TotalError
        As `one_step` does.
    """
    p, q = _pair(target, draft)
    for vector, name in ((p, "p"), (q, "q")):
        if isinstance(vector, np.ndarray):
            check_floats(vector, name)
        else:
            require_total_1(vector, name)
    return p, q


def _pair(
    target: Sequence[object] | npt.NDArray[Any], draft: Sequence[object] | npt.NDArray[Any]
) -> tuple[Vector, Vector]:
    p, q = convert(target, "p"), convert(draft, "q")
    if len(p) != len(q):
        raise LengthError(
            f"p has {len(p)} entries and q has {len(q)}; both need one entry for each token."
        )
    kinds = [v.dtype for v in (p, q) if isinstance(v, np.ndarray)]
    if not kinds or (len(kinds) == 2 and kinds[0] == kinds[1]):
        return p, q
    kind = np.result_type(*kinds)
    return _as_type(p, kind, "p"), _as_type(q, kind, "q")


def exact_step(p: Exact, q: Exact) -> ExactStep:
    """`one_step` for two exact vectors of one length."""
    require_total_1(p, "p")
    require_total_1(q, "q")
    accepted = tuple(map(min, p, q))
    shortfall = _minus(p, accepted)
    rejection = total(shortfall)
    residual = tuple(s / rejection for s in shortfall) if rejection else None
    return OneStep(p, q, accepted, total(accepted), rejection, residual)


def _float_step(p: Floats, q: Floats) -> FloatStep:
    both = np.empty((2, p.size), p.dtype)  # one array and one sum for two rows: half the calls
    accepted, residual = both
    np.minimum(p, q, out=accepted)
    # First, so that ∞ − ∞ is never formed. That p is finite shows in the sum below.
    if not (np.minimum.reduce(accepted) >= 0 and np.maximum.reduce(q) < np.inf):
        _refuse(p, q)
    np.subtract(p, accepted, out=residual)  # bitwise max(p − q, 0), and faster
    acceptance, rejection = row_sums(both)
    if not math.isfinite(acceptance + rejection):
        _refuse(p, q)
    owed = rejection > 0  # no term is negative, so: if any p > q
    if owed:
        np.divide(residual, residual.dtype.type(rejection), out=residual)
    accepted.flags.writeable = residual.flags.writeable = False
    return OneStep(p, q, accepted, acceptance, rejection, residual if owed else None)


def _refuse(p: Floats, q: Floats) -> None:
    """Ask which entry is bad, once the results have shown that one is."""
    check_floats(p, "p")
    check_floats(q, "q")


def _as_type(vector: Vector, kind: np.dtype[Any], name: str) -> Floats:
    floats = vector if isinstance(vector, np.ndarray) else as_floats(vector, name)
    return _frozen(floats.astype(kind))


def _frozen(array: Floats) -> Floats:
    array.flags.writeable = False
    return array


def _minus(left: V, right: V) -> V:
    if isinstance(left, np.ndarray):
        return _frozen(left - right)
    return tuple(a - b for a, b in zip(left, right, strict=True))


def _plus(left: V, right: V) -> V:
    if isinstance(left, np.ndarray):
        return _frozen(left + right)
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _times(factor: Fraction | float, vector: V) -> V:
    if isinstance(vector, np.ndarray):
        return _frozen(vector * vector.dtype.type(factor))
    return tuple(Fraction(factor) * value for value in vector)


def _any_positive(vector: Vector) -> bool:
    if isinstance(vector, np.ndarray):
        return bool(np.maximum.reduce(vector) > 0)
    return any(vector)
