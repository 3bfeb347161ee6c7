"""CSV in and out: scenarios that survive spreadsheets, and records of predictions."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from fractions import Fraction

from lab.errors import EntryError, FileError
from lab.figures import decimal, terminates
from lab.prediction import Comparison
from lab.scenario import MOST_TOKENS, Scenario
from lab.vectors import Exact, parse_entries

MOST_BYTES = 2_000_000
"""Size of a file to read."""

KEPT_BY_SPREADSHEETS = Fraction(1, 10**14)
"""A spreadsheet keeps 15 digits: rounded and exact columns agree if they differ by less."""

_NAMES = {
    "token": ("token", "tokens", "label"),
    "p": ("p", "target", "target p"),
    "q": ("q", "draft", "draft q"),
}
_EXACT = "_exact"

# A spreadsheet runs a cell that starts with one of these as a formula, or may.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


# … and turns one that starts with a digit into a number or a date: 007, 1e5, 1/3.
_CHANGED = re.compile(r"[0-9].*", re.DOTALL)
_UNCHANGED = re.compile(r"0|[1-9][0-9]{0,14}")


def as_text_cell(text: str) -> str:
    """`text` so that no spreadsheet computes or changes it: with ``'`` in front where it might."""
    return f"'{text}" if _needs_mark(text) else text


def from_text_cell(cell: str) -> str:
    """The text that `as_text_cell` made `cell` from."""
    return cell[1:] if cell.startswith("'") and _needs_mark(cell[1:]) else cell


def _needs_mark(text: str) -> bool:
    return text.startswith((*_FORMULA, "'")) or bool(
        _CHANGED.fullmatch(text) and not _UNCHANGED.fullmatch(text)
    )


def export_csv(scenario: Scenario) -> bytes:
    """The reconstructed target vector, a line a token, as UTF-8.

    Columns: token, p, q, accepted, shortfall, residual, correction, reconstructed. Decimals are
    exact when they terminate, else 17 significant digits with the fraction beside them in a
    column ``…_exact``. The residual is empty when there is none. A leading ``'`` marks a cell as
    text; `import_csv` takes it off again.
    """
    step = scenario.step
    columns: dict[str, Sequence[Fraction | None]] = {
        "p": step.target,
        "q": step.draft,
        "accepted": step.accepted,
        "shortfall": step.shortfall,
        "residual": step.residual or [None] * len(scenario.tokens),
        "correction": step.correction,
        "reconstructed": step.output,
    }
    return _csv({"token": [as_text_cell(token) for token in scenario.tokens], **_cells(columns)})


def prediction_csv(
    quantity: str,
    labels: Sequence[str],
    inputs: dict[str, Sequence[Fraction]],
    comparison: Comparison,
) -> bytes:
    """The record of a prediction: a line a bar with inputs, prediction, truth and gap."""
    nothing = [None] * len(labels)
    columns: dict[str, Sequence[Fraction | None]] = {
        **inputs,
        "prediction": comparison.prediction.values or nothing,
        "truth": comparison.truth or nothing,
        "gap": comparison.gaps or nothing,
    }
    return _csv(
        {
            "bar": [as_text_cell(label) for label in labels],
            "quantity": [quantity] * len(labels),
            **_cells(columns),
            "verdict": [comparison.verdict] * len(labels),
        }
    )


def law_csv(labels: dict[str, Sequence[str]], columns: dict[str, Sequence[Fraction]]) -> bytes:
    """Laws side by side, a line an outcome: what it is, then its probabilities."""
    texts = {name: [as_text_cell(cell) for cell in cells] for name, cells in labels.items()}
    return _csv({**texts, **_cells(dict(columns))})


def _cells(columns: dict[str, Sequence[Fraction | None]]) -> dict[str, list[str]]:
    """Decimals a column, and a second column of fractions where decimals are not exact."""
    cells = {}
    for name, values in columns.items():
        cells[name] = ["" if value is None else decimal(value) for value in values]
        if not all(value is None or terminates(value) for value in values):
            # 1/3 alone would turn into a date
            cells[name + _EXACT] = ["" if value is None else f"'{value}" for value in values]
    return cells


def _csv(columns: dict[str, list[str]]) -> bytes:
    page = io.StringIO(newline="")
    writer = csv.writer(page)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    # Spreadsheets need the mark to read UTF-8; programs are happier without it.
    return page.getvalue().encode("utf-8" if page.getvalue().isascii() else "utf-8-sig")


def import_csv(data: bytes) -> Scenario:
    """The scenario in a CSV file. Raises what `read_csv` raises, and `TotalError`."""
    return Scenario(*read_csv(data))


def read_csv(data: bytes) -> tuple[tuple[str, ...], Exact, Exact]:
    """Tokens, p and q in a CSV file: columns token (optional), p and q; others are ignored.

    Whether p and q are laws is not asked here.

    Reads what `export_csv` writes, exactly, and what spreadsheets write: commas, semicolons or
    tabs; decimal commas; a byte-order mark; UTF-16.

    Raises
    ------
    FileError
        When the file is no such table; it says what is accepted.
        It names the entry that cannot be read.
    """
    if len(data) > MOST_BYTES:
        raise FileError(f"The file has {len(data):,} bytes; up to {MOST_BYTES:,} are accepted.")
    text = decoded(data)
    lines = [line for line in split_rows(text) if any(cell.strip() for cell in line)]
    if not lines:
        raise FileError("The file is empty; accepted is a CSV file with the columns token, p, q.")
    header, *body = lines
    places = _columns(header)
    if not body:
        raise FileError("The file has a header and no rows; accepted is one row for each token.")
    if len(body) > MOST_TOKENS:
        raise FileError(f"The file has {len(body):,} tokens; up to {MOST_TOKENS:,} are accepted.")
    for number, line in enumerate(body, start=1):
        if len(line) <= max(places.values()):
            raise FileError(
                f"Row {number} below the header has {len(line)} cells, and the header "
                f"{len(header)}; accepted are as many."
            )
    tokens = (
        tuple(from_text_cell(line[places["token"]]) for line in body)
        if "token" in places
        else tuple(str(n) for n in range(1, len(body) + 1))
    )
    vectors = {}
    for name in ("p", "q"):
        cells = (line[places[name]] for line in body)
        try:
            vectors[name] = parse_entries(map(unmarked, cells), name)
        except EntryError as fault:
            raise FileError(f"In the file, {fault}") from None
        _require_agreement(header, body, name, vectors[name])
    return tokens, vectors["p"], vectors["q"]


def _require_agreement(
    header: Sequence[str], body: Sequence[list[str]], name: str, exact: Exact
) -> None:
    """Refuses a rounded column that was changed beside its exact one, so that no edit is lost."""
    names = [cell.strip().lower() for cell in header]
    if f"{name}{_EXACT}" not in names or name not in names:
        return
    for number, (line, value) in enumerate(zip(body, exact, strict=True), start=1):
        cell = line[names.index(name)]
        (shown,) = parse_entries([unmarked(cell)], name)
        if abs(shown - value) > KEPT_BY_SPREADSHEETS * value:
            raise FileError(
                f"Row {number} below the header has {cell} in the column {name} and {value} in "
                f"{name}{_EXACT}; accepted are columns that agree, or one of them."
            )


def unmarked(cell: str) -> str:
    """A number's cell without the mark that keeps spreadsheets from reading it as a date."""
    return cell.strip().removeprefix("'")


def decoded(data: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte-order mark."""
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    encoding = "utf-16" if data.startswith(marks) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as fault:
        raise FileError(
            f"The file is not text in UTF-8: byte {fault.start + 1:,} cannot be read. "
            "Spreadsheets offer “CSV UTF-8” when saving."
        ) from None


def split_rows(text: str) -> list[list[str]]:
    """The cells of each line of a CSV file, whatever separates them."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    if match := re.fullmatch(r"sep=(.)\r?", first):  # a hint that some spreadsheets write
        delimiter, text = match[1], text.lstrip("\r\n").split("\n", 1)[-1]
    else:
        delimiter = max(",;\t", key=first.count)
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as fault:
        raise FileError(f"The file cannot be read as CSV: {fault}.") from None


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Where token, p and q stand; exact columns come before rounded ones."""
    names = [cell.strip().lower() for cell in header]
    places = {}
    for column, accepted in _NAMES.items():
        for wanted in [name + _EXACT for name in accepted], accepted:
            found = [i for i, name in enumerate(names) if name in wanted]
            if len(found) > 1:
                raise FileError(
                    f"The header has two columns for {column} (“{header[found[0]]}” and "
                    f"“{header[found[1]]}”); accepted is one."
                )
            if found:
                places[column] = found[0]
                break
        else:
            if column != "token":
                raise FileError(
                    f"The header has no column {column}: it reads “{', '.join(header)[:80]}”; "
                    "accepted is a first line with token, p and q."
                )
    return places
