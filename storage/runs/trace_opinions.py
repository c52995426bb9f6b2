"""The opinions of traces: their targets, the verdicts by criterion, and summaries of the last ones."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from sqlalchemy import Text, bindparam, cast, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Target
from core.transcripts import FIRST_WRONG_STEP
from storage.db import audit
from storage.db.connections import batches, execute
from storage.db.guards import COUNTS, reading_for
from storage.db.tables import EventRow, ItemRow, OpinionRow, RunRow, StudyRow, TargetRow, TraceRow
from storage.labels import targets
from storage.runs.claims import VERDICTS

if TYPE_CHECKING:
    from core.trace import Turn


# A summary lists at most this many opinions, and counts more than that.
MAX_LISTED = 8


def judged_targets(session: Session, trace_id: int) -> list[Target]:
    """Return the targets that a trace holds opinions about."""
    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .where(col(OpinionRow.trace_id) == trace_id)
        .distinct()
    )
    return [targets.from_columns(*row) for row in session.execute(query)]


def exist(session: Session, study_id: int) -> bool:
    """Return whether a judge has an opinion in a study."""
    query = select(col(OpinionRow.id)).where(col(OpinionRow.study_id) == study_id).limit(1)
    with reading_for(COUNTS):
        return session.scalars(query).first() is not None


def verdict_criteria(session: Session, study_id: int) -> list[str]:
    """Return the criteria of the verdicts in a study, in the order of their names."""
    own = (col(TargetRow.study_id) == study_id, col(TargetRow.criterion) != "")
    criteria = select(col(TargetRow.criterion).label("criterion")).where(*own).distinct().subquery()
    has_verdict = (
        select(col(OpinionRow.id))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(*own, col(TargetRow.criterion) == criteria.c.criterion, col(OpinionRow.stage) == "verdict")
        .correlate(criteria)
        .exists()
    )
    query = select(criteria.c.criterion).where(has_verdict)
    return sorted(session.scalars(query))


def verdicts_by_criterion(session: Session, trace_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return trace id -> criterion -> its verdicts, as "1 · 2", in the order of the verdicts."""
    found = _values(session, trace_ids, "verdict")
    return {trace: {name: _summary(values) for name, values in of.items() if name} for trace, of in found.items()}


def summarize_last(session: Session, trace_ids: Sequence[int]) -> dict[int, str]:
    """Return trace id -> its last opinions, as "1 · 1 · 2", with "–" for one that could not be read.

    More than MAX_LISTED are counted instead: "24 × True · 10 × False".
    """
    found = _values(session, trace_ids, "last", by_criterion=False)
    return {trace: _summary(values[""]) for trace, values in found.items()}


def disputed_steps(session: Session, trace_id: int) -> list[int]:
    """Return the steps that the judges of a trace name as the first wrong one; empty if they name the same."""
    query = (
        select(col(OpinionRow.value))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.trace_id) == trace_id, col(OpinionRow.stage) != "verdict")
        .where(col(TargetRow.kind) == "answer", col(TargetRow.criterion) == FIRST_WRONG_STEP)
    )
    named = {value for value in session.scalars(query.distinct()) if isinstance(value, int | float)}
    return sorted(int(step) for step in named if step) if len(named) > 1 else []


def _values(
    session: Session, trace_ids: Sequence[int], stage: str, *, by_criterion: bool = True
) -> dict[int, dict[str, list[str]]]:
    """Return trace id -> criterion -> the values of opinions as texts, in the order of the opinions."""
    query = (
        select(col(OpinionRow.trace_id), col(TargetRow.criterion), col(OpinionRow.value))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.trace_id).in_(trace_ids), col(OpinionRow.stage) == stage)
        .order_by(col(OpinionRow.id))
    )
    found: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for trace_id, criterion, value in session.execute(query):
        found[trace_id][criterion if by_criterion else ""].append("–" if value is None else str(value))
    return found


def _summary(values: list[str]) -> str:
    if len(values) > MAX_LISTED:
        values = [f"{count} × {value}" for value, count in Counter(values).most_common(MAX_LISTED)]
    return " · ".join(values)


# The orders in which responses were shown to the judges of a trace, stored with the trace when it has a verdict.
#
# They follow from the events of its turns. A study may have millions of these, so the result pages read the column.

# Distinct orders of response numbers, sorted; turns without an order are left out.
Orders = list[list[int]]
# Traces whose events are read at once.
BATCH = 2_000
NONE_SHOWN = "[]"
_TURNS = (
    select(col(EventRow.trace_id), col(EventRow.type), cast(col(EventRow.body)["turn"]["shown"], Text))
    .where(col(EventRow.trace_id).in_(bindparam("traces", expanding=True)))
    .where(col(EventRow.type).in_(("turn", "restarted")))
    .order_by(col(EventRow.trace_id), col(EventRow.seq))
)


def orders_of_turns(turns: "Iterable[Turn]") -> Orders:
    """Return the orders of turns, of which none is superseded."""
    return sorted({turn.shown: list(turn.shown) for turn in turns if turn.shown}.values())


def orders_of_traces(session: Session, trace_ids: Collection[int]) -> dict[int, Orders]:
    """Return trace id -> the orders of its stored turns that are not superseded."""
    if not trace_ids:  # of most events that are stored
        return {}
    found: dict[int, Orders] = {trace: [] for trace in trace_ids}
    turns = execute(session, _TURNS, {"traces": list(trace_ids)})
    for trace, rows in groupby(turns, key=lambda row: row[0]):
        texts: set[str] = set()
        for _, kind, text in rows:
            if kind == "restarted":
                texts.clear()
            elif text:
                texts.add(text)
        found[trace] = sorted(order for order in map(json.loads, texts) if order)
    return found


def with_orders(session: Session, study_id: int, orders: Collection[tuple[int, ...]]) -> list[int]:
    """Return the ids of the traces of a study that have all of these orders; others are not read."""
    text = cast(col(TraceRow.shown_orders), Text)
    of_study = col(TraceRow.study_id) == study_id
    distinct = session.scalars(select(text).where(of_study).distinct()).all()
    wanted = [one for one in distinct if set(orders).issubset(map(tuple, json.loads(one or NONE_SHOWN)))]
    return list(session.scalars(select(col(TraceRow.id)).where(of_study, text.in_(wanted)))) if wanted else []


def orders_of_study(session: Session, study_id: int) -> Iterator[tuple[int, tuple[tuple[int, ...], ...]]]:
    """Yield (trace id, its orders) for the traces of a study that have any, in no certain order."""
    query = select(col(TraceRow.id), cast(col(TraceRow.shown_orders), Text)).where(
        col(TraceRow.study_id) == study_id, cast(col(TraceRow.shown_orders), Text) != NONE_SHOWN
    )
    parsed: dict[str, tuple[tuple[int, ...], ...]] = {}  # a study has few distinct ones
    for trace, text in session.execute(query):
        if text not in parsed:
            parsed[text] = tuple(map(tuple, json.loads(text)))
        yield trace, parsed[text]


def order_differences(
    session: Session, study_id: int | None = None, *, rebuild: bool = False
) -> list[audit.Difference]:
    """Return the differences of the traces with a verdict, of a study or of all, in the order of the traces.

    With `rebuild` they are corrected, and each study has an audit entry.
    """
    query = (
        select(
            col(TraceRow.id), col(StudyRow.id), col(StudyRow.name), col(RunRow.name), col(ItemRow.key),
            col(TraceRow.part), col(TraceRow.shown_orders),
        )
        .join(StudyRow, col(StudyRow.id) == col(TraceRow.study_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.outcome).in_(VERDICTS))
        .order_by(col(TraceRow.id))
        .execution_options(yield_per=BATCH)
    )  # fmt: skip
    if study_id is not None:
        query = query.where(col(TraceRow.study_id) == study_id)
    found = []
    for batch in session.execute(query).partitions():
        again = orders_of_traces(session, [trace for trace, *_ in batch])
        for trace, study, name, run, item, part, stored in batch:
            if stored != (own := again[trace]):
                cells = {"study": name, "run": run, "item": item, "part": part}
                cells |= {"orders stored": "none" if stored is None else str(stored), "orders": str(own)}
                found.append(audit.Difference(trace, study, own, cells))
    if rebuild:
        for rows in batches([{"id": one.id, "shown_orders": one.again} for one in found], BATCH):
            session.execute(update(TraceRow), rows)
        audit.record_rebuilt(session, found, "orders shown", "trace")
    return found
