"""The tasks of a queue in an annotator's order, with the annotator's entries; reading them claims nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy.orm import Session

from core.items import Criterion
from core.labels import Target
from core.pairs import target_item
from storage import items, labels, studies
from storage.labelling import assignment, checks, claims, panels, training
from storage.labelling.entered import Entered, drafted_targets
from storage.labelling.queue import TargetState
from storage.labelling.reveal import reveals
from storage.labelling.training import Training
from storage.labelling.work import Json, Task, Work, find_tasks, target_name, task_name

Tab = Literal["todo", "drafts", "done", "skipped", "flagged"]
TABS: tuple[Tab, ...] = get_args(Tab)
MOST = 60
"""Tasks in one reply."""


@dataclass(frozen=True)
class Offered:
    """The targets of a queue that an annotator gets."""

    training: Training | None
    first: list[TargetState]
    """Training items."""
    checks: list[TargetState]
    others: list[TargetState]
    """In the order of the queue."""

    @property
    def states(self) -> list[TargetState]:
        """All of them, in no order."""
        return [*self.first, *self.checks, *self.others]


def offered(session: Session, work: Work, *, again: bool = True) -> Offered:
    """Return the targets that the annotator gets: the training first, then the assigned targets, with hidden checks.

    `again`: after a training that was not passed, another attempt is offered.
    """
    plan = training.load(session, work)
    if plan is not None:
        plan = plan.again() if again else plan
        first = training.item_states(session, work, plan)
        if first and plan.required:
            return Offered(plan, first, [], [])
    else:
        first = []
    states = assignment.assigned_states(work, claims.target_states(session, work))
    ordinary = [state for state in states if plan is None or state.id not in plan.items]
    return Offered(plan, first, *checks.select_checks(session, work, ordinary))


def ordered_states(session: Session, work: Work, *, again: bool = True) -> list[TargetState]:
    """Return the targets that the annotator gets, in the order of the study's rules; see `offered`.

    By default each annotator has a different random order, so two rarely work on the same target.
    """
    return _ordered(session, work, offered(session, work, again=again))


def _ordered(session: Session, work: Work, found: Offered) -> list[TargetState]:
    ordered = assignment.order_states(session, work, found.others)
    return [*found.first, *checks.mix(work, ordered, found.checks)]


def progress(session: Session, work: Work, *, again: bool = False) -> Json:
    """Return how far the annotator is in the queue: numbers of required targets, and of skipped and flagged tasks."""
    found = offered(session, work, again=again)
    return _progress(session, work, found.states, found.training)


def _progress(session: Session, work: Work, states: Sequence[TargetState], plan: Training | None) -> Json:
    summary = None if plan is None else plan.summary()
    return {
        "labelled": sum(state.labels for state in states),
        "total": sum(state.available for state in states),
        "skipped": sum(state.skipped and not state.labelled for state in states),
        "flagged": sum(state.flagged for state in states),
        "drafts": len(started(session, work, states)),
        **({"training": summary} if summary else {}),
    }


def started(session: Session, work: Work, states: Sequence[TargetState]) -> dict[int, None]:
    """Return the tasks that were begun and not finished, the oldest first: with a draft, or with some AIUs labelled."""
    if work.name != "aius":
        drafted, known = drafted_targets(session, work), {state.id for state in states}
        return dict.fromkeys(task_id for task_id in drafted if task_id in known)
    begun = [state for state in states if state.labels and not state.labelled]
    return dict.fromkeys(state.id for state in sorted(begun, key=lambda state: state.newest))


def next_tasks(
    session: Session,
    work: Work,
    *,
    have: Collection[str],
    count: int,
    tab: str,
    first: str | None,
    again: bool = True,
) -> Json:
    """Return the next tasks that are not in `have`; `first` is the task, or the key of its item, to begin with.

    `again`: see `offered`.
    """
    found = offered(session, work, again=again)
    states = _ordered(session, work, found)
    drafts = started(session, work, states)
    known = {number for number in (work.ids.decode("t", name) for name in have) if number is not None}
    wanted = [state for state in states if is_in_tab(state, tab, drafts)]
    linked = [state for state in states if _is_linked(work, state, first) and (state.labelled or not state.full)]
    open_ids = {state.id for state in wanted}
    newest_draft = [task_id for task_id in reversed(drafts) if task_id in open_ids][:1] if tab == "todo" else []
    ordered = dict.fromkeys([*(state.id for state in linked), *newest_draft, *(state.id for state in wanted)])
    left = [task_id for task_id in ordered if task_id not in known]
    sent = left[: min(count, MOST)]
    numbers = {state.id: number for number, state in enumerate(states, 1)}
    return {
        "tasks": task_jsons(session, work, find_tasks(session, work, sent), numbers, states),
        "complete": len(sent) == len(left),
        "progress": _progress(session, work, states, found.training),
    }


def is_in_tab(state: TargetState, tab: str, drafts: Mapping[int, None]) -> bool:
    """Return whether a target is in a tab of its queue; `drafts` are the targets with a draft."""
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


def _is_linked(work: Work, state: TargetState, first: str | None) -> bool:
    return first is not None and (state.id == work.ids.decode("t", first) or state.item == first)


def task_jsons(
    session: Session,
    work: Work,
    tasks: Sequence[Task],
    numbers: Mapping[int, int] | None = None,
    states: Sequence[TargetState] | None = None,
) -> list[Json]:
    """Return tasks as the annotator may see them; reveals are left out, see `add_reveals`."""
    if states is None:
        states = ordered_states(session, work)
    if numbers is None:
        numbers = {state.id: number for number, state in enumerate(states, 1)}
    by_id = {state.id: state for state in states}
    by_id_of_item = items.by_ids(session, [task.item_id for task in tasks])
    shown = {task: target_item(by_id_of_item[task.item_id], task.target) for task in tasks}
    criteria = {criterion.name: criterion for criterion in studies.criteria(session, work.study.id)}
    contents = [
        panels.task_content(session, work, task, shown[task], criteria.get(task.target.criterion)) for task in tasks
    ]
    targets = {task: panels.targets_of(session, work, task) for task in tasks}
    entered = Entered(session, work, targets)
    return [
        {
            "id": task_name(work, task.id),
            "number": numbers.get(task.id, 0),
            "criterion": _criterion(task.target, criteria.get(task.target.criterion)),
            "scenario": shown[task].scenario,
            "training": entered.is_training(task.id),
            **entered.marks(task),
            "claim": entered.claim(task, by_id.get(task.id)),
            **content,
            "targets": [entered.add(*pair) for pair in zip(targets[task], content["targets"], strict=True)],
        }
        for task, content in zip(tasks, contents, strict=True)
    ]


def _criterion(target: Target, criterion: Criterion | None) -> Json | None:
    if not target.criterion:
        return None
    definition, rubric = (criterion.definition, list(criterion.rubric)) if criterion else ("", [])
    return {"name": target.criterion, "definition": definition, "rubric": rubric}


def add_reveals(session: Session, work: Work, jsons: Sequence[Json], tasks: Sequence[Task]) -> None:
    """Add the reveals of targets that the annotator has labelled, and record the view. Needs a writing session."""
    if not work.study.rules.reveal:
        return
    for json, task in zip(jsons, tasks, strict=True):
        if json["training"]:
            continue
        by_name = {target["id"]: target for target in json["targets"] if int(target["version"]) > 0}
        if not by_name:
            continue
        labelled = [target for target in panels.targets_of(session, work, task) if target_name(work, target) in by_name]
        for target, content in reveal_once(session, work, task, labelled).items():
            by_name[target_name(work, target)]["reveal"] = content


def reveal_once(session: Session, work: Work, task: Task, labelled: Sequence[Target]) -> dict[Target, Json]:
    """Return the reveals of labelled targets, and record that the annotator sees them: later labels are not blind."""
    item = target_item(items.get(session, work.study.id, task.target.item), task.target)
    found = reveals(session, work, task, item, labelled)
    for target in found:
        labels.record_view(session, work.study.id, target, work.annotator)
    return found
