"""Runs: watch them go, stop them, go on with them, and start new ones."""

import streamlit as st

from pages.parts import resources, shell
from pages.setup.parts import run_cards, run_form
from storage import database, runs
from storage.studies import Study

ROWS = 20


def overview(study: Study) -> None:
    """The study's runs, newest first."""
    with database.reading(resources.engine()) as session:
        every = runs.of_study(session, study.id)
    if not every:
        st.info("This study has no runs yet. A run lets judges argue over its items, and keeps all they say.")
    if st.button("New run", type="primary", icon=":material/add:", key="new_run"):
        st.query_params["view"] = "new"
        st.rerun()
    page = min(int(st.session_state.get("runs_page", 1)), max(1, -(-len(every) // ROWS)))
    run_cards.show(study, every[(page - 1) * ROWS : page * ROWS])
    if len(every) > ROWS:
        st.pagination(-(-len(every) // ROWS), key="runs_page", bind="query-params")


def new(study: Study) -> None:
    """The form; once the run is started, the list."""
    if st.button("Runs", icon=":material/arrow_back:", key="back", type="tertiary"):
        leave()
    if run_form.show(study) is not None:
        leave()


def leave() -> None:
    """Back to the list."""
    del st.query_params["view"]
    st.rerun()


asked = st.query_params.get("view")
chosen = shell.opened(
    "New run" if asked == "new" else "Runs",
    "Choose the judges and how they argue; nothing starts before you have seen what it will take."
    if asked == "new"
    else "Let judges argue over a study's items, and watch how far they are.",
)
if asked == "new":
    new(chosen)
else:
    overview(chosen)
