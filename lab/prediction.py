"""A committed prediction, and what its comparison with the truth says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from lab.errors import LabError
from lab.groups import Groups, together
from lab.step import ExactStep
from lab.vectors import Exact, parse_probability, total

Quantity = Literal["residual", "accepted", "output"]
"""The vectors of a step that can be predicted."""

Verdict = Literal[
    "right",
    "named mistake",
    "wrong total",
    "right support",
    "wrong support",
    "no residual",
    "a residual exists",
]


@dataclass(frozen=True)
class Prediction:
    """Bars somebody committed to.

    Attributes
    ----------
    values : tuple of Fraction, or None
        The bars in order; None says "there is no residual".
    step : Fraction
        What one tick of the control is worth: bars are only as fine as that.
    """

    values: Exact | None
    step: Fraction


@dataclass(frozen=True)
class NamedLaw:
    """A wrong law that people predict, with the sentence that explains it.

    Attributes
    ----------
    sentence : what the law is
    law : the bars of it
    slug : the entry of the gallery that has this law, if there is one
    """

    sentence: str
    law: Exact
    slug: str | None = None


@dataclass(frozen=True)
class Comparison:
    """A prediction beside the truth.

    Attributes
    ----------
    gaps : prediction − truth for each bar; None when one of the two has no bars
    distance : half the sum of the absolute gaps, which for two laws is their total variation
        distance
    verdict : what the prediction looks like
    mistake : the named mistake it matches, if it does
    others : what else it matches: bars of this p and q cannot tell them apart
    """

    prediction: Prediction
    truth: Exact | None
    gaps: Exact | None
    distance: Fraction | None
    verdict: Verdict
    mistake: NamedLaw | None = None
    others: tuple[NamedLaw, ...] = ()


def read_bars(texts: Sequence[str | None]) -> tuple[Exact, dict[int, str]]:
    """The numbers in the texts of bars, and for each bar that has none the reason.

    Returns
    -------
    values : tuple of Fraction
        Complete only when there are no faults.
    faults : dict of int to str
        Position from 0 → a sentence.
    """
    values, faults = [], {}
    for position, text in enumerate(texts):
        if text is None:
            faults[position] = "it is not predicted yet."
            continue
        try:
            value = parse_probability(text)
        except LabError as fault:
            faults[position] = str(fault)
            continue
        if value > 1:
            faults[position] = "it is more than 1, and no bar is."
        values.append(value)
    return tuple(values), faults


def compare(
    prediction: Prediction, truth: Exact | None, mistakes: Iterable[NamedLaw] = ()
) -> Comparison:
    """Hold a prediction against the truth.

    Bars agree when they differ by at most half a tick of the control (`Prediction.step`): a third
    cannot be dragged, and 0.33 is then as right as it gets. Only the match is judged that way;
    gaps and distance are exact.

    Parameters
    ----------
    prediction : Prediction
    truth : tuple of Fraction, or None
        None when the thing asked for does not exist (the residual of p = q).
    mistakes : iterable of NamedLaw
        Laws to recognise; the first that agrees is named. Near misses are not.

    Raises
    ------
    LabError
        When prediction and truth do not have the same number of bars.
    """
    values, gaps, distance = prediction.values, None, None
    if values is None or truth is None:
        verdict: Verdict = (
            "right" if values is truth else "a residual exists" if truth else "no residual"
        )
    else:
        if len(values) != len(truth):
            raise LabError(f"The prediction has {len(values)} bars and the truth {len(truth)}.")
        gaps = tuple(v - t for v, t in zip(values, truth, strict=True))
        distance = total(tuple(map(abs, gaps))) / 2
        if _agree(values, truth, prediction.step):
            verdict = "right"
        elif abs(total(gaps)) > len(gaps) * prediction.step / 2:
            verdict = "wrong total"
        elif all(bool(v) == bool(t) for v, t in zip(values, truth, strict=True)):
            verdict = "right support"
        else:
            verdict = "wrong support"
    found: tuple[NamedLaw, ...] = ()
    if values is not None and verdict != "right":
        found = tuple(m for m in mistakes if _agree(values, m.law, prediction.step))
    if found and truth is not None:
        verdict = "named mistake"
    return Comparison(
        prediction, truth, gaps, distance, verdict, found[0] if found else None, found[1:]
    )


def _agree(left: Exact, right: Exact, step: Fraction) -> bool:
    return all(abs(a - b) <= step / 2 for a, b in zip(left, right, strict=True))


def truth(step: ExactStep, quantity: Quantity, groups: Groups) -> Exact | None:
    """The bars that a prediction of `quantity` is held against."""
    vector: Exact | None = getattr(step, quantity)
    return None if vector is None else together(vector, groups)
