"""A claimed residual, output or α against the right one, and the mistakes it looks like."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from lab.audit.findings import MOST_KEPT, Book, Finding, Kind, value_text
from lab.audit.rows import (
    PRECISION,
    SMALLEST,
    Measures,
    Row,
    Rows,
    bad_entries,
    narrower,
    type_name,
)

Floats = npt.NDArray[np.float64]

UNDIVIDED = "unnormalised-last-token"
"""The mistake of the gallery that draws from a residual that was not divided by Z."""


class Claimed:
    """The claims of an audit, position by position.

    Parameters
    ----------
    book : where findings go
    rows : claimed residuals and outputs by name
    alphas : claimed acceptances in one row, or None
    types : those of p and q
    """

    def __init__(
        self, book: Book, rows: dict[str, Rows], alphas: Rows | None, types: tuple[str, str]
    ) -> None:
        self.book, self.rows, self.alphas, self.types = book, rows, alphas, types
        self.wrong: dict[str, Worst[_Wrong]] = {}

    def look_at(self, p: Row, q: Row, measures: Measures, place: int) -> None:
        """Note what is wrong with the claims about one position."""
        for name, rows in self.rows.items():
            if place >= rows.shape[0]:
                continue
            claim = rows[place]
            if find_bad(self.book, claim, name, place):
                continue
            self._claim(name, claim, type_name(rows), p, q, measures, place)
        if self.alphas is not None and place < self.alphas.shape[-1]:
            value = self.alphas[0][place]
            claim = (value,) if isinstance(value, Fraction) else np.array([value])
            if find_bad(self.book, claim, "acceptance", place):
                return
            self._claim("acceptance", claim, type_name(self.alphas), p, q, measures, place)

    def _claim(
        self, name: str, claim: Row, kind: str, p: Row, q: Row, measures: Measures, place: int
    ) -> None:
        right = right_claim(name, p, q, measures)
        if right is None:
            if any(claim):
                entry = int(np.argmax(np.array([float(mass) for mass in claim])))
                self.book.find(
                    "wrong-residual",
                    name,
                    value=value_text(claim[entry]),
                    sentence="there is no residual here: p exceeds q nowhere, nothing is owed, "
                    "and 0/0 is not to be formed. A claim of any law comes from a floor or a "
                    "fallback.",
                    place=place,
                    entry=entry,
                )
            return
        scale = Scale(name, self.types, kind, p, q, measures)
        if scale.agrees(claim, right):
            return
        entry, size, differing = scale.worst(claim, right)
        single = name == "acceptance"
        known: Kind = f"wrong-{name}"  # type: ignore[assignment]
        tolerance = scale.tolerance(right)
        allowed = 0.0 if scale.exact else float(tolerance[entry])
        finding = self.book.find(
            known,
            name,
            value=value_text(claim[entry]),
            sentence=f"claimed is {value_text(claim[entry])}, right is {value_text(right[entry])}"
            + (f", which rounding moves by {allowed:.2g} at most" if allowed else "")
            + (
                ". "
                if single or differing == 1
                else f"; {differing:,} entries differ, this one the most. "
            )
            + scale.if_rounded(claim, right),
            place=place,
            entry=None if single else entry,
        )
        worst = self.wrong.setdefault(name, Worst(most_named(len(p))))
        if not worst.takes(size, place):
            return
        kept = claim if isinstance(claim, tuple) else np.array(claim)
        p, q = (row if isinstance(row, tuple) else np.array(row) for row in (p, q))
        scale = replace(scale, p=p, q=q)

        def agrees(law: Row) -> bool:
            return scale.agrees(kept, law if not single else (law,), summed=len(scale.p))

        worst.put(size, place, _Wrong(finding, p, q, agrees))

    def name_mistakes(self) -> None:
        """Name the mistakes that the worst claims of each kind come of."""
        for name, worst in self.wrong.items():
            for wrong in worst.cases:
                self._name(name, wrong)
            if worst.seen > len(worst.cases):
                self.book.note(worst.left_out(f"where {name} is wrong"))

    def _name(self, name: str, wrong: _Wrong) -> None:
        from lab.audit.suspects import LONGEST, Claim, behind_claim, suspects, too_long

        if len(wrong.p) > LONGEST:
            self.book.note(too_long(len(wrong.p)))
        p, q = for_gallery(wrong.p, wrong.q)
        found = suspects(p, q)
        kind: Claim = name  # type: ignore[assignment]
        named = behind_claim(kind, found, wrong.agrees)
        lead = "This is what comes of"
        if kind == "residual" and not named and wrong.agrees(undivided(p, q)):
            named = tuple(suspect for suspect in found if suspect.slug == UNDIVIDED)
            lead = "It is max(0, p − q), which was not divided by Z. Drawn from, it is"
        slugs = [(suspect.slug, suspect.title) for suspect in named]
        self.book.amend(wrong.finding, slugs, lead)


T = TypeVar("T")

MOST_NAMED = 20
"""Positions, the worst of a kind, at which mistakes are looked for."""

TOKENS_NAMED = 50_000
"""Tokens that those positions have together, at most: more than one long row takes too long."""


def most_named(tokens: int) -> int:
    """At how many positions mistakes are looked for in rows of so many tokens: at least one."""
    return max(1, min(MOST_NAMED, TOKENS_NAMED // tokens))


class Worst(Generic[T]):
    """The worst few of many: the largest sizes, and among equals the first places."""

    def __init__(self, most: int) -> None:
        self.most, self.seen = most, 0
        self._heap: list[tuple[float, int, T]] = []

    def takes(self, size: float, place: int) -> bool:
        """Count a case; whether it is among the worst so far, and is to be `put`."""
        self.seen += 1
        return len(self._heap) < self.most or (size, -place) > self._heap[0][:2]

    def put(self, size: float, place: int, case: T) -> None:
        push = heapq.heappush if len(self._heap) < self.most else heapq.heapreplace
        push(self._heap, (size, -place, case))

    @property
    def cases(self) -> list[T]:
        """Those that are kept, the worst first."""
        return [case for _, _, case in sorted(self._heap, key=lambda kept: kept[:2], reverse=True)]

    def left_out(self, where: str) -> str:
        kept = len(self._heap)
        return (
            f"Of the {self.seen:,} positions {where}, mistakes were looked for at the worst"
            f"{f' {kept:,}' if kept > 1 else ''} only."
        )


@dataclass
class _Wrong:
    """A wrong claim: where it is, and copies of what it is about."""

    finding: Finding
    p: Row
    q: Row
    agrees: Callable[[Row], bool]


def find_bad(book: Book, row: Row, name: str, place: int) -> bool:
    """Note the entries of a row that no probability has; whether there are any."""
    meanings: dict[Kind, str] = {
        "nan": "not a number. It came from 0/0 or ∞ − ∞, as a softmax over a row that is "
        "masked entirely, or a residual that is divided by 0; every comparison with it is "
        "false.",
        "infinite": "no probability is infinite. It may be a logit, or a division by 0.",
        "negative": "no probability is negative. It may be a logit or a log-probability, or a "
        "difference p − q that was not cut at 0.",
    }
    bad = bad_entries(row)
    for kind, entries in bad.items():
        known: Kind = kind  # type: ignore[assignment]
        sentence = meanings[known]
        if known == "negative" and len(entries) > 1 and _none_positive(row):
            sentence = (
                "no probability is negative, and no entry of this row is above 0: these look "
                "like log-probabilities. An audit takes probabilities."
            )
        shown = [value_text(row[entry]) for entry in entries[:MOST_KEPT]]
        book.find_each(known, name, entries, shown, sentence=sentence, place=place)
    return bool(bad)


def _none_positive(row: Row) -> bool:
    return all(entry <= 0 for entry in row) if isinstance(row, tuple) else bool((row <= 0).all())


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

    def if_rounded(self, claim: Row, law: Row) -> str:
        """A sentence if the claim would be right, had numbers been rounded to a narrower type."""
        rows = {"p": (self.p, self.types[0]), "q": (self.q, self.types[1])}
        rows["the claim"] = claim, self.kind
        narrowed = {
            name: None if isinstance(row, tuple) else narrower(row, kind)
            for name, (row, kind) in rows.items()
        }
        p, q, kind = (narrowed[name] or rows[name][1] for name in rows)
        if not any(narrowed.values()) or not replace(self, types=(p, q), kind=kind).agrees(
            claim, law
        ):
            return ""
        names = " and ".join(name for name, type_ in narrowed.items() if type_)
        types = " or ".join(dict.fromkeys(type_ for type_ in narrowed.values() if type_))
        return (
            f"Every entry of {names} is a number of {types}: if it was rounded to that, rounding "
            "explains this. Hand numbers over in the type that they were computed in. "
        )

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

    def agrees(self, claim: Row, law: Row, *, summed: int = 0) -> bool:
        """Whether a claim may be a law, whose entries come of sums of `summed` in float64."""
        if self.exact and all(isinstance(mass, Fraction) for mass in law):
            return tuple(claim) == tuple(law)
        right = as_float64(law)
        allowed = self.tolerance(law) + 4 * summed * 2.0**-53 * np.abs(right)
        return bool((np.abs(as_float64(claim) - right) <= allowed).all())

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


def for_gallery(p: Row, q: Row) -> tuple[Row, Row]:
    """p and q for the gallery: both exact or both float64."""
    if isinstance(p, tuple) and isinstance(q, tuple):
        return p, q
    return as_float64(p), as_float64(q)
