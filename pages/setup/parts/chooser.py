"""Choosing among a table's columns: the widgets from which a mapping is made."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.formats.mapping.mapping import several as listed

ABSENT = "not in the file"


@dataclass(frozen=True)
class Chooser:
    """Columns, and what the keys of this form's widgets begin with."""

    columns: tuple[str, ...]
    prefix: str

    def within(self, name: str) -> "Chooser":
        """The same columns for a part of the form."""
        return Chooser(self.columns, f"{self.prefix}{name}_")

    def key(self, field: str) -> str:
        """The key of a field's widget."""
        return f"{self.prefix}{field}"

    def one(
        self,
        label: str,
        field: str,
        value: str | None,
        *,
        help: str | None = None,
        also: dict[str, str] | None = None,
        new: bool = False,
        empty: str = ABSENT,
    ) -> str | None:
        """One column; `also` are other choices with their words, `new` lets a person type something else."""
        words = also or {}
        options = list(dict.fromkeys([*words, *self.columns, *([value] if value else [])]))
        return st.selectbox(
            label,
            options,
            index=options.index(value) if value else None,
            format_func=lambda option: words.get(option, option),
            key=self.key(field),
            help=help,
            placeholder=empty,
            accept_new_options=new,
            filter_mode="contains",
        )

    def several(
        self,
        label: str,
        field: str,
        value: str | Sequence[str] | None,
        *,
        help: str | None = None,
        new: bool = False,
        empty: str = ABSENT,
    ) -> list[str]:
        """Any number of columns, in the order in which they are chosen."""
        chosen = list(listed(value if value is None or isinstance(value, str) else tuple(value)))
        return st.multiselect(
            label,
            list(dict.fromkeys([*self.columns, *chosen])),
            default=chosen,
            key=self.key(field),
            help=help,
            placeholder=empty,
            accept_new_options=new,
        )

    def text(self, label: str, field: str, value: str, *, help: str | None = None, placeholder: str = "") -> str:
        """Something to type."""
        return st.text_input(label, value, key=self.key(field), help=help, placeholder=placeholder).strip()


def single(chosen: Sequence[str]) -> str | list[str] | None:
    """As a mapping writes it: nothing, one field, or a list of them."""
    return None if not chosen else chosen[0] if len(chosen) == 1 else list(chosen)


def told(draft: dict[str, object]) -> dict[str, object]:
    """A draft without what was left open."""
    return {field: value for field, value in draft.items() if value not in (None, "", [], {})}


def split(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]
