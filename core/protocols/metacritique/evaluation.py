"""The state of MetaCritique on one item: the turns so far, and which asks they make possible next."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from core.critiques import (
    Aiu,
    Critique,
    aius_with_text_ids,
    hypothesis_critiques,
    precision_target,
    recall_target,
    reference_critique,
)
from core.items import Item
from core.labels import Target, Value
from core.protocols.metacritique import readings
from core.protocols.metacritique.settings import Settings
from core.protocols.prompt_parts import question_text
from core.templates import Templates, render
from core.trace import Ask, Spec, Turn

Step = Literal["reference_answer", "reference_critique", "extract", "precision", "precision_alone", "recall"]
WRITING_STEPS: tuple[Step, ...] = ("reference_answer", "reference_critique", "extract")
READERS: Mapping[Step, Callable[[str], Value]] = {
    "reference_answer": readings.read_text,
    "reference_critique": readings.read_text,
    "extract": readings.read_claims,
    "precision": readings.read_truth,
    "precision_alone": readings.read_truth,
    "recall": readings.read_truth,
}
RETRY_TEMPLATES: Mapping[Step, str] = {
    "extract": "again_claims",
    "precision": "again_truth",
    "precision_alone": "again_truth",
    "recall": "again_truth",
}
_LINE = r"[^\n]{20,240}"
_TRUTH = rf'root ::= "Evidence: " {_LINE} "\nReasoning: " {_LINE} "\nTherefore, the claim is " ("true" | "false") "."'
GRAMMARS: Mapping[Step, str] = {
    "extract": r'root ::= [^\n]{10,160} ("\n" [^\n]{10,160}){0,7}',
    "precision": _TRUTH,
    "precision_alone": _TRUTH,
    "recall": _TRUTH,
}
"""The grammar of each reply (llama.cpp's GBNF), for the local model alone."""
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
        """Return the questions that can be asked now, in parallel; empty where all are answered."""
        for jobs in (self._writing_jobs(), self._reference_extraction_jobs(), self.judging_jobs()):
            unanswered = [job for job in jobs if job not in self.turns]
            if unanswered:
                return unanswered
        return []

    @property
    def answer(self) -> str | None:
        """The reference answer: the item's own, else the written one."""
        return self.item.reference if self.item.reference is not None else self._written_text("reference_answer")

    @property
    def reference(self) -> Critique | None:
        """The reference critique with its AIUs: the item's own, else the written one."""
        critique, text = reference_critique(self.item.critiques), self._written_text("reference_critique")
        if critique is None and text is not None:
            author = self.settings.effective_writer.name
            critique = Critique(id=WRITTEN_REFERENCE_ID, author=author, role="reference", text=text)
        return self._with_extracted_aius(critique) if critique else None

    @property
    def critiques(self) -> tuple[Critique, ...]:
        """The critiques that are evaluated, with their AIUs."""
        return tuple(self._with_extracted_aius(critique) for critique in hypothesis_critiques(self.item.critiques))

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
        prompt = render(templates, job.step, **self._blanks(job))
        retry_template = RETRY_TEMPLATES.get(job.step)
        return Ask(
            speaker=job.judge,
            step=job.step,
            round=0,
            spec=self._spec(job),
            prompt=prompt,
            read=READERS[job.step],
            retry_prompt=render(templates, retry_template, prompt=prompt) if retry_template else "",
            grammar=GRAMMARS.get(job.step, ""),
        )

    def _writing_jobs(self) -> list[Job]:
        """Return what depends on no reply: references, and AIUs of given critiques (Sections 2.1, 2.2)."""
        writer, jobs = self.settings.effective_writer.name, []
        if self._needs_precision and self.settings.answer == "first" and self.item.reference is None:
            jobs.append(Job("reference_answer", writer))
        critiques = [*(hypothesis_critiques(self.item.critiques) if self._needs_precision else ())]
        if self._needs_recall:
            reference = reference_critique(self.item.critiques)
            jobs += [] if reference else [Job("reference_critique", writer)]
            critiques += [reference] if reference else []
        return jobs + [Job("extract", writer, critique.id) for critique in critiques if critique.aius is None]

    def _reference_extraction_jobs(self) -> list[Job]:
        """Return the extraction of AIUs from a reference critique that was just written."""
        reference = self.reference if self._needs_recall else None
        if reference is None or reference.aius is not None:
            return []
        job = Job("extract", self.settings.effective_writer.name, reference.id)
        return [] if job in self.turns else [job]

    @property
    def _needs_precision(self) -> bool:
        return self.settings.tasks != "recall"

    @property
    def _needs_recall(self) -> bool:
        return self.settings.tasks != "precision"

    def _written_text(self, step: Step) -> str | None:
        turn = self.turns.get(Job(step, self.settings.effective_writer.name))
        return turn.reading if turn is not None and isinstance(turn.reading, str) else None

    def _with_extracted_aius(self, critique: Critique) -> Critique:
        turn = self.turns.get(Job("extract", self.settings.effective_writer.name, critique.id))
        if critique.aius is not None or turn is None or not isinstance(turn.reading, str):
            return critique
        return critique.model_copy(update={"aius": aius_with_text_ids(critique.id, turn.reading.splitlines())})

    def _spec(self, job: Job) -> Spec:
        if job.step in WRITING_STEPS:
            return self.settings.effective_writer.spec
        judge = next(judge for judge in self.settings.judges if judge.name == job.judge)
        return judge.recall if job.step == "recall" and judge.recall is not None else judge.spec

    def _blanks(self, job: Job) -> dict[str, object]:
        """Return the values of a template's blanks (Tables 7, 9, 10 and 11)."""
        critique = next((one for one in self.item.critiques if one.id == job.critique), self.reference)
        criticised = {"question": question_text(self.item), "answer": criticised_answer(self.item, critique)}
        claim = {"claim": job.aiu.text if job.aiu else "", "words": self.settings.words}
        match job.step:
            case "reference_answer":
                return {"question": criticised["question"]}
            case "reference_critique":
                return {**criticised}
            case "extract":
                return {"critique": critique.text if critique else ""}
            case "precision":
                return {**criticised, **claim, "reference_answer": self.answer or ""}
            case "precision_alone":
                return {**criticised, **claim}
            case "recall":
                return {**claim, "critique": critique.text if critique else ""}


def criticised_answer(item: Item, critique: Critique | None) -> str:
    """Return the answer that a critique is about; without a critique, the one that the item's critiques are about."""
    about = critique or hypothesis_critiques(item.critiques)[0]
    return item.responses[about.of - 1].text


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
        return split_rationale(self.turn.reply)[0] if self.turn else ""

    @property
    def reasoning(self) -> str:
        """The judge's reasoning; the whole reply where it has no such part."""
        return split_rationale(self.turn.reply)[1] if self.turn else ""


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


def split_rationale(reply: str) -> tuple[str, str]:
    """Return (evidence, reasoning) of a rationale; all of it is reasoning where it does not have these two parts."""
    pieces = _PARTS.split(reply.strip())
    parts = {name.lower(): text.strip() for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    if parts.keys() != {"evidence", "reasoning"} or pieces[0].strip():
        return "", reply.strip()
    return parts["evidence"], parts["reasoning"]
