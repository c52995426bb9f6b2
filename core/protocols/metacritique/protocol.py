"""MetaCritique: how factual and how complete a critique is (Sun et al. 2024, arXiv:2401.04518, Section 2).

A critique is split into atomic information units (AIUs). Precision is the share of its AIUs that are factual (Eq. 1),
recall the share of the reference critique's AIUs that it covers (Eq. 3), F1 their harmonic mean (Eq. 5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from core.critiques import CritiqueScore, hypothesis_critiques, score_bounds, score_critique
from core.errors import TiebreakError
from core.items import Item
from core.labels import Kind, Opinion, Target
from core.protocols.metacritique.evaluation import WRITING_STEPS, AiuJudgement, Evaluation, Job, collect_judgements
from core.protocols.metacritique.settings import Settings
from core.templates import Templates
from core.trace import Flow, Outcome, Turn, Verdict
from core.verdicts import contention, is_disputed

NAME = "metacritique"
SCORES: Mapping[str, Literal["precision", "recall", "f1"]] = {"P": "precision", "R": "recall", "F1": "f1"}
SLACK = 1e-9
"""Bounds closer than this are equal."""


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Generate missing texts, split the critiques into AIUs, judge every AIU. No random choice is made."""
    evaluation = start_evaluation(item, settings)
    while jobs := evaluation.next_jobs():
        turns = yield [evaluation.ask(job, templates) for job in jobs]
        evaluation = evaluation.with_turns(dict(zip(jobs, turns, strict=True)))
    return conclude(evaluation)


def start_evaluation(item: Item, settings: Settings) -> Evaluation:
    """Return the evaluation before the first ask; raises TiebreakError for an item without anything to evaluate."""
    if not hypothesis_critiques(item.critiques) and not (settings.critics and item.responses):
        raise TiebreakError(f"Item {item.id} has no critique; MetaCritique evaluates critiques.")
    invalid = next((critique for critique in item.critiques if critique.of > len(item.responses)), None)
    if invalid:
        raise TiebreakError(
            f"Item {item.id} has no response {invalid.of}, which the critique {invalid.id!r} refers to."
        )
    if len({critique.of for critique in item.critiques}) > 1:
        raise TiebreakError(
            f"The critiques of item {item.id} refer to different responses; give each response its own item."
        )
    return Evaluation(item, settings)


@dataclass(frozen=True)
class Replay:
    """An evaluation after the turns so far."""

    evaluation: Evaluation
    pending: tuple[Job, ...]
    """The jobs that are being asked, or are next."""
    ask_numbers: Mapping[Job, int]
    """The number in the flow of every ask so far."""


def replay_turns(item: Item, settings: Settings, turns: Mapping[int, Turn]) -> Replay:
    """Return the evaluation after the turns so far; `turns` are keyed by the number of their ask."""
    evaluation, numbers = start_evaluation(item, settings), dict[Job, int]()
    while jobs := evaluation.next_jobs():
        numbers |= {job: number for number, job in enumerate(jobs, len(numbers))}
        answered = {job: turns[numbers[job]] for job in jobs if numbers[job] in turns}
        evaluation = evaluation.with_turns(answered)
        if len(answered) < len(jobs):
            return Replay(evaluation, tuple(job for job in jobs if job not in answered), numbers)
    return Replay(evaluation, (), numbers)


@dataclass(frozen=True)
class ScoreRange:
    """A critique's scores by one judge, and the least and the most that they can be if judgements are unreadable."""

    score: CritiqueScore
    low: CritiqueScore
    high: CritiqueScore
    unread: int
    """AIUs without a readable judgement."""
    aius: int


def critique_scores(evaluation: Evaluation) -> dict[tuple[str, str], ScoreRange]:
    """Return precision, recall and F1 by (judge, critique)."""
    values: dict[tuple[str, str, Kind], list[bool | None]] = {}
    for judgement in collect_judgements(evaluation):
        key = (judgement.judge, judgement.critique, judgement.target.kind)
        values.setdefault(key, []).append(judgement.value)
    return {
        (judge.name, critique.id): _score_range(
            values.get((judge.name, critique.id, "aiu_precision"), ()),
            values.get((judge.name, critique.id, "aiu_recall"), ()),
        )
        for judge in evaluation.settings.judges
        for critique in evaluation.critiques
    }


def _score_range(factual: Sequence[bool | None], covered: Sequence[bool | None]) -> ScoreRange:
    low, high = score_bounds(factual, covered)
    together = (*factual, *covered)
    return ScoreRange(score_critique(factual, covered), low, high, together.count(None), len(together))


def conclude(evaluation: Evaluation) -> Verdict:
    """Return an opinion for each AIU. Disputed if judges differ on one; no verdict if one could not be judged."""
    judgements, scores = collect_judgements(evaluation), critique_scores(evaluation)
    values: dict[Target, list[bool | None]] = {}
    for judgement in judgements:
        values.setdefault(judgement.target, []).append(judgement.value)
    missing = missing_inputs(evaluation)
    distance = max((one for judged in values.values() if (one := contention(judged)) is not None), default=None)
    outcome: Outcome = "agreed"
    if is_disputed(distance, evaluation.settings.dispute_threshold):
        outcome = "disputed"
    elif missing or any(None in judged for judged in values.values()):
        outcome = "no_verdict"
    has_one_judge = len(evaluation.settings.judges) == 1
    f1 = {critique: rated.score.f1 for (_, critique), rated in scores.items() if rated.score.f1 is not None}
    lines = [_describe_score(judge, critique, rated, has_one_judge) for (judge, critique), rated in scores.items()]
    return Verdict(
        outcome=outcome,
        value=(f1 or None) if has_one_judge else None,
        reason="; ".join([*missing, *lines]),
        opinions=tuple(_opinion(judgement, stage) for stage in ("last", "verdict") for judgement in judgements),
        contention=distance,
    )


def missing_inputs(evaluation: Evaluation) -> list[str]:
    """Return which inputs could not be written or extracted, and why; without them AIUs are not judged."""
    missing = []
    for job, turn in evaluation.turns.items():
        if turn.reading is None and job.step in WRITING_STEPS:
            subjects = {"extract": f"AIUs of {job.critique}", "hypothesis_critique": f"critique by {job.judge}"}
            subject = subjects.get(job.step, job.step.replace("_", " "))
            missing.append(f"no {subject}: {turn.problem}")
    return missing


def _opinion(judgement: AiuJudgement, stage: Literal["last", "verdict"]) -> Opinion:
    return Opinion(
        kind=judgement.target.kind,
        judge=judgement.judge,
        stage=stage,
        value=judgement.value,
        part=judgement.target.part,
        problem=judgement.problem,
    )


def _describe_score(judge: str, critique: str, rated: ScoreRange, has_one_judge: bool) -> str:
    """Return `human: P 0.71, R 0.40, F1 0.51`; with ranges and the number of unreadable judgements if there are."""
    text = ", ".join(f"{name} {describe_range(rated, field)}" for name, field in SCORES.items())
    unread = f"; {rated.unread} of {rated.aius} judgements were unreadable" if rated.unread else ""
    return f"{critique}: {text}{unread}" if has_one_judge else f"{judge} on {critique}: {text}{unread}"


def describe_range(rated: ScoreRange, field: Literal["precision", "recall", "f1"]) -> str:
    """Return `0.71`, or `0.71 (0.50 to 0.80)` if unreadable judgements could change it; "–" if undefined."""
    value, low, high = (getattr(score, field) for score in (rated.score, rated.low, rated.high))
    text = "–" if value is None else f"{value:.2f}"
    is_open = low is not None and high is not None and high - low > SLACK
    return f"{text} ({low:.2f} to {high:.2f})" if is_open else text
