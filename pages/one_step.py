"""Page One step: enter p and q, predict the bars, inspect the ledger."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from lab import charts
from lab.feedback import named_laws
from lab.figures import short
from lab.groups import group_labels, leading, together
from lab.prediction import Quantity, compare, truth
from lab.scenario import Scenario
from lab.step import ExactStep
from lab.vectors import total
from pages.parts import state
from pages.parts.entry import scenario_entry
from pages.parts.export import download_csv, share_link
from pages.parts.glossary import glossary
from pages.parts.head import head
from pages.parts.predict import (
    Question,
    bar_top,
    dark,
    draw,
    just_inspect,
    predicted,
    reset_button,
    show_comparison,
)
from pages.parts.words import counted, literal, number

MOST_ASKED = 10
"""Bars to predict; with more tokens the largest of p and q are asked for, the rest together."""

QUANTITIES: dict[Quantity, tuple[str, str]] = {
    "residual": (
        "Residual r",
        "After a rejection one fresh token is drawn from the residual r. "
        "**How likely is each token in that draw?**",
    ),
    "accepted": (
        "Accepted mass",
        "A token is proposed by q and kept with probability min(1, p/q). "
        "**How often is each token proposed and kept?**",
    ),
    "output": (
        "Output",
        "A token comes out by being kept or by replacing a rejected one. "
        "**How often does each token come out?**",
    ),
}


_NAMES: dict[Quantity, str] = {
    "residual": "the residual",
    "accepted": "the accepted mass",
    "output": "the output law",
}

_ROLES: dict[Quantity, charts.Role] = {
    "residual": "owed",
    "accepted": "accepted",
    "output": "law",
}

QUESTION = "one step"

DEFAULTS = {
    state.QUANTITY: "residual",
    state.INSPECT: False,
    state.FRACTIONS: False,
    state.ENTRY: "Text",
}


def main() -> None:
    """The page."""
    head(
        "One step",
        "The draft **q** proposes a token; the target **p** keeps it with probability min(1, p/q). "
        "After a rejection, one draw from the residual **r** supplies exactly what is missing.",
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        scenario = scenario_entry()
        glossary()
        if scenario:
            share_link(scenario)
    with right:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            quantity = _quantity()
            inspecting = just_inspect()
            reset_button(DEFAULTS, QUESTION)
        if scenario is None:
            st.info("Results appear here once tokens, p and q fit together.")
            return
        state.asked(QUESTION, (scenario, quantity))  # inspecting, too, erases what is about others
        if not inspecting and not _predict(scenario, quantity):
            return
        state.show(scenario)
        _ledger(scenario)
    _details(scenario)


def _quantity() -> Quantity:
    quantity: Quantity = st.selectbox(
        "What to predict",
        list(QUANTITIES),
        format_func=lambda quantity: QUANTITIES[quantity][0] if quantity in QUANTITIES else "?",
        key=state.QUANTITY,
        persist_state="session",
    )
    return quantity if quantity in QUANTITIES else "residual"  # a browser may send anything


def _predict(scenario: Scenario, quantity: Quantity) -> bool:
    """Ask for the bars, or compare them with the truth; whether the truth may be shown."""
    groups = leading(tuple(map(max, scenario.target, scenario.draft)), MOST_ASKED)
    p, q = together(scenario.target, groups), together(scenario.draft, groups)
    prompt = QUANTITIES[quantity][1]
    if len(groups) < len(scenario.tokens):
        prompt += (
            f" Asked for are the {len(groups) - 1} tokens with the most of p or q; the other "
            f"{len(groups[-1]):,} share the last bar."
        )
    question = Question(
        key=QUESTION,
        name=QUANTITIES[quantity][0],
        about=(scenario, quantity),
        prompt=prompt,
        labels=group_labels(scenario.tokens, groups),
        lines=(("p", p), ("q", q)),
        top=Fraction(1) if quantity == "residual" else bar_top((*p, *q)),
        role=_ROLES[quantity],
        none_allowed="There is no residual: nothing is ever rejected"
        if quantity == "residual"
        else "",
        texts=state.texts(),
    )
    prediction = predicted(question)
    if prediction is None:
        return False
    comparison = compare(
        prediction,
        truth(scenario.step, quantity, groups),
        named_laws(scenario.step, quantity, groups),
    )
    show_comparison(question, comparison, _NAMES[quantity], {"p": p, "q": q})
    return True


def _ledger(scenario: Scenario) -> None:
    """The theorem in one picture."""
    step = scenario.step
    st.header("The ledger")
    alpha, z = st.columns(2)
    alpha.metric("α, a proposal is kept", _figure(step.acceptance))
    z.metric("Z, a proposal is rejected", _figure(step.rejection))
    st.markdown(_case(step))
    draw(charts.ledger(step, scenario.tokens, dark=dark()))
    st.markdown(_balance(step))


def _details(scenario: Scenario) -> None:
    """The residual, the reconstruction, the numbers and the file."""
    step, tokens = scenario.step, scenario.tokens
    left, right = st.columns(2, gap="large")
    with left:
        st.header("The residual r")
        if step.residual is None:
            st.info(
                "Undefined, because Z = 0: no proposal is ever rejected, so no correction is ever "
                "drawn, and 0/0 is never formed."
            )
        else:
            st.markdown("The law of the one fresh draw, *given* a rejection.")
            draw(charts.residual(step, tokens, dark=dark()))
    with right:
        st.header("The reconstruction")
        st.markdown("Accepted mass plus Z · r, against the outline of p.")
        draw(charts.reconstruction(step, tokens, dark=dark()))
    st.header("The numbers")
    st.toggle(
        "Exact fractions",
        key=state.FRACTIONS,
        persist_state="session",
        help="Numbers are rounded for reading, and then marked ≈. This shows each as a fraction.",
    )
    st.table(_table(step, tokens), hide_index=True, border="horizontal")
    groups = charts.chart_groups(step)
    if len(groups) < len(tokens):
        st.caption(
            f"Charts and table name the {len(groups) - 1} tokens with the most of p or q; the "
            f"other {len(groups[-1]):,} are taken together. The CSV file has them all."
        )
    st.markdown(_identity(step))
    download_csv(scenario)


def _figure(value: Fraction) -> str:
    """A number in large type; a fraction that is too long for it stays rounded."""
    text = number(value)
    return text if len(text) <= 12 else short(value)


def _case(step: ExactStep) -> str:
    """The sentence for this pair: equal, disjoint or partial."""
    if step.case == "equal":
        return (
            "**p = q.** Every proposal is kept: α = 1 and Z = 0. There is no rejection, so there "
            "is no residual, and none is made up."
        )
    if step.case == "disjoint":
        return (
            "**Disjoint supports.** The target never uses what the draft proposes: α = 0, Z = 1 "
            "and r = p. The output is still p; speculation just brings nothing."
        )
    unproposed = sum(not q and bool(p) for p, q in zip(step.target, step.draft, strict=True))
    text = (
        f"**Partial overlap.** A proposal is kept with probability {number(step.acceptance)}; "
        f"otherwise one draw from r pays what is owed."
    )
    if unproposed:
        text += (
            f" r reaches {counted(unproposed, 'token')} that q never proposes: the draft needs no "
            "full support."
        )
    return text


def _balance(step: ExactStep) -> str:
    owed, thrown = total(step.shortfall), total(step.excess)
    if not owed:
        return "Nothing is owed, and nothing is thrown away."
    sign = "=" if owed == thrown else "≠"
    return (
        f"Owed {number(owed)} {sign} thrown away {number(thrown)}: what is thrown away where q "
        "exceeds p is exactly what is owed where p exceeds q."
    )


def _identity(step: ExactStep) -> str:
    held = sum(out == p for out, p in zip(step.output, step.target, strict=True))
    return (
        f"min(p, q) + Z · r = p holds exactly, as fractions, for {held:,} of "
        f"{counted(len(step.target), 'token')}."
    )


def _table(step: ExactStep, tokens: tuple[str, ...]) -> dict[str, list[str]]:
    groups = charts.chart_groups(step)
    columns = {
        "p": step.target,
        "q": step.draft,
        "min(p, q)": step.accepted,
        "max(0, p − q)": step.shortfall,
        "max(0, q − p)": step.excess,
        "r": step.residual,
        "Z · r": step.correction,
        "min + Z · r": step.output,
    }
    table = {"token": [*map(literal, group_labels(tokens, groups)), "**sum**"]}
    for name, vector in columns.items():
        if vector is None:
            table[name] = ["undefined"] * (len(groups) + 1)
        else:
            cells = [*together(vector, groups), total(vector)]
            table[name] = list(map(number, cells))
    return table


main()
