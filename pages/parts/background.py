"""Figures of large studies that are computed in the background, while pages show those of an earlier version.

A page draws the figures of a version of its data from caches. If they took longer than LIMIT to compute, a newer
version is shown once a thread has filled the caches for it; until then pages draw the last version that is complete.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TypeVar

from pages.parts import memory

LIMIT = 1.5
"""Processor seconds up to which figures are computed while the visitor waits."""
MAX_ENTRIES = 256
log = logging.getLogger("tiebreak")
Version = TypeVar("Version", bound=Hashable)
Compute = Callable[[Version], object]


@dataclass
class _Entry:
    ready: Hashable
    """The last version whose figures are in the caches."""
    seconds: float
    """How long they took to compute."""
    compute: "Compute[object]"
    ended: float
    """When they were complete, by the monotonic clock."""
    job: "Future[None] | None" = None


_entries: dict[Hashable, _Entry] = {}
_changed = threading.Lock()
# One thread: figures use all of a core, and the pages of other visitors need one too.
_executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="figures")


def shown_version(key: Hashable, newest: Version) -> Version:
    """Return the version to draw: the newest, or the last complete one if the figures take long to compute.

    Figures of the newest version are then requested; they are computed as the page last computed them for this key.
    """
    with _changed:
        entry = _entries.get(key)
        if entry is None or entry.seconds <= LIMIT or entry.ready == newest:
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
            entry.compute = compute  # type: ignore[assignment]
            entry.seconds = max(entry.seconds, seconds)
            return
        while len(_entries) >= MAX_ENTRIES:
            del _entries[next(iter(_entries))]
        _entries[key] = _Entry(version, seconds, compute, time.monotonic())  # type: ignore[arg-type]
    if seconds > LIMIT:
        memory.release()


def is_pending(key: Hashable, newest: Hashable, drawn: Hashable) -> bool:
    """Return whether a page that has drawn a version waits for a newer one; False if it can draw the newest now."""
    with _changed:
        entry = _entries.get(key)
        if entry is None or entry.seconds <= LIMIT or entry.ready != drawn or entry.ready == newest:
            return False
        _request(entry, newest)
        return True


def _request(entry: _Entry, version: Hashable) -> None:
    """Start to compute a version, unless one is being computed or has only just been: others need the processor too."""
    if entry.job is not None and not entry.job.done():
        return
    if time.monotonic() - entry.ended < entry.seconds / 2:
        return
    entry.job = _executor.submit(copy_context().run, _compute, entry, version)  # with the permissions of the visitor


def _compute(entry: _Entry, version: Hashable) -> None:
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
    memory.release()


def clear() -> None:
    """Forget all versions, as the caches do in tests."""
    with _changed:
        _entries.clear()
