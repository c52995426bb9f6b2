"""Give weights to the aspects of a question: blind first, then with the judges' weights."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Label, Target
from core.llm import images
from core.problems import Problem
from pages.label.parts import completion, desk, labelling, weights
from pages.label.parts.labelling import Work
from pages.parts import items, resources, shell
from pages.parts.text import escape_markdown
from pages.parts.values import aspect_letter
from storage import aspects, database
from storage import items as stored_items
from storage.database import Session
from storage.labelling import queue
from storage.labelling.queue import Queue, QueueEntry
from storage.studies import Study


def draw_page(study: Study, annotator: str) -> None:
    """Draw the queue: every set of aspects from a judge or a file, in the order of the items."""
    work = Work(study, annotator, choose_queue(study), save_answer)
    labelling.at_the_desk(
        work, lambda target, entries: draw_target(work, target, entries), lambda entries: draw_finished(entries, study)
    )


def choose_queue(study: Study) -> Queue:
    """Draw the choice of a scenario, which is in the address."""
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        scenario = None
        if scenarios:
            scenario = st.selectbox(
                "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=220
            )
        labelling.guidelines(study)
    return Queue(study.id, "aspect_weights", None, scenario, every=True)


def draw_finished(entries: list[QueueEntry], study: Study) -> None:
    """Draw what to do when nothing is left for this annotator."""
    if not entries:
        st.info(
            "This study has no aspects yet. They come from a DnA-Eval run, which takes yours or proposes its own, or "
            "from an imported file of weights."
        )
        shell.link_sample("label/weights.py", "dna_eval")
        links = {"setup/runs.py": "Start a run", "setup/studies.py": "Import"}
        icons = {"setup/runs.py": ":material/play_circle:", "setup/studies.py": ":material/upload_file:"}
        for script, label in links.items():
            st.page_link(shell.page_path(script), label=label, icon=icons[script], query_params={"study": study.name})
        return
    progress = queue.count_progress(entries)
    completion.draw_completion(progress.labelled, progress.total, "set of aspects", "sets of aspects")
    labelling.go_through_skipped(entries)
    st.page_link(
        shell.page_path("results/weights.py"),
        label="Results: weights",
        icon=":material/scale:",
        query_params={"study": study.name},
    )


def draw_target(work: Work, target: Target, entries: list[QueueEntry]) -> None:
    """Draw question and aspects on the left, sliders on the right; the responses only after the annotator's weights."""
    label = labelling.own(work, target)
    revealed = label is not None and work.study.rules.reveal
    with database.reading(resources.engine()) as session:
        item = stored_items.get(session, work.study.id, target.item)
        aspect_names = aspects.of_target(session, work.study.id, target)
        judges = aspects.judge_weights(session, work.study.id, target) if revealed else {}
        ratings = aspects.annotator_ratings(session, work.study.id, target, work.annotator)
        definitions = aspects.definitions(session, work.study.id, target)
    left, right = st.columns([3, 2], gap="large")
    with left:
        labelling.place_of(item, target)
        items.draw_item(item if revealed else question_item(item), media_folder=images.media_folder(work.study.name))
        draw_aspects(aspect_names, definitions)
        if revealed:
            labelling.reveal(work, target, item)
    with right:
        question = "How important is each aspect for this question?"
        field = weights.field(aspect_names, judges)
        labelling.answer(work, target, entries, label, question, field, panel_value(label, aspect_names, ratings))


def question_item(item: Item) -> Item:
    """Return the item without responses and reference: weights depend on the question only."""
    return item.model_copy(update={"responses": (), "reference": None})


def draw_aspects(aspect_names: tuple[str, ...], definitions: Mapping[str, str]) -> None:
    """Draw the aspects with their letters, and their definitions if the study has them."""
    st.markdown("**Aspects**")
    for index, aspect in enumerate(aspect_names):
        definition = f" · {escape_markdown(definitions[aspect])}" if definitions.get(aspect) else ""
        st.markdown(f"**{aspect_letter(index)}** {escape_markdown(aspect)}{definition}")


def panel_value(
    label: Label | None, aspect_names: tuple[str, ...], ratings: Mapping[str, int]
) -> dict[str, Any] | None:
    """Return what the panel starts with after a label: weights in the order of the aspects, and ratings."""
    if label is None or not isinstance(label.value, dict):
        return None
    weights_by_aspect = label.value
    ordered = {aspect: weights_by_aspect[aspect] for aspect in aspect_names if aspect in weights_by_aspect}
    return {"weights": ordered, "ratings": dict(ratings)}


def save_answer(session: Session, work: Work, action: desk.Did, target: Target) -> None:
    """Save the weights and the ratings of the aspects."""
    answer: Any = action.value
    if not isinstance(answer, dict) or not isinstance(answer.get("weights"), dict):
        raise Problem("Move a slider first, or press E for equal weights.")
    target_arguments = (session, work.study.id, target, work.annotator)
    aspects.save_weights(*target_arguments, answer["weights"], reason=action.reason, seconds=action.seconds)
    aspects.save_ratings(*target_arguments, answer.get("ratings") or {})


study = shell.draw_header(
    "Aspect weights", "Give weights to aspects without seeing the judges; then compare with their weights."
)
draw_page(study, shell.require_annotator())
