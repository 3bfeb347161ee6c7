"""Predict, then inspect: bars to set, a commitment, and the comparison with the truth."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import cycle
from typing import Any

import streamlit as st

from lab import charts
from lab.figures import short
from lab.mistakes import MISTAKES
from lab.prediction import Comparison, Prediction, read_bars
from lab.scenario import Texts
from lab.tables import prediction_csv
from lab.vectors import Exact, total
from pages.parts import state
from pages.parts.bars import bar_texts, bars
from pages.parts.words import counted, literal, number


@dataclass(frozen=True)
class Question:
    """What is asked, without its answer.

    Attributes
    ----------
    key : what the question is called in session state
    name : what it is called on the page and in the record
    about : everything the answer depends on; when it changes, a prediction is erased
    prompt : what to set the bars to, in Markdown
    labels : one a bar
    lines : reference lines in the picture, such as ("p", values)
    top : the value at the upper end of a bar
    role : the role, and so the colour, of what is predicted
    unit : what a bar measures
    none_allowed : the sentence for saying that there is nothing to predict, if one may say so
    texts : the p and q that it is about, for links to the gallery
    """

    key: str
    name: str
    about: Hashable
    prompt: str
    labels: tuple[str, ...]
    lines: tuple[tuple[str, Exact], ...] = ()
    top: Fraction = Fraction(1)
    role: charts.Role = "law"
    unit: str = "probability"
    none_allowed: str = ""
    texts: Texts | None = None

    @property
    def step(self) -> Fraction:
        """One tick of the control."""
        return self.top / 100


def just_inspect() -> bool:
    """The switch for people who come to check, not to learn. It holds on every page."""
    return st.toggle(
        "Just inspect",
        key=state.INSPECT,
        persist_state="session",
        help="Shows the results without asking for a prediction.",
    )


def reset_button(settings: dict[str, Any], question: str) -> None:
    """The button that goes back to how the session began, with these settings."""
    if st.button("Reset", help="Back to the start: the first p and q, nothing predicted."):
        state.use_start()
        state.use_settings(settings)
        state.erase(question)
        st.rerun()


def predicted(question: Question) -> Prediction | None:
    """Ask, unless it is answered already; the committed prediction, or None while it is open."""
    asked = state.asked(question.key, question.about)
    if asked.prediction:
        return asked.prediction
    st.markdown(question.prompt)
    key = state.bars_key(question.key, asked.round)
    nothing = bool(question.none_allowed) and st.checkbox(question.none_allowed, key=f"none {key}")
    tried = st.session_state.get(f"tried {key}", False)
    texts: Sequence[str | None] = ()
    if not nothing:
        state.keep_bars(key)
        _, faults = read_bars(bar_texts(key, len(question.labels)))
        texts = bars(
            question.labels,
            [(name, values, list(map(short, values))) for name, values in question.lines],
            key=key,
            top=float(question.top),
            step=float(question.step),
            bad=[i for i in faults if bar_texts(key, len(question.labels))[i] is not None],
            describe=f"Your prediction: {question.name}",
        )
    values, faults = read_bars(texts)
    unreadable = {i: fault for i, fault in faults.items() if texts[i] is not None}
    if commit_button():
        if nothing or not faults:
            state.commit(question.key, Prediction(None if nothing else values, question.step))
            st.rerun()
        st.session_state[f"tried {key}"] = tried = True
    for i, fault in (faults if tried else unreadable).items():
        st.error(f"{literal(question.labels[i])}: {literal(fault)}")
    return None


def commit_button() -> bool:
    """The button that freezes a prediction; whether it was pressed."""
    with st.container(key="commit"):
        st.html(_COMMIT)
        return st.button("Commit prediction")


def try_again(key: str) -> None:
    """The button that asks the same question once more."""
    if st.button("Try again", key=f"again {key}", help="The same again, nothing predicted."):
        state.erase(key)
        st.rerun()


def show_comparison(
    question: Question,
    comparison: Comparison,
    total_name: str,
    inputs: dict[str, Exact],
) -> None:
    """The verdict, the picture of prediction and truth, the gaps, and the record to download."""
    (st.success if comparison.verdict == "right" else st.warning)(
        _verdict(question, comparison, total_name)
    )
    _gallery(comparison, question.texts)
    if comparison.gaps is not None and comparison.truth is not None:
        draw(
            charts.against_truth(
                comparison, question.labels, question.role, question.unit, dark=dark()
            )
        )
        assert comparison.prediction.values is not None
        assert comparison.distance is not None
        columns = {
            "": [literal(label) for label in question.labels],
            "your prediction": list(map(number, comparison.prediction.values)),
            "truth": list(map(number, comparison.truth)),
            "gap": [signed(gap) for gap in comparison.gaps],
        }
        st.table(columns, hide_index=True, border="horizontal")
        half = f"half the sum of the absolute gaps: **{number(comparison.distance)}**"
        law_like = total(comparison.gaps) == 0
        if len(comparison.gaps) > 1:
            st.markdown(f"Total variation distance, {half}" if law_like else half.capitalize())
    with st.container(horizontal=True):
        _after(question, comparison, inputs)


def _gallery(comparison: Comparison, texts: Texts | None) -> None:
    """The way to the entry of the gallery that has the predicted law, and to others that do."""
    first = comparison.mistake.slug if comparison.mistake else None
    if first is None:
        return
    mistake_link(first, texts)
    others = dict.fromkeys(law.slug for law in comparison.others if law.slug not in (None, first))
    if others:
        st.caption("This p and q cannot tell it from:")
    for slug in others:
        assert slug is not None
        mistake_link(slug, texts)


def mistake_link(slug: str, texts: Texts | None = None) -> None:
    """A link to an entry of the gallery, on a p and q if they are given."""
    carried = texts.query() if texts and texts.link("") else {}  # for those who open a new tab
    st.page_link(
        "pages/mistakes.py",
        label=f"Mistake: {literal(MISTAKES[slug].title)}",
        icon=":material/arrow_forward:",
        query_params={"mistake": slug, **carried},
    )


def _after(question: Question, comparison: Comparison, inputs: dict[str, Exact]) -> None:
    """What can be done with a comparison: try again, take the record away."""
    try_again(question.key)
    st.download_button(
        "Download prediction",
        data=lambda: prediction_csv(question.name, question.labels, dict(inputs), comparison),
        file_name="residual-lab-prediction.csv",
        mime="text/csv",
        on_click="ignore",
        key=f"record {question.key}",
        help="A CSV file with inputs, prediction, truth and gaps.",
    )


def signed(gap: Fraction) -> str:
    """A difference with its sign."""
    text = number(abs(gap))
    sign = "+" if gap > 0 else "−" if gap < 0 else ""
    return f"≈{sign}{text[1:]}" if text.startswith("≈") else f"{sign}{text}"


def _verdict(question: Question, comparison: Comparison, total_name: str) -> str:
    values, truth = comparison.prediction.values, comparison.truth
    if comparison.verdict == "right":
        exactly = comparison.gaps is None or not any(comparison.gaps)
        return "Right." if exactly else "Right, as near as these bars can be set."
    if comparison.verdict == "no residual":
        named = f" {comparison.mistake.sentence}" if comparison.mistake else ""
        return f"There is no residual here: p = q, and nothing is ever rejected.{named}"
    if comparison.verdict == "a residual exists":
        return "There is a residual here: some token has p above q."
    if comparison.mistake:
        return f"Not yet. {comparison.mistake.sentence}"
    assert values is not None
    assert truth is not None
    if len(values) == 1:
        gap = values[0] - truth[0]
        side = "much" if gap > 0 else "little"
        return f"Not yet: {number(abs(gap))} too {side}."
    if comparison.verdict == "wrong total":
        return (
            f"Not yet. These bars sum to {number(total(values))}; "
            f"{total_name} sums to {number(total(truth))}."
        )
    if comparison.verdict == "right support":
        return "Not yet: the right tokens have mass, but not the right amounts."
    bars = list(zip(question.labels, values, truth, strict=True))
    parts = [
        f"{_some(labels)} should {wanted}"
        for wanted, labels in (
            ("be 0", [label for label, v, t in bars if v and not t]),
            ("not be 0", [label for label, v, t in bars if t and not v]),
        )
        if labels
    ]
    return f"Not yet: {' and '.join(parts)}."


def _some(labels: Sequence[str]) -> str:
    """Up to three labels by name, more by number."""
    if len(labels) > 3:
        return counted(len(labels), "bar")
    return ", ".join(map(literal, labels))


def bar_top(values: Sequence[Fraction]) -> Fraction:
    """A round number that no value exceeds: 1, 0.5, 0.2, 0.1, 0.05, …"""
    top = Fraction(1)
    for ratio in cycle((Fraction(1, 2), Fraction(2, 5), Fraction(1, 2))):
        if top * ratio < max(values):
            return top
        top *= ratio
    raise AssertionError("unreachable: the ratios never end")


def dark() -> bool:
    """Whether the page is shown dark."""
    return st.context.theme.type == "dark"


def draw(picture: charts.Picture) -> None:
    """Put a picture on the page: its legend, the chart, and words for those who do not see it."""
    st.html(_LEGEND.format("".join(map(_sign, picture.legend))))
    st.vega_lite_chart(picture.data, picture.spec, alt=picture.alt)


# Not type="primary": no one colour is both readable on a dark page and readable under white.
_COMMIT = """<style>.st-key-commit button {
    border: 2px solid currentColor; font-weight: 600;
}</style>"""

_LEGEND = '<div style="display:flex;flex-wrap:wrap;gap:0.2rem 1.2rem;font-size:0.95rem">{}</div>'


def _sign(sign: charts.Sign) -> str:
    look = (
        f"width:0.9em;height:0.9em;border:1px solid;background:{sign.fill}"
        if sign.fill
        else f"width:1.6em;border-top:3px {'dashed' if sign.dashed else 'solid'} {sign.line or ''}"
    )
    box = f'<span style="display:inline-block;vertical-align:middle;{look}"></span>'
    return f'<span style="white-space:nowrap">{box}&ensp;{escape(sign.text)}</span>'
