"""The summaries of the annotators; those of a large study are computed in the background."""

import time
from collections.abc import Hashable
from datetime import tzinfo

import streamlit as st

from pages.parts import background, live, numbers, permissions, resources, shell
from storage import database
from storage.reports import annotators
from storage.reports.annotators import AnnotatorSummary
from storage.studies import Study

Version = tuple[int, ...]
LARGE = 20_000
"""Labels from which the page does not wait for its first figures."""
INTERVAL = 0.5
"""Seconds after which a page that waits for figures looks for them again."""
NEWER = "There are newer labels, opinions or decisions. The figures with them are computed in the background."


@st.cache_data(max_entries=16, show_spinner=False)
def load_summaries(url: str, study_id: int, version: Version, zone: str, _zone: tzinfo) -> list[AnnotatorSummary]:
    """Return the summaries of all annotators at a version; the cache is shared by all visitors."""
    with database.reading(resources.engine()) as session:
        return annotators.summaries(session, study_id, _zone)


def current_version(study: Study) -> Version:
    """Return a version that changes with every label, opinion, adjudication and view; it begins with the labels."""

    def read() -> Version:
        with database.reading(resources.engine()) as session:
            return annotators.version(session, study.id)

    return live.load_shared("annotators", (live.study_topic(study.id),), read)


def load_shown(study: Study) -> list[AnnotatorSummary] | None:
    """Return the summaries to draw: the newest, or of a large study the last complete ones.

    None while the first ones are computed, which is stated. The page is drawn again when newer ones are complete.
    """
    url, zone = str(resources.engine().url), shell.time_zone()
    key = (url, study.id, "annotators", str(zone))
    newest = current_version(study)

    def compute(version: Version) -> list[AnnotatorSummary]:
        return load_summaries(url, study.id, version, str(zone), zone)

    if newest[0] >= LARGE and not background.has_figures(key, newest, compute):
        st.info(background.describe(numbers.format_count(newest[0], "label")), icon=":material/sync:")
        _rerun_when_complete(key, newest, None)
        return None
    start, shown = time.thread_time(), background.shown_version(key, newest)
    summaries = compute(shown)
    background.computed(key, shown, time.thread_time() - start, compute)
    if shown != newest:
        st.caption(f":material/sync: {NEWER}")
        _rerun_when_complete(key, newest, shown)
    return summaries


def _rerun_when_complete(key: Hashable, newest: Version, drawn: Version | None) -> None:
    """Run the page again when the figures after those of the drawn version are complete; None: the first ones."""

    @permissions.fragment(run_every=INTERVAL)
    def watch() -> None:
        pending = background.is_first_pending(key) if drawn is None else background.is_pending(key, newest, drawn)
        if not pending:
            st.rerun()

    watch()
