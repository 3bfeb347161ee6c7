"""The one door for numbers: text or arrays in, checked vectors out.

What a person types becomes exact (``Fraction``); arrays from a model keep their float type.
Nothing is renormalised on the way: `total` says what a vector sums to, `normalise` is asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from lab.errors import EntryError, LabError, LengthError, RowsError, TotalError
from lab.figures import exact, short

Exact = tuple[Fraction, ...]
Floats = npt.NDArray[np.floating[Any]]
Vector = Exact | Floats

LONGEST_NUMBER = 1_000
"""Characters one number may have, as it is typed and as it is written out."""

MOST_DIGITS = 1_000
"""Digits of the common denominator of a vector: exact arithmetic is quick up to there."""

LONGEST_TEXT = 200_000
"""Characters one text field may hold."""

LARGEST_EXPONENT = 400
"""Powers of ten beyond this are refused: nothing a model holds is smaller than 1e-324."""

ACCEPTED = "a number from 0 up, such as 0.25, .25, 1/4, 25% or 1e-7"

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?")
_TRANSLATE = {
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " "),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff")),  # no width, and no meaning here
    ord("\u2212"): "-",  # minus sign
    ord("\u2044"): "/",  # fraction slash
    ord("\u2026"): "...",
}
_SIGNS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8"}


@dataclass(frozen=True)
class Reading:
    """What a text was read as.

    Attributes
    ----------
    rows : tuple of tuple of Fraction
        At least one, all of one length.
    notes : tuple of str
        What the person should know about how it was read.
    """

    rows: tuple[Exact, ...]
    notes: tuple[str, ...] = ()


def parse_number(text: str) -> Fraction:
    """The exact value of one typed number: decimal, fraction, percent or scientific.

    Raises
    ------
    LabError
        When `text` is not such a number; the sentence goes with the text, not alone.

    >>> parse_number("1e-7"), parse_number("1/3"), parse_number("20%"), parse_number("0,25")
    (Fraction(1, 10000000), Fraction(1, 3), Fraction(1, 5), Fraction(1, 4))
    """
    text = _plain(text).strip()
    if not text:
        raise LabError(f"it is empty, which is not 0; accepted is {ACCEPTED}.")
    if len(text) > LONGEST_NUMBER:
        raise LabError(f"it has {len(text)} characters; up to {LONGEST_NUMBER} are accepted.")
    number, percent = (text[:-1].rstrip(), 100) if text.endswith("%") else (text, 1)
    if number.count(",") == 1 and "." not in number:
        number = number.replace(",", ".")
    parts = [part.strip() for part in number.split("/")]
    matches = [_NUMBER.fullmatch(part) for part in parts]
    if len(parts) > 2 or not all(matches):
        bare = number.lower().lstrip("+-")
        if bare in {"inf", "infinity", "∞"}:
            raise LabError(f"it is infinite; accepted is {ACCEPTED}.")
        if bare == "nan":
            raise LabError(f"it is not a number (NaN); accepted is {ACCEPTED}.")
        raise LabError(f"it cannot be read as a number; accepted is {ACCEPTED}.")
    powers = [abs(int(match[1] or 0)) for match in matches if match]
    if max(powers) > LARGEST_EXPONENT:
        raise LabError(f"its power of ten is beyond ±{LARGEST_EXPONENT}; accepted is {ACCEPTED}.")
    values = [Fraction(part) for part in parts]
    if values[-1] == 0 and len(values) == 2:
        raise LabError(f"it divides by 0; accepted is {ACCEPTED}.")
    value = values[0] / (values[1] if len(values) == 2 else 1) / percent
    if value.numerator.bit_length() + value.denominator.bit_length() > 2 * LARGEST_EXPONENT:
        _require_writable(value)
    return value


def _require_writable(value: Fraction) -> None:
    """Refuses a number whose own text could not be read again."""
    text = exact(value)
    power = _NUMBER.fullmatch(text)
    if len(text) > LONGEST_NUMBER or (power and abs(int(power[1] or 0)) > LARGEST_EXPONENT):
        raise LabError(
            f"written out it has more than {LONGEST_NUMBER} characters, or a power of ten beyond "
            f"±{LARGEST_EXPONENT}; accepted is {ACCEPTED}."
        )


def _plain(text: str) -> str:
    """`text` with typographic spaces, minus signs, fractions and dots as they are typed."""
    # 1½ stays as it is, and is refused: it is neither two entries nor eleven halves.
    text = re.sub("(?<![0-9])[½⅓⅔¼¾⅛]", lambda sign: f" {_SIGNS[sign[0]]} ", text)
    return text.translate(_TRANSLATE)


def parse_probability(text: str) -> Fraction:
    """`parse_number`, refusing what is negative."""
    value = parse_number(text)
    if value < 0:
        raise LabError(f"it is negative; accepted is {ACCEPTED}.")
    return value


def parse_entries(entries: Iterable[str | None], name: str = "vector") -> Exact:
    """One number a cell, as a table has them. Raises `EntryError`, naming the cell."""
    values = []
    for position, entry in enumerate(entries, start=1):
        text = "" if entry is None else str(entry)
        try:
            values.append(parse_probability(text))
        except LabError as fault:
            raise EntryError(name, position, text.strip(), str(fault)) from None
    return tuple(values)


def parse_vector(text: str, name: str = "vector") -> Exact:
    """The vector in a text that somebody typed or pasted.

    Reads lists with commas, semicolons, spaces or lines between; print-outs of NumPy and
    PyTorch; fractions, percent, scientific notation, decimal commas. Does not ask for a sum of 1.

    Parameters
    ----------
    text : str
        For example ``"0.2, 0.5, 0.3"``, ``"[1.e-07 9.999999e-01]"`` or ``"1/3 1/3 1/3"``.
    name : str
        What the vector is called in messages, such as ``"p"``.

    Returns
    -------
    tuple of Fraction
        At least one entry, each 0 or more.

    Raises
    ------
    EntryError
        Naming the entry that cannot be read, is negative, or is missing.
    RowsError
        When the text holds several rows.
    """
    return read_vector(text, name).rows[0]


def read_vector(text: str, name: str = "vector") -> Reading:
    """`parse_vector` with notes on how the text was read."""
    reading = read_rows(text, name)
    if len(reading.rows) > 1:
        raise RowsError(
            f"{name} holds {len(reading.rows)} rows of {len(reading.rows[0])} entries; "
            "it takes one row.",
            reading.rows,
        )
    return reading


@lru_cache(maxsize=128)  # a page reads its fields at every rerun
def read_rows(text: str, name: str = "vector") -> Reading:
    """The rows in a text, with notes on how they were read; see `parse_vector`."""
    cells, decimal_comma = split_text(text, name)
    names = [name] if len(cells) == 1 else [f"{name}, row {n}" for n, _ in enumerate(cells, 1)]
    rows = tuple(map(parse_entries, cells, names))
    for row_name, row in zip(names, rows, strict=True):
        if len(row) != len(rows[0]):
            raise LengthError(
                f"{row_name} has {len(row)} entries, row 1 has {len(rows[0])}; "
                "rows of one length are accepted."
            )
    notes = []
    if decimal_comma:
        notes.append(f"{name}: commas inside numbers were read as decimal commas.")
    if _looks_rounded([entry for row in cells for entry in row], rows):
        notes.append(
            f"{name}: these values look printed with 4 decimals. The sum may be off by rounding, "
            "and a 0.0000 need not be zero; more digits give the exact answer."
        )
    return Reading(rows, tuple(notes))


def split_text(text: str, name: str = "vector") -> tuple[list[list[str]], bool]:
    """The cells of a text, row by row and not yet read; and whether commas are decimal commas.

    Raises
    ------
    LabError
        When the text is empty or too long, or says with ``...`` that entries are missing.
    """
    if len(text) > LONGEST_TEXT:
        raise LabError(
            f"{name} has {len(text):,} characters; up to {LONGEST_TEXT:,} are accepted here. "
            "A longer vector goes into a CSV file."
        )
    body = _unwrapped(re.sub(" {2,}", " ", _plain(text)))
    if not body.strip(" \t\r\n[](){};,"):
        raise LabError(f"{name} is empty; accepted are numbers such as 0.2, 0.5, 0.3.")
    if "..." in body:
        before = _split(body[: body.index("...")].replace("\n", " "), decimal_comma=False)
        position = 1 + sum(bool(entry) for entry in before)
        raise EntryError(
            name, position, "...", "entries are missing here; accepted is the whole vector."
        )
    decimal_comma = _has_decimal_commas(body)
    cells = [_split(line, decimal_comma) for line in _lines(body)]
    if len(cells) > 1 and all(len(row) == 1 for row in cells):  # one column
        cells = [[entry for row in cells for entry in row]]
    return cells, decimal_comma


def _unwrapped(text: str) -> str:
    """The numbers without the names around them: ``tensor([…], device='cuda:0')`` → ``[…]``."""
    text = re.sub(r"\bFraction\((-?\d+), ?(\d+)\)", r"\1/\2", text)
    # one number inside a call: np.float64(0.2), Decimal('0.2'), tensor(0.2)
    text = re.sub(r"(?<![\w.])[A-Za-z_][\w.]*\(['\"]?([^()\[\]'\",]*)['\"]?\)", r"\1", text)
    text = re.sub(r"^\s*[A-Za-z_]\w* ?[=:] ?", "", text)  # p = …
    if re.match(r"\s*[A-Za-z_][\w.]* ?\(", text) and "[" in text:
        return text[text.index("[") : text.rfind("]") + 1]
    return text


def _lines(body: str) -> list[str]:
    """One text a row: by inner brackets if there are any, else by line."""
    inner = re.findall(r"[\[(]([^\[\]()]*)[\])]", body)
    outside = re.sub(r"[\[(][^\[\]()]*[\])]", " ", body)
    if inner and not outside.strip(" \t\r\n[](),;"):
        return [re.sub(r"\s+", " ", row) for row in inner]
    return [line for line in re.split(r"[\r\n]+", body) if line.strip(" \t")]


def _has_decimal_commas(body: str) -> bool:
    """Whether commas stand inside numbers, as in ``0,25; 0,5``.

    Only where another separator keeps the numbers apart, and no decimal point says otherwise.
    """
    chunks = [chunk.strip("[]()") for chunk in re.split(r"[;\s]+", body)]
    chunks = [chunk.removesuffix(",") for chunk in chunks if chunk]
    inside = [chunk for chunk in chunks if "," in chunk]
    return (
        bool(inside)
        and len(chunks) > 1
        and not re.search(r"\d\.|\.\d", body)
        and all(re.fullmatch(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?%?", chunk) for chunk in inside)
    )


def _split(line: str, decimal_comma: bool) -> list[str]:
    """The entries of one line. A missing entry between two separators stays, as an empty text."""
    line = line.strip(" []()").replace(" /", "/").replace("/ ", "/").replace(" %", "%")
    comma = ",(?= |$)" if decimal_comma else ","
    separator = rf" ?(?:{comma}|[;\t]) ?"
    line = re.sub(rf"{separator}$", "", line)
    return [entry for part in re.split(separator, line) for entry in part.split() or [""]]


def _looks_rounded(entries: Sequence[str], rows: Sequence[Exact]) -> bool:
    """Whether this is a print-out with 4 decimals in which the rounding shows."""
    return all(re.fullmatch(r"\d*\.\d{4}", entry) for entry in entries) and (
        any(total(row) != 1 for row in rows) or any(0 in row for row in rows)
    )


def as_vector(values: Sequence[object] | npt.NDArray[Any], name: str = "vector") -> Vector:
    """A checked vector from numbers: floats stay floats, everything else becomes exact.

    Parameters
    ----------
    values : sequence or array, shape (n,), n ≥ 1
        Float arrays keep their type (float16, float32, float64); a list with a Python float in
        it becomes float64; whole numbers, fractions, decimals and texts become fractions.
    name : str
        What the vector is called in messages.

    Returns
    -------
    tuple of Fraction, or ndarray
        The array is a read-only view of `values` where it can be.

    Raises
    ------
    EntryError
        Naming an entry that is not a number, not finite, or negative.
    """
    vector = convert(values, name)
    if isinstance(vector, np.ndarray):
        check_floats(vector, name)
    return vector


def convert(values: Sequence[object] | npt.NDArray[Any], name: str) -> Vector:
    """`as_vector` for callers that check the entries of float arrays themselves."""
    if isinstance(values, str):
        return parse_vector(values, name)
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or not values.size:
            raise LengthError(
                f"{name} has the shape {values.shape}; one row of at least one entry is accepted."
            )
        if values.dtype.char in "efd":
            view = values.view()
            view.flags.writeable = False
            return view
        if values.dtype.kind not in "iuO":
            raise LabError(
                f"{name} has the type {values.dtype}; float16, float32, float64 and whole "
                "numbers are accepted."
            )
        values = values.tolist()
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not values:
        raise LengthError(f"{name} has no entries; at least one is accepted.")
    if any(isinstance(value, float) for value in values):
        return convert(as_floats(values, name), name)
    return tuple(_checked(value, name, n) for n, value in enumerate(values, start=1))


def as_floats(values: Sequence[object], name: str) -> Floats:
    """Numbers of any kind as float64. Raises `EntryError` for one that is too large for that."""
    floats = []
    for position, value in enumerate(values, start=1):
        try:
            floats.append(
                value if isinstance(value, float) else float(_number(value, name, position))
            )
        except OverflowError:
            raise EntryError(
                name, position, _text(value), "it is too large for floats; accepted are laws."
            ) from None
    return np.array(floats)


def check_floats(vector: Floats, name: str) -> None:
    """Raises `EntryError` for the first entry that is NaN, infinite or negative."""
    if np.minimum.reduce(vector) >= 0 and np.maximum.reduce(vector) < np.inf:
        return  # a NaN fails the first comparison
    position = int(np.argmin(np.isfinite(vector) & (vector >= 0)))
    _checked(float(vector[position]), name, position + 1)


def _number(value: object, name: str, position: int) -> Fraction:
    try:
        return parse_number(value) if isinstance(value, str) else Fraction(value)  # type: ignore
    except LabError as fault:
        raise EntryError(name, position, str(value), str(fault)) from None
    except OverflowError:
        fault_text = "it is infinite"
    except (TypeError, ValueError):
        fault_text = "it is not a number"
    raise EntryError(name, position, str(value), f"{fault_text}; accepted is {ACCEPTED}.")


def _checked(value: object, name: str, position: int) -> Fraction:
    number = _number(value, name, position)
    if number < 0:
        raise EntryError(name, position, _text(value), f"it is negative; accepted is {ACCEPTED}.")
    return number


def _text(value: object) -> str:
    """A value for messages. Python does not print whole numbers of thousands of digits."""
    return short(value) if isinstance(value, int | Fraction) else str(value)


@overload
def total(vector: Exact) -> Fraction: ...
@overload
def total(vector: Floats) -> float: ...
def total(vector: Vector) -> Fraction | float:
    """The sum of the entries: exact for fractions, accumulated in float64 for floats."""
    if isinstance(vector, np.ndarray):
        return row_sums(vector[np.newaxis])[0]
    common = math.lcm(*{value.denominator for value in vector})
    return Fraction(
        sum(value.numerator * (common // value.denominator) for value in vector), common
    )


def row_sums(rows: Floats) -> list[float]:
    """The sum of each row of an array of floats, accumulated in float64."""
    if rows.dtype == np.float64:
        return list(np.add.reduce(rows, axis=1).tolist())
    # add.reduce(…, dtype=float64) would convert more slowly.
    return list(np.einsum("ij->i", rows, dtype=np.float64).tolist())


def require_total_1(vector: Exact, name: str) -> None:
    """Raises `TotalError`, saying by how much, unless the entries sum to exactly 1.

    Refuses with a `LabError` what is too fine for exact arithmetic to be quick.
    """
    common = 1
    for value in vector:
        common = math.lcm(common, value.denominator)
        if common.bit_length() > MOST_DIGITS * math.log2(10):
            raise LabError(
                f"{name} needs a common denominator of more than {MOST_DIGITS:,} digits; accepted "
                "are numbers that share one of fewer."
            )
    missing = 1 - total(vector)
    if missing:
        side = "too little" if missing > 0 else "too much"
        size = abs(missing)
        readable = size.numerator.bit_length() + size.denominator.bit_length() < 160
        raise TotalError(
            f"{name} sums to {short(1 - missing)}, which is "
            f"{exact(size) if readable else short(size)} {side}; accepted is a sum of exactly 1."
        )


def normalise(vector: Exact, name: str = "vector") -> Exact:
    """`vector` divided by its sum. Raises `TotalError` when that is 0."""
    sum_ = total(vector)
    if not sum_:
        raise TotalError(f"{name} sums to 0 and cannot be normalised; give one entry some mass.")
    return tuple(value / sum_ for value in vector)


def format_vector(vector: Exact) -> str:
    """The text that `parse_vector` reads back as the same vector."""
    return ", ".join(map(exact, vector))
