"""The content of the labelling screen for a critique: its AIUs, the annotator's answers, and the judges' answers.

Blind first: the judges' answers about an AIU are returned only after the annotator has labelled it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import critique_ratings
from core.aius import EditedAius
from core.critique_ratings import SEVEN_POINT_SCALE
from core.critiques import Aiu, Critique, precision_target, recall_target, reference_critique
from core.formats.records import ScaleRecord
from core.items import Criterion, Item
from core.labels import Target, Value
from core.problems import Problem
from core.protocols import registry
from core.protocols.metacritique.evaluation import AiuJudgement, collect_judgements
from core.protocols.metacritique.protocol import replay_turns
from core.protocols.metacritique.settings import Settings
from core.trace import Event, TurnCompleted, VerdictReached
from storage import aius, annotators, items, labels, runs, studies, targets, traces
from storage.labelling.critique_queue import CritiqueKey
from storage.studies import Study
from storage.tables import AnnotatorRow, ItemRow, LabelRow, MarkRow, RunRow, TargetRow, TraceRow


@dataclass(frozen=True)
class JudgeAnswer:
    """A judge's verdict on an AIU."""

    judge: str
    value: bool | None
    problem: str
    evidence: str = ""
    reasoning: str = ""


JudgeAnswers = dict[Target, dict[str, JudgeAnswer]]
"""AIU -> judge -> its answer."""


@dataclass(frozen=True)
class Question:
    """A target of the critique to label: an AIU, or a rating."""

    target: Target
    aiu: Aiu | None = None
    number: int = 0
    value: Value | None = None
    """The annotator's current label."""
    flagged: bool = False
    not_atomic: bool = False
    judges: tuple[JudgeAnswer, ...] = ()
    """Empty until the annotator has labelled the target, or where the study reveals nothing."""
    criterion: Criterion | None = None
    """For a rating: the criterion, with its anchors."""


@dataclass(frozen=True)
class CritiqueTask:
    """A critique to label."""

    key: CritiqueKey
    item: Item
    critique: Critique
    reference: Critique | None
    answer: str | None
    """The reference answer."""
    questions: tuple[Question, ...]
    has_judges: bool
    """Whether a judge has judged this item."""


def load_task(session: Session, study: Study, key: CritiqueKey, annotator: str) -> CritiqueTask:
    """Return everything about a critique.

    Needs a writing session: it is recorded which judges' answers the annotator sees.
    """
    item = items.get(session, study.id, key.item)
    state = aius.current_state(session, study.id, key.item)
    critique = _hypothesis(state, key)
    values = _current_values(session, study.id, key.item, annotator)
    flagged = _flagged_targets(session, study.id, key.item, annotator)
    answers = _judge_answers(session, study.id, item)
    questions = [
        replace(
            question,
            value=values.get(question.target),
            flagged=question.target in flagged,
            not_atomic=question.aiu is not None and question.aiu.id in state.not_atomic,
        )
        for question in _questions(state, key)
    ]
    if study.rules.reveal:
        questions = _reveal(session, study, questions, answers, annotator)
    reference = reference_critique(state.critiques)
    return CritiqueTask(key, item, critique, reference, state.answer, tuple(questions), bool(answers))


def save_answer(
    session: Session,
    study: Study,
    key: CritiqueKey,
    annotator: str,
    target: Target,
    value: Value | None,
    seconds: float,
) -> None:
    """Save a label of a target of the critique; None withdraws it. The first rating declares the scale of ratings."""
    state = aius.current_state(session, study.id, key.item)
    if target not in {question.target for question in _questions(state, key)}:
        raise Problem("This AIU was changed in the meantime. Review it again.")
    if target.kind == "likert":
        if value is not None and not SEVEN_POINT_SCALE.contains(value):
            raise Problem("A rating is a whole number from 1 to 7.")
        scale = ScaleRecord(kind="likert", criterion=target.criterion, scale=SEVEN_POINT_SCALE)
        studies.declare_scale(session, study.id, scale)
    reason = "" if value is not None else "undo"
    labels.save(session, study.id, target, annotator, value, reason=reason, seconds=seconds)


def adopt_from_run(session: Session, study: Study, key: CritiqueKey, annotator: str) -> bool:
    """Add the AIUs and references of the newest run that has some, where the item lacks them; return whether it did."""
    adoptable = aius.find_adoptable(session, study.id, key.item)
    if adoptable is None:
        return False
    aius.save_edit(session, study.id, key.item, annotator, adoptable)
    return True


def _hypothesis(state: EditedAius, key: CritiqueKey) -> Critique:
    for critique in state.critiques:
        if critique.id == key.critique and critique.role == "hypothesis":
            return critique
    raise Problem(f"There is no critique {key.critique!r} of item {key.item!r}.")


def _questions(state: EditedAius, key: CritiqueKey) -> list[Question]:
    """Return the targets of a critique without the annotator's labels: AIUs, the reference's AIUs, then ratings."""
    critique, reference = _hypothesis(state, key), reference_critique(state.critiques)
    return [
        *_aiu_questions(key.item, critique, reference),
        *_rating_questions(key.item, critique, reference, state.answer),
    ]


def _aiu_questions(item: str, critique: Critique, reference: Critique | None) -> Iterator[Question]:
    for number, aiu in enumerate(critique.aius or (), 1):
        yield Question(precision_target(item, aiu.id), aiu, number)
    for number, aiu in enumerate(reference.aius or () if reference else (), 1):
        yield Question(recall_target(item, aiu.id, critique.id), aiu, number)


def _rating_questions(
    item: str, critique: Critique, reference: Critique | None, answer: str | None
) -> Iterator[Question]:
    if critique.aius is not None:
        target = critique_ratings.extraction_target(item, critique.id)
        yield Question(target, criterion=critique_ratings.AIU_EXTRACTION)
    if reference is not None:
        target = critique_ratings.critique_target(item, reference)
        yield Question(target, criterion=critique_ratings.REFERENCE_CRITIQUE)
    if answer is not None:
        yield Question(critique_ratings.answer_target(item), criterion=critique_ratings.REFERENCE_ANSWER)


def _reveal(
    session: Session, study: Study, questions: list[Question], answers: JudgeAnswers, annotator: str
) -> list[Question]:
    """Add the judges' answers to the questions that the annotator has labelled, and record the view."""
    revealed = {question.target for question in questions if question.value is not None and question.target in answers}
    if revealed:
        aius.record_views(session, study.id, revealed, annotator)
    return [
        replace(question, judges=tuple(answers[question.target].values())) if question.target in revealed else question
        for question in questions
    ]


def _judge_answers(session: Session, study_id: int, item: Item) -> JudgeAnswers:
    """Return AIU -> judge -> its answer in its newest run."""
    query = (
        select(col(TraceRow.id), col(TraceRow.run_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.study_id) == study_id, col(ItemRow.key) == item.id)
        .where(col(RunRow.protocol).in_(registry.with_artifact("aius")))
        .order_by(col(RunRow.id))
    )
    answers: JudgeAnswers = {}
    for trace_id, run_id in session.execute(query).all():
        events = [event for _, event in traces.events(session, trace_id)]
        for target, answer in _trace_answers(item, runs.get(session, run_id).settings, events):
            answers.setdefault(target, {})[answer.judge] = answer
    return answers


def _trace_answers(item: Item, settings: object, events: list[Event]) -> Iterator[tuple[Target, JudgeAnswer]]:
    """Yield (AIU, answer) of a trace's verdict, with the rationale where the turns have one."""
    rationales = {(judgement.judge, judgement.target): judgement for judgement in _judgements(item, settings, events)}
    for event in events:
        for opinion in event.verdict.opinions if isinstance(event, VerdictReached) else ():
            target = Target(item=item.id, kind=opinion.kind, part=opinion.part)
            if opinion.stage == "verdict":
                value = opinion.value if isinstance(opinion.value, bool) else None
                rationale = rationales.get((opinion.judge, target))
                parts = (rationale.evidence, rationale.reasoning) if rationale is not None else ("", "")
                yield target, JudgeAnswer(opinion.judge, value, opinion.problem, *parts)


def _judgements(item: Item, settings: object, events: list[Event]) -> list[AiuJudgement]:
    """Replay a trace; an imported one may have settings with which no run is possible here, and gives none."""
    try:
        valid = Settings.model_validate(settings)
        turns = {event.ask: event.turn for event in events if isinstance(event, TurnCompleted)}
        return collect_judgements(replay_turns(item, valid, turns).evaluation)
    except (ValidationError, Problem):
        return []


def _current_values(session: Session, study_id: int, item: str, annotator: str) -> dict[Target, Value]:
    """Return target -> the annotator's current label, for the targets of an item."""
    query = (
        select(col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), col(LabelRow.value))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(col(LabelRow.study_id) == study_id, col(ItemRow.key) == item)
        .where(col(AnnotatorRow.name) == annotators.normalize_name(annotator))
        .order_by(col(LabelRow.id))
    )
    newest = {targets.from_columns(item, *row[:3]): row[3] for row in session.execute(query)}
    return {target: value for target, value in newest.items() if value is not None}


def _flagged_targets(session: Session, study_id: int, item: str, annotator: str) -> set[Target]:
    query = (
        select(col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), col(MarkRow.on))
        .join(TargetRow, col(TargetRow.id) == col(MarkRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(TargetRow.study_id) == study_id, col(ItemRow.key) == item, col(MarkRow.mark) == "flag")
        .where(col(MarkRow.annotator_id) == annotators.find_id(session, annotator))
        .order_by(col(MarkRow.id))
    )
    newest = {targets.from_columns(item, *row[:3]): row[3] for row in session.execute(query)}
    return {target for target, on in newest.items() if on}
