"""Drafted blocks: the exact law of what comes out.

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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from lab.errors import LabError
from lab.labels import visible
from lab.models import History, Model, ModelLike, as_model, history_text
from lab.step import exact_step
from lab.vectors import Exact, total
from lab.wheel import Wheel

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
            "listing them (`lab.draws`)."
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
    setting = Setting.of(target, draft, draft_length, stop, history, rule)
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
    setting = Setting.of(target, target, 0, stop, history, "token-by-token")
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
    setting = Setting.of(target, draft, draft_length, stop, history, rule)
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
    setting = Setting.of(target, target, 0, stop, history, "token-by-token")
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
        self.whole = common_denominator(p, q)
        self.moves = [
            (token, min(a, b), max(a - b, 0), a, b)
            for token, a, b in zip(
                tokens, scaled(p, self.whole), scaled(q, self.whole), strict=True
            )
            if a
        ]

    @cached_property
    def wheel(self) -> Wheel:
        """Each move kept, then each move as a replacement: what one position can come to."""
        return Wheel([move[1] for move in self.moves] + [move[2] for move in self.moves])


class _Row:
    """A target row in integers, to be divided by `whole`."""

    def __init__(self, tokens: History, p: Exact) -> None:
        self.row = p
        self.whole = common_denominator(p)
        self.moves = [(x, p) for x, p in zip(tokens, scaled(p, self.whole), strict=True) if p]

    @cached_property
    def wheel(self) -> Wheel:
        return Wheel([p for _, p in self.moves])


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


def common_denominator(*rows: Exact) -> int:
    """The least common denominator."""
    return math.lcm(*[value.denominator for row in rows for value in row])


def scaled(row: Exact, whole: int) -> list[int]:
    return [value.numerator * (whole // value.denominator) for value in row]


_End = Literal["replacement", "bonus", "stop"]
_Outcome = tuple[History, int, int, int, _End]
"""One way for a block to go: what it emits, how many drafts it accepts, its mass and what to
divide that by, and how it ends. With any rejection the end is "replacement"; a stop token that is
kept, with none before it, is "stop"."""


@dataclass(frozen=True)
class Setting:
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
    ) -> Setting:
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
        require_whole(draft_length, "draft length", 0)
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
        require_whole(length, "length", 1)
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


def require_whole(value: int, name: str, least: int, most: int = LONGEST) -> None:
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
    shares = {kind: sum_of(masses) for kind, masses in kinds.items()}
    count: defaultdict[int, Fraction] = defaultdict(Fraction)
    ends: defaultdict[_End, Fraction] = defaultdict(Fraction)
    for (accepted, _, end), share in sorted(shares.items()):
        count[accepted] += share
        ends[end] += share
    mean = sum((length * share for (_, length, _), share in shares.items()), Fraction())
    return BlockLaw(
        rule, draft_length, emitted, dict(count), mean, ends["replacement"], ends["bonus"]
    )


def sum_of(masses: Mapping[int, int]) -> Fraction:
    """Σ mass / whole of what is listed as whole → mass."""
    return total((Fraction(), *(Fraction(mass, whole) for whole, mass in masses.items())))


# --- Recursions over prefixes -----------------------------------------------------------------


def _right_outcomes(setting: Setting, history: History, *, joint: bool) -> Iterator[_Outcome]:
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


def _faulty_outcomes(setting: Setting, history: History) -> Iterator[_Outcome]:
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
    setting: Setting,
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


def _generated_by_blocks(setting: Setting, length: int) -> Law:
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
