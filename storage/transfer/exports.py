"""The export of a study as records, which can be imported into another database and are equal there, and of replies.

Leases, drafts, undo stacks and the views of visitors without a name are not exported: they concern work in progress on
this server. A run that was executed here is "imported" elsewhere, and is not resumed there.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, TextIO

from sqlalchemy import ColumnElement, Engine, Text, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats import records
from core.formats.tables import escape_formula
from core.items import Item
from core.trace import (
    NumberedEvent,
    PastReading,
    ReplyExtracted,
    ReplyUnreadable,
    TraceRestarted,
    Turn,
    TurnCompleted,
    current_numbered_events,
    turn_readings,
)
from storage.db.connections import reading
from storage.db.tables import (
    EventRow,
    ExperimentRow,
    ItemRow,
    RunRow,
    TraceRow,
)
from storage.labels import designs, labels
from storage.runs import aius, experiments, runs, traces
from storage.runs.events import events_by_trace, parse_event
from storage.studies import studies, transcripts
from storage.transfer import participation

# Rows fetched at once: the records of a large study are streamed.
CHUNK = 2_000
BEFORE_ADJUDICATIONS: tuple[type[Any], ...] = (
    *(records.MarkRecord, records.ReplyRecord, records.KnownAnswerRecord, records.TrainingAnswerRecord),
    records.RepeatRecord,
)
AFTER_EDITS: tuple[type[Any], ...] = (records.ViewRecord, records.GuidelinesReadRecord)


def export_records(engine: Engine, study: studies.Study) -> Iterator[records.Record]:
    """Yield the records of a study, each after those that it refers to."""
    with reading(engine) as session:
        yield records.StudyRecord(
            description=study.description,
            guidelines=study.guidelines,
            rules=study.rules,
            prompts=study.prompts,
            sample=study.sample,
        )
        yield from studies.guidelines_versions(session, study.id)
        for criterion in studies.criteria(session, study.id):
            yield records.CriterionRecord(criterion=criterion)
        for (kind, name), scale in sorted(studies.scales(session, study.id).items(), key=lambda pair: pair[0]):
            yield records.ScaleRecord(kind=kind, criterion=name, scale=scale)
        for annotator in participation.annotator_names(session, study):
            yield records.AnnotatorRecord(name=annotator)
        yield from _items(session, study.id)
        yield from participation.target_records(session, study.id)
        yield from designs.records(session, study.id)
        yield from experiments.records(session, study.id)
        yield from _runs(session, study.id)
        yield from _traces(session, study.id)
        for label in labels.of_study(session, study.id):
            yield records.LabelRecord(label=label)
        for record_type in BEFORE_ADJUDICATIONS:
            yield from participation.stored_records(session, study.id, record_type)
        for adjudication in labels.adjudications(session, study.id):
            yield records.AdjudicationRecord(ruling=adjudication)
        yield from aius.records(session, study.id)
        for record_type in AFTER_EDITS:
            yield from participation.stored_records(session, study.id, record_type)


def _items(session: Session, study_id: int) -> Iterator[records.Record]:
    for transcript in transcripts.of_study(session, study_id):
        yield records.TranscriptRecord(transcript=transcript)
    query = select(cast(col(ItemRow.body), Text)).where(col(ItemRow.study_id) == study_id)
    query = query.order_by(col(ItemRow.position)).execution_options(yield_per=CHUNK)
    for body in session.scalars(query):
        yield records.ItemRecord(item=Item.model_validate_json(body))


def run_records(session: Session, study_id: int, run_id: int) -> Iterator[records.Record]:
    """Yield a run and its traces. The study has to have the run."""
    yield from _runs(session, study_id, col(RunRow.id) == run_id)
    yield from _traces(session, study_id, col(RunRow.id) == run_id)


def _runs(session: Session, study_id: int, *conditions: ColumnElement[bool]) -> Iterator[records.Record]:
    query = (
        select(RunRow, col(ExperimentRow.name))
        .outerjoin(ExperimentRow, col(ExperimentRow.id) == col(RunRow.experiment_id))
        .where(col(RunRow.study_id) == study_id, *conditions)
        .order_by(col(RunRow.id))
    )
    for row, experiment in session.execute(query):
        names = records.RunRecord.model_fields.keys() - {"type", "experiment"}
        fields: Any = row.model_dump(include=names, warnings=False)
        # SQLite stored seeds of earlier versions as they were, also texts.
        seed = fields["seed"] if isinstance(fields["seed"], int) else 0
        yield records.RunRecord.model_validate(fields | {"experiment": experiment or "", "seed": seed})


def _traces(session: Session, study_id: int, *conditions: ColumnElement[bool]) -> Iterator[records.Record]:
    query = (
        select(
            col(TraceRow.id),
            col(RunRow.name),
            col(ItemRow.key),
            col(TraceRow.part),
            cast(col(EventRow.body), Text),
            col(EventRow.prompt),
            col(EventRow.at),
        )
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .outerjoin(EventRow, col(EventRow.trace_id) == col(TraceRow.id))
        .where(col(TraceRow.study_id) == study_id, *conditions)
        .order_by(col(TraceRow.id), col(EventRow.seq))
        .execution_options(yield_per=CHUNK)
    )
    for (_, run, item, part), rows in groupby(session.execute(query), key=lambda row: tuple(row[:4])):
        stored = [(parse_event(body, prompt), at) for *_, body, prompt, at in rows if body is not None]
        events, times = zip(*stored, strict=True) if stored else ((), ())
        yield records.TraceRecord(run=run, item=item, part=part, events=events, times=times)


# The replies of a study's traces as rows, oldest run first, in the order of the items and of the asks.

Attempt = Literal["first", "second", "extractor"]
# One reply in a trace with its current reading, by COLUMNS; docs/readings.md describes each.
TurnRow = dict[str, Any]
COLUMNS = (
    "run", "protocol", "item", "part", "scenario", "criterion", "outcome", "contention", "ask", "attempt", "superseded",
    "speaker", "step", "round", "model", "shown", "reading", "reading_rule", "reading_span", "read_by",
    "earlier_readings", "format", "problem", "prompt_tokens", "completion_tokens", "seconds", "dollars", "reply",
)  # fmt: skip


def turn_row(
    turn: Turn, ask: int, attempt: Attempt, superseded: bool, earlier: Sequence[PastReading] = (), **trace: Any
) -> TurnRow:
    """Return the row of a reply; `trace` has the fields that concern its trace."""
    row = dict(turn) | turn.usage.model_dump() | trace | {"ask": ask, "attempt": attempt, "superseded": superseded}
    row["criterion"] = turn.criterion or trace["criterion"]
    read = ("reading", "reading_rule", "read_by", "problem")
    row["earlier_readings"] = tuple(
        {name: getattr(past.turn, name) for name in read} | {"withdrawn_by": past.withdrawn_by} for past in earlier
    )
    return {name: row[name] for name in COLUMNS}


def write_turns_csv(rows: Iterable[TurnRow], stream: TextIO) -> None:
    """Write a header and one line per reply. Structured values are JSON; text that would be a formula is escaped."""
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in row.values()] for row in rows)


def write_turns_jsonl(rows: Iterable[TurnRow], stream: TextIO) -> None:
    """Write one JSON object a line."""
    stream.writelines(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def _cell(value: object) -> object:
    match value:
        case str():
            return escape_formula(value)
        case None | ():
            return ""
        case bool() | dict() | tuple():
            return json.dumps(value, ensure_ascii=False)
    return value


def turn_rows(engine: Engine, study: studies.Study) -> Iterator[TurnRow]:
    """Yield every reply: of judges with its current reading, and of extractors."""
    with reading(engine) as session:
        for run in reversed(runs.of_study(session, study.id)):
            filter = traces.Filter(study.id, run.id)
            for batch in traces.in_batches(session, filter):
                events = events_by_trace(session, [trace.id for trace in batch])
                for trace in batch:
                    yield from _rows(trace, events.get(trace.id, []))


def _rows(trace: traces.Trace, events: Sequence[NumberedEvent]) -> list[TurnRow]:
    """Return the rows of one trace in the order of the asks, then of the events."""
    current = dict(current_numbered_events(events))
    history = turn_readings([event for _, event in events])
    repeated: set[int] = set()
    names = ("run", "protocol", "item", "part", "scenario", "criterion", "contention")
    place = {name: getattr(trace, name) for name in names}
    rows = []
    for seq, event in events:
        attempt: Attempt = "first"
        earlier: Sequence[PastReading] = ()
        superseded = seq not in current
        match event:
            case TraceRestarted():
                repeated.clear()
                continue
            case ReplyUnreadable(ask=ask):
                repeated.add(ask)
                superseded = superseded or ask in history
            case TurnCompleted(ask=ask):
                attempt = "second" if ask in repeated else "first"
                earlier = () if superseded else history[ask].earlier
                event = current.get(seq, event)
            case ReplyExtracted():
                attempt = "extractor"
        if isinstance(event, ReplyUnreadable | TurnCompleted | ReplyExtracted):
            row = turn_row(event.turn, event.ask, attempt, superseded, earlier, outcome=trace.status, **place)
            rows.append((event.ask, seq, row))
    return [row for _, _, row in sorted(rows, key=lambda numbered: numbered[:2])]
