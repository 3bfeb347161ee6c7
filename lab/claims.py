"""How far a claimed residual, output or α may be from a law, because of float types."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from lab.rows import PRECISION, SMALLEST, Measures, Row, narrower

Floats = npt.NDArray[np.float64]


@dataclass
class Scale:
    """How far a claim may be from a law, because it, p and q are in float types.

    Exact numbers leave nothing: then a claim is right or wrong. Otherwise p, q and the claim are
    each rounded once, e.g. p's entry by 2⁻ᵈ of its size with d binary digits; the claim was
    computed with a rounding for each subtraction, sum of log₂ n levels, quotient and product.
    An error of p and q is 1/Z times as large in r.
    """

    name: str
    types: tuple[str, str]
    kind: str
    p: Row
    q: Row
    measures: Measures

    @property
    def exact(self) -> bool:
        return {*self.types, self.kind} == {"exact"}

    def narrow(self, claim: Row) -> bool:
        """Take entries that a narrower type holds as rounded to it; whether there are any."""
        if self.exact:
            return False
        claim_type = None if isinstance(claim, tuple) else narrower(np.asarray(claim), self.kind)
        types = tuple(
            (None if isinstance(row, tuple) else narrower(row, kind)) or kind
            for row, kind in zip((self.p, self.q), self.types, strict=True)
        )
        narrowed = (types, claim_type or self.kind)
        changed = narrowed != (self.types, self.kind)
        self.types, self.kind = (types[0], types[1]), narrowed[1]
        return changed

    def tolerance(self, law: Row) -> Floats:
        right = as_float64(law)
        if self.exact:  # a law may still be in floats, where it has an exponential in it
            return 16 * 2.0**-53 * right
        sides = list(zip((self.p, self.q), self.types, strict=True))
        n = len(self.p)
        units = [2.0 ** -PRECISION.get(kind, 53) for kind in (*self.types, self.kind)]
        roundings = (math.ceil(math.log2(n)) if n > 1 else 0) + 6
        computing = roundings * max(units) * right + SMALLEST.get(self.kind, 2.0**-1074) / 2
        stored = sum(
            unit * as_float64(row) + SMALLEST[kind] / 2
            for (row, kind), unit in zip(sides, units, strict=False)
            if kind != "exact"
        )
        entries = stored if isinstance(stored, np.ndarray) else np.zeros(n)
        if self.name == "acceptance":
            return np.array([entries.sum()]) + computing
        if self.name == "output":
            return 2 * entries + computing
        owed = float(self.measures.rejection)
        result: Floats = computing
        if owed > 0:
            result = (entries + right * entries.sum()) / owed + computing
        return result

    def agrees(self, claim: Row, law: Row) -> bool:
        if self.exact and all(isinstance(mass, Fraction) for mass in law):
            return tuple(claim) == tuple(law)
        return bool((np.abs(as_float64(claim) - as_float64(law)) <= self.tolerance(law)).all())

    def worst(self, claim: Row, law: Row) -> tuple[int, float, int]:
        """The entry that is furthest beyond what rounding explains, by how much, and how many."""
        if self.exact:
            gaps = [abs(a - b) for a, b in zip(claim, law, strict=True)]
            entry = max(range(len(gaps)), key=gaps.__getitem__)
            return entry, float(gaps[entry]), sum(map(bool, gaps))
        off = np.abs(as_float64(claim) - as_float64(law))
        beyond = off > self.tolerance(law)
        entry = int(np.argmax(np.where(beyond, off, -1.0)))
        return entry, float(off[entry]), int(beyond.sum())


def right_claim(name: str, p: Row, q: Row, measures: Measures) -> Row:
    """What is to be claimed: exact when p and q are, else float64; None for no residual."""
    if name == "acceptance":
        value = measures.acceptance
        return (value,) if isinstance(value, Fraction) else np.array([value])
    if name == "output":
        return p if isinstance(p, tuple) else as_float64(p)
    if not measures.rejection > 0:
        return None
    if isinstance(p, tuple) and isinstance(q, tuple):
        return tuple(mass / measures.rejection for mass in undivided(p, q))
    return undivided(p, q) / float(measures.rejection)


def undivided(p: Row, q: Row) -> Row:
    """max(0, p − q), which is no law where Z is not 1."""
    if isinstance(p, tuple) and isinstance(q, tuple):
        return tuple(max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True))
    return np.maximum(as_float64(p) - as_float64(q), 0)


def as_float64(row: Row) -> Floats:
    if isinstance(row, tuple):
        return np.array([float(entry) for entry in row])
    floats: Floats = np.asarray(row).astype(np.float64)
    return floats
