"""The same step in float16, bfloat16, float32 and float64, beside the exact one.

What a type stores is a fraction, and is kept as one; only what the type computes is a float
computation. An error is the exact difference of two fractions.

Sources: IEEE 754 (rounding to nearest, ties to even); Higham (2002), "Accuracy and Stability of
Numerical Algorithms", sections 2.2 and 3.1, for the sizes in `InPrecision.tolerances`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from lab.errors import LabError
from lab.figures import fine
from lab.step import ExactStep
from lab.vectors import Exact, total

Type = Literal["float16", "bfloat16", "float32", "float64"]
Array = npt.NDArray[Any]

U_BITS = 24
"""Random bits of a uniform number unless another count is asked for: what float32 draws have."""

MOST_BITS = 1024
"""The most random bits of a uniform number."""


@dataclass(frozen=True)
class Format:
    """A binary floating-point type.

    Attributes
    ----------
    digits : bits of the significand, the hidden one included
    lowest, highest : powers of two of the smallest normal and of the largest numbers
    dtype : NumPy's name for it
    """

    digits: int
    lowest: int
    highest: int
    dtype: np.dtype[Any]

    @property
    def unit(self) -> Fraction:
        """u, the unit roundoff: a number moves by at most u times its size when it is stored."""
        return Fraction(1, 2**self.digits)

    @property
    def smallest(self) -> Fraction:
        """η, the smallest positive number; below the normal ones a number moves by up to η/2."""
        return Fraction(1, 2 ** (self.digits - 1 - self.lowest))


FORMATS: dict[Type, Format] = {
    "float16": Format(11, -14, 15, np.dtype(np.float16)),
    "bfloat16": Format(8, -126, 127, np.dtype(ml_dtypes.bfloat16)),
    "float32": Format(24, -126, 127, np.dtype(np.float32)),
    "float64": Format(53, -1022, 1023, np.dtype(np.float64)),
}
TYPES: tuple[Type, ...] = tuple(FORMATS)


# Storing ----------------------------------------------------------------------------------------


def stored(value: Fraction, kind: Type) -> Fraction:
    """The number that `kind` stores for `value`: the nearest, between two the even one.

    One rounding, from the exact value: by way of float64 there would be two, and some values
    would come out one place off.

    Raises
    ------
    LabError
        When `value` is beyond the largest finite number of the type.

    >>> stored(Fraction(1, 10), "bfloat16")
    Fraction(205, 2048)
    """
    return Fraction(_stored(value.numerator, value.denominator, FORMATS[kind]))


def _stored(n: int, d: int, form: Format) -> float:
    """`stored` for n/d, d > 0. A Python float holds the numbers of every type."""
    if not n:
        return 0.0
    power = abs(n).bit_length() - d.bit_length()  # 2**(power − 1) < |n/d| < 2**(power + 1)
    less = abs(n) < d << power if power >= 0 else abs(n) << -power < d
    scale = max(power - less, form.lowest) - form.digits + 1  # the last place is worth 2**scale
    n, d = (n, d << scale) if scale > 0 else (n << -scale, d)
    places, rest = divmod(n, d)
    places += 2 * rest > d or (2 * rest == d and places % 2 == 1)
    if abs(places).bit_length() - 1 + scale > form.highest:
        raise LabError(
            f"A number of about 2 to the power {power} is too large for {form.dtype}; accepted "
            f"are numbers below 2 to the power {form.highest + 1}."
        )
    return math.ldexp(places, scale)


def _array(values: Iterable[Fraction], form: Format) -> Array:
    return np.array([_stored(v.numerator, v.denominator, form) for v in values]).astype(form.dtype)


def _exact(array: Array) -> Exact:
    return tuple(map(Fraction, array.astype(np.float64).tolist()))


def _running(array: Array, form: Format) -> Array:
    """The sum from left to right, each partial sum rounded to the type; shape (1,)."""
    sums: Array = np.add.accumulate(array.astype(form.dtype), dtype=form.dtype)
    return sums[-1:]


def _number(array: Array) -> Fraction:
    return Fraction(float(array[0]))


# One step ---------------------------------------------------------------------------------------

CaseName = Literal[
    "consistent",
    "residual lost in storage",
    "rejection possible but residual empty",
    "residual without rejection",
    "negative 1 − Σ min",
]


@dataclass(frozen=True)
class Case:
    """What became of a pair in a type.

    Attributes
    ----------
    sentence : what it means
    investigate : whether something in the arithmetic has to be found; nothing is patched
    """

    name: CaseName
    sentence: str
    investigate: bool = False


_ALL = (
    Case("consistent", "Some stored p exceeds q, and some stored q exceeds p."),
    Case(
        "residual lost in storage",
        "p and q differ, and became equal when they were stored. Nothing is rejected any more "
        "and no residual is needed: the sampler is right for the numbers it was given, and the "
        "difference between p and q is not among them.",
    ),
    Case(
        "rejection possible but residual empty",
        "Some stored q exceeds p, so that a proposal can be rejected; no stored p exceeds q, so "
        "that there is nothing to draw the replacement from. A floor, a uniform vector or a draw "
        "from p would hide this, and change the law.",
        True,
    ),
    Case(
        "residual without rejection",
        "Some stored p exceeds q, so that mass is owed; no stored q exceeds p, so that nothing "
        "is ever rejected and the residual is never used. The output is q's law, not p's.",
        True,
    ),
    Case(
        "negative 1 − Σ min",
        "1 − Σ min(p, q) is below 0, and no probability is. Setting it to 0 would hide that the "
        "entries, as they were stored and added, sum to more than 1.",
        True,
    ),
)
CASES: dict[CaseName, Case] = {case.name: case for case in _ALL}
_EQUAL = Case("consistent", "p = q, and they are stored as equals.")


@dataclass(frozen=True)
class Lead:
    """One thing to look at in an investigation.

    Attributes
    ----------
    why : why to look at it
    applies : whether it shows anything for this pair and type; else it is ruled out
    finding : what it shows; where it is ruled out, by what
    """

    what: str
    why: str
    applies: bool
    finding: str


@dataclass(frozen=True)
class Identity:
    """An equation that holds exactly in fractions; here with ``==``, so many times out of so many.

    In a float type an identity may hold by luck. Where it fails, a tolerance takes its place.
    """

    what: str
    held: int
    of: int = 1


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be from the exact one, and how far it is.

    Attributes
    ----------
    size : the bound, never exceeded; None where the type promises nothing
    measured : what it is for this pair; None when there is nothing to measure
    """

    what: str
    why: str
    size: Fraction | None
    measured: Fraction | None


@dataclass(frozen=True)
class Sums:
    """What depends on the type in which sums are accumulated, from left to right.

    Attributes
    ----------
    target, draft : Σ p and Σ q
    acceptance : α = Σ min(p, q)
    rejection : Z = Σ max(p − q, 0)
    complement : Z = 1 − Σ min(p, q)
    residual : max(p − q, 0) / Z, with the first formula for Z; None when no p exceeds q
    largest_error, distance : the largest error of an entry of r and half the sum of all errors,
        which for two laws is their total variation distance; None without two residuals
    """

    target: Fraction
    draft: Fraction
    acceptance: Fraction
    rejection: Fraction
    complement: Fraction
    residual: Exact | None
    largest_error: Fraction | None
    distance: Fraction | None


@dataclass(frozen=True, eq=False)
class InPrecision:
    """One step as a type has it. Vectors are in token order; all numbers are exact values.

    Attributes
    ----------
    exact : the step that was rounded
    kind : the type
    target, draft : p and q as stored
    accepted, shortfall : min(p, q) and max(p − q, 0) as the type computes them
    in_type, in_float64 : what follows when sums are accumulated in the type, or in float64
    output : min(p, q) + Z · r, computed in the type with Z accumulated in float64
    """

    exact: ExactStep
    kind: Type
    target: Exact
    draft: Exact
    accepted: Exact
    shortfall: Exact
    in_type: Sums
    in_float64: Sums
    output: Exact

    @property
    def format(self) -> Format:
        """The type's sizes."""
        return FORMATS[self.kind]

    @cached_property
    def target_total(self) -> Fraction:
        """The exact sum of the stored p."""
        return total(self.target)

    @cached_property
    def draft_total(self) -> Fraction:
        """The exact sum of the stored q."""
        return total(self.draft)

    @cached_property
    def has_residual(self) -> bool:
        """Whether any stored p exceeds q."""
        return any(map(operator.gt, self.target, self.draft))

    @cached_property
    def can_reject(self) -> bool:
        """Whether any stored q exceeds p."""
        return any(map(operator.lt, self.target, self.draft))

    @property
    def magnification(self) -> Fraction | None:
        """1/Z: an error of p or q is multiplied by up to this in r. None when Z is 0."""
        z = self.in_float64.rejection
        return 1 / z if z else None

    @property
    def flushed(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions in p, and in q, of what is not 0 and became 0."""
        p, q = (
            tuple(i for i, (a, b) in enumerate(zip(v, kept, strict=True)) if a and not b)
            for v, kept in ((self.exact.target, self.target), (self.exact.draft, self.draft))
        )
        return p, q

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The case by comparing entries, never by a sum; then the negative sum, if there is one."""
        if self.has_residual != self.can_reject:
            name: CaseName = (
                "residual without rejection"
                if self.has_residual
                else "rejection possible but residual empty"
            )
        elif not self.has_residual and self.exact.residual is not None:
            name = "residual lost in storage"
        else:
            name = "consistent"
        equal = name == "consistent" and not self.has_residual
        first = _EQUAL if equal else CASES[name]
        return (first, *([CASES["negative 1 − Σ min"]] if self.negative else []))

    @property
    def negative(self) -> str:
        """In which type 1 − Σ min is below 0 when added there, and by how much; else empty."""
        adders = {self.kind: self.in_type, "float64": self.in_float64}
        values = {adder: sums.complement for adder, sums in adders.items()}
        below = [f"{fine(v)} added in {adder}" for adder, v in values.items() if v < 0]
        others = [f"{fine(v)} added in {adder}" for adder, v in values.items() if v >= 0]
        if not below:
            return ""
        return " and ".join(below) + (f", but {others[0]}" if others else "")

    @cached_property
    def leads(self) -> tuple[Lead, ...]:
        """What to look at when a case asks for an investigation."""
        kind, (p, q) = self.kind, self.flushed
        one = 1 - coin_passes(Fraction(1), kind)
        tiny = Fraction(2) ** self.format.lowest
        low = sum(0 < v < tiny for v in (*self.target, *self.draft))
        gone = " and ".join(f"{len(v):,} of {name}" for name, v in (("p", p), ("q", q)) if v)
        flushed = [f"{gone} became 0"] if gone else []
        if low:
            entries = "stored entry is" if low == 1 else "stored entries are"
            flushed.append(f"{low:,} {entries} below the normal numbers")
        moved = self.target_total != 1 or self.draft_total != 1
        added = (self.in_type.target, self.in_type.draft, self.in_type.acceptance)
        right = (self.target_total, self.draft_total, total(self.accepted))
        sums = "; in float64 ".join(
            f"p gives {fine(s.target)}, q {fine(s.draft)} and 1 − Σ min {fine(s.complement)}"
            for s in (self.in_type, self.in_float64)[: 1 if kind == "float64" else 2]
        )
        return (
            Lead(
                "Unequal totals",
                "Where p and q have the same sum and differ, p is larger at some token and q at "
                "another. With different sums, only one of them may ever be the larger.",
                self.target_total != self.draft_total,
                f"stored p sums to {fine(self.target_total)}, stored q to "
                f"{fine(self.draft_total)}; p − q is "
                f"{fine(self.target_total - self.draft_total)}"
                if self.target_total != self.draft_total
                else "stored p and q have the same sum",
            ),
            Lead(
                "Separate normalising",
                "p and q, divided each by its own rounded sum, share no total any more. Here both "
                "sum to exactly 1 before they are stored.",
                moved,
                f"storing moved the total of p by {fine(self.target_total - 1)}, that of q by "
                f"{fine(self.draft_total - 1)}"
                if moved
                else "storing moved neither sum",
            ),
            Lead(
                "Flush to zero",
                "An entry that became 0 is missing in the total; some hardware also puts 0 for "
                "what is below the normal numbers.",
                bool(flushed),
                "; ".join(flushed) or "nothing became 0 or is below the normal numbers",
            ),
            Lead(
                "A sum in low precision",
                "A running sum loses what is small beside it.",
                added != right,
                f"added in {kind}, {sums}" if added != right else "it loses nothing",
            ),
            Lead(
                "A uniform number that rounds to 1",
                "Then u < 1 fails, and a token is rejected although p = q: a rejection without a "
                "residual.",
                one > 0,
                f"u of {U_BITS} random bits becomes 1 with probability {fine(one)}"
                if one
                else f"u of {U_BITS} random bits never becomes 1",
            ),
        )

    @cached_property
    def identities(self) -> tuple[Identity, ...]:
        """The equations of `exact_identities`, on what the type has stored and computed."""
        return _identities(
            self.target_total,
            self.draft_total,
            self.in_type.rejection,
            self.in_type.complement,
            self.output,
            self.target,
        )

    @property
    def storage(self) -> Fraction:
        """How far storing may move Z: 2u + n·η. With a larger Z a residual surely remains."""
        return 2 * self.format.unit + len(self.target) * self.format.smallest

    @cached_property
    def tolerances(self) -> tuple[Tolerance, ...]:
        """Bounds on the distance from the exact step, each with what it is for this pair."""
        form, n = self.format, len(self.target)
        u, half = form.unit, n * form.smallest / 2
        alpha, z = self.exact.acceptance, self.exact.rejection
        given = (*self.exact.target, *self.exact.draft)
        both = zip(given, (*self.target, *self.draft), strict=True)
        normal = Fraction(2) ** form.lowest
        entry = max((abs(b / a - 1) for a, b in both if a >= normal), default=Fraction())
        moved = self.storage
        adding = _adding(n, u)
        first = None if adding is None else moved + adding * (z + moved)
        kept = u * (1 + z) + half
        before = _adding(n - 1, u)
        second = None
        if before is not None:
            off = kept + before * (alpha + kept)
            second = off + u * (z + off)
        law = None
        if z:
            in_64 = _adding(n - 1, FORMATS["float64"].unit)
            assert in_64 is not None
            divisor = (1 + in_64) * (1 + u) - 1
            divided = (1 + u) / (1 - divisor) - 1 + half
            bound = (moved + u * (z + moved)) / z + divided / 2
            law = bound if bound < 1 else None
        return (
            Tolerance(
                "an entry of p or q, relative",
                "rounded once to the nearest number; measured where entries are normal, for below "
                "that only η/2 holds",
                u,
                entry,
            ),
            Tolerance(
                "Σ p, Σ q of what is stored",
                "u for all entries together, as they sum to 1, and η/2 for each tiny one",
                u + half,
                max(abs(self.target_total - 1), abs(self.draft_total - 1)),
            ),
            Tolerance(
                "Z = Σ max(p − q, 0), in the type",
                "storing p and q, 2u; n roundings more, each of the size of Z",
                first,
                abs(self.in_type.rejection - z),
            ),
            Tolerance(
                "Z = 1 − Σ min(p, q), in the type",
                "storing the smaller of p and q, u(1 + Z); n − 1 roundings of the size of α, "
                "which do not shrink with Z",
                second,
                abs(self.in_type.complement - z),
            ),
            Tolerance(
                "r, total variation distance",
                "storing p and q, 2u, magnified by 1/Z; the divisions add about u",
                law,
                self.in_float64.distance,
            ),
        )


def _adding(n: int, u: Fraction) -> Fraction | None:
    """The relative error of n roundings in a row, n·u/(1 − n·u); None when that has no bound."""
    return n * u / (1 - n * u) if n * u < 1 else None


def exact_identities(step: ExactStep) -> tuple[Identity, ...]:
    """The equations of a step, which hold exactly: on fractions."""
    return _identities(
        total(step.target),
        total(step.draft),
        step.rejection,
        1 - step.acceptance,
        step.output,
        step.target,
    )


def _identities(
    p: Fraction, q: Fraction, z: Fraction, complement: Fraction, output: Exact, target: Exact
) -> tuple[Identity, ...]:
    return (
        Identity("Σ p = 1", int(p == 1)),
        Identity("Σ q = 1", int(q == 1)),
        # Both sides differ by Σ p − Σ q.
        Identity("Σ max(p − q, 0) = Σ max(q − p, 0)", int(p == q)),
        Identity("Σ max(p − q, 0) = 1 − Σ min(p, q)", int(z == complement)),
        Identity("min(p, q) + Z · r = p", sum(map(operator.eq, output, target)), len(target)),
    )


@lru_cache(maxsize=64)  # by the step itself: a page asks again at every rerun
def in_precision(step: ExactStep, kind: Type) -> InPrecision:
    """Round p and q to a type, and compute the step there.

    Parameters
    ----------
    step : ExactStep
        Made by `one_step` from exact vectors.
    kind : "float16", "bfloat16", "float32" or "float64"

    Returns
    -------
    InPrecision
        Each entry is rounded once. min(p, q) and p − min(p, q), which is max(p − q, 0), are
        computed in the type, and so is the division by Z; sums in the type and in float64.

    >>> from lab.step import exact_step
    >>> from lab.vectors import parse_vector
    >>> p, q = parse_vector("0.2, 0.5, 0.3"), parse_vector("0.2000001, 0.4999999, 0.3")
    >>> near = exact_step(p, q)
    >>> [in_precision(near, kind).cases[0].name for kind in ("float32", "float16")]
    ['consistent', 'residual lost in storage']
    """
    form = FORMATS[kind]
    p, q = _array(step.target, form), _array(step.draft, form)
    accepted = np.minimum(p, q)
    shortfall = p - accepted
    in_type = _sums(step, p, q, accepted, shortfall, form)
    in_64 = _sums(step, p, q, accepted, shortfall, FORMATS["float64"])
    output = accepted
    if in_64.residual is not None:
        z, r = (_array(v, form) for v in ([in_64.rejection], in_64.residual))
        output = accepted + z * r
    return InPrecision(
        step,
        kind,
        _exact(p),
        _exact(q),
        _exact(accepted),
        _exact(shortfall),
        in_type,
        in_64,
        _exact(output),
    )


def _sums(
    step: ExactStep, p: Array, q: Array, accepted: Array, shortfall: Array, adder: Format
) -> Sums:
    """The sums accumulated in `adder`, and r."""
    kept, owed = _running(accepted, adder), _running(shortfall, adder)
    residual = error = distance = None
    if owed[0] > 0:  # no term is negative, and none becomes 0 by adding: if any p > q
        residual = _exact(shortfall / owed.astype(shortfall.dtype))
        if step.residual is not None:
            gaps = tuple(abs(a - b) for a, b in zip(residual, step.residual, strict=True))
            error, distance = max(gaps), total(gaps) / 2
    return Sums(
        _number(_running(p, adder)),
        _number(_running(q, adder)),
        _number(kept),
        _number(owed),
        _number(np.ones(1, adder.dtype) - kept),
        residual,
        error,
        distance,
    )


# The error curve --------------------------------------------------------------------------------

FORMULAS = ("Σ max(p − q, 0)", "1 − Σ min(p, q)")
"""Two ways to Z, equal in fractions."""

Break = Literal["", "gives 0", "gives less than 0", "off by its own size or more"]


@dataclass(frozen=True)
class Point:
    """Z by both formulas at one distance between p and q.

    Attributes
    ----------
    nearness : t in q_t = p + t · (q − p)
    distance : the exact Z of p and q_t, which is their total variation distance
    values : Z by each of `FORMULAS`, stored, computed and added up in the type
    """

    nearness: Fraction
    distance: Fraction
    values: tuple[Fraction, Fraction]

    @property
    def errors(self) -> tuple[Fraction, Fraction]:
        """Relative to the exact Z."""
        first, second = (abs(value / self.distance - 1) for value in self.values)
        return first, second

    @property
    def breaks(self) -> tuple[Break, Break]:
        """Where a formula says nothing about Z any more, and how."""
        first, second = map(_break, self.values, self.errors)
        return first, second


def _break(value: Fraction, error: Fraction) -> Break:
    if value <= 0:
        return "gives less than 0" if value else "gives 0"
    return "off by its own size or more" if error >= 1 else ""


@lru_cache(maxsize=256)
def error_curve(step: ExactStep, kind: Type) -> tuple[Point, ...]:
    """Z by both formulas in a type, for q ever nearer to p.

    q_t = p + t · (q − p) with t a power of 2: from the farthest that is still a law, down to where
    no q_t below p is nearer to it than u/8, relatively. There the stored q is p, but for entries
    of p that lie all but halfway between two numbers of the type.

    Returns
    -------
    tuple of Point
        From far to near; empty when p = q, which is at no distance.
    """
    if step.residual is None:
        return ()
    form = FORMATS[kind]
    p = _array(step.target, form)
    common = math.lcm(*{v.denominator for v in (*step.target, *step.draft)})
    whole = [v.numerator * (common // v.denominator) for v in step.target]
    moves = [
        v.numerator * (common // v.denominator) - a for v, a in zip(step.draft, whole, strict=True)
    ]
    # q_t stays 0 or more while t · (p − q) ≤ p at every token.
    farthest = min(Fraction(a, -move) for a, move in zip(whole, moves, strict=True) if move < 0)
    power = math.floor(farthest).bit_length() - 1
    points = []
    for j in range(power, power - form.digits - 5, -1):
        up, down = 2 ** max(j, 0), 2 ** max(-j, 0)
        q = np.array(
            [
                _stored(a * down + move * up, common * down, form)
                for a, move in zip(whole, moves, strict=True)
            ]
        ).astype(form.dtype)
        accepted = np.minimum(p, q)
        kept, owed = _running(accepted, form), _running(p - accepted, form)
        t = Fraction(up, down)
        complement = _number(np.ones(1, form.dtype) - kept)
        points.append(Point(t, t * step.rejection, (_number(owed), complement)))
    return tuple(points)


# Coins ------------------------------------------------------------------------------------------


def coin_passes(
    ratio: Fraction, kind: Type, *, test: Literal["<", "<="] = "<", bits: int = U_BITS
) -> Fraction:
    """The probability that a uniform number, stored in a type, passes the test against a ratio.

    u = k/2^bits with k uniform on 0 … 2^bits − 1 is rounded to the type and compared. With u < 1
    the rest is a wrong rejection: u has become 1. With u <= 0 it is a wrong acceptance of a token
    whose p is 0: u is 0, or has become 0.

    Parameters
    ----------
    ratio : Fraction
        min(1, p/q), 0 or more.
    kind : Type
    test : "<" or "<="
    bits : int
        From 1 to `MOST_BITS`.

    Raises
    ------
    LabError
        When `bits` is out of range.

    >>> 1 - coin_passes(Fraction(1), "float16"), coin_passes(Fraction(0), "float16", test="<=")
    (Fraction(1, 4096), Fraction(1, 16777216))
    """
    if not 1 <= bits <= MOST_BITS:
        raise LabError(f"u has {bits} random bits; accepted are 1 to {MOST_BITS:,}.")
    passes: Callable[[Fraction, Fraction], bool] = {"<": operator.lt, "<=": operator.le}[test]
    whole = 2**bits
    low, high = 0, whole  # rounding keeps the order: below `low` all pass, from `high` on none
    while low < high:
        middle = (low + high) // 2
        if passes(stored(Fraction(middle, whole), kind), ratio):
            low = middle + 1
        else:
            high = middle
    return Fraction(low, whole)


# Types that mix ---------------------------------------------------------------------------------


def law_with_rounded_proposal(step: ExactStep, kind: Type) -> Exact:
    """The output law when proposals are drawn from q as a type stores it, and q itself is tested.

    The stored q is divided exactly by its sum; min(1, p/q) and r are those of the given q.
    """
    proposal = tuple(stored(mass, kind) for mass in step.draft)
    whole = total(proposal)
    kept = tuple(
        mass / whole * a / q if q else Fraction()
        for mass, a, q in zip(proposal, step.accepted, step.draft, strict=True)
    )
    if step.residual is None:
        return kept
    rejected = 1 - total(kept)
    return tuple(k + rejected * r for k, r in zip(kept, step.residual, strict=True))


def weights_through_ratio(step: ExactStep, kind: Type) -> Exact:
    """The residual's weights as p · (1 − q/p), the ratio and its complement each rounded once.

    That is what log p + log(1 − q/p) gives when the logarithms themselves are exact: with a small
    ratio the argument becomes 1, with one near 1 few places of it are left. The weights are those
    of max(p − q, 0), not divided by Z.
    """
    return tuple(
        p * stored(1 - stored(q / p, kind), kind) if p > q else Fraction()
        for p, q in zip(step.target, step.draft, strict=True)
    )
