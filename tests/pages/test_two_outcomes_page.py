"""The page Two outcomes as a person meets it, without a browser."""

from __future__ import annotations

import pytest
from driver import Lab


def page(**query: str) -> Lab:
    return Lab("two_outcomes", **query)


def predict(lab: Lab, *bars: str) -> Lab:
    return lab.predict(*bars, question="display")


def number(lab: Lab, label: str) -> float:
    (found,) = [n for n in lab.at.number_input if n.label == label]
    return found.value


def test_it_starts_with_neither_setting_of_the_example():
    lab = page()
    assert (number(lab, "Success p"), number(lab, "Trials n")) == (0.5, 10)
    assert "no longer the residual display" in lab.words
    assert not lab.charts


def test_what_is_given_and_what_is_not():
    lab = page().number("Trials n", 1)
    (given,) = lab.tables
    assert list(given["accepted min(p, q)"]) == ["0.2", "0.2", "0.2"]
    assert list(lab.metrics.values()) == ["0.4"]
    assert "0.75" not in lab.words
    assert "Commit to the bars of the display first" in lab.words


def test_the_example_is_recovered():
    lab = page().number("Success p", 0.75).number("Trials n", 1)
    predict(lab, "0.75", "0.25")
    assert "Right." in lab.words
    recovered = lab.tables[-1]
    assert list(recovered["displayed"]) == ["0 (outside)", "0.75", "0.25"]
    assert list(recovered["Z × displayed"]) == ["0", "0.3", "0.1"]
    assert list(recovered["recovered"]) == list(recovered["p"]) == ["0.2", "0.5", "0.3"]
    assert "The recovered vector is p, exactly" in lab.words


def test_another_success_is_not_this_residual():
    lab = page().number("Trials n", 1)
    predict(lab, "0.5", "0.5")
    assert "The stipulated success 0.5 is not this example's residual" in lab.words
    assert "misses p by B −0.1, C +0.1; total variation distance 0.1" in lab.words


def test_exchanged_bars_are_named():
    lab = page().number("Success p", 0.75).number("Trials n", 1)
    assert "Success and failure are exchanged." in predict(lab, "0.25", "0.75").words


def test_binomial_counts():
    lab = page().number("Success p", 0.75).number("Trials n", 2)
    predict(lab, "1/16", "6/16", "9/16")
    assert "Right." in lab.words
    assert "Set Trials n to 1" in lab.words


def test_many_counts_are_asked_for_in_ranges():
    lab = page().number("Trials n", 200)
    assert "asked for in ranges" in lab.words
    lab.set_bars(*["0"] * 12, question="display")
    lab.press("Commit prediction")
    assert lab.charts


@pytest.mark.parametrize(
    "change",
    [
        lambda lab: lab.number("Success p", 0.7),
        lambda lab: lab.number("Trials n", 2),
        lambda lab: lab.press("Reset"),
    ],
)
def test_a_change_erases_the_prediction(change):
    lab = page().number("Success p", 0.75).number("Trials n", 1)
    predict(lab, "0.75", "0.25")
    assert lab.charts
    change(lab)
    assert not lab.charts
    assert lab.has("button", "Commit prediction")


def test_reset_gives_a_half_and_ten():
    lab = page().number("Success p", 0.75).number("Trials n", 1).press("Reset")
    assert (number(lab, "Success p"), number(lab, "Trials n")) == (0.5, 10)


def test_the_recovered_vector_can_be_predicted():
    lab = page().number("Success p", 0.75).number("Trials n", 1)
    lab.switch("Predict the recovered vector first")
    predict(lab, "0.75", "0.25")
    assert "The recovered vector is p" not in lab.words
    lab.predict("0.2", "0.5", "0.3", question="recovered")
    assert lab.words.count("Right.") == 2
    assert "The recovered vector is p, exactly" in lab.words


def test_just_inspect_shows_all_at_once():
    lab = page().number("Success p", 0.75).number("Trials n", 1).switch("Just inspect")
    assert lab.charts
    assert "The recovered vector is p, exactly" in lab.words


def test_another_scenario_with_two_outcomes_stands_in_its_place():
    lab = Lab(tokens="x, y, z", p="0.5, 0.3, 0.2", q="0.3, 0.5, 0.2")
    lab.type(p="0.5, 0.1, 0.4").switch("Just inspect").go("two_outcomes")
    lab.number("Trials n", 1)
    assert list(lab.tables[0]["token"]) == ["x", "y", "z"]
    assert "does not apply" not in lab.words
    assert "r(x) = 0.5" in lab.words or "x (success)" in str(lab.charts[0])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            {"p": "0.4, 0.3, 0.2, 0.1", "q": "0.1, 0.2, 0.1, 0.6"},
            "has 3 positive outcomes (1, 2, 3)",
        ),
        ({"p": "0.5, 0.5", "q": "0.4, 0.6"}, "has 1 positive outcome (1)"),
        ({"p": "0.5, 0.5", "q": "0.5, 0.5"}, "there is no residual"),
    ],
)
def test_why_the_display_does_not_apply(query, why):
    lab = Lab(**query).switch("Just inspect").go("two_outcomes")
    assert "This display does not apply to your scenario" in lab.words
    assert why in lab.words
    assert list(lab.tables[0]["token"]) == ["A", "B", "C"]


def test_an_open_prediction_is_not_given_away():
    lab = Lab(p="0.4, 0.3, 0.2, 0.1", q="0.1, 0.2, 0.1, 0.6").go("two_outcomes")
    assert "still to be predicted there" in lab.words
    assert "3 positive" not in lab.words
    assert list(lab.tables[0]["token"]) == ["A", "B", "C"]


def test_an_unreadable_scenario_is_said():
    lab = Lab().type(p="oops").go("two_outcomes")
    assert "cannot be read: p, entry 1 (“oops”)" in lab.words


def test_tiny_bars_have_a_text_too():
    lab = page().number("Success p", 1e-22).number("Trials n", 200).switch("Just inspect")
    assert lab.charts


def test_a_long_vocabulary_is_not_shown_here():
    lab = Lab(p="1/40 " * 40, q="2/40 0 " + "1/40 " * 38).switch("Just inspect").go("two_outcomes")
    assert "has 40 tokens, and this page shows up to 30" in lab.words
