"""The lab's words and symbols, said once."""

from __future__ import annotations

import streamlit as st

_WORDS = """
| symbol | in code | what it is |
| --- | --- | --- |
| p | `target` | the law the output must have |
| q | `draft` | the law proposals are really drawn from: after temperature, top-k, top-p |
| min(p, q) | `accepted` | mass that a token receives by being proposed and kept |
| α | `acceptance` | Σ min(p, q): the probability that a proposal is kept |
| max(0, p − q) | `shortfall` | owed: target mass still required |
| max(0, q − p) | `excess` | thrown away: proposal mass that is not kept |
| Z | `rejection` | Σ max(0, p − q): the probability of a rejection |
| r | `residual` | max(0, p − q) / Z, the law of the correction given a rejection; none when Z = 0 |
| Z · r | `correction` | mass that a token receives through a rejection |
| min(p, q) + Z · r | `output` | the law of the token that comes out; it is p |

Papers disagree on the letters: Leviathan et al. (2023) call the target p, as here; Chen et al.
(2023) call it q. r is defined over the whole vocabulary, and drawn with fresh randomness.
"""


def glossary() -> None:
    """The table of symbols, folded away."""
    with st.expander("Words and symbols"):
        st.markdown(_WORDS)
