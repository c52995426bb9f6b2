"""The orders in which responses were shown to the judges of a trace, stored with the trace when it has a verdict.

They follow from the events of its turns. A study may have millions of these, so the result pages read the column.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, get_args

from sqlalchemy import Text, bindparam, cast, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from storage import audit
from storage.database import batches, execute
from storage.tables import EventRow, ItemRow, RunRow, StudyRow, TraceRow

if TYPE_CHECKING:
    from core.trace import Turn

Orders = list[list[int]]
"""Distinct orders of response numbers, sorted; turns without an order are left out."""
BATCH = 2_000
"""Traces whose events are read at once."""
NONE_SHOWN = "[]"


@dataclass(frozen=True)
class Difference:
    """A trace whose stored orders differ from those of its events."""

    trace_id: int
    study_id: int
    study: str
    run: str
    item: str
    part: str
    stored: Orders | None
    again: Orders


def of_turns(turns: "Iterable[Turn]") -> Orders:
    """Return the orders of turns, of which none is superseded."""
    return sorted({turn.shown: list(turn.shown) for turn in turns if turn.shown}.values())


def of_traces(session: Session, trace_ids: Collection[int]) -> dict[int, Orders]:
    """Return trace id -> the orders of its stored turns that are not superseded."""
    if not trace_ids:
        return {}
    found: dict[int, Orders] = {trace: [] for trace in trace_ids}
    turns = execute(session, _turn_query(), {"traces": list(trace_ids)})
    for trace, rows in groupby(turns, key=lambda row: row[0]):
        texts: set[str] = set()
        for _, kind, text in rows:
            if kind == "restarted":
                texts.clear()
            elif text:
                texts.add(text)
        found[trace] = sorted(order for order in map(json.loads, texts) if order)
    return found


@cache  # to build this query takes longer than to execute it
def _turn_query() -> Any:
    return (
        select(col(EventRow.trace_id), col(EventRow.type), cast(col(EventRow.body)["turn"]["shown"], Text))
        .where(
            col(EventRow.trace_id).in_(bindparam("traces", expanding=True)),
            col(EventRow.type).in_(("turn", "restarted")),
        )
        .order_by(col(EventRow.trace_id), col(EventRow.seq))
    )


def with_orders(session: Session, study_id: int, orders: Collection[tuple[int, ...]]) -> list[int]:
    """Return the ids of the traces of a study that have all of these orders; others are not read."""
    text = cast(col(TraceRow.shown_orders), Text)
    of_study = col(TraceRow.study_id) == study_id
    distinct = session.scalars(select(text).where(of_study).distinct()).all()
    wanted = [one for one in distinct if set(orders).issubset(map(tuple, json.loads(one or NONE_SHOWN)))]
    return list(session.scalars(select(col(TraceRow.id)).where(of_study, text.in_(wanted)))) if wanted else []


def of_study(session: Session, study_id: int) -> Iterator[tuple[int, tuple[tuple[int, ...], ...]]]:
    """Yield (trace id, its orders) for the traces of a study that have any, in no certain order."""
    query = select(col(TraceRow.id), cast(col(TraceRow.shown_orders), Text)).where(
        col(TraceRow.study_id) == study_id, cast(col(TraceRow.shown_orders), Text) != NONE_SHOWN
    )
    parsed: dict[str, tuple[tuple[int, ...], ...]] = {}  # a study has few distinct ones
    for trace, text in session.execute(query):
        if text not in parsed:
            parsed[text] = tuple(map(tuple, json.loads(text)))
        yield trace, parsed[text]


def differences(session: Session, study_id: int | None = None) -> list[Difference]:
    """Return the differences of the traces with a verdict, of a study or of all, in the order of the traces."""
    found = []
    for batch in _batches_of_traces(session, study_id):
        again = of_traces(session, [trace for trace, *_ in batch])
        found += [
            Difference(trace, study, name, run, item, part, stored, again[trace])
            for trace, study, name, run, item, part, stored in batch
            if stored != again[trace]
        ]
    return found


def rebuild(session: Session, study_id: int | None = None) -> list[Difference]:
    """Correct the orders of a study, or of all, and return what differed; each study has an audit entry."""
    found = differences(session, study_id)
    for batch in batches([{"id": one.trace_id, "shown_orders": one.again} for one in found], BATCH):
        session.execute(update(TraceRow), batch)
    audit.record_rebuilt(session, [difference.study_id for difference in found], "orders shown", "trace")
    return found


def _batches_of_traces(
    session: Session, study_id: int | None
) -> Iterator[list[tuple[int, int, str, str, str, str, Orders | None]]]:
    from core.trace import Outcome  # imports all types of answers

    query = (
        select(
            col(TraceRow.id), col(StudyRow.id), col(StudyRow.name), col(RunRow.name), col(ItemRow.key),
            col(TraceRow.part), col(TraceRow.shown_orders),
        )
        .join(StudyRow, col(StudyRow.id) == col(TraceRow.study_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.outcome).in_(get_args(Outcome)))
        .order_by(col(TraceRow.id))
        .limit(BATCH)
    )  # fmt: skip
    if study_id is not None:
        query = query.where(col(TraceRow.study_id) == study_id)
    after = 0
    while rows := [tuple(row) for row in session.execute(query.where(col(TraceRow.id) > after))]:
        yield rows
        after = rows[-1][0]
