"""The fields available to one item of a table: its row, or an element of the row's list together with the row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from core.errors import FileFormatError
from core.formats.mapping.fields import (
    BLANK,
    COUNTERS,
    MISSING,
    Comparison,
    Constant,
    Excerpt,
    FieldPath,
    Row,
    Source,
    SystemName,
    ValueSource,
    get_value,
    is_template,
    join_keys,
    parse_path,
    render_messages,
)
from core.formats.mapping.mapping import (
    GoldBlock,
    JudgeBlock,
    Labels,
    Mapping,
    block_paths,
    field_paths,
    response_paths,
)
from core.formats.mapping.rows import is_empty, parse_list, parse_number, parse_text
from core.formats.validation_errors import quote_value

EVERY_KEY = "*"
"""Explodes the record itself: each of its fields is an item, such as {"q1": {...}, "q2": {...}}."""
EVERY_ELEMENT = "*.*"
"""Explodes the record and then its lists: `{"sysA": [{...}, {...}], "sysB": [...]}`. The element is the key, and
`position` the number in the list, from 1, if the element has no such field."""
WHOLE_RECORD = (EVERY_KEY, EVERY_ELEMENT)


@dataclass(frozen=True, slots=True)
class Scope:
    """The fields of one item and their location in the file."""

    row: Row
    line: int
    number: int
    """The number of the record in the file, from 1."""
    element: int | str = 1
    """The number of the element in the exploded list, from 1, or its key in the exploded object."""
    repeat: int = 1
    """The number of the record among those of its item, from 1."""
    systems: tuple[str | None, ...] = ()
    """The systems of the item's responses."""

    def get(self, path: str) -> Any:
        """Return the value at `path`, or MISSING."""
        return get_value(self.row, path)

    def text(self, path: FieldPath | Excerpt) -> str | None:
        """Return the text at a path, of messages too, or a part of it; None for an empty or missing field."""
        if isinstance(path, Excerpt):
            text = self.text(path.field)
            return None if text is None else path.cut(text) or None
        cell = get_value(self.row, path)
        if (
            not isinstance(cell, str)
            and isinstance(cell, list | dict)
            and (rendered := render_messages(cell)) is not None
        ):
            cell = rendered
        return parse_text(cell, self.line, path)

    def resolve(self, source: Source) -> str | None:
        """Return a constant, or the text of a field path, of a part of it, or of a template.

        Raises FileFormatError for an empty field in a template.
        """
        if isinstance(source, Constant):
            return source.constant
        if isinstance(source, Excerpt) or not is_template(source):
            return self.text(source)
        return BLANK.sub(lambda blank: self._fill(blank[1]), source)

    def cell(self, source: ValueSource) -> Any:
        """Return the cell of a value, or MISSING; of a comparison 1, 2, 0 for a tie, or None without both numbers."""
        match source:
            case str():
                return self.get(source)
            case Comparison():
                return self._compare(source)
            case Constant():
                return source.constant
            case SystemName():
                name = self.text(source.system)
                return self.systems.index(name) + 1 if name is not None and self.systems.count(name) == 1 else name
        return MISSING if self.get(source.field) is MISSING else self.text(source)

    def _compare(self, comparison: Comparison) -> int | None:
        numbers = [self._number(side) for side in comparison.compare]
        if numbers[0] is None or numbers[1] is None:
            return None
        difference = (numbers[0] - numbers[1]) * (-1 if comparison.lower_is_better else 1)
        return 0 if abs(difference) <= comparison.margin else 1 if difference > 0 else 2

    def _number(self, side: FieldPath | Constant) -> float | None:
        field, cell = (None, side.constant) if isinstance(side, Constant) else (side, self.get(side))
        if is_empty(cell):
            return None
        number = int(cell) if isinstance(cell, bool) else parse_number(cell, self.line, field or "")
        if number is None:
            raise FileFormatError(f"expected a number to compare, not {quote_value(cell)}", line=self.line, field=field)
        return float(number)

    def join_texts(self, sources: tuple[Source, ...]) -> str | None:
        """Return several texts, separated by a blank line; None if all of them are missing."""
        texts = [text for source in sources if (text := self._text_of(source)) is not None]
        return "\n\n".join(text for text in texts if text.strip()) if texts else None

    def _text_of(self, source: Source) -> str | None:
        return source.constant if isinstance(source, Constant) else self.text(source)

    def elements(self, path: FieldPath | None) -> Iterator["Scope"]:
        """Yield this scope, or one for each element of the list or object at `path`; none if it is missing or empty."""
        if path is None:
            yield self
        elif not is_empty(self.get(path)):
            for inner in _explode(self, path):
                yield Scope(inner.row, self.line, self.number, inner.element, self.repeat, self.systems)

    def _fill(self, name: str) -> str:
        if name in COUNTERS:
            return str({"row": self.number, "element": self.element, "repeat": self.repeat}[name])
        text = self.text(name)
        if text is None or not text.strip():
            raise FileFormatError("expected a name or a number, and it is empty", line=self.line, field=name)
        return text.strip()


def iter_scopes(row: Row, line: int, number: int, explode: Sequence[str]) -> Iterator[Scope]:
    """Yield one scope for a row, or one for each element of its list, or of the lists in its elements.

    An element's field hides the row's field of the same name, which is still available as `parent.<name>`. With several
    lists, `element_1` is the number or key in the outermost one.
    """
    scopes: Iterator[Scope] = iter((Scope(row, line, number),))
    for level, path in enumerate(explode, 1):
        scopes = _explode_all(scopes, path, f"element_{level}" if level < len(explode) else None)
    yield from scopes


def _explode_all(scopes: Iterator[Scope], path: str, name: str | None) -> Iterator[Scope]:
    for scope in scopes:
        for element in _explode(scope, path):
            yield element if name is None else replace(element, row={**element.row, name: element.element})


def _explode(scope: Scope, explode: str) -> Iterator[Scope]:
    """Yield a scope for each element of a list or an object."""
    row, line, number = scope.row, scope.line, scope.number
    cell = row if explode in WHOLE_RECORD else get_value(row, explode)
    if cell is MISSING:
        message = f"this field is missing, and its elements are the items; there are {join_keys(row)}"
        raise FileFormatError(message, line=line, field=explode)
    name = "value" if explode in WHOLE_RECORD else parse_path(explode)[-1]
    outer = {} if explode in WHOLE_RECORD else {"parent": row, **row}
    for key, element in _elements(cell, line, explode):
        if explode == EVERY_ELEMENT:
            for position, inner in enumerate(parse_list(element, line, str(key)), 1):
                fields = inner if isinstance(inner, dict) else {name: inner}
                yield Scope({"position": position, **fields}, line, number, key)
        else:
            fields = element if isinstance(element, dict) else {name: element}
            yield Scope({**outer, **fields}, line, number, key)


def _elements(cell: Any, line: int, explode: str) -> Iterator[tuple[int | str, Any]]:
    """Yield (number from 1, element) of a list, or (key, value) of an object."""
    if isinstance(cell, dict):
        yield from ((str(key), element) for key, element in cell.items())
    else:
        yield from enumerate(parse_list(cell, line, explode), 1)


# Counts what a mapping leaves out of a table: rows by `where`, and values that it turns into none.


@dataclass
class Omissions:
    """What was read and is not in the study. Rows are those of the file, or the elements of an exploded list."""

    rows: int = 0
    """All rows, if the mapping has `where`."""
    rows_left_out: int = 0
    labels: int = 0
    """Values that are no label, because `values` maps them to null."""
    verdicts: int = 0
    """Values of judges that are no verdict, and choices that change with the order."""
    gold: int = 0

    def notes(self) -> list[str]:
        """Return a phrase for each count that is not 0."""
        rows = f"{self.rows_left_out:,} of {self.rows:,} rows left out by `where` or `where_not`"
        values = {"label": self.labels, "verdict": self.verdicts, "gold": self.gold}
        notes = [_value_note(count, name) for name, count in values.items() if count]
        return [rows, *notes] if self.rows_left_out else notes


def _value_note(count: int, name: str) -> str:
    return f"{count:,} values are no {name}" if count > 1 else f"1 value is no {name}"


_current: ContextVar[Omissions | None] = ContextVar("omissions", default=None)


@contextmanager
def recording_omissions() -> Iterator[Omissions]:
    """Yield the counts of the tables that are read until the end of the block."""
    omissions = Omissions()
    token = _current.set(omissions)
    try:
        yield omissions
    finally:
        _current.reset(token)


def current_omissions() -> Omissions:
    """Return the counts of the block of `recording_omissions`, or counts that nobody reads."""
    return _current.get() or Omissions()


# The fields of a mapping that have to occur in at least one record of a table.

Field = tuple[str, str]
"""The list of a block with `each`, "" for a field of the record, and the field."""


class RequiredFields:
    """The fields that no record has had yet, with what the records have instead.

    Fields of optional responses may be missing from every record.
    """

    def __init__(self, mapping: Mapping) -> None:
        optional = {path for response in mapping.responses if response.optional for path in response_paths(response)}
        blocks: tuple[Labels | JudgeBlock | GoldBlock, ...] = (*mapping.labels, *mapping.judges, *mapping.gold)
        self.unseen: set[Field] = {("", path) for path in set(field_paths(mapping)) - optional}
        self.unseen |= {(block.each, path) for block in blocks if block.each for path in block_paths(block)}
        self.names: set[str] = set()
        self.lists: dict[str, str] = {}
        """Field of an object -> name of the list that it is in."""

    def check(self, scope: Scope) -> None:
        """Note the fields of a record."""
        if self.unseen:
            self.names.update(map(str, scope.row))
            self.lists.update(_fields_of_lists(scope.row))
            self.unseen -= _present(scope, self.unseen)

    def finish(self) -> None:
        """Raise FileFormatError for a field that no record has, with the next step."""
        if not self.unseen:
            return
        each, field = min(self.unseen)
        message = f"no record of the file has this field; there are {join_keys(sorted(self.names))}"
        if is_template(field):
            message = "this is not a template: write the field without braces, several texts of a prompt as a list"
        elif each:
            message = f"no element of {each!r} has this field"
        elif field in self.lists:
            name = self.lists[field]
            message = (
                f"no record has this field, but the objects in its list {name!r} do: add `each: {name}` to the block, "
                f"or `explode: {name}` if they are the items"
            )
        raise FileFormatError(message, field=field)


def _fields_of_lists(row: Row) -> Iterator[tuple[str, str]]:
    for name, cell in row.items():
        if isinstance(cell, list) and cell and isinstance(cell[0], dict):
            yield from ((str(field), str(name)) for field in cell[0])


def _present(scope: Scope, fields: set[Field]) -> set[Field]:
    """Return those of the fields that a record has."""
    present = {pair for pair in fields if not pair[0] and scope.get(pair[1]) is not MISSING}
    for list_path in {each for each, _ in fields if each}:
        for element in scope.elements(list_path):
            present |= {pair for pair in fields if pair[0] == list_path and element.get(pair[1]) is not MISSING}
    return present
