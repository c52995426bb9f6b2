"""MetaCritique: how factual and how complete a critique is (Sun et al. 2024, arXiv:2401.04518, Section 2).

A critique is split into atomic information units (AIUs). Precision is the share of its AIUs that are factual (Eq. 1),
recall the share of the reference critique's AIUs that it covers (Eq. 3), F1 their harmonic mean (Eq. 5).
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any, Literal, get_args

from core.answers.answer import Answer, Passage
from core.answers.lists import Claims
from core.answers.option import Truth
from core.critiques import (
    Aiu,
    Critique,
    CritiqueScore,
    aius_with_text_ids,
    critique_id_from_author,
    hypothesis_critiques,
    precision_target,
    recall_target,
    reference_critique,
    score_bounds,
    score_critique,
)
from core.errors import TiebreakError
from core.items import Item
from core.labels import Kind, Opinion, Target
from core.protocols import Judge
from core.protocols.metacritique.settings import Settings, WritingStep
from core.protocols.prompt_parts import item_material, question_text
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Outcome, Spec, Turn, Verdict, unchanged
from core.verdicts import contention, is_disputed

NAME = "metacritique"
SCORES: Mapping[str, Literal["precision", "recall", "f1"]] = {"P": "precision", "R": "recall", "F1": "f1"}
# Bounds closer than this are equal.
SLACK = 1e-9
Step = Literal[
    "reference_answer", "reference_critique", "hypothesis_critique", "extract", "precision", "precision_alone", "recall"
]
WRITING_STEPS: tuple[WritingStep, ...] = get_args(WritingStep)
ANSWERS: Mapping[Step, Answer[Any]] = {
    "reference_answer": Passage(noun="answer to the question"),
    "reference_critique": Passage(noun="critique"),
    "hypothesis_critique": Passage(noun="critique"),
    "extract": Claims(reasoning=False),
    "precision": Truth(),
    "precision_alone": Truth(),
    "recall": Truth(),
}
# Steps with the template of another step: the texts of Tables 7 and 8 are the same.
TEMPLATES: Mapping[Step, str] = {"hypothesis_critique": "reference_critique"}
# The id of a reference critique that the writer wrote.
WRITTEN_REFERENCE_ID = "written-reference"


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Generate missing texts, split the critiques into AIUs, judge every AIU. No random choice is made."""
    evaluation = start_evaluation(item, settings)
    while jobs := evaluation.next_jobs():
        turns = yield [evaluation.ask(job, templates) for job in jobs]
        evaluation = evaluation.with_turns(dict(zip(jobs, turns, strict=True)))
    return conclude(evaluation)


def start_evaluation(item: Item, settings: Settings) -> "Evaluation":
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
class Job:
    """One question of an evaluation."""

    step: Step
    judge: str
    critique: str = ""
    """The id of the critique whose AIUs are extracted, or whose precision or recall is judged."""
    aiu: Aiu | None = None


@dataclass(frozen=True)
class Evaluation:
    """An item with the answered questions about it so far."""

    item: Item
    settings: Settings
    turns: Mapping[Job, Turn] = field(default_factory=dict)

    def with_turns(self, turns: Mapping[Job, Turn]) -> "Evaluation":
        """Return the evaluation with more turns."""
        return replace(self, turns={**self.turns, **turns})

    def next_jobs(self) -> list[Job]:
        """Return the questions that can be asked now, in parallel; empty if all are answered."""
        for jobs in (self._writing_jobs(), self.judging_jobs()):
            unanswered = [job for job in jobs if job not in self.turns]
            if unanswered:
                return unanswered
        return []

    @property
    def answer(self) -> str | None:
        """The reference answer: the item's own, otherwise the written one."""
        return self.item.reference if self.item.reference is not None else self._written_text("reference_answer")

    @property
    def reference(self) -> Critique | None:
        """The reference critique with its AIUs: the item's own, otherwise the written one."""
        critique, text = reference_critique(self.item.critiques), self._written_text("reference_critique")
        if critique is None and text is not None:
            author = self.settings.writer_of("reference_critique").name
            critique = Critique(id=WRITTEN_REFERENCE_ID, author=author, role="reference", text=text)
        return self._with_extracted_aius(critique) if critique else None

    @property
    def critiques(self) -> tuple[Critique, ...]:
        """The critiques that are evaluated, with their AIUs: the item's, then those that critics wrote."""
        critiques = (*hypothesis_critiques(self.item.critiques), *self._written_critiques())
        return tuple(self._with_extracted_aius(critique) for critique in critiques)

    def judging_jobs(self) -> list[Job]:
        """Return both tasks for every judge and AIU, as far as the AIUs are known (Section 2.3)."""
        jobs: list[Job] = []
        step: Step = "precision" if self.settings.answer == "first" else "precision_alone"
        for judge in self.settings.judges:
            for critique in self.critiques:
                if self._needs_precision and (step == "precision_alone" or self.answer is not None):
                    jobs += [Job(step, judge.name, critique.id, aiu) for aiu in critique.aius or ()]
                if self._needs_recall and self.reference is not None:
                    jobs += [Job("recall", judge.name, critique.id, aiu) for aiu in self.reference.aius or ()]
        return jobs

    def ask(self, job: Job, templates: Templates) -> Ask:
        """Return the ask of a job."""
        template = TEMPLATES.get(job.step, job.step)
        material = {**item_material(self.item, templates, template), **self._material(job)}
        return Ask(
            speaker=job.judge,
            step=job.step,
            round=0,
            spec=self._spec(job),
            prompt=render(templates, template, **material, words=self.settings.words),
            answer=ANSWERS[job.step],
            value=_claim_lines if job.step == "extract" else unchanged,
        )

    def _writing_jobs(self) -> list[Job]:
        """Return the asks for texts: references and critiques, and the AIUs of those there are (Sections 2.1, 2.2)."""
        jobs: list[Job] = []
        if self._needs_precision and self.settings.answer == "first" and self.item.reference is None:
            jobs.append(self._writing_job("reference_answer"))
        critiques = [*(hypothesis_critiques(self.item.critiques) if self._needs_precision else ())]
        if self._needs_recall:
            jobs += [] if reference_critique(self.item.critiques) else [self._writing_job("reference_critique")]
            critiques += [self.reference] if self.reference else []
        jobs += [Job("hypothesis_critique", critic.name) for critic in self._writing_critics()]
        critiques += self._written_critiques() if self._needs_precision else []
        return jobs + [self._writing_job("extract", critique.id) for critique in critiques if critique.aius is None]

    def _writing_job(self, step: WritingStep, critique: str = "") -> Job:
        return Job(step, self.settings.writer_of(step).name, critique)

    def _writing_critics(self) -> list[Judge]:
        """Return the critics that the item has no critique of."""
        known = {critique.id for critique in self.item.critiques}
        return [critic for critic in self.settings.critics if critique_id_from_author(critic.name) not in known]

    def _written_critiques(self) -> list[Critique]:
        """Return the critiques that critics have written, without AIUs."""
        written = [
            (critic, self.turns.get(Job("hypothesis_critique", critic.name))) for critic in self._writing_critics()
        ]
        about = next((critique.of for critique in self.item.critiques), 1)
        return [
            Critique(author=critic.name, text=turn.reading, of=about)
            for critic, turn in written
            if turn is not None and isinstance(turn.reading, str)
        ]

    @property
    def _needs_precision(self) -> bool:
        return self.settings.tasks != "recall"

    @property
    def _needs_recall(self) -> bool:
        return self.settings.tasks != "precision"

    def _written_text(self, step: WritingStep) -> str | None:
        turn = self.turns.get(self._writing_job(step))
        return turn.reading if turn is not None and isinstance(turn.reading, str) else None

    def _with_extracted_aius(self, critique: Critique) -> Critique:
        turn = self.turns.get(self._writing_job("extract", critique.id))
        if critique.aius is not None or turn is None or not isinstance(turn.reading, str):
            return critique
        return critique.model_copy(update={"aius": aius_with_text_ids(critique.id, turn.reading.splitlines())})

    def _spec(self, job: Job) -> Spec:
        if job.step == "hypothesis_critique":
            return next(critic for critic in self.settings.critics if critic.name == job.judge).spec
        if job.step in WRITING_STEPS:
            return self.settings.writer_of(job.step).spec
        judge = next(judge for judge in self.settings.judges if judge.name == job.judge)
        return judge.recall if job.step == "recall" and judge.recall is not None else judge.spec

    def _material(self, job: Job) -> Mapping[str, Material | list[Material]]:
        """Return the values of a template's blanks (Tables 7, 9, 10 and 11), besides those of `item_material`."""
        critiques = (*self.item.critiques, *self._written_critiques())
        critique = next((critique for critique in critiques if critique.id == job.critique), self.reference)
        response = Material("Model-generated answer", criticised_answer(self.item, critique))
        unjudged = replace(response, required=False)
        claim = Material("Claim", job.aiu.text if job.aiu else "")
        critique_text = critique.text if critique else ""
        match job.step:
            case "reference_answer":
                return {}
            case "reference_critique" | "hypothesis_critique":
                return {"response": response}
            case "extract":
                context = [Material("Question", question_text(self.item)), response]
                before = [] if self.settings.extraction == "critique alone" else context
                shown = Material("Critique", critique_text)
                return {"critique": [*before, shown] if before else shown, "response": unjudged}
            case "precision":
                answer = Material("Reference answer", self.answer or "", required=False)
                return {"response": response, "claim": claim, "reference_answer": answer, "reference": answer}
            case "precision_alone":
                return {"response": response, "claim": claim}
            case "recall":
                return {
                    "claim": claim,
                    "reference_text": Material("Reference text", critique_text),
                    "response": unjudged,
                }


def _claim_lines(claims: Sequence[str]) -> str:
    """Return AIUs one per line; empty if the critique has none."""
    return "\n".join(" ".join(claim.split()) for claim in claims)


def criticised_answer(item: Item, critique: Critique | None) -> str:
    """Return the answer that a critique is about; without a critique, the one that the item's critiques are about."""
    about = critique or next(iter(hypothesis_critiques(item.critiques)), None)
    return item.responses[about.of - 1 if about else 0].text


@dataclass(frozen=True)
class AiuJudgement:
    """One judge's judgement of one AIU."""

    target: Target
    judge: str
    critique: str
    aiu: Aiu
    value: bool | None
    problem: str
    job: Job
    turn: Turn | None = None

    @property
    def evidence(self) -> str:
        """The evidence that the judge quotes."""
        return split_rationale(self.turn.statement)[0] if self.turn else ""

    @property
    def reasoning(self) -> str:
        """The judge's reasoning; the whole rationale if it has no such part."""
        return split_rationale(self.turn.statement)[1] if self.turn else ""


def collect_judgements(evaluation: Evaluation) -> list[AiuJudgement]:
    """Return every judge's judgement of every AIU, by judge and critique: precision, then recall."""
    judgements = []
    for job in evaluation.judging_jobs():
        assert job.aiu is not None
        turn = evaluation.turns.get(job)
        value = turn.reading if turn is not None and isinstance(turn.reading, bool) else None
        if job.step == "recall":
            target = recall_target(evaluation.item.id, job.aiu.id, job.critique)
        else:
            target = precision_target(evaluation.item.id, job.aiu.id)
        problem = "" if value is not None else (turn.problem if turn else "") or "has not been asked"
        judgements.append(AiuJudgement(target, job.judge, job.critique, job.aiu, value, problem, job, turn))
    return judgements


_PARTS = re.compile(r"^\W*(evidence|reasoning)\W*?:\W*", re.I | re.M)
_VERDICT = re.compile(r"\n\s*\W*(?:final answer|is true)\W*:[^\n]*\s*$", re.I)


def split_rationale(statement: str) -> tuple[str, str]:
    """Return (evidence, reasoning) without the verdict; all of it is reasoning if it does not have these parts."""
    rationale = _VERDICT.sub("", statement.strip()).strip()
    pieces = _PARTS.split(rationale)
    parts = {name.lower(): text.strip() for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    if parts.keys() != {"evidence", "reasoning"} or pieces[0].strip():
        return "", rationale
    return parts["evidence"], parts["reasoning"]


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
    values: dict[tuple[str, str, Kind], list[bool | None]] = defaultdict(list)
    for judgement in collect_judgements(evaluation):
        values[judgement.judge, judgement.critique, judgement.target.kind].append(judgement.value)
    scores = {}
    for judge, critique in product(evaluation.settings.judges, evaluation.critiques):
        factual = values[judge.name, critique.id, "aiu_precision"]
        covered = values[judge.name, critique.id, "aiu_recall"]
        together, score = [*factual, *covered], score_critique(factual, covered)
        bounds = score_bounds(factual, covered)
        scores[judge.name, critique.id] = ScoreRange(score, *bounds, together.count(None), len(together))
    return scores


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
    lines = []
    for (judge, critique), rated in scores.items():
        ranges = ", ".join(f"{name} {describe_range(rated, one)}" for name, one in SCORES.items())
        unread = f"; {rated.unread} of {rated.aius} judgements were unreadable" if rated.unread else ""
        lines.append(f"{critique if has_one_judge else f'{judge} on {critique}'}: {ranges}{unread}")
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


def describe_range(rated: ScoreRange, field: Literal["precision", "recall", "f1"]) -> str:
    """Return `0.71`, or `0.71 (0.50 to 0.80)` if unreadable judgements could change it; "–" if undefined."""
    value, low, high = (getattr(score, field) for score in (rated.score, rated.low, rated.high))
    text = "–" if value is None else f"{value:.2f}"
    is_open = low is not None and high is not None and high - low > SLACK
    return f"{text} ({low:.2f} to {high:.2f})" if is_open else text
