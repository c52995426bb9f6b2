"""A queue as one annotator sees it: the tasks of each tab, in the annotator's order, and their numbers.

Nothing here claims a target.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal, get_args

from sqlalchemy import exists, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.db.connections import clock
from storage.db.guards import QUEUE, reading_for
from storage.db.tables import DraftRow, ItemRow, LabelRow, LeaseRow, MarkRow, RepeatDraftRow, RepeatRow, TargetRow
from storage.labelling import claims, critique_queue, queue, training
from storage.labelling.blocks import LISTS
from storage.labelling.context import Json, QueueContext
from storage.labelling.queue import TargetState, marks_on, target_query
from storage.labels import labels
from storage.labels.targets import is_current

Tab = Literal["todo", "drafts", "done", "skipped", "flagged"]
TABS: tuple[Tab, ...] = get_args(Tab)
# Repeats are targets that an annotator has labelled and is asked about again, as about any other target. The answers
# are stored apart from labels. A list of ids names the repeat of a target with the negative id (`Task.key`).

# The queues with repeats, whose targets have one value and one task each.
REPEATED = ("disagreements", *LISTS)
# A target is repeated after so many other labels of the queue, or after so long.
LABELS_SINCE = 20
TIME_SINCE = timedelta(hours=12)
# Tasks that a browser asks for before they are shown.
IN_BROWSER = 30


def is_in_tab(state: TargetState, tab: Tab, drafts: Collection[int]) -> bool:
    """Return whether a task is in a list of its queue; `drafts` are the tasks that were begun."""
    match tab:
        case "drafts":
            return state.id in drafts
        case "done":
            return state.labelled
        case "skipped":
            return state.skipped and not state.labelled
        case "flagged":
            return state.flagged
    return not (state.labelled or state.skipped or state.full)


class View:
    """A queue as one annotator sees it: training items first, then what is assigned, with hidden checks and repeats."""

    def __init__(self, session: Session, work: QueueContext, *, again: bool = True) -> None:
        self.session, self.work = session, work
        plan = training.load(session, work)
        self.training = plan.again() if plan is not None and again else plan
        """The training of the queue, if it has one."""
        items = [] if self.training is None else training.item_states(session, work, self.training)
        visible = [] if items and work.study.rules.training_required else self._visible()
        checks, ordinary = self._divide(visible)
        self.repeats = self._repeats(ordinary) if work.study.rules.repeat_share and work.name in REPEATED else []
        self.fixed = {state.id: state for state in (*items, *checks, *ordinary, *self.repeats)}
        """The tasks by id."""
        self._parts = items, checks, ordinary

    def _visible(self) -> list[TargetState]:
        """Return the tasks that are assigned to the annotator or labelled, without training items."""
        work, trained = self.work, self.training.tasks if self.training is not None else ()
        states = critique_queue.critique_states if work.name == "aius" else target_states
        return [
            state
            for state in states(self.session, work)
            if state.id not in trained
            and (state.labelled or claims.is_assigned(work.study.rules, work.annotator, state.scenario))
        ]

    def _divide(self, visible: list[TargetState]) -> tuple[list[TargetState], list[TargetState]]:
        """Return hidden checks, and the other tasks that the annotator gets or has labelled.

        A check is a target with a decision, or a critique with one on each of its AIUs, none of them by the annotator.
        """
        decided = claims.decided_targets(self.session, self.work) if claims.has_checks(self.work) else {}
        own: dict[int, bool | None] = {state.id: None for state in visible}
        for state in visible:
            if state.parts and decided.keys() >= set(state.parts):
                own[state.id] = any(decided[target_id] for target_id in state.parts)
        if None not in own.values():
            return [], visible
        ordinary = [state for state in visible if own[state.id] is None or (own[state.id] and state.labelled)]
        available = sum(own[state.id] is None and (state.labelled or not state.full) for state in ordinary)
        possible = [state for state in visible if own[state.id] is False]
        return claims.select_checks(self.work, available, possible), ordinary

    def _repeats(self, ordinary: list[TargetState]) -> list[TargetState]:
        """Return the annotator's repeats that are due or answered, in the order in which they are asked.

        With n targets that were labelled long ago, or will be when a browser has shown its tasks, and a share s,
        n s / (1 - s) are due, rounded up. Flagged or noted ones are not asked again, because the task would show it.
        """
        work, ids = self.work, [state.id for state in ordinary]
        labelled = sorted((state for state in ordinary if state.labelled), key=lambda state: state.newest)
        given = {row.target_id: row.at for row in labels.own_rows(self.session, LabelRow, work.annotator_id, ids)}
        marks = marks_on(self.session, work.annotator_id, col(MarkRow.target_id).in_(ids))
        own = (col(RepeatRow.study_id) == work.study.id, col(RepeatRow.annotator_id) == work.annotator_id)
        values = select(col(RepeatRow.target_id), col(RepeatRow.value)).where(*own).order_by(col(RepeatRow.id))
        answers: dict[int, Any] = dict(self.session.execute(values).all())
        drafts = select(col(RepeatDraftRow.target_id)).where(col(RepeatDraftRow.annotator_id) == work.annotator_id)
        skipped = {target_id for target_id in marks if "skip" in marks[target_id]}
        others = sorted({*self.session.scalars(drafts), *skipped} - answers.keys())
        known = {state.id for state in labelled}
        begun = {-id: place for place, id in enumerate(id for id in (*answers, *others) if id in known)}
        since, newest = clock(self.session) - TIME_SINCE, len(labelled) - LABELS_SINCE
        old = [
            state.id
            for place, state in enumerate(labelled)
            if place < newest or (at := given[state.id]) is None or at <= since
        ]
        done = {-target_id for target_id, value in answers.items() if value is not None}
        states = [
            TargetState(key, "", key in done, -key in skipped, False, False, None, 0, int(key in done), 1)
            for key in {**begun, **{-id: 0 for id in old if not {"flag", "note"} & marks[id].keys()}}
        ]
        total = sum(state.available for state in ordinary)
        available = max(len(old), min(len(labelled) + IN_BROWSER, total) - LABELS_SINCE)
        return claims.select_share(work, "repeat", work.study.rules.repeat_share, available, states, begun)

    @cached_property
    def order(self) -> Sequence[int]:
        """The tasks that the annotator gets or has labelled, in the annotator's order."""
        items, checks, ordinary = self._parts
        ids = claims.order_ids(self.session, self.work, {state.id: state.position for state in ordinary})
        if checks:  # one at a random position in each block of equal length
            ids = claims.mix(self.work, ids, [state.id for state in checks], len(ids) / len(checks))
        ids = [*(state.id for state in items), *ids]
        if self.repeats:  # at random places, and not two together after the newest label
            length = 1 / self.work.study.rules.repeat_share - 1
            newest = max((state for state in ordinary if state.labelled), key=lambda state: state.newest)
            front = ids.index(newest.id) + 0.5  # before the next one
            start = front - length * sum(state.labelled or state.skipped for state in self.repeats)
            ids = claims.mix(self.work, ids, [state.id for state in self.repeats], length, LABELS_SINCE, start)
        return ids

    @cached_property
    def drafts(self) -> Collection[int]:
        """The tasks that were begun and not finished, the oldest first."""
        if self.work.name == "aius":
            begun = [state for state in self.fixed.values() if state.labels and not state.labelled]
            return dict.fromkeys(state.id for state in sorted(begun, key=lambda state: state.newest))
        query = (
            select(col(DraftRow.target_id))
            .join(TargetRow, col(TargetRow.id) == col(DraftRow.target_id))
            .where(col(TargetRow.study_id) == self.work.study.id, col(DraftRow.annotator_id) == self.work.annotator_id)
            .order_by(col(DraftRow.at), col(DraftRow.target_id))
        )
        drafted = [target_id for target_id in self.session.scalars(query) if target_id in self.fixed]
        ids = [-state.id for state in self.repeats]
        repeated = labels.drafts(self.session, RepeatDraftRow, self.work.annotator_id, ids)
        return dict.fromkeys([*drafted, *(-target_id for target_id in repeated)])

    def tab(self, tab: Tab) -> Iterator[int]:
        """Yield the tasks of a list in the annotator's order."""
        drafts = self.drafts if tab == "drafts" else ()
        return (task_id for task_id in self.order if is_in_tab(self.fixed[task_id], tab, drafts))

    def count(self, tab: Tab) -> int:
        """Return the number of tasks in a list."""
        drafts = self.drafts if tab == "drafts" else ()
        return sum(is_in_tab(state, tab, drafts) for state in self.fixed.values())

    def labels(self) -> tuple[int, int]:
        """Return how many required targets the annotator has labelled, and has labelled or can label."""
        states = self.fixed.values()
        return sum(state.labels for state in states), sum(state.available for state in states)

    def states(self, task_ids: Sequence[int]) -> dict[int, TargetState]:
        """Return the states of tasks of the queue."""
        return {task_id: self.fixed[task_id] for task_id in task_ids if task_id in self.fixed}


def target_states(session: Session, work: QueueContext) -> list[TargetState]:
    """Return every target of a queue in which a task is one target, as the annotator sees it.

    Labels are counted from the summaries of targets (`storage.labels.targets`).
    """
    queried, own = work.queue, work.annotator_id
    of_kind = (col(TargetRow.study_id) == queried.study_id, col(TargetRow.kind) == queried.kind)
    current = (
        select(col(LabelRow.target_id), col(LabelRow.id))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(*of_kind, col(LabelRow.annotator_id) == own, is_current(LabelRow))
    )
    labelled: dict[int, int] = dict(session.execute(current).all())
    claimed = _claimed(session, work, of_kind)
    marks = marks_on(session, own, *of_kind)
    columns = (col(TargetRow.id), col(ItemRow.key), col(ItemRow.scenario), col(ItemRow.position))
    with reading_for(QUEUE):
        query = target_query(*columns, col(TargetRow.counted), col(TargetRow.overlap), queue=queried, with_items=True)
        rows = session.execute(query).all()
    states = []
    for target_id, item, scenario, position, counted, overlap in rows:
        is_labelled, on = target_id in labelled, marks.get(target_id, {})
        full = counted + claimed[target_id] >= (work.study.rules.overlap if overlap is None else overlap)
        states.append(
            TargetState(
                target_id, item, is_labelled, "skip" in on, "flag" in on, full, scenario, position,
                labels=int(is_labelled), available=int(is_labelled or not full), newest=labelled.get(target_id, 0),
                parts=(target_id,),
            )
        )  # fmt: skip
    return states


def _claimed(session: Session, work: QueueContext, of_kind: Sequence[Any]) -> Counter[int]:
    """Return target -> the number of others who are about to label it: they have a claim."""
    lease = LeaseRow
    has_labelled = exists().where(
        col(LabelRow.target_id) == col(lease.target_id),
        col(LabelRow.annotator_id) == col(lease.annotator_id),
        is_current(LabelRow),
    )
    query = (
        select(col(lease.target_id))
        .join(TargetRow, col(TargetRow.id) == col(lease.target_id))
        .where(*of_kind, col(lease.until) > clock(session), col(lease.annotator_id) != work.annotator_id, ~has_labelled)
    )
    return Counter(session.scalars(query))


def open_view(session: Session, work: QueueContext, *, again: bool = True) -> View:
    """Return a queue as its annotator sees it now; `again`: after a failed training, another attempt is offered."""
    return View(session, work, again=again)


def progress(view: View) -> Json:
    """Return the annotator's progress: numbers of required targets, and of skipped, flagged and drafted tasks."""
    labelled, total = view.labels()
    summary = None if view.training is None else view.training.summary()
    return {
        "labelled": labelled,
        "total": total,
        "skipped": view.count("skipped"),
        "flagged": view.count("flagged"),
        "drafts": len(view.drafts),
        **({"training": summary} if summary else {}),
        **({} if total else {"nothing": nothing(view.session, view.work)}),
    }


def nothing(session: Session, work: QueueContext) -> Literal["empty", "unassigned", "complete"]:
    """Return why the annotator has nothing to label: others have given all labels of what is assigned, or none is."""
    if not queue.has_targets(session, work.queue):
        return "empty"
    query = target_query(col(ItemRow.scenario), queue=work.queue, with_items=True).distinct()
    with reading_for(QUEUE):
        scenarios = session.scalars(query)
        is_any = any(claims.is_assigned(work.study.rules, work.annotator, scenario) for scenario in scenarios)
    return "complete" if is_any else "unassigned"


def numbers(view: View, task_ids: Collection[int]) -> dict[int, int]:
    """Return task -> its place in the annotator's order, from 1."""
    wanted = set(task_ids)
    return {task_id: number for number, task_id in enumerate(view.order, 1) if task_id in wanted}
