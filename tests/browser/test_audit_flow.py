"""The page Audit in a real browser: a file in, a verdict, a report out, and on to other pages."""

from __future__ import annotations

import json

import numpy as np
import pytest
from playwright.sync_api import expect
from serving import settle
from test_flow import PHONE, overhang, press, violations


@pytest.fixture
def matrix(tmp_path):
    """Thirty positions in float16, one of which claims p as its residual, and one has a NaN."""
    rng = np.random.default_rng(2)
    p, q = (rng.dirichlet(np.ones(8), 30).astype(np.float16) for _ in "pq")
    residual = np.maximum(p.astype(float) - q, 0)
    residual /= residual.sum(axis=1, keepdims=True)
    residual[11] = p[11]
    q[4, 2] = np.nan
    path = tmp_path / "vectors.npz"
    tokens = np.array([*"abcdefg", "a very long label of a token"])
    np.savez(path, p=p, q=q, residual=residual, tokens=tokens)
    return path


def choose(page, path):
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_role("heading", name="One position", exact=True)).to_be_visible()
    settle(page)


def test_a_file_is_audited_and_a_finding_followed(visit, matrix):
    page = visit("/audit")
    choose(page, matrix)
    expect(page.get_by_text("findings at 2 of 30 positions")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download report (JSON)", exact=True).click()
    report = json.loads(download.value.path().read_text("utf-8"))
    assert report["counted"] == {"nan": 1, "wrong-residual": 1}
    assert (report["findings"][0]["position"], report["findings"][0]["entry"]) == (5, 3)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download report (Markdown)", exact=True).click()
    assert "## Residual is not r" in download.value.path().read_text("utf-8")

    page.get_by_role("button", name="Mistake: Replacement drawn from p").click()
    expect(page.get_by_role("heading", name="Mistakes", exact=True)).to_be_visible()
    expect(page.get_by_label("Tokens", exact=True)).to_have_value(
        'a, b, c, d, e, f, g, "a very long label of a token"'
    )
    page.get_by_role("link", name="Audit").click()
    expect(page.get_by_text("About vectors.npz")).to_be_visible()
    expect(page.get_by_text("findings at 2 of 30 positions")).to_be_visible()
    choose(page, matrix)
    press(page, "Open in One step")
    expect(page.get_by_role("heading", name="One step", exact=True)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(visit, matrix, scheme):
    page = visit("/audit", reduced_motion="reduce", color_scheme=scheme)
    choose(page, matrix)
    assert violations(page) == []
    page.set_viewport_size(PHONE)
    settle(page)
    assert overhang(page) <= 0
