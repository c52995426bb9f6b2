"""Weigh the aspects of a question, blind; then see how the judges weighed them."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Label, Target
from core.llm import images
from core.problems import Problem
from pages.label.parts import desk, labelling, weights
from pages.label.parts.labelling import Work
from pages.parts import items, resources, shell
from pages.parts.text import plain
from pages.watch.parts.aspect_charts import letter
from storage import aspects, database
from storage import items as stored_items
from storage.database import Session
from storage.labelling import queue
from storage.labelling.queue import Place, Queue
from storage.studies import Study


def work(study: Study, annotator: str) -> None:
    """Every set of aspects that a judge or a file has named, in the order of the items."""
    wanted = Work(study, annotator, chosen_queue(study), keep)
    labelling.at_the_desk(
        wanted, lambda target, places: weighed(wanted, target, places), lambda places: finished(places, study)
    )


def chosen_queue(study: Study) -> Queue:
    """Which scenario; it is in the address."""
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        scenario = None
        if scenarios:
            scenario = st.selectbox(
                "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=220
            )
        labelling.guidelines(study)
    return Queue(study.id, aspects.KIND, None, scenario, every=True)


def finished(places: list[Place], study: Study) -> None:
    """Nothing is left for this annotator, and why."""
    if not places:
        st.info(
            "No aspects to weigh yet: a DnA-Eval run names them, given by you or proposed by its judges, and a file of "
            "weights brings its own."
        )
        shell.offer_sample("label/weights.py", "dna_eval")
        links = {"setup/runs.py": "Start a run", "setup/studies.py": "Import"}
        icons = {"setup/runs.py": ":material/play_circle:", "setup/studies.py": ":material/upload_file:"}
        for script, label in links.items():
            st.page_link(shell.page(script), label=label, icon=icons[script], query_params={"study": study.name})
        return
    tally = queue.tally(places)
    st.success(f"Done: you have weighed {tally.labelled} of {tally.there} sets of aspects.", icon=":material/check:")
    labelling.go_through_skipped(places)
    st.page_link(
        shell.page("results/weights.py"),
        label="See how far weights are apart",
        icon=":material/scale:",
        query_params={"study": study.name},
    )


def weighed(work: Work, target: Target, places: list[Place]) -> None:
    """The question and its aspects on the left, the sliders on the right; responses only after one's own weights."""
    standing = labelling.own(work, target)
    revealed = standing is not None and work.study.rules.reveal
    with database.reading(resources.engine()) as session:
        item = stored_items.get(session, work.study.id, target.item)
        names = aspects.of_target(session, work.study.id, target)
        judges = aspects.weights_of_judges(session, work.study.id, target) if revealed else {}
        rated = aspects.ratings_of(session, work.study.id, target, work.annotator)
        meanings = aspects.definitions(session, work.study.id, target)
    left, right = st.columns([3, 2], gap="large")
    with left:
        labelling.place_of(item, target)
        items.show(item if revealed else question_of(item), home=images.folder(work.study.name))
        listed(names, meanings)
        if revealed:
            labelling.reveal(work, target, item)
    with right:
        question = "How much should each aspect count for this question?"
        field = weights.field(names, judges)
        labelling.answer(work, target, places, standing, question, field, entered(standing, names, rated))


def question_of(item: Item) -> Item:
    """What aspects are weighed by: the question, without the responses and without an answer to it."""
    return item.model_copy(update={"responses": (), "reference": None})


def listed(names: tuple[str, ...], meanings: Mapping[str, str]) -> None:
    """The aspects by their letters, with what they mean where the study says it."""
    st.markdown("**Aspects**")
    for place, name in enumerate(names):
        meaning = f" · {plain(meanings[name])}" if meanings.get(name) else ""
        st.markdown(f"**{letter(place)}** {plain(name)}{meaning}")


def entered(standing: Label | None, names: tuple[str, ...], rated: Mapping[str, int]) -> dict[str, Any] | None:
    """What the panel starts with where a label stands: its weights in the order of the aspects, and the ratings."""
    if standing is None or not isinstance(standing.value, dict):
        return None
    given = standing.value
    return {"weights": {name: given[name] for name in names if name in given}, "ratings": dict(rated)}


def keep(session: Session, work: Work, did: desk.Did, target: Target) -> None:
    """Keep the weights, and the ratings beside them."""
    told: Any = did.value
    if not isinstance(told, dict) or not isinstance(told.get("weights"), dict):
        raise Problem("Move a slider first, or press E for equal weights.")
    where = (session, work.study.id, target, work.annotator)
    aspects.weigh(*where, told["weights"], reason=did.reason, seconds=did.seconds)
    aspects.rate(*where, told.get("ratings") or {})


chosen = shell.opened("Aspect weights", "Say blind how much each aspect counts; then see how the judges weighed them.")
work(chosen, shell.signed_in())
