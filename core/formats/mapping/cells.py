"""Parses the cells of a table: text, numbers, lists, and values on a declared scale."""

import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from core.annotator_names import normalize_name
from core.errors import FileFormatError, TiebreakError
from core.formats.mapping.fields import Missing
from core.formats.text import needs_too_much
from core.formats.validation_errors import join_names, quote_value
from core.labels import Scale, Value

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_DIGITS = 15
MAX_NUMBER = 10**MAX_DIGITS
"""Larger whole numbers are rounded by spreadsheets, by JSON in browsers, and by Python's floats."""


class DecimalComma(str):
    """The text of a cell that is a number with a decimal comma, such as `3,5`."""

    __slots__ = ()


def parse_text(cell: Any, line: int, field: str) -> str | None:
    """Return the cell as text, with numbers and dates formatted; None for an empty or missing one."""
    if type(cell) is str and not find_unstorable(cell):  # most cells
        return cell
    if cell is None or isinstance(cell, Missing) or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool | int | float | Decimal | datetime | date | time):
        return format_value(cell)
    if not isinstance(cell, str):
        raise FileFormatError(f"expected text or a number, not {_describe(cell)}", line=line, field=field)
    if content := find_unstorable(cell):
        raise FileFormatError(f"expected text without {content}", line=line, field=field)
    return str(cell)


def find_unstorable(text: str) -> str:
    """Return the part of a text that JSON can represent and a database cannot store; empty if there is none."""
    if "\x00" in text:
        return "NUL characters"
    if not text.isascii() and SURROGATE.search(text):
        return "half of a surrogate pair"
    return ""


def parse_name(cell: Any, line: int, field: str) -> str:
    """Return text without surrounding blanks; raises FileFormatError for an empty cell."""
    text = (parse_text(cell, line, field) or "").strip()
    if not text:
        raise FileFormatError("expected a name or a number, and it is empty", line=line, field=field)
    return text


def check_annotator(name: str, line: int, field: str) -> None:
    """Raise FileFormatError for a name that cannot be stored as an annotator's."""
    try:
        normalize_name(name)
    except TiebreakError as error:
        raise FileFormatError(f"{str(error).rstrip('.')}: {quote_value(name)}", line=line, field=field) from None


def format_value(value: Any) -> str:
    """Return a value as it is written in a file: true, 3 (also for 3.0), 2.5, text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_NUMBER:
        return str(int(value))
    return str(value).strip()


def is_empty(cell: Any) -> bool:
    """Return whether a label's cell contains no label."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or isinstance(cell, Missing) or (isinstance(cell, str) and not cell.strip())


def parse_number(cell: Any, line: int, field: str) -> int | float | None:
    """Return the cell's number, also from text, or None if it is not a number.

    Raises FileFormatError beyond MAX_NUMBER.
    """
    if isinstance(cell, DecimalComma):
        cell = cell.replace(",", ".")
    if isinstance(cell, str) and NUMBER.fullmatch(cell.strip()):
        digits = cell.strip()
        # Long texts become floats first: converting thousands of digits to int takes quadratic time.
        is_whole = len(digits) <= MAX_DIGITS and digits.lstrip("+-").isdecimal()
        cell = int(digits) if is_whole else float(digits)
    if isinstance(cell, Decimal):
        cell = float(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    if not abs(cell) <= MAX_NUMBER:
        message = f"expected a number of at most {MAX_DIGITS} digits, not {quote_value(cell)}"
        raise FileFormatError(message, line=line, field=field)
    return cell


def parse_list(cell: Any, line: int, field: str, separator: str | None = None) -> list[Any]:
    """Return the list in a cell: a list, a JSON list written as text, or text split at `separator`."""
    if is_empty(cell):
        return []
    if isinstance(cell, str):
        cell = _parse_list_text(cell, separator)
    if not isinstance(cell, list):
        raise FileFormatError(f"expected a list, not {_describe(cell)}", line=line, field=field)
    return cell


def parse_label(
    cell: Any, scale: Scale, translations: Mapping[str, Value | None], line: int, field: str
) -> Value | None:
    """Return a label's value, translated or on the scale as written; None if the cell contains no label."""
    if is_empty(cell):
        return None
    text = format_value(cell) if isinstance(cell, str | bool | int | float) else ""
    if text in translations:
        return translations[text]
    value = _find_category(cell, text, scale, line, field) if scale.categories else parse_number(cell, line, field)
    if value is None or not scale.contains(value):
        message = f"expected {_describe_scale(scale, translations)}, not {quote_value(cell)}"
        raise FileFormatError(message, line=line, field=field)
    return value


def _find_category(cell: Any, text: str, scale: Scale, line: int, field: str) -> Value | None:
    """Return the category with the cell's spelling: 3, 3.0 and "3" are the category 3, but True is not 1."""
    categories: dict[str, Value] = {format_value(category): category for category in scale.categories}
    if text in categories:
        return categories[text]
    if text.lower() in ("true", "false") and isinstance(categories.get(text.lower()), bool):
        return categories[text.lower()]
    number = parse_number(cell, line, field)
    return None if number is None else categories.get(format_value(number))


def _describe_scale(scale: Scale, translations: Mapping[str, Value | None]) -> str:
    if scale.categories:
        return f"one of {join_names([*map(format_value, scale.categories), *translations])}"
    low = "" if scale.low is None else f" from {format_value(scale.low)}"
    return f"a number{low}{'' if scale.high is None else f' to {format_value(scale.high)}'}"


def _parse_list_text(text: str, separator: str | None) -> Any:
    if separator is not None:
        return [part.strip() for part in text.split(separator)]
    if needs_too_much(text):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _describe(cell: Any) -> str:
    if isinstance(cell, list):
        return "a list"
    return "named fields" if isinstance(cell, dict) else "bytes" if isinstance(cell, bytes) else quote_value(cell)
