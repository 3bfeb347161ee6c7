"""The two-outcome display: a stipulated success probability read as two tokens' residual.

An exact Bernoulli picture, neither a rejection sampler nor a model of three tokens: whether its
success is some step's r is a question of comparing the two, which this module answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lab.step import ExactStep
from lab.vectors import Exact, total


@dataclass(frozen=True)
class TwoOutcomes:
    """Success and failure, read as the only two tokens with residual mass.

    Attributes
    ----------
    step : the step that the display is read against
    success_token, failure_token : positions of the two tokens, in token order
    success : the stipulated probability of success
    """

    step: ExactStep
    success_token: int
    failure_token: int
    success: Fraction

    @property
    def bars(self) -> Exact:
        """Success and failure of one trial."""
        return (self.success, 1 - self.success)

    @property
    def displayed(self) -> Exact:
        """The bars on the tokens, in token order; every other token stays outside with 0."""
        on = {self.success_token: self.bars[0], self.failure_token: self.bars[1]}
        return tuple(on.get(token, Fraction()) for token in range(len(self.step.target)))

    @property
    def scaled(self) -> Exact:
        """Z times the displayed bars."""
        return tuple(self.step.rejection * bar for bar in self.displayed)

    @property
    def recovered(self) -> Exact:
        """Accepted mass plus Z times the displayed bars: p if the success is r's, else not."""
        return tuple(a + s for a, s in zip(self.step.accepted, self.scaled, strict=True))

    @property
    def misses(self) -> Exact:
        """Recovered − p, token by token."""
        return tuple(r - p for r, p in zip(self.recovered, self.step.target, strict=True))

    @property
    def distance(self) -> Fraction:
        """The total variation distance of the recovered vector from p."""
        return total(tuple(map(abs, self.misses))) / 2

    @property
    def true_success(self) -> Fraction:
        """What the success would have to be: r at the success token."""
        assert self.step.residual is not None
        return self.step.residual[self.success_token]


def positive_residual(step: ExactStep) -> tuple[int, ...]:
    """The tokens with residual mass. The display applies when there are exactly two."""
    return tuple(i for i, mass in enumerate(step.residual or ()) if mass)


def two_outcomes(step: ExactStep, success: Fraction) -> TwoOutcomes | None:
    """The display for `step`; None when its residual has not exactly two positive outcomes."""
    tokens = positive_residual(step)
    return TwoOutcomes(step, tokens[0], tokens[1], success) if len(tokens) == 2 else None
