"""Arrays in NumPy's files, none of them trusted, as rows that are read one at a time.

Rows come through one buffer, from a path or from bytes, so a file may be larger than memory. A
file that is cut while it is read ends in a sentence; a memory map would end the program. Nothing
is unpickled, nothing is allocated on a header's word, and an archive is unpacked as a stream.
"""

from __future__ import annotations

import ast
import math
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from lab.audit.fields import ACCEPTED, COUNTS, LABELS, ignored, named
from lab.audit.rows import MOST_TOKENS, PRECISION, Rows
from lab.errors import FileError, LabError

LARGEST_WHOLE = 64_000_000
"""Bytes of an array that has to be read whole: labels, and matrices in Fortran order."""

UNPACKED_UNASKED = 256_000_000
"""Bytes that an archive may unpack to, however small it is."""

LARGEST_RATIO = 200
"""Beyond `UNPACKED_UNASKED`, how many times its size an archive may unpack to."""

LONGEST_HEADER = 10_000
"""Bytes of an array's header."""

MAGIC = b"\x93NUMPY"


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
    if len(start) < 8 or not start.startswith(MAGIC):
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
        reason = str(fault).split("\n")[0].split(": <")[0][:80]  # no Python objects
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


def read_npy(file: IO[bytes], size: int) -> tuple[dict[str, Any], list[str]]:
    """What `audit` takes, by name, from one array of p and q; and notes. Raises `FileError`."""
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
            raise FileError(
                f"{self.member} in the archive is damaged: {error}. The file may be cut."
            ) from None


def read_npz(file: IO[bytes], size: int, stack: ExitStack) -> tuple[dict[str, Any], list[str]]:
    """What `audit` takes, by name, from an archive of arrays; and notes. Raises `FileError`."""
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
    found, unknown = named({name.removesuffix(".npy"): name for name in names}, "The archive")
    notes = ignored(unknown)
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
        if name in LABELS:
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
    return rows if name in COUNTS else _exact_if_whole(rows)


def _texts(array: npt.NDArray[Any], name: str) -> list[str]:
    try:
        return [
            text.decode("utf-8") if isinstance(text, bytes) else str(text)
            for text in array.tolist()
        ]
    except UnicodeDecodeError:
        raise FileError(f"{name} is not text in UTF-8.") from None
