"""The scale of a criterion's scores."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from pydantic import ValidationError

from core.formats.mapping.rows import format_value, parse_number
from core.labels import Scale, Value

LEVEL_NAMES = {"nominal": "nominal: unordered", "ordinal": "ordinal: ordered", "interval": "interval: numeric"}


def drop_empty(draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft without its empty fields."""
    return {field: value for field, value in draft.items() if value not in (None, "", [], {})}


def join_commas(parts: Sequence[str]) -> str:
    """Return parts with commas between them; one with a comma or a quotation mark is in quotation marks, as in CSV."""
    return ", ".join('"' + part.replace('"', '""') + '"' if set(part) & set(',"\r\n') else part for part in parts)


def split_commas(text: str) -> list[str]:
    """Return the parts of a text between commas, without empty parts; quotation marks enclose parts with commas."""
    rows = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    return [part.strip() for cells in rows for part in cells if part.strip()]


def draw_score_scale(prefix: str, start: Mapping[str, Any]) -> dict[str, Any] | None:
    """Draw the scale; returns None if none is entered."""
    st.caption("Scale of scores. It is not needed for comparisons of two responses.")
    left, right = st.columns([1, 2], gap="medium")
    levels = list(LEVEL_NAMES)
    level = left.selectbox(
        "Level of measurement",
        levels,
        index=levels.index(start.get("level", "ordinal")),
        format_func=LEVEL_NAMES.__getitem__,
        key=f"{prefix}level",
        help="Determines which statistics are used, and the distance between two values.",
    )
    categories = right.text_input(
        "Values, lowest first",
        join_commas([format_value(category) for category in start.get("categories", [])]),
        key=f"{prefix}categories",
        placeholder="1, 2, 3, 4, 5; empty for a continuous scale",
    )
    draft: dict[str, Any] = {"level": level, "categories": [_parse_value(text) for text in split_commas(categories)]}
    if not draft["categories"]:
        low, high = st.columns(2, gap="medium")
        draft["low"] = low.number_input("Lowest", value=start.get("low"), key=f"{prefix}low")
        draft["high"] = high.number_input("Highest", value=start.get("high"), key=f"{prefix}high")
    entered = drop_empty(draft)
    if len(entered) < 2:
        return None
    try:
        return Scale.model_validate(entered).model_dump(mode="json", exclude_defaults=True)
    except ValidationError:
        return None


def _parse_value(text: str) -> Value:
    """Return a text as the value that it denotes: a number, true or false, otherwise the text."""
    if text in ("true", "false"):
        return text == "true"
    parsed = parse_number(text, 0, "")
    return text if parsed is None else parsed
