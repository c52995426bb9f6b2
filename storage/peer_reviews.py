"""What people said of what a peer review judged, for whoever may see it."""

from sqlalchemy.orm import Session

from core.labels import Label, Target
from storage import labels


def people(session: Session, study_id: int, target: Target, viewer: str | None) -> list[Label] | None:
    """Everybody's standing labels of a target; None where the viewer should label it first.

    Whoever did not say who they are does not label, and sees all.
    """
    newest = {label.annotator: label for label in labels.history(session, study_id, target)}
    standing = [label for label in newest.values() if label.value is not None]
    if viewer is not None and all(label.annotator != viewer for label in standing):
        return None
    return standing
