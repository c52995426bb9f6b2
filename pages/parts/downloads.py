"""CSV downloads of figures, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from typing import Any

import streamlit as st

from core.formats.spreadsheet import escape_formula


def csv_text(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV; text that a spreadsheet would run as a formula gets a leading apostrophe."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(value) for value in line] for line in lines)
    return stream.getvalue()


def dataclass_csv(row_type: type[Any], rows: Iterable[Any]) -> str:
    """Return instances of a flat dataclass as CSV, one column per field."""
    return csv_text([field.name for field in fields(row_type)], (astuple(row) for row in rows))


def draw_csv_download(text: str, file_name: str) -> None:
    """Draw the button that downloads `text`."""
    st.download_button(
        "Download as CSV",
        text,
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="download",
    )


def _cell(value: object) -> object:
    return escape_formula(value) if isinstance(value, str) else value
