"""One page of the app, with some of Streamlit's calls drawing nothing: for the page benchmark."""

import sys
import time
from pathlib import Path

import streamlit as st

page, *without = sys.argv[1:]
for name in without:
    setattr(st, name, lambda *args, **options: None)

start = time.perf_counter()
st.set_page_config(layout="wide")
st.navigation([st.Page(Path(__file__).parents[2] / "pages" / f"{page}.py", default=True)]).run()
print(f"took {time.perf_counter() - start}", flush=True)
