"""The help texts of a table's columns as text: a header shows them to a mouse only."""

from collections.abc import Mapping
from typing import Any

import streamlit as st


def draw(column_config: Mapping[str, Any]) -> None:
    """Draw, under a table, the name and the help text of each column that has one."""
    notes = {name: config["help"] for name, config in column_config.items() if config and config.get("help")}
    if notes:
        with st.expander("What the columns mean", icon=":material/help:"):
            st.markdown("\n".join(f"- **{name}**: {text}" for name, text in notes.items()))
