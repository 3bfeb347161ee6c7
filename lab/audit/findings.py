"""What an audit says: findings, tests, the verdict, and the book they are kept in meanwhile."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from lab.figures import exact, short
from lab.labels import visible

MOST_KEPT = 100
"""Findings of a kind that are listed; all are counted."""

Kind = Literal[
    "different-vocabularies",
    "different-order",
    "nan",
    "infinite",
    "negative",
    "sum",
    "rejection-without-residual",
    "residual-without-rejection",
    "wrong-residual",
    "wrong-output",
    "wrong-acceptance",
    "impossible-counts",
    "proposed-at-zero",
    "kept-at-zero",
    "proposals",
    "output-counts",
    "kept-counts",
    "kept-share",
    "corrections",
]

TITLES: dict[Kind, str] = {
    "different-vocabularies": "Different vocabularies",
    "different-order": "Different orders",
    "nan": "Not a number",
    "infinite": "Infinite",
    "negative": "Negative",
    "sum": "Sum is not 1",
    "rejection-without-residual": "Rejection with no residual",
    "residual-without-rejection": "Residual with no rejection",
    "wrong-residual": "Residual is not r",
    "wrong-output": "Output is not p",
    "wrong-acceptance": "Acceptance is not α",
    "impossible-counts": "Impossible counts",
    "proposed-at-zero": "Proposed where q = 0",
    "kept-at-zero": "Kept where min(p, q) = 0",
    "proposals": "Proposals do not look like q",
    "output-counts": "Output does not look like p",
    "kept-counts": "Kept tokens do not look like min(p, q)",
    "kept-share": "Kept share does not look like α",
    "corrections": "Corrections do not look like r",
}
"""What people read for each kind of finding."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    kind : what it is, a word that stays the same; `TITLES` has the words for people
    vector : the vector it is in: p, q, tokens, residual, output, acceptance or one of the counts
    position, entry : counted from 1; None when it concerns all of them
    token : the entry's label, if there are labels
    value : what was found there, as text
    sentence : what it means and what to look at
    mistakes : slugs of the gallery's mistakes that do exactly this; several when these p and q
        cannot tell them apart
    """

    kind: Kind
    vector: str
    position: int | None
    entry: int | None
    token: str | None
    value: str
    sentence: str
    mistakes: tuple[str, ...] = ()

    @property
    def mistake(self) -> str | None:
        """The first of `mistakes`."""
        return self.mistakes[0] if self.mistakes else None


@dataclass(frozen=True)
class Test:
    """One test of counts at one position; `fails` at a level shared by all tests of the audit."""

    __test__ = False  # no test of pytest's

    kind: Kind
    position: int
    count: int
    p_value: float
    fails: bool


@dataclass(frozen=True)
class Detail:
    """One token of an audit of one position."""

    entry: int
    token: str | None
    target: float
    draft: float
    accepted: float
    residual: float | None


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found. Arrays are read-only, an entry for each position looked at.

    Attributes
    ----------
    positions : int
        How many positions were looked at.
    first : int
        The number of the first of them, from 1.
    tokens : int
        Length of p's rows.
    target_type, draft_type : str
        The types of p and q: a float type's name, or ``"exact"``.
    findings : tuple of Finding
        At most `MOST_KEPT` of a kind, and with them those in which mistakes are named, at the
        worst positions of a kind; in the order of `TITLES`, then of positions.
    counted : dict
        How many findings of each kind there are, listed or not.
    notes : tuple of str
        What to know beside the findings: rounding that was found and explained, suspicions, what
        cannot be seen.
    checked : tuple of str
        What was looked at.
    tests : tuple of Test
        Tests of counts, the smallest p-values first, at most `MOST_KEPT`.
    target_defect, draft_defect : ndarray
        Σ p − 1 and Σ q − 1.
    acceptance, rejection, excess : ndarray
        α, Z and Σ max(0, q − p). NaN where entries are none of a probability.
    detail : tuple of Detail
        When one position was looked at: the tokens where p and q differ the most.
    """

    positions: int
    first: int
    tokens: int
    target_type: str
    draft_type: str
    findings: tuple[Finding, ...]
    counted: dict[Kind, int]
    notes: tuple[str, ...]
    checked: tuple[str, ...]
    tests: tuple[Test, ...]
    target_defect: npt.NDArray[np.float64]
    draft_defect: npt.NDArray[np.float64]
    acceptance: npt.NDArray[np.float64]
    rejection: npt.NDArray[np.float64]
    excess: npt.NDArray[np.float64]
    detail: tuple[Detail, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def size(self) -> str:
        """What was looked at, in words: positions, tokens and types."""
        kinds = dict.fromkeys((self.target_type, self.draft_type))
        positions = "1 position" if self.positions == 1 else f"{self.positions:,} positions"
        if self.positions == 1 and self.first > 1:
            positions = f"position {self.first:,}"
        tokens = "1 token" if self.tokens == 1 else f"{self.tokens:,} tokens"
        return f"{positions} of {tokens}, {' and '.join(kinds)}"

    @property
    def verdict(self) -> str:
        """The outcome in a sentence."""
        if self.clean:
            return f"Clean: nothing wrong was found ({self.size})."
        total = sum(self.counted.values())
        places = {finding.position for finding in self.findings if finding.position}
        kinds = "; ".join(
            TITLES[kind] + (f" ({count:,})" if count > 1 else "")
            for kind, count in self.counted.items()
        )
        where = ""
        if self.positions > 1 and places and total <= len(self.findings):
            where = f" at {len(places):,} of {self.positions:,} positions"
        findings = "1 finding" if total == 1 else f"{total:,} findings"
        return f"{findings}{where}: {kinds} ({self.size})."

    def where(self, finding: Finding) -> str:
        """Where a finding is, in words."""
        parts = [finding.vector]
        if finding.position is not None and (self.positions > 1 or self.first > 1):
            parts.append(f"position {finding.position:,}")
        if finding.entry is not None:
            label = "" if finding.token is None else f" (“{visible([finding.token])[0]}”)"
            parts.append(f"entry {finding.entry:,}{label}")
        return ", ".join(parts)


@dataclass
class Book:
    """What an audit under way has found. Positions and entries come in from 0."""

    tokens: tuple[str, ...] | None
    draft_tokens: tuple[str, ...] | None
    found: list[Finding] = field(default_factory=list)
    counted: Counter[Kind] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)

    def find(
        self,
        kind: Kind,
        vector: str,
        *,
        value: str,
        sentence: str,
        place: int | None = None,
        entry: int | None = None,
        token: str | None = None,
    ) -> Finding:
        """Note a finding, and list it if there are not too many of its kind."""
        if token is None and entry is not None:
            labels = self.tokens
            if vector in ("q", "proposed_counts"):
                labels = self.draft_tokens or self.tokens
            token = labels[entry] if labels and entry < len(labels) else None
        position, number = (None if at is None else at + 1 for at in (place, entry))
        finding = Finding(kind, vector, position, number, token, value, _begun(sentence))
        if self.counted[kind] < MOST_KEPT:
            self.found.append(finding)
        self.counted[kind] += 1
        return finding

    def find_each(
        self,
        kind: Kind,
        vector: str,
        entries: npt.NDArray[np.int64],
        values: Sequence[str],
        *,
        sentence: str,
        place: int,
    ) -> None:
        """Note the same of several entries. `values` may be fewer: the rest is only counted."""
        for entry, value in zip(entries.tolist(), values, strict=False):
            self.find(kind, vector, value=value, sentence=sentence, place=place, entry=entry)
        self.counted[kind] += len(entries) - len(values)

    def amend(
        self,
        finding: Finding,
        mistakes: Sequence[tuple[str, str]],
        lead: str,
        added: str = "",
        by: str = "p and q",
    ) -> None:
        """Put mistakes, slugs and titles, into a finding, and list it if it was not."""
        if not mistakes:
            return
        titles = " or ".join(f"“{title}”" for _, title in mistakes)
        several = f" These {by} cannot tell them apart." if len(mistakes) > 1 else ""
        amended = replace(
            finding,
            sentence=f"{finding.sentence} {lead} {titles}.{several}{added}",
            mistakes=tuple(slug for slug, _ in mistakes),
        )
        if finding in self.found:
            self.found[self.found.index(finding)] = amended
        else:
            self.found.append(amended)

    def note(self, sentence: str) -> None:
        """Note a sentence, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def in_order(self) -> tuple[Finding, ...]:
        """What is listed, by kind, then position, then entry."""
        order = {kind: n for n, kind in enumerate(TITLES)}
        return tuple(
            sorted(self.found, key=lambda f: (order[f.kind], f.position or 0, f.entry or 0))
        )


def _begun(sentence: str) -> str:
    """A sentence with a capital, but for symbols: P is another law than p."""
    sentence = sentence.strip()
    if re.match(r"[pqrα]\b|\w+\(", sentence):
        return sentence
    return sentence[:1].upper() + sentence[1:]


def value_text(value: Fraction | float) -> str:
    """A value as it is, but for whole numbers that nobody reads."""
    if isinstance(value, Fraction):
        return exact(value) if abs(value) < 10**15 else short(value)
    return repr(float(value))


def amount_text(size: Fraction | float) -> str:
    """By how much something is off: exactly if that can be read, else three digits."""
    if isinstance(size, Fraction):
        readable = size.numerator.bit_length() + size.denominator.bit_length() < 160
        return exact(size) if readable else short(size)
    return f"{size:.3g}"
