"""Label the AIUs of critiques: is each factual, and is each of the reference critique covered?"""

import json
from functools import partial

import streamlit as st

from core import critique_ratings
from core.aius import Add, Change, Merge, NotAtomic, Piece, Reword, Split
from core.items import Item
from core.labels import Target
from core.problems import Problem
from pages.label.parts import aius as desk
from pages.label.parts import completion
from pages.label.parts.aius import Around, Did
from pages.parts import resources, shell
from pages.parts.text import escape_markdown, sanitize_markdown
from storage import aius, database
from storage import items as stored_items
from storage.database import Session
from storage.labelling import critique_queue, critique_workbench, queue
from storage.labelling.critique_queue import CritiqueEntry, CritiqueKey
from storage.labelling.critique_workbench import CritiqueTask
from storage.studies import Study


def draw_page(study: Study, annotator: str) -> None:
    """Draw the queue and the current critique."""
    scenario = choose_scenario(study)

    @st.fragment
    def draw_workbench() -> None:
        with database.reading(resources.engine()) as session:
            entries = critique_queue.entries(session, study.id, annotator, scenario)
        if not entries:
            return empty_state(study)
        critique = current_critique(study, annotator, scenario, entries)
        if critique is None:
            return draw_finished(entries, study)
        draw_progress(entries, critique)
        draw_critique(study, annotator, scenario, entries, critique)

    draw_workbench()
    shell.fold_long_texts()


def choose_scenario(study: Study) -> str | None:
    """Draw the choice of a scenario, which is in the address."""
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        scenario = st.selectbox(
            "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=240
        )
        if study.guidelines:
            with st.popover("Guidelines", icon=":material/menu_book:"):
                st.markdown(sanitize_markdown(study.guidelines))
    return scenario


def current_critique(
    study: Study, annotator: str, scenario: str | None, entries: list[CritiqueEntry]
) -> CritiqueKey | None:
    """Return the critique in the address, else the next unfinished one; it is leased to this annotator."""
    requested = CritiqueKey(st.query_params.get("item", ""), st.query_params.get("of", ""))
    entry = next((candidate for candidate in entries if candidate.key == requested), None)
    if entry is None and requested.item and not requested.critique:
        entry = next(
            (candidate for candidate in entries if candidate.key.item == requested.item and not candidate.done), None
        )
    if entry is None:
        return claim_next(study, annotator, scenario)
    with database.writing(resources.engine()) as session:
        critique_queue.extend_leases(session, study, annotator, entry.targets)
    return entry.key


def claim_next(
    study: Study, annotator: str, scenario: str | None, after: CritiqueKey | None = None
) -> CritiqueKey | None:
    """Claim the next critique, and write it to the address."""
    with database.writing(resources.engine()) as session:
        critique = critique_queue.claim_next(session, study, annotator, scenario=scenario, after=after)
    open_critique(critique)
    return critique


def open_critique(critique: CritiqueKey | None) -> None:
    """Write a critique to the address, so that it is drawn next and a link opens it."""
    if critique is None:
        for name in ("item", "of"):
            st.query_params.pop(name, None)
    else:
        st.query_params.update(item=critique.item, of=critique.critique)


def empty_state(study: Study) -> None:
    """Draw what to do where no item has a critique."""
    st.info("This study has no critiques. Import critiques, such as MetaCritique's annotation_data.json.")
    shell.link_sample("label/aius.py", "metacritique")
    st.page_link(
        shell.page_path("setup/studies.py"),
        label="Import",
        icon=":material/upload_file:",
        query_params={"study": study.name},
    )


def draw_finished(entries: list[CritiqueEntry], study: Study) -> None:
    """Draw what to do when no critique is left for this annotator."""
    done_count = sum(entry.done for entry in entries)
    completion.draw_completion(done_count, len(entries), "critique")
    skipped_critiques = [entry.key for entry in entries if entry.skipped and not entry.done]
    if skipped_critiques and st.button(f"Label {len(skipped_critiques)} skipped", key="again"):
        open_critique(skipped_critiques[0])
        st.rerun()
    st.page_link(
        shell.page_path("results/critiques.py"),
        label="Results: critiques",
        icon=":material/rate_review:",
        query_params={"study": study.name},
    )
    if study.rules.overlap > 1:
        st.caption(f"Each AIU is labelled by up to {study.rules.overlap} annotators. New ones appear here.")


def draw_progress(entries: list[CritiqueEntry], critique: CritiqueKey) -> None:
    """Draw `7 of 12 critiques · 3 of 9 AIUs of this one · 1 skipped`."""
    entry = next(other for other in entries if other.key == critique)
    done_count = sum(other.done for other in entries)
    skipped = sum(other.skipped and not other.done for other in entries)
    parts = [
        f"**{done_count} of {len(entries)} critiques**",
        f"{entry.labelled} of {len(entry.targets)} AIUs of this one",
    ]
    parts += [f"{skipped} skipped"] if skipped else []
    st.progress(done_count / len(entries), text=" · ".join(parts))


def draw_critique(
    study: Study, annotator: str, scenario: str | None, entries: list[CritiqueEntry], critique: CritiqueKey
) -> None:
    """Draw the item above and the workbench below; the author of the critique is hidden, to avoid bias."""
    index = next(index for index, entry in enumerate(entries) if entry.key == critique)
    with database.writing(resources.engine()) as session:
        task = critique_workbench.load_task(session, study, critique, annotator)
        note = queue.current_note(session, study.id, extraction_target(critique), annotator)
        can_undo = aius.last_edit(session, study.id, critique.item, annotator, critique.critique) is not None
        is_incomplete = any(part is None or part.aius is None for part in (task.critique, task.reference))
        can_adopt = is_incomplete and aius.find_adoptable(session, study.id, critique.item) is not None
    draw_material(task)
    desk.show(
        task,
        Around(
            name=json.dumps([critique.item, critique.critique]),
            acknowledged=float(st.session_state.get("aius_acknowledged", 0.0)),
            problem=st.session_state.pop("aius_problem", ""),
            skipped=entries[index].skipped,
            note=note,
            can={"previous": index > 0, "next": index + 1 < len(entries), "undo": can_undo},
            waits=study.rules.reveal and task.has_judges,
            adopts=can_adopt,
        ),
        partial(handle_actions, study, annotator, scenario, entries),
    )


def draw_material(task: CritiqueTask) -> None:
    """Draw question, answer and reference answer side by side."""
    item, responses = task.item, task.item.responses
    st.caption(" · ".join(escape_markdown(part) for part in (item.id, item.scenario) if part))
    columns = st.columns(3, gap="medium")
    answer = responses[task.critique.of - 1].text if task.critique.of <= len(responses) else ""
    cards = (("Question", question_text(item)), ("Answer", answer), ("Reference answer", task.answer))
    for column, (title, text) in zip(columns, cards, strict=True):
        with column, st.container(key=f"card-{title.lower().replace(' ', '-')}"):
            st.caption(f"**{title}**")
            with st.container(key=f"fold-{title.lower().replace(' ', '-')}"):
                st.markdown(sanitize_markdown(text) if text else "*(none)*")


def question_text(item: Item) -> str:
    """Return the prompt after its context."""
    return f"{item.context}\n\n{item.prompt}" if item.context else item.prompt


def extraction_target(critique: CritiqueKey) -> Target:
    """Return the target that holds the marks of a whole critique."""
    return critique_ratings.extraction_target(critique.item, critique.critique)


def handle_actions(
    study: Study, annotator: str, scenario: str | None, entries: list[CritiqueEntry], actions: list[Did]
) -> None:
    """Apply the actions that the browser sent, each once, and navigate.

    The browser sends an action again until it is acknowledged by its number.
    """
    for action in actions:
        if action.number <= st.session_state.get("aius_acknowledged", 0.0):
            continue
        st.session_state["aius_acknowledged"] = action.number
        critique = CritiqueKey(*json.loads(action.unit))
        try:
            with database.writing(resources.engine()) as session:
                apply_action(session, study, annotator, critique, action)
        except Problem as problem:
            st.session_state["aius_problem"] = str(problem)
            continue
        navigate(study, annotator, scenario, entries, critique, action)


def apply_action(session: Session, study: Study, annotator: str, critique: CritiqueKey, action: Did) -> None:
    """Store one action."""
    data = action.told
    match action.action:
        case "answer":
            target = Target.model_validate_json(data["key"])
            critique_workbench.save_answer(
                session, study, critique, annotator, target, data["value"], float(data["seconds"])
            )
            actions_done().append([critique.item, critique.critique, data["key"]])
        case "split" | "merge" | "add" | "edit" | "not_atomic":
            aius.save_edit(session, study.id, critique.item, annotator, parse_edit(action))
            actions_done().append([critique.item, critique.critique, ""])
        case "adopt":
            critique_workbench.adopt_from_run(session, study, critique, annotator)
        case "undo":
            undo_last(session, study, annotator, critique, data.get("key"))
        case "flag":
            target = Target.model_validate_json(data["key"])
            queue.set_mark(session, study.id, target, annotator, "flag", on=bool(data["on"]))
        case "skip":
            queue.set_mark(session, study.id, extraction_target(critique), annotator, "skip", on=bool(data["on"]))
        case "note":
            text = str(data["text"]).strip()
            queue.set_mark(session, study.id, extraction_target(critique), annotator, "note", text=text, on=bool(text))


def parse_edit(action: Did) -> Change:
    """Return the edit that an action describes; raises Problem where its text is missing or too long."""
    data = action.told
    lines = [str(line) for line in data.get("lines") or ()]
    span = (int(data["at"][0]), int(data["at"][1])) if data.get("at") else None
    try:
        match action.action:
            case "split":
                return Split(aiu=data["aiu"], into=tuple(Piece(text=line) for line in lines))
            case "merge":
                return Merge(aius=tuple(data["aius"]), piece=Piece(text=" ".join(lines)))
            case "add":
                return Add(critique=data["critique"], piece=Piece(text=" ".join(lines), at=span))
            case "edit":
                return Reword(aiu=data["aiu"], piece=Piece(text=" ".join(lines)))
            case _:
                return NotAtomic(aiu=data["aiu"], on=bool(data["on"]))
    except ValueError:
        raise Problem("An AIU is one sentence of at most 2,000 characters. A split makes 2 to 26 of them.") from None


def undo_last(session: Session, study: Study, annotator: str, critique: CritiqueKey, current_key: str | None) -> None:
    """Undo the last action on this critique in this visit, else the current answer, else the last edit."""
    place = [critique.item, critique.critique]
    critique_actions = [done_action for done_action in actions_done() if done_action[:2] == place]
    if critique_actions:
        actions_done().remove(critique_actions[-1])
    key = critique_actions[-1][2] if critique_actions else current_key
    questions_by_key = {
        desk.name_of(q.target): q for q in critique_workbench.load_task(session, study, critique, annotator).questions
    }
    if key and key in questions_by_key and questions_by_key[key].value is not None:
        critique_workbench.save_answer(session, study, critique, annotator, questions_by_key[key].target, None, 0.0)
    else:
        aius.undo(session, study.id, critique.item, annotator, critique.critique)


def actions_done() -> list[list[str]]:
    """Return the answers and edits of this visit in order: item, critique, and the target of an answer or ""."""
    actions: list[list[str]] = st.session_state.setdefault("aius_done", [])
    return actions


def navigate(
    study: Study, annotator: str, scenario: str | None, entries: list[CritiqueEntry], critique: CritiqueKey, action: Did
) -> None:
    """Open the next critique, or the requested neighbour."""
    if action.action in ("previous", "next"):
        index = next(index for index, entry in enumerate(entries) if entry.key == critique)
        step = 1 if action.action == "next" else -1
        open_critique(entries[(index + step) % len(entries)].key)
    elif action.action == "done" or (action.action == "skip" and action.told["on"]):
        claim_next(study, annotator, scenario, critique)


study = shell.draw_header(
    "AIUs", "Label the AIUs of critiques: is each one factual, and does the critique cover each one of the reference?"
)
draw_page(study, shell.require_annotator())
