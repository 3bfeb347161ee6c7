"""A page with nothing but bars, for test_bars.py. The address chooses what is under the bars."""

import json

import streamlit as st

from pages.parts.bars import bar_texts, bars

# (tokens, reference lines)
CASES: dict[str, tuple[list[str], list[tuple[str, list[float], list[str]]]]] = {
    "three": (
        ["A", "B", "C"],
        [
            ("p", [0.2, 0.5, 0.3], ["0.2", "0.5", "0.3"]),
            ("q", [0.6, 0.2, 0.2], ["0.6", "0.2", "0.2"]),
        ],
    ),
    "hostile": (
        [
            "<b>bold</b>",
            '"it\'s" & `x`',
            "$x^2$ :smile:",
            "שלום, world",
            "👩‍🔬",
            "an_unusually_long_token",
        ],
        [("p", [0, 0.1, 0.2, 0.3, 0.4, 0], ["0", "0.1", "0.2", "0.3", "0.4", "0"])],
    ),
    "twelve": (
        list("ABCDEFGHIJKL"),
        [
            ("p", [1 / 12] * 12, ["0.08333"] * 12),
            ("q", [0.1] * 10 + [0, 0], ["0.1"] * 10 + ["0"] * 2),
        ],
    ),
    "one": (["A"], []),
}


def key() -> str:
    return f"bars-{st.session_state.version}"


def replace() -> None:
    st.session_state[key()] = {"bars": ["0.1", None, "1/4"]}


def count() -> None:
    st.session_state.clicks += 1


def renew() -> None:
    st.query_params.clear()
    st.session_state.update(version=st.session_state.version + 1, clicks=0)


st.session_state.setdefault("version", 0)
st.session_state.setdefault("clicks", 0)
labels, lines = CASES[st.query_params.get("case", "three")]
top = float(st.query_params.get("top", "1"))
bad = [index for index, text in enumerate(bar_texts(key(), len(labels))) if text == "0.13"]

st.markdown("## What does a rejection draw from?")
result = bars(labels, lines, key=key(), top=top, bad=bad, describe="Your prediction of r")
st.text(json.dumps(result, ensure_ascii=False))
st.button("Rerun", on_click=count)
st.text(f"clicked {st.session_state.clicks}")
st.button("Replace", on_click=replace)
st.button("Renew", on_click=renew)
st.text(f"version {st.session_state.version}")
