"""What lies on the desk of somebody who judges a critique: its AIUs, their own answers, and what the judges say.

Blind first: a judge's answer is handed out for an AIU only once the annotator's own label of it stands.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import critique_ratings
from core.aius import Standing
from core.critique_ratings import SEVEN
from core.critiques import Aiu, Critique, covered, factual, reference
from core.formats.records import ScaleRecord
from core.items import Criterion, Item
from core.labels import Target, Value
from core.problems import Problem
from core.protocols import registry
from core.protocols.metacritique import protocol as metacritique
from core.protocols.metacritique.progress import judgements
from core.trace import Event, TurnTaken, VerdictReached
from storage import aius, annotators, items, labels, runs, studies, traces
from storage import targets as stored_targets
from storage.labelling.critique_queue import Unit
from storage.studies import Study
from storage.tables import AnnotatorRow, ItemRow, LabelRow, MarkRow, RunRow, TargetRow, TraceRow


@dataclass(frozen=True)
class Said:
    """What a judge says of an AIU."""

    judge: str
    value: bool | None
    problem: str
    evidence: str = ""
    reasoning: str = ""


Judges = dict[Target, dict[str, Said]]
"""AIU -> judge -> what it says."""


@dataclass(frozen=True)
class Question:
    """One thing to answer: about an AIU, or a rating."""

    target: Target
    aiu: Aiu | None = None
    number: int = 0
    own: Value | None = None
    flagged: bool = False
    not_atomic: bool = False
    judges: tuple[Said, ...] = ()
    """Empty until one's own label stands, or where nothing is revealed."""
    criterion: Criterion | None = None
    """Of a rating: its anchors."""


@dataclass(frozen=True)
class Sheet:
    """A critique on the desk."""

    unit: Unit
    item: Item
    critique: Critique
    reference: Critique | None
    answer: str | None
    """The reference answer."""
    questions: tuple[Question, ...]
    has_judges: bool
    """Whether some judge has judged this item; what it said is with the questions."""


def sheet(session: Session, study: Study, unit: Unit, annotator: str) -> Sheet:
    """Everything about a critique; that the judges' answers were shown is recorded, so a writing session is needed."""
    item = items.get(session, study.id, unit.item)
    now = aius.now_standing(session, study.id, unit.item)
    critique = _critique(now, unit)
    own = _own(session, study.id, unit.item, annotator)
    flags = _flagged(session, study.id, unit.item, annotator)
    answered = [
        replace(
            one,
            own=own.get(one.target),
            flagged=one.target in flags,
            not_atomic=one.aiu is not None and one.aiu.id in now.not_atomic,
        )
        for one in _asked(now, unit)
    ]
    said = _judges(session, study.id, item)
    questions = tuple(_revealed(session, study, said, annotator, answered))
    return Sheet(unit, item, critique, reference(now.critiques), now.answer, questions, bool(said))


def answer(
    session: Session, study: Study, unit: Unit, annotator: str, target: Target, value: Value | None, seconds: float
) -> None:
    """Keep an answer; None takes it back. A rating's scale is declared with its first answer."""
    now = aius.now_standing(session, study.id, unit.item)
    if target not in {one.target for one in _asked(now, unit)}:
        raise Problem("This AIU was changed meanwhile; look at it again.")
    if target.kind == "likert":
        if value is not None and not SEVEN.holds(value):
            raise Problem("A rating is a whole number from 1 to 7.")
        studies.put_scale(session, study.id, ScaleRecord(kind="likert", criterion=target.criterion, scale=SEVEN))
    reason = "" if value is not None else "undo"
    labels.put(session, study.id, target, annotator, value, reason=reason, seconds=seconds)


def adopt(session: Session, study: Study, unit: Unit, annotator: str) -> bool:
    """Take AIUs and references from the newest run that has them, where the item lacks them; whether there were any."""
    found = aius.adoptable(session, study.id, unit.item)
    if found is None:
        return False
    aius.put(session, study.id, unit.item, annotator, found)
    return True


def _critique(now: Standing, unit: Unit) -> Critique:
    for one in now.critiques:
        if one.id == unit.critique and one.role == "hypothesis":
            return one
    raise Problem(f"There is no critique {unit.critique!r} of item {unit.item!r}.")


def _asked(now: Standing, unit: Unit) -> list[Question]:
    """Everything that can be answered about a critique, without answers."""
    critique, held = _critique(now, unit), reference(now.critiques)
    return [*_about(unit.item, critique, held), *_ratings(unit.item, critique, held, now.answer)]


def _about(item: str, critique: Critique, held: Critique | None) -> Iterator[Question]:
    for number, aiu in enumerate(critique.aius or (), 1):
        yield Question(factual(item, aiu.id), aiu, number)
    for number, aiu in enumerate(held.aius or () if held else (), 1):
        yield Question(covered(item, aiu.id, critique.id), aiu, number)


def _ratings(item: str, critique: Critique, held: Critique | None, answer: str | None) -> Iterator[Question]:
    if critique.aius is not None:
        yield Question(critique_ratings.of_extraction(item, critique.id), criterion=critique_ratings.EXTRACTION)
    if held is not None:
        yield Question(critique_ratings.of_critique(item, held), criterion=critique_ratings.CRITIQUE)
    if answer is not None:
        yield Question(critique_ratings.of_answer(item), criterion=critique_ratings.ANSWER)


def _revealed(
    session: Session, study: Study, said: Judges, annotator: str, asked: list[Question]
) -> Iterator[Question]:
    """The judges' answers beside one's own."""
    shown = {one.target for one in asked if one.own is not None and one.target in said} if study.rules.reveal else set()
    if shown:
        aius.see(session, study.id, shown, annotator)
    for one in asked:
        yield replace(one, judges=tuple(said[one.target].values())) if one.target in shown else one


def _judges(session: Session, study_id: int, item: Item) -> Judges:
    """AIU -> judge -> what it says in its newest run."""
    query = (
        select(col(TraceRow.id), col(TraceRow.run_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.study_id) == study_id, col(ItemRow.key) == item.id)
        .where(col(RunRow.protocol).in_(registry.with_artifact("aius")))
        .order_by(col(RunRow.id))
    )
    found: Judges = {}
    for trace_id, run_id in session.execute(query).all():
        told = [event for _, event in traces.events(session, trace_id)]
        for target, one in _told(item, runs.get(session, run_id).settings, told):
            found.setdefault(target, {})[one.judge] = one
    return found


def _told(item: Item, settings: object, events: list[Event]) -> Iterator[tuple[Target, Said]]:
    """What a trace's verdict says, with the rationale of the turn where it is there."""
    try:
        chosen = metacritique.Settings.model_validate(settings)
        taken = {event.ask: event.turn for event in events if isinstance(event, TurnTaken)}
        there = judgements(metacritique.replayed(item, chosen, taken).case)
    except (ValidationError, Problem):  # a trace from elsewhere need not be one that could run here
        there = []
    why = {(one.judge, one.target): one for one in there}
    for event in events:
        for opinion in event.verdict.opinions if isinstance(event, VerdictReached) else ():
            target = Target(item=item.id, kind=opinion.kind, part=opinion.part)
            if opinion.stage == "verdict":
                value = opinion.value if isinstance(opinion.value, bool) else None
                one = why.get((opinion.judge, target))
                parts = (one.evidence, one.reasoning) if one is not None else ("", "")
                yield target, Said(opinion.judge, value, opinion.problem, *parts)


def _own(session: Session, study_id: int, item: str, annotator: str) -> dict[Target, Value]:
    """The annotator's standing labels of an item."""
    query = (
        select(col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), col(LabelRow.value))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(col(LabelRow.study_id) == study_id, col(ItemRow.key) == item)
        .where(col(AnnotatorRow.name) == annotators.name_of(annotator))
        .order_by(col(LabelRow.id))
    )
    newest = {stored_targets.of_row(item, *row[:3]): row[3] for row in session.execute(query)}
    return {target: value for target, value in newest.items() if value is not None}


def _flagged(session: Session, study_id: int, item: str, annotator: str) -> set[Target]:
    query = (
        select(col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), col(MarkRow.on))
        .join(TargetRow, col(TargetRow.id) == col(MarkRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(TargetRow.study_id) == study_id, col(ItemRow.key) == item, col(MarkRow.mark) == "flag")
        .where(col(MarkRow.annotator_id) == annotators.find(session, annotator))
        .order_by(col(MarkRow.id))
    )
    newest = {stored_targets.of_row(item, *row[:3]): row[3] for row in session.execute(query)}
    return {target for target, on in newest.items() if on}
