"""Label disputed debates: blind first, then with the debate."""

import streamlit as st

from core.labels import Target
from core.llm import images
from pages.label.parts import completion, desk, labelling
from pages.label.parts.labelling import Work
from pages.parts import items, resources, shell
from storage import database, runs
from storage import items as stored_items
from storage.labelling import queue
from storage.labelling.queue import Queue, QueueEntry
from storage.studies import Study


def choose_queue(study: Study) -> Queue:
    """Draw the choices of criterion and scenario, which are in the address."""
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


def draw_finished(entries: list[QueueEntry], study: Study) -> None:
    """Draw what to do when nothing is left for this annotator."""
    if not entries:
        st.info("No disputed debates. Debates appear here when judges disagree or give no verdict.")
        st.page_link(shell.page_path("setup/runs.py"), label="Start a run", icon=":material/play_circle:")
        return
    progress = queue.count_progress(entries)
    completion.draw_completion(progress.labelled, progress.total, "disputed debate")
    labelling.go_through_skipped(entries)
    st.page_link(shell.page_path("results/agreement.py"), label="Results: agreement", icon=":material/monitoring:")
    if study.rules.overlap > 1:
        st.caption(f"Each debate is labelled by up to {study.rules.overlap} annotators. New ones appear here.")


def draw_target(work: Work, target: Target, entries: list[QueueEntry]) -> None:
    """Draw the item on the left, the answer panel on the right, and the debate below after a label."""
    with database.reading(resources.engine()) as session:
        item = stored_items.get(session, work.study.id, target.item)
    label = labelling.own(work, target)
    left, right = st.columns([2, 1], gap="large")
    with left:
        labelling.place_of(item, target)
        items.draw_item(item, media_folder=images.media_folder(work.study.name))
        if label is not None and work.study.rules.reveal:
            labelling.reveal(work, target, item)
    with right:
        question = (
            f"Which response is better on {target.criterion}?" if target.criterion else "Which response is better?"
        )
        labelling.answer(work, target, entries, label, question, desk.PREFERENCES)
        labelling.meaning(labelling.criterion_of(work.study, target))


study = shell.draw_header(
    "Disagreements", "Label disputed debates without seeing the judges; then compare with the debate."
)
annotator = shell.require_annotator()
work = Work(study, annotator, choose_queue(study))
labelling.at_the_desk(
    work,
    lambda target, entries: draw_target(work, target, entries),
    lambda entries: draw_finished(entries, study),
)
