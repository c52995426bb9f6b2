"""Compare and rate critiques as a whole, and compare the answers that were refined by them; authors are hidden."""

import streamlit as st

from pages.label.parts import workbench
from pages.parts import resources, shell
from storage.db import connections
from storage.labelling import context, critique_queue, queue
from storage.labelling.context import QueueName
from storage.studies.studies import Study

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
        chosen = st.selectbox("Task", list(workbench.CRITIQUE_TASKS.values()), key="task", bind="query-params")
    return next((name for name in EMPTY if workbench.CRITIQUE_TASKS[name] == chosen), "critiques")


def draw_empty(study: Study, kind: QueueName) -> None:
    """Draw the empty state if there is nothing of this kind."""
    st.title("Critiques", anchor=False)
    link = shell.RUN if kind == "refined_answers" else shell.IMPORT
    shell.draw_missing(study, *EMPTY[kind], link)
    shell.draw_links(study, link)


study = workbench.choose_study()
shell.require_annotator()
kind, scenario = choose_task(), workbench.choose_scenario(study)
critique_queue.create_missing_targets(resources.engine(), study.id)
with connections.reading(resources.engine()) as session:
    has_targets = queue.has_targets(session, context.queue_named(study.id, kind, scenario=scenario))
if has_targets:
    workbench.mount(kind, study, {"scenario": scenario})
else:
    draw_empty(study, kind)
