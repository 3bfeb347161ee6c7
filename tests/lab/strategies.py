"""What Hypothesis draws from: laws, float rows, labels."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

Pair = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]

labels = st.text(max_size=30)  # any Unicode but surrogates, the empty text included
tricky_labels = st.one_of(
    labels,
    st.text(alphabet=" \t\n\r\"'\\,;[]=+-@:.\ufeff\u00a0\u3000\u200b\u2028\x00\x85|#", max_size=6),
    st.sampled_from(["", " ", "NA", "null", "None", "nan", "the", "the #1", "1", "-1", "a,b", '"']),
)
FLOATS = (np.float16, np.float32, np.float64)


def _law(weights: list[int]) -> tuple[Fraction, ...]:
    if not any(weights):
        weights = [*weights[:-1], 1]
    whole = sum(weights)
    return tuple(Fraction(weight, whole) for weight in weights)


@st.composite
def ticket_pairs(draw: st.DrawFn, most: int = 5, tickets: int = 18) -> Pair:
    """p and q over a small common denominator, so that every outcome can be visited."""
    n = draw(st.integers(1, most))
    size = draw(st.integers(1, tickets))

    def law() -> tuple[Fraction, ...]:
        inner = draw(st.lists(st.integers(0, size), min_size=n - 1, max_size=n - 1))
        cuts = [0, *sorted(inner), size]
        return tuple(Fraction(b - a, size) for a, b in pairwise(cuts))

    return law(), law()


@st.composite
def law_pairs(draw: st.DrawFn, most: int = 7) -> Pair:
    """p and q of every kind: plain, zeros, equal, disjoint, one-hot, huge, nearly equal."""
    kind = draw(
        st.sampled_from(["plain", "huge", "equal", "disjoint", "one-hot", "nearly equal", "few"])
    )
    n = draw(st.integers(2 if kind in ("disjoint", "nearly equal") else 1, most))
    top = 10**40 if kind == "huge" else 3 if kind == "few" else 10**4
    rows = st.lists(st.integers(0, top), min_size=n, max_size=n)
    p = _law(draw(rows))
    if kind == "equal":
        return p, p
    if kind == "disjoint":
        mine = draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n - 1))
        left = [1 + w if i in mine else 0 for i, w in enumerate(draw(rows))]
        right = [0 if i in mine else 1 + w for i, w in enumerate(draw(rows))]
        return _law(left), _law(right)
    if kind == "one-hot":
        hot = draw(st.integers(0, n - 1))
        one_hot = tuple(Fraction(int(i == hot)) for i in range(n))
        return (p, one_hot) if draw(st.booleans()) else (one_hot, p)
    if kind == "nearly equal":
        giver = draw(st.sampled_from([i for i, mass in enumerate(p) if mass]))
        taker = draw(st.sampled_from([i for i in range(n) if i != giver]))
        moved = list(p)
        moved[giver] -= (tiny := p[giver] / 10 ** draw(st.integers(1, 30)))
        moved[taker] += tiny
        return p, tuple(moved)
    return p, _law(draw(rows))


@st.composite
def scenarios_parts(draw: st.DrawFn) -> tuple[tuple[str, ...], Pair]:
    """Labels with a p and a q over them."""
    p, q = draw(law_pairs())
    names = draw(st.lists(tricky_labels, min_size=len(p), max_size=len(p)))
    return tuple(names), (p, q)


@st.composite
def float_pairs(draw: st.DrawFn, most: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Two rows of one float type with entries in [0, 1], subnormals and exact zeros among them.

    They need not sum to 1: rounded rows do not either.
    """
    kind = np.dtype(draw(st.sampled_from(FLOATS)))
    n = draw(st.integers(1, most))
    tiny = float(np.finfo(kind).smallest_subnormal)
    entry = st.one_of(
        st.floats(0, 1, width=kind.itemsize * 8),
        st.sampled_from([0.0, 1.0, 0.5, tiny, 3 * tiny]),
    )
    rows = hnp.arrays(kind, n, elements=entry)
    p, q = draw(rows), draw(rows)
    same = draw(hnp.arrays(bool, n))
    return p, np.where(same, p, q)
