"""What every label page shares: its queue, the target that is held, drafts, and where each key leads.

A page says what is in its queue, how a target is drawn and what can be answered; the rest is here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from core.items import Criterion, Item
from core.labels import Label, Target
from core.problems import Problem
from pages.label.parts import desk
from pages.parts import items, resources, shell
from pages.parts.text import escape_markdown, sanitize_markdown
from pages.watch.parts import views
from storage import database, labels, runs, studies, traces
from storage.database import Session
from storage.labelling import queue as assignments
from storage.labelling.queue import Queue, QueueEntry
from storage.studies import Study


@dataclass(frozen=True)
class Work:
    """Who labels what."""

    study: Study
    annotator: str
    queue: Queue
    keep: "Callable[[Session, Work, desk.Did, Target], None] | None" = None
    """How a submitted answer is kept, where it is more than one label of the target."""


Draw = Callable[[Target, list[QueueEntry]], None]
"""Draws one target and its answer."""


def at_the_desk(work: Work, draw: Draw, finished: Callable[[list[QueueEntry]], None]) -> None:
    """The queue's progress and the target at hand, drawn again after every key; `finished` where nothing is left."""

    @st.fragment
    def desk_of() -> None:
        places = seen(work)
        target = current(work, places)
        if target is None:
            return finished(places)
        progress(places)
        draw(target, places)

    desk_of()
    shell.fold_long_texts()


def guidelines(study: Study) -> None:
    """The study's guidelines, one click away."""
    if study.guidelines:
        with st.popover("Guidelines", icon=":material/menu_book:"):
            st.markdown(sanitize_markdown(study.guidelines))


def seen(work: Work) -> list[QueueEntry]:
    """The queue as this annotator has it."""
    with database.writing(resources.engine()) as session:
        return assignments.entries(session, work.queue, work.annotator, work.study.rules.overlap)


def current(work: Work, places: list[QueueEntry]) -> Target | None:
    """The target in the address, else the next one that is free; what is shown is held for this annotator."""
    told = st.query_params
    named = [place.target for place in places if place.target.item == told.get("item")]
    named = [target for target in named if told.get("on") in (None, "", target.criterion)]
    here = next((target for target in named if told.get("part") in (None, target.part)), None)
    if here is None or not taken(work, here):
        return following(work)
    return here


def taken(work: Work, target: Target) -> bool:
    """Hold what the address asks for; say so where enough others have it."""
    rules = work.study.rules
    with database.writing(resources.engine()) as session:
        mine = assignments.claim_target(
            session, work.queue, target, work.annotator, overlap=rules.overlap, minutes=rules.lease_minutes
        )
    if not mine:
        st.caption(
            f":material/group: {rules.overlap} people have {escape_markdown(target.item)} already; here is another one."
        )
    return mine


def following(work: Work, after: Target | None = None) -> Target | None:
    """Claim the next free target, and put it into the address."""
    rules = work.study.rules
    with database.writing(resources.engine()) as session:
        found = assignments.claim_next(
            session, work.queue, work.annotator, overlap=rules.overlap, minutes=rules.lease_minutes, after=after
        )
    go_to(found)
    return found


def go_to(target: Target | None) -> None:
    """Put a target into the address: it is shown next, and to whoever gets the link."""
    stale = ["item", "part"] if target is None else ["part"] * (not target.part)
    for name in stale:
        st.query_params.pop(name, None)
    if target is not None:
        part = {"part": target.part} if target.part else {}
        st.query_params.update(item=target.item, on=target.criterion, **part)


def progress(places: list[QueueEntry]) -> None:
    """`37 of 120 · 4 skipped · 2 flagged`."""
    tally = assignments.count_progress(places)
    parts = [f"**{tally.labelled} of {tally.total}**"]
    parts += [f"{tally.skipped} skipped"] if tally.skipped else []
    parts += [f"{tally.flagged} flagged"] if tally.flagged else []
    st.progress(tally.labelled / max(tally.total, 1), text=" · ".join(parts))


def go_through_skipped(places: list[QueueEntry]) -> None:
    """A button that leads back to what was skipped, where something was."""
    skipped = [place.target for place in places if place.skipped and not place.labelled]
    if skipped and st.button(f"Go through the {len(skipped)} you skipped", key="again"):
        go_to(skipped[0])
        st.rerun()


def criterion_of(study: Study, target: Target) -> Criterion:
    """The criterion of a target in the study's words; a bare name where it has none."""
    with database.reading(resources.engine()) as session:
        known = studies.criteria(session, study.id)
    return next((one for one in known if one.name == target.criterion), Criterion(name=target.criterion))


def own(work: Work, target: Target) -> Label | None:
    """The annotator's standing label of a target."""
    with database.reading(resources.engine()) as session:
        return labels.current(session, work.study.id, target, work.annotator)


def place_of(item: Item, target: Target) -> None:
    """`item 17 · brainstorming · helpfulness`."""
    st.caption(" · ".join(escape_markdown(part) for part in (item.id, item.scenario, target.criterion) if part))


def answer(
    work: Work,
    target: Target,
    places: list[QueueEntry],
    standing: Label | None,
    question: str,
    options: Sequence[desk.Option] | desk.Numbers | desk.Own,
    value: Any = None,
) -> None:
    """The panel, filled with the label that stands, else with the draft.

    `value` is what stands, where the panel's answer is more than the label's value.
    """
    with database.reading(resources.engine()) as session:
        draft = assignments.find_draft(session, work.study.id, target, work.annotator)
        note = assignments.current_note(session, work.study.id, target, work.annotator)
    here = next((i for i, place in enumerate(places) if place.target == target), 0)
    place = places[here]
    desk.panel(
        target,
        question,
        options,
        entered(standing, draft, value),
        version=len(done()),
        revealed=standing is not None and work.study.rules.reveal,
        can={"previous": here > 0, "next": here + 1 < len(places), "undo": any(p.labelled for p in places)},
        flagged=place.flagged,
        skipped=place.skipped,
        note=note,
        saved=saved(standing, draft),
        do=lambda did: carry_out(work, did, target, places),
    )


def meaning(criterion: Criterion) -> None:
    """What the criterion means, folded."""
    if criterion.definition or criterion.rubric:
        with st.expander(f"What {escape_markdown(criterion.name)} means"):
            items.draw_criterion(criterion)


def entered(standing: Label | None, draft: assignments.Draft | None, value: Any = None) -> desk.Entered:
    """What the panel starts with."""
    if draft is not None and (standing is None or standing.at is None or draft.at > standing.at):
        return desk.Entered(draft.body.get("value"), str(draft.body.get("reason", "")), draft.at.timestamp() * 1000)
    if standing is not None:
        since = standing.at.timestamp() * 1000 if standing.at else 0.0
        return desk.Entered(standing.value if value is None else value, standing.reason, since)
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


def reveal(work: Work, target: Target, item: Item) -> None:
    """The traces about this target; from now on the annotator's labels of it are not blind."""
    with database.writing(resources.engine()) as session:
        labels.record_view(session, work.study.id, target, work.annotator)
        found = traces.of_target(session, work.study.id, target)
        # A trace shows all its opinions, so labels of its other criteria are not blind from now on either.
        for other in [judged for trace in found for judged in traces.judged_targets(session, trace.id)]:
            labels.record_view(session, work.study.id, other, work.annotator)
    for trace in found:
        st.divider()
        with database.reading(resources.engine()) as session:
            events = traces.events(session, trace.id)
            run = runs.get(session, trace.run_id)
        st.subheader(f"What the judges said · {escape_markdown(trace.run)}", anchor=False)
        views.render(trace, item, events, run.settings, live=False)


def carry_out(work: Work, did: desk.Did, target: Target, places: list[QueueEntry]) -> None:
    """Do what was done at the desk, and go where it leads."""
    here = next(place for place in places if place.target == target)
    study, annotator = work.study, work.annotator
    with database.writing(resources.engine()) as session:
        match did.action:
            case "draft":
                body = {"value": did.value, "reason": did.reason}
                return assignments.save_draft(session, study.id, target, annotator, body)
            case "submit":
                (work.keep or put)(session, work, did, target)
                done().append(desk.name_of(target))
            case "skip" | "flag":
                on = not (here.skipped if did.action == "skip" else here.flagged)
                assignments.set_mark(session, study.id, target, annotator, did.action, on=on)
            case "note":
                assignments.set_mark(session, study.id, target, annotator, "note", text=did.note, on=bool(did.note))
            case "undo":
                return undo(session, work, here, places)
    go_on(work, did, here, places)


def put(session: Session, work: Work, did: desk.Did, target: Target) -> None:
    """Keep the label; storage checks the value against its scale, whatever the browser said."""
    if did.value is None:
        raise Problem("Choose an answer first.")
    labels.save(session, work.study.id, target, work.annotator, did.value, reason=did.reason, seconds=did.seconds)


def undo(session: Session, work: Work, here: QueueEntry, places: list[QueueEntry]) -> None:
    """Take back the label of what is shown, else the last one that was given here."""
    given = [place.target for name in reversed(done()) for place in places if desk.name_of(place.target) == name]
    back = here.target if here.labelled else next(iter(given), None)
    if back is None:
        return
    labels.save(session, work.study.id, back, work.annotator, None, reason="undo")
    done().append("")  # what stands in the browser is no longer what stands here
    go_to(back)


def done() -> list[str]:
    """The targets submitted in this visit, in order; its length tells the panel that something changed."""
    submitted: list[str] = st.session_state.setdefault("done", [])
    return submitted


def go_on(work: Work, did: desk.Did, here: QueueEntry, places: list[QueueEntry]) -> None:
    """Stay for the reveal; otherwise to the next target, or to the neighbour that was asked for."""
    stays = work.study.rules.reveal and not here.labelled
    if did.action in ("previous", "next"):
        return go_to(neighbour(here, places, did.action == "next"))
    leaves = {"submit": not stays, "keep": True, "skip": not here.skipped}
    if leaves.get(did.action, False):
        following(work, here.target)


def neighbour(here: QueueEntry, places: Sequence[QueueEntry], forward: bool) -> Target:
    """The nearest target on that side that has a place for this annotator; what is shown, where there is none."""
    at = places.index(here)
    side = places[at + 1 :] if forward else places[:at][::-1]
    return next((place.target for place in side if place.labelled or not place.full), here.target)
