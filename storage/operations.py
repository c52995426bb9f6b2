"""The permissions that were checked for what a page, a route or a transaction does.

Pages and routes run enforced: `storage.change_guard` refuses changes and `storage.read_guard` refuses reads whose
permission was not checked in the same operation. Commands and workers are not enforced: who runs them has the database.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

Answer = TypeVar("Answer")
EVERY_STUDY = 0
"""The study of a grant to an administrator."""


@dataclass
class Operation:
    """The permissions that were checked for one operation: (study, permission)."""

    granted: set[tuple[int, str]] = field(default_factory=set)
    known: dict[str, Any] = field(default_factory=dict)
    """Answers that were read from the database: see `once`."""


_changes: ContextVar[Operation | None] = ContextVar("changes", default=None)
"""The permissions that permit changes: those checked within the block that makes them."""
_reads: ContextVar[Operation | None] = ContextVar("reads", default=None)
"""The permissions that permit reads: those checked since the page or the request began."""
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


def reads_are_enforced() -> bool:
    """Return whether a read needs a permission."""
    return (_process_enforced[0] or _enforced.get()) and not _reads_freely.get()


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
    """Permit changes and reads in the current operation. Called by `storage.access` after a check."""
    for current in (_changes.get(), _reads.get()):
        if current is not None:
            current.granted.add((study_id, permission))


def granted_changes() -> set[tuple[int, str]]:
    """Return the permissions that permit changes now."""
    current = _changes.get()
    return set() if current is None else current.granted


def granted_reads() -> set[tuple[int, str]]:
    """Return the permissions that permit reads now."""
    current = _reads.get()
    return set() if current is None else current.granted


def context_of_reads() -> Context:
    """Return a new context with what permits reads now, for a thread that reads later; it permits no changes."""
    context = Context()
    context.run(_reads.set, Operation(set(granted_reads())))
    context.run(_purposes.set, _purposes.get())
    for variable in (_enforced, _reads_freely):
        context.run(variable.set, variable.get())
    return context


@contextmanager
def reading_for(purpose: str) -> Iterator[None]:
    """Permit the reads of a purpose of `storage.read_guard` in the block, without a checked permission."""
    token = _purposes.set(_purposes.get() | {purpose})
    try:
        yield
    finally:
        _purposes.reset(token)


def purposes() -> frozenset[str]:
    """Return the purposes of the current block."""
    return _purposes.get()
