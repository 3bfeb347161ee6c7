"""Write constraints.txt: the exact version of every package, dependencies included."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEADER = """\
# Exact versions of everything, dependencies included, so that next year's install is today's.
# Made by `make lock` from requirements.txt and requirements-dev.txt; tested as they stand here.
"""
# Packages that only some systems need, and so are missing where the lock is made.
ELSEWHERE = ("colorama==0.4.6",)


def main() -> None:
    """Install within the bounds, without the old constraints, and write down what came."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        python = Path(folder, scripts, "python")
        bounds = [
            line
            for name in ("requirements.txt", "requirements-dev.txt")
            for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
            if line and not line.startswith(("#", "-"))
        ]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *bounds], check=True)
        frozen = subprocess.run(
            [python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True
        ).stdout.splitlines()
    lines = sorted({*frozen, *ELSEWHERE}, key=str.lower)
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
