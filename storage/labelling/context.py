"""The context of a workbench request: a study's queue and the annotator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sqlalchemy import bindparam, exists, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.critique_ratings import AIU_EXTRACTION
from core.errors import TiebreakError
from core.labels import Kind, Target
from core.protocols.critique_baselines.protocol import QUALITY, REFINED
from core.texts import _, mark
from storage.db.connections import execute
from storage.db.opaque_ids import OpaqueIds
from storage.db.tables import ItemRow, KnownAnswerRow, MarkRow, TargetRow
from storage.labelling.queue import Queue
from storage.labels import targets
from storage.studies import annotators, studies

Json = dict[str, Any]
QueueName = Literal[
    "disagreements", "scores", "answers", "weights", "aius", "critiques", "critique_ratings", "refined_answers", "peers"
]


@dataclass(frozen=True)
class QueueTargets:
    """Which targets name the tasks of a queue: their kind, and their criterion if they have only one."""

    kind: Kind
    criterion: str | None = None


QUEUES: Mapping[QueueName, QueueTargets] = {
    "disagreements": QueueTargets("preference"),
    "scores": QueueTargets("score"),
    "answers": QueueTargets("answer"),
    "weights": QueueTargets("aspect_weights"),
    # A task with AIUs is named by the rating of their extraction.
    "aius": QueueTargets("likert", AIU_EXTRACTION.name),
    "critiques": QueueTargets("preference", QUALITY),
    "critique_ratings": QueueTargets("likert", QUALITY),
    "refined_answers": QueueTargets("preference", REFINED),
    "peers": QueueTargets("misleading_peer"),
}
AIU_KINDS = ("aiu_precision", "aiu_recall")
NOT_IN_QUEUE = mark("This item is not in the queue.")


class Refused(Exception):
    """A refused action: "stale" or "rejected", with a sentence for the annotator."""

    def __init__(self, status: Literal["stale", "rejected"], message: str) -> None:
        super().__init__(message)
        self.status = status


class Unknown(TiebreakError):
    """There is no such study, queue or task."""


@dataclass(frozen=True)
class QueueContext:
    """A queue as one annotator works through it."""

    study: studies.Study
    name: QueueName
    queue: Queue
    annotator: str
    annotator_id: int
    ids: OpaqueIds


@dataclass(frozen=True)
class Task:
    """One screen of the workbench, named by its main target."""

    id: int
    """The id of the main target."""
    item_id: int
    target: Target
    scenario: str | None = None
    has_training: bool = field(default=True, compare=False)
    """Whether the study has training items; they may be in another queue."""
    has_marks: bool = field(default=True, compare=False)
    """Whether the annotator has ever skipped, flagged or noted it."""
    repeat: bool = False
    """Whether the annotator, who has labelled the target, is asked again: `storage.labelling.queue_view`."""

    @property
    def key(self) -> int:
        """The task's number in lists and in its name: the negative id of a repeat."""
        return -self.id if self.repeat else self.id


def open_context(
    session: Session,
    name: str,
    study_name: str,
    annotator: str,
    *,
    criterion: str | None = None,
    scenario: str | None = None,
    run_id: int | None = None,
) -> QueueContext:
    """Return the queue of a request. The session must be a writing one if the annotator is new."""
    queue_name = next((queue for queue in QUEUES if queue == name), None)
    if queue_name is None:
        raise Unknown(_("There is no queue called {name!r}.", name=name[:40]))
    if study_name not in studies.names(session):
        raise Unknown(_("There is no study called {name!r}.", name=study_name[:80]))
    study = studies.get(session, study_name)
    annotator_id = annotators.get_or_create_id(session, annotator)
    queue = queue_named(study.id, queue_name, criterion, scenario, run_id, annotator_id=annotator_id)
    ids = OpaqueIds(studies.secret(session, study.id))
    return QueueContext(study, queue_name, queue, annotators.normalize_name(annotator), annotator_id, ids)


def queue_named(
    study_id: int,
    name: QueueName,
    criterion: str | None = None,
    scenario: str | None = None,
    run_id: int | None = None,
    *,
    annotator_id: int | None = None,
) -> Queue:
    """Return the targets of a queue; None means no filter, and for `annotator_id` that it is for any annotator."""
    own = QUEUES[name]
    reserved = [other.criterion for other in QUEUES.values() if other.kind == own.kind and other.criterion is not None]
    return Queue(
        study_id,
        own.kind,
        own.criterion or criterion,
        scenario,
        run_id,
        every=name != "disagreements",
        compared=name == "refined_answers",
        reserved=() if own.criterion else tuple(reserved),
        scored_by=annotator_id if name == "peers" else None,
    )


def queue_of(kind: str, criterion: str) -> QueueName | None:
    """Return the queue in which targets are labelled: the one of the criterion before the general one."""
    if kind in AIU_KINDS:
        return "aius"
    names = [name for name, own in QUEUES.items() if own.kind == kind and own.criterion in (None, criterion)]
    return min(names, key=lambda name: QUEUES[name].criterion is None, default=None)


def find_tasks(session: Session, work: QueueContext, task_ids: Sequence[int]) -> list[Task]:
    """Return the tasks with these keys in their order, without those that are not in this study and queue."""
    found = {task.key: task for name, task in _tasks_in_study(session, work, task_ids) if name == work.name}
    return [found[task_id] for task_id in task_ids if task_id in found]


def find_task(session: Session, work: QueueContext, text: str) -> Task:
    """Return the task with an opaque id; raises Unknown if there is none in the queue."""
    found, task = locate(session, work, text)
    if task is None or found.name != work.name:
        raise Unknown(_(NOT_IN_QUEUE))
    return task


def locate(session: Session, work: QueueContext, text: str) -> tuple[QueueContext, Task | None]:
    """Return a task of the study by its opaque id, with its queue, which need not be the one on the page.

    An outbox belongs to a study: unsent actions of one page are sent by the next one.
    """
    number = work.ids.decode("t", text)
    matching = _tasks_in_study(session, work, [number]) if number is not None else []
    if not matching:
        return work, None
    name, task = matching[0]
    if name != work.name:
        work = replace(work, name=name, queue=queue_named(work.study.id, name, annotator_id=work.annotator_id))
    return work, task


_TRAINED = exists().where(col(KnownAnswerRow.study_id) == bindparam("study"))
_MARKED = exists().where(
    col(MarkRow.target_id) == col(TargetRow.id), col(MarkRow.annotator_id) == bindparam("annotator")
)
# Built once: that takes longer than to execute it.
_TASKS = (
    select(col(TargetRow.id), col(TargetRow.item_id), col(ItemRow.scenario), _TRAINED, _MARKED)
    .add_columns(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    .where(col(TargetRow.id).in_(bindparam("targets", expanding=True)), col(TargetRow.study_id) == bindparam("study"))
)


def _tasks_in_study(session: Session, work: QueueContext, task_ids: Sequence[int]) -> list[tuple[QueueName, Task]]:
    """Return tasks by their keys with the queues in which they are labelled, without targets that name no task."""
    keys = set(task_ids)
    parameters = {"targets": list(map(abs, keys)), "study": work.study.id, "annotator": work.annotator_id}
    found = []
    for task_id, item_id, scenario, trained, marked, key, kind, criterion, part in execute(session, _TASKS, parameters):
        name = queue_of(kind, criterion)
        if name is not None and QUEUES[name].kind == kind:
            target = targets.from_columns(key, kind, criterion, part)
            task = Task(task_id, item_id, target, scenario, bool(trained), bool(marked))
            found += [(name, one) for one in (task, replace(task, repeat=True)) if one.key in keys]
    return found


def task_name(work: QueueContext, key: int) -> str:
    """Return the opaque id of a task."""
    return work.ids.encode("t", key)


def link_name(session: Session, study_id: int, target: Target) -> str | None:
    """Return the opaque id of the task of a target; None if there is no such target."""
    target_id = targets.find_id(session, study_id, target)
    return None if target_id is None else OpaqueIds(studies.secret(session, study_id)).encode("t", target_id)


def target_name(work: QueueContext, target: Target, *, repeat: bool = False) -> str:
    """Return the opaque id of a target. It is the same in every task that has the target, apart from a repeat."""
    digest = work.ids.digest("repeat" * repeat or "target", target.item, target.kind, target.criterion, target.part)
    return f"g-{digest.hex()[:16]}"
