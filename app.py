"""Residual Lab: page config and navigation."""

import streamlit as st

st.set_page_config(page_title="Residual Lab", page_icon="⚖️", layout="wide")

st.navigation(
    [
        st.Page("pages/one_step.py", title="One step", default=True),
        st.Page("pages/two_outcomes.py", title="Two outcomes"),
        st.Page("pages/block.py", title="Block"),
    ],
    position="top",
).run()
