"""Find a Chromium for the browser tests, or install one.

Debian's package where there is apt and the right to use it; Playwright's own otherwise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find() -> str | None:
    """The path of a Chromium: RESIDUAL_LAB_CHROMIUM, else one on the path, else Playwright's."""
    named = os.environ.get("RESIDUAL_LAB_CHROMIUM")
    if named:
        return named
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install a Chromium. Raises `CalledProcessError` when neither way works."""
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        try:
            subprocess.run(["apt-get", "update", "-qq"], check=True)
            subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=True)
        except subprocess.CalledProcessError as failure:
            print(f"{failure} Trying Playwright's own.")
        else:
            return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def main() -> int:
    """Make sure that there is a browser, and say which."""
    path = find()
    if path is None:
        print("No Chromium found; installing one for the browser tests.")
        try:
            install()
        except subprocess.CalledProcessError as failure:
            print(f"It could not be installed: {failure}. Set RESIDUAL_LAB_CHROMIUM to a browser.")
            return 1
        path = find()
    print(f"Browser for the tests: {path}")
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
