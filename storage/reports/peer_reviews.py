"""What people said of what a peer review judged, for whoever may see it."""

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Label, Target
from storage import labels, targets
from storage.tables import ItemRow, OpinionRow, TargetRow


def people(session: Session, study_id: int, target: Target, viewer: str | None) -> list[Label] | None:
    """Everybody's standing labels of a target; None where the viewer should label it first.

    Whoever did not say who they are does not label, and sees all.
    """
    newest = {label.annotator: label for label in labels.history(session, study_id, target)}
    standing = [label for label in newest.values() if label.value is not None]
    if viewer is not None and all(label.annotator != viewer for label in standing):
        return None
    return standing


def judged(session: Session, trace_id: int) -> list[Target]:
    """What a trace concluded a score or an answer for."""
    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .where(col(OpinionRow.trace_id) == trace_id, col(OpinionRow.stage) == "verdict")
        .where(col(TargetRow.kind).in_(("score", "answer")))
    )
    return [targets.of_row(*row) for row in session.execute(query)]
