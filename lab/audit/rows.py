"""What rows of p and q hold, in one pass: totals, α, Z, and how far rounding explains them.

Everything is accumulated in float64, in which every float16, bfloat16 and float32 is a number. Two
rows of float16 are summed as whole numbers of 2⁻²⁴ instead, which is exact, and quicker than
NumPy's conversion of float16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.errors import EntryError, LabError, LengthError
from lab.vectors import MOST_DIGITS, Exact, parse_number, parse_vector, total

MOST_TOKENS = 2_000_000
"""Tokens a row may have: several times the largest vocabulary there is."""

MOST_POSITIONS = 2_000_000
"""Rows a matrix may have."""

LARGEST = 10**300
"""No entry that is given exactly is as large: sums of them are numbers that floats hold."""

MOST_EXACT = 20_000
"""Entries of a vector or matrix that are kept as fractions; more become float64."""

PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Binary digits of a number in each type that rows may come in."""

SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
"""The distance between the numbers next to 0."""

COMPUTED_IN = ("float32", "float64")
"""Types that laws are not only stored but normalised in."""

_UNIT = 2.0**-24  # every float16 is a whole number of these
_LARGE = 2048  # below this bit pattern, that of 2⁻¹³, pattern and number of units are the same
_TWO = 0x4000  # the bit pattern of 2.0: no entry of a law, and none with a sign, lies above
_GROUP = 8  # entries that are looked at together
_TOGETHER = 1 << 18  # bit patterns below that of 2.0 whose sum fits into 32 bits


Row: TypeAlias = Any
"""One row: a tuple of Fraction, or an array of a float type."""

Values: TypeAlias = Any
"""What people hand over: arrays, lists, texts, or anything with `shape`, `dtype` and rows."""


class Rows(Protocol):
    """Rows that are fetched one at a time; each may be overwritten by the next."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any] | None: ...

    def __getitem__(self, position: int, /) -> Row: ...


class ExactRows:
    """Rows of fractions."""

    dtype = None

    def __init__(self, rows: Sequence[Exact]) -> None:
        self.rows = tuple(rows)
        self.shape = (len(self.rows), len(self.rows[0]))

    def __getitem__(self, position: int, /) -> Exact:
        return self.rows[position]


@dataclass(slots=True)
class Measures:
    """What one pass over a row of p and a row of q gives.

    Attributes
    ----------
    target_total, draft_total : Σ p and Σ q
    acceptance : α = Σ min(p, q)
    rejection : Z = Σ max(0, p − q); above 0 exactly when an entry of p exceeds that of q
    excess : Σ max(0, q − p); above 0 exactly when an entry of q exceeds that of p
    """

    target_total: Fraction | float
    draft_total: Fraction | float
    acceptance: Fraction | float
    rejection: Fraction | float
    excess: Fraction | float


def many(count: int, one: str, several: str = "") -> str:
    """A number of things: ``"1 draw"``, ``"1,000 draws"``, or ``"2.5e+298 draws"``."""
    number = f"{count:,}" if count < 10**15 else f"{Decimal(count):.2g}"
    return f"{number} {one if count == 1 else several or f'{one}s'}"


def type_name(rows: Rows) -> str:
    """The name of the float type of `rows`, or ``"exact"``."""
    return "exact" if rows.dtype is None else str(np.dtype(rows.dtype).name)


def as_rows(values: Values, name: str, *, whole: bool = False) -> Rows:
    """One row or a matrix of rows, from whatever holds numbers.

    Parameters
    ----------
    values : array, sequence, text, or anything with `shape`, `dtype` and rows by index
        Shape (n,) or (positions, n), n ≥ 1. Float arrays keep their type (float16, bfloat16,
        float32, float64) and are not copied; lists with a Python float become float64; whole
        numbers, fractions, decimals and texts stay exact up to `MOST_EXACT` entries. Negative,
        infinite and missing (NaN) entries are let through: finding them is an audit's work.
    name : str
        What the vector is called in messages.
    whole : bool
        Whether these are counts: arrays of whole numbers then stay as they are.

    Raises
    ------
    LabError
        When the shape or the type is another; it says what is accepted.
    """
    if isinstance(values, str):
        return ExactRows([parse_vector(values, name)])
    if not hasattr(values, "shape") or not hasattr(values, "dtype"):
        return _from_lists(values, name)
    if np.ma.is_masked(values):
        raise LabError(
            f"{name} is an array with a mask, and entries are hidden under it; accepted are arrays "
            "without a mask."
        )
    if isinstance(values, np.ma.MaskedArray):
        values = values.data
    shape = tuple(values.shape)
    if len(shape) not in (1, 2) or 0 in shape:
        raise LengthError(
            f"{name} has the shape {shape}; accepted is a row of tokens, or a matrix with a row "
            "for each position."
        )
    if shape[-1] > MOST_TOKENS:
        raise LengthError(f"{name} has {shape[-1]:,} tokens; up to {MOST_TOKENS:,} are accepted.")
    if len(shape) == 2 and shape[0] > MOST_POSITIONS:
        raise LengthError(
            f"{name} has {shape[0]:,} positions; up to {MOST_POSITIONS:,} are accepted."
        )
    if values.dtype is not None:
        try:
            kind = np.dtype(values.dtype)
        except TypeError:  # another library's
            values = _as_array(values, name)
            kind = values.dtype
        if kind.kind == "O":
            return _from_lists(np.asarray(values).tolist(), name)
        if kind.kind in "iu" and not whole:
            if math.prod(shape) <= MOST_EXACT:
                return _from_lists(np.asarray(values).tolist(), name)
            values = np.asarray(values, np.float64)
        elif kind.kind not in "iu" and kind.name not in PRECISION:
            raise LabError(
                f"{name} has the type {kind}; accepted are float16, bfloat16, float32, float64 "
                "and whole numbers."
            )
    if len(shape) == 1:
        return np.asarray(values)[np.newaxis]
    rows: Rows = values
    return rows


def _as_array(values: Values, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        raise LabError(
            f"{name} cannot be turned into an array of NumPy; accepted are arrays, lists and texts."
        ) from None


def _from_lists(values: Values, name: str) -> Rows:
    if not is_list(values):
        raise LabError(f"{name} is no list of numbers; accepted is a row or a matrix of them.")
    rows = list(values)
    if not rows:
        raise LengthError(f"{name} has no entries; at least one is accepted.")
    nested = [is_list(row) for row in rows]
    if not all(nested):
        if any(nested):
            raise LengthError(f"{name} mixes rows and numbers; accepted is a row or a matrix.")
        rows = [rows]
    rows = [list(row) for row in rows]
    check_lengths(rows, name)
    if len(rows[0]) > MOST_TOKENS:
        raise LengthError(
            f"{name} has {len(rows[0]):,} tokens; up to {MOST_TOKENS:,} are accepted."
        )
    names = [name] if len(rows) == 1 else [f"{name}, row {n}" for n in range(1, len(rows) + 1)]
    read = [
        [number(entry, row_name, n) for n, entry in enumerate(row, 1)]
        for row, row_name in zip(rows, names, strict=True)
    ]
    return from_numbers(read, names)


def is_list(values: object) -> bool:
    """Whether it holds several things, in an order."""
    if isinstance(values, str | bytes | dict | Set) or getattr(values, "shape", None) == ():
        return False
    return hasattr(values, "__iter__")


def check_lengths(rows: Sequence[Sequence[object]], name: str) -> None:
    """Raises `LengthError` when a row has no entries, or others than the first."""
    for n, row in enumerate(rows, 1):
        if not row:
            raise LengthError(f"{name}, row {n:,} has no entries; at least one is accepted.")
        if len(row) != len(rows[0]):
            raise LengthError(
                f"{name}, row {n:,} has {many(len(row), 'entry', 'entries')} and row 1 has "
                f"{len(rows[0]):,}; accepted are rows of one length."
            )


def number(entry: object, name: str, position: int) -> Fraction | float:
    """One number: floats as they are, NaN and infinities too; everything else as a fraction.

    Raises `EntryError`, naming the entry.
    """
    if getattr(entry, "shape", None) == () and not np.ma.is_masked(entry):
        entry = entry.item()  # type: ignore[attr-defined]
    if isinstance(entry, float):
        return entry
    if isinstance(entry, str):
        text = entry.strip().lower().replace("∞", "inf").replace("infinity", "inf")
        if text.lstrip("+-") in ("nan", "inf"):
            return float(text)
        try:
            return parse_number(entry)
        except LabError as fault:
            raise EntryError(name, position, entry.strip(), str(fault)) from None
    if isinstance(entry, bool) or entry is None:
        raise EntryError(name, position, str(entry), "it is not a number; accepted are numbers.")
    value: Any = entry
    try:
        return Fraction(value)
    except OverflowError:
        return float(value)
    except (TypeError, ValueError):
        pass
    shown = type(entry).__name__  # an object's own text may be anything
    raise EntryError(name, position, shown, "it is not a number; accepted are numbers.")


def from_numbers(read: Sequence[Sequence[Fraction | float]], names: Sequence[str]) -> Rows:
    """Rows of fractions, or of float64 when an entry is a float or there are too many."""
    for row, name in zip(read, names, strict=True):
        for n, entry in enumerate(row, 1):
            if isinstance(entry, Fraction) and not -LARGEST < entry < LARGEST:
                raise EntryError(name, n, "…", "it is larger than floats hold; accepted are laws.")
    exact = [tuple(entry for entry in row if isinstance(entry, Fraction)) for row in read]
    if (
        all(len(left) == len(row) for left, row in zip(exact, read, strict=True))
        and sum(map(len, read)) <= MOST_EXACT
        and all(map(_is_quick, exact))
    ):
        return ExactRows(exact)
    floats = np.empty((len(read), len(read[0])))
    for i, row in enumerate(read):
        floats[i] = list(map(float, row))
    return floats


def _is_quick(row: Exact) -> bool:
    """Whether exact sums of the row are quick: its common denominator is not too long."""
    common = 1
    for value in row:
        common = math.lcm(common, value.denominator)
        if common.bit_length() > MOST_DIGITS * math.log2(10):
            return False
    return True


class Meter:
    """Measures rows of p and q of one length and type; the buffers are made once.

    Parameters
    ----------
    tokens : int
        The length of the rows.
    target, draft : str
        Their types, as `type_name` says.
    """

    def __init__(self, tokens: int, target: str, draft: str) -> None:
        self.tokens = tokens
        self.exact = target == draft == "exact"
        self.halves = target == draft == "float16"
        self._made: dict[str, npt.NDArray[Any]] = {}

    def _buffer(self, name: str, size: int, kind: type[np.generic]) -> npt.NDArray[Any]:
        if name not in self._made:
            self._made[name] = np.zeros(size, kind)
        return self._made[name]

    def measure(self, target: Row, draft: Row) -> Measures | None:
        """The measures of a row of p and a row of q; None when an entry is no probability's.

        That is: NaN, infinite or negative, and `bad_entries` says which; or so large that the sum
        is more than float64 holds.
        """
        if self.exact:
            return self._of_fractions(target, draft)
        if self.halves and target.dtype.isnative and draft.dtype.isnative:
            found = self._of_halves(target, draft)
            if found is not None:
                return found
        return self._of_floats(target, draft)

    def _of_fractions(self, p: Exact, q: Exact) -> Measures | None:
        if min(p) < 0 or min(q) < 0:
            return None
        accepted = tuple(map(min, p, q))
        sums = total(p), total(q), total(accepted)
        return Measures(*sums, sums[0] - sums[2], sums[1] - sums[2])

    def _of_floats(self, target: Row, draft: Row) -> Measures | None:
        p, q = self.widen(target, "p"), self.widen(draft, "q")
        accepted = self._buffer("accepted", self.tokens, np.float64)
        rest = self._buffer("rest", self.tokens, np.float64)
        np.minimum(p, q, out=accepted)
        # A NaN in either is one in the minimum, and fails the first comparison.
        low = np.minimum.reduce(accepted)
        if not (low >= 0 and np.maximum.reduce(p) < np.inf and np.maximum.reduce(q) < np.inf):
            return None
        add = np.add.reduce
        with np.errstate(over="ignore"):
            sums = float(add(p)), float(add(q)), float(add(accepted))
        if not math.isfinite(sum(sums)):
            return None
        np.subtract(p, accepted, out=rest)
        rejection = float(add(rest))
        np.subtract(q, accepted, out=rest)
        return Measures(*sums, rejection, float(add(rest)))

    def _of_halves(self, target: Row, draft: Row) -> Measures | None:
        """Exact sums of two rows of float16; None when an entry is 2 or more, or has a sign.

        The bit pattern of a number below 2⁻¹³ is that number in units of 2⁻²⁴, and patterns
        without a sign are in the order of their numbers. So the patterns are summed as they
        stand, and only those of larger entries, at most 2¹³ in a law, are looked up.
        """
        p, q = target.view(np.uint16), draft.view(np.uint16)
        padded = self._buffer("either", -(-self.tokens // _GROUP) * _GROUP, np.uint16)
        either = padded[: self.tokens]
        np.bitwise_or(p, q, out=either)
        groups = padded.reshape(_GROUP, -1)
        highest = np.maximum.reduce(groups, axis=0)
        if np.maximum.reduce(highest) >= _TWO:
            return None
        large = _places(groups, highest)
        p_large, q_large = p.take(large), q.take(large)
        np.minimum(p, q, out=either)
        p_sum = _units_of(p, p_large)
        q_sum = _units_of(q, q_large)
        accepted = _units_of(either, np.minimum(p_large, q_large))
        sums = (p_sum, q_sum, accepted, p_sum - accepted, q_sum - accepted)
        return Measures(*(count * _UNIT for count in sums))

    def widen(self, row: Row, name: str) -> npt.NDArray[np.float64]:
        """`row` in float64: itself, or in a buffer of that name."""
        if not isinstance(row, tuple) and row.dtype == np.float64 and row.dtype.isnative:
            same: npt.NDArray[np.float64] = row
            return same
        wide = self._buffer(f"wide {name}", len(row), np.float64)
        if isinstance(row, tuple):
            wide[:] = [float(entry) for entry in row]
        elif row.dtype == np.float16:
            # A table of all float16 is some ten times as fast as NumPy's conversion.
            np.take(_float16(), row.view(np.uint16), out=wide, mode="clip")
        elif row.dtype.name == "bfloat16":
            bits = self._buffer(f"bits {name}", len(row), np.uint32)
            np.copyto(bits, row.view(np.uint16))
            np.left_shift(bits, 16, out=bits)
            np.copyto(wide, bits.view(np.float32))
        else:
            np.copyto(wide, row)
        return wide


def _units_of(row: npt.NDArray[np.uint16], large: npt.NDArray[np.uint16]) -> int:
    """The sum of a row of float16 in units: patterns as they stand, but for those in `large`."""
    total = 0
    for start in range(0, row.size, _TOGETHER):
        part = row[start : start + _TOGETHER]
        head = part.size - part.size % 4
        # Of four patterns below that of 2.0 there is no overflow, nor of `_TOGETHER` in 32 bits.
        folded = np.add.reduce(part[:head].reshape(4, -1), axis=0, dtype=np.uint16)
        total += int(np.add.reduce(folded, dtype=np.uint32))
        if head < part.size:
            total += int(np.add.reduce(part[head:], dtype=np.uint32))
    return total + int(np.add.reduce(_surplus().take(large), dtype=np.int64))


def _places(
    groups: npt.NDArray[np.uint16], highest: npt.NDArray[np.uint16]
) -> npt.NDArray[np.int64]:
    """Where the entries of `groups`, in one row, are large; few are, so only some columns matter.

    `highest` is the largest entry of each column.
    """
    (columns,) = (highest >= _LARGE).nonzero()
    rows, at = (groups.take(columns, axis=1) >= _LARGE).nonzero()
    places: npt.NDArray[np.int64] = rows * highest.size + columns.take(at)
    return places


_tables: dict[str, npt.NDArray[Any]] = {}


def _surplus() -> npt.NDArray[Any]:
    """For each bit pattern below that of 2.0, its float16 as a number of 2⁻²⁴, less the pattern."""
    if "surplus" not in _tables:
        units = (_float16()[:_TWO] / _UNIT).astype(np.int32)
        _tables["surplus"] = units - np.arange(_TWO, dtype=np.int32)
    return _tables["surplus"]


def _float16() -> npt.NDArray[np.float64]:
    """For each bit pattern its float16."""
    if "float16" not in _tables:
        patterns = np.arange(1 << 16, dtype=np.uint16)
        with np.errstate(invalid="ignore"):
            _tables["float16"] = patterns.view(np.float16).astype(np.float64)
    return _tables["float16"]


def bad_entries(row: Row) -> dict[str, npt.NDArray[np.int64]]:
    """Entries, from 0, that no probability has: ``"nan"``, ``"infinite"`` and ``"negative"``."""
    if isinstance(row, tuple):
        negative = [n for n, entry in enumerate(row) if entry < 0]
        return {"negative": np.array(negative, np.int64)} if negative else {}
    wide = Meter(len(row), "float64", "float64").widen(row, "row")
    masks = {
        "nan": np.isnan(wide),
        "infinite": np.isinf(wide),
        "negative": (wide < 0) & np.isfinite(wide),
    }
    return {kind: np.flatnonzero(mask) for kind, mask in masks.items() if mask.any()}


def explained(total: float, tokens: int, kind: str) -> float:
    """How far from 1 a law of so many tokens may sum because it is in a float type.

    Each stored entry is at most half a unit in the last place from the true one: at most 2⁻ᵈ of
    its own size with d binary digits, and half the `SMALLEST` distance near 0. In the types that
    laws are also normalised in (`COMPUTED_IN`) the divisor adds its own roundings, one for the
    total and one for each of the log₂ n levels of a sum by halves. What summing in float64 adds
    here is n · 2⁻⁵³ of the total at most, except for float16, whose sums are exact. These are
    bounds, not estimates: no law that was stored that way misses 1 by more.
    """
    if kind == "exact":
        return 0.0
    relative, absolute = _bound(tokens, kind)
    return relative * max(1.0, total) + absolute


@lru_cache(maxsize=64)
def _bound(tokens: int, kind: str) -> tuple[float, float]:
    roundings = 1
    if kind in COMPUTED_IN:
        roundings += 1 + math.ceil(math.log2(tokens))
    summing = 0.0 if kind == "float16" else tokens * 2.0**-53
    return roundings * 2.0 ** -PRECISION[kind] + summing, tokens * SMALLEST[kind] / 2


def decimals(row: Row) -> int | None:
    """How many decimals the entries of a row need, if 15 are enough."""
    if isinstance(row, tuple):
        common = math.lcm(*(entry.denominator for entry in row))
        return next((k for k in range(16) if 10**k % common == 0), None)
    if row.dtype != np.float64:
        return None
    enough = (k for k in range(16) if (np.round(row, k) == row).all())
    return next(enough, None) if (np.round(row, 15) == row).all() else None


def narrower(row: Row, kind: str) -> str | None:
    """The narrowest float type that holds every entry of a float row exactly, if not its own."""
    if kind not in COMPUTED_IN:
        return None
    for name in ("bfloat16", "float16", "float32"):
        if PRECISION[name] >= PRECISION[kind]:
            return None
        with np.errstate(over="ignore"):
            stored = row.astype("float32" if name == "bfloat16" else name)
        same = bool((stored == row).all())
        if name == "bfloat16":
            same = same and not (stored.view(np.uint32) & 0xFFFF).any()
        if same:
            return name
    return None
