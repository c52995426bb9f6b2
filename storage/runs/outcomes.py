"""Events appended to traces, with the outcomes and opinions that follow from them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.trace import (
    Event,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    TraceFailed,
    TraceRestarted,
    Turn,
    TurnCompleted,
    TurnReadings,
    Verdict,
    VerdictReached,
    current_numbered_events,
    turn_readings,
)
from core.verdicts import verdict_contention
from storage.db.columns import START, Page, page_by_id
from storage.db.connections import execute, insert_all
from storage.db.tables import EventRow, ItemRow, OpinionRow, RunRow, Table, TraceRow, UnreadReplyRow
from storage.labels import designs, targets
from storage.runs import trace_opinions
from storage.runs.events import (
    event_row,
    next_sequence_numbers,
    opinion_row,
    opinion_target,
    stored_events,
    verdict_columns,
)

# Replies that the parser could not read: listed, counted, and marked once they are read.
#
# The rows follow from the events of a trace. A reply that a person, an extractor or newer parsers could read stays
# listed, with who read it.

READ_BY_PARSER = "parser"
# Events after which a listed reply may have another reading, or not count.
REREADING = (ReplyExtracted, ReadingReplaced, ReadingWithdrawn, TraceRestarted)
# Replies on a page of the list.
UNREAD_PAGE = 20
_DETAILS = re.compile(r"“[^”]*”|\"[^\"]*\"|'[^']*'|\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Owner:
    """The study, run and item of a trace."""

    id: int
    study_id: int
    run_id: int
    item: str


@dataclass(frozen=True)
class UnreadFilter:
    """Conditions on unreadable replies; None means no filter."""

    study_id: int
    run_id: int | None = None
    judge: str | None = None
    step: str | None = None
    reason: str | None = None
    read: bool = False
    """Replies that were read since by a person, an extractor or newer parsers, instead of those that are unreadable."""


@dataclass(frozen=True)
class UnreadCount:
    """The unreadable replies of one judge, step and reason."""

    judge: str
    step: str
    reason: str
    replies: int
    of: int
    """All replies of the judge in this step."""


@dataclass(frozen=True)
class UnreadReply:
    """An unreadable reply with its place."""

    id: int
    """The sort key of the paged list."""
    trace_id: int
    ask: int
    run: str
    item: str
    part: str
    """The pair of responses that the trace is on; empty if it is on the whole item."""
    reason: str
    read_by: str
    readings: TurnReadings
    """The reply with its readings, and the first one if this one answers the second request; without prompts."""

    @property
    def turn(self) -> Turn:
        """The reply with its current reading."""
        return self.readings.turn

    def summary(self) -> dict[str, Any]:
        """Return the reply with its place as a flat mapping."""
        turn, first = self.turn, self.readings.first
        return {
            "trace": self.trace_id,
            "run": self.run,
            "item": self.item,
            "part": self.part,
            "judge": turn.speaker,
            "step": turn.step,
            "round": turn.round,
            "model": turn.model,
            "problem": turn.problem,
            "reply": turn.reply,
            "first_problem": "" if first is None else first.turn.problem,
            "first_reply": "" if first is None else first.turn.reply,
        }


def reason_without_details(problem: str) -> str:
    """Return a problem with "…" for quoted text and numbers, so equal causes have equal reasons."""
    return _DETAILS.sub("…", problem)


def is_listed(event: Event) -> bool:
    """Return whether an event changes the list."""
    return isinstance(event, REREADING) or (isinstance(event, TurnCompleted) and event.turn.is_unreadable)


def insert_unread(session: Session, owners: Mapping[int, Owner], added: Sequence["NewEvent"]) -> None:
    """Update the list for events that were added to traces of these owners."""
    reread = dict.fromkeys(new.trace_id for new in added if isinstance(new.event, REREADING))
    rows = [
        _row(owners[new.trace_id], new.seq, new.event)
        for new in added
        if new.trace_id not in reread and isinstance(new.event, TurnCompleted) and new.event.turn.is_unreadable
    ]
    insert_all(session, UnreadReplyRow, rows)
    for trace_id in reread:
        _synchronize(session, owners[trace_id])


def _row(owner: Owner, seq: int, event: TurnCompleted, read_by: str = "") -> dict[str, Any]:
    return {
        "study_id": owner.study_id,
        "run_id": owner.run_id,
        "trace_id": owner.id,
        "ask": event.ask,
        "seq": seq,
        "judge": event.turn.speaker,
        "step": event.turn.step,
        "reason": reason_without_details(event.turn.problem),
        "read_by": read_by,
    }


def _synchronize(session: Session, owner: Owner) -> None:
    """Make the rows of one trace follow from its events; a row that stays keeps its id."""
    stored = stored_events(session, owner.id)
    original = {seq: event for seq, event in stored if isinstance(event, TurnCompleted)}
    wanted = {}
    for seq, event in current_numbered_events(stored):
        if isinstance(event, TurnCompleted) and (event.turn.is_unreadable or original[seq].turn.is_unreadable):
            unreadable = event if event.turn.is_unreadable else original[seq]
            read_by = "" if event.turn.is_unreadable else event.turn.read_by or READ_BY_PARSER
            wanted[event.ask] = _row(owner, seq, unreadable, read_by)
    for row in session.scalars(select(UnreadReplyRow).where(col(UnreadReplyRow.trace_id) == owner.id)).all():
        if row.ask in wanted:
            row.sqlmodel_update(wanted.pop(row.ask))
        else:
            session.delete(row)
    session.flush()
    insert_all(session, UnreadReplyRow, list(wanted.values()))


def count_unread(session: Session, filter: UnreadFilter, *, with_all: bool = True) -> list[UnreadCount]:
    """Return the replies without a reading by judge, step and reason, the most frequent first.

    `with_all`: also the number of all replies of the judge in the step, for which every reply of the runs is read; that
    takes 3 s for a million of them.
    """
    group = (col(UnreadReplyRow.judge), col(UnreadReplyRow.step), col(UnreadReplyRow.reason))
    number = func.count()
    query = select(*group, number).where(*_conditions(filter)).group_by(*group).order_by(number.desc(), *group)
    rows = session.execute(query).all()
    totals = _replies_by_step(session, filter) if rows and with_all else {}
    return [UnreadCount(*row, of=totals.get((row[0], row[1]), 0)) for row in rows]


def _replies_by_step(session: Session, filter: UnreadFilter) -> dict[tuple[str, str], int]:
    """Return (judge, step) -> the number of its replies, readable or not."""
    speaker = col(EventRow.body)["turn"]["speaker"].as_string()
    step = col(EventRow.body)["turn"]["step"].as_string()
    query = (
        select(speaker, step, func.count())
        .where(col(EventRow.run_id).in_(select(col(RunRow.id)).where(col(RunRow.study_id) == filter.study_id)))
        .where(col(EventRow.type) == "turn")
        .group_by(speaker, step)
    )
    if filter.run_id is not None:
        query = query.where(col(EventRow.run_id) == filter.run_id)
    return {(judge, name): number for judge, name, number in session.execute(query)}


def page_unread(
    session: Session, filter: UnreadFilter, *, after: int = START, size: int = UNREAD_PAGE
) -> Page[UnreadReply]:
    """Return the page of the replies, in the order in which they were stored, that begins after one."""
    id = col(UnreadReplyRow.id)
    found = page_by_id(session, select(id).where(*_conditions(filter)), id, after=after, size=size)
    rows = session.execute(_replies().where(id.in_(found.rows)).order_by(id))
    return found.with_rows([_reply(session, *row) for row in rows])


def _replies() -> Any:
    return (
        select(
            col(UnreadReplyRow.id),
            col(UnreadReplyRow.trace_id),
            col(UnreadReplyRow.ask),
            col(RunRow.name),
            col(ItemRow.key),
            col(TraceRow.part),
            col(UnreadReplyRow.reason),
            col(UnreadReplyRow.read_by),
        )
        .join(TraceRow, col(TraceRow.id) == col(UnreadReplyRow.trace_id))
        .join(RunRow, col(RunRow.id) == col(UnreadReplyRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    )


def _reply(session: Session, id: int, trace_id: int, ask: int, *columns: str) -> UnreadReply:
    run, item, part, reason, read_by = columns
    readings = turn_readings([event for _, event in stored_events(session, trace_id)])[ask]
    return UnreadReply(id, trace_id, ask, run, item, part, reason, read_by, readings)


def _conditions(filter: UnreadFilter) -> list[ColumnElement[bool]]:
    row = UnreadReplyRow
    conditions = [col(row.study_id) == filter.study_id]
    conditions.append(col(row.read_by) != "" if filter.read else col(row.read_by) == "")
    wanted = {row.run_id: filter.run_id, row.judge: filter.judge, row.step: filter.step, row.reason: filter.reason}
    return conditions + [col(column) == value for column, value in wanted.items() if value is not None]


@dataclass(frozen=True)
class NewEvent:
    """An event to be appended to a trace."""

    trace_id: int
    seq: int
    event: Event


_OWNERS = (
    select(col(TraceRow.id), col(TraceRow.study_id), col(TraceRow.run_id), col(ItemRow.key))
    .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
    .where(col(TraceRow.id).in_(bindparam("ids", expanding=True)))
)
_DELETE_OPINIONS = delete(Table.metadata.tables["opinion"]).where(
    col(OpinionRow.trace_id).in_(bindparam("traces", expanding=True))
)


def append_events(session: Session, events: Sequence[NewEvent]) -> None:
    """Append events to one or more traces.

    A verdict or a failure also sets the trace's outcome. A second verdict, after a later reading, replaces the opinions
    of the first.
    """
    owners = _owners(session, {new.trace_id for new in events})
    rows = [event_row(new.event, new.trace_id, owners[new.trace_id].run_id, new.seq) for new in events]
    insert_all(session, EventRow, rows)
    insert_unread(session, owners, events)
    in_order = sorted(events, key=lambda new: (new.trace_id, new.seq))  # all transactions take locks in the same order
    last = {new.trace_id: new.event.verdict for new in in_order if isinstance(new.event, VerdictReached)}
    judged = targets.concluded_targets(session, list(last))
    _update_outcomes(session, in_order, last)
    judged |= _save_opinions(session, [(owners[trace_id], verdict) for trace_id, verdict in last.items()])
    designs.apply(session, judged)


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
    append_events(session, [NewEvent(id, numbers[id], TraceRestarted(reason=reason)) for id in ids])


def _update_outcomes(session: Session, events: Sequence[NewEvent], verdicts: Mapping[int, Verdict]) -> None:
    """Set the outcomes of traces that failed or have a verdict, and remove the opinions of earlier verdicts."""
    orders = trace_opinions.orders_of_traces(session, verdicts)
    values: dict[int, dict[str, Any]] = {}
    for new in events:
        if isinstance(new.event, TraceFailed):
            values.setdefault(new.trace_id, {}).update(outcome="failed", problem=new.event.problem)
        elif isinstance(new.event, VerdictReached):
            values.setdefault(new.trace_id, {}).update(
                {
                    "outcome": new.event.verdict.outcome,
                    "problem": "",
                    "contention": verdict_contention(new.event.verdict),
                },
                shown_orders=orders[new.trace_id],
            )
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for trace_id, columns in values.items():
        by_columns.setdefault(tuple(sorted(columns)), []).append({"id": trace_id, **columns})
    for rows in by_columns.values():
        session.execute(update(TraceRow), rows)
    if verdicts:
        execute(session, _DELETE_OPINIONS, {"traces": list(verdicts)})


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
    return {row[0]: Owner(*row) for row in execute(session, _OWNERS, {"ids": sorted(trace_ids)})}
