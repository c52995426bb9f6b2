"""The inputs of a run: the standing references and aspects of items, and the examples of simulated annotators.

References and aspects are what a new run judges by. Annotators' edits replace what was imported. They are stored with
those of AIUs (`core.aius`), so every run has the inputs of its start.

The examples of simulated annotators (arXiv 2407.18370) are what annotators decided on development items. They are
chosen when a run is created and stored with its settings. Held-out items are never among them. One example more than
are shown is stored of each annotator, so the item that is judged can be left out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from random import Random
from typing import Any

from sqlalchemy import Select, Text, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aius import (
    Adopt,
    AiuMatch,
    Change,
    Edit,
    Reextract,
    SetAspects,
    SetReference,
    active_edits,
    adds_something,
    apply_edits,
    match_aius,
)
from core.critiques import Aiu
from core.errors import TiebreakError
from core.frozen import Frozen
from core.improvement.suggestion import Case, example_text
from core.items import Item
from core.labels import Label, Target
from core.protocols import registry
from core.trace import TurnCompleted
from core.wording import format_count
from storage.db import audit
from storage.db.columns import START, Page, read_page
from storage.db.tables import EventRow, ItemPartRow, ItemRow, TraceRow
from storage.labels import labels
from storage.runs import aius, runs, search
from storage.runs.aspects import parse_settings
from storage.runs.events import parse_event, turns_by_trace
from storage.studies import items, studies

IMPORTED = "imported"
# Items with a text in their stored form that are read at once.
PRESELECTED = 500
# Turns that are fetched at once.
CHUNK = 2_000
# The step of the asks in which a judge proposes the aspects of an item.
ASPECTS_STEP = "aspects"


@dataclass(frozen=True)
class StandingInput:
    """The reference and the aspects of an item, and who gave them: a name, IMPORTED, or "" for none."""

    item: str
    prompt: str
    reference: str | None
    aspects: tuple[str, ...]
    reference_by: str
    aspects_by: str


@dataclass(frozen=True)
class Input:
    """The reference and the aspects that an item shall have; None leaves them as they are, "" and () are none."""

    reference: str | None = None
    aspects: tuple[str, ...] | None = None


def standing(session: Session, study_id: int) -> list[StandingInput]:
    """Return the standing inputs of every item, in the order of the study."""
    edits = aius.edits_by_item(session, study_id)
    return [_standing(item, edits.get(item.id, [])) for item in items.of_study(session, study_id)]


def page(session: Session, study_id: int, text: str = "", *, after: int, size: int) -> Page[StandingInput]:
    """Return the page that begins after an item of the items with a text in their name or prompt; case is ignored.

    They are in the order of the study. Without a text it is a page of all items.
    """

    def read(after: int, limit: int, backwards: bool) -> list[int]:
        position = col(ItemRow.position)
        query = select(col(ItemRow.id)).where(col(ItemRow.study_id) == study_id)
        query = query.order_by(position.desc() if backwards else position)
        if after != START:
            place = select(position).where(col(ItemRow.id) == after).scalar_subquery()
            query = query.where(position < place if backwards else position > place)
        return _with_text(session, query, text, limit) if text else list(session.scalars(query.limit(limit)))

    found = read_page(read, after, size)
    by_id = items.by_ids(session, found.rows)
    edits = aius.edits_by_item(session, study_id, [item.id for item in by_id.values()])
    standing = [_standing(by_id[id], edits.get(by_id[id].id, [])) for id in found.rows]
    return found.with_rows(standing)


def _with_text(session: Session, query: Select[int], text: str, limit: int) -> list[int]:
    """Return the first items with a text in their name or prompt; the database preselects them."""
    body, wanted = cast(col(ItemRow.body), Text), text.casefold()
    query = query.where(search.contains(session, body, text, in_json=True))
    texts = query.add_columns(col(ItemRow.key), col(ItemRow.body)["prompt"].as_string())
    rows = session.execute(texts.execution_options(yield_per=PRESELECTED))
    return list(islice((id for id, *found in rows if any(wanted in one.casefold() for one in found)), limit))


def save(session: Session, study_id: int, annotator: str, wanted: Mapping[str, Input], run: str = "") -> int:
    """Store the inputs that differ from the standing ones; returns the number of changed items.

    Raises TiebreakError for an item that the study does not have.
    """
    studies.lock(session, study_id)
    edits = aius.edits_by_item(session, study_id)
    found = items.by_keys(session, study_id, wanted)
    changes: dict[str, list[Change]] = {}
    for key, input in wanted.items():
        if key not in found:
            raise TiebreakError(f"There is no item {key!r} in this study.")
        if own := _changes(_standing(found[key], edits.get(key, [])), input, run):
            changes[key] = own
    aius.save_changes(session, study_id, annotator, changes)
    audit.record_change(session, study_id, f"inputs of {len(changes)} items")
    return len(changes)


def adopt_aspects(session: Session, study_id: int, annotator: str, run: str) -> int:
    """Make the aspects that a run proposed the standing ones of items that have none; returns the number of items.

    If several judges proposed aspects, those of the first one count. Raises TiebreakError for a run without any.
    """
    found = [other for other in runs.of_study(session, study_id) if other.name == run]
    if not found or found[0].protocol not in registry.with_artifact("aspects"):
        raise TiebreakError(f"The study has no run called {run!r} in which judges propose aspects.")
    settings = parse_settings(found[0].settings)
    proposer = (settings.proposer or settings.judges[0]).name
    lacking = {row.item for row in standing(session, study_id) if not row.aspects}
    wanted: dict[str, Input] = {}
    for trace in turns_by_trace(session, study_id, [found[0].id]):
        proposed = [turn.reading for turn in trace.turns if (turn.step, turn.speaker) == (ASPECTS_STEP, proposer)]
        if trace.item in lacking and proposed and isinstance(proposed[-1], str):
            wanted[trace.item] = Input(aspects=tuple(proposed[-1].splitlines()))
    return save(session, study_id, annotator, wanted, run)


def _changes(row: StandingInput, wanted: Input, run: str) -> list[Change]:
    changes: list[Change] = []
    if wanted.reference is not None and (wanted.reference.strip() or None) != row.reference:
        changes.append(SetReference(text=wanted.reference.strip() or None))
    if wanted.aspects is not None and wanted.aspects != row.aspects:
        try:
            changes.append(SetAspects(aspects=wanted.aspects, run=run))
        except ValueError as error:  # pydantic's first line names the class, the last one its address
            reason = str(error).splitlines()[2].strip().removeprefix("Value error, ").partition(" [type=")[0]
            raise TiebreakError(f"The aspects of item {row.item!r}: {reason}.") from None
    return changes


def _standing(item: Item, edits: list[Edit]) -> StandingInput:
    state = apply_edits(item, edits)
    reference_by, aspects_by = IMPORTED if item.reference else "", IMPORTED if item.aspects else ""
    for edit in active_edits(edits):
        match edit.change:
            case SetReference():
                reference_by = edit.annotator
            case SetAspects(run=run):
                aspects_by = f"{edit.annotator}, from {run}" if run else edit.annotator
    return StandingInput(
        item.id,
        item.prompt,
        state.answer,
        state.aspects,
        reference_by or ("a run" if state.answer else ""),
        aspects_by,
    )


# The adoption of what runs generated, for many items: AIUs, critiques and reference answers become an item's own.
#
# A later extraction can replace the adopted AIUs. An AIU that a person confirmed to be the same in other words keeps
# its id and its text, and thereby its labels.


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
    for candidate in _runs_with_aius(session, study_id, run):
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
    for candidate in _runs_with_aius(session, study_id, run):
        for key, adoption in _adoptions(session, candidate, criticised):
            standing = {one.id: one for one in apply_edits(criticised[key], edits.get(key, ())).critiques}
            for critique in adoption.critiques:
                own = standing.get(critique.id)
                if own is None or own.aius is None or critique.aius is None:
                    continue
                if {aiu.id for aiu in own.aius} != {aiu.id for aiu in critique.aius}:
                    found.append(Reextraction(key, critique.id, own.aius, critique.aius))
    return found


def replace_aius(
    session: Session, study_id: int, annotator: str, run: str, confirmed: Mapping[tuple[str, str], Mapping[str, str]]
) -> int:
    """Replace the current AIUs of critiques by those that a run extracted; returns the number of critiques.

    `confirmed` has (item, critique) -> new id -> old id, for every critique to be replaced.
    """
    studies.lock(session, study_id)
    found = [one for one in reextractions(session, study_id, run) if (one.item, one.critique) in confirmed]
    changes: dict[str, list[Change]] = defaultdict(list)
    for one in found:
        replacement = one.replacement(confirmed[one.item, one.critique])
        changes[one.item].append(Reextract(run=run, critique=one.critique, aius=replacement))
    aius.save_changes(session, study_id, annotator, changes)
    audit.record_change(session, study_id, f"AIUs of {len(found)} critiques replaced by those of run {run}")
    return len(found)


def _runs_with_aius(session: Session, study_id: int, name: str | None) -> list[runs.Run]:
    """Return the runs with AIUs, newest first."""
    protocols = registry.with_artifact("aius")
    found = [run for run in runs.of_study(session, study_id) if run.protocol in protocols and name in (None, run.name)]
    if name is not None and not found:
        raise TiebreakError(f"The study has no run called {name!r} that splits critiques into AIUs.")
    return found


def _adoptions(session: Session, run: runs.Run, by_key: Mapping[str, Item]) -> Iterator[tuple[str, Adopt]]:
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


# The settings of a protocol with simulated annotators: their number, the examples that each sees, and all examples.
SIMULATED_ANNOTATORS, EXAMPLES_EACH, ANNOTATOR_EXAMPLES = "simulated_annotators", "examples_each", "annotator_examples"


def with_examples(session: Session, study_id: int, settings: Frozen, seed: int) -> Frozen:
    """Return the settings of a new run with a set of examples for each simulated annotator.

    The annotators are those with the most labels. Their names are not stored. Raises TiebreakError if there are too
    few with enough labels of development items.
    """
    wanted = getattr(settings, SIMULATED_ANNOTATORS, 0)
    if not wanted:
        return (
            settings.model_copy(update={ANNOTATOR_EXAMPLES: ()})
            if getattr(settings, ANNOTATOR_EXAMPLES, ())
            else settings
        )
    each = getattr(settings, EXAMPLES_EACH) + 1
    by_annotator = _labels_of_annotators(session, study_id, settings.criterion.name)  # type: ignore[attr-defined]
    able = {name: own for name, own in by_annotator.items() if len(own) >= each}
    if len(able) < wanted:
        raise TiebreakError(
            f"Simulated annotators need {format_count(wanted, 'annotator')} with labels of {each} development items "
            f"on this criterion; there are {len(able)}. A split of the study decides which items these are."
        )
    order = sorted(able, key=lambda name: (-len(able[name]), name))[:wanted]
    chosen = [Random(f"{seed} {name}").sample([*able[name].values()], each) for name in order]
    by_key = items.by_keys(session, study_id, {label.target.item for own in chosen for label in own})
    examples = [[_example(by_key[label.target.item], label) for label in own] for own in chosen]
    return type(settings).model_validate({**settings.model_dump(), ANNOTATOR_EXAMPLES: examples})


def without_examples(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings of a run without the examples, which every run draws itself."""
    return {name: value for name, value in settings.items() if name != ANNOTATOR_EXAMPLES}


def _labels_of_annotators(session: Session, study_id: int, criterion: str) -> dict[str, dict[str, Label]]:
    """Return annotator -> development item -> the newest label of a preference on it, in the order of items."""
    of_development = (
        select(col(ItemRow.key))
        .join(ItemPartRow, col(ItemPartRow.item_id) == col(ItemRow.id))
        .where(col(ItemPartRow.study_id) == study_id, col(ItemPartRow.held_out).is_(False))
    )
    newest: dict[tuple[str, Target], Label] = {}
    for label in labels.of_items(session, study_id, list(session.scalars(of_development))):
        if (label.target.kind, label.target.criterion) == ("preference", criterion):
            newest[label.annotator, label.target] = label
    found: dict[str, dict[str, Label]] = defaultdict(dict)
    for (annotator, target), label in sorted(newest.items(), key=lambda pair: (pair[0][1].item, pair[0][1].part)):
        if label.value is not None:
            found[annotator].setdefault(target.item, label)
    return found


def _example(item: Item, label: Label) -> dict[str, str]:
    case = Case(item, label.target, label.value or 0, "single", "", None, 0.0, 0)
    return {"item": item.id, "text": example_text(case)}
