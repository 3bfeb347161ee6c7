"""Token labels that can be seen and told apart: one visible text a token, all different."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

LONGEST = 24
"""Characters of a label on a chart; longer ones lose their middle."""

_VISIBLE = {" ": "␣", "\t": "⇥", "\n": "⏎", "\r": "␍", "\u00a0": "⍽"}
# Code points that are drawn as nothing although their category is one of letters or marks:
# Unicode's Default_Ignorable_Code_Point, and the blank of Braille.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}  # Unicode categories without ink


def visible(tokens: Sequence[str]) -> tuple[str, ...]:
    """Texts for `tokens`, in their order, each readable and no two alike.

    White space and control characters get a sign, long labels are cut in the middle, and
    whatever would still look the same gets its position, counted from 1.

    >>> visible(["the", "the", " a", ""])
    ('the #1', 'the #2', '␣a', '(empty)')
    """
    shown = [_short(_spelled(token)) for token in tokens]
    while True:
        # What Unicode calls the same text looks the same.
        looks = [unicodedata.normalize("NFC", label) for label in shown]
        twice = {look for look, n in Counter(looks).items() if n > 1}
        if not twice:
            return tuple(shown)
        shown = [
            f"{label} #{position}" if look in twice else label
            for position, (label, look) in enumerate(zip(shown, looks, strict=True), start=1)
        ]


def _spelled(token: str) -> str:
    if not token:
        return "(empty)"
    spelled = "".join(map(_character, token))
    # A combining mark needs something to sit on.
    return f"◌{spelled}" if unicodedata.category(spelled[0]).startswith("M") else spelled


def _character(character: str) -> str:
    if character in _VISIBLE:
        return _VISIBLE[character]
    if unicodedata.category(character) in _HIDDEN or _BLANK.match(character):
        return f"‹{ord(character):04X}›"
    return character


def _short(label: str) -> str:
    if len(label) <= LONGEST:
        return label
    head = (LONGEST - 1) // 2
    return f"{label[:head]}…{label[-(LONGEST - 1 - head) :]}"
