"""Decide what the judges could not agree on: blind first, then with the debate."""

import streamlit as st

from core.labels import Target
from core.llm import images
from pages.label.parts import desk, labelling
from pages.label.parts.labelling import Work
from pages.parts import items, resources, shell
from storage import database, runs
from storage import items as stored_items
from storage.labelling import queue
from storage.labelling.queue import Place, Queue
from storage.studies import Study


def chosen_queue(study: Study) -> Queue:
    """Which disagreements; the choices are in the address."""
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
        criteria = sorted({run.criterion for run in runs.of_study(session, study.id) if run.criterion})
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        criterion = st.selectbox(
            "Criterion", criteria, index=None, placeholder="all", key="criterion", bind="query-params", width=220
        )
        scenario = st.selectbox(
            "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=220
        )
        labelling.guidelines(study)
    return Queue(study.id, "preference", criterion, scenario)


def finished(places: list[Place], study: Study) -> None:
    """Nothing is left for this annotator, and why."""
    if not places:
        st.info("No debate here needs a person: the judges agreed on all of them, or none has run yet.")
        st.page_link(shell.page("setup/runs.py"), label="Start a run", icon=":material/play_circle:")
        return
    tally = queue.tally(places)
    st.success(f"Done: you have decided {tally.labelled} of {tally.there} disagreements.", icon=":material/check:")
    labelling.go_through_skipped(places)
    st.page_link(shell.page("results/agreement.py"), label="See the agreement", icon=":material/monitoring:")
    if study.rules.overlap > 1:
        st.caption(f"Each debate is decided by up to {study.rules.overlap} people; come back when there are more.")


def judged(work: Work, target: Target, places: list[Place]) -> None:
    """What is judged on the left, the answer on the right, the debate below once the label stands."""
    with database.reading(resources.engine()) as session:
        item = stored_items.get(session, work.study.id, target.item)
    standing = labelling.own(work, target)
    left, right = st.columns([2, 1], gap="large")
    with left:
        labelling.place_of(item, target)
        items.show(item, home=images.folder(work.study.name))
        if standing is not None and work.study.rules.reveal:
            labelling.reveal(work, target, item)
    with right:
        question = (
            f"Which response is better in {target.criterion}?" if target.criterion else "Which response is better?"
        )
        labelling.answer(work, target, places, standing, question, desk.PREFERENCES)
        labelling.meaning(labelling.criterion_of(work.study, target))


chosen = shell.opened("Disagreements", "Decide blind what the judges could not agree on; then see why they did not.")
name = shell.signed_in()
labour = Work(chosen, name, chosen_queue(chosen))
labelling.at_the_desk(
    labour,
    lambda target, places: judged(labour, target, places),
    lambda places: finished(places, chosen),
)
