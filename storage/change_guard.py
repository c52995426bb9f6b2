"""Refuses changes of studies whose permission was not checked in the same operation.

Pages and routes run enforced: every statement that changes a table of PROTECTED raises UncheckedChange unless
`storage.access` has granted a permission for it, in the study of the row, within the enclosing `operation`. So a page
that forgets its check changes nothing. Commands and workers are not enforced: who runs them has the database.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.sql.dml import UpdateBase

EVERY_STUDY = 0
"""The study of a grant to an administrator."""
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


@dataclass
class Operation:
    """The permissions that were checked for one operation: (study, permission)."""

    granted: set[tuple[int, str]] = field(default_factory=set)

    def allows(self, table: str, study_id: int | None) -> bool:
        """Return whether a change of a table is permitted; `study_id` is that of the row, None if it has none."""
        return any(
            permission in PROTECTED[table] and study_id in (None, granted_study)
            for granted_study, permission in self.granted
        ) or any(study == EVERY_STUDY for study, _ in self.granted)


_operation: ContextVar[Operation | None] = ContextVar("operation", default=None)
_enforced: ContextVar[bool] = ContextVar("enforced", default=False)
_process_enforced = [False]


def enforce_in_process() -> None:
    """Enforce permissions in all threads of this process."""
    _process_enforced[0] = True


def enforce() -> None:
    """Enforce permissions in the current context, such as the thread of a page."""
    _enforced.set(True)


@contextmanager
def operation() -> Iterator[None]:
    """Collect the permissions that are checked within the block, which permit the changes within it."""
    token = _operation.set(Operation())
    try:
        yield
    finally:
        _operation.reset(token)


def grant(study_id: int, permission: str) -> None:
    """Permit changes in the current operation. Called by `storage.access` after a check."""
    current = _operation.get()
    if current is not None:
        current.granted.add((study_id, permission))


@event.listens_for(Engine, "before_execute")
def _check(
    connection: Connection,
    statement: Any,
    rows: Collection[Mapping[str, Any]],
    row: Mapping[str, Any],
    options: Mapping[str, Any],
) -> None:
    if not isinstance(statement, UpdateBase) or not (_process_enforced[0] or _enforced.get()):
        return
    table = str(getattr(statement.table, "name", ""))
    if table not in PROTECTED or (table in UPDATED_FROM_RUNS and statement.is_update):
        return
    first = next(iter(rows), row) if statement.is_insert else {}
    current = _operation.get()
    if current is None or not current.allows(table, first.get("study_id")):
        raise UncheckedChange(f"The table {table!r} is changed without a checked permission.")
