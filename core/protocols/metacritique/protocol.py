"""MetaCritique: how factual and how complete a critique is (Sun et al. 2024, arXiv:2401.04518, Section 2).

A critique is split in atomic information units (AIUs). Precision is the share of its AIUs that are factual (Eq. 1),
recall the share of the reference critique's AIUs that it covers (Eq. 3), F1 their harmonic mean (Eq. 5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from core.critiques import Score, hypotheses, score
from core.items import Item
from core.labels import Kind, Opinion, Target, Value
from core.problems import Problem
from core.protocols.metacritique.progress import WRITING, Case, Job, Judgement, judgements
from core.protocols.metacritique.settings import Judge as Judge
from core.protocols.metacritique.settings import Settings as Settings
from core.templates import Templates
from core.trace import Ask, Flow, Outcome, Turn, Verdict

NAME = "metacritique"


def flow(item: Item, settings: Settings, chance: Random, templates: Templates) -> Flow:
    """Write what is missing, take the critiques apart, judge every AIU. Nothing is random."""
    case = opened(item, settings)
    while jobs := case.jobs():
        case = case.told(dict(zip(jobs, (yield [case.ask(job, templates) for job in jobs]), strict=True)))
    return conclude(case)


def opened(item: Item, settings: Settings) -> Case:
    """The case before anybody is asked; raises Problem for an item that has nothing to evaluate."""
    there = hypotheses(item.critiques)
    if not there:
        raise Problem(f"Item {item.id} has no critique; MetaCritique evaluates critiques.")
    wrong = [one for one in item.critiques if one.of > len(item.responses)]
    if wrong:
        raise Problem(f"Item {item.id} has no response {wrong[0].of}, of which the critique {wrong[0].id} speaks.")
    if len({one.of for one in item.critiques}) > 1:
        raise Problem(f"The critiques of item {item.id} speak of different responses; give each response its own item.")
    return Case(item, settings)


@dataclass(frozen=True)
class Replay:
    """A case after the turns so far."""

    case: Case
    asked: tuple[Job, ...]
    """What is being asked now, or would be."""
    numbers: Mapping[Job, int]
    """The number in the flow of every ask so far."""


def replayed(item: Item, settings: Settings, turns: Mapping[int, Turn]) -> Replay:
    """The case after the turns so far, by the number of their ask."""
    case, numbers = opened(item, settings), dict[Job, int]()
    while jobs := case.jobs():
        numbers |= {job: number for number, job in enumerate(jobs, len(numbers))}
        here = {job: turns[numbers[job]] for job in jobs if numbers[job] in turns}
        case = case.told(here)
        if len(here) < len(jobs):
            return Replay(case, tuple(job for job in jobs if job not in here), numbers)
    return Replay(case, (), numbers)


def scores(case: Case) -> dict[tuple[str, str], Score]:
    """Precision, recall and F1 by (judge, critique)."""
    said: dict[tuple[str, str, Kind], list[bool | None]] = {}
    for one in judgements(case):
        said.setdefault((one.judge, one.critique, one.target.kind), []).append(one.value)
    return {
        (judge.name, one.id): score(
            said.get((judge.name, one.id, "aiu_precision"), ()), said.get((judge.name, one.id, "aiu_recall"), ())
        )
        for judge in case.settings.judges
        for one in case.critiques
    }


def conclude(case: Case) -> Verdict:
    """An opinion for each AIU. Disputed where judges differ on one; no verdict where one could not be judged."""
    said, found = judgements(case), scores(case)
    held: dict[Target, set[bool | None]] = {}
    for one in said:
        held.setdefault(one.target, set()).add(one.value)
    outcome: Outcome = "agreed"
    if any({True, False} <= values for values in held.values()):
        outcome = "disputed"
    elif missing(case) or any(None in values for values in held.values()):
        outcome = "no_verdict"
    alone = len(case.settings.judges) == 1
    f1 = {critique: one.f1 for (_, critique), one in found.items() if one.f1 is not None} if alone else {}
    return Verdict(
        outcome=outcome,
        value=f1 or None,
        reason="; ".join([*missing(case), *(_line(*of, one, alone) for of, one in found.items())]),
        opinions=tuple(_opinion(one, stage) for stage in ("last", "verdict") for one in said),
    )


def missing(case: Case) -> list[str]:
    """Why AIUs could not be judged, in words: what the writer could not give, and what it found nothing in."""
    found = []
    for job, turn in case.said.items():
        if turn.reading is None and job.step in WRITING:
            what = {"extract": f"AIUs of {job.critique}"}.get(job.step, job.step.replace("_", " "))
            found.append(f"no {what}: {turn.problem}")
    return found


def longest(settings: Settings, ask: Ask) -> Value:
    """About as many AIUs as the critiques of models have (Table 1)."""
    return _made_up(ask, aius=8)


def shortest(settings: Settings, ask: Ask) -> Value:
    """About as many AIUs as the critiques of people have."""
    return _made_up(ask, aius=3)


def _made_up(ask: Ask, aius: int) -> Value:
    match ask.step:
        case "extract":
            return "\n".join(f"The answer has the flaw number {number}." for number in range(aius))
        case "reference_answer" | "reference_critique":
            return "words " * 80
    return True


def _opinion(one: Judgement, stage: Literal["last", "verdict"]) -> Opinion:
    return Opinion(
        kind=one.target.kind, judge=one.judge, stage=stage, value=one.value, part=one.target.part, problem=one.problem
    )


def _line(judge: str, critique: str, found: Score, alone: bool) -> str:
    """`human: P 0.71, R 0.40, F1 0.51`."""
    parts = [("P", found.precision), ("R", found.recall), ("F1", found.f1)]
    told = ", ".join(f"{name} {'–' if value is None else format(value, '.2f')}" for name, value in parts)
    return f"{critique}: {told}" if alone else f"{judge} on {critique}: {told}"
