"""Compare and rate critiques as a whole, and compare the answers that were refined by them; authors are hidden."""

import streamlit as st

from pages.label.parts import queues, workbench
from pages.parts import resources, shell
from storage import database
from storage.labelling import critique_targets, queue, work
from storage.labelling.work import QueueName
from storage.studies import Study

EMPTY: dict[QueueName, tuple[str, str]] = {
    "critiques": (
        "No item of this study has two critiques of the same response.",
        "Import critiques to compare them.",
    ),
    "critique_ratings": (
        "This study has no critiques.",
        "Import critiques, such as MetaCritique's annotation_data.json.",
    ),
    "refined_answers": (
        "This study has no refined answers.",
        "Start a critique refinement run to generate them.",
    ),
}
"""What an empty queue lacks, and what to do about it."""


def choose_task() -> QueueName:
    """Draw the choice of a queue in the sidebar; it is in the URL."""
    with st.sidebar:
        chosen = st.selectbox("Task", list(queues.CRITIQUE_TASKS.values()), key="task", bind="query-params")
    return next((name for name in EMPTY if queues.CRITIQUE_TASKS[name] == chosen), "critiques")


def draw_empty(study: Study, kind: QueueName) -> None:
    """Draw the empty state if there is nothing of this kind."""
    st.title("Critiques", anchor=False)
    link = shell.RUN if kind == "refined_answers" else shell.IMPORT
    shell.draw_missing(study, *EMPTY[kind], link)
    shell.draw_links(study, link)


study = workbench.choose_study()
shell.require_annotator()
kind, scenario = choose_task(), workbench.choose_scenario(study)
critique_targets.create_missing(resources.engine(), study.id)
with database.reading(resources.engine()) as session:
    has_targets = queue.has_targets(session, work.queue_named(study.id, kind, scenario=scenario))
if has_targets:
    workbench.mount(kind, study, {"scenario": scenario})
else:
    draw_empty(study, kind)
