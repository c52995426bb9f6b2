"""Events appended to traces, with the outcomes and opinions that follow from them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from sqlalchemy import (
    bindparam,
    delete,
    select,
    update,
)
from sqlalchemy.orm import Session
from sqlmodel import col

from core.contention import verdict_contention
from core.trace import Event, TraceFailed, TraceRestarted, Verdict, VerdictReached
from core.uncertainty import uncertainty
from storage import shown_orders, target_summaries, targets, unread
from storage.database import execute, insert_all
from storage.events import (
    event_row,
    next_sequence_numbers,
    opinion_row,
    opinion_target,
    verdict_columns,
)
from storage.tables import EventRow, ItemRow, OpinionRow, TraceRow
from storage.unread import Owner

Status = Literal["running", "waiting", "failed", "agreed", "disputed", "no_verdict"]
STATUSES: tuple[Status, ...] = ("running", "waiting", "failed", "agreed", "disputed", "no_verdict")


@dataclass(frozen=True)
class NewEvent:
    """An event to be appended to a trace."""

    trace_id: int
    seq: int
    event: Event


def append(session: Session, events: Sequence[NewEvent]) -> None:
    """Append events to one or more traces.

    A verdict or a failure also sets the trace's outcome. A second verdict, after a later reading, replaces the opinions
    of the first.
    """
    owners = _owners(session, {new.trace_id for new in events})
    rows = [event_row(new.event, new.trace_id, owners[new.trace_id].run_id, new.seq) for new in events]
    insert_all(session, EventRow, rows)
    unread.insert(session, [(owners[new.trace_id], new.trace_id, new.seq, new.event) for new in events])
    judged = target_summaries.concluded_targets(
        session, [new.trace_id for new in events if isinstance(new.event, VerdictReached)]
    )
    _update_outcomes(session, events)
    in_order = sorted(events, key=lambda new: new.seq)
    last = {new.trace_id: new.event.verdict for new in in_order if isinstance(new.event, VerdictReached)}
    judged |= _save_opinions(session, [(owners[trace_id], verdict) for trace_id, verdict in last.items()])
    target_summaries.mark_disputed(session, judged)


def restart_unfinished(session: Session, run_id: int, reason: str) -> None:
    """Restart every trace of a run that has events but no verdict; its events are marked as superseded."""
    query = (
        select(col(EventRow.trace_id))
        .join(TraceRow, col(TraceRow.id) == col(EventRow.trace_id))
        .where(col(TraceRow.run_id) == run_id, col(TraceRow.outcome).in_(("waiting", "failed")))
        .distinct()
    )
    ids = list(session.scalars(query))
    numbers = next_sequence_numbers(session, ids)
    append(session, [NewEvent(id, numbers[id], TraceRestarted(reason=reason)) for id in ids])


def _update_outcomes(session: Session, events: Sequence[NewEvent]) -> None:
    """Set the outcomes of traces that failed or have a verdict, and remove the opinions of earlier verdicts."""
    values: dict[int, dict[str, Any]] = {}
    judged = {new.trace_id for new in events if isinstance(new.event, VerdictReached)}
    orders = shown_orders.of_traces(session, judged)
    for new in sorted(events, key=lambda new: (new.trace_id, new.seq)):  # all transactions take locks in the same order
        if isinstance(new.event, TraceFailed):
            values.setdefault(new.trace_id, {}).update(outcome="failed", problem=new.event.problem)
        elif isinstance(new.event, VerdictReached):
            values.setdefault(new.trace_id, {}).update(
                _outcome_columns(new.event.verdict), shown_orders=orders[new.trace_id]
            )
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for trace_id, columns in values.items():
        by_columns.setdefault(tuple(sorted(columns)), []).append({"id": trace_id, **columns})
    for rows in by_columns.values():
        session.execute(update(TraceRow), rows)
    if judged:
        execute(session, _opinion_deletion(), {"traces": list(judged)})


@cache  # to build these statements takes longer than to execute them
def _opinion_deletion() -> Any:
    table: Any = OpinionRow
    return delete(table.__table__).where(col(OpinionRow.trace_id).in_(bindparam("traces", expanding=True)))


def _outcome_columns(verdict: Verdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome,
        "problem": "",
        "uncertainty": uncertainty(verdict.opinions),
        "contention": verdict_contention(verdict),
    }


def _save_opinions(session: Session, verdicts: Sequence[tuple[Owner, Verdict]]) -> set[int]:
    """Store the opinions of verdicts, and return the targets of those that traces conclude with.

    The targets of each study are added at once, in the same order in every transaction.
    """
    opinions = [
        (trace, opinion_target(trace.item, opinion), opinion, columns)
        for trace, verdict in verdicts
        for columns in [verdict_columns(verdict)]
        for opinion in verdict.opinions
    ]
    target_ids = {
        study_id: targets.get_or_create_ids(
            session, study_id, {target for trace, target, *_ in opinions if trace.study_id == study_id}
        )
        for study_id in sorted({trace.study_id for trace, *_ in opinions})
    }
    rows = [
        opinion_row(trace.study_id, trace.run_id, trace.id, target_ids[trace.study_id][target], opinion, columns)
        for trace, target, opinion, columns in opinions
    ]
    insert_all(session, OpinionRow, rows)
    return {row["target_id"] for row in rows if row["stage"] == "verdict"}


def _owners(session: Session, trace_ids: Iterable[int]) -> dict[int, Owner]:
    return {row[0]: Owner(*row) for row in execute(session, _owner_query(), {"ids": sorted(trace_ids)})}


@cache
def _owner_query() -> Any:
    return (
        select(col(TraceRow.id), col(TraceRow.study_id), col(TraceRow.run_id), col(ItemRow.key))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.id).in_(bindparam("ids", expanding=True)))
    )
