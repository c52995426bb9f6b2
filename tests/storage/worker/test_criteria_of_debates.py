"""One run of a debate on two criteria gives the same verdicts, targets and statistics as two runs on one each."""

import asyncio
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from sqlalchemy import Engine, case, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import experiments as files
from core.formats.records import CriterionRecord, ItemRecord, LabelRecord
from core.items import Criterion, Item, Response
from core.labels import Kind, Label, Scale, Target
from core.llm.client import ScriptedModel
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_settings
from core.trace import Ask
from storage.db.connections import connect, reading
from storage.db.tables import ItemRow, OpinionRow, TargetRow, TraceRow
from storage.labels.targets import own_outcome
from storage.reports import alignment, discordance, discussions, peer_reviews
from storage.reports import experiments as report
from storage.reports.opinions import opinion_frame
from storage.runs import claims, experiments, runs
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from storage.transfer.instructions import instruction_examples
from storage.worker import RunRequest, create_run, execute_experiment, execute_run, plan, start
from tests.conftest import make_item
from tests.databases import create_database
from tests.sessions import read, write

NAMES, ITEMS = ("clarity", "brevity"), 4
SETTINGS = {
    "scaleeval": "judges: [{name: a, model: m}, {name: b, model: m}, {name: c, model: m}]\nboth_orders: true",
    "chateval": "personas: [{name: Critic, model: m}, {name: Scientist, model: m}]\noutcome: vote\nscored_turns: every",
    "refer": "peers: [{name: a, model: m}, {name: b, model: m}]\nchair: {name: c, model: m}\nsamples: 3",
}


def reply(ask: Ask) -> str:
    """Return a choice or rating that depends on criterion, item, speaker, round and order."""
    number = crc32(repr((ask.prompt, ask.speaker, ask.round, ask.shown)).encode())
    return f"Rating: {1 + number % 3}" if "rating" in ask.prompt.lower() else f"Final answer: {1 + number % 2}"


def make_study(path: Path, kind: Kind) -> tuple[Engine, Study]:
    engine = connect(create_database(path))
    scale = Scale(level="ordinal", categories=(1, 2, 3)) if kind == "score" else None
    criteria = [Criterion(name=name, definition=f"It has {name}.", scale=scale) for name in NAMES]
    responses = tuple(Response(text=f"Text {n}.") for n in range(1 if kind == "score" else 2))
    known = [Item(id=f"i{n}", prompt=f"Question {n}?", responses=responses) for n in range(ITEMS)]
    labels = [
        Label(target=Target(item=item.id, kind=kind, criterion=name), annotator="ann", value=1 + n % 2)
        for n, item in enumerate(known)
        for name in NAMES
    ]
    records: list[Any] = [CriterionRecord(criterion=criterion) for criterion in criteria]
    records += [ItemRecord(item=item) for item in known] + [LabelRecord(label=label) for label in labels]
    imports.import_records(engine, "s", records)
    return engine, read(engine, studies.get, "s")


def execute(engine: Engine, study: Study, protocol: str, *criteria: str) -> None:
    installed = PROTOCOLS[protocol]
    text = f"{SETTINGS[protocol]}\ncriterion: {criteria[0]}\ncriteria: [{', '.join(criteria[1:])}]"
    settings = parse_settings(text, installed, read(engine, studies.criteria, study.id))
    run = create_run(engine, RunRequest(study, installed, settings, " ".join(criteria), seed=3))
    write(engine, claims.claim_run, run, "worker")
    asyncio.run(execute_run(engine, run, ScriptedModel(reply), worker="worker"))


@pytest.fixture(params=sorted(SETTINGS))
def studies_of(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[tuple[Engine, Study]]]:
    """A protocol with a study in which one run judges both criteria, and one in which each has its own run."""
    kind: Kind = "score" if request.param == "refer" else "preference"
    together, apart = (make_study(tmp_path / f"{name}.db", kind) for name in ("together", "apart"))
    execute(*together, request.param, *NAMES)
    for name in NAMES:
        execute(*apart, request.param, name)
    return request.param, [together, apart]


def test_verdicts_and_statistics_equal_those_of_separate_runs(
    studies_of: tuple[str, list[tuple[Engine, Study]]],
) -> None:
    protocol, pair = studies_of
    together, apart = ({part: sorted(rows) for part, rows in measured(protocol, *study)} for study in pair)
    assert {part: len(rows) for part, rows in together.items()} == {part: len(rows) for part, rows in apart.items()}
    assert together == apart
    assert len(together["opinions"]) > 2 * ITEMS and all(map(len, together.values()))


def measured(protocol: str, engine: Engine, study: Study) -> Iterator[tuple[str, list[Any]]]:
    """Yield rows without the ids and names of runs and traces."""
    with reading(engine) as session:
        yield "opinions", [tuple(map(repr, row)) for row in session.execute(opinion_query())]
    rows = alignment.rows(engine, study, "criterion", resamples=20)
    yield "alignment", [tuple(map(repr, astuple(row))) for row in rows]
    if protocol == "refer":
        with reading(engine) as session:
            yield "peer errors", [row for run in runs.of_study(session, study.id) for row in peer_rows(session, run)]
        yield "instructions", [repr(one.model_copy(update={"run": ""})) for one in instruction_examples(engine, study)]
        return
    with reading(engine) as session:
        yield "contentions", list(contention_rows(session, study))
        found = discussions.table(
            discussions.report(session, study.id, alignment.load_data(engine, study), resamples=20)
        )
    yield "discussions", [tuple(map(repr, row.values())) for row in found]


def contention_rows(session: Session, study: Study) -> Iterator[tuple[str, str, str]]:
    found = discordance.contentions(session, study.id)
    query = (
        select(col(OpinionRow.trace_id), col(TargetRow.criterion), col(ItemRow.key))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(OpinionRow.stage) == "verdict")
    )
    for trace, criterion, item in session.execute(query):
        yield criterion, item, repr(found.of_traces(np.array([trace], float), criterion).tolist())


def opinion_query() -> Any:
    return (
        select(
            col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part),
            col(TargetRow.disputed), col(OpinionRow.judge), col(OpinionRow.stage), col(OpinionRow.value),
            col(OpinionRow.problem), case((col(OpinionRow.stage) == "verdict", own_outcome())),
            case((col(OpinionRow.stage) == "verdict", func.coalesce(OpinionRow.contention, TraceRow.contention))),
        )
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
    )  # fmt: skip


def peer_rows(session: Session, run: runs.Run) -> Iterator[tuple[str, ...]]:
    for name in peer_reviews.criteria_of_run(run):
        errors = peer_reviews.load_errors(session, run, criterion=name)
        yield from ((name, one.item, repr(one.truth), repr(one.peers), repr(one.chair)) for one in errors.reviewed)


# A run and an experiment of a single judge on two criteria, from their files to the stored verdicts and results


FILE = """
name: e
protocol: single-judge
base: {judge: {name: j, model: m}, criterion: clarity, criteria: [brevity], shuffle_responses: false}
axes: {words: [50, 150]}
sample: 3
"""


@pytest.fixture
def study(tmp_path: Path) -> tuple[Engine, Study]:
    engine = connect(create_database(tmp_path / "criteria.db"))
    criteria = [CriterionRecord(criterion=Criterion(name=name, definition=f"It has {name}.")) for name in NAMES]
    items = [ItemRecord(item=make_item(f"item {n}")) for n in range(5)]
    targets = [Target(item=f"item {n}", kind="preference", criterion=name) for n in range(5) for name in NAMES]
    labels = [LabelRecord(label=Label(target=target, annotator="ann", value=1)) for target in targets]
    imports.import_records(engine, "s", [*criteria, *items, *labels])
    return engine, read(engine, studies.get, "s")


def judge(ask: Ask) -> str:
    return "Final answer: 1" if "It has clarity" in ask.prompt else "Final answer: 2"


def verdicts(session: Session, study_id: int) -> dict[str, set[object]]:
    frame = opinion_frame(session, study_id)
    return {str(name): set(rows["value"]) for name, rows in frame.groupby("criterion")}


def test_an_experiment_judges_both_criteria_in_each_run(study: tuple[Engine, Study]) -> None:
    engine, found = study
    model = ScriptedModel(judge)
    experiment_id = start(engine, found, plan(engine, found, files.parse(FILE)))
    asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, model))
    assert len(model.asked) == 2 * 3 * 2  # cells, sampled items, criteria
    with reading(engine) as session:
        assert verdicts(session, found.id) == {"brevity": {2}, "clarity": {1}}
        experiment = experiments.find(session, found.id, "e")
    assert experiment is not None
    _, cells = report.results(engine, found, experiment).of("accuracy")
    assert [(cell.levels, cell.criterion, cell.value, cell.items) for cell in cells] == [
        (("50",), "brevity", 0.0, 3), (("50",), "clarity", 1.0, 3),
        (("150",), "brevity", 0.0, 3), (("150",), "clarity", 1.0, 3),
    ]  # fmt: skip
