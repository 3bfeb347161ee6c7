"""The command: ``python -m lab audit FILE [--json | --markdown] [--position N]``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from lab.audit import report
from lab.audit.material import audit_file
from lab.errors import LabError

CLEAN, FINDINGS, NO_VERDICT = 0, 1, 2
"""Exit codes. The last is for files that cannot be read, and for an audit that was stopped."""

FIRST_AFTER = 2.0
"""Seconds before progress is told at all."""

EVERY = 5.0
"""Seconds between two lines of progress where no terminal is."""


class Progress:
    """Tells how far the work is, on standard error: over and over, or in a line now and then."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.live = sys.stderr is not None and sys.stderr.isatty()
        self.next = self.start + FIRST_AFTER
        self.shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self.next or done == total or sys.stderr is None:
            return
        self.next = now + (0.2 if self.live else EVERY)
        line = f"{done:,} of {total:,} positions ({done / total:.0%})"
        print(f"\r{line}" if self.live else line, end="" if self.live else "\n", file=sys.stderr)
        sys.stderr.flush()
        self.shown = True

    def end(self) -> None:
        """Leave the line that was written over."""
        if self.live and self.shown:
            print(file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m lab", description="Residual Lab.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "audit",
        help="look for what is wrong with p, q, claims and counts in a file",
        description=(
            "Look for what is wrong with p, q, claims and counts in a file (.npy, .npz, CSV, JSON)."
            " Exit code 0: clean; 1: findings; 2: no verdict, since the file cannot be read."
        ),
    )
    command.add_argument("file", metavar="FILE")
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print the report as JSON")
    forms.add_argument("--markdown", action="store_true", help="print the report as Markdown")
    command.add_argument("--position", type=int, metavar="N", help="only this one, from 1")
    given = parser.parse_args(arguments)
    form = report.to_json if given.json else report.markdown if given.markdown else report.text
    progress = Progress()
    try:
        audit = audit_file(given.file, position=given.position, progress=progress)
        text = form(audit, given.file)
    except LabError as fault:
        reason = str(fault)
    except KeyboardInterrupt:
        reason = "Stopped before the end: there is no verdict."
    except OSError as fault:
        reason = f"The file cannot be read to its end: {fault.strerror or fault}."
    except MemoryError:
        reason = "There is not enough memory for a row of this file."
    except Exception as fault:  # Python's own exit code would read as findings
        reason = f"There is no verdict, by a fault in the lab: {type(fault).__name__}: {fault}."
    else:
        progress.end()
        return _printed(text, CLEAN if audit.clean else FINDINGS)
    progress.end()
    _say(reason)
    return NO_VERDICT


def _say(sentence: str) -> None:
    if sys.stderr is not None:  # as it is where it was closed; print would then use the output
        print(sentence, file=sys.stderr)


def _printed(text: str, code: int) -> int:
    """Print what any terminal can show, and go on when nobody reads it."""
    if sys.stdout is None:
        _say("The report cannot be written: the output is closed.")
        return NO_VERDICT
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as fault:
        # Else Python writes again at its end, and complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(fault, BrokenPipeError):
            _say(f"The report cannot be written: {fault.strerror or fault}.")
            return NO_VERDICT
    return code


if __name__ == "__main__":
    sys.exit(main())
