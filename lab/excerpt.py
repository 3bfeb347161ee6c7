"""One position of somebody's file, as texts for the fields of One step."""

from __future__ import annotations

from fractions import Fraction

from lab.errors import LabError, LengthError
from lab.figures import exact
from lab.groups import group_labels, leading, together
from lab.material import Source, open_material
from lab.rows import as_rows
from lab.scenario import MOST_BY_HAND, Texts, format_tokens
from lab.vectors import Exact, format_vector

MOST_NAMED = 200
"""Tokens of a long row that are named; the rest share one."""


def excerpt(source: Source, name: str, position: int) -> Texts:
    """The stored p and q of one position, exactly as they are: nothing is normalised.

    Up to `MOST_BY_HAND` tokens all are there. Of more, the heaviest of p or q are, and the others
    together as one token; what is accepted among those is then not seen.

    Parameters
    ----------
    source, name : as for `open_material`
    position : int
        Counted from 1.

    Raises
    ------
    LabError
        When the file cannot be read, there is no such position in both p and q, or an entry is no
        probability.
    """
    with open_material(source, name) as material:
        found = material.arguments
        p, q = (_row(found[vector], vector, position) for vector in ("p", "q"))
        tokens = found.get("tokens")
    if len(p) != len(q):
        raise LengthError(
            f"p has {len(p):,} entries here and q has {len(q):,}; One step needs as many."
        )
    labels = tuple(map(str, tokens)) if tokens is not None and len(tokens) == len(p) else None
    if len(p) > MOST_BY_HAND:
        groups = leading(tuple(map(max, p, q)), MOST_NAMED)
        p, q = together(p, groups), together(q, groups)
        labels = group_labels(
            labels or tuple(map(str, range(1, len(groups[-1]) + len(groups)))), groups
        )
    return Texts(format_tokens(labels) if labels else "", format_vector(p), format_vector(q))


def _row(values: object, vector: str, position: int) -> Exact:
    rows = as_rows(values, vector)
    if not 1 <= position <= rows.shape[0]:
        raise LabError(f"{vector} has no position {position:,}; it has {rows.shape[0]:,}.")
    row = rows[position - 1]
    entries = row if isinstance(row, tuple) else row.astype("float64").tolist()
    numbers = []
    for entry, value in enumerate(entries, start=1):
        try:
            number = Fraction(value)
        except (OverflowError, ValueError):  # infinities and NaN
            number = Fraction(-1)
        if number < 0:
            shown = exact(value) if isinstance(value, Fraction) else repr(value)
            raise LabError(
                f"{vector}, entry {entry} of position {position:,} is {shown}; One step takes "
                "numbers from 0."
            )
        numbers.append(number)
    return tuple(numbers)
