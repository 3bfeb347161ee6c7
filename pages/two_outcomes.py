"""Page Two outcomes: an exact Bernoulli display, and the three-token example beside it."""

from __future__ import annotations

from fractions import Fraction

import streamlit as st

from lab import charts
from lab.binomial import MOST_TRIALS, binomial
from lab.display import TwoOutcomes, positive_residual, two_outcomes
from lab.feedback import named_laws
from lab.groups import Groups, group_labels, together
from lab.labels import visible
from lab.prediction import NamedLaw, compare
from lab.scenario import WORKED_EXAMPLE, Scenario
from lab.vectors import Exact, parse_number
from pages.parts import state
from pages.parts.entry import current_scenario
from pages.parts.glossary import glossary
from pages.parts.head import head
from pages.parts.predict import (
    Question,
    bar_top,
    dark,
    draw,
    just_inspect,
    predicted,
    show_comparison,
    signed,
)
from pages.parts.words import counted, literal, number

MOST_ASKED = 12
"""Bars to predict; more counts are asked for as ranges."""

MOST_TOKENS = 30
"""Tokens of an example: its tables show each."""

BARS, RECOVERED = "display", "recovered"

DEFAULTS = {
    state.SUCCESS: state.DEFAULT_SUCCESS,
    state.TRIALS: state.DEFAULT_TRIALS,
    state.RECOVER: False,
    state.INSPECT: False,
}


def main() -> None:
    """The page."""
    head(
        "Two outcomes",
        "An exact Bernoulli picture of a residual with two outcomes whose probability is "
        "*stipulated*: you set it. It is neither a rejection sampler nor a model of three tokens.",
    )
    scenario = _example()
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("The display")
        success, trials, inspecting = _settings()
        display = two_outcomes(scenario.step, success)
        assert display is not None  # _example returns nothing else
        shown = _bars(scenario, display, trials, inspecting)
    with right:
        st.header("The example")
        _given(scenario)
        _recover(scenario, display, trials, inspecting, shown)
        glossary()


def _example() -> Scenario:
    """The scenario as it stands if this display applies to it; else why not, and the example."""
    worked = WORKED_EXAMPLE.scenario
    scenario, fault = current_scenario()
    if scenario is None:
        why = f"The scenario on One step cannot be read: {literal(fault)}"
    elif scenario == worked:
        return scenario
    elif len(scenario.tokens) > MOST_TOKENS:
        why = (
            f"Your scenario has {len(scenario.tokens):,} tokens, and this page shows up to "
            f"{MOST_TOKENS}."
        )
    elif not state.was_shown(scenario):
        # Accepted mass and the number of outcomes would answer a prediction that is still open.
        why = (
            "Your scenario on One step is still to be predicted there, and this page would give "
            "its answer away. Commit a prediction on One step, or switch to “Just inspect” there."
        )
    else:
        outcomes = positive_residual(scenario.step)
        if len(outcomes) == 2:
            return scenario
        shown = visible(scenario.tokens)
        names = ", ".join(literal(shown[token]) for token in outcomes[:6])
        why = (
            "This display does not apply to your scenario: p = q there, so nothing is ever "
            "rejected and there is no residual."
            if not outcomes
            else "This display does not apply to your scenario: its residual has "
            f"{counted(len(outcomes), 'positive outcome')} ({names}"
            f"{', …' if len(outcomes) > 6 else ''}), and success and failure are two."
        )
    st.info(f"{why} Below stands the worked example instead.")
    return worked


def _settings() -> tuple[Fraction, int, bool]:
    st.session_state.setdefault(state.SUCCESS, state.DEFAULT_SUCCESS)
    st.session_state.setdefault(state.TRIALS, state.DEFAULT_TRIALS)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        success = st.number_input(
            "Success p",
            min_value=0.0,
            max_value=1.0,
            step=0.05,
            format="%.17g",
            key=state.SUCCESS,
            persist_state="session",
        )
        trials = st.number_input(
            "Trials n",
            min_value=1,
            max_value=MOST_TRIALS,
            step=1,
            key=state.TRIALS,
            persist_state="session",
        )
        inspecting = just_inspect()
        if st.button("Reset", help="Success 0.5, 10 trials, nothing predicted."):
            state.use_settings(DEFAULTS)
            state.erase(BARS, RECOVERED)
            st.rerun()
    st.caption(f"Success from 0 to 1; trials from 1 to {MOST_TRIALS}.")
    # The shortest decimal of the float is what was typed.
    return parse_number(repr(success)), trials, inspecting


def _bars(scenario: Scenario, display: TwoOutcomes, trials: int, inspecting: bool) -> bool:
    """The bars of the display, predicted first; whether they are on the screen."""
    law = binomial(display.success, trials)
    role: charts.Role = "owed" if trials == 1 else "law"
    if trials == 1:
        law = display.bars
        names = _names(scenario, display)
        labels = tuple(
            f"{n} ({what})" for n, what in zip(names, ("success", "failure"), strict=True)
        )
        groups: Groups = ((0,), (1,))
        st.markdown(
            "One trial: the two bars are the residual's outcomes, as stipulated by Success p."
        )
        prompt = "**How likely are success and failure?**"
    else:
        groups = _ranges(trials + 1)
        labels = tuple(str(g[0]) if len(g) == 1 else f"{g[0]}–{g[-1]}" for g in groups)
        st.markdown(
            f"{trials} trials: the bars are the exact Binomial counts of successes. **This is no "
            "longer the residual display**, which takes n = 1."
        )
        prompt = f"**How likely is each number of successes in {trials} trials?**"
        if len(groups) <= trials:
            prompt += " Counts are asked for in ranges."
    about = (display.success, trials, scenario)
    state.asked(BARS, about)  # inspecting, too, erases what is about others
    if not inspecting:
        question = Question(
            BARS,
            "Bars of the display",
            about,
            prompt,
            labels,
            role=role,
        )
        prediction = predicted(question)
        if prediction is None:
            return False
        bars = together(law, groups)
        comparison = compare(
            prediction,
            bars,
            [
                NamedLaw(
                    "Success and failure are exchanged."
                    if trials == 1
                    else "These are the counts of failures.",
                    together(tuple(reversed(law)), groups),
                )
            ],
        )
        show_comparison(question, comparison, "a law", {})
        if len(groups) == len(law):
            return True  # the comparison has drawn them
    all_labels = labels if trials == 1 else tuple(map(str, range(trials + 1)))
    part = "displayed bars" if trials == 1 else f"Binomial({trials}, {number(display.success)})"
    draw(charts.law(law, all_labels, part, role, dark=dark()))
    return True


def _names(scenario: Scenario, display: TwoOutcomes) -> tuple[str, str]:
    shown = visible(scenario.tokens)
    return shown[display.success_token], shown[display.failure_token]


def _ranges(count: int) -> Groups:
    """The counts in order, in at most `MOST_ASKED` ranges of one width; the last may be shorter."""
    width = -(-count // MOST_ASKED)
    return tuple(tuple(range(start, min(start + width, count))) for start in range(0, count, width))


def _given(scenario: Scenario) -> None:
    """What is given of the example: p, q, accepted mass, and Z on its own."""
    step = scenario.step
    st.table(
        {
            "token": list(map(literal, visible(scenario.tokens))),
            "p": list(map(number, step.target)),
            "q": list(map(number, step.draft)),
            "accepted min(p, q)": list(map(number, step.accepted)),
        },
        hide_index=True,
        border="horizontal",
    )
    st.metric("Z, calculated separately: Σ max(0, p − q)", number(step.rejection))


def _recover(
    scenario: Scenario, display: TwoOutcomes, trials: int, inspecting: bool, shown: bool
) -> None:
    """Multiply the displayed bars by Z, add the accepted masses, and see whether that is p."""
    st.header("Recover p")
    wants = st.toggle(
        "Predict the recovered vector first",
        key=state.RECOVER,
        persist_state="session",
        disabled=inspecting,
    )
    if trials > 1:
        st.info("Set Trials n to 1: only two bars can stand for the residual.")
        return
    if not shown:
        st.info("Commit to the bars of the display first. Then: bars × Z + accepted mass.")
        return
    groups: Groups = tuple((i,) for i in range(len(scenario.tokens)))
    if wants and not inspecting:
        question = Question(
            RECOVERED,
            "Recovered vector",
            (display.success, scenario),
            "Multiply the displayed bars by Z and add the accepted masses, marked *a*. **What "
            "comes out?**",
            group_labels(scenario.tokens, groups),
            (("a", scenario.step.accepted),),
            bar_top((*scenario.step.target, *scenario.step.draft)),
        )
        prediction = predicted(question)
        if prediction is None:
            return
        show_comparison(
            question,
            compare(
                prediction,
                display.recovered,
                named_laws(scenario.step, "output", groups),
            ),
            "the recovered vector",
            {"p": scenario.step.target, "q": scenario.step.draft},
        )
    _show_recovery(scenario, display)


def _show_recovery(scenario: Scenario, display: TwoOutcomes) -> None:
    step = scenario.step
    columns: dict[str, Exact] = {
        "displayed": display.displayed,
        "Z × displayed": display.scaled,
        "accepted": step.accepted,
        "recovered": display.recovered,
        "p": step.target,
    }
    inside = {display.success_token, display.failure_token}
    table = {"token": list(map(literal, visible(scenario.tokens)))}
    for name, vector in columns.items():
        table[name] = list(map(number, vector))
    table["displayed"] = [
        cell if token in inside else f"{cell} (outside)"
        for token, cell in enumerate(table["displayed"])
    ]
    st.table(table, hide_index=True, border="horizontal")
    success, failure = map(literal, _names(scenario, display))
    if not display.distance:
        st.success(
            f"The recovered vector is p, exactly: {number(display.success)} is this example's "
            f"r({success})."
        )
        return
    per_token = ", ".join(
        f"{literal(name)} {signed(miss)}"
        for name, miss in zip(visible(scenario.tokens), display.misses, strict=True)
        if miss
    )
    st.warning(
        f"The stipulated success {number(display.success)} is not this example's residual: "
        f"r({success}) = {number(display.true_success)} and r({failure}) = "
        f"{number(1 - display.true_success)}. The recovered vector misses p by {per_token}; "
        f"total variation distance {number(display.distance)}."
    )


main()
