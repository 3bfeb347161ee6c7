"""Altair charts as templates without data, and the tables that fill them.

A template depends only on its roles and on the theme, so it is built once a process; a page hands
data and template over apart. Colours go by role and are told apart by position, outline or dash
as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import altair as alt
import pyarrow as pa

from lab.figures import exact, short
from lab.groups import Groups, group_labels, leading, together
from lab.precision import FORMULAS, Break, Point, Type
from lab.prediction import Comparison
from lab.step import ExactStep
from lab.vectors import Exact

Role = Literal["accepted", "owed", "thrown away", "prediction", "law"]

MOST_BARS = 30
"""Tokens that a chart draws one by one, the last bar included that stands for the others."""

# Okabe–Ito's blue, orange and green, a grey, and the purple of the bars that people set; each with
# the ink that reads on it.
_FILL: dict[str, str] = {
    "accepted": "#0072B2",
    "owed": "#E69F00",
    "thrown away": "#A6A6A6",
    "prediction": "#8E5BB5",
    "law": "#009E73",
}
_INK: dict[str, str] = dict.fromkeys(_FILL, "#000000") | {
    "accepted": "#FFFFFF",
    "prediction": "#FFFFFF",
}
_LINE = {False: "#1A1A1A", True: "#F5F5F5"}  # p, q and outlines, on light and on dark
_HEIGHT = 400

_Side = tuple[Literal["left", "right"], int, float]  # alignment, pixels, place in the band
_SIDES: tuple[_Side, _Side] = (("right", -5, -0.08), ("left", 5, 1.08))


@dataclass(frozen=True)
class Sign:
    """One entry of a legend: a filled square, or a line that is solid or dashed."""

    text: str
    fill: str | None = None
    line: str | None = None
    dashed: bool = False


@dataclass(frozen=True)
class Picture:
    """What a page draws: a Vega-Lite template, its data, the same in words, and a legend.

    The legend stands outside the chart, where it wraps on a narrow screen.
    """

    spec: dict[str, Any]
    data: pa.Table
    alt: str
    legend: tuple[Sign, ...]


@dataclass(frozen=True)
class _Bar:
    """One drawn piece of one token."""

    label: str
    part: str
    low: Fraction
    high: Fraction
    role: str

    @property
    def size(self) -> Fraction:
        return self.high - self.low


def ledger(step: ExactStep, tokens: Sequence[str], *, dark: bool = False) -> Picture:
    """Accepted mass from the floor up, on it what is owed up to p or thrown away up to q."""
    groups = chart_groups(step)
    labels = group_labels(tokens, groups)
    kept, owed, thrown, p, q = (
        together(v, groups)
        for v in (step.accepted, step.shortfall, step.excess, step.target, step.draft)
    )
    parts = ("accepted min(p, q)", "owed p − q", "thrown away q − p")
    bars = _stacked(
        labels, zip(parts, ("accepted", "owed", "thrown away"), (kept, owed, thrown), strict=True)
    )
    words = "; ".join(
        f"{label}: p {short(a)}, q {short(b)}, accepted {short(k)}, "
        + (
            ", ".join(
                f"{what} {short(size)}" for what, size in (("owed", o), ("thrown away", t)) if size
            )
            or "nothing owed"
        )
        for label, a, b, k, o, t in zip(labels, p, q, kept, owed, thrown, strict=True)
    )
    return Picture(
        _stack(parts, ("accepted", "owed", "thrown away"), ("p", "q"), *_shape(labels), dark),
        _table(bars, {"p": p, "q": q}, labels),
        f"Ledger of one step. {words}.",
        (*_squares(parts, ("accepted", "owed", "thrown away")), Sign("p"), Sign("q", dashed=True)),
    )


def reconstruction(step: ExactStep, tokens: Sequence[str], *, dark: bool = False) -> Picture:
    """Accepted mass plus Z · r, against the outline of p."""
    groups = chart_groups(step)
    kept, added, p = (together(v, groups) for v in (step.accepted, step.correction, step.target))
    return composed(
        "Reconstruction",
        {"accepted min(p, q)": kept, "correction Z · r": added},
        ("p", p),
        group_labels(tokens, groups),
        dark=dark,
    )


def composed(
    title: str,
    pieces: Mapping[str, Exact],
    line: tuple[str, Exact],
    labels: Sequence[str],
    *,
    dark: bool = False,
) -> Picture:
    """What is kept and, stacked on it, what comes as a replacement, against an outline.

    Parameters
    ----------
    title : what the words for the picture begin with
    pieces : the two parts of each bar by name, from the floor up
    line : name and values of the outline
    labels : one a bar
    """
    parts, roles = tuple(pieces), ("accepted", "owed")
    (kept, added), (name, outline) = pieces.values(), line
    bars = _stacked(labels, zip(parts, roles, (kept, added), strict=True))
    words = "; ".join(
        f"{label}: {short(k)} + {short(a)} = {short(k + a)}, {name} {short(t)}"
        for label, k, a, t in zip(labels, kept, added, outline, strict=True)
    )
    return Picture(
        _stack(parts, roles, (name,), *_shape(labels), dark),
        _table(bars, {name: outline}, labels),
        f"{title}. {words}.",
        (*_squares(parts, roles), Sign(name)),
    )


def law(
    values: Exact, labels: Sequence[str], part: str, role: Role = "owed", *, dark: bool = False
) -> Picture:
    """One bar for each label."""
    bars = [_Bar(label, part, Fraction(), v, role) for label, v in zip(labels, values, strict=True)]
    words = "; ".join(f"{bar.label} {short(bar.high)}" for bar in bars)
    return Picture(
        _side_by_side((part,), (role,), "probability", *_shape(labels), dark),
        _table(bars, {}, labels),
        f"{part}. {words}.",
        _squares((part,), (role,)),
    )


def residual(step: ExactStep, tokens: Sequence[str], *, dark: bool = False) -> Picture:
    """The bars of r. There must be one: a missing residual is said in words, not drawn."""
    assert step.residual is not None
    groups = chart_groups(step)
    return law(
        together(step.residual, groups), group_labels(tokens, groups), "residual r", dark=dark
    )


def against_truth(
    comparison: Comparison,
    labels: Sequence[str],
    role: Role,
    unit: str = "probability",
    *,
    dark: bool = False,
) -> Picture:
    """Prediction and truth side by side, the truth in the colour of its role; both have bars."""
    prediction, truth = comparison.prediction.values, comparison.truth
    assert prediction is not None and truth is not None
    parts = ("your prediction", "truth")
    bars = [
        _Bar(label, part, Fraction(), value, part_role)
        for part, part_role, values in zip(
            parts, ("prediction", role), (prediction, truth), strict=True
        )
        for label, value in zip(labels, values, strict=True)
    ]
    words = "; ".join(
        f"{label}: predicted {short(p)}, truth {short(t)}"
        for label, p, t in zip(labels, prediction, truth, strict=True)
    )
    return Picture(
        _side_by_side(parts, ("prediction", role), unit, *_shape(labels), dark),
        _table(bars, {}, labels),
        f"Prediction and truth. {words}.",
        _squares(parts, ("prediction", role)),
    )


def _squares(parts: Sequence[str], roles: Sequence[str]) -> tuple[Sign, ...]:
    return tuple(Sign(part, _FILL[role]) for part, role in zip(parts, roles, strict=True))


@dataclass(frozen=True)
class Sample:
    """Shares that were counted, with an interval for each.

    Attributes
    ----------
    name, role : what it is called, and the role that decides its colour
    shares : counts divided by the number of draws
    intervals : (low, high) for each share
    """

    name: str
    role: Role
    shares: Exact
    intervals: Sequence[tuple[float, float]]


def sampled(
    samples: Sequence[Sample], line: tuple[str, Exact], labels: Sequence[str], *, dark: bool = False
) -> Picture:
    """Counted shares as bars with intervals, side by side, against the outline of a law."""
    name, outline = line
    rows = [
        {
            "token": label,
            "part": sample.name,
            "low": 0.0,
            "high": float(share),
            "from": interval[0],
            "to": interval[1],
            "exact": f"{exact(share)}, interval {interval[0]:.4f} to {interval[1]:.4f}",
        }
        for sample in samples
        for label, share, interval in zip(labels, sample.shares, sample.intervals, strict=True)
    ]
    rows += [
        {
            "token": label,
            "part": name,
            "low": float(value),
            "high": float(value),
            "from": float(value),
            "to": float(value),
            "exact": exact(value),
        }
        for label, value in zip(labels, outline, strict=True)
    ]
    words = "; ".join(
        f"{label}: {name} {short(value)}, "
        + ", ".join(
            f"{s.name} {short(s.shares[i])} ({s.intervals[i][0]:.4f} to {s.intervals[i][1]:.4f})"
            for s in samples
        )
        for i, (label, value) in enumerate(zip(labels, outline, strict=True))
    )
    parts, roles = tuple(s.name for s in samples), tuple(s.role for s in samples)
    return Picture(
        _with_intervals(parts, roles, name, *_shape(labels), dark),
        pa.Table.from_pylist(rows),
        f"Counted shares. {words}.",
        (*_squares(parts, roles), Sign(name)),
    )


def by_draft_length(
    series: Mapping[str, Exact], title: str, best: int | None = None, *, dark: bool = False
) -> Picture:
    """Points joined by lines over K = 0, 1, …, one line a series; the best K has a ring."""
    rows = [
        {
            "k": k,
            "series": name,
            "value": float(value),
            "exact": exact(value),
            "best": "best K" if k == best and name == next(iter(series)) else "",
        }
        for name, values in series.items()
        for k, value in enumerate(values)
    ]
    words = "; ".join(
        f"{name}: {', '.join(f'K {k} {short(value)}' for k, value in enumerate(values))}"
        for name, values in series.items()
    )
    names = tuple(series)
    return Picture(
        _lines(names, title, dark),
        pa.Table.from_pylist(rows),
        f"{title}. {words}." + (f" Best K {best}." if best is not None else ""),
        _line_signs(names),
    )


def along(
    series: Mapping[str, Sequence[float]], title: str, first: int = 1, *, dark: bool = False
) -> Picture:
    """A number for each position, one line a series; what is not a number leaves a gap.

    Parameters
    ----------
    series : up to three, by name
    title : of the upright axis
    first : the number of the first position
    """
    names = tuple(series)
    rows = [
        {"k": first + n, "series": name, "value": value if math.isfinite(value) else None}
        for name, values in series.items()
        for n, value in enumerate(values)
    ]
    words = []
    for name, values in series.items():
        known = [(value, first + n) for n, value in enumerate(values) if math.isfinite(value)]
        words.append(
            f"{name} from {min(known)[0]:.4g} (position {min(known)[1]:,}) to {max(known)[0]:.4g} "
            f"(position {max(known)[1]:,})"
            if known
            else f"{name} is not known anywhere"
        )
    return Picture(
        _along(names, title, dark),
        pa.Table.from_pylist(rows),
        f"{title} along {len(next(iter(series.values()))):,} positions. {'; '.join(words)}.",
        _line_signs(names),
    )


def _line_signs(names: Sequence[str]) -> tuple[Sign, ...]:
    return tuple(
        Sign(name, line=colour, dashed=dash is not None)
        for name, (colour, dash) in zip(names, _SERIES, strict=False)
    )


def error_by_distance(
    curves: Mapping[Type, Sequence[Point]], here: Fraction, *, dark: bool = False
) -> dict[Type, Picture]:
    """One picture a type: the relative error of Z against the distance between p and q.

    Both axes are logarithmic. An error of 0, which has no logarithm, is drawn on the lower edge.
    Where a formula breaks, the shape of its point says how.

    Parameters
    ----------
    curves : mapping of str to sequence of Point
        Type → its points, from far to near; every distance within the range of floats.
    here : Fraction
        The distance of the pair at hand, to which the axis reaches; without a mark where that
        would leave the curve too little room.
    """
    legend = tuple(
        Sign(name, line=colour, dashed=dash is not None)
        for name, (colour, dash) in zip(FORMULAS, _SERIES, strict=False)
    )
    pictures = {}
    for kind, curve in curves.items():
        distances = [float(point.distance) for point in curve]
        errors = [float(error) for point in curve for error in point.errors if error]
        near, far = _decades([*distances, float(here)])
        seen = far - near <= _MOST_DECADES
        if not seen:
            near, far = _decades(distances)
        low, high = _decades([*errors, 1.0])
        pictures[kind] = Picture(
            _errors((near, far), (low, high), dark),
            _error_table(curve, here if seen else None, 10.0**low),
            _error_words(kind, curve),
            legend,
        )
    return pictures


_MOST_DECADES = 40
"""The widest axis of distances; float64's own curve takes half of it."""


def marked(picture: Picture) -> bool:
    """Whether a picture of `error_by_distance` marks the pair at hand."""
    return "this pair" in picture.data["series"].to_pylist()


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten that enclose the values, with room for a point below."""
    return math.floor(math.log10(min(values)) - 0.1), math.ceil(math.log10(max(values)))


def _error_table(curve: Sequence[Point], here: Fraction | None, least: float) -> pa.Table:
    rows = [
        {
            "distance": float(point.distance),
            "error": max(float(error), least),
            "series": name,
            "mark": how or name,
            "gives": short(value),
            "exact": short(point.distance),
            "off": short(error),
            "how": how or "not broken",
        }
        # The second first: where both points are, the larger one is behind.
        for i, name in reversed([*enumerate(FORMULAS)])
        for point in curve
        for value, error, how in [(point.values[i], point.errors[i], point.breaks[i])]
    ]
    if here is not None:
        texts = dict.fromkeys(("series", "mark"), "this pair")
        texts |= dict.fromkeys(("gives", "off", "how"), "") | {"exact": short(here)}
        rows.append({"distance": float(here), "error": 1.0, **texts})
    return pa.Table.from_pylist(rows)


def _error_words(kind: str, curve: Sequence[Point]) -> str:
    """How far each formula is off at the farthest point, and where it first breaks."""
    parts = []
    for i, name in enumerate(FORMULAS):
        first = next((point for point in curve if point.breaks[i]), None)
        end = f"breaks first at {short(first.distance)}: {first.breaks[i]}" if first else "holds"
        far = curve[0]
        parts.append(f"{name} off by {short(far.errors[i])} at {short(far.distance)}, {end}")
    return f"Relative error of Z in {kind}, against the distance of p and q. {'; '.join(parts)}."


@lru_cache(maxsize=64)
def chart_groups(step: ExactStep) -> Groups:
    """The tokens that charts of `step` draw one by one: those with the most of p or q."""
    return leading(tuple(map(max, step.target, step.draft)), MOST_BARS)


def _stacked(labels: Sequence[str], layers: Iterable[tuple[str, str, Exact]]) -> list[_Bar]:
    floor = [Fraction()] * len(labels)
    bars = []
    for part, role, sizes in layers:
        for i, (label, size) in enumerate(zip(labels, sizes, strict=True)):
            bars.append(_Bar(label, part, floor[i], floor[i] + size, role))
            floor[i] += size
    return bars


def _table(bars: Sequence[_Bar], lines: dict[str, Exact], labels: Sequence[str]) -> pa.Table:
    """The lines, and the pieces: on the lowest ones, which every token has, those with a size.

    Without lines every bar is there, so that a 0 is seen to be one.
    """
    top = max((bar.high for bar in bars), default=Fraction(1)) or Fraction(1)
    texts = [short(bar.size) for bar in bars]
    count = len(labels)
    room = 9 if count <= 3 else 7 if count <= 5 else 5 if count <= 8 else 4 if count <= 12 else 0
    fit = max(map(len, texts), default=0) <= room  # all numbers or none
    rows = [
        {
            "token": label,
            "part": name,
            "low": float(value),
            "high": float(value),
            "ink": "",
            "text": name if len(labels) <= 8 else "",
            "exact": exact(value),
        }
        for name, values in lines.items()
        for label, value in zip(labels, values, strict=True)
    ]
    rows += [
        {
            "token": bar.label,
            "part": bar.part,
            "low": float(bar.low),
            "high": float(bar.high),
            "ink": _INK[bar.role],
            "text": text if fit and (bar.size > top / 14 or not lines) else "",
            "exact": exact(bar.size),
        }
        for bar, text in zip(bars, texts, strict=True)
        if bar.size or not lines or bar.part == bars[0].part
    ]
    return pa.Table.from_pylist(rows)


def _shape(labels: Sequence[str]) -> tuple[bool, bool]:
    """What of the labels decides the template: whether they are turned, whether bars are few."""
    # On a phone a band is as wide as a dozen letters, even with few tokens.
    turned = sum(map(len, labels)) + 2 * len(labels) > 80 or max(map(len, labels)) > 14
    return turned, len(labels) <= 12


def _x(turned: bool, **options: Any) -> alt.X:  # noqa: ANN401
    axis = alt.Axis(
        labelAngle=-40 if turned else 0,
        labelLimit=0,
        labelOverlap=False,
        labelFontSize=14,
        title=None,
        ticks=False,
        labelPadding=8,
    )
    return alt.X("token", type="nominal", sort=None, axis=axis, **options)


def _y(title: str) -> alt.Y:
    axis = alt.Axis(labelFontSize=13, titleFontSize=13, tickCount=6)
    return alt.Y("low", type="quantitative", title=title, axis=axis, scale=alt.Scale(zero=True))


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("token", type="nominal"),
        alt.Tooltip("part", type="nominal", title="what"),
        alt.Tooltip("exact", type="nominal", title="exact value"),
    ]


def _colour(parts: tuple[str, ...], roles: tuple[str, ...]) -> alt.Color:
    return alt.Color(
        "part",
        type="nominal",
        scale=alt.Scale(domain=list(parts), range=[_FILL[role] for role in roles]),
        legend=None,
    )


@lru_cache(maxsize=64)
def _stack(
    parts: tuple[str, ...],
    roles: tuple[str, ...],
    lines: tuple[str, ...],
    turned: bool,
    few: bool,
    dark: bool,
) -> dict[str, Any]:
    one_of = alt.FieldOneOfPredicate(field="part", oneOf=list(parts))
    line_of = alt.FieldOneOfPredicate(field="part", oneOf=list(lines))
    band = alt.Scale(paddingInner=0.45 if few else 0.25, paddingOuter=0.3)
    base = alt.Chart()
    bars = (
        base.transform_filter(one_of)
        .mark_bar(stroke=_LINE[dark], strokeWidth=0.8)
        .encode(
            x=_x(turned, scale=band),
            y=_y("probability mass"),
            y2=alt.Y2("high"),
            color=_colour(parts, roles),
            tooltip=_tooltip(),
        )
    )
    rules = (
        base.transform_filter(line_of)
        .mark_rule(strokeWidth=3, color=_LINE[dark])
        .encode(
            x=_x(turned, bandPosition=-0.08),
            x2=alt.X2("token", bandPosition=1.08),
            y=_y("probability mass"),
            strokeDash=alt.StrokeDash(
                "part",
                type="nominal",
                scale=alt.Scale(domain=list(lines), range=[[1, 0], [5, 4]][: len(lines)]),
                legend=None,
            ),
            tooltip=_tooltip(),
        )
    )
    names = [  # p on the left and q on the right, so that equal lines keep both names
        base.transform_filter(alt.FieldEqualPredicate(field="part", equal=name))
        .mark_text(align=align, dx=dx, fontSize=16, fontStyle="italic", color=_LINE[dark])
        .encode(
            x=_x(turned, bandPosition=position),
            y=_y("probability mass"),
            text=alt.Text("text", type="nominal"),
        )
        for name, (align, dx, position) in zip(lines, _SIDES, strict=False)
    ]
    numbers = (
        base.transform_filter(one_of)
        .transform_filter("datum.high > datum.low")
        .transform_calculate(middle="(datum.low + datum.high) / 2")
        .mark_text(fontSize=15, fontWeight="bold")
        .encode(
            x=_x(turned),
            y=alt.Y("middle", type="quantitative"),
            text=alt.Text("text", type="nominal"),
            color=alt.Color("ink", type="nominal", scale=None),
        )
    )
    return _template(alt.layer(bars, rules, *names, numbers))


@lru_cache(maxsize=64)
def _side_by_side(
    parts: tuple[str, ...],
    roles: tuple[str, ...],
    unit: str,
    turned: bool,
    few: bool,
    dark: bool,
) -> dict[str, Any]:
    base = alt.Chart()
    offset = (
        {"xOffset": alt.XOffset("part", type="nominal", sort=list(parts))} if len(parts) > 1 else {}
    )
    bars = base.mark_bar(stroke=_LINE[dark], strokeWidth=0.8).encode(
        x=_x(turned, scale=alt.Scale(paddingInner=0.4 if few else 0.2, paddingOuter=0.2)),
        y=_y(unit),
        y2=alt.Y2("high"),
        color=_colour(parts, roles),
        tooltip=_tooltip(),
        **offset,
    )
    numbers = base.mark_text(baseline="bottom", dy=-4, fontSize=14, color=_LINE[dark]).encode(
        x=_x(turned),
        y=alt.Y("high", type="quantitative"),
        text=alt.Text("text", type="nominal"),
        **offset,
    )
    return _template(alt.layer(bars, numbers))


@lru_cache(maxsize=64)
def _with_intervals(
    parts: tuple[str, ...], roles: tuple[str, ...], line: str, turned: bool, few: bool, dark: bool
) -> dict[str, Any]:
    base = alt.Chart()
    of_samples = base.transform_filter(alt.FieldOneOfPredicate(field="part", oneOf=list(parts)))
    offset = alt.XOffset("part", type="nominal", sort=list(parts))
    band = alt.Scale(paddingInner=0.4 if few else 0.2, paddingOuter=0.2)
    bars = of_samples.mark_bar(stroke=_LINE[dark], strokeWidth=0.8).encode(
        x=_x(turned, scale=band),
        xOffset=offset,
        y=_y("share of the draws"),
        y2=alt.Y2("high"),
        color=_colour(parts, roles),
        tooltip=_tooltip(),
    )
    intervals = of_samples.mark_rule(aria=False, strokeWidth=3, color=_LINE[dark]).encode(
        x=_x(turned),
        xOffset=offset,
        y=alt.Y("from", type="quantitative"),
        y2=alt.Y2("to"),
    )
    outline = (
        base.transform_filter(alt.FieldEqualPredicate(field="part", equal=line))
        .mark_rule(strokeWidth=3, color=_LINE[dark])
        .encode(
            x=_x(turned, bandPosition=-0.08),
            x2=alt.X2("token", bandPosition=1.08),
            y=_y("share of the draws"),
            tooltip=_tooltip(),
        )
    )
    return _template(alt.layer(bars, intervals, outline))


# One colour and one dash for each series, in their order.
_SERIES = (("#0072B2", None), ("#E69F00", [6, 4]), ("#009E73", [2, 3]))


def _series_colour(names: Sequence[str]) -> alt.Color:
    return alt.Color(
        "series",
        type="nominal",
        scale=alt.Scale(domain=list(names), range=[colour for colour, _ in _SERIES]),
        legend=None,
    )


def _series_dash(names: Sequence[str]) -> alt.StrokeDash:
    return alt.StrokeDash(
        "series",
        type="nominal",
        scale=alt.Scale(domain=list(names), range=[dash or [1, 0] for _, dash in _SERIES]),
        legend=None,
    )


@lru_cache(maxsize=16)
def _lines(names: tuple[str, ...], title: str, dark: bool) -> dict[str, Any]:
    colour = _series_colour(names)
    x = alt.X(
        "k",
        type="ordinal",
        title="drafts K",
        axis=alt.Axis(labelAngle=0, labelFontSize=14, titleFontSize=13),
    )
    y = alt.Y("value", type="quantitative", title=title, scale=alt.Scale(zero=True))
    base = alt.Chart()
    dash = _series_dash(names)
    shape = alt.Shape("series", type="nominal", scale=alt.Scale(domain=list(names)), legend=None)
    tooltip = [
        alt.Tooltip("series", type="nominal", title="what"),
        alt.Tooltip("k", type="ordinal", title="K"),
        alt.Tooltip("exact", type="nominal", title="exact value"),
    ]
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, strokeDash=dash, color=colour)
    points = base.mark_point(size=90, filled=True).encode(
        x=x, y=y, shape=shape, tooltip=tooltip, color=colour
    )
    best = base.transform_filter("datum.best != ''")
    ring = best.mark_point(
        aria=False, size=420, shape="circle", strokeWidth=2.5, color=_LINE[dark]
    ).encode(x=x, y=y)
    word = best.mark_text(
        aria=False, dy=-22, fontSize=14, fontWeight="bold", color=_LINE[dark]
    ).encode(x=x, y=y, text=alt.Text("best", type="nominal"))
    return _template(alt.layer(lines, points, ring, word))


@lru_cache(maxsize=16)
def _along(names: tuple[str, ...], title: str, dark: bool) -> dict[str, Any]:
    line = (
        alt.Chart()
        .mark_line(strokeWidth=2, point={"size": 30, "filled": True})
        .encode(
            x=alt.X(
                "k",
                type="quantitative",
                title="position",
                scale=alt.Scale(zero=False, nice=False),
                axis=alt.Axis(labelFontSize=14, titleFontSize=13, tickMinStep=1, format=",d"),
            ),
            y=alt.Y("value", type="quantitative", title=title),
            color=_series_colour(names),
            strokeDash=_series_dash(names),
            tooltip=[
                alt.Tooltip("series", type="nominal", title="what"),
                alt.Tooltip("k", type="quantitative", title="position"),
                alt.Tooltip("value", type="quantitative", format=".6g"),
            ],
        )
    )
    return _template(alt.layer(line))


# The shapes of points: sound ones by formula, broken ones by how.
BREAK_SHAPES: dict[Break, tuple[str, str]] = {
    "gives 0": ("diamond", "◆"),
    "gives less than 0": ("triangle-down", "▼"),
    "off by its own size or more": ("cross", "✚"),
}


@lru_cache(maxsize=64)
def _errors(x_powers: tuple[int, int], y_powers: tuple[int, int], dark: bool) -> dict[str, Any]:
    """Axes of distances and errors between these powers of ten."""
    axis: dict[str, Any] = {
        "format": "~e",
        "labelFontSize": 13,
        "titleFontSize": 13,
        "tickCount": 5,
    }
    x = alt.X(
        "distance",
        type="quantitative",
        title="distance between p and q, exact Z",
        scale=alt.Scale(type="log", domain=[10.0**power for power in x_powers]),
        axis=alt.Axis(**axis, grid=False),
    )
    y = alt.Y(
        "error",
        type="quantitative",
        title="relative error of Z",
        scale=alt.Scale(type="log", domain=[10.0**power for power in y_powers]),
        axis=alt.Axis(**axis),
    )
    names = list(FORMULAS)
    colour, dash = _series_colour(names), _series_dash(names)
    shapes = ["circle", "square", *(shape for shape, _ in BREAK_SHAPES.values())]
    shape = alt.Shape(
        "mark",
        type="nominal",
        scale=alt.Scale(domain=[*names, *BREAK_SHAPES], range=shapes),
        legend=None,
    )
    size = alt.Size(
        "series", type="nominal", scale=alt.Scale(domain=names, range=[35, 90]), legend=None
    )
    tooltip = [
        alt.Tooltip("series", type="nominal", title="Z as"),
        alt.Tooltip("gives", type="nominal", title="gives"),
        alt.Tooltip("exact", type="nominal", title="exact Z, the distance"),
        alt.Tooltip("off", type="nominal", title="relative error"),
        alt.Tooltip("how", type="nominal", title="broken"),
    ]
    base = alt.Chart()
    curves = base.transform_filter(alt.FieldOneOfPredicate(field="series", oneOf=names))
    lines = curves.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = curves.mark_point(filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, size=size, tooltip=tooltip
    )
    here = base.transform_filter(alt.FieldEqualPredicate(field="series", equal="this pair"))
    rule = here.mark_rule(aria=False, strokeWidth=2, color=_LINE[dark]).encode(x=x)
    word = here.mark_text(
        aria=False, dy=-14, fontSize=13, fontWeight="bold", color=_LINE[dark]
    ).encode(x=x, y=alt.value(0), text=alt.Text("series", type="nominal"))
    whole = base.mark_rule(aria=False, strokeDash=[2, 3], color=_LINE[dark]).encode(y=alt.datum(1))
    return _template(alt.layer(whole, rule, lines, points, word), 300)


def _template(chart: alt.LayerChart | alt.FacetChart, height: int = _HEIGHT) -> dict[str, Any]:
    spec: dict[str, Any] = chart.properties(height=height, padding={"top": 20}).to_dict(
        validate=False
    )
    for part in (spec, *spec["layer"]):  # the data comes from the page
        for key in ("$schema", "config", "data", "datasets"):
            part.pop(key, None)
    return spec
