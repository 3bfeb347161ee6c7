"""Page Audit: somebody's own vectors, claims and counts, and what is wrong with them."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from lab import charts
from lab.audit import report
from lab.audit.excerpt import MOST_NAMED, excerpt
from lab.audit.findings import TITLES, Audit, Finding
from lab.audit.material import LARGEST_TEXT, LARGEST_UPLOAD, audit_file
from lab.errors import LabError
from lab.figures import short
from lab.labels import visible
from lab.mistakes import MISTAKES
from lab.scenario import MOST_BY_HAND
from pages.parts import state
from pages.parts.head import head
from pages.parts.predict import dark, draw
from pages.parts.words import literal

MOST_LISTED = 10
"""Findings of a kind that the page lists; the reports have more."""

LARGEST_KEPT = 20_000_000
"""Bytes of a file that the session keeps, for when its field has forgotten it."""

_BROKEN_OFF = "The audit was broken off before its end: there is no verdict."

MOST_WORST = 10
"""Positions in the table of the worst."""

EVERY = 0.2
"""Seconds between two signs of progress."""

_TAKES = f"""
| file | what is in it |
| --- | --- |
| `.npz` | arrays `p` and `q`, and if you have them `tokens`, `residual`, `output`, `acceptance`, `counts`, `accepted_counts`, `correction_counts`, `proposed_counts` |
| `.npy` | one array of shape (2, n), or (positions, 2, n): p, then q |
| CSV | a first line with `token`, `p`, `q` and if you have them the other names, and `position`; then a line for each token |
| JSON | an object with the same names |

One position, or a matrix with a row for each. float16, bfloat16, float32, float64; decimals and
fractions in CSV and JSON are exact. `counts` says how often each token came out, `accepted_counts` how
often it was proposed and kept. Pickles are never read. Files up to {LARGEST_UPLOAD // 10**6} MB, CSV and
JSON up to {LARGEST_TEXT // 10**6} MB; the command `python -m lab audit FILE` takes larger ones, row by row.
"""  # noqa: E501


@dataclass(frozen=True, eq=False)
class _File:
    """A file that was uploaded: its field's, or its bytes when they were kept."""

    id: str
    name: str
    content: UploadedFile | bytes


@dataclass(frozen=True, eq=False)
class _Done:
    """What came of a file: an audit, or why there is none; kept when its field forgot the file."""

    file_id: str
    name: str
    audit: Audit | None
    fault: str = ""
    data: bytes | None = None
    under_way: bool = False
    kept: bool = False

    @property
    def file(self) -> _File | None:
        """The file, if it was small enough to be kept."""
        return None if self.data is None else _File(self.file_id, self.name, self.data)


def main() -> None:
    """The page."""
    arrived = head(
        "Audit",
        "Your own p and q, as a model or a sampler has them: what is wrong with them, with what "
        "was computed from them, and with what was counted.",
    )
    upload = st.file_uploader(
        f"File, up to {LARGEST_UPLOAD // 10**6} MB: .npz, .npy, CSV or JSON",
        type=["npz", "npy", "csv", "tsv", "txt", "json"],
        key=state.AUDIT_FILE,
        max_upload_size=LARGEST_UPLOAD // 10**6,
    )
    with st.expander("What a file holds"):
        st.markdown(_TAKES)
    done: _Done | None = st.session_state.get(state.AUDITED)
    if upload is not None:
        chosen = _File(upload.file_id, upload.name, upload)
        if done is None or done.file_id != upload.file_id or done.under_way:
            done = _audited(chosen)
        file: _File | None = chosen
    elif done and (arrived or done.kept):
        # The field forgets its file when another page is shown; the audit is still about it.
        done = st.session_state[state.AUDITED] = replace(done, kept=True)
        file = done.file
        again = "" if file else " Choose it again to look at single positions."
        st.info(f"About {literal(done.name)}.{again}")
    else:
        st.session_state.pop(state.AUDITED, None)
        st.info("The verdict appears here once a file is chosen. Nothing is stored.")
        return
    if done.audit is None:
        st.error(literal(done.fault))
        if file and st.button("Audit again"):
            _audited(file, kept=done.kept)
            st.rerun()
        return
    found = done.audit
    _verdict(found, done.name)
    above = st.container()
    # Whether p and q are divided is chosen below, and holds for the buttons above too.
    divided = True
    if file and (found.positions > 1 or found.detail):
        divided = _one_position(found, file)
    with above:
        _findings(found, file, divided)
        if found.positions > 1:
            _along(found)


def _audited(file: _File, *, kept: bool = False) -> _Done:
    """The audit of the file. It can be stopped while it is made."""
    data: bytes | None = None
    if isinstance(file.content, bytes):
        data = file.content
    elif file.content.size <= LARGEST_KEPT:
        data = file.content.getvalue()
    # What is found later if another page was shown meanwhile.
    done = _Done(file.id, file.name, None, _BROKEN_OFF, data, under_way=True, kept=kept)
    spot = st.empty()
    with spot.container():
        bar = st.progress(0.0, "Reading the file")
        stopped = st.button("Stop")  # the click has ended the run in which the audit was made
    st.session_state[state.AUDITED] = done
    found, fault = None, "Stopped before the end: there is no verdict."
    if not stopped:
        last = time.monotonic()

        def progress(n: int, of: int) -> None:
            nonlocal last
            if time.monotonic() - last > EVERY:
                last = time.monotonic()
                bar.progress(n / of, f"Position {n:,} of {of:,}")

        try:
            found, fault = audit_file(file.content, file.name, progress=progress), ""
        except LabError as error:
            fault = str(error)
        except (MemoryError, OSError):
            fault = "There is not enough memory for this file."
    spot.empty()
    done = replace(done, audit=found, fault=fault, under_way=False)
    st.session_state[state.AUDITED] = done
    return done


def _verdict(found: Audit, name: str) -> None:
    (st.success if found.clean else st.warning)(literal(found.verdict))
    st.caption(f"Looked at: {literal('; '.join(found.checked))}.")
    with st.container(horizontal=True):
        st.download_button(
            "Download report (Markdown)",
            data=lambda: report.markdown(found, name).encode(),
            file_name="residual-lab-audit.md",
            mime="text/markdown",
            on_click="ignore",
        )
        st.download_button(
            "Download report (JSON)",
            data=lambda: report.to_json(found, name).encode(),
            file_name="residual-lab-audit.json",
            mime="application/json",
            on_click="ignore",
        )


def _findings(found: Audit, file: _File | None, divided: bool) -> None:
    for kind, count in found.counted.items():
        st.header(TITLES[kind] + (f" ({count:,})" if count > 1 else ""))
        findings = [finding for finding in found.findings if finding.kind == kind]
        # Those with a name first: they say the most.
        for finding in sorted(findings, key=lambda each: not each.mistakes)[:MOST_LISTED]:
            _finding(found, finding, file, divided)
        if count > MOST_LISTED:
            st.caption(f"{count - MOST_LISTED:,} more; the reports list up to 100 of a kind.")
    if found.notes:
        st.header("Notes")
        st.markdown("\n".join(f"- {literal(note)}" for note in found.notes))


def _finding(found: Audit, finding: Finding, file: _File | None, divided: bool) -> None:
    st.markdown(
        f"**{literal(found.where(finding))}**: {literal(finding.value)}. "
        f"{literal(finding.sentence)}"
    )
    for slug in finding.mistakes:
        pressed = file and st.button(
            f"Mistake: {MISTAKES[slug].title}",
            icon=":material/arrow_forward:",
            help="Opens its entry on the p and q of this position.",
            key=f"{slug} {finding.kind} {finding.position}",
        )
        if pressed and file and _open(file, finding.position or found.first, divided):
            st.switch_page("pages/mistakes.py", query_params={"mistake": slug})


def _along(found: Audit) -> None:
    st.header("Along the positions")
    left, right = st.columns(2, gap="large")
    with left:
        draw(
            charts.along(
                {"α": found.acceptance.tolist(), "Z": found.rejection.tolist()},
                "probability",
                found.first,
                dark=dark(),
            )
        )
    with right:
        draw(
            charts.along(
                {"Σ p − 1": found.target_defect.tolist(), "Σ q − 1": found.draft_defect.tolist()},
                "what the sums miss 1 by",
                found.first,
                dark=dark(),
            )
        )
    st.subheader("The worst positions")
    worst, at = _worst(found), _at(found)
    table = {
        "position": [f"{n:,}" for n in worst],
        "findings": [f"{at[n]:,}" for n in worst],
    }
    for title, values in (
        ("α", found.acceptance),
        ("Z", found.rejection),
        ("Σ p − 1", found.target_defect),
        ("Σ q − 1", found.draft_defect),
    ):
        table[title] = [_figure(float(values[n - found.first])) for n in worst]
    st.table(table, hide_index=True, border="horizontal")


def _at(found: Audit) -> Counter[int]:
    """How many of the listed findings are at each position."""
    return Counter(finding.position for finding in found.findings if finding.position)


def _worst(found: Audit) -> list[int]:
    """Positions with the most findings; among equals with the least likely counts, then sums."""
    at = _at(found)
    least: dict[int, float] = {}
    for test in found.tests:
        least[test.position] = min(test.p_value, least.get(test.position, 1.0))

    def rank(position: int) -> tuple[int, float, float]:
        n = position - found.first
        sizes = (abs(float(found.target_defect[n])), abs(float(found.draft_defect[n])))
        defect = max((size for size in sizes if math.isfinite(size)), default=0.0)
        return -at[position], least.get(position, 1.0), -defect

    positions = range(found.first, found.first + found.positions)
    return sorted(positions, key=rank)[:MOST_WORST]


def _one_position(found: Audit, file: _File) -> bool:
    """One position of the file; whether its p and q are to be divided by their sums."""
    st.header("One position" if found.positions > 1 else report.DIFFER)
    position = found.first
    if found.positions > 1:
        position = st.number_input(
            "Position",
            found.first,
            found.first + found.positions - 1,
            _worst(found)[0],
            key=f"{state.AUDIT_POSITION} {file.id}",  # of another file the worst is another
        )
    try:
        single = found if found.positions == 1 else _cached(file.id, position, file)
    except LabError as fault:
        st.error(literal(str(fault)))
        return True
    if not single.detail:
        st.info("α and Z are not known here: see the findings.")
        return True
    st.markdown(
        f"α = **{_figure(float(single.acceptance[0]))}**, Z = "
        f"**{_figure(float(single.rejection[0]))}**"
    )
    table = {
        "entry": [f"{row.entry:,}" for row in single.detail],
        "token": [
            "" if row.token is None else literal(visible([row.token])[0]) for row in single.detail
        ],
        "p": [_figure(row.target) for row in single.detail],
        "q": [_figure(row.draft) for row in single.detail],
        "min(p, q)": [_figure(row.accepted) for row in single.detail],
        "r": ["none" if row.residual is None else _figure(row.residual) for row in single.detail],
    }
    if not any(table["token"]):
        del table["token"]
    st.table(table, hide_index=True, border="horizontal")
    st.caption("The tokens where p and q differ the most.")
    defects = float(single.target_defect[0]), float(single.draft_defect[0])
    is_exact = {found.target_type, found.draft_type} == {"exact"} and not any(defects)
    divided = st.toggle("Divide each by its own sum, exactly", not is_exact)
    if divided:
        sums = ", ".join(
            f"Σ {name} = {short(1 + Fraction(d))}" for name, d in zip("pq", defects, strict=True)
        )
        st.caption(
            f"The buttons put p and q divided by their own sums ({sums}) into the fields, which "
            "take sums of exactly 1; the stored sums of floats rarely are."
        )
    else:
        st.caption("The buttons put p and q into the fields as they are stored.")
    if st.button("Open in One step") and _open(file, position, divided):
        st.switch_page("pages/one_step.py")
    if found.tokens > MOST_BY_HAND:
        st.caption(
            f"One step then names the {MOST_NAMED - 1} heaviest tokens; the others are together."
        )
    return divided


def _open(file: _File, position: int, divided: bool) -> bool:
    """Put p and q of a position into the fields, to be inspected; whether that was possible."""
    try:
        state.fill(excerpt(file.content, file.name, position, normalised=divided))
    except LabError as fault:
        st.error(literal(str(fault)))
        return False
    state.use_settings({state.INSPECT: True, state.ENTRY: "Text"})
    return True


@st.cache_data(max_entries=32, show_spinner=False)
def _cached(file_id: str, position: int, _file: _File) -> Audit:
    return audit_file(_file.content, _file.name, position=position)


def _figure(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "not known"


main()
