"""The fields available to one item of a table: its row, or an element of the row's list together with the row."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, TypeGuard

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
    is_python,
    is_template,
    join_keys,
    parse_nested,
    parse_path,
    render_messages,
    source_name,
)
from core.formats.mapping.mapping import (
    Block,
    GoldBlock,
    JudgeBlock,
    Labels,
    Mapping,
    StepCount,
    Where,
    field_paths,
    response_paths,
    source_paths,
)
from core.formats.mapping.rows import canonical, expect_number, is_empty, parse_list, parse_name, parse_text
from core.formats.transcripts import messages
from core.transcripts import Transcript, render

# Explodes the record itself: each of its fields is an item, such as {"q1": {...}, "q2": {...}}.
EVERY_KEY = "*"
# How a path in `parallel` ends whose list has a list for each person.
EACH = ".*"
# Explodes the record and then its lists: `{"sysA": [{...}, {...}], "sysB": [...]}`. The element is the key, and
# `position` the number in the list, from 1, if the element has no such field.
EVERY_ELEMENT = "*.*"
WHOLE_RECORD = (EVERY_KEY, EVERY_ELEMENT)
# The field with the elements before an element in its list, such as the turns before a turn.
BEFORE = "before"
# The field with the number or the key of an element whose elements are exploded, too, and that with the key of one.
LEVEL = re.compile(r"element_(\d+|key)")


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
    numbers: tuple[int, ...] = ()
    """For each response of the mapping its number in the item, 0 if the item lacks it; empty for those of a list."""
    transcripts: tuple[Transcript, ...] = ()
    """The transcripts of the item's responses."""

    def get(self, path: str) -> Any:
        """Return the value at `path`, or MISSING."""
        return get_value(self.row, path)

    def text(self, path: Source) -> str | None:
        """Return the text at a path, of messages too, or a part of it; None for an empty or missing field."""
        if isinstance(path, Constant):
            return path.constant
        if isinstance(path, Excerpt):
            text = self.text(path.field)
            return None if text is None else path.cut(text)
        cell = get_value(self.row, path)
        if not isinstance(cell, str) and isinstance(cell, list | dict):  # most cells are text, which is checked faster
            rendered = render_messages(cell)
            cell = cell if rendered is None else rendered
            if isinstance(cell, list) and messages.is_messages(cell):
                return render(messages.read_transcript(cell, self.line, path))
        return parse_text(cell, self.line, path)

    def transcript(self, path: FieldPath) -> Transcript | None:
        """Return the transcript in a field; None for an empty or missing one."""
        cell = self.get(path)
        return None if is_empty(cell) or cell == [] else messages.read_transcript(cell, self.line, path)

    def conversation(self, source: Source | None) -> Transcript | None:
        """Return the transcript in the field of a prompt: texts, or messages with more than a role and a text."""
        if not isinstance(source, str) or is_template(source):
            return None
        cell = self.get(source)
        is_plain = not messages.is_messages(cell) or render_messages(cell) is not None
        return (
            None
            if is_plain and not (are_texts(cell) and len(cell) > 1)
            else messages.read_transcript(cell, self.line, source)
        )

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

    def named_step(self, cell: Any, steps: StepCount, field: str) -> int | None:
        """Return the number of the part of the transcript that a cell names; 0 for none, where steps count from 1.

        None for an empty cell, and for a span or a number that is not in the transcript. Raises FileFormatError for
        what is no number, and without a transcript or with several.
        """
        if is_empty(cell):
            return None
        if len(self.transcripts) != 1:
            expected = f"expected one transcript whose steps are labelled, not {len(self.transcripts)}"
            raise FileFormatError(expected, line=self.line, field=field)
        parts = self.transcripts[0].parts
        if steps == "span":
            return next((part.number for part in parts if str(cell).strip() in part.spans), None)
        what = f"the number of a {steps.removesuffix(' from 0')}"
        number = expect_number(cell, self.line, field, what, 0)
        first = 0 if steps.endswith("from 0") else 1
        if number == 0 and first:
            return 0
        of_messages = steps.startswith("message")
        wanted = (number or 0) + 1 - first
        return next((part.number for part in parts if (part.message if of_messages else part.number) == wanted), None)

    def _compare(self, comparison: Comparison) -> int | None:
        numbers = [self._number(side) for side in comparison.compare]
        if numbers[0] is None or numbers[1] is None:
            return None
        difference = (numbers[0] - numbers[1]) * (-1 if comparison.lower_is_better else 1)
        size, margin = abs(difference), comparison.margin
        is_tie = size <= margin or math.isclose(size, margin)  # 0.8 and 0.7 differ by a little more than 0.1
        return 0 if is_tie else 1 if difference > 0 else 2

    def _number(self, side: FieldPath | Constant) -> float | None:
        field, cell = ("", side.constant) if isinstance(side, Constant) else (side, self.get(side))
        return expect_number(int(cell) if isinstance(cell, bool) else cell, self.line, field, "a number to compare")

    def name(self, source: Source | None) -> str:
        """Return a name without surrounding blanks; raises FileFormatError if it is empty."""
        return parse_name(None if source is None else self.resolve(source), self.line, source_name(source))

    def criterion(self, block: Any) -> str:
        """Return the criterion of a block, which a field may name."""
        return self.name(block.criterion_field) if block.criterion_field else str(block.criterion)

    def optional(self, path: FieldPath | None) -> str:
        """Return the text of a field that need not be there; empty if it is missing."""
        return (self.text(path) if path else None) or ""

    def amount(self, path: FieldPath | None, noun: str) -> float | None:
        """Return a number that is not below 0, None without one; raises FileFormatError for other cells."""
        return expect_number(self.get(path), self.line, path, noun, 0) if path else None

    def join_texts(self, sources: tuple[Source, ...]) -> str | None:
        """Return several texts, separated by a blank line; None if all of them are missing."""
        texts = [text for text in map(self.lines, sources) if text is not None]
        return "\n\n".join(text for text in texts if text.strip()) if texts else None

    def lines(self, source: Source) -> str | None:
        """Return a text, that of a template, or the lines of a list of texts."""
        if isinstance(source, str) and source not in self.row and is_template(source):
            return self._template_text(source)
        cell = self.get(source) if isinstance(source, str) else None
        return "\n".join(cell) if are_texts(cell) else self.text(source)

    def elements(self, path: FieldPath | None, divider: str | None = None) -> Iterator["Scope"]:
        """Yield this scope, or one for each element of the list or object at `path`; none if it is missing or empty."""
        if path is None:
            yield self
        elif not is_empty(self.get(path)):
            for inner in _explode(self, path, divider):
                yield replace(self, row=inner.row, element=inner.element)

    def of_block(self, block: Block) -> Iterator["Scope"]:
        """Yield the scopes that a block is read from."""
        return (own for own in self.elements(block.each, block.divider) if all(own.have(block.where)))

    def have(self, where: Where) -> Iterator[bool]:
        """Yield whether each field has one of its values."""
        return (canonical(self.text(field) or "") in map(canonical, values) for field, values in where.items())

    def _template_text(self, source: str) -> str | None:
        """Return the text of a template, in which fields can be empty; None if all of them are."""
        texts = [self._fill(name) if name in COUNTERS else self.text(name) for name in BLANK.findall(source)]
        filled = iter(texts)
        return BLANK.sub(lambda _: next(filled) or "", source) if any(texts) else None

    def reason(self, path: FieldPath | None) -> str:
        """Return a reason, of a list of texts its lines; empty without one."""
        return (self.lines(path) if path else None) or ""

    def _fill(self, name: str) -> str:
        if name in COUNTERS:
            return str({"row": self.number, "element": self.element, "repeat": self.repeat}[name])
        text = self.text(name)
        if text is None or not text.strip():
            raise FileFormatError("expected a name or a number, and it is empty", line=self.line, field=name)
        return text.strip()


def as_nested(cell: Any) -> Any:
    """Return the object that a cell has as text; any other cell as it is."""
    nested = parse_nested(cell) if isinstance(cell, str) and cell.lstrip().startswith("{") else None
    return cell if nested is None else nested


def are_texts(cell: Any) -> TypeGuard[list[str]]:
    """Return whether a cell is a list of texts: turns of a prompt, and otherwise lines of one text."""
    return isinstance(cell, list) and bool(cell) and all(isinstance(text, str) for text in cell)


def iter_scopes(row: Row, line: int, number: int, mapping: Mapping, *, has_before: bool = False) -> Iterator[Scope]:
    """Yield one scope for a row, or one for each element of its list, or of the lists in its elements.

    An element's field hides the row's field of the same name, which is still available as `parent.<name>`. With several
    lists, `element_1` is the number or key in the outermost one; `element_key` is the key in the last object. The last
    one may be a text with `divider` in it, or have lists that are `parallel` to it; with `has_before`, `before` is the
    list of the elements before one in it. Of a record that is exploded itself, fields without the next list are no
    items.
    """
    explode = mapping.explode
    scopes: Iterator[Scope] = iter((Scope(row, line, number),))
    for level, path in enumerate(explode, 1):
        is_last = level == len(explode)
        if level > 1 and explode[level - 2] == EVERY_KEY and path not in WHOLE_RECORD:
            scopes = filter(partial(_has_list, path), scopes)
        if is_last:
            scopes = _explode_last(scopes, path, mapping, has_before=has_before)
        else:
            scopes = _explode_all(scopes, path, f"element_{level}")
    yield from scopes


def _has_list(path: str, scope: Scope) -> bool:
    """Return whether a field of an exploded record has the next list; other objects, but not its texts, are counted."""
    found = isinstance(scope.get(path), list | dict)
    current_omissions().without_list += not found and "value" not in scope.row
    return found


def _explode_all(scopes: Iterator[Scope], path: str, name: str) -> Iterator[Scope]:
    for scope in scopes:
        for element in _explode(scope, path):
            yield replace(element, row={**element.row, name: element.element})


def _explode_last(scopes: Iterator[Scope], path: str, mapping: Mapping, *, has_before: bool) -> Iterator[Scope]:
    for scope in scopes:
        elements: list[Any] = []
        if has_before and path not in WHOLE_RECORD:
            cell = as_nested(scope.get(path))
            is_object = isinstance(cell, dict)
            elements = [*cell.values()] if is_object else parse_list(cell, scope.line, path, mapping.divider)
        for index, element in enumerate(_explode(scope, path, mapping.divider)):
            own = replace(element, row={BEFORE: elements[:index] or None, **element.row}) if has_before else element
            yield _with_parallel(own, scope.row, path, mapping) if mapping.parallel else own


def _with_parallel(scope: Scope, record: Row, explode: str, mapping: Mapping) -> Scope:
    """Return a scope of an exploded list in which other lists of its record are their value of the same number.

    Of `ratings.*`, a list with a list for each person, `ratings` is the list of the people's values of this number.

    Raises FileFormatError for a list of another length.
    """
    count = len(parse_list(get_value(record, explode), scope.line, explode, mapping.divider))
    row = scope.row
    for path in mapping.parallel:
        name = path.removesuffix(EACH)
        cells = parse_list(get_value(record, name), scope.line, name)
        lists = [cells] if name == path else [parse_list(own, scope.line, name) for own in cells]
        if wrong := [own for own in lists if len(own) != count]:
            message = f"expected {count} values, as {explode} has, not {len(wrong[0])}"
            raise FileFormatError(message, line=scope.line, field=path)
        values = [own[int(scope.element) - 1] for own in lists]
        row = _with_value(row, parse_path(name), values[0] if name == path else values)
    return replace(scope, row=row)


def _with_value(row: Row, keys: Sequence[str], value: Any) -> Row:
    """Return a row with another value at a path; objects on the way are copied."""
    inner = row.get(keys[0]) if len(keys) > 1 else None
    if not isinstance(inner, dict):
        return {**row, ".".join(keys): value}
    return {**row, keys[0]: _with_value(inner, keys[1:], value)}


def _explode(scope: Scope, explode: str, divider: str | None = None) -> Iterator[Scope]:
    """Yield a scope for each element of a list or an object."""
    row, line, number = scope.row, scope.line, scope.number
    levels = {name: value for name, value in row.items() if LEVEL.fullmatch(name)} if explode == EVERY_KEY else {}
    if levels:
        levels["parent"] = row["parent"]
    cell = {name: value for name, value in row.items() if name not in levels} if levels else row
    cell = cell if explode in WHOLE_RECORD else as_nested(get_value(row, explode))
    if cell is MISSING:
        message = f"this field is missing, and its elements are the items; there are {join_keys(row)}"
        raise FileFormatError(message, line=line, field=explode)
    name = "value" if explode in WHOLE_RECORD else parse_path(explode)[-1]
    outer = {"parent": row, **(levels if explode in WHOLE_RECORD else row)}
    is_object = isinstance(cell, dict)
    elements = cell if is_object else dict(enumerate(parse_list(cell, line, explode, divider), 1))
    # A field that only some elements have is empty in the others, and not the record's field of the same name.
    own_fields = {key for element in elements.values() if isinstance(element, dict) for key in element}
    outer |= dict.fromkeys(own_fields & outer.keys() - {"parent"})
    for name_or_number, element in elements.items():
        key = str(name_or_number) if is_object else name_or_number
        if explode == EVERY_ELEMENT:
            for position, inner in enumerate(parse_list(element, line, str(key)), 1):
                fields = inner if isinstance(inner, dict) else {name: inner}
                yield Scope({"position": position, **fields}, line, number, key)
        else:
            fields = element if isinstance(element, dict) else {name: element}
            keys = {"element_key": key} if is_object else {}
            yield Scope({**outer, **keys, **fields}, line, number, key)


# Counts what a mapping leaves out of a table: rows by `where`, and values that it turns into none.


# Rows that are named in a note.
MAX_LINES = 5
# Rows that are searched for lists in Python's spelling.
MAX_PYTHON_ROWS = 50


def _counted(note: str, default: Any = 0) -> Any:
    """Return a field of Omissions that has a note if it is not empty."""
    return field(default=default, metadata={"note": note})


@dataclass
class Omissions:
    """What was read and is not in the study. Rows are those of the file, or the elements of an exploded list."""

    rows: int = 0
    """All rows."""
    merged_values: int = 0
    """The values that are summed up in the `merged` labels."""
    step_lines: list[int] = field(default_factory=list)
    """The lines of the first MAX_LINES values about missing steps."""
    rows_left_out: int = _counted("{rows_left_out:,} of {rows:,} rows left out by `where` or `where_not`")
    without_list: int = _counted("{without_list:,} objects have no list whose elements are the items")
    empty_lists: int = _counted("{empty_lists:,} records have an empty list, and no item")
    unread: int = _counted("{unread:,} left out: rows, or elements of lists, that no `where` of a block selects")
    blank: int = _counted("{blank:,} rows left out: they are null, or prompt and responses are empty")
    empty_prompts: int = _counted("{empty_prompts:,} rows have an empty prompt")
    repeated_marks: int = _counted("{repeated_marks:,} texts have a mark at which they are cut more than once")
    without_text: int = _counted("{without_text:,} responses have no text, but the last one of their transcript")
    without_roles: int = _counted(
        "{without_roles:,} transcripts do not say who speaks: the last message is taken for the answer"
    )
    rows_without_record: int = _counted("{rows_without_record:,} rows have no record in a joined file")
    records_without_row: int = _counted("{records_without_row:,} left out: records of a joined file that no row names")
    labels: int = _counted("{labels:,} left out: values that are no label")
    verdicts: int = _counted("{verdicts:,} left out: values of judges that are no verdict")
    gold: int = _counted("{gold:,} left out: values that are no gold")
    steps: int = _counted("{steps:,} left out: about a step that is not in the transcript (line {step_lines})")
    further: int = _counted("{further:,} left out: further values of a target by one annotator, of which one counts")
    different: int = _counted("{different:,} labels are the first or the last of values that differ")
    converted: int = _counted("{converted:,} scores of judges are converted to the scale of people's labels")
    merged: int = _counted("{merged:,} labels are the sum or mean of {merged_values:,} values")
    of_several_rows: int = _counted(
        "{of_several_rows:,} of them are of lists in several rows: with the id of a row, such as `{{row}}`, these "
        "would be labels of their own"
    )
    without_header: bool = _counted(
        "the first row has values and no names, so the columns are numbered from `column 1`", default=False
    )
    windows_word: str = _counted(
        "the file is not UTF-8 and was read as Windows-1252, such as {windows_word!r}", default=""
    )
    unused: list[str] = field(default_factory=list, metadata={"note": "not used: {unused}"})
    """Fields of another tool's tasks that are no part of an item."""
    python_fields: list[str] = field(
        default_factory=list, metadata={"note": "read as Python prints lists and objects: {python_fields}"}
    )
    """Fields of the first MAX_PYTHON_ROWS rows with lists or objects in Python's spelling, which is no JSON."""

    def count_step(self, line: int) -> None:
        """Count a value about a step that the transcript does not have."""
        self.steps += 1
        self.step_lines += [line] if len(self.step_lines) < MAX_LINES and line not in self.step_lines else []

    def note_python(self, row: Row) -> None:
        """Note the fields of one of the first rows that hold lists or objects in Python's spelling."""
        found = (name for name, cell in row.items() if isinstance(cell, str) and is_python(cell))
        self.python_fields += [name for name in found if name not in self.python_fields]

    def note_fields(self, names: Iterable[str]) -> None:
        """Note fields of a task that are no part of its item."""
        self.unused += [name for name in names if name not in self.unused]

    def notes(self) -> list[str]:
        """Return a phrase for each count that is not 0."""
        values = vars(self) | {name: join_keys(getattr(self, name)) for name in ("unused", "python_fields")}
        values["step_lines"] = ", ".join(map(str, self.step_lines))
        noted = [own for own in fields(self) if "note" in own.metadata and getattr(self, own.name)]
        return [own.metadata["note"].format_map(values) for own in noted]


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

# The list of a block with `each`, "" for a field of the record, and the field.
Field = tuple[str, str]


class RequiredFields:
    """The fields that no record has had yet, with what the records have instead.

    Fields of optional responses, and those that `where` wants empty, may be missing from every record.
    """

    def __init__(self, mapping: Mapping) -> None:
        optional = {path for response in mapping.responses if response.optional for path in response_paths(response)}
        blocks: tuple[Labels | JudgeBlock | GoldBlock, ...] = (*mapping.labels, *mapping.judges, *mapping.gold)
        optional |= {path for path, values in mapping.where.items() if "" in values}
        self.unseen: set[Field] = {("", path) for path in set(field_paths(mapping)) - optional}
        self.unseen |= {(block.each, path) for block in blocks if block.each for path in source_paths(block)}
        self.dividers = {block.each: block.divider for block in blocks if block.each}
        self.names: set[str] = set()
        self.lists: dict[str, str] = {}
        """Field of an object -> name of the list that it is in."""

    def check(self, scope: Scope) -> None:
        """Note the fields of a record."""
        if self.unseen:
            self.names.update(map(str, scope.row))
            for name, cell in scope.row.items():
                if isinstance(cell, list) and cell and isinstance(cell[0], dict):
                    self.lists.update(dict.fromkeys(map(str, cell[0]), str(name)))
            for each in {each for each, _ in self.unseen}:
                for element in scope.elements(each or None, self.dividers.get(each)):
                    own = {path for name, path in self.unseen if name == each}
                    self.unseen -= {(each, path) for path in own if element.get(path) is not MISSING}

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
