"""Cells of CSV files that spreadsheets can open without executing text as a formula."""

import re

FORMULA_START = re.compile(r"[\t\r\n]|[\s\u200b\u2060\ufeff]*[=+\-@＝＋－＠]")
"""Text that begins so may be executed as a formula. Some spreadsheets ignore leading blanks, and read full-width signs
as ASCII."""


def escape_formula(text: str) -> str:
    """Return text with an apostrophe before it if a spreadsheet could execute it."""
    return f"'{text}" if FORMULA_START.match(text) else text
