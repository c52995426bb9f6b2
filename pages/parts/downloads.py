"""CSV downloads of figures, safe to open in a spreadsheet."""

from collections.abc import Iterable
from dataclasses import astuple, fields
from typing import Any

import streamlit as st

from core.formats.tables import csv_text


def dataclass_csv(row_type: type[Any], rows: Iterable[Any]) -> str:
    """Return instances of a flat dataclass as CSV, one column per field."""
    return csv_text([field.name for field in fields(row_type)], (astuple(row) for row in rows))


def draw_csv_download(text: str, file_name: str, key: str = "download") -> None:
    """Draw the button that downloads `text`."""
    st.download_button(
        "Download as CSV",
        text,
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=key,
    )
