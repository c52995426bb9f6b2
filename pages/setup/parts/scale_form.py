"""The scale of labels, and the translation of a file's values to that scale."""

import csv
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import streamlit as st
from pydantic import ValidationError

from core.errors import FileFormatError
from core.formats.mapping.guess import Draft
from core.formats.mapping.preview import Preview
from core.formats.mapping.rows import format_value, parse_label, parse_list, parse_number
from core.labels import PREFERENCE, Scale, Value
from pages.parts.numbers import RESPONSE_NAMES

# Widgets that choose among a table's columns, for the form of a mapping.

ABSENT = "not in the file"


@dataclass(frozen=True)
class Field:
    """A field of a mapping whose value is a column, or several."""

    name: str
    label: str
    help: str = ""
    several: bool = False
    """Whether columns are returned in the order of selection, as a mapping has them: none, one or a list."""
    allow_new: bool = False
    placeholder: str = ABSENT
    others: Mapping[str, str] = dataclass_field(default_factory=dict)  # further options -> their names


def _by_text(sources: Sequence[Any]) -> dict[str, Any]:
    """Return option -> source: a column, or a constant or a part of a column as it was loaded."""
    return {own if isinstance(own, str) else json.dumps(own, ensure_ascii=False): own for own in sources}


@dataclass(frozen=True)
class Chooser:
    """The columns of a table, and the prefix of the widgets' keys."""

    columns: tuple[str, ...]
    prefix: str

    def nested(self, name: str) -> "Chooser":
        """Return a chooser of the same columns for a part of the form."""
        return Chooser(self.columns, f"{self.prefix}{name}_")

    def key(self, field: str) -> str:
        """Return the key of a field's widget."""
        return f"{self.prefix}{field}"

    def choose_row(self, fields: Sequence[Field], start: Mapping[str, Any]) -> dict[str, Any]:
        """Draw the choices of fields side by side; returns field -> what a mapping has."""
        places = st.columns(len(fields), gap="medium")
        chosen: dict[str, Any] = {}
        for place, field in zip(places, fields, strict=True):
            with place:
                value = start.get(field.name)
                if field.several:
                    columns = self.choose_columns(field, [value] if isinstance(value, str | dict) else value or ())
                    chosen[field.name] = columns[0] if len(columns) == 1 else columns or None
                else:
                    chosen[field.name] = self.choose_column(field, value)
        return chosen

    def choose_column(self, field: Field, value: Any) -> Any:
        """Draw the choice of one column."""
        loaded = _by_text([value] if value else [])
        options = list(dict.fromkeys([*field.others, *self.columns, *loaded]))
        chosen = st.selectbox(
            field.label,
            options,
            index=options.index(next(iter(loaded))) if loaded else None,
            format_func=lambda option: field.others.get(option, option),
            key=self.key(field.name),
            help=field.help or None,
            placeholder=field.placeholder,
            accept_new_options=field.allow_new,
            filter_mode="contains",
        )
        return loaded.get(chosen or "", chosen)

    def choose_columns(self, field: Field, chosen: Sequence[Any]) -> list[Any]:
        """Draw the choice of any number of columns, which are returned in the order of selection."""
        loaded = _by_text(chosen)
        columns = st.multiselect(
            field.label,
            list(dict.fromkeys([*self.columns, *loaded])),
            default=list(loaded),
            key=self.key(field.name),
            help=field.help or None,
            placeholder=field.placeholder,
            accept_new_options=field.allow_new,
        )
        return [loaded.get(column, column) for column in columns]

    def enter_text(self, label: str, field: str, value: str, *, help: str | None = None, placeholder: str = "") -> str:
        """Draw a text field; the value is returned without surrounding spaces."""
        return st.text_input(label, value, key=self.key(field), help=help, placeholder=placeholder).strip()


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


LEVEL_NAMES = {"nominal": "nominal: unordered", "ordinal": "ordinal: ordered", "interval": "interval: numeric"}
PREFERENCE_NAMES = {str(value): name for value, name in RESPONSE_NAMES.items()}
NO_LABEL = "no label"
FILE_COLUMN, VALUE_COLUMN = "Value in the file", "Value on the scale"
MAX_FOREIGN_VALUES = 30  # values that are offered for translation
Meanings = dict[str, Value | None]


def draw_scale(chooser: Chooser, start: Draft, kind: str) -> Draft | None:
    """Draw the scale of a kind of labels; returns None for preferences, whose scale is fixed."""
    if kind == "preference":
        return None
    initial = start.get("scale", {})
    left, right = st.columns([1, 2], gap="medium")
    with left:
        levels = list(LEVEL_NAMES)
        level = st.selectbox(
            "Level of measurement",
            levels,
            index=levels.index(initial.get("level", "ordinal")),
            format_func=LEVEL_NAMES.__getitem__,
            key=chooser.key("level"),
            help="Determines which statistics are used, and the distance between two values.",
        )
    with right:
        categories_text = chooser.enter_text(
            "Values, lowest first",
            "categories",
            join_commas([format_value(category) for category in initial.get("categories", [])]),
            placeholder="1, 2, 3, 4, 5; empty for a continuous scale",
        )
    if categories_text:
        return {"level": level, "categories": [_parse_value(text) for text in split_commas(categories_text)]}
    low, high = st.columns(2, gap="medium")
    return drop_empty(
        {
            "level": level,
            "low": low.number_input("Lowest", value=initial.get("low"), key=chooser.key("low")),
            "high": high.number_input("Highest", value=initial.get("high"), key=chooser.key("high")),
        }
    )


def draw_score_scale(prefix: str, start: Draft) -> Draft | None:
    """Draw the scale of a criterion's scores; returns None if none is entered."""
    st.caption("Scale of scores. It is not needed for comparisons of two responses.")
    draft = draw_scale(Chooser((), prefix), {"scale": start}, "score") or {}
    scale = _validated_scale(draft) if len(draft) > 1 else None
    return None if scale is None else scale.model_dump(mode="json", exclude_defaults=True)


def draw_values(
    chooser: Chooser, start: Draft, file_values: list[str], kind: str, scale: Draft | None, *, none: str = NO_LABEL
) -> Meanings:
    """Return the translations of a file's values; draws them if a value is not on the scale.

    `none` is the name of the translation to no value.
    """
    valid_scale = PREFERENCE if kind == "preference" else _validated_scale(scale)
    if valid_scale is None:
        return {}
    translations: Meanings = dict(start.get("values", {}))
    foreign = [text for text in file_values if text not in translations and not _is_on_scale(valid_scale, text)]
    if not foreign and all(value is not None and format_value(value) == text for text, value in translations.items()):
        return translations
    if foreign:
        st.caption("Some values in the file are not on the scale. Translate them:")
    meanings: Meanings = {format_value(category): category for category in valid_scale.categories}
    rows: list[Draft] = [
        {FILE_COLUMN: text, VALUE_COLUMN: none if value is None else format_value(value)}
        for text, value in translations.items()
    ]
    rows += [{FILE_COLUMN: text, VALUE_COLUMN: None} for text in foreign[:MAX_FOREIGN_VALUES]]
    return {
        text: None if meaning == none else _parse_value(meaning, meanings)
        for text, meaning in _draw_translations(chooser, rows, meanings, none)
    }


def _draw_translations(chooser: Chooser, rows: list[Draft], meanings: Meanings, none: str) -> list[tuple[str, str]]:
    """Draw a table of translations; returns (value in the file, value on the scale) of the filled rows.

    The key depends on the rows, because a data editor keeps its edits for one key.
    """
    column = st.column_config.TextColumn(help=f'A number, or "{none}"')
    if meanings:
        column = st.column_config.SelectboxColumn(
            options=[*meanings, none], format_func=lambda text: PREFERENCE_NAMES.get(str(text), str(text))
        )
    edited = st.data_editor(
        rows,
        num_rows="dynamic",
        hide_index=True,
        width=480,
        placeholder="(choose)",
        key=chooser.key(f"values_{zlib.crc32(repr(rows).encode())}"),
        column_config={VALUE_COLUMN: column},
    )
    filled = [row for row in edited if row.get(FILE_COLUMN) and row.get(VALUE_COLUMN)]
    return [(str(row[FILE_COLUMN]).strip(), row[VALUE_COLUMN]) for row in filled]


def distinct_values(preview: Preview, layout: str, columns_draft: Draft) -> list[str]:
    """Return the distinct values of the labels in the preview."""
    columns: list[str] = list(columns_draft.get("annotators", {}))
    if layout != "wide":
        columns = [columns_draft.get("value") or ""]
    cells = [row[column] for row in preview.rows for column in columns if row.get(column)]
    if layout == "list":
        separator = columns_draft.get("separator")
        cells = [format_value(element) for cell in cells for element in _split_cell(cell, separator)]
    return list(dict.fromkeys(cell.strip() for cell in cells))


def _split_cell(cell: str, separator: str | None) -> list[Any]:
    try:
        return parse_list(cell, 0, "", separator or None)
    except FileFormatError:
        return []


def _is_on_scale(scale: Scale, text: str) -> bool:
    try:
        return parse_label(text, scale, {}, 0, "") is not None
    except FileFormatError:
        return False


def _validated_scale(scale: Draft | None) -> Scale | None:
    try:
        return Scale.model_validate(scale)
    except ValidationError:
        return None


def _parse_value(text: str, meanings: Meanings | None = None) -> Value | None:
    """Return a text as the value that it denotes: a number, true or false, otherwise the text."""
    if meanings and text in meanings:
        return meanings[text]
    if text in ("true", "false"):
        return text == "true"
    parsed = parse_number(text, 0, "")
    return text if parsed is None else parsed
