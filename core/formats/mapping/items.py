"""Reads the items of a table. In a long table an item occupies several rows, which must agree about it."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.critiques import Critique, aius_with_numbers, critique_id_from_author
from core.errors import FileFormatError
from core.formats.mapping.fields import (
    MISSING,
    Constant,
    Excerpt,
    Row,
    Source,
    get_value,
    is_template,
    quote_key,
    source_name,
)
from core.formats.mapping.mapping import (
    AspectFields,
    CritiqueFields,
    Join,
    LongLabels,
    Mapping,
    RankingLabels,
    ResponseFields,
    as_tuple,
)
from core.formats.mapping.rows import parse_list, parse_name, read_rows
from core.formats.mapping.scope import EVERY_ELEMENT, Scope
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, Record, TraceRecord
from core.formats.validation_errors import to_file_format_error
from core.items import Item
from core.labels import Kind, Value
from core.trace import TurnCompleted, VerdictReached

MAX_GROUP_LENGTH = 80
"""Characters. Longer group names, such as a whole question, are cut and made unique by a digest of the full text."""


class ItemReader:
    """Reads items; remembers where each was first, to check repeated rows without storing the items."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.repeats = any(isinstance(labels, LongLabels | RankingLabels) for labels in mapping.labels) or any(
            block.judge is not None for block in mapping.judges
        )
        """Whether an item can have several rows."""
        self.first_lines: dict[str, int] = {}
        """Item id -> the line of its first row."""
        self.hashes: dict[str, bytes] = {}
        """Item id -> the hashes of its fields, if it can have several rows."""
        self.systems: tuple[str | None, ...] = ()
        """The systems of the responses of the item that was read last."""
        self.row = 1
        """The number of the row that was read last among those of its item."""
        self.further_rows = Counter[str]()

    def read(self, scope: Scope) -> tuple[str, ItemRecord | None]:
        """Return the item's id, and its record the first time it occurs."""
        mapping = self.mapping
        item_id = parse_name(scope.resolve(mapping.id), scope.line, source_name(mapping.id))
        item = _read_item(item_id, mapping, scope)
        self.systems = tuple(response.system for response in item.responses)
        if item_id in self.first_lines:
            self._check_repeat(item, scope.line)
            self.further_rows[item_id] += 1
            self.row = 1 + self.further_rows[item_id]
            return item_id, None
        self.row = 1
        self.first_lines[item_id] = scope.line
        if self.repeats:
            self.hashes[item_id] = _hash_fields(item)
        return item_id, ItemRecord(item=item)

    def _check_repeat(self, item: Item, line: int) -> None:
        first_line = self.first_lines[item.id]
        if not self.repeats:
            message = f"item {item.id!r} is already on line {first_line}"
            raise FileFormatError(message, line=line, field=source_name(self.mapping.id))
        if changed := _changed_fields(item, self.hashes[item.id]):
            message = f"expected item {item.id!r} to be the same as on line {first_line}, and it differs in {changed}"
            raise FileFormatError(message, line=line)


def _hash_fields(item: Item) -> bytes:
    """Return the hashes of an item's fields, 8 bytes each: a tuple of numbers would have three times as many."""
    return array("q", [hash(getattr(item, name)) for name in Item.model_fields]).tobytes()


def _changed_fields(item: Item, former: bytes) -> str:
    """Return the names of the fields whose hashes are not the former ones."""
    hashes = zip(Item.model_fields, memoryview(_hash_fields(item)).cast("q"), memoryview(former).cast("q"), strict=True)
    return " and ".join(name for name, one, other in hashes if one != other)


def _read_item(item_id: str, mapping: Mapping, scope: Scope) -> Item:
    fields: dict[str, Any] = {
        "id": item_id,
        "prompt": scope.join_texts(as_tuple(mapping.prompt)) or "",
        "responses": _read_responses(mapping, scope),
        "scenario": _strip(mapping.scenario, scope),
        "group": _group_name(mapping.group, scope),
    }
    if mapping.image:
        fields["image"] = scope.text(mapping.image) or None
    if mapping.context:
        fields["context"] = scope.join_texts(as_tuple(mapping.context)) or None
    if mapping.reference:
        fields["reference"] = scope.join_texts(as_tuple(mapping.reference)) or None
    if mapping.aspects:
        fields["aspects"] = _read_aspects(mapping.aspects, scope)
    if mapping.critiques:
        fields["critiques"] = _read_critiques(mapping.critiques, scope)
    try:
        return Item.model_validate(fields)
    except ValidationError as error:
        raise to_file_format_error(error, line=scope.line) from None


def _read_responses(mapping: Mapping, scope: Scope) -> tuple[dict[str, str | None], ...]:
    """Return the fields of each response."""
    responses = []
    for fields, own in _each_response(mapping, scope):
        text = own.text(fields.text) if fields.text else _empty_text_of_image(fields, own)
        if text is None and not fields.optional:
            raise _missing_text(fields, own)
        if text is not None and (text or not fields.optional):
            responses.append(_read_response(fields, text, own))
    if mapping.responses and not responses:
        field = source_name(mapping.responses[0].text or mapping.responses[0].image)
        raise FileFormatError("expected at least one response", line=scope.line, field=field)
    return tuple(responses)


def _each_response(mapping: Mapping, scope: Scope) -> Iterator[tuple[ResponseFields, Scope]]:
    for fields in mapping.responses:
        if fields.each is None:
            yield fields, scope
        else:
            yield from ((fields, element) for element in scope.elements(fields.each))


def _empty_text_of_image(fields: ResponseFields, scope: Scope) -> str | None:
    """Return an empty text if a response that is only an image has one."""
    return "" if fields.image and scope.text(fields.image) else None


def _missing_text(fields: ResponseFields, scope: Scope) -> FileFormatError:
    """Return the error of a response without a text, which names the next step."""
    field = source_name(fields.text or fields.image)
    lists = [name for name, cell in scope.row.items() if isinstance(cell, list) and cell and isinstance(cell[0], dict)]
    if scope.get(field) is MISSING and lists and (lists == ["value"] or len(lists) == len(scope.row) > 1):
        return FileFormatError(
            f'the fields of the record hold lists: write `explode: "{EVERY_ELEMENT}"`', line=scope.line, field=field
        )
    if scope.get(field) is MISSING and lists:
        return FileFormatError(
            f"the record holds a list {lists[0]!r}: add `explode: {quote_key(lists[0])}`", line=scope.line, field=field
        )
    return FileFormatError("expected the text of a response", line=scope.line, field=field)


def _read_response(fields: ResponseFields, text: str, scope: Scope) -> dict[str, str | None]:
    system = scope.resolve(fields.system) if fields.system else fields.name
    if fields.name and is_template(fields.name):
        system = scope.resolve(fields.name)
    image = scope.text(fields.image) if fields.image else None
    return {"text": text, "system": system or None, "image": image or None}


def _read_critiques(blocks: tuple[CritiqueFields, ...], scope: Scope) -> tuple[Critique, ...]:
    """Return the critiques with a text; the texts of their AIUs are a list in a cell, if they are in the file."""
    critiques = []
    for block in blocks:
        text = scope.text(block.text)
        author = scope.resolve(block.author)
        if not text or not author:
            continue
        critique_id = critique_id_from_author(author)
        cells = parse_list(scope.get(block.aius), scope.line, block.aius, block.separator) if block.aius else None
        aius = None
        if cells is not None:
            texts = [parse_name(cell, scope.line, block.aius or "") for cell in cells]
            aius = aius_with_numbers(critique_id, texts)
        critiques.append(
            Critique(
                id=critique_id, author=author, source=block.source, role=block.role, text=text, aius=aius, of=block.of
            )
        )
    return tuple(critiques)


def _read_aspects(fields: AspectFields | str | None, scope: Scope) -> tuple[str, ...]:
    """Return an item's own aspects: those of a list, or of text split at the separator, otherwise at line breaks."""
    if fields is None:
        return ()
    field, separator = (fields, None) if isinstance(fields, str) else (fields.field, fields.separator)
    cell = scope.get(field)
    is_plain = isinstance(cell, str) and separator is None and not cell.lstrip().startswith("[")
    cells = str(cell).splitlines() if is_plain else parse_list(cell, scope.line, field, separator)
    return tuple(" ".join(parse_name(cell, scope.line, field).split()) for cell in cells if str(cell).strip())


def _strip(source: Source | None, scope: Scope) -> str | None:
    return (scope.resolve(source) or "").strip() or None if source else None


def _group_name(group: Source | tuple[str, ...] | None, scope: Scope) -> str | None:
    """Return the same short name for all rows in which the group's fields are equal."""
    if group is None:
        return None
    if isinstance(group, str | Constant | Excerpt):
        text = scope.resolve(group) or ""
    else:
        text = " · ".join(scope.text(path) or "" for path in group)
    name = " ".join(text.split())
    if len(name) <= MAX_GROUP_LENGTH:
        return name or None
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name[: MAX_GROUP_LENGTH - 10]}… {digest}"


# Joins the rows of a table with those of other files in its folder.


def join_rows(rows: Iterator[tuple[int, Row]], path: Path, joins: Sequence[Join]) -> Iterator[tuple[int, Row]]:
    """Yield (line, row) with the row of each other file under its name.

    Raises FileFormatError if a row has none, unless that is optional.
    """
    for join in joins:
        rows = _join(rows, path, join)
    return rows


def _join(rows: Iterator[tuple[int, Row]], path: Path, join: Join) -> Iterator[tuple[int, Row]]:
    other = path.parent / join.file
    if not other.is_file():
        raise FileFormatError(f"there is no file {join.file!r} next to {path.name}", field="join.file")
    yield from _by_key(rows, other, join) if join.key is not None else _by_number(rows, other, join)


def _by_number(rows: Iterator[tuple[int, Row]], other: Path, join: Join) -> Iterator[tuple[int, Row]]:
    for number, (pair, second) in enumerate(zip_longest(rows, read_rows(other)), 1):
        if pair is not None and second is None and join.optional:
            yield pair
            continue
        if pair is None or second is None:
            longer = "the table" if second is None else other.name
            raise FileFormatError(f"expected as many records in both files; only {longer} has record {number}")
        line, row = pair
        yield line, {**row, join.name: second[1]}


def _by_key(rows: Iterator[tuple[int, Row]], other: Path, join: Join) -> Iterator[tuple[int, Row]]:
    key, other_key = join.key or "", join.other_key or join.key or ""
    by_key: dict[str, Row] = {}
    for line, row in read_rows(other):
        name = parse_name(get_value(row, other_key), line, other_key)
        if name in by_key:
            raise FileFormatError(f"{other.name} has {name!r} twice", line=line, field=other_key)
        by_key[name] = row
    for line, row in rows:
        name = parse_name(get_value(row, key), line, key)
        if name not in by_key and join.optional:
            yield line, row
            continue
        if name not in by_key:
            raise FileFormatError(f"{other.name} has no record {name!r}", line=line, field=key)
        yield line, {**row, join.name: by_key[name]}


# Exchanges the two responses of half of the items, and the numbers of the responses in what refers to them.

EXCHANGED = {1: 2, 2: 1}
PREFERENCE_STEP = "choice"
"""The step of the turns that `core.formats.mapping.judges` makes of preferences."""


def is_exchanged(item: str) -> bool:
    """Return whether an item's responses are exchanged: for half of the names, the same ones each time."""
    return hashlib.sha256(item.encode()).digest()[0] % 2 == 1


def shuffle_responses(records: Iterator[Record]) -> Iterator[Record]:
    """Yield the records of items with two responses, in an order that does not give the preferred one away."""
    for record in records:
        match record:
            case ItemRecord(item=item) if is_exchanged(item.id):
                critiques = tuple(_with_number(critique, "of") for critique in item.critiques)
                exchanged = {"responses": item.responses[::-1], "critiques": critiques}
                yield record.model_copy(update={"item": item.model_copy(update=exchanged)})
            case LabelRecord(label=label) if is_exchanged(label.target.item):
                value = _exchange(label.target.kind, label.value)
                yield record.model_copy(update={"label": label.model_copy(update={"value": value})})
            case AdjudicationRecord(ruling=ruling) if is_exchanged(ruling.target.item):
                value = _exchange(ruling.target.kind, ruling.value)
                yield record.model_copy(update={"ruling": ruling.model_copy(update={"value": value})})
            case TraceRecord(item=item_id) if is_exchanged(item_id):
                yield _exchange_trace(record)
            case _:
                yield record


def _exchange(kind: Kind, value: Value | None) -> Value | None:
    """Return a preference for the other response; other values are unchanged."""
    is_preference = kind == "preference" and isinstance(value, int) and not isinstance(value, bool)
    return EXCHANGED.get(value, value) if is_preference and isinstance(value, int) else value


def _with_number(value: Any, field: str) -> Any:
    number = getattr(value, field)
    return value.model_copy(update={field: EXCHANGED.get(number, number)})


def _exchange_trace(record: TraceRecord) -> TraceRecord:
    events: list[Any] = []
    for event in record.events:
        match event:
            case TurnCompleted(turn=turn):
                reading = _exchange("preference", turn.reading) if turn.step == PREFERENCE_STEP else turn.reading
                shown = tuple(EXCHANGED.get(number, number) for number in turn.shown)
                changed = turn.model_copy(update={"reading": reading, "shown": shown})
                events.append(event.model_copy(update={"turn": changed}))
            case VerdictReached(verdict=verdict):
                opinions = tuple(
                    opinion.model_copy(update={"value": _exchange(opinion.kind, opinion.value)})
                    for opinion in verdict.opinions
                )
                is_preference = any(opinion.kind == "preference" for opinion in opinions)
                value = _exchange("preference", verdict.value) if is_preference else verdict.value
                changed_verdict = verdict.model_copy(update={"value": value, "opinions": opinions})
                events.append(event.model_copy(update={"verdict": changed_verdict}))
    return record.model_copy(update={"events": tuple(events)})
