"""Models: which row a history gets, and what happens to a row that is no law."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import LabError
from lab.errors import EntryError, LengthError, TotalError
from lab.models import (
    LINE_END,
    LONGEST_OWN_TEXT,
    Model,
    as_model,
    by_position,
    from_function,
    history_text,
    letter_lines,
    markov,
    ngrams,
    nursery_rhyme,
    table,
)

HALVES = (Fraction(1, 2), Fraction(1, 2))


def histories(tokens, longest):
    for length in range(longest + 1):
        yield from product(tokens, repeat=length)


# ---------------------------------------------------------------- tables


def test_a_table_gives_the_row_of_the_longest_known_suffix():
    names = {
        (): "0, 1",
        ("A",): "0.1, 0.9",
        ("B", "A"): "0.2, 0.8",
        ("A", "B", "A"): "0.3, 0.7",
    }
    model = table("AB", names)
    for history in histories("AB", 5):
        # The suffixes from the longest on: the first with a row.
        own = next(history[i:] for i in range(len(history) + 1) if history[i:] in names)
        first, _ = names[own].split(", ")
        assert model(history)[0] == Fraction(first)
    assert model.tokens == ("A", "B")


def test_a_table_needs_the_empty_history():
    with pytest.raises(LabError, match="no row for the empty history"):
        table("AB", {("A",): "0.5, 0.5"})


@pytest.mark.parametrize("history", [("A", "X"), "A", ("AB",)])
def test_a_table_refuses_a_history_that_is_not_made_of_tokens(history):
    with pytest.raises(LabError, match=re.escape(repr(history))):
        table("AB", {(): "0.5, 0.5", history: "0.5, 0.5"})


def test_a_table_keeps_to_what_it_was_given():
    rows = {(): "0.5, 0.5"}
    model = table("AB", rows)
    rows["A",] = "1, 0"
    assert model(("A",)) == HALVES


@pytest.mark.parametrize(
    ("row", "kind", "says"),
    [
        ("0.5, 0.4", TotalError, "sums to 0.9, which is 0.1 too little"),
        ("0.5, 0.6", TotalError, "0.1 too much"),
        ("1.5, -0.5", EntryError, "entry 2"),
        ([Fraction(3, 2), Fraction(-1, 2)], EntryError, "entry 2"),
        ((Fraction(3, 2), Fraction(-1, 2)), EntryError, "entry 2"),
        ("0.5, x", EntryError, "entry 2"),
        ("0.5, 0.25, 0.25", LengthError, "3 entries"),
        ((Fraction(1),), LengthError, "1 entries"),
        ([0.5, 0.5], LabError, "floating point"),
        ((0.5, Fraction(1, 2)), LabError, "floating point"),
        (np.array([0.5, 0.5]), LabError, "floating point"),
        (None, LabError, "None"),
        ("", LabError, "empty"),
    ],
)
def test_a_row_that_is_no_law_is_refused_by_its_history(row, kind, says):
    with pytest.raises(kind, match=re.escape(says)) as fault:
        table("AB", {(): "0.5, 0.5", ("B", "A"): row}, name="p")
    assert "p after B A" in str(fault.value)
    with pytest.raises(kind) as fault:
        table("AB", {(): row})
    assert "The row at the start" in str(fault.value)
    model = from_function(lambda history: row if history == ("A", "B") else "0.5, 0.5", "AB", "q")
    assert model(("B", "A")) == HALVES
    with pytest.raises(kind, match="q after A B"):
        model(("A", "B"))
    with pytest.raises(kind, match="q after B"):
        markov("AB", "1, 0", {"A": "0.5, 0.5", "B": row}, name="q")
    with pytest.raises(kind, match="q at position 2"):
        by_position("AB", ["1, 0", row], name="q")


# ---------------------------------------------------------------- positions, chains, functions


def test_rows_by_position_ignore_the_tokens_and_the_last_goes_on():
    model = by_position("AB", ["0.1, 0.9", "0.2, 0.8", "0.3, 0.7"])
    for history in histories("AB", 5):
        assert model(history)[0] == Fraction(min(len(history), 2) + 1, 10)
    with pytest.raises(LabError, match="no rows"):
        by_position("AB", [])


def test_a_chain_looks_at_the_last_token():
    model = markov("AB", "1, 0", {"A": "0.2, 0.8", "B": "0.3, 0.7"})
    for history in histories("AB", 4):
        expected = {"": 1, "A": Fraction(1, 5), "B": Fraction(3, 10)}["".join(history[-1:])]
        assert model(history)[0] == expected


def test_a_chain_needs_no_row_after_a_stop_token_but_says_so_when_it_is_asked():
    model = markov(["A", "</s>"], "0.5, 0.5", {"A": "0.5, 0.5"})
    assert model(("A", "A")) == HALVES
    with pytest.raises(LabError, match="after </s> is missing"):
        model(("A", "</s>"))
    with pytest.raises(LabError, match="'C'"):
        markov("AB", "1, 0", {"A": "1, 0", "C": "1, 0"})


def test_a_function_is_asked_once_for_each_history():
    asked = Counter()

    def rows(history):
        asked[history] += 1
        return ["1/2", "1/2"]

    model = from_function(rows, "AB")
    for _ in range(3):
        for history in histories("AB", 3):
            assert model(history) == HALVES
    assert set(asked.values()) == {1}
    assert model(()) is model(())


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr("lab.models._MOST_KEPT", 4)
    model = from_function(
        lambda history: (Fraction(1, 1 + len(history)),) * (1 + len(history)), "A"
    )
    model(())
    with pytest.raises(LengthError):
        model(("A",))
    model = from_function(lambda history: [1, 0], "AB")
    for history in histories("AB", 4):
        assert model(history) == (1, 0)
        assert len(model._known) <= 4


def test_rows_come_as_texts_numbers_or_fractions_and_leave_as_fractions():
    for row in (
        "1/4, 3/4",
        ["0.25", "75%"],
        [Fraction(1, 4), "3/4"],
        (Fraction(1, 4), Fraction(3, 4)),
    ):
        got = from_function(lambda history, row=row: row, "AB")(())
        assert got == (Fraction(1, 4), Fraction(3, 4))
        assert type(got) is tuple and {type(value) for value in got} == {Fraction}
    assert from_function(lambda history: np.array([1, 0]), "AB")(()) == (1, 0)


def test_any_callable_with_tokens_is_a_model():
    class Mine:
        tokens = ("A", "B")

        def __call__(self, history):
            return ["0.5", "0.4"]

    with pytest.raises(TotalError, match="p after A"):
        as_model(Mine(), "p")(("A",))
    model = table("AB", {(): "1, 0"})
    assert as_model(model) is model
    with pytest.raises(LabError, match="from_function"):
        as_model(lambda history: [1, 0])


@pytest.mark.parametrize("tokens", [["A", "B", "A"], ["x", "x"]])
def test_tokens_that_could_not_be_told_apart_are_refused(tokens):
    with pytest.raises(LabError, match="more than once"):
        from_function(lambda history: [1, 0], tokens)


def test_no_tokens_are_refused():
    with pytest.raises(LabError, match="no tokens"):
        from_function(lambda history: [], [])


def test_a_history_for_reading():
    assert history_text(["A", "", "\n"]) == "A (empty) ⏎"
    assert history_text("abcdefghij") == "… c d e f g h i j"


# ---------------------------------------------------------------- letters

words = st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=4).map(" ".join)
texts = st.lists(words, min_size=1, max_size=4).map("\n".join)


@given(texts, st.integers(0, 3), st.fractions(0, 2, max_denominator=5))
def test_ngrams_count(text, order, smoothing):
    model = ngrams(text, order, smoothing=smoothing)
    letters = sorted(set(text) - {" ", "\n"})
    assert model.tokens == (*letters, " ", LINE_END)
    # Counted the other way round: for a context, all places in all lines where it stands.
    lines = [f"{line}{LINE_END}" for line in text.split("\n")]
    seen = {line[max(0, i - order) : i] for line in lines for i in range(len(line))}
    unseen = "c" * order + "b"  # longer than the order: only its end counts
    for context in {*seen, unseen}:
        full = len(context) >= order
        used = context[len(context) - order :] if order else ""
        places = [
            line[i]
            for line in lines
            for i in range(len(line))
            if (line[:i].endswith(used) and i >= order if full else line[:i] == context)
        ]
        row = model(tuple(context))
        whole = len(places) + smoothing * len(model.tokens)
        for token, mass in zip(model.tokens, row, strict=True):
            if whole:
                assert mass * whole == places.count(token) + smoothing
            else:
                assert mass == Fraction(1, len(model.tokens))
        assert sum(row) == 1


def test_a_worked_count():
    # Lines "aab" and "ab": after a comes a once, b twice.
    model = ngrams("aab\nab", 1)
    assert dict(zip(model.tokens, model(("a",)), strict=True)) == {
        "a": Fraction(1, 3),
        "b": Fraction(2, 3),
        " ": 0,
        LINE_END: 0,
    }
    assert model(()) == (1, 0, 0, 0)
    assert model(("b",)) == model(("a", "b")) == (0, 0, 0, 1)
    # nothing follows a space here: every token alike, as any smoothing would have it
    assert model((" ",)) == ngrams("aab\nab", 1, smoothing=1)((" ",)) == (Fraction(1, 4),) * 4


def test_letters_of_any_script_are_kept_and_everything_else_is_a_space():
    assert letter_lines("Twinkle, twinkle,\r\n\r\n  It's ÉTÉ—été!  \n42\nп1Р") == (
        "twinkle twinkle",
        "its été été",
        "п р",
    )
    assert letter_lines("e\u0301\u2028a\u0323\u0301") == ("é", "ạ")


def test_a_text_has_a_limit_and_needs_a_letter():
    ngrams("a" * LONGEST_OWN_TEXT, 2)
    with pytest.raises(LabError, match=f"{LONGEST_OWN_TEXT:,}"):
        ngrams("a" * (LONGEST_OWN_TEXT + 1), 2)
    for text in ("", "  \n", "12 34!"):
        with pytest.raises(LabError, match="no letters"):
            ngrams(text, 1)


@pytest.mark.parametrize("order", [-1, 1.0, True, "1"])
def test_an_order_that_is_no_number_of_letters_is_refused(order):
    with pytest.raises(LabError, match="The order is"):
        ngrams("a", order)


@pytest.mark.parametrize("smoothing", [-1, Fraction(-1, 3), "x", float("nan")])
def test_smoothing_is_exact_and_not_negative(smoothing):
    with pytest.raises(LabError, match="Smoothing"):
        ngrams("a", 1, smoothing=smoothing)
    assert ngrams("a", 0, smoothing="1/3")(())[1] == Fraction(1, 3) / (2 + 1)


def test_the_line_end_may_not_be_a_letter_of_the_text():
    with pytest.raises(LabError, match="more than once"):
        ngrams("abc", 1, stop="b")
    assert ngrams("abc", 1, stop="</s>").tokens[-1] == "</s>"


def test_the_shipped_text_is_what_it_says():
    text = nursery_rhyme()
    assert text.startswith("Twinkle, twinkle, little star,\nHow I wonder what you are!")
    assert "#" not in text and len(text) < LONGEST_OWN_TEXT
    lines = letter_lines(text)
    assert len(lines) == 20 and lines[0] == lines[-1] == "twinkle twinkle little star"
    target, draft = ngrams(text, 3), ngrams(text, 1, smoothing="1/10")
    assert isinstance(target, Model) and target.tokens == draft.tokens
    assert target(tuple("twi"))[target.tokens.index("n")] == 1
