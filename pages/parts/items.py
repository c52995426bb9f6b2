"""Draws an item: its context, prompt, images, reference and responses, which may be transcripts."""

from collections.abc import Sequence

import streamlit as st

from core.errors import TiebreakError
from core.items import Item, Response
from core.llm import images
from core.own_addresses import own_address
from pages.parts import downloads, resources, shell
from pages.parts.text import escape_markdown, text_html
from storage.studies import transcripts
from storage.studies.studies import Study
from storage.studies.study_images import Route

# In pixels.
IMAGE_WIDTH = 480
# A context of at most so many characters is expanded from the start.
OPEN_CONTEXT = 400
_transcript = st.components.v2.component(
    "transcript", html='<div class="root"></div>', js=shell.read_asset("parts/transcript.js")
)


def draw_item(
    item: Item, key: str = "item", study: Study | None = None, *, stacked: bool = False, disputed: Sequence[int] = ()
) -> None:
    """Draw the prompt, then two responses side by side; any other number, and on a phone, one below the other.

    `stacked` draws two one below the other as well. An item of no `study` yet has no images, and its texts are shown as
    they are. Transcripts are shown by their steps, of no study by their final answers; `disputed` are the steps of the
    only response that only some judges name.
    """
    route = resources.image_route(study) if study else None

    def draw_text(text: str) -> None:
        st.html(text_html(text, image_route=route, markdown=study is not None and study.rules.markdown))

    def draw_part(part: Item | Response, text: str, name: str, pair: str = "", steps: Sequence[int] = ()) -> None:
        if part.transcript and study:
            draw_transcript(study.id, part.transcript, f"{name}-{key}", steps, pair)
        else:
            with st.container(key=f"collapsible-{name}-{key}"):
                draw_text(text)
        if part.image and study:
            draw_image(part.image, study, route)

    with st.container(key=f"card-question-{key}"):
        if item.context:
            with st.expander("Context", expanded=len(item.context) <= OPEN_CONTEXT):
                draw_text(item.context)
        draw_part(item, item.prompt, "question")
        if item.reference:
            with st.expander("Reference answer"):
                draw_text(item.reference)
    are_beside = len(item.responses) == 2 and not stacked
    both = st.columns(2, gap="medium") if are_beside else [st.container() for _ in item.responses]
    digests = [one.transcript for one in item.responses]
    pair = " ".join(map(str, digests)) if len(digests) == 2 and all(digests) else ""
    for number, (place, response) in enumerate(zip(both, item.responses, strict=True), start=1):
        with place, st.container(border=True, key=f"response-{number}-{key}"), st.container(key=f"card-{number}-{key}"):
            st.caption(f"**Response {number}**" if len(item.responses) > 1 else "**Response**")
            draw_part(response, response.text, str(number), pair, disputed)


def draw_transcript(study_id: int, digest: str, key: str, disputed: Sequence[int] = (), pair: str = "") -> None:
    """Draw a transcript, beside the other of its `pair`; the browser loads it from a route that checks the visitor."""
    address, module = transcripts.address(study_id, digest), own_address("/assets/workbench/transcript.js")
    data = {"address": address, "module": module, "disputed": [*disputed], "pair": pair}
    _transcript(key=f"transcript-{key}", data=data)


def draw_image(image: str, study: Study, image_route: Route | None = None) -> None:
    """Draw an image of the study, or a sentence that says why it cannot be shown."""
    try:
        if route := image_route(image) if image_route and images.is_url(image) else None:
            st.markdown(f"![image of the item](<{route}>)")
        elif images.is_url(image):
            st.caption(f":material/broken_image: Images of other hosts are not loaded: {escape_markdown(image)}")
        else:
            media_folder = images.media_folder(study.name)
            mime = images.read_image(media_folder, image).type
            file = downloads.File(lambda: images.read_image(media_folder, image).content, "image", mime)
            address = downloads.offer(file, f"image-{media_folder.name}-{image}")
            st.html(f'<img src="{address}" alt="image of the item" style="max-width: min(100%, {IMAGE_WIDTH}px)">')
    except TiebreakError as error:
        st.caption(f":material/broken_image: {escape_markdown(str(error))}")
    except (OSError, ValueError):
        st.caption(f":material/broken_image: The image {escape_markdown(image)} is damaged.")


def system_names(item: Item) -> str:
    """Return which system wrote which response, "" if none is known. Not for display before a blind label."""
    if not any(response.system for response in item.responses):
        return ""
    names = [escape_markdown(response.system or "unknown") for response in item.responses]
    return " · ".join(f"Response {number}: {name}" for number, name in enumerate(names, start=1))
