"""Values that a page shows while they change: read from the database again only after a change."""

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from pages.parts import resources
from storage import changes

Value = TypeVar("Value")


def load(key: str, topics: tuple[str, ...], read: Callable[[], Value]) -> Value:
    """Return `read()`, or its last result in this visit if none of the topics has changed (see `storage.changes`)."""
    version = changes.version(resources.engine(), *topics)  # before reading: a change meanwhile gives a new version
    stored = st.session_state.get(f"live_{key}")
    if stored is None or stored[0] != (topics, version):
        stored = ((topics, version), read())
        st.session_state[f"live_{key}"] = stored
    value: Value = stored[1]
    return value


def study_topic(study_id: int) -> str:
    """Return the topic of a study's items, labels, opinions, traces and runs."""
    return f"study {study_id}"
