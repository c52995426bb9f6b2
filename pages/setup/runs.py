"""The runs of a study, and the form of a new run."""

import streamlit as st

from pages.parts import paging, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts import run_form, study_form
from storage.db import connections
from storage.runs import runs
from storage.studies.studies import Study

RUNS_PER_PAGE = 20


def draw_overview(study: Study) -> None:
    """Draw the study's runs, newest first."""
    run_form.redraw_on_change(study)  # before they are read: a change meanwhile draws the page again
    with connections.reading(resources.engine()) as session:
        study_runs = runs.of_study(session, study.id)
    if not study_runs:
        st.info("This study has no runs yet. A run executes one protocol on the items of the study.")
    if (problem := resources.worker_problem()) and any(run.state == "requested" for run in study_runs):
        st.warning(f"Runs are not being executed. {escape_markdown(problem)}", icon=":material/error:")
    if st.button("New run", type="primary", icon=":material/add:", key="new_run"):
        st.query_params["view"] = "new"
        st.rerun()
    page = paging.current_page("runs_page", len(study_runs), RUNS_PER_PAGE)
    run_form.draw_cards(study, paging.page_slice(study_runs, page, RUNS_PER_PAGE))
    paging.draw_pagination("runs_page", len(study_runs), RUNS_PER_PAGE, bind="query-params")
    study_form.draw_deleted_runs(study)


def draw_new_run(study: Study) -> None:
    """Draw the form; after the run was started, return to the list."""
    if st.button("Runs", icon=":material/arrow_back:", key="back", type="tertiary"):
        close_form()
    if run_form.draw_form(study) is not None:
        close_form()


def close_form() -> None:
    """Return to the list."""
    del st.query_params["view"]
    st.rerun()


view = st.query_params.get("view")
study = shell.draw_header(
    "New run" if view == "new" else "Runs",
    "Choose a protocol and its judges. The estimate shows calls and cost before the run starts."
    if view == "new"
    else "Execute protocols on the items of a study, and follow their progress.",
)
if view == "new":
    draw_new_run(study)
else:
    draw_overview(study)
