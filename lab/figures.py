"""Numbers as text: exact for files and fields, rounded for reading."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

SIGNIFICANT = 17
"""Digits that identify a float64; used when a decimal does not terminate."""

PLACES = 4
"""Decimal places on screen."""

_PRINTABLE = 13_000  # bits: Python prints whole numbers of up to 4,300 digits
_SMALL = Fraction(1, 100)  # four places hold fewer than three digits below it
_LARGE = 10**9  # from here on, numbers for reading have an exponent

MOST_PLACES = 1_000
"""Decimals that are written out; what needs more is written as one that does not end."""

_FINEST = 10**MOST_PLACES


def terminates(number: Fraction) -> bool:
    """Whether the decimal expansion of `number` ends, within `MOST_PLACES`."""
    return _places(number) is not None


def _places(number: Fraction) -> int | None:
    """How many decimals `number` has; None when they do not end within `MOST_PLACES`."""
    if _FINEST % number.denominator:  # said at once of denominators with thousands of digits
        return None
    rest, count = number.denominator, {2: 0, 5: 0}
    for prime in count:
        while rest % prime == 0:
            rest, count[prime] = rest // prime, count[prime] + 1
    return max(count.values())


def decimal(number: Fraction) -> str:
    """`number` as a decimal: exact when it terminates, else 17 significant digits.

    >>> decimal(Fraction(3, 4)), decimal(Fraction(1, 10**7)), decimal(Fraction(1, 3))
    ('0.75', '1e-7', '0.33333333333333333')
    """
    places = _places(number)
    if places is None:
        context = Context(prec=SIGNIFICANT, Emax=10**9, Emin=-(10**9))
        rounded = context.divide(Decimal(number.numerator), Decimal(number.denominator))
        negative, digits, power = rounded.as_tuple()
        assert isinstance(power, int)  # a finite number: never NaN or infinity
        return _write(bool(negative), "".join(map(str, digits)), power)
    return _write(
        number < 0, str(abs(number.numerator) * 10**places // number.denominator), -places
    )


def _write(negative: bool, text: str, power: int) -> str:
    """The digits in `text` times 10**power, positional unless the number is tiny."""
    sign = "-" if negative else ""
    point = len(text) + power  # where the point stands, counted from the first digit
    if text.strip("0") and point < -5:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{sign}{text[0]}{fraction}e{point - 1}"
    if power >= 0:
        return sign + text + "0" * power
    if point <= 0:
        return f"{sign}0.{'0' * -point}{text}"
    return f"{sign}{text[:point]}.{text[point:]}"


def exact(number: Fraction) -> str:
    """`number` as text that reads back as the same fraction, a short decimal if there is one.

    With thousands of digits it is rounded after all, and marked so.
    """
    if number.numerator.bit_length() > _PRINTABLE or number.denominator.bit_length() > _PRINTABLE:
        return f"≈{decimal(number)}"
    text = decimal(number) if terminates(number) else str(number)
    return text if len(text) <= 24 else min(text, str(number), key=len)


def short(number: Fraction | float) -> str:
    """`number` for reading, with ``≈`` in front when it was rounded.

    A number that is not 0 never reads 0, and one that is not 1 never reads 1.

    >>> short(Fraction(3, 4)), short(Fraction(1, 3)), short(Fraction(10**7 - 1, 10**7))
    ('0.75', '≈0.3333', '1 − 1e-7')
    """
    value = Fraction(number)
    size, minus = abs(value), "−" if value < 0 else ""
    if size >= _LARGE:
        return _marked(minus, *_scientific(size))
    if (size * 10**PLACES).denominator == 1:
        return minus + decimal(size)
    rounded = round(size, PLACES)
    if not rounded:
        return _marked(minus, *_scientific(size))
    if rounded == 1:
        return _beside_1(value)
    return _marked(minus, f"{float(rounded):.{PLACES}f}", False)


def fine(number: Fraction | float) -> str:
    """`short`, but with three significant digits where four places would leave fewer.

    >>> fine(Fraction(1, 15000)), fine(Fraction(1025, 1024)), fine(Fraction(1, 3))
    ('≈6.67e-5', '≈1 + 9.77e-4', '≈0.3333')
    """
    value = Fraction(number)
    size = abs(value)
    if (value * 10**PLACES).denominator == 1:
        return short(value)
    if size < _SMALL:
        return _marked("−" if value < 0 else "", *_scientific(size))
    return _beside_1(value) if abs(size - 1) < _SMALL else short(value)


def _beside_1(value: Fraction) -> str:
    """A number near 1 or −1, by what it differs from it."""
    size = abs(value)
    tail, is_exact = _scientific(abs(size - 1))
    sign = "+" if (size > 1) == (value > 0) else "−"
    return _marked("−" if value < 0 else "", f"1 {sign} {tail}", is_exact)


def _marked(minus: str, text: str, is_exact: bool) -> str:
    return f"{'' if is_exact else '≈'}{minus}{text}"


def _scientific(value: Fraction) -> tuple[str, bool]:
    """Three significant digits, and whether they are all."""
    rounded = Context(prec=3, Emax=10**9, Emin=-(10**9)).divide(
        Decimal(value.numerator), Decimal(value.denominator)
    )
    mantissa, power = f"{rounded.normalize():e}".split("e")
    return f"{mantissa}e{int(power)}", Fraction(rounded) == value
