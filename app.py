"""Residual Lab: page config and navigation."""

import streamlit as st

st.set_page_config(page_title="Residual Lab", page_icon="⚖️", layout="wide")

# Less room above the title, and none of what has the focus behind the bar at the top.
st.html(
    "<style>[data-testid=stMainBlockContainer] {padding-top: 4.5rem}"
    "[data-testid=stMain] {scroll-padding-top: 4.5rem}</style>"
)

st.navigation(
    [
        st.Page("pages/one_step.py", title="One step", default=True),
        st.Page("pages/two_outcomes.py", title="Two outcomes"),
        st.Page("pages/block.py", title="Block"),
        st.Page("pages/mistakes.py", title="Mistakes"),
        st.Page("pages/precision.py", title="Precision"),
        st.Page("pages/audit.py", title="Audit"),
    ],
    position="top",
).run()
