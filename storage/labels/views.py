"""Who has seen judges' opinions or others' labels of which targets: their later labels are not blind.

A person who has not signed in is a visitor. The views of a visitor count for the annotator as whom they sign in.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Integer, bindparam, delete, exists, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from core.labels import Target
from storage.db import audit
from storage.db.connections import insert_missing
from storage.db.tables import LabelRow, OpinionViewRow, TargetRow, VisitorViewRow, now
from storage.labels import targets
from storage.studies import annotators


def record(session: Session, study_id: int, viewed: Collection[Target], annotator: str) -> bool:
    """Record that the annotator saw opinions about these targets.

    Returns whether a later label of the annotator loses its blindness by that: a target is viewed for the first time,
    and the annotator has not labelled it.
    """
    ids = targets.get_or_create_ids(session, study_id, viewed) if viewed else {}
    annotator_id = annotators.get_or_create_id(session, annotator)
    new = {ids[target] for target in viewed} - _all_viewed(session, annotator_id)
    record_ids(session, annotator_id, new)
    no_longer_blind = new - _labelled(session, study_id, annotator_id)
    if no_longer_blind:
        audit.record(session, audit.Action.view, study_id=study_id, actor=annotator, targets=len(no_longer_blind))
    return bool(no_longer_blind)


def record_study(session: Session, study_id: int, annotator: str) -> None:
    """Record that the annotator saw the opinions and labels of a whole study, as in an export."""
    record_ids(session, annotators.get_or_create_id(session, annotator), _target_ids(session, study_id))
    audit.record(session, audit.Action.view, study_id=study_id, actor=annotator, targets="all")


def record_ids(session: Session, annotator_id: int, target_ids: Collection[int]) -> None:
    """Record that the annotator saw opinions about these targets, without an entry in the audit log."""
    rows = [{"target_id": target_id, "annotator_id": annotator_id, "at": now()} for target_id in sorted(target_ids)]
    insert_missing(session, OpinionViewRow, rows)


def viewed(session: Session, annotator_id: int, target_ids: Sequence[int]) -> set[int]:
    """Return those of the targets whose opinions the annotator has seen."""
    query = select(col(OpinionViewRow.target_id)).where(col(OpinionViewRow.target_id).in_(target_ids))
    return set(session.scalars(query.where(col(OpinionViewRow.annotator_id) == annotator_id)))


def is_viewed(session: Session, target_id: int, annotator_id: int) -> bool:
    """Return whether the annotator's next label of a target is not blind."""
    own = {"target": target_id, "annotator": annotator_id}
    return bool(session.execute(select(views_condition()), own).scalar_one())


def views_condition() -> ColumnElement[bool]:
    """Return whether the next label of `:annotator` of `:target` is not blind.

    Files of version 0.1 have no views, so an earlier label that was not blind has the same effect.
    """
    target, annotator = bindparam("target", type_=Integer), bindparam("annotator", type_=Integer)
    viewed = exists().where(col(OpinionViewRow.target_id) == target, col(OpinionViewRow.annotator_id) == annotator)
    earlier = aliased(LabelRow)
    own = (col(earlier.target_id) == target, col(earlier.annotator_id) == annotator)
    return or_(viewed, exists().where(*own, col(earlier.blind).is_(False)))


def is_study_viewed(session: Session, study_id: int, annotator: str) -> bool:
    """Return whether the annotator has labelled or viewed every target of a study, so no later label is blind."""
    annotator_id = annotators.find_id(session, annotator)
    if annotator_id is None:
        return not _target_ids(session, study_id)
    known = _all_viewed(session, annotator_id) | _labelled(session, study_id, annotator_id)
    return set(_target_ids(session, study_id)) <= known


def record_visitor(session: Session, study_id: int, viewed: Collection[Target], visitor: str) -> None:
    """Record that a visitor, named by a random token, saw opinions about these targets."""
    ids = targets.get_or_create_ids(session, study_id, viewed) if viewed else {}
    rows = [{"visitor": visitor, "target_id": ids[target], "at": now()} for target in viewed]
    insert_missing(session, VisitorViewRow, sorted(rows, key=lambda row: row["target_id"]))


def assign_to_annotator(session: Session, visitor: str, annotator: str) -> None:
    """Assign the views of a visitor to the annotator as whom they have signed in."""
    seen = select(col(VisitorViewRow.target_id)).where(col(VisitorViewRow.visitor) == visitor)
    record_ids(session, annotators.get_or_create_id(session, annotator), list(session.scalars(seen)))
    session.execute(delete(VisitorViewRow).where(col(VisitorViewRow.visitor) == visitor))


def _all_viewed(session: Session, annotator_id: int) -> set[int]:
    query = select(col(OpinionViewRow.target_id)).where(col(OpinionViewRow.annotator_id) == annotator_id)
    return set(session.scalars(query))


def _labelled(session: Session, study_id: int, annotator_id: int) -> set[int]:
    query = select(col(LabelRow.target_id)).where(
        col(LabelRow.annotator_id) == annotator_id, col(LabelRow.study_id) == study_id
    )
    return set(session.scalars(query))


def _target_ids(session: Session, study_id: int) -> list[int]:
    return list(session.scalars(select(col(TargetRow.id)).where(col(TargetRow.study_id) == study_id)))
