"""Values that a page shows while they change: read from the database again only after a change."""

import ctypes
import logging
import math
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from pages.parts import resources
from storage.db import changes, guards
from storage.studies.studies import Study

Value = TypeVar("Value")


def load(key: str, topics: tuple[str, ...], read: Callable[[], Value], scope: Hashable = None) -> Value:
    """Return `read()`, or its last result in this visit if none of the topics has changed (see `storage.db.changes`).

    `scope` is what the visitor has chosen, of which only the last result is in memory.
    """
    version = changes.version(resources.engine(), *topics)  # before reading: a change meanwhile gives a new version
    stored = st.session_state.get(f"live_{key}")
    if stored is None or stored[0] != (topics, version, scope):
        stored = ((topics, version, scope), read())
        st.session_state[f"live_{key}"] = stored
    value: Value = stored[1]
    return value


_shared: dict[tuple[str, str, tuple[str, ...]], tuple[changes.Version, Any]] = {}
_reading = threading.Lock()


def load_shared(key: str, topics: tuple[str, ...], read: Callable[[], Value]) -> Value:
    """Return `read()`, or its last result for any visitor if none of the topics has changed.

    After a change one visitor reads, and the others wait for the result: every open page asks at the same time. The
    page has checked that the visitor may see it.
    """
    engine = resources.engine()
    place = (str(engine.url), key, topics)
    with _reading:
        version = changes.version(engine, *topics)  # before reading: a change meanwhile gives a new version
        stored = _shared.get(place)
        if stored is None or stored[0] != version:
            stored = _shared[place] = (version, read())
    value: Value = stored[1]
    return value


def cached(study: Study, version: Hashable, name: str, compute: Callable[[], Value], *key: Hashable) -> Value:
    """Return what `compute` returns for a key at a version of a study: it can be pickled, and all visitors share it."""
    found: Value = _read_once(str(resources.engine().url), study.id, version, name, key, compute)
    return found


@st.cache_data(max_entries=256, show_spinner="Computing …")
def _read_once(
    url: str, study_id: int, version: Hashable, name: str, key: tuple[Hashable, ...], _function: Callable[[], Any]
) -> Any:
    return _function()


def study_topic(study_id: int) -> str:
    """Return the topic of a study's items, labels, opinions, traces and runs."""
    return f"study {study_id}"


# Return of freed memory to the system, after the figures of a large study were computed.


def release() -> None:
    """Return freed memory to the system, in a few milliseconds; only glibc keeps so much of it, and only there."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


# Figures of large studies that are computed in the background, while pages show those of an earlier version.
#
# A page draws the figures of a version of its data from caches. If they took longer than LIMIT to compute, a newer
# version is shown once a thread has filled the caches for it; until then pages draw the last version that is complete.
# A page that does not wait for its first figures draws the rest of itself while the thread computes them.

# Processor seconds up to which figures are computed while the visitor waits.
LIMIT = 0.2
# Processor seconds from which figures are computed in a thread of their own.
LONG = 5.0
MAX_ENTRIES = 256
log = logging.getLogger("tiebreak")
Version = TypeVar("Version", bound=Hashable)
Compute = Callable[[Version], object]


@dataclass
class _Entry:
    ready: Hashable | None
    """The last version whose figures are in the caches; None before the first one."""
    seconds: float
    """How long they took to compute; 0 after an error."""
    compute: "Compute[object]"
    ended: float
    """When they were complete, by the monotonic clock."""
    context: Context
    """With the permissions that were checked for the reads of the page that computed them, and nothing of Streamlit's:
    a thread cannot draw, and a cached function would try to draw its spinner where the page was when it computed."""
    wanted: Hashable = None
    """The version that was requested last; a computation that has to wait for another one computes this."""
    job: "Future[None] | None" = None


_entries: dict[Hashable, _Entry] = {}
_changed = threading.Lock()
# One thread for figures that take seconds, and one for those that take longer, which the others would wait for. More
# would take the processors from the pages of other visitors.
_executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="figures")
_long_executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="long figures")


def shown_version(key: Hashable, newest: Version) -> Version:
    """Return the version to draw: the newest, or the last complete one if the figures take long to compute.

    Figures of the newest version are then requested; they are computed as the page last computed them for this key.
    """
    with _changed:
        entry = _entries.get(key)
        if entry is None or entry.ready is None or entry.seconds <= LIMIT or entry.ready == newest:
            return newest
        _request(entry, newest)
        ready: Version = entry.ready  # type: ignore[assignment]
        return ready


def computed(key: Hashable, version: Version, seconds: float, compute: "Compute[Version]") -> None:
    """Record that the figures of a version are in the caches after some processor seconds.

    `compute` does the same for a newer version, in another thread.
    """
    with _changed:
        entry = _entries.get(key)
        if entry is not None and entry.ready == version:
            entry.compute, entry.context = compute, guards.context_of_reads()  # type: ignore[assignment]
            entry.seconds = max(entry.seconds, seconds)
            return
        _add(key, _Entry(version, seconds, compute, time.monotonic(), guards.context_of_reads()))  # type: ignore[arg-type]
    if seconds > LIMIT:
        release()


def describe(subject: str) -> str:
    """Return that the figures of a subject, such as `50,000 items`, are computed."""
    return f"Computing the figures of {subject} in the background; they appear here when they are complete."


def has_figures(key: Hashable, newest: Version, compute: "Compute[Version]") -> bool:
    """Return whether a version is complete; otherwise the newest is computed in the background.

    Also true after an error, so that the page computes the figures itself and shows it.
    """
    with _changed:
        entry = _entries.get(key)
        if entry is None:
            entry = _Entry(None, math.inf, compute, 0.0, guards.context_of_reads())  # type: ignore[arg-type]
            _add(key, entry)
        if entry.ready is not None or not entry.seconds:
            return True
        _request(entry, newest)
        return False


def is_first_pending(key: Hashable) -> bool:
    """Return whether the first figures are being computed."""
    with _changed:
        entry = _entries.get(key)
        return entry is not None and entry.ready is None and entry.seconds > 0


def _add(key: Hashable, entry: _Entry) -> None:
    while len(_entries) >= MAX_ENTRIES:
        del _entries[next(iter(_entries))]
    _entries[key] = entry


def _request(entry: _Entry, version: Hashable) -> None:
    """Start to compute a version, unless one is being computed or has only just been: others need the processor too."""
    entry.wanted = version
    if entry.job is not None and not entry.job.done():
        return
    if entry.ready is not None and time.monotonic() - entry.ended < entry.seconds / 2:
        return
    # The page has checked more than a fragment that asks for a newer version.
    executor = _long_executor if LONG < entry.seconds < math.inf else _executor
    entry.job = executor.submit(entry.context.copy().run, _compute, entry)


def _compute(entry: _Entry) -> None:
    with _changed:
        version = entry.wanted
    start = time.thread_time()
    try:
        entry.compute(version)
    except Exception:
        log.exception("Figures could not be computed in the background.")
        with _changed:
            entry.seconds = 0.0  # the page computes them itself and shows the error
        return
    with _changed:
        entry.ready, entry.ended = version, time.monotonic()
        entry.seconds = time.thread_time() - start
    release()
