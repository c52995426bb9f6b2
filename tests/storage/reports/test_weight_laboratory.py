"""The weights laboratory from stored runs: no call, people's weights and runs without aspects beside the judge's."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core.errors import TiebreakError
from core.formats import tiebreak
from core.statistics.reports.weight_laboratory import EQUAL, JUDGE, PEOPLE
from storage.db import connections
from storage.reports import weights
from storage.transfer import imports, samples
from tests.databases import create_database
from tests.storage.shared import import_study

RECORDS = list(tiebreak.read(samples.path("dna_eval")))


def test_the_sample_has_every_set_of_weights(engine: Engine) -> None:
    study = import_study(engine, RECORDS)
    reports = {report.judge: report for report in weights.laboratory(engine, study, resamples=20)}
    report = reports["judge A · two judges · given aspects"]
    assert {row.scheme for row in report.schemes} == {EQUAL, JUDGE, PEOPLE, "judge A · direct scores"}
    assert {point.k for point in report.curve} == {1, 2, 3, 4}
    with pytest.raises(TiebreakError):
        weights.laboratory(engine, study, reference="annotator:nobody")


def test_the_stored_verdict_is_the_preference_under_the_judges_weights(engine: Engine) -> None:
    study = import_study(engine, RECORDS)
    pairs = weights.load_pairs(engine, study)["judge A · judge A · aspects of its own"]
    assert pairs and all(pair.judge_weights is not None for pair in pairs)
    assert all(pair.preference(pair.judge_weights or {}) in (0, 1, 2) for pair in pairs)


def test_the_command_prints_the_answer_and_the_rows(tmp_path: Path) -> None:
    address = create_database(tmp_path / "tiebreak.db")
    imports.import_records(connections.connect(address), "s", RECORDS)
    options = ["weights", "laboratory", "--study", "s", "--database", address]
    shown = CliRunner().invoke(cli.app, options)
    assert "too few for a conclusion" in shown.stdout and "the 1 heaviest" in shown.stdout
    reports = json.loads(CliRunner().invoke(cli.app, [*options, "--json"]).stdout)
    assert reports[0]["schemes"][0]["agreement"]["items"] == 6
