"""What is known of an item's critiques at a moment of MetaCritique, and so what has to be asked next."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from core.critiques import Aiu, Critique, covered, factual, hypotheses, reference, written
from core.items import Item
from core.labels import Target, Value
from core.protocols.metacritique import readings
from core.protocols.metacritique.settings import Settings
from core.templates import Templates, render
from core.trace import Ask, Spec, Turn

Step = Literal["reference_answer", "reference_critique", "extract", "precision", "precision_alone", "recall"]
WRITING: tuple[Step, ...] = ("reference_answer", "reference_critique", "extract")
READINGS: Mapping[Step, Callable[[str], Value]] = {
    "reference_answer": readings.words,
    "reference_critique": readings.words,
    "extract": readings.claims,
    "precision": readings.truth,
    "precision_alone": readings.truth,
    "recall": readings.truth,
}
AGAIN: Mapping[Step, str] = {
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
"""The form of an answer, to which the local model is held."""
REFERENCE = "written-reference"
"""The id of a reference critique that is written here."""


@dataclass(frozen=True)
class Job:
    """One question that has to be answered."""

    step: Step
    judge: str
    critique: str = ""
    """The critique that is taken apart, or whose precision or recall it is."""
    aiu: Aiu | None = None

    @property
    def target(self) -> tuple[str, str]:
        """The AIU and the critique."""
        return (self.aiu.id if self.aiu else "", self.critique)


@dataclass(frozen=True)
class Case:
    """An item with all that was said about it so far."""

    item: Item
    settings: Settings
    said: Mapping[Job, Turn] = field(default_factory=dict)

    def told(self, turns: Mapping[Job, Turn]) -> "Case":
        """The case with more turns."""
        return replace(self, said={**self.said, **turns})

    def jobs(self) -> list[Job]:
        """What can be asked now, at the same time; nothing when all is said."""
        for jobs in (self._writing(), self._taking_apart(), self.judging()):
            left = [job for job in jobs if job not in self.said]
            if left:
                return left
        return []

    @property
    def answer(self) -> str | None:
        """The reference answer: the item's own, else the one that was written."""
        return self.item.reference if self.item.reference is not None else self._reading("reference_answer")

    @property
    def reference(self) -> Critique | None:
        """The reference critique: the item's own, else the one that was written, with the AIUs that were found."""
        own, text = reference(self.item.critiques), self._reading("reference_critique")
        if own is None and text is not None:
            own = Critique(id=REFERENCE, author=self.settings.writing.name, role="reference", text=text)
        return self._apart(own) if own else None

    @property
    def critiques(self) -> tuple[Critique, ...]:
        """The critiques that are evaluated, with the AIUs that were found."""
        return tuple(self._apart(one) for one in hypotheses(self.item.critiques))

    def _writing(self) -> list[Job]:
        """What does not wait for anything: references, and the AIUs of critiques that are there (Sections 2.1, 2.2)."""
        writer, found = self.settings.writing.name, []
        if self._factual and self.settings.answer == "first" and self.item.reference is None:
            found.append(Job("reference_answer", writer))
        there = [*(hypotheses(self.item.critiques) if self._factual else ())]
        if self._complete:
            own = reference(self.item.critiques)
            found += [] if own else [Job("reference_critique", writer)]
            there += [own] if own else []
        return found + [Job("extract", writer, one.id) for one in there if one.aius is None]

    def _taking_apart(self) -> list[Job]:
        """The AIUs of a reference critique that was just written."""
        there = self.reference if self._complete else None
        if there is None or there.aius is not None or Job("extract", self.settings.writing.name, there.id) in self.said:
            return []
        return [Job("extract", self.settings.writing.name, there.id)]

    def judging(self) -> list[Job]:
        """Both tasks for every judge, all AIUs at once (Section 2.3)."""
        found: list[Job] = []
        step: Step = "precision" if self.settings.answer == "first" else "precision_alone"
        for judge in self.settings.judges:
            for critique in self.critiques:
                if self._factual and (step == "precision_alone" or self.answer is not None):
                    found += [Job(step, judge.name, critique.id, aiu) for aiu in critique.aius or ()]
                if self._complete and self.reference is not None:
                    found += [Job("recall", judge.name, critique.id, aiu) for aiu in self.reference.aius or ()]
        return found

    @property
    def _factual(self) -> bool:
        return self.settings.tasks != "recall"

    @property
    def _complete(self) -> bool:
        return self.settings.tasks != "precision"

    def _reading(self, step: Step) -> str | None:
        turn = self.said.get(Job(step, self.settings.writing.name))
        return turn.reading if turn is not None and isinstance(turn.reading, str) else None

    def _apart(self, critique: Critique) -> Critique:
        turn = self.said.get(Job("extract", self.settings.writing.name, critique.id))
        if critique.aius is not None or turn is None or not isinstance(turn.reading, str):
            return critique
        return critique.model_copy(update={"aius": written(critique.id, turn.reading.splitlines())})

    def ask(self, job: Job, templates: Templates) -> Ask:
        """A job as a question to its model."""
        prompt = render(templates, job.step, **self._blanks(job))
        again = AGAIN.get(job.step)
        return Ask(
            speaker=job.judge,
            step=job.step,
            round=0,
            spec=self._spec(job),
            prompt=prompt,
            read=READINGS[job.step],
            again=render(templates, again, prompt=prompt) if again else "",
            grammar=GRAMMARS.get(job.step, ""),
        )

    def _spec(self, job: Job) -> Spec:
        if job.step in WRITING:
            return self.settings.writing.spec
        judge = next(one for one in self.settings.judges if one.name == job.judge)
        return judge.recall if job.step == "recall" and judge.recall is not None else judge.spec

    def _blanks(self, job: Job) -> dict[str, object]:
        """What stands in the slots of a step's template (Tables 7, 9, 10 and 11)."""
        critique = next((one for one in self.item.critiques if one.id == job.critique), self.reference)
        answered = {"question": question(self.item), "answer": response(self.item, critique)}
        claim = {"claim": job.aiu.text if job.aiu else "", "words": self.settings.words}
        match job.step:
            case "reference_answer":
                return {"question": answered["question"]}
            case "reference_critique":
                return {**answered}
            case "extract":
                return {"critique": critique.text if critique else ""}
            case "precision":
                return {**answered, **claim, "reference_answer": self.answer or ""}
            case "precision_alone":
                return {**answered, **claim}
            case "recall":
                return {**claim, "critique": critique.text if critique else ""}


def question(item: Item) -> str:
    """What was asked, with its context."""
    return f"{item.context}\n\n{item.prompt}" if item.context else item.prompt


def response(item: Item, critique: Critique | None) -> str:
    """The answer that a critique is about; one that is yet to be written is about the same as the others."""
    about = critique or hypotheses(item.critiques)[0]
    return item.responses[about.of - 1].text


@dataclass(frozen=True)
class Judgement:
    """What a judge says of one AIU."""

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
        """What the judge says it needed."""
        return parted(self.turn.reply)[0] if self.turn else ""

    @property
    def reasoning(self) -> str:
        """How the judge came to its conclusion; the whole reply where it has no such part."""
        return parted(self.turn.reply)[1] if self.turn else ""


def judgements(case: Case) -> list[Judgement]:
    """Every AIU's judgement by every judge, critique by critique: precision, then recall."""
    found = []
    for job in case.judging():
        assert job.aiu is not None
        turn = case.said.get(job)
        value = turn.reading if turn is not None and isinstance(turn.reading, bool) else None
        recall = job.step == "recall"
        target = covered(case.item.id, *job.target) if recall else factual(case.item.id, job.aiu.id)
        problem = "" if value is not None else (turn.problem if turn else "") or "has not been asked"
        found.append(Judgement(target, job.judge, job.critique, job.aiu, value, problem, job, turn))
    return found


_PARTS = re.compile(r"^\W*(evidence|reasoning)\W*?:\W*", re.I | re.M)


def parted(reply: str) -> tuple[str, str]:
    """(evidence, reasoning) of a rationale; all of it is reasoning where it is not written in these parts."""
    pieces = _PARTS.split(reply.strip())
    named = {name.lower(): text.strip() for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    if named.keys() != {"evidence", "reasoning"} or pieces[0].strip():
        return "", reply.strip()
    return named["evidence"], named["reasoning"]
