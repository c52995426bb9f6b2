"""Make the study that ships with the app: `python -m tests.bench.make_showcase` (half an hour with the local model).

200 items from templates with a seed. Judges and annotators with known error rates are simulated, and the local model is
really run over the same items. docs/showcase.md states the truth that is planted here; `storage.transfer.samples` loads
the file. `--without-model` leaves out the runs of the local model.
"""

import gzip
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import select
from sqlmodel import col

from core.designs import default_design
from core.formats import tiebreak
from core.formats.records import (
    AdjudicationRecord,
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    Record,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    StudyRules,
    TraceRecord,
)
from core.items import Criterion, Item, Response
from core.labels import PREFERENCE, Adjudication, Label, Opinion, Target
from core.protocols.registry import PROTOCOLS
from core.trace import Turn, TurnCompleted, Usage, Verdict, VerdictReached
from core.verdicts import contention
from storage.db import connections
from storage.db.tables import ItemRow, TargetRow
from storage.labels import designs
from storage.studies import studies
from storage.transfer import exports, imports, samples
from tests.databases import create_database

Stage = Literal["first", "last", "verdict"]
SEED = 20_261_124
COUNT = 200
CRITERION = "helpfulness"
# System -> the share of its answers that are wrong.
WRONG = {"brief": 0.35, "detailed": 0.2}
# Judge of the simulated panel -> the share of its first opinions that follow the truth.
PANEL = {"simulated A": 0.92, "simulated B": 0.86, "simulated C": 0.78}
ADOPTS = 0.5
"""The probability that a judge in the minority adopts the opinion of both others."""
# Annotator -> the share of labels that differ from the truth; twice as many where both answers are right.
ANNOTATORS = {
    "simulated annotator 1": 0.03,
    "simulated annotator 2": 0.04,
    "simulated annotator 3": 0.05,
    "simulated annotator 4": 0.12,
}
START = datetime(2026, 11, 2, 9, tzinfo=UTC)
DAYS = 12
AGREED_SHARE = 0.7


@dataclass(frozen=True)
class Question:
    """A question with what a right and a wrong answer say about it."""

    scenario: str
    prompt: str
    right: str
    wrong: str
    steps: str
    """How the right answer is found."""
    fault: str
    """What is wrong with the wrong answer."""


@dataclass(frozen=True)
class Case:
    """An item, and which of its responses is better: 1, 2, or 0 for neither."""

    item: Item
    better: int
    question: Question
    right: tuple[bool, bool]

    def wins(self, system: str) -> bool:
        """Return whether the response of a system is the better one."""
        return self.better > 0 and self.item.responses[self.better - 1].system == system


def fares(rng: random.Random) -> Question:
    fare, people = rng.randint(3, 9), rng.randint(2, 6)
    total = 2 * fare * people
    return Question(
        "arithmetic",
        f"A bus ticket costs {fare} euros for one way. {people} friends travel to the lake and back. "
        "How much do they pay altogether?",
        f"{total} euros", f"{total // 2} euros",
        f"One way costs {people} × {fare} = {fare * people} euros, and there and back is twice as much",
        "It forgets the way back",
    )  # fmt: skip


def loans(rng: random.Random) -> Question:
    start, days = date(2026, rng.randint(1, 12), rng.randint(1, 28)), rng.choice([10, 14, 21, 30])
    due = start + timedelta(days=days)

    def written(day: date) -> str:
        return f"{day.day} {day:%B}"

    return Question(
        "dates",
        f"A book is borrowed on {written(start)} and has to be returned after {days} days. On which date is that?",
        written(due), written(due + timedelta(days=1)),
        f"The day of the loan is not counted: {written(start)} plus {days} days",
        "It counts one day too many",
    )  # fmt: skip


def recipes(rng: random.Random) -> Question:
    people, flour = rng.choice([2, 4, 6]), rng.choice([120, 180, 240, 300, 360])
    guests = people * rng.choice([2, 3])
    right, wrong = flour * guests // people, flour + (guests - people) * 10
    return Question(
        "recipes",
        f"A cake for {people} people needs {flour} g of flour. How much flour do I need for {guests} people?",
        f"{right} g", f"{wrong} g",
        f"{guests} is {guests // people} times {people}, so the flour is {guests // people} × {flour} g",
        "It adds a little flour for each guest in place of multiplying",
    )  # fmt: skip


def programs(rng: random.Random) -> Question:
    first, last = rng.randint(1, 4), rng.randint(6, 12)
    right = sum(range(first, last))
    return Question(
        "code",
        f"What does this program print?\n\n```python\nprint(sum(range({first}, {last})))\n```",
        f"`{right}`", f"`{right + last}`",
        f"`range({first}, {last})` ends before {last}, and the numbers from {first} to {last - 1} add up to {right}",
        f"It adds {last} too, although the range ends before it",
    )  # fmt: skip


def messages(rng: random.Random) -> Question:
    event, hour = rng.choice(["choir practice", "the house meeting", "the chess evening"]), rng.randint(5, 8)
    day = rng.choice(["Tuesday", "Thursday", "Friday"])
    return Question(
        "messages",
        f"Write one sentence to my neighbours: {event} moves to {day} at {hour} pm.",
        f"“Please note that {event} moves to {day} at {hour} pm.”",
        f"“Please note that {event} moves to {day}.”",
        "One sentence with the event, the day and the time, as you asked",
        "It leaves out the time",
    )


FAMILIES: Sequence[Callable[[random.Random], Question]] = (fares, loans, recipes, programs, messages)


def make_case(number: int, rng: random.Random) -> Case:
    """Return an item with an answer of each system, in random order."""
    question = FAMILIES[number % len(FAMILIES)](rng)
    systems = list(WRONG)
    rng.shuffle(systems)
    right = tuple(rng.random() >= WRONG[system] for system in systems)
    texts = [answer(question, system, correct) for system, correct in zip(systems, right, strict=True)]
    if right[0] != right[1]:
        better = 1 if right[0] else 2
    else:  # steps help where both are right; two wrong answers are equally useless
        better = systems.index("detailed") + 1 if right[0] and rng.random() < 0.6 else 0
    responses = tuple(Response(text=text, system=system) for text, system in zip(texts, systems, strict=True))
    item = Item(id=f"{question.scenario}-{number // len(FAMILIES) + 1:02}", prompt=question.prompt,
                responses=responses, scenario=question.scenario)  # fmt: skip
    return Case(item, better, question, (right[0], right[1]))


def answer(question: Question, system: str, correct: bool) -> str:
    """Return the answer of a system."""
    result = question.right if correct else question.wrong
    if system == "brief":
        return f"{result[0].upper()}{result[1:]}"
    steps = f"{question.steps}." if correct else "Here is the result, step by step."
    return f"{steps}\n\n**Answer:** {result}\n\nTell me if you want to see another example."


def differ(value: int, share: float, rng: random.Random) -> int:
    """Return the value, or with a probability another one."""
    return rng.choice([other for other in (0, 1, 2) if other != value]) if rng.random() < share else value


def panel_trace(case: Case, rng: random.Random) -> TraceRecord:
    """Return a debate of the simulated panel: opinions, and a round of replies unless they are unanimous."""
    shown = rng.choice([(1, 2), (2, 1)])
    first = {judge: differ(case.better, 1 - share, rng) for judge, share in PANEL.items()}
    last, events = dict(first), list[TurnCompleted]()
    for speaker, value in first.items():
        events.append(spoken(case, speaker, value, shown, len(events), 0, reason_of(case, value, shown)))
    for stage in (1, 2):
        if len(set(last.values())) == 1:
            break
        previous = dict(last)
        for speaker, value in previous.items():
            others = {other for judge, other in previous.items() if judge != speaker}
            changes = len(others) == 1 and others != {value} and rng.random() < ADOPTS
            last[speaker] = others.pop() if changes else value
            reason = reason_of(case, last[speaker], shown)
            text = (
                f"The others have convinced me. {reason}" if changes else f"I have read the others and stay. {reason}"
            )
            events.append(spoken(case, speaker, last[speaker], shown, len(events), stage, text))
    return TraceRecord(run="simulated panel", item=case.item.id, events=(*events, conclusion(first, last)))


def reason_of(case: Case, value: int, shown: Sequence[int]) -> str:
    """Return a judge's sentence for its opinion."""
    if value == 0:
        return "Both submissions help this person equally: I see no difference that matters for the question."
    place, other = shown.index(value) + 1, 2 - shown.index(value)
    ours, theirs = case.right[value - 1], case.right[2 - value]
    if ours and not theirs:
        fault = f"{case.question.fault[0].lower()}{case.question.fault[1:]}"
        return f"{case.question.steps}: Submission {place} is right. Submission {other} is not: {fault}."
    if ours == theirs:
        return f"Submission {place} is clearer about how it gets to its result than Submission {other}."
    return f"Submission {place} reads more helpful to me; Submission {other} does not convince me."


def model_of(judge: str) -> str:
    """Return the name that stands for the model of a simulated judge."""
    return judge.replace(" ", "/").lower()


def spoken(
    case: Case, speaker: str, value: int, shown: tuple[int, ...], ask: int, stage: int, reason: str
) -> TurnCompleted:
    """Return a turn; the reply names the submission in the order in which the judge received them."""
    stated = str(shown.index(value) + 1 if value else 0)
    reply = f"{reason}\n\n{stated}"
    tokens = len(reply) // 4
    usage = Usage(prompt_tokens=300 + 90 * stage, completion_tokens=tokens, seconds=tokens / 40, dollars=tokens / 1e6)
    return TurnCompleted(
        ask=ask,
        turn=Turn(
            speaker=speaker, step="reply" if stage else "opinion", round=stage, reply=reply, reading=value,
            model=model_of(speaker), shown=shown, usage=usage, reading_rule="line",
            reading_span=(len(reply) - 1, len(reply)),
        ),
    )  # fmt: skip


def conclusion(first: Mapping[str, int], last: Mapping[str, int]) -> VerdictReached:
    """Return the verdict on the opinions of a debate."""
    values = list(last.values())
    agreed = len(set(values)) == 1
    stages: Sequence[tuple[Stage, Mapping[str, int]]] = (("first", first), ("last", last))
    opinions = [opinion(judge, stage, value) for stage, found in stages for judge, value in found.items()]
    value = values[0] if agreed else None
    problem = "" if agreed else "no consensus"
    opinions.append(opinion("simulated panel", "verdict", value, problem))
    counts = ", ".join(f"{values.count(one)} for {name}" for one, name in NAMES.items() if one in values)
    reason = f"all 3 judges chose {NAMES[values[0]]}" if agreed else f"the judges still differ: {counts}"
    return VerdictReached(
        verdict=Verdict(
            outcome="agreed" if agreed else "disputed", value=value, reason=reason, opinions=tuple(opinions),
            contention=contention(values, PREFERENCE),
        )
    )  # fmt: skip


NAMES = {1: "response 1", 2: "response 2", 0: "neither"}


def opinion(judge: str, stage: Stage, value: int | None, problem: str = "", confidence: float | None = None) -> Opinion:
    return Opinion(kind="preference", criterion=CRITERION, judge=judge, stage=stage, value=value, problem=problem,
                   confidence=confidence)  # fmt: skip


def single_traces(cases: Sequence[Case], rng: random.Random) -> Iterator[Record]:
    """Yield the runs of single judges: an accurate one, one that prefers the longer answer, one with refusals."""
    judges: Mapping[str, Callable[[Case], int | None]] = {
        "simulated accurate judge": lambda case: differ(case.better, 0.05, rng),
        "simulated length judge": lambda case: longer(case) if rng.random() < 0.5 else differ(case.better, 0.1, rng),
        "simulated judge with refusals": lambda case: None if rng.random() < 0.15 else differ(case.better, 0.15, rng),
    }
    for name, judge in judges.items():
        yield RunRecord(name=name, protocol="single-judge", criterion=CRITERION, created_at=START)
        for case in cases:
            value = judge(case)
            confidence = None if value is None else round(rng.betavariate(9, 2 if value == case.better else 6), 3)
            verdict = Verdict(
                outcome="no_verdict" if value is None else "agreed", value=value,
                reason="The judge refused." if value is None else "",
                opinions=(opinion(name, "verdict", value, "refused" if value is None else "", confidence),),
            )  # fmt: skip
            yield TraceRecord(run=name, item=case.item.id, events=(VerdictReached(verdict=verdict),))


def longer(case: Case) -> int:
    """Return the number of the longer response."""
    first, second = (len(response.text) for response in case.item.responses)
    return 1 if first > second else 2


def records(cases: Sequence[Case], rng: random.Random) -> Iterator[Record]:
    """Yield the study without its labels."""
    rules = StudyRules(overlap=4, agreed_share=AGREED_SHARE, markdown=True)
    yield StudyRecord(description=DESCRIPTION, guidelines=GUIDELINES, rules=rules, sample=True)
    criterion = Criterion(name=CRITERION, definition="How far the response gives the person what they asked for.")
    yield CriterionRecord(criterion=criterion)
    yield ScaleRecord(kind="preference", criterion=CRITERION, scale=PREFERENCE)
    yield from (ItemRecord(item=case.item) for case in cases)
    settings = {
        "judges": [
            {"name": judge, "spec": {"model": model_of(judge), "max_tokens": 220}} for judge in PANEL
        ],
        "criterion": criterion.model_dump(mode="json"), "rounds": 3,
    }  # fmt: skip
    checked = PROTOCOLS["scaleeval"].settings.model_validate(settings).model_dump(mode="json")
    yield RunRecord(name="simulated panel", protocol="scaleeval", criterion=CRITERION, settings=checked,
                    created_at=START, ended_at=START + timedelta(minutes=20))  # fmt: skip
    yield from (panel_trace(case, rng) for case in cases)
    yield from single_traces(cases, rng)


DESCRIPTION = (
    "A demonstration with 200 questions from templates. The judges and annotators whose names begin with “simulated” "
    "are simulated: their error rates are chosen, and docs/showcase.md states them, so that every figure "
    "can be compared with it. The runs of the local model are real: it is a very weak judge. Nothing here is "
    "evidence about any other model, judge or person."
)
GUIDELINES = """### Which response helps more?

1. Check the result first: a wrong result is worse than any explanation.
2. If both are right, the one that shows how to get there is better, if this helps.
3. Press `0` if neither is better.
"""


def labels(cases: Sequence[Case], drawn: Mapping[str, Target], rng: random.Random) -> Iterator[Record]:
    """Yield three labels of most of the drawn targets, over some days, and decisions on the first ones that differ."""
    by_id = {case.item.id: case for case in cases}
    ids = sorted(drawn, key=lambda _: rng.random())
    queue = ids[: int(0.9 * len(ids))]  # the rest is work for the visitor
    decided = 0
    for place, id in enumerate(queue):
        case, at = by_id[id], START + timedelta(days=place * DAYS // len(queue), minutes=place % 17 * 21)
        noise = 2 if case.right == (True, True) else 1
        values = []
        for annotator in rng.sample(list(ANNOTATORS), 3):
            value = differ(case.better, noise * ANNOTATORS[annotator], rng)
            values.append(value)
            at += timedelta(seconds=rng.randint(300, 2_000))
            yield LabelRecord(
                label=Label(
                    target=drawn[id], annotator=annotator, value=value, seconds=float(rng.randint(9, 45)), at=at,
                    shown=rng.choice([(1, 2), (2, 1)]),
                )
            )  # fmt: skip
        if len(set(values)) > 1 and decided < 12:
            decided += 1
            yield AdjudicationRecord(
                ruling=Adjudication(
                    target=drawn[id], value=case.better, rule="expert decision", reason="Overlooked detail",
                    adjudicator="simulated annotator 5", at=at + timedelta(hours=20),
                )
            )  # fmt: skip


def run_local_model(url: str) -> None:
    """Run the local model over the study: as single judges on all items, and as a debate on the first 30."""
    from typer.testing import CliRunner

    from cli import app

    spec: dict[str, Any] = {"model": "local", "temperature": 0.2, "max_tokens": 160}
    runs = (
        ("local model, one order", "single-judge", {"judge": {"name": "local model", **spec}}, COUNT),
        ("local model, without reasons", "single-judge",
         {"judge": {"name": "local model, without reasons", **spec}, "reasons": False}, COUNT),
        ("debate of local models", "scaleeval",
         {"judges": [{"name": f"local {letter}", **spec, "temperature": warm}
                     for letter, warm in (("A", 0.2), ("B", 0.7), ("C", 1.0))], "rounds": 2, "words": 60}, 30),
    )  # fmt: skip
    for name, protocol, settings, limit in runs:
        path = Path(f"/tmp/showcase-{protocol}.yaml")
        path.write_text(json.dumps({"criterion": CRITERION, **settings}), "utf-8")
        command = ["runs", "start", "--study", samples.SHOWCASE_NAME, "--protocol", protocol, "--settings", str(path),
                   "--name", name, "--limit", str(limit), "--database", url]  # fmt: skip
        result = CliRunner().invoke(app, command)
        print(result.output[-200:], flush=True)
        assert result.exit_code == 0, result.exception
        path.unlink()


def main(with_model: bool) -> None:
    rng = random.Random(SEED)
    cases = [make_case(number, rng) for number in range(COUNT)]
    with tempfile.TemporaryDirectory() as folder:
        url = create_database(Path(folder) / "tiebreak.db")
        engine = connections.connect(url)
        imports.import_records(engine, samples.SHOWCASE_NAME, records(cases, rng))
        if with_model:  # before the draw, since debates without consensus are a stratum
            run_local_model(url)
        draw = default_design(AGREED_SHARE, SEED)
        with connections.writing(engine) as session:
            study = studies.get(session, samples.SHOWCASE_NAME)
            designs.set_design(session, study.id, CRITERION, draw)
        with connections.reading(engine) as session:
            study = studies.get(session, samples.SHOWCASE_NAME)
            keys = session.scalars(
                select(ItemRow.key).join(TargetRow, col(TargetRow.item_id) == ItemRow.id).where(col(TargetRow.drawn))
            )
            drawn = {key: Target(item=key, kind="preference", criterion=CRITERION) for key in keys}
        imports.import_records(engine, samples.SHOWCASE_NAME, labels(cases, drawn, rng))
        with gzip.open(samples.SHOWCASE, "wt", encoding="utf-8", newline="\n") as file:
            tiebreak.write(exports.export_records(engine, study), file)
    wins = [1.0 if case.wins("detailed") else 0.5 * (case.better == 0) for case in cases]
    print(
        f"{samples.SHOWCASE.stat().st_size:,} bytes, {len(drawn)} drawn, win rate of detailed {sum(wins) / COUNT:.3f}"
    )


if __name__ == "__main__":
    main("--without-model" not in sys.argv)
