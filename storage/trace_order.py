"""The order of a list of traces, and its pages, each of which begins after a trace.

A page is read from an index, from the trace on, so it costs as much at the end of the list as at its start: every
query has equal values in the first columns of an index, and reads its next column in order. Items are ordered by their
ids, which is the order of the study, because items are only appended to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import clock
from storage.key_pages import START
from storage.tables import TraceRow
from storage.trace_filter import Filter, matching

Order = Literal["run", "contention"]
"""The newest run first, in the order of the items; or the most disputed first, then in the order of the items, the
newest run first, and at last the traces without a known contention."""
Part = tuple[Sequence[ColumnElement[bool]], Sequence[Any]]
"""A part of a list, which one query reads: its conditions, and its order."""


@dataclass(frozen=True)
class _Place:
    """The columns of the trace after which a page begins."""

    id: int
    run_id: int
    item_id: int
    contention: float | None


def ids(
    session: Session,
    filter: Filter,
    sizes: Mapping[int, int],
    *,
    after: int,
    limit: int,
    order: Order,
    backwards: bool = False,
) -> list[int]:
    """Return the first traces after a trace, or backwards those before it; see `key_pages.read_page`.

    `sizes` is `trace_filter.count_by_run` of the filter. A trace that the study does not have counts as START.
    """
    at, found = clock(session), list[int]()
    place = None if after == START else _place(session, filter, after)
    runs = list(sizes)
    if order == "run":
        parts = _by_run(runs[::-1] if backwards else runs, sizes, place, limit, backwards)
    else:
        parts = _by_contention(place, backwards)
    while len(found) < limit and (part := next(parts, None)) is not None:
        found += _read(session, filter, at, part, limit - len(found))
    return found


def _read(session: Session, filter: Filter, at: datetime, part: Part, limit: int) -> list[int]:
    conditions, order = part
    query = matching(filter, at, col(TraceRow.id)).where(*conditions).order_by(*order).limit(limit)
    return list(session.scalars(query))


def _place(session: Session, filter: Filter, trace_id: int) -> _Place | None:
    columns = (col(TraceRow.id), col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.contention))
    query = select(*columns).where(col(TraceRow.id) == trace_id, col(TraceRow.study_id) == filter.study_id)
    row = session.execute(query).first()
    return None if row is None else _Place(*row)


def _by_run(
    runs: Sequence[int], sizes: Mapping[int, int], place: _Place | None, limit: int, backwards: bool
) -> Iterator[Part]:
    """Yield the rest of the run of the place, then runs in groups: all but the last of a group are on one page."""
    run, item, id = col(TraceRow.run_id), col(TraceRow.item_id), col(TraceRow.id)
    in_run = [_directed(item, backwards), _directed(id, backwards)]
    if place is not None:
        yield [run == place.run_id, *_rest_of_run(place, backwards)], in_run
        runs = [one for one in runs if (one > place.run_id if backwards else one < place.run_id)]
    while runs:
        small = _fitting(runs, sizes, limit)
        if small:
            yield [run.in_(small)], [_directed(run, not backwards), *in_run]
        runs = runs[len(small) :]
        if runs:
            yield [run == runs[0]], in_run
        runs = runs[1:]


def _fitting(runs: Sequence[int], sizes: Mapping[int, int], limit: int) -> list[int]:
    """Return the first runs that have fewer traces together than a page."""
    found: list[int] = []
    for run in runs:
        limit -= sizes[run]
        if limit <= 0:
            break
        found.append(run)
    return found


def _rest_of_run(place: _Place, backwards: bool) -> list[ColumnElement[bool]]:
    item, id = col(TraceRow.item_id), col(TraceRow.id)
    if backwards:
        return [item <= place.item_id, or_(item < place.item_id, id < place.id)]
    return [item >= place.item_id, or_(item > place.item_id, id > place.id)]


def _by_contention(place: _Place | None, backwards: bool) -> Iterator[Part]:
    """Yield the traces of the item with the contention of the place, of its later items, and then the other ones."""
    contention, item, run, id = (
        col(TraceRow.contention), col(TraceRow.item_id), col(TraceRow.run_id), col(TraceRow.id),
    )  # fmt: skip
    of_item = [_directed(run, not backwards), _directed(id, backwards)]
    equal = [_directed(item, backwards), *of_item]
    known: Part = ([contention.is_not(None)], [_directed(contention, not backwards), *equal])
    unknown: Part = ([contention.is_(None)], equal)
    if place is None:
        yield from (unknown, known) if backwards else (known, unknown)
        return
    same = contention == place.contention if place.contention is not None else contention.is_(None)
    earlier_run, earlier = (run > place.run_id, id < place.id) if backwards else (run < place.run_id, id > place.id)
    yield [same, item == place.item_id, or_(earlier_run, and_(run == place.run_id, earlier))], of_item
    yield [same, item < place.item_id if backwards else item > place.item_id], equal
    if place.contention is not None:
        yield [contention > place.contention if backwards else contention < place.contention], known[1]
    if backwards and place.contention is None:
        yield known
    if not backwards and place.contention is not None:
        yield unknown


def _directed(column: Any, backwards: bool) -> Any:
    return column.desc() if backwards else column
