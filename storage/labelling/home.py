"""The home of an annotator: open tasks of each queue, the task to continue with, and lists that can be searched and
skipped.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import TiebreakError
from core.items import target_item
from core.labels import Target, Value
from core.texts import _, number
from storage.db.columns import sanitize
from storage.db.connections import batches, insert_all, reading, write
from storage.db.tables import AnnotatorRow, DraftRow, ItemRow, LabelRow, MarkRow, ReplyRow, TargetRow, now
from storage.labelling import blocks, critique_queue, peers, queue_view, training
from storage.labelling.context import (
    QUEUES,
    QueueContext,
    QueueName,
    Task,
    find_tasks,
    open_context,
    queue_of,
    task_name,
)
from storage.labelling.queue_view import TABS, Tab, View, open_view
from storage.labelling.tasks import Entries, own_labels
from storage.labels import targets
from storage.studies import annotators, items
from storage.studies.studies import Study

# Characters of a question in a list.
EXCERPT = 160
# Tasks whose texts are searched at once.
SEARCHED = 2_000


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
    """Add the annotator, if new, and the targets of critiques and peer reviews that are missing; return the annotator's
    id.
    """
    critique_queue.create_missing_targets(engine, study_id)
    peers.create_missing_targets(engine, study_id)
    with reading(engine) as session:
        known = annotators.find_id(session, annotator)
    return known or write(engine, lambda session: annotators.get_or_create_id(session, annotator))


def summaries(session: Session, study: Study, annotator: str) -> list[QueueSummary]:
    """Return the queues that hold a target for the annotator. The annotator must be known to the database."""
    kinds = select(col(TargetRow.kind)).where(col(TargetRow.study_id) == study.id).distinct()
    present = set(session.scalars(kinds))
    queue_summaries = []
    for name, targets_of_queue in QUEUES.items():
        if targets_of_queue.kind in present:
            view = open_view(session, open_context(session, name, study.name, annotator))
            training_left = view.training.left if view.training else 0
            summary = QueueSummary(name, **{tab: view.count(tab) for tab in TABS}, training=training_left)
            queue_summaries += [summary] if summary.total else []
    return queue_summaries


def last_queue(session: Session, study_id: int, annotator_id: int) -> QueueName | None:
    """Return the queue of the annotator's newest draft, otherwise of the newest label; None without either."""
    newest: tuple[tuple[Any, Any], ...] = ((DraftRow, col(DraftRow.at)), (LabelRow, col(LabelRow.id)))
    for table, order in newest:
        query = (
            select(col(TargetRow.kind), col(TargetRow.criterion))
            .join(table, col(table.target_id) == col(TargetRow.id))
            .where(col(TargetRow.study_id) == study_id, col(table.annotator_id) == annotator_id)
            .order_by(order.desc())
        )
        row = session.execute(query.limit(1)).first()
        name = queue_of(*row) if row is not None else None
        if name is not None:
            return name
    return None


def listed_ids(session: Session, work: QueueContext, view: View, tab: Tab, search: str = "") -> list[int]:
    """Return the tasks of one tab in the annotator's order, those whose texts contain every word of `search`."""
    listed, words = list(view.tab(tab)), _fold(search).split()
    if not words:
        return listed
    matching = []
    for part in batches(listed, SEARCHED):
        tasks = find_tasks(session, work, part)
        # Only texts that the annotator sees are searched, no names.
        texts = {item: _fold("\n".join(_texts(body))) for item, body in _bodies(session, tasks).items()}
        matching += [task.key for task in tasks if all(word in texts[task.item_id] for word in words)]
    return matching


def listed_tasks(session: Session, work: QueueContext, view: View, task_ids: Sequence[int]) -> list[ListedTask]:
    """Return the rows of tasks, such as those on one page of a list."""
    numbers, states = queue_view.numbers(view, task_ids), view.states(task_ids)
    tasks = find_tasks(session, work, task_ids)
    bodies = _bodies(session, tasks)
    own = own_labels(session, work, [task.key for task in tasks], training.load(session, work))
    rows = []
    for task in tasks:
        body, label, value = bodies[task.item_id], own.get(task.key), None
        if label is not None:
            is_pair = work.name in blocks.PAIRS
            order = blocks.entered_order(label.shown, work, task, 2) if is_pair else ()
            value = order.index(label.value) + 1 if label.value in order else label.value
        question = " ".join(body["prompt"].split())
        row = ListedTask(
            id=task.key,
            name=task_name(work, task.key),
            number=numbers[task.key],
            question=question if len(question) <= EXCERPT else question[: EXCERPT - 1] + "…",
            criterion=task.target.criterion,
            scenario=body.get("scenario") or "",
            value=value,
            draft=task.key in view.drafts,
            skipped=states[task.key].skipped,
            flagged=states[task.key].flagged,
        )
        rows.append(row)
    return rows


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


# The inbox: flags and notes of annotators with the replies to them, until they are closed.

MARKS = ("flag", "note")
LONGEST_REPLY = 5_000


@dataclass(frozen=True)
class Reply:
    """A reply to a flag or note; without a text it only closes or reopens it."""

    author: str
    text: str
    closed: bool
    at: datetime


@dataclass(frozen=True)
class Thread:
    """An annotator's flag and note on one target, with the replies."""

    target_id: int
    target: Target
    annotator: str
    flagged: bool
    note: str
    """Empty if it was withdrawn."""
    at: datetime | None
    """When the flag or note was last changed."""
    replies: tuple[Reply, ...]

    @property
    def closed(self) -> bool:
        """Whether it was closed, and not changed since."""
        if not self.replies or not self.replies[-1].closed:
            return False
        return self.at is None or self.at <= self.replies[-1].at

    @property
    def newest(self) -> datetime:
        """When the last mark or reply was added."""
        times = [reply.at for reply in self.replies] + ([self.at] if self.at else [])
        return max(times, default=datetime.min.replace(tzinfo=UTC))


def threads(session: Session, study_id: int, annotator: str | None = None) -> list[Thread]:
    """Return the flags and notes in effect, and withdrawn ones that have a reply: open ones first, newest first.

    With a name, those of one annotator.
    """
    found: dict[tuple[int, str], tuple[Target, dict[str, MarkRow]]] = {}
    query = (
        select(MarkRow, col(AnnotatorRow.name), col(ItemRow.key), TargetRow)
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(MarkRow.annotator_id))
        .join(TargetRow, col(TargetRow.id) == col(MarkRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(TargetRow.study_id) == study_id, col(MarkRow.mark).in_(MARKS))
        .order_by(col(MarkRow.id))
    )
    if annotator is not None:
        query = query.where(col(AnnotatorRow.name) == annotators.normalize_name(annotator))
    for row, name, key, target in session.execute(query):
        about = targets.from_columns(key, target.kind, target.criterion, target.part)
        found.setdefault((row.target_id, name), (about, {}))[1][row.mark] = row
    replies = _replies(session, study_id)
    listed = []
    for (target_id, name), (about, marks) in found.items():
        note, flag = marks.get("note"), marks.get("flag")
        thread = Thread(
            target_id=target_id,
            target=about,
            annotator=name,
            flagged=flag is not None and flag.on,
            note=note.text if note is not None and note.on else "",
            at=max((row.at for row in marks.values() if row.at is not None), default=None),
            replies=tuple(replies.get((target_id, name), ())),
        )
        if thread.flagged or thread.note or thread.replies:
            listed.append(thread)
    return sorted(sorted(listed, key=lambda thread: thread.newest, reverse=True), key=lambda thread: thread.closed)


def shown_order(session: Session, study: Study, thread: Thread) -> blocks.Order:
    """Return the order in which the annotator of a thread sees the texts of its task; empty if it is not one's."""
    name = queue_of(thread.target.kind, thread.target.criterion)
    if name is None:
        return ()
    work = open_context(session, name, study.name, thread.annotator)
    item = target_item(items.get(session, study.id, thread.target.item), thread.target)
    for task in find_tasks(session, work, [thread.target_id]):
        return Entries(session, work, {task: [thread.target]}).order(task, item)
    return ()


def _replies(session: Session, study_id: int) -> dict[tuple[int, str], list[Reply]]:
    """Return (target id, annotator) -> the replies, oldest first."""
    author = aliased(AnnotatorRow)
    query = (
        select(ReplyRow, col(AnnotatorRow.name), col(author.name))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(ReplyRow.annotator_id))
        .join(author, col(author.id) == col(ReplyRow.author_id))
        .join(TargetRow, col(TargetRow.id) == col(ReplyRow.target_id))
        .where(col(TargetRow.study_id) == study_id)
        .order_by(col(ReplyRow.id))
    )
    replies_by_thread: dict[tuple[int, str], list[Reply]] = defaultdict(list)
    for row, name, author_name in session.execute(query):
        replies_by_thread[row.target_id, name].append(Reply(author_name, row.text, row.closed, row.at))
    return replies_by_thread


def reply(
    session: Session, study_id: int, target_id: int, annotator: str, author: str, text: str, *, closed: bool
) -> None:
    """Reply to an annotator's flag or note; `closed` closes it. Raises TiebreakError if there is neither."""
    text = text.strip()
    if not text and not closed:
        raise TiebreakError(_("A reply needs a text."))
    if len(text) > LONGEST_REPLY:
        raise TiebreakError(_("A reply has at most {most} characters.", most=number(LONGEST_REPLY)))
    known = {(thread.target_id, thread.annotator) for thread in threads(session, study_id, annotator)}
    if (target_id, annotators.normalize_name(annotator)) not in known:
        raise TiebreakError(_("There is no such flag or note in this study any more."))
    row = {
        "target_id": target_id,
        "annotator_id": annotators.get_or_create_id(session, annotator),
        "author_id": annotators.get_or_create_id(session, author),
        "text": sanitize(text),
        "closed": closed,
        "at": now(),
    }
    insert_all(session, ReplyRow, [row])
