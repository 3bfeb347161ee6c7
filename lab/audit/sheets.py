"""CSV and JSON as rows: exact as they are written, or the float64 that was printed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from lab.audit.fields import ACCEPTED, COUNTS, LABELS, ignored, named
from lab.audit.rows import MOST_EXACT, MOST_TOKENS, Rows, check_lengths, from_numbers, many, number
from lab.errors import EntryError, FileError
from lab.tables import from_text_cell, split_rows, unmarked

EXPORTED = {"accepted", "shortfall", "correction"}
"""Columns of the lab's own files that say nothing new."""


class _Number(str):
    """A number as the file has it, so that decimals stay exact."""

    __slots__ = ()


def read_json(text: str) -> tuple[dict[str, Any], list[str]]:
    """What `audit` takes, by name, from a JSON object; and notes. Raises `FileError`."""
    try:
        content = json.loads(
            text,
            parse_float=_Number,
            parse_int=_Number,
            parse_constant=_Number,
            object_pairs_hook=_once,
        )
    except json.JSONDecodeError as fault:
        behind = fault.msg == "Extra data"
        raise FileError(
            f"The file cannot be read as JSON: {fault.msg} in line {fault.lineno:,}, column "
            f"{fault.colno:,}. {'Accepted is one object.' if behind else 'It may be cut.'}"
        ) from None
    except RecursionError:
        raise FileError(
            "The JSON is nested too deeply; accepted is an object with p and q."
        ) from None
    if isinstance(content, list) and len(content) == 2 and isinstance(content[0], list):
        content = {"p": content[0], "q": content[1]}
    if not isinstance(content, dict):
        raise FileError("The JSON is no object; accepted is an object with p and q.")
    found, unknown = named({key: key for key in content}, "The JSON")
    notes = ignored(unknown)
    arguments: dict[str, Any] = {}
    for name, key in found.items():
        value = content[key]
        if value is None and name not in ("p", "q"):
            continue
        if name in LABELS:
            if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
                raise FileError(f"{name} is no list of texts in the JSON.")
            arguments[name] = [str(label) for label in value]
        else:
            if name == "acceptance" and not isinstance(value, list):
                value = [value]
            rows = _nested(value, name)
            arguments[name] = _from_texts(rows, name, notes, counts=name in COUNTS)
    return arguments, notes


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        key = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise FileError(f"The JSON has “{key[:40]}” twice; accepted is one.")
    return content


def _nested(value: object, name: str) -> list[list[str]]:
    """One row, or rows, of numbers as texts."""
    if not isinstance(value, list) or not value:
        raise FileError(f"{name} is no list of numbers in the JSON.")
    rows = value if all(isinstance(row, list) for row in value) else [value]
    check_lengths(rows, name)
    for row in rows:
        for place, entry in enumerate(row, 1):
            if not isinstance(entry, str):
                shown = json.dumps(entry)[:40]
                raise EntryError(name, place, shown, "it is not a number; accepted are numbers.")
    return rows


def _from_texts(
    rows: Sequence[Sequence[str]], name: str, notes: list[str], *, counts: bool = False
) -> Rows:
    """Rows of numbers from texts: exact, or float64 where that is what was printed."""
    names = [name] if len(rows) == 1 else [f"{name}, row {n}" for n in range(1, len(rows) + 1)]
    size = sum(map(len, rows))
    if len(rows[0]) > MOST_TOKENS:
        raise FileError(f"{name} has {len(rows[0]):,} tokens; up to {MOST_TOKENS:,} are accepted.")
    if counts:
        rows = [[_ungrouped(text) for text in row] for row in rows]
    if size <= MOST_EXACT:
        read = [
            [number(text, row_name, n) for n, text in enumerate(row, 1)]
            for row, row_name in zip(rows, names, strict=True)
        ]
        if not any(map(_is_printed, rows)):
            return from_numbers(read, names)
        notes.append(f"{name}: 16 or 17 digits were read as a float64 that was printed.")
        read = [[_as_float(entry, name) for entry in row] for row in read]
        return from_numbers(read, names)
    notes.append(f"{name}: more than {MOST_EXACT:,} entries were read as float64.")
    floats = np.empty((len(rows), len(rows[0])))
    for i, (row, row_name) in enumerate(zip(rows, names, strict=True)):
        try:
            floats[i] = list(map(float, row))
        except ValueError:
            floats[i] = [
                _as_float(number(text, row_name, n), name) for n, text in enumerate(row, 1)
            ]
    return floats


def _as_float(entry: Fraction | float, name: str) -> float:
    try:
        return float(entry)
    except OverflowError:
        raise FileError(f"{name} has an entry too large for floats; accepted are laws.") from None


def _is_printed(row: Iterable[str]) -> bool:
    """Whether decimals look like float64: 16 or 17 digits somewhere, and nowhere more."""
    longest = 0
    for text in row:
        if len(text) > 15 and "/" not in text:
            digits = re.sub(r"[eE].*|\D", "", text).lstrip("0")
            longest = max(longest, len(digits))
    return longest in (16, 17)


def _ungrouped(text: str) -> str:
    """A count without the signs between its thousands."""
    text = text.strip()
    if re.fullmatch(r"\d{1,3}(?:[,.'’ \u00a0\u202f]\d{3})+", text):
        return re.sub(r"\D", "", text)
    return text


def read_csv(text: str) -> tuple[dict[str, Any], list[str]]:
    """What `audit` takes, by name, from a table with a header; and notes. Raises `FileError`."""
    lines = [line for line in split_rows(text) if any(cell.strip() for cell in line)]
    if not lines:
        raise FileError(f"The file is empty; {ACCEPTED}.")
    header, *body = lines
    if not body:
        raise FileError("The file has a header and no rows; accepted is one row for each token.")
    places, place_of_position, notes = _csv_columns(header)
    needed = max([*places.values(), place_of_position or 0])
    for row_number, line in enumerate(body, 1):
        filled = max((n for n, cell in enumerate(line, 1) if cell.strip()), default=0)
        if len(line) <= needed or filled > len(header):
            hint = "The file may be cut."
            if filled > len(header):
                hint = "Decimal commas need semicolons or tabs between the cells, or quotes."
            raise FileError(
                f"Row {row_number:,} below the header has {many(len(line), 'cell')}, and the "
                f"header {len(header):,}; accepted are as many. {hint}"
            )
    groups = _groups(body, place_of_position, notes)
    arguments: dict[str, Any] = {}
    for name, place in places.items():
        cells = [[line[place] for line in group] for group in groups]
        if name in LABELS:
            labels = [[from_text_cell(cell) for cell in row] for row in cells]
            if any(row != labels[0] for row in labels):
                raise FileError(
                    f"The column {header[place]} is not the same at every position; accepted are "
                    "the same tokens in the same order."
                )
            arguments[name] = labels[0]
            continue
        plain = [[unmarked(cell) for cell in row] for row in cells]
        if name not in ("p", "q") and not any(cell for row in plain for cell in row):
            continue
        if name == "acceptance":  # one number, repeated or only in the first row
            differing = next((row for row in plain if len({*filter(None, row)}) > 1), None)
            if differing:
                listed = " and ".join(sorted({*filter(None, differing)})[:2])
                raise FileError(
                    f"The column {header[place]} has {listed} at one position; accepted is one "
                    "number for each."
                )
            plain = [[next(filter(None, row), "")] for row in plain]
        arguments[name] = _from_texts(plain, name, notes, counts=name in COUNTS)
    return arguments, notes


def _csv_columns(header: Sequence[str]) -> tuple[dict[str, int], int | None, list[str]]:
    """Where each field stands, exact columns before rounded ones; and the position's column."""
    names = [cell.strip().lower() for cell in header]
    twice = [name for name, n in Counter(names).items() if n > 1 and name]
    if twice:
        raise FileError(f"The header has two columns “{twice[0][:40]}”; accepted is one.")
    position = names.index("position") if "position" in names else None
    exact = {name.removesuffix("_exact") for name in names if name.endswith("_exact")}
    keys = {
        name.removesuffix("_exact"): name
        for name in names
        if name != "position" and (name.endswith("_exact") or name not in exact)
    }
    try:
        found, unknown = named(keys, "The header")
    except FileError as fault:
        shown = ", ".join(header)[:80]
        raise FileError(f"{fault} The first line reads “{shown}”.") from None
    unknown = [name for name in unknown if name and name not in EXPORTED]
    return {name: names.index(key) for name, key in found.items()}, position, ignored(unknown)


def _groups(body: list[list[str]], place: int | None, notes: list[str]) -> list[list[list[str]]]:
    """The rows of each position, in the order of the file."""
    if place is None:
        return [body]
    groups: dict[str, list[list[str]]] = {}
    last = None
    for row_number, line in enumerate(body, 1):
        label = line[place].strip()
        if label != last and label in groups:
            raise FileError(
                f"Row {row_number:,} below the header comes back to position {label[:20]}; "
                "accepted are positions one after the other."
            )
        groups.setdefault(label, []).append(line)
        last = label
    sizes = {label: len(group) for label, group in groups.items()}
    first = next(iter(sizes))
    for label, size in sizes.items():
        if size != sizes[first]:
            raise FileError(
                f"Position {label[:20]} has {many(size, 'token')} and position {first[:20]} has "
                f"{sizes[first]:,}; accepted are as many. The file may be cut."
            )
    if list(groups) != [str(n) for n in range(1, len(groups) + 1)]:
        notes.append(f"Positions are counted from 1 here; the file calls the first “{first[:20]}”.")
    return list(groups.values())
