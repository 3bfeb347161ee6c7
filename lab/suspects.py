"""Which mistakes of the gallery a wrong claim, or counts that miss their law, look like.

A claim is held against the law that each mistake has on the very p and q; counts against the
likeliest of those laws, which is named only if the counts then look like it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.errors import LabError
from lab.evidence import POWER, ChiSquare, chi_square, draws_needed, power
from lab.mistakes import MISTAKES
from lab.mistakes import StepMistake as Mistake
from lab.rows import Row

LONGEST = 20_000
"""Tokens up to which the gallery is gone through, at some microseconds a token and mistake."""

TIE = 1e-9
"""Log-likelihoods this close, of their size, are the same: counts cannot tell the laws apart."""

Law: TypeAlias = Row
KindOfCounts = Literal["steps", "output", "corrections", "kept"]
Claim = Literal["residual", "output", "acceptance"]
Cells = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Suspect:
    """A mistake and what it does to the p and q at hand.

    Attributes
    ----------
    slug, title : the mistake's names in the gallery
    kept, replaced : mass that each token receives by being kept, and as a replacement
    output : the law of the token that comes out
    replacement : the law of the replacement given a rejection; None when nothing is rejected
    acceptance : the probability that a proposal is kept
    """

    slug: str
    title: str
    kept: Law
    replaced: Law
    output: Law
    replacement: Law | None
    acceptance: Fraction | float


@dataclass(frozen=True)
class Power:
    """How well so many draws would show a mistake: how often, and how many do 9 times in 10."""

    slug: str
    title: str
    chance: float
    needed: int | None

    @property
    def shows(self) -> bool:
        """Whether the draws show the mistake at least 9 times in 10."""
        return self.chance >= POWER


def gallery() -> Mapping[str, Mistake]:
    """The mistakes of one step, by slug, in the gallery's order."""
    return {slug: m for slug, m in MISTAKES.items() if not m.in_blocks}


def suspects(p: Row, q: Row) -> tuple[Suspect, ...]:
    """Every mistake that has a law on p and q: tuples of Fraction, or arrays of float64."""
    found = []
    for slug, mistake in gallery().items():
        try:
            law = mistake.run(p, q)
        except LabError:  # it would divide 0 by 0, or never end: no law, nothing to recognise
            continue
        found.append(
            Suspect(
                slug,
                mistake.title,
                law.kept,
                law.replaced,
                law.output,
                law.replacement,
                law.acceptance,
            )
        )
    return tuple(found)


def behind_claim(
    kind: Claim, found: Sequence[Suspect], agrees: Callable[[Law], bool]
) -> tuple[Suspect, ...]:
    """The mistakes whose residual, output or α `agrees` with the one that was claimed."""
    name = {"residual": "replacement"}.get(kind, kind)
    laws = ((suspect, getattr(suspect, name)) for suspect in found)
    return tuple(suspect for suspect, law in laws if law is not None and agrees(law))


def _cells(kind: str, law: Suspect) -> Cells | None:
    if kind == "steps":
        return np.concatenate([_floats(law.kept), _floats(law.replaced)])
    parts: dict[str, Law | None] = {
        "output": law.output,
        "corrections": law.replacement,
        "kept": law.kept,
    }
    return None if parts[kind] is None else _floats(parts[kind])


def _floats(law: Law) -> Cells:
    if isinstance(law, np.ndarray):
        return law.astype(np.float64)
    return np.array([float(mass) for mass in law])


def _likelihood(counts: Cells, law: Cells) -> float:
    total = law.sum()
    seen = counts > 0
    if not total > 0 or (law[seen] <= 0).any():
        return -np.inf
    return float((counts[seen] * np.log(law[seen] / total)).sum())


def behind_counts(
    kind: KindOfCounts,
    counts: Cells,
    right: Cells,
    found: Sequence[Suspect],
    level: float,
) -> tuple[tuple[Suspect, ...], ChiSquare | None]:
    """The likeliest mistakes behind counts that miss their law, and the test of the first.

    Several when their likelihoods are the same. None when the right law is as likely as any, or
    when the counts do not look like the likeliest either.

    Parameters
    ----------
    kind : what was counted
        ``"steps"`` for kept tokens followed by replacements, as `counts` and `right` then are.
    counts, right : arrays of float64, shape (n,), or (2 n,) for steps
        The counts, and the law they should have.
    found : what `suspects` gives
    level : float
        Tests fail below this p-value.
    """
    best = _likelihood(counts, right)
    named: list[Suspect] = []
    for suspect in found:
        law = _cells(kind, suspect)
        if law is None:
            continue
        likelihood = _likelihood(counts, law)
        margin = TIE * max(abs(likelihood), 1.0) if np.isfinite(likelihood) else 0.0
        if likelihood > best + margin:
            best, named = likelihood, [suspect]
        elif named and likelihood >= best - margin:
            named.append(suspect)
    if not named:
        return (), None
    law = _cells(kind, named[0])
    assert law is not None
    test = chi_square(counts, law)
    return (tuple(named), test) if test.p_value >= level else ((), None)


def powers(
    kind: KindOfCounts,
    count: int,
    right: Cells,
    found: Sequence[Suspect],
) -> tuple[Power, ...]:
    """How often `count` draws show each mistake that has another law than the right one."""
    shown = []
    for suspect in found:
        law = _cells(kind, suspect)
        if law is None or np.allclose(law, right, rtol=1e-12, atol=1e-15):
            continue
        measure = partial(power, law, right)
        shown.append(Power(suspect.slug, suspect.title, measure(count), draws_needed(law, right)))
    return tuple(shown)


def too_long(size: int) -> str:
    """What is said where the gallery would take too long."""
    return (
        f"Which mistake it may be was not looked for: with {size:,} tokens that takes too long; up "
        f"to {LONGEST:,} it is."
    )
