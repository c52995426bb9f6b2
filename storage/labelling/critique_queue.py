"""Which critique a person judges next: one with its AIUs is one piece of work."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import critique_ratings
from core.aius import Standing
from core.critiques import hypotheses, reference, targets
from core.labels import Target
from storage import aius, annotators, studies
from storage import targets as stored_targets
from storage.database import insert_new
from storage.studies import Study
from storage.tables import AnnotatorRow, ItemRow, LabelRow, LeaseRow, MarkRow, TargetRow, now

KINDS = ("aiu_precision", "aiu_recall")
AT_ONCE = 25
"""Critiques whose places are looked up in one query."""


@dataclass(frozen=True)
class Unit:
    """A hypothesis critique of an item."""

    item: str
    critique: str


@dataclass(frozen=True)
class Place:
    """A critique in an annotator's queue."""

    unit: Unit
    targets: tuple[Target, ...]
    """Its AIUs, then the reference's; empty where nobody has extracted them yet."""
    labelled: int
    """How many of them the annotator has labelled."""
    skipped: bool
    flagged: bool

    @property
    def done(self) -> bool:
        """Whether the annotator has answered everything."""
        return bool(self.targets) and self.labelled == len(self.targets)


def queue(session: Session, study_id: int, annotator: str, scenario: str | None = None) -> list[Place]:
    """Every critique of the study as the annotator sees it, in the order of its file."""
    own = _own(session, study_id, annotator)
    skipped, flagged = (_marked(session, study_id, annotator, what) for what in ("skip", "flag"))
    chosen = _of_scenario(session, study_id, scenario)
    found = []
    for item, standing in _every(session, study_id).items():
        if chosen is not None and item not in chosen:
            continue
        for critique in hypotheses(standing.critiques):
            about = tuple(targets(item, critique, reference(standing.critiques)))
            unit = critique_ratings.of_extraction(item, critique.id)
            found.append(
                Place(
                    Unit(item, critique.id), about, sum(one in own for one in about), unit in skipped, unit in flagged
                )
            )
    return found


def claim(
    session: Session,
    study: Study,
    annotator: str,
    *,
    scenario: str | None = None,
    after: Unit | None = None,
) -> Unit | None:
    """The next critique with something left to label, held for the annotator; None when nothing is left.

    One transaction: with the study locked, two people cannot both take the last place.
    """
    studies.lock(session, study.id)
    name = annotators.name_of(annotator)
    annotators.annotator_id(session, name)
    places = queue(session, study.id, name, scenario)
    start = next((index + 1 for index, place in enumerate(places) if place.unit == after), 0)
    waiting = [place for place in (*places[start:], *places[:start]) if not place.done and not place.skipped]
    own = _own(session, study.id, name)
    for first in range(0, len(waiting), AT_ONCE):
        batch = waiting[first : first + AT_ONCE]
        crowd = _others(session, study.id, name, {place.unit.item for place in batch})
        for place in batch:
            left = [one for one in place.targets if one not in own and crowd.get(one, 0) < study.rules.overlap]
            if left or not place.targets:
                hold(session, study, name, left)
                return place.unit
    return None


def hold(session: Session, study: Study, annotator: str, wanted: Sequence[Target]) -> None:
    """Hold targets for an annotator, or hold them longer."""
    if not wanted:
        return
    numbers = stored_targets.numbers(session, study.id, wanted)
    annotator_id, until = (
        annotators.annotator_id(session, annotator),
        now() + timedelta(minutes=study.rules.lease_minutes),
    )
    ids = sorted(numbers[one] for one in wanted)
    insert_new(session, LeaseRow, [{"target_id": one, "annotator_id": annotator_id, "until": until} for one in ids])
    for row in session.scalars(
        select(LeaseRow).where(col(LeaseRow.target_id).in_(ids), col(LeaseRow.annotator_id) == annotator_id)
    ):
        row.until = until


_KNOWN: dict[tuple[str, int, int, int], dict[str, Standing]] = {}


def _every(session: Session, study_id: int) -> dict[str, Standing]:
    """What stands of every item. Items and edits are only ever added, so their number tells whether it is new."""
    count = session.scalars(select(func.count()).where(col(ItemRow.study_id) == study_id)).one()
    key = (str(session.get_bind().engine.url), study_id, count, aius.count(session, study_id))
    if key not in _KNOWN:
        if len(_KNOWN) >= 8:
            _KNOWN.pop(next(iter(_KNOWN)))
        _KNOWN[key] = aius.every_standing(session, study_id)
    return _KNOWN[key]


def _of_scenario(session: Session, study_id: int, scenario: str | None) -> set[str] | None:
    if scenario is None:
        return None
    query = select(col(ItemRow.key)).where(col(ItemRow.study_id) == study_id, col(ItemRow.scenario) == scenario)
    return set(session.scalars(query))


def _own(session: Session, study_id: int, annotator: str) -> set[Target]:
    """AIUs that the annotator's standing labels speak of."""
    number = annotators.find(session, annotator)
    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), LabelRow.value)
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(LabelRow.study_id) == study_id, col(LabelRow.annotator_id) == number)
        .where(col(TargetRow.kind).in_(KINDS))
        .order_by(col(LabelRow.id))
    )
    newest = {stored_targets.of_row(*row[:4]): row[4] for row in session.execute(query)}
    return {target for target, value in newest.items() if value is not None}


def _others(session: Session, study_id: int, annotator: str, wanted: Collection[str]) -> dict[Target, int]:
    """How many others have labelled each AIU of some items, or hold it to label it."""
    busy: dict[Target, set[str]] = defaultdict(set)
    columns = (col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
    there = (col(TargetRow.study_id) == study_id, col(ItemRow.key).in_(wanted), col(TargetRow.kind).in_(KINDS))
    said = (
        select(*columns, col(AnnotatorRow.name), col(LabelRow.value))
        .select_from(LabelRow)
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(*there)
        .order_by(col(LabelRow.id))
    )
    for *target, name, value in session.execute(said):
        who = busy[stored_targets.of_row(*target)]
        who.discard(name) if value is None else who.add(name)
    held = (
        select(*columns, col(AnnotatorRow.name))
        .select_from(LeaseRow)
        .join(TargetRow, col(TargetRow.id) == col(LeaseRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LeaseRow.annotator_id))
        .where(*there, col(LeaseRow.until) > now())
    )
    for *target, name in session.execute(held):
        busy[stored_targets.of_row(*target)].add(name)
    return {target: len(who - {annotator}) for target, who in busy.items()}


def _marked(session: Session, study_id: int, annotator: str, what: str) -> set[Target]:
    """What the annotator's newest mark of that sort is on for."""
    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), col(MarkRow.on))
        .join(TargetRow, col(TargetRow.id) == col(MarkRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(TargetRow.study_id) == study_id, col(MarkRow.mark) == what)
        .where(col(MarkRow.annotator_id) == annotators.find(session, annotator))
        .order_by(col(MarkRow.id))
    )
    newest = {stored_targets.of_row(*row[:4]): row[4] for row in session.execute(query)}
    return {target for target, on in newest.items() if on}
