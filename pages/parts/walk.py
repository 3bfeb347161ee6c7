"""One block, step by step: drafts, coins, the first rejection, the replacement or the bonus."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
import streamlit as st

from lab import charts
from lab.draws import BlockRecord, Choices, Position, draw_block
from lab.errors import LabError
from lab.labels import visible
from lab.models import History
from lab.pairs import Pair
from lab.step import exact_step
from pages.parts import state
from pages.parts.predict import dark, draw
from pages.parts.words import counted, literal, number


@dataclass(frozen=True)
class Walk:
    """Where the class stands: the blocks so far, and how much of the present one is shown.

    Attributes
    ----------
    about : the pair, K and seed that it belongs to
    blocks : records of the blocks that are finished
    shown : steps of the present block that are on the screen
    held : the present block where it was gone back to, as it happened
    """

    about: object
    blocks: tuple[BlockRecord, ...] = ()
    shown: int = 0
    held: BlockRecord | None = None

    @property
    def history(self) -> History:
        """The text written so far."""
        return self.blocks[-1].next_history if self.blocks else ()

    @property
    def stopped(self) -> bool:
        """Whether a stop token has ended the output."""
        return bool(self.blocks and self.blocks[-1].stopped)


def walk(pair: Pair, drafts: int, seed: int) -> None:
    """Draw the view. A change of models, K or seed starts anew."""
    about = (pair, drafts, seed)
    here: Walk = st.session_state.get(state.WALK) or Walk(about)
    if here.about != about:
        here = Walk(about)
    spot = st.container()
    choices = _choices(drafts, len(here.blocks))
    target, draft = pair.models()
    try:
        record = (
            here.blocks[-1]
            if here.stopped
            else draw_block(
                target,
                draft,
                draft_length=drafts,
                # The block's number goes into the seed, so that going back draws the same again.
                rng=np.random.default_rng([seed, len(here.blocks)]),
                choices=choices,
                stop=pair.stop,
                history=here.history,
            )
        )
    except LabError as fault:
        with spot:
            _text(here)
            st.error(literal(str(fault)))
        return
    if here.held and not choices:
        record = here.held
    tested = sum(position.coin is not None for position in record.positions)
    last = 1 + tested + (record.final_law is not None)  # drafts, coins, the last token
    shown = last if here.stopped else min(here.shown, last)
    with spot:
        _text(here)
        moved = _buttons(here, record, shown, last)
    st.session_state[state.WALK] = moved or here
    if moved:
        st.rerun()
    with spot:
        if shown:
            _block(record, target.tokens, shown, tested)
        else:
            st.info(f"The next block drafts {drafts} tokens after the text above. Step forward.")


def _buttons(here: Walk, record: BlockRecord, shown: int, last: int) -> Walk | None:
    """Back, Step, Whole block, Next block: the walk after the one that was pressed."""
    with st.container(horizontal=True):
        back = st.button("Back", disabled=not shown and not here.blocks)
        step = st.button("Step", disabled=shown >= last)
        whole = st.button("Whole block", disabled=shown >= last)
        onward = st.button("Next block", disabled=shown < last or record.stopped)
        again = st.button("Start over")
    if again:
        return Walk(here.about)
    if back and shown:
        if here.stopped:
            return Walk(here.about, here.blocks[:-1], last - 1, record)
        return Walk(here.about, here.blocks, shown - 1, here.held)
    if back:
        return Walk(here.about, here.blocks[:-1], 10**6, here.blocks[-1])
    if step or whole:
        after = last if whole else shown + 1
        if after == last and record.stopped:
            return Walk(here.about, (*here.blocks, record), last)
        return Walk(here.about, here.blocks, after, here.held)
    if onward:
        return Walk(here.about, (*here.blocks, record))
    return None


def _choices(drafts: int, block: int) -> Choices | None:
    """Drafts and coins by hand; what is left empty is drawn."""
    with st.expander("Choose drafts and coins by hand"):
        st.caption("What stays empty is drawn with the seed. A coin is a number from 0 to below 1.")
        columns = st.columns(min(drafts, 4))
        drafted, coins = [], []
        for i in range(drafts):
            with columns[i % len(columns)]:
                drafted.append(st.text_input(f"Draft {i + 1}", key=f"draft {block} {i}"))
                coins.append(st.text_input(f"Coin {i + 1}", key=f"coin {block} {i}"))
        final = st.text_input("Replacement or bonus", key=f"final {block}")
    if not any((*drafted, *coins, final)):
        return None
    return Choices(
        tuple(token or None for token in drafted),
        tuple(coin.strip() or None for coin in coins),
        final or None,
    )


# What each kind of token looks like: a shape and a word besides the colour.
_KINDS = {
    "accepted": ("✓", "border-bottom:3px solid #0072B2"),
    "replaced": ("↻", "border:2px solid #E69F00"),
    "bonus": ("★", "border:2px dashed #009E73"),
    "discarded": ("✗", "text-decoration:line-through;opacity:.75"),
}


def _chip(token: str, kind: str) -> str:
    sign, look = _KINDS[kind]
    return (
        f'<span style="{look};padding:0 .3em;margin:.15em;border-radius:3px;white-space:pre;'
        f'display:inline-block">{escape(visible([token])[0])}'
        f"<small> {sign}</small></span>"
    )


def _text(here: Walk) -> None:
    """The text written so far, with how each token came into it."""
    chips = []
    for record in here.blocks:
        chips += [_chip(token, "accepted") for token in record.accepted]
        if record.replacement is not None:
            chips.append(_chip(record.replacement, "replaced"))
        if record.bonus is not None:
            chips.append(_chip(record.bonus, "bonus"))
    legend = " · ".join(f"{sign} {kind}" for kind, (sign, _) in _KINDS.items())
    st.html(
        f'<div style="font-size:1.25rem;line-height:2">{"".join(chips) or "(nothing yet)"}</div>'
        f'<div style="font-size:.9rem">Text so far, after {counted(len(here.blocks), "block")} · '
        f"{legend}</div>"
    )
    if here.stopped:
        st.success("A stop token was committed: the output has ended.")


def _block(record: BlockRecord, tokens: History, shown: int, tested: int) -> None:
    """The present block as far as it has been shown."""
    table: dict[str, list[str]] = {
        name: []
        for name in ("position", "after", "draft", "p", "q", "min(1, p/q)", "coin", "what becomes")
    }
    rejected_shown = False
    for i, position in enumerate(record.positions):
        token = literal(visible([position.drafted])[0])
        reached = i < shown - 1
        struck = rejected_shown or (position.discarded_by == "stop" and shown > tested)
        cells = [str(i + 1), _after(record, position), f"~~{token}~~" if struck else token]
        if position.target is None or position.draft is None or struck or not reached:
            cells += [""] * 4
        else:
            x = tokens.index(position.drafted)
            assert position.acceptance is not None
            assert position.coin is not None
            cells += [
                number(position.target[x]),
                number(position.draft[x]),
                number(position.acceptance),
                f"{float(position.coin):.4f}",
            ]
        if struck:
            cells.append(
                "discarded: it assumed a token that is not there"
                if position.discarded_by == "rejection"
                else "discarded: the output has ended"
            )
        elif not reached:
            cells.append("to be tested")
        else:
            kept = position.status == "accepted"
            cells.append("✓ kept: coin below" if kept else "✗ rejected: coin not below")
            rejected_shown |= not kept
        for column, cell in zip(table.values(), cells, strict=True):
            column.append(cell)
    st.table(table, hide_index=True, border="horizontal")
    _now(record, tokens, shown, tested)


def _after(record: BlockRecord, position: Position) -> str:
    tokens = (*record.history, *position.prefix)[-4:]
    shown = " ".join(literal(visible([token])[0]) for token in tokens)
    more = "… " if len(record.history) + len(position.prefix) > 4 else ""
    return more + (shown or "the start")


def _now(record: BlockRecord, tokens: History, shown: int, tested: int) -> None:
    """What the last step did: the ledger of its position, or the last token."""
    if 1 < shown <= tested + 1:
        position = record.positions[shown - 2]
        assert position.target is not None
        assert position.draft is not None
        st.markdown(f"**Position {shown - 1}**: p and q after {_after(record, position)}.")
        step = exact_step(position.target, position.draft)
        draw(charts.ledger(step, tokens, dark=dark()))
    if shown <= tested:
        return
    rejected = next((p for p in record.positions if p.residual is not None), None)
    if shown == tested + 1 and rejected and rejected.residual is not None:
        st.markdown(
            "**First rejection.** Everything drafted after it is discarded. One replacement is "
            "drawn from the residual of *this* position:"
        )
        labels = visible(tokens)
        draw(charts.law(rejected.residual, labels, "residual r", dark=dark()))
    if shown == tested + 2:
        if record.replacement is not None:
            st.markdown(
                f"**Replacement:** {literal(visible([record.replacement])[0])}, drawn once from "
                "the residual with fresh randomness."
            )
        elif record.bonus is not None:
            st.markdown(
                f"**Bonus:** {literal(visible([record.bonus])[0])}. All drafts are kept, so one "
                "more token is drawn from p after the last of them."
            )
    if shown >= tested + 1 + (record.final_law is not None):
        emitted = " ".join(literal(visible([token])[0]) for token in record.emitted)
        onward = "The output ends here." if record.stopped else "The next goes on from there."
        st.markdown(f"This block emits **{emitted}**. {onward}")
