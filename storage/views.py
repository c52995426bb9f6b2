"""Who has seen judges' opinions or others' labels of which targets: their later labels are not blind.

A person who has not signed in is a visitor. The views of a visitor count for the annotator as whom they sign in.
"""

from collections.abc import Collection

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Target
from storage import annotators, audit, targets
from storage.audit import Action
from storage.database import insert_missing
from storage.tables import LabelRow, OpinionViewRow, TargetRow, VisitorViewRow, now


def record(session: Session, study_id: int, viewed: Collection[Target], annotator: str) -> bool:
    """Record that the annotator saw opinions about these targets.

    Returns whether a later label of the annotator loses its blindness by that: a target is viewed for the first time,
    and the annotator has not labelled it.
    """
    ids = targets.get_or_create_ids(session, study_id, viewed) if viewed else {}
    annotator_id = annotators.get_or_create_id(session, annotator)
    new = {ids[target] for target in viewed} - _viewed(session, annotator_id)
    _insert(session, new, annotator_id)
    no_longer_blind = new - _labelled(session, study_id, annotator_id)
    if no_longer_blind:
        audit.record(session, Action.view, study_id=study_id, actor=annotator, targets=len(no_longer_blind))
    return bool(no_longer_blind)


def record_study(session: Session, study_id: int, annotator: str) -> None:
    """Record that the annotator saw the opinions and labels of a whole study, as in an export."""
    _insert(session, _target_ids(session, study_id), annotators.get_or_create_id(session, annotator))
    audit.record(session, Action.view, study_id=study_id, actor=annotator, targets="all")


def is_study_viewed(session: Session, study_id: int, annotator: str) -> bool:
    """Return whether the annotator has labelled or viewed every target of a study, so no later label is blind."""
    annotator_id = annotators.find_id(session, annotator)
    if annotator_id is None:
        return not _target_ids(session, study_id)
    known = _viewed(session, annotator_id) | _labelled(session, study_id, annotator_id)
    return set(_target_ids(session, study_id)) <= known


def record_visitor(session: Session, study_id: int, viewed: Collection[Target], visitor: str) -> None:
    """Record that a visitor, named by a random token, saw opinions about these targets."""
    ids = targets.get_or_create_ids(session, study_id, viewed) if viewed else {}
    rows = [{"visitor": visitor, "target_id": ids[target], "at": now()} for target in viewed]
    insert_missing(session, VisitorViewRow, sorted(rows, key=lambda row: row["target_id"]))


def assign_to_annotator(session: Session, visitor: str, annotator: str) -> None:
    """Assign the views of a visitor to the annotator as whom they have signed in."""
    seen = select(col(VisitorViewRow.target_id)).where(col(VisitorViewRow.visitor) == visitor)
    ids = sorted(session.scalars(seen))
    annotator_id = annotators.get_or_create_id(session, annotator)
    rows = [{"target_id": target_id, "annotator_id": annotator_id, "at": now()} for target_id in ids]
    insert_missing(session, OpinionViewRow, rows)
    session.execute(delete(VisitorViewRow).where(col(VisitorViewRow.visitor) == visitor))


def _insert(session: Session, target_ids: Collection[int], annotator_id: int) -> None:
    rows = [{"target_id": target_id, "annotator_id": annotator_id, "at": now()} for target_id in sorted(target_ids)]
    insert_missing(session, OpinionViewRow, rows)


def _viewed(session: Session, annotator_id: int) -> set[int]:
    query = select(col(OpinionViewRow.target_id)).where(col(OpinionViewRow.annotator_id) == annotator_id)
    return set(session.scalars(query))


def _labelled(session: Session, study_id: int, annotator_id: int) -> set[int]:
    query = select(col(LabelRow.target_id)).where(
        col(LabelRow.annotator_id) == annotator_id, col(LabelRow.study_id) == study_id
    )
    return set(session.scalars(query))


def _target_ids(session: Session, study_id: int) -> list[int]:
    return list(session.scalars(select(col(TargetRow.id)).where(col(TargetRow.study_id) == study_id)))
