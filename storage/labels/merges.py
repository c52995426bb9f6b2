"""Merging two annotators who are one person: names that look alike, and the rows that a merge changes."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.annotator_names import similarity_key
from core.errors import TiebreakError
from storage.db.connections import batches, insert_all
from storage.db.fingerprints import Row, fingerprint
from storage.db.tables import (
    AccountRow,
    ActionRow,
    AdjudicationRow,
    AiuEditRow,
    AnnotatorRow,
    DraftRow,
    GuidelinesReadRow,
    LabelRow,
    LeaseRow,
    MarkRow,
    MemberRow,
    OpinionViewRow,
    RepeatDraftRow,
    RepeatRow,
    ReplyRow,
    StudyRow,
    TrainingAnswerRow,
    UndoEntryRow,
    now,
)
from storage.labels import targets
from storage.studies import annotators

# Tables with one row of an annotator for these columns; a row that both have is removed from the merged one.
UNIQUE: dict[Any, tuple[str, ...]] = {
    GuidelinesReadRow: ("study_id",),
    MemberRow: ("study_id",),
    OpinionViewRow: ("target_id",),
    LeaseRow: ("target_id",),
    DraftRow: ("target_id",),
    TrainingAnswerRow: ("target_id", "attempt"),
    RepeatDraftRow: ("target_id",),
    RepeatRow: ("target_id",),
}
# Tables whose fingerprints depend on the annotator, with the columns in their order.
FINGERPRINTED: dict[Any, tuple[str, ...]] = {
    LabelRow: ("study_id", "target_id", "annotator_id", "value", "blind", "reason", "seconds", "at"),
    MarkRow: ("target_id", "annotator_id", "mark", "text", "on", "at"),
    AdjudicationRow: ("target_id", "annotator_id", "value", "rule", "reason", "at"),
}
OTHERS: tuple[Any, ...] = (ActionRow, UndoEntryRow, AiuEditRow)
BATCH = 500
# The reason of the row that withdraws a label that both have.
WITHDRAWN = "merged"


@dataclass(frozen=True)
class Merge:
    """What a merge changes, or has changed."""

    merged: str
    into: str
    rows: dict[str, int]
    """Table -> rows of the merged annotator."""
    both: tuple[int, ...]
    """Targets that both have labelled."""


def similar_names(session: Session, name: str) -> list[str]:
    """Return the names of other annotators that look like a name; none if an annotator has this name in any case."""
    known = annotators.names(session)
    if annotators.find_id(session, name) is not None:
        return []
    key = similarity_key(name)
    return [other for other in known if similarity_key(other) == key]


def similar_groups(session: Session) -> list[list[Any]]:
    """Return the groups of annotators whose names look alike: rows with `id`, `name` and the number of `labels`."""
    groups: dict[str, list[Any]] = defaultdict(list)
    query = (
        select(col(AnnotatorRow.id), col(AnnotatorRow.name), func.count(col(LabelRow.id)).label("labels"))
        .outerjoin(LabelRow, col(LabelRow.annotator_id) == col(AnnotatorRow.id))
        .group_by(col(AnnotatorRow.id), col(AnnotatorRow.name))
        .order_by(col(AnnotatorRow.name), col(AnnotatorRow.id))
    )
    for row in session.execute(query):
        groups[similarity_key(row.name)].append(row)
    return [group for group in groups.values() if len(group) > 1]


def plan(session: Session, merged: str, into: str) -> Merge:
    """Return what a merge would change; an annotator is named by the name, or by # and the id."""
    source, target = find(session, merged), find(session, into)
    if source.id == target.id:
        raise TiebreakError("An annotator cannot be merged into the same one.")
    if session.scalars(select(col(AccountRow.id)).where(col(AccountRow.annotator_id) == source.id)).first():
        raise TiebreakError(f"{source.name!r} has an account: merge the other one into it.")
    tables = (*FINGERPRINTED, *UNIQUE, *OTHERS)
    counts = {table.__tablename__: _count(session, table, source.id) for table in tables}
    counts["reply"] = _count(session, ReplyRow, source.id)
    both = session.scalars(
        select(col(LabelRow.target_id))
        .where(col(LabelRow.annotator_id).in_((source.id, target.id)))
        .group_by(col(LabelRow.target_id))
        .having(func.count(func.distinct(col(LabelRow.annotator_id))) == 2)
        .order_by(col(LabelRow.target_id))
    )
    return Merge(source.name, target.name, {name: n for name, n in counts.items() if n}, tuple(both))


def merge(session: Session, merged: str, into: str, prefer: str | None = None) -> Merge:
    """Make everything of one annotator the other one's.

    Raises TiebreakError if both labelled the same target, unless `prefer` names the one of them whose labels of these
    targets count. The labels of the merged one on these targets are withdrawn and stay stored under the former name;
    otherwise the former name is removed.
    """
    found = plan(session, merged, into)
    source, target = find(session, merged), find(session, into)
    if found.both and prefer is None:
        raise TiebreakError(
            f"Both have labelled {len(found.both):,} of the same targets: --prefer names the one whose labels count."
        )
    preferred = None if prefer is None else find(session, prefer).id
    if preferred not in (None, source.id, target.id):
        raise TiebreakError(f"--prefer names {source.name!r} or {target.name!r}.")
    for target_ids in batches(found.both, BATCH):
        _resolve(session, target_ids, source.id, target.id, copy=preferred == source.id)
    count_in_studies(session, source.id)
    for table in FINGERPRINTED:
        _move_fingerprinted(session, table, source.id, target.id, set(found.both) if table is LabelRow else set())
    for table, columns in UNIQUE.items():
        _move_unique(session, table, columns, source.id, target.id)
    for table in OTHERS:
        _move(session, table, col(table.annotator_id), source.id, target.id)
    _move(session, ReplyRow, col(ReplyRow.annotator_id), source.id, target.id)
    _move(session, ReplyRow, col(ReplyRow.author_id), source.id, target.id)
    rename_in_rules(session, source.name, target.name)
    if not found.both:
        session.execute(delete(AnnotatorRow).where(col(AnnotatorRow.id) == source.id))
    return found


def find(session: Session, name: str) -> AnnotatorRow:
    """Return the annotator with a name, or with "#" and an id; raises TiebreakError if there is none."""
    is_id = name.startswith("#") and name[1:].isdecimal()
    known = int(name[1:]) if is_id else None
    if not is_id:
        # The exact name first: names that differ in their case or in their Unicode form are found as one otherwise.
        exact = select(col(AnnotatorRow.id)).where(col(AnnotatorRow.name) == name)
        known = session.scalars(exact).first() or annotators.find_id(session, name)
    row = None if known is None else session.get(AnnotatorRow, known)
    if row is None:
        raise TiebreakError(f"There is no annotator called {name!r}.")
    return row


def _count(session: Session, table: Any, annotator_id: int) -> int:
    query = select(func.count()).select_from(table).where(col(table.annotator_id) == annotator_id)
    return session.scalars(query).one()


def _resolve(session: Session, target_ids: Sequence[int], source: int, target: int, *, copy: bool) -> None:
    """Withdraw the source's labels of targets that both labelled; `copy`: they become the target's newest labels."""
    newest = (
        select(func.max(col(LabelRow.id)))
        .where(col(LabelRow.annotator_id) == source, col(LabelRow.target_id).in_(target_ids))
        .group_by(col(LabelRow.target_id))
    )
    targets.lock_targets(session, target_ids)
    rows = []
    for row in session.scalars(select(LabelRow).where(col(LabelRow.id).in_(newest))):
        if row.value is None:
            continue
        names = (*FINGERPRINTED[LabelRow], "evidence", "surplus", "guidelines", "shown")
        own: Row = {name: getattr(row, name) for name in names}
        if copy:
            rows.append(own | {"annotator_id": target})
        rows.append(own | {"value": None, "reason": WITHDRAWN, "at": now(), "evidence": None, "surplus": False})
    fingerprints = _fingerprints(session, LabelRow, rows)
    insert_all(session, LabelRow, [row | {"fingerprint": own} for row, own in zip(rows, fingerprints, strict=True)])
    targets.count_labels(session, target_ids)


def _move_fingerprinted(session: Session, table: Any, source: int, target: int, kept: set[int]) -> None:
    """Change the annotator of rows, and their fingerprints; rows of the targets `kept` are not changed."""
    query = select(table).where(col(table.annotator_id) == source).order_by(col(table.id))
    for rows in batches([row for row in session.scalars(query) if row.target_id not in kept], BATCH):
        changed = [
            {name: getattr(row, name) for name in FINGERPRINTED[table]} | {"annotator_id": target} for row in rows
        ]
        for row, own in zip(rows, _fingerprints(session, table, changed), strict=True):
            row.annotator_id, row.fingerprint = target, own
        session.flush()


def _fingerprints(session: Session, table: Any, rows: Sequence[Row]) -> list[str]:
    """Return a fingerprint for each row that no stored row has: equal rows are numbered."""
    found: list[str] = []
    for row in rows:
        content = {name: row[name] for name in FINGERPRINTED[table]}
        for number in itertools.count():
            own = fingerprint(content, number)
            stored = select(col(table.id)).where(col(table.fingerprint) == own)
            if own not in found and session.scalars(stored).first() is None:
                found.append(own)
                break
    return found


def _move_unique(session: Session, table: Any, columns: Sequence[str], source: int, target: int) -> None:
    own = select(*(getattr(table, name) for name in columns)).where(col(table.annotator_id) == target)
    taken = {tuple(row) for row in session.execute(own)}
    for row in session.scalars(select(table).where(col(table.annotator_id) == source)).all():
        if tuple(getattr(row, name) for name in columns) in taken:
            session.delete(row)
        else:
            row.annotator_id = target
    session.flush()


def _move(session: Session, table: Any, column: Any, source: int, target: int) -> None:
    query = update(table).where(column == source).values({column: target})
    session.execute(query, execution_options={"synchronize_session": False})


def count_in_studies(session: Session, source: int) -> None:
    """Count the change in the studies with labels of an annotator: the number of labels does not show it."""
    labelled = select(col(LabelRow.study_id)).where(col(LabelRow.annotator_id) == source)
    query = update(StudyRow).where(col(StudyRow.id).in_(labelled)).values(removals=col(StudyRow.removals) + 1)
    session.execute(query, execution_options={"synchronize_session": False})


def rename_in_rules(session: Session, former: str, name: str) -> None:
    """Replace a name in the assignments of all studies."""
    for row in session.scalars(select(StudyRow)):
        rules = dict(row.rules)
        listed, groups = rules.get("annotators") or (), rules.get("groups") or {}
        rules["annotators"] = _replaced(listed, former, name)
        rules["groups"] = {scenario: _replaced(group, former, name) for scenario, group in groups.items()}
        if former in listed or any(former in group for group in groups.values()):
            row.rules = rules


def _replaced(names: Sequence[str], former: str, name: str) -> list[str]:
    return list(dict.fromkeys(name if one == former else one for one in names))
