"""A queue as one annotator sees it: the tasks of each tab, in the annotator's order, and their numbers.

Numbers are counted by the database from the summaries of targets (`storage.labels.targets`), and lists are walked
only as far as they are read. Nothing here claims a target.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Select, exists, false, func, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from storage.db.connections import clock, execute
from storage.db.guards import QUEUE, reading_for
from storage.db.tables import (
    AdjudicationRow,
    DraftRow,
    ItemRow,
    LabelRow,
    LeaseRow,
    MarkRow,
    RepeatDraftRow,
    RepeatRow,
    TargetRow,
)
from storage.labelling import claims, critique_queue, queue, training
from storage.labelling.blocks import LISTS
from storage.labelling.context import Json, QueueContext
from storage.labelling.queue import TargetState, state_query, target_query, wanted_labels
from storage.labels import labels
from storage.labels.targets import is_current

Tab = Literal["todo", "drafts", "done", "skipped", "flagged"]
TABS: tuple[Tab, ...] = get_args(Tab)


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
    """A queue as one annotator sees it: training items first, then what is assigned, with hidden checks.

    Here it is the queue of critiques, whose AIUs change when they are edited: all of it is evaluated, from the edits.
    """

    def __init__(self, session: Session, work: QueueContext, *, again: bool = True) -> None:
        self.session, self.work = session, work
        plan = training.load(session, work)
        self.training = plan.again() if plan is not None and again else plan
        """The training of the queue, if it has one."""
        self.items = [] if self.training is None else training.item_states(session, work, self.training)
        self.only_training = bool(self.items) and work.study.rules.training_required

    @cached_property
    def _divided(self) -> tuple[list[TargetState], list[TargetState]]:
        """Hidden checks, and the other critiques that the annotator gets or has labelled.

        A check is a critique with a decision on each of its AIUs, none of them by the annotator.
        """
        work, rules = self.work, self.work.study.rules
        if self.only_training:
            return [], []
        trained = self.training.tasks if self.training is not None else ()
        states = critique_queue.critique_states(self.session, work)
        visible = [
            state
            for state in states
            if state.id not in trained and (state.labelled or claims.is_assigned(rules, work.annotator, state.scenario))
        ]
        decided = claims.decided_targets(self.session, work) if claims.has_checks(work) else {}
        own: dict[int, bool | None] = {state.id: None for state in visible}
        for state in visible:
            if state.parts and decided.keys() >= set(state.parts):
                own[state.id] = any(decided[aiu_id] for aiu_id in state.parts)
        if None not in own.values():
            return [], visible
        ordinary = [state for state in visible if own[state.id] is None or (own[state.id] and state.labelled)]
        available = sum(own[state.id] is None and (state.labelled or not state.full) for state in ordinary)
        possible = [state for state in visible if own[state.id] is False]
        return claims.select_checks(work, available, possible), ordinary

    @property
    def checks(self) -> Sequence[TargetState]:
        """The hidden checks of the annotator."""
        return self._divided[0]

    @cached_property
    def fixed(self) -> Mapping[int, TargetState]:
        """The tasks that are read as states, by id: here these are all."""
        return {state.id: state for state in (*self.items, *self.checks, *self._divided[1])}

    def _ordinary_order(self) -> Sequence[int]:
        """Return the tasks that are neither training items nor checks, in the annotator's order."""
        return claims.order_ids(self.session, self.work, {state.id: state.position for state in self._divided[1]})

    @cached_property
    def order(self) -> Sequence[int]:
        """The tasks that the annotator gets or has labelled, in the annotator's order."""
        ordered, checks = self._ordinary_order(), [state.id for state in self.checks]
        if checks:  # one at a random position in each block of equal length
            ordered = claims.mix(self.work, ordered, checks, len(ordered) / len(checks))
        return [*(state.id for state in self.items), *ordered] if self.items else ordered

    @cached_property
    def drafts(self) -> Collection[int]:
        """The tasks that were begun and not finished, the oldest first."""
        begun = [state for state in self.fixed.values() if state.labels and not state.labelled]
        return dict.fromkeys(state.id for state in sorted(begun, key=lambda state: state.newest))

    def tab(self, tab: Tab) -> Iterator[int]:
        """Yield the tasks of a list in the annotator's order."""
        chosen = set(self._fixed_in(tab))
        return (task_id for task_id in self.order if task_id in chosen)

    def count(self, tab: Tab) -> int:
        """Return the number of tasks in a list."""
        return len(self._fixed_in(tab))

    def labels(self) -> tuple[int, int]:
        """Return how many required targets the annotator has labelled, and has labelled or can label."""
        states = self.fixed.values()
        return sum(state.labels for state in states), sum(state.available for state in states)

    def states(self, task_ids: Sequence[int]) -> dict[int, TargetState]:
        """Return the states of tasks of the queue."""
        return {task_id: self.fixed[task_id] for task_id in task_ids if task_id in self.fixed}

    def _fixed_in(self, tab: Tab) -> list[int]:
        drafts = self.drafts if tab == "drafts" else ()
        return [state.id for state in self.fixed.values() if is_in_tab(state, tab, drafts)]


# Targets in one query for open tasks: the number grows, because labelled targets come first.
FIRST_STEP, LARGEST_STEP = 64, 4096
# Visible are targets that are assigned to the annotator, and those that the annotator has labelled.
Scope = Literal["all", "assigned", "visible"]
# Repeats are targets that an annotator has labelled and is asked about again, as about any other target. The answers
# are stored apart from labels. A list of ids names the repeat of a target with the negative id (`Task.key`).

# The queues with repeats, whose targets have one value and one task each.
REPEATED = ("disagreements", *LISTS)
# A target is repeated after so many other labels of the queue, or after so long.
LABELS_SINCE = 20
TIME_SINCE = timedelta(hours=12)
# Tasks that a browser asks for before they are shown.
IN_BROWSER = 30


def open_view(session: Session, work: QueueContext, *, again: bool = True) -> View:
    """Return a queue as its annotator sees it now: training items first, then what is assigned, with hidden checks.

    `again`: after a training that was not passed, another attempt is offered.
    """
    return View(session, work, again=again) if work.name == "aius" else TargetView(session, work, again=again)


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
    query = target_query(col(TargetRow.id), queue=work.queue, with_items=True)
    assigned = claims.assigned_condition(work)
    if assigned is None or execute(session, query.where(assigned).limit(1)).first() is not None:
        return "complete"
    return "unassigned"


def numbers(view: View, task_ids: Collection[int]) -> dict[int, int]:
    """Return task -> its place in the annotator's order, from 1."""
    wanted = set(task_ids)
    return {task_id: number for number, task_id in enumerate(view.order, 1) if task_id in wanted}


class TargetView(View):
    """A queue in which every task is one target.

    Training items, checks and repeats are few and read as states (`fixed`); all other targets are counted and walked.
    """

    @property
    def parameters(self) -> dict[str, int]:
        """The parameters of every query."""
        return {"overlap": self.work.study.rules.overlap}

    @cached_property
    def decided(self) -> Mapping[int, bool]:
        """The targets that are offered as checks only -> whether the annotator adjudicated them."""
        if self.only_training or not claims.has_checks(self.work):
            return {}
        decided = claims.decided_targets(self.session, self.work)
        others = self._query(col(TargetRow.id), with_checks=True).where(~_adjudicated())
        return decided if decided and self._execute(others.limit(1)).first() is not None else {}

    @cached_property
    def checks(self) -> Sequence[TargetState]:
        """The hidden checks of the annotator."""
        if not self.decided:
            return []
        query = self._query(col(TargetRow.id), with_checks=True).where(_adjudicated())
        possible = [row[0] for row in self._execute(query) if not self.decided[row[0]]]
        own = sum(is_own and target_id in self.labelled for target_id, is_own in self.decided.items())
        return claims.select_checks(self.work, len(self.labelled) + self.open_count - own, self._states(possible))

    @cached_property
    def repeats(self) -> Sequence[TargetState]:
        """The annotator's repeats that are due or answered, in the order in which they are asked.

        With n targets that were labelled long ago, or will be when a browser has shown its tasks, and a share s,
        n s / (1 - s) are due, rounded up. Flagged or noted ones are not asked again, because the task would show it.
        """
        share, marked = self.work.study.rules.repeat_share, self.marked
        if not share or self.work.name not in REPEATED:
            return []
        labelled = {target_id: at for target_id, _, at in self._own_labels}
        total = len(labelled) + self.open_count
        own = (col(RepeatRow.study_id) == self.work.study.id, col(RepeatRow.annotator_id) == self.work.annotator_id)
        values = select(col(RepeatRow.target_id), col(RepeatRow.value)).where(*own).order_by(col(RepeatRow.id))
        answers: dict[int, Any] = dict(self.session.execute(values).all())
        drafts = select(col(RepeatDraftRow.target_id)).where(col(RepeatDraftRow.annotator_id) == self.work.annotator_id)
        others = sorted({*self.session.scalars(drafts), *marked["skip"]} - answers.keys())
        begun = {-id: place for place, id in enumerate(id for id in (*answers, *others) if id in labelled)}
        since, newest = clock(self.session) - TIME_SINCE, len(labelled) - LABELS_SINCE
        old = [id for place, (id, at) in enumerate(labelled.items()) if place < newest or at is None or at <= since]
        done = {-target_id for target_id, value in answers.items() if value is not None}
        states = [
            TargetState(key, "", key in done, -key in marked["skip"], False, False, None, 0, int(key in done), 1)
            for key in {**begun, **{-id: 0 for id in old if id not in marked["flag"] and id not in marked["note"]}}
        ]
        available = max(len(old), min(len(labelled) + IN_BROWSER, total) - LABELS_SINCE)
        return claims.select_share(self.work, "repeat", share, available, states, begun)

    @cached_property
    def order(self) -> Sequence[int]:
        """See `View`. Repeats are at random places, and not two together after the newest label."""
        ids, newest = super().order, next(reversed(self.labelled), 0)
        if not self.repeats:
            return ids
        length = 1 / self.work.study.rules.repeat_share - 1
        front = ids.index(newest) + 0.5 if newest in ids else 0  # before the next one
        start = front - length * sum(state.labelled or state.skipped for state in self.repeats)
        return claims.mix(self.work, ids, [state.id for state in self.repeats], length, LABELS_SINCE, start)

    @cached_property
    def fixed(self) -> Mapping[int, TargetState]:
        """Training items, checks and repeats."""
        return {state.id: state for state in (*self.items, *self.checks, *self.repeats)}

    def _ordinary_order(self) -> Sequence[int]:
        if self.only_training:
            return []
        rules = self.work.study.rules
        if rules.order == "informative":
            return claims.order_ids(self.session, self.work, self._places())
        target_id = col(TargetRow.id)
        query = self._query(func.count(), func.sum(target_id), func.sum(target_id % 1009))
        version = tuple(self._execute(query).one())
        names = rules.model_dump_json(include={"order", "annotators", "groups"})
        key = (self.session.get_bind().engine, self.work.queue, self.work.annotator_id, names)
        return queue.find_order(key, version, lambda: claims.order_ids(self.session, self.work, self._places()))

    def _places(self) -> dict[int, int]:
        """Return target -> the position of its item."""
        query = self._query(col(TargetRow.id), col(ItemRow.position), with_items=True)
        return {target_id: position for target_id, position in self._execute(query)}

    @cached_property
    def labelled(self) -> dict[int, bool]:
        """The targets that the annotator has labelled, with whether more labels of them are wanted."""
        return {target_id: bool(is_open) for target_id, is_open, _ in self._own_labels}

    @cached_property
    def _own_labels(self) -> Sequence[Any]:
        """Target, whether more labels of it are wanted, and when the annotator labelled it, the oldest first."""
        query = (
            self._query(col(TargetRow.id), self._is_open, col(LabelRow.at), scope="all", few=True)
            .join(LabelRow, col(LabelRow.target_id) == col(TargetRow.id))
            .where(col(LabelRow.annotator_id) == self.work.annotator_id)
            .where(col(LabelRow.study_id) == self.work.study.id, is_current(LabelRow))
            .order_by(col(LabelRow.id))
        )
        return list(self._execute(query))

    @cached_property
    def drafts(self) -> Collection[int]:
        """See `View`."""
        columns = (col(TargetRow.id), col(DraftRow.at))
        drafted = self._query(*columns, few=True).join(DraftRow, col(DraftRow.target_id) == col(TargetRow.id))
        fixed = select(col(DraftRow.target_id), col(DraftRow.at)).where(col(DraftRow.target_id).in_(self.fixed))
        queries = [drafted, fixed] if self.fixed else [drafted]
        found = [
            (at, target_id)
            for query in queries
            for target_id, at in self._execute(query.where(col(DraftRow.annotator_id) == self.work.annotator_id))
        ]
        ids = [-state.id for state in self.repeats]
        repeated = labels.drafts(self.session, RepeatDraftRow, self.work.annotator_id, ids)
        return dict.fromkeys([*(target_id for _, target_id in sorted(found)), *(-id for id in repeated)])

    @cached_property
    def marked(self) -> Mapping[str, Mapping[int, bool]]:
        """Mark -> the targets on which it is on -> whether more labels of them are wanted."""
        query = (
            self._query(col(MarkRow.mark), col(TargetRow.id), col(MarkRow.on), self._is_open, few=True)
            .join(MarkRow, col(MarkRow.target_id) == col(TargetRow.id))
            .where(col(MarkRow.annotator_id) == self.work.annotator_id, col(MarkRow.mark).in_(("skip", "flag", "note")))
            .order_by(col(MarkRow.id))
        )
        newest = {(mark, target_id): (on, is_open) for mark, target_id, on, is_open in self._execute(query)}
        found: dict[str, dict[int, bool]] = {"skip": {}, "flag": {}, "note": {}}
        for (mark, target_id), (on, is_open) in newest.items():
            if on:
                found[mark][target_id] = bool(is_open)
        return found

    @cached_property
    def skipped(self) -> dict[int, bool]:
        """The targets that are skipped and not labelled, with whether more labels of them are wanted."""
        return {id: is_open for id, is_open in self.marked["skip"].items() if id not in self.labelled}

    @cached_property
    def claimed(self) -> set[int]:
        """The targets whose missing labels others are about to give: they have claims."""
        at, lease = clock(self.session), LeaseRow
        has_labelled = exists().where(
            col(LabelRow.target_id) == col(lease.target_id),
            col(LabelRow.annotator_id) == col(lease.annotator_id),
            is_current(LabelRow),
        )
        query = (
            self._query(col(TargetRow.id), scope="assigned", few=True)
            # Without an index of the leases by target: they are few, and SQLite would read all targets first.
            .join(lease, col(lease.target_id) + 0 == col(TargetRow.id))
            .where(col(lease.until) > at, col(lease.annotator_id) != self.work.annotator_id, ~has_labelled)
            .where(self._is_open)
            .group_by(col(TargetRow.id), col(TargetRow.counted), col(TargetRow.overlap))
            .having(col(TargetRow.counted) + func.count() >= wanted_labels())
        )
        return {row[0] for row in self._execute(query)} - self.labelled.keys()

    @cached_property
    def open_count(self) -> int:
        """The number of assigned targets that the annotator has not labelled and can label."""
        query = self._query(func.count(), scope="assigned").where(self._is_open)
        wanted: int = self._execute(query).scalar_one()
        own = [target_id for target_id, is_open in self.labelled.items() if is_open]
        if claims.assigned_condition(self.work) is not None:
            query = self._query(col(TargetRow.id), scope="assigned").where(col(TargetRow.id).in_(own))
            own = self._execute(query).all()
        return wanted - len(self.claimed) - len(own)

    def tab(self, tab: Tab) -> Iterator[int]:
        """See `View`."""
        if tab == "todo":
            return self._todo()
        chosen = {*self._listed(tab), *self._fixed_in(tab)}
        return (target_id for target_id in self.order if target_id in chosen)

    def _listed(self, tab: Tab) -> Collection[int]:
        """Return the ordinary targets of a tab: drafts, done, skipped or flagged."""
        match tab:
            case "drafts":
                return self.drafts
            case "done":
                return self.labelled
            case "skipped":
                return self.skipped
        return self.marked["flag"]

    def _todo(self) -> Iterator[int]:
        done = {*self.labelled, *self.skipped, *self.claimed} - self.fixed.keys()
        fixed = set(self._fixed_in("todo"))
        left = (target_id for target_id in self.order if target_id not in done)
        step = FIRST_STEP
        while ids := list(islice(left, step)):
            query = select(col(TargetRow.id)).where(col(TargetRow.id).in_(ids), self._is_open)
            is_open = {row[0] for row in self._execute(query)} - self.fixed.keys() | fixed
            yield from (target_id for target_id in ids if target_id in is_open)
            step = min(4 * step, LARGEST_STEP)

    def count(self, tab: Tab) -> int:
        """See `View`."""
        if tab == "drafts":
            return len(self.drafts)
        fixed = len(self._fixed_in(tab))
        if tab != "todo":
            return len(self._listed(tab)) + fixed
        skipped = {target_id for target_id, is_open in self.skipped.items() if is_open}
        return self.open_count - len(skipped - self.claimed) + fixed

    def labels(self) -> tuple[int, int]:
        """See `View`."""
        labelled, available = super().labels()
        return len(self.labelled) + labelled, len(self.labelled) + self.open_count + available

    def states(self, task_ids: Sequence[int]) -> dict[int, TargetState]:
        """See `View`."""
        ordinary = [task_id for task_id in task_ids if task_id not in self.fixed]
        return super().states(task_ids) | {state.id: state for state in self._states(ordinary)}

    def _states(self, task_ids: Sequence[int]) -> list[TargetState]:
        if not task_ids:
            return []
        values = {"annotator": self.work.annotator_id, "now": clock(self.session), "ids": list(task_ids)}
        rows = execute(self.session, state_query(self.work.queue), self.parameters | values)
        return [
            TargetState(
                id,
                item,
                bool(labelled),
                bool(skipped),
                bool(flagged),
                bool(full),
                scenario,
                position,
                labels=int(labelled),
                available=int(labelled or not full),
            )
            for id, item, labelled, skipped, flagged, full, scenario, position in rows
        ]

    @property
    def _is_open(self) -> ColumnElement[bool]:
        return col(TargetRow.counted) < wanted_labels()

    def _query(
        self,
        *columns: Any,
        scope: Scope = "visible",
        with_items: bool = False,
        with_checks: bool = False,
        few: bool = False,
    ) -> Select[*tuple[Any, ...]]:
        """Select columns of the queue's ordinary targets in a scope; `with_checks`: and of the possible checks."""
        condition = None if scope == "all" else claims.assigned_condition(self.work)
        query = target_query(*columns, queue=self.work.queue, with_items=with_items or condition is not None, few=few)
        if self.only_training:
            return query.where(false())
        if self.training is not None:
            query = query.where(col(TargetRow.id).not_in(self.training.items))
        if not with_checks and self.decided:
            own = _adjudicated(self.work.annotator_id) & self._is_labelled
            query = query.where(or_(~_adjudicated(), own))
        if condition is None:
            return query
        return query.where(or_(condition, self._is_labelled) if scope == "visible" else condition)

    @property
    def _is_labelled(self) -> ColumnElement[bool]:
        own = aliased(LabelRow)
        return exists().where(
            col(own.target_id) == col(TargetRow.id), col(own.annotator_id) == self.work.annotator_id, is_current(own)
        )

    def _execute(self, query: Select[*tuple[Any, ...]]) -> Any:
        with reading_for(QUEUE):
            return execute(self.session, query, self.parameters)


def _adjudicated(annotator_id: int | None = None) -> ColumnElement[bool]:
    """Return whether the outer query's target has a decision, of an annotator if one is passed."""
    decided = exists().where(col(AdjudicationRow.target_id) == col(TargetRow.id))
    return decided if annotator_id is None else decided.where(col(AdjudicationRow.annotator_id) == annotator_id)
