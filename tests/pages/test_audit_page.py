"""The page Audit: a verdict on somebody's file, findings, and the way to the other pages."""

from __future__ import annotations

import io
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
import streamlit as st
from driver import Lab, unescaped

from lab import MISTAKES, parse_vector
from lab.audit import material
from lab.audit.material import LARGEST_UPLOAD

P, Q = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.25, 0.5])


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def page(name: str = "mine.npz", data: bytes | None = None, **arrays) -> Lab:
    return Lab("audit").upload(name, data or npz(**arrays))


def test_the_limit_is_stated_and_nothing_is_shown_without_a_file():
    lab = Lab("audit")
    (field,) = lab.at.get("file_uploader")
    assert f"up to {LARGEST_UPLOAD // 10**6} MB" in field.label
    assert not lab.at.success
    assert not lab.at.warning


def test_a_clean_file_has_a_clean_verdict():
    lab = page(p=P, q=Q)
    assert [message.value for message in lab.at.success]
    assert "Clean" in lab.words
    assert not lab.at.warning
    assert "α = **0.75**" in lab.words


def test_findings_stand_below_the_verdict():
    lab = page(p=P * 0.8, q=Q, tokens=np.array(["a", "$x$", "<b>"]))
    assert "Sum is not 1" in unescaped(lab.at.warning[0].value)
    assert "it sums to" in lab.words.lower()
    (table,) = lab.tables
    assert sorted(map(unescaped, table["token"])) == ["$x$", "<b>", "a"]
    assert not any("$" in token for token in table["token"])  # else it would be maths


def test_a_claimed_residual_is_named_and_opens_its_mistake():
    lab = page(p=P, q=Q, residual=P)
    assert "Replacement drawn from p" in lab.words
    (button,) = [b for b in lab.at.button if b.label.startswith("Mistake:")]
    assert button.label.endswith(MISTAKES["resample-from-target"].title)
    lab.press(button.label)
    lab.go("mistakes")  # what the button does in a browser
    assert parse_vector(lab.field("Target p")) == tuple(map(Fraction, P))
    assert parse_vector(lab.field("Draft q")) == tuple(map(Fraction, Q))


def test_positions_are_plotted_and_one_is_opened():
    rng = np.random.default_rng(3)
    p, q = (rng.dirichlet(np.ones(6), 9) for _ in "pq")
    p[6, 2] *= 0.5
    lab = page(p=p, q=q)
    assert len(lab.charts) == 2
    assert "9 positions" in lab.charts[0].alt
    (worst,) = [t for t in lab.tables if "findings" in t.columns]
    assert worst["position"][0] == "7"
    (field,) = [n for n in lab.at.number_input if n.label == "Position"]
    assert field.value == 7
    lab.number("Position", 3)
    kept = float(np.minimum(p[2], q[2]).sum())
    assert f"α = **{kept:.6g}**" in lab.words
    lab.switch("Divide each by its own sum, exactly", on=False)
    lab.press("Open in One step")
    lab.go("one_step")
    assert parse_vector(lab.field("Target p")) == tuple(map(Fraction, p[2].tolist()))


def test_a_long_row_is_opened_with_its_heaviest_tokens():
    rng = np.random.default_rng(5)
    p, q = (rng.dirichlet(np.ones(2_000)).astype(np.float32) for _ in "pq")
    lab = page(p=p, q=q)
    assert "divided by their own sums (Σ p = " in lab.words
    lab.press("Open in One step").go("one_step")
    named = parse_vector(lab.field("Target p"))
    assert len(named) == 200
    assert sum(named) == 1
    assert not lab.errors
    lab = page(p=p, q=q).switch("Divide each by its own sum, exactly", on=False)
    assert "as they are stored" in lab.words
    lab.press("Open in One step").go("one_step")
    assert sum(parse_vector(lab.field("Target p"))) == sum(map(Fraction, p.tolist()))
    assert lab.field("Tokens").endswith('"1,801 others"')


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("x.npz", pickle.dumps({"p": 1}), "pickle"),
        ("x.npz", npz(p=P, q=Q)[:200], "damaged"),
        ("x.csv", b"hello", "accepted"),
        ("x.json", b"{", "JSON"),
        ("x.npy", b"?", "damaged"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence(name, data, words):
    lab = page(name, data)
    (error,) = lab.errors
    assert words in error
    assert not lab.at.success
    assert not lab.at.warning
    assert lab.has("button", "Audit again")


def test_the_audit_stays_while_other_pages_are_shown_and_goes_with_its_file():
    lab = page(p=P, q=Q)
    lab.go("one_step").go("audit")
    assert "Clean" in lab.words
    assert "About mine.npz" in lab.words
    lab.run()
    assert "Clean" in lab.words
    lab.upload("other.npz", npz(p=P * 2, q=Q))
    assert "Clean" not in lab.words
    assert lab.at.warning


def position(lab: Lab) -> int:
    (field,) = [field for field in lab.at.number_input if field.label == "Position"]
    return field.value


def test_positions_with_findings_come_first_then_the_least_likely_counts():
    p, q = np.tile([0.2, 0.5, 0.3], (9, 1)), np.tile([0.6, 0.2, 0.2], (9, 1))
    counts = np.tile([200, 500, 300], (9, 1))
    counts[3] = [215, 490, 295]
    counts[6] = [600, 200, 200]
    p[1] += [1e-16, 0, 0]
    lab = page(p=p, q=q, counts=counts)
    (worst,) = [table for table in lab.tables if "findings" in table.columns]
    assert list(worst["position"][:2]) == ["7", "4"]
    assert position(lab) == 7
    lab.number("Position", 8)
    lab.upload("other.npz", npz(p=p, q=q, counts=counts[[0, 1, 2, 6, 4, 5, 3, 7, 8]]))
    assert position(lab) == 4


def test_single_positions_work_after_a_visit_to_another_page():
    p, q = np.tile([0.2, 0.5, 0.3], (9, 1)), np.tile([0.6, 0.2, 0.2], (9, 1))
    lab = page(p=p, q=q, residual=p).go("one_step").go("audit")
    assert "Choose it again" not in lab.words
    lab.number("Position", 3)
    assert "α = **0.6**" in lab.words
    lab.press("Open in One step").go("one_step")
    assert sum(parse_vector(lab.field("Target p"))) == 1


def test_an_audit_that_was_broken_off_says_so_and_can_be_made_again(monkeypatch):
    def broken_off(*_, **__):
        st.stop()

    with monkeypatch.context() as patch:
        patch.setattr(material, "audit_file", broken_off)
        lab = page(p=P, q=Q).go("one_step").go("audit")
    assert any("broken off" in error for error in lab.errors)
    lab.press("Audit again")
    assert "Clean" in lab.words
    assert not lab.errors


def test_a_pair_that_cannot_be_compared_has_nothing_to_open():
    for arrays in ({"p": [np.nan, 0.5], "q": [0.5, 0.5]}, {"p": [0.5, 0.5], "q": [1.0]}):
        lab = page(**arrays)
        assert "differ the most" not in lab.words
        assert not lab.has("button", "Open in One step")


def test_a_csv_of_a_spreadsheet():
    data = "token;p;q;counts\r\nA;0,5;0,25;1.000\r\nB;0,25;0,25;500\r\nC;0,25;0,5;500\r\n"
    lab = page("mine.csv", data.encode("utf-8-sig"))
    assert "Clean" in lab.words
    assert "counts against p" in lab.words


def test_json_keeps_decimals_exact():
    data = json.dumps({"p": ["0.1", "0.2", "0.7"], "q": ["1/3", "1/3", "1/3"]})
    lab = page("mine.json", data.encode())
    assert "Clean" in lab.words
    lab.press("Open in One step").go("one_step")
    assert lab.field("Draft q") == "1/3, 1/3, 1/3"
