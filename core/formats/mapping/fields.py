"""References to fields of a row: dotted paths into nested data, and templates with several of them."""

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, Field, model_validator

from core.formats.text import needs_too_much
from core.formats.validation_errors import join_names
from core.frozen import Frozen

Row = Mapping[str, Any]

STEP = re.compile(r'"((?:[^"]|"")*)"(?=\.|$)|([^".]+)(?=\.|$)')
INDEX = re.compile(r"-?\d{1,9}", re.ASCII)
# The step of a path to each element of a list.
EVERY = "*"
SLICE = re.compile(r"(-?\d{1,9})?:(-?\d{1,9})?", re.ASCII)
# A path in braces; braces in a quoted key belong to the key.
BLANK = re.compile(r'\{((?:[^{}"]|"[^"]*")*(?:"[^{}"]*)?)\}')
# A path in which braces, if there are any, belong to quoted keys.
PATH = re.compile(r'(?:"(?:[^"]|"")*"|[^".{}]+)(?:\.(?:"(?:[^"]|"")*"|[^".{}]+))*')
# Blanks that are not fields: the number of the record in the file, that of the element in the exploded list (of an
# exploded object the element's key), and that of the record among those of its item; all from 1.
COUNTERS = ("row", "element", "repeat")


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
    """Return `key` as one step of a path, also in a template."""
    is_plain = key and not set(key) & set('."{}') and key not in COUNTERS
    return key if is_plain else '"' + key.replace('"', '""') + '"'


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
    return _get_inside(row, parse_path(path))


def _get_inside(value: Any, keys: Sequence[str]) -> Any:
    for number, key in enumerate(keys, 1):
        if key == EVERY and isinstance(value, list):
            found = (_get_inside(element, keys[number:]) for element in value)
            return [own for own in found if own is not MISSING and own is not None]
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
        value = parse_nested(value)
        return MISSING if value is None else _get_inner(value, key)
    if isinstance(value, list) and (index := INDEX.fullmatch(key)):
        return value[int(key)] if -len(value) <= int(index[0]) < len(value) else MISSING
    if isinstance(value, list) and (ends := SLICE.fullmatch(key)):
        return value[slice(*(int(end) if end else None for end in ends.groups()))]
    return MISSING


@lru_cache(maxsize=64)
def parse_nested(text: str) -> Any:
    """Return the list or object that a cell holds as JSON, or as Python prints it; None for other text."""
    if needs_too_much(text):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _printed_by_python(text.strip())
    return value if isinstance(value, list | dict) else None


# Characters of the longest representation that is parsed: Python's parser needs far more memory than JSON's.
MAX_PRINTED = 100_000


def _printed_by_python(text: str) -> Any:
    """Return the value of which a text is exactly the representation: `['a' 'b']` of NumPy is no list of one text."""
    if len(text) > MAX_PRINTED or text[:1] not in ("[", "{"):
        return None
    try:
        value = ast.literal_eval(text)
        is_json = json.loads(json.dumps(value)) == value  # no tuples, bytes or keys that are no texts
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if is_json and repr(value) == text else None


def is_python(text: str) -> bool:
    """Return whether a cell holds a list or an object as Python prints it, which is no JSON."""
    try:
        return text.lstrip()[:1] in ("[", "{") and bool(parse_nested(text)) and not json.loads(text)
    except (ValueError, RecursionError):
        return True


# What a mapping can refer to: a field, a template, a constant, a part of a text, or a comparison of two numbers.


class FieldName(str):
    """A dotted field path in a mapping; by this type it is found among the mapping's other texts."""

    __slots__ = ()


class FieldOrTemplate(str):
    """A field path, or a template with several of them."""

    __slots__ = ()


FieldPath = Annotated[str, AfterValidator(FieldName)]
TemplatePath = Annotated[str, AfterValidator(FieldOrTemplate)]


class Constant(Frozen):
    """A text that is the same in all rows, written as `{constant: text}`."""

    constant: str


class Excerpt(Frozen):
    """A part of a field's text, written as `{field: output, after_last: "[RESULT]"}`."""

    field: FieldPath
    after_last: str | None = Field(default=None, min_length=1)
    """Only the text after the last occurrence; a text without it has no such part."""
    after_first: str | None = Field(default=None, min_length=1)
    before_last: str | None = Field(default=None, min_length=1)
    """Only the text before the last occurrence (in what is left); a text without it has no such part."""
    before_first: str | None = Field(default=None, min_length=1)
    first_words: int | None = Field(default=None, ge=1)
    """Only so many words, without the punctuation after them: `Text 1` of `Text 1, it is better.`"""
    remove: tuple[str, ...] = ()
    """Texts that are removed wherever they occur, such as marks."""
    divider: str | None = Field(default=None, min_length=1)
    """What divides the text into parts, of which one is meant."""
    number: int | None = Field(default=None, ge=1)
    """The number of this part, from 1."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.marks or self.first_words or self.divider or any(self.remove)):
            names = "`after_last`, `after_first`, `before_last`, `before_first`, `first_words`, `remove` or `divider`"
            raise ValueError(f"a part of a field needs {names}")
        if (self.divider is None) != (self.number is None):
            raise ValueError("a part between dividers needs `divider` and `number`")
        return self

    @property
    def marks(self) -> list[str]:
        """The texts at which the field's text is cut."""
        return [*filter(None, (self.after_last, self.after_first, self.before_last, self.before_first))]

    def cut(self, text: str) -> str | None:
        """Return the part of a text, without surrounding blanks if it was cut; None if it has no such part."""
        for mark, is_after, is_last in (
            (self.after_last, True, True),
            (self.after_first, True, False),
            (self.before_last, False, True),
            (self.before_first, False, False),
        ):
            if mark is not None:
                if mark not in text:
                    return None
                before, _, after = text.rpartition(mark) if is_last else text.partition(mark)
                text = (after if is_after else before).strip()
        if self.first_words is not None:
            text = " ".join(text.split()[: self.first_words]).rstrip(".,;:!?")
        for part in filter(None, self.remove):
            text = text.replace(part, "")
        if self.divider is None or self.number is None:
            return text
        parts = text.split(self.divider)
        return parts[self.number - 1].strip() if self.number <= len(parts) else None

    def describe(self) -> str:
        """Return the field with how its text is cut."""
        cuts = self.model_dump(mode="json", exclude_defaults=True, exclude={"field"})
        return f"{self.field} ({', '.join(f'{name} {value!r}' for name, value in cuts.items())})"


class Comparison(Frozen):
    """A preference from two numbers, written as `{compare: [score_a, score_b]}`: the higher one is preferred."""

    compare: tuple[FieldPath | Constant, FieldPath | Constant]
    margin: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Numbers that differ by no more are a tie."""
    lower_is_better: bool = False


class SystemName(Frozen):
    """A preference for the response of a system, written as `{system: winner}`: the field has the system's name."""

    system: FieldPath


# A field path, a template such as "{dialogue}-{element}", a constant, or a part of a field.
Source = TemplatePath | Constant | Excerpt
# Where a value is: a field path, a part of a field, a comparison, a system's name, or a constant of all rows.
ValueSource = FieldPath | Constant | Excerpt | Comparison | SystemName


def source_name(source: ValueSource | None) -> str:
    """Return the name of a source in messages."""
    match source:
        case Constant(constant=text):
            return text
        case Excerpt(field=path) | SystemName(system=path):
            return path
        case Comparison(compare=sides):
            return " and ".join(source_name(side) for side in sides)
    return source or ""


# Renders a conversation in a cell, a list of messages with roles, as one text.

CONTENT_KEYS = ("content", "value", "text", "utterance", "message")
CALL_KEYS = ("tool_calls", "function_call")
ROLE_KEYS = ("role", "from", "speaker", "author", "sender_class", "sender_type", "sender")


def render_messages(cell: Any) -> str | None:
    """Return `role: content` for each message, separated by blank lines; None if the cell is no conversation.

    A single message is its content. Messages are objects with a text under one of CONTENT_KEYS and a name under one of
    ROLE_KEYS; the text may be a list of parts such as `{"type": "text", "text": ...}`.
    """
    messages = cell if isinstance(cell, list) else [cell]
    parts = [_message(message) for message in messages]
    if not parts or None in parts:
        return None
    pairs = [part for part in parts if part is not None]
    return pairs[0][1] if len(pairs) == 1 else "\n\n".join(f"{role}: {content}" for role, content in pairs)


def _message(message: Any) -> tuple[str, str] | None:
    """Return (role, content); None for what is no message, and for one that calls a tool."""
    if not isinstance(message, dict) or any(message.get(key) for key in CALL_KEYS):
        return None
    role = next((message[key] for key in ROLE_KEYS if isinstance(message.get(key), str)), None)
    content = next((message[key] for key in CONTENT_KEYS if key in message), None)
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else None for part in content]
        content = "\n\n".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None
    return (role, content) if role is not None and isinstance(content, str) else None
