"""A file → what an audit takes: .npy, .npz, CSV and JSON, none of them trusted.

Matrices are read row by row through one buffer, from a path or from bytes, so a file may be larger
than memory. A file that is cut while it is read ends in a sentence; a memory map would end the
program. Nothing is unpickled, nothing is allocated on a header's word, and an archive is unpacked
as a stream.
"""

from __future__ import annotations

import ast
import io
import json
import math
import os
import re
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from lab.audit import Progress, audit
from lab.errors import EntryError, FileError, LabError
from lab.findings import Audit
from lab.rows import MOST_EXACT, MOST_TOKENS, PRECISION, Rows, from_numbers, number
from lab.tables import decoded, from_text_cell, split_rows, unmarked

LARGEST_UPLOAD = 200_000_000
"""Bytes of a file that is handed over whole. A path has no such limit."""

LARGEST_TEXT = 32_000_000
"""Bytes of a CSV or JSON file: it is read whole. More goes into .npy or .npz."""

LARGEST_WHOLE = 64_000_000
"""Bytes of an array that has to be read whole: labels, and matrices in Fortran order."""

UNPACKED_UNASKED = 256_000_000
"""Bytes that an archive may unpack to, however small it is."""

LARGEST_RATIO = 200
"""Beyond `UNPACKED_UNASKED`, how many times its size an archive may unpack to."""

LONGEST_HEADER = 10_000
"""Bytes of an array's header."""

ACCEPTED = (
    "accepted are .npy with an array of shape (2, n) or (positions, 2, n), .npz with p and q, CSV "
    "with the columns token, p, q, and JSON with p and q"
)

FIELDS = {
    "p": ("p", "target", "target p"),
    "q": ("q", "draft", "draft q"),
    "tokens": ("tokens", "token", "label", "labels"),
    "draft_tokens": ("draft_tokens", "draft_token"),
    "residual": ("residual", "r"),
    "output": ("output", "reconstructed"),
    "acceptance": ("acceptance", "alpha", "α"),
    "counts": ("counts", "count"),
    "accepted_counts": ("accepted_counts", "accepted_count"),
    "correction_counts": ("correction_counts", "correction_count"),
    "proposed_counts": ("proposed_counts", "proposed_count"),
}
"""What a file may hold, under which names; the first is the usual one."""

_LABELS = ("tokens", "draft_tokens")
_COUNTS = ("counts", "accepted_counts", "correction_counts", "proposed_counts")
_EXPORTED = {"accepted", "shortfall", "correction"}  # the lab's own columns, which say nothing new
_MAGIC = b"\x93NUMPY"
_OTHERS = (
    (b"\x80", "It is a pickle, which can run code when it is read"),
    (b"\x1f\x8b", "It is compressed with gzip"),
    (b"PAR1", "It is a Parquet file"),
    (b"\x89HDF", "It is an HDF5 file"),
    (b"%PDF", "It is a PDF file"),
)

Source = str | os.PathLike[str] | bytes | IO[bytes]


@dataclass
class Material:
    """What was found in a file. A context manager: rows are read from the file while it is open.

    Attributes
    ----------
    arguments : dict
        What `audit` takes, by name.
    notes : tuple of str
        What people should know about how the file was read.
    """

    arguments: dict[str, Any]
    notes: tuple[str, ...] = ()
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Material:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._open.close()


def audit_file(
    source: Source,
    name: str | None = None,
    *,
    position: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """The audit of a file; see `open_material` and `audit`."""
    with open_material(source, name) as material:
        found = audit(**material.arguments, position=position, progress=progress)
    return replace(found, notes=(*material.notes, *found.notes))


def open_material(source: Source, name: str | None = None) -> Material:
    """Read what a file holds, its matrices row by row and later.

    Parameters
    ----------
    source : path, bytes, or binary file
        Bytes and files up to `LARGEST_UPLOAD`; CSV and JSON up to `LARGEST_TEXT`.
    name : str, optional
        What the file is called; a path has its own.

    Raises
    ------
    FileError
        When it is no such file, or is cut, damaged, too large, or not to be trusted. The sentence
        says what is accepted.
    """
    with ExitStack() as stack:
        file: IO[bytes]
        if isinstance(source, bytes):
            file = io.BytesIO(source)
        elif isinstance(source, str | os.PathLike):
            name = name or os.fspath(source)
            file = stack.enter_context(_opened(Path(source)))
        else:
            file = source
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if not isinstance(source, str | os.PathLike) and size > LARGEST_UPLOAD:
            raise FileError(
                f"The file has {size:,} bytes; up to {LARGEST_UPLOAD:,} are accepted here. The "
                "command “python -m lab audit” reads larger ones from a disk."
            )
        try:
            arguments, notes = _read(file, size, (name or "").lower(), stack)
        except EntryError as fault:
            raise FileError(f"In the file, {fault}") from None
        return Material(arguments, tuple(notes), stack.pop_all())


def _opened(path: Path) -> IO[bytes]:
    try:
        if path.is_dir():
            raise FileError(f"“{path}” is a folder; {ACCEPTED}.")
        if not path.is_file():
            if path.exists():
                raise FileError(f"“{path}” is no regular file; {ACCEPTED}.")
            raise FileError(f"There is no file “{path}”.")
        return path.open("rb", buffering=0)
    except (OSError, ValueError) as fault:
        if isinstance(fault, LabError):
            raise
        reason = getattr(fault, "strerror", None) or str(fault)
        raise FileError(f"“{path}” cannot be opened: {reason}.") from None


def _read(
    file: IO[bytes], size: int, name: str, stack: ExitStack
) -> tuple[dict[str, Any], list[str]]:
    start = file.read(16)
    file.seek(0)
    if not size:
        raise FileError(f"The file is empty; {ACCEPTED}.")
    if start.startswith(_MAGIC):
        return _read_npy(file, size)
    if start.startswith(b"PK"):
        return _read_npz(file, size, stack)
    for mark, what in _OTHERS:
        if start.startswith(mark):
            raise FileError(f"{what}; {ACCEPTED}.")
    for suffix in (".npy", ".npz"):
        if name.endswith(suffix):
            raise FileError(
                f"The file is called {suffix}, and does not begin as such a file does: it is "
                f"damaged or something else; {ACCEPTED}."
            )
    if start[8:9] == b"{":
        raise FileError(f"It looks like a safetensors file; {ACCEPTED}.")
    if size > LARGEST_TEXT:
        raise FileError(
            f"The file has {size:,} bytes; up to {LARGEST_TEXT:,} are accepted of CSV and JSON. "
            "Larger ones go into .npy or .npz."
        )
    data = file.read(size)
    text = decoded(data)
    if name.endswith(".json") or text.lstrip()[:1] in ("{", "["):
        return _read_json(text)
    return _read_csv(text)


# --- Arrays -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    """What an array's header says, and how many bytes it takes itself."""

    shape: tuple[int, ...]
    kind: np.dtype[Any]
    fortran: bool
    length: int

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.kind.itemsize


def _header(read: Callable[[int], bytes], what: str) -> _Header:
    """The header of an array in NumPy's format. `read` returns the next bytes."""
    start = read(8)
    if len(start) < 8 or not start.startswith(_MAGIC):
        raise FileError(f"{what} does not begin as an array of NumPy does; it is cut or damaged.")
    version = start[6], start[7]
    if version not in ((1, 0), (2, 0)):
        raise FileError(f"{what} is in version {version[0]} of NumPy's format; accepted are 1, 2.")
    width = 2 if version == (1, 0) else 4
    counted = read(width)
    length = int.from_bytes(counted, "little")
    if length > LONGEST_HEADER:
        raise FileError(f"{what} has a header of {length:,} bytes; up to {LONGEST_HEADER:,} are.")
    text = read(length)
    if len(counted) < width or len(text) < length:
        raise FileError(f"{what} is cut: it ends inside its header.")
    try:
        shape, fortran, kind = _described(text.decode("utf-8" if width == 4 else "latin-1"))
    except (ValueError, TypeError, SyntaxError, KeyError, RecursionError, MemoryError) as fault:
        reason = str(fault).split("\n")[0][:80]
        raise FileError(f"{what} has a header that cannot be read ({reason}).") from None
    if kind.hasobject:
        raise FileError(
            f"{what} holds Python objects, which are pickled and can run code when they are read; "
            "accepted are arrays of numbers, and of texts for tokens."
        )
    if any(isinstance(n, bool) or n < 0 for n in shape):
        raise FileError(f"{what} says it has the shape {shape}, which no array has.")
    return _Header(tuple(map(int, shape)), kind, bool(fortran), 8 + width + length)


def _described(text: str) -> tuple[tuple[Any, ...], object, np.dtype[Any]]:
    """Shape, order and type from a header's text, which is a dictionary and is not run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about how strange texts are written
        content = ast.literal_eval(text.strip())
        if not isinstance(content, dict) or content.keys() != {"descr", "fortran_order", "shape"}:
            raise ValueError("it is no description of an array")
        shape, kind = content["shape"], np.lib.format.descr_to_dtype(content["descr"])
    if not isinstance(shape, tuple) or not all(isinstance(n, int) for n in shape):
        raise ValueError("its shape is no tuple of whole numbers")
    return shape, content["fortran_order"], kind


def _fitting(header: _Header, held: int, what: str) -> None:
    if header.bytes != held:
        side = "It is cut" if held < header.bytes else "Something stands behind the array"
        raise FileError(
            f"{what} says it has the shape {header.shape} in {header.kind}, {header.bytes:,} bytes,"
            f" and {held:,} are there. {side}."
        )


def _numeric(header: _Header, what: str, notes: list[str]) -> np.dtype[Any]:
    """The type to read rows in."""
    kind = header.kind
    if kind == np.dtype("V2"):
        note = "Entries of two bytes without a type were read as bfloat16: NumPy saves it so."
        if note not in notes:
            notes.append(note)
        return kind
    if kind.kind == "c":
        raise FileError(f"{what} is complex ({kind}); accepted are real numbers.")
    if kind.kind not in "iu" and kind.newbyteorder("=").name not in PRECISION:
        raise FileError(
            f"{what} has the type {kind}; accepted are float16, bfloat16, float32, float64 and "
            "whole numbers."
        )
    return kind


class _FileRows:
    """Rows of an array that lies in a file, through one buffer.

    `offset` is where row 0 begins, `stride` how far one row is from the next.
    """

    def __init__(
        self, file: IO[bytes], offset: int, stride: int, shape: tuple[int, int], kind: np.dtype[Any]
    ) -> None:
        self.file, self.offset, self.stride, self.shape = file, offset, stride, shape
        self._row = _Buffer(shape[1], kind)
        self.dtype = self._row.dtype

    def __getitem__(self, position: int, /) -> npt.NDArray[Any]:
        self.file.seek(self.offset + position * self.stride)
        return self._row.filled(self.file, position)


class _StreamRows:
    """Rows of an array in an archive, unpacked as they are asked for: best in their order."""

    def __init__(
        self, archive: zipfile.ZipFile, member: str, header: _Header, shape: tuple[int, int]
    ) -> None:
        self.archive, self.member, self.skip, self.shape = archive, member, header.length, shape
        self._row = _Buffer(shape[1], header.kind)
        self.dtype = self._row.dtype
        self._stream: IO[bytes] | None = None
        self._next = 0

    def __getitem__(self, position: int, /) -> npt.NDArray[Any]:
        with _damage(self.member):
            if self._stream is None or position < self._next:
                if self._stream is not None:
                    self._stream.close()
                self._stream = self.archive.open(self.member)
                self._stream.read(self.skip)
                self._next = 0
            while self._next <= position:
                row = self._row.filled(self._stream, self._next)
                self._next += 1
        return row


class _Buffer:
    """Room for one row, which each reading overwrites."""

    def __init__(self, tokens: int, kind: np.dtype[Any]) -> None:
        self.raw = np.empty(tokens, "V2" if kind == np.dtype("V2") else kind)
        self.bytes = memoryview(self.raw.view(np.uint8))  # type: ignore[arg-type]
        self.swapped = not self.raw.dtype.isnative
        native = self.raw.dtype.newbyteorder("=")
        self.dtype = _bfloat16() if kind == np.dtype("V2") else native
        self.row = np.empty(tokens, native) if self.swapped else self.raw.view(self.dtype)

    def filled(self, file: IO[bytes], position: int) -> npt.NDArray[Any]:
        done = 0
        while done < len(self.bytes):
            got = file.readinto(self.bytes[done:])  # type: ignore[attr-defined]
            if not got:
                raise FileError(f"The file ends inside position {position + 1:,}.")
            done += got
        if self.swapped:
            np.copyto(self.row, self.raw)
        return self.row


def _bfloat16() -> np.dtype[Any]:
    from ml_dtypes import bfloat16

    kind: np.dtype[Any] = np.dtype(bfloat16)
    return kind


def _positions(shape: tuple[int, ...], what: str) -> tuple[int, int]:
    if len(shape) not in (1, 2) or 0 in shape:
        raise FileError(
            f"{what} has the shape {shape}; accepted is (tokens,) or (positions, tokens)."
        )
    if shape[-1] > MOST_TOKENS:
        raise FileError(f"{what} has {shape[-1]:,} tokens; up to {MOST_TOKENS:,} are accepted.")
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])


def _read_npy(file: IO[bytes], size: int) -> tuple[dict[str, Any], list[str]]:
    notes: list[str] = []
    header = _header(file.read, "The file")
    _fitting(header, size - header.length, "The file")
    kind, shape = _numeric(header, "The array", notes), header.shape
    if len(shape) not in (2, 3) or shape[-2] != 2:
        raise FileError(
            f"The array has the shape {shape}; accepted is (2, n), p and q, or (positions, 2, n). "
            "Other arrays go into .npz as p and q."
        )
    positions = shape[0] if len(shape) == 3 else 1
    _positions((positions, shape[-1]), "The array")
    if header.fortran:
        whole = _whole(file.read, header, "The array").reshape(positions, 2, shape[-1])
        return {"p": _typed(whole[:, 0]), "q": _typed(whole[:, 1])}, notes
    row = shape[-1] * kind.itemsize
    rows = [
        _FileRows(file, header.length + side * row, 2 * row, (positions, shape[-1]), kind)
        for side in (0, 1)
    ]
    return {"p": _exact_if_whole(rows[0]), "q": _exact_if_whole(rows[1])}, notes


def _exact_if_whole(rows: Rows) -> Any:  # noqa: ANN401
    """Whole numbers as the few that laws hold; floats row by row."""
    if rows.dtype is not None and rows.dtype.kind in "iu":
        if math.prod(rows.shape) * 8 > LARGEST_WHOLE:
            raise FileError("p or q holds whole numbers, and too many to be laws of 0s and 1s.")
        return np.array([rows[n].copy() for n in range(rows.shape[0])])
    return rows


def _whole(read: Callable[[int], bytes], header: _Header, what: str) -> npt.NDArray[Any]:
    """An array read whole, in the order of its own indices."""
    if header.bytes > LARGEST_WHOLE:
        raise FileError(
            f"{what} has {header.bytes:,} bytes and has to be read whole; up to "
            f"{LARGEST_WHOLE:,} are accepted so. Save a matrix row by row: "
            "np.ascontiguousarray(…) turns it."
        )
    parts = []
    missing = header.bytes
    while missing and (part := read(missing)):
        parts.append(part)
        missing -= len(part)
    if missing:
        raise FileError(f"{what} is cut.")
    kind = "V2" if header.kind == np.dtype("V2") else header.kind
    flat = np.frombuffer(b"".join(parts), kind)
    order = "F" if header.fortran else "C"
    return np.ascontiguousarray(flat.reshape(header.shape, order=order))  # type: ignore[call-overload]


def _typed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype == np.dtype("V2"):
        return np.ascontiguousarray(array).view(_bfloat16())
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))


# --- Archives -----------------------------------------------------------------------------------


class _damage:
    """What unpacking damaged data raises, as a sentence."""

    def __init__(self, member: str) -> None:
        self.member = member

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, LabError):
            return
        if isinstance(
            error,
            zipfile.BadZipFile | zlib.error | EOFError | OSError | ValueError | NotImplementedError,
        ) or (isinstance(error, RuntimeError) and not isinstance(error, RecursionError)):
            raise FileError(f"{self.member} in the archive is damaged: {error}.") from None


def _read_npz(file: IO[bytes], size: int, stack: ExitStack) -> tuple[dict[str, Any], list[str]]:
    with _damage("The list of files"):
        archive = stack.enter_context(zipfile.ZipFile(file))
        members = archive.infolist()
    names = [member.filename for member in members]
    if any(name.endswith(".pkl") for name in names):
        raise FileError(
            "It is a PyTorch archive with a pickle in it, which can run code when it is read; "
            f"{ACCEPTED}."
        )
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise FileError(f"The archive holds “{twice[0][:40]}” twice; accepted is one.")
    found, unknown = _named({name.removesuffix(".npy"): name for name in names}, "The archive")
    notes = _ignored(unknown)
    chosen = [archive.getinfo(member) for member in found.values()]
    unpacked = sum(member.file_size for member in chosen)
    if unpacked > UNPACKED_UNASKED and unpacked > LARGEST_RATIO * max(size, 1):
        raise FileError(
            f"The archive has {size:,} bytes and unpacks to {unpacked:,}; accepted is up to "
            f"{LARGEST_RATIO} times its size, or {UNPACKED_UNASKED:,} bytes. np.savez saves "
            "without packing."
        )
    arguments: dict[str, Any] = {}
    for name, member in found.items():
        arguments[name] = _member(archive, archive.getinfo(member), name, notes)
    return arguments, notes


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, notes: list[str]) -> Any:  # noqa: ANN401
    if member.flag_bits & 1:
        raise FileError(f"{name} in the archive is encrypted; accepted are open archives.")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{name} is packed in an unusual way; accepted is what np.savez writes.")
    with _damage(name), archive.open(member) as stream:
        header = _header(stream.read, name)
        _fitting(header, member.file_size - header.length, name)
        if name in _LABELS:
            if header.kind.kind not in "US" or len(header.shape) != 1:
                raise FileError(
                    f"{name} has the type {header.kind} and the shape {header.shape}; accepted is "
                    "one row of texts."
                )
            return _texts(_whole(stream.read, header, name), name)
        _numeric(header, name, notes)
        if name == "acceptance":
            if len(header.shape) > 2:
                raise FileError(
                    f"{name} has the shape {header.shape}; accepted is one number for "
                    "each position."
                )
            return _typed(_whole(stream.read, header, name)).reshape(-1)
        shape = _positions(header.shape, name)
        if header.fortran and min(header.shape) > 1:
            return _typed(_whole(stream.read, header, name))
    rows = _StreamRows(archive, member.filename, header, shape)
    return rows if name in _COUNTS else _exact_if_whole(rows)


def _texts(array: npt.NDArray[Any], name: str) -> list[str]:
    try:
        return [
            text.decode("utf-8") if isinstance(text, bytes) else str(text)
            for text in array.tolist()
        ]
    except UnicodeDecodeError:
        raise FileError(f"{name} is not text in UTF-8.") from None


def _named(keys: dict[str, str], what: str) -> tuple[dict[str, str], list[str]]:
    """For each field the key that stands for it; and keys that stand for none."""
    found: dict[str, str] = {}
    known: set[str] = set()
    for name, accepted in FIELDS.items():
        hits = [key for key in keys if key.strip().lower() in accepted]
        if len(hits) > 1:
            raise FileError(
                f"{what} has “{hits[0]}” and “{hits[1]}”, which both stand for {name}; accepted is "
                "one."
            )
        known.update(hits)
        if hits:
            found[name] = keys[hits[0]]
    missing = [name for name in ("p", "q") if name not in found]
    if missing:
        listed = ", ".join(list(keys)[:8])[:80] or "nothing"
        raise FileError(
            f"{what} has no {' and no '.join(missing)}: it holds {listed}; accepted are p and q, "
            f"and with them {', '.join(list(FIELDS)[2:])}."
        )
    return found, [key for key in keys if key not in known]


def _ignored(unknown: Sequence[str]) -> list[str]:
    if not unknown:
        return []
    listed = ", ".join(f"“{key[:40]}”" for key in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return [f"Not read: {listed}{more}; these names mean nothing here."]


# --- Texts --------------------------------------------------------------------------------------


class _Number(str):
    """A number as the file has it, so that decimals stay exact."""

    __slots__ = ()


def _read_json(text: str) -> tuple[dict[str, Any], list[str]]:
    try:
        content = json.loads(
            text,
            parse_float=_Number,
            parse_int=_Number,
            parse_constant=_Number,
            object_pairs_hook=_once,
        )
    except json.JSONDecodeError as fault:
        raise FileError(
            f"The file cannot be read as JSON: {fault.msg} in line {fault.lineno:,}, column "
            f"{fault.colno:,}. It may be cut."
        ) from None
    except RecursionError:
        raise FileError(
            "The JSON is nested too deeply; accepted is an object with p and q."
        ) from None
    if isinstance(content, list) and len(content) == 2 and isinstance(content[0], list):
        content = {"p": content[0], "q": content[1]}
    if not isinstance(content, dict):
        raise FileError("The JSON is no object; accepted is an object with p and q.")
    found, unknown = _named({key: key for key in content}, "The JSON")
    notes = _ignored(unknown)
    arguments: dict[str, Any] = {}
    for name, key in found.items():
        value = content[key]
        if value is None and name not in ("p", "q"):
            continue
        if name in _LABELS:
            if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
                raise FileError(f"{name} is no list of texts in the JSON.")
            arguments[name] = [str(label) for label in value]
        else:
            if name == "acceptance" and not isinstance(value, list):
                value = [value]
            rows = _nested(value, name)
            arguments[name] = _from_texts(rows, name, notes, counts=name in _COUNTS)
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
    for number_, row in enumerate(rows, 1):
        if len(row) != len(rows[0]) or not row:
            raise FileError(
                f"{name}, row {number_} has {len(row)} entries and row 1 has {len(rows[0])}; "
                "accepted are rows of one length, with at least one entry."
            )
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


def _read_csv(text: str) -> tuple[dict[str, Any], list[str]]:
    lines = [line for line in split_rows(text) if any(cell.strip() for cell in line)]
    if not lines:
        raise FileError(f"The file is empty; {ACCEPTED}.")
    header, *body = lines
    if not body:
        raise FileError("The file has a header and no rows; accepted is one row for each token.")
    places, place_of_position, notes = _csv_columns(header)
    needed = max([*places.values(), place_of_position or 0])
    for row_number, line in enumerate(body, 1):
        if len(line) <= needed:
            raise FileError(
                f"Row {row_number:,} below the header has {len(line)} cells, and the header "
                f"{len(header)}; accepted are as many. The file may be cut."
            )
    groups = _groups(body, place_of_position, notes)
    arguments: dict[str, Any] = {}
    for name, place in places.items():
        cells = [[line[place] for line in group] for group in groups]
        if name in _LABELS:
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
            plain = [[next((cell for cell in row if cell), "")] for row in plain]
        arguments[name] = _from_texts(plain, name, notes, counts=name in _COUNTS)
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
        found, unknown = _named(keys, "The header")
    except FileError as fault:
        shown = ", ".join(header)[:80]
        raise FileError(f"{fault} The first line reads “{shown}”.") from None
    unknown = [name for name in unknown if name and name not in _EXPORTED]
    return {name: names.index(key) for name, key in found.items()}, position, _ignored(unknown)


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
                f"Position {label[:20]} has {size:,} tokens and position {first[:20]} has "
                f"{sizes[first]:,}; accepted are as many. The file may be cut."
            )
    if list(groups) != [str(n) for n in range(1, len(groups) + 1)]:
        notes.append(f"Positions are counted from 1 here; the file calls the first “{first[:20]}”.")
    return list(groups.values())
