"""Page Precision: the same step in four float types, beside the exact one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import get_args

import streamlit as st

from lab import charts
from lab.figures import exact
from lab.groups import group_labels, together
from lab.labels import visible
from lab.precision import (
    CASES,
    FORMULAS,
    TYPES,
    Identity,
    InPrecision,
    Sums,
    Tolerance,
    Type,
    coin_passes,
    error_curve,
    exact_identities,
    in_precision,
)
from lab.prediction import Prediction, compare
from lab.scenario import NEAR_EQUAL, Scenario
from lab.step import ExactStep
from lab.vectors import Exact
from pages.parts import state
from pages.parts.entry import scenario_entry
from pages.parts.export import share_link
from pages.parts.glossary import glossary
from pages.parts.head import head
from pages.parts.laws import misses_of
from pages.parts.predict import (
    commit_button,
    dark,
    draw,
    just_inspect,
    reset_button,
    try_again,
)
from pages.parts.words import counted, literal, size

QUESTION = "precision"
ASKED: Type = "float16"
"""The type that the question is about."""

ANSWERS = {"Yes": Fraction(1), "No": Fraction(0)}
"""What a prediction holds: the bar of “a residual is left”, which is full or empty."""

MOST_TOKENS = 1_000
"""Tokens that four types go through quickly enough for a page."""

NEAREST = Fraction(1, 10**300)
"""Distances below this are not drawn: a chart's numbers are floats."""

BITS = (24, 32, 53, 64)

DEFAULTS = {
    state.INSPECT: False,
    state.FRACTIONS: False,
    state.ENTRY: "Text",
    state.SHOWN_TYPE: ASKED,
    state.U_BITS: BITS[0],
}


def main() -> None:
    """The page."""
    head(
        "Precision",
        "A model's p and q are stored in a float type, and each entry is rounded. Where p and q "
        "are near each other, the residual lives on their difference: rounding is magnified by "
        "**1/Z**, and may leave nothing to draw from.",
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        _near_equal()
        scenario = scenario_entry()
        glossary()
        if scenario:
            share_link(scenario)
    with right:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            inspecting = just_inspect()
            reset_button(DEFAULTS, QUESTION)
        if scenario is None:
            st.info("Results appear here once tokens, p and q fit together.")
            return
        if len(scenario.tokens) > MOST_TOKENS:
            st.info(
                f"{len(scenario.tokens):,} tokens: this page goes through up to {MOST_TOKENS:,}."
            )
            return
        state.asked(QUESTION, scenario)  # inspecting, too, erases what is about others
        if not inspecting and not _predict(scenario):
            return
        state.show(scenario)
        types = {kind: in_precision(scenario.step, kind) for kind in TYPES}
        _cases(types)
    _details(scenario, types)


def _near_equal() -> None:
    """Buttons that fill the fields. Their names say what p and q are, not what becomes of them."""
    st.markdown("**Pairs near equality**")
    with st.container(horizontal=True):
        for name, preset in NEAR_EQUAL.items():
            if st.button(name, key=f"near {name}", help=preset.about):
                state.fill(preset.texts)
                st.rerun()


# Predict ----------------------------------------------------------------------------------------


def _predict(scenario: Scenario) -> bool:
    """Ask for yes or no, or compare it with what is; whether the results may be shown."""
    asked = state.asked(QUESTION, scenario)
    if asked.prediction is None:
        _ask(asked.round)
        return False
    found = in_precision(scenario.step, ASKED)
    truth = (Fraction(int(found.has_residual)),)
    right = compare(asked.prediction, truth).verdict == "right"
    (st.success if right else st.warning)(f"{'Right.' if right else 'Not yet.'} {_why(found)}")
    st.markdown(_margin(found))
    try_again(QUESTION)
    return True


def _ask(round_: int) -> None:
    st.markdown(
        f"p and q as they stand in the fields are exact. Each entry is now stored in {ASKED}, as "
        f"the nearest number that it has. **Will this pair still have a residual in {ASKED}?**"
    )
    key = state.bars_key(QUESTION, round_)
    state.keep_bars(key)
    answer = st.radio(
        f"A residual in {ASKED}: is any stored p still above its q?",
        list(ANSWERS),
        index=None,
        horizontal=True,
        key=key,
    )
    if commit_button():
        if answer in ANSWERS:
            state.commit(QUESTION, Prediction((ANSWERS[answer],), Fraction(1)))
            st.rerun()
        st.error("Not predicted yet: choose Yes or No.")


def _why(found: InPrecision) -> str:
    """What became of p and q in the type, in a sentence."""
    above = sum(map(operator.gt, found.target, found.draft))
    if above:
        text = (
            f"In {found.kind} the stored p exceeds q at {counted(above, 'token')}, and a residual "
            "can be drawn from there."
        )
        return text if found.can_reject else f"{text} Only, nothing is ever rejected."
    if found.exact.residual is None:
        return "p = q: there was no residual to begin with, and none is needed."
    gap = max(map(abs, map(operator.sub, found.exact.target, found.exact.draft)))
    if not found.can_reject:
        return (
            f"p and q differ by up to {size(gap)} at a token, and {found.kind} stores the same "
            "number for both at every token."
        )
    below = sum(map(operator.lt, found.target, found.draft))
    return (
        f"p and q differ by up to {size(gap)} at a token. In {found.kind} no stored p exceeds "
        f"q, although a stored q exceeds p at {counted(below, 'token')}."
    )


def _margin(found: InPrecision) -> str:
    z = found.exact.rejection
    if not z:
        return "Z is 0, and stays 0: equal numbers are stored as equal ones."
    sure = (
        "a residual is then sure to remain"
        if z > found.storage
        else "which of the two prevails depends on the digits"
    )
    return (
        f"Z is {size(z)}. Storing p and q in {found.kind} can move Z by up to "
        f"{size(found.storage)}: {sure}."
    )


# Inspect ----------------------------------------------------------------------------------------


def _cases(types: dict[Type, InPrecision]) -> None:
    """The case of each type, and for those that ask for it what to look at."""
    st.header("What became of the pair")
    said = [case for found in types.values() for case in found.cases]
    for case in sorted(dict.fromkeys(said), key=lambda case: list(CASES).index(case.name)):
        names = [kind for kind, found in types.items() if case in found.cases]
        text = f"**{', '.join(names)}: {case.name}.** {case.sentence}"
        if case.name == "negative 1 − Σ min":
            text += "\n" + "\n".join(f"- {kind}: {types[kind].negative}." for kind in names)
        (st.warning if case.investigate else st.info)(text)
    st.markdown(_totals(types))
    suspects = {
        kind: found for kind, found in types.items() if any(c.investigate for c in found.cases)
    }
    if suspects:
        st.subheader("To investigate")
        ruled_out = []
        for row in zip(*(found.leads for found in suspects.values()), strict=True):
            kinds = [(kind, lead) for kind, lead in zip(suspects, row, strict=True)]
            findings = [f"- {kind}: {lead.finding}." for kind, lead in kinds if lead.applies]
            if findings:
                st.markdown("\n".join([f"**{row[0].what}.** {row[0].why}", *findings]))
            without = {kind: lead.finding for kind, lead in kinds if not lead.applies}
            if without:
                where = "" if len(without) == len(suspects) else f" in {', '.join(without)}"
                why = next(iter(without.values()))
                ruled_out.append(f"{row[0].what.lower()}{where} ({why})")
        if ruled_out:
            st.markdown(f"**Ruled out here:** {'; '.join(ruled_out)}.")
        st.caption("Nothing is patched here: no floor, no uniform vector, no negative set to 0.")


def _totals(types: dict[Type, InPrecision]) -> str:
    """Where the totals of what is stored are not 1. No case says so: it compares entries."""
    sums = {kind: (found.target_total, found.draft_total) for kind, found in types.items()}
    off = [
        f"{kind} {size(p)}" if p == q else f"{kind} p {size(p)}, q {size(q)}"
        for kind, (p, q) in sums.items()
        if p != 1 or q != 1
    ]
    if not off:
        return "The stored p and q sum to 1 in each type."
    return (
        "A case compares entries, and says nothing of totals. These stored p and q do not sum to "
        f"1: {'; '.join(off)}."
    )


def _details(scenario: Scenario, types: dict[Type, InPrecision]) -> None:
    if not st.session_state.get(state.FRACTIONS):  # fractions are long, and have no exponent
        st.html(_WHOLE)
    st.header("Four types beside exact")
    st.toggle(
        "Exact fractions",
        key=state.FRACTIONS,
        persist_state="session",
        help="Numbers are rounded for reading, and then marked ≈. This shows each as a fraction.",
    )
    st.table(_overview(scenario.step, types), hide_index=True, border="horizontal")
    st.caption(
        "Sums run from left to right, each partial sum rounded to the type that accumulates. r is "
        "max(p − q, 0)/Z in the type; Z there is Σ max(p − q, 0)."
    )
    st.header("Identity: exact, ==")
    st.markdown(
        "In fractions these equations hold, always. A type may satisfy one by luck; compared with "
        "== it either does or does not, and no tolerance enters."
    )
    st.table(_identities(scenario.step, types), hide_index=True, border="horizontal")
    without = [
        *(["exact"] if scenario.step.residual is None else []),
        *(kind for kind, found in types.items() if not found.has_residual),
    ]
    if without:
        st.caption(
            f"No r: {', '.join(without)}. No p exceeds q there, so that min(p, q) alone is p, and "
            "the last equation holds without a correction."
        )
    st.header("Tolerance: type, size, why")
    st.markdown(
        "Where a type misses the exact number, it does so by no more than a size that has a "
        "reason. Each cell: what it is here ≤ what it may be. u is half the spacing of the type's "
        "numbers at 1, η its smallest number, n the number of tokens."
    )
    st.table(_tolerances(types), hide_index=True, border="horizontal")
    unbound = _unbound(types)
    if unbound:
        st.caption(unbound)
    st.markdown("\n".join(f"- **{row.what}:** {row.why}." for row in types[ASKED].tolerances))
    _curves(scenario.step)
    _stored(scenario, types)
    _coins()
    _mixed(scenario.step)


_WHOLE = "<style>[data-testid=stTable] td:not(:first-child) p {white-space: nowrap}</style>"
"""Keeps a number together, which a browser would break behind the minus of its exponent."""


def _by_type(column: Callable[[Type], list[str]]) -> dict[str, list[str]]:
    """One column of a table for each type."""
    return {kind: column(kind) for kind in TYPES}


Column = Callable[[InPrecision], Fraction | None]


def _overview(step: ExactStep, types: dict[Type, InPrecision]) -> dict[str, list[str]]:
    z = step.rejection
    rows: list[tuple[str, Fraction | None, Column]] = [
        ("Σ p of what is stored", Fraction(1), lambda t: t.target_total),
        ("Σ q of what is stored", Fraction(1), lambda t: t.draft_total),
    ]
    for where, sums in _ACCUMULATED.items():
        rows += [
            (f"Σ p, {where}", Fraction(1), _of(sums, lambda s: s.target)),
            (f"Σ q, {where}", Fraction(1), _of(sums, lambda s: s.draft)),
            (f"α = Σ min(p, q), {where}", step.acceptance, _of(sums, lambda s: s.acceptance)),
            (f"Z = {FORMULAS[0]}, {where}", z, _of(sums, lambda s: s.rejection)),
            (f"Z = {FORMULAS[1]}, {where}", z, _of(sums, lambda s: s.complement)),
            (f"r, largest error, {where}", _zero(step), _of(sums, lambda s: s.largest_error)),
            (f"r, total variation distance, {where}", _zero(step), _of(sums, lambda s: s.distance)),
        ]
    rows.append(("magnification 1/Z", 1 / z if z else None, lambda t: t.magnification))
    return {
        "number": [name for name, _, _ in rows],
        "exact": [_cell(value) for _, value, _ in rows],
        **_by_type(lambda kind: [_cell(of(types[kind])) for _, _, of in rows]),
    }


_ACCUMULATED: dict[str, Callable[[InPrecision], Sums]] = {
    "added in the type": lambda found: found.in_type,
    "added in float64": lambda found: found.in_float64,
}


def _of(sums: Callable[[InPrecision], Sums], value: Callable[[Sums], Fraction | None]) -> Column:
    return lambda found: value(sums(found))


def _zero(step: ExactStep) -> Fraction | None:
    """The error of the exact r; None when there is none."""
    return None if step.residual is None else Fraction()


def _cell(value: Fraction | None) -> str:
    return "none" if value is None else size(value)


def _identities(step: ExactStep, types: dict[Type, InPrecision]) -> dict[str, list[str]]:
    right = exact_identities(step)

    def cells(identities: tuple[Identity, ...], *, residual: bool) -> list[str]:
        *sums, last = identities
        holds = "holds" if last.held == last.of else "fails"
        return [
            *("holds" if identity.held else "fails" for identity in sums),
            f"{'' if residual else 'no r, '}{holds}: {last.held:,} of {last.of:,}",
        ]

    return {
        "equation": [*(i.what for i in right[:-1]), f"{right[-1].what}, at each token"],
        "exact": cells(right, residual=step.residual is not None),
        **_by_type(lambda kind: cells(types[kind].identities, residual=types[kind].has_residual)),
    }


def _tolerances(types: dict[Type, InPrecision]) -> dict[str, list[str]]:
    def cell(tolerance: Tolerance) -> str:
        bound = ", no bound" if tolerance.size is None else f" ≤ {size(tolerance.size)}"
        return f"{'no r' if tolerance.measured is None else size(tolerance.measured)}{bound}"

    return {
        "error of": [row.what for row in types[ASKED].tolerances],
        **_by_type(lambda kind: [cell(row) for row in types[kind].tolerances]),
    }


def _unbound(types: dict[Type, InPrecision]) -> str:
    """Why a type promises nothing, where one does not."""
    z = types[ASKED].exact.rejection
    lines = []
    sums = [kind for kind, found in types.items() if found.tolerances[2].size is None]
    if sums:
        lines.append(f"sums in {', '.join(sums)}, where n·u is not below 1")
    r = [kind for kind, found in types.items() if found.tolerances[-1].size is None]
    if r and z:
        lines.append(
            f"r in {', '.join(r)}, where the error that Z may have is about as large as Z itself, "
            f"{size(z)}, or larger"
        )
    elif r:
        lines.append("r, as Z is 0 and nothing is rejected")
    return f"No bound, so that nothing is promised: {'; '.join(lines)}." if lines else ""


def _curves(step: ExactStep) -> None:
    """The picture: one panel a type."""
    st.header("Error against distance")
    if step.residual is None:
        st.info("p = q is at no distance: there is no Z to be off from.")
        return
    curves = {kind: error_curve(step, kind) for kind in TYPES}
    if min(step.rejection, *(point.distance for c in curves.values() for point in c)) < NEAREST:
        st.info("These distances are below 1e-300, and are not drawn.")
        return
    signs = ", ".join(f"{sign} {how}" for how, (_, sign) in charts.BREAK_SHAPES.items())
    st.markdown(
        "The same p with q ever nearer to it, on the straight line from this q to p and beyond "
        "this q: q at half the distance, at a quarter, and so on. Sums are added in the type.\n\n"
        f"Where a formula breaks, its mark says how: {signs}. Dotted: an error as large as Z. On "
        "the lower edge: no error at all."
    )
    pictures = charts.error_by_distance(curves, step.rejection, dark=dark())
    for start in range(0, len(TYPES), 2):  # rows of two, so that a phone keeps their order
        for kind, column in zip(TYPES[start:], st.columns(2, gap="large"), strict=False):
            with column:
                st.subheader(kind)
                draw(pictures[kind])
    st.caption(
        "On the whole, each halving of the distance doubles the error, until nothing of Z is left."
    )
    beyond = [k for k, picture in pictures.items() if not charts.marked(picture)]
    if beyond:
        st.caption(
            f"This pair, at {size(step.rejection)}, is too near for a mark in {', '.join(beyond)}."
        )


def _stored(scenario: Scenario, types: dict[Type, InPrecision]) -> None:
    st.header("What is stored")
    st.session_state.setdefault(state.SHOWN_TYPE, ASKED)
    kind = st.selectbox("Type", TYPES, key=state.SHOWN_TYPE, persist_state="session")
    found = types[kind if kind in get_args(Type) else ASKED]
    step = scenario.step
    groups = charts.chart_groups(step)
    none = (Fraction(),) * len(step.target)
    columns: dict[str, Exact] = {
        "p": step.target,
        "stored p": found.target,
        "q": step.draft,
        "stored q": found.draft,
        "stored max(p − q, 0)": found.shortfall,
        "r in the type": found.in_float64.residual or none,
        "exact r": step.residual or none,
    }
    table = {
        "token": list(map(literal, group_labels(scenario.tokens, groups))),
        "stored": [_compared(found, group[0]) if len(group) == 1 else "" for group in groups],
    }
    for name, vector in columns.items():
        table[name] = list(map(_digits, together(vector, groups)))
    for name, missing in (
        ("r in the type", found.in_float64.residual is None),
        ("exact r", step.residual is None),
    ):
        if missing:
            table[name] = ["none"] * len(groups)
    st.table(table, hide_index=True, border="horizontal")
    if len(groups) < len(step.target):
        st.caption(
            f"The table names the {len(groups) - 1} tokens with the most of p or q; the other "
            f"{len(groups[-1]):,} are taken together."
        )
    shown = visible(scenario.tokens)
    for name, gone in zip("pq", found.flushed, strict=True):
        if gone:
            names = ", ".join(literal(shown[i]) for i in gone[:6])
            st.markdown(
                f"{counted(len(gone), 'entry' if len(gone) == 1 else 'entrie')} of {name} became "
                f"0 in {found.kind}: {names}{', …' if len(gone) > 6 else ''}."
            )


def _digits(value: Fraction) -> str:
    """A stored number with all its digits, or with those that tell float64 numbers apart."""
    text = exact(value)
    return text if len(text) <= 24 else f"≈{float(value):.17g}"


def _compared(found: InPrecision, token: int) -> str:
    p, q = found.target[token], found.draft[token]
    return "p > q" if p > q else "p < q" if p < q else "p = q"


def _coins() -> None:
    """What the type does to the uniform number of the test."""
    st.header("Coins")
    st.session_state.setdefault(state.U_BITS, BITS[0])
    chosen = st.selectbox("Random bits of u", BITS, key=state.U_BITS, persist_state="session")
    bits = chosen if chosen in BITS else BITS[0]
    st.markdown(
        f"u is k/2^{bits} with k drawn evenly from 0 up, and then stored in the type. A proposal "
        "is kept if u is below min(1, p/q)."
    )
    one, none = Fraction(1), Fraction()
    st.table(
        {
            "test": [
                "u < 1 rejects, although p = q: u became 1",
                "u <= 0 keeps a token with p = 0: u is 0, or became 0",
            ],
            "exact u": [size(none), size(Fraction(1, 2**bits))],
            **_by_type(
                lambda kind: [
                    size(1 - coin_passes(one, kind, bits=bits)),
                    size(coin_passes(none, kind, test="<=", bits=bits)),
                ]
            ),
        },
        hide_index=True,
        border="horizontal",
    )


def _mixed(step: ExactStep) -> None:
    """What comes of one type for the proposal and another for the test."""
    st.header("Types that mix")
    st.markdown("Two ways to be a little wrong with everything else exact; distances are exact.")

    st.table(
        {
            "way": [
                "proposals drawn from q as stored, the given q in min(1, p/q) and r: "
                "the output misses p by",
                "weights as log p + log(1 − q/p), with the ratio in the type: they miss r by",
            ],
            **_by_type(lambda kind: list(map(_cell, misses_of(step, kind)))),
        },
        hide_index=True,
        border="horizontal",
    )


main()
