"""The tasks of a queue in an annotator's order, with the annotator's entries; reading them claims nothing."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.items import Criterion, target_item
from core.labels import Target
from storage.db.connections import write
from storage.labelling import panels, queue_view
from storage.labelling.context import Json, Task, Work, find_tasks, target_name, task_name
from storage.labelling.entries import Entered, target_ids
from storage.labelling.queue_view import Tab, View, is_in_tab, open_view
from storage.labelling.reveal import reveals
from storage.labels import targets, views
from storage.studies import items, studies

MOST = 60
"""Tasks in one reply."""


def progress(session: Session, work: Work, *, again: bool = False) -> Json:
    """Return the annotator's progress in the queue; `again`: see `open_view`."""
    return queue_view.progress(open_view(session, work, again=again))


def next_tasks(
    session: Session,
    work: Work,
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
    for task_id in chain(_linked(session, work, view, first), _newest_draft(view, tab), view.tab(tab)):
        if task_id not in known:
            left[task_id] = None
        if len(left) > count:
            break
    sent = find_tasks(session, work, list(left)[:count])
    return {
        "tasks": task_jsons(session, work, sent, view),
        "complete": len(left) <= count,
        "progress": queue_view.progress(view),
    }


def _newest_draft(view: View, tab: Tab) -> list[int]:
    """Return the task of the newest draft that is still to do."""
    if tab != "todo":
        return []
    states = view.states(list(view.drafts))
    return [task_id for task_id in reversed(list(view.drafts)) if is_in_tab(states[task_id], tab, ())][:1]


def _linked(session: Session, work: Work, view: View, first: str | None) -> list[int]:
    """Return the tasks that a link names by a task or by an item, without those that others have completed."""
    if first is None:
        return []
    task_id = work.ids.decode("t", first)
    named = {task_id} if task_id is not None else set(targets.ids_of_item(session, work.study.id, first))
    states = view.states([task_id for task_id in view.order if task_id in named])
    return [state.id for state in states.values() if state.labelled or not state.full]


def task_jsons(
    session: Session,
    work: Work,
    tasks: Sequence[Task],
    view: View | None = None,
) -> list[Json]:
    """Return tasks as the annotator may see them; reveals are left out, see `add_reveals`."""
    if not tasks:
        return []
    view = view or open_view(session, work)
    task_ids = [task.id for task in tasks]
    states, numbers = view.states(task_ids), queue_view.numbers(view, task_ids)
    by_id_of_item = items.by_ids(session, [task.item_id for task in tasks])
    shown = {task: target_item(by_id_of_item[task.item_id], task.target) for task in tasks}
    criteria = {criterion.name: criterion for criterion in studies.criteria(session, work.study.id)}
    by_task = {task: panels.targets_of(session, work, task) for task in tasks}
    entered = Entered(session, work, by_task)
    orders = [entered.order(task, shown[task]) for task in tasks]
    contents = [
        panels.task_content(session, work, task, shown[task], criteria.get(task.target.criterion), order)
        for task, order in zip(tasks, orders, strict=True)
    ]
    return [
        {
            "id": task_name(work, task.id),
            "number": numbers.get(task.id, 0),
            "criterion": _criterion(task.target, criteria.get(task.target.criterion)),
            "scenario": shown[task].scenario,
            "training": entered.is_training(task.id),
            **entered.marks(task),
            "claim": entered.claim(task, states.get(task.id)),
            **content,
            "shown": list(order),
            "targets": [
                entered.add(*pair)
                for pair in zip(by_task[task], content["targets"], strict=True)
                if entered.is_asked(task.id, pair[0])
            ],
        }
        for task, order, content in zip(tasks, orders, contents, strict=True)
    ]


def _criterion(target: Target, criterion: Criterion | None) -> Json | None:
    if not target.criterion:
        return None
    definition, rubric = (criterion.definition, list(criterion.rubric)) if criterion else ("", [])
    return {"name": target.criterion, "definition": definition, "rubric": rubric}


def add_reveals(session: Session, work: Work, jsons: Sequence[Json], tasks: Sequence[Task]) -> list[int]:
    """Add the reveals of targets that the annotator has labelled.

    Returns the targets that are shown for the first time: `record_views` must store them before the browser gets them.
    """
    if not work.study.rules.reveal:
        return []
    shown: dict[Task, list[Target]] = {}
    for json, task in zip(jsons, tasks, strict=True):
        by_name = {target["id"]: target for target in json["targets"] if int(target["version"]) > 0}
        if json["training"] or not by_name:
            continue
        labelled = [target for target in panels.targets_of(session, work, task) if target_name(work, target) in by_name]
        found = reveals_of(session, work, task, labelled)
        for target, content in found.items():
            by_name[target_name(work, target)]["reveal"] = content
        shown[task] = list(found)
    return first_seen(session, work, shown)


def reveals_of(session: Session, work: Work, task: Task, labelled: Sequence[Target]) -> dict[Target, Json]:
    """Return the reveals of labelled targets; see `add_reveals`."""
    item = target_item(items.by_ids(session, [task.item_id])[task.item_id], task.target)
    return reveals(session, work, task, item, labelled)


def ids_of(session: Session, task: Task, shown: Collection[Target]) -> list[int]:
    """Return the ids of targets of a task."""
    ids = target_ids(session, {task: list(shown)})
    return [ids[target] for target in shown]


def first_seen(session: Session, work: Work, shown: Mapping[Task, Sequence[Target]]) -> list[int]:
    """Return those of the targets whose opinions the annotator has not seen yet."""
    ids = target_ids(session, shown)
    seen = views.viewed(session, work.annotator_id, list(ids.values()))
    return [ids[target] for listed in shown.values() for target in listed if ids[target] not in seen]


def record_views(engine: Engine, work: Work, seen: Collection[int]) -> None:
    """Record that the annotator sees the reveals of targets: from now on, labels of them are not blind."""
    if seen:
        write(engine, lambda session: views.record_ids(session, work.annotator_id, sorted(set(seen))), pipelined=True)
