"""The home of an annotator: open tasks of each queue, the task to continue with, and lists that can be searched and
skipped."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Value
from storage import annotators
from storage.database import Engine, reading, write
from storage.labelling import critique_targets, queue_view, response_order, training
from storage.labelling.entered import Standing, task_standings
from storage.labelling.queue_view import open_view
from storage.labelling.tabs import TABS, Tab, View
from storage.labelling.work import (
    QUEUES,
    TARGET_KINDS,
    QueueName,
    Task,
    Work,
    find_tasks,
    open_work,
    queue_of,
    task_name,
)
from storage.studies import Study
from storage.tables import DraftRow, ItemRow, LabelRow, TargetRow

EXCERPT = 160
"""Characters of a question in a list."""
SEARCHED = 2_000
"""Tasks whose texts are searched at once."""


@dataclass(frozen=True)
class QueueSummary:
    """The counts of one queue; a drafted, skipped or flagged target may be in several of them."""

    name: QueueName
    todo: int
    drafts: int
    done: int
    skipped: int
    flagged: int
    training: int = 0
    """Open training items among those to do."""

    @property
    def total(self) -> int:
        """The targets that the annotator can label, has labelled or has skipped."""
        return self.todo + self.done + self.skipped


@dataclass(frozen=True)
class ListedTask:
    """One row of a list. It contains no item id, and no data of judges or other annotators."""

    id: int
    name: str
    """The opaque id of the task."""
    number: int
    question: str
    criterion: str
    scenario: str
    value: Value | None
    """The annotator's own label; of a pair, the place on the screen of the text that it names."""
    draft: bool
    skipped: bool
    flagged: bool


def prepare(engine: Engine, study_id: int, annotator: str) -> int:
    """Add the annotator, if new, and the targets of critiques that are missing; return the annotator's id."""
    critique_targets.create_missing(engine, study_id)
    with reading(engine) as session:
        known = annotators.find_id(session, annotator)
    return known or write(engine, lambda session: annotators.get_or_create_id(session, annotator))


def summaries(session: Session, study: Study, annotator: str) -> list[QueueSummary]:
    """Return the queues that hold a target for the annotator. The annotator must be known to the database."""
    present = _kinds(session, study.id)
    queue_summaries = []
    for name in QUEUES:
        if TARGET_KINDS[name] in present:
            view = open_view(session, open_work(session, name, study.name, annotator))
            training_left = view.training.left if view.training else 0
            summary = QueueSummary(name, **{tab: view.count(tab) for tab in TABS}, training=training_left)
            queue_summaries += [summary] if summary.total else []
    return queue_summaries


def _kinds(session: Session, study_id: int) -> set[str]:
    return set(session.scalars(select(col(TargetRow.kind)).where(col(TargetRow.study_id) == study_id).distinct()))


def last_queue(session: Session, study_id: int, annotator_id: int) -> QueueName | None:
    """Return the queue of the annotator's newest draft, otherwise of the newest label; None without either."""
    newest = (
        select(col(TargetRow.kind), col(TargetRow.criterion))
        .join(DraftRow, col(DraftRow.target_id) == col(TargetRow.id))
        .where(col(TargetRow.study_id) == study_id, col(DraftRow.annotator_id) == annotator_id)
        .order_by(col(DraftRow.at).desc())
        .limit(1),
        select(col(TargetRow.kind), col(TargetRow.criterion))
        .join(LabelRow, col(LabelRow.target_id) == col(TargetRow.id))
        .where(col(LabelRow.study_id) == study_id, col(LabelRow.annotator_id) == annotator_id)
        .order_by(col(LabelRow.id).desc())
        .limit(1),
    )
    for query in newest:
        row = session.execute(query).first()
        name = queue_of(*row) if row is not None else None
        if name is not None:
            return name
    return None


def listed_ids(session: Session, work: Work, view: View, tab: Tab, search: str = "") -> list[int]:
    """Return the tasks of one tab in the annotator's order, those whose texts contain every word of `search`."""
    listed, words = list(view.tab(tab)), _fold(search).split()
    if not words:
        return listed
    parts = (listed[start : start + SEARCHED] for start in range(0, len(listed), SEARCHED))
    return [task_id for part in parts for task_id in _matching(session, find_tasks(session, work, part), words)]


def listed_tasks(session: Session, work: Work, view: View, task_ids: Sequence[int]) -> list[ListedTask]:
    """Return the rows of tasks, such as those on one page of a list."""
    numbers, states = queue_view.numbers(view, task_ids), view.states(task_ids)
    tasks = find_tasks(session, work, task_ids)
    bodies = _bodies(session, tasks)
    own = task_standings(session, work, [task.id for task in tasks], training.load(session, work))
    return [
        ListedTask(
            id=task.id,
            name=task_name(work, task.id),
            number=numbers[task.id],
            question=_excerpt(bodies[task.item_id]["prompt"]),
            criterion=task.target.criterion,
            scenario=bodies[task.item_id].get("scenario") or "",
            value=_shown_value(work, task, own[task.id]) if task.id in own else None,
            draft=task.id in view.drafts,
            skipped=states[task.id].skipped,
            flagged=states[task.id].flagged,
        )
        for task in tasks
    ]


def _shown_value(work: Work, task: Task, own: Standing) -> Value | None:
    """Return the annotator's label; of a pair, the number that its text has on the screen."""
    order = response_order.entered(own.shown, work, task, 2) if work.name in response_order.PAIRS else ()
    return order.index(own.value) + 1 if own.value in order else own.value


def _matching(session: Session, tasks: Sequence[Task], words: Sequence[str]) -> list[int]:
    """Return the tasks with all words. Only texts that the annotator sees are searched, no names."""
    texts = {item: _fold("\n".join(_texts(body))) for item, body in _bodies(session, tasks).items()}
    return [task.id for task in tasks if all(word in texts[task.item_id] for word in words)]


def _bodies(session: Session, tasks: Sequence[Task]) -> dict[int, Any]:
    """Return the bodies of the tasks' items by their ids."""
    query = select(col(ItemRow.id), col(ItemRow.body)).where(col(ItemRow.id).in_({task.item_id for task in tasks}))
    return dict(session.execute(query).all())


def _texts(body: Mapping[str, Any]) -> Iterable[str]:
    yield body["prompt"]
    yield body.get("context") or ""
    for response in body.get("responses", ()):
        yield response["text"]


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1] + "…"
