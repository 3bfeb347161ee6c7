"""Reports: the verdict first, everything in it, and nothing in a file that steers the reader."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import tricky_labels

from lab import MISTAKES, audit
from lab.audit import report
from lab.audit.findings import MOST_KEPT

P, Q = [0.2, 0.5, 0.3], [0.6, 0.2, 0.2]
WRONG = audit(P, Q, tokens=["A", "B", "C"], residual=P, acceptance=0.5)
CLEAN = audit(P, Q)


def test_the_verdict_comes_first():
    assert report.text(CLEAN).startswith("Clean: nothing wrong was found")
    assert report.text(WRONG, "a.npz").startswith("a.npz: 2 findings")
    assert report.markdown(WRONG, "a.npz").startswith("# Audit of a.npz\n\n**2 findings")


@pytest.mark.parametrize("form", [report.text, report.markdown, report.to_json])
def test_every_finding_is_in_every_form(form):
    whole = form(WRONG)
    for finding in WRONG.findings:
        assert finding.value in whole
        words = re.findall(r"[A-Za-z]{4,}", finding.sentence)
        assert all(word in whole for word in words)
    assert WRONG.findings[0].mistake == "resample-from-target"
    assert re.sub(r"\W", "", MISTAKES["resample-from-target"].title) in re.sub(r"\W", "", whole)


def test_the_json_is_the_audit():
    content = json.loads(report.to_json(WRONG, "a.npz"))
    assert (content["name"], content["clean"]) == ("a.npz", False)
    assert content["verdict"] == WRONG.verdict
    assert content["counted"] == WRONG.counted
    assert [f["kind"] for f in content["findings"]] == [f.kind for f in WRONG.findings]
    assert content["findings"][0]["mistakes"] == ["resample-from-target"]
    assert content["per_position"]["acceptance"] == WRONG.acceptance.tolist()
    assert content["detail"][0] == {
        "entry": 1,
        "token": "A",
        "p": 0.2,
        "q": 0.6,
        "accepted": 0.2,
        "residual": 0.0,
    }


def test_json_has_no_nan():
    found = audit([np.nan, 0.5], [0.5, 0.5])
    content = json.loads(report.to_json(found), parse_constant=pytest.fail)
    assert content["per_position"]["acceptance"] == [None]
    assert content["findings"][0]["value"] == "nan"


@given(tricky_labels)
@settings(max_examples=100)
def test_labels_steer_neither_terminal_nor_markdown(label):
    label = f"{label}\x1b[31m\r\n# <script>|`*"
    found = audit([np.nan, 0.5], [0.5, 0.5], tokens=[label, "b"])
    whole = report.text(found, f"{label}.csv")
    assert all(c.isprintable() or c == "\n" for c in whole)
    marked = report.markdown(found, f"{label}.csv")
    assert all(c.isprintable() or c == "\n" for c in marked)
    assert "<script>" not in marked.replace("\\", "#")
    assert len([line for line in marked.splitlines() if line.startswith("# ")]) == 1


def test_long_lists_are_cut_and_say_so():
    found = audit(np.full((2, 400), np.nan), np.full((2, 400), 1 / 400))
    for form in (report.text, report.markdown):
        whole = form(found)
        assert whole.count("Not a number. ") == report.MOST_LISTED
        assert f"{800 - report.MOST_LISTED:,} more like these" in whole
        assert f"Up to {MOST_KEPT} of a kind" in whole
    assert json.loads(report.to_json(found))["counted"] == {"nan": 800}


def test_named_mistakes_are_listed_however_late_they_come():
    p, q = np.tile(P, (150, 1)), np.tile(Q, (150, 1))
    residual = np.tile([0, 0.7, 0.3], (150, 1))
    residual[140] = P
    found = audit(p, q, residual=residual)
    assert "Replacement drawn from p" in report.text(found)


def test_numbers_of_the_detail():
    found = audit([1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9])
    whole = report.text(found)
    assert "1e-09" in whole
    assert "1 − 1e-9" in whole
    assert "none" in report.text(audit([0.5, 0.5], [0.5, 0.5]))
