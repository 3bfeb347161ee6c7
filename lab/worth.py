"""What speculation is worth: tokens for a target call, and the speed-up for a cost ratio."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from lab.block import ExactRule, Setting, require_whole, sum_of
from lab.errors import LabError
from lab.models import History, ModelLike
from lab.vectors import Exact, parse_probability


def emitted_per_call(
    target: ModelLike,
    draft: ModelLike,
    *,
    longest: int,
    stop: str | None = None,
    history: History = (),
    rule: ExactRule = "token-by-token",
) -> Exact:
    """The mean number of tokens that a target call brings, for K = 0, 1, …, `longest` drafts.

    One block is one call of the target, over K + 1 positions at once. These are exact means for
    the block after `history`: 1 + P(1 accepted or more) + … + P(K accepted), less the probability
    that a kept stop token ends the block, which then has no replacement or bonus. Where rows
    depend on the prefix, another history gives other means.

    Parameters
    ----------
    longest : int
        The largest K, 0 or more.
    rule : "token-by-token" or "block-verification"
    target, draft, stop, history
        As for `block_law`.

    Returns
    -------
    tuple of Fraction, length `longest` + 1
        Entry K is `block_law(…, draft_length=K).expected_emitted`.

    Raises
    ------
    TooLargeError, LabError
        As for `block_law`.

    >>> from lab.models import by_position
    >>> p, q = by_position("AB", ["0.6, 0.4"]), by_position("AB", ["0.4, 0.6"])
    >>> emitted_per_call(p, q, longest=2)
    (Fraction(1, 1), Fraction(9, 5), Fraction(61, 25))
    """
    require_whole(longest, "largest draft length", 0)
    setting = Setting.of(target, draft, longest, stop, history, rule)
    if rule not in get_args(ExactRule):
        raise LabError(f"The rule is {rule!r}; accepted are {', '.join(get_args(ExactRule))}.")
    setting.require_prefixes(longest)
    means = [Fraction(1)]
    live: list[tuple[History, int, int, int]] = [((), 1, 1, 1)]
    for k in range(1, longest + 1):  # as in _right_outcomes, but only the masses that are kept
        longer = []
        going_on: defaultdict[int, int] = defaultdict(int)
        for before, a, b, whole in live:
            pair = setting.rows.pair(setting.history + before)
            whole *= pair.whole
            for token, _, _, p, q in pair.moves:
                kept = min(a * p, b * q)
                # A kept stop token is itself emitted, but brings nothing after it.
                if kept and token != setting.stop:
                    going_on[whole] += kept
                    if k < longest:
                        against = b * q if rule == "block-verification" else kept
                        longer.append(((*before, token), kept, against, whole))
        live = longer
        means.append(means[-1] + sum_of(going_on))
    return tuple(means)


@dataclass(frozen=True)
class ConstantRate:
    """A block whose every draft is accepted with the same probability, whatever its prefix.

    Only then do these formulas hold. With rows that depend on the prefix, acceptances are not
    independent, and a mean rate put in here gives wrong numbers: `block_law` gives the right
    ones. No stop token is accounted for.

    Attributes
    ----------
    rate : the acceptance probability a of one draft, from 0 to 1
    draft_length : K, the number of drafts

    Source: Leviathan et al. (2023), equation 1.

    >>> ConstantRate(Fraction(1, 2), 2).expected_emitted
    Fraction(7, 4)
    """

    rate: Fraction
    draft_length: int

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise LabError(f"The acceptance rate is {self.rate}; accepted is 0 to 1.")
        require_whole(self.draft_length, "draft length", 0)

    @property
    def accepted_count(self) -> dict[int, Fraction]:
        """k → the probability that k drafts are accepted: a^k · (1 − a), and a^K for all."""
        law = {k: self.rate**k * (1 - self.rate) for k in range(self.draft_length)}
        law[self.draft_length] = self.all_accepted
        return {k: share for k, share in law.items() if share}

    @property
    def all_accepted(self) -> Fraction:
        """a^K."""
        return self.rate**self.draft_length

    @property
    def expected_emitted(self) -> Fraction:
        """(1 − a^(K+1)) / (1 − a), which for a = 1 is K + 1: the sum 1 + a + … + a^K."""
        if self.rate == 1:
            return Fraction(self.draft_length + 1)
        return (1 - self.rate ** (self.draft_length + 1)) / (1 - self.rate)

    @property
    def expected_accepted(self) -> Fraction:
        """One less than `expected_emitted`: the one is the replacement or the bonus."""
        return self.expected_emitted - 1

    @property
    def share_accepted(self) -> Fraction | None:
        """The mean share of the K drafts that is accepted; None when K is 0."""
        return self.expected_accepted / self.draft_length if self.draft_length else None


def speedups(emitted: Sequence[Fraction], cost: Fraction | int | str) -> Exact:
    """How many times faster than the target alone each K is: emitted(K) / (1 + cost · K).

    Assumes that a target call over K + 1 positions takes as long as one over a single position,
    and that testing costs nothing.

    Parameters
    ----------
    emitted : sequence of Fraction
        The mean number of tokens for a target call at K = 0, 1, …; see `emitted_per_call`.
    cost : Fraction, int or str
        c, the time of one draft step over that of one target step: 0 or more.

    Source: Leviathan et al. (2023), theorem 3.8.

    >>> speedups([Fraction(1), Fraction(9, 5)], "1/2")
    (Fraction(1, 1), Fraction(6, 5))
    """
    try:
        c = parse_probability(str(cost))
    except LabError as fault:
        raise LabError(f"The cost ratio (“{cost}”): {fault}") from None
    return tuple(Fraction(mean) / (1 + c * k) for k, mean in enumerate(emitted))


def best_draft_length(factors: Sequence[Fraction]) -> int:
    """The K with the largest speed-up, the smallest such K; 0 says not to speculate."""
    return max(range(len(factors)), key=factors.__getitem__)  # the first of equals
