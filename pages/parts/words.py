"""Text for Streamlit's Markdown: labels that stay literal, and numbers."""

from __future__ import annotations

import re
from fractions import Fraction

import streamlit as st

from lab.figures import fine, short
from pages.parts import state

_LONG = 200  # bits of a denominator: beyond that a fraction is no reading
_WORD_JOINER = "\u2060"
# Where characters would turn into something even as references: arrows and dashes, emoji and
# addresses, web addresses. Nowhere else, for what is on the page is also copied and searched.
_JOINED = re.compile(r"(?<=[-<>=~])(?=[-<>=])|(?<=[:@])|(?<=www)(?=\.)", re.IGNORECASE)


def literal(label: str) -> str:
    """`label` for a sentence in Markdown: nothing in it renders as markup, maths, link or emoji."""
    apart = _JOINED.sub(_WORD_JOINER, label)
    return re.sub(r"[^A-Za-z0-9\u0080-\U0010ffff]", lambda match: f"&#{ord(match[0])};", apart)


def number(value: Fraction) -> str:
    """`value` as the page shows it: rounded for reading, or as a fraction if so switched."""
    return _fraction(value) or short(value)


def size(value: Fraction) -> str:
    """`number` for errors and other small numbers, whose digits say how small they are."""
    return _fraction(value) or fine(value)


def _fraction(value: Fraction) -> str:
    """`value` as a fraction if the page is switched to that; else nothing."""
    fractions = st.session_state.get(state.FRACTIONS) and value.denominator.bit_length() < _LONG
    return str(value) if fractions else ""


def counted(count: int, noun: str) -> str:
    """``1 token``, ``3 tokens``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
