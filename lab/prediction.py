"""A committed prediction, and what its comparison with the truth says."""

from __future__ import annotations

from collections.abc import Sequence
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
class Mistake:
    """A wrong law that people predict, with the sentence that explains it."""

    sentence: str
    law: Exact


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
    """

    prediction: Prediction
    truth: Exact | None
    gaps: Exact | None
    distance: Fraction | None
    verdict: Verdict
    mistake: Mistake | None


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
    prediction: Prediction, truth: Exact | None, mistakes: Sequence[Mistake] = ()
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
    mistakes : sequence of Mistake
        Laws to recognise; the first that agrees is named. Near misses are not.

    Raises
    ------
    LabError
        When prediction and truth do not have the same number of bars.
    """
    values = prediction.values
    if values is None or truth is None:
        verdict: Verdict = (
            "right" if values is truth else "a residual exists" if truth else "no residual"
        )
        mistake = _match(values, mistakes, prediction.step) if values else None
        return Comparison(prediction, truth, None, None, verdict, mistake)
    if len(values) != len(truth):
        raise LabError(f"The prediction has {len(values)} bars and the truth {len(truth)}.")
    gaps = tuple(v - t for v, t in zip(values, truth, strict=True))
    distance = total(tuple(map(abs, gaps))) / 2
    mistake = None
    if _agree(values, truth, prediction.step):
        verdict = "right"
    elif mistake := _match(values, mistakes, prediction.step):
        verdict = "named mistake"
    elif abs(total(gaps)) > len(gaps) * prediction.step / 2:
        verdict = "wrong total"
    elif all(bool(v) == bool(t) for v, t in zip(values, truth, strict=True)):
        verdict = "right support"
    else:
        verdict = "wrong support"
    return Comparison(prediction, truth, gaps, distance, verdict, mistake)


def _agree(left: Exact, right: Exact, step: Fraction) -> bool:
    return all(abs(a - b) <= step / 2 for a, b in zip(left, right, strict=True))


def _match(values: Exact, mistakes: Sequence[Mistake], step: Fraction) -> Mistake | None:
    return next((m for m in mistakes if _agree(values, m.law, step)), None)


def truth(step: ExactStep, quantity: Quantity, groups: Groups) -> Exact | None:
    """The bars that a prediction of `quantity` is held against."""
    vector: Exact | None = getattr(step, quantity)
    return None if vector is None else together(vector, groups)


def known_mistakes(step: ExactStep, quantity: Quantity, groups: Groups) -> tuple[Mistake, ...]:
    """The wrong laws that people predict for `quantity`, on this p and q."""
    p, q, accepted = step.target, step.draft, step.accepted
    z, alpha = step.rejection, step.acceptance
    found: list[tuple[str, Sequence[Fraction]]] = []
    if quantity == "accepted":
        found = [
            ("This is p itself: a token cannot be kept more often than it is proposed.", p),
            ("This is q itself: that is how often each token is proposed, not kept.", q),
            ("This is max(0, p − q): what is still owed, not what is kept.", step.shortfall),
            (
                "This is min(1, p/q), the chance that a proposal is kept once it is made. "
                "The accepted mass also counts how often it is made: q · min(1, p/q).",
                [a / d if d else Fraction() for a, d in zip(accepted, q, strict=True)],
            ),
        ]
        if alpha:
            found.append(
                (
                    "This is min(p, q)/α, the law given that a proposal was kept. Accepted mass "
                    "is not divided: it sums to α.",
                    [a / alpha for a in accepted],
                )
            )
    elif quantity == "output":
        found = [
            ("This is q itself: what comes out if every proposal is kept.", q),
            *(
                [
                    (
                        "This is r itself, the law given a rejection; what is kept comes out too.",
                        step.residual,
                    )
                ]
                if step.residual
                else []
            ),
            ("This is min(p, q) alone: the mass of the rejections is still missing.", accepted),
            (
                "This is what comes out when the replacement is drawn from p instead of r.",
                [a + z * t for a, t in zip(accepted, p, strict=True)],
            ),
        ]
    elif z:
        found = [
            ("This is p itself: you drew the replacement from the target.", p),
            (
                "This is max(0, p − q), not yet divided by Z: it sums to Z, and a law sums to 1.",
                step.shortfall,
            ),
            (
                "This is |p − q|, divided by its sum: where q exceeds p nothing is owed.",
                [(s + e) / (2 * z) for s, e in zip(step.shortfall, step.excess, strict=True)],
            ),
            (
                "This is |p − q|: where q exceeds p nothing is owed, and the rest is still to be "
                "divided by Z.",
                [s + e for s, e in zip(step.shortfall, step.excess, strict=True)],
            ),
            (
                "This is q − p where positive, divided by Z: what is thrown away, not what is "
                "owed.",
                [e / z for e in step.excess],
            ),
            (
                "This is q − p where it is positive: what is thrown away, not what is owed.",
                step.excess,
            ),
            (
                "This is p with only the rejected token removed: q has to be subtracted at every "
                "token.",
                _only_rejected_removed(step),
            ),
            ("This is q itself: the draft has had its turn.", q),
        ]
    else:
        found = [("This is p itself, which would be drawn if there were a rejection.", p)]
    return tuple(Mistake(sentence, together(tuple(law), groups)) for sentence, law in found)


def _only_rejected_removed(step: ExactStep) -> list[Fraction]:
    """The replacement's law when it is p without the rejected token, averaged over rejections.

    Token y gets p(y) · Σ over rejected x ≠ y of P(x | rejection) / (1 − p(x)). Where something is
    thrown away p < q ≤ 1, so that nothing is divided by 0.
    """
    shares = [
        thrown / step.rejection / (1 - mass) if thrown else Fraction()
        for thrown, mass in zip(step.excess, step.target, strict=True)
    ]
    every = total(tuple(shares))
    return [mass * (every - own) for mass, own in zip(step.target, shares, strict=True)]
