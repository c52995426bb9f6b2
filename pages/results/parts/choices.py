"""Choices of a result page that are in the URL."""

from collections.abc import Callable, Sequence

import streamlit as st


def choose(
    label: str,
    options: Sequence[str],
    key: str,
    format_func: Callable[[str], str] = str,
    on_change: Callable[[], None] | None = None,
) -> str:
    """Draw a choice; a single option is returned without a widget."""
    if len(options) < 2:
        return options[0]
    choice = st.selectbox(
        label, options, format_func=format_func, key=key, bind="query-params", width=260, on_change=on_change
    )
    return choice or options[0]
