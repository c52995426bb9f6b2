"""The effects of each type of workbench action. An action raises Refused or TiebreakError if it is not carried
out."""

from collections.abc import Callable, Mapping

from storage import guidelines
from storage.labelling import entered, undo
from storage.labelling.action_transaction import Transaction, find_place
from storage.labelling.edit_effects import edit
from storage.labelling.label_effects import label, save_draft
from storage.labelling.reversals import redo_entry, undo_entry
from storage.labelling.stored_answers import set_mark
from storage.labelling.work import Json


def _skip(transaction: Transaction) -> Json:
    session, work, action, task = transaction.session, transaction.work, transaction.action, transaction.task
    entered.check_training(session, work, task)
    set_mark(transaction, task.target, "skip", on=action.on)
    entry = undo.push(session, work, "skip", task, task.id, {"on": not action.on}, {"on": action.on})
    return {"entry": entry}


def _flag(transaction: Transaction) -> Json:
    action, task = transaction.action, transaction.task
    entered.check_training(transaction.session, transaction.work, task)
    target = find_place(transaction).target if action.target else task.target
    set_mark(transaction, target, "flag", on=action.on)
    return {}


def _note(transaction: Transaction) -> Json:
    text = transaction.action.text.strip()
    entered.check_training(transaction.session, transaction.work, transaction.task)
    set_mark(transaction, transaction.task.target, "note", text=text, on=bool(text))
    return {}


def _read(transaction: Transaction) -> Json:
    work = transaction.work
    guidelines.mark_read(transaction.session, work.study.id, work.annotator_id, transaction.action.guidelines)
    return {}


CARRY_OUT: Mapping[str, Callable[[Transaction], Json]] = {
    "label": label,
    "draft": save_draft,
    "skip": _skip,
    "flag": _flag,
    "note": _note,
    "undo": undo_entry,
    "redo": redo_entry,
    "edit": edit,
    "read": _read,
}
