"""Tokens, links and presets: what goes out comes back the same."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import fractions, play
from strategies import law_pairs, scenarios_parts, tricky_labels

from lab import LabError
from lab.errors import EntryError, FileError, LengthError, RowsError, TotalError
from lab.scenario import (
    LONGEST_LINK,
    MOST_BY_HAND,
    PRESETS,
    WORKED_EXAMPLE,
    Scenario,
    Texts,
    format_tokens,
    parse_tokens,
    read_tokens,
)
from lab.vectors import LONGEST_TEXT

# ---------------------------------------------------------------- tokens


@given(st.lists(tricky_labels, min_size=1, max_size=6))
@settings(max_examples=300)
@example([""])
@example(["", ""])
@example([" "])
@example(["a", "a", "a"])
@example(["[", "]"])
@example(["[a]"])
@example(['["a"]'])
@example(["\ufeff", "\ufeffa"])
@example(["a\nb", "\r", "\r\n", "\\n", "\\"])
@example(['"', '""', "'", "a,b", "a;b", "a\tb"])
@example(["\U000e0001", "\u2028", "\x00", "\x85"])
def test_labels_are_read_back_as_written(tokens):
    assert parse_tokens(format_tokens(tokens)) == tuple(tokens)


@given(st.lists(tricky_labels, min_size=1, max_size=6))
@settings(max_examples=100)
def test_written_labels_hide_nothing(tokens):
    # What one copies is what one sees: no white space but the blanks between and inside quotes.
    assert format_tokens(tokens).isprintable()


@given(st.lists(tricky_labels, min_size=1, max_size=6))
def test_lists_as_python_and_json_print_them(tokens):
    as_json = json.dumps(tokens), json.dumps(tokens, ensure_ascii=False, indent=1)
    for text in (repr(tokens), *as_json):
        assert parse_tokens(text) == tuple(tokens)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A, B, C", ["A", "B", "C"]),
        ("A,B;C\tD\nE", ["A", "B", "C", "D", "E"]),
        ("A B  C", ["A", "B", "C"]),
        ("the cat, sat", ["the cat", "sat"]),
        ("A\r\nB\r\nC\r\n", ["A", "B", "C"]),
        ('the, " a", "\\n", "", ","', ["the", " a", "\n", "", ","]),
        ('"say \\"hi\\""', ['say "hi"']),
        ('"\\u0020"', [" "]),
        ("a b", ["a", "b"]),
        ('5", 6"', ['5"', '6"']),
        ("['A', ' b']", ["A", " b"]),
        ("[A, B]", ["[A", "B]"]),
        ("[1, 2]", ["[1", "2]"]),
        ("\ufeffA, B", ["A", "B"]),
        ("NA, null, None, nan", ["NA", "null", "None", "nan"]),
        ("$, $5, _x_, *b*, <b>, `c`, :smile:", ["$", "$5", "_x_", "*b*", "<b>", "`c`", ":smile:"]),
    ],
)
def test_ways_to_write_labels(text, tokens):
    assert parse_tokens(text) == tuple(tokens)


@pytest.mark.parametrize(("text", "place"), [("A,,B", 2), (",A", 1), ("A, ;B", 2), ("A\n\nB", 2)])
def test_an_empty_label_is_named(text, place):
    with pytest.raises(LabError, match=rf"^Token {place} is empty; a label is accepted"):
        parse_tokens(text)


def test_a_wrong_escape_is_named():
    with pytest.raises(LabError, match=r'^Token 2 \("\\q"\) has a backslash that is no escape'):
        parse_tokens(r'A, "\q"')


@pytest.mark.parametrize("text", ["", " ", "\n", "\ufeff", "\t \n"])
def test_no_label_is_refused(text):
    with pytest.raises(LabError, match=r"^Tokens is empty; accepted are labels such as A, B, C\.$"):
        parse_tokens(text)


@pytest.mark.parametrize("text", ["\u00a0", "\u3000", "\x0b", "\u2028\u2003"])
def test_white_space_of_other_kinds_is_no_label_either(text):
    with pytest.raises(LabError, match=r"^Tokens is empty"):
        parse_tokens(text)


def test_too_long_a_text_is_refused_by_its_length():
    with pytest.raises(LabError, match=rf"^Tokens has {LONGEST_TEXT + 1:,} .* {LONGEST_TEXT:,} "):
        parse_tokens("a" * (LONGEST_TEXT + 1))


@pytest.mark.parametrize("text", ["[{[]: 1}]", "[{[1]}]", "[{{}: 1}]"])
def test_lists_that_python_cannot_build_are_just_text(text):
    try:
        assert parse_tokens(text)
    except LabError as fault:
        assert str(fault).endswith(".")


def test_an_empty_field_numbers_the_tokens():
    for text in ("", " ", "\u3000\n"):
        assert read_tokens(text, 3) == ("1", "2", "3")
    assert read_tokens('" "', 1) == (" ",)


nasty = st.text(alphabet="\"'\\,;[]{}():abnu0 \t\n\r#", max_size=30)


@given(st.one_of(st.text(), nasty, nasty.map("[{}]".format), st.lists(tricky_labels).map(repr)))
@settings(max_examples=400)
def test_any_text_is_read_or_refused_in_a_sentence(text):
    try:
        tokens = parse_tokens(text)
    except LabError as fault:
        assert str(fault).startswith("Token")
        assert str(fault).endswith(".")
        return
    assert tokens
    assert all(type(token) is str for token in tokens)


LONG = {
    "quotes": '"' * 200_000,
    "open quotes": '"a,' * 66_000,
    "escapes": '"\\' * 100_000,
    "escaped quotes": '\\"' * 100_000,
    "quoted, by blanks": '"a" ' * 50_000,
    "quoted, then blanks": '"a"' + " " * 199_000 + "x",
    "brackets": "[" * 100_000 + "]" * 100_000,
    "minus signs": "[" + "-" * 199_000 + "1]",
    "sums": "[" + "1+" * 99_000 + "1]",
    "attributes": "[" + "a." * 99_000 + "a]",
    "dictionaries": "[" + "{1:" * 40_000 + "1" + "}" * 40_000 + "]",
    "strings side by side": "[" + "'a' " * 50_000 + "]",
    "digits": "[" + "9" * 199_000 + "]",
    "labels": "a," * 100_000,
}


@pytest.mark.parametrize("shape", LONG)
def test_long_texts_of_nasty_shapes_are_quick(shape):
    start = time.perf_counter()
    try:
        assert parse_tokens(LONG[shape])
    except LabError as fault:
        assert str(fault).startswith("Token")
    assert time.perf_counter() - start < 10  # backtracking would take minutes


# ---------------------------------------------------------------- scenarios


@given(scenarios_parts())
@settings(max_examples=100)
def test_fields_read_back_as_the_scenario(parts):
    tokens, (p, q) = parts
    scenario = Scenario(tokens, p, q)
    assert Scenario.from_texts(scenario.texts) == scenario


def test_the_step_is_that_of_its_vectors():
    scenario = Scenario.from_texts(Texts("A, B, C", "0.2, 0.5, 0.3", "0.6, 0.2, 0.2"))
    played = play(scenario.target, scenario.draft)
    assert (scenario.step.accepted, scenario.step.residual) == (played.kept, played.replacement)


@pytest.mark.parametrize(
    ("tokens", "p", "q", "kind", "words"),
    [
        ("A, B, C", "0.5, 0.5", "0.5, 0.5", LengthError, "There are 3 tokens for 2 entries"),
        ("A", "0.5, 0.5", "0.5, 0.5", LengthError, "There are 1 tokens for 2 entries"),
        # IN18
        (
            "A, B, C, <pad0>",
            "0.4, 0.3, 0.2, 0.1",
            "0.5, 0.3, 0.2",
            LengthError,
            "p has 4 entries and q has 3",
        ),
        # IN14, IN15
        (
            "",
            "0.3333333 0.3333333 0.3333333",
            "0.5 0.25 0.25",
            TotalError,
            "p sums to 1 − 1e-7, which is 1e-7 too little",
        ),
        (
            "",
            "0.70000005, 0.3",
            "0.7, 0.3",
            TotalError,
            "p sums to 1 + 5e-8, which is 5e-8 too much",
        ),
        ("", "0.7, 0.3", "0.70000005, 0.3", TotalError, "q sums to 1 + 5e-8"),
        # IN16
        ("", "nan, 0.5, 0.5", "0.25, 0.5, 0.25", EntryError, "p, entry 1 (“nan”): it is not a"),
        ("", "inf, 0, 0", "0.25, 0.5, 0.25", EntryError, "p, entry 1 (“inf”): it is infinite"),
        (
            "",
            "0.25, 0.5, 0.25",
            "-0.1, 0.6, 0.5",
            EntryError,
            "q, entry 1 (“-0.1”): it is negative",
        ),
        ("", ", 0.5, 0.5", "0.25, 0.5, 0.25", EntryError, "p, entry 1 (“”): it is empty"),
        ("", "0.5 0.5\n1 0", "0.5 0.5", RowsError, "p holds 2 rows of 2 entries"),
        ("A, , C", "1, 0, 0", "1, 0, 0", LabError, "Token 2 is empty"),
    ],
)
def test_what_is_wrong_is_named(tokens, p, q, kind, words):
    with pytest.raises(kind) as fault:
        Scenario.from_texts(Texts(tokens, p, q))
    assert type(fault.value) is kind
    assert str(fault.value).startswith(words)


@pytest.mark.parametrize("p", ["1e309/3, 0", "1e400, 1e400", "1e-400/1e400, 1", "1e400/3, 1"])
def test_sums_of_any_size_are_refused_in_a_sentence(p):
    with pytest.raises(LabError, match=r"^p\b.*\.$"):
        Scenario.from_texts(Texts("", p, "0, 1"))


def test_denominators_of_many_digits_give_a_scenario_or_a_sentence():
    # 25 typed numbers of fewer than 200 characters: their sum has a denominator of 4,700 digits,
    # which Python does not print.
    odd = ", ".join(f"1/{10**189 + 2 * k + 1}" for k in range(25))
    with pytest.raises(LabError, match=r"^p "):
        Scenario.from_texts(Texts("", odd, ", ".join(["1"] + ["0"] * 24)))


def test_a_draft_may_be_padded_by_hand():
    # IN18, padded with the 0 that the page offers
    scenario = Scenario.from_texts(
        Texts("A, B, C, <pad0>", "0.4, 0.3, 0.2, 0.1", "0.5, 0.3, 0.2, 0")
    )
    assert scenario.tokens[-1] == "<pad0>"
    assert scenario.step.residual == (0, 0, 0, 1)


# ---------------------------------------------------------------- links


@given(scenarios_parts())
@settings(max_examples=100)
def test_links_bring_back_every_field(parts):
    tokens, (p, q) = parts
    texts = Scenario(tokens, p, q).texts
    link = texts.link("https://example.org/one")
    if link is None:
        return
    assert link.isascii()
    assert len(link) <= LONGEST_LINK
    split = urlsplit(link)
    query = {k: v for k, (v,) in parse_qs(split.query, strict_parsing=True).items()}
    assert f"{split.scheme}://{split.netloc}{split.path}" == "https://example.org/one"
    assert list(query) == ["tokens", "p", "q"]
    assert Texts.from_query(query) == texts
    assert Scenario.from_texts(Texts.from_query(query)) == Scenario(tokens, p, q)


@given(st.text(), st.text(min_size=1), st.text(min_size=1))
def test_links_carry_what_was_typed_not_what_was_read(tokens, p, q):
    texts = Texts(tokens, p, q)
    link = texts.link("")
    if link is not None:
        query = {k: v[0] for k, v in parse_qs(urlsplit(link).query).items()}
        assert Texts.from_query(query) == texts


def test_a_link_ends_at_what_servers_accept():
    address = "https://example.org/"
    rest = len(f"{address}?tokens=&p=&q=1")
    fits = Texts("", "1" * (LONGEST_LINK - rest), "1")
    assert len(fits.link(address)) == LONGEST_LINK
    assert Texts("", fits.p + "1", "1").link(address) is None
    # What counts is the link as it is sent, in which é takes six characters.
    assert Texts("é" * (LONGEST_LINK // 6), "1", "1").link(address) is None


@pytest.mark.parametrize("query", [{}, {"tokens": "A, B"}, {"p": "", "q": ""}, {"x": "1"}])
def test_a_link_without_vectors_says_nothing(query):
    assert Texts.from_query(query) is None


@pytest.mark.parametrize(
    ("query", "missing"),
    [({"p": "1"}, "q"), ({"q": "1"}, "p"), ({"p": "1", "q": ""}, "q"), ({"p": "", "q": "1"}, "p")],
)
def test_half_a_link_is_refused(query, missing):
    with pytest.raises(FileError, match=rf"^The link has no {missing}; accepted are links with"):
        Texts.from_query(query)


def test_a_link_needs_no_tokens():
    texts = Texts.from_query({"p": "0.5, 0.5", "q": "1, 0", "other": "x"})
    assert texts == Texts("", "0.5, 0.5", "1, 0")
    assert Scenario.from_texts(texts).tokens == ("1", "2")


# ---------------------------------------------------------------- presets


def test_the_first_preset_is_the_worked_example():
    assert next(iter(PRESETS.values())) is WORKED_EXAMPLE
    scenario = WORKED_EXAMPLE.scenario
    assert scenario.tokens == ("A", "B", "C")
    assert scenario.target == fractions("1/5 1/2 3/10")
    assert scenario.draft == fractions("3/5 1/5 1/5")
    # "A is proposed too often, B and C too rarely."
    assert [q > p for p, q in zip(scenario.target, scenario.draft, strict=True)] == [
        True,
        False,
        False,
    ]
    assert scenario.step.residual == fractions("0 3/4 1/4")


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_is_valid_and_fits_in_field_and_link(name):
    preset = PRESETS[name]
    scenario = preset.scenario
    assert preset.name == name
    assert preset.about.endswith(".")
    assert sum(scenario.target) == sum(scenario.draft) == 1
    assert 1 < len(scenario.tokens) == len(set(scenario.tokens)) <= MOST_BY_HAND
    link = preset.texts.link("https://residual-lab.example.org/")
    query = {k: v[0] for k, v in parse_qs(urlsplit(link).query).items()}
    assert Scenario.from_texts(Texts.from_query(query)) == scenario
    assert scenario.step.output == scenario.target


def _preset(name):
    scenario = PRESETS[name].scenario
    return scenario, scenario.target, scenario.draft


def test_equal_is_equal():
    scenario, p, q = _preset("Equal")
    assert p == q
    assert scenario.step.residual is None
    assert scenario.step.rejection == 0


def test_disjoint_is_disjoint():
    # "The draft proposes only tokens that the target never uses."
    scenario, p, q = _preset("Disjoint")
    assert all(not a for a, b in zip(p, q, strict=True) if b)
    assert scenario.step.acceptance == 0
    assert scenario.step.residual == p


def test_partial_zeros_go_both_ways():
    # "p is 0 where q is not, and q is 0 where p is not."
    scenario, p, q = _preset("Partial zeros")
    assert any(a == 0 < b for a, b in zip(p, q, strict=True))
    assert any(b == 0 < a for a, b in zip(p, q, strict=True))
    assert scenario.step.case == "partial"


def test_near_equality_is_one_ten_millionth():
    scenario, p, q = _preset("Near equality")
    gaps = {abs(a - b) for a, b in zip(p, q, strict=True)} - {0}
    assert gaps == {Fraction(1, 10**7)}
    assert scenario.step.rejection == Fraction(1, 10**7)


def test_one_hot_draft_is_one_hot():
    # "The draft is sure of one token"
    scenario, p, q = _preset("One-hot draft")
    assert sorted(q) == [0] * (len(q) - 1) + [1]
    assert scenario.step.acceptance == p[q.index(1)]


def test_26_letters_in_thousandths():
    scenario, p, q = _preset("26 letters")
    assert scenario.tokens == tuple("abcdefghijklmnopqrstuvwxyz")
    for law in (p, q):
        assert all((mass * 1000).denominator == 1 and mass > 0 for mass in law)
    letter = {t: (a, b) for t, a, b in zip(scenario.tokens, p, q, strict=True)}
    # What is well known of the two languages: e leads both, th and w are English, qu is French.
    assert max(letter, key=lambda t: letter[t][0]) == max(letter, key=lambda t: letter[t][1]) == "e"
    assert all(letter[t][0] > letter[t][1] for t in "hwyk")
    assert all(letter[t][0] < letter[t][1] for t in "quj")


@given(law_pairs())
def test_negative_entries_cannot_be_typed_into_a_scenario(pair):
    p, q = pair
    text = ", ".join(str(-x) for x in p)
    with pytest.raises(EntryError) as fault:
        Scenario.from_texts(Texts("", text, ", ".join(map(str, q))))
    first = next(i for i, x in enumerate(p, start=1) if x)
    assert (fault.value.vector, fault.value.entry) == ("p", first)
