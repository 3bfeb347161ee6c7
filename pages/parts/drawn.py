"""How many draws would show a mistake: counts drawn from a faulty rule and from the right one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import streamlit as st

from lab import charts
from lab.evidence import (
    LEVEL,
    MOST_DRAWS,
    ChiSquare,
    chi_square,
    draw_counts,
    draws_needed,
    interval,
    power,
    share_draws_needed,
    share_p_value,
)
from lab.groups import Groups, together
from lab.vectors import Exact
from pages.parts import state
from pages.parts.predict import dark, draw
from pages.parts.words import counted, number

_Parts = tuple[Exact, Exact]
"""Mass that comes out as a kept proposal, and as a replacement."""


@dataclass(frozen=True, eq=False)
class Drawable:
    """Two rules to draw from.

    Attributes
    ----------
    right, faulty : kept and replaced mass of each rule
    groups, labels : what the picture shows together, and what it calls that
    kept : how often the faulty and the right rule keep a proposal; None where that is not asked
    noun : what one draw gives
    """

    right: _Parts
    faulty: _Parts
    groups: Groups
    labels: tuple[str, ...]
    kept: tuple[Fraction, Fraction] | None
    noun: str = "token"


@dataclass(frozen=True)
class _Drawn:
    counts: list[int]
    kept: int
    test: ChiSquare


def drawn(rules: Drawable) -> None:
    """The section: settings, the picture, the tests, and what they can show."""
    st.header("How many draws would show it?")
    st.markdown(
        f"Everything above is exact. **This is a simulation**: N {rules.noun}s are drawn from the "
        "faulty rule and N from the right one, and a chi-square test holds each against the law "
        "that should come out."
    )
    memory = st.session_state
    memory.setdefault(state.DRAWN, state.DEFAULT_DRAWS)
    memory.setdefault(state.DRAW_SEED, 0)
    first, second, _ = st.columns([1, 1, 2])
    count = first.number_input("Draws N", 1, MOST_DRAWS, key=state.DRAWN, persist_state="session")
    seed = second.number_input(
        "Seed of the draws", 0, 10**9, key=state.DRAW_SEED, persist_state="session"
    )
    law, right = _sum(rules.faulty), _sum(rules.right)
    samples = {
        "faulty rule": _sample(rules.faulty, right, count, (seed, 0)),
        "right rule": _sample(rules.right, right, count, (seed, 1)),
    }
    roles: tuple[charts.Role, charts.Role] = ("prediction", "law")
    draw(
        charts.sampled(
            [
                _bars(name, role, sample, rules.groups, count)
                for (name, sample), role in zip(samples.items(), roles, strict=True)
            ],
            ("should come out", together(right, rules.groups)),
            rules.labels,
            dark=dark(),
        )
    )
    st.table(_table(samples, rules, count), hide_index=True, border="horizontal")
    needed = draws_needed(law, right)
    if needed is None:
        st.markdown(
            "The two laws are equal, so **no number of draws tells them apart** by counting "
            f"{rules.noun}s."
        )
    else:
        st.markdown(
            f"**About {about(needed)} draws** find this mistake 9 times in 10, at the "
            f"{LEVEL:.0%} level. With {count:,} the test finds it "
            f"{_often(power(law, right, count))} of the time."
        )
        st.markdown(_control(samples["faulty rule"].test, needed, count))
    if rules.kept:
        st.markdown(_by_acceptance(rules.kept, needed))
    pooled = samples["right rule"].test.pooled
    st.caption(
        f"Bars with {1 - LEVEL:.0%} intervals (Clopper–Pearson). The test accuses the right rule "
        f"{LEVEL:.0%} of the time, by chance."
        + (
            f" {counted(pooled, 'token')} expected fewer than 5 times share a bin."
            if pooled
            else ""
        )
    )


def _sum(parts: _Parts) -> Exact:
    return tuple(a + b for a, b in zip(*parts, strict=True))


def _sample(parts: _Parts, right: Exact, count: int, seed: tuple[int, int]) -> _Drawn:
    """Kept and replaced tokens are drawn apart, so that both are counted in the same draws."""
    rng = np.random.default_rng(seed)
    kept, replaced = np.split(draw_counts((*parts[0], *parts[1]), count, rng), 2)
    counts = kept + replaced
    return _Drawn(counts.tolist(), int(kept.sum()), chi_square(counts, right))


def _bars(
    name: str, role: charts.Role, sample: _Drawn, groups: Groups, count: int
) -> charts.Sample:
    hits = [sum(sample.counts[i] for i in group) for group in groups]
    return charts.Sample(
        name,
        role,
        tuple(Fraction(n, count) for n in hits),
        [interval(n, count) for n in hits],
    )


def _table(samples: dict[str, _Drawn], rules: Drawable, count: int) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {"": [], "chi-square": [], "p-value": [], "the law is": []}
    for name, sample in samples.items():
        test = sample.test
        table[""].append(name)
        table["chi-square"].append(
            f"impossible {rules.noun}"
            if test.impossible
            else f"{test.statistic:.1f} ({test.freedom} df)"
            if test.freedom
            else "a single bin"
        )
        untested = not test.freedom and not test.impossible
        table["p-value"].append("none" if untested else _p_value(test.p_value))
        table["the law is"].append(
            "not tested" if untested else "refuted" if test.fails else "not refuted"
        )
    if rules.kept:
        alpha = rules.kept[1]
        table["kept"] = [number(Fraction(sample.kept, count)) for sample in samples.values()]
        table[f"p-value against α = {number(alpha)}"] = [
            _p_value(share_p_value(sample.kept, count, alpha)) for sample in samples.values()
        ]
    return table


def _p_value(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}" if value else "0"


def about(count: int) -> str:
    """A number of draws: three digits of it, for it is no more certain than that."""
    size = 10 ** max(0, len(str(count)) - 3)
    return f"{-(-count // size) * size:,}" if count < 10**15 else f"{float(count):.0e}"


def _often(share: float) -> str:
    return "more than 99%" if share > 0.99 else f"{share:.0%}"


def _control(test: ChiSquare, needed: int, count: int) -> str:
    begin = (
        "A test that cannot fail proves nothing, so run it on a faulty rule too: this "
        "**negative control** must fail."
    )
    if test.fails:
        return f"{begin} Here it does."
    if not test.freedom:
        return f"{begin} With {count:,} all draws share one bin, and there is no test at all."
    if count < needed:
        return f"{begin} Here it passes: with {count:,} draws this test could not tell."
    return f"{begin} Here it passes, by chance: another seed, or more draws."


def _by_acceptance(kept: tuple[Fraction, Fraction], needed: int | None) -> str:
    faulty, alpha = kept
    by_share = share_draws_needed(faulty, alpha)
    if by_share is None:
        return (
            f"**Acceptance alone never shows it**: the faulty rule keeps {number(alpha)} of the "
            "proposals, exactly as it should."
        )
    text = (
        f"Acceptance alone, {number(faulty)} instead of {number(alpha)}, takes about "
        f"{about(by_share)} draws to show that something is wrong"
    )
    if needed is None:
        return f"{text}; the tokens never do."
    return f"{text}; the tokens take {about(needed)}."
