"""A run and an experiment of a single judge on two criteria, from their files to the stored verdicts and results."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core import experiments as files
from core.formats.records import CriterionRecord, ItemRecord, LabelRecord
from core.items import Criterion
from core.labels import Label, Target
from core.llm.client import ScriptedModel
from core.trace import Ask
from storage.db.connections import connect, reading
from storage.reports import experiments as report
from storage.reports.opinions import opinion_frame
from storage.runs import experiments
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from storage.worker import execute_experiment, plan, start
from tests.conftest import make_item
from tests.databases import create_database
from tests.sessions import read

NAMES = ("clarity", "brevity")
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
