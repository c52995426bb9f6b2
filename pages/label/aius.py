"""Judge critiques piece by piece: is each AIU factual, and is each of the reference critique's covered?"""

import json
from functools import partial

import streamlit as st

from core import critique_ratings
from core.aius import Add, Change, Merge, NotAtomic, Piece, Reword, Split
from core.items import Item
from core.labels import Target
from core.problems import Problem
from pages.label.parts import aius as desk
from pages.label.parts import labelling
from pages.label.parts.aius import Around, Did
from pages.parts import resources, shell
from pages.parts.text import plain, safe
from storage import aius, database
from storage import items as stored_items
from storage.database import Session
from storage.labelling import critique_queue, critique_workbench, queue
from storage.labelling.critique_queue import Place, Unit
from storage.labelling.critique_workbench import Sheet
from storage.studies import Study


def work(study: Study, annotator: str) -> None:
    """The queue, the critique, and everything that keys do."""
    scenario = chosen_scenario(study)

    @st.fragment
    def at_the_desk() -> None:
        with database.reading(resources.engine()) as session:
            places = critique_queue.queue(session, study.id, annotator, scenario)
        if not places:
            return nothing(study)
        unit = current(study, annotator, scenario, places)
        if unit is None:
            return finished(places, study)
        progress(places, unit)
        judged(study, annotator, scenario, places, unit)

    at_the_desk()
    shell.folds()


def chosen_scenario(study: Study) -> str | None:
    """Which critiques; the choice is in the address."""
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=240
        )
        labelling.guidelines(study)
    return chosen


def current(study: Study, annotator: str, scenario: str | None, places: list[Place]) -> Unit | None:
    """The critique in the address, else the next one with something left; what is shown is held for this annotator."""
    named = Unit(st.query_params.get("item", ""), st.query_params.get("of", ""))
    here = next((place for place in places if place.unit == named), None)
    if here is None and named.item and not named.critique:
        here = next((place for place in places if place.unit.item == named.item and not place.done), None)
    if here is None:
        return following(study, annotator, scenario)
    with database.writing(resources.engine()) as session:
        critique_queue.hold(session, study, annotator, here.targets)
    return here.unit


def following(study: Study, annotator: str, scenario: str | None, after: Unit | None = None) -> Unit | None:
    """Claim the next critique, and put it into the address."""
    with database.writing(resources.engine()) as session:
        found = critique_queue.claim(session, study, annotator, scenario=scenario, after=after)
    go_to(found)
    return found


def go_to(unit: Unit | None) -> None:
    """Put a critique into the address: it is shown next, and to whoever gets the link."""
    if unit is None:
        for name in ("item", "of"):
            st.query_params.pop(name, None)
    else:
        st.query_params.update(item=unit.item, of=unit.critique)


def nothing(study: Study) -> None:
    """No item here has a critique."""
    st.info("No item of this study has a critique. Import critiques, such as MetaCritique's annotation_data.json.")
    shell.offer_sample("label/aius.py", "metacritique")
    st.page_link(
        shell.page("setup/studies.py"),
        label="Import",
        icon=":material/upload_file:",
        query_params={"study": study.name},
    )


def finished(places: list[Place], study: Study) -> None:
    """Nothing is left for this annotator."""
    done = sum(place.done for place in places)
    st.success(f"Done: you have judged {done} of {len(places)} critiques.", icon=":material/check:")
    skipped = [place.unit for place in places if place.skipped and not place.done]
    if skipped and st.button(f"Go through the {len(skipped)} you skipped", key="again"):
        go_to(skipped[0])
        st.rerun()
    st.page_link(
        shell.page("results/critiques.py"),
        label="See whose critiques are best",
        icon=":material/rate_review:",
        query_params={"study": study.name},
    )
    if study.rules.overlap > 1:
        st.caption(f"Each AIU is judged by up to {study.rules.overlap} people; come back when there is more.")


def progress(places: list[Place], unit: Unit) -> None:
    """`7 of 12 critiques · AIUs 3 of 9 here · 1 skipped`."""
    here = next(place for place in places if place.unit == unit)
    done, skipped = sum(place.done for place in places), sum(place.skipped and not place.done for place in places)
    parts = [f"**{done} of {len(places)} critiques**", f"{here.labelled} of {len(here.targets)} AIUs of this one"]
    parts += [f"{skipped} skipped"] if skipped else []
    st.progress(done / len(places), text=" · ".join(parts))


def judged(study: Study, annotator: str, scenario: str | None, places: list[Place], unit: Unit) -> None:
    """The material above, the desk below. Who wrote the critique is not said: it should not matter."""
    here = next(index for index, place in enumerate(places) if place.unit == unit)
    with database.writing(resources.engine()) as session:
        sheet = critique_workbench.sheet(session, study, unit, annotator)
        note = queue.note(session, study.id, own_target(unit), annotator)
        edited = aius.last_edit(session, study.id, unit.item, annotator, unit.critique) is not None
        lacking = any(one is None or one.aius is None for one in (sheet.critique, sheet.reference))
        adopts = lacking and aius.adoptable(session, study.id, unit.item) is not None
    material(sheet)
    desk.show(
        sheet,
        Around(
            name=json.dumps([unit.item, unit.critique]),
            acknowledged=float(st.session_state.get("aius_acknowledged", 0.0)),
            problem=st.session_state.pop("aius_problem", ""),
            skipped=places[here].skipped,
            note=note,
            can={"previous": here > 0, "next": here + 1 < len(places), "undo": edited},
            waits=study.rules.reveal and sheet.has_judges,
            adopts=adopts,
        ),
        partial(carry_out, study, annotator, scenario, places),
    )


def material(sheet: Sheet) -> None:
    """Question, answer and reference answer, side by side."""
    item, about = sheet.item, sheet.item.responses
    st.caption(" · ".join(plain(part) for part in (item.id, item.scenario) if part))
    columns = st.columns(3, gap="medium")
    answer = about[sheet.critique.of - 1].text if sheet.critique.of <= len(about) else ""
    cards = (("Question", question(item)), ("Answer", answer), ("Reference answer", sheet.answer))
    for column, (title, text) in zip(columns, cards, strict=True):
        with column, st.container(key=f"card-{title.lower().replace(' ', '-')}"):
            st.caption(f"**{title}**")
            with st.container(key=f"fold-{title.lower().replace(' ', '-')}"):
                st.markdown(safe(text) if text else "*There is none yet.*")


def question(item: Item) -> str:
    """What was asked, after its context."""
    return f"{item.context}\n\n{item.prompt}" if item.context else item.prompt


def own_target(unit: Unit) -> Target:
    """Where the marks of a whole critique hang."""
    return critique_ratings.of_extraction(unit.item, unit.critique)


def carry_out(study: Study, annotator: str, scenario: str | None, places: list[Place], did: list[Did]) -> None:
    """Do what was done at the desk, each thing once, and go where the last of it leads."""
    for one in did:
        if one.number <= st.session_state.get("aius_acknowledged", 0.0):
            continue
        st.session_state["aius_acknowledged"] = one.number
        unit = Unit(*json.loads(one.unit))
        try:
            with database.writing(resources.engine()) as session:
                act(session, study, annotator, unit, one)
        except Problem as problem:
            st.session_state["aius_problem"] = str(problem)
            continue
        move(study, annotator, scenario, places, unit, one)


def act(session: Session, study: Study, annotator: str, unit: Unit, did: Did) -> None:
    """One thing, kept."""
    told = did.told
    match did.action:
        case "answer":
            target = Target.model_validate_json(told["key"])
            critique_workbench.answer(session, study, unit, annotator, target, told["value"], float(told["seconds"]))
            done().append([unit.item, unit.critique, told["key"]])
        case "split" | "merge" | "add" | "edit" | "not_atomic":
            aius.put(session, study.id, unit.item, annotator, change(did))
            done().append([unit.item, unit.critique, ""])
        case "adopt":
            critique_workbench.adopt(session, study, unit, annotator)
        case "undo":
            undo(session, study, annotator, unit, told.get("key"))
        case "flag":
            target = Target.model_validate_json(told["key"])
            queue.mark(session, study.id, target, annotator, "flag", on=bool(told["on"]))
        case "skip":
            queue.mark(session, study.id, own_target(unit), annotator, "skip", on=bool(told["on"]))
        case "note":
            text = str(told["text"]).strip()
            queue.mark(session, study.id, own_target(unit), annotator, "note", text=text, on=bool(text))


def change(did: Did) -> Change:
    """An edit as it was told; what the browser left out or made too long is a problem in words."""
    told = did.told
    lines = [str(line) for line in told.get("lines") or ()]
    at = tuple(int(edge) for edge in told["at"]) if told.get("at") else None
    try:
        match did.action:
            case "split":
                return Split(aiu=told["aiu"], into=tuple(Piece(text=line) for line in lines))
            case "merge":
                return Merge(aius=tuple(told["aius"]), piece=Piece(text=" ".join(lines)))
            case "add":
                return Add(critique=told["critique"], piece=Piece(text=" ".join(lines), at=at))
            case "edit":
                return Reword(aiu=told["aiu"], piece=Piece(text=" ".join(lines)))
            case _:
                return NotAtomic(aiu=told["aiu"], on=bool(told["on"]))
    except ValueError:
        raise Problem("An AIU is one sentence of at most 2,000 letters; a split makes 2 to 26 of them.") from None


def undo(session: Session, study: Study, annotator: str, unit: Unit, here: str | None) -> None:
    """Take back the last thing done to this critique in this visit; before that, the answer at hand, or an edit."""
    mine = [one for one in done() if one[:2] == [unit.item, unit.critique]]
    if mine:
        done().remove(mine[-1])
    key = mine[-1][2] if mine else here
    standing = {desk.name_of(q.target): q for q in critique_workbench.sheet(session, study, unit, annotator).questions}
    if key and key in standing and standing[key].own is not None:
        critique_workbench.answer(session, study, unit, annotator, standing[key].target, None, 0.0)
    else:
        aius.undo(session, study.id, unit.item, annotator, unit.critique)


def done() -> list[list[str]]:
    """What was answered and edited in this visit, in order: item, critique, and the answer's target or nothing."""
    kept: list[list[str]] = st.session_state.setdefault("aius_done", [])
    return kept


def move(study: Study, annotator: str, scenario: str | None, places: list[Place], unit: Unit, did: Did) -> None:
    """To the next critique, or to the neighbour that was asked for."""
    if did.action in ("previous", "next"):
        here = next(index for index, place in enumerate(places) if place.unit == unit)
        step = 1 if did.action == "next" else -1
        go_to(places[(here + step) % len(places)].unit)
    elif did.action == "done" or (did.action == "skip" and did.told["on"]):
        following(study, annotator, scenario, unit)


chosen = shell.opened(
    "AIUs", "Judge critiques piece by piece: is each AIU factual, and is each of the reference critique's covered?"
)
work(chosen, shell.signed_in())
