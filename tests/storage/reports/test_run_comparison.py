"""Runs with planted verdicts: 40 pairs whose gold is 1."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
import tiebreak
from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, ScaleRecord, TraceRecord
from core.labels import Label, Opinion, Scale, Target
from core.trace import Turn, TurnCompleted, Usage, Verdict, VerdictReached
from storage.db.connections import connect
from storage.reports import run_comparison as report
from storage.reports.run_comparison import ComparedRuns
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from tests.conftest import make_item, make_label
from tests.databases import create_database
from tests.sessions import read

ITEMS = 40


def a_run(name: str, model: str, prompt: str = "Judge.\nAnswer.") -> RunRecord:
    settings = {"judge": {"name": "j", "spec": {"model": model}}, "words": 50}
    return RunRecord(
        name=name, protocol="single-judge", criterion="helpfulness", settings=settings, prompts={"direct": prompt}
    )


def a_trace(run: str, number: int, value: Any, *, kind: Any = "preference", judges: tuple[str, ...] = ("j",)) -> Record:
    usage = Usage(prompt_tokens=90, completion_tokens=10, seconds=2.0, dollars=0.001)
    turn = Turn(speaker="j", step="choice", round=0, model="m", reply="1", reading=1, usage=usage)
    opinions = tuple(
        Opinion(kind=kind, judge=judge, stage="verdict", value=value, criterion="helpfulness",
                problem="" if value is not None else "?")
        for judge in judges
    )  # fmt: skip
    verdict = VerdictReached(verdict=Verdict(outcome="agreed", value=value, opinions=opinions))
    return TraceRecord(run=run, item=f"item {number}", events=(TurnCompleted(ask=0, turn=turn), verdict))


def planted() -> Iterator[Record]:
    """The first run errs on 20 items; the second on the last 4 of them, and has no verdict on item 0."""
    yield from (ItemRecord(item=make_item(f"item {n}", scenario="even" if n % 2 == 0 else "odd")) for n in range(ITEMS))
    yield from (make_label(1, annotator, f"item {n}") for n in range(ITEMS) for annotator in ("ann", "ben"))
    yield a_run("first", "small")
    yield a_run("second", "large", "Judge twice.\nAnswer.")
    yield from (a_trace("first", n, 1 if n < 20 else 2) for n in range(ITEMS))
    yield from (a_trace("second", n, None if n == 0 else 2 if n >= 36 else 1) for n in range(ITEMS))


def study_of(folder: Path, records: list[Record]) -> tuple[Engine, Study]:
    engine = connect(create_database(folder / "compare.db"))
    imports.import_records(engine, "s", records)
    return engine, read(engine, studies.get, "s")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Study]:
    return study_of(tmp_path_factory.mktemp("compare"), list(planted()))


@pytest.fixture(scope="module")
def compared(stored: tuple[Engine, Study]) -> ComparedRuns:
    return report.load(*stored, ["first", "second"])


def test_settings_and_prompts_are_listed_where_they_differ(compared: ComparedRuns) -> None:
    assert [(one.path, one.values) for one in compared.settings] == [("judge.model", ("small", "large"))]
    (prompt,) = compared.texts
    assert (prompt.path, prompt.lines(1)[1:]) == ("direct", ["-Judge.", "+Judge twice.", " Answer."])


def test_each_run_is_compared_with_the_reference(compared: ComparedRuns) -> None:
    comparison = compared.compare(compared.dataset())
    first, second = comparison.figures
    assert (first.targets, first.no_verdict, second.targets, second.no_verdict) == (40, 0, 40, 1)
    assert first.estimates["accuracy_gold"].value == 0.5
    accuracy = second.estimates["accuracy_gold"]
    assert (accuracy.value, accuracy.items) == (pytest.approx(35 / 39), 39)
    assert accuracy.low is not None and accuracy.high is not None and accuracy.low < 35 / 39 < accuracy.high


def test_a_pair_has_changes_agreement_and_a_paired_difference(compared: ComparedRuns) -> None:
    (pair,) = compared.compare(compared.dataset()).pairs
    assert (pair.first, pair.second, pair.targets, pair.changed) == ("first", "second", 40, 17)
    assert pair.changed_share.value == 17 / 40
    assert pair.estimates["cohen_kappa"].items == 39
    difference = pair.difference
    assert (difference.difference, difference.items) == (pytest.approx(16 / 39), 39)
    assert difference.low is not None and difference.low > 0.2
    assert difference.p_corrected is not None and difference.p_corrected < 0.01


def test_changed_verdicts_are_listed_if_the_viewer_has_labelled_them(compared: ComparedRuns) -> None:
    dataset = compared.dataset()
    (target, *_) = report.changed(dataset, "first", "second").items
    assert target.target.item == "item 0" and target.trace is not None
    assert target.values == {"first": (1,), "second": ("no verdict",), "ann": (1,), "ben": (1,)}
    few = report.changed(dataset, "first", "second", viewer="ann", limit=5)
    assert (len(few.items), few.total) == (5, 17)
    hidden = report.changed(dataset, "first", "second", viewer="zoe")
    assert (hidden.items, hidden.hidden, hidden.total) == ((), 17, 0)


def test_a_scenario_has_its_own_comparison(compared: ComparedRuns) -> None:
    (pair,) = compared.compare(compared.dataset(scenario="odd")).pairs
    assert (pair.targets, pair.changed) == (20, 8)
    with pytest.raises(TiebreakError, match="There is no scenario called 'none' here"):
        compared.dataset(scenario="none")


def test_costs_are_those_of_each_run(compared: ComparedRuns) -> None:
    (first, _) = report.run_rows(compared, compared.compare(compared.dataset(), resamples=10))
    assert (first["calls"], first["reused"], first["tokens_per_trace"]) == (40, 0, 100)
    assert first["dollars_per_1000"] == pytest.approx(1.0) and first["seconds_per_trace"] == pytest.approx(2.0)
    assert first["paid_dollars"] == pytest.approx(0.04)


def test_a_criterion_with_means_is_one_of_numbers_for_all_runs(tmp_path: Path) -> None:
    scale = ScaleRecord(kind="score", criterion="helpfulness", scale=Scale(level="ordinal", categories=(1, 2, 3)))
    items = [ItemRecord(item=make_item(f"item {n}")) for n in range(6)]
    targets = [Target(item=f"item {n}", kind="score", criterion="helpfulness") for n in range(6)]
    labels = [LabelRecord(label=Label(target=t, annotator="ann", value=1 + n % 3)) for n, t in enumerate(targets)]
    runs = [a_run("one", "m"), a_run("mean", "m")]
    traces = [a_trace("one", n, 1 + n % 3, kind="score") for n in range(6)]
    traces += [a_trace("mean", n, 1.5 + n % 2, kind="score") for n in range(6)]
    stored = study_of(tmp_path, [scale, *items, *labels, *runs, *traces])
    compared = report.load(*stored, ["one", "mean"])
    dataset = compared.dataset("score")
    (pair,) = compared.compare(dataset).pairs
    assert dataset.scale.categories == () and pair.statistic == "pearson" and pair.changed == 6
    assert compared.compare(dataset).figures[0].estimates["pearson"].value == pytest.approx(1.0)
    listed = report.changed(dataset, "one", "mean").items
    assert listed[0].values["one"] != listed[0].values["mean"]


def test_judges_with_their_own_conclusions_are_columns(tmp_path: Path) -> None:
    records = [ItemRecord(item=make_item(f"item {n}")) for n in range(3)]
    traces = [a_trace("two", n, 1, judges=("a", "b")) for n in range(3)] + [a_trace("one", n, 1) for n in range(3)]
    stored = study_of(tmp_path, [*records, a_run("two", "m"), a_run("one", "m"), *traces])
    compared = report.load(*stored, ["two", "one"])
    pairs = [(pair.first, pair.second) for pair in compared.compare(compared.dataset(), resamples=10).pairs]
    assert pairs == [("two · a", "one"), ("two · b", "one")]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["first"], "Choose 2 to 6 runs"),
        (["first", "first"], "Choose 2 to 6"),
        (["first", "none"], "no run called 'none'"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(stored: tuple[Engine, Study], names: list[str], problem: str) -> None:
    with pytest.raises(TiebreakError, match=problem):
        report.load(*stored, names)


def test_the_command_prints_text_and_json(stored: tuple[Engine, Study]) -> None:
    words = ["runs", "compare", "first", "second", "--study", "s", "--database", str(stored[0].url)]
    result = CliRunner().invoke(cli.app, [*words, "--items"])
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert "judge.model" in text and "+Judge twice." in text and "preference, helpfulness; reference gold" in text
    assert "second has another verdict than first on 17 of 40 targets. The difference in accuracy is +0.410 [" in text
    assert "(39 targets with a reference)" in text and "0.500 [" in text and "n 40" in text
    value = json.loads(CliRunner().invoke(cli.app, [*words, "--items", "--json"]).stdout)
    assert value["settings"] == [{"setting": "judge.model", "first": "small", "second": "large"}]
    assert len(value["changed"][0]["targets"]) == 17
    assert value["changed"][0]["targets"][0]["labels"] == "ann: 1, ben: 1"


def test_the_api_returns_frames(stored: tuple[Engine, Study]) -> None:
    comparison = tiebreak.open(str(stored[0].url)).study("s").compare_runs("first", "second")
    assert list(comparison.settings["setting"]) == ["judge.model", "direct"]
    assert comparison.pairs.loc[0, "changed"] == 17 and len(comparison.changed()) == 17
    assert list(comparison.runs["run"]) == ["first", "second"]
