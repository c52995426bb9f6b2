"""What an action stores: labels, drafts and marks."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from core.labels import Evidence, Label, Target
from storage import labels
from storage.labelling import claims, entered, queue
from storage.labelling.action_transaction import Place, Transaction
from storage.labelling.queue import Mark
from storage.labelling.work import Json, Task, Work
from storage.tables import DraftRow
from storage.target_summaries import lock_targets


def save_label(
    transaction: Transaction, place: Place, content: Json | None, version: int | None, shown: Sequence[int]
) -> bool:
    """Add a label that was given under guidelines and an order of texts, or withdraw the current one; return whether it
    is surplus.

    The overlap is checked in the same transaction, with task and target locked. A change does not count again.
    """
    session, work = transaction.session, transaction.work
    lock_targets(session, {place.task.id, place.target_id})
    surplus, viewed = place.standing.surplus, None
    if place.is_required and place.standing.value is None:
        surplus, viewed = claims.is_complete(session, work, place.task, place.target_id)
    surplus = surplus and content is not None
    given = content or {"value": None, "reason": "undo", "evidence": []}
    label = Label(
        target=place.target,
        annotator=work.annotator,
        value=given["value"],
        reason=given["reason"],
        seconds=transaction.action.seconds,
        evidence=tuple(Evidence(**passage) for passage in given["evidence"]),
        surplus=surplus,
        guidelines=version,
        shown=tuple(shown),
    )
    labels.add(session, work.study.id, label, place.target_id, work.annotator_id, viewed=viewed)
    return surplus


def set_mark(transaction: Transaction, target: Target, mark: Mark, *, text: str = "", on: bool = True) -> None:
    """Set or remove the annotator's mark of a target."""
    work = transaction.work
    queue.set_mark(transaction.session, work.study.id, target, work.annotator, mark, text=text, on=on)


def unskip(session: Session, work: Work, task: Task) -> None:
    """Remove the annotator's skip of a task, if there is one."""
    if not task.has_marks:
        return
    newest = entered.newest_marks(session, work.annotator_id, [task.id]).get(task.id, {})
    if "skip" in newest and newest["skip"].on:
        queue.set_mark(session, work.study.id, task.target, work.annotator, "skip", on=False)


def delete_draft(session: Session, work: Work, target_id: int) -> None:
    """Delete the annotator's draft of a target."""
    labels.delete_own(session, DraftRow, target_id, work.annotator_id)


def claim(session: Session, work: Work, task: Task) -> str:
    """Claim a task or renew the claim: "mine", or "full" if enough others have it."""
    return "mine" if claims.claim(session, work, task) else "full"
