"""Why figures of a chart or a table are undefined, below it: a column of sentences would not fit a screen."""

from collections.abc import Mapping

import streamlit as st

from pages.parts.text import escape_markdown


def draw(reasons: Mapping[str, str]) -> None:
    """Draw each name with its reason, without those that have none."""
    known = {name: reason for name, reason in reasons.items() if reason}
    if not known:
        return
    with st.expander(f"Undefined values: {len(known):,}", icon=":material/info:"):
        for name, reason in known.items():
            st.caption(f"**{escape_markdown(name)}** – {escape_markdown(reason)}")
