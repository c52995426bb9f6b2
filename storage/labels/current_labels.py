"""The newest label of each annotator and target, and the targets, as columns; read again when a row is new.

Rows of labels and targets are added and never changed, so their number tells whether there is a new one. What else
changes labels, such as the erasure of a person, is counted by `StudyRow.removals`. The secret of a study is in the mark
because its id can be another one's after its deletion.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from sqlalchemy import Engine, Text, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.wording import report_criterion
from storage.db.tables import AnnotatorRow, ItemRow, LabelRow, StudyRow, TargetRow

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.statistics.data.arrays import Ints


TARGET_COLUMNS = ("item", "scenario", "group", "kind", "criterion", "part")


@dataclass(frozen=True)
class CurrentLabels:
    """N pairs of a target and an annotator, in the order of their first labels."""

    targets: "Ints"
    annotators: "Ints"
    """(N,) each: ids."""
    values: "npt.NDArray[np.object_]"
    """(N,): the newest values as JSON; None if it was withdrawn."""

    def present(self) -> "tuple[Ints, Ints, npt.NDArray[np.object_]]":
        """Return targets, annotators and values without those that were withdrawn."""
        chosen = pd.notna(self.values)
        return self.targets[chosen], self.annotators[chosen], self.values[chosen]


@dataclass(frozen=True)
class StudyTargets:
    """The targets of a study in the order of their ids."""

    stored: pd.DataFrame
    """The columns of `TARGET_COLUMNS` by id."""
    positions: "Ints"
    """The places of their items in the study's file."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The same with the names of criteria in reports; shared, so do not modify."""
        return self.stored.assign(criterion=self.stored["criterion"].map(report_criterion))

    @cached_property
    def keys(self) -> list[tuple[int, tuple[str, str, str, str]]]:
        """(id, (item, kind, criterion, part)) of each target, in an order that is the same on every database."""
        names = (self.stored[name].tolist() for name in ("kind", "criterion", "part"))
        rows = sorted(
            zip(self.positions.tolist(), *names, self.stored.index.tolist(), self.stored["item"].tolist(), strict=True)
        )
        return [(id, (item, kind, criterion, part)) for _, kind, criterion, part, id, item in rows]

    def rows_of(self, ids: "Ints") -> pd.DataFrame:
        """Return the rows of targets by id, numbered from 0."""
        return self.frame.take(self.frame.index.get_indexer(pd.Index(ids))).reset_index(drop=True)


Read = TypeVar("Read", CurrentLabels, StudyTargets)
# For each study what was read, and the mark that it had then.
_labels: WeakKeyDictionary[Engine, dict[int, tuple[object, CurrentLabels]]] = WeakKeyDictionary()
_targets: WeakKeyDictionary[Engine, dict[int, tuple[object, StudyTargets]]] = WeakKeyDictionary()


def read(session: Session, study_id: int) -> CurrentLabels:
    """Return the current labels of a study; shared, so do not modify."""
    return _read(_labels, LabelRow, _load_labels, session, study_id)


def read_targets(session: Session, study_id: int) -> StudyTargets:
    """Return the targets of a study; shared, so do not modify."""
    return _read(_targets, TargetRow, _load_targets, session, study_id)


def _read(
    stored: WeakKeyDictionary[Engine, dict[int, tuple[object, Read]]],
    table: type[LabelRow] | type[TargetRow],
    load: Callable[[Session, int], Read],
    session: Session,
    study_id: int,
) -> Read:
    rows = select(func.count()).where(col(table.study_id) == study_id).scalar_subquery()
    query = select(col(StudyRow.secret), col(StudyRow.removals), rows).where(col(StudyRow.id) == study_id)
    mark = session.execute(query).first()
    known = stored.get(session.get_bind().engine, {}).get(study_id)
    if known is not None and known[0] == mark:
        return known[1]
    found = load(session, study_id)
    # Stored for other sessions, unless this one can still roll back what it has added.
    if not session.connection().get_execution_options().get("writes"):
        stored.setdefault(session.get_bind().engine, {})[study_id] = mark, found
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
        target_ids, texts = target_ids[chosen], texts[chosen]
    order = np.argsort(target_ids, kind="stable")
    distinct, starts = np.unique(target_ids[order], return_index=True)
    of_texts, known = pd.factorize(texts)
    codes, places = of_texts[order].tolist(), [*starts.tolist(), order.size]
    by_target = {
        target: tuple(codes[start:end])
        for target, start, end in zip(distinct.tolist(), places, places[1:], strict=False)
    }
    return by_target, list(map(json.loads, known))


def _load_labels(session: Session, study_id: int) -> CurrentLabels:
    columns = (col(LabelRow.target_id), col(LabelRow.annotator_id), sql_cast(col(LabelRow.value), Text))
    query = select(*columns).where(col(LabelRow.study_id) == study_id).order_by(col(LabelRow.id))
    newest = {(target, annotator): text for target, annotator, text in session.execute(query)}
    pairs = np.array(list(newest), np.int64).reshape(-1, 2)
    return CurrentLabels(pairs[:, 0], pairs[:, 1], np.array(list(newest.values()), object))


def _load_targets(session: Session, study_id: int) -> StudyTargets:
    item = (col(ItemRow.key), col(ItemRow.scenario), col(ItemRow.cluster))
    own = (col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = select(col(TargetRow.id), *item, *own, col(ItemRow.position))
    query = query.join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    rows = session.execute(query.where(col(TargetRow.study_id) == study_id).order_by(col(TargetRow.id))).all()
    ids = pd.Index([row[0] for row in rows], dtype=np.int64, name="id")
    stored = pd.DataFrame([row[1:-1] for row in rows], ids, TARGET_COLUMNS)
    return StudyTargets(stored, np.array([row[-1] for row in rows], np.int64))
