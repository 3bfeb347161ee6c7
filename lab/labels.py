"""Token labels that can be seen and told apart: one visible text a token, all different."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

LONGEST = 24
"""Characters of a label on a chart; longer ones lose their middle."""

_VISIBLE = {" ": "␣", "\t": "⇥", "\n": "⏎", "\r": "␍", "\u00a0": "⍽"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}  # Unicode categories without ink


def visible(tokens: Sequence[str]) -> tuple[str, ...]:
    """Texts for `tokens`, in their order, each readable and no two alike.

    White space and control characters get a sign, long labels are cut in the middle, and
    whatever would still look the same gets its position, counted from 1.

    >>> visible(["the", "the", " a", ""])
    ('the #1', 'the #2', '␣a', '(empty)')
    """
    shown = [_short(_spelled(token)) for token in tokens]
    while len(twice := {label for label, n in Counter(shown).items() if n > 1}):
        shown = [
            f"{label} #{position}" if label in twice else label
            for position, label in enumerate(shown, start=1)
        ]
    return tuple(shown)


def _spelled(token: str) -> str:
    if not token:
        return "(empty)"
    spelled = "".join(map(_character, token))
    # A combining mark needs something to sit on.
    return f"◌{spelled}" if unicodedata.combining(spelled[0]) else spelled


def _character(character: str) -> str:
    if character in _VISIBLE:
        return _VISIBLE[character]
    if unicodedata.category(character) in _HIDDEN:
        return f"‹{ord(character):04X}›"
    return character


def _short(label: str) -> str:
    if len(label) <= LONGEST:
        return label
    head = (LONGEST - 1) // 2
    return f"{label[:head]}…{label[-(LONGEST - 1 - head) :]}"
