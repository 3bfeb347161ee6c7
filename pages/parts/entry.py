"""Entering tokens, p and q: as text, as a table, or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lab.errors import LabError, LengthError, RowsError, TotalError
from lab.scenario import (
    MOST_BY_HAND,
    MOST_TOKENS,
    PRESETS,
    Scenario,
    Texts,
    format_tokens,
    parse_tokens,
    read_tokens,
    require_lengths,
    shared,
)
from lab.tables import MOST_BYTES, read_csv
from lab.vectors import (
    LONGEST_TEXT,
    Exact,
    format_vector,
    normalise,
    parse_entries,
    parse_vector,
    read_vector,
    require_total_1,
    split_text,
    total,
)
from pages.parts import state
from pages.parts.words import literal

_SYNTAX = r"""
**Numbers:** `0.2` `.2` `1/3` `20%` `1e-7` `0,25`, between commas, semicolons, spaces or lines.
Print-outs of NumPy and PyTorch and columns of a spreadsheet can be pasted as they are. Nothing is
rounded or renormalised.

**q** is the law the proposals are really drawn from: after temperature, top-k, top-p.

**Tokens:** labels between commas or lines. A label in double quotes is taken as it is: `" a"`,
`"\n"`, `","`. Empty: the tokens are numbered.
"""

_WAYS = ("Text", "Table", "CSV file")


def scenario_entry() -> Scenario | None:
    """Draw the entry; the scenario in it, or None after saying what is wrong."""
    state.fill_fields()
    spot = st.container()
    st.session_state.setdefault(state.ENTRY, _WAYS[0])
    way = st.segmented_control(
        "Enter as", _WAYS, required=True, key=state.ENTRY, persist_state="session"
    )
    if way == "CSV file":
        scenario = _from_file()
    else:
        scenario = _from_table() if way == "Table" else _from_fields()
    with spot:  # last, when it is known what stands in the fields
        _presets()
    return scenario


def _presets() -> None:
    texts = state.texts()
    current = next((name for name, preset in PRESETS.items() if preset.texts == texts), None)
    if state.large_scenario():
        current = None
    key = state.preset_key(current)
    st.selectbox(
        "Preset",
        list(PRESETS),
        index=list(PRESETS).index(current) if current else None,
        key=key,
        placeholder="Your own numbers",
        on_change=_load_preset,
        args=(key,),
    )
    # Always a line, so that nothing moves under the pointer at the first edit.
    st.caption(PRESETS[current].about if current else "Entered by hand, from a link or a file.")


def _load_preset(key: str) -> None:
    if preset := PRESETS.get(st.session_state[key]):
        state.fill(preset.texts)
        if st.session_state.get(state.ENTRY) == "CSV file":
            st.session_state[state.ENTRY] = "Text"


# As text ----------------------------------------------------------------------------------------


def _from_fields() -> Scenario | None:
    st.text_area(
        "Tokens",
        key=state.TOKENS,
        height=68,
        persist_state="session",
    )
    tokens_spot = st.container()
    st.text_area(
        "Target p",
        key=state.P,
        height=68,
        persist_state="session",
    )
    p_spot = st.container()
    st.text_area(
        "Draft q",
        key=state.Q,
        height=68,
        persist_state="session",
    )
    q_spot = st.container()
    with st.expander("What the fields take"):
        st.markdown(_SYNTAX)
    return _read(state.texts(), tokens_spot, p_spot, q_spot)


def _read(
    texts: Texts,
    tokens_spot: DeltaGenerator,
    p_spot: DeltaGenerator,
    q_spot: DeltaGenerator,
) -> Scenario | None:
    """The scenario in the fields, each fault said below its field."""
    target = _vector(texts.p, "p", p_spot, texts)
    draft = _vector(texts.q, "q", q_spot, texts)
    labels: tuple[str, ...] | None = None
    try:
        labels = parse_tokens(texts.tokens) if texts.tokens.strip() else None
    except LabError as fault:
        tokens_spot.error(_plain(fault))
        return None
    if target is None or draft is None:
        return None
    if labels is None:
        labels = read_tokens("", len(target))
    try:
        require_lengths(labels, target, draft)
    except LengthError as fault:
        (q_spot if len(target) != len(draft) else tokens_spot).error(_plain(fault))
        _offer_padding(labels, target, draft, q_spot)
        return None
    if len(labels) > MOST_BY_HAND:
        _too_many(len(labels), tokens_spot)
        return None
    return _if_laws(labels, target, draft, p_spot, q_spot)


def _vector(text: str, name: str, spot: DeltaGenerator, texts: Texts) -> Exact | None:
    try:
        reading = read_vector(text, name)
    except RowsError as fault:
        spot.error(_plain(fault))
        _offer_rows(fault.rows, spot, name, texts)
        return None
    except LabError as fault:
        spot.error(_plain(fault))
        return None
    for note in reading.notes:
        spot.info(note)
    return reading.rows[0]


def _if_laws(
    labels: tuple[str, ...],
    target: Exact,
    draft: Exact,
    p_spot: DeltaGenerator,
    q_spot: DeltaGenerator,
) -> Scenario | None:
    """The scenario if both vectors sum to 1; else what they miss it by, and the offer to divide."""
    faults: list[tuple[LabError, DeltaGenerator]] = []
    for vector, name, spot in ((target, "p", p_spot), (draft, "q", q_spot)):
        try:
            require_total_1(vector, name)
        except LabError as fault:
            by_sum = isinstance(fault, TotalError) and any(vector)
            spot.error(_plain(fault) + (" *Normalise* divides by the sum." if by_sum else ""))
            faults.append((fault, spot))
    if not faults:
        return shared(labels, target, draft)
    by_total = all(isinstance(fault, TotalError) for fault, _ in faults)
    if (
        by_total
        and all(map(any, (target, draft)))
        and faults[-1][1].button(
            "Normalise", help="Divides each vector that misses 1 by its own sum, exactly."
        )
    ):
        divided = [format_vector(v if total(v) == 1 else normalise(v)) for v in (target, draft)]
        try:
            for name, text in zip("pq", divided, strict=True):
                parse_vector(text, name)
        except LabError as fault:  # then what was typed stays
            spot.error(f"The normalised vector cannot be written: {_plain(fault)}")
            return None
        state.fill(Texts(state.texts().tokens, *divided))
        st.rerun()
    return None


def _offer_padding(
    labels: Sequence[str],
    target: Exact,
    draft: Exact,
    spot: DeltaGenerator,
) -> None:
    """A draft vocabulary shorter than the target's: offer zeros for what it cannot propose."""
    missing = len(target) - len(draft)
    if missing > 0 and spot.button(
        f"Pad q with {missing:,} zero{'s' if missing > 1 else ''}",
        help="Right when the draft's vocabulary is the beginning of the target's.",
    ):
        texts = state.texts()
        state.fill(Texts(texts.tokens, texts.p, format_vector(draft + (Fraction(),) * missing)))
        st.rerun()


def _offer_rows(rows: tuple[Exact, ...], spot: DeltaGenerator, name: str, texts: Texts) -> None:
    """Two rows, or two columns, in one field are p and q more often than not."""
    if len(rows) == 2:
        kind, pair = "row", rows
    elif len(rows[0]) == 2:
        kind, pair = "column", (tuple(row[0] for row in rows), tuple(row[1] for row in rows))
    else:
        return
    if spot.button(f"Use {kind} 1 as p and {kind} 2 as q", key=f"pair {name}"):
        tokens = texts.tokens
        state.fill(Texts(tokens, *map(format_vector, pair)))
        st.rerun()


# As a table -------------------------------------------------------------------------------------


def _from_table() -> Scenario | None:
    """The grid. It is built anew only when the fields changed by another way than through it."""
    grid = st.session_state.get(state.GRID)
    key = f"{state.GRID} {grid['version']}" if grid else ""
    if grid is None or grid["texts"] != state.texts() or key not in st.session_state:
        # New texts, or a grid that was left: its edits went with it, but they are in the texts.
        version = grid["version"] + 1 if grid else 0
        start = state.texts()
        grid = {"version": version, "texts": start, "start": start, "rows": _rows(start)}
    columns = {
        "token": st.column_config.TextColumn("Token"),
        # Text, because number columns change what is typed: 1/3 would become 13.
        "p": st.column_config.TextColumn("Target p"),
        "q": st.column_config.TextColumn("Draft q"),
    }
    edited = st.data_editor(
        grid["rows"],
        key=f"{state.GRID} {grid['version']}",
        num_rows="dynamic",
        hide_index=True,
        column_config=columns,
        alt="Tokens, target p and draft q, one token a row",
    )
    st.caption("Cells take 0.25, 1/4, 25% or 1e-7. Paste from a spreadsheet; add rows at the end.")
    spot = st.container()
    if edited.equals(grid["rows"]):
        # Nothing is edited, or no longer: the text as it was, which no table need be able to hold.
        if grid["start"] != state.texts():
            state.fill(grid["start"])
        st.session_state[state.GRID] = {**grid, "texts": grid["start"]}
        return _read(grid["start"], spot, spot, spot)
    rows = [row for row in edited.itertuples(index=False) if any(map(_filled, row))]
    tokens = tuple(
        row[0] if isinstance(row[0], str) else str(n) for n, row in enumerate(rows, start=1)
    )
    p, q = ([str(row[i]) if _filled(row[i]) else "" for row in rows] for i in (1, 2))
    # A decimal comma would separate entries in the fields.
    texts = Texts(
        format_tokens(tokens), *(", ".join(c.replace(",", ".") for c in cells) for cells in (p, q))
    )
    if texts != state.texts():
        state.fill(texts)
    st.session_state[state.GRID] = {**grid, "texts": texts}
    if not rows:
        spot.error("The table is empty; accepted is one row for each token.")
        return None
    if len(rows) > MOST_BY_HAND:
        _too_many(len(rows), spot)
        return None
    vectors = []
    for name, cells in (("p", p), ("q", q)):
        try:
            vectors.append(parse_entries(cells, name))
        except LabError as fault:
            spot.error(_plain(fault))
    if len(vectors) < 2:
        return None
    return _if_laws(tokens, vectors[0], vectors[1], spot, spot)


def _filled(cell: object) -> bool:
    return isinstance(cell, str) and bool(cell)


def _rows(texts: Texts) -> pd.DataFrame:
    """What stands in the fields as rows, readable or not."""
    columns: list[Sequence[str]] = []
    try:
        columns.append(parse_tokens(texts.tokens) if texts.tokens.strip() else ())
    except LabError:
        columns.append(())
    for text in (texts.p, texts.q):
        try:
            cells, _ = split_text(text)
            columns.append([cell for row in cells for cell in row])
        except LabError:
            columns.append(())
    rows = list(zip_longest(*columns))
    return pd.DataFrame(rows, columns=["token", "p", "q"], dtype="object")


# From a file ------------------------------------------------------------------------------------


def _from_file() -> Scenario | None:
    upload = st.file_uploader(
        "CSV file",
        type=["csv", "tsv", "txt"],
        key=state.FILE,
        max_upload_size=MOST_BYTES // 10**6,
        help="A first line that names the columns token, p and q; then one line for each token.",
    )
    st.caption(f"Up to {MOST_TOKENS:,} tokens and {MOST_BYTES // 10**6} MB.")
    if upload:
        fault = _take(upload.file_id, upload.getvalue())
        if fault:
            st.error(literal(fault))
            return None
    if large := state.large_scenario():
        st.info(
            f"{len(large.tokens):,} tokens from the last file. Another file, a preset or an edit "
            "takes their place."
        )
        return large
    spot = st.container()
    scenario = _read(state.texts(), spot, spot, spot)
    if scenario and upload:
        st.info(f"{len(scenario.tokens):,} tokens from the file. They can be edited as text.")
    return scenario


def _take(file_id: str, data: bytes) -> str | None:
    """Read a file once; the sentence for a bad one, for as long as it stays in the field."""
    taken: tuple[str, str | None] | None = st.session_state.get(state.TAKEN)
    if taken and taken[0] == file_id:
        return taken[1]
    fault = None
    try:
        tokens, p, q = read_csv(data)
        if len(tokens) > MOST_BY_HAND or len(data) > LONGEST_TEXT:
            state.use_large(shared(tokens, p, q))
        else:  # laws or not: in the fields they can be put right
            state.fill(Texts(format_tokens(tokens), format_vector(p), format_vector(q)))
    except LabError as error:
        fault = str(error)
    st.session_state[state.TAKEN] = (file_id, fault)
    return fault


def current_scenario() -> tuple[Scenario | None, str]:
    """The scenario as it stands, for pages without an entry; or what is wrong with it."""
    if large := state.large_scenario():
        return large, ""
    try:
        return Scenario.from_texts(state.texts()), ""
    except LabError as fault:
        return None, str(fault)


def _too_many(count: int, spot: DeltaGenerator) -> None:
    spot.error(
        f"{count:,} tokens: up to {MOST_BY_HAND:,} can be entered by hand, and up to "
        f"{MOST_TOKENS:,} come from a CSV file."
    )


def _plain(fault: LabError) -> str:
    """The sentence, with whatever was typed kept literal."""
    return literal(str(fault))
