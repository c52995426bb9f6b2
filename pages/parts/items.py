"""Draws an item: its context, prompt, images, reference and responses."""

from html import escape
from pathlib import Path

import streamlit as st

from core.errors import TiebreakError
from core.items import Item
from core.llm import images
from pages.parts import downloads
from pages.parts.downloads import File
from pages.parts.text import escape_markdown, sanitize_markdown
from storage.studies.study_images import Route

IMAGE_WIDTH = 480
"""In pixels."""
OPEN_CONTEXT = 400
"""A context of at most so many characters is expanded from the start."""


def draw_item(
    item: Item,
    key: str = "item",
    media_folder: Path | None = None,
    *,
    markdown: bool = False,
    image_route: Route | None = None,
) -> None:
    """Draw the prompt, then two responses side by side (tabs on a phone); any other number one below the other.

    `media_folder` is the study's, if it has images, and `image_route` names its images of other hosts. Texts are shown
    as they are, unless the study declares `markdown`.
    """
    with st.container(key=f"card-question-{key}"):
        if item.context:
            with st.expander("Context", expanded=len(item.context) <= OPEN_CONTEXT):
                _draw_text(item.context, markdown, image_route)
        with st.container(key=f"collapsible-question-{key}"):
            _draw_text(item.prompt, markdown, image_route)
        if item.image:
            draw_image(item.image, media_folder, image_route)
        if item.reference:
            with st.expander("Reference answer"):
                _draw_text(item.reference, markdown, image_route)
    if len(item.responses) != 2:
        for number in range(1, len(item.responses) + 1):
            _draw_response(item, number, key, media_folder, markdown, image_route)
        return
    with st.container(key=f"wide-{key}"):
        for number, column in enumerate(st.columns(2, gap="medium"), start=1):
            with column:
                _draw_response(item, number, key, media_folder, markdown, image_route)
    with st.container(key=f"narrow-{key}"):
        for number, tab in enumerate(st.tabs(["Response 1", "Response 2"]), start=1):
            with tab:
                _draw_response(item, number, f"{key}-tab", media_folder, markdown, image_route)


def _draw_text(text: str, markdown: bool, image_route: Route | None) -> None:
    if markdown:
        st.markdown(sanitize_markdown(text, image_route=image_route))
    elif text.strip():
        st.html(f'<div class="plain-text" dir="auto">{escape(text)}</div>')


def _draw_response(
    item: Item, number: int, key: str, media_folder: Path | None, markdown: bool, image_route: Route | None
) -> None:
    response = item.responses[number - 1]
    with st.container(border=True, key=f"response-{number}-{key}"), st.container(key=f"card-{number}-{key}"):
        st.caption(f"**Response {number}**" if len(item.responses) > 1 else "**Response**")
        with st.container(key=f"collapsible-{number}-{key}"):
            _draw_text(response.text, markdown, image_route)
        if response.image:
            draw_image(response.image, media_folder, image_route)


def draw_image(image: str, media_folder: Path | None, image_route: Route | None = None) -> None:
    """Draw an image of the study, or a sentence that says why it cannot be shown."""
    try:
        if route := image_route(image) if image_route else None:
            st.markdown(f"![image of the item](<{route}>)")
        elif images.is_url(image):
            st.caption(f":material/broken_image: Images of other hosts are not loaded: {escape_markdown(image)}")
        elif media_folder is not None:
            _draw_file(media_folder, image)
    except TiebreakError as error:
        st.caption(f":material/broken_image: {escape_markdown(str(error))}")
    except (OSError, ValueError):
        st.caption(f":material/broken_image: The image {escape_markdown(image)} is damaged.")


def _draw_file(media_folder: Path, image: str) -> None:
    """Draw an image of the media folder from a route that checks the visitor."""

    def content() -> bytes:
        return images.read_image(media_folder, image).content

    mime = images.read_image(media_folder, image).type
    address = downloads.offer(File(content, "image", mime), f"image-{media_folder.name}-{image}")
    st.html(f'<img src="{address}" alt="image of the item" style="max-width: min(100%, {IMAGE_WIDTH}px)">')


def system_names(item: Item) -> str:
    """Return which system wrote which response, "" if none is known. Not for display before a blind label."""
    names = [escape_markdown(response.system) if response.system else "unknown" for response in item.responses]
    if not any(response.system for response in item.responses):
        return ""
    if len(names) == 1:
        return f"Response by {names[0]}"
    return " · ".join(f"Response {number}: {name}" for number, name in enumerate(names, start=1))
