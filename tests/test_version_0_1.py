"""A database, an export and unfinished runs of version 0.1 open, give the same figures, and resume."""

import asyncio
import csv
import gzip
import json
import shutil
import sqlite3
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from core.formats import gold as gold_csv
from core.formats import tiebreak
from core.llm.client import ScriptedModel
from storage.db.connections import Engine, connect, reading, upgrade, writing
from storage.db.tables import RunRow
from storage.labels import labels
from storage.reports import agreement, alignment
from storage.runs import runs, traces
from storage.studies import studies
from storage.transfer import imports
from storage.worker import _launch
from tests.paths import ROOT
from tests.storage.shared import find_traces

pytestmark = pytest.mark.slow  # a whole study of another version

FOLDER = ROOT / "tests" / "fixtures" / "version_0_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
AGREEMENT = json.loads((FOLDER / "agreement.json").read_text(encoding="utf-8"))
RESUMABLE = [run for run in EXPECTED["runs"] if run.get("replies")]
CALLS_OF_A_RESTARTED_TRACE = {
    "scaleeval": 3,
    "single-judge": 2,
    "own aspects": 10,
    "chain of aspects": 6,
    "talk one by one": 8,
    "talk with summary": 5,
    "critiques": 21,
    "single-score": 3,
    "review": 5,
    "review, comments": 6,
    "review, both": 5,
    "options, both": 5,
}
"""Protocols, or runs, whose prompts have changed since version 0.1, with the calls of one trace when every reply is the
same.

Replies to the earlier prompts do not answer those of today, so an unfinished trace starts again: it makes all of its
calls, not only the missing ones. Finished traces stay as they are.
"""
OUTCOMES_OF_RESTARTED_TRACES = {"talk one by one": "disputed"}
"""Its reply prefers the first response in both orders: a position bias, which version 0.1 averaged to an agreed tie."""
SLACK = 1e-9


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory) -> Path:
    """The file of the database of version 0.1, upgraded, which each test copies."""
    path = tmp_path_factory.mktemp("upgraded") / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(gzip.decompress((FOLDER / "database.sql.gz").read_bytes()).decode())
    connection.close()
    opened = connect(f"sqlite:///{path}")
    upgrade(opened)
    opened.dispose()
    return path


@pytest.fixture
def engine(upgraded, tmp_path) -> Engine:
    """The database of version 0.1, upgraded."""
    opened = connect(f"sqlite:///{shutil.copy(upgraded, tmp_path)}")
    yield opened
    opened.dispose()


def study(engine: Engine, name: str) -> studies.Study:
    with reading(engine) as session:
        return studies.get(session, name)


WEIGHTED = {
    "agreement": ("cohen_kappa", "pearson", "spearman", "kendall_tau_b"),
    "alignment": ("human_ceiling", "judge_against_others", "judge_less_ceiling"),
}
"""How the names of means over pairs or annotators begin: they are weighted by items now (decision 016), so other values
are expected where annotators have labelled different items."""


@pytest.mark.parametrize("name", AGREEMENT)
def test_agreement_has_the_same_values(engine, name):
    rows = [asdict(row) for row in agreement.rows(engine, study(engine, name), "all", resamples=0)]
    assert_same_values(rows, AGREEMENT[name], WEIGHTED["agreement"])


def test_alignment_has_the_same_values(engine):
    expected = json.loads(gzip.decompress((FOLDER / "alignment.json.gz").read_bytes()))
    for name in ("Sample: ScaleEval", "Sample: ReFeR", "Sample: DnA-Eval", "Sample: MetaCritique"):
        rows = [asdict(row) for row in alignment.rows(engine, study(engine, name), resamples=0)]
        # Dawid & Skene's estimates were of judges that are not independent: members and verdict of one debate.
        compared = [row for row in expected[name] if row["statistic"] != "dawid_skene_accuracy"]
        assert_same_values(rows, compared, WEIGHTED["alignment"])


def assert_same_values(rows: list[dict[str, Any]], expected: list[dict[str, Any]], weighted: tuple[str, ...]) -> None:
    """Equal values and counts under the same keys; intervals depend on the resampling method and are not compared.

    Of statistics that are weighted now, the values are not compared either; one item says nothing about chance.
    """
    keys = [key for key in ("judge", "kind", "criterion", "group", "statistic") if key in expected[0]]
    values = {tuple(row[key] for key in keys): (row["value"], row["items"]) for row in rows}
    for row in expected:
        value, items = values[tuple(row[key] for key in keys)]
        assert items == row["items"], row
        if items == 1 and value is None:
            continue
        if row["statistic"].startswith(weighted):
            assert (value is None) == (row["value"] is None), row
            continue
        assert value == (row["value"] if row["value"] is None else pytest.approx(row["value"], abs=SLACK)), row


def test_gold_has_the_same_rows(engine):
    """As in version 0.1, without the judges' verdicts, with other sources of single labels and of means."""
    with reading(engine) as session:
        golds = list(labels.gold_labels(session, study(engine, "Compatibility").id))
    rows = {(*gold.target.model_dump().values(),): gold for gold in golds}
    with (FOLDER / "gold.csv").open(encoding="utf-8", newline="") as file:
        expected = [row for row in csv.DictReader(file) if row["source"] != "judges"]
    by_people = [row for row in expected if row["annotators"] != "0" or row["source"] == "adjudicated"]
    assert len(rows) == len(by_people)
    for row in by_people:
        gold = rows[row["item"], row["kind"], row["criterion"], row["part"]]
        assert (gold_csv.format_distribution(gold), str(gold.annotators)) == (row["distribution"], row["annotators"])
        if row["source"] == "adjudicated" or gold.source not in ("single", "mean"):
            value = "" if gold.value is None else gold.value if isinstance(gold.value, str) else json.dumps(gold.value)
            assert (value, gold.source, gold.reason) == (row["gold"], row["source"], row["reason"])


def test_an_export_is_imported_whole(engine, tmp_path):
    path = tmp_path / "study.jsonl"
    path.write_bytes(gzip.decompress((FOLDER / "study.jsonl.gz").read_bytes()))
    empty = connect(f"sqlite:///{tmp_path / 'new.db'}")
    upgrade(empty)
    added = imports.import_records(empty, "again", tiebreak.read(path))
    assert (added.items, added.labels, added.runs, added.traces) == (34, 183, 12, 40)
    assert not any(asdict(imports.import_records(empty, "again", tiebreak.read(path))).values())
    empty.dispose()


@pytest.mark.parametrize("run", RESUMABLE, ids=lambda run: f"{run['study']}: {run['run']}")
def test_an_unfinished_run_resumes(engine, run):
    with reading(engine) as session:
        found = next(r for r in runs.of_study(session, study(engine, run["study"]).id) if r.name == run["run"])
    with writing(engine) as session:
        runs.resume(session, found.id, interrupted=True)
        session.execute(update(RunRow).where(RunRow.id == found.id).values(fresh=True))
    asked = []

    def reply(ask) -> str:
        asked.append(ask)
        return run["replies"][ask.step]

    ended, progress = asyncio.run(
        _launch.execute_here(engine, found.id, lambda run, progress: None, ScriptedModel(reply))
    )
    assert (ended.state, progress.failed, progress.done) == ("finished", 0, progress.traces)
    with reading(engine) as session:
        found_traces = {
            trace.item: trace for trace in find_traces(session, traces.Filter(found.study_id, run_id=found.id))
        }
        stored = {item: traces.events_with_prompts(session, trace.id) for item, trace in found_traces.items()}
    key = next((name for name in (run["run"], run["protocol"]) if name in CALLS_OF_A_RESTARTED_TRACE), None)
    restarted = key is not None
    calls_of_restarts = CALLS_OF_A_RESTARTED_TRACE.get(key, 0) * len(run["resumed"]["traces"])
    # Two items with the same question need some calls only once.
    assert len(asked) + progress.totals.reused == (calls_of_restarts if restarted else run["resumed"]["calls"])
    outcomes = {item: trace["outcome"] for item, trace in (run["traces"] | run["resumed"]["traces"]).items()}
    if run["run"] in OUTCOMES_OF_RESTARTED_TRACES:
        outcomes |= dict.fromkeys(run["resumed"]["traces"], OUTCOMES_OF_RESTARTED_TRACES[run["run"]])
    assert {item: trace.status for item, trace in found_traces.items()} == outcomes
    for item, old in run["traces"].items():
        before = [event.type for event in stored[item][: old["events"]]]
        assert Counter(before) == old["events_by_type"], "an event of version 0.1 was lost"
        begun = item in run["resumed"]["traces"] and old["events"] > 0
        assert ("restarted" in [event.type for event in stored[item]]) is (restarted and begun)
