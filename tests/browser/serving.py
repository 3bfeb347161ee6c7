"""Serving the app to a browser, for the browser tests and the pictures."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect

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


def settle(page: Page) -> None:
    """Wait until the script has run and its charts are drawn."""
    page.wait_for_timeout(150)  # a rerun begins only after the browser has sent its message
    running = page.get_by_test_id("stApp").and_(page.locator("[data-test-script-state=running]"))
    expect(running).to_have_count(0)
    expect(page.locator("[data-stale=true]")).to_have_count(0)
