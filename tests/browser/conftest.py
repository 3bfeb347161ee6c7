"""One server and one browser for all browser tests; a page of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
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


@pytest.fixture(scope="session")
def contexts(app: str, browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """One context for each set of options: what the browser has loaded, it need not load again."""
    known: dict[str, BrowserContext] = {}

    def context(**options) -> BrowserContext:
        key = repr(sorted(options.items()))
        if key not in known:
            known[key] = browser.new_context(base_url=app, **options)
        return known[key]

    yield context
    for each in known.values():
        each.close()


@pytest.fixture
def visit(contexts: Callable[..., BrowserContext]) -> Iterator[Callable[..., Page]]:
    """Open an address of the app in a page, and so a session, of its own.

    Further options go to the context.
    """
    pages = []

    def open_page(path: str = "/", watch: Callable[[Page], None] | None = None, **options) -> Page:
        page = contexts(**options).new_page()
        pages.append(page)
        if watch:
            watch(page)
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        settle(page)
        return page

    yield open_page
    for page in pages:
        page.close()
