"""An audit as text for a terminal, as Markdown, and as JSON. The verdict comes first."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from lab.audit.findings import MOST_KEPT, TITLES, Audit, Finding
from lab.figures import short
from lab.labels import visible

VERSION = 1
"""Of the JSON; raised when a key changes its meaning."""

DIFFER = "Where p and q differ the most"
"""The title of the detail of one position."""

MOST_LISTED = 20
"""Findings of a kind that the text and the Markdown list; the JSON has all that are kept."""


def text(audit: Audit, name: str = "") -> str:
    """The report for a terminal."""
    lines = [f"{_inline(name)}: {audit.verdict}" if name else audit.verdict]
    for title, findings, more in _kinds(audit):
        lines += ["", title]
        for finding in findings:
            lines.append(f"  {audit.where(finding)}: {_value(finding)}")
            lines.append(f"    {_inline_long(finding.sentence)}")
        lines += [f"  {more}"] if more else []
    if audit.detail:
        lines += ["", _summary(audit), f"  {DIFFER}:"]
        lines += [f"  {line}" for line in _table(audit)]
    if audit.notes:
        lines += ["", "Notes", *(f"  {note}" for note in audit.notes)]
    lines += ["", f"Looked at: {'; '.join(audit.checked)}."]
    return "\n".join(lines) + "\n"


def markdown(audit: Audit, name: str = "") -> str:
    """The report as Markdown; labels and values in it stay as they are written."""
    lines = [f"# Audit{f' of {_escaped(name)}' if name else ''}", "", f"**{audit.verdict}**"]
    for title, findings, more in _kinds(audit):
        lines += ["", f"## {title}", ""]
        for finding in findings:
            where, value = _escaped(audit.where(finding)), _escaped(_value(finding))
            lines.append(f"- **{where}**: {value}. {_escaped(finding.sentence)}")
        lines += ["", more] if more else []
    if audit.detail:
        rows = _cells(audit)
        lines += ["", f"## {DIFFER}", "", _summary(audit), ""]
        lines += ["| " + " | ".join(rows[0]) + " |", "|" + " --- |" * len(rows[0])]
        lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows[1:]]
    if audit.notes:
        lines += ["", "## Notes", "", *(f"- {_escaped(note)}" for note in audit.notes)]
    lines += ["", f"Looked at: {'; '.join(audit.checked)}."]
    return "\n".join(lines) + "\n"


def data(audit: Audit, name: str = "") -> dict[str, Any]:
    """The report as data that JSON can hold: no NaN, None in its place.

    Keys: version, name, clean, verdict, positions, first, tokens, types, counted, findings, notes,
    checked, tests, per_position (acceptance, rejection, excess, target_defect, draft_defect),
    detail.
    """
    arrays = ("acceptance", "rejection", "excess", "target_defect", "draft_defect")
    return {
        "version": VERSION,
        "name": name,
        "clean": audit.clean,
        "verdict": audit.verdict,
        "positions": audit.positions,
        "first": audit.first,
        "tokens": audit.tokens,
        "types": {"p": audit.target_type, "q": audit.draft_type},
        "counted": dict(audit.counted),
        "findings": [
            {
                "kind": finding.kind,
                "vector": finding.vector,
                "position": finding.position,
                "entry": finding.entry,
                "token": finding.token,
                "value": finding.value,
                "sentence": finding.sentence,
                "mistakes": list(finding.mistakes),
            }
            for finding in audit.findings
        ],
        "notes": list(audit.notes),
        "checked": list(audit.checked),
        "tests": [
            {
                "kind": test.kind,
                "position": test.position,
                "count": test.count,
                "p_value": test.p_value,
                "fails": test.fails,
            }
            for test in audit.tests
        ],
        "per_position": {key: _numbers(getattr(audit, key).tolist()) for key in arrays},
        "detail": [
            {
                "entry": row.entry,
                "token": row.token,
                "p": row.target,
                "q": row.draft,
                "accepted": row.accepted,
                "residual": row.residual,
            }
            for row in audit.detail
        ],
    }


def to_json(audit: Audit, name: str = "") -> str:
    """`data` as text."""
    return json.dumps(data(audit, name), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def _figure(value: float) -> str:
    """Six digits; what is not 1 does not read 1."""
    shown = f"{value:.6g}"
    return short(value) if shown == "1" != repr(value).removesuffix(".0") else shown


def _numbers(values: list[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]


def _kinds(audit: Audit) -> Iterator[tuple[str, list[Finding], str]]:
    """For each kind its title, the findings to list, and what is said of those that are not."""
    for kind, count in audit.counted.items():
        findings = [finding for finding in audit.findings if finding.kind == kind]
        # Those with a name first: they say the most.
        listed = sorted(findings, key=lambda finding: not finding.mistakes)[:MOST_LISTED]
        more = ""
        if count > len(listed):
            more = f"{count - len(listed):,} more like these are not listed here."
            if count > len(findings):
                more += f" Up to {MOST_KEPT} of a kind are kept."
        yield TITLES[kind] + (f" ({count:,})" if count > 1 else ""), listed, more


def _summary(audit: Audit) -> str:
    values = audit.acceptance[0], audit.rejection[0]
    if not all(map(math.isfinite, values)):
        return "α and Z are not known."
    totals = [1 + float(defect[0]) for defect in (audit.target_defect, audit.draft_defect)]
    names = zip(("α", "Z", "Σ p", "Σ q"), (*map(float, values), *totals), strict=True)
    return ", ".join(f"{name} = {_figure(value)}" for name, value in names) + "."


def _cells(audit: Audit) -> list[list[str]]:
    """The detail of one position as a table of texts."""
    rows = [["entry", "token", "p", "q", "min(p, q)", "r"]]
    for row in audit.detail:
        token = "" if row.token is None else visible([row.token])[0]
        numbers = [_figure(value) for value in (row.target, row.draft, row.accepted)]
        residual = "none" if row.residual is None else _figure(row.residual)
        rows.append([str(row.entry), token, *numbers, residual])
    if not any(row[1] for row in rows[1:]):
        rows = [[row[0], *row[2:]] for row in rows]
    return rows


def _table(audit: Audit) -> list[str]:
    rows = _cells(audit)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _value(finding: Finding) -> str:
    return _inline(finding.value)


def _inline(value: str) -> str:
    """One line without control characters, so that no file steers a terminal."""
    return "".join(c if c.isprintable() else "�" for c in value)[:200]


def _escaped(value: str) -> str:
    """`value` so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~$&])", r"\\\1", _inline_long(value))


def _inline_long(value: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in value)
