"""Bars that people drag: one upright track per token, set by mouse, touch, keys or typing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import SupportsFloat

import streamlit as st

_HERE = Path(__file__).parent

# Registered once a process, when this module is first imported: every later call only mounts it.
_component = st.components.v2.component(
    "residual_lab_bars",
    js=(_HERE / "bars.js").read_text(encoding="utf-8"),
    css=(_HERE / "bars.css").read_text(encoding="utf-8"),
)


def bars(
    labels: Sequence[str],
    lines: Sequence[tuple[str, Sequence[SupportsFloat], Sequence[str]]],
    *,
    key: str,
    top: float = 1.0,
    step: float = 0.01,
    bad: Collection[int] = (),
    describe: str = "",
) -> list[str | None]:
    """Draw one bar a label to be dragged or typed; return what each was set to.

    Parameters
    ----------
    labels : sequence of str
        What stands under each bar: distinct, already made visible; shown literally.
    lines : sequence of (name, values, texts)
        Reference lines across every track, such as ``("p", (0.2, 0.8), ("0.2", "0.8"))``. The first
        is solid, later ones are dashed. One value and one text for each label.
    key : str
        Identifies the control. A new key is a new control with nothing predicted.
    top, step : float
        Value at the top of a track, and what one arrow key or drag tick moves.
    bad : collection of int
        Indices whose text (see `bar_texts`) could not be read; they are marked invalid.
    describe : str
        Accessible name of the whole group.

    Returns
    -------
    list of str or None
        One entry a label. A dragged bar gives decimal text on the step (``"0.35"``), a typed one
        gives what was typed, trimmed but not judged; ``None`` is not predicted yet.

    Raises
    ------
    ValueError
        If a reference line does not have one value and one text for each label.
    """
    for name, values, texts in lines:
        if not len(values) == len(texts) == len(labels):
            raise ValueError(
                f"line {name!r} has {len(values)} values and {len(texts)} texts "
                f"for {len(labels)} labels"
            )
    state = _component(
        key=key,
        data={
            "labels": list(labels),
            "lines": [
                {"name": name, "values": [float(value) for value in values], "texts": list(texts)}
                for name, values, texts in lines
            ],
            "top": float(top),
            "step": float(step),
            "bad": sorted(bad),
            "describe": describe,
            # The browser never hears of session state that was set from Python unless it is told.
            "bars": bar_texts(key, len(labels)),
        },
    )
    return _texts(state, len(labels))


def bar_texts(key: str, count: int) -> list[str | None]:
    """Return what `bars` under this key will return in this run, before it is drawn."""
    return _texts(st.session_state.get(key), count)


def _texts(state: object, count: int) -> list[str | None]:
    """Read a component's state, which comes from a browser and may be anything."""
    texts = state.get("bars") if isinstance(state, dict) else None
    if not isinstance(texts, list | tuple) or len(texts) != count:
        return [None] * count
    return [text.strip() or None if isinstance(text, str) else None for text in texts]
