"""The whole lesson in a real browser, on both pages, as a student and a teacher go through it."""

from __future__ import annotations

import csv
import io
import struct
from fractions import Fraction
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from serving import ROOT, serve, settle

from lab import MISTAKES, one_step, parse_vector
from lab.tables import import_csv

PHONE = {"width": 390, "height": 844}


def fill(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Control+Enter")
    settle(page)


def set_bar(page: Page, label: str, text: str) -> None:
    field = page.get_by_role("textbox", name=f"{label}: type a number", exact=True)
    field.fill(text)
    field.press("Enter")
    settle(page)


def press(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()
    settle(page)


def predict(page: Page, **bars: str) -> None:
    for label, text in bars.items():
        set_bar(page, label, text)
    press(page, "Commit prediction")


def inspect(page: Page) -> None:
    page.get_by_text("Just inspect", exact=True).click()
    settle(page)


def test_one_step_from_typing_to_the_file(visit):
    page = visit()
    fill(page, "Tokens", "x, y, z")
    fill(page, "Target p", "1/3, 1/3, 1/3")
    fill(page, "Draft q", "0.5, 0.25, 25%")
    expect(page.get_by_text("The ledger")).to_have_count(0)
    # dragging: the middle of the track is a half
    track = page.get_by_role("slider", name="y: your prediction", exact=True)
    box = track.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    settle(page)
    expect(page.get_by_role("textbox", name="y: type a number", exact=True)).to_have_value("0.5")
    set_bar(page, "x", "0")
    set_bar(page, "z", "1/2")
    press(page, "Commit prediction")
    expect(page.get_by_text("Right.", exact=True)).to_be_visible()
    expect(page.get_by_text("The ledger")).to_be_visible()
    expect(page.get_by_role("button", name="Commit prediction")).to_have_count(0)

    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV", exact=True).click()
    data = download.value.path().read_bytes()
    scenario = import_csv(data)
    assert scenario.tokens == ("x", "y", "z")
    assert scenario.target == (Fraction(1, 3),) * 3
    assert scenario.draft == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    assert [row["residual"] for row in rows] == ["0", "0.5", "0.5"]
    assert [row["reconstructed_exact"] for row in rows] == ["'1/3"] * 3
    with page.expect_download() as download:
        page.get_by_role("button", name="Download prediction", exact=True).click()
    record = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8"))))
    assert [row["prediction"] for row in record] == ["0", "0.5", "0.5"]
    assert {row["verdict"] for row in record} == {"right"}
    # a download is no interaction: nothing was run again
    expect(page.get_by_text("Right.", exact=True)).to_be_visible()

    press(page, "Reset")
    expect(page.get_by_text("The ledger")).to_have_count(0)
    expect(page.get_by_label("Target p", exact=True)).to_have_value("0.2, 0.5, 0.3")
    expect(page.get_by_role("textbox", name="A: type a number")).to_have_value("")


def test_an_edit_after_commit_takes_the_truth_away(visit):
    page = visit()
    predict(page, A="0", B="0.75", C="0.25")
    expect(page.get_by_text("Right.", exact=True)).to_be_visible()
    fill(page, "Draft q", "0.5, 0.3, 0.2")
    expect(page.get_by_text("Right.", exact=True)).to_have_count(0)
    expect(page.get_by_text("The ledger")).to_have_count(0)
    expect(page.get_by_role("textbox", name="B: type a number")).to_have_value("")


def test_a_number_typed_last_counts_when_commit_is_clicked(visit):
    """The click takes the focus from the field, and both messages are on their way at once."""
    page = visit()
    set_bar(page, "A", "0")
    set_bar(page, "B", "0.75")
    page.get_by_role("textbox", name="C: type a number", exact=True).fill("0.25")
    page.get_by_role("button", name="Commit prediction", exact=True).dblclick()
    expect(page.get_by_text("Right.", exact=True)).to_be_visible()


def test_a_link_reproduces_the_scenario(visit):
    page = visit()
    fill(page, "Tokens", r'" a", "\n", "$x$", "<b>"')
    fill(page, "Target p", "1/4 1/4 1/4 1/4")
    fill(page, "Draft q", "0.1 0.2 0.3 0.4")
    page.get_by_text("Link to this scenario", exact=True).click()
    link = page.get_by_test_id("stCode").inner_text().strip().replace("\n", "")
    other = visit(link)
    expect(other.get_by_label("Tokens", exact=True)).to_have_value('" a", "\\n", $x$, <b>')
    expect(other.get_by_label("Target p", exact=True)).to_have_value("0.25, 0.25, 0.25, 0.25")
    for label in ("␣a", "⏎", "$x$", "<b>"):
        expect(other.get_by_role("slider", name=f"{label}: your prediction")).to_have_count(1)


def test_two_outcomes_recover_p(visit):
    page = visit("/two_outcomes")
    success = page.get_by_role("spinbutton", name="Success p")
    trials = page.get_by_role("spinbutton", name="Trials n")
    expect(success).to_have_value("0.5")
    expect(trials).to_have_value("10")
    for field, value in ((success, "0.75"), (trials, "1")):
        field.fill(value)
        field.press("Enter")
        settle(page)
    expect(page.get_by_text("recovered vector is p")).to_have_count(0)
    predict(page, **{"B (success)": "0.75", "C (failure)": "0.25"})
    expect(page.get_by_text("The recovered vector is p, exactly")).to_be_visible()
    success.fill("0.5")
    success.press("Enter")
    settle(page)
    expect(page.get_by_text("The recovered vector is p, exactly")).to_have_count(0)
    predict(page, **{"B (success)": "0.5", "C (failure)": "0.5"})
    expect(page.get_by_text("is not this example's residual")).to_be_visible()
    press(page, "Reset")
    expect(success).to_have_value("0.5")
    expect(trials).to_have_value("10")
    expect(page.get_by_text("is not this example's residual")).to_have_count(0)


def test_a_cell_of_the_table_keeps_what_is_typed(visit):
    page = visit()
    page.get_by_role("radio", name="Table").click()
    settle(page)
    grid = page.get_by_test_id("stDataFrame")
    box = grid.bounding_box()
    # The first cell of p: painted on a canvas, in a row of 35 pixels below a header of 35.
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 35 + 17)
    for total in ("≈1.1333", "≈0.9667", None):  # committing an edit goes on to the cell below
        page.keyboard.press("Enter")
        editor = page.locator("textarea.gdg-input")
        expect(editor).to_be_visible()
        editor.fill("1/3")
        page.keyboard.press("Enter")
        if total:
            expect(page.get_by_text(f"p sums to {total}")).to_be_visible()
        else:
            expect(page.get_by_text("p sums to")).to_have_count(0)
        settle(page)
    page.get_by_role("radio", name="Text").click()
    settle(page)
    expect(page.get_by_label("Target p", exact=True)).to_have_value("1/3, 1/3, 1/3")


# What reaches the browser -----------------------------------------------------------------------


class Wire:
    """Everything that the server sends to a page: frames of the WebSocket, and bodies."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def watch(self, page: Page) -> None:
        page.on("websocket", lambda ws: ws.on("framereceived", self._frame))
        page.on("response", self._response)

    def _frame(self, payload: str | bytes) -> None:
        self.sent.append(payload if isinstance(payload, bytes) else payload.encode())

    def _response(self, response) -> None:
        self.sent.append(response.url.encode())
        if "/media/" in response.url:
            self.sent.append(response.body())

    def finds(self, needles: dict[str, bytes]) -> set[str]:
        everything = b"\n".join(self.sent)
        return {name for name, needle in needles.items() if needle in everything}


def telltales(p: str, q: str) -> dict[str, bytes]:
    """The digits and the binary forms of every number that follows from p and q."""
    step = one_step(parse_vector(p), parse_vector(q))
    given = {*step.target, *step.draft, 0, 1}
    values = {
        *step.shortfall,
        *step.excess,
        *step.residual,
        *step.correction,
        step.acceptance,
        step.rejection,
    } - given
    assert len(values) >= 6
    needles = {}
    for value in values:
        digits = f"{float(value):.15f}"[2:8]
        needles[f"digits {digits}"] = digits.encode()
        needles[f"fraction {value}"] = str(value.numerator).encode()
        for kind, name in (("<d", "float64"), ("<f", "float32")):
            if float(value) != struct.unpack(kind, struct.pack(kind, 0.5))[0]:
                needles[f"{name} {digits}"] = struct.pack(kind, value)
    return needles


@pytest.mark.parametrize("quantity", ["Residual r", "Accepted mass", "Output"])
def test_nothing_that_follows_from_p_and_q_is_sent_before_commit(visit, quantity):
    p, q = "0.1000003, 0.4321987, 0.467801", "0.5123457, 0.2000009, 0.2876534"
    needles = telltales(p, q)
    wire = Wire()
    page = visit("/?" + urlencode({"p": p, "q": q}), watch=wire.watch)
    if quantity != "Residual r":
        page.get_by_role("combobox", name="What to predict").click()
        page.get_by_role("option", name=quantity).click()
        settle(page)
    for bar in "123":
        set_bar(page, bar, "0.25")
    assert len(b"".join(wire.sent)) > 10_000  # it does listen
    assert wire.finds({"q": b"0.2876534"}) == {"q"}
    assert not wire.finds(needles)
    press(page, "Commit prediction")
    expect(page.get_by_text("The ledger")).to_be_visible()
    assert len(wire.finds(needles)) > len(needles) / 3  # and it would have found them


def test_nothing_that_follows_from_the_models_is_sent_before_commit(visit):
    wire = Wire()
    page = visit("/block?pair=Rows+by+position&K=2", watch=wire.watch)
    rows = ("0.5, 0.3, 0.2", "0.2, 0.3, 0.5"), ("0.1, 0.6, 0.3", "0.3, 0.3, 0.4")
    first, second = (one_step(*map(parse_vector, row)).acceptance for row in rows)
    truth = {f"P({k})": p for k, p in enumerate((1 - first, first * (1 - second), first * second))}
    needles = {name: struct.pack("<d", p) for name, p in truth.items()}
    # P(0) is an entry of p as well
    needles |= {f"{name} in digits": str(float(p)).encode() for name, p in truth.items() if p < 1}
    del needles["P(0)"], needles["P(0) in digits"]
    assert not wire.finds(needles)
    inspect(page)
    expect(page.get_by_role("heading", name="Accepted drafts")).to_be_visible()
    assert len(wire.finds(needles)) >= 2


def test_the_scenario_goes_from_page_to_page(visit):
    """Fields that nobody has touched, too: at the first change they once came up empty."""
    page = visit()
    for name in ("Mistakes", "Precision", "One step"):
        page.get_by_role("link", name=name, exact=True).first.click()
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        settle(page)
        expect(page.get_by_label("Target p", exact=True)).to_have_value("0.2, 0.5, 0.3")
        expect(page.get_by_label("Draft q", exact=True)).to_have_value("0.6, 0.2, 0.2")
        expect(page.get_by_role("radio", name="Text", exact=True)).to_be_checked()


def test_a_mistake_is_named_and_looked_at(visit):
    page = visit()
    predict(page, A="0.2", B="0.5", C="0.3")
    expect(page.get_by_text("you drew the replacement from the target")).to_be_visible()
    page.get_by_role("link", name="Mistake: Replacement drawn from p").click()
    expect(page.get_by_role("heading", name="Mistakes", exact=True)).to_be_visible()
    settle(page)
    expect(page.get_by_role("heading", name="What comes out")).to_have_count(0)
    predict(page, A="0.28", B="0.4", C="0.32")
    expect(page.get_by_text("Right.", exact=True)).to_be_visible()
    expect(page.get_by_text("must fail. Here it does")).to_be_visible()
    expect(page.get_by_role("heading", name="All mistakes on this p and q")).to_be_visible()
    press(page, "Residual over the draft's candidates")
    expect(page.get_by_label("Draft q", exact=True)).to_have_value("0.7, 0.3, 0")
    expect(page.get_by_role("heading", name="What comes out")).to_have_count(0)
    expect(page.get_by_role("textbox", name="A: type a number")).to_have_value("")


def test_no_law_of_a_mistake_is_sent_before_commit(visit):
    p, q = "0.1000003, 0.4321987, 0.467801", "0.5123457, 0.2000009, 0.2876534"
    law = MISTAKES["resample-from-target"].law(*map(parse_vector, (p, q)))
    needles = {f"float64 {mass}": struct.pack("<d", mass) for mass in law}
    needles |= {f"digits {mass}": f"{float(mass):.15f}"[2:8].encode() for mass in law}
    wire = Wire()
    page = visit("/mistakes?" + urlencode({"p": p, "q": q}), watch=wire.watch)
    for bar in "123":
        set_bar(page, bar, "0.25")
    assert not wire.finds({**needles, **telltales(p, q)})
    press(page, "Commit prediction")
    expect(page.get_by_role("heading", name="What comes out")).to_be_visible()
    assert len(wire.finds(needles)) >= 3


def test_one_block_is_walked(visit):
    page = visit("/block?pair=Letters&K=4&seed=3")
    page.get_by_role("radio", name="One block").click()
    settle(page)
    for _ in range(2):
        press(page, "Whole block")
        press(page, "Next block")
    expect(page.get_by_text("Text so far, after 2 blocks")).to_be_visible()
    press(page, "Step")
    expect(page.get_by_text("to be tested").first).to_be_visible()
    press(page, "Back")
    press(page, "Start over")
    expect(page.get_by_text("Text so far, after 0 blocks")).to_be_visible()


# Everybody --------------------------------------------------------------------------------------

# Streamlit's own: an icon button's tooltip, the empty first header of st.table, the uploader's
# drop zone. Each is named by its rule and where it is; anything else is ours.
NOT_OURS = {
    ("empty-table-header", "stTable"),
    ("presentation-role-conflict", "stFileUploaderDropzone"),
}


def violations(page: Page) -> list[tuple[str, str, str]]:
    """What axe finds, and finds again once nothing fades or moves any more."""
    page.mouse.move(0, 0)
    settle(page)
    if found := _violations(page):
        page.wait_for_timeout(2000)
        found = _violations(page)
    return found


def _violations(page: Page) -> list[tuple[str, str]]:
    found = Axe().run(page).response["violations"]
    places = [
        (v["id"], node["html"], str(node["target"]) + str(node["any"])[:300])
        for v in found
        for node in v["nodes"]
    ]
    return [
        (rule, html, target)
        for rule, html, target in places
        if not any(rule == r and where in html + target for r, where in NOT_OURS)
    ]


PATHS = ["/", "/two_outcomes", "/block", "/mistakes", "/precision"]


@pytest.mark.parametrize("path", PATHS)
def test_everybody_can_read_it_in_light(visit, path):
    """By axe, before and after the truth is shown; and a phone never scrolls sideways."""
    page = visit(path, color_scheme="light", reduced_motion="reduce")
    assert violations(page) == []
    inspect(page)
    assert violations(page) == []
    if path == "/":
        for way in ("Table", "CSV file"):
            page.get_by_role("radio", name=way).click()
            settle(page)
            assert violations(page) == []
    page.set_viewport_size(PHONE)
    settle(page)
    assert overhang(page) <= 0


@pytest.mark.parametrize("path", PATHS)
def test_everybody_can_read_it_in_the_dark(visit, path):
    page = visit(path, color_scheme="dark", reduced_motion="reduce")
    inspect(page)
    assert violations(page) == []


def overhang(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    wide = "document.scrollingElement", "document.querySelector('[data-testid=stMain]')"
    widths = [page.evaluate(f"{element}.scrollWidth") for element in wide]
    return max(widths) - page.viewport_size["width"]


def test_a_phone_never_scrolls_sideways(visit):
    page = visit(viewport=PHONE, has_touch=True)
    assert overhang(page) <= 0
    inspect(page)
    assert overhang(page) <= 0


def test_a_phone_sets_bars_by_touch(visit):
    page = visit(viewport=PHONE, has_touch=True)
    page.get_by_role("slider", name="B: your prediction").tap()
    expect(page.get_by_role("textbox", name="B: type a number")).not_to_have_value("")


def test_the_keyboard_is_enough(visit):
    page = visit()
    for bar, keys in {
        "A": ["Home"],
        "B": ["Home", *["PageUp"] * 8],
        "C": ["Home", *["PageUp"] * 2],
    }.items():
        page.get_by_role("slider", name=f"{bar}: your prediction").focus()
        for key in keys:
            page.keyboard.press(key)
        settle(page)
    page.get_by_role("button", name="Commit prediction", exact=True).focus()
    page.keyboard.press("Enter")
    expect(
        page.get_by_text("the right tokens have mass, but not the right amounts")
    ).to_be_visible()


def test_a_server_starts_with_a_link_to_a_page(browser):
    """The first visitor of a new server gets the app's navigation, wherever the link leads."""
    with serve(ROOT / "app.py") as address:
        page = browser.new_page(base_url=address)
        page.goto("/two_outcomes")
        expect(page.get_by_role("heading", name="Two outcomes")).to_be_visible()
        settle(page)
        expect(page.get_by_text("app", exact=True)).to_have_count(0)
        expect(page.get_by_role("link", name="One step")).to_be_visible()
        page.close()
