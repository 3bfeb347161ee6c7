"""The page Mistakes: laws by hand, feedback that leads to it, draws, the overview."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from driver import Lab, unescaped

from lab import MISTAKES, parse_vector
from lab.block import distance
from lab.mistakes import STEP_MISTAKES
from lab.pairs import PAIRS

THREE = {"tokens": "A, B, C", "p": "0.5, 0.3, 0.2", "q": "0.2, 0.3, 0.5"}
BLOCKS = sorted(set(MISTAKES) - set(STEP_MISTAKES))


def page(slug: str = "resample-from-target", **query: str) -> Lab:
    return Lab("mistakes", mistake=slug, **query)


def inspected(slug: str, **query: str) -> Lab:
    return page(slug, **query).switch("Just inspect")


def predict(lab: Lab, *texts: str) -> Lab:
    return lab.predict(*texts, question="mistake")


def shows_truth(lab: Lab) -> bool:
    return "What comes out" in lab.words


def drawn_number(lab: Lab, label: str, value: int) -> Lab:
    return lab.number(label, value)


# Worked by hand: p = (5, 3, 2)/10, q = (2, 3, 5)/10; only C is rejected, 3/10 of the time.
BY_HAND = {
    "resample-from-target": ("0.35", "0.39", "0.26"),
    "no-coin": ("0.7", "0.3", "0"),
    "always-accept": ("0.2", "0.3", "0.5"),
    "accept-if-equal-or-ratio": ("0.44", "0.3", "0.26"),
    "only-rejected-removed": ("0.3875", "0.4125", "0.2"),
    "first-token-fallback": ("0.5", "0.3", "0.2"),
}


@pytest.mark.parametrize("slug", BY_HAND)
def test_the_law_of_a_mistake_is_predicted_and_shown(slug):
    lab = page(slug, **THREE)
    assert MISTAKES[slug].does in lab.words
    assert not shows_truth(lab)
    predict(lab, *BY_HAND[slug])
    assert "Right" in lab.at.success[0].value
    assert shows_truth(lab)
    gap = sum(
        abs(Fraction(a) - b)
        for a, b in zip(BY_HAND[slug], (Fraction(n, 10) for n in (5, 3, 2)), strict=True)
    )
    assert Fraction(lab.metrics["Distance from p"].lstrip("≈")) == gap / 2
    assert lab.metrics["α, the right rule keeps"] == "0.7"


def test_nothing_is_sent_before_commitment():
    lab = page(**THREE)
    sent = json.dumps([str(element) for element in lab.at.main])
    for number in ("0.35", "0.39", "0.26", "0.15", "3/20"):
        assert number not in sent
    assert not lab.charts
    assert not lab.tables
    assert not lab.metrics


def test_p_itself_is_the_usual_guess_and_named():
    lab = predict(page(**THREE), "0.5", "0.3", "0.2")
    assert "This is p itself: what comes out of the right lines." in lab.words


def test_the_law_of_another_mistake_is_named_with_a_link():
    lab = predict(page(**THREE), "0.2", "0.3", "0.5")
    assert "every proposal is kept" in lab.words
    assert any("Everything is kept" in label for label, _ in links(lab))


def links(lab: Lab) -> list[tuple[str, str]]:
    """Label and query of each link to a page."""
    protos = [element.proto for element in lab.at.get("page_link")]
    return [(unescaped(proto.label), proto.query_string) for proto in protos]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("0.15", "Right."),
        ("0.3", "the distance is half of it"),
        ("0.2", "Not yet"),
    ],
)
def test_the_distance_is_predicted(answer, words):
    lab = page(**THREE)
    (radio,) = lab.at.radio
    radio.set_value("distance")
    lab.run()
    assert not shows_truth(lab)
    predict(lab, answer)
    assert words in lab.words
    assert lab.metrics["Distance from p"] == "0.15"


@pytest.mark.parametrize(
    "change",
    [
        lambda lab: lab.type(q="0.3, 0.3, 0.4"),
        lambda lab: lab.choose("Mistake", "no-coin"),
        lambda lab: lab.press("Try again"),
        lambda lab: lab.press("Reset"),
        lambda lab: lab.press("Show it on its witness"),
    ],
)
def test_a_change_erases_the_prediction(change):
    lab = predict(page(), "0.28", "0.4", "0.32")
    assert shows_truth(lab)
    change(lab)
    assert not shows_truth(lab)


def test_a_parameter_is_part_of_the_question():
    lab = predict(
        page("filtered-proposal", p="0.6 0.4 0 0", q="0.4 0.3 0.2 0.1"), "4/7", "3/7", "0", "0"
    )
    assert "Right" in lab.words
    top_k(lab, "3")
    assert not shows_truth(lab)
    # from (4, 3, 2, 0)/9: A and B kept, C rejected with its 2/9, which goes to r = (2, 1)/3
    predict(lab, "0.593", "0.407", "0", "0")
    assert "Right" in lab.words
    for bad, words in (
        ("two", "top_k (“two”): it is no whole number"),
        ("0", "top_k is 0"),
        ("1.5", "whole number"),
    ):
        top_k(lab, bad)
        assert any(words in error for error in lab.errors), lab.errors
        assert not shows_truth(lab)


def top_k(lab: Lab, text: str) -> None:
    (field,) = [f for f in lab.at.text_input if f.label == "top_k"]
    field.set_value(text)
    lab.run()


def test_a_code_that_gets_stuck_has_no_law():
    lab = inspected("redraw-until-accepted", p="0.5 0.5 0", q="0 0 1")
    assert "goes round for ever" in lab.words
    assert any("gets stuck" in list(table["distance"]) for table in lab.tables)
    assert not lab.metrics
    lab = predict(page("redraw-until-accepted", p="0.5 0.5 0", q="0 0 1"), "0", "0", "1")
    assert "There is nothing to hold that against" in lab.words


@pytest.mark.parametrize("slug", STEP_MISTAKES)
def test_every_mistake_of_a_step_can_be_inspected(slug):
    mistake = MISTAKES[slug]
    lab = inspected(slug)
    if lab.has("button", "Show it on its witness"):
        lab.press("Show it on its witness")
    assert shows_truth(lab)
    assert mistake.verdict.capitalize() in lab.words
    off = lab.metrics.get("Distance from p", lab.metrics.get("Distance from the cut p"))
    assert (off != "0") == (mistake.verdict == "biased")


# Draws ------------------------------------------------------------------------------------------


def result(lab: Lab) -> dict[str, dict]:
    (table,) = [t for t in lab.tables if "chi-square" in t.columns]
    return {row[""]: row for row in table.to_dict("records")}


def test_enough_draws_refute_the_faulty_rule_and_not_the_right_one():
    lab = inspected("resample-from-target", **THREE)
    drawn_number(lab, "Draws N", 10_000_000)
    rows = result(lab)
    assert rows["faulty rule"]["the law is"] == "refuted"
    assert rows["right rule"]["the law is"] == "not refuted"
    assert "must fail. Here it does" in lab.words
    assert "This is a simulation" in lab.words
    assert "Acceptance alone never shows it" in lab.words


def test_too_few_draws_say_so():
    lab = inspected("shared-uniform")
    drawn_number(lab, "Draws N", 20)
    assert result(lab)["faulty rule"]["the law is"] == "not refuted"
    assert "this test could not tell" in lab.words


def test_the_seed_decides_the_draws():
    lab = inspected("shared-uniform")
    first = result(lab)
    lab.number("Seed of the draws", 1)
    assert result(lab) != first
    lab.number("Seed of the draws", 0)
    assert result(lab) == first


def test_what_no_histogram_shows():
    lab = inspected("shared-stream", **THREE)
    assert "no number of draws tells them apart" in lab.words
    assert "Σ p² = 0.38" in lab.words


# All of them ------------------------------------------------------------------------------------


def test_the_overview_ranks_and_names_what_does_not_show():
    lab = inspected("no-coin", p="1/4 1/4 1/2", q="1/4 1/4 1/2")
    assert "This p and q cannot show" in lab.words
    lab = inspected("no-coin", **THREE)
    (table,) = [t for t in lab.tables if "draws to find it" in t.columns]
    far = [float(text.lstrip("≈")) for text in table["distance"] if text != "gets stuck"]
    assert far == sorted(far, reverse=True)
    # r is A alone here, so that a fallback to the first token is right
    lab.press("Replacement is token 0")
    assert lab.field("Draft q") == "0.6, 0.2, 0.2"
    assert lab.metrics["Distance from p"] == "0.4"


# In blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("slug", BLOCKS)
def test_mistakes_in_blocks_have_models(slug):
    lab = page(slug)
    if lab.has("button", "Show it on its witness"):
        lab.press("Show it on its witness")
    assert not shows_truth(lab)
    pair = PAIRS[lab.at.session_state["pair"]]
    models = pair.models()
    mistake = MISTAKES[slug]
    far = distance(
        mistake.law(*models, draft_length=3, length=3, stop=pair.stop),
        mistake.right(*models, length=3, stop=pair.stop),
    )
    assert far > 0
    predict(lab, str(far))
    assert "Right." in lab.words
    assert Fraction(lab.metrics["Distance from the target's law"]) == far
    lab.number("Drafts K", 1)
    assert not shows_truth(lab)


def test_the_block_page_keeps_its_settings_after_a_visit():
    lab = page("keep-testing").number("Drafts K", 2).go("block").switch("Just inspect")
    assert "All 2 accepted" in lab.metrics


# Ways in ----------------------------------------------------------------------------------------


def test_feedback_on_one_step_leads_here():
    lab = Lab(**THREE).predict("0.5", "0.3", "0.2")
    assert "you drew the replacement from the target" in lab.words
    ((label, query),) = links(lab)
    assert label.endswith("Replacement drawn from p")
    assert "mistake=resample-from-target" in query
    assert "p=0.5" in query


def test_laws_that_coincide_are_all_named():
    lab = Lab(tokens="A, B", p="0.4, 0.6", q="0.6, 0.4").predict("0.4", "0.6")
    assert "p itself" in lab.words
    lab = Lab(**THREE).choose("What to predict", "output").predict("0.2", "0.3", "0.5")
    assert len(links(lab)) >= 1


def test_a_link_opens_the_mistake_on_its_p_and_q():
    lab = page("no-coin", **THREE)
    assert lab.at.selectbox(key="mistake").value == "no-coin"
    assert lab.field("Target p") == THREE["p"]
    assert any("mistake=no-coin&" in code.value for code in lab.at.code)
    lab.go("one_step")
    assert parse_vector(lab.field("Draft q")) == parse_vector(THREE["q"])


def test_an_unknown_mistake_is_the_first():
    assert page("no-such").at.selectbox(key="mistake").value == "resample-from-target"
    lab = page("no-such")
    assert "“no-such”, which is no mistake of the gallery" in lab.errors[0]
    lab.choose("Mistake", "no-coin")
    assert not lab.errors


def test_a_link_carries_the_parameters():
    lab = page("floor-residual", **THREE, floor="1/10")
    lab.switch("Just inspect")
    # max(p - q, 1/10) = (3, 1, 1)/10: 3/10 of the time (3, 1, 1)/5
    (table,) = [t for t in lab.tables if "comes out" in t.columns]
    assert list(table["comes out"]) == ["0.38", "0.36", "0.26"]
    (code,) = [c.value for c in lab.at.code if "mistake=" in c.value]
    assert "mistake=floor-residual&floor=1/10&" in code
    lab = page("filtered-proposal", **THREE, top_k="-3")
    assert any("top_k (“-3”): it is no whole number" in error for error in lab.errors)


def test_what_cannot_be_tested_is_not_called_refuted_or_not():
    lab = inspected("swapped-roles").number("Draws N", 9)
    rows = result(lab)
    assert {row["the law is"] for row in rows.values()} == {"not tested"}
    assert "there is no test at all" in lab.words
    assert "passes, by chance" not in lab.words


def test_a_target_that_is_to_be_cut_has_its_own_words():
    lab = inspected("unfiltered-target")
    assert "does not have the law cut p, which was asked for" in lab.words
    assert "Distance from the cut p" in lab.metrics


def test_a_distance_is_too_much_or_too_little():
    lab = page(**THREE)
    (radio,) = lab.at.radio
    radio.set_value("distance")
    lab.run()
    assert "0.1 too much" in predict(lab, "0.25").words
    lab.press("Try again")
    assert "0.05 too little" in predict(lab, "0.1").words
