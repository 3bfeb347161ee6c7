"""The sampler's experiment, played with tickets and counted in integers.

Nothing here knows α, Z or r, and nothing imports the code under test. A law with common
denominator D is an urn of D tickets. A proposal is a ticket of q's urn; the coin of a token with
Q tickets in q and P in p has Q faces, P of which say "keep"; a replacement is a ticket of whatever
urn the rule at hand puts out after a rejection. Every outcome is visited and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

Law = tuple[Fraction, ...]
Urn = list[int]
"""One token a ticket."""


@dataclass(frozen=True)
class Played:
    """What came of the experiment, as shares of all outcomes."""

    kept: Law  # proposed and kept
    thrown: Law  # proposed and rejected
    owed: Law  # tickets of p that no kept proposal has served
    kept_when_proposed: Law  # the coin's chance; 0 for a token that is never proposed
    replacement: Law | None  # given a rejection; None when there is none
    output: Law


def urn(law: Law, size: int) -> Urn:
    """`size` tickets, shared out as `law` says."""
    tickets = []
    for token, mass in enumerate(law):
        count = mass * size
        assert count.denominator == 1, "the urn is too small for this law"
        tickets += [token] * count.numerator
    return tickets


def size_for(*laws: Law) -> int:
    """The smallest number of tickets that can show all of `laws`."""
    return lcm(*(mass.denominator for law in laws for mass in law))


def play(p: Law, q: Law, replace: Callable[[int, Urn, Urn], Urn] | None = None) -> Played:
    """Visit every proposal, every face of its coin and every replacement.

    `replace(rejected, target, owed)` is the urn for the replacement: `target` is p's urn and
    `owed` the tickets of p that kept proposals have not served. The right rule, which is the
    default, draws from `owed`.
    """
    size, tokens = size_for(p, q), range(len(p))
    target, draft = urn(p, size), urn(q, size)
    in_p, in_q = Counter(target), Counter(draft)
    faces = lcm(*in_q.values())  # so that one face of every coin weighs a whole number

    kept: Counter[int] = Counter()
    thrown: Counter[int] = Counter()
    for token in draft:
        for face in range(in_q[token]):
            pile = kept if face < in_p[token] else thrown
            pile[token] += faces // in_q[token]
    outcomes = size * faces
    assert kept.total() + thrown.total() == outcomes

    # Each kept outcome serves one ticket of a p urn that is as large as the set of outcomes.
    open_tickets = Counter({token: count * faces for token, count in in_p.items()})
    open_tickets.subtract(kept)
    assert min(open_tickets.values()) >= 0, "a token was kept more often than p has it"
    owed = [token for token in tokens for _ in range(open_tickets[token])]

    rule = replace or (lambda rejected, target, owed: owed)
    urns = {token: rule(token, target, owed) for token in thrown}
    scale = lcm(*(len(tickets) for tickets in urns.values()))
    replaced: Counter[int] = Counter()
    for token, count in thrown.items():
        for ticket, times in Counter(urns[token]).items():
            replaced[ticket] += count * times * (scale // len(urns[token]))

    def law(counts: Counter[int], whole: int) -> Law:
        return tuple(Fraction(counts[token], whole) for token in tokens)

    both = Counter({token: kept[token] * scale + replaced[token] for token in tokens})
    return Played(
        kept=law(kept, outcomes),
        thrown=law(thrown, outcomes),
        owed=law(open_tickets, outcomes),
        kept_when_proposed=tuple(
            Fraction(kept[t], kept[t] + thrown[t]) if in_q[t] else Fraction() for t in tokens
        ),
        replacement=law(replaced, thrown.total() * scale) if thrown else None,
        output=law(both, outcomes * scale),
    )


def from_target(rejected: int, target: Urn, owed: Urn) -> Urn:
    """The mistaken rule that draws the replacement from p."""
    return target


def without_the_rejected(rejected: int, target: Urn, owed: Urn) -> Urn:
    """The mistaken rule that draws from p with only the rejected token taken out."""
    return [token for token in target if token != rejected]


def tosses(hit: int, whole: int, trials: int) -> Law:
    """Successes in `trials` tosses of a coin with `hit` good faces of `whole`, toss by toss."""
    ways = [1]
    for _ in range(trials):
        after = [0] * (len(ways) + 1)
        for successes, count in enumerate(ways):
            after[successes] += count * (whole - hit)
            after[successes + 1] += count * hit
        ways = after
    return tuple(Fraction(count, whole**trials) for count in ways)


def fractions(texts: Sequence[str] | str) -> Law:
    """Exact values written as in the cases: ``"1/8 3/8 1/2"``."""
    return tuple(map(Fraction, texts.split() if isinstance(texts, str) else texts))
