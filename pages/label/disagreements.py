"""Label disputed debates: first blind, then with the debate."""

import streamlit as st

from pages.label.parts import workbench
from pages.parts import resources, shell
from storage.db import connections
from storage.labelling import queue, targets
from storage.labelling.context import queue_named
from storage.studies.studies import Study


def choose_criterion(study: Study) -> str | None:
    """Draw the choice of a criterion in the sidebar; it is in the URL."""
    with connections.reading(resources.engine()) as session:
        criteria = targets.judged_criteria(session, study.id)
    if not criteria:
        return None
    with st.sidebar:
        return st.selectbox("Criterion", criteria, index=None, placeholder="all", key="criterion", bind="query-params")


def draw_empty(study: Study) -> None:
    """Draw the empty state if there are no disputes."""
    st.title("Disagreements", anchor=False)
    st.info("No disputed debates. Debates appear here when judges disagree or give no verdict.")
    shell.draw_links(study, shell.RUN)


study = workbench.choose_study()
shell.require_annotator()
criterion, scenario = choose_criterion(study), workbench.choose_scenario(study)
with connections.reading(resources.engine()) as session:
    wanted = queue_named(study.id, "disagreements", criterion, scenario)
    has_targets = queue.has_targets(session, wanted)
if has_targets:
    workbench.mount("disagreements", study, {"criterion": criterion, "scenario": scenario})
else:
    draw_empty(study)
