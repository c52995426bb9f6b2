"""Score responses on any criterion and its scale, by keys: blind first, then with what the judges made of them."""

import streamlit as st

from core.items import Criterion, Item
from core.labels import Scale, Target
from core.llm import images
from pages.label.parts import desk, labelling
from pages.label.parts.labelling import Work
from pages.parts import charts, items, resources, shell
from pages.parts.text import short
from storage import database
from storage import items as stored_items
from storage.labelling import queue, scorable_criteria
from storage.labelling.queue import Place, Queue
from storage.labelling.scorable_criteria import Offer
from storage.studies import Study

LONGEST = 90  # letters of a rubric line beside its key


def chosen_offer(study: Study, known: dict[Offer, Scale]) -> tuple[Offer, str | None]:
    """What is scored, and in which scenario; both are in the address."""
    names = {_named(offer, known): offer for offer in known}
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        name = st.selectbox("Criterion", list(names), key="criterion", bind="query-params", width=260)
        scenario = st.selectbox(
            "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=220
        )
        labelling.guidelines(study)
    return names.get(str(name)) or next(iter(names.values())), scenario


def _named(offer: Offer, known: dict[Offer, Scale]) -> str:
    """The criterion, and whether it is an answer where a score has the same one."""
    kind, criterion = offer
    return (criterion or "answer") if kind == "score" or ("score", criterion) not in known else f"{criterion} (answer)"


def nothing(study: Study) -> None:
    """No scale, so nothing to score on."""
    st.info(
        "This study has no criterion with a scale yet. Import scores, or start a ReFeR run on a criterion with a scale."
    )
    shell.offer_sample("label/scores.py", "refer")
    st.page_link(
        shell.page("setup/studies.py"),
        label="Import",
        icon=":material/upload_file:",
        query_params={"study": study.name},
    )
    st.page_link(
        shell.page("setup/runs.py"),
        label="Start a run",
        icon=":material/play_circle:",
        query_params={"study": study.name},
    )


def finished(places: list[Place], study: Study) -> None:
    """Nothing is left for this annotator."""
    if not places:
        st.info("There is no item here. Clear the scenario, or import some.")
        return
    tally = queue.tally(places)
    st.success(f"Done: you have scored {tally.labelled} of {tally.there} items.", icon=":material/check:")
    labelling.go_through_skipped(places)
    st.page_link(
        shell.page("results/agreement.py"),
        label="See the agreement",
        icon=":material/monitoring:",
        query_params={"study": study.name},
    )


def judged(work: Work, scale: Scale, target: Target, places: list[Place]) -> None:
    """The item on the left, the scale on the right, the judges' review below once the score stands."""
    with database.reading(resources.engine()) as session:
        whole = stored_items.get(session, work.study.id, target.item)
    standing = labelling.own(work, target)
    criterion = labelling.criterion_of(work.study, target)
    left, right = st.columns([2, 1], gap="large")
    with left:
        labelling.place_of(whole, target)
        items.show(part_of(whole, target), home=images.folder(work.study.name))
        if standing is not None and work.study.rules.reveal:
            labelling.reveal(work, target, whole)
    with right:
        labelling.answer(work, target, places, standing, question(target, scale), answers(scale, criterion))
        labelling.meaning(criterion)


def part_of(item: Item, target: Target) -> Item:
    """The item with the one response that the target is about, without its reference where that is the answer."""
    if target.kind == "answer":
        return item.model_copy(update={"reference": None})
    if not target.part:
        return item
    return item.model_copy(update={"responses": (item.responses[int(target.part) - 1],)})


def question(target: Target, scale: Scale) -> str:
    """What is asked, with the ends of the scale where any number between them will do."""
    ends = f", {scale.low:g} to {scale.high:g}" if scale.low is not None and scale.high is not None else ""
    if target.kind == "answer":
        return "What is the right answer?"
    return f"Which score for {target.criterion}{ends}?" if target.criterion else f"Which score{ends}?"


def answers(scale: Scale, criterion: Criterion) -> tuple[desk.Option, ...] | desk.Numbers:
    """A key for each value of the scale; a field for numbers where there are more than ten, or any between two ends."""
    values = scale.categories
    if not values or len(values) > 10:
        return desk.Numbers(
            scale.low if not values else min(v for v in values if isinstance(v, int | float)),
            scale.high if not values else max(v for v in values if isinstance(v, int | float)),
        )
    digits = all(isinstance(value, int) and 0 <= value <= 9 for value in values)
    lines = criterion.rubric if len(criterion.rubric) == len(values) else ("",) * len(values)
    return tuple(
        desk.Option(
            key=str(int(value)) if digits else str(place % 10),
            value=value,
            label=_label(value, line, said=digits),
            colour=charts.step(place - 1, len(values)),
        )
        for place, (value, line) in enumerate(zip(values, lines, strict=True), start=1)
    )


def _label(value: object, line: str, *, said: bool) -> str:
    """The rubric's line without the number that its key says already; the value where there is no line."""
    text = line.removeprefix(str(value)).lstrip(" :.-–—") if line else ""
    text = text[:1].upper() + text[1:]
    if not text:
        return str(value)
    return short(text if said else f"{value}: {text}", LONGEST)


study = shell.opened("Scores", "Score one response after the other, blind; then see what the judges made of it.")
name = shell.signed_in()
with database.reading(resources.engine()) as session:
    there = scorable_criteria.scales(session, study.id)
if not there:
    nothing(study)
else:
    (kind, on), scenario = chosen_offer(study, there)
    with database.writing(resources.engine()) as session:
        scorable_criteria.offer(session, study.id, kind, on, there[kind, on])
    labour = Work(study, name, Queue(study.id, kind, on, scenario, every=True))
    labelling.at_the_desk(
        labour,
        lambda target, places: judged(labour, there[kind, on], target, places),
        lambda places: finished(places, study),
    )
