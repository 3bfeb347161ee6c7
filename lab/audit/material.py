"""A file → what an audit takes: which kind it is, by its first bytes, and how large it may be."""

from __future__ import annotations

import io
import os
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from lab.audit import Progress, audit
from lab.audit.arrays import MAGIC, read_npy, read_npz
from lab.audit.fields import ACCEPTED
from lab.audit.findings import Audit
from lab.audit.sheets import read_csv, read_json
from lab.errors import EntryError, FileError, LabError
from lab.tables import decoded

LARGEST_UPLOAD = 200_000_000
"""Bytes of a file that is handed over whole. A path has no such limit."""

LARGEST_TEXT = 32_000_000
"""Bytes of a CSV or JSON file: it is read whole. More goes into .npy or .npz."""

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
            if not name:
                raise FileError(f"The file's name is empty; {ACCEPTED}.")
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
    if start.startswith(MAGIC):
        return read_npy(file, size)
    if start.startswith(b"PK"):
        return read_npz(file, size, stack)
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
    try:
        text = decoded(data)
    except FileError as fault:
        raise FileError(f"{fault} If it is no text, {ACCEPTED}.") from None
    if name.endswith(".json") or text.lstrip()[:1] in ("{", "["):
        return read_json(text)
    return read_csv(text)
