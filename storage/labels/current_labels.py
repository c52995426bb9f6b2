"""The newest label of each annotator and target as columns, of which only new rows are read from the database.

Rows of labels and targets are added and never changed, except by a merge of annotators, which `StudyRow.removals`
counts. So after a label the rows behind the last one that was read are added to the columns in memory. All rows are
read again if the numbers of rows do not agree: on PostgreSQL, a row can be committed after one with a higher id.
"""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from sqlalchemy import Engine, Text, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.statistics.data.label_table import Column, LabelTable, concatenate
from core.wording import report_criterion
from storage.db.tables import AnnotatorRow, ItemRow, LabelRow, StudyRow, TargetRow

if TYPE_CHECKING:
    import pandas as pd

    from core.statistics.data.arrays import Ints


# New labels up to this number are added one by one; for more, all are read again, which is faster.
MAX_NEW = 1_000
TARGET_COLUMNS = ("item", "scenario", "group", "kind", "criterion", "part")


@dataclass(frozen=True)
class Place:
    """The rows that were read: their number, the highest id, and what else changes when a row of them does."""

    rows: int
    last: int
    mark: object = None


@dataclass(frozen=True)
class CurrentLabels:
    """N pairs of a target and an annotator, in the order of their first labels."""

    place: Place
    targets: "Ints"
    annotators: "Ints"
    """(N,) each: ids."""
    values: Column
    """The newest values as JSON; None if it was withdrawn."""

    def present(self) -> "tuple[Ints, Ints, Column]":
        """Return targets, annotators and values without those that were withdrawn."""
        chosen = self.values.present()
        return self.targets[chosen], self.annotators[chosen], self.values.take(chosen)


@dataclass(frozen=True)
class StudyTargets:
    """The targets of a study in the order of their ids."""

    place: Place
    ids: "Ints"
    stored: LabelTable
    """The columns of `TARGET_COLUMNS`."""
    positions: "Ints"
    """The places of their items in the study's file."""

    @cached_property
    def table(self) -> LabelTable:
        """The same with the names of criteria in reports; shared, so do not modify."""
        return self.stored.assign(criterion=self.stored["criterion"].map(report_criterion))

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """The same as a data frame by id; shared, so do not modify."""
        return self.table.to_frame().set_index(self.ids).rename_axis("id")

    @cached_property
    def keys(self) -> list[tuple[int, tuple[str, str, str, str]]]:
        """(id, (item, kind, criterion, part)) of each target, in an order that is the same on every database."""
        names = (self.stored[name].tolist() for name in ("kind", "criterion", "part"))
        rows = sorted(
            zip(self.positions.tolist(), *names, self.ids.tolist(), self.stored["item"].tolist(), strict=True)
        )
        return [(id, (item, kind, criterion, part)) for _, kind, criterion, part, id, item in rows]

    def rows_of(self, ids: "Ints") -> "Ints":
        """Return the places of targets by id."""
        return np.searchsorted(self.ids, ids)


Known = TypeVar("Known", CurrentLabels, StudyTargets)
_labels: WeakKeyDictionary[Engine, dict[int, CurrentLabels]] = WeakKeyDictionary()
_targets: WeakKeyDictionary[Engine, dict[int, StudyTargets]] = WeakKeyDictionary()
_changing = threading.Lock()


def read(session: Session, study_id: int) -> CurrentLabels:
    """Return the current labels of a study; shared, so do not modify."""
    return _read(_labels, LabelRow, _label_rows, _label_mark, _with_labels, session, study_id, most=MAX_NEW)


def read_targets(session: Session, study_id: int) -> StudyTargets:
    """Return the targets of a study; shared, so do not modify."""
    return _read(_targets, TargetRow, _target_rows, _target_mark, _with_targets, session, study_id)


def _read(
    stored: WeakKeyDictionary[Engine, dict[int, Known]],
    table: type[LabelRow] | type[TargetRow],
    rows_after: Callable[[Session, int, int], list[Any]],
    mark: Callable[[Session, int, int], object],
    extend: Callable[[Session, int, Known | None, Sequence[Any]], Known],
    session: Session,
    study_id: int,
    most: int | None = None,
) -> Known:
    """Return what was read of a table with its newer rows, up to `most`; or all of it again."""
    known = stored.get(session.get_bind().engine, {}).get(study_id)
    number = session.scalars(select(func.count()).where(col(table.study_id) == study_id)).one()
    found: Known | None = None
    if known is not None and known.place.mark == mark(session, study_id, known.place.last):
        if known.place.rows == number:
            return known
        rows = rows_after(session, study_id, known.place.last)[:most]
        if known.place.rows + len(rows) == number:
            found = extend(session, study_id, known, rows)
    if found is None:
        found = extend(session, study_id, None, rows_after(session, study_id, 0))
    # Stored for other sessions, unless this one can still roll back what it has added.
    if not session.connection().get_execution_options().get("writes"):
        with _changing:
            stored.setdefault(session.get_bind().engine, {})[study_id] = found
    return found


def codes_by_target(
    session: Session, study_id: int, annotator: str | None = None
) -> tuple[dict[int, tuple[int, ...]], list[Any]]:
    """Return target id -> the codes of its current values, and the value of each code; of one annotator, or of all.

    Many targets have the same few codes, so what follows from them is computed once. A value can have several codes.
    """
    target_ids, annotator_ids, texts = read(session, study_id).present()
    if annotator is not None:
        query = select(col(AnnotatorRow.id)).where(col(AnnotatorRow.name) == annotator)
        chosen = np.isin(annotator_ids, session.scalars(query).all())
        target_ids, texts = target_ids[chosen], texts.take(chosen)
    order = np.argsort(target_ids, kind="stable")
    distinct, starts = np.unique(target_ids[order], return_index=True)
    codes, places = texts.codes[order].tolist(), [*starts.tolist(), order.size]
    by_target = {
        target: tuple(codes[start:end])
        for target, start, end in zip(distinct.tolist(), places, places[1:], strict=False)
    }
    return by_target, [None if text is None else json.loads(text) for text in texts.values]


def _label_rows(session: Session, study_id: int, after: int) -> list[Any]:
    """Return (id, target id, annotator id, value as JSON) of the labels after an id, oldest first."""
    columns = (col(LabelRow.id), col(LabelRow.target_id), col(LabelRow.annotator_id))
    query = select(*columns, sql_cast(col(LabelRow.value), Text))
    query = query.where(col(LabelRow.study_id) == study_id, col(LabelRow.id) > after).order_by(col(LabelRow.id))
    return list(session.execute(query))


def _label_mark(session: Session, study_id: int, last: int) -> object:
    """Return what changes if a row that was read has changed: the last one, or by a merge any.

    The secret is that of one study: its id can be another one's after its deletion.
    """
    columns = (col(StudyRow.secret), col(StudyRow.removals))
    study = session.execute(select(*columns).where(col(StudyRow.id) == study_id)).first()
    return study, session.scalars(select(col(LabelRow.fingerprint)).where(col(LabelRow.id) == last)).first()


def _with_labels(session: Session, study_id: int, known: CurrentLabels | None, rows: Sequence[Any]) -> CurrentLabels:
    """Return the known labels with newer rows; None: there are no others."""
    empty = np.zeros(0, np.int64)
    before = known or CurrentLabels(Place(0, 0), empty, empty, Column(empty, []))
    newest = {(target, annotator): text for _, target, annotator, text in rows}
    codes, texts = before.values.codes.copy(), list(before.values.values)
    numbers = {text: number for number, text in enumerate(texts)}
    added: list[tuple[int, int, int]] = []
    for (target, annotator), text in newest.items():
        number = numbers.setdefault(text, len(numbers))
        own = np.flatnonzero((before.targets == target) & (before.annotators == annotator)) if known else empty
        if own.size:
            codes[own] = number
        else:
            added.append((target, annotator, number))
    columns = zip(*added, strict=True) if added else ((), (), ())
    targets, annotators, codes = (
        np.concatenate([old, np.array(new, np.int64)])
        for old, new in zip((before.targets, before.annotators, codes), columns, strict=True)
    )
    last = rows[-1][0] if rows else before.place.last
    place = Place(before.place.rows + len(rows), last, _label_mark(session, study_id, last))
    return CurrentLabels(place, targets, annotators, Column(codes, list(numbers)))


def _target_rows(session: Session, study_id: int, after: int) -> list[Any]:
    """Return the id, the `TARGET_COLUMNS` and the item's position of the targets after an id, in their order."""
    item = (col(ItemRow.key), col(ItemRow.scenario), col(ItemRow.cluster))
    own = (col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = select(col(TargetRow.id), *item, *own, col(ItemRow.position))
    query = query.join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    query = query.where(col(TargetRow.study_id) == study_id, col(TargetRow.id) > after).order_by(col(TargetRow.id))
    return list(session.execute(query))


def _target_mark(session: Session, study_id: int, last: int) -> object:
    """Return the study's secret and the last target that was read: after a rollback another one can have its id."""
    columns = (col(TargetRow.item_id), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    secret = session.scalars(select(col(StudyRow.secret)).where(col(StudyRow.id) == study_id)).first()
    return secret, session.execute(select(*columns).where(col(TargetRow.id) == last)).first()


def _with_targets(session: Session, study_id: int, known: StudyTargets | None, rows: Sequence[Any]) -> StudyTargets:
    """Return the known targets with newer rows; None: there are no others."""
    ids, *columns, positions = zip(*rows, strict=True) if rows else ((),) * (len(TARGET_COLUMNS) + 2)
    table = LabelTable({name: Column.of(values) for name, values in zip(TARGET_COLUMNS, columns, strict=True)})
    own_ids, own_positions = np.array(ids, np.int64), np.array(positions, np.int64)
    number, last = len(rows), int(own_ids[-1]) if rows else 0
    if known is not None:
        both = concatenate([known.stored, table]).columns
        table = LabelTable({name: column.unified() for name, column in both.items()})
        own_ids = np.concatenate([known.ids, own_ids])
        own_positions = np.concatenate([known.positions, own_positions])
        number += known.place.rows
    return StudyTargets(Place(number, last, _target_mark(session, study_id, last)), own_ids, table, own_positions)
