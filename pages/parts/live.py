"""Values that a page shows while they change: read from the database again only after a change."""

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from pages.parts import resources
from storage.db import changes
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


# Figures of large studies take seconds to compute. Those are shown again for some time before newer ones are computed,
# so that a study in which people label is not computed again with every label.

# Processor seconds up to which figures are computed again at once.
LIMIT = 0.2
# How much longer than they took to compute they are shown.
PAUSE = 10
MAX_ENTRIES = 256
Version = TypeVar("Version", bound=Hashable)


@dataclass
class _Figures:
    version: Hashable
    seconds: float
    """How long they took to compute."""
    computed_at: float
    """By the monotonic clock."""


_figures: dict[Hashable, _Figures] = {}


def shown_version(key: Hashable, newest: Version) -> Version:
    """Return the version to draw: the newest, or the one whose figures took long and were computed not long ago."""
    known = _figures.get(key)
    if known is None or known.seconds <= LIMIT or time.monotonic() - known.computed_at > PAUSE * known.seconds:
        return newest
    shown: Version = known.version  # type: ignore[assignment]
    return shown


def computed(key: Hashable, version: Hashable, seconds: float) -> None:
    """Record that the figures of a version were drawn after some processor seconds; from a cache it takes none."""
    known = _figures.get(key)
    if known is not None and known.version == version:
        known.seconds = max(known.seconds, seconds)
        return
    while len(_figures) >= MAX_ENTRIES:
        del _figures[next(iter(_figures))]
    _figures[key] = _Figures(version, seconds, time.monotonic())
