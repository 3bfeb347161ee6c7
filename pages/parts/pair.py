"""Choosing a target and a draft model, and editing their rows."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lab.errors import LabError
from lab.models import LONGEST_OWN_TEXT
from lab.pairs import LONGEST_LENGTH, MOST_DRAFTS, MOST_ROWS, PAIRS, BlockLink, Pair, Row
from pages.parts import state
from pages.parts.words import literal

MOST_ORDER = 5
"""Letters that a model of the page may look back."""


def block_settings() -> None:
    """The first visit to a page with models takes its settings from the link."""
    memory = st.session_state
    if state.COST in memory:
        return
    link = BlockLink.from_query(st.query_params)
    memory[state.PAIR] = link.pair
    memory[state.DRAFTS], memory[state.SEED] = link.drafts, link.seed
    memory[state.LENGTH], memory[state.COST] = link.length, link.cost


def drafts_field(spot: DeltaGenerator) -> int:
    """The field for K."""
    return spot.number_input("Drafts K", 1, MOST_DRAFTS, key=state.DRAFTS, persist_state="session")


def length_field(spot: DeltaGenerator) -> int:
    """The field for L."""
    return spot.number_input(
        "Tokens L of the generated law",
        1,
        LONGEST_LENGTH,
        key=state.LENGTH,
        persist_state="session",
    )


def pair_entry() -> Pair | None:
    """Draw the entry; the pair in it, or None after saying what is wrong."""
    name = st.selectbox("Models", list(PAIRS), key=state.PAIR, persist_state="session")
    preset = PAIRS[name]
    st.caption(preset.about)
    pair = _letters(preset) if preset.text else _rows(preset)
    try:
        target, _ = pair.models()
    except LabError as fault:
        st.error(literal(str(fault)))
        return None
    if pair.stop is not None:
        st.caption(f"Stop token: {literal(pair.stop)}. It ends the output where it is committed.")
    if pair.text:
        st.caption(f"{len(target.tokens)} tokens.")
    return pair


def _rows(preset: Pair) -> Pair:
    """The rows in a grid; what is edited stays for the session."""
    kept: dict[str, tuple[Row, ...]] = st.session_state.setdefault(state.PAIR_ROWS, {})
    grid = st.session_state.get(state.PAIR_GRID)
    if grid is None or grid["name"] != preset.name or grid["key"] not in st.session_state:
        # A grid that was left is built anew from what had been edited in it.
        number = grid["number"] + 1 if grid else 0
        rows = kept.get(preset.name, preset.rows)
        grid = {
            "name": preset.name,
            "number": number,
            "key": f"pair grid {number}",
            "rows": pd.DataFrame(
                [(row.place, row.p, row.q) for row in rows], columns=["place", "p", "q"]
            ),
        }
        st.session_state[state.PAIR_GRID] = grid
    place = "Position" if preset.by_position else "After"
    edited = st.data_editor(
        grid["rows"],
        key=grid["key"],
        num_rows="dynamic",
        hide_index=True,
        column_config={
            "place": st.column_config.TextColumn(place, width="small"),
            "p": st.column_config.TextColumn("Target p"),
            "q": st.column_config.TextColumn("Draft q"),
        },
        alt="The rows of both models",
    )
    st.caption(
        f"Rows over {literal(preset.tokens)}. "
        + (
            "The last row continues."
            if preset.by_position
            else "An empty cell is the start; a history without a row takes that of its longest "
            "known ending."
        )
        + f" Up to {MOST_ROWS} rows."
    )
    rows = tuple(
        Row(*(str(cell) if isinstance(cell, str) else "" for cell in row))
        for row in edited.itertuples(index=False)
        if any(isinstance(cell, str) and cell.strip() for cell in row)
    )
    kept[preset.name] = rows
    return replace(preset, rows=rows[:MOST_ROWS])


def _letters(preset: Pair) -> Pair:
    memory = st.session_state
    memory.setdefault(state.OWN_TEXT, preset.text)
    memory.setdefault(state.ORDER_P, preset.orders[0])
    memory.setdefault(state.ORDER_Q, preset.orders[1])
    memory.setdefault(state.SMOOTHING, preset.smoothing)
    text = st.text_area(
        f"Text, up to {LONGEST_OWN_TEXT:,} characters",
        max_chars=LONGEST_OWN_TEXT,
        height=160,
        key=state.OWN_TEXT,
        persist_state="session",
    )
    target, draft, added = st.columns(3, vertical_alignment="bottom")
    p = target.number_input(
        "Letters p looks back", 0, MOST_ORDER, key=state.ORDER_P, persist_state="session"
    )
    q = draft.number_input(
        "Letters q looks back", 0, MOST_ORDER, key=state.ORDER_Q, persist_state="session"
    )
    smoothing = added.text_input(
        "Added to each count", key=state.SMOOTHING, persist_state="session"
    )
    return replace(preset, text=text or " ", orders=(p, q), smoothing=smoothing or "0")
