"""Statistics of aspect weights, on the sample study of DnA-Eval."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core.aspects import aspect_set_id
from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, TraceRecord
from core.labels import Label, Opinion, Target
from core.statistics.reports.weight_laboratory import EQUAL, JUDGE, PEOPLE
from core.trace import Verdict, VerdictReached
from storage.db import connections
from storage.reports import published, weights
from storage.studies.studies import Study
from storage.transfer import imports, samples
from tests.conftest import make_item
from tests.databases import create_database
from tests.sessions import write
from tests.storage.shared import import_study, store_label

ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")
NOTE = Target(item="farewell note", kind="aspect_weights", part=aspect_set_id(ASPECTS))


RECORDS = list(tiebreak.read(samples.path("dna_eval")))


@pytest.fixture(scope="module")
def engine(module_engine: Engine) -> Engine:
    """A database for all tests, which leave the sample as it is."""
    return module_engine


@pytest.fixture(scope="module")
def study(engine: Engine) -> Study:
    """Import the sample study of DnA-Eval."""
    return import_study(engine, RECORDS)


def test_withdrawn_weights_do_not_count(engine: Engine) -> None:
    study = import_study(engine, RECORDS, "withdrawn")
    given = {"accuracy": 40, "helpfulness": 20, "relevance": 30, "level of detail": 10}
    write(engine, store_label, study.id, NOTE, "zoe", given)
    before = {row.rater_b for row in weights.rows(engine, study, resamples=0)}
    write(engine, store_label, study.id, NOTE, "zoe", None)
    assert "zoe" in before and "zoe" not in {row.rater_b for row in weights.rows(engine, study, resamples=0)}


def test_the_quality_of_a_judges_aspects_is_the_mean_over_annotators_then_items(engine: Engine, study: Study) -> None:
    ratings = {(row.scorer, row.group): row for row in published.compute(engine, study, "dna-3", resamples=0)}
    rating = ratings["judge A", "relevance"]
    assert (rating.value, rating.items) == (pytest.approx((4.5 + 5 + 5) / 3), 3)


def test_a_judge_with_another_model_in_each_run_is_a_rater_for_each(engine: Engine) -> None:
    aspects = ("clarity", "depth")
    quality = Target(item="q", kind="aspect_quality", criterion="relevance", part=aspect_set_id(aspects))
    weighed = {"clarity": 60, "depth": 40}
    opinion = Opinion(kind="aspect_weights", judge="judge", stage="last", value=weighed, part=quality.part)
    reached = VerdictReached(verdict=Verdict(outcome="no_verdict", opinions=(opinion,)))
    records: list[Record] = [ItemRecord(item=make_item("q"))]
    records.append(LabelRecord(label=Label(target=quality, annotator="zoe", value=5)))
    for model in ("small", "large"):
        settings = {"judges": [{"name": "judge", "spec": {"model": model}}]}
        records.append(RunRecord(name=model, protocol="dna_eval", settings=settings))
        records.append(TraceRecord(run=model, item="q", events=(reached,)))
    study = import_study(engine, records, "models")
    assert {row.scorer for row in published.compute(engine, study, "dna-3", resamples=0)} == {
        "judge · small",
        "judge · large",
    }


def test_verdict_agreement_is_reported_with_and_without_ties(engine: Engine, study: Study) -> None:
    rows = {(row.scorer, row.statistic): row for row in published.compute(engine, study, "dna-2", resamples=0)}
    own = [rows["judge A · aspects of its own", f"agreement {which} ties"] for which in ("with", "without")]
    assert [(row.value, row.items) for row in own] == [(pytest.approx(5 / 6), 6), (1, 5)]
    assert "4 without a verdict" in rows["two judges · given aspects", "agreement with ties"].note


def test_a_drilldown_hides_weights_from_viewers_without_a_label(engine: Engine, study: Study) -> None:
    rows = {(row.rater_a, row.rater_b): row for row in weights.rows(engine, study, resamples=0)}
    row = rows["judge B", "people"]
    details = weights.drill_down(engine, study, row)
    assert len(details) == row.units and not any(detail.blind for detail in details)
    assert details[0].weights["judge B"] and details[0].trace is not None
    hidden = [detail for detail in weights.drill_down(engine, study, row, viewer="annotator 3") if detail.blind]
    assert {detail.item for detail in hidden} == {"grumpy lighthouse", "dedupe list"}
    assert all(not detail.weights and detail.distance is None for detail in hidden)


# The weights laboratory from stored runs: no call, people's weights and runs without aspects beside the judge's


def test_the_sample_has_every_set_of_weights(engine: Engine, study: Study) -> None:
    reports = {report.judge: report for report in weights.laboratory(engine, study, resamples=20)}
    report = reports["judge A · two judges · given aspects"]
    assert {row.scheme for row in report.schemes} == {EQUAL, JUDGE, PEOPLE, "judge A · direct scores"}
    with pytest.raises(TiebreakError):
        weights.laboratory(engine, study, reference="annotator:nobody")


def test_the_command_prints_the_answer_and_the_rows(tmp_path: Path) -> None:
    address = create_database(tmp_path / "tiebreak.db")
    imports.import_records(connections.connect(address), "s", RECORDS)
    options = ["weights", "laboratory", "--study", "s", "--database", address]
    shown = CliRunner().invoke(cli.app, options)
    assert "too few for a conclusion" in shown.stdout
    reports = json.loads(CliRunner().invoke(cli.app, [*options, "--json"]).stdout)
    assert reports[0]["schemes"][0]["agreement"]["items"] == 6
    words = ["weights", *options[2:], "--json"]
    all_ranks, top = (json.loads(CliRunner().invoke(cli.app, [*words, *more]).stdout) for more in ([], ["--top", "1"]))
    pairs = [(row["rater_a"], row["rater_b"]) for row in all_ranks]
    assert pairs == [(row["rater_a"], row["rater_b"]) for row in top] and ("judge A", "people") in pairs
    assert top[0]["distance"] != all_ranks[0]["distance"]
