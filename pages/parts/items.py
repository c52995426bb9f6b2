"""Draws an item: its context, prompt, images, reference and responses, which may be transcripts."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from core.errors import TiebreakError
from core.items import Item
from core.llm import images
from core.own_addresses import own_address
from pages.parts import downloads, shell
from pages.parts.text import escape_markdown, text_html
from storage.studies import transcripts
from storage.studies.study_images import Route

# In pixels.
IMAGE_WIDTH = 480
# A context of at most so many characters is expanded from the start.
OPEN_CONTEXT = 400
_transcript = st.components.v2.component(
    "transcript", html='<div class="root"></div>', js=shell.read_asset("parts/transcript.js")
)


def draw_item(
    item: Item,
    key: str = "item",
    media_folder: Path | None = None,
    *,
    markdown: bool = False,
    image_route: Route | None = None,
    stacked: bool = False,
    study_id: int | None = None,
    disputed: Sequence[int] = (),
) -> None:
    """Draw the prompt, then two responses side by side; any other number, and on a phone, one below the other.

    `stacked` draws two one below the other as well. `media_folder` is the study's, if it has images, and `image_route`
    names its images of other hosts. Texts are shown as they are, unless the study declares `markdown`. Transcripts are
    shown by their steps if `study_id` is given, otherwise by their final answers; `disputed` are the steps of the only
    response that only some judges name.
    """
    with st.container(key=f"card-question-{key}"):
        if item.context:
            with st.expander("Context", expanded=len(item.context) <= OPEN_CONTEXT):
                _draw_text(item.context, markdown, image_route)
        if item.transcript and study_id is not None:
            draw_transcript(study_id, item.transcript, f"question-{key}")
        else:
            with st.container(key=f"collapsible-question-{key}"):
                _draw_text(item.prompt, markdown, image_route)
        if item.image:
            draw_image(item.image, media_folder, image_route)
        if item.reference:
            with st.expander("Reference answer"):
                _draw_text(item.reference, markdown, image_route)
    are_beside = len(item.responses) == 2 and not stacked
    both = st.columns(2, gap="medium") if are_beside else [st.container() for _ in item.responses]
    for number, place in enumerate(both, start=1):
        with place:
            _draw_response(item, number, key, media_folder, markdown, image_route, study_id, disputed)


def _draw_text(text: str, markdown: bool, image_route: Route | None) -> None:
    st.html(text_html(text, image_route=image_route, markdown=markdown))


def draw_transcript(study_id: int, digest: str, key: str, disputed: Sequence[int] = (), pair: str = "") -> None:
    """Draw a transcript, beside the other of its `pair`; the browser loads it from a route that checks the visitor."""
    address, module = transcripts.address(study_id, digest), own_address("/assets/workbench/transcript.js")
    data = {"address": address, "module": module, "disputed": [*disputed], "pair": pair}
    _transcript(key=f"transcript-{key}", data=data)


def _draw_response(
    item: Item,
    number: int,
    key: str,
    media_folder: Path | None,
    markdown: bool,
    image_route: Route | None,
    study_id: int | None,
    disputed: Sequence[int],
) -> None:
    response = item.responses[number - 1]
    with st.container(border=True, key=f"response-{number}-{key}"), st.container(key=f"card-{number}-{key}"):
        st.caption(f"**Response {number}**" if len(item.responses) > 1 else "**Response**")
        if response.transcript and study_id is not None:
            digests = [one.transcript for one in item.responses]
            pair = " ".join(map(str, digests)) if len(digests) == 2 and all(digests) else ""
            draw_transcript(study_id, response.transcript, f"{number}-{key}", disputed, pair)
        else:
            with st.container(key=f"collapsible-{number}-{key}"):
                _draw_text(response.text, markdown, image_route)
        if response.image:
            draw_image(response.image, media_folder, image_route)


def draw_image(image: str, media_folder: Path | None, image_route: Route | None = None) -> None:
    """Draw an image of the study, or a sentence that says why it cannot be shown."""
    try:
        if route := image_route(image) if image_route and images.is_url(image) else None:
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

    mime = images.read_image(media_folder, image).type
    file = downloads.File(lambda: images.read_image(media_folder, image).content, "image", mime)
    address = downloads.offer(file, f"image-{media_folder.name}-{image}")
    st.html(f'<img src="{address}" alt="image of the item" style="max-width: min(100%, {IMAGE_WIDTH}px)">')


def system_names(item: Item) -> str:
    """Return which system wrote which response, "" if none is known. Not for display before a blind label."""
    if not any(response.system for response in item.responses):
        return ""
    names = [escape_markdown(response.system or "unknown") for response in item.responses]
    return " · ".join(f"Response {number}: {name}" for number, name in enumerate(names, start=1))
