"""The labels, opinions and reference of a study, loaded once at each version for all visitors."""

import time
from collections.abc import Callable, Hashable

import streamlit as st

from pages.parts import background, live, memory, numbers, permissions, resources
from storage import database, studies
from storage.reports import (
    agreement,
    alignment,
    disagreements,
    judge_costs,
    judge_opinions,
    judge_ranking,
    overview,
    references,
)
from storage.reports.agreement import OverallAgreement
from storage.reports.alignment import AlignmentData
from storage.reports.judge_costs import JudgeCost
from storage.reports.judge_opinions import StudyOpinions
from storage.studies import Study

Version = tuple[int, ...]
INTERVAL = 0.5
"""Seconds after which an open page looks for newer labels again."""
LARGE = 20_000
"""Items times runs from which a page does not wait for its first figures."""
AWAITED = "awaited_figures"
"""The name of the key of the first figures that a page waits for, in the state of the session."""


def label_version(study: Study) -> Version:
    """Return a version that changes whenever a label or an opinion is added; its first number is that of labels."""

    def read() -> Version:
        with database.reading(resources.engine()) as session:
            return disagreements.version(session, study.id)

    return live.load_shared("opinions", (live.study_topic(study.id),), read)


def figures_key(study: Study, page: str) -> Hashable:
    """Return the key of a page's figures in `pages.parts.background`."""
    choices = tuple(tuple(st.query_params.get_all(name)) for name in ("reference", "between", "table"))
    runs = tuple(st.session_state.get(runs_key(study)) or ())
    return str(resources.engine().url), study.id, page, choices, runs


def runs_key(study: Study) -> str:
    """Return the key of the choice of runs of the page Compare runs."""
    return f"runs_of_{study.id}"


def shown_version(study: Study, page: str) -> Version:
    """Return the version that a page draws: the newest, or of a large study the last one whose figures are complete."""
    return background.shown_version(figures_key(study, page), label_version(study))


def computed(study: Study, page: str, version: Version, start: float, compute: Callable[[Version], object]) -> None:
    """Record that a page has the figures of a version; `start` is the thread's processor time when it began."""
    background.computed(figures_key(study, page), version, time.thread_time() - start, compute)


def has_figures(study: Study, page: str, version: Version, compute: Callable[[Version], object]) -> bool:
    """Return whether a page has figures of some version; otherwise they are computed in the background.

    `rerun_on_change` draws the page again when they are complete.
    """
    key = figures_key(study, page)
    if background.has_figures(key, version, compute):
        return True
    st.session_state[AWAITED] = key
    return False


def has_first_figures(study: Study, page: str, version: Version, compute: Callable[[Version], object]) -> bool:
    """Return whether a page can draw figures: those of a small study are computed while the visitor waits.

    Otherwise it states that they are computed, and is drawn again when they are complete.
    """
    if not is_large(study) or has_figures(study, page, version, compute):
        return True
    st.info(describe_computing(study), icon=":material/sync:")
    return False


def has_data(study: Study, page: str, version: Version, reference: str) -> bool:
    """Return the same for a page that cannot draw its choices before it has the data of its figures."""
    url = str(resources.engine().url)

    def load(newer: Version) -> object:
        return judge_ranking.rankable(load_data(url, study.id, newer, reference))

    return has_first_figures(study, page, version, load)


def is_large(study: Study) -> bool:
    """Return whether a page does not wait for its first figures."""
    items, runs = load_size(study)
    return items * runs >= LARGE


def load_size(study: Study) -> tuple[int, int]:
    """Return the numbers of items and runs of a study."""

    def read() -> tuple[int, int]:
        with database.reading(resources.engine()) as session:
            return overview.size(session, study.id)

    return live.load_shared("size", (live.study_topic(study.id),), read)


def describe_computing(study: Study) -> str:
    """Return what is computed for a page that waits for its first figures."""
    items, runs = load_size(study)
    return background.describe(f"{numbers.format_count(items, 'item')} and {numbers.format_count(runs, 'run')}")


def rerun_on_change(
    study: Study, drawn_version: Version, page: str = "", is_outdated: Callable[[], bool] | None = None
) -> None:
    """Run the page again when a label or an opinion is added to what was drawn, and its figures are complete.

    Also when `is_outdated` is true of something else that the page shows, and when the first figures that it waits for
    are complete. A page has no other fragment that looks for changes: each is a request of every open page.
    """
    st.session_state.pop(AWAITED, None)

    @permissions.fragment(run_every=INTERVAL)
    def watch_version() -> None:
        awaited = st.session_state.get(AWAITED)
        if awaited is not None and not background.is_first_pending(awaited):
            st.rerun()
        newest = label_version(study)
        if newest == drawn_version:
            if is_outdated is not None and is_outdated():
                st.rerun()
            return
        if not background.is_pending(figures_key(study, page), newest, drawn_version):
            st.rerun()
        st.caption(f":material/sync: {describe_newer(drawn_version, newest)}")

    watch_version()


def describe_newer(drawn: Version, newest: Version) -> str:
    """Return what the drawn figures do not contain yet: `3 newer labels`, or verdicts and decisions."""
    labels = newest[0] - drawn[0]
    name = numbers.format_count(labels, "newer label") if labels > 0 else "There are newer verdicts or decisions"
    return f"{name}. The figures below are computed with {'it' if labels == 1 else 'them'} in the background."


@st.cache_data(max_entries=32, show_spinner=False)
def load_references(url: str, study_id: int, version: Version) -> dict[str, str]:
    """Return the references of a study with their titles at a version, the default first."""
    debates = load_debates(url, study_id, opinion_version(version))
    with database.reading(resources.engine()) as session:
        return {str(choice): choice.title for choice in references.choices(session, study_id, debates)}


@st.cache_data(max_entries=32, show_spinner=False)
def load_debates(url: str, study_id: int, opinion_version: Version) -> list[str]:
    """Return the runs that can be a reference at a version of the opinions."""
    with database.reading(resources.engine()) as session:
        return references.debate_runs(session, study_id)


@st.cache_resource(max_entries=3, show_spinner=False)
def load_data(url: str, study_id: int, version: Version, reference: str) -> AlignmentData:
    """Return labels, opinions and a reference at a version; cached and shared by all visitors, so do not modify."""
    with database.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    form, _, name = reference.partition(":")
    opinions = load_opinions(url, study_id, opinion_version(version), name if form == "debate" else "", study)
    data = alignment.load_data(resources.engine(), study, reference, opinions)
    memory.release()
    return data


def opinion_version(version: Version) -> Version:
    """Return the part of a version that changes with opinions only: labels change far more often."""
    _, opinions, removals, _ = version
    return opinions, removals


@st.cache_resource(max_entries=2, show_spinner=False)
def load_opinions(url: str, study_id: int, opinion_version: Version, left_out: str, _study: Study) -> StudyOpinions:
    """Return the opinions of a study without a run at a version; shared by all visitors, so do not modify."""
    with database.reading(resources.engine()) as session:
        loaded = judge_opinions.load(session, _study, left_out)
    memory.release()
    return loaded


@st.cache_data(max_entries=32, show_spinner="Measuring agreement …")
def load_agreement(url: str, study_id: int, version: Version) -> OverallAgreement:
    """Return the agreement of the annotators over everything at a version."""
    with database.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    return agreement.annotator_agreement(resources.engine(), study)


def load_costs(url: str, study_id: int, version: Version, reference: str) -> dict[str, JudgeCost]:
    """Return the cost of each judge at a version."""
    data = load_data(url, study_id, version, reference)
    return _costs(url, study_id, opinion_version(version), tuple(sorted(data.judges)), data)


@st.cache_data(max_entries=32, show_spinner=False)
def _costs(
    url: str, study_id: int, opinion_version: Version, judges: tuple[str, ...], _data: AlignmentData
) -> dict[str, JudgeCost]:
    with database.reading(resources.engine()) as session:
        return judge_costs.cost_by_judge(session, study_id, _data.opinions)
