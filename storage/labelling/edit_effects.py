"""The effects of an edit of a critique's AIUs, and of its reversal."""

from core.aius import Undo
from core.errors import TiebreakError
from core.labels import Target
from storage import aius
from storage.labelling import aiu_panel, assignment, entered, training, undo
from storage.labelling.action_transaction import Transaction, find_place
from storage.labelling.stored_answers import claim
from storage.labelling.work import Json, Refused, Task, Work, target_name
from storage.tables import UndoEntryRow


def edit(transaction: Transaction) -> Json:
    """Edit the AIUs of a critique; the first edit claims it."""
    session, work, action = transaction.session, transaction.work, transaction.action
    if work.name != "aius":
        raise Refused("rejected", "There are no AIUs here.")
    task = transaction.task
    if not assignment.may_label(work, task):
        raise Refused("rejected", assignment.NOT_ASSIGNED)
    entered.check_training(session, work, task)
    plan = training.load(session, work)
    if plan is not None and task.id in plan.tasks:
        raise Refused("rejected", training.NO_EDITS)
    target_id = find_place(transaction).target_id if action.target else task.id
    number, created = aiu_panel.save_edit(session, work, task, action.change)
    claim(session, work, task)
    entry = undo.push(session, work, "edit", task, target_id, None, {"edit": number})
    return {"entry": entry, "changed": True, **_focus(work, created)}


def reverse_edit(transaction: Transaction, task: Task, row: UndoEntryRow, *, undoing: bool) -> Json:
    """Undo an edit, or undo that undo. If later edits prevent it, the entry leaves the stack."""
    session, work = transaction.session, transaction.work
    number = row.after["edit"] if undoing else row.before["undo"]
    try:
        edit = aius.save_edit(session, work.study.id, task.target.item, work.annotator, Undo(edit=number))
    except TiebreakError as error:
        session.delete(row)
        return {"status": "rejected", "message": str(error), "changed": True}
    if undoing:
        row.before = {"undo": edit.number}
        return {"changed": True}
    return {"changed": True, **_focus(work, aiu_panel.created_target(session, work, task, row.after["edit"]))}


def _focus(work: Work, target: Target | None) -> Json:
    return {} if target is None else {"focus": target_name(work, target)}
