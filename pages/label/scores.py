"""Score responses on a criterion: blind first, then with the judges' review."""

import streamlit as st

from core.items import Criterion, Item
from core.labels import Scale, Target
from core.llm import images
from pages.label.parts import completion, desk, labelling
from pages.label.parts.labelling import Work
from pages.parts import charts, items, resources, shell
from pages.parts.text import truncate
from storage import database
from storage import items as stored_items
from storage.labelling import queue, scorable_criteria
from storage.labelling.queue import Queue, QueueEntry
from storage.labelling.scorable_criteria import ScaleKey
from storage.studies import Study

LABEL_LENGTH = 90  # characters of a rubric line beside its key


def choose_scale(study: Study, scales: dict[ScaleKey, Scale]) -> tuple[ScaleKey, str | None]:
    """Draw the choices of criterion and scenario, which are in the address."""
    keys_by_name = {_scale_name(key, scales): key for key in scales}
    names = list(keys_by_name)
    # A link from a trace names the criterion as `on`; the choice below is bound to `criterion`.
    linked = next(
        (name for name, key in keys_by_name.items() if key[1] and key[1] == st.query_params.get("on")), names[0]
    )
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        selected = st.selectbox(
            "Criterion", names, index=names.index(linked), key="criterion", bind="query-params", width=260
        )
        scenario = st.selectbox(
            "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=220
        )
        labelling.guidelines(study)
    return keys_by_name.get(str(selected)) or next(iter(keys_by_name.values())), scenario


def _scale_name(key: ScaleKey, scales: dict[ScaleKey, Scale]) -> str:
    """Return the criterion, marked as an answer where a score has the same name."""
    kind, criterion = key
    return (criterion or "answer") if kind == "score" or ("score", criterion) not in scales else f"{criterion} (answer)"


def empty_state(study: Study) -> None:
    """Draw what to do where no criterion has a scale."""
    st.info(
        "This study has no criterion with a scale yet. Import scores, or start a ReFeR run on a criterion with a scale."
    )
    shell.link_sample("label/scores.py", "refer")
    st.page_link(
        shell.page_path("setup/studies.py"),
        label="Import",
        icon=":material/upload_file:",
        query_params={"study": study.name},
    )
    st.page_link(
        shell.page_path("setup/runs.py"),
        label="Start a run",
        icon=":material/play_circle:",
        query_params={"study": study.name},
    )


def draw_finished(entries: list[QueueEntry], study: Study) -> None:
    """Draw what to do when nothing is left for this annotator."""
    if not entries:
        st.info("No items to score. Clear the scenario, or import items.")
        return
    progress = queue.count_progress(entries)
    completion.draw_completion(progress.labelled, progress.total, "item")
    labelling.go_through_skipped(entries)
    st.page_link(
        shell.page_path("results/agreement.py"),
        label="Results: agreement",
        icon=":material/monitoring:",
        query_params={"study": study.name},
    )


def draw_target(work: Work, scale: Scale, target: Target, entries: list[QueueEntry]) -> None:
    """Draw the item on the left, the scale on the right, and the judges' review below after a score."""
    with database.reading(resources.engine()) as session:
        item = stored_items.get(session, work.study.id, target.item)
    label = labelling.own(work, target)
    criterion = labelling.criterion_of(work.study, target)
    left, right = st.columns([2, 1], gap="large")
    with left:
        labelling.place_of(item, target)
        items.draw_item(response_item(item, target), media_folder=images.media_folder(work.study.name))
        if label is not None and work.study.rules.reveal:
            labelling.reveal(work, target, item)
    with right:
        labelling.answer(work, target, entries, label, question_text(target, scale), answer_options(scale, criterion))
        labelling.meaning(criterion)


def response_item(item: Item, target: Target) -> Item:
    """Return the item with the target's response only, and without the reference where that is the answer."""
    if target.kind == "answer":
        return item.model_copy(update={"reference": None})
    if not target.part:
        return item
    return item.model_copy(update={"responses": (item.responses[int(target.part) - 1],)})


def question_text(target: Target, scale: Scale) -> str:
    """Return the question, with the ends of a continuous scale."""
    range_text = f", {scale.low:g} to {scale.high:g}" if scale.low is not None and scale.high is not None else ""
    if target.kind == "answer":
        return "What is the right answer?"
    return f"Which score for {target.criterion}{range_text}?" if target.criterion else f"Which score{range_text}?"


def answer_options(scale: Scale, criterion: Criterion) -> tuple[desk.Option, ...] | desk.Numbers:
    """Return one key for each value; a number field for more than ten values and for continuous scales."""
    values = scale.categories
    if not values or len(values) > 10:
        return desk.Numbers(
            scale.low if not values else min(v for v in values if isinstance(v, int | float)),
            scale.high if not values else max(v for v in values if isinstance(v, int | float)),
        )
    is_digit = all(isinstance(value, int) and 0 <= value <= 9 for value in values)
    rubric = criterion.rubric if len(criterion.rubric) == len(values) else ("",) * len(values)
    return tuple(
        desk.Option(
            key=str(int(value)) if is_digit else str(index % 10),
            value=value,
            label=_option_label(value, rubric_line, is_digit=is_digit),
            colour=charts.step_colour(index - 1, len(values)),
        )
        for index, (value, rubric_line) in enumerate(zip(values, rubric, strict=True), start=1)
    )


def _option_label(value: object, rubric_line: str, *, is_digit: bool) -> str:
    """Return the rubric line without the number that the key shows; the value where there is no line."""
    text = rubric_line.removeprefix(str(value)).lstrip(" :.-–—") if rubric_line else ""
    text = text[:1].upper() + text[1:]
    if not text:
        return str(value)
    return truncate(text if is_digit else f"{value}: {text}", LABEL_LENGTH)


study = shell.draw_header("Scores", "Score responses without seeing the judges; then compare with their review.")
annotator = shell.require_annotator()
with database.reading(resources.engine()) as session:
    scales = scorable_criteria.scales(session, study.id)
if not scales:
    empty_state(study)
else:
    (kind, criterion), scenario = choose_scale(study, scales)
    with database.writing(resources.engine()) as session:
        scorable_criteria.create_targets(session, study.id, kind, criterion, scales[kind, criterion])
    work = Work(study, annotator, Queue(study.id, kind, criterion, scenario, every=True))
    labelling.at_the_desk(
        work,
        lambda target, entries: draw_target(work, scales[kind, criterion], target, entries),
        lambda entries: draw_finished(entries, study),
    )
