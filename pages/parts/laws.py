"""Laws that pages show, each computed once: a page's script starts afresh at every rerun, and a
cache in it with it; a module's stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lab.block import (
    BlockLaw,
    ExactRule,
    Law,
    TooLargeError,
    block_law,
    generated_law,
    target_law,
)
from lab.evidence import draws_needed
from lab.mistakes import MISTAKES, BlockMistake, Shown, StepMistake, shown, shown_on, variation
from lab.pairs import MOST_DRAFTS, Pair
from lab.precision import Type, law_with_rounded_proposal, weights_through_ratio
from lab.scenario import Scenario, format_tokens
from lab.step import ExactStep
from lab.vectors import Exact, normalise
from lab.worth import emitted_per_call


@lru_cache(maxsize=32)
def law_of(pair: Pair, drafts: int) -> BlockLaw | str:
    """The law of one block, or why there is none."""
    target, draft = pair.models()
    try:
        return block_law(target, draft, draft_length=drafts, stop=pair.stop)
    except TooLargeError as fault:
        return str(fault)


@dataclass(frozen=True)
class Generated:
    """The generated law beside the target's, and a faulty one; or why there is none."""

    generated: Law
    target: Law
    faulty: Law | str


@lru_cache(maxsize=32)
def generated_of(pair: Pair, drafts: int, length: int) -> Generated | str:
    """The laws of the first tokens, block after block; or why there are none."""
    target, draft = pair.models()
    try:
        right = generated_law(target, draft, draft_length=drafts, length=length, stop=pair.stop)
    except TooLargeError as fault:
        return str(fault)
    try:
        faulty: Law | str = generated_law(
            target,
            draft,
            draft_length=drafts,
            length=length,
            stop=pair.stop,
            rule="keep-testing",
        )
    except TooLargeError as fault:
        faulty = str(fault)
    return Generated(right, target_law(target, length=length, stop=pair.stop), faulty)


@lru_cache(maxsize=32)
def emitted_of(pair: Pair, rule: ExactRule) -> Exact:
    """The mean number of tokens that a block of 0, 1, … drafts emits."""
    target, draft = pair.models()
    return emitted_per_call(target, draft, longest=MOST_DRAFTS, stop=pair.stop, rule=rule)


@lru_cache(maxsize=64)
def mistake_on(slug: str, scenario: Scenario, texts: tuple[str, ...]) -> Shown:
    """A mistake on a scenario, with the texts of its parameters' fields. May raise a `LabError`."""
    mistake = MISTAKES[slug]
    assert isinstance(mistake, StepMistake)
    parameters = {
        parameter.name: None if parameter.optional and not text.strip() else text
        for parameter, text in zip(mistake.parameters, texts, strict=True)
    }
    return shown(mistake, scenario.target, scenario.draft, **parameters)


@lru_cache(maxsize=16)
def block_mistake_of(
    slug: str, pair: Pair, drafts: int, length: int
) -> tuple[tuple[str, ...], Exact, Exact] | str:
    """Sequences, the target's law of them, and the faulty one; or why there is none."""
    mistake = MISTAKES[slug]
    assert isinstance(mistake, BlockMistake)
    target, draft = pair.models()
    try:
        law = mistake.law(target, draft, draft_length=drafts, length=length, stop=pair.stop)
        right = mistake.right(target, draft, length=length, stop=pair.stop)
    except TooLargeError as fault:
        return str(fault)
    none = Fraction()
    keys = sorted(law.keys() | right.keys())
    keys.sort(key=lambda key: -max(law.get(key, none), right.get(key, none)))
    return (
        tuple(map(format_tokens, keys)),
        tuple(right.get(key, none) for key in keys),
        tuple(law.get(key, none) for key in keys),
    )


@lru_cache(maxsize=16)
def mistakes_on(scenario: Scenario) -> tuple[tuple[Shown, int | None], ...]:
    """Every mistake of one step on a scenario, with the draws that show it."""
    return tuple(
        (each, draws_needed(each.law.output, each.right.target) if each.law else None)
        for each in shown_on(scenario.target, scenario.draft)
    )


@lru_cache(maxsize=256)
def misses_of(step: ExactStep, kind: Type) -> tuple[Fraction, Fraction | None]:
    """How far the output is from p, and r from the exact one; None when there is no r."""
    weights = weights_through_ratio(step, kind)
    return (
        variation(law_with_rounded_proposal(step, kind), step.target),
        variation(normalise(weights), step.residual) if step.residual and any(weights) else None,
    )
