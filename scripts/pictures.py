"""Make the README's pictures: `make pictures`."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from scripts.browser import find  # noqa: E402
from tests.browser.serving import FLAGS, serve, settle  # noqa: E402


def predict(page: Page, bars: dict[str, str]) -> None:
    """Type the bars."""
    for label, text in bars.items():
        field = page.get_by_role("textbox", name=f"{label}: type a number", exact=True)
        field.fill(text)
        field.press("Enter")
        settle(page)


def main() -> None:
    """Open the worked example, predict p itself, and take pictures before and after."""
    folder = ROOT / "docs"
    folder.mkdir(exist_ok=True)
    with serve(ROOT / "app.py") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=FLAGS)
        page = browser.new_page(base_url=address, viewport={"width": 1280, "height": 960})
        page.goto("/")
        page.get_by_role("button", name="Commit prediction").wait_for()
        predict(page, {"A": "0.2", "B": "0.5"})
        page.mouse.move(0, 0)
        page.screenshot(path=folder / "predict.png")
        predict(page, {"C": "0.3"})
        page.get_by_role("button", name="Commit prediction").click()
        page.get_by_role("heading", name="The ledger").wait_for()
        page.set_viewport_size({"width": 1280, "height": 2900})
        settle(page)
        page.wait_for_timeout(1000)  # charts are drawn after the script has ended
        page.screenshot(path=folder / "inspect.png")
        browser.close()


if __name__ == "__main__":
    main()
