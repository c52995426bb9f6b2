"""Reads the items of a table. In a long table an item occupies several rows, which must agree about it."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from core.critiques import Critique, aius_with_numbers, critique_id_from_author
from core.errors import FileFormatError
from core.formats.mapping.fields import (
    MISSING,
    Constant,
    Excerpt,
    Source,
    is_template,
    quote_key,
    source_name,
)
from core.formats.mapping.mapping import (
    AspectFields,
    CritiqueFields,
    LongLabels,
    Mapping,
    RankingLabels,
    ResponseFields,
    as_tuple,
    source_paths,
)
from core.formats.mapping.rows import is_empty, parse_list, parse_name
from core.formats.mapping.scope import EVERY_ELEMENT, Scope, current_omissions
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, Record, TraceRecord
from core.formats.validation_errors import validated
from core.items import Item
from core.trace import TurnCompleted, VerdictReached
from core.transcripts import Transcript, render

# Characters. Longer names of groups, and of items named by their prompts, end with a digest of the whole.
MAX_GROUP_LENGTH = 80


class ItemReader:
    """Reads items; remembers where each was first, to check repeated rows without storing the items."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.repeats = any(isinstance(labels, LongLabels | RankingLabels) for labels in mapping.labels) or any(
            block.judge is not None for block in mapping.judges
        )
        """Whether an item can have several rows."""
        texts = (*as_tuple(mapping.prompt), *(text for own in mapping.responses for text in as_tuple(own.text)))
        paths = {path for source in texts for path in source_paths(source)}
        texts = (*texts, *as_tuple(mapping.context), *as_tuple(mapping.reference))
        self.cut = [own for own in texts if isinstance(own, Excerpt)]
        """The texts of the item that are cut out of fields."""
        self.is_named_by_text = not paths.isdisjoint(source_paths(mapping.id))
        self.first_lines: dict[str, int] = {}
        """Item id -> the line of its first row."""
        self.hashes: dict[str, tuple[int, ...]] = {}
        """Item id -> the hashes of its fields, if it can have several rows."""
        self.systems: tuple[str | None, ...] = ()
        """The systems of the responses of the item that was read last."""
        self.numbers: tuple[int, ...] = ()
        """The numbers of the mapping's responses in that item (see `Scope.numbers`)."""
        self.transcripts: list[Transcript] = []
        """The transcripts of that item."""
        self.of_responses: tuple[Transcript, ...] = ()
        """Those of its responses."""
        self.row = 1
        """The number of the row that was read last among those of its item."""
        self.further_rows = Counter[str]()

    def read(self, scope: Scope) -> tuple[str, ItemRecord | None]:
        """Return the item's id, and its record the first time it occurs."""
        mapping = self.mapping
        item_id = parse_name(scope.resolve(mapping.id), scope.line, source_name(mapping.id))
        item_id = _shortened(item_id) if self.is_named_by_text else item_id
        self.transcripts = []
        item, present = _read_item(item_id, mapping, scope, self.transcripts)
        self.numbers = tuple(has * sum(present[:number]) for number, has in enumerate(present, 1))
        self.systems = tuple(response.system for response in item.responses)
        self.of_responses = tuple(self.transcripts[: sum(bool(own.transcript) for own in item.responses)])
        for own in self.cut:
            text = scope.text(own.field) or ""
            current_omissions().repeated_marks += any(text.count(mark) > 1 for mark in own.marks)
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
        pairs = zip(Item.model_fields, self.hashes[item.id], _hash_fields(item), strict=True)
        if changed := " and ".join(name for name, one, other in pairs if one != other):
            message = f"expected item {item.id!r} to be the same as on line {first_line}, and it differs in {changed}"
            raise FileFormatError(message, line=line)


def _hash_fields(item: Item) -> tuple[int, ...]:
    return tuple(hash(getattr(item, name)) for name in Item.model_fields)


def _read_item(
    item_id: str, mapping: Mapping, scope: Scope, transcripts: list[Transcript]
) -> tuple[Item, Sequence[bool]]:
    """Return an item, and whether it has each response of the mapping; add its transcripts to a list."""
    texts: dict[str, str | None] = {}
    conversation = None if isinstance(mapping.prompt, tuple) else scope.conversation(mapping.prompt)
    for name in ("prompt", "context", "reference"):
        sources = getattr(mapping, name)
        is_rendered = name == "prompt" and conversation is not None
        texts[name] = scope.join_texts(as_tuple(sources)) if sources and not is_rendered else None
    found = _read_responses(mapping, scope, transcripts)
    responses = [own for own in found if own is not None]
    question = transcripts[0].question if transcripts and mapping.prompt is None else ""
    if conversation is not None:
        transcripts.append(conversation)
        question = render(conversation)
    fields: dict[str, Any] = {
        "id": item_id,
        "prompt": texts["prompt"] or question,
        "transcript": None if conversation is None else conversation.digest,
        "responses": responses,
        "scenario": _scenario(mapping, scope),
        "group": _group_name(mapping.group, scope),
        "image": scope.optional(mapping.image) or None,
        "context": texts["context"] or None,
        "reference": texts["reference"] or None,
    }
    if mapping.aspects:
        fields["aspects"] = _read_aspects(mapping.aspects, scope)
    if mapping.critiques:
        fields["critiques"] = _read_critiques(mapping.critiques, scope, [own is not None for own in found])
    item: Item = validated(Item, fields, line=scope.line)
    is_list = any(own.each for own in mapping.responses)
    return item, [] if is_list else [own is not None for own in found]


def _read_responses(
    mapping: Mapping, scope: Scope, transcripts: list[Transcript]
) -> list[dict[str, str | None] | None]:
    """Return the fields of each response, None for one that the row lacks; add their transcripts to a list."""
    responses: list[dict[str, str | None] | None] = []
    parts = mapping.responses
    pairs = ((part, own) for part in parts for own in (scope.elements(part.each) if part.each else (scope,)))
    for fields, own in pairs:
        image = own.optional(fields.image) or None
        text = None if fields.text or not image else ""
        if fields.text:
            text = own.join_texts(fields.text) if isinstance(fields.text, tuple) else own.lines(fields.text)
        transcript = own.transcript(fields.transcript) if fields.transcript else None
        if transcript is not None:
            transcripts.append(transcript)
            omissions = current_omissions()
            omissions.without_text += bool(fields.text) and text is None
            omissions.without_roles += text is None and not any(part.role for part in transcript.parts)
            text = transcript.answer if text is None else text
        if text is None and not fields.optional:
            raise _missing_text(fields, own)
        if fields.optional and not text and not _is_judged(mapping, len(responses) + 1, own):
            responses.append(None)
        else:
            system = own.resolve(fields.system) if fields.system else fields.name
            if fields.name and is_template(fields.name):
                system = own.resolve(fields.name)
            digest = None if transcript is None else transcript.digest
            responses.append({"text": text or "", "system": system or None, "image": image, "transcript": digest})
    if mapping.responses and mapping.prompt is None and not any(responses):
        field = source_name(_main_source(mapping.responses[0]))
        raise FileFormatError("expected at least one response", line=scope.line, field=field)
    return responses


def _is_judged(mapping: Mapping, number: int, scope: Scope) -> bool:
    """Return whether a row has a value about a response of which it has the field: then an empty text is an answer."""
    is_list = any(own.each for own in mapping.responses)
    source = None if is_list else mapping.responses[number - 1].text
    if not isinstance(source, str) or is_template(source) or scope.cell(source) is MISSING:
        return False
    blocks = (*mapping.labels, *mapping.judges, *mapping.gold)
    about = [own for own in blocks if number in (own.pair or (number,)) and own.response in (None, number, "element")]
    elements = (
        (block, element)
        for block in about
        for element in scope.of_block(block)
        if block.response != "element" or element.element == number
    )
    return any(not is_empty(element.cell(own)) for block, element in elements for own in block.value_sources())


def _main_source(fields: ResponseFields) -> Source | None:
    return next(iter(as_tuple(fields.text)), fields.transcript or fields.image)


def _missing_text(fields: ResponseFields, scope: Scope) -> FileFormatError:
    """Return the error of a response without a text, which names the next step."""
    field = source_name(_main_source(fields))
    if is_template(field):
        return FileFormatError("expected the text of a response", line=scope.line, field=field)
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


def _read_critiques(blocks: tuple[CritiqueFields, ...], scope: Scope, present: Sequence[bool]) -> tuple[Critique, ...]:
    """Return the critiques with a text, of responses that there are; the texts of their AIUs are a list in a cell, if
    they are in the file."""
    critiques = []
    for block in blocks:
        if present[block.of - 1 : block.of] == [False]:
            continue
        text, author = scope.text(block.text), scope.resolve(block.author)
        if not text or not author:
            continue
        id, aius = critique_id_from_author(author), None
        if block.aius is not None:
            cells = parse_list(scope.get(block.aius), scope.line, block.aius, block.separator)
            aius = aius_with_numbers(id, [parse_name(cell, scope.line, block.aius) for cell in cells])
        fields = {"id": id, "author": author, "text": text, "aius": aius}
        critiques.append(Critique(source=block.source, role=block.role, of=sum(present[: block.of]), **fields))
    return tuple(critiques)


def _read_aspects(fields: AspectFields | str, scope: Scope) -> tuple[str, ...]:
    """Return an item's own aspects: those of a list, or of text split at the separator, otherwise at line breaks."""
    field, separator = (fields, None) if isinstance(fields, str) else (fields.field, fields.separator)
    cell = scope.get(field)
    is_plain = isinstance(cell, str) and separator is None and not cell.lstrip().startswith("[")
    cells = str(cell).splitlines() if is_plain else parse_list(cell, scope.line, field, separator)
    return tuple(" ".join(parse_name(cell, scope.line, field).split()) for cell in cells if str(cell).strip())


def _scenario(mapping: Mapping, scope: Scope) -> str | None:
    if mapping.category_of is not None:
        from core.formats.published.dna_weights import category_of

        return category_of(scope.optional(mapping.category_of) or "") or None
    return (scope.resolve(mapping.scenario) or "").strip() or None if mapping.scenario else None


def _group_name(group: Source | tuple[str, ...] | None, scope: Scope) -> str | None:
    """Return the same short name for all rows in which the group's fields are equal."""
    if group is None:
        return None
    if isinstance(group, str | Constant | Excerpt):
        text = scope.resolve(group) or ""
    else:
        text = " · ".join(scope.text(path) or "" for path in group)
    return _shortened(text) or None


def _shortened(text: str) -> str:
    """Return a text without line breaks, the end of a long one replaced by a digest of all of it."""
    name = " ".join(text.split())
    if len(name) <= MAX_GROUP_LENGTH:
        return name
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name[: MAX_GROUP_LENGTH - 10]}… {digest}"


# Exchanges the two responses of half of the items, and the numbers of the responses in what refers to them.

EXCHANGED = {1: 2, 2: 1}
EXCHANGED_PARTS = {"1": "2", "2": "1"}
# The step of the turns that `core.formats.mapping.judges` makes of preferences.
PREFERENCE_STEP = "choice"


def is_exchanged(item: str) -> bool:
    """Return whether an item's responses are exchanged: for half of the names, the same ones each time."""
    return hashlib.sha256(item.encode()).digest()[0] % 2 == 1


def shuffle_responses(records: Iterator[Record]) -> Iterator[Record]:
    """Yield the records of items with two responses, in an order that does not give the preferred one away."""
    for record in records:
        match record:
            case ItemRecord(item=item) if is_exchanged(item.id):
                critiques = tuple(_with(critique, of=_exchange(critique.of)) for critique in item.critiques)
                yield _with(record, item=_with(item, responses=item.responses[::-1], critiques=critiques))
            case LabelRecord(label=label) if is_exchanged(label.target.item):
                yield _with(record, label=_exchange_own(label))
            case AdjudicationRecord(ruling=ruling) if is_exchanged(ruling.target.item):
                yield _with(record, ruling=_exchange_own(ruling))
            case TraceRecord(item=item_id) if is_exchanged(item_id):
                yield _with(record, events=tuple(map(_exchange_event, record.events)))
            case _:
                yield record


def _with(record: Any, /, **fields: Any) -> Any:
    return record.model_copy(update=fields)


def _exchange(value: Any) -> Any:
    """Return the number of the other response; other values are unchanged."""
    return EXCHANGED.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value


def _exchange_own(record: Any) -> Any:
    """Return a label, a ruling or an opinion with the other preference, or about the other response."""
    target = getattr(record, "target", None)
    place = target or record
    if place.kind == "preference":
        return _with(record, value=_exchange(record.value))
    number, comma, step = place.part.partition(",")
    part = EXCHANGED_PARTS.get(number, number) + comma + step
    return _with(record, target=_with(target, part=part)) if target else _with(record, part=part)


def _exchange_event(event: Any) -> Any:
    match event:
        case TurnCompleted(turn=turn):
            reading = _exchange(turn.reading) if turn.step == PREFERENCE_STEP else turn.reading
            return _with(event, turn=_with(turn, reading=reading, shown=tuple(map(_exchange, turn.shown))))
        case VerdictReached(verdict=verdict):
            opinions = tuple(map(_exchange_own, verdict.opinions))
            is_preference = any(opinion.kind == "preference" for opinion in opinions)
            value = _exchange(verdict.value) if is_preference else verdict.value
            return _with(event, verdict=_with(verdict, value=value, opinions=opinions))
    return event
