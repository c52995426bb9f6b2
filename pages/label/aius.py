"""Label the AIUs of critiques: is each factual, and is each of the reference critique covered?"""

import streamlit as st

from core import critique_ratings
from pages.label.parts import workbench
from pages.parts import resources, shell
from storage.db import connections
from storage.labelling import context, critique_queue, queue
from storage.studies.studies import Study


def draw_empty(study: Study) -> None:
    """Draw the empty state if no item has a critique."""
    st.title("AIUs", anchor=False)
    advice = "Import critiques, such as MetaCritique's annotation_data.json."
    shell.draw_missing(study, "This study has no critiques.", advice, shell.IMPORT)
    shell.link_sample("label/aius.py", "metacritique")
    shell.draw_links(study, shell.IMPORT)


def linked_critique(study: Study) -> str | None:
    """Return the task that the URL names by item and critique, otherwise the item."""
    item, critique = st.query_params.get("item"), st.query_params.get("of")
    if item is None or critique is None:
        return item
    target = critique_ratings.extraction_target(item, critique)
    with connections.reading(resources.engine()) as session:
        return context.link_name(session, study.id, target) or item


study = workbench.choose_study()
shell.require_annotator()
scenario = workbench.choose_scenario(study)
critique_queue.create_missing_targets(resources.engine(), study.id)
with connections.reading(resources.engine()) as session:
    has_critiques = queue.has_targets(session, context.queue_named(study.id, "aius"))
if has_critiques:
    workbench.mount("aius", study, {"scenario": scenario}, item=linked_critique(study))
else:
    draw_empty(study)
