"""Refuses changes of studies whose permission was not checked in the same operation.

Pages and routes run enforced: every statement that changes a table of PROTECTED raises UncheckedChange unless
`storage.access` has granted a permission for it, in the study of the row, within the enclosing operation (see
`storage.operations`). So a page that forgets its check changes nothing.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.sql.dml import UpdateBase

from storage import operations
from storage.operations import EVERY_STUDY

IMPORT = "import"
"""Granted in addition to the permission to edit while a file is imported: it has labels, runs and decisions."""
LABELLING = frozenset({"label", "adjudicate", IMPORT})
EDITING = frozenset({"edit", "manage", IMPORT})
RUNNING = EDITING | {"run"}
PROTECTED: Mapping[str, frozenset[str]] = {
    "label": LABELLING,
    "draft": LABELLING,
    "lease": LABELLING,
    "mark": LABELLING,
    "reply": LABELLING,
    "action": LABELLING,
    "undo_entry": LABELLING,
    "training_answer": LABELLING,
    "guidelines_read": LABELLING,
    "aiu_edit": LABELLING | EDITING,
    "adjudication": frozenset({"adjudicate", IMPORT}),
    "study": EDITING,
    "guidelines": EDITING,
    "item": EDITING,
    "scale": EDITING | {"label"},  # the page Scores stores the scale on which it asks
    "known_answer": EDITING,
    "deleted_run": EDITING,
    "criterion": RUNNING,
    "run": RUNNING,
    "experiment": RUNNING,
    "split": RUNNING,
    "item_part": RUNNING,
    "variant": RUNNING,
    "held_out_use": RUNNING,
    "criterion_version": RUNNING,
    "member": frozenset({"manage"}),
}
"""Table -> permissions of which one is needed to change it."""
UPDATED_FROM_RUNS = frozenset({"run", "held_out_use"})
"""Tables whose rows a worker in the process of the server, or a look at results, updates; that is permitted."""


class UncheckedChange(RuntimeError):
    """A change of a study without a checked permission: a mistake in a page or a route."""


@event.listens_for(Engine, "before_execute")
def _check(
    connection: Connection,
    statement: Any,
    rows: Collection[Mapping[str, Any]],
    row: Mapping[str, Any],
    options: Mapping[str, Any],
) -> None:
    if not isinstance(statement, UpdateBase):
        return
    table = str(getattr(statement.table, "name", ""))
    if table in UPDATED_FROM_RUNS and statement.is_update:
        return
    check_change(table, next(iter(rows), row) if statement.is_insert else {})


def check_change(table: str, row: Mapping[str, Any]) -> None:
    """Raise UncheckedChange for a change of a table that is enforced and not permitted.

    `row` is the first one of an insert. Statements of SQLAlchemy are checked by themselves, those in SQL are not.
    """
    if table not in PROTECTED or not operations.changes_are_enforced():
        return
    if not _is_allowed(table, row.get("study_id")):
        raise UncheckedChange(f"The table {table!r} is changed without a checked permission.")


def _is_allowed(table: str, study_id: int | None) -> bool:
    """Return whether a change of a table is permitted; `study_id` is that of the row, None if it has none."""
    return any(
        granted_study == EVERY_STUDY or (permission in PROTECTED[table] and study_id in (None, granted_study))
        for granted_study, permission in operations.granted_changes()
    )
