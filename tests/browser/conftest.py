"""One server and one browser for all browser tests; a page of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from serving import FLAGS, ROOT, serve, settle

from scripts.browser import find

expect.set_options(timeout=15_000)


@pytest.fixture(scope="session")
def app() -> Iterator[str]:
    """The address of the running app."""
    with serve(ROOT / "app.py") as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium. A missing one is a failure, never a skip."""
    path = find()
    assert path, "no Chromium: run scripts/browser.py, or set RESIDUAL_LAB_CHROMIUM"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(app: str, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open an address of the app in a context of its own; further options go to the context."""
    contexts = []

    def open_page(path: str = "/", watch: Callable[[Page], None] | None = None, **options) -> Page:
        context = browser.new_context(base_url=app, **options)
        contexts.append(context)
        page = context.new_page()
        if watch:
            watch(page)
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
