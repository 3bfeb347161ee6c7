"""The head of each page: its title, what it is about, and what was wrong with the link."""

from __future__ import annotations

import streamlit as st

from pages.parts import state
from pages.parts.words import literal


def head(title: str, about: str) -> bool:
    """Begin a page; whether it has just been come to.

    Call it first: a new session takes its fields from the link here.
    """
    fault = state.begin()
    arrived = state.arrive(title)
    st.title(title)
    st.markdown(about)
    if fault:
        st.error(literal(fault))
    return arrived
