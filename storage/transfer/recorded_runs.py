"""The runs and traces of an imported file, which are stored like those that were executed here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.records import RunRecord
from core.frozen import Frozen
from core.protocols import registry
from storage import call_totals, items, run_sizes, target_summaries, unread
from storage.database import insert_all
from storage.fingerprints import Row, to_utc
from storage.json_columns import EncodedJson
from storage.tables import EventRow, OpinionRow, RunRow, TraceRow, now
from storage.targets import TargetKey
from storage.transfer.spooled_traces import SpooledEvents, SpooledTraces, TraceHead
from storage.unread import Owner

UNFINISHED = "It was not finished when it was exported."
TraceKey = tuple[int, int, str]
"""The ids of a run and of an item, and the part of the trace."""


def add_runs(session: Session, study_id: int, records: Sequence[RunRecord], experiment_ids: Mapping[str, int]) -> int:
    """Add the runs that the study does not have, and return their number; `experiment_ids` are those of the study.

    Raises TiebreakError if the study has a run of the same name with other settings.
    """
    query = select(RunRow).where(col(RunRow.study_id) == study_id)
    rows = {row.name: row for row in session.scalars(query)}
    before = len(rows)
    for record in records:
        row = rows.setdefault(record.name, _run_row(study_id, record, experiment_ids))
        if row.protocol != record.protocol or not _are_equal(row.protocol, row.settings, record.settings):
            raise TiebreakError(f"The study has a run {record.name!r} with other settings; rename one of them.")
        session.add(row)
    session.flush()
    return len(rows) - before


def _are_equal(protocol: str, stored: dict[str, Any], imported: dict[str, Any]) -> bool:
    """Return whether settings are equal, also if one of them has former names of keys or values."""
    return stored == imported or _current_settings(protocol, stored) == _current_settings(protocol, imported)


def _current_settings(protocol: str, settings: dict[str, Any]) -> Frozen | dict[str, Any]:
    """Return the settings as this version's value; unchanged if the protocol or a field is unknown here."""
    try:
        return registry.get(protocol).settings.model_validate(settings)
    except (TiebreakError, ValidationError):
        return settings


def add_traces(
    session: Session,
    study_id: int,
    traces: SpooledTraces,
    target_ids: Mapping[TargetKey, int],
    advance: Callable[[int], None],
) -> int:
    """Add the traces that their runs do not have, and return their number; `advance` is called with each batch's."""
    new = _select_new(session, study_id, traces.heads)
    for rows in traces.columns() if new else ():
        added = [_trace_row(study_id, *new[place], columns) for place, columns in rows if place in new]
        insert_all(session, TraceRow, added)
    ids = _trace_ids(session, study_id)
    advance(len(traces.heads) - len(new))
    for batch in traces.events() if new else ():
        owned = [
            (Owner(ids[new[place]], study_id, new[place][0], traces.heads[place].item), events)
            for place, events in batch
            if place in new
        ]
        _insert_events(session, owned)
        _insert_opinions(session, owned, target_ids)
        advance(len(owned))
    if new:
        run_ids = sorted({run_id for run_id, *_ in new.values()})
        run_sizes.update_sizes(session, run_ids)
        call_totals.update_runs(session, run_ids)
        target_summaries.mark_disputed_of_study(session, study_id)
    return len(new)


def _trace_row(study_id: int, run_id: int, item_id: int, part: str, columns: Row) -> dict[str, Any]:
    return {"study_id": study_id, "run_id": run_id, "item_id": item_id, "part": part, **columns}


def _insert_events(session: Session, traces: Sequence[tuple[Owner, SpooledEvents]]) -> None:
    stored_at = now()
    rows = [
        row
        | {
            "trace_id": owner.id,
            "run_id": owner.run_id,
            "body": EncodedJson(row["body"]),
            "at": row["at"] or stored_at,
        }
        for owner, (events, _, _) in traces
        for row in events
    ]
    insert_all(session, EventRow, rows)
    listed = [(owner, owner.id, seq, event) for owner, (_, listed, _) in traces for seq, event in listed]
    unread.insert(session, listed)


def _insert_opinions(
    session: Session, traces: Sequence[tuple[Owner, SpooledEvents]], target_ids: Mapping[TargetKey, int]
) -> None:
    rows = []
    for owner, (*_, opinions) in traces:
        ids = {"study_id": owner.study_id, "run_id": owner.run_id, "trace_id": owner.id}
        rows += [row | ids | {"target_id": target_ids[target]} for target, row in opinions]
    insert_all(session, OpinionRow, rows)


def _select_new(session: Session, study_id: int, heads: Sequence[TraceHead]) -> dict[int, TraceKey]:
    """Return the places of the traces that the study does not have, with their keys.

    Raises TiebreakError for a trace that has fewer events in the study, and for two different traces of one item and
    run.
    """
    if not heads:
        return {}
    stored = _event_counts(session, study_id)
    run_ids = dict(
        session.execute(select(col(RunRow.name), col(RunRow.id)).where(col(RunRow.study_id) == study_id)).all()
    )
    item_ids = items.find_ids(session, study_id, {head.item for head in heads})
    places: dict[TraceKey, int] = {}
    for place, head in enumerate(heads):
        if head.times and head.times != head.events:
            raise TiebreakError(f"The trace of item {head.item!r} in run {head.run!r} needs one time for each event.")
        key = (_id_of(run_ids, head.run, "run"), _id_of(item_ids, head.item, "item"), head.part)
        if head.events > stored.get(key, head.events):
            raise TiebreakError(
                f"The trace of item {head.item!r} in run {head.run!r} is in this study already, and shorter; "
                "import the file into a new study."
            )
        if key not in stored and heads[places.setdefault(key, place)].digest != head.digest:
            raise TiebreakError(f"The trace of item {head.item!r} in run {head.run!r} is in the file twice.")
    return {place: key for key, place in places.items()}


def _id_of(ids: Mapping[str, int], name: str, noun: str) -> int:
    if name not in ids:
        raise TiebreakError(f"The file refers to the {noun} {name!r}, which is neither in the file nor in the study.")
    return ids[name]


def _event_counts(session: Session, study_id: int) -> dict[TraceKey, int]:
    """Return the number of events of each of the study's traces."""
    query = (
        select(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part), func.count(col(EventRow.seq)))
        .outerjoin(EventRow, col(EventRow.trace_id) == col(TraceRow.id))
        .where(col(TraceRow.study_id) == study_id)
        .group_by(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part))
    )
    return {(run, item, part): events for run, item, part, events in session.execute(query)}


def _trace_ids(session: Session, study_id: int) -> dict[TraceKey, int]:
    query = select(col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.part), col(TraceRow.id))
    query = query.where(col(TraceRow.study_id) == study_id)
    return {(run, item, part): id for run, item, part, id in session.execute(query)}


def _run_row(study_id: int, record: RunRecord, experiment_ids: Mapping[str, int]) -> RunRow:
    """Return the row of an imported run.

    It is never resumed: its settings may name another machine's servers. One that was being executed is stopped.
    """
    unfinished = record.state in ("requested", "cancelling")
    return RunRow(
        study_id=study_id,
        name=record.name,
        protocol=record.protocol,
        criterion=record.criterion,
        settings=record.settings,
        prompts=record.prompts,
        seed=record.seed,
        extractor=record.extractor,
        pairs=record.pairs,
        repeat=record.repeat,
        fresh=record.fresh,
        experiment_id=_id_of(experiment_ids, record.experiment, "experiment") if record.experiment else None,
        cell=record.cell,
        source="imported" if record.source == "live" else record.source,
        state="stopped" if unfinished else record.state,
        problem=record.problem or (UNFINISHED if unfinished else ""),
        ceiling=record.ceiling,
        parallel=record.parallel,
        created_at=to_utc(record.created_at) or now(),
        ended_at=to_utc(record.ended_at),
    )
