"""The results of training and of hidden checks, by annotator."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Value
from storage.db.tables import AdjudicationRow, AnnotatorRow, TargetRow, TrainingAnswerRow
from storage.labelling.context import queue_of
from storage.reports.annotators import LabelEvent, Share
from storage.studies.studies import Study

CHECKED_KINDS = ("preference", "score", "answer", "likert", "aspect_weights", "aiu_precision", "aiu_recall")


@dataclass(frozen=True)
class TrainingResult:
    """An annotator's answers to training items and hidden checks."""

    annotator: str
    attempts: int
    """The most attempts at the training of one queue; 0 without training."""
    first: Share
    """Right answers of the first attempts: later ones were made after feedback."""
    passed: bool | None
    """Whether the training of all queues is passed; None while no attempt is finished."""
    checks: Share
    """Last blind labels that equal the adjudicated value, of the targets that were adjudicated before the label."""


def results(session: Session, study: Study, events: Sequence[LabelEvent]) -> list[TrainingResult]:
    """Return the results of everybody with an answer to a training item or a check, in the order of the names.

    `events` are the labels of the study, or only those of adjudicated targets: see
    `storage.reports.annotators.label_events`.
    """
    answers, checks = _answers(session, study.id), _checks(session, study, events)
    return [_result(name, answers.get(name, []), checks.get(name, [])) for name in sorted({*answers, *checks})]


@dataclass(frozen=True)
class _Answer:
    queue: str
    attempt: int
    correct: bool
    passed: bool | None


def _result(name: str, answers: Sequence[_Answer], checks: Sequence[bool]) -> TrainingResult:
    first = [answer.correct for answer in answers if answer.attempt == 1]
    finished = {answer.queue: False for answer in answers if answer.passed is not None}
    finished |= {answer.queue: True for answer in answers if answer.passed}
    return TrainingResult(
        annotator=name,
        attempts=max((answer.attempt for answer in answers), default=0),
        first=_share(first),
        passed=all(finished.values()) if finished else None,
        checks=_share(checks),
    )


def _share(right: Iterable[bool]) -> Share:
    listed = list(right)
    return Share(sum(listed), len(listed))


def _answers(session: Session, study_id: int) -> dict[str, list[_Answer]]:
    query = (
        select(TrainingAnswerRow, col(AnnotatorRow.name), col(TargetRow.kind), col(TargetRow.criterion))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(TrainingAnswerRow.annotator_id))
        .join(TargetRow, col(TargetRow.id) == col(TrainingAnswerRow.target_id))
        .where(col(TargetRow.study_id) + 0 == study_id)  # without the index: there are more targets than answers
        .order_by(col(TrainingAnswerRow.id))
    )
    answers_by_annotator: dict[str, list[_Answer]] = defaultdict(list)
    for row, name, kind, criterion in session.execute(query):
        answers_by_annotator[name].append(
            _Answer(queue_of(kind, criterion) or "", row.attempt, row.correct, row.passed)
        )
    return answers_by_annotator


@dataclass
class _Gold:
    """The newest adjudication of a target, when the first one was made, and by whom."""

    value: Value
    since: datetime | None
    """None for an imported one without a time, which counts as earlier than every label."""
    adjudicators: set[str]


def _checks(session: Session, study: Study, events: Sequence[LabelEvent]) -> dict[str, list[bool]]:
    gold = _gold(session, study.id)
    blind = {
        (event.target, event.annotator): event
        for event in events
        if event.blind and event.value is not None and event.kind in CHECKED_KINDS and event.target in gold
    }
    matches_by_annotator: dict[str, list[bool]] = defaultdict(list)
    for (target, name), event in blind.items():
        if event.value is not None and _is_check(gold[target], event):
            matches_by_annotator[name].append(study.rules.is_correct(event.value, gold[target].value))
    return matches_by_annotator


def _is_check(gold: _Gold, event: LabelEvent) -> bool:
    known = gold.since is None or (event.at is not None and gold.since < event.at)
    return known and event.annotator not in gold.adjudicators


def _gold(session: Session, study_id: int) -> Mapping[int, _Gold]:
    query = (
        select(AdjudicationRow, col(AnnotatorRow.name))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(AdjudicationRow.annotator_id))
        .join(TargetRow, col(TargetRow.id) == col(AdjudicationRow.target_id))
        .where(col(TargetRow.study_id) + 0 == study_id)
        .order_by(col(AdjudicationRow.id))
    )
    gold_by_target: dict[int, _Gold] = {}
    for row, name in session.execute(query):
        gold = gold_by_target.setdefault(row.target_id, _Gold(row.value, row.at, set()))
        gold.value = row.value
        gold.adjudicators.add(name)
    return gold_by_target
