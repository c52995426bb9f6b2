"""Escapes text from models, files and people for display."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from core.remote_images import MARKDOWN_IMAGE

# A passage of a text: its `start` and `end` in code points, and how it is shown; see `pieces` in
# `pages/label/workbench/text.js`.
Mark = Mapping[str, Any]


def text_html(
    text: str,
    marks: Sequence[Mark] = (),
    image_route: Callable[[str], str | None] | None = None,
    *,
    markdown: bool = True,
    raw: Mapping[str, Any] | None = None,
) -> str:
    """Return a text for `st.html`, which `parts/reading.js` draws; the script inserts text nodes only.

    It is drawn as it was written unless it is `markdown`. `image_route` returns the address on this server of an image
    that is shown, or None; other images stay text. `raw` has what is drawn to show it as it was written: the
    `text` and its `marks`.
    """
    addresses = {match["address"] for match in MARKDOWN_IMAGE.finditer(text)} if image_route else ()
    images = {address: route for address in sorted(addresses) if image_route and (route := image_route(address))}
    parts = {"marks": list(marks), "images": images, "plain": not markdown, "raw": raw}
    data = " ".join(f'data-{name}="{escape(json.dumps(part))}"' for name, part in parts.items() if part)
    return f'<div class="source" dir="auto" {data}>{to_html(text)}</div>'


def to_html(text: str) -> str:
    """Return plain text as HTML for an element that preserves line breaks; as elements they would be slow."""
    return escape(text).replace("\n", "&#10;")


# Characters that would reverse the text after a name.
DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")

# The sign in escaped text without which `https://…`, `www.…` and `name@host.…` are no addresses, and
# `:material/home:` and `:streamlit:` no icons.
FIRST_SIGN = re.compile(r"\\:(?=//|material/|streamlit\\:)|(?<=www)\.|(?<=[\w.+-])@(?=[\w-]+\.)", re.IGNORECASE)


def escape_markdown(text: str) -> str:
    """Return a text on one line with all Markdown escaped, for a label or a heading.

    Characters of direction are shown as U+FFFD. An address is no link and a code no icon; both are copied unchanged.
    """
    line = DIRECTION.sub("\ufffd", " ".join(text.split()))
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|<>~$:])", r"\\\1", line)
    # Both are found in escaped text too, but not across an element: the sign gets one of its own.
    return FIRST_SIGN.sub(r":small[\g<0>]", escaped)


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts "annotator 2" before "annotator 10"."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def truncate(text: str, length: int = 80) -> str:
    """Return a text on one line, cut to `length` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
