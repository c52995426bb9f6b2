"""The adoption of what runs generated, for many items: AIUs, critiques and reference answers become an item's own.

A later extraction can replace the adopted AIUs. An AIU that a person confirmed to be the same in other words keeps its
id and its text, and thereby its labels.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aiu_texts import AiuMatch, match_aius
from core.aius import Adopt, Change, Reextract, adds_something, apply_edits
from core.critiques import Aiu, Critique
from core.errors import TiebreakError
from core.items import Item
from core.protocols import registry
from core.trace import TurnCompleted
from storage.db import audit
from storage.db.tables import EventRow, ItemRow, TraceRow
from storage.runs import aius, runs
from storage.runs.events import parse_event
from storage.runs.runs import Run
from storage.studies import items, studies

CHUNK = 2_000
"""Rows fetched at once."""


@dataclass(frozen=True)
class Reextraction:
    """A critique whose current AIUs differ from those that a run extracted."""

    item: str
    critique: str
    old: tuple[Aiu, ...]
    new: tuple[Aiu, ...]

    def matches(self) -> list[AiuMatch]:
        """Return the pairs that may be the same, for a person to confirm."""
        return match_aius(self.old, self.new)

    def replacement(self, confirmed: Mapping[str, str]) -> tuple[Aiu, ...]:
        """Return the new AIUs; `confirmed` has new id -> old id of those that keep their id and text."""
        old = {aiu.id: aiu for aiu in self.old}
        return tuple(old[confirmed[aiu.id]] if aiu.id in confirmed else aiu for aiu in self.new)


def adopt_all(session: Session, study_id: int, annotator: str, run: str | None = None) -> int:
    """Adopt what runs generated for every item that lacks it, and return the number of items.

    Of several runs, the newest with something for an item counts; `run` selects one, from which critiques that it wrote
    are adopted too if the item has others. What exists is not overwritten.
    """
    studies.lock(session, study_id)
    edits = aius.edits_by_item(session, study_id)
    states = {item.id: (item, apply_edits(item, edits.get(item.id, ()))) for item in items.of_study(session, study_id)}
    lacking = {key: item for key, (item, state) in states.items() if run or state.lacks_aius()}
    changes: dict[str, Change] = {}
    for candidate in _runs(session, study_id, run):
        for key, adoption in _adoptions(session, candidate, lacking):
            if adds_something(states[key][1], adoption):
                changes[key] = adoption
        lacking = {key: item for key, item in lacking.items() if key not in changes}
    aius.save_changes(session, study_id, annotator, {key: [change] for key, change in changes.items()})
    audit.record_change(session, study_id, f"AIUs adopted for {len(changes)} items")
    return len(changes)


def reextractions(session: Session, study_id: int, run: str) -> list[Reextraction]:
    """Return the critiques whose current AIUs differ from those that a run extracted."""
    edits = aius.edits_by_item(session, study_id)
    criticised = {item.id: item for item in items.of_study(session, study_id) if item.critiques}
    found = []
    for candidate in _runs(session, study_id, run):
        for key, adoption in _adoptions(session, candidate, criticised):
            standing = {
                critique.id: critique for critique in apply_edits(criticised[key], edits.get(key, ())).critiques
            }
            found += [
                Reextraction(key, critique.id, own.aius, critique.aius)
                for critique in adoption.critiques
                if (own := standing.get(critique.id)) is not None and _differ(own, critique)
                if own.aius is not None and critique.aius is not None
            ]
    return found


def replace_aius(
    session: Session, study_id: int, annotator: str, run: str, confirmed: Mapping[tuple[str, str], Mapping[str, str]]
) -> int:
    """Replace the current AIUs of critiques by those that a run extracted; returns the number of critiques.

    `confirmed` has (item, critique) -> new id -> old id, for every critique to be replaced.
    """
    studies.lock(session, study_id)
    found = [
        reextraction
        for reextraction in reextractions(session, study_id, run)
        if (reextraction.item, reextraction.critique) in confirmed
    ]
    changes: dict[str, list[Change]] = defaultdict(list)
    for reextraction in found:
        replacement = reextraction.replacement(confirmed[reextraction.item, reextraction.critique])
        changes[reextraction.item].append(Reextract(run=run, critique=reextraction.critique, aius=replacement))
    aius.save_changes(session, study_id, annotator, changes)
    audit.record_change(session, study_id, f"AIUs of {len(found)} critiques replaced by those of run {run}")
    return len(found)


def _differ(own: Critique, extracted: Critique) -> bool:
    return {aiu.id for aiu in own.aius or ()} != {aiu.id for aiu in extracted.aius or ()}


def _runs(session: Session, study_id: int, name: str | None) -> list[Run]:
    """Return the runs with AIUs, newest first."""
    protocols = registry.with_artifact("aius")
    found = [run for run in runs.of_study(session, study_id) if run.protocol in protocols and name in (None, run.name)]
    if name is not None and not found:
        raise TiebreakError(f"The study has no run called {name!r} that splits critiques into AIUs.")
    return found


def _adoptions(session: Session, run: Run, by_key: Mapping[str, Item]) -> Iterator[tuple[str, Adopt]]:
    """Yield (item, what the run generated for it), for the items for which it generated something."""
    evaluated = aius.evaluated_items(session, run, by_key)
    query = (
        select(col(ItemRow.key), cast(col(EventRow.body), Text))
        .select_from(EventRow)
        .join(TraceRow, col(TraceRow.id) == col(EventRow.trace_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(EventRow.run_id) == run.id, col(EventRow.type) == "turn")
        .order_by(col(TraceRow.id), col(EventRow.seq))
        .execution_options(yield_per=CHUNK)
    )
    for key, rows in groupby(session.execute(query), key=lambda row: str(row[0])):
        events = [parse_event(body) for _, body in rows if key in by_key]
        turns = {event.ask: event.turn for event in events if isinstance(event, TurnCompleted)}
        adoption = aius.adoption(run, evaluated[key], turns) if turns else None
        if adoption is not None and adoption.critiques:
            yield key, adoption
