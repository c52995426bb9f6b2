"""The queue of critiques (MetaCritique): a critique is labelled with all of its AIUs at once.

A task is a hypothesis critique, and is named by the rating of its AIUs' extraction. Its required targets are its AIUs
and those of the reference critique; both change when AIUs are edited.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import critique_ratings
from core.aius import EditedAius
from core.critiques import Critique, critique_targets, hypothesis_critiques, reference_critique
from core.labels import Target
from core.protocols.critique_baselines.protocol import QUALITY, pair_name
from storage.db.connections import clock, reading, write
from storage.db.tables import ItemRow, LabelRow, LeaseRow, MarkRow, StudyRow, TargetRow
from storage.labelling.context import Task
from storage.labelling.queue import Queue, TargetState
from storage.labels import targets
from storage.labels.targets import is_current
from storage.runs import aius

KINDS = ("aiu_precision", "aiu_recall")
MAX_CACHED_STUDIES = 8


@dataclass(frozen=True)
class _Ids:
    """The targets of a study's critiques: (item, kind, part) -> id."""

    tasks: dict[tuple[str, str], int]
    """(item, critique) -> the target that names the task."""
    aius: dict[tuple[str, str, str], int]
    """(item, kind, part) -> an AIU's target, if it has one."""
    overlaps: dict[int, int]
    """AIU's target -> the requested labels, if this is not the study's overlap."""
    items: dict[str, tuple[str | None, int]]
    """Item -> its scenario and position."""

    def overlap(self, aiu_id: int | None, default: int) -> int:
        """Return the number of requested labels of an AIU."""
        return self.overlaps.get(aiu_id, default) if aiu_id is not None else default


@dataclass(frozen=True)
class _Own:
    """The annotator's entries."""

    labels: Mapping[int, int]
    """Target -> the newest label, if it is in effect."""
    skips: frozenset[int]
    flags: frozenset[int]


def critique_states(session: Session, queue: Queue, annotator_id: int, overlap: int) -> list[TargetState]:
    """Return every critique of a queue in the order of the items, as the annotator sees it."""
    return _evaluate(session, _Scope(queue), annotator_id, overlap, current_states(session, queue.study_id))


def critique_state(session: Session, queue: Queue, annotator_id: int, overlap: int, task: Task) -> TargetState | None:
    """Return one critique, regardless of the scenario of the queue; None if it is no longer in the study."""
    everything = Queue(queue.study_id, queue.kind, queue.criterion, every=True)
    item = {task.target.item: aius.current_state(session, queue.study_id, task.target.item)}
    states = _evaluate(session, _Scope(everything, (task.item_id,)), annotator_id, overlap, item)
    return next((state for state in states if state.id == task.id), None)


def aius_of_tasks(session: Session, study_id: int, item_ids: Collection[int]) -> dict[int, list[int]]:
    """Return task -> the targets of its AIUs, for the critiques of some items."""
    queue = Queue(study_id, "likert", critique_ratings.AIU_EXTRACTION.name, every=True)
    ids, states = _ids(session, _Scope(queue, tuple(item_ids))), current_states(session, study_id)
    return {
        ids.tasks[target.item, target.part]: [aiu_id for aiu_id in aiu_ids if aiu_id is not None]
        for target, aiu_ids in _critiques(queue, ids, {item: states[item] for item in ids.items})
        if (target.item, target.part) in ids.tasks
    }


@dataclass(frozen=True)
class _Scope:
    """The critiques of a queue, or those of some of its items."""

    queue: Queue
    item_ids: tuple[int, ...] | None = None

    def conditions(self, *kinds: str) -> list[ColumnElement[bool]]:
        """Return the conditions on targets of some kinds."""
        conditions = [col(TargetRow.study_id) == self.queue.study_id, col(TargetRow.kind).in_(kinds)]
        return conditions if self.item_ids is None else [*conditions, col(TargetRow.item_id).in_(self.item_ids)]


def _evaluate(
    session: Session, scope: _Scope, annotator_id: int, overlap: int, items: Mapping[str, EditedAius]
) -> list[TargetState]:
    ids, own = _ids(session, scope), _own(session, scope, annotator_id)
    others = _Others(session, scope, annotator_id)
    return [
        _state(ids, target, aiu_ids, own, others, overlap)
        for target, aiu_ids in _critiques(scope.queue, ids, items)
        if (target.item, target.part) in ids.tasks
    ]


def _critiques(queue: Queue, ids: _Ids, items: Mapping[str, EditedAius]) -> Iterator[tuple[Target, list[int | None]]]:
    """Yield the target of each task with the ids of its AIUs' targets; None for one that has no row yet."""
    for item, state in items.items():
        if queue.scenario is not None and ids.items.get(item, (None, 0))[0] != queue.scenario:
            continue
        reference = reference_critique(state.critiques)
        for critique in hypothesis_critiques(state.critiques):
            aiu_targets = critique_targets(item, critique, reference)
            aiu_ids = [ids.aius.get((target.item, target.kind, target.part)) for target in aiu_targets]
            yield critique_ratings.extraction_target(item, critique.id), aiu_ids


class _Others:
    """The entries of other annotators: labels of AIUs and claims of critiques."""

    def __init__(self, session: Session, scope: _Scope, annotator_id: int) -> None:
        self.counts = _count_labels(session, scope, annotator_id)
        self.holders = _holders(session, scope, annotator_id)
        names = {name for holders in self.holders.values() for name in holders}
        self.labelled = {name: set(_newest_labels(session, scope, name)) for name in names}

    def count(self, task_id: int, aiu_id: int | None) -> int:
        """Return how many others have labelled an AIU, or have claimed its critique without having labelled it."""
        holders = [name for name in self.holders.get(task_id, ()) if aiu_id not in self.labelled[name]]
        return len(holders) + (self.counts[aiu_id] if aiu_id is not None else 0)


def _state(
    ids: _Ids, target: Target, aiu_ids: Sequence[int | None], own: _Own, others: _Others, overlap: int
) -> TargetState:
    task_id = ids.tasks[target.item, target.part]
    labelled = [aiu_id for aiu_id in aiu_ids if aiu_id in own.labels]
    free = [
        aiu_id
        for aiu_id in aiu_ids
        if aiu_id not in own.labels and others.count(task_id, aiu_id) < ids.overlap(aiu_id, overlap)
    ]
    scenario, position = ids.items[target.item]
    return TargetState(
        task_id,
        target.item,
        labelled=bool(aiu_ids) and len(labelled) == len(aiu_ids),
        skipped=task_id in own.skips,
        flagged=not own.flags.isdisjoint([task_id, *(aiu_id for aiu_id in aiu_ids if aiu_id is not None)]),
        full=bool(aiu_ids) and not free,
        scenario=scenario,
        position=position,
        labels=len(labelled),
        available=len(labelled) + len(free),
        newest=max((own.labels[aiu_id] for aiu_id in labelled if aiu_id is not None), default=0),
        parts=() if None in aiu_ids else tuple(aiu_id for aiu_id in aiu_ids if aiu_id is not None),
    )


_states: dict[tuple[str, str, int, int], dict[str, EditedAius]] = {}


def current_states(session: Session, study_id: int) -> dict[str, EditedAius]:
    """Return item -> its current state, cached: items and edits are only ever added, so their counts are a version.

    The study's secret names it, because another study can have the id of a deleted one.
    """
    items = select(func.count()).where(col(ItemRow.study_id) == study_id).scalar_subquery()
    secret, count = session.execute(select(col(StudyRow.secret), items).where(col(StudyRow.id) == study_id)).one()
    key = (str(session.get_bind().engine.url), secret, count, aius.count_edits(session, study_id))
    if key not in _states:
        if len(_states) >= MAX_CACHED_STUDIES:
            _states.pop(next(iter(_states)))
        _states[key] = aius.current_states(session, study_id)
    return _states[key]


def _ids(session: Session, scope: _Scope) -> _Ids:
    columns = (col(TargetRow.id), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = (
        select(*columns, col(TargetRow.overlap), col(ItemRow.key), col(ItemRow.scenario), col(ItemRow.position))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(*scope.conditions(*KINDS, "likert"))
    )
    named_by = ("likert", critique_ratings.AIU_EXTRACTION.name)
    ids = _Ids({}, {}, {}, {})
    for target_id, kind, criterion, part, overlap, item, scenario, position in session.execute(query):
        ids.items[item] = (scenario, position)
        if kind in KINDS:
            ids.aius[item, kind, part] = target_id
        elif (kind, criterion) == named_by:
            ids.tasks[item, part] = target_id
        if overlap is not None:
            ids.overlaps[target_id] = overlap
    return ids


def _own(session: Session, scope: _Scope, annotator_id: int) -> _Own:
    query = (
        select(col(MarkRow.target_id), col(MarkRow.mark), col(MarkRow.on))
        .join(TargetRow, col(TargetRow.id) == col(MarkRow.target_id))
        .where(*scope.conditions(*KINDS, "likert"), col(MarkRow.annotator_id) == annotator_id)
        .order_by(col(MarkRow.id))
    )
    newest = {(mark, target_id): on for target_id, mark, on in session.execute(query)}
    marked = {
        mark: frozenset(id for (name, id), on in newest.items() if on and name == mark) for mark in ("skip", "flag")
    }
    return _Own(_newest_labels(session, scope, annotator_id), marked["skip"], marked["flag"])


def _newest_labels(session: Session, scope: _Scope, annotator_id: int) -> dict[int, int]:
    """Return target -> the newest label of the AIUs that an annotator has labelled."""
    query = (
        select(col(LabelRow.target_id), col(LabelRow.id), col(LabelRow.value).is_not(None))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(*scope.conditions(*KINDS), col(LabelRow.annotator_id) == annotator_id)
        .where(col(LabelRow.study_id) == scope.queue.study_id)
        .order_by(col(LabelRow.id))
    )
    newest = {target_id: (label_id, in_effect) for target_id, label_id, in_effect in session.execute(query)}
    return {target_id: label_id for target_id, (label_id, in_effect) in newest.items() if in_effect}


def _count_labels(session: Session, scope: _Scope, annotator_id: int) -> Counter[int]:
    """Return AIU -> how many others have a label of it in effect; surplus labels do not count."""
    query = (
        select(col(LabelRow.target_id), func.count())
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(*scope.conditions(*KINDS), col(LabelRow.annotator_id) != annotator_id)
        .where(is_current(LabelRow), col(LabelRow.surplus).is_(False))
        .group_by(col(LabelRow.target_id))
    )
    return Counter(dict(session.execute(query).all()))


def _holders(session: Session, scope: _Scope, annotator_id: int) -> dict[int, list[int]]:
    """Return task -> the others who have a claim of it."""
    query = (
        select(col(LeaseRow.target_id), col(LeaseRow.annotator_id))
        .join(TargetRow, col(TargetRow.id) == col(LeaseRow.target_id))
        .where(*scope.conditions("likert"))
        .where(col(LeaseRow.annotator_id) != annotator_id, col(LeaseRow.until) > clock(session))
    )
    holders: dict[int, list[int]] = defaultdict(list)
    for task_id, name in session.execute(query):
        holders[task_id].append(name)
    return holders


# The targets of critiques: they exist as soon as the critiques do, so the queues of a study are complete from then on.
#
# An import adds them with the items. `create_missing` adds those of studies that were imported by earlier versions.

NAMES = (critique_ratings.AIU_EXTRACTION.name, QUALITY)
"""The criteria of the ratings that every critique has."""


def targets_of_item(item: str, critiques: Sequence[Critique]) -> list[Target]:
    """Return the targets of an item's critiques: AIUs and rating of each, and each two of one response."""
    listed = hypothesis_critiques(critiques)
    tasks = [critique_ratings.extraction_target(item, critique.id) for critique in listed]
    ratings = [Target(item=item, kind="likert", criterion=QUALITY, part=critique.id) for critique in listed]
    pairs = [
        Target(item=item, kind="preference", criterion=QUALITY, part=pair_name(first, second))
        for place, first in enumerate(listed)
        for second in listed[place + 1 :]
        if first.of == second.of
    ]
    return [*tasks, *ratings, *pairs]


def create_missing_targets(engine: Engine, study_id: int) -> None:
    """Add the targets of the critiques of a study that has none; nothing is written if there is nothing to add."""
    with reading(engine) as session:
        missing = _missing(session, study_id)
    if missing:
        write(engine, lambda session: targets.get_or_create_ids(session, study_id, missing))


def _missing(session: Session, study_id: int) -> list[Target]:
    query = select(col(TargetRow.criterion)).where(
        col(TargetRow.study_id) == study_id, col(TargetRow.kind) == "likert", col(TargetRow.criterion).in_(NAMES)
    )
    if len(set(session.scalars(query.distinct()))) == len(NAMES):
        return []
    states = current_states(session, study_id)
    return [target for item, state in states.items() for target in targets_of_item(item, state.critiques)]
