"""Cells of CSV files that spreadsheets can open without executing text as a formula."""

import re

FORMULA_START = re.compile(r"'*(?:[\t\r\n]|[\s\u200b\u2060\ufeff]*[=+\-@＝＋－＠])")
"""Text that begins so, without its apostrophes, may be executed as a formula. Some spreadsheets ignore leading blanks,
and read full-width signs as ASCII."""


def escape_formula(text: str) -> str:
    """Return text with an apostrophe before it if a spreadsheet could execute it.

    So has text with apostrophes before such a start: different texts stay different, see `unescape_formula`.
    """
    return f"'{text}" if FORMULA_START.match(text) else text


def unescape_formula(cell: str) -> str:
    """Return the text of a cell that `escape_formula` wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA_START.match(cell) else cell
