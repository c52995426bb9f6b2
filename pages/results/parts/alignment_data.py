"""The labels, opinions and reference of a study, loaded once at each version for all visitors."""

import streamlit as st

from pages.parts import live, resources
from storage import database, studies
from storage.reports import alignment, disagreements, judge_costs, references
from storage.reports.alignment import AlignmentData
from storage.reports.judge_costs import JudgeCost
from storage.studies import Study

Version = tuple[int, ...]


def label_version(study: Study) -> Version:
    """Return a version that changes whenever a label or an opinion is added."""

    def read() -> Version:
        with database.reading(resources.engine()) as session:
            return disagreements.version(session, study.id)

    return live.load("opinions", (live.study_topic(study.id),), read)


def rerun_on_change(study: Study, drawn_version: Version) -> None:
    """Run the page again when a label or an opinion is added to what was drawn."""

    @st.fragment(run_every=1)
    def watch_version() -> None:
        if label_version(study) != drawn_version:
            st.rerun()

    watch_version()


@st.cache_data(max_entries=32, show_spinner=False)
def load_references(url: str, study_id: int, version: Version) -> dict[str, str]:
    """Return the references of a study with their titles at a version, the default first."""
    with database.reading(resources.engine()) as session:
        return {str(choice): choice.title for choice in references.choices(session, study_id)}


@st.cache_resource(max_entries=4, show_spinner=False)
def load_data(url: str, study_id: int, version: Version, reference: str) -> AlignmentData:
    """Return labels, opinions and a reference at a version; cached and shared by all visitors, so do not modify."""
    with database.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    return alignment.load_data(resources.engine(), study, reference)


@st.cache_data(max_entries=32, show_spinner=False)
def load_costs(url: str, study_id: int, version: Version, reference: str) -> dict[str, JudgeCost]:
    """Return the cost of each judge at a version."""
    with database.reading(resources.engine()) as session:
        return judge_costs.cost_by_judge(session, study_id, load_data(url, study_id, version, reference).opinions)
