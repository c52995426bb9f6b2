"""Refuses reads of the judges' work and of the audit log whose permission was not checked in the same operation.

Pages and routes run enforced: a query of a table of PROTECTED raises UncheckedRead unless `storage.access` has granted
a permission for it in the enclosing operation (see `storage.operations`), in the study that the query names if it
compares a column `study_id` with a value. So a page that forgets its check shows nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event

from storage import operations
from storage.change_guard import IMPORT
from storage.operations import EVERY_STUDY

QUEUE = "queue"
"""The targets of a queue and their order: no opinion is returned."""
TASK = "task"
"""What a task shows of a trace: the aspects, AIUs that a model generated, and answers refined by critiques."""
REVEAL = "reveal"
"""The opinions about targets that the annotator has labelled."""
COUNTS = "counts"
"""Numbers of rows."""
STUDY = "study"
"""The study of a trace, or the one that once had a name, before the role in it is checked."""
LABEL_REQUESTS = "label requests"
"""The requests of labels in the audit log."""
RESULTS = frozenset({"view", "export", "run", "edit", IMPORT})
JUDGED = RESULTS | {"adjudicate", TASK, REVEAL}
PROTECTED: Mapping[str, frozenset[str]] = {
    "opinion": JUDGED | {QUEUE, COUNTS},
    "run": JUDGED | {QUEUE, COUNTS},
    "trace": JUDGED | {QUEUE, COUNTS, STUDY},
    "event": JUDGED,
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
    "audit": frozenset({"manage", STUDY, LABEL_REQUESTS}),
}
"""Table -> permissions and purposes of which one is needed to read it."""
OF_ONE_STUDY = frozenset({"audit"})
"""Tables of which a query must name the study, unless it is an administrator's."""
_TABLE = re.compile(r'(?:\bFROM|\bJOIN|,)\s+\(*"?(\w+)"?(?![\w.(])')
"""A table in the text of a query; names of other things are found too, and are not in PROTECTED."""
_STUDY = re.compile(r"study_id(_\d+)*")
"""The name that SQLAlchemy gives to a value with which a column `study_id` is compared."""


class UncheckedRead(RuntimeError):
    """A read of a study without a checked permission: a mistake in a page or a route."""


@dataclass(frozen=True)
class Query:
    """What a query reads."""

    tables: frozenset[str]
    """Those of PROTECTED."""
    studies: Sequence[str] = ()
    """The names of the values that are ids of studies."""


_queries: WeakKeyDictionary[Any, Query] = WeakKeyDictionary()
"""Compiled statement -> what it reads; SQLAlchemy compiles a statement once and keeps it."""


@event.listens_for(Engine, "before_cursor_execute")
def _check(connection: Connection, cursor: Any, text: str, values: Any, context: Any, many: bool) -> None:
    if not operations.reads_are_enforced():
        return
    compiled = getattr(context, "compiled", None)
    if compiled is None:
        query = Query(_tables(text) if text.lstrip().startswith(("SELECT", "WITH")) else frozenset())
    elif (known := _queries.get(compiled)) is not None:
        query = known
    else:
        query = _queries[compiled] = _query_of(compiled, text)
    if query.tables:
        _require(query, context)


def _query_of(compiled: Any, text: str) -> Query:
    if any(getattr(compiled, name, False) for name in ("isinsert", "isupdate", "isdelete")):
        return Query(frozenset())  # `storage.change_guard` checks it
    names = getattr(compiled, "bind_names", {}).values()
    return Query(_tables(text), [name for name in names if _STUDY.fullmatch(name)])


@lru_cache(maxsize=1024)
def _tables(text: str) -> frozenset[str]:
    return frozenset(_TABLE.findall(text)) & PROTECTED.keys()


def _require(query: Query, context: Any) -> None:
    granted, purposes = operations.granted_reads(), operations.purposes()
    named = _named_studies(query, context)
    for table in query.tables:
        permitting = PROTECTED[table]
        if purposes & permitting:
            continue
        studies = {study for study, permission in granted if permission in permitting or study == EVERY_STUDY}
        in_these = studies.issuperset(named) and (named or table not in OF_ONE_STUDY)
        if not studies or not (EVERY_STUDY in studies or in_these):
            raise UncheckedRead(f"The table {table!r} is read without a checked permission.")


def _named_studies(query: Query, context: Any) -> set[int]:
    """Return the studies that a query names."""
    if not query.studies:
        return set()
    values = context.compiled_parameters[0]
    names = query.studies if all(name in values for name in query.studies) else filter(_STUDY.fullmatch, values)
    return {values[name] for name in names} - {0}  # each of a list has a number; 0 is of `study_id + 0`
