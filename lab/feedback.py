"""The wrong laws that people predict, on one p and q: the gallery's, and a few beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from lab.groups import Groups, together
from lab.mistakes import STEP_MISTAKES
from lab.prediction import NamedLaw, Quantity
from lab.rules import NoLawError, RuleLaw
from lab.step import ExactStep

MOST_TOKENS = 1_000
"""Beyond that the gallery is left out: its laws would take seconds."""

# Sentences where there is more to say than when a mistake comes out.
_RESIDUALS = {
    "resample-from-target": "This is p itself: you drew the replacement from the target.",
    "absolute-difference": (
        "This is |p − q|, divided by its sum: where q exceeds p nothing is owed."
    ),
    "only-rejected-removed": (
        "This is p with only the rejected token removed: q has to be subtracted at every token."
    ),
}
_OUTPUTS = {
    "always-accept": "This is q itself: what comes out if every proposal is kept.",
    "resample-from-target": (
        "This is what comes out when the replacement is drawn from p instead of r."
    ),
}


_Named = tuple[str, Sequence[Any], str | None]


@lru_cache(maxsize=32)  # a page asks at every rerun
def named_laws(step: ExactStep, quantity: Quantity, groups: Groups) -> tuple[NamedLaw, ...]:
    """The wrong laws to recognise in a prediction of `quantity`, the likeliest first.

    Mistakes that have one law on this p and q are all there: nothing tells them apart.
    """
    found = {"accepted": _accepted, "output": _outputs, "residual": _residuals}[quantity](step)
    return tuple(
        NamedLaw(sentence, together(tuple(map(Fraction, law)), groups), slug)
        for sentence, law, slug in found
    )


def _accepted(step: ExactStep) -> Iterator[_Named]:
    accepted, alpha = step.accepted, step.acceptance
    yield (
        "This is p itself: a token cannot be kept more often than it is proposed.",
        step.target,
        None,
    )
    yield (
        "This is q itself: that is how often each token is proposed, not kept.",
        step.draft,
        "always-accept",
    )
    yield (
        "This is max(0, p − q): what is still owed, not what is kept.",
        step.shortfall,
        None,
    )
    yield (
        "This is min(1, p/q), the chance that a proposal is kept once it is made. The accepted "
        "mass also counts how often it is made: q · min(1, p/q).",
        [a / q if q else 0 * q for a, q in zip(accepted, step.draft, strict=True)],
        None,
    )
    if alpha:
        yield (
            "This is min(p, q)/α, the law given that a proposal was kept. Accepted mass is not "
            "divided: it sums to α.",
            [a / alpha for a in accepted],
            None,
        )


def _outputs(step: ExactStep) -> Iterator[_Named]:
    laws = {slug: law.output for slug, law in _gallery(step).items()}
    yield _OUTPUTS["always-accept"], step.draft, "always-accept"
    if step.residual:
        yield (
            "This is r itself, the law given a rejection; what is kept comes out too.",
            step.residual,
            None,
        )
    yield (
        "This is min(p, q) alone: the mass of the rejections is still missing.",
        step.accepted,
        None,
    )
    laws.pop("always-accept", None)
    for slug, law in laws.items():
        sentence = f"This is what comes out when {STEP_MISTAKES[slug].when}."
        yield _OUTPUTS.get(slug, sentence), law, slug


def _residuals(step: ExactStep) -> Iterator[_Named]:
    if not step.rejection:
        yield "This is p itself, which would be drawn if there were a rejection.", step.target, None
        flat = Fraction(1, len(step.target))
        yield (
            "This is the uniform law, which a floor would make of 0/0.",
            [flat] * len(step.target),
            "floor-residual",
        )
        return
    owed, thrown = step.shortfall, step.excess
    laws = {slug: law.replacement for slug, law in _gallery(step).items()}
    first = "resample-from-target"
    yield _RESIDUALS[first], step.target, first
    yield (
        "This is max(0, p − q), not yet divided by Z: it sums to Z, and a law sums to 1.",
        owed,
        "unnormalised-last-token",
    )
    yield (
        "This is |p − q|: where q exceeds p nothing is owed, and the rest is still to be divided "
        "by Z.",
        [o + t for o, t in zip(owed, thrown, strict=True)],
        "absolute-difference",
    )
    yield (
        "This is q − p where positive, divided by Z: what is thrown away, not what is owed.",
        [mass / step.rejection for mass in thrown],
        "swapped-roles",
    )
    yield (
        "This is q − p where it is positive: what is thrown away, not what is owed.",
        thrown,
        "swapped-roles",
    )
    yield "This is q itself: the draft has had its turn.", step.draft, "redraw-until-accepted"
    for slug, law in laws.items():
        if law and law != step.residual and slug not in (first, "swapped-roles"):
            sentence = f"This is what a replacement follows when {STEP_MISTAKES[slug].when}."
            yield _RESIDUALS.get(slug, sentence), law, slug


@lru_cache(maxsize=8)
def _gallery(step: ExactStep) -> dict[str, RuleLaw]:
    """The biased mistakes' laws on this p and q; not of those that get stuck, nor of those that
    change what should come out."""
    found: dict[str, RuleLaw] = {}
    if len(step.target) > MOST_TOKENS:
        return found
    for slug, mistake in STEP_MISTAKES.items():
        if mistake.verdict == "biased" and not mistake.wanted:
            with suppress(NoLawError):
                found[slug] = mistake.run(step.target, step.draft)
    return found
