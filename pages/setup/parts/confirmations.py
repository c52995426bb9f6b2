"""The values of a table whose meaning the file does not state, for a person to state before the import."""

import zlib
from collections.abc import Sequence

import streamlit as st

from core.formats.mapping.confirmation import Found, Question, answer
from core.formats.mapping.mapping import Mapping
from core.labels import Value
from pages.parts.numbers import RESPONSE_NAMES
from pages.parts.text import escape_markdown
from pages.setup.parts.scale_form import NO_LABEL

MEANINGS: dict[str, Value | None] = {**{name: value for value, name in RESPONSE_NAMES.items()}, NO_LABEL: None}


def draw_confirmations(questions: Sequence[Question], mapping: Mapping, prefix: str) -> Mapping | None:
    """Draw what the file does not state; returns the mapping with the answers, or None until each is given."""
    if not questions:
        return mapping
    st.info("The file does not state what these values mean. Confirm them before the import.", icon=":material/help:")
    answers = [_draw_question(question, prefix) for question in questions]
    for question, values in zip(questions, answers, strict=True):
        if values is None:
            return None
        mapping = answer(mapping, question, values)
    return mapping


def _draw_question(question: Question, prefix: str) -> dict[str, Value | None] | None:
    """Return the meaning of each value, none for a confirmed scale; None until it is stated."""
    key = f"{prefix}_confirm_{zlib.crc32(repr((question.places, question.fields, question.scale)).encode())}"
    st.markdown(f"**{escape_markdown(', '.join(question.fields))}**")
    if not question.needs_values:
        st.markdown("\n".join(f"- {_describe(found)}" for found in question.values))
        text = question.reading()
        return {} if st.checkbox(f"Right: {escape_markdown(text)}", key=key) else None
    chosen = {found.text: _draw_value(found, f"{key}_{found.text}") for found in question.values}
    if any(name is None for name in chosen.values()):
        return None
    return {text: MEANINGS[name] for text, name in chosen.items() if name is not None}


def _draw_value(found: Found, key: str) -> str | None:
    return st.selectbox(_describe(found), list(MEANINGS), index=None, placeholder="choose", key=key)


def _describe(found: Found) -> str:
    examples = escape_markdown("; ".join(found.examples))
    return f"{escape_markdown(found.text)}: {found.count:,} times, for example {examples}"
