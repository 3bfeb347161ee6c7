"""Taking a scenario away: as a CSV file, and as a link."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from lab.scenario import LONGEST_LINK, Scenario
from lab.tables import export_csv


def download_csv(scenario: Scenario) -> None:
    """The button for the reconstructed target vector. The file is made at the click."""
    st.download_button(
        "Download CSV",
        data=lambda: export_csv(scenario),
        file_name="residual-lab.csv",
        mime="text/csv",
        on_click="ignore",
        help="token, p, q, accepted, shortfall, residual, correction, reconstructed; exact.",
    )


def share_link(scenario: Scenario, **more: str) -> None:
    """The link that opens this scenario, on this page, with nothing predicted."""
    link = scenario.texts.link(page_address(), **more)
    if link is None:
        st.caption(
            f"This scenario is too long for a link (over {LONGEST_LINK:,} characters); the CSV "
            "file carries it."
        )
    else:
        show_link(link)


def show_link(link: str) -> None:
    """A link to copy."""
    with st.expander("Link to this scenario"):
        st.code(link, language=None, wrap_lines=True)


def page_address() -> str:
    """The address of this page, without its parameters."""
    parts = urlsplit(st.context.url or "")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
