"""The page Precision as a person meets it, without a browser."""

from __future__ import annotations

import pyarrow as pa
import pytest
from driver import Lab

from lab.precision import CASES, TYPES
from lab.scenario import NEAR_EQUAL

HEADINGS = (
    "What became of the pair",
    "Four types beside exact",
    "Identity: exact, ==",
    "Tolerance: type, size, why",
    "Error against distance",
    "What is stored",
    "Coins",
    "Types that mix",
)
# The answer to “Will this pair still have a residual in float16?”, and the reason's beginning.
ANSWERS = {
    "Two thousandths": ("Yes", "In float16 the stored p exceeds q at 1 token, and a residual"),
    "One ten-millionth": ("No", "p and q differ by up to 1e-7 at a token, and float16 stores"),
    "Thirds and decimals": ("No", "In float16 no stored p exceeds q, although a stored q"),
    "A nearly sure token": ("Yes", "Only, nothing is ever rejected."),
    "A tiny token": ("No", "although a stored q exceeds p at 1 token."),
    "Ten tokens": ("No", "In float16 no stored p exceeds q"),
    "Eight decimals": ("No", "p and q differ by up to 1e-8 at a token, and float16 stores"),
    "The same twice": ("No", "p = q: there was no residual to begin with"),
}


def page(**query: str) -> Lab:
    return Lab("precision", **query)


def inspected(name: str) -> Lab:
    return page().press(name).switch("Just inspect")


def shows_results(lab: Lab) -> bool:
    return bool(
        lab.charts
        or lab.tables
        or lab.has("button", "Try again")
        or any(heading in lab.words for heading in HEADINGS)
        or any(f": {case}." in lab.words for case in CASES)
    )


def answer(lab: Lab, text: str) -> Lab:
    (radio,) = lab.at.radio
    radio.set_value(text)
    return lab.run()


def commit(lab: Lab, text: str) -> Lab:
    return answer(lab, text).press("Commit prediction")


def column(table, name: str) -> dict[str, str]:
    """A column of a table by the entries of its first."""
    return dict(zip(table[table.columns[0]], table[name], strict=True))


# ---------------------------------------------------------------- predict


def test_every_pair_has_an_answer():
    assert list(ANSWERS) == list(NEAR_EQUAL)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_pair_hides_its_case_until_it_is_predicted(name):
    lab = page().press(name)
    assert lab.field("Target p") == NEAR_EQUAL[name].texts.p
    assert not shows_results(lab)
    right, why = ANSWERS[name]
    commit(lab, right)
    assert "Right. " in lab.words
    assert why in lab.words
    assert all(heading in lab.words for heading in HEADINGS)


@pytest.mark.parametrize(("name", "wrong"), [("Ten tokens", "Yes"), ("Two thousandths", "No")])
def test_a_wrong_answer_gets_the_reason_too(name, wrong):
    lab = commit(page().press(name), wrong)
    assert "Not yet. " in lab.words
    assert ANSWERS[name][1] in lab.words


def test_without_an_answer_nothing_is_committed():
    lab = page().press("Commit prediction")
    assert lab.errors == ["Not predicted yet: choose Yes or No."]
    assert not shows_results(lab)


@pytest.mark.parametrize(
    "change",
    [
        lambda lab: lab.type(q="0.5, 0.3, 0.2"),
        lambda lab: lab.press("Ten tokens"),
        lambda lab: lab.press("Reset"),
        lambda lab: lab.press("Try again"),
        lambda lab: lab.choose("Preset", "Equal"),
    ],
)
def test_a_change_erases_the_prediction(change):
    lab = commit(page(), "Yes")
    assert shows_results(lab)
    change(lab)
    assert not shows_results(lab)
    assert lab.at.radio[0].value is None
    assert lab.has("button", "Commit prediction")


def test_inspecting_another_pair_erases_it_too():
    lab = commit(page(), "Yes").switch("Just inspect").press("Ten tokens")
    lab.switch("Just inspect", False)
    assert not shows_results(lab)


def test_the_answer_survives_a_visit_to_another_page():
    lab = answer(page(), "Yes").go("block").go("precision")
    assert lab.at.radio[0].value == "Yes"
    lab.press("Commit prediction").go("one_step").go("precision")
    assert "Right. " in lab.words


def test_the_scenario_is_that_of_one_step():
    lab = Lab().type(p="0.25, 0.25, 0.5", q="0.5, 0.25, 0.25").go("precision")
    assert lab.field("Draft q") == "0.5, 0.25, 0.25"
    lab.press("Reset")
    assert lab.field("Draft q") == "0.6, 0.2, 0.2"


# ---------------------------------------------------------------- inspect


def test_the_worked_example_in_numbers():
    lab = page().switch("Just inspect")
    numbers, identities, tolerances, *_ = lab.tables
    assert list(numbers.columns) == ["number", "exact", *TYPES]
    exact = column(numbers, "exact")
    assert exact["α = Σ min(p, q), added in the type"] == "0.6"
    assert exact["Z = 1 − Σ min(p, q), added in float64"] == "0.4"
    assert exact["magnification 1/Z"] == "2.5"
    half = column(numbers, "float16")
    assert half["Σ p of what is stored"] == "1"
    assert half["r, total variation distance, added in float64"] == "≈1.22e-4"
    brain = column(numbers, "bfloat16")
    assert brain["Σ p of what is stored"] == "≈1 + 9.77e-4"
    assert brain["Σ p, added in the type"] == "1"
    assert set(identities["exact"]) == {"holds", "holds: 3 of 3"}
    assert list(identities["float16"])[3:] == ["fails", "holds: 3 of 3"]
    assert column(tolerances, "float16")["Σ p, Σ q of what is stored"].startswith("0 ≤ ≈4.88e-4")
    (box,) = lab.at.info
    assert box.value == (
        "**float16, bfloat16, float32, float64: consistent.** Some stored p exceeds q, and some "
        "stored q exceeds p."
    )
    for absent in ("To investigate", "Ruled out", "No r: ", "No bound, "):
        assert absent not in lab.words


def test_the_type_that_is_asked_about_comes_first():
    assert TYPES == ("float16", "bfloat16", "float32", "float64")  # as they are named in words
    numbers, identities, tolerances, stored, coins, mixed = page().switch("Just inspect").tables
    for table in (numbers, identities, coins):
        assert list(table.columns)[1:3] in (["exact", "float16"], ["exact u", "float16"])
    assert list(tolerances.columns)[1:] == list(mixed.columns)[1:] == list(TYPES)
    assert list(stored.columns)[:2] == ["token", "stored"]


def test_an_investigation_says_what_to_look_at():
    lab = inspected("Thirds and decimals")
    words = lab.words
    assert "float32, float64: consistent." in words
    assert "bfloat16: residual lost in storage." in words
    assert "float16: rejection possible but residual empty." in words
    assert "bfloat16: negative 1 − Σ min." in words
    assert "- bfloat16: ≈−1.95e-3 added in float64, but 0 added in bfloat16." in words
    for lead in ("Unequal totals", "Separate normalising", "A sum in low precision",
                 "A uniform number that rounds to 1"):  # fmt: skip
        assert f"{lead}." in words
    for absent in ("Flush to zero.", "bfloat16: stored p", "p − q is 0", "probability 0"):
        assert absent not in words
    assert (
        "Ruled out here: unequal totals in bfloat16 (stored p and q have the same sum); flush to "
        "zero (nothing became 0 or is below the normal numbers)."
    ) in words.replace("**", "")
    assert "float16: stored p sums to ≈1 − 2.44e-4, stored q to 1; p − q is ≈−2.44e-4." in words
    assert "float32: stored p" not in words  # nothing to investigate there
    assert "no floor, no uniform vector" in words
    assert [box.value.split(":")[0] for box in lab.at.warning] == ["**float16", "**bfloat16"]


def test_no_residual_is_said_in_words():
    lab = inspected("The same twice")
    numbers, identities, tolerances, stored, _, mixed = lab.tables
    assert lab.at.info[0].value.endswith("p = q, and they are stored as equals.")
    assert set(identities.iloc[-1][1:]) == {"no r, holds: 3 of 3"}
    assert "No r: exact, float16, bfloat16, float32, float64." in lab.words
    assert set(tolerances.iloc[-1][1:]) == {"no r, no bound"}
    assert "so that nothing is promised: r, as Z is 0 and nothing is rejected." in lab.words
    assert column(numbers, "exact")["magnification 1/Z"] == "none"
    assert set(numbers.loc[numbers["number"].str.startswith("r, "), "float16"]) == {"none"}
    assert set(stored["r in the type"]) == set(stored["exact r"]) == {"none"}
    assert list(mixed["float16"])[1] == "none"
    assert not lab.charts
    assert "p = q is at no distance" in lab.words
    assert "Z is 0, and stays 0" in commit(lab.switch("Just inspect", False), "No").words


def test_totals_are_seen_whatever_the_case():
    # In bfloat16 no case is named: entries agree, and the sum is below 1.
    words = inspected("The same twice").words
    assert (
        "These stored p and q do not sum to 1: float16 ≈1 + 1.22e-4; bfloat16 ≈1 − 1.46e-3; "
        in (words)
    )
    words = inspected("Thirds and decimals").words
    assert "float16 p ≈1 − 2.44e-4, q 1; bfloat16 ≈1 + 1.95e-3; " in words
    dyadic = page().type(p="1/2, 1/4, 1/4", q="1/4, 1/2, 1/4").switch("Just inspect")
    assert "The stored p and q sum to 1 in each type." in dyadic.words


def test_what_has_no_bound_says_why():
    lab = inspected("A nearly sure token")
    last = lab.tables[2].iloc[-1]
    assert list(last[1:3]) == ["0, no bound"] * 2
    assert (
        "No bound, so that nothing is promised: r in float16, bfloat16, where the error that Z may "
        "have is about as large as Z itself, 5e-5, or larger."
    ) in lab.words
    p = "0.5 " + "0.001 " * 500  # u of bfloat16 is 1/256
    lab = page(p=p, q=p).switch("Just inspect")
    assert "sums in bfloat16, where n·u is not below 1; r, as Z is 0" in lab.words


def test_numbers_keep_together_unless_they_are_fractions():
    def kept(lab: Lab) -> bool:
        return any("stTable" in element.proto.body for element in lab.at.get("html"))

    lab = page().switch("Just inspect")
    assert kept(lab)
    assert not kept(lab.switch("Exact fractions"))


def test_what_is_stored_can_be_read_and_told_apart():
    lab = inspected("A tiny token")
    stored = lab.tables[3]
    assert list(stored["stored p"]) == ["1", "0"]
    assert list(stored["stored q"]) == ["1", "5.9604644775390625e-8"]
    assert list(stored["stored"]) == ["p = q", "p < q"]
    assert "1 entry of p became 0 in float16: B." in lab.words
    lab.choose("Type", "float64")
    stored = lab.tables[3]
    assert list(stored["stored"]) == ["p > q", "p < q"]
    assert stored["stored p"][0] == "≈0.99999998999999995"
    assert "became 0 in float16" not in lab.words


def test_coins_follow_their_bits():
    lab = page().switch("Just inspect")
    coins = lab.tables[4]
    assert list(coins["bfloat16"]) == ["≈1.95e-3", "≈5.96e-8"]
    assert list(coins["float32"]) == ["0", "≈5.96e-8"]
    (bits,) = [box for box in lab.at.selectbox if box.label == "Random bits of u"]
    bits.set_value(32)
    coins = lab.run().tables[4]
    assert list(coins["float32"]) == ["≈2.98e-8", "≈2.33e-10"]
    assert list(coins["float16"]) == ["≈2.44e-4", "≈3e-8"]


def test_fractions_are_there_when_switched_on():
    lab = page().switch("Just inspect").switch("Exact fractions")
    assert list(lab.tables[4]["bfloat16"]) == ["1/512", "1/16777216"]
    assert column(lab.tables[0], "exact")["magnification 1/Z"] == "5/2"


def test_one_picture_a_type_with_words():
    lab = inspected("Ten tokens")
    assert len(lab.charts) == 4
    for kind, chart in zip(TYPES, lab.charts, strict=True):
        assert chart.alt.startswith(f"Relative error of Z in {kind}")
        assert "breaks first at" in chart.alt
        assert "its mark says how: ◆ gives 0, ▼ gives less than 0, ✚" in lab.words
        (data,) = [dataset.data.data for dataset in chart.datasets] or [chart.data.data]
        rows = pa.ipc.open_stream(data).read_all().to_pylist()
        assert {row["series"] for row in rows} >= {"Σ max(p − q, 0)", "1 − Σ min(p, q)"}


def test_many_tokens_are_grouped_and_too_many_are_not_gone_through():
    lab = page(p="1/40 " * 40, q="2/40 0 " + "1/40 " * 38).switch("Just inspect")
    assert len(lab.tables[3]) == 30
    assert "the other 11 are taken together" in lab.words
    rows = "".join(f"{n},{'1' if n == 0 else '0'},{'1' if n == 1 else '0'}\n" for n in range(1001))
    lab.enter_as("CSV file").upload("big.csv", f"token,p,q\n{rows}".encode())
    assert "1,001 tokens: this page goes through up to 1,000." in lab.words
    assert not lab.tables


def test_distances_too_small_to_draw_are_said():
    lab = page().type(tokens="A, B", p=f"1e-310, 0.{'9' * 310}", q="0, 1").switch("Just inspect")
    assert "below 1e-300, and are not drawn" in lab.words


def test_an_unreadable_scenario_is_said():
    lab = page().type(p="oops")
    assert "Results appear here once tokens, p and q fit together." in lab.words
    assert not shows_results(lab)


def test_labels_stay_literal():
    lab = page(tokens='"$x$", "*b*"', p="0.99999999, 0.00000001", q="0.99999997, 0.00000003")
    lab.switch("Just inspect")
    assert "1 entry of p became 0 in float16: *b*." in lab.words
    assert "*b*" not in "".join(m.value for m in lab.at.markdown)
