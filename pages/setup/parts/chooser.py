"""Widgets that choose among a table's columns, for the form of a mapping."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

ABSENT = "not in the file"


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

    def choose_column(
        self,
        label: str,
        field: str,
        value: str | None,
        *,
        help: str | None = None,
        other_options: dict[str, str] | None = None,
        allow_new: bool = False,
        placeholder: str = ABSENT,
    ) -> str | None:
        """Draw the choice of one column; `other_options` maps further options to their names."""
        option_names = other_options or {}
        options = list(dict.fromkeys([*option_names, *self.columns, *([value] if value else [])]))
        return st.selectbox(
            label,
            options,
            index=options.index(value) if value else None,
            format_func=lambda option: option_names.get(option, option),
            key=self.key(field),
            help=help,
            placeholder=placeholder,
            accept_new_options=allow_new,
            filter_mode="contains",
        )

    def choose_columns(
        self,
        label: str,
        field: str,
        value: str | Sequence[str] | None,
        *,
        help: str | None = None,
        allow_new: bool = False,
        placeholder: str = ABSENT,
    ) -> list[str]:
        """Draw the choice of any number of columns, which are returned in the order of selection."""
        chosen = [value] if isinstance(value, str) else list(value or ())
        return st.multiselect(
            label,
            list(dict.fromkeys([*self.columns, *chosen])),
            default=chosen,
            key=self.key(field),
            help=help,
            placeholder=placeholder,
            accept_new_options=allow_new,
        )

    def enter_text(self, label: str, field: str, value: str, *, help: str | None = None, placeholder: str = "") -> str:
        """Draw a text field; the value is returned without surrounding spaces."""
        return st.text_input(label, value, key=self.key(field), help=help, placeholder=placeholder).strip()


def one_or_list(chosen: Sequence[str]) -> str | list[str] | None:
    """Return None, one field or a list, as a mapping has it."""
    return None if not chosen else chosen[0] if len(chosen) == 1 else list(chosen)


def drop_empty(draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft without its empty fields."""
    return {field: value for field, value in draft.items() if value not in (None, "", [], {})}


def join_commas(parts: Sequence[str]) -> str:
    """Return parts with commas between them; one with a comma or a quotation mark is in quotation marks, as in CSV."""
    return ", ".join('"' + part.replace('"', '""') + '"' if set(part) & set(',"') else part for part in parts)


def split_commas(text: str) -> list[str]:
    """Return the parts of a text between commas, without empty parts; quotation marks enclose parts with commas."""
    return [part.strip() for cells in csv.reader([text], skipinitialspace=True) for part in cells if part.strip()]
