"""The queue of critiques (MetaCritique): a critique is labelled with all of its AIUs at once.

A task is a hypothesis critique, and is named by the rating of its AIUs' extraction. Its required targets are its AIUs
and those of the reference critique; both change when AIUs are edited.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import critique_ratings
from core.aius import EditedAius
from core.critiques import Critique, critique_targets, hypothesis_critiques, reference_critique
from core.labels import Target
from core.protocols.critique_baselines.protocol import QUALITY, pair_name
from storage.db.connections import clock, reading, write
from storage.db.tables import ItemRow, LabelRow, LeaseRow, StudyRow, TargetRow
from storage.labelling.context import AIU_KINDS, QueueContext, Task
from storage.labelling.queue import Mark, Queue, TargetState, marks_on
from storage.labels import targets
from storage.runs import aius

MAX_CACHED_STUDIES = 8
EXTRACTION = critique_ratings.AIU_EXTRACTION.name


@dataclass(frozen=True)
class _Ids:
    """The targets of a study's critiques."""

    tasks: dict[tuple[str, str], int]
    """(item, critique) -> the target that names the task."""
    aius: dict[tuple[str, str, str], int]
    """(item, kind, part) -> an AIU's target, if it has one."""
    overlaps: dict[int, int]
    """AIU's target -> the requested labels, if this is not the study's overlap."""
    items: dict[str, tuple[str | None, int]]
    """Item -> its scenario and position."""


@dataclass(frozen=True)
class _Entries:
    """The annotator's entries, and the labels and claims of others."""

    own: Mapping[int, int]
    """AIU -> the id of the annotator's label in effect."""
    others: Mapping[int, Mapping[int, bool]]
    """AIU -> other annotators with a label in effect -> whether it counts: surplus labels do not."""
    holders: Mapping[int, Collection[int]]
    """Task -> the others who have a claim of it."""
    marks: Mapping[int, Mapping[Mark, str]]

    def count(self, task_id: int, aiu_id: int | None) -> int:
        """Return how many others have labelled an AIU, or have claimed its critique without having labelled it."""
        labelled = self.others.get(aiu_id, {}) if aiu_id is not None else {}
        return sum(labelled.values()) + sum(name not in labelled for name in self.holders.get(task_id, ()))


def critique_states(session: Session, work: QueueContext) -> list[TargetState]:
    """Return every critique of a queue in the order of the items, as the annotator sees it."""
    return _evaluate(session, work, work.queue, None, current_states(session, work.study.id))


def critique_state(session: Session, work: QueueContext, task: Task) -> TargetState | None:
    """Return one critique, regardless of the scenario of the queue; None if it is no longer in the study."""
    item = {task.target.item: aius.current_state(session, work.study.id, task.target.item)}
    states = _evaluate(session, work, replace(work.queue, scenario=None), [task.item_id], item)
    return next((state for state in states if state.id == task.id), None)


def aius_of_tasks(session: Session, study_id: int, item_ids: Collection[int]) -> dict[int, list[int]]:
    """Return task -> the targets of its AIUs, for the critiques of some items."""
    queue = Queue(study_id, "likert", EXTRACTION, every=True)
    ids, states = _ids(session, _conditions(study_id, item_ids)), current_states(session, study_id)
    return {
        ids.tasks[target.item, target.part]: [aiu_id for aiu_id in aiu_ids if aiu_id is not None]
        for target, aiu_ids in _critiques(queue, ids, {item: states[item] for item in ids.items})
    }


def _conditions(study_id: int, item_ids: Collection[int] | None) -> list[ColumnElement[bool]]:
    """Return the conditions on the targets of critiques, of all items or of some."""
    conditions = [col(TargetRow.study_id) == study_id, col(TargetRow.kind).in_((*AIU_KINDS, "likert"))]
    return conditions if item_ids is None else [*conditions, col(TargetRow.item_id).in_(item_ids)]


def _evaluate(
    session: Session,
    work: QueueContext,
    queue: Queue,
    item_ids: Collection[int] | None,
    items: Mapping[str, EditedAius],
) -> list[TargetState]:
    conditions, overlap = _conditions(queue.study_id, item_ids), work.study.rules.overlap
    ids, entries = _ids(session, conditions), _entries(session, conditions, work.annotator_id)
    return [_state(ids, target, aiu_ids, entries, overlap) for target, aiu_ids in _critiques(queue, ids, items)]


def _critiques(queue: Queue, ids: _Ids, items: Mapping[str, EditedAius]) -> Iterator[tuple[Target, list[int | None]]]:
    """Yield the target of each task with the ids of its AIUs' targets; None for one that has no row yet."""
    for item, state in items.items():
        if queue.scenario is not None and ids.items.get(item, (None, 0))[0] != queue.scenario:
            continue
        reference = reference_critique(state.critiques)
        for critique in hypothesis_critiques(state.critiques):
            if (item, critique.id) in ids.tasks:
                aiu_targets = critique_targets(item, critique, reference)
                aiu_ids = [ids.aius.get((target.item, target.kind, target.part)) for target in aiu_targets]
                yield critique_ratings.extraction_target(item, critique.id), aiu_ids


def _state(ids: _Ids, target: Target, aiu_ids: Sequence[int | None], entries: _Entries, overlap: int) -> TargetState:
    task_id = ids.tasks[target.item, target.part]
    known = [aiu_id for aiu_id in aiu_ids if aiu_id is not None]
    labelled = [aiu_id for aiu_id in known if aiu_id in entries.own]
    free = [
        aiu_id
        for aiu_id in aiu_ids
        if aiu_id not in labelled
        and entries.count(task_id, aiu_id) < (overlap if aiu_id is None else ids.overlaps.get(aiu_id, overlap))
    ]
    scenario, position = ids.items[target.item]
    return TargetState(
        task_id,
        target.item,
        labelled=bool(aiu_ids) and len(labelled) == len(aiu_ids),
        skipped="skip" in entries.marks.get(task_id, {}),
        flagged=any("flag" in entries.marks.get(target_id, {}) for target_id in (task_id, *known)),
        full=bool(aiu_ids) and not free,
        scenario=scenario,
        position=position,
        labels=len(labelled),
        available=len(labelled) + len(free),
        newest=max((entries.own[aiu_id] for aiu_id in labelled), default=0),
        parts=tuple(known) if len(known) == len(aiu_ids) else (),
    )


def _ids(session: Session, conditions: Sequence[ColumnElement[bool]]) -> _Ids:
    columns = (col(TargetRow.id), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    query = (
        select(*columns, col(TargetRow.overlap), col(ItemRow.key), col(ItemRow.scenario), col(ItemRow.position))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(*conditions)
    )
    ids = _Ids({}, {}, {}, {})
    for target_id, kind, criterion, part, overlap, item, scenario, position in session.execute(query):
        ids.items[item] = (scenario, position)
        if kind in AIU_KINDS:
            ids.aius[item, kind, part] = target_id
        elif criterion == EXTRACTION:
            ids.tasks[item, part] = target_id
        if overlap is not None:
            ids.overlaps[target_id] = overlap
    return ids


def _entries(session: Session, conditions: Sequence[ColumnElement[bool]], annotator_id: int) -> _Entries:
    labels = (
        select(col(LabelRow.target_id), col(LabelRow.annotator_id), col(LabelRow.id), col(LabelRow.surplus))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(*conditions, targets.is_current(LabelRow))
    )
    own: dict[int, int] = {}
    others: dict[int, dict[int, bool]] = defaultdict(dict)
    for target_id, name, label_id, surplus in session.execute(labels):
        if name == annotator_id:
            own[target_id] = label_id
        else:
            others[target_id][name] = not surplus
    claims = (
        select(col(LeaseRow.target_id), col(LeaseRow.annotator_id))
        .join(TargetRow, col(TargetRow.id) == col(LeaseRow.target_id))
        .where(*conditions, col(LeaseRow.annotator_id) != annotator_id, col(LeaseRow.until) > clock(session))
    )
    holders: dict[int, list[int]] = defaultdict(list)
    for task_id, name in session.execute(claims):
        holders[task_id].append(name)
    return _Entries(own, others, holders, marks_on(session, annotator_id, *conditions))


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


# The targets of critiques: they exist as soon as the critiques do, so the queues of a study are complete from then on.
#
# An import adds them with the items. `create_missing` adds those of studies that were imported by earlier versions.

# The criteria of the ratings that every critique has.
NAMES = (EXTRACTION, QUALITY)


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
    query = select(col(TargetRow.criterion)).where(
        col(TargetRow.study_id) == study_id, col(TargetRow.kind) == "likert", col(TargetRow.criterion).in_(NAMES)
    )
    with reading(engine) as session:
        if len(set(session.scalars(query.distinct()))) == len(NAMES):
            return
        states = current_states(session, study_id)
    missing = [target for item, state in states.items() for target in targets_of_item(item, state.critiques)]
    if missing:
        write(engine, lambda session: targets.get_or_create_ids(session, study_id, missing))
