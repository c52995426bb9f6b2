"""The runs of a study, and the form of a new run."""

import streamlit as st

from core.errors import TiebreakError
from pages.parts import account_guard, paging, resources, shell
from pages.parts.text import escape_markdown
from pages.setup.parts import cards, run_form, study_form
from storage.accounts import access
from storage.db import audit, guards
from storage.runs import runs
from storage.studies.studies import Study
from storage.transfer import text_metrics

RUNS_PER_PAGE = 20


def draw_overview(study: Study) -> None:
    """Draw the study's runs, newest first."""
    if st.session_state.pop("started", None) is not None:
        st.toast("The new run is the first of the list.", icon=":material/play_circle:")
        shell.scroll_to_top()
    cards.redraw_on_change(study)  # before they are read: a change meanwhile draws the page again
    study_runs = resources.read(runs.of_study, study.id)
    if not study_runs:
        st.info("This study has no runs yet. A run executes one protocol on the items of the study.")
    if st.button("New run", type="primary", icon=":material/add:", key="new_run"):
        st.query_params["view"] = "new"
        st.rerun()
    _draw_metric_form(study)
    page = paging.current_page("runs_page", len(study_runs), RUNS_PER_PAGE)
    cards.draw_runs(study, paging.page_slice(study_runs, page, RUNS_PER_PAGE))
    paging.draw_pagination("runs_page", len(study_runs), RUNS_PER_PAGE, bind="query-params")
    study_form.draw_deleted_runs(study)


def _draw_metric_form(study: Study) -> None:
    """Draw the choice of a metric that scores the responses against the items' references."""
    with st.expander("Score responses with a metric", icon=":material/straighten:"):
        st.caption(
            "ROUGE, BLEU, chrF and BERTScore compare each response with the reference of its item. Their scores become "
            "a run, which is compared with people as a judge. No model provider is called."
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            metrics = text_metrics.METRICS
            metric = st.selectbox("Metric", list(metrics), format_func=lambda name: metrics[name].title, width=220)
            name = st.text_input("Name of the run", placeholder=metrics[metric].title, key="metric_run", width=280)
            clicked = st.button("Score", key="score_metric", icon=":material/straighten:")
        if clicked:
            try:
                summary = _add_metric(study, metric, name.strip())
            except TiebreakError as error:
                st.warning(escape_markdown(str(error)), icon=":material/error:")
                return
            st.toast(escape_markdown(summary))
            st.rerun()


@guards.operation()
def _add_metric(study: Study, metric: str, name: str) -> str:
    """Store the scores of a metric for the visitor; raises Forbidden unless they may import into the study."""
    actor = account_guard.current_actor()
    resources.read(access.require_import, actor, study.name)  # raises Forbidden
    with audit.acting(actor.name):
        return text_metrics.add_run(resources.engine(), study, metric, name).summary()


view = st.query_params.get("view")
study = shell.draw_header(
    "New run" if view == "new" else "Runs",
    "Choose a protocol and its judges. The estimate shows calls and cost before the run starts."
    if view == "new"
    else "Execute protocols on the items of a study, and follow their progress.",
)
if view == "new":
    goes_back = st.button("Runs", icon=":material/arrow_back:", key="back", type="tertiary")
    started = None if goes_back else run_form.draw_form(study)
    if goes_back or started is not None:
        st.session_state["started"] = started
        del st.query_params["view"]
        st.rerun()
else:
    draw_overview(study)
