"""The page Block as a person meets it, without a browser."""

from __future__ import annotations

import pytest
from driver import Lab, unescaped

from lab.pairs import PAIRS
from pages.parts import laws

# Worked by hand: the acceptance of the first position, and what one draft brings, by preset.
FIRST = {
    "Two tokens": "0.8",
    "Three tokens with a stop": "0.8",
    "Equal everywhere": "1",
    "Disjoint": "0",
    "Rows by position": "0.7",
}


def page(**query: str) -> Lab:
    return Lab("block", **query)


def shows_truth(lab: Lab) -> bool:
    return bool(lab.charts or lab.tables or lab.metrics or "Accepted drafts" in lab.words)


def predict(lab: Lab, *bars: str) -> Lab:
    return lab.predict(*bars, question="block")


@pytest.mark.parametrize("name", PAIRS)
def test_a_preset_hides_its_law_and_shows_it_when_inspected(name):
    lab = page().choose("Models", name)
    assert not shows_truth(lab)
    lab.switch("Just inspect")
    assert len(lab.charts) == 3
    assert all(chart.alt for chart in lab.charts)
    assert "sequences have exactly the same probability; total variation distance **0**" in (
        lab.words
    )
    generated = next(t for t in lab.tables if "generated" in t)
    assert set(generated["difference"]) == {"0"}


@pytest.mark.parametrize("name", FIRST)
def test_one_draft_is_accepted_as_often_as_the_first_position_says(name):
    lab = page().choose("Models", name).number("Drafts K", 1).switch("Just inspect")
    assert lab.metrics["Expected accepted"] == FIRST[name]


def test_the_stop_token_leaves_out_the_last_token():
    """Case BL01: accepted 7/5 … the emitted mean is accepted plus what is drawn at the end."""
    lab = page().choose("Models", "Three tokens with a stop").number("Drafts K", 2)
    lab.switch("Just inspect")
    assert "Where a stop token is kept there is no last token." in lab.words


def test_predict_commit_inspect_reset():
    lab = page().number("Drafts K", 1)
    lab.press("Commit prediction")
    assert len(lab.errors) == 2
    predict(lab, "0.8", "0.2")
    assert "counts of what is discarded or rejected" in lab.words
    lab.press("Try again")
    assert not shows_truth(lab)
    predict(lab, "0.2", "0.8")
    assert "Right." in lab.words
    assert lab.metrics["Expected emitted"] == "1.8"
    lab.press("Reset")
    assert not shows_truth(lab)
    (drafts,) = [n for n in lab.at.number_input if n.label == "Drafts K"]
    assert drafts.value == 3


def test_a_constant_rate_is_recognised():
    lab = page().number("Drafts K", 2)
    assert "constant rate" in predict(lab, "0.2", "0.16", "0.64").words


@pytest.mark.parametrize(
    "change",
    [
        lambda lab: lab.number("Drafts K", 2),
        lambda lab: lab.choose("Models", "Disjoint"),
        lambda lab: edit(lab, edited_rows={1: {"p": "0.3, 0.7"}}),
    ],
)
def test_a_change_erases_the_prediction(change):
    lab = predict(page().number("Drafts K", 1), "0.2", "0.8")
    assert shows_truth(lab)
    change(lab)
    assert not shows_truth(lab)


def edit(lab: Lab, **changes) -> Lab:
    key = lab.at.session_state["pair grid"]["key"]
    lab.at.session_state[key] = {
        "edited_rows": {},
        "added_rows": [],
        "deleted_rows": [],
        **changes,
    }
    return lab.run()


def test_rows_are_edited_and_stay():
    lab = edit(page().number("Drafts K", 1), edited_rows={0: {"q": "3/5, 2/5"}})
    lab.switch("Just inspect")
    assert lab.metrics["Expected accepted"] == "1"
    lab.go("one_step").go("block")
    assert lab.metrics["Expected accepted"] == "1"
    assert "not the rows that were edited" in lab.words


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"edited_rows": {1: {"p": "0.3, 0.6"}}}, "p after A sums to 0.9"),
        ({"edited_rows": {2: {"q": "0.3, x"}}}, "q after B, entry 2 (“x”)"),
        ({"deleted_rows": [0]}, "no row for the empty history"),
        ({"edited_rows": {2: {"place": "A"}}}, "two rows after A"),
        ({"edited_rows": {2: {"place": "C"}}}, "is not made of the tokens"),
    ],
)
def test_a_bad_row_is_refused_by_its_history(changes, sentence):
    lab = edit(page().switch("Just inspect"), **changes)
    assert len(lab.errors) == 1
    assert sentence in lab.errors[0]
    assert not shows_truth(lab)


def test_a_link_reproduces_preset_and_settings():
    lab = page(pair="Rows by position", K="2", L="2", seed="7", c="1/5")
    lab.switch("Just inspect")
    assert "at 1/5 of a target step" in lab.words
    assert "The first 2 tokens" in lab.words
    assert "pair=Rows+by+position&K=2&L=2&seed=7&c=1/5" in lab.at.code[0].value


@pytest.mark.parametrize("query", [{"K": "99"}, {"K": "x", "pair": "nothing"}, {"seed": "-1"}])
def test_a_bad_link_is_as_at_the_start(query):
    lab = page(**query)
    assert "pair=Two+tokens&K=3&L=3&seed=0&c=0.1" in lab.at.code[0].value


def test_a_bad_cost_is_named():
    lab = page().switch("Just inspect")
    (cost,) = [t for t in lab.at.text_input if t.label == "Cost c of a draft step"]
    cost.set_value("cheap")
    lab.run()
    assert any("The cost ratio (“cheap”)" in error for error in lab.errors)


def test_a_law_that_is_too_large_is_drawn():
    lab = page().choose("Models", "Letters").number("Drafts K", 8)
    (added,) = [t for t in lab.at.text_input if t.label == "Added to each count"]
    added.set_value("1")
    lab.run()
    assert "are computed exactly" in lab.words
    lab.press("Draw 10,000 blocks")
    assert "A simulation, not a law" in lab.words
    assert len(lab.charts) == 1


# One block --------------------------------------------------------------------------------------


def one_block(**query: str) -> Lab:
    lab = page(**query)
    (view,) = [c for c in lab.at.get("button_group") if c.label == "View"]
    view.set_value("One block")
    return lab.run()


def by_hand(lab: Lab, **texts: str) -> Lab:
    for name, text in texts.items():
        label = name.replace("_", " ")
        (field,) = [t for t in lab.at.text_input if t.label == label]
        field.set_value(text)
    return lab.run()


def becomes(lab: Lab) -> list[str]:
    return list(lab.tables[0]["what becomes"])


def test_a_rejection_discards_what_follows():
    lab = by_hand(one_block(), Draft_1="A", Coin_1="0.5", Draft_2="A", Coin_2="0.9", Draft_3="B")
    assert "0 blocks" in lab.at.get("html")[-1].proto.body or "Step forward" in lab.words
    lab.press("Step")
    assert becomes(lab) == ["to be tested"] * 3
    lab.press("Step")
    assert becomes(lab)[0] == "✓ kept: coin below"
    lab.press("Step")
    assert becomes(lab) == [
        "✓ kept: coin below",
        "✗ rejected: coin not below",
        "discarded: it assumed a token that is not there",
    ]
    assert lab.tables[0]["draft"][2] == "~~B~~"
    assert lab.tables[0]["min(1, p/q)"][1] == "0.4"
    assert "First rejection" in lab.words
    lab.press("Step")
    assert "Replacement:" in lab.words
    assert "This block emits **A B**" in lab.words  # r after A is B alone
    lab.press("Back")
    assert "Replacement:" not in lab.words


def test_all_kept_brings_a_bonus_and_the_next_block_goes_on():
    lab = by_hand(one_block(K="1"), Draft_1="A", Coin_1="0.1", Replacement_or_bonus="B").press(
        "Whole block"
    )
    assert "Bonus:" in lab.words
    assert "This block emits **A B**" in lab.words
    lab.press("Next block").press("Step")
    assert [unescaped(cell) for cell in lab.tables[0]["after"]] == ["A B"]


def test_going_back_shows_the_block_as_it_happened():
    lab = by_hand(one_block(), Draft_1="A", Coin_1="0", Draft_2="A", Coin_2="0.99")
    lab.press("Whole block")
    assert "This block emits **A B**" in lab.words
    before = lab.tables[0].to_csv()
    lab.press("Next block").press("Back")
    assert "This block emits **A B**" in lab.words
    assert lab.tables[0].to_csv() == before
    lab.press("Back").press("Whole block")
    assert lab.tables[0].to_csv() == before


def test_a_block_that_ended_the_output_can_be_gone_back_into():
    lab = by_hand(
        one_block(pair="Three tokens with a stop", K="1"), Draft_1="</s>", Coin_1="0"
    ).press("Whole block")
    assert "The output ends here." in lab.words
    lab.press("Back").press("Step")
    assert "The output ends here." in lab.words


def test_the_same_token_twice_reads_as_it_is():
    lab = by_hand(
        one_block(K="2"),
        Draft_1="B", Coin_1="0", Draft_2="B", Coin_2="0", Replacement_or_bonus="B",
    ).press("Whole block")  # fmt: skip
    assert "This block emits **B B B**" in lab.words


def test_a_kept_stop_token_ends_the_output():
    lab = by_hand(
        one_block(pair="Three tokens with a stop", K="2"),
        Draft_1="</s>", Coin_1="0", Draft_2="A",
    ).press("Whole block")  # fmt: skip
    assert "the output has ended" in lab.words
    assert becomes(lab)[1] == "discarded: the output has ended"
    assert not lab.has("button", "Next block") or [
        b.disabled for b in lab.at.button if b.label == "Next block"
    ] == [True]


def test_the_same_seed_gives_the_same_block_again():
    first = one_block(seed="5").press("Whole block")
    second = one_block(seed="5").press("Whole block")
    other = [one_block(seed=str(s)).press("Whole block").tables[0].to_csv() for s in range(6, 12)]
    assert first.tables[0].equals(second.tables[0])
    assert any(table != first.tables[0].to_csv() for table in other)


def test_a_draft_that_cannot_be_is_refused():
    lab = by_hand(one_block(pair="Disjoint", K="1"), Draft_1="A")
    assert "has probability 0 there" in lab.errors[0]


def test_a_rerun_computes_no_law_again():
    # A cache in a page's own script would start empty at every rerun.
    lab = page().switch("Just inspect")
    before = laws.law_of.cache_info(), laws.generated_of.cache_info(), laws.emitted_of.cache_info()
    lab.run()
    after = laws.law_of.cache_info(), laws.generated_of.cache_info(), laws.emitted_of.cache_info()
    assert all(new.hits > old.hits for new, old in zip(after, before, strict=True))
    assert all(new.misses == old.misses for new, old in zip(after, before, strict=True))
