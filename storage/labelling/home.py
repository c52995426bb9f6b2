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
from storage.labelling import critique_targets, queue_view, training
from storage.labelling.entered import task_standings
from storage.labelling.queue_view import open_view
from storage.labelling.tabs import TABS, Tab
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
    """The annotator's own label."""
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


def listed_tasks(session: Session, work: Work, tab: Tab, search: str = "") -> list[ListedTask]:
    """Return the tasks of one tab in the annotator's order, those whose texts contain every word of `search`."""
    view = open_view(session, work)
    listed = list(view.tab(tab))
    numbers, states = queue_view.numbers(view, listed), view.states(listed)
    matching = _matching(session, find_tasks(session, work, listed), search)
    own = task_standings(session, work, [task.id for task, _ in matching], training.load(session, work))
    return [
        ListedTask(
            id=task.id,
            name=task_name(work, task.id),
            number=numbers[task.id],
            question=_excerpt(body["prompt"]),
            criterion=task.target.criterion,
            scenario=body.get("scenario") or "",
            value=own[task.id].value if task.id in own else None,
            draft=task.id in view.drafts,
            skipped=states[task.id].skipped,
            flagged=states[task.id].flagged,
        )
        for task, body in matching
    ]


def _matching(session: Session, listed: Sequence[Task], search: str) -> list[tuple[Task, Mapping[str, Any]]]:
    """Return tasks with the bodies of their items. Only texts that the annotator sees are searched, no names."""
    words = _fold(search).split()
    query = select(col(ItemRow.id), col(ItemRow.body)).where(col(ItemRow.id).in_({task.item_id for task in listed}))
    bodies: dict[int, Any] = dict(session.execute(query).all())
    texts = {item: _fold("\n".join(_texts(body))) for item, body in bodies.items()} if words else {}
    return [(task, bodies[task.item_id]) for task in listed if all(word in texts[task.item_id] for word in words)]


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
