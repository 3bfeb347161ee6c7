"""What a session remembers: the one place for session-state keys."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from lab.errors import LabError
from lab.prediction import Prediction
from lab.scenario import WORKED_EXAMPLE, Scenario, Texts

# Widgets that keep their values across pages (persist_state="session").
TOKENS, P, Q = "field tokens", "field p", "field q"
PRESET, ENTRY, FILE, GRID, TAKEN = "preset", "entry", "file", "grid", "file taken"
INSPECT, FRACTIONS, QUANTITY = "just inspect", "exact fractions", "quantity"
SUCCESS, TRIALS, RECOVER = "success", "trials", "predict recovered"

PAIR, PAIR_ROWS, PAIR_GRID, VIEW = "pair", "pair rows", "pair grid", "block view"
OWN_TEXT, ORDER_P, ORDER_Q, SMOOTHING = "own text", "order p", "order q", "smoothing"
SHOWN_TYPE, U_BITS = "shown type", "bits of u"
DRAFTS, LENGTH, SEED, COST, WALK = "drafts", "length", "seed", "cost", "walk"

MISTAKE, ASKED_OF_MISTAKE = "mistake", "asked of mistake"
DRAWN, DRAW_SEED = "draws", "draw seed"

AUDIT_FILE, AUDITED, AUDIT_POSITION = "audit file", "audited", "audit position"

# What is remembered beside them.
_TEXTS, _START, _FAULT = "texts", "start", "link fault"
_NEXT, _LARGE, _SHOWN = "texts to come", "large scenario", "shown scenario"
_SETTINGS, _BARS, _PAGE = "settings to come", "bars kept", "page"

DEFAULT_SUCCESS, DEFAULT_TRIALS, DEFAULT_DRAWS = 0.5, 10, 1_000


def begin() -> str | None:
    """Fill the fields for a new session from its link; the sentence for a bad link, if it is one.

    A page calls this first.
    """
    memory = st.session_state
    if _TEXTS not in memory:
        _run_app_first()
        start, memory[_FAULT] = WORKED_EXAMPLE.texts, None
        try:
            start = Texts.from_query(st.query_params) or start
        except LabError as fault:
            memory[_FAULT] = str(fault)
        memory[_START] = memory[_TEXTS] = start
        memory[_NEXT] = start
    # A widget's value can only be set before the widget is drawn.
    for key, value in memory.pop(_SETTINGS, {}).items():
        memory[key] = value
    fault_text: str | None = memory[_FAULT]
    return fault_text


def _run_app_first() -> None:
    """Have app.py run when Streamlit did not.

    A server's first visitor by a link to a page gets that page without app.py, because a folder
    is called pages; from app.py's first run on, navigation is app.py's.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


def arrive(page: str) -> bool:
    """Remember which page is shown; whether it was another one before."""
    memory = st.session_state
    before, memory[_PAGE] = memory.get(_PAGE), page
    if before in (None, page):
        return before is None
    # A field that another page showed too, and that nobody has touched, would come up empty in
    # the browser: only what is set here is sent.
    for key in (TOKENS, P, Q, ENTRY, INSPECT, FRACTIONS, PAIR, DRAFTS, LENGTH):
        if key in memory:
            memory[key] = memory[key]
    return True


def texts() -> Texts:
    """The fields of the scenario as they stand."""
    current: Texts = st.session_state[_TEXTS]
    return current


def remember(new: Texts) -> None:
    """Keep what was typed; the fields show it already."""
    if new != st.session_state[_TEXTS]:
        st.session_state[_FAULT] = st.session_state[_LARGE] = None
    st.session_state[_TEXTS] = new


def fill(new: Texts) -> None:
    """Put other texts into the fields, from the next run on; callbacks and buttons use this."""
    remember(new)
    st.session_state[_NEXT] = new
    st.session_state[_FAULT] = st.session_state[_LARGE] = None


def fill_fields() -> None:
    """Give the fields their new texts, if there are any, and keep what has been typed.

    Call before the fields are drawn, and before anything that depends on them.
    """
    memory = st.session_state
    if new := memory.pop(_NEXT, None):
        memory[TOKENS], memory[P], memory[Q] = new.tokens, new.p, new.q
    if TOKENS in memory:
        remember(Texts(memory[TOKENS] or "", memory[P] or "", memory[Q] or ""))


def preset_key(current: str | None) -> str:
    """The key of the preset box, a new one whenever another preset stands in the fields.

    A browser's message that was under way still tells what the old box said. Under one key that
    would read as a choice, and load the old preset over what has just been typed.
    """
    version, shown = st.session_state.get(PRESET, (0, current))
    if shown != current:
        version += 1
    st.session_state[PRESET] = (version, current)
    return f"{PRESET} {version}"


def parameter_key(mistake: str, name: str) -> str:
    """The key of the field for a mistake's parameter."""
    return f"{name} of {mistake}"


def large_scenario() -> Scenario | None:
    """A scenario from a file that has too many tokens for the fields."""
    large: Scenario | None = st.session_state.get(_LARGE)
    return large


def use_large(scenario: Scenario) -> None:
    """Look at a scenario that does not fit into the fields."""
    st.session_state[_LARGE] = scenario


def use_start() -> None:
    """Put back the p and q that the session was opened with: its link's or the worked example's."""
    fill(st.session_state[_START])


def use_settings(settings: dict[str, Any]) -> None:
    """Give widgets, by key, other values from the next run on."""
    st.session_state[_SETTINGS] = settings


# Predictions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A question as it was last asked: what it is about, how often it was begun, the answer."""

    about: Hashable
    round: int = 0
    prediction: Prediction | None = None


def asked(question: str, about: Hashable) -> Asked:
    """The state of a question. A prediction about something else is erased here."""
    key = f"asked {question}"
    kept: Asked | None = st.session_state.get(key)
    if kept is None or kept.about != about:
        kept = Asked(about, kept.round + 1 if kept else 0)
        st.session_state[key] = kept
    return kept


def bars_key(question: str, round_: int) -> str:
    """The key of the bars of a question; a new one each round, so that they start unset."""
    return f"bars {question} {round_}"


def keep_bars(key: str) -> None:
    """Keep the bars under a key over a visit to another page, which would lose them."""
    memory = st.session_state
    if key in memory:
        memory[_BARS] = {**memory.get(_BARS, {}), key: memory[key]}
    elif key in memory.get(_BARS, {}):
        memory[key] = memory[_BARS][key]


def commit(question: str, prediction: Prediction) -> None:
    """Freeze a prediction to the question as it was last asked."""
    key = f"asked {question}"
    st.session_state[key] = replace(st.session_state[key], prediction=prediction)


def erase(*questions: str) -> None:
    """Forget predictions, and have their bars start unset."""
    for question in questions:
        key = f"asked {question}"
        if kept := st.session_state.get(key):
            st.session_state[key] = Asked(kept.about, kept.round + 1)


def show(scenario: Scenario) -> None:
    """Remember that the truth about this scenario is on the screen."""
    st.session_state[_SHOWN] = scenario


def was_shown(scenario: Scenario) -> bool:
    """Whether the truth about this scenario was the last to be shown in this session."""
    return bool(st.session_state.get(_SHOWN) == scenario)
