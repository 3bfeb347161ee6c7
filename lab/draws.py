"""Blocks that are drawn: counts of many, and one with everything that was decided on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from lab.block import Setting, common_denominator, require_whole, scaled
from lab.errors import LabError
from lab.labels import visible
from lab.models import History, ModelLike
from lab.step import exact_step
from lab.vectors import Exact, parse_probability
from lab.wheel import Wheel, toss

MOST_DRAWS = 100_000
"""Blocks that `draw_blocks` draws at a time."""


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
    setting = Setting.of(target, draft, draft_length, stop, history, "token-by-token")
    require_whole(count, "count of blocks", 1, MOST_DRAWS)
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
    setting = Setting.of(target, draft, draft_length, stop, history, "token-by-token")
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
            wheel = Wheel(scaled(law, common_denominator(law)))
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
            return toss(self._generator(what), acceptance)
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
