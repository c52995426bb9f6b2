"""The inbox: flags and notes of annotators with the replies to them, until they are closed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.errors import TiebreakError
from core.labels import Target
from core.pairs import target_item
from storage import annotators, items, targets
from storage.database import insert_all
from storage.json_columns import sanitize
from storage.labelling import response_order
from storage.labelling.entered import Entered
from storage.labelling.work import find_tasks, open_work, queue_of
from storage.studies import Study
from storage.tables import AnnotatorRow, ItemRow, MarkRow, ReplyRow, TargetRow, now

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
    marks: dict[tuple[int, str], dict[str, MarkRow]] = defaultdict(dict)
    targets_by_key: dict[tuple[int, str], Target] = {}
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
        marks[row.target_id, name][row.mark] = row
        targets_by_key[row.target_id, name] = targets.from_columns(key, target.kind, target.criterion, target.part)
    replies = _replies(session, study_id)
    listed = [_thread(*key, target, marks[key], replies.get(key, ())) for key, target in targets_by_key.items()]
    listed = [thread for thread in listed if thread.flagged or thread.note or thread.replies]
    return sorted(sorted(listed, key=lambda thread: thread.newest, reverse=True), key=lambda thread: thread.closed)


def shown_order(session: Session, study: Study, thread: Thread) -> response_order.Order:
    """Return the order in which the annotator of a thread sees the texts of its task; empty if it is not one's."""
    name = queue_of(thread.target.kind, thread.target.criterion)
    work = None if name is None else open_work(session, name, study.name, thread.annotator)
    tasks = [] if work is None else find_tasks(session, work, [thread.target_id])
    if work is None or not tasks:
        return ()
    item = target_item(items.get(session, study.id, thread.target.item), thread.target)
    return Entered(session, work, {tasks[0]: [thread.target]}).order(tasks[0], item)


def _thread(
    target_id: int, annotator: str, target: Target, marks: dict[str, MarkRow], replies: Sequence[Reply]
) -> Thread:
    note, flag = marks.get("note"), marks.get("flag")
    return Thread(
        target_id=target_id,
        target=target,
        annotator=annotator,
        flagged=flag is not None and flag.on,
        note=note.text if note is not None and note.on else "",
        at=max((row.at for row in marks.values() if row.at is not None), default=None),
        replies=tuple(replies),
    )


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
        raise TiebreakError("A reply needs a text.")
    if len(text) > LONGEST_REPLY:
        raise TiebreakError(f"A reply has at most {LONGEST_REPLY:,} characters.")
    known = {(thread.target_id, thread.annotator) for thread in threads(session, study_id, annotator)}
    if (target_id, annotators.normalize_name(annotator)) not in known:
        raise TiebreakError("There is no such flag or note in this study any more.")
    row = {
        "target_id": target_id,
        "annotator_id": annotators.get_or_create_id(session, annotator),
        "author_id": annotators.get_or_create_id(session, author),
        "text": sanitize(text),
        "closed": closed,
        "at": now(),
    }
    insert_all(session, ReplyRow, [row])
