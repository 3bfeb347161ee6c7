"""Page Block: drafted blocks, step by step and by their exact law."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from lab import charts
from lab.block import (
    BlockLaw,
    block_verification_law,
    distance,
)
from lab.draws import draw_blocks
from lab.errors import LabError
from lab.pairs import MOST_DRAFTS, PAIRS, BlockLink, Pair
from lab.prediction import NamedLaw, compare
from lab.scenario import format_tokens
from lab.step import exact_step
from lab.tables import law_csv
from lab.vectors import Exact
from lab.worth import ConstantRate, best_draft_length, speedups
from pages.parts import state
from pages.parts.export import page_address, show_link
from pages.parts.glossary import glossary
from pages.parts.head import head
from pages.parts.laws import emitted_of, generated_of, law_of
from pages.parts.pair import block_settings, drafts_field, length_field, pair_entry
from pages.parts.predict import Question, dark, draw, just_inspect, predicted, show_comparison
from pages.parts.walk import walk
from pages.parts.words import counted, literal, number

QUESTION = "block"
MOST_SHOWN = 12
"""Sequences of a law that the page lists; the file has them all."""

DRAWN = 10_000
"""Blocks that are drawn where a law is too large."""

VIEWS = ("The law", "One block")


def main() -> None:
    """The page."""
    head(
        "Block",
        "A sampler drafts **K** tokens at once and tests them in order. The first rejection ends "
        "the block: what was drafted after it is discarded, and one replacement is drawn from the "
        "residual of *that* position. If all are kept, one bonus token is drawn from p.",
    )
    block_settings()
    st.session_state.setdefault(state.VIEW, VIEWS[0])
    left, right = st.columns([2, 3], gap="large")
    with left:
        drafts, seed, length, cost = _settings()
        pair = pair_entry()
        glossary()
        _share(drafts, seed, length, cost)
    with right:
        if pair is None:
            st.info("Results appear here once every row is a law.")
            return
        with st.container(horizontal=True, vertical_alignment="bottom"):
            view = st.segmented_control(
                "View", VIEWS, required=True, key=state.VIEW, persist_state="session"
            )
            inspecting = just_inspect() if view == VIEWS[0] else False
            if st.button("Reset", help="Back to the start: nothing edited, predicted or drawn."):
                _reset()
                st.rerun()
        if view == VIEWS[1]:
            walk(pair, drafts, seed)
            return
        law = law_of(pair, drafts)
        if isinstance(law, str):
            st.info(literal(law))
            _draws(pair, drafts, seed)
            return
        state.asked(QUESTION, (pair, drafts))  # inspecting, too, erases what is about others
        if not inspecting and not _predict(pair, law):
            return
        _counts(law, draw_bars=inspecting)
    _details(pair, law, length, cost)


# Settings ---------------------------------------------------------------------------------------


def _reset() -> None:
    start = BlockLink()
    state.use_settings(
        {
            state.PAIR: start.pair,
            state.DRAFTS: start.drafts,
            state.SEED: start.seed,
            state.LENGTH: start.length,
            state.COST: start.cost,
            state.VIEW: VIEWS[0],
            state.INSPECT: False,
            state.PAIR_ROWS: {},
            state.PAIR_GRID: None,
            state.WALK: None,
        }
    )
    state.erase(QUESTION)


def _settings() -> tuple[int, int, int, str]:
    first, second = st.columns(2)
    drafts = drafts_field(first)
    seed = second.number_input("Seed", 0, 10**9, key=state.SEED, persist_state="session")
    length = length_field(first)
    cost = second.text_input(
        "Cost c of a draft step", key=state.COST, persist_state="session",
        help="The time of one draft step over the time of one target step.",
    )  # fmt: skip
    return drafts, seed, length, cost or "0"


def _share(drafts: int, seed: int, length: int, cost: str) -> None:
    pair = st.session_state[state.PAIR]
    link = BlockLink(pair, drafts, length, seed, cost)
    show_link(f"{page_address()}?{urlencode(link.query(), safe='/')}")
    if st.session_state.get(state.PAIR_ROWS, {}).get(pair, PAIRS[pair].rows) != PAIRS[pair].rows:
        st.caption("The link carries the preset and the settings, not the rows that were edited.")


# Predict ----------------------------------------------------------------------------------------


def _predict(pair: Pair, law: BlockLaw) -> bool:
    """Ask for the accepted counts, or compare them; whether the truth may be shown."""
    k = law.draft_length
    question = Question(
        key=QUESTION,
        name="Accepted count",
        about=(pair, k),
        prompt=f"Of {counted(k, 'draft')}, **how many are accepted before the first rejection?**",
        labels=tuple(map(str, range(k + 1))),
        role="accepted",
    )
    prediction = predicted(question)
    if prediction is None:
        return False
    target, draft = pair.models()
    rate = exact_step(target(()), draft(())).acceptance
    constant = ConstantRate(rate, k).accepted_count
    mistakes = [
        NamedLaw(
            "These are the counts at a constant rate, that of the first position; here the rate "
            "depends on what was drafted.",
            tuple(constant.get(n, Fraction()) for n in range(k + 1)),
        ),
        NamedLaw("These are the counts of what is discarded or rejected.", law.accepted_bars[::-1]),
    ]
    show_comparison(question, compare(prediction, law.accepted_bars, mistakes), "a law", {})
    return True


# Inspect ----------------------------------------------------------------------------------------


def _counts(law: BlockLaw, *, draw_bars: bool) -> None:
    st.header("Accepted drafts")
    if draw_bars:
        labels = tuple(map(str, range(law.draft_length + 1)))
        draw(charts.law(law.accepted_bars, labels, "accepted drafts", "accepted", dark=dark()))
    accepted, emitted, every = st.columns(3)
    accepted.metric("Expected accepted", number(law.expected_accepted))
    emitted.metric("Expected emitted", number(law.expected_emitted))
    every.metric(f"All {law.draft_length} accepted", number(law.all_accepted))
    last = law.rejected + law.bonus
    st.markdown(
        f"Emitted is accepted plus one last token, a replacement (probability "
        f"{number(law.rejected)}) or a bonus ({number(law.bonus)}): "
        f"{number(law.expected_accepted)} + {number(last)} = {number(law.expected_emitted)}."
        + (" Where a stop token is kept there is no last token." if last != 1 else "")
    )
    st.caption("Rule: token by token.")
    _download(
        "Download accepted counts",
        {"accepted": tuple(map(str, range(law.draft_length + 1)))},
        {"probability": law.accepted_bars},
        "accepted",
    )


def _details(pair: Pair, law: BlockLaw, length: int, cost: str) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        st.header("What one block emits")
        _listed({"probability": law.emitted}, "emitted")
    with right:
        st.header("Block after block")
        _block_after_block(pair, law.draft_length, length)
    st.header("What speculation is worth")
    try:
        _worth(pair, law, cost)
    except LabError as fault:
        st.error(literal(str(fault)))


def _block_after_block(pair: Pair, drafts: int, length: int) -> None:
    laws = generated_of(pair, drafts, length)
    if isinstance(laws, str):
        st.info(literal(laws))
        return
    gap = distance(laws.generated, laws.target)
    equal = sum(laws.generated.get(key) == p for key, p in laws.target.items())
    st.markdown(
        f"The first {counted(length, 'token')} when block follows block, beside the target's own "
        f"autoregressive law: {equal:,} of {counted(len(laws.target), 'sequence')} have exactly "
        f"the same probability; total variation distance **{number(gap)}**."
    )
    _listed({"generated": laws.generated, "target": laws.target}, "generated")
    st.subheader("If testing went on after the first rejection")
    if isinstance(laws.faulty, str):
        st.info(literal(laws.faulty))
        return
    off = distance(laws.faulty, laws.target)
    st.markdown(
        "The later drafts assumed a token that is not there. Testing them as though they followed "
        f"the replacement gives another law, at a total variation distance of **{number(off)}**."
        + ("" if off else " On these models it does no harm: their rows do not tell.")
    )
    _listed({"kept testing": laws.faulty, "target": laws.target}, "kept-testing")


def _listed(laws: Mapping[str, Mapping[tuple[str, ...], Fraction]], name: str) -> None:
    """The likeliest sequences of laws side by side, and the file with all."""
    none = Fraction()
    keys = sorted(
        {key for law in laws.values() for key in law},
        key=lambda key: (-max(law.get(key, none) for law in laws.values()), key),
    )
    shown = keys[:MOST_SHOWN]
    table = {"tokens": [literal(format_tokens(key)) for key in shown]}
    for title, law in laws.items():
        table[title] = [number(law.get(key, none)) for key in shown]
    if len(laws) == 2:
        first, second = laws.values()
        table["difference"] = [number(first.get(k, none) - second.get(k, none)) for k in shown]
    st.table(table, hide_index=True, border="horizontal")
    if len(keys) > len(shown):
        st.caption(f"The {len(shown)} likeliest of {len(keys):,}; the file has all.")
    _download(
        f"Download {name} law",
        {"tokens": tuple(map(format_tokens, keys))},
        {title: tuple(law.get(key, none) for key in keys) for title, law in laws.items()},
        name,
    )


def _worth(pair: Pair, law: BlockLaw, cost: str) -> None:
    """Expected emitted tokens and speed-up against K, for three ways of counting."""
    target, draft = pair.models()
    exact, joint = emitted_of(pair, "token-by-token"), emitted_of(pair, "block-verification")
    rate = exact_step(target(()), draft(())).acceptance
    constant: Exact = tuple(ConstantRate(rate, k).expected_emitted for k in range(MOST_DRAFTS + 1))
    factors = speedups(exact, cost)
    best = best_draft_length(factors)
    left, right = st.columns(2, gap="large")
    with left:
        draw(
            charts.by_draft_length(
                {
                    "token by token": exact,
                    "block verification": joint,
                    f"constant rate {number(rate)}": constant,
                },
                "expected emitted tokens for a target call",
                dark=dark(),
            )
        )
        st.caption(
            f"The constant rate is that of the first position, {number(rate)}; its formula "
            "(1 − a^(K+1))/(1 − a) holds only when the rate does not depend on the prefix, and "
            "knows no stop token."
        )
    with right:
        draw(
            charts.by_draft_length(
                {"token by token": factors, "block verification": speedups(joint, cost)},
                "speed-up over the target alone",
                best,
                dark=dark(),
            )
        )
        st.markdown(
            f"With a draft step at {literal(cost)} of a target step the best K is **{best}**, "
            f"{number(factors[best])} times as fast as the target alone (token by token)."
            if best
            else f"With a draft step at {literal(cost)} of a target step no K is faster than the "
            "target alone."
        )
    verified = block_verification_law(target, draft, draft_length=law.draft_length, stop=pair.stop)
    st.markdown(
        f"**Block verification** tests the drafts jointly and has the same output law. With "
        f"K = {law.draft_length} it accepts {number(verified.expected_accepted)} drafts on "
        f"average; token by token it is {number(law.expected_accepted)}."
    )
    names = tuple(map(str, range(MOST_DRAFTS + 1)))
    _download(
        "Download worth",
        {"K": names},
        {
            "emitted token by token": exact,
            "emitted block verification": joint,
            "emitted constant rate": constant,
            "speed-up token by token": factors,
        },
        "worth",
    )


def _draws(pair: Pair, drafts: int, seed: int) -> None:
    """Where a law is too large to list: blocks that are drawn, and said to be."""
    if not st.button(f"Draw {DRAWN:,} blocks", key="draws"):
        return
    target, draft = pair.models()
    counts = draw_blocks(
        target,
        draft,
        draft_length=drafts,
        count=DRAWN,
        rng=np.random.default_rng(seed),
        stop=pair.stop,
    )
    st.markdown(
        f"**A simulation, not a law:** {DRAWN:,} blocks with seed {seed}. Mean accepted "
        f"{number(counts.mean_accepted)}, mean emitted {number(counts.mean_emitted)}."
    )
    bars = tuple(Fraction(counts.accepted_count.get(k, 0), DRAWN) for k in range(drafts + 1))
    labels = tuple(map(str, range(drafts + 1)))
    draw(charts.law(bars, labels, "accepted drafts, drawn", "accepted", dark=dark()))


def _download(
    label: str, labels: dict[str, tuple[str, ...]], columns: dict[str, Exact], name: str
) -> None:
    st.download_button(
        label,
        data=lambda: law_csv(dict(labels), dict(columns)),
        file_name=f"residual-lab-{name}.csv",
        mime="text/csv",
        on_click="ignore",
    )


main()
