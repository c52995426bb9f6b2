"""The values that labels may have, and what a file's own words mean on that scale."""

import zlib
from typing import Any

import streamlit as st
from pydantic import ValidationError

from core.formats.mapping.cells import items, number, on_scale, word
from core.formats.mapping.guess import Draft
from core.formats.mapping.preview import Preview
from core.labels import PREFERENCE, Scale, Value
from core.problems import FileRefused
from pages.setup.parts.chooser import Chooser, split, told

LEVELS = {"nominal": "names without an order", "ordinal": "steps in an order", "interval": "numbers at equal distances"}
PREFERENCES = {"1": "Response 1", "2": "Response 2", "0": "Neither"}
NOTHING = "no label"
SAYS, MEANS = "The file says", "It means"
MOST_WORDS = 30
"""Foreign words that are offered for translation."""
Meanings = dict[str, Value | None]


def scale(choose: Chooser, start: Draft, kind: str) -> Draft | None:
    """The values that may occur; a preference has its own."""
    if kind == "preference":
        return None
    given = start.get("scale", {})
    left, right = st.columns([1, 2], gap="medium")
    with left:
        levels = list(LEVELS)
        level = st.selectbox(
            "The values are",
            levels,
            index=levels.index(given.get("level", "ordinal")),
            format_func=LEVELS.__getitem__,
            key=choose.key("level"),
            help="Every statistic is told this, so that it knows how far apart two values are.",
        )
    with right:
        written = choose.text(
            "All values, lowest first",
            "categories",
            ", ".join(word(category) for category in given.get("categories", [])),
            placeholder="1, 2, 3, 4, 5; leave empty for any number between two ends",
        )
    if written:
        return {"level": level, "categories": [_value(text) for text in split(written)]}
    low, high = st.columns(2, gap="medium")
    return told(
        {
            "level": level,
            "low": low.number_input("Lowest", value=given.get("low"), key=choose.key("low")),
            "high": high.number_input("Highest", value=given.get("high"), key=choose.key("high")),
        }
    )


def of_a_score(prefix: str, known: Scale | None) -> Scale | None:
    """The scale of a criterion's scores; None where nothing is said of one."""
    st.caption("Where it is scored: the values that a score may have. A comparison of two responses needs none.")
    start = known.model_dump(mode="json", exclude_defaults=True) if known else {}
    given = scale(Chooser((), prefix), {"scale": start}, "score") or {}
    return _declared(given) if len(given) > 1 else None


def values(choose: Chooser, start: Draft, seen: list[str], kind: str, scale: Draft | None) -> Meanings:
    """What the file's words mean; asked for as soon as one of them is not on the scale."""
    declared = PREFERENCE if kind == "preference" else _declared(scale)
    if declared is None:
        return {}
    known: Meanings = dict(start.get("values", {}))
    foreign = [said for said in seen if said not in known and not _holds(declared, said)][:MOST_WORDS]
    if not foreign and all(value is not None and word(value) == said for said, value in known.items()):
        return known
    meanings: Meanings = {word(category): category for category in declared.categories}
    rows = [{SAYS: said, MEANS: NOTHING if value is None else word(value)} for said, value in known.items()]
    rows += [{SAYS: said, MEANS: None} for said in foreign]
    return {
        said: None if means == NOTHING else _value(means, meanings) for said, means in _table(choose, rows, meanings)
    }


def _table(choose: Chooser, rows: list[Draft], meanings: Meanings) -> list[tuple[str, str]]:
    """(what the file says, what it means) as far as it is filled in; other rows make another table."""
    st.caption("Some words in the file are not values of the scale. What do they mean?")
    found = st.data_editor(
        rows,
        num_rows="dynamic",
        hide_index=True,
        width=480,
        key=choose.key(f"values_{zlib.crc32(repr(rows).encode())}"),
        column_config={MEANS: _meaning([*meanings, NOTHING] if meanings else [])},
    )
    filled = [row for row in found if row.get(SAYS) and row.get(MEANS)]
    return [(str(row[SAYS]).strip(), row[MEANS]) for row in filled]


def _meaning(options: list[str]) -> Any:
    if not options:
        return st.column_config.TextColumn(help=f'A number, or "{NOTHING}"')
    return st.column_config.SelectboxColumn(options=options, format_func=lambda text: PREFERENCES.get(text, text))


def words(look: Preview, layout: str, where: Draft) -> list[str]:
    """The different values in the rows that were looked at."""
    columns = list(where.get("annotators", {})) if layout == "wide" else [where.get("value")]
    cells = [row[column] for row in look.rows for column in columns if row.get(column)]
    if layout == "list":
        cells = [word(one) for cell in cells for one in _listed(cell, where.get("separator"))]
    return list(dict.fromkeys(cell.strip() for cell in cells))


def _listed(cell: str, separator: str | None) -> list[Any]:
    try:
        return items(cell, 0, "", separator or None)
    except FileRefused:
        return []


def _holds(scale: Scale, said: str) -> bool:
    try:
        return on_scale(said, scale, {}, 0, "") is not None
    except FileRefused:
        return False


def _declared(scale: Draft | None) -> Scale | None:
    try:
        return Scale.model_validate(scale)
    except ValidationError:
        return None


def _value(text: str, meanings: Meanings | None = None) -> Value | None:
    """A word as the value that it spells: a number, true or false, else text."""
    if meanings and text in meanings:
        return meanings[text]
    if text in ("true", "false"):
        return text == "true"
    counted = number(text, 0, "")
    return text if counted is None else counted
