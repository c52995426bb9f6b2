"""Tables: CSV, TSV, JSON, JSON lines or Parquet, read with a user's mapping, and what an import with it would store.

The outcome is read before anything is stored, and before a person confirms the mapping.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, takewhile
from pathlib import Path

from core.answers.text import shorten
from core.errors import FileFormatError
from core.formats.mapping.confirmation import (
    GUESSED,
    Level,
    Question,
    Statement,
    leave_open,
    open_questions,
    refusal,
    role_lines,
    state_values,
)
from core.formats.mapping.fields import MISSING, Row, get_value, is_template, join_keys, parse_path, quote_key
from core.formats.mapping.items import ItemReader, shuffle_responses
from core.formats.mapping.joins import read_joined, with_records
from core.formats.mapping.judges import JudgeReader, WeightsReader
from core.formats.mapping.labels import GoldReader, LabelReader
from core.formats.mapping.mapping import (
    Block,
    GoldBlock,
    LongLabels,
    Mapping,
    RankingLabels,
    as_tuple,
    field_paths,
    uses_field,
    with_proposed,
)
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.rows import NUMBERED, SUFFIXES, files_of_records, has_header, is_empty
from core.formats.mapping.scope import (
    BEFORE,
    MAX_PYTHON_ROWS,
    WHOLE_RECORD,
    Omissions,
    RequiredFields,
    Scope,
    current_omissions,
    iter_scopes,
    recording_omissions,
)
from core.formats.records import (
    AdjudicationRecord,
    ItemRecord,
    LabelRecord,
    Record,
    Records,
    TraceRecord,
    TranscriptRecord,
)
from core.formats.text import data_suffix, windows_word
from core.formats.validation_errors import join_names
from core.items import Item
from core.labels import Scale, Target, Value
from core.trace import VerdictReached

# A name of a column that looks like a value: a number, a link or a long text.
VALUE = re.compile(r"[\d.,+-]+|https?://.*|.{100,}", re.DOTALL)


def recognises(path: Path) -> bool:
    """Return whether a file has the suffix of a table, or a folder a JSON file for each record."""
    return bool(files_of_records(path)) if path.is_dir() else path.is_file() and data_suffix(path) in SUFFIXES


def read(path: Path, mapping: Mapping) -> Records:
    """Yield the records of a table; its responses are in random order if the mapping says so."""
    records = _read(path, mapping)
    return shuffle_responses(records) if mapping.shuffle else records


def questions(path: Path, mapping: Mapping) -> list[Question]:
    """Return what a person has to state before the import; the whole file is read only if something is open."""
    with recording_omissions():  # the import counts what it leaves out
        mapping = leave_open(_iter_file(path, mapping), mapping)
        if all(block.confirmed for block in (*mapping.labels, *mapping.judges, *mapping.gold)):
            return []
        return open_questions(_iter_file(path, mapping), mapping)


def statements(path: Path, mapping: Mapping) -> tuple[list[Statement], list[str]]:
    """Return how the values of all labels, verdicts and gold are read, and notes on what rows are and are left out.

    Raises FileFormatError for a row that cannot be read.
    """
    with recording_omissions() as omissions:
        level = Level()
        stated = state_values(level.count(_iter_file(path, mapping), mapping), mapping)
        return stated, [*level.lines(), *omissions.notes()]


def roles(path: Path, mapping: Mapping) -> list[str]:
    """Return which fields are the texts, systems and annotators, and which are not used, each with its first value."""
    unused = unused_fields(path, mapping)
    named = [name for _, row in islice(read_joined(path, mapping), 1) for name in row if VALUE.fullmatch(name)]
    with recording_omissions():
        lines = role_lines(mapping, next(_iter_file(path, mapping), None), unused)
    if has_header(path) and named:
        lines.append(f"the first line names the columns: {join_names(named)}; `--no-header` if these are values")
    return lines


def refuse_open(path: Path, mapping: Mapping) -> None:
    """Raise FileFormatError if a person has to state something before the import."""
    if not mapping.confirmed:
        raise FileFormatError(GUESSED)
    if open_ones := questions(path, mapping):
        raise refusal(open_ones)


def _read(path: Path, mapping: Mapping) -> Records:
    """Yield criteria and scales before their first use, and each item once, before its labels.

    Raises FileFormatError for the first invalid row, for values whose meaning is open, and at the end for a mapped
    field that no row has. Rows are read one at a time; only a few numbers for each item, label and verdict stay in
    memory.
    """
    refuse_open(path, mapping)
    labelled, declared = set[tuple[str, ...]](), dict[tuple[str, str], Scale]()
    items, label_readers = ItemReader(mapping), [LabelReader(block, labelled, declared) for block in mapping.labels]
    labels_scales, golds = dict[tuple[str, str | None], Scale](), dict[Target, Value]()
    for block in (*mapping.gold, *mapping.labels):
        is_any = block.criterion_field is not None if isinstance(block, GoldBlock | LongLabels) else False
        labels_scales[block.kind, None if is_any else block.criterion] = block.scale
    is_long = any(isinstance(block, LongLabels | RankingLabels) for block in mapping.labels)
    fields = RequiredFields(mapping)
    judges = JudgeReader(mapping.judges, labels_scales, declared, repeats=is_long)
    readers: tuple[LabelReader | GoldReader | WeightsReader | JudgeReader, ...] = (
        *label_readers,
        *(GoldReader(block, declared, golds) for block in mapping.gold),
        *(WeightsReader(block, judges) for block in mapping.weights),
        *((judges,) if mapping.judges else ()),
    )
    for scope in _iter_file(path, mapping):
        fields.check(scope)
        item, record = items.read(scope)
        if not items.repeats:
            labelled.clear()
        if readers:
            systems, numbers, transcripts = items.systems, items.numbers, items.of_responses
            scope = replace(scope, repeat=items.row, systems=systems, numbers=numbers, transcripts=transcripts)
        if record is not None:
            yield from (TranscriptRecord(transcript=own) for own in items.transcripts)
            yield record
        for reader in readers:
            yield from reader.read(scope, item)
    yield from chain(*(reader.finish() for reader in label_readers), judges.runs())
    if not items.first_lines:
        raise _no_item(mapping)
    fields.finish()


def _no_item(mapping: Mapping) -> FileFormatError:
    if mapping.where:
        return FileFormatError("no record has these values, so there is no item", field="where")
    if mapping.where_not:
        return FileFormatError("every record has one of these values, so there is no item", field="where_not")
    return FileFormatError("every list is empty, so there is no item", field=", ".join(mapping.explode) or None)


def _iter_file(path: Path, mapping: Mapping) -> Iterator[Scope]:
    """Yield the scopes of a file that the mapping selects.

    Raises FileFormatError for a field that is chosen by being empty and that no record has.
    """
    unseen = {own for own, values in (*mapping.where.items(), *mapping.where_not.items()) if "" in values}
    for scope, is_selected in _iter_all(path, mapping):
        unseen = {own for own in unseen if scope.get(own) is MISSING} if unseen else unseen
        if is_selected:
            yield scope
    if unseen:
        raise FileFormatError("no record of the file has this field", field=min(unseen))


def _iter_all(path: Path, mapping: Mapping) -> Iterator[tuple[Scope, bool]]:
    """Yield the scopes of a file, and whether the mapping selects each."""
    omissions, texts, selective = current_omissions(), _text_fields(mapping), _selective_blocks(mapping)
    prompts = len(as_tuple(mapping.prompt))
    scopes = _iter_scopes(path, mapping)
    for join in (own for own in mapping.join if own.exploded):
        scopes = with_records(scopes, path.parent / join.file, join)
    for scope in scopes:
        omissions.rows += 1
        is_selected = all(scope.have(mapping.where)) and not any(scope.have(mapping.where_not))
        omissions.rows_left_out += not is_selected
        if not is_selected:
            yield scope, False
            continue
        if texts and all(is_empty(scope.get(text)) for text in texts[:prompts]):
            if all(is_empty(scope.get(text)) for text in texts[prompts:]):
                omissions.blank += 1
                continue
            omissions.empty_prompts += 1
        omissions.unread += sum(_count_unread(scope, blocks) for blocks in selective)
        yield scope, True


def _iter_scopes(path: Path, mapping: Mapping) -> Iterator[Scope]:
    """Yield the rows of a file, or the elements of their lists."""
    omissions, has_before = current_omissions(), uses_field(mapping, BEFORE)
    for number, (line, row) in enumerate(read_joined(path, mapping), 1):
        if number == 1 and has_header(path):
            _check_header(row, mapping)
            omissions.without_header = NUMBERED.format(1) in row
        if number == 1:
            tables = filter(has_header, (path, *(path.parent / join.file for join in mapping.join)))
            omissions.windows_word = next(filter(None, map(windows_word, tables)), "")
        if row.keys() <= {join.name for join in mapping.join}:
            omissions.blank += 1
            continue
        if number <= MAX_PYTHON_ROWS:
            omissions.note_python(row)
        is_empty_list = True
        for scope in _iter_row(row, line, number, mapping, has_before=has_before):
            is_empty_list = False
            yield scope
        omissions.empty_lists += is_empty_list


def _selective_blocks(mapping: Mapping) -> list[list[Block]]:
    """Return the blocks of the rows, and those of each list in them, if all of them select some by `where`."""
    found: dict[tuple[str | None, str | None], list[Block]] = {}
    for block in (*mapping.labels, *mapping.judges, *mapping.gold):
        found.setdefault((block.each, block.divider), []).append(block)
    return [blocks for blocks in found.values() if all(block.where for block in blocks)]


def _count_unread(scope: Scope, blocks: Sequence[Block]) -> int:
    """Return how many elements of a list, or whether the row, none of its blocks selects."""
    elements = scope.elements(blocks[0].each, blocks[0].divider)
    return sum(not any(all(element.have(block.where)) for block in blocks) for element in elements)


def _iter_row(row: Row, line: int, number: int, mapping: Mapping, *, has_before: bool) -> Iterator[Scope]:
    """Yield the scopes of a row; the row itself if it lacks the list, and is left out by its own values."""
    whole = Scope(row, line, number)
    try:
        yield from iter_scopes(row, line, number, mapping, has_before=has_before)
    except FileFormatError:
        named = {field: values for field, values in mapping.where.items() if whole.get(field) is not MISSING}
        if all(whole.have(named)) and not any(whole.have(mapping.where_not)):
            raise
        yield whole


def _text_fields(mapping: Mapping) -> list[str]:
    """Return the fields of prompt and responses; none if they are not all fields. A row without any, such as a sum
    below a table, is no item."""
    own = [response.text for response in mapping.responses]
    sources = [source for texts in (mapping.prompt, *own) for source in as_tuple(texts)]
    fields = [source for source in sources if isinstance(source, str) and not is_template(source)]
    others = mapping.image or any(response.image or response.transcript for response in mapping.responses)
    return fields if mapping.prompt and not others and len(fields) == len(sources) else []


def _check_header(row: Row, mapping: Mapping) -> None:
    """Raise FileFormatError for a missing column, with the names of the existing ones."""
    required = mapping.explode[:1] if mapping.explode else field_paths(mapping)
    optional = {join.name for join in mapping.join if join.optional}  # which the first row can lack
    for path in required:
        if path in WHOLE_RECORD or parse_path(path)[0] in optional:
            continue
        column = quote_key(parse_path(path)[0])  # a cell may hold JSON, which differs between rows
        if get_value(row, path) is MISSING and get_value(row, column) is MISSING:
            raise FileFormatError(f"there is no such column; there are {join_keys(row)}", line=1, field=path)


TEXT_LENGTH = 200  # characters of a text of the first item
NAMES = 10  # of annotators and systems that are listed
SHARED = 12  # characters that all responses have in common from which on they are stated
SOME = 3  # responses from which on this is no coincidence


@dataclass
class Outcome:
    """The counts of what would be stored, and of what would be left out."""

    omissions: Omissions
    counts: Counter[str] = field(default_factory=Counter)
    annotators: set[str] = field(default_factory=set)
    systems: set[str] = field(default_factory=set)
    labels: int = 0
    first: Item | None = None
    without_value: set[str] = field(default_factory=set)
    """The ids of items without a label, a verdict or gold."""
    texts: int = 0
    """Responses with a text."""
    begin: str | None = None
    """What the texts of all responses begin with."""
    with_prompt: int = 0
    """Responses with the prompt in them."""

    def add(self, record: Record) -> None:
        """Count a record."""
        match record:
            case ItemRecord(item=item):
                self.first = self.first or item
                self.without_value.add(item.id)
                self.counts[f"items with {len(item.responses)} responses"] += 1
                self.systems.update(own.system for own in item.responses if own.system)
                for text in filter(None, (own.text for own in item.responses)):
                    self.texts += 1
                    self.begin = text if self.begin is None else _shared_beginning(self.begin, text)
                    self.with_prompt += len(item.prompt) >= SHARED and item.prompt in text
            case LabelRecord(label=label):
                self.labels += 1
                self.annotators.add(label.annotator)
                self.without_value.discard(label.target.item)
                self.counts[f"labels ({_name(label.target)})"] += 1
            case AdjudicationRecord(ruling=ruling):
                self.without_value.discard(ruling.target.item)
                self.counts[f"gold values ({_name(ruling.target)})"] += 1
            case TraceRecord(item=key, events=[*_, VerdictReached(verdict=verdict)]):
                self.without_value.discard(key)
                for opinion in verdict.opinions:
                    self.counts[f"values of judges ({_kind(opinion.kind, opinion.criterion)})"] += 1

    @property
    def further(self) -> str:
        """A sentence if of more than a tenth of the values only one of several counts; "" otherwise.

        Such a mapping lacks what tells the values of one annotator about one target apart, such as a criterion.
        """
        left_out, all_values = self.omissions.further, self.omissions.further + self.labels
        if 10 * left_out <= all_values:
            return ""
        return (
            f"{left_out:,} of {all_values:,} labels would be left out, as further values of a target by one annotator: "
            "state what tells them apart with `--role criterion=FIELD`, or the `id` in a mapping"
        )

    def lines(self) -> list[str]:
        """Return the counts, the names of annotators and systems, and what is left out."""
        lines = [f"{count:,} {name}" for name, count in self.counts.items()]
        if len(self.counts) > 1 and self.without_value:  # not of items alone
            lines.append(f"{len(self.without_value):,} items have no value: {_listed(self.without_value)}")
        lines += [f"{len(self.annotators):,} annotators: {_listed(self.annotators)}"] if self.annotators else []
        lines += [f"{len(self.systems):,} systems: {_listed(self.systems)}"] if self.systems else []
        return [*lines, *self._shared_texts(), *self.omissions.notes(), *filter(None, [self.further])]

    def _shared_texts(self) -> Iterator[str]:
        """Yield what responses have in common: a response should be only what a system wrote."""
        if self.texts >= SOME and self.begin and len(self.begin) >= SHARED:
            yield f"all {self.texts:,} responses begin with {shorten(self.begin, TEXT_LENGTH)!r}"
        if self.with_prompt:
            yield f"{self.with_prompt:,} of {self.texts:,} responses contain the prompt"

    def item_lines(self) -> Iterator[str]:
        """Yield the texts of the first item, shortened."""
        if self.first is None:
            return
        yield f"The first item is {self.first.id}"
        for name in ("prompt", "context", "reference"):
            if text := getattr(self.first, name):
                yield f"  {name}: {shorten(text, TEXT_LENGTH)}"
        for number, own in enumerate(self.first.responses, 1):
            kind = "transcript, with the final answer" if own.transcript else "text"
            yield f"  response {number} of {own.system or 'no named system'}, {kind}: {shorten(own.text, TEXT_LENGTH)}"


def read_outcome(path: Path, mapping: Mapping) -> Outcome:
    """Return what an import would store if a mapping is confirmed as it is.

    Raises FileFormatError for a file that cannot be read with it.
    """
    with recording_omissions() as omissions:
        outcome = Outcome(omissions)
        for record in read(path, with_proposed(mapping, is_proposed=False)):
            outcome.add(record)
    return outcome


def _shared_beginning(first: str, second: str) -> str:
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(character for character, _ in equal)


def _name(target: Target) -> str:
    return _kind(target.kind, target.criterion)


def _kind(kind: str, criterion: str) -> str:
    return ", ".join(filter(None, (kind, criterion)))


def _listed(names: set[str]) -> str:
    return ", ".join([*sorted(names)[:NAMES], *(["..."] if len(names) > NAMES else [])])
