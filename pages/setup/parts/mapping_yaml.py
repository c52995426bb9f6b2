"""A mapping as YAML text: for the fields of a mapping that the form has no widgets for."""

from typing import Any

import streamlit as st

from core.errors import FileFormatError
from core.formats.mapping.guess import Draft
from core.formats.mapping.mapping import build_mapping, draft_of
from core.formats.plain_yaml import dump_fields, parse_fields
from pages.parts.text import escape_markdown

BLOCKS = ("labels", "judges", "gold")
LABEL_FIELDS = ("each", "aggregate")
"""Fields of a block of labels that the form lacks."""
HEIGHT = 420
"""Pixels of the editor."""


def needs_yaml(draft: Draft) -> bool:
    """Return whether the form would lose a part of the draft."""
    texts = [response.get("text") for response in draft.get("responses", [])]
    lists = [draft[field] for field in ("prompt", "context", "reference") if isinstance(draft.get(field), list)]
    names = [part for sources in lists for part in sources]
    nested = isinstance(draft.get("explode"), list)
    return (
        nested
        or any(not isinstance(part, str) for part in (*texts, *names))
        or any(not _is_in_form(block) for block in draft.get("labels", []))
    )


def _is_in_form(block: Draft) -> bool:
    fields = [block.get(field) for field in ("annotator", "value", "criterion_field")]
    is_template = isinstance(block.get("annotators"), str)
    return not is_template and not any(
        [*(field in block for field in LABEL_FIELDS), *(isinstance(field, dict) for field in fields)]
    )


def draw_editor(draft: Draft, key: str) -> Draft | None:
    """Draw the text of a mapping; returns its fields, or None with the reason on the page if it is no mapping."""
    text = st.text_area(
        "Mapping",
        dump_fields(draft),
        height=HEIGHT,
        key=key,
        help="All fields are described in docs/mappings, with mappings of public data sets to start from.",
    )
    try:
        fields: Any = parse_fields(text)
        return draft_of(build_mapping(fields))
    except FileFormatError as error:
        st.error(f"This is no mapping yet: {escape_markdown(str(error))}", icon=":material/error:")
        return None
