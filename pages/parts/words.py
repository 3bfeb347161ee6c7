"""Text for Streamlit's Markdown: labels that stay literal, and numbers."""

from __future__ import annotations

import re
from fractions import Fraction

import streamlit as st

from lab.figures import exact, short
from pages.parts import state

_WORD_JOINER = "\u2060"


def literal(label: str) -> str:
    """`label` for a sentence in Markdown: nothing in it renders as markup, maths, link or emoji."""
    escaped = re.sub(r"[^A-Za-z0-9\u0080-\U0010ffff]", lambda match: f"&#{ord(match[0])};", label)
    return re.sub(r"(&#(?:45|60|62|61|58);)", rf"\1{_WORD_JOINER}", escaped)


def number(value: Fraction) -> str:
    """`value` as the page shows it: rounded for reading, or as a fraction if so switched."""
    return str(value) if st.session_state.get(state.FRACTIONS) else short(value)


def exact_number(value: Fraction) -> str:
    """`value` without rounding."""
    return exact(value)


def counted(count: int, noun: str) -> str:
    """``1 token``, ``3 tokens``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
