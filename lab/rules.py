"""A sampling rule, written once: run through all its choices for its exact law, or drawn from.

A rule is code that draws: it calls `choose(weights)` for a token, `uniform()` for a number that it
compares, `race()` for noise that picks a token, and returns what came of it. `step_law` runs the
code once for each way its draws can fall, and adds up the probabilities; `draw` runs it once with
a random generator. Both run the same code, so the law is that of the rule, faults included.

A uniform number that serves two decisions stays one number: it is known to lie in an interval,
and each comparison splits that interval at its threshold. What is drawn last, and seen by no
decision, a rule may hand over as a law (`Replace`) instead of a token; then a rule's law takes
time in proportion to the number of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from lab.errors import LabError
from lab.vectors import total

Number = Any  # Fraction or float: a rule computes in the numbers it is given
Weights = Sequence[Any]


class NoLawError(LabError):
    """A rule gets stuck on these p and q: it divides 0 by 0, or goes round for ever."""


# --- What rules are made of -------------------------------------------------------------------


class Uniform(Protocol):
    """A number drawn from [0, 1). It can only be compared."""

    def __lt__(self, threshold: Number, /) -> bool: ...


class Race(Protocol):
    """One exponential clock for each token: with weight w, it rings at its time divided by w."""

    def winner(self, weights: Weights) -> int:
        """The token whose clock rings first; each wins in proportion to its weight."""


class Draws(Protocol):
    """Where a rule's randomness comes from."""

    def choose(self, weights: Weights) -> int:
        """A position, in proportion to its weight."""

    def uniform(self) -> Uniform:
        """A fresh number from [0, 1)."""

    def race(self) -> Race:
        """Fresh clocks."""


@dataclass(frozen=True)
class Keep:
    """The proposal comes out."""

    token: int


@dataclass(frozen=True)
class Replace:
    """The proposal is rejected, and the token that comes out is drawn from `weights`.

    Attributes
    ----------
    weights : not all 0, else the rule divides 0 by 0
    without : a token that is left out, as though its weight were 0
    by : what picks the token, if it is not fresh: a uniform number, by the inverse of the
        cumulative weights; or a race that was run before, by the winner under these weights
    """

    weights: Weights
    without: int | None = None
    by: Uniform | Race | None = None


@dataclass(frozen=True)
class Again:
    """Nothing comes out: the rule starts over, with fresh randomness."""


Outcome = Keep | Replace | Again
Play = Callable[[Draws], Outcome]
"""One run of a rule on a p and a q that it knows already."""


def step_rule(
    p: Weights,
    q: Weights,
    *,
    proposal: Weights | None = None,
    keeps: Callable[[int], Number] | None = None,
    replacement: Weights | None = None,
) -> Play:
    """The shape that most rules have; without further arguments, the right one.

    Parameters
    ----------
    p, q : target and draft
    proposal : what x is drawn from; q if not given
    keeps : x → the probability that it is kept; min(1, p(x)/q(x)) if not given
    replacement : weights of the draw after a rejection; max(0, p − q) if not given
    """
    proposed = q if proposal is None else proposal
    weights = shortfall(p, q) if replacement is None else replacement
    kept = keeps or (lambda x: ratio(p, q, x))

    def play(draws: Draws) -> Outcome:
        x = draws.choose(proposed)
        return Keep(x) if draws.uniform() < kept(x) else Replace(weights)

    return play


def ratio(p: Weights, q: Weights, x: int) -> Number:
    """min(1, p(x)/q(x)). Where q(x) is 0 it is 1 if p(x) is more, and 0 if not, as for NaN."""
    if p[x] >= q[x]:
        return 1 if p[x] else 0
    return p[x] / q[x]


def shortfall(p: Weights, q: Weights) -> tuple[Number, ...]:
    """max(0, p − q)."""
    return tuple(a - b if a > b else 0 * a for a, b in zip(p, q, strict=True))


# --- Laws -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RuleLaw:
    """The law of the token that comes out of a rule, by how it came.

    Vectors are tuples in token order, of the numbers that the rule was given.

    Attributes
    ----------
    kept : mass that comes out as a kept proposal
    replaced : mass that comes out as a replacement
    rounds : how often the rule starts, on average, until something comes out
    """

    kept: tuple[Number, ...]
    replaced: tuple[Number, ...]
    rounds: Number

    def of_kind(self, kind: type[Fraction] | type[float]) -> RuleLaw:
        """The same with all masses as numbers of one kind."""
        return RuleLaw(tuple(map(kind, self.kept)), tuple(map(kind, self.replaced)), self.rounds)

    @property
    def output(self) -> tuple[Number, ...]:
        """The law of the token that comes out."""
        return tuple(a + b for a, b in zip(self.kept, self.replaced, strict=True))

    @property
    def acceptance(self) -> Number:
        """The probability that what comes out is a kept proposal."""
        return sum_of(self.kept)

    @property
    def replacement(self) -> tuple[Number, ...] | None:
        """The law of the replacement given that there is one; None when there never is."""
        rejected = sum_of(self.replaced)
        return tuple(mass / rejected for mass in self.replaced) if rejected else None


def step_law(play: Play, size: int) -> RuleLaw:
    """The law of a rule over `size` tokens, from all its runs.

    Raises
    ------
    NoLawError
        When it is possible that the rule divides 0 by 0, or sure that it never ends.
    """
    kept: list[Number] = [0] * size
    pools: dict[int, _Pool] = {}
    again = False
    for outcome, mass in _runs(play):
        if isinstance(outcome, Keep):
            kept[outcome.token] += mass
        elif isinstance(outcome, Replace):
            if outcome.by is not None and outcome.without is not None:
                outcome = Replace(_left(outcome), by=outcome.by)
            pool = pools.setdefault(id(outcome.weights), _Pool(outcome.weights))
            pool.add(outcome, mass)
        else:
            again = True
    replaced: list[Number] = [0] * size
    for pool in pools.values():
        for token, mass in enumerate(pool.law()):
            if mass:
                replaced[token] += mass
    if not again:
        return RuleLaw(tuple(kept), tuple(replaced), 1)
    ending = sum_of([*kept, *replaced])  # in floats 1 − Σ again would cancel
    if not ending:
        raise NoLawError("This rule goes round for ever: nothing that q proposes is ever kept.")
    return RuleLaw(
        tuple(mass / ending for mass in kept), tuple(mass / ending for mass in replaced), 1 / ending
    )


def outcome_law(run: Callable[[Draws], Hashable]) -> dict[Hashable, Number]:
    """The law of anything that code draws, from all its runs.

    >>> half = Fraction(1, 2)
    >>> outcome_law(lambda draws: draws.choose([half, half]) + draws.choose([half, half]))
    {0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}
    """
    law: dict[Hashable, Number] = {}
    for outcome, mass in _runs(run):
        law[outcome] = law.get(outcome, 0) + mass
    return law


def token_of(play: Play, draws: Draws) -> int:
    """One run to its end: the token that comes out."""
    while True:
        outcome = play(draws)
        if isinstance(outcome, Keep):
            return outcome.token
        if isinstance(outcome, Replace):
            return _replacement(outcome, draws)


def _replacement(outcome: Replace, draws: Draws) -> int:
    weights = _left(outcome)
    if outcome.by is None:
        return draws.choose(weights)
    if isinstance(outcome.by, _RunRace | _DrawnRace):
        return outcome.by.winner(weights)
    assert isinstance(outcome.by, _RunUniform | _DrawnUniform)
    return _inverse(outcome.by, weights)


def _left(outcome: Replace) -> Weights:
    """The weights without the token that is left out."""
    if outcome.without is None:
        return outcome.weights
    return [0 * w if y == outcome.without else w for y, w in enumerate(outcome.weights)]


def _inverse(uniform: Uniform, weights: Weights) -> int:
    """The first token whose cumulative share of the weights exceeds the number."""
    whole, below = _whole(weights), 0 * weights[0]
    for token, weight in enumerate(weights):
        below += weight
        if weight and uniform < below / whole:
            return token
    return max(token for token, weight in enumerate(weights) if weight)  # floats: 1 − 2^-53


def _whole(weights: Weights) -> Number:
    whole = sum_of(weights)
    if not whole:
        raise NoLawError("This rule divides 0 by 0: it draws from weights that are all 0.")
    return whole


def sum_of(numbers: Weights) -> Number:
    """The sum, in one go for fractions."""
    if numbers and all(isinstance(number, Fraction | int) for number in numbers):
        return total(tuple(map(Fraction, numbers)))
    return sum(numbers)


# --- All runs of a rule -----------------------------------------------------------------------


def _runs(play: Callable[[Draws], Any]) -> Iterator[tuple[Any, Number]]:
    """What comes of each run, with its probability.

    Depth first: each run repeats the decisions of the one before up to the last that has another
    branch, and takes that.
    """
    tree = _Tree()
    while True:
        tree.depth, tree.mass = 0, 1
        yield play(tree), tree.mass
        while tree.forks and tree.forks[-1].last:
            tree.forks.pop()
        if not tree.forks:
            return
        tree.forks[-1].taken += 1


@dataclass
class _Fork:
    """One decision: its branches with their probabilities, and the one that is taken."""

    branches: Sequence[tuple[Any, Number]]
    taken: int = 0

    @property
    def last(self) -> bool:
        return self.taken == len(self.branches) - 1


class _Tree:
    """`Draws` for one of all runs."""

    def __init__(self) -> None:
        self.forks: list[_Fork] = []
        self.depth = 0
        self.mass: Number = 1
        # By identity, with the weights themselves so that no identity is used twice.
        self._shares: dict[int, tuple[Weights, list[tuple[int, Number]]]] = {}

    def take(self, branches: Callable[[], Sequence[tuple[Any, Number]]]) -> Any:  # noqa: ANN401
        if self.depth == len(self.forks):
            self.forks.append(_Fork(branches()))
        fork = self.forks[self.depth]
        self.depth += 1
        result, share = fork.branches[fork.taken]
        self.mass *= share
        return result

    def choose(self, weights: Weights) -> int:
        token: int = self.take(lambda: self._support(weights))
        return token

    def _support(self, weights: Weights) -> list[tuple[int, Number]]:
        known = self._shares.get(id(weights))
        if known is None:
            whole = _whole(weights)
            known = weights, [(i, w / whole) for i, w in enumerate(weights) if w]
            self._shares[id(weights)] = known
        return known[1]

    def uniform(self) -> _RunUniform:
        return _RunUniform(self)

    def race(self) -> _RunRace:
        return _RunRace(self)


class _RunUniform:
    """A number that is known to lie in [low, high)."""

    def __init__(self, tree: _Tree) -> None:
        self._tree = tree
        self.low: Number = 0
        self.high: Number = 1

    def __lt__(self, threshold: Number) -> bool:
        if threshold <= self.low:
            return False
        if threshold >= self.high:
            return True
        length = self.high - self.low
        below = bool(
            self._tree.take(
                lambda: (
                    (True, (threshold - self.low) / length),
                    (False, (self.high - threshold) / length),
                )
            )
        )
        if below:
            self.high = threshold
        else:
            self.low = threshold
        return below


class _RunRace:
    """A race of which one winner is known: the other clocks go on from there."""

    def __init__(self, tree: _Tree) -> None:
        self._tree = tree
        self.weights: Weights | None = None
        self.first = -1

    def winner(self, weights: Weights) -> int:
        if self.weights is None:
            self.weights, self.first = weights, self._tree.choose(weights)
            return self.first
        law = second_winner(self.weights, weights, self.first)
        token: int = self._tree.take(lambda: [(y, share) for y, share in enumerate(law) if share])
        return token


def second_winner(first: Weights, second: Weights, winner: int) -> list[Number]:
    """Who wins under the weights `second`, with the clocks that `winner` has won under `first`.

    Exact in fractions. The first ring comes at a time T that is exponential with rate Σ first = 1,
    whoever wins; the other clocks have at least `first`·T to go, and from there on are as good as
    new. So under `second` token y cannot ring before T·c, c = first(y)/second(y), and rings at
    rate second(y) after that. With R and Q the sums of `second` and `first` over the tokens whose
    c is at most s, nobody has rung by T·s with probability exp(−T·(R·s − Q)), and integrating over
    T and over s between one c and the next gives differences of 1/(1 + R·s − Q).

    Parameters
    ----------
    first, second : weights of the two races; they are divided by their sums
    winner : the first race's winner, whose weight in the second is 0

    Raises
    ------
    NoLawError
        When `second` has no mass.
    """
    assert not second[winner]
    rate_of, due_of = _whole(second), _whole(first)
    runners = sorted(
        (first[y] / due_of / (w / rate_of), y, w / rate_of, first[y] / due_of)
        for y, w in enumerate(second)
        if w
    )
    rate, due = 0 * rate_of, 0 * due_of
    segments = []  # between one start and the next: what each unit of rate wins there
    for k, (start, _, r, q) in enumerate(runners):
        rate, due = rate + r, due + q
        end = 1 / (1 + rate * runners[k + 1][0] - due) if k + 1 < len(runners) else 0
        segments.append((1 / (1 + rate * start - due) - end) / rate)
    law: list[Number] = [0 * rate_of] * len(second)
    won = 0 * rate_of
    for segment, (_, y, r, _) in zip(reversed(segments), reversed(runners), strict=True):
        won += segment
        law[y] = r * won
    return law


# --- Replacements, added up -------------------------------------------------------------------


@dataclass
class _Pool:
    """All replacements that are drawn from one vector of weights."""

    weights: Weights
    fresh: list[Number] = field(default_factory=list)
    without: dict[int, Number] = field(default_factory=dict)
    ranges: list[tuple[Number, Number, Number]] = field(default_factory=list)
    races: list[tuple[Weights, int, Number]] = field(default_factory=list)

    def add(self, outcome: Replace, mass: Number) -> None:
        if isinstance(outcome.by, _RunUniform):
            self.ranges.append((outcome.by.low, outcome.by.high, mass))
        elif isinstance(outcome.by, _RunRace):
            assert outcome.by.weights is not None
            self.races.append((outcome.by.weights, outcome.by.first, mass))
        elif outcome.without is None:
            self.fresh.append(mass)
        else:
            self.without[outcome.without] = self.without.get(outcome.without, 0) + mass

    def law(self) -> list[Number]:
        """The mass that each token gets."""
        whole = _whole(self.weights)
        shares = [weight / whole for weight in self.weights]
        fresh = sum_of(self.fresh)
        law = [share * fresh for share in shares]
        if self.without:
            rests, left_out = _others(shares), [0 * share for share in shares]
            for x, mass in self.without.items():
                if not rests[x]:
                    raise NoLawError(
                        "This rule divides 0 by 0: without the rejected token no weight is left."
                    )
                left_out[x] = mass / rests[x]
            scales = _others(left_out)
            law = [a + b * scale for a, b, scale in zip(law, shares, scales, strict=True)]
        if self.ranges:
            law = [a + b for a, b in zip(law, _swept(shares, self.ranges), strict=True)]
        # Who wins the second race does not depend on who won the first.
        for weights, first in {id(w): (w, x) for w, x, _ in self.races}.values():
            mass = sum_of([m for w, _, m in self.races if w is weights])
            law = [
                a + mass * b
                for a, b in zip(law, second_winner(weights, self.weights, first), strict=True)
            ]
        return law


def _others(numbers: Weights) -> list[Number]:
    """For each number the sum of all others; in floats from both ends, for nothing to cancel."""
    if not any(isinstance(number, float) for number in numbers):
        whole = sum_of(numbers)
        return [whole - number for number in numbers]
    before = accumulate(numbers[:-1], initial=0.0)
    after = [*accumulate(reversed(numbers[1:]), initial=0.0)]
    return [a + b for a, b in zip(before, reversed(after), strict=True)]


def _swept(
    shares: Sequence[Number], ranges: Sequence[tuple[Number, Number, Number]]
) -> list[Number]:
    """What each token gets from uniform numbers in ranges, by the inverse of cumulative shares.

    One sweep from 0 to 1 over the ends of shares and ranges, with the density of the numbers.
    """
    steps: list[tuple[Number, Number, int]] = []  # place, change of density, token that ends here
    for low, high, mass in ranges:
        density = mass / (high - low)
        steps += [(low, density, -1), (high, -density, -1)]
    end = 0 * shares[0]
    for token, share in enumerate(shares):
        end += share
        if share:
            steps.append((end, 0, token))
    law: list[Number] = [0] * len(shares)
    place = density = passed = 0 * shares[0]
    last = -1
    for at, change, token in sorted(steps):
        passed += density * (at - place)
        place, density = at, density + change
        if token >= 0:
            law[token], passed, last = passed, 0 * passed, token
    law[last] += passed  # floats: what lies above a last share that ends just short of 1
    return law


# --- Draws ------------------------------------------------------------------------------------


class RandomDraws:
    """`Draws` from a random generator. Comparisons with fractions are exact."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, weights: Weights) -> int:
        return _inverse(self.uniform(), weights)

    def uniform(self) -> Uniform:
        return _DrawnUniform(self._rng)

    def race(self) -> Race:
        return _DrawnRace(self._rng)


class _DrawnUniform:
    """A number by its binary digits, of which as many are drawn as its comparisons need."""

    _DIGITS = 32

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._drawn = self._places = 0

    def __lt__(self, threshold: Number) -> bool:
        line = Fraction(threshold)
        while True:
            cell = line * (1 << self._places)
            if cell >= self._drawn + 1:
                return True
            if cell <= self._drawn:
                return False
            digits = int(self._rng.integers(1 << self._DIGITS))
            self._drawn = self._drawn << self._DIGITS | digits
            self._places += self._DIGITS


class _DrawnRace:
    """Clocks in floats, one for each token, drawn at the first race."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._clocks: list[float] = []

    def winner(self, weights: Weights) -> int:
        if not self._clocks:
            self._clocks = self._rng.exponential(size=len(weights)).tolist()
        _whole(weights)
        times = {y: self._clocks[y] / float(w) for y, w in enumerate(weights) if w}
        return min(times, key=times.__getitem__)


def draw(play: Play, count: int, size: int, rng: np.random.Generator) -> list[int]:
    """How often each of `size` tokens comes out in `count` runs, one after the other.

    Where a rule's law is known, `lab.evidence.draw_counts` draws all counts at once.
    """
    counts = [0] * size
    draws = RandomDraws(rng)
    for _ in range(count):
        counts[token_of(play, draws)] += 1
    return counts
