"""What can be wrong with somebody's input, as exceptions whose text is a sentence for them."""

from __future__ import annotations

from fractions import Fraction


class LabError(ValueError):
    """Something a person can put right; ``str(error)`` is the sentence to show them."""


class EntryError(LabError):
    """One entry cannot be read, or is not allowed.

    Attributes
    ----------
    vector : str
        What the vector is called on screen, such as ``"p"``.
    entry : int
        Position of the entry, counted from 1.
    value : str
        The entry as it was given.
    """

    def __init__(self, vector: str, entry: int, value: str, fault: str) -> None:
        self.vector, self.entry, self.value = vector, entry, value
        shown = value if len(value) <= 40 else f"{value[:24]}…{value[-12:]}"
        super().__init__(f"{vector}, entry {entry} (“{shown}”): {fault}")


class LengthError(LabError):
    """Two vectors, or a vector and the tokens, do not have the same number of entries."""


class RowsError(LabError):
    """Several rows came where one vector was expected.

    Attributes
    ----------
    rows : tuple of tuple of Fraction
        The rows that were read.
    """

    def __init__(self, message: str, rows: tuple[tuple[Fraction, ...], ...]) -> None:
        self.rows = rows
        super().__init__(message)


class TotalError(LabError):
    """A vector does not sum to 1."""


class FileError(LabError):
    """A file, or a link, cannot be read as a scenario."""
