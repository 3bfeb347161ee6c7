"""The bars that people drag, in a real browser: what is set is what Python gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect
from serving import serve

DEMO = Path(__file__).with_name("bars_demo.py")
PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serve(DEMO) as address:
        yield address


@pytest.fixture(scope="module")
def tab(browser: Browser, server: str) -> Iterator[Page]:
    page = browser.new_page(base_url=server, viewport={"width": 1280, "height": 1000})
    open_demo(page)
    yield page
    page.close()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The one tab, with new bars: loading all of Streamlit for each test would take a second."""
    version = int(tab.get_by_text("version ").inner_text().split()[1])
    tab.get_by_role("button", name="Renew").click()
    expect(tab.get_by_text(f"version {version + 1}", exact=True)).to_be_visible()
    yield tab
    tab.mouse.up()


def open_demo(page: Page, query: str = "") -> None:
    page.goto(f"/?{query}")
    expect(page.get_by_text("version 0", exact=True)).to_be_visible()
    expect(page.get_by_role("slider").first).to_be_attached()


def slider(page: Page, label: str) -> Locator:
    return page.get_by_role("slider", name=f"{label}: your prediction", exact=True)


def field(page: Page, label: str) -> Locator:
    return page.get_by_role("textbox", name=f"{label}: type a number", exact=True)


def expect_python(page: Page, *texts: str | None) -> None:
    expect(page.get_by_test_id("stText").first).to_have_text(json.dumps(list(texts)))


def expect_status(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text="set")).to_have_text(text)


def rerun(page: Page, clicks: int = 1) -> None:
    page.get_by_role("button", name="Rerun").click()
    expect(page.get_by_text(f"clicked {clicks}", exact=True)).to_be_visible()


def point(page: Page, label: str, share: float) -> tuple[float, float]:
    """Where on the screen a label's track has this share of its height."""
    slider(page, label).scroll_into_view_if_needed()  # a mouse, unlike a locator, does not scroll
    box = slider(page, label).locator("xpath=..").locator(".track").bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] * (1 - share)


def drawn(page: Page, label: str) -> float:
    """Height of a label's bar as a share of its track."""
    plot = slider(page, label).locator("xpath=..")
    bar, track = plot.locator(".fill").bounding_box(), plot.locator(".track").bounding_box()
    assert bar and track
    return bar["height"] / track["height"]


def drag(page: Page, label: str, start: float, end: float) -> None:
    page.mouse.move(*point(page, label, start))
    page.mouse.down()
    page.mouse.move(*point(page, label, end), steps=5)


def test_nothing_is_predicted_at_first(page: Page) -> None:
    expect_python(page, None, None, None)
    expect_status(page, "0 of 3 bars set · A, B, C still to predict")
    expect(slider(page, "A")).to_have_attribute("aria-valuetext", "not predicted yet")
    expect(page.locator(".mark", has_text="?")).to_have_count(3)
    expect(page.locator(".fill").first).to_be_hidden()


def test_a_drag_shows_at_once_and_is_sent_on_release(page: Page) -> None:
    drag(page, "B", 0.9, 0.35)
    expect(field(page, "B")).to_have_value("0.35")
    expect(page.locator(".running")).to_have_text(
        "1 of 3 bars set · A, C still to predict · total so far 0.35"
    )
    expect_status(page, "0 of 3 bars set · A, B, C still to predict")
    page.wait_for_timeout(300)  # long enough for a rerun, had the drag been sent
    expect_python(page, None, None, None)

    page.mouse.up()
    expect_python(page, None, "0.35", None)
    expect_status(page, "1 of 3 bars set · A, C still to predict · total so far 0.35")
    assert drawn(page, "B") == pytest.approx(0.35, abs=0.01)
    page.mouse.move(*point(page, "B", 0.8))
    expect(field(page, "B")).to_have_value("0.35")


def test_a_click_sets_the_place_clicked_and_the_bottom_is_zero(page: Page) -> None:
    page.mouse.click(*point(page, "A", 0))
    expect_python(page, "0", None, None)
    expect(slider(page, "A")).to_have_attribute("aria-valuetext", "0")
    page.mouse.click(*point(page, "C", 0.07))
    expect_python(page, "0", None, "0.07")
    expect(slider(page, "C")).to_be_focused()
    page.mouse.click(*point(page, "B", 1.03))
    expect_python(page, "0", "1", "0.07")


def test_a_tap_and_a_swipe(browser: Browser, server: str) -> None:
    # Lower than its content, so that a swipe could also scroll the page.
    low: ViewportSize = {"width": 390, "height": 500}
    page = browser.new_page(base_url=server, viewport=low, has_touch=True, is_mobile=True)
    open_demo(page)
    page.touchscreen.tap(*point(page, "A", 0.5))
    expect_python(page, "0.5", None, None)

    finger = page.context.new_cdp_session(page)
    for kind, share in [("touchStart", 0.1), ("touchMove", 0.2), ("touchMove", 0.25)]:
        x, y = point(page, "C", share)
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect_python(page, "0.5", None, "0.25")
    page.close()


def test_keys(page: Page) -> None:
    slider(page, "A").press("Home")
    expect_python(page, "0", None, None)
    focused = slider(page, "A").locator("xpath=..").locator(".track")
    expect(focused).to_have_css("outline-style", "solid")
    slider(page, "A").press("ArrowUp")
    expect_python(page, "0.01", None, None)
    slider(page, "A").press("PageUp")
    expect_python(page, "0.11", None, None)
    slider(page, "B").press("ArrowRight")
    expect_python(page, "0.11", "0.01", None)
    slider(page, "C").press("End")
    slider(page, "C").press("ArrowUp")
    slider(page, "C").press("PageDown")
    slider(page, "C").press("ArrowDown")
    expect_python(page, "0.11", "0.01", "0.89")
    field(page, "B").fill("1/3")
    slider(page, "B").press("ArrowUp")
    expect(field(page, "B")).to_have_value("0.34")


def test_an_arrow_on_an_unset_bar_starts_from_zero(page: Page) -> None:
    for key in ["ArrowUp"] * 5 + ["PageUp"] * 3:
        slider(page, "A").press(key)
    expect_python(page, "0.35", None, None)  # in floats 35 × 0.01 is 0.35000000000000003
    slider(page, "B").press("ArrowDown")
    expect_python(page, "0.35", "0", None)


def test_assistive_technology_moves_the_native_slider(page: Page) -> None:
    slider(page, "B").fill("0.29")  # input and change events, but no key and no pointer
    expect_python(page, None, "0.29", None)


def test_typed_text_is_returned_as_typed_and_enter_moves_on(page: Page) -> None:
    field(page, "A").fill(" 1/3 ")
    field(page, "A").press("Enter")
    expect(field(page, "B")).to_be_focused()
    page.keyboard.type("20%")
    page.keyboard.press("Tab")
    expect_python(page, "1/3", "20%", None)
    assert drawn(page, "A") == pytest.approx(1 / 3, abs=0.002)
    assert drawn(page, "B") == pytest.approx(0.2, abs=0.002)
    field(page, "C").fill("0,46666")
    field(page, "C").press("Enter")
    expect_status(page, "All 3 bars set · total ≈ 1")
    field(page, "C").fill("7/15")
    field(page, "C").press("Enter")
    expect_status(page, "All 3 bars set · total 1")


@pytest.mark.parametrize(
    ("text", "total"),
    [
        (".5", "0.5"),
        ("1e-3", "0.001"),
        ("0,25", "0.25"),
        ("2 / 3", "≈ 0.6667"),
        ("1e-6", "under 0.0001"),
    ],
)
def test_what_can_be_read(page: Page, text: str, total: str) -> None:
    field(page, "A").fill(text)
    field(page, "A").press("Enter")
    expect_python(page, text, None, None)
    expect_status(page, f"1 of 3 bars set · B, C still to predict · total so far {total}")
    expect(field(page, "A")).to_have_attribute("aria-invalid", "false")


def test_what_cannot_be_read_is_sent_and_marked(page: Page) -> None:
    field(page, "A").press_sequentially("1/")
    expect(field(page, "A")).to_have_attribute("aria-invalid", "false")  # not finished yet
    field(page, "A").press("Enter")
    expect_python(page, "1/", None, None)
    expect(field(page, "A")).to_have_attribute("aria-invalid", "true")
    expect_status(page, "0 of 3 bars set · B, C still to predict · A cannot be read")
    expect(slider(page, "A")).to_have_attribute("aria-valuetext", "cannot read 1/")
    field(page, "A").fill("0.13")  # the page under test calls this text bad
    field(page, "A").press("Enter")
    expect_python(page, "0.13", None, None)
    expect(field(page, "A")).to_have_attribute("aria-invalid", "true")
    field(page, "A").fill("0.14")
    field(page, "A").press("Enter")
    expect_python(page, "0.14", None, None)
    expect(field(page, "A")).to_have_attribute("aria-invalid", "false")


def test_above_the_track(page: Page) -> None:
    open_demo(page, "top=0.5")
    field(page, "A").fill("0.8")
    field(page, "A").press("Enter")
    expect_python(page, "0.8", None, None)
    expect(page.locator(".mark").first).to_have_text("▲")
    assert drawn(page, "A") == pytest.approx(1, abs=0.001)
    page.mouse.click(*point(page, "B", 0.5))
    expect_python(page, "0.8", "0.25", None)
    slider(page, "C").press("End")
    expect_python(page, "0.8", "0.25", "0.5")


def test_clearing_takes_a_prediction_back(page: Page) -> None:
    slider(page, "A").press("End")
    expect_python(page, "1", None, None)
    field(page, "A").fill("")
    field(page, "A").press("Enter")
    expect_python(page, None, None, None)
    expect(page.locator(".mark").first).to_have_text("?")
    expect_status(page, "0 of 3 bars set · A, B, C still to predict")


def test_bars_set_in_quick_succession_all_survive(page: Page) -> None:
    for label, share in [("A", 0.1), ("B", 0.2), ("C", 0.3), ("A", 0.4)]:
        page.mouse.click(*point(page, label, share))
    expect_python(page, "0.4", "0.2", "0.3")
    page.wait_for_timeout(300)  # late answers to the earlier clicks change nothing
    expect_python(page, "0.4", "0.2", "0.3")
    expect(field(page, "A")).to_have_value("0.4")
    expect_status(page, "All 3 bars set · total 0.9")


def test_a_rerun_keeps_bars_focus_and_half_typed_text(page: Page) -> None:
    page.mouse.click(*point(page, "A", 0.25))
    expect_python(page, "0.25", None, None)
    rerun(page)
    expect_python(page, "0.25", None, None)
    expect(field(page, "A")).to_have_value("0.25")

    field(page, "B").press_sequentially("0.")
    # A rerun that does not take the focus: the button is clicked by script.
    page.get_by_role("button", name="Rerun").evaluate("button => button.click()")
    expect(page.get_by_text("clicked 2", exact=True)).to_be_visible()
    expect(field(page, "B")).to_be_focused()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect_python(page, "0.25", "0.5", None)

    slider(page, "C").press("ArrowUp")
    expect_python(page, "0.25", "0.5", "0.01")
    expect(slider(page, "C")).to_be_focused()

    field(page, "C").fill("1/4")
    rerun(page, clicks=3)  # the click that ends the typing is not lost, nor is what was typed
    expect_python(page, "0.25", "0.5", "1/4")


def test_session_state_set_by_the_page_is_shown_and_stays(page: Page) -> None:
    page.mouse.click(*point(page, "B", 0.6))
    expect_python(page, None, "0.6", None)
    page.get_by_role("button", name="Replace").click()
    expect_python(page, "0.1", None, "1/4")
    expect(field(page, "C")).to_have_value("1/4")
    expect_status(page, "2 of 3 bars set · B still to predict · total so far 0.35")
    rerun(page)
    expect_python(page, "0.1", None, "1/4")
    slider(page, "B").press("Home")
    expect_python(page, "0.1", "0", "1/4")


def test_a_new_key_starts_unset(page: Page) -> None:
    slider(page, "A").press("End")
    expect_python(page, "1", None, None)
    page.get_by_role("button", name="Renew").click()
    expect_python(page, None, None, None)
    expect(field(page, "A")).to_have_value("")
    expect_status(page, "0 of 3 bars set · A, B, C still to predict")


def test_labels_are_literal(page: Page) -> None:
    open_demo(page, "case=hostile")
    labels = ["<b>bold</b>", '"it\'s" & `x`', "$x^2$ :smile:", "שלום, world", "👩‍🔬"]
    for label in labels:
        expect(page.get_by_text(label, exact=True).and_(page.locator(".label"))).to_be_visible()
        expect(slider(page, label)).to_be_attached()
        expect(field(page, label)).to_be_visible()
    expect(page.locator(".label b, .running b, .status b")).to_have_count(0)
    expect(page.locator(".label").last).to_have_attribute("title", "an_unusually_long_token")
    expect_status(
        page, f"0 of 6 bars set · {', '.join(labels)}, an_unusually_long_token still to predict"
    )


def test_reference_lines_and_their_numbers(page: Page) -> None:
    plot = slider(page, "B").locator("xpath=..")
    expect(plot.locator(".line.solid")).to_have_text("p")
    expect(plot.locator(".line.dashed")).to_have_text("q")
    for line, share in [(".solid", 0.5), (".dashed", 0.2)]:
        box = plot.locator(line).bounding_box()
        assert box
        middle = box["y"] + box["height"] / 2
        assert middle == pytest.approx(point(page, "B", share)[1], abs=1)
    expect(page.locator(".refs").nth(1)).to_have_text("p 0.5 q 0.2")
    expect(slider(page, "B")).to_have_accessible_description("p 0.5 q 0.2")
    open_demo(page, "case=one")
    expect(page.locator(".line")).to_have_count(0)
    slider(page, "A").press("End")
    expect_status(page, "1 of 1 bar set · total 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_and_no_sideways_scroll_on_a_phone(browser: Browser, server: str, scheme: str) -> None:
    page = browser.new_page(
        base_url=server,
        viewport=PHONE,
        color_scheme="dark" if scheme == "dark" else "light",
    )
    open_demo(page, "case=twelve")
    page.mouse.click(*point(page, "B", 0.9))
    field(page, "A").fill("huh")
    field(page, "A").press("Enter")
    expect(field(page, "A")).to_have_attribute("aria-invalid", "true")
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth") == 390
    width = page.locator(".track").first.evaluate("track => track.offsetWidth")
    assert width >= 36
    # The whole page is read: axe enters open shadow roots only from the document.
    violations = Axe().run(page).response["violations"]
    ours = [
        (found["id"], node["html"])
        for found in violations
        for node in found["nodes"]
        if isinstance(node["target"][0], list)  # a path through a shadow root
    ]
    assert ours == []
    page.close()
