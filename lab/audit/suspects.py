"""Which mistakes of the gallery a wrong claim, or counts that miss their law, look like.

A claim is held against the law that each mistake has on the very p and q; counts against the
likeliest of those laws, which is named only if the counts then look like it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.audit.rows import Row
from lab.errors import LabError
from lab.evidence import POWER, chi_square, draws_needed, power
from lab.mistakes import MISTAKES
from lab.mistakes import StepMistake as Mistake

LONGEST = 10_000
"""Tokens up to which all rules of the gallery are run, at some 5 µs a token and mistake. For longer
vectors there are the closed forms of `LONG`."""

DECISIVE = math.log(100)
"""A mistake is told from another when it makes the counts 100 times as likely."""

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
    """The mistakes that have a law on p and q, which are tuples of Fraction or arrays of float64.

    Of vectors longer than `LONGEST` only those in `LONG`.
    """
    if len(p) > LONGEST:
        return _in_closed_form(_floats(p), _floats(q))
    found = []
    for slug, mistake in gallery().items():
        try:
            law = mistake.run(p, q)
        except (LabError, ArithmeticError):
            continue  # it divides 0 by 0 here, or never ends: no law, nothing to recognise
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


def _rejected_removed(p: Cells, thrown: Cells) -> Cells:
    """Σ over rejected x of thrown(x) · p(y)/(1 − p(x)), for y other than x."""
    share = np.zeros_like(p)
    np.divide(thrown, 1 - p, out=share, where=thrown > 0)
    weights: Cells = p * (share.sum() - share)
    return weights


def _with_rest(owed: Cells) -> Cells:
    weights = owed.copy()
    weights[-1] += 1 - owed.sum()
    return weights


def _first(p: Cells) -> Cells:
    weights = np.zeros_like(p)
    weights[0] = 1
    return weights


LONG: dict[str, Callable[[Cells, Cells], tuple[Cells, Cells | None]]] = {
    "resample-from-target": lambda p, q: (np.minimum(p, q), p),
    "redraw-until-accepted": lambda p, q: (np.minimum(p, q) / np.minimum(p, q).sum(), None),
    "absolute-difference": lambda p, q: (np.minimum(p, q), np.abs(p - q)),
    "swapped-roles": lambda p, q: (
        q * np.minimum(1, np.divide(q, p, out=np.ones_like(p), where=p > 0)),
        np.maximum(q - p, 0),
    ),
    "only-rejected-removed": lambda p, q: (
        np.minimum(p, q),
        _rejected_removed(p, np.maximum(q - p, 0)),
    ),
    "softmax-residual": lambda p, q: (np.minimum(p, q), np.exp(np.maximum(p - q, 0))),
    "unnormalised-last-token": lambda p, q: (
        np.minimum(p, q),
        _with_rest(np.maximum(p - q, 0)),
    ),
    "first-token-fallback": lambda p, q: (np.minimum(p, q), _first(p)),
    "no-coin": lambda p, q: (np.where(p >= q, q, 0), np.maximum(p - q, 0)),
    "ratio-to-max": lambda p, q: (q * p / p.max(), np.maximum(p - q, 0)),
    "always-accept": lambda p, q: (q, None),
}
"""For long vectors: the mass that is kept, and the weights of the replacement. A test holds each
against the rule in the gallery."""


def _in_closed_form(p: Cells, q: Cells) -> tuple[Suspect, ...]:
    found = []
    for slug, form in LONG.items():
        kept, weights = form(p, q)
        replacement = None if weights is None or not weights.any() else weights / weights.sum()
        replaced = np.zeros_like(p)
        if replacement is not None:
            replaced = replacement * max(float(q.sum() - kept.sum()), 0.0)
        title = gallery()[slug].title
        alpha = float(kept.sum())
        found.append(Suspect(slug, title, kept, replaced, kept + replaced, replacement, alpha))
    return tuple(found)


def behind_claim(
    kind: Claim, found: Sequence[Suspect], agrees: Callable[[Law], bool]
) -> tuple[Suspect, ...]:
    """The mistakes whose residual, output or α `agrees` with the one that was claimed."""
    name = {"residual": "replacement"}.get(kind, kind)
    laws = ((suspect, getattr(suspect, name)) for suspect in found)
    return tuple(suspect for suspect, law in laws if law is not None and agrees(law))


def _cells(kind: str, law: Suspect) -> Cells | None:
    """The law of what is counted; None when that never happens."""
    if kind == "steps":
        cells = np.concatenate([_floats(law.kept), _floats(law.replaced)])
    else:
        parts = {"output": law.output, "corrections": law.replacement, "kept": law.kept}
        if parts[kind] is None:
            return None
        cells = _floats(parts[kind])
    # Rules that divide 0 by 0 here have no law, or one that is not finite.
    return cells if 0 < cells.sum() < np.inf else None


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
) -> tuple[Suspect, ...]:
    """The likeliest mistakes behind counts that miss their law, the likeliest first.

    Several when the counts do not tell them apart (`DECISIVE`). None when the right law is as
    likely as any, or when the counts do not look like the likeliest either.

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
    laws = [(suspect, law) for suspect in found if (law := _cells(kind, suspect)) is not None]
    likely = [(_likelihood(counts, law), suspect, law) for suspect, law in laws]
    best = max((likelihood for likelihood, _, _ in likely), default=-np.inf)
    if not best > _likelihood(counts, right):
        return ()
    near = [entry for entry in likely if entry[0] >= best - DECISIVE]
    near.sort(key=lambda entry: -entry[0])
    return tuple(suspect for _, suspect, law in near if chi_square(counts, law).p_value >= level)


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
        chance, needed = power(law, right, count), draws_needed(law, right)
        shown.append(Power(suspect.slug, suspect.title, chance, needed))
    return tuple(shown)


def too_long(size: int) -> str:
    """What is said where only some mistakes were looked for."""
    return (
        f"Of the gallery's {len(gallery())} mistakes {len(LONG)} were looked for: with more than "
        f"{LONGEST:,} tokens, and here are {size:,}, the others take too long."
    )
