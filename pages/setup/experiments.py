"""The experiments of a study: their progress, their results, and the form of a new one."""

import streamlit as st

from pages.parts import resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts import cards, experiment_form, experiment_results
from storage.runs import experiments
from storage.studies.studies import Study


def draw_overview(study: Study) -> None:
    """Draw the study's experiments, newest first."""
    cards.redraw_on_change(study)
    listed = resources.read(experiments.of_study, study.id)
    if not listed:
        st.info("This study has no experiments yet. An experiment is a set of runs that differ in named settings.")
    if problem := resources.execution_problem():
        st.warning(f"Runs are not being executed. {escape_markdown(problem)}", icon=":material/error:")
    if st.button("New experiment", type="primary", icon=":material/add:", key="new_experiment"):
        st.query_params["view"] = "new"
        st.rerun()
    cards.draw_experiments(study, listed)


def draw_results(study: Study, name: str) -> None:
    """Draw the results of one experiment."""
    shell.draw_back("Experiments", "experiment")
    found = resources.read(experiments.find, study.id, name)
    if found is None:
        st.info("This study has no experiment of that name.")
        return
    cards.draw_progress(found)
    experiment_results.draw_results(study, found)


view, name = st.query_params.get("view"), st.query_params.get("experiment")
study = shell.draw_header(
    "New experiment" if view == "new" else "Experiments",
    "Choose what varies. The estimate shows runs, calls and cost before the experiment starts."
    if view == "new"
    else "Runs that differ in named settings: execute them together, and compare their results.",
)
if view == "new":
    shell.draw_back("Experiments", "view")
    if experiment_form.draw_form(study):
        del st.query_params["view"]
        st.rerun()
elif name is not None:
    draw_results(study, name)
else:
    draw_overview(study)
