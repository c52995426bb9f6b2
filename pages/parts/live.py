"""Values that a page shows while they change: read from the database again only after a change."""

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

from pages.parts import resources
from storage import changes

Value = TypeVar("Value")


def load(key: str, topics: tuple[str, ...], read: Callable[[], Value], scope: Hashable = None) -> Value:
    """Return `read()`, or its last result in this visit if none of the topics has changed (see `storage.changes`).

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


def study_topic(study_id: int) -> str:
    """Return the topic of a study's items, labels, opinions, traces and runs."""
    return f"study {study_id}"
