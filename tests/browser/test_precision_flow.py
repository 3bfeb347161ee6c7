"""The page Precision in a real browser: predict, and see the result."""

from __future__ import annotations

from playwright.sync_api import expect
from serving import settle
from test_flow import Wire, press


def test_from_a_pair_to_its_picture(visit):
    wire = Wire()
    page = visit("/precision", watch=wire.watch)
    press(page, "Ten tokens")
    expect(page.get_by_label("Target p", exact=True)).to_have_value(", ".join(["0.1"] * 10))
    page.get_by_role("radiogroup").get_by_text("No", exact=True).click()
    settle(page)
    results = {text: text.encode() for text in ("What became", "residual empty", "9.77e-4")}
    assert not wire.finds(results)
    press(page, "Commit prediction")
    expect(page.get_by_text("Right. p and q differ by up to 1e-5 at a token.")).to_be_visible()
    expect(page.get_by_text("float16: rejection possible but residual empty.")).to_be_visible()
    assert wire.finds(results) == set(results)  # it would have found them
    expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(4)
