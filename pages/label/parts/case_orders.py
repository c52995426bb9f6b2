"""The order of a study's cases of adjudication, computed once at each version for all visitors."""

import streamlit as st

from pages.parts import live, resources
from storage.db import connections
from storage.labelling import adjudication
from storage.reports import disagreements
from storage.studies import studies

Version = tuple[int, ...]


def load(study: studies.Study) -> adjudication.CaseOrder:
    """Return the cases as they are now."""

    def read() -> tuple[Version, str]:
        return resources.read(disagreements.version, study.id), resources.read(scales_key, study.id)

    version, scales = live.load("cases", (live.study_topic(study.id),), read)
    return at_version(str(resources.engine().url), study.id, version, scales)


def scales_key(session: connections.Session, study_id: int) -> str:
    """Return a text that changes with the scales of a study."""
    return repr(sorted(studies.scales(session, study_id).items()))


@st.cache_resource(max_entries=8, show_spinner="Ordering the cases …")
def at_version(url: str, study_id: int, version: Version, scales: str) -> adjudication.CaseOrder:
    """Return the cases at a version of labels, opinions and scales; shared by all visitors, so do not modify."""
    with connections.reading(resources.engine()) as session:
        return adjudication.order_cases(session, studies.by_id(session, study_id))
