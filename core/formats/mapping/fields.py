"""Where a value stands in a row: dotted paths into nested data, and templates that are put together from them."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

Row = Mapping[str, Any]

STEP = re.compile(r'"((?:[^"]|"")*)"(?=\.|$)|([^".]+)(?=\.|$)')
BLANK = re.compile(r"\{([^{}]*)\}")
NUMBERS = ("row", "element")
"""Blanks that are not fields: which record of the file, and which element of the exploded list, both from 1."""


class Missing:
    """There is no such field; None is a field that says nothing."""


MISSING: Final = Missing()


@lru_cache(maxsize=1024)
def steps(path: str) -> tuple[str, ...]:
    """The keys that `path` goes through; a key that holds a dot stands in double quotes, and `""` is a quote in it.

    Raises ValueError for a path that is not one.
    """
    found, at = [], 0
    while match := STEP.match(path, at):
        found.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        at = match.end()
        if at == len(path):
            return tuple(found)
        at += 1  # the dot
    raise ValueError(f"{path!r} is not a field path: keys joined by dots, and a key that holds a dot in double quotes")


def quoted(key: str) -> str:
    """`key` as one step of a path."""
    return key if key and "." not in key and '"' not in key else '"' + key.replace('"', '""') + '"'


def find(row: Row, path: str) -> Any:
    """The value at `path`, or MISSING. A key that is spelled like the whole path comes first: columns hold dots too."""
    if path in row:
        return row[path]
    value: Any = row
    for step in steps(path):
        value = _inner(value, step)
    return value


def blanks(template: str) -> list[str]:
    """The field paths in a template like "{dialogue}-{element}", without the numbers."""
    return [name for name in BLANK.findall(template) if name not in NUMBERS]


def is_template(source: str) -> bool:
    """Whether `source` is a template rather than a field path."""
    return bool(BLANK.search(source))


def _inner(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, MISSING)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return MISSING
