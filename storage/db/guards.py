"""Refuses changes and reads of studies whose permission was not checked in the same operation.

Pages and routes run enforced: a statement that changes a table of CHANGE_PERMISSIONS raises UncheckedChange, and a
query of a table of READ_PERMISSIONS raises UncheckedRead, unless `storage.accounts.access` has granted a permission for
it within the enclosing operation. So a page that forgets its check changes and shows nothing. Commands and workers are
not enforced: who runs them has the database.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.sql.dml import UpdateBase

Answer = TypeVar("Answer")
# The study of a grant to an administrator.
EVERY_STUDY = 0


@dataclass
class Operation:
    """The permissions that were checked for one operation: (study, permission)."""

    granted: set[tuple[int, str]] = field(default_factory=set)
    known: dict[str, Any] = field(default_factory=dict)
    """Answers that were read from the database: see `once`."""


# The permissions that permit changes: those checked within the block that makes them.
_changes: ContextVar[Operation | None] = ContextVar("changes", default=None)
# The permissions that permit reads: those checked since the page or the request began.
_reads: ContextVar[Operation | None] = ContextVar("reads", default=None)
_purposes: ContextVar[frozenset[str]] = ContextVar("purposes", default=frozenset())
_enforced: ContextVar[bool] = ContextVar("enforced", default=False)
_reads_freely: ContextVar[bool] = ContextVar("reads_freely", default=False)
_process_enforced = [False]


def once(name: str, read: Callable[[], Answer]) -> Answer:
    """Return `read()`, or its result since the page or the request began; within a change it is read again."""
    current = _reads.get()
    if current is None or _changes.get() is not None:
        return read()
    if name not in current.known:
        current.known[name] = read()
    known: Answer = current.known[name]
    return known


def enforce_in_process() -> None:
    """Enforce permissions in all threads of this process."""
    _process_enforced[0] = True


def enforce() -> None:
    """Enforce permissions in the current context, such as the thread of a page."""
    _enforced.set(True)


def read_freely() -> None:
    """Permit all reads in the current context: a worker in the process of a server."""
    _reads_freely.set(True)


def changes_are_enforced() -> bool:
    """Return whether a change needs a permission."""
    return _process_enforced[0] or _enforced.get()


@contextmanager
def operation() -> Iterator[None]:
    """Collect the permissions that are checked within the block, which permit the changes and reads within it.

    Within a `reading_operation`, they permit the reads after the block too.
    """
    changes = _changes.set(Operation())
    reads = _reads.set(_reads.get() or Operation())
    try:
        yield
    finally:
        _reads.reset(reads)
        _changes.reset(changes)


@contextmanager
def reading_operation() -> Iterator[None]:
    """Collect the permissions that are checked within the block, which permit the reads within it, and no changes."""
    token = _reads.set(Operation())
    try:
        yield
    finally:
        _reads.reset(token)


def in_reading_operation() -> bool:
    """Return whether permissions are collected for reads."""
    return _reads.get() is not None


def grant(study_id: int, permission: str) -> None:
    """Permit changes and reads in the current operation. Called by `storage.accounts.access` after a check."""
    for current in (_changes.get(), _reads.get()):
        if current is not None:
            current.granted.add((study_id, permission))


@contextmanager
def reading_for(purpose: str) -> Iterator[None]:
    """Permit the reads of a purpose in the block, such as QUEUE, without a checked permission."""
    token = _purposes.set(_purposes.get() | {purpose})
    try:
        yield
    finally:
        _purposes.reset(token)


# Granted in addition to the permission to edit while a file is imported: it has labels, runs and decisions.
IMPORT = "import"
LABELLING = frozenset({"label", "adjudicate", IMPORT})
EDITING = frozenset({"edit", "manage", IMPORT})
RUNNING = EDITING | {"run"}
# Table -> permissions of which one is needed to change it.
CHANGE_PERMISSIONS: Mapping[str, frozenset[str]] = {
    "label": LABELLING,
    "draft": LABELLING,
    "lease": LABELLING,
    "mark": LABELLING,
    "reply": LABELLING,
    "action": LABELLING,
    "undo_entry": LABELLING,
    "training_answer": LABELLING,
    "repeat": LABELLING,
    "repeat_draft": LABELLING,
    "guidelines_read": LABELLING,
    "aiu_edit": LABELLING | EDITING,
    "adjudication": frozenset({"adjudicate", IMPORT}),
    "study": EDITING,
    "guidelines": EDITING,
    "item": EDITING,
    "transcript": EDITING,
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
# Tables whose rows a worker in the process of the server, or a look at results, updates; that is permitted.
UPDATED_FROM_RUNS = frozenset({"run", "held_out_use"})


class UncheckedChange(RuntimeError):
    """A change of a study without a checked permission: a mistake in a page or a route."""


@event.listens_for(Engine, "before_execute")
def _check_changes(
    connection: Connection,
    statement: Any,
    rows: Collection[Mapping[str, Any]],
    row: Mapping[str, Any],
    options: Mapping[str, Any],
) -> None:
    """Raise UncheckedChange for a change of a table that is enforced and not permitted; SQL in texts is not checked."""
    if not isinstance(statement, UpdateBase) or not changes_are_enforced():
        return
    table = str(getattr(statement.table, "name", ""))
    if table not in CHANGE_PERMISSIONS or (table in UPDATED_FROM_RUNS and statement.is_update):
        return
    current, study_id = _changes.get(), next(iter(rows), row).get("study_id") if statement.is_insert else None
    for granted_study, permission in set() if current is None else current.granted:
        if granted_study == EVERY_STUDY:
            return
        if permission in CHANGE_PERMISSIONS[table] and study_id in (None, granted_study):
            return
    raise UncheckedChange(f"The table {table!r} is changed without a checked permission.")


# Reads of the judges' work and of the audit log. A query that compares a column `study_id` with a value needs the
# permission in that study.

# The targets of a queue and their order: no opinion is returned.
QUEUE = "queue"
# What a task shows of a trace: the aspects, AIUs that a model generated, and answers refined by critiques.
TASK = "task"
# The opinions about targets that the annotator has labelled.
REVEAL = "reveal"
# Numbers of rows.
COUNTS = "counts"
# The study of a trace, or the one that once had a name, before the role in it is checked.
STUDY = "study"
RESULTS = frozenset({"view", "export", "run", "edit", IMPORT})
JUDGED = RESULTS | {"adjudicate", TASK, REVEAL}
# Table -> permissions and purposes of which one is needed to read it.
READ_PERMISSIONS: Mapping[str, frozenset[str]] = {
    "opinion": JUDGED | {QUEUE, COUNTS},
    "run": JUDGED | {QUEUE, COUNTS},
    "trace": JUDGED | {QUEUE, COUNTS, STUDY},
    "event": JUDGED,
    "live_trace": JUDGED,
    "call": RESULTS,
    "pending_call": RESULTS,
    "unread_reply": RESULTS,
    "experiment": RESULTS,
    "deleted_run": RESULTS,
    "split": RESULTS,
    "item_part": RESULTS,
    "variant": RESULTS,
    "held_out_use": RESULTS,
    "criterion_version": RESULTS,
    "audit": frozenset({"manage", STUDY}),
}
# Tables of which a query must name the study, unless it is an administrator's.
OF_ONE_STUDY = frozenset({"audit"})
# A table in the text of a query; names of other things are found too, and are in no table.
_TABLE = re.compile(r'(?:\bFROM|\bJOIN|,)\s+\(*"?(\w+)"?(?![\w.(])')
# The name that SQLAlchemy gives to a value with which a column `study_id` is compared.
_STUDY = re.compile(r"study_id(_\d+)*")


class UncheckedRead(RuntimeError):
    """A read of a study without a checked permission: a mistake in a page or a route."""


@event.listens_for(Engine, "before_cursor_execute")
def _check_reads(connection: Connection, cursor: Any, text: str, values: Any, context: Any, many: bool) -> None:
    if not changes_are_enforced() or _reads_freely.get():
        return
    compiled = getattr(context, "compiled", None)
    if compiled is None:
        is_read = text.lstrip().startswith(("SELECT", "WITH"))
    else:  # a change has its own check
        is_read = not any(getattr(compiled, name, False) for name in ("isinsert", "isupdate", "isdelete"))
    if is_read and (tables := _tables(text)):
        names = getattr(compiled, "bind_names", {}).values()
        _require(tables, [name for name in names if _STUDY.fullmatch(name)], context)


@lru_cache(maxsize=1024)
def _tables(text: str) -> frozenset[str]:
    return frozenset(_TABLE.findall(text)) & READ_PERMISSIONS.keys()


def _require(tables: frozenset[str], names: Sequence[str], context: Any) -> None:
    """Raise UncheckedRead for a query of tables whose values with these names are ids of studies."""
    current, purposes, named = _reads.get(), _purposes.get(), _named_studies(names, context)
    granted = set() if current is None else current.granted
    for table in tables:
        permitting = READ_PERMISSIONS[table]
        studies = {study for study, permission in granted if permission in permitting or study == EVERY_STUDY}
        in_these = bool(studies) and studies.issuperset(named) and (named or table not in OF_ONE_STUDY)
        if not (purposes & permitting or EVERY_STUDY in studies or in_these):
            raise UncheckedRead(f"The table {table!r} is read without a checked permission.")


def _named_studies(names: Sequence[str], context: Any) -> set[int]:
    """Return the studies that a query names."""
    if not names:
        return set()
    values = context.compiled_parameters[0]
    found = names if all(name in values for name in names) else filter(_STUDY.fullmatch, values)
    return {values[name] for name in found} - {0}  # each of a list has a number; 0 is of `study_id + 0`
