"""Labels on screen: all seen, no two alike, in the order given."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import tricky_labels

from lab.labels import LONGEST, visible

WITHOUT_INK = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
some_labels = st.lists(
    st.one_of(tricky_labels, st.sampled_from(["a", "a #1", "a #2", "a #1 #1", "␣a", " a"])),
    max_size=12,
)


@given(some_labels)
@example(["a"] * 3 + ["a #1", "a #2", "a #1 #1", "a #2 #2"])
@example(["␣a", " a", "(empty)", "", "‹200B›", "\u200b"])
@example(["x" * 40, "x" * 41, "x" * 11 + "…" + "x" * 12])
def test_one_text_a_token_and_no_two_alike(tokens):
    shown = visible(tokens)
    assert len(shown) == len(tokens)
    assert len(set(shown)) == len(shown)
    assert all(shown)


@given(some_labels)
def test_nothing_invisible_is_left(tokens):
    for label in visible(tokens):
        # The one blank that is put in is the one before the position.
        text = label.replace(" #", "#")
        assert not {unicodedata.category(c) for c in text} & WITHOUT_INK
        assert text.strip() == text != ""


@given(some_labels)
def test_a_token_that_can_be_seen_stands_as_it_is(tokens):
    plain = [t for t in dict.fromkeys(tokens) if t.isalnum() and t.isascii() and len(t) <= LONGEST]
    assert list(visible(plain)) == plain


@given(st.permutations(["the", " a", "zebra", "Apple", "10", "9", "\n"]))
def test_order_is_kept(tokens):
    alone = {token: visible([token])[0] for token in tokens}
    assert list(visible(tokens)) == [alone[token] for token in tokens]


def test_whitespace_tokens_are_seen_and_kept_apart():
    # DI07: the seven tokens of the case; two of them are the same single blank.
    shown = visible([" ", "  ", "\n", "\t", " ", "a", " a"])
    assert len(set(shown)) == 7
    assert shown[5] == "a"
    assert shown[6] == "␣a"
    assert shown[0].startswith("␣")
    assert shown[0].endswith("#1")
    assert shown[4].endswith("#5")


@pytest.mark.parametrize(
    ("character", "sign"), [(" ", "␣"), ("\t", "⇥"), ("\n", "⏎"), ("\r", "␍"), ("\u00a0", "⍽")]
)
def test_common_white_space_has_its_own_sign(character, sign):
    assert visible([character, f"a{character}b"]) == (sign, f"a{sign}b")


def test_long_labels_that_share_a_beginning_stay_apart():
    # DI03: cut in the middle, so that both ends are seen.
    stem = "very_long_subword_label_that_shares_its_first_sixty_characters__"
    shown = visible([stem + "one", stem + "two", "short"])
    assert shown[2] == "short"
    assert len(set(shown)) == 3
    assert all(len(label) <= LONGEST for label in shown)
    assert shown[0].startswith("very_long")
    assert (shown[0][-3:], shown[1][-3:]) == ("one", "two")


def test_long_labels_that_share_both_ends_get_their_positions():
    one, two = visible(["a" * 30 + "1" + "b" * 30, "a" * 30 + "2" + "b" * 30])
    assert one != two
    assert (one[-2:], two[-2:]) == ("#1", "#2")


def test_duplicates_are_told_apart_by_position():
    # DI05
    assert visible(["the", "the", "a"]) == ("the #1", "the #2", "a")


@pytest.mark.parametrize("token", ["$", "$5", "_x_", "*b*", "<b>", "`c`", ":smile:"])
def test_markup_is_shown_literally(token):
    # DI09
    assert visible([token, "other"])[0] == token


@pytest.mark.parametrize("token", ["a.b", "x[0]", "c:d", "t:Q", "it's", 'say "hi"', "back\\slash"])
def test_characters_that_break_field_names_are_shown(token):
    # DI01
    assert visible([token])[0] == token.replace(" ", "␣")


@pytest.mark.parametrize(
    "character",
    [
        "\ufe0f",  # variation selector 16, a token of its own in many vocabularies
        "\ufe00",
        "\u034f",  # combining grapheme joiner
        "\u3164",  # Hangul filler
        "\u115f",
        "\uffa0",
        "\u2800",  # Braille pattern blank
        "\u180b",  # Mongolian free variation selector
        "\U000e0100",
    ],
)
def test_characters_without_ink_are_spelled_whatever_their_category(character):
    # Unicode calls these marks, letters or symbols, but nothing of them is seen.
    for label in visible([character, f"a{character}", "a"]):
        assert character not in label


def test_texts_that_unicode_calls_the_same_are_kept_apart():
    # é as one character and as e with an accent look the same in every font.
    one, two = visible(["\u00e9", "e\u0301"])
    assert unicodedata.normalize("NFC", one) != unicodedata.normalize("NFC", two)


def test_a_combining_mark_has_something_to_sit_on():
    assert visible(["\u0301"]) == ("◌\u0301",)


def test_many_alike_are_quick_and_distinct():
    shown = visible(["the"] * 5001)
    assert shown[0] == "the #1"
    assert shown[-1] == "the #5001"
    assert len(set(shown)) == 5001
