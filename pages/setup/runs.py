"""The runs of a study, and the form of a new run."""

import streamlit as st

from pages.parts import paging, resources, shell
from pages.setup.parts import cards, run_form, study_form
from storage.runs import runs
from storage.studies.studies import Study

RUNS_PER_PAGE = 20


def draw_overview(study: Study) -> None:
    """Draw the study's runs, newest first."""
    cards.redraw_on_change(study)  # before they are read: a change meanwhile draws the page again
    study_runs = resources.read(runs.of_study, study.id)
    if not study_runs:
        st.info("This study has no runs yet. A run executes one protocol on the items of the study.")
    if st.button("New run", type="primary", icon=":material/add:", key="new_run"):
        st.query_params["view"] = "new"
        st.rerun()
    page = paging.current_page("runs_page", len(study_runs), RUNS_PER_PAGE)
    cards.draw_runs(study, paging.page_slice(study_runs, page, RUNS_PER_PAGE))
    paging.draw_pagination("runs_page", len(study_runs), RUNS_PER_PAGE, bind="query-params")
    study_form.draw_deleted_runs(study)


view = st.query_params.get("view")
study = shell.draw_header(
    "New run" if view == "new" else "Runs",
    "Choose a protocol and its judges. The estimate shows calls and cost before the run starts."
    if view == "new"
    else "Execute protocols on the items of a study, and follow their progress.",
)
if view == "new":
    goes_back = st.button("Runs", icon=":material/arrow_back:", key="back", type="tertiary")
    if goes_back or run_form.draw_form(study) is not None:
        del st.query_params["view"]
        st.rerun()
else:
    draw_overview(study)
