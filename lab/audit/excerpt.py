"""One position of somebody's file, as texts for the fields of One step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from lab.audit.material import Source, open_material
from lab.audit.rows import as_rows, many
from lab.errors import LabError, LengthError
from lab.figures import exact
from lab.scenario import MOST_BY_HAND, Texts, format_tokens
from lab.vectors import Exact, format_vector, total

MOST_NAMED = 200
"""Tokens of a long row that are named; the rest share one."""


def excerpt(source: Source, name: str, position: int, *, normalised: bool = False) -> Texts:
    """The stored p and q of one position, exactly as they are, or each divided by its exact sum.

    Up to `MOST_BY_HAND` tokens all are there. Of more, the heaviest of p or q are, and the others
    together as one token; what is accepted among those is then not seen.

    Parameters
    ----------
    source, name : as for `open_material`
    position : int
        Counted from 1.
    normalised : bool
        Whether p and q are divided by their sums.

    Raises
    ------
    LabError
        When the file cannot be read, there is no such position in both p and q, an entry is no
        probability, or a row that is to be divided by its sum is empty.
    """
    with open_material(source, name) as material:
        found = material.arguments
        p, q = (_row(found[vector], vector, position) for vector in ("p", "q"))
        tokens = found.get("tokens")
    if len(p) != len(q):
        raise LengthError(
            f"p has {many(len(p), 'entry', 'entries')} here and q has {len(q):,}; One "
            "step needs as many."
        )
    labels = list(map(str, tokens)) if tokens is not None and len(tokens) == len(p) else []
    if len(p) > MOST_BY_HAND:
        weights = np.maximum(_sizes(p), _sizes(q))
        named = np.sort(np.argsort(-weights, kind="stable")[: MOST_NAMED - 1]).tolist()
        p, q = _shortened(p, named), _shortened(q, named)
        labels = [labels[i] if labels else str(i + 1) for i in named]
        labels.append(f"{weights.size - len(named):,} others")
    laws = [tuple(Fraction(entry) for entry in row) for row in (p, q)]
    if normalised:
        laws = [_divided(law, vector, position) for law, vector in zip(laws, "pq", strict=True)]
    return Texts(format_tokens(labels), *map(format_vector, laws))


def _divided(law: Exact, vector: str, position: int) -> Exact:
    """A row divided by its own sum, exactly."""
    whole = total(law)
    if not whole:
        raise LabError(f"{vector} of position {position:,} is empty: its sum is 0.")
    return tuple(mass / whole for mass in law)


Entries = Sequence[Fraction | float]


def _row(values: object, vector: str, position: int) -> Entries:
    """The entries of one position, as fractions or Python's floats, each 0 or more."""
    rows = as_rows(values, vector)
    if not 1 <= position <= rows.shape[0]:
        raise LabError(f"{vector} has no position {position:,}; it has {rows.shape[0]:,}.")
    row = rows[position - 1]
    entries: Entries = row if isinstance(row, tuple) else row.astype("float64").tolist()
    for entry, value in enumerate(entries, start=1):
        if not 0 <= value < math.inf:
            shown = exact(value) if isinstance(value, Fraction) else repr(value)
            raise LabError(
                f"{vector}, entry {entry} of position {position:,} is {shown}; One step takes "
                "numbers from 0."
            )
    return entries


def _sizes(row: Entries) -> npt.NDArray[np.float64]:
    """The entries as floats, good enough to find the heaviest."""
    return np.array([float(entry) for entry in row])


def _shortened(row: Entries, named: Sequence[int]) -> Exact:
    """The named entries, and the exact sum of the others."""
    entries = tuple(Fraction(entry) for entry in row)
    kept = tuple(entries[i] for i in named)
    return (*kept, total(entries) - total(kept))
