"""Give weights to the aspects of a question: blind first, then with the judges' weights."""

import streamlit as st

from pages.label.parts import workbench
from pages.parts import resources, shell
from storage.db import connections
from storage.labelling import queue
from storage.labelling.context import queue_named
from storage.studies.studies import Study


def draw_empty(study: Study) -> None:
    """Draw the empty state if the study has no aspects."""
    st.title("Aspect weights", anchor=False)
    links = (shell.RUN, shell.IMPORT)
    advice = "Start a DnA-Eval run, with your own aspects or proposed ones, or import a file of weights."
    shell.draw_missing(study, "This study has no aspects yet.", advice, *links)
    shell.link_sample("label/weights.py", "dna_eval")
    shell.draw_links(study, *links)


study = workbench.choose_study()
shell.require_annotator()
scenario = workbench.choose_scenario(study)
with connections.reading(resources.engine()) as session:
    has_targets = queue.has_targets(session, queue_named(study.id, "weights"))
if has_targets:
    workbench.mount("weights", study, {"scenario": scenario})
else:
    draw_empty(study)
