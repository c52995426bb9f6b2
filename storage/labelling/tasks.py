"""The tasks of a queue in an annotator's order, with the annotator's labels, drafts, marks and claims.

Reading them claims nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.items import Criterion, Item, target_item
from core.labels import Target, Value
from core.texts import _
from storage.db.connections import clock, write
from storage.db.tables import DraftRow, LabelRow, LeaseRow, MarkRow, RepeatDraftRow, RepeatRow
from storage.labelling import _panels, blocks, queue_view, training
from storage.labelling.context import Json, QueueContext, Refused, Task, find_task, find_tasks, target_name, task_name
from storage.labelling.queue import TargetState, marks_on
from storage.labelling.queue_view import Tab, View, is_in_tab, open_view
from storage.labelling.reveal import reveals
from storage.labels import labels, targets, views
from storage.studies import items, studies, transcripts

# The annotator's label of a target.


@dataclass(frozen=True)
class OwnLabel:
    """An annotator's labels of one target."""

    version: int = 0
    """The number of labels, withdrawn ones included: it changes with every label and reveals nothing about others."""
    value: Value | None = None
    """None without a current label."""
    reason: str = ""
    evidence: tuple[Json, ...] = ()
    blind: bool = True
    surplus: bool = False
    at: str | None = None
    shown: tuple[int, ...] = ()
    """The order of the texts under which it was entered, also of a withdrawn label; empty if it is not known."""

    @property
    def content(self) -> Json | None:
        """Value, reason and evidence; None without a current label."""
        if self.value is None:
            return None
        return {"value": self.value, "reason": self.reason, "evidence": list(self.evidence)}

    @property
    def json(self) -> Json | None:
        """The content with its metadata; None without a current label."""
        content = self.content
        return None if content is None else {**content, "blind": self.blind, "at": self.at}


def own_labels(
    session: Session, work: QueueContext, target_ids: Sequence[int], plan: training.Training | None
) -> dict[int, OwnLabel]:
    """Return target id -> the annotator's label, for those of the targets that the annotator ever labelled.

    Of a negative id (`Task.key` of a repeat) it is the answer to the target's repeat. For the training items of a
    `plan`, the answers of the current attempt are in place of labels.
    """
    given = labels.own_rows(session, LabelRow, work.annotator_id, [key for key in target_ids if key > 0])
    repeated = labels.own_rows(session, RepeatRow, work.annotator_id, [-key for key in target_ids if key < 0])
    found: dict[int, OwnLabel] = {}
    for key, row in [*((row.target_id, row) for row in given), *((-row.target_id, row) for row in repeated)]:
        found[key] = OwnLabel(
            version=found[key].version + 1 if key in found else 1,
            value=row.value,
            reason=row.reason,
            evidence=tuple(row.evidence or ()),
            blind=row.blind,
            surplus=getattr(row, "surplus", False),
            at=row.at.isoformat() if row.at else None,
            shown=tuple(row.shown or ()),
        )
    if plan is not None:
        answers = plan.again().answers
        for target_id in plan.items.keys() & set(target_ids):
            answer, version = answers.get(target_id), plan.versions[target_id]
            found[target_id] = (
                OwnLabel(version)
                if answer is None
                else OwnLabel(version, answer.value, answer.reason, at=answer.at.isoformat())
            )
    return found


def circumstances_of(
    session: Session, annotator_id: int, target_id: int, content: Json
) -> tuple[int | None, tuple[int, ...]]:
    """Return the guidelines and the order of the texts of the annotator's newest label of a target with this value,
    reason and evidence.
    """
    for row in reversed(labels.own_rows(session, LabelRow, annotator_id, [target_id])):
        if {"value": row.value, "reason": row.reason, "evidence": row.evidence or []} == content:
            return row.guidelines, tuple(row.shown or ())
    return None, ()


def open_task(session: Session, work: QueueContext, name: str) -> Task:
    """Return the task with an opaque id; raises Unknown or Refused if the annotator cannot open it."""
    task = find_task(session, work, name)
    check_training(session, work, task)
    return task


def check_training(session: Session, work: QueueContext, task: Task) -> None:
    """Raise Refused if the task comes after the training of the queue."""
    plan = training.load(session, work)
    if plan is not None and plan.locks(task.id, 0) and task.id not in own_labels(session, work, [task.id], None):
        raise Refused("rejected", _(training.COMES_FIRST))


# The annotator's entries in some tasks.


class Entries:
    """The annotator's entries for some tasks, read with one query for each type."""

    def __init__(self, session: Session, work: QueueContext, tasks: Mapping[Task, Sequence[Target]]) -> None:
        self.work = work
        self.target_ids = target_ids(session, work, tasks)
        ids = list({*self.target_ids.values(), *(task.key for task in tasks)})
        plan = training.load(session, work)
        self.items, self.training_tasks = (plan.items, plan.tasks) if plan else ({}, {})
        self.plan = plan.again() if plan else None
        self.labels = own_labels(session, work, ids, plan)
        self.marks = marks_on(session, work.annotator_id, col(MarkRow.target_id).in_(ids))
        blank: Json = {"value": None, "reason": "", "evidence": []}
        repeated = labels.drafts(session, RepeatDraftRow, work.annotator_id, [-key for key in ids if key < 0])
        drafts = labels.drafts(session, DraftRow, work.annotator_id, ids)
        drafts |= {-target_id: body for target_id, body in repeated.items()}
        self.drafts = {key: blank | body for key, body in drafts.items()}
        leases = select(col(LeaseRow.target_id)).where(
            col(LeaseRow.annotator_id) == work.annotator_id,
            col(LeaseRow.target_id).in_([task.id for task in tasks]),
            col(LeaseRow.until) > clock(session),
        )
        self.leases = set(session.scalars(leases))
        self.leases |= {key for key in self.drafts if key < 0}

    def of_target(self, task: Task, target: Target) -> Json:
        """Return version, label, draft, flag and feedback of a target of a task."""
        target_id = self.target_ids.get(target, 0)
        key = task.key if task.repeat else target_id
        label, draft = self.labels.get(key, OwnLabel()), self.drafts.get(key)
        feedback = self.plan.feedback(target_id) if self.plan and target_id in self.items else None
        return {
            **({"id": target_name(self.work, target, repeat=True)} if task.repeat else {}),
            "version": str(label.version),
            "standing": label.json,
            "draft": draft and {name: part for name, part in draft.items() if name != "shown"},
            "flagged": "flag" in self.marks[target_id],
            "reveal": None,
            **({"feedback": feedback} if feedback else {}),
        }

    def of_task(self, task: Task, state: TargetState | None) -> Json:
        """Return the task's flag, skip and note, and whether the annotator holds it or could."""
        own = self.marks[task.id]
        claim = "full" if state and state.full else "free"
        return {
            "training": task.id in self.training_tasks,
            "flagged": "flag" in own,
            "skipped": "skip" in own,
            "note": own.get("note", ""),
            "claim": "mine" if task.key in self.leases or (state and state.labelled) else claim,
        }

    def order(self, task: Task, item: Item) -> blocks.Order:
        """Return the order in which the annotator sees the texts of a task: that of the label or draft, if there is
        one. `item` is that of the target.
        """
        label, draft = self.labels.get(task.key, OwnLabel()), self.drafts.get(task.key, {})
        count = blocks.count_texts(self.work, task, item)
        return blocks.entered_order(label.shown or draft.get("shown", ()), self.work, task, count)

    def is_asked(self, task: Task, target: Target) -> bool:
        """Return whether a target is part of a task: of a training item, only targets with known answers are."""
        return task.id not in self.training_tasks or self.target_ids.get(target) in self.items


def target_ids(session: Session, work: QueueContext, tasks: Mapping[Task, Collection[Target]]) -> dict[Target, int]:
    """Return target -> id, for those of the targets of tasks that exist."""
    known = {task.target: task.id for task in tasks}
    listed = {target for targets in tasks.values() for target in targets}
    found = {target: known[target] for target in listed & known.keys()}
    return found | targets.find_ids(session, work.study.id, listed - known.keys())


# The tasks as the workbench receives them.

# Tasks in one reply.
MOST = 60


def next_tasks(
    session: Session,
    work: QueueContext,
    *,
    have: Collection[str],
    count: int,
    tab: Tab,
    first: str | None,
    again: bool = True,
) -> Json:
    """Return the next tasks that are not in `have`; `first` is the task, or the key of its item, to begin with.

    The list is read until there is one task more than requested. `again`: see `open_view`.
    """
    view = open_view(session, work, again=again)
    known = {number for number in (work.ids.decode("t", name) for name in have) if number is not None}
    count = min(count, MOST)
    left: dict[int, None] = {}
    linked = _linked(session, work, view, first)
    for task_id in chain(linked, _newest_draft(view, tab), view.tab(tab)):
        if task_id not in known:
            left[task_id] = None
        if len(left) > count:
            break
    sent = find_tasks(session, work, list(left)[:count])
    return {
        "tasks": task_jsons(session, work, sent, view),
        "complete": len(left) <= count,
        "linked": first is None or bool(linked),
        "progress": queue_view.progress(view),
    }


def _newest_draft(view: View, tab: Tab) -> list[int]:
    """Return the task of the newest draft that is still to do."""
    if tab != "todo":
        return []
    states = view.states(list(view.drafts))
    return [task_id for task_id in reversed(list(view.drafts)) if is_in_tab(states[task_id], tab, ())][:1]


def _linked(session: Session, work: QueueContext, view: View, first: str | None) -> list[int]:
    """Return the tasks that a link names by a task or by an item, without those that others have completed."""
    if first is None:
        return []
    task_id = work.ids.decode("t", first)
    named = {task_id} if task_id is not None else set(targets.ids_of_item(session, work.study.id, first))
    states = view.states([task_id for task_id in view.order if task_id in named])
    return [state.id for state in states.values() if state.labelled or not state.full]


def task_jsons(session: Session, work: QueueContext, tasks: Sequence[Task], view: View | None = None) -> list[Json]:
    """Return tasks as the annotator may see them; reveals are left out, see `add_reveals`."""
    if not tasks:
        return []
    view = view or open_view(session, work)
    task_ids = [task.key for task in tasks]
    states, numbers = view.states(task_ids), queue_view.numbers(view, task_ids)
    found_items = transcripts.with_texts(
        session, work.study.id, items.by_ids(session, [task.item_id for task in tasks])
    )
    criteria = {criterion.name: criterion for criterion in studies.criteria(session, work.study.id)}
    by_task = {task: _panels.targets_of(session, work, task) for task in tasks}
    entries = Entries(session, work, by_task)
    jsons = []
    for task in tasks:
        item, criterion = target_item(found_items[task.item_id], task.target), criteria.get(task.target.criterion)
        order = entries.order(task, item)
        content = _panels.task_content(session, work, task, item, criterion, order)
        asked = zip(by_task[task], content["targets"], strict=True)
        json = {
            "id": task_name(work, task.key),
            "number": numbers.get(task.key, 0),
            "criterion": _criterion(task.target, criterion),
            "scenario": item.scenario,
            **entries.of_task(task, states.get(task.key)),
            **content,
            "shown": list(order),
            "targets": [about | entries.of_target(task, own) for own, about in asked if entries.is_asked(task, own)],
        }
        jsons.append(json)
    return jsons


def _criterion(target: Target, criterion: Criterion | None) -> Json | None:
    if not target.criterion:
        return None
    definition, rubric = (criterion.definition, list(criterion.rubric)) if criterion else ("", [])
    return {"name": target.criterion, "definition": definition, "rubric": rubric}


def add_reveals(session: Session, work: QueueContext, jsons: Sequence[Json], tasks: Sequence[Task]) -> list[int]:
    """Add the reveals of targets that the annotator has labelled.

    Returns the targets that are shown for the first time: `record_views` must store them before the browser gets them.
    """
    if not work.study.rules.reveal:
        return []
    shown: dict[Task, list[Target]] = {}
    for json, task in zip(jsons, tasks, strict=True):
        by_name = {target["id"]: target for target in json["targets"] if int(target["version"]) > 0}
        if not json["training"]:
            found = reveals_of(session, work, task, by_name)
            for target, content in found.items():
                by_name[target_name(work, target, repeat=task.repeat)]["reveal"] = content
            shown[task] = list(found)
    ids = list(target_ids(session, work, shown).values())
    return sorted(set(ids) - views.viewed(session, work.annotator_id, ids))


def reveals_of(session: Session, work: QueueContext, task: Task, labelled: Collection[str]) -> dict[Target, Json]:
    """Return the reveals of labelled targets, which opaque ids name; see `add_reveals`."""
    if not labelled:
        return {}
    asked = _panels.targets_of(session, work, task)
    wanted = [target for target in asked if target_name(work, target, repeat=task.repeat) in labelled]
    found = transcripts.with_text(session, work.study.id, items.by_ids(session, [task.item_id])[task.item_id])
    item = target_item(found, task.target)
    return reveals(session, work, task, item, wanted)


def record_views(engine: Engine, work: QueueContext, seen: Collection[int]) -> None:
    """Record that the annotator sees the reveals of targets: from now on, labels of them are not blind."""
    if seen:
        write(engine, lambda session: views.record_ids(session, work.annotator_id, sorted(set(seen))))
