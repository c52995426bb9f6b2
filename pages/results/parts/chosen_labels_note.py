"""The note that labels are mainly of disputed targets, so no figure of them is of all."""

import streamlit as st

from pages.parts.text import escape_markdown


def draw(note: str) -> None:
    """Draw a note of `storage.reports.chosen_labels`; nothing if it is empty."""
    if note:
        st.warning(escape_markdown(note), icon=":material/filter_alt:")
