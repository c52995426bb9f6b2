"""The queue of critiques (MetaCritique): a critique is labelled with all of its AIUs at once."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import critique_ratings
from core.aius import EditedAius
from core.critiques import critique_targets, hypothesis_critiques, reference_critique
from core.labels import Target
from storage import aius, annotators, studies, targets
from storage.database import insert_missing
from storage.studies import Study
from storage.tables import AnnotatorRow, ItemRow, LabelRow, LeaseRow, MarkRow, TargetRow, now

KINDS = ("aiu_precision", "aiu_recall")
BATCH = 25
"""Critiques whose leases are read in one query: the next free one is nearly always among the first."""
MAX_CACHED_STUDIES = 8


@dataclass(frozen=True)
class CritiqueKey:
    """A hypothesis critique of an item."""

    item: str
    critique: str


@dataclass(frozen=True)
class CritiqueEntry:
    """One critique in a queue, as one annotator sees it."""

    key: CritiqueKey
    targets: tuple[Target, ...]
    """Its AIUs, then the reference's; empty before extraction."""
    labelled: int
    """How many of the targets the annotator has labelled."""
    skipped: bool
    flagged: bool

    @property
    def done(self) -> bool:
        """Whether the annotator has labelled every target."""
        return bool(self.targets) and self.labelled == len(self.targets)


def entries(session: Session, study_id: int, annotator: str, scenario: str | None = None) -> list[CritiqueEntry]:
    """Return every critique of the study, or of one scenario, as the annotator sees it, in the order of the items."""
    labelled = _labelled_targets(session, study_id, annotator)
    skipped, flagged = (_marked_targets(session, study_id, annotator, mark) for mark in ("skip", "flag"))
    included = _items_of_scenario(session, study_id, scenario)
    return [
        CritiqueEntry(
            key,
            aiu_targets,
            labelled=sum(target in labelled for target in aiu_targets),
            skipped=critique_ratings.extraction_target(key.item, key.critique) in skipped,
            flagged=critique_ratings.extraction_target(key.item, key.critique) in flagged,
        )
        for key, aiu_targets in _critiques(session, study_id)
        if included is None or key.item in included
    ]


def _critiques(session: Session, study_id: int) -> Iterator[tuple[CritiqueKey, tuple[Target, ...]]]:
    for item, state in _current_states(session, study_id).items():
        reference = reference_critique(state.critiques)
        for critique in hypothesis_critiques(state.critiques):
            yield CritiqueKey(item, critique.id), tuple(critique_targets(item, critique, reference))


def claim_next(
    session: Session,
    study: Study,
    annotator: str,
    *,
    scenario: str | None = None,
    after: CritiqueKey | None = None,
) -> CritiqueKey | None:
    """Lease the next critique with unlabelled AIUs to the annotator, and return it; None where there is none.

    The search begins behind `after`, and continues from the top. The study is locked: two annotators that claim at the
    same time would otherwise both get the last free lease.
    """
    studies.lock(session, study.id)
    name = annotators.normalize_name(annotator)
    annotators.get_or_create_id(session, name)
    queue = entries(session, study.id, name, scenario)
    start = next((index + 1 for index, entry in enumerate(queue) if entry.key == after), 0)
    waiting = [entry for entry in (*queue[start:], *queue[:start]) if not entry.done and not entry.skipped]
    labelled = _labelled_targets(session, study.id, name)
    for first in range(0, len(waiting), BATCH):
        batch = waiting[first : first + BATCH]
        others = _count_others(session, study.id, name, {entry.key.item for entry in batch})
        for entry in batch:
            free = [t for t in entry.targets if t not in labelled and others.get(t, 0) < study.rules.overlap]
            if free or not entry.targets:
                extend_leases(session, study, name, free)
                return entry.key
    return None


def extend_leases(session: Session, study: Study, annotator: str, leased: Sequence[Target]) -> None:
    """Lease targets to an annotator, or extend the leases."""
    if not leased:
        return
    ids_by_target = targets.get_or_create_ids(session, study.id, leased)
    target_ids = sorted(ids_by_target[target] for target in leased)
    annotator_id = annotators.get_or_create_id(session, annotator)
    until = now() + timedelta(minutes=study.rules.lease_minutes)
    rows = [{"target_id": target_id, "annotator_id": annotator_id, "until": until} for target_id in target_ids]
    insert_missing(session, LeaseRow, rows)
    existing = select(LeaseRow).where(
        col(LeaseRow.target_id).in_(target_ids), col(LeaseRow.annotator_id) == annotator_id
    )
    for row in session.scalars(existing):
        row.until = until


_states: dict[tuple[str, int, int, int], dict[str, EditedAius]] = {}


def _current_states(session: Session, study_id: int) -> dict[str, EditedAius]:
    """Return item -> its current state, cached: items and edits are only ever added, so their counts are a version."""
    items = session.scalars(select(func.count()).where(col(ItemRow.study_id) == study_id)).one()
    key = (str(session.get_bind().engine.url), study_id, items, aius.count_edits(session, study_id))
    if key not in _states:
        if len(_states) >= MAX_CACHED_STUDIES:
            _states.pop(next(iter(_states)))
        _states[key] = aius.current_states(session, study_id)
    return _states[key]


def _items_of_scenario(session: Session, study_id: int, scenario: str | None) -> set[str] | None:
    if scenario is None:
        return None
    query = select(col(ItemRow.key)).where(col(ItemRow.study_id) == study_id, col(ItemRow.scenario) == scenario)
    return set(session.scalars(query))


def _labelled_targets(session: Session, study_id: int, annotator: str) -> set[Target]:
    """Return the AIUs of which the annotator has a current label."""
    query = (
        _select_with_target(LabelRow, col(LabelRow.value))
        .where(col(LabelRow.study_id) == study_id, col(TargetRow.kind).in_(KINDS))
        .where(col(LabelRow.annotator_id) == annotators.find_id(session, annotator))
        .order_by(col(LabelRow.id))
    )
    newest = {targets.from_columns(*columns): value for *columns, value in session.execute(query)}
    return {target for target, value in newest.items() if value is not None}


def _count_others(session: Session, study_id: int, annotator: str, items: Collection[str]) -> dict[Target, int]:
    """Return AIU -> how many other annotators have labelled it or have a lease of it, for the AIUs of some items."""
    names: dict[Target, set[str]] = defaultdict(set)
    conditions = (col(TargetRow.study_id) == study_id, col(ItemRow.key).in_(items), col(TargetRow.kind).in_(KINDS))
    labels = (
        _select_with_target(LabelRow, col(AnnotatorRow.name), col(LabelRow.value))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(*conditions)
        .order_by(col(LabelRow.id))
    )
    for *columns, name, value in session.execute(labels):
        labelled_by = names[targets.from_columns(*columns)]
        labelled_by.discard(name) if value is None else labelled_by.add(name)
    leases = (
        _select_with_target(LeaseRow, col(AnnotatorRow.name))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LeaseRow.annotator_id))
        .where(*conditions, col(LeaseRow.until) > now())
    )
    for *columns, name in session.execute(leases):
        names[targets.from_columns(*columns)].add(name)
    return {target: len(others - {annotator}) for target, others in names.items()}


def _marked_targets(session: Session, study_id: int, annotator: str, mark: str) -> set[Target]:
    """Return the targets for which the annotator's newest mark of that type is on."""
    query = (
        _select_with_target(MarkRow, col(MarkRow.on))
        .where(col(TargetRow.study_id) == study_id, col(MarkRow.mark) == mark)
        .where(col(MarkRow.annotator_id) == annotators.find_id(session, annotator))
        .order_by(col(MarkRow.id))
    )
    newest = {targets.from_columns(*columns): on for *columns, on in session.execute(query)}
    return {target for target, on in newest.items() if on}


def _select_with_target(
    table: type[LabelRow] | type[LeaseRow] | type[MarkRow], *columns: Any
) -> Select[*tuple[Any, ...]]:
    """Select the target of each row of a table, then more columns."""
    return (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), *columns)
        .select_from(table)
        .join(TargetRow, col(TargetRow.id) == col(table.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    )
