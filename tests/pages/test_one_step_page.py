"""The page One step as a person meets it, without a browser."""

from __future__ import annotations

import html
from fractions import Fraction

import pyarrow as pa
import pytest
from driver import Lab, unescaped

from lab.scenario import LONGEST_LINK, PRESETS, Scenario, Texts
from lab.tables import export_csv

# Worked by hand, apart from the code: preset → α, Z and r.
TRUTH = {
    "Worked example": ("0.6", "0.4", ["0", "0.75", "0.25"]),
    "Equal": ("1", "0", None),
    "Disjoint": ("0", "1", ["0.3", "0.7", "0", "0"]),
    "Partial zeros": ("0.55", "0.45", ["0", "≈0.8889", "0", "≈0.1111"]),
    "Near equality": ("1 − 1e-7", "1e-7", ["0", "1", "0"]),
    "One-hot draft": ("0.55", "0.45", ["0", "≈0.5556", "≈0.3333", "≈0.1111"]),
    "26 letters": ("0.831", "0.169", None),
}
RESULTS = ("The ledger", "The residual r", "The reconstruction", "The numbers")


def shows_truth(lab: Lab) -> bool:
    """Whether anything that follows from p and q stands on the page."""
    return bool(
        lab.charts
        or lab.tables
        or lab.metrics
        or lab.has("download_button", "Download CSV")
        or any(heading in lab.words for heading in RESULTS)
    )


def column(lab: Lab, name: str) -> list[str]:
    """A column of the table of numbers, without its sum."""
    return list(lab.tables[-1][name])[:-1]


def chart_rows(chart) -> list[dict]:
    (dataset,) = chart.datasets if len(chart.datasets) else [None]
    data = dataset.data.data if dataset else chart.data.data
    return pa.ipc.open_stream(data).read_all().to_pylist()


def test_every_preset_is_covered():
    assert list(TRUTH) == list(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_hides_its_truth_and_shows_it_when_inspected(name):
    lab = Lab().choose("Preset", name)
    assert lab.field("Target p") == PRESETS[name].texts.p
    assert not shows_truth(lab)
    lab.switch("Just inspect")
    alpha, z, residual = TRUTH[name]
    assert list(lab.metrics.values()) == [alpha, z]
    assert len(lab.charts) == (2 if name == "Equal" else 3)
    assert all(chart.alt for chart in lab.charts)
    if residual:
        assert column(lab, "r") == residual
    if name == "Equal":
        assert column(lab, "r") == ["undefined"] * 3
        assert "Undefined, because Z = 0" in lab.words
    count = len(PRESETS[name].scenario.tokens)
    assert f"for {count} of {count} tokens" in lab.words
    assert column(lab, "min + Z · r") == column(lab, "p")


def test_the_sentence_names_the_case():
    lab = Lab().switch("Just inspect")
    for name, sentence in {
        "Equal": "p = q.",
        "Disjoint": "Disjoint supports.",
        "Worked example": "Partial overlap.",
        "Partial zeros": "r reaches 1 token that q never proposes",
    }.items():
        assert sentence in lab.choose("Preset", name).words


def test_predict_commit_see_reset():
    lab = Lab()
    assert not shows_truth(lab)
    lab.press("Commit prediction")
    assert len(lab.errors) == 3
    assert all("not predicted yet" in error for error in lab.errors)
    assert not shows_truth(lab)
    lab.set_bars("0", "0.75", None).press("Commit prediction")
    assert [e for e in lab.errors if e.startswith("C: it is not predicted")] == lab.errors
    lab.predict("0", "0.75", "0.25")
    assert shows_truth(lab)
    assert "Right." in lab.words
    assert not lab.has("button", "Commit prediction")
    lab.press("Reset")
    assert not shows_truth(lab)
    assert lab.has("button", "Commit prediction")


@pytest.mark.parametrize(
    ("bars", "sentence"),
    [
        (("0", "3/4", "25%"), "Right."),
        (("0", "0.755", "0.245"), "Right, as near as these bars can be set."),
        (("0.2", "0.5", "0.3"), "This is p itself: you drew the replacement from the target."),
        (("0", "0.3", "0.1"), "not yet divided by Z"),
        (("0.5", "0.375", "0.125"), "This is |p − q|, divided by its sum"),
        (("1", "0", "0"), "This is q − p where positive, divided by Z"),
        (("0", "0.625", "0.375"), "p with only the rejected token removed"),
        (("0", "0.5", "0.5"), "the right tokens have mass, but not the right amounts"),
        (("0.2", "0.2", "0.2"), "These bars sum to 0.6; the residual sums to 1."),
        (("0.5", "0.5", "0"), "A should be 0 and C should not be 0"),
    ],
)
def test_what_a_prediction_looks_like(bars, sentence):
    assert sentence in Lab().predict(*bars).words


def test_gaps_and_distance():
    lab = Lab().predict("0.2", "0.5", "0.3")
    gaps = lab.tables[0]
    assert list(gaps["gap"]) == ["+0.2", "−0.25", "+0.05"]
    assert "half the sum of the absolute gaps: **0.25**" in lab.words


@pytest.mark.parametrize(
    ("quantity", "bars"),
    [("accepted", ("0.2", "0.2", "0.2")), ("output", ("0.2", "0.5", "0.3"))],
)
def test_other_quantities_can_be_predicted(quantity, bars):
    lab = Lab().choose("What to predict", quantity)
    assert not shows_truth(lab)
    assert "Right." in lab.predict(*bars).words


def test_no_residual_can_be_predicted_and_is_not_given_away():
    box = "There is no residual"
    lab = Lab()
    assert any(b.label.startswith(box) for b in lab.at.checkbox)  # not only where it is true
    lab.choose("Preset", "Equal").tick(box).press("Commit prediction")
    assert "Right." in lab.words
    lab.press("Try again").predict("0.125", "0.375", "0.5")
    assert "There is no residual here" in lab.words
    assert "This is p itself" in lab.words
    lab.choose("Preset", "Worked example").tick(box).press("Commit prediction")
    assert "There is a residual here" in lab.words


@pytest.mark.parametrize(
    "change",
    [
        lambda lab: lab.type(p="0.3, 0.4, 0.3"),
        lambda lab: lab.type(q="0.5, 0.3, 0.2"),
        lambda lab: lab.type(tokens="A, B, D"),
        lambda lab: lab.choose("Preset", "Equal"),
        lambda lab: lab.choose("What to predict", "output"),
        lambda lab: lab.press("Try again"),
    ],
)
def test_a_change_erases_the_prediction(change):
    lab = Lab().predict("0", "0.75", "0.25")
    assert shows_truth(lab)
    change(lab)
    assert not shows_truth(lab)
    lab.press("Commit prediction")
    assert all("not predicted yet" in error for error in lab.errors)
    assert lab.errors  # the bars start unset


def test_changing_back_does_not_bring_a_prediction_back():
    lab = Lab().predict("0", "0.75", "0.25").type(p="0.3, 0.4, 0.3").type(p="0.2, 0.5, 0.3")
    assert not shows_truth(lab)


def test_another_page_keeps_bars_that_are_not_committed():
    lab = Lab().set_bars("0", "0.75", "0.25").go("two_outcomes").go("one_step")
    assert "Right." in lab.press("Commit prediction").words


def test_another_page_keeps_the_prediction():
    lab = Lab().predict("0", "0.75", "0.25").go("two_outcomes").go("one_step")
    assert "Right." in lab.words


BAD = {
    "nan, 0.5, 0.5": "p, entry 1 (“nan”): it is not a number (NaN)",
    "inf, 0, 0": "p, entry 1 (“inf”): it is infinite",
    "-0.1, 0.6, 0.5": "p, entry 1 (“-0.1”): it is negative",
    ", 0.5, 0.5": "p, entry 1 (“”): it is empty, which is not 0",
    "0.5, a, 0.5": "p, entry 2 (“a”): it cannot be read as a number",
    "[0.2 0.5 ... 0.3]": "p, entry 3 (“...”): entries are missing here",
    "0.2, 0.5": "p has 2 entries and q has 3",
    "": "p is empty",
    "0.2, 0.5, 0.2": "p sums to 0.9, which is 0.1 too little",
    "0.2, 0.5, 0.30000005": "p sums to 1 + 5e-8, which is 5e-8 too much",
    "0.2, 0.5, 1e999": "p, entry 3 (“1e999”): its power of ten is beyond",
    "1/0, 0.5, 0.5": "p, entry 1 (“1/0”): it divides by 0",
    "**x**, <b>, $y$": "p, entry 1 (“**x**”): it cannot be read",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_input_is_named_and_nothing_stale_is_shown(text):
    lab = Lab().switch("Just inspect")
    assert shows_truth(lab)
    lab.type(p=text)
    assert len(lab.errors) == 1
    assert BAD[text] in lab.errors[0]
    assert "accepted" in lab.errors[0] or "both need one entry" in lab.errors[0]
    assert not shows_truth(lab)
    assert lab.field("Target p") == text
    assert lab.field("Draft q") == "0.6, 0.2, 0.2"
    lab.type(p="0.2, 0.5, 0.3")
    assert shows_truth(lab)


def test_the_preset_is_no_longer_named_once_its_numbers_are_edited():
    lab = Lab().type(p="0.3, 0.4, 0.3")
    assert [box.value for box in lab.at.selectbox if box.label == "Preset"] == [None]
    assert "the example of the first lesson" not in lab.words


def test_what_is_typed_in_a_message_is_not_markup():
    lab = Lab().type(p="**x**, 0.5, 0.5")
    assert "**x**" not in lab.at.error[0].value
    assert "**x**" in unescaped(lab.at.error[0].value)


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ("A, B", "There are 2 tokens for 3 entries"),
        ("A, , C", "Token 2 is empty"),
        (r'A, "\q", C', "Token 2"),
    ],
)
def test_bad_tokens(tokens, sentence):
    lab = Lab().type(tokens=tokens)
    assert sentence in lab.errors[0]
    assert lab.field("Tokens") == tokens


def test_no_tokens_are_numbered():
    lab = Lab().type(tokens="").switch("Just inspect")
    assert column(lab, "token") == ["1", "2", "3"]


def test_normalise_divides_by_the_sum():
    lab = Lab().type(p="tensor([0.3333, 0.3333, 0.3333], device='cuda:0')")
    assert "p sums to 0.9999, which is 0.0001 too little" in lab.errors[0]
    assert "printed with 4 decimals" in lab.words
    lab.press("Normalise")
    assert not lab.errors
    assert lab.field("Target p") == "1/3, 1/3, 1/3"
    assert lab.field("Draft q") == "0.6, 0.2, 0.2"


def test_nothing_is_offered_where_nothing_can_be_divided():
    lab = Lab().type(p="0, 0, 0")
    assert lab.errors
    assert not lab.has("button", "Normalise")


def test_a_short_draft_can_be_padded():
    lab = Lab().type(tokens="A, B, C, <pad0>", p="0.4, 0.3, 0.2, 0.1", q="0.5, 0.3, 0.2")
    assert "p has 4 entries and q has 3" in lab.errors[0]
    lab.press("Pad q with 1 zero").switch("Just inspect")
    assert list(lab.metrics.values()) == ["0.9", "0.1"]
    assert column(lab, "r") == ["0", "0", "0", "1"]


@pytest.mark.parametrize(
    ("text", "button"),
    [
        ("[[0. 1.]\n [1. 0.]]", "Use row 1 as p and row 2 as q"),
        ("0\t1\n1\t0\n0\t0", "Use column 1 as p and column 2 as q"),
    ],
)
def test_two_rows_or_columns_become_p_and_q(text, button):
    lab = Lab().type(tokens="", p=text)
    assert "rows of 2 entries" in lab.errors[0]
    lab.press(button).switch("Just inspect")
    assert list(lab.metrics.values()) == ["0", "1"]


def test_a_link_fills_the_fields():
    lab = Lab(tokens="x, y", p="1/4, 75%", q="0,5; 0,5")
    assert [lab.field(f) for f in ("Tokens", "Target p", "Draft q")] == [
        "x, y",
        "1/4, 75%",
        "0,5; 0,5",
    ]
    lab.type(p="0.5, 0.5").press("Reset")
    assert lab.field("Target p") == "1/4, 75%"


def test_half_a_link_is_refused_in_words():
    lab = Lab(p="0.5, 0.5")
    assert lab.errors == ["The link has no q; accepted are links with tokens=…, p=… and q=…."]
    assert lab.field("Target p") == "0.2, 0.5, 0.3"


def test_the_page_offers_its_link():
    lab = Lab()
    assert "tokens=A,+B,+C&p=0.2,+0.5,+0.3&q=0.6,+0.2,+0.2" in lab.at.code[0].value


def test_a_scenario_too_long_for_a_link_says_so():
    count = LONGEST_LINK // 8
    lab = Lab().type(tokens="", p=f"1/{count} " * count, q=f"1/{count} " * count)
    assert not lab.errors
    assert not lab.at.code
    assert "too long for a link" in lab.words


def test_exact_fractions_on_request():
    lab = Lab().choose("Preset", "One-hot draft").switch("Just inspect")
    assert column(lab, "r") == ["0", "≈0.5556", "≈0.3333", "≈0.1111"]
    lab.switch("Exact fractions")
    assert column(lab, "r") == ["0", "5/9", "1/3", "1/9"]
    assert list(lab.metrics.values()) == ["11/20", "9/20"]


# As a table -------------------------------------------------------------------------------------


def edit(lab: Lab, **changes) -> Lab:
    grid = lab.at.session_state["grid"]
    lab.at.session_state[f"grid {grid['version']}"] = {
        "edited_rows": {},
        "added_rows": [],
        "deleted_rows": [],
        **changes,
    }
    return lab.run()


def test_the_table_edits_the_same_scenario():
    lab = Lab().enter_as("Table")
    edit(lab, edited_rows={0: {"p": "1/3"}, 1: {"p": "2/3"}, 2: {"p": "0", "q": "0,2"}})
    assert not lab.errors
    lab.switch("Just inspect")
    assert column(lab, "p") == ["≈0.3333", "≈0.6667", "0"]
    lab.enter_as("Text")
    assert lab.field("Target p") == "1/3, 2/3, 0"
    assert lab.field("Draft q") == "0.6, 0.2, 0.2"


def test_an_edit_that_is_taken_back_is_gone():
    lab = edit(Lab().enter_as("Table"), edited_rows={0: {"p": "0.3"}, 1: {"p": "0.4"}})
    edit(lab, edited_rows={0: {"p": "0.2"}, 1: {"p": "0.5"}}).switch("Just inspect")
    assert column(lab, "p") == ["0.2", "0.5", "0.3"]
    assert lab.enter_as("Text").field("Target p") == "0.2, 0.5, 0.3"


def test_rows_are_added_and_removed():
    lab = Lab().enter_as("Table")
    edit(
        lab,
        added_rows=[{"token": " D", "p": "1e-12", "q": "0"}],
        edited_rows={1: {"p": "0.499999999999"}},
    )
    assert not lab.errors
    lab.switch("Just inspect")
    assert column(lab, "token") == ["A", "B", "C", "␣D"]
    assert column(lab, "p")[3] == "1e-12"
    edit(lab, deleted_rows=[1])
    assert "p sums to 0.5" in lab.errors[0]
    assert not shows_truth(lab)


def test_a_new_row_is_not_a_zero():
    lab = Lab().enter_as("Table")
    edit(lab, added_rows=[{"token": "D", "p": "0", "q": None}])
    assert lab.errors == [
        "q, entry 4 (“”): it is empty, which is not 0; accepted is a number from 0 up, such as "
        "0.25, .25, 1/4, 25% or 1e-7."
    ]


def test_a_preset_fills_the_table():
    lab = Lab().enter_as("Table").choose("Preset", "Disjoint").switch("Just inspect")
    assert column(lab, "token") == ["A", "B", "C", "D"]
    assert not lab.errors


def test_unreadable_text_comes_into_the_table_and_back():
    lab = Lab().type(p="0.2, oops, 0.3").enter_as("Table")
    assert "p, entry 2 (“oops”)" in lab.errors[0]
    lab.enter_as("Text")
    assert lab.field("Target p") == "0.2, oops, 0.3"


# From a file ------------------------------------------------------------------------------------


def test_an_export_comes_back_exactly():
    scenario = Scenario.from_texts(Texts('"=1+1", " a", "\\n"', "1/3 1/3 1/3", "1/7 2/7 4/7"))
    lab = Lab().enter_as("CSV file").upload("lab.csv", export_csv(scenario))
    assert not lab.errors
    lab.enter_as("Text")
    texts = Texts(lab.field("Tokens"), lab.field("Target p"), lab.field("Draft q"))
    assert Scenario.from_texts(texts) == scenario


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "The file is empty"),
        (b"\xff\xfe\x00\xd8", "cannot be read"),
        (b"token,p\nA,1\n", "The header has no column q"),
        (b"token,p,q\nA,x,1\n", "In the file, p, entry 1 (“x”)"),
        (b"token,p,q\n", "no rows"),
    ],
)
def test_a_bad_file_gets_a_sentence(data, sentence):
    lab = Lab().switch("Just inspect").enter_as("CSV file").upload("bad.csv", data)
    assert len(lab.errors) == 1
    assert sentence in lab.errors[0]
    assert not shows_truth(lab)
    lab.enter_as("Text")
    assert lab.field("Target p") == "0.2, 0.5, 0.3"


def test_a_file_that_misses_1_can_be_put_right():
    lab = Lab().enter_as("CSV file").upload("x.csv", b"token,p,q\nA,0.3,1\nB,0.3,0\n")
    assert "p sums to 0.6" in lab.errors[0]
    assert not shows_truth(lab)
    lab.press("Normalise")
    assert not lab.errors
    assert lab.enter_as("Text").field("Target p") == "0.5, 0.5"


def test_the_table_keeps_its_edits_over_other_pages_and_ways():
    lab = edit(Lab().enter_as("Table"), edited_rows={1: {"p": "0.4"}, 2: {"p": "0.4"}})
    lab.go("two_outcomes").go("one_step").switch("Just inspect")
    assert column(lab, "p") == ["0.2", "0.4", "0.4"]
    lab.enter_as("Text").enter_as("Table")
    assert column(lab, "p") == ["0.2", "0.4", "0.4"]
    assert lab.enter_as("Text").field("Target p") == "0.2, 0.4, 0.4"


def test_the_example_in_a_message_can_be_pasted_as_it_stands():
    message = Lab().type(p="x, 0.5, 0.5").at.error[0].value
    pasted = html.unescape(message).rpartition("or ")[2].rstrip("\u2060").removesuffix(".")
    assert "1e" in pasted
    assert not Lab().type(p=f"{pasted}, 0.4999999, 0.5").errors


def test_an_old_message_of_the_browser_does_not_load_the_old_preset():
    """What is typed, and a click at once: the click's message still tells of the old preset."""
    lab = Lab()
    old = next(box for box in lab.at.selectbox if box.label == "Preset")
    lab.type(p="0.3, 0.5, 0.2")
    new = next(box for box in lab.at.selectbox if box.label == "Preset")
    assert old.key != new.key
    lab.run()
    assert lab.field("Target p") == "0.3, 0.5, 0.2"


@pytest.mark.parametrize("tokens", ['A, "", C', "A, , C", r'A, "\q", C'])
def test_opening_the_table_changes_no_text(tokens):
    lab = Lab().type(tokens=tokens, p="0.2, 0.5, ...").enter_as("Table").enter_as("Text")
    assert lab.field("Tokens") == tokens
    assert lab.field("Target p") == "0.2, 0.5, ..."


def test_inspecting_another_scenario_erases_the_prediction():
    lab = Lab().predict("0", "0.75", "0.25").switch("Just inspect")
    lab.type(p="0.3, 0.4, 0.3").type(p="0.2, 0.5, 0.3").switch("Just inspect", on=False)
    assert not shows_truth(lab)


def test_a_second_file_takes_the_place_of_the_first():
    lab = Lab().enter_as("CSV file").upload("a.csv", b"token,p,q\nX,0.5,1\nY,0.5,0\n")
    lab.upload("b.csv", b"token,p,q\nU,0.25,1\nV,0.75,0\n")
    assert lab.enter_as("Text").field("Target p") == "0.25, 0.75"


def test_labels_are_no_links():
    lab = Lab().type(tokens="www.example.com, a@b.co, c").switch("Just inspect")
    raw = "".join(column(lab, "token"))
    assert "www.example" not in html.unescape(raw)
    assert "a@b" not in html.unescape(raw)


def test_numbers_in_messages_are_plain_text():
    message = html.unescape(Lab().type(p="0.25, 1e-7, x").at.error[0].value)
    assert "0.25, .25, 1/4, 25% or 1e-7." in message


def test_fractions_that_share_no_short_denominator_are_refused_in_a_sentence():
    odd = ", ".join(f"1/{10**396 + 2 * i + 1}" for i in range(20))
    lab = Lab().type(tokens="", p=odd, q=odd).switch("Just inspect")
    assert all("common denominator" in error for error in lab.errors)
    assert lab.errors


def test_reset_is_there_when_the_input_is_bad():
    assert Lab().type(p="oops").press("Reset").field("Target p") == "0.2, 0.5, 0.3"


def large(count: int) -> Scenario:
    """p uniform; q gives the second token's share to the first (case DI04)."""
    share = Fraction(1, count)
    draft = [2 * share, Fraction(0), *[share] * (count - 2)]
    return Scenario(tuple(f"t{i}" for i in range(count)), (share,) * count, tuple(draft))


def test_a_file_larger_than_the_fields_is_shown_in_part_and_computed_in_full():
    lab = Lab().switch("Just inspect").enter_as("CSV file")
    lab.upload("large.csv", export_csv(large(5001)))
    assert not lab.errors
    assert "the other 4,972 are taken together" in lab.words
    assert list(lab.metrics.values()) == ["≈0.9998", "≈0.0002"]
    assert "for 5,001 of 5,001 tokens" in lab.words
    assert all(len({r["token"] for r in chart_rows(c)}) == 30 for c in lab.charts)
    assert column(lab, "r")[:2] == ["0", "1"]
    lab.choose("Preset", "Equal")
    assert "for 3 of 3 tokens" in lab.words


def test_more_than_the_fields_take_is_refused_by_hand():
    lab = Lab().type(tokens="", p="1/1001 " * 1001, q="1/1001 " * 1001)
    assert "1,001 tokens: up to 1,000 can be entered by hand" in lab.errors[0]


# Large vocabularies and odd labels --------------------------------------------------------------


def test_a_large_vocabulary_is_asked_for_by_name():
    lab = Lab().choose("Preset", "26 letters")
    assert "the 9 tokens with the most of p or q; the other 17 share the last bar" in lab.words
    scenario = PRESETS["26 letters"].scenario
    residual = dict(zip(scenario.tokens, scenario.step.residual, strict=True))
    bars = [residual[letter] for letter in "aeinorstu"]  # those above 0.063 in p or q
    lab.predict(*map(str, bars), str(1 - sum(bars)))
    assert "Right." in lab.words


UGLY = ["$x$", "*b*", "<b>", ":smile:", "_i_", "`c`", "[a](b)", "the", "the", " ", "#h"]


def test_labels_stay_literal():
    text = ", ".join('"' + label + '"' for label in UGLY)
    lab = Lab().type(tokens=text, p="1/11 " * 11, q="1/22 3/22" + " 1/11" * 9)
    assert not lab.errors
    lab.switch("Just inspect")
    shown = [unescaped(cell) for cell in column(lab, "token")]
    assert shown == [*UGLY[:7], "the #8", "the #9", "␣", "#h"]
    raw = "".join(column(lab, "token"))
    assert not set("$*<>:_`[]()#") & set(raw.replace("&#", ""))
    labels = [row["token"] for row in chart_rows(lab.charts[0])]
    assert list(dict.fromkeys(labels)) == shown
