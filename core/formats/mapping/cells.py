"""What a cell says: text, a number, or a value on a declared scale."""

import json
import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from core.formats.mapping.fields import Missing
from core.formats.validation_errors import listed, shown
from core.labels import Scale, Value
from core.problems import FileRefused

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SURROGATE = re.compile("[\ud800-\udfff]")
LARGEST = 10**15
"""Beyond it a spreadsheet, JSON and a float no longer tell neighbours apart."""


def text(cell: Any, line: int, field: str) -> str | None:
    """Text as it stands, a number or a date written out; None where nothing is said."""
    if cell is None or isinstance(cell, Missing) or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool | int | float | Decimal | datetime | date | time):
        return word(cell)
    if not isinstance(cell, str):
        raise FileRefused(f"expected text or a number, not {_kind(cell)}", line=line, field=field)
    if fault := unstorable(cell):
        raise FileRefused(f"expected text without {fault}", line=line, field=field)
    return cell


def unstorable(text: str) -> str:
    """What JSON can spell and a database cannot store; empty where all is well."""
    if "\x00" in text:
        return "NUL characters"
    if not text.isascii() and SURROGATE.search(text):
        return "half of a surrogate pair"
    return ""


def name(cell: Any, line: int, field: str) -> str:
    """Text that must say something, without the blanks around it."""
    found = (text(cell, line, field) or "").strip()
    if not found:
        raise FileRefused("expected a name or a number, and it is empty", line=line, field=field)
    return found


def word(value: Any) -> str:
    """How a value is written in a file: true, 3 (also for 3.0), 2.5, text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST:
        return str(int(value))
    return str(value).strip()


def is_empty(cell: Any) -> bool:
    """A label cell that holds no label."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or isinstance(cell, Missing) or (isinstance(cell, str) and not cell.strip())


def number(cell: Any, line: int, field: str) -> int | float | None:
    """The number that a cell holds or spells; None where it does not; raises FileRefused for one too large."""
    if isinstance(cell, str) and NUMBER.fullmatch(cell.strip()):
        spelled = cell.strip()
        cell = float(spelled) if len(spelled) > 15 or not spelled.lstrip("+-").isdecimal() else int(spelled)
    if isinstance(cell, Decimal):
        cell = float(cell)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    if not abs(cell) <= LARGEST:
        raise FileRefused(f"expected a number of at most 15 digits, not {shown(cell)}", line=line, field=field)
    return cell


def items(cell: Any, line: int, field: str, separator: str | None = None) -> list[Any]:
    """The list in a cell: a list, a JSON list written as text, or text split at `separator`."""
    if is_empty(cell):
        return []
    if isinstance(cell, str):
        cell = _spelled(cell, separator)
    if not isinstance(cell, list):
        raise FileRefused(f"expected a list, not {_kind(cell)}", line=line, field=field)
    return cell


def on_scale(cell: Any, scale: Scale, translations: Mapping[str, Value | None], line: int, field: str) -> Value | None:
    """The value of a label's cell: translated, else on the scale as it is; None where it holds no label."""
    if is_empty(cell):
        return None
    spelled = word(cell) if isinstance(cell, str | bool | int | float) else ""
    if spelled in translations:
        return translations[spelled]
    value = _category(cell, spelled, scale, line, field) if scale.categories else number(cell, line, field)
    if value is None or not scale.holds(value):
        raise FileRefused(f"expected {_wanted(scale, translations)}, not {shown(cell)}", line=line, field=field)
    return value


def _category(cell: Any, spelled: str, scale: Scale, line: int, field: str) -> Value | None:
    """By spelling: 3, 3.0 and "3" are the category 3, and True is not 1."""
    known: dict[str, Value] = {word(category): category for category in scale.categories}
    if spelled in known:
        return known[spelled]
    if spelled.lower() in ("true", "false") and isinstance(known.get(spelled.lower()), bool):
        return known[spelled.lower()]
    counted = number(cell, line, field)
    return None if counted is None else known.get(word(counted))


def _wanted(scale: Scale, translations: Mapping[str, Value | None]) -> str:
    if scale.categories:
        return f"one of {listed([*map(word, scale.categories), *translations])}"
    low = "" if scale.low is None else f" from {word(scale.low)}"
    return f"a number{low}{'' if scale.high is None else f' to {word(scale.high)}'}"


def _spelled(cell: str, separator: str | None) -> Any:
    if separator is not None:
        return [part.strip() for part in cell.split(separator)]
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def _kind(cell: Any) -> str:
    if isinstance(cell, list):
        return "a list"
    return "named fields" if isinstance(cell, dict) else "bytes" if isinstance(cell, bytes) else shown(cell)
