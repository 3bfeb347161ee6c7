"""Drafted blocks: the exact law of what comes out, one block step by step, and what it is worth.

A block drafts K tokens, one after the other, from the draft's rows. Each draft x is then tested in
order, with the target's row p and the draft's row q after the tokens before it: it is kept with
probability min(1, p(x)/q(x)). At the first rejection one replacement is drawn from that position's
residual max(0, p − q)/Z, and every later draft is discarded, since it assumed a token that is not
there. If all K are kept, one bonus token is drawn from the target's row after the last of them.

A stop token ends the output wherever it is committed, as a kept draft, a replacement or a bonus.
Nothing is drafted after a drafted stop token; nothing after a committed one is accepted or
emitted, and no model is ever asked for a row there. A stop token that is kept counts as accepted,
and gets no bonus.

Source: Leviathan, Kalman, Matias (2023), "Fast Inference from Transformers via Speculative
Decoding", algorithm 1; Chen et al. (2023), "Accelerating Large Language Model Decoding with
Speculative Sampling", algorithm 2; for the joint rule Sun et al. (2024), "Block Verification
Accelerates Speculative Decoding", algorithm 2.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from lab.errors import LabError
from lab.labels import visible
from lab.models import History, Model, ModelLike, as_model, history_text
from lab.step import exact_step
from lab.vectors import Exact, parse_probability, total

Law = dict[History, Fraction]
"""Sequences of tokens with their probabilities; what cannot happen is not listed."""

ExactRule = Literal["token-by-token", "block-verification"]
Fault = Literal["keep-testing", "next-position-residual", "shifted-target", "stop-ignored"]
Rule = ExactRule | Fault

RULES: dict[Rule, str] = {
    "token-by-token": (
        "Each draft is tested on its own; the first rejection is replaced and ends the block."
    ),
    "block-verification": (
        "The drafts are tested jointly: a later position may rescue an earlier failed coin."
    ),
    "keep-testing": (
        "After a rejection the later drafts are tested as well, and follow the replacement."
    ),
    "next-position-residual": (
        "The replacement is drawn from the residual of the position after the rejected draft."
    ),
    "shifted-target": "Each draft is tested with the target's row of the position after it.",
    "stop-ignored": "A stop token in the middle of a block does not stop it.",
}
"""The rules that have a law here, the right ones first, with what they do."""

MOST_SEQUENCES = 400_000
"""Sequences that an exact law lists: 8 tokens with 5 drafts, or 25 letters with 3."""

LONGEST = 200
"""Drafts of a block, and tokens of a generated law."""

MOST_DRAWS = 100_000
"""Blocks that `draw_blocks` draws at a time."""


class TooLargeError(LabError):
    """An exact law would list too many sequences.

    Attributes
    ----------
    size : int
        How many sequences it may list, at most.
    limit : int
        How many are listed.
    """

    def __init__(self, what: str, size: int) -> None:
        self.size, self.limit = size, MOST_SEQUENCES
        many = f"{size:,}" if size < 10**15 else f"some 10^{len(str(size)) - 1}"
        super().__init__(
            f"{what} takes up to {many} sequences, and up to {self.limit:,} are computed exactly. "
            "Take fewer drafts, a shorter length or fewer tokens, or draw blocks instead of "
            "listing them (draw_blocks)."
        )


# --- Laws -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockLaw:
    """The exact law of one block.

    Attributes
    ----------
    rule : the rule that every number here belongs to; a key of `RULES`
    draft_length : K, the number of drafts
    emitted : tuple of tokens → probability that the block emits exactly these
    accepted_count : k → probability that k drafts are accepted, where that is not 0.
        A kept stop token counts; what was drafted after it does not.
    expected_emitted : the mean number of tokens that a block emits
    rejected : the probability that a draft is rejected, and with it that a replacement is drawn
    bonus : the probability that a bonus token is drawn
    """

    rule: Rule
    draft_length: int
    emitted: Mapping[History, Fraction]
    accepted_count: Mapping[int, Fraction]
    expected_emitted: Fraction
    rejected: Fraction
    bonus: Fraction

    @property
    def accepted_bars(self) -> Exact:
        """The probabilities of 0, 1, …, K accepted drafts."""
        return tuple(self.accepted_count.get(k, Fraction()) for k in range(self.draft_length + 1))

    @property
    def expected_accepted(self) -> Fraction:
        """The mean number of accepted drafts.

        `expected_emitted` is more by the one replacement or bonus, which comes unless the block
        ends with a kept stop token.
        """
        return sum((k * share for k, share in self.accepted_count.items()), Fraction())

    @property
    def all_accepted(self) -> Fraction:
        """The probability that K drafts are accepted.

        A block that an accepted stop token cuts short has fewer, so it does not count unless the
        stop token is its K-th draft. See `none_rejected`.
        """
        return self.accepted_count.get(self.draft_length, Fraction())

    @property
    def none_rejected(self) -> Fraction:
        """The probability that every draft that is tested is kept: K, or fewer up to a stop."""
        return 1 - self.rejected

    @property
    def share_accepted(self) -> Fraction | None:
        """The mean share of the K drafts that is accepted; None when K is 0."""
        return self.expected_accepted / self.draft_length if self.draft_length else None


def block_law(
    target: ModelLike,
    draft: ModelLike,
    *,
    draft_length: int,
    stop: str | None = None,
    history: History = (),
    rule: Rule = "token-by-token",
) -> BlockLaw:
    """The exact law of one block after `history`.

    The faulty rules are exact too; what they do, beyond `RULES`:

    keep-testing : see `keep_testing_law`.
    next-position-residual : after a rejected x at position i, the residual is built from the rows
        of position i + 1, which stand after x. Where there are no such rows (i = K, as only K
        draft rows are made, or x is the stop token), or they are equal and leave no residual, it
        is the position's own.
    shifted-target : the draft x at position i is tested, and its replacement's residual built,
        with the target's row after x, which predicts the token after it, and the draft's row
        before x. A drafted stop token has no row after it and gets its own. The bonus is right.
    stop-ignored : within a block the stop token is a token like any other, so drafting, testing
        and the bonus go on after it, and the models are asked for rows there.

    Parameters
    ----------
    target, draft : models over the same tokens
        Callables with `tokens` that map a history to a law over them; see `lab.models`.
    draft_length : int
        K, the number of drafts: 0 or more. With 0 a block is one token from the target.
    stop : str, optional
        The token that ends the output.
    history : tuple of str
        The tokens before the block; no stop token among them.
    rule : key of `RULES`
        How the drafts are tested.

    Returns
    -------
    BlockLaw

    Raises
    ------
    TooLargeError
        When the law would list more than `MOST_SEQUENCES` sequences.
    LabError
        When the models do not share their tokens, a row is not a law (the message names its
        history), or another argument is not accepted.

    >>> from lab.models import by_position
    >>> p, q = by_position("AB", ["0.6, 0.4"]), by_position("AB", ["0.4, 0.6"])
    >>> law = block_law(p, q, draft_length=2)
    >>> law.expected_accepted, law.emitted["A", "A"]
    (Fraction(36, 25), Fraction(2, 25))
    """
    setting = _Setting.of(target, draft, draft_length, stop, history, rule)
    setting.require_block()
    return _tallied(rule, draft_length, setting.outcomes(setting.history))


def block_verification_law(
    target: ModelLike,
    draft: ModelLike,
    *,
    draft_length: int,
    stop: str | None = None,
    history: History = (),
) -> BlockLaw:
    """The law of one block under the joint rule, which accepts no fewer drafts on average.

    With r_0 = 1 and r_i = min(1, r_{i−1} · p(x_i)/q(x_i)) for the drafted x_1 … x_i, position i
    passes with probability s/(s + 1 − r_i), where s = Σ max(0, r_i · p − q) over the rows after
    x_i; the last one, and a drafted stop token, passes with probability r_i. The accepted drafts
    are those up to the *last* position that passes, i; the replacement comes from
    max(0, r_i · p − q), normalised, and after all K from p. Completed by the target's own law,
    the emitted tokens have the target's law.

    Source: Sun et al. (2024), algorithm 2 and theorem 1. Parameters and errors as for
    `block_law`.
    """
    return block_law(
        target,
        draft,
        draft_length=draft_length,
        stop=stop,
        history=history,
        rule="block-verification",
    )


def keep_testing_law(
    target: ModelLike,
    draft: ModelLike,
    *,
    draft_length: int,
    stop: str | None = None,
    history: History = (),
) -> BlockLaw:
    """A faulty rule: the right one without the end of the block at the first rejection.

    A rejected draft is replaced as it should be, but then the later drafts are tested as well.
    Each is tested, and if rejected replaced, with the rows of its own position and *drafted*
    prefix, which are those that a sampler has at hand; what comes of it is appended after the
    replacement, as though the drafts had followed it. A bonus comes only when all K are kept. The
    block ends early at a committed stop token, and after the replacement of a drafted one: nothing
    was drafted after that.

    Where the rows do not depend on the prefix this does no harm to the law. Elsewhere a later
    token has the law that belongs after the rejected draft. `accepted_count` counts all drafts
    that are kept. Parameters and errors as for `block_law`.
    """
    return block_law(
        target,
        draft,
        draft_length=draft_length,
        stop=stop,
        history=history,
        rule="keep-testing",
    )


def target_law(
    target: ModelLike, *, length: int, stop: str | None = None, history: History = ()
) -> Law:
    """The autoregressive law of the first `length` tokens after `history`.

    Parameters and errors as for `generated_law`.

    >>> from lab.models import by_position
    >>> target_law(by_position(["A", "</s>"], ["1/2, 1/2"]), length=2, stop="</s>")
    {('</s>',): Fraction(1, 2), ('A', '</s>'): Fraction(1, 4), ('A', 'A'): Fraction(1, 4)}
    """
    setting = _Setting.of(target, target, 0, stop, history, "token-by-token")
    setting.require_generated(length)
    law: Law = {}
    live: list[tuple[History, int, int]] = [((), 1, 1)]
    for _ in range(length):
        longer = []
        for before, mass, whole in live:
            row = setting.rows.bonus(setting.history + before)
            for token, p in row.moves:
                after = (*before, token), mass * p, whole * row.whole
                if token == stop:
                    law[after[0]] = Fraction(after[1], after[2])
                else:
                    longer.append(after)
        live = longer
    law.update((tokens, Fraction(mass, whole)) for tokens, mass, whole in live)
    return law


def generated_law(
    target: ModelLike,
    draft: ModelLike,
    *,
    draft_length: int,
    length: int,
    stop: str | None = None,
    history: History = (),
    rule: Rule = "token-by-token",
) -> Law:
    """The law of the first `length` tokens after `history` when block follows block.

    Parameters
    ----------
    target, draft, draft_length, stop, history, rule
        As for `block_law`.
    length : int
        How many tokens, 1 or more; a last block that runs over is cut.

    Returns
    -------
    dict of tuple to Fraction
        Shorter tuples end in the stop token. For both right rules this is `target_law`, exactly.

    Raises
    ------
    TooLargeError
        When the law would list more than `MOST_SEQUENCES` sequences.
    LabError
        As for `block_law`.

    >>> from lab.models import by_position
    >>> p, q = by_position("AB", ["0.6, 0.4"]), by_position("AB", ["0.4, 0.6"])
    >>> generated_law(p, q, draft_length=2, length=3) == target_law(p, length=3)
    True
    """
    setting = _Setting.of(target, draft, draft_length, stop, history, rule)
    setting.require_generated(length)
    if rule == "token-by-token":
        return _generated(setting, length, [1], sum, _advance)
    if rule == "block-verification":
        return _generated(setting, length, [(1, 1)], _held_mass, _advance_jointly)
    return _generated_by_blocks(setting, length)


def completed_law(
    law: BlockLaw,
    target: ModelLike,
    *,
    length: int,
    stop: str | None = None,
    history: History = (),
) -> Law:
    """The law of the first `length` tokens when a block's are completed by the target's own law.

    For a right rule this is `target_law`. For a faulty one its `distance` from `target_law` is
    what a single block does wrong. A sequence with a stop token in it is complete.

    Parameters
    ----------
    law : BlockLaw
        Of a block with this target, stop token and history.
    target, length, stop, history
        As for `generated_law`.
    """
    setting = _Setting.of(target, target, 0, stop, history, "token-by-token")
    setting.require_generated(length)
    finished: Law = {}
    live: list[Law] = [{} for _ in range(length + 1)]
    for tokens, mass in law.emitted.items():
        tokens = tokens[:length]
        _put(finished if stop in tokens else live[len(tokens)], tokens, mass)
    for n in range(length):
        for tokens, mass in live[n].items():
            row = setting.rows.bonus(setting.history + tokens)
            for token, p in row.moves:
                after = (*tokens, token)
                share = mass * Fraction(p, row.whole)
                _put(finished if token == stop else live[n + 1], after, share)
        live[n].clear()
    return finished | live[length]


def distance(law: Mapping[History, Fraction], other: Mapping[History, Fraction]) -> Fraction:
    """The total variation distance of two laws: half the sum of the absolute differences."""
    none = Fraction()
    gaps = (abs(law.get(key, none) - other.get(key, none)) for key in law.keys() | other.keys())
    return total((none, *filter(None, gaps))) / 2


# --- What a law is computed from --------------------------------------------------------------


class _Pair:
    """Both rows after one history, in integers to be divided by `whole`.

    Attributes
    ----------
    moves : for each token that the target may take: token, min(p, q), max(0, p − q), p, q
    """

    def __init__(self, tokens: History, p: Exact, q: Exact) -> None:
        self.rows = p, q
        self.whole = _common(p, q)
        self.moves = [
            (token, min(a, b), max(a - b, 0), a, b)
            for token, a, b in zip(
                tokens, _scaled(p, self.whole), _scaled(q, self.whole), strict=True
            )
            if a
        ]

    @cached_property
    def wheel(self) -> _Wheel:
        """Each move kept, then each move as a replacement: what one position can come to."""
        return _Wheel([move[1] for move in self.moves] + [move[2] for move in self.moves])


class _Row:
    """A target row in integers, to be divided by `whole`."""

    def __init__(self, tokens: History, p: Exact) -> None:
        self.row = p
        self.whole = _common(p)
        self.moves = [(x, p) for x, p in zip(tokens, _scaled(p, self.whole), strict=True) if p]

    @cached_property
    def wheel(self) -> _Wheel:
        return _Wheel([p for _, p in self.moves])


class _Rows:
    """The rows of both models as integers, each pair scaled once.

    Models hand out the same row again and again, so pairs are found by the identity of their
    rows; they hold on to them, so that no identity is used twice. Hashing fractions would cost
    more than scaling them.
    """

    def __init__(self, target: Model, draft: Model) -> None:
        self.target, self.draft = target, draft
        self._pairs: dict[tuple[int, int], _Pair] = {}
        self._bonus: dict[int, _Row] = {}

    def pair(self, history: History) -> _Pair:
        p, q = self.target(history), self.draft(history)
        pair = self._pairs.get((id(p), id(q)))
        if pair is None:
            pair = self._pairs[id(p), id(q)] = _Pair(self.target.tokens, p, q)
        return pair

    def bonus(self, history: History) -> _Row:
        p = self.target(history)
        row = self._bonus.get(id(p))
        if row is None:
            row = self._bonus[id(p)] = _Row(self.target.tokens, p)
        return row


def _common(*rows: Exact) -> int:
    """The least common denominator."""
    return math.lcm(*[value.denominator for row in rows for value in row])


def _scaled(row: Exact, whole: int) -> list[int]:
    return [value.numerator * (whole // value.denominator) for value in row]


_End = Literal["replacement", "bonus", "stop"]
_Outcome = tuple[History, int, int, int, _End]
"""One way for a block to go: what it emits, how many drafts it accepts, its mass and what to
divide that by, and how it ends. With any rejection the end is "replacement"; a stop token that is
kept, with none before it, is "stop"."""


@dataclass(frozen=True)
class _Setting:
    """Checked arguments."""

    rows: _Rows
    draft_length: int
    stop: str | None
    history: History
    rule: Rule

    @classmethod
    def of(
        cls,
        target: ModelLike,
        draft: ModelLike,
        draft_length: int,
        stop: str | None,
        history: History,
        rule: Rule,
    ) -> _Setting:
        rows = _Rows(as_model(target, "The target's row"), as_model(draft, "The draft's row"))
        tokens = rows.target.tokens
        if rows.draft.tokens != tokens:
            same = sorted(rows.draft.tokens) == sorted(tokens)
            raise LabError(
                f"The target's tokens are {', '.join(visible(tokens)[:8])} and the draft's "
                f"{', '.join(visible(rows.draft.tokens)[:8])}; accepted are the same tokens in "
                f"the same order{' (only the order differs)' if same else ''}."
            )
        if rule not in RULES:
            raise LabError(f"The rule is {rule!r}; accepted are {', '.join(RULES)}.")
        _require_whole(draft_length, "draft length", 0)
        if stop is not None and stop not in tokens:
            raise LabError(f"The stop token {stop!r} is not one of the tokens.")
        history = tuple(history)
        for token in history:
            if token not in tokens or token == stop:
                fault = "ends the output" if token == stop else "is not one of the tokens"
                raise LabError(f"{token!r} in the history {history_text(history)} {fault}.")
        return cls(rows, draft_length, stop, history, rule)

    @property
    def ends(self) -> str | None:
        """The token that ends a block wherever it stands in it."""
        return None if self.rule == "stop-ignored" else self.stop

    def outcomes(self, history: History) -> Iterator[_Outcome]:
        """All outcomes of a block after `history`; several may emit the same tokens."""
        if self.rule in get_args(ExactRule) or self.rule == "stop-ignored":
            return _right_outcomes(self, history, joint=self.rule == "block-verification")
        return _faulty_outcomes(self, history)

    # How many sequences a law lists is bounded from the number of tokens alone. Only where that
    # is too much are the sequences counted that can happen: a text's letters leave few.

    def require_block(self) -> None:
        """Raises `TooLargeError` for a block with too many outcomes."""
        k, every = self.draft_length, len(self.rows.target.tokens)
        size = every * sum(self._going_on**n for n in range(k + 1))
        if self.rule == "keep-testing":  # each draft may be kept, or replaced by any other token
            size = sum(every ** (2 * n) for n in range(k + 1))
        if size > MOST_SEQUENCES and not self._few(self._block_steps, k + 1):
            raise TooLargeError(f"The law of a block of {k} drafts over {every} tokens", size)

    def require_generated(self, length: int) -> None:
        """Raises `TooLargeError` for too many sequences of `length` tokens."""
        _require_whole(length, "length", 1)
        every = len(self.rows.target.tokens)
        size = every * self._going_on ** (length - 1)
        if self.stop is not None:
            size += sum(self._going_on**n for n in range(length - 1))
        if self.rule in get_args(Fault):  # a block may start after each shorter sequence
            paths = every ** (self.draft_length * (2 if self.rule == "keep-testing" else 1))
            size = paths * sum(every**n for n in range(length))
        if size > MOST_SEQUENCES and not self._few(self._target_steps, length):
            raise TooLargeError(f"The law of {length} tokens over {every}", size)

    def require_prefixes(self, length: int) -> None:
        """Raises `TooLargeError` for too many accepted prefixes of up to `length` drafts."""
        size = sum(self._going_on**n for n in range(length + 1))
        if size > MOST_SEQUENCES and not self._few(self._block_steps, length):
            every = len(self.rows.target.tokens)
            raise TooLargeError(f"The mean of blocks of {length} drafts over {every} tokens", size)

    @property
    def _going_on(self) -> int:
        return len(self.rows.target.tokens) - (self.ends is not None)

    def _few(self, steps: Callable[[History, bool], tuple[list[str], int]], length: int) -> bool:
        """Whether at most `MOST_SEQUENCES` sequences can happen. Gives up soon when more can."""
        if self.rule not in get_args(ExactRule):
            return False
        counted, live = 0, [self.history]
        for n in range(length):
            longer: list[History] = []
            for history in live:
                tokens, endings = steps(history, n == length - 1)
                counted += endings
                if counted + len(longer) > MOST_SEQUENCES:
                    return False
                longer += [(*history, token) for token in tokens if token != self.stop]
            live = longer
        return True

    def _block_steps(self, history: History, last: bool) -> tuple[list[str], int]:
        """The drafts that can be kept after `history`, and how many sequences end there."""
        if last:
            return [], len(self.rows.bonus(history).moves)
        moves = self.rows.pair(history).moves
        endings = sum(owed > 0 or token == self.stop for token, _, owed, _, _ in moves)
        return [token for token, kept, _, _, _ in moves if kept], endings

    def _target_steps(self, history: History, last: bool) -> tuple[list[str], int]:
        tokens = [token for token, _ in self.rows.bonus(history).moves]
        return ([], len(tokens)) if last else (tokens, int(self.stop in tokens))


def _require_whole(value: int, name: str, least: int, most: int = LONGEST) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise LabError(
            f"The {name} is {value!r}; accepted is a whole number from {least} to {most:,}."
        )


def _put(law: Law, tokens: History, share: Fraction) -> None:
    known = law.get(tokens)
    law[tokens] = share if known is None else known + share


def _tallied(rule: Rule, draft_length: int, outcomes: Iterable[_Outcome]) -> BlockLaw:
    """The law that the outcomes add up to. Sums stay integers until the end."""
    emitted: Law = {}
    kinds: defaultdict[tuple[int, int, _End], defaultdict[int, int]]
    kinds = defaultdict(lambda: defaultdict(int))
    for tokens, accepted, mass, whole, end in outcomes:
        share = Fraction(mass, whole)
        known = emitted.setdefault(tokens, share)
        if known is not share:
            emitted[tokens] = known + share
        kinds[accepted, len(tokens), end][whole] += mass
    shares = {kind: _sum_of(masses) for kind, masses in kinds.items()}
    count: defaultdict[int, Fraction] = defaultdict(Fraction)
    ends: defaultdict[_End, Fraction] = defaultdict(Fraction)
    for (accepted, _, end), share in sorted(shares.items()):
        count[accepted] += share
        ends[end] += share
    mean = sum((length * share for (_, length, _), share in shares.items()), Fraction())
    return BlockLaw(
        rule, draft_length, emitted, dict(count), mean, ends["replacement"], ends["bonus"]
    )


def _sum_of(masses: Mapping[int, int]) -> Fraction:
    """Σ mass / whole of what is listed as whole → mass."""
    return total((Fraction(), *(Fraction(mass, whole) for whole, mass in masses.items())))


# --- Recursions over prefixes -----------------------------------------------------------------


def _right_outcomes(setting: _Setting, history: History, *, joint: bool) -> Iterator[_Outcome]:
    """Prefix by prefix: `a` is the mass that is drafted and kept, `b` what it is held against.

    A draft x is kept with mass min(a·p(x), b·q(x)) and x is a replacement with mass
    max(0, a·p(x) − b·q(x)): the residual's Z cancels. Token by token, b is a, and both terms are
    those of one step. Under the joint rule b stays the mass that is drafted, so that a position
    where the target wants more than its prefix was granted makes up for an earlier one.
    """
    live: list[tuple[History, int, int, int]] = [((), 1, 1, 1)]
    for accepted in range(setting.draft_length):
        longer = []
        for before, a, b, whole in live:
            pair = setting.rows.pair(history + before)
            whole *= pair.whole
            for token, _, _, p, q in pair.moves:
                wanted, drafted = a * p, b * q
                kept = min(wanted, drafted)
                after = (*before, token)
                if wanted > drafted:
                    yield after, accepted, wanted - drafted, whole, "replacement"
                if kept and token == setting.ends:
                    yield after, accepted + 1, kept, whole, "stop"
                elif kept:
                    longer.append((after, kept, drafted if joint else kept, whole))
        live = longer
    for before, a, _, whole in live:
        row = setting.rows.bonus(history + before)
        for token, p in row.moves:
            yield (*before, token), setting.draft_length, a * p, whole * row.whole, "bonus"


def _faulty_outcomes(setting: _Setting, history: History) -> Iterator[_Outcome]:
    """Draft by draft, as the code with the fault would go; `live` has drafted and emitted tokens.

    Unlike the right rules, a replacement may depend on the rejected draft, so each is divided by
    its own Z.
    """
    rows, stop, fault = setting.rows, setting.ends, setting.rule
    live: list[tuple[History, History, int, Fraction]] = [((), (), 0, Fraction(1))]
    last = setting.draft_length - 1

    def outcome(emitted: History, accepted: int, mass: Fraction, end: _End) -> _Outcome:
        return emitted, accepted, mass.numerator, mass.denominator, end

    for position in range(setting.draft_length):
        longer = []
        for drafted, emitted, accepted, mass in live:
            if stop is not None and stop in drafted:  # its replacement was the last to come
                yield outcome(emitted, accepted, mass, "replacement")
                continue
            p, q = rows.target(history + drafted), rows.draft(history + drafted)
            for x, token in enumerate(rows.target.tokens):
                if not q[x]:
                    continue
                before_next = (*drafted, token)
                has_next = token != stop
                tested = p
                if fault == "shifted-target" and has_next:
                    tested = rows.target(history + before_next)
                keep = min(Fraction(1), tested[x] / q[x])
                if keep:
                    after, share = (*emitted, token), mass * q[x] * keep
                    if token == stop:
                        untouched = drafted == emitted
                        end: _End = "stop" if untouched else "replacement"
                        yield outcome(after, accepted + 1, share, end)
                    else:
                        longer.append((before_next, after, accepted + 1, share))
                if keep == 1:
                    continue
                residual = exact_step(tested, q).residual
                if fault == "next-position-residual" and has_next and position < last:
                    following = history + before_next
                    next_step = exact_step(rows.target(following), rows.draft(following))
                    residual = next_step.residual or residual
                assert residual is not None  # a rejection was possible
                for replacement, r in zip(rows.target.tokens, residual, strict=True):
                    if not r:
                        continue
                    after, share = (*emitted, replacement), mass * q[x] * (1 - keep) * r
                    if fault == "keep-testing" and replacement != stop:
                        longer.append((before_next, after, accepted, share))
                    else:
                        yield outcome(after, accepted, share, "replacement")
        live = longer
    for drafted, emitted, accepted, mass in live:
        if accepted < setting.draft_length:
            yield outcome(emitted, accepted, mass, "replacement")
            continue
        row = rows.bonus(history + drafted)
        for token, p_scaled in row.moves:
            share = mass * Fraction(p_scaled, row.whole)
            yield outcome((*emitted, token), accepted, share, "bonus")


_Masses = list[Any]  # by the number of drafts accepted so far in the block under way


def _generated(
    setting: _Setting,
    length: int,
    start: _Masses,
    mass_of: Callable[[_Masses], int],
    advance: Callable[[_Masses, int, _Pair | _Row], Iterable[tuple[str, _Masses]]],
) -> Law:
    """All blocks at once, token by token.

    Where one history is reached in several ways, they differ only in how far the block under way
    has come; so a history carries one mass for each number of drafts accepted in it. All share
    one denominator, since whatever commits a token multiplies by the same rows' denominator.
    """
    law: Law = {}
    live: list[tuple[History, _Masses, int]] = [((), start, 1)]
    full = setting.draft_length
    for _ in range(length):
        longer = []
        for before, masses, whole in live:
            history = setting.history + before
            # Where only a bonus is due the draft has no say, and need not know the history.
            drafting = any(mass_of([mass]) for mass in masses[:full])
            rows = setting.rows.pair(history) if drafting else setting.rows.bonus(history)
            whole *= rows.whole
            for token, after in advance(masses, full, rows):
                if token == setting.stop:
                    law[(*before, token)] = Fraction(mass_of(after), whole)
                else:
                    longer.append(((*before, token), after, whole))
        live = longer
    law.update((tokens, Fraction(mass_of(masses), whole)) for tokens, masses, whole in live)
    return law


def _advance(masses: list[int], full: int, rows: _Pair | _Row) -> Iterator[tuple[str, list[int]]]:
    """For each token, the masses after it: kept ones move up by one, all others start a block."""
    testing, bonus = masses[:full], sum(masses[full:])
    if isinstance(rows, _Row):
        for token, p in rows.moves:
            yield token, [bonus * p]
        return
    mass = sum(testing)
    for token, kept, owed, p, _ in rows.moves:
        yield token, [mass * owed + bonus * p, *[m * kept for m in testing]]


_Held = tuple[int, int]


def _held_mass(masses: list[_Held]) -> int:
    return sum(a for a, _ in masses)


def _advance_jointly(
    masses: list[_Held], full: int, rows: _Pair | _Row
) -> Iterator[tuple[str, list[_Held]]]:
    """`_advance` for the joint rule; a mass is the pair (a, b) of `_right_outcomes`."""
    testing, bonus = masses[:full], _held_mass(masses[full:])
    if isinstance(rows, _Row):
        for token, p in rows.moves:
            yield token, [(bonus * p, bonus * p)]
        return
    for token, _, _, p, q in rows.moves:
        fresh, longer = bonus * p, []
        for a, b in testing:
            kept = min(a * p, b * q)
            fresh += a * p - kept
            longer.append((kept, b * q))
        yield token, [(fresh, fresh), *longer]


def _generated_by_blocks(setting: _Setting, length: int) -> Law:
    """Block after block, for any rule; a block that reaches `length` is cut there."""
    live: list[Law] = [{} for _ in range(length + 1)]
    live[0][()] = Fraction(1)
    finished: Law = {}
    for n in range(length):
        for before, mass in live[n].items():
            for emitted, _, part, whole, _ in setting.outcomes(setting.history + before):
                tokens = (*before, *emitted)[:length]
                # A rule that ignores the stop token within a block still sees it at the end.
                ended = len(tokens) < length and tokens[-1] == setting.stop
                place = finished if ended else live[len(tokens)]
                _put(place, tokens, mass * Fraction(part, whole))
    return finished | live[length]


# --- What speculation is worth ----------------------------------------------------------------


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
    _require_whole(longest, "largest draft length", 0)
    setting = _Setting.of(target, draft, longest, stop, history, rule)
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
        means.append(means[-1] + _sum_of(going_on))
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
        _require_whole(self.draft_length, "draft length", 0)

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


# --- Draws ------------------------------------------------------------------------------------
#
# A uniform number is drawn by its binary digits, 32 at a time, and compared with an exact
# probability as soon as it is certain on which side of it the number lies: when the probability
# is not strictly inside the cell of numbers that begin with these digits. So each event has
# exactly its probability, given that the generator's bits are fair; 53-bit floats would round it.

_DIGITS = 32


def _more_digits(rng: np.random.Generator, drawn: int) -> int:
    return drawn << _DIGITS | int(rng.integers(1 << _DIGITS))


def _toss(rng: np.random.Generator, probability: Fraction) -> Fraction:
    """A coin in [0, 1), by the digits drawn. It is below `probability` exactly that often."""
    drawn, places = 0, 0
    while True:
        drawn, places = _more_digits(rng, drawn), places + _DIGITS
        line = probability * (1 << places)
        if not drawn < line < drawn + 1:
            return Fraction(drawn, 1 << places)


class _Wheel:
    """Draws the position of one of several integer weights, each exactly as often as its share."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._ends = list(accumulate(weights))

    def spin(self, rng: np.random.Generator) -> int:
        """One draw."""
        return self._settle(rng, _more_digits(rng, 0), _DIGITS)

    def spins(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """How often each position comes up in `count` draws."""
        if count == 1:
            counts = np.zeros(len(self._ends), dtype=np.int64)
            counts[self.spin(rng)] = 1
            return counts
        floors, split = self._cells
        drawn = rng.integers(1 << _DIGITS, size=count, dtype=np.uint64)
        unsettled = np.isin(drawn, split)
        positions = np.searchsorted(floors, drawn[~unsettled], side="right")
        counts = np.bincount(positions, minlength=len(self._ends))
        for digits in drawn[unsettled]:
            counts[self._settle(rng, int(digits), _DIGITS)] += 1
        return counts

    def _settle(self, rng: np.random.Generator, drawn: int, places: int) -> int:
        """The position of the number that begins with these digits, drawing more if need be."""
        whole = self._ends[-1]
        while True:
            # The first share that ends at or after the end of the cell has it all, unless an
            # earlier one ends inside.
            position = bisect_left(self._ends, -(-(drawn + 1) * whole >> places))
            if not position or self._ends[position - 1] << places <= drawn * whole:
                return position
            drawn, places = _more_digits(rng, drawn), places + _DIGITS

    @cached_property
    def _cells(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Where each share ends, in cells of the first digits; and the cells with an end inside."""
        whole = self._ends[-1]
        scaled = [divmod(end << _DIGITS, whole) for end in self._ends]
        floors = np.array([cell for cell, _ in scaled], dtype=np.uint64)
        return floors, np.array(sorted({cell for cell, rest in scaled if rest}), dtype=np.uint64)


@dataclass(frozen=True)
class BlockCounts:
    """How often each thing happened in `count` blocks; the counterpart of `BlockLaw`."""

    draft_length: int
    count: int
    emitted: Mapping[History, int]
    accepted_count: Mapping[int, int]
    rejected: int
    bonus: int

    @property
    def mean_accepted(self) -> Fraction:
        """Accepted drafts for a block."""
        return Fraction(sum(k * n for k, n in self.accepted_count.items()), self.count)

    @property
    def mean_emitted(self) -> Fraction:
        """Emitted tokens for a block."""
        return Fraction(sum(len(tokens) * n for tokens, n in self.emitted.items()), self.count)


def draw_blocks(
    target: ModelLike,
    draft: ModelLike,
    *,
    draft_length: int,
    count: int,
    rng: np.random.Generator,
    stop: str | None = None,
    history: History = (),
) -> BlockCounts:
    """Counts of `count` independent blocks after `history`, drawn token by token.

    Nothing is listed that is not drawn, so this works where `block_law` refuses. Blocks with the
    same prefix are drawn together: each position comes to a kept draft x with probability
    min(p, q)(x) and to a replacement x with max(0, p − q)(x). Draws have exactly these
    probabilities.

    Parameters
    ----------
    count : int
        1 to `MOST_DRAWS`.
    rng : numpy.random.Generator
        Where the randomness comes from; the same state gives the same counts.
    target, draft, draft_length, stop, history
        As for `block_law`.

    Raises
    ------
    LabError
        As for `block_law`, and when `count` is out of range.
    """
    setting = _Setting.of(target, draft, draft_length, stop, history, "token-by-token")
    _require_whole(count, "count of blocks", 1, MOST_DRAWS)
    emitted: defaultdict[History, int] = defaultdict(int)
    accepted_count: defaultdict[int, int] = defaultdict(int)
    rejected = bonus = 0
    live: list[tuple[History, int]] = [((), count)]
    for accepted in range(draft_length):
        longer = []
        for before, blocks in live:
            pair = setting.rows.pair(setting.history + before)
            kept, replaced = np.split(pair.wheel.spins(rng, blocks), 2)
            for (token, *_), keeps, replacements in zip(
                pair.moves, kept.tolist(), replaced.tolist(), strict=True
            ):
                after = (*before, token)
                if replacements:
                    emitted[after] += replacements
                    accepted_count[accepted] += replacements
                    rejected += replacements
                if keeps and token == stop:
                    emitted[after] += keeps
                    accepted_count[accepted + 1] += keeps
                elif keeps:
                    longer.append((after, keeps))
        live = longer
    for before, blocks in live:
        accepted_count[draft_length] += blocks
        bonus += blocks
        row = setting.rows.bonus(setting.history + before)
        for (token, _), times in zip(row.moves, row.wheel.spins(rng, blocks).tolist(), strict=True):
            if times:
                emitted[*before, token] += times
    return BlockCounts(
        draft_length, count, dict(emitted), dict(sorted(accepted_count.items())), rejected, bonus
    )


# --- One block, step by step ------------------------------------------------------------------

Status = Literal["accepted", "rejected", "discarded"]


@dataclass(frozen=True)
class Choices:
    """What somebody decides by hand; None, or nothing at that place, leaves it to the draw.

    Attributes
    ----------
    drafted : the token drafted at each position
    coins : the coin at each position, an exact number from 0 to below 1; a draft is kept when
        its coin is below its acceptance probability
    final : the replacement or the bonus, whichever comes
    """

    drafted: Sequence[str | None] = ()
    coins: Sequence[Fraction | int | str | None] = ()
    final: str | None = None


@dataclass(frozen=True)
class Position:
    """One position of a block.

    Attributes
    ----------
    prefix : the drafts before it in this block; its rows are conditioned on the block's history
        with these after it
    drafted : the token drafted here
    target, draft : p and q here. None after a drafted stop token, where there are no rows.
    acceptance : min(1, p/q) for the drafted token, the probability that it is kept; None when it
        is discarded, for then it is not tested
    coin : the uniform number it was tested with; None when it is discarded
    status : what became of it
    discarded_by : why it is discarded: a "rejection" before it, so that it assumed a token that
        is not there, or an accepted "stop" token before it; else None
    residual : the law of the replacement, where this is the first rejection; else None
    """

    prefix: History
    drafted: str
    target: Exact | None
    draft: Exact | None
    acceptance: Fraction | None
    coin: Fraction | None
    status: Status
    discarded_by: Literal["rejection", "stop"] | None
    residual: Exact | None

    @property
    def kept(self) -> bool:
        """Whether the draft is part of the output."""
        return self.status == "accepted"


@dataclass(frozen=True)
class BlockRecord:
    """One block as it happened.

    Attributes
    ----------
    history : the tokens before the block
    draft_length : K, the number of drafts asked for
    positions : one for each draft; fewer than K where a stop token was drafted
    final_law : the law that the last token was drawn from: the first rejection's residual, or the
        target's row after all K; None when a kept stop token ended the block
    replacement : the token drawn at the first rejection; None when there was none
    bonus : the token drawn after K kept drafts; None when they were not all kept, or a stop token
        was
    stopped : whether the block ended the output with a stop token
    """

    history: History
    draft_length: int
    positions: tuple[Position, ...]
    final_law: Exact | None
    replacement: str | None
    bonus: str | None
    stopped: bool

    @property
    def accepted(self) -> History:
        """The drafts that are kept."""
        return tuple(position.drafted for position in self.positions if position.kept)

    @property
    def emitted(self) -> History:
        """The tokens that the block adds to the output."""
        final = self.replacement if self.bonus is None else self.bonus
        return self.accepted if final is None else (*self.accepted, final)

    @property
    def next_history(self) -> History:
        """What the next block goes on from; after a stop token there is no next block."""
        return self.history + self.emitted


def draw_block(
    target: ModelLike,
    draft: ModelLike,
    *,
    draft_length: int,
    rng: np.random.Generator | None = None,
    choices: Choices | None = None,
    stop: str | None = None,
    history: History = (),
) -> BlockRecord:
    """One block after `history`, with everything that was decided on the way.

    First all drafts are drawn, up to a drafted stop token; then a coin for each, up to the first
    rejection; then the replacement or the bonus. A draft is kept when its coin, in [0, 1), is
    below min(1, p/q). Coins and draws have exactly their probabilities: binary digits are added
    until the comparison with the exact fraction is certain.

    Parameters
    ----------
    rng : numpy.random.Generator, optional
        Needed for everything that `choices` leaves open.
    choices : Choices, optional
        Drafts, coins and the last token, by hand. Drafts chosen beyond a drafted stop token are
        recorded as discarded.
    target, draft, draft_length, stop, history
        As for `block_law`.

    Raises
    ------
    LabError
        As for `block_law`; when a chosen token is impossible there, or a coin is not in [0, 1);
        and when something is left open and there is no `rng`.
    """
    setting = _Setting.of(target, draft, draft_length, stop, history, "token-by-token")
    rows, history = setting.rows, setting.history
    chosen = choices or Choices()
    if max(len(chosen.drafted), len(chosen.coins)) > draft_length:
        raise LabError(f"More is chosen than there are drafts; accepted are up to {draft_length}.")
    decide = _Decider(rows.target.tokens, rng)

    drafted: list[str] = []
    for number in range(draft_length):
        token = chosen.drafted[number] if number < len(chosen.drafted) else None
        if stop is not None and stop in drafted:
            if token is not None:
                drafted.append(decide.known(token))
            continue
        q = rows.draft(history + tuple(drafted))
        drafted.append(decide.token(q, token, f"The draft at position {number + 1}"))

    positions: list[Position] = []
    over: Literal["rejection", "stop"] | None = None
    residual: Exact | None = None
    for number, token in enumerate(drafted):
        prefix = tuple(drafted[:number])
        if stop is not None and stop in prefix:
            positions.append(
                Position(prefix, token, None, None, None, None, "discarded", over, None)
            )
            continue
        p, q = rows.target(history + prefix), rows.draft(history + prefix)
        if over:
            positions.append(Position(prefix, token, p, q, None, None, "discarded", over, None))
            continue
        x = rows.target.tokens.index(token)
        acceptance = min(Fraction(1), p[x] / q[x])
        given = chosen.coins[number] if number < len(chosen.coins) else None
        coin = decide.coin(acceptance, given, number + 1)
        status: Status = "accepted" if coin < acceptance else "rejected"
        if status == "rejected":
            over, residual = "rejection", exact_step(p, q).residual
        elif token == stop:
            over = "stop"
        positions.append(Position(prefix, token, p, q, acceptance, coin, status, None, residual))

    replacement = bonus = None
    final_law = residual
    if over == "rejection":
        assert residual is not None  # a draft can only be rejected where q exceeds p
        replacement = decide.token(residual, chosen.final, "The replacement")
    elif over is None:
        final_law = rows.target(history + tuple(drafted))
        bonus = decide.token(final_law, chosen.final, "The bonus")
    stopped = over == "stop" or (stop is not None and stop in (replacement, bonus))
    return BlockRecord(
        history, draft_length, tuple(positions), final_law, replacement, bonus, stopped
    )


@dataclass(frozen=True)
class _Decider:
    """Takes what was chosen, if it is possible, and draws the rest."""

    tokens: History
    rng: np.random.Generator | None

    def token(self, law: Exact, choice: str | None, what: str) -> str:
        if choice is None:
            wheel = _Wheel(_scaled(law, _common(law)))
            return self.tokens[wheel.spin(self._generator(what))]
        if not law[self.tokens.index(self.known(choice))]:
            possible = [token for token, mass in zip(self.tokens, law, strict=True) if mass]
            raise LabError(
                f"{what} is {choice!r}, which has probability 0 there; accepted are "
                f"{', '.join(visible(possible)[:8])}."
            )
        return choice

    def known(self, choice: str) -> str:
        if choice not in self.tokens:
            raise LabError(f"{choice!r} is not one of the tokens.")
        return choice

    def coin(
        self, acceptance: Fraction, choice: Fraction | int | str | None, number: int
    ) -> Fraction:
        what = f"The coin at position {number}"
        if choice is None:
            return _toss(self._generator(what), acceptance)
        try:
            coin = parse_probability(str(choice))
        except LabError as fault:
            raise LabError(f"{what} (“{choice}”): {fault}") from None
        if coin >= 1:
            raise LabError(f"{what} is {choice}; accepted is a number from 0 to below 1.")
        return coin

    def _generator(self, what: str) -> np.random.Generator:
        if self.rng is None:
            raise LabError(f"{what} is not chosen, and there is no generator to draw it with.")
        return self.rng
