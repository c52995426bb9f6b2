"""An item as people see it: what was asked, and the responses."""

from pathlib import Path

import streamlit as st

from core.items import Criterion, Item
from core.llm import images
from core.problems import Problem
from pages.parts.text import plain, safe

WIDEST = 480
"""Pixels of an image."""
SHORT = 400
"""A context of so many letters is shown at once."""


def show(item: Item, key: str = "item", home: Path | None = None) -> None:
    """The question, then two responses side by side (tabs on a phone), or all of them below each other.

    `home` is the study's media folder, where its images are.
    """
    with st.container(key=f"card-question-{key}"):
        if item.context:
            with st.expander("Context", expanded=len(item.context) <= SHORT):
                st.markdown(safe(item.context))
        with st.container(key=f"fold-question-{key}"):
            st.markdown(safe(item.prompt))
        if item.image:
            picture(item.image, home)
        if item.reference:
            with st.expander("Reference answer"):
                st.markdown(safe(item.reference))
    if len(item.responses) != 2:
        for number in range(1, len(item.responses) + 1):
            _response(item, number, key, home)
        return
    with st.container(key=f"wide-{key}"):
        for number, column in enumerate(st.columns(2, gap="medium"), start=1):
            with column:
                _response(item, number, key, home)
    with st.container(key=f"narrow-{key}"):
        for number, tab in enumerate(st.tabs(["Response 1", "Response 2"]), start=1):
            with tab:
                _response(item, number, f"{key}-tab", home)


def _response(item: Item, number: int, key: str, home: Path | None) -> None:
    response = item.responses[number - 1]
    with st.container(border=True, key=f"response-{number}-{key}"), st.container(key=f"card-{number}-{key}"):
        st.caption(f"**Response {number}**" if len(item.responses) > 1 else "**Response**")
        with st.container(key=f"fold-{number}-{key}"):
            st.markdown(safe(response.text))
        if response.image:
            picture(response.image, home)


def picture(image: str, home: Path | None) -> None:
    """An image of the study, or a sentence that says why it cannot be shown."""
    try:
        if images.is_url(image):
            st.image(images.checked_url(image), caption="from the web", width=WIDEST)
        elif home is not None:
            st.image(images.read(home, image).content, width=WIDEST)
    except Problem as problem:
        st.caption(f":material/broken_image: {plain(str(problem))}")
    except (OSError, ValueError):
        st.caption(f":material/broken_image: The image {plain(image)} is damaged.")


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
