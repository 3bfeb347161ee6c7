"""One server and one browser for all browser tests; a page of its own for each test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from scripts.browser import find

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

expect.set_options(timeout=15_000)


@contextmanager
def serve(script: Path) -> Iterator[str]:
    """Run a Streamlit script with the app's own settings; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ("--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1")
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            if process.poll() is not None:
                raise RuntimeError(f"streamlit ended with {process.returncode}")
            try:
                urllib.request.urlopen(f"{address}/_stcore/health").close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("streamlit did not start")
        yield address
    finally:
        process.terminate()
        process.wait()


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


def settle(page: Page) -> None:
    """Wait until the script has run and its charts are drawn."""
    page.wait_for_timeout(150)  # a rerun begins only after the browser has sent its message
    running = page.get_by_test_id("stApp").and_(page.locator("[data-test-script-state=running]"))
    expect(running).to_have_count(0)
    expect(page.locator("[data-stale=true]")).to_have_count(0)
