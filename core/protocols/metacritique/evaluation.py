"""The state of MetaCritique on one item: the turns so far, and which asks they make possible next."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from core.answers import Answer, Claims, Passage, Truth
from core.critiques import (
    Aiu,
    Critique,
    aius_with_text_ids,
    critique_id_from_author,
    hypothesis_critiques,
    precision_target,
    recall_target,
    reference_critique,
)
from core.items import Item
from core.labels import Target
from core.protocols import Judge
from core.protocols.metacritique.settings import Settings, WritingStep
from core.protocols.prompt_parts import item_material, question_text
from core.templates import Material, Templates, render
from core.trace import Ask, Spec, Turn, unchanged

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
TEMPLATES: Mapping[Step, str] = {"hypothesis_critique": "reference_critique"}
"""Steps with the template of another step: the texts of Tables 7 and 8 are the same."""
WRITTEN_REFERENCE_ID = "written-reference"
"""The id of a reference critique that the writer wrote."""


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
        for jobs in (self._writing_jobs(), self._later_extraction_jobs(), self.judging_jobs()):
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
            value=claim_lines if job.step == "extract" else unchanged,
        )

    def _writing_jobs(self) -> list[Job]:
        """Return the asks that depend on no reply: references, and AIUs of given critiques (Sections 2.1, 2.2)."""
        jobs: list[Job] = []
        if self._needs_precision and self.settings.answer == "first" and self.item.reference is None:
            jobs.append(self._writing_job("reference_answer"))
        critiques = [*(hypothesis_critiques(self.item.critiques) if self._needs_precision else ())]
        if self._needs_recall:
            reference = reference_critique(self.item.critiques)
            jobs += [] if reference else [self._writing_job("reference_critique")]
            critiques += [reference] if reference else []
        jobs += [Job("hypothesis_critique", critic.name) for critic in self._writing_critics()]
        return jobs + [self._writing_job("extract", critique.id) for critique in critiques if critique.aius is None]

    def _writing_job(self, step: WritingStep, critique: str = "") -> Job:
        return Job(step, self.settings.writer_of(step).name, critique)

    def _later_extraction_jobs(self) -> list[Job]:
        """Return the extraction of AIUs from the critiques that were just written."""
        reference = self.reference if self._needs_recall else None
        critiques = [*([reference] if reference else ()), *(self._written_critiques() if self._needs_precision else ())]
        jobs = [self._writing_job("extract", critique.id) for critique in critiques if critique.aius is None]
        return [job for job in jobs if job not in self.turns]

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
                shown = [*self._extraction_context(response), Material("Critique", critique_text)]
                return {"critique": shown, "response": unjudged}
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

    def _extraction_context(self, response: Material) -> list[Material]:
        """Return the text before a critique whose AIUs are extracted: question and answer, if the settings say so."""
        if self.settings.extraction == "critique alone":
            return []
        return [Material("Question", question_text(self.item)), response]


def claim_lines(claims: Sequence[str]) -> str:
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
