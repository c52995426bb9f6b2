"""Decide what the judges could not agree on: blind first, then with the debate."""

from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from core.items import Criterion, Item
from core.labels import PREFERENCE, Label, Target
from core.problems import Problem
from pages.parts import desk, items, resources, shell, views
from pages.parts.text import plain, safe
from storage import assignments, database, labels, runs, studies, traces
from storage import items as stored_items
from storage.assignments import Place, Queue
from storage.studies import Study


def work(study: Study, annotator: str) -> None:
    """The desk: the queue, the item, the answer, and after a blind label the debate."""
    queue = chosen_queue(study)

    @st.fragment
    def at_the_desk() -> None:
        places = seen(queue, annotator, study)
        target = current(places, queue, annotator, study)
        if target is None:
            return finished(places, study)
        progress(places)
        judged(target, places, annotator, study, lambda did: carry_out(did, target, places, queue, annotator, study))

    at_the_desk()
    shell.folds()


def chosen_queue(study: Study) -> Queue:
    """Which disagreements; the choices are in the address."""
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
        criteria = sorted({run.criterion for run in runs.of_study(session, study.id) if run.criterion})
    with st.container(horizontal=True, key="queue", vertical_alignment="bottom"):
        criterion = st.selectbox(
            "Criterion", criteria, index=None, placeholder="all", key="criterion", bind="query-params", width=220
        )
        scenario = st.selectbox(
            "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params", width=220
        )
        if study.guidelines:
            with st.popover("Guidelines", icon=":material/menu_book:"):
                st.markdown(safe(study.guidelines))
    return Queue(study.id, "preference", criterion, scenario)


def seen(queue: Queue, annotator: str, study: Study) -> list[Place]:
    """The queue as this annotator has it."""
    with database.writing(resources.engine()) as session:
        return assignments.queue(session, queue, annotator, study.rules.overlap)


def current(places: list[Place], queue: Queue, annotator: str, study: Study) -> Target | None:
    """The target in the address, else the next one that is free; what is shown is held for this annotator."""
    item, on = st.query_params.get("item"), st.query_params.get("on")
    named = [place.target for place in places if place.target.item == item]
    here = next((target for target in named if on in (None, target.criterion)), None)
    if here is None:
        return following(queue, annotator, study)
    with database.writing(resources.engine()) as session:
        assignments.hold(session, study.id, here, annotator, study.rules.lease_minutes)
    return here


def following(queue: Queue, annotator: str, study: Study, after: Target | None = None) -> Target | None:
    """Claim the next free target, and put it into the address."""
    with database.writing(resources.engine()) as session:
        found = assignments.claim(
            session,
            queue,
            annotator,
            overlap=study.rules.overlap,
            minutes=study.rules.lease_minutes,
            after=after,
        )
    go_to(found)
    return found


def go_to(target: Target | None) -> None:
    """Put a target into the address: it is shown next, and to whoever gets the link."""
    if target is None:
        st.query_params.pop("item", None)
    else:
        st.query_params.update(item=target.item, on=target.criterion)


def finished(places: list[Place], study: Study) -> None:
    """Nothing is left for this annotator, and why."""
    if not places:
        st.info("No debate here needs a person: the judges agreed on all of them, or none has run yet.")
        st.page_link(shell.page("setup/runs.py"), label="Start a run", icon=":material/play_circle:")
        return
    tally = assignments.tally(places)
    st.success(f"Done: you have decided {tally.labelled} of {tally.there} disagreements.", icon=":material/check:")
    if tally.skipped and st.button(f"Go through the {tally.skipped} you skipped", key="again"):
        skipped = next(place.target for place in places if place.skipped and not place.labelled)
        go_to(skipped)
        st.rerun()
    st.page_link(shell.page("results/agreement.py"), label="See the agreement", icon=":material/monitoring:")
    if study.rules.overlap > 1:
        st.caption(f"Each debate is decided by up to {study.rules.overlap} people; come back when there are more.")


def progress(places: list[Place]) -> None:
    """`37 of 120 · 4 skipped · 2 flagged`."""
    tally = assignments.tally(places)
    parts = [f"**{tally.labelled} of {tally.there}**"]
    parts += [f"{tally.skipped} skipped"] if tally.skipped else []
    parts += [f"{tally.flagged} flagged"] if tally.flagged else []
    st.progress(tally.labelled / max(tally.there, 1), text=" · ".join(parts))


def judged(target: Target, places: list[Place], annotator: str, study: Study, do: Callable[[desk.Did], None]) -> None:
    """What is judged on the left, the answer on the right, the debate below once the label stands."""
    with database.reading(resources.engine()) as session:
        item = stored_items.get(session, study.id, target.item)
        standing = labels.own(session, study.id, target, annotator)
        criterion = next(
            (c for c in studies.criteria(session, study.id) if c.name == target.criterion),
            Criterion(name=target.criterion),
        )
    left, right = st.columns([2, 1], gap="large")
    with left:
        place = " · ".join(plain(part) for part in (item.id, item.scenario, target.criterion) if part)
        st.caption(place)
        items.show(item)
        if standing is not None and study.rules.reveal:
            reveal(target, item, annotator, study)
    with right:
        answer(target, places, standing, annotator, study, do)
        if criterion.definition or criterion.rubric:
            with st.expander(f"What {plain(criterion.name)} means"):
                items.criterion(criterion)


def answer(
    target: Target,
    places: list[Place],
    standing: Label | None,
    annotator: str,
    study: Study,
    do: Callable[[desk.Did], None],
) -> None:
    """The panel, filled with the label that stands, else with the draft."""
    with database.reading(resources.engine()) as session:
        draft = assignments.draft(session, study.id, target, annotator)
        note = assignments.note(session, study.id, target, annotator)
    here = next((i for i, place in enumerate(places) if place.target == target), 0)
    place = places[here]
    revealed = standing is not None and study.rules.reveal
    desk.panel(
        target,
        f"Which response is better in {target.criterion}?" if target.criterion else "Which response is better?",
        desk.PREFERENCES,
        entered(standing, draft),
        version=len(done()),
        revealed=revealed,
        can={"previous": here > 0, "next": here + 1 < len(places), "undo": any(p.labelled for p in places)},
        flagged=place.flagged,
        skipped=place.skipped,
        note=note,
        saved=saved(standing, draft),
        do=do,
    )


def entered(standing: Label | None, draft: assignments.Draft | None) -> desk.Entered:
    """What the panel starts with."""
    if draft is not None and (standing is None or standing.at is None or draft.at > standing.at):
        return desk.Entered(draft.body.get("value"), str(draft.body.get("reason", "")), draft.at.timestamp() * 1000)
    if standing is not None:
        since = standing.at.timestamp() * 1000 if standing.at else 0.0
        return desk.Entered(standing.value, standing.reason, since)
    return desk.Entered()


def saved(standing: Label | None, draft: assignments.Draft | None) -> str:
    """`saved 12:04`, in the reader's own time."""
    if standing is not None and standing.at is not None:
        return f"submitted {clock(standing.at)}"
    return f"draft saved {clock(draft.at)}" if draft is not None else ""


def clock(moment: datetime) -> str:
    """Hours and minutes where the reader is."""
    from zoneinfo import ZoneInfo

    zone = st.context.timezone
    return moment.astimezone(ZoneInfo(zone) if zone else UTC).strftime("%H:%M")


def reveal(target: Target, item: Item, annotator: str, study: Study) -> None:
    """The debates about this target; from now on the annotator's labels of it are not blind."""
    with database.writing(resources.engine()) as session:
        labels.see(session, study.id, target, annotator)
        found = traces.of_target(session, study.id, target)
    for trace in found:
        st.divider()
        with database.reading(resources.engine()) as session:
            events = traces.events(session, trace.id)
            run = runs.get(session, trace.run_id)
        st.subheader(f"What the judges said · {plain(trace.run)}", anchor=False)
        views.show(trace, item, events, run.settings, live=False)


def carry_out(did: desk.Did, target: Target, places: list[Place], queue: Queue, annotator: str, study: Study) -> None:
    """Do what was done at the desk, and go where it leads."""
    here = next(place for place in places if place.target == target)
    with database.writing(resources.engine()) as session:
        match did.action:
            case "draft":
                body = {"value": did.value, "reason": did.reason}
                return assignments.save_draft(session, study.id, target, annotator, body)
            case "submit":
                submit(session, did, target, annotator, study)
            case "skip" | "flag":
                on = not (here.skipped if did.action == "skip" else here.flagged)
                assignments.mark(session, study.id, target, annotator, did.action, on=on)
            case "note":
                assignments.mark(session, study.id, target, annotator, "note", text=did.note, on=bool(did.note))
            case "undo":
                return undo(session, here, places, annotator, study)
    go_on(did, here, places, queue, annotator, study)


def submit(session, did: desk.Did, target: Target, annotator: str, study: Study) -> None:
    """Keep the label; the value is checked here, whatever the browser said."""
    if did.value is None or not PREFERENCE.holds(did.value):
        raise Problem("A preference is 1, 2 or 0.")
    labels.put(session, study.id, target, annotator, did.value, reason=did.reason, seconds=did.seconds)
    done().append(desk.name_of(target))


def undo(session, here: Place, places: list[Place], annotator: str, study: Study) -> None:
    """Take back the label of what is shown, else the last one that was given here."""
    given = [place.target for name in reversed(done()) for place in places if desk.name_of(place.target) == name]
    back = here.target if here.labelled else next(iter(given), None)
    if back is None:
        return
    labels.put(session, study.id, back, annotator, None, reason="undo")
    done().append("")  # what stands in the browser is no longer what stands here
    go_to(back)


def done() -> list[str]:
    """The targets submitted in this visit, in order; its length tells the panel that something changed."""
    submitted: list[str] = st.session_state.setdefault("done", [])
    return submitted


def go_on(did: desk.Did, here: Place, places: list[Place], queue: Queue, annotator: str, study: Study) -> None:
    """Stay for the reveal; otherwise to the next target, or to the neighbour that was asked for."""
    stays = study.rules.reveal and not here.labelled
    if did.action in ("previous", "next"):
        step = 1 if did.action == "next" else -1
        return go_to(places[(places.index(here) + step) % len(places)].target)
    leaves = {"submit": not stays, "keep": True, "skip": not here.skipped}
    if leaves.get(did.action, False):
        following(queue, annotator, study, here.target)


chosen = shell.opened("Disagreements", "Decide blind what the judges could not agree on; then see why they did not.")
work(chosen, shell.signed_in())
