"""References to fields of a row: dotted paths into nested data, and templates with several of them."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from core.formats.text import needs_too_much
from core.formats.validation_errors import join_names

Row = Mapping[str, Any]

STEP = re.compile(r'"((?:[^"]|"")*)"(?=\.|$)|([^".]+)(?=\.|$)')
INDEX = re.compile(r"-?\d{1,9}", re.ASCII)
SLICE = re.compile(r"(-?\d{1,9})?:(-?\d{1,9})?", re.ASCII)
BLANK = re.compile(r'\{((?:[^{}"]|"[^"]*")*(?:"[^{}"]*)?)\}')
"""A path in braces; braces in a quoted key belong to the key."""
PATH = re.compile(r'(?:"(?:[^"]|"")*"|[^".{}]+)(?:\.(?:"(?:[^"]|"")*"|[^".{}]+))*')
"""A path in which braces, if there are any, belong to quoted keys."""
COUNTERS = ("row", "element", "repeat")
"""Blanks that are not fields: the number of the record in the file, that of the element in the exploded list (of an
exploded object the element's key), and that of the record among those of its item; all from 1."""


class Missing:
    """The type of MISSING: the row has no such field. A field that is present and empty is None."""


MISSING: Final = Missing()


@lru_cache(maxsize=1024)
def parse_path(path: str) -> tuple[str, ...]:
    """Return the keys of a path. A key with a dot, a brace or a quote is in double quotes, and `""` is a quote in them.

    Raises ValueError for an invalid path.
    """
    keys, position = [], 0
    while match := STEP.match(path, position):
        keys.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        position = match.end()
        if position == len(path):
            return tuple(keys)
        position += 1  # the dot
    raise ValueError(
        f"{path!r} is not a field path: keys joined by dots. A key with a dot, a brace or a double quote is in double "
        f"quotes, and each double quote in it is written twice; a column with this name is, in YAML, "
        f"{spell_path(quote_key(path))}"
    )


def quote_key(key: str) -> str:
    """Return `key` as one step of a path."""
    return key if key and not set(key) & set('."{}') else '"' + key.replace('"', '""') + '"'


def key_of(column: str) -> str:
    """Return the name of a field without the quotes of its path; keys of nested fields are joined by dots.

    A text that is no path is returned as it is.
    """
    try:
        return ".".join(parse_path(column))
    except ValueError:
        return column


def spell_path(path: str) -> str:
    """Return a path as a mapping in YAML has it, on one line: quoted if YAML needs it."""
    from core.formats.plain_yaml import dump_text  # reading a table with an existing mapping does not need YAML

    return dump_text(path)


def join_keys(keys: Iterable[object]) -> str:
    """Return names of fields for a message, each as a mapping in YAML has it."""
    return join_names([spell_path(quote_key(str(key))) for key in keys])


def get_value(row: Row, path: str) -> Any:
    """Return the value at `path`, or MISSING.

    A key equal to the whole path takes precedence: names of columns can contain dots. A key of the path that is not
    there is looked up without its surrounding blanks, which names of columns in delimited text do not have.
    """
    if path in row:
        return row[path]
    if (stripped := path.strip()) in row:
        return row[stripped]
    value: Any = row
    for key in parse_path(path):
        value = _get_inner(value, key)
    return value


def template_fields(template: str) -> list[str]:
    """Return the field paths in a template such as "{dialogue}-{element}", without the counters."""
    return [name for name in BLANK.findall(template) if name not in COUNTERS]


@lru_cache(maxsize=1024)  # a mapping has few sources, which are resolved for every row
def is_template(source: str) -> bool:
    """Return whether `source` is a template rather than a field path."""
    return PATH.fullmatch(source) is None and bool(BLANK.search(source))


def _get_inner(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value[key] if key in value else value.get(key.strip(), MISSING)
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        value = _parse_nested(value)
        return MISSING if value is None else _get_inner(value, key)
    if isinstance(value, list) and (index := INDEX.fullmatch(key)):
        return value[int(key)] if -len(value) <= int(index[0]) < len(value) else MISSING
    if isinstance(value, list) and (ends := SLICE.fullmatch(key)):
        return value[slice(*(int(end) if end else None for end in ends.groups()))]
    return MISSING


@lru_cache(maxsize=64)
def _parse_nested(text: str) -> Any:
    """Return the list or object that a cell holds as JSON; None for other text."""
    if needs_too_much(text):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None
