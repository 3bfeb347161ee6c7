"""One position of a file as texts: the stored numbers, all of them or the heaviest."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import pytest

from lab import LabError, parse_vector
from lab.audit.excerpt import MOST_NAMED, excerpt
from lab.scenario import parse_tokens


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_a_position_keeps_its_stored_numbers(kind):
    rng = np.random.default_rng(0)
    p, q = (rng.dirichlet(np.ones(7), 3).astype(kind) for _ in "pq")
    texts = excerpt(npz(p=p, q=q, tokens=np.array([*list("abcde"), " f", "g,"])), "x.npz", 2)
    assert parse_vector(texts.p) == tuple(map(Fraction, p[1].tolist()))
    assert parse_vector(texts.q) == tuple(map(Fraction, q[1].tolist()))
    assert parse_tokens(texts.tokens) == (*"abcde", " f", "g,")


def test_of_a_long_row_the_heaviest_are_named_and_nothing_is_lost():
    rng = np.random.default_rng(1)
    p, q = (rng.dirichlet(np.full(5_000, 0.1)).astype(np.float32) for _ in "pq")
    texts = excerpt(npz(p=p, q=q), "x.npz", 1)
    named, masses = parse_tokens(texts.tokens), parse_vector(texts.p)
    assert len(named) == len(masses) == MOST_NAMED
    assert named[-1] == f"{5_001 - MOST_NAMED:,} others"
    assert sum(masses) == sum(map(Fraction, p.tolist()))
    ids = [int(name) - 1 for name in named[:-1]]
    assert ids == sorted(ids)
    assert masses[:-1] == tuple(Fraction(float(p[i])) for i in ids)
    left_out = set(range(5_000)) - set(ids)
    heavy = np.maximum(p, q)
    assert min(heavy[i] for i in ids) >= max(heavy[i] for i in left_out)


@pytest.mark.parametrize(
    ("arrays", "position", "words"),
    [
        ({"p": [0.5, np.nan], "q": [0.5, 0.5]}, 1, "p, entry 2 of position 1 is nan"),
        ({"p": [0.5, 0.5], "q": [1.5, -0.5]}, 1, "q, entry 2 of position 1 is -0.5"),
        ({"p": [0.5, np.inf], "q": [0.5, 0.5]}, 1, "p, entry 2 of position 1 is inf"),
        ({"p": [0.5, 0.5], "q": [0.5, 0.5]}, 2, "p has no position 2; it has 1"),
        ({"p": [0.5, 0.5], "q": [1.0]}, 1, "p has 2 entries here and q has 1"),
    ],
)
def test_what_one_step_cannot_take_is_refused(arrays, position, words):
    data = npz(**{name: np.array(values) for name, values in arrays.items()})
    with pytest.raises(LabError, match=words):
        excerpt(data, "x.npz", position)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [7, 400])
def test_rows_are_divided_by_their_own_sums_on_demand(kind, size):
    rng = np.random.default_rng(4)
    p, q = (rng.dirichlet(np.ones(size)).astype(kind) for _ in "pq")
    stored, divided = (excerpt(npz(p=p, q=q), "x.npz", 1, normalised=n) for n in (False, True))
    for one, other in ((stored.p, divided.p), (stored.q, divided.q)):
        law = parse_vector(one)
        assert parse_vector(other) == tuple(mass / sum(law) for mass in law)
    with pytest.raises(LabError, match="q of position 1 is empty"):
        excerpt(npz(p=[0.5, 0.5], q=[0.0, 0.0]), "x.npz", 1, normalised=True)


def test_fractions_of_a_text_stay_fractions():
    texts = excerpt(b'{"p": ["1/3", "2/3"], "q": ["0.1", "0.9"]}', "x.json", 1)
    assert (texts.tokens, texts.p, texts.q) == ("", "1/3, 2/3", "0.1, 0.9")
