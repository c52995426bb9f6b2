"""The effects of undo and redo: they take the top entry of a stack, and store the state before or after it."""

from storage import targets
from storage.labelling import entered, panels, queue, skips, undo
from storage.labelling.action_transaction import Transaction, own_result, place_of
from storage.labelling.edit_effects import reverse_edit
from storage.labelling.stored_answers import claim, save_label, set_mark
from storage.labelling.work import Json, Refused, find_tasks


def undo_entry(transaction: Transaction) -> Json:
    """Undo the annotator's newest entry."""
    return _reverse(transaction, undoing=True)


def redo_entry(transaction: Transaction) -> Json:
    """Carry the entry out again that was undone last."""
    return _reverse(transaction, undoing=False)


def _reverse(transaction: Transaction, *, undoing: bool) -> Json:
    """Take the top entry of a stack, and restore the state before or after it as a new event."""
    session, work = transaction.session, transaction.work
    name = own_result(transaction, transaction.action.entry).get("entry")
    row = undo.take(session, work, name, undo=undoing)
    tasks = find_tasks(session, work, [row.task_id])
    if not tasks:
        raise Refused("stale", "This item is not in the queue any more.")
    task, content = tasks[0], row.before if undoing else row.after
    if row.type != "label":
        entered.check_training(session, work, task)
    match row.type:
        case "skip":
            set_mark(transaction, task.target, "skip", on=bool(content["on"]))
            return {"entry": name}
        case skips.ENTRY:
            skips.restore(session, work, row, undoing=undoing)
            return {"entry": name, "queue_changed": True}
        case "edit":
            return {"entry": name, **reverse_edit(transaction, task, row, undoing=undoing)}
    place = place_of(session, work, task, targets.get(session, row.target_id), row.target_id)
    version, shown = (
        entered.circumstances_of(session, work.annotator_id, place.target_id, content)
        if content
        else (None, place.standing.shown)
    )
    surplus = save_label(transaction, place, content, version, shown)
    if content is None:  # a withdrawn value stays entered
        queue.save_draft(session, place.target_id, work.annotator_id, row.after)
        claim(session, work, place.task)
    standing = place_of(session, work, task, place.target, row.target_id).standing
    status = {"status": "surplus"} if surplus and not undoing else {}
    # An AIU that has been edited since is no longer in the task; its label is changed nevertheless.
    changed = {} if place.target in panels.targets_of(session, work, task) else {"changed": True}
    return {**status, **changed, "entry": name, "version": str(standing.version), "standing": standing.json}
