"""Records of an import, sorted by type before its transaction begins.

Items, labels and traces, of which there may be hundreds of thousands, are written to temporary files as the columns of
their rows; the others, and what identifies items, traces and targets, stay in memory.
"""

import pickle
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import IO, Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, PlainLabels, Record, RunRecord, TraceRecord, TranscriptRecord
from core.formats.text import current_line
from core.items import Item
from core.labels import Label, Target, Value
from core.protocols import registry
from core.trace import Event, TraceFailed, TurnCompleted, Verdict, VerdictReached, current_events
from core.verdicts import verdict_contention
from storage.db.columns import EncodedJson, to_json
from storage.db.connections import insert_all
from storage.db.fingerprints import Row, label_columns, to_utc
from storage.db.tables import EventRow, OpinionRow, RunRow, TraceRow, now
from storage.labelling import critique_queue
from storage.labels.targets import TargetKey, key_of
from storage.runs import call_totals, outcomes, trace_opinions
from storage.runs.events import event_row, opinion_row, verdict_columns
from storage.studies import items, transcripts

# Entries of an import in a temporary file.

Entry = TypeVar("Entry")
# Rows in memory at once.
BATCH = 4_000
# Characters of long entries in memory at once.
MAX_LENGTH = 2**25


class Spool(Generic[Entry]):
    """Entries in the order in which they were added, in batches in a temporary file."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        """Entries in memory at once."""
        self._file: IO[bytes] | None = None
        self._pending: list[Entry] = []
        self._length = self._written = 0
        """Characters of the pending entries, and the number of batches in the file."""
        self.size = 0

    def add(self, entry: Entry, length: int = 0) -> None:
        """Append an entry; `length` has its characters, if they can be many."""
        self._pending.append(entry)
        self._length += length
        self.size += 1
        if len(self._pending) == self.batch or self._length > MAX_LENGTH:
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
            pickle.dump(self._pending, self._file, pickle.HIGHEST_PROTOCOL)
            self._pending, self._length = [], 0
            self._written += 1

    def batches(self) -> Iterator[list[Entry]]:
        """Yield the entries; nothing can be added afterwards."""
        if self._file:
            self._file.seek(0)
            for _ in range(self._written):
                yield pickle.load(self._file)
        if self._pending:
            yield self._pending

    def numbered(self) -> Iterator[list[tuple[int, Entry]]]:
        """Yield the batches with the places of their entries, from 0."""
        first = 0
        for batch in self.batches():
            yield list(enumerate(batch, first))
            first += len(batch)

    def close(self) -> None:
        """Delete the file."""
        if self._file:
            self._file.close()


# The traces of an import as the rows that are stored, in temporary files.

# Traces in memory at once.
TRACE_BATCH = 500
# In place of the ids of rows, which are not known before they are stored.
NO_ID = 0
# The rows of a trace's events (`_plain_row`), and those of the events that change the list of unreadable replies, with
# their numbers.
SpooledEvents = tuple[list[Row], list[tuple[int, Event]]]
# The target and the row of each opinion of a trace.
SpooledOpinions = list[tuple[TargetKey, Row]]


class TraceHead(NamedTuple):
    """What identifies a trace of a file, and what it is compared by."""

    run: str
    item: str
    part: str
    events: int
    """Their number."""
    times: int
    """Their number."""
    digest: bytes
    """That of the events and times."""


class SpooledTraces:
    """Traces in the order of the file; their heads and the targets of their opinions are in memory."""

    def __init__(self) -> None:
        self.heads: list[TraceHead] = []
        self.targets: dict[TargetKey, None] = {}
        self.columns = Spool[Row](TRACE_BATCH)
        """Their columns without ids."""
        self.events = Spool[SpooledEvents](TRACE_BATCH)
        """Their events, in batches of the same traces, and the opinions in these."""
        self.opinions = Spool[SpooledOpinions](TRACE_BATCH)

    def add(self, record: TraceRecord) -> None:
        """Append a trace."""
        events = [
            _plain_row(event, seq, at)
            for seq, (event, at) in enumerate(zip_longest(record.events, record.times[: len(record.events)]))
        ]
        listed = [(seq, event) for seq, event in enumerate(record.events) if outcomes.is_listed(event)]
        current = current_events(record.events)
        verdicts = [event.verdict for event in current if isinstance(event, VerdictReached)]
        opinions: SpooledOpinions = []
        for verdict in verdicts:
            columns = verdict_columns(verdict)
            for opinion in verdict.opinions:
                key = (record.item, opinion.kind, opinion.criterion, opinion.part)
                row = opinion_row(NO_ID, NO_ID, NO_ID, NO_ID, opinion, columns)
                opinions.append((key, row))
                self.targets[key] = None
        texts = [text for row in events for text in (row["body"], row["prompt"])]
        digest = items.content_digest("\0".join([*texts, *map(str, record.times)]))
        head = TraceHead(record.run, record.item, record.part, len(record.events), len(record.times), digest)
        self.heads.append(head)
        self.columns.add(_trace_columns(record, current, verdicts))
        self.events.add((events, listed))
        self.opinions.add(opinions)

    def close(self) -> None:
        """Delete the temporary files."""
        self.columns.close()
        self.events.close()
        self.opinions.close()


def _plain_row(event: Event, seq: int, at: datetime | None) -> Row:
    """Return the row of an event with its body as JSON in a plain text, and without a time if the file has none.

    Texts of another type and times are pickled in fifty times the time of all other columns.
    """
    row = event_row(event, NO_ID, NO_ID, seq, at)
    return row | {"body": str(row["body"]), "at": None if at is None else row["at"]}


def _trace_columns(record: TraceRecord, current: Sequence[Event], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the columns of a trace without ids; its outcome follows from the last event."""
    turns = (event.turn for event in current if isinstance(event, TurnCompleted))
    row = {
        "outcome": "waiting",
        "problem": "",
        "uncertainty": 0.0,
        "contention": None,
        "shown_orders": trace_opinions.orders_of_turns(turns) if verdicts else None,
    }
    match record.events[-1] if record.events else None:
        case VerdictReached(verdict=verdict):
            row |= {"outcome": verdict.outcome, "contention": verdict_contention(verdict)}
        case TraceFailed(problem=problem):
            row |= {"outcome": "failed", "problem": problem}
    return row


RecordType = TypeVar("RecordType")
# Characters of a value that labels share, and columns that are shared.
MAX_SHARED_LENGTH, MAX_SHARED = 100, 10_000


# The place of its target in `SortedRecords.targets`, its annotator, its columns without ids, and its line if the file
# is read by lines. Labels with equal columns share them, so do not modify. A plain tuple is pickled in a fraction of
# the time of one with names.
SpooledLabel = tuple[int, str, Row, int | None]


class SortedRecords:
    """The content of records by type, in the order of the file."""

    def __init__(self, records: Iterable[Record | PlainLabels]) -> None:
        """Read the records to their end; raises TiebreakError for two different items with one id."""
        self.items, self.labels = Spool[items.ItemColumns](BATCH), Spool[SpooledLabel](BATCH)
        self.transcripts = Spool[transcripts.Encoded](BATCH)
        self.transcript_digests: dict[str, None] = {}
        self.referenced: dict[str, str] = {}
        """Digest of each transcript that an item refers to -> the first such item."""
        self.traces = SpooledTraces()
        self.item_digests: dict[str, bytes] = {}
        """Name of each item in the file -> digest of its content."""
        self.repeated_items = 0
        """Items that are in the file again."""
        self.targets: dict[TargetKey, int] = {}
        """The targets of labels and critiques, with their places from 0."""
        self.annotators: set[str] = set()
        """The annotators of labels."""
        self._shared_columns: dict[tuple[Any, ...], Row] = {}
        self._by_type: dict[type[Any], list[Any]] = defaultdict(list)
        try:
            for record in records:
                self._add(record)
        except BaseException:
            self.close()
            raise

    def of(self, record_type: type[RecordType]) -> list[RecordType]:
        """Return all records of one type, which is not that of items, labels or traces."""
        return self._by_type[record_type]

    def add_targets(self, targets: Iterable[Target]) -> None:
        """Add the targets of other records."""
        for target in targets:
            self._distinct(key_of(target))

    def all_targets(self) -> dict[TargetKey, int]:
        """Return the targets with those of the opinions in traces."""
        for key in self.traces.targets:
            self._distinct(key)
        return self.targets

    def label_values(self) -> Iterator[tuple[TargetKey, Value | None, SpooledLabel]]:
        """Yield the target, the value and the label; of labels in a batch that share their columns, the first."""
        keys = list(self.targets)
        for batch in self.labels.batches():
            seen: set[int] = set()
            for label in batch:
                place, _, columns, _ = label
                if id(columns) not in seen:  # the batch holds the columns, so an id is not used again
                    seen.add(id(columns))
                    yield keys[place], columns["value"], label

    def close(self) -> None:
        """Delete the temporary files."""
        self.items.close()
        self.transcripts.close()
        self.labels.close()
        self.traces.close()

    def _add(self, record: Record | PlainLabels) -> None:
        match record:
            case PlainLabels():
                self._add_plain_labels(record)
            case LabelRecord(label=label):
                self.annotators.add(label.annotator)
                place = self._distinct(key_of(label.target))
                self.labels.add((place, label.annotator, self._columns(label), current_line()))
            case ItemRecord(item=item):
                self._add_item(item)
            case TranscriptRecord(transcript=transcript):
                digest, body = transcripts.encode(transcript)
                if digest not in self.transcript_digests:
                    self.transcript_digests[digest] = None
                    self.transcripts.add((digest, body), len(body))
            case TraceRecord():
                self.traces.add(record)
            case _:
                self._by_type[type(record)].append(record)

    def _add_item(self, item: Item) -> None:
        body = to_json(item)
        digest = items.content_digest(body)
        if self.item_digests.setdefault(item.id, digest) != digest:
            raise TiebreakError(f"Item {item.id!r} is in the file twice, with different content.")
        if len(self.item_digests) == self.items.size:  # nothing was added
            self.repeated_items += 1
            return
        self.items.add((item.id, item.scenario, item.group, body), len(body))
        for referenced in item.transcripts:
            self.referenced.setdefault(referenced, item.id)
        if item.critiques:
            self.add_targets(critique_queue.targets_of_item(item.id, item.critiques))

    def _add_plain_labels(self, labels: PlainLabels) -> None:
        target, line = labels.target, current_line()
        place, subject = self._distinct(key_of(target)), (target.kind, target.criterion)
        for annotator, value in labels.values:
            self.annotators.add(annotator)
            columns = None if isinstance(value, dict) else self._shared_columns.get(_plain_key(subject, value))
            if columns is None:
                columns = self._columns(Label(target=target, annotator=annotator, value=value))
            self.labels.add((place, annotator, columns, line))

    def _columns(self, label: Label) -> Row:
        """Return the columns of a label; those of labels with only a value are shared."""
        value, subject = label.value, (label.target.kind, label.target.criterion)
        is_plain = type(value) is int or type(value) is bool or (type(value) is str and len(value) <= MAX_SHARED_LENGTH)
        if not is_plain or label.reason or label.at or label.seconds is not None or label.evidence or label.shown:
            return label_columns(label)
        key = _plain_key(subject, value, label.blind, label.surplus, label.guidelines)
        columns = self._shared_columns.get(key)
        if columns is None:
            columns = label_columns(label)
            if len(self._shared_columns) < MAX_SHARED:
                self._shared_columns[key] = columns
        return columns

    def _distinct(self, key: TargetKey) -> int:
        return self.targets.setdefault(key, len(self.targets))


def _plain_key(subject: tuple[str, str], value: Value | None, *others: Any) -> tuple[Any, ...]:
    """Return what the columns of a label without a reason, a time and evidence follow from."""
    return subject, type(value), value, *(others or (True, False, None))  # 1 and True are equal as keys


# The runs and traces of an imported file, which are stored like those that were executed here.

# The settings of runs that are verdicts in a table.
OF_TABLES = {"criterion", "judge", "judges"}
UNFINISHED = "It was not finished when it was exported."
# The ids of a run and of an item, and the part of the trace.
TraceKey = tuple[int, int, str]


def add_runs(session: Session, study_id: int, records: Sequence[RunRecord], experiment_ids: Mapping[str, int]) -> int:
    """Add the runs that the study does not have, and return their number; `experiment_ids` are those of the study.

    Raises TiebreakError if the study has a run of the same name with other settings.
    """
    query = select(RunRow).where(col(RunRow.study_id) == study_id)
    rows = {row.name: row for row in session.scalars(query)}
    before = len(rows)
    for record in records:
        row = rows.setdefault(record.name, _run_row(study_id, record, experiment_ids))
        if row.source == "imported" and {*row.settings, *record.settings} <= OF_TABLES:
            own, imported = _without_criterion(row.settings), _without_criterion(record.settings)
            if row.settings != record.settings and own == imported:
                # Verdicts of a judge on several levels, or of several files: the run is of no single criterion.
                row.settings, row.criterion = own, ""
                record = record.model_copy(update={"settings": own})
        if row.protocol != record.protocol or not _are_equal(row.protocol, row.settings, record.settings):
            raise TiebreakError(f"The study has a run {record.name!r} with other settings; rename one of them.")
        session.add(row)
    session.flush()
    return len(rows) - before


def _without_criterion(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "criterion"}


def _are_equal(protocol: str, stored: dict[str, Any], imported: dict[str, Any]) -> bool:
    """Return whether settings are equal, also if one of them has former names of keys or values."""
    if stored == imported:
        return True
    try:
        current = registry.get(protocol).settings.model_validate
        return current(stored) == current(imported)
    except (TiebreakError, ValidationError):  # the protocol or a field is unknown here
        return False


def add_traces(
    session: Session,
    study_id: int,
    traces: SpooledTraces,
    target_ids: Mapping[TargetKey, int],
    advance: Callable[[int], None],
) -> tuple[int, int]:
    """Add the traces that their runs do not have; `advance` is called with each batch's number.

    Return how many were added, and of how many others the study has different verdicts, which stay.
    """
    new, known = _select_new(session, study_id, traces.heads)
    for rows in traces.columns.numbered() if new else ():
        added = [
            {"study_id": study_id, **dict(zip(("run_id", "item_id", "part"), new[place], strict=True)), **columns}
            for place, columns in rows
            if place in new
        ]
        insert_all(session, TraceRow, added)
    key = (col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part))
    stored = session.execute(select(*key, col(TraceRow.id)).where(col(TraceRow.study_id) == study_id))
    ids = {(run, item, part): id for run, item, part, id in stored}
    advance(len(traces.heads) - len(new))
    for batch, opinions in zip(traces.events.numbered(), traces.opinions.batches(), strict=True) if new else ():
        owners = {
            place: outcomes.Owner(ids[new[place]], study_id, new[place][0], traces.heads[place].item)
            for place, _ in batch
            if place in new
        }
        _insert_events(session, [(owners[place], events) for place, events in batch if place in new])
        added_opinions = [(owners[place], own) for (place, _), own in zip(batch, opinions, strict=True) if place in new]
        _insert_opinions(session, added_opinions, target_ids)
        advance(len(owners))
    if new:
        run_ids = sorted({run_id for run_id, *_ in new.values()})
        call_totals.update_sizes(session, run_ids)
        call_totals.update_runs(session, run_ids)
    return len(new), _count_different(session, study_id, traces, known, target_ids)


def _count_different(
    session: Session,
    study_id: int,
    traces: SpooledTraces,
    known: Mapping[int, TraceKey],
    target_ids: Mapping[TargetKey, int],
) -> int:
    """Return of how many traces of a file, by place, the study has other values of judges."""
    if not known:
        return 0
    key = (col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part))
    columns = (col(OpinionRow.target_id), col(OpinionRow.judge), col(OpinionRow.stage), col(OpinionRow.value))
    query = select(*key, *columns).join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
    run_ids = sorted({run_id for run_id, *_ in known.values()})
    stored = defaultdict[TraceKey, set[tuple[int, str, str, str]]](set)
    for *own, value in session.execute(query.where(col(OpinionRow.study_id) == study_id, key[0].in_(run_ids))):
        run_id, item_id, part, target_id, judge, stage = own
        stored[run_id, item_id, part].add((target_id, judge, stage, to_json(value)))
    different = 0
    for place, opinions in (own for batch in traces.opinions.numbered() for own in batch if own[0] in known):
        given = {(target_ids[key], row["judge"], row["stage"], to_json(row["value"])) for key, row in opinions}
        different += given != stored[known[place]]
    return different


def _insert_events(session: Session, traces: Sequence[tuple[outcomes.Owner, SpooledEvents]]) -> None:
    stored_at = now()
    rows = []
    for owner, (events, _) in traces:
        ids = {"trace_id": owner.id, "run_id": owner.run_id}
        rows += [row | ids | {"body": EncodedJson(row["body"]), "at": row["at"] or stored_at} for row in events]
    insert_all(session, EventRow, rows)
    listed = [outcomes.NewEvent(owner.id, seq, event) for owner, (_, listed) in traces for seq, event in listed]
    outcomes.insert_unread(session, {owner.id: owner for owner, _ in traces}, listed)


def _insert_opinions(
    session: Session, traces: Sequence[tuple[outcomes.Owner, SpooledOpinions]], target_ids: Mapping[TargetKey, int]
) -> None:
    rows = []
    for owner, opinions in traces:
        ids = {"study_id": owner.study_id, "run_id": owner.run_id, "trace_id": owner.id}
        rows += [row | ids | {"target_id": target_ids[target]} for target, row in opinions]
    insert_all(session, OpinionRow, rows)


def _select_new(
    session: Session, study_id: int, heads: Sequence[TraceHead]
) -> tuple[dict[int, TraceKey], dict[int, TraceKey]]:
    """Return the places of the traces that the study does not have, and of those that it has with as many events, each
    with their keys.

    Raises TiebreakError for a trace that has fewer events in the study, and for two different traces of one item and
    run.
    """
    if not heads:
        return {}, {}
    query = (
        select(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part), func.count(col(EventRow.seq)))
        .outerjoin(EventRow, col(EventRow.trace_id) == col(TraceRow.id))
        .where(col(TraceRow.study_id) == study_id)
        .group_by(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part))
    )
    stored = {(run, item, part): events for run, item, part, events in session.execute(query)}
    names = select(col(RunRow.name), col(RunRow.id)).where(col(RunRow.study_id) == study_id)
    run_ids = dict(session.execute(names).all())
    item_ids = items.find_ids(session, study_id, {head.item for head in heads})
    places, known = dict[TraceKey, int](), dict[int, TraceKey]()
    for place, head in enumerate(heads):
        if head.times and head.times != head.events:
            raise TiebreakError(f"The trace of item {head.item!r} in run {head.run!r} needs one time for each event.")
        key = (_id_of(run_ids, head.run, "run"), _id_of(item_ids, head.item, "item"), head.part)
        if head.events > stored.get(key, head.events):
            raise TiebreakError(
                f"The trace of item {head.item!r} in run {head.run!r} is in this study already, and shorter; "
                "import the file into a new study."
            )
        if key in stored:
            known |= {place: key} if head.events == stored[key] else {}
        elif heads[places.setdefault(key, place)].digest != head.digest:
            raise TiebreakError(f"The trace of item {head.item!r} in run {head.run!r} is in the file twice.")
    return {place: key for key, place in places.items()}, known


def _id_of(ids: Mapping[str, int], name: str, noun: str) -> int:
    if name not in ids:
        raise TiebreakError(f"The file refers to the {noun} {name!r}, which is neither in the file nor in the study.")
    return ids[name]


def _run_row(study_id: int, record: RunRecord, experiment_ids: Mapping[str, int]) -> RunRow:
    """Return the row of an imported run.

    It is never resumed: its settings may name another machine's servers. One that was being executed is stopped.
    """
    unfinished = record.state in ("requested", "cancelling")
    fields = {name: value for name, value in record if name not in ("type", "experiment")}
    fields |= {
        "experiment_id": _id_of(experiment_ids, record.experiment, "experiment") if record.experiment else None,
        "source": "imported" if record.source == "live" else record.source,
        "state": "stopped" if unfinished else record.state,
        "problem": record.problem or (UNFINISHED if unfinished else ""),
        "created_at": to_utc(record.created_at) or now(),
        "ended_at": to_utc(record.ended_at),
    }
    return RunRow(study_id=study_id, **fields)
