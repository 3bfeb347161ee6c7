"""Page Mistakes: choose a faulty rule, predict what comes out of it, and see how far off it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from urllib.parse import urlencode

import streamlit as st

from lab import charts
from lab.errors import LabError
from lab.feedback import MOST_TOKENS, named_laws
from lab.groups import group_labels, leading, together
from lab.mistakes import (
    MISTAKES,
    VERDICTS,
    BlockMistake,
    Parameter,
    Shown,
    StepMistake,
    variation,
)
from lab.pairs import PAIRS, BlockLink, Pair
from lab.prediction import NamedLaw, compare
from lab.scenario import Scenario, Texts, format_tokens
from lab.vectors import Exact, format_vector
from pages.parts import state
from pages.parts.drawn import Drawable, about, drawn
from pages.parts.entry import scenario_entry
from pages.parts.export import page_address, share_link, show_link
from pages.parts.glossary import glossary
from pages.parts.head import head
from pages.parts.laws import block_mistake_of, mistake_on, mistakes_on
from pages.parts.pair import block_settings, drafts_field, length_field, pair_entry
from pages.parts.predict import (
    Question,
    dark,
    draw,
    just_inspect,
    predicted,
    reset_button,
    show_comparison,
    signed,
    try_again,
)
from pages.parts.words import counted, literal, number

MOST_ASKED = 10
"""Bars to predict; with more tokens the largest of p and q are asked for, the rest together."""

MOST_SHOWN = 12
"""Sequences of a block's law that the page draws."""

QUESTION = "mistake"
QUESTIONS = {"law": "Its law", "distance": "Its distance from p"}
FIRST = "resample-from-target"
WITNESS = "Show it on its witness"
ON_P_AND_Q = "Puts a p and q into the fields on which this mistake shows."
ON_MODELS = "Chooses models on which this mistake shows."

WITNESSES = {
    "next-position-residual": "Rows by position",
    "shifted-target": "Rows by position",
    "keep-testing": "Two tokens",
    "stop-ignored": "Three tokens with a stop",
}
"""Models on which each mistake in blocks shows."""


def main() -> None:
    """The page."""
    arrived = head(
        "Mistakes",
        "A gallery of samplers that are almost right. Each is a rule with a law of its own, found "
        "by running it through all its choices. Choose one, predict what comes out of it, and see.",
    )
    block_settings()
    _from_link(arrived)
    slug = st.session_state[state.MISTAKE]
    left, right = st.columns([1, 2], gap="large")
    with right:
        mistake, inspecting = _choice()
    if isinstance(mistake, StepMistake):
        with left:
            scenario = scenario_entry()
            glossary()
            if scenario:
                share_link(scenario, **_link(slug))
        with right:
            if scenario is None:
                st.info("Results appear here once tokens, p and q fit together.")
                return
            case = _of_step(mistake, scenario)
            seen = case is not None and _question(case, scenario, inspecting)
        if case and seen:
            state.show(scenario)
            _details(case)
            _overview(scenario)
        return
    with left:
        pair = pair_entry()
        first, second = st.columns(2, vertical_alignment="bottom")
        drafts, length = drafts_field(first), length_field(second)
        glossary()
        if pair:
            link = BlockLink(pair.name, drafts, length)
            show_link(f"{page_address()}?{urlencode({'mistake': slug, **link.query()}, safe='/')}")
    with right:
        if pair is None:
            st.info("Results appear here once every row is a law.")
            return
        if PAIRS[pair.name] != PAIRS[WITNESSES[slug]] and st.button(WITNESS, help=ON_MODELS):
            _use_pair(mistake)
        block_case = _of_block(mistake, pair, drafts, length)
        if block_case and _question(block_case, None, inspecting):
            _inspect_block(block_case)


# Choosing ---------------------------------------------------------------------------------------


def _from_link(arrived: bool) -> None:
    memory = st.session_state
    query = st.query_params
    slug = query.get("mistake", "")
    if arrived and slug:
        if slug not in MISTAKES:
            st.error(f"The link asks for “{literal(slug)}”, which is no mistake of the gallery.")
        else:
            memory[state.MISTAKE] = slug
            for parameter in _parameters(slug):
                if parameter.name in query:
                    key = state.parameter_key(slug, parameter.name)
                    memory[key] = query[parameter.name]
    if memory.get(state.MISTAKE) not in MISTAKES:
        memory[state.MISTAKE] = FIRST


def _parameters(slug: str) -> tuple[Parameter, ...]:
    mistake = MISTAKES[slug]
    return mistake.parameters if isinstance(mistake, StepMistake) else ()


def _link(slug: str) -> dict[str, str]:
    """What a link carries beside p and q: the mistake, and its parameters as they stand."""
    memory = st.session_state
    return {"mistake": slug} | {
        parameter.name: memory.get(state.parameter_key(slug, parameter.name), parameter.default)
        for parameter in _parameters(slug)
    }


def _choice() -> tuple[StepMistake | BlockMistake, bool]:
    """The mistake, what it does, and its lines beside the right ones."""
    slug = st.selectbox(
        "Mistake",
        list(MISTAKES),
        format_func=lambda slug: _title(slug) if slug in MISTAKES else "?",
        key=state.MISTAKE,
        persist_state="session",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        inspecting = just_inspect()
        settings = {
            state.INSPECT: False,
            state.ASKED_OF_MISTAKE: "law",
            state.DRAWN: state.DEFAULT_DRAWS,
            state.DRAW_SEED: 0,
        }
        for each in MISTAKES:
            for parameter in _parameters(each):
                settings[state.parameter_key(each, parameter.name)] = parameter.default
        reset_button(settings, QUESTION)
    mistake = MISTAKES[slug if slug in MISTAKES else FIRST]
    st.markdown(f"{literal(mistake.does)} *{literal(mistake.why)}*")
    with st.container(key="lines"):
        st.html(_SMALL)
        faulty, right = st.columns(2)
        with faulty:
            st.caption("The faulty lines")
            st.code(mistake.code, language=None, wrap_lines=True)
        with right:
            st.caption("The right lines")
            st.code(mistake.right_code, language=None, wrap_lines=True)
    return mistake, inspecting


# Most lines fit beside each other then.
_SMALL = "<style>.st-key-lines code {font-size: 0.8rem}</style>"


def _title(slug: str) -> str:
    return f"{MISTAKES[slug].title}{' (in blocks)' if MISTAKES[slug].in_blocks else ''}"


@dataclass(frozen=True, eq=False)
class Case:
    """A mistake on what it is looked at on.

    Attributes
    ----------
    mistake : the mistake
    about : everything that its law depends on
    labels : one for each entry of the laws
    right : the law that should come out
    law : the law that comes out; None when the code gets stuck
    distance : the total variation distance of the two; None when the code gets stuck
    shown : for one step, what p and q show of it
    """

    mistake: StepMistake | BlockMistake
    about: tuple[object, ...]
    labels: tuple[str, ...]
    right: Exact
    law: Exact | None
    distance: Fraction | None
    shown: Shown | None = None


def _of_step(mistake: StepMistake, scenario: Scenario) -> Case | None:
    """The mistake on p and q, with the parameters in its fields; None after saying why not."""
    texts = []
    for parameter in mistake.parameters:
        key = state.parameter_key(mistake.slug, parameter.name)
        st.session_state.setdefault(key, parameter.default)
        texts.append(st.text_input(parameter.label, key=key, persist_state="session") or "")
    try:
        found = mistake_on(mistake.slug, scenario, tuple(texts))
    except LabError as fault:
        st.error(literal(str(fault)))
        return None
    if mistake.witness == (scenario.target, scenario.draft):
        st.caption("This p and q is its witness.")
    elif st.button(WITNESS, help=ON_P_AND_Q):
        _use_witness(mistake)
    law = found.law.output if found.law else None
    return Case(
        mistake,
        (mistake.slug, scenario, *texts),
        scenario.tokens,
        found.right.target,
        law,
        found.distance,
        found,
    )


def _use_witness(mistake: StepMistake) -> None:
    p, q = mistake.witness
    tokens = format_tokens("ABCDEFGH"[: len(p)])
    state.fill(Texts(tokens, format_vector(p), format_vector(q)))
    state.use_settings(
        {
            state.MISTAKE: mistake.slug,
            **{state.parameter_key(mistake.slug, p.name): p.default for p in mistake.parameters},
        }
    )
    st.rerun()


def _use_pair(mistake: BlockMistake) -> None:
    start = BlockLink(WITNESSES[mistake.slug])
    state.use_settings(
        {
            state.MISTAKE: mistake.slug,
            state.PAIR: start.pair,
            state.DRAFTS: start.drafts,
            state.LENGTH: start.length,
            state.PAIR_ROWS: {},
            state.PAIR_GRID: None,
        }
    )
    st.rerun()


def _of_block(mistake: BlockMistake, pair: Pair, drafts: int, length: int) -> Case | None:
    laws = block_mistake_of(mistake.slug, pair, drafts, length)
    if isinstance(laws, str):
        st.info(literal(laws))
        return None
    sequences, right, law = laws
    about = (mistake.slug, pair, drafts, length)
    return Case(mistake, about, sequences, right, law, variation(law, right))


# Predicting -------------------------------------------------------------------------------------


def _question(case: Case, scenario: Scenario | None, inspecting: bool) -> bool:
    """Ask for the law or the distance; whether the truth may be shown."""
    what = "distance"
    if scenario:
        what = st.radio(
            "What to predict",
            list(QUESTIONS),
            format_func=lambda what: QUESTIONS.get(what, "?"),
            key=state.ASKED_OF_MISTAKE,
            horizontal=True,
            persist_state="session",
        )
    question, truth, mistakes = (
        _about_law(case, scenario)
        if scenario and what == "law"
        else _about_distance(case, scenario)
    )
    state.asked(QUESTION, question.about)  # inspecting, too, erases what is about others
    if inspecting:
        return True
    prediction = predicted(question)
    if prediction is None:
        return False
    if truth is None:
        st.info("There is nothing to hold that against: this code gets stuck.")
        try_again(QUESTION)
        return True
    comparison = compare(prediction, truth, mistakes)
    inputs = dict(question.lines) if scenario and what == "law" else {}
    show_comparison(question, comparison, "a law", inputs)
    return True


def _about_law(
    case: Case, scenario: Scenario
) -> tuple[Question, Exact | None, tuple[NamedLaw, ...]]:
    groups = leading(tuple(map(max, scenario.target, scenario.draft)), MOST_ASKED)
    p, q = together(scenario.target, groups), together(scenario.draft, groups)
    prompt = "**How often does each token come out of this code?**"
    if len(groups) < len(scenario.tokens):
        prompt += (
            f" Asked for are the {len(groups) - 1} tokens with the most of p or q; the other "
            f"{len(groups[-1]):,} share the last bar."
        )
    question = Question(
        QUESTION,
        "Law of the mistake",
        (*case.about, "law"),
        prompt,
        group_labels(scenario.tokens, groups),
        (("p", p), ("q", q)),
        role="law",
        texts=state.texts(),
    )
    others = tuple(
        law for law in named_laws(scenario.step, "output", groups) if law.slug != case.mistake.slug
    )
    right = NamedLaw("This is p itself: what comes out of the right lines.", p)
    return question, together(case.law, groups) if case.law else None, (right, *others)


def _about_distance(
    case: Case, scenario: Scenario | None
) -> tuple[Question, Exact | None, tuple[NamedLaw, ...]]:
    wanted = isinstance(case.mistake, StepMistake) and case.mistake.wanted is not None
    law_of = "p" if scenario else f"the target's, for the first {case.about[-1]} tokens"
    if wanted:
        law_of = "the law that was asked for, p cut as above"
    question = Question(
        QUESTION,
        "Distance of the mistake",
        (*case.about, "distance"),
        f"The total variation distance of two laws is half the sum of the absolute differences: 0 "
        f"when they are equal, 1 when they share nothing. **How far is its law from {law_of}?**",
        ("distance",),
        role="owed",
        unit="distance",
    )
    if case.distance is None:
        return question, None, ()
    twice = NamedLaw(
        "This is the sum of the absolute differences; the distance is half of it.",
        (2 * case.distance,),
    )
    return question, (case.distance,), (twice,)


# Inspecting -------------------------------------------------------------------------------------


def _details(case: Case) -> None:
    found = case.shown
    assert found is not None
    if found.law is None or case.law is None or found.distance is None:
        st.warning(f"On this p and q the code has no law. {literal(found.stuck)}")
        return
    left, right = st.columns([3, 2], gap="large")
    groups = leading(tuple(map(max, found.right.target, found.right.draft)), charts.MOST_BARS)
    labels = group_labels(case.labels, groups)
    with left:
        st.header("What comes out")
        distance, kept, alpha = st.columns(3)
        wanted = isinstance(case.mistake, StepMistake) and case.mistake.wanted is not None
        name = "cut p" if wanted else "p"
        distance.metric(f"Distance from {'the ' if wanted else ''}{name}", number(found.distance))
        kept.metric("It keeps", number(found.law.acceptance))
        alpha.metric("α, the right rule keeps", number(found.right.acceptance))
        pieces = {"kept": found.law.kept, "replacement": found.law.replaced}
        draw(
            charts.composed(
                "What comes out",
                {part: together(vector, groups) for part, vector in pieces.items()},
                (name, together(found.right.target, groups)),
                labels,
                dark=dark(),
            )
        )
    with right:
        st.header("Where the mass went")
        st.markdown(_verdict(case, name))
        columns: dict[str, Exact] = {
            name: found.right.target,
            "kept": found.law.kept,
            "replacement": found.law.replaced,
            "comes out": found.law.output,
        }
        table = {"token": list(map(literal, labels))}
        for title, vector in columns.items():
            table[title] = list(map(number, together(vector, groups)))
        gaps = tuple(a - b for a, b in zip(found.law.output, found.right.target, strict=True))
        table["difference"] = list(map(signed, together(gaps, groups)))
        st.table(table, hide_index=True, border="horizontal")
        _more(case, found)
    drawn(
        Drawable(
            (found.right.accepted, found.right.correction),
            (found.law.kept, found.law.replaced),
            groups,
            labels,
            (found.law.acceptance, found.right.acceptance),
        )
    )


def _verdict(case: Case, name: str) -> str:
    verdict = case.mistake.verdict
    asked = "" if name == "p" else ", which was asked for"
    if verdict != "biased":
        return f"**{verdict.capitalize()}.** {VERDICTS[verdict]}"
    if case.distance:
        return f"**Biased.** Its output does not have the law {name}{asked}."
    return "**Biased**, but not on this p and q: the law is exactly right here."


def _more(case: Case, found: Shown) -> None:
    """What a single draw does not tell."""
    assert found.law is not None
    if case.mistake.verdict == "right law but dependent draws":
        agree = sum((mass * mass for mass in found.law.output), Fraction())
        st.markdown(
            f"Two requests that are independent draw the same token with probability Σ p² = "
            f"{number(agree)}; two that share a stream always do. No histogram of one request "
            "shows it."
        )
    if case.mistake.slug == "redraw-until-accepted":
        st.markdown(f"It proposes {number(found.law.rounds)} times for a token, on average.")
    if case.mistake.verdict == "only wrong in finite precision":
        st.page_link("pages/precision.py", label="See it on Precision, on this p and q")
    if case.mistake.slug == "softmax-residual":
        st.caption("A softmax is no fraction: these numbers are computed in floats.")


def _inspect_block(case: Case) -> None:
    assert case.law is not None
    assert case.distance is not None
    st.header("What comes out")
    st.metric("Distance from the target's law", number(case.distance))
    st.caption("Sequences are shown with the likeliest first. An overview needs one p and q.")
    st.markdown(
        "**Biased.** Its output does not have the target's law."
        if case.distance
        else "**Biased**, but not on these models: the law is exactly right here."
    )
    first = tuple((i,) for i in range(min(MOST_SHOWN, len(case.labels))))
    rest = tuple(range(len(first), len(case.labels)))
    groups = (*first, rest) if rest else first
    labels = (*case.labels[: len(first)], *([f"{len(rest):,} others"] if rest else []))
    table = {
        "tokens": list(map(literal, labels)),
        "target": list(map(number, together(case.right, groups))),
        "comes out": list(map(number, together(case.law, groups))),
        "difference": [
            signed(a - b)
            for a, b in zip(together(case.law, groups), together(case.right, groups), strict=True)
        ],
    }
    st.table(table, hide_index=True, border="horizontal")
    none = (Fraction(),) * len(case.right)
    drawn(Drawable((case.right, none), (case.law, none), groups, labels, None, "sequence"))


# All of them ------------------------------------------------------------------------------------


def _overview(scenario: Scenario) -> None:
    """All mistakes of one step on this p and q, the farthest first."""
    st.header("All mistakes on this p and q")
    if len(scenario.tokens) > MOST_TOKENS:
        st.info(f"The overview takes up to {MOST_TOKENS:,} tokens.")
        return
    with st.spinner("Running every rule through all its choices"):
        found = mistakes_on(scenario)
    showing = [(each, draws) for each, draws in found if each.distance or each.law is None]
    table: Mapping[str, list[str]] = {
        "mistake": [literal(each.mistake.title) for each, _ in showing],
        "distance": [
            "gets stuck" if e.distance is None else number(e.distance) for e, _ in showing
        ],
        "keeps": ["" if e.law is None else number(e.law.acceptance) for e, _ in showing],
        "right: α": [number(each.right.acceptance) for each, _ in showing],
        "draws to find it": ["" if draws is None else about(draws) for _, draws in showing],
    }
    if showing:
        st.table(table, hide_index=True, border="horizontal")
        st.caption(
            "With so many draws a chi-square test at the 1% level finds the mistake 9 times in 10. "
            "Parameters as they are at first."
        )
    hidden = [each.mistake for each, _ in found if each.distance == 0]
    biased = [mistake for mistake in hidden if mistake.verdict == "biased"]
    if biased:
        st.markdown(
            f"**This p and q cannot show {counted(len(biased), 'mistake')}**: the law is exactly "
            "right here. Each shows on its witness:"
        )
        with st.container(horizontal=True):
            for mistake in biased:
                if st.button(mistake.title, key=f"witness {mistake.slug}"):
                    _use_witness(mistake)
    others = "; ".join(
        f"{literal(mistake.title)} ({mistake.verdict})"
        for mistake in hidden
        if mistake.verdict != "biased"
    )
    if others:
        st.markdown(f"**No p and q shows in the law:** {others}.")


main()
