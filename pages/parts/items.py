"""An item as people see it: what was asked, and the responses."""

import streamlit as st

from core.items import Criterion, Item
from pages.parts.text import plain, safe

SHORT = 400
"""A context of so many letters is shown at once."""


def show(item: Item, key: str = "item") -> None:
    """The question, then two responses side by side (tabs on a phone), or all of them below each other."""
    with st.container(key=f"card-question-{key}"):
        if item.context:
            with st.expander("Context", expanded=len(item.context) <= SHORT):
                st.markdown(safe(item.context))
        with st.container(key=f"fold-question-{key}"):
            st.markdown(safe(item.prompt))
        if item.reference:
            with st.expander("Reference answer"):
                st.markdown(safe(item.reference))
    if len(item.responses) != 2:
        for number in range(1, len(item.responses) + 1):
            _response(item, number, key)
        return
    with st.container(key=f"wide-{key}"):
        for number, column in enumerate(st.columns(2, gap="medium"), start=1):
            with column:
                _response(item, number, key)
    with st.container(key=f"narrow-{key}"):
        for number, tab in enumerate(st.tabs(["Response 1", "Response 2"]), start=1):
            with tab:
                _response(item, number, f"{key}-tab")


def _response(item: Item, number: int, key: str) -> None:
    response = item.responses[number - 1]
    with st.container(border=True, key=f"response-{number}-{key}"), st.container(key=f"card-{number}-{key}"):
        st.caption(f"**Response {number}**" if len(item.responses) > 1 else "**Response**")
        with st.container(key=f"fold-{number}-{key}"):
            st.markdown(safe(response.text))


def systems(item: Item) -> str:
    """Which system wrote which response, where that is known; never shown before a blind label."""
    names = [plain(response.system) if response.system else "unknown" for response in item.responses]
    if not any(response.system for response in item.responses):
        return ""
    if len(names) == 1:
        return f"Response by {names[0]}"
    return " · ".join(f"Response {number}: {name}" for number, name in enumerate(names, start=1))


def criterion(wanted: Criterion) -> None:
    """What "better" means here."""
    if wanted.definition:
        st.markdown(safe(wanted.definition))
    for level, line in enumerate(wanted.rubric, start=1):
        st.markdown(f"{level}. {safe(line)}")
