"""Scores of critiques by annotators and judges; published values of MetaCritique."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core.aius import Add, Piece
from core.critiques import Critique, aius_with_numbers, precision_target, recall_target
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.formats.registry import read_records
from core.items import Item, Response
from core.labels import Label, Opinion
from core.trace import Verdict, VerdictReached
from storage.db import connections
from storage.reports import critiques
from storage.reports.critiques import Leaderboard, PairCounts
from storage.runs import aius
from storage.studies import studies
from storage.transfer import imports
from tests.core.formats.shared import public_file
from tests.databases import create_database
from tests.storage.shared import import_study


def make_item(name: str = "i", authors: str = "ab") -> Item:
    """Return an item with a critique of two AIUs for each author, and a reference with two AIUs."""
    critiques = [Critique(id=a, author=a, text=f"{a}.", aius=aius_with_numbers(a, ["One.", "Two."])) for a in authors]
    reference = Critique(
        id="ref", author="g", role="reference", text="r", aius=aius_with_numbers("ref", ["Three.", "Four."])
    )
    return Item(id=name, prompt="?", responses=(Response(text="!"),), critiques=(*critiques, reference))


def label_records(item: str, critique: str, digits: str, annotator: str = "ann") -> list[LabelRecord]:
    """Return four labels: "1100" is both AIUs factual, neither of the reference's covered; "." is no label."""
    targets = [precision_target(item, f"{critique}.{n}") for n in (1, 2)] + [
        recall_target(item, f"ref.{n}", critique) for n in (1, 2)
    ]
    return [
        LabelRecord(label=Label(target=target, annotator=annotator, value=mark == "1"))
        for target, mark in zip(targets, digits, strict=True)
        if mark != "."
    ]


def run_records(run: str, judge: str, item: str, critique: str, digits: str) -> list:
    """Return a run with a verdict; "?" is an unreadable opinion."""
    targets = [precision_target(item, f"{critique}.{n}") for n in (1, 2)] + [
        recall_target(item, f"ref.{n}", critique) for n in (1, 2)
    ]
    opinions = tuple(
        Opinion(kind=target.kind, judge=judge, stage="verdict", part=target.part, value=None if m == "?" else m == "1")
        for target, m in zip(targets, digits, strict=True)
        if m != "."
    )
    verdict = VerdictReached(verdict=Verdict(outcome="agreed", opinions=opinions))
    settings = {"judges": [{"name": judge, "spec": {"model": "m"}}]}
    return [
        RunRecord(name=run, protocol="metacritique", settings=settings),
        TraceRecord(run=run, item=item, events=(verdict,)),
    ]


def import_leaderboard(engine: Engine, *records: object) -> Leaderboard:
    study = import_study(engine, list(records))
    return critiques.leaderboard(engine, study, resamples=20)


def scores(board: Leaderboard, author: str, source: str = "people", level: str = "micro") -> tuple:
    (row,) = [r for r in board.rows if (r.author, r.source, r.level) == (author, source, level)]
    return row.precision.value, row.recall.value, row.f1.value


def test_authors_and_groups_have_their_own_rows(engine: Engine) -> None:
    board = import_leaderboard(
        engine, ItemRecord(item=make_item()), *label_records("i", "a", "1110"), *label_records("i", "b", "1000")
    )
    assert scores(board, "a") == (1.0, 0.5, pytest.approx(2 / 3))
    assert scores(board, "b") == (0.5, 0.0, 0.0)
    assert scores(board, "llm") == (0.75, 0.25, pytest.approx(0.375))
    assert scores(board, "llm", level="macro") == (0.75, 0.25, pytest.approx(1 / 3))


def test_an_aiu_without_a_majority_is_not_counted(engine: Engine) -> None:
    board = import_leaderboard(
        engine, ItemRecord(item=make_item()), *label_records("i", "a", "11.."), *label_records("i", "a", "10..", "bob")
    )
    assert scores(board, "a") == (1.0, None, None)
    (of_author,) = [r for r in board.rows if (r.author, r.level) == ("a", "micro")]
    assert of_author.critiques == 1 and of_author.aius == 2 and "no AIU to count" in of_author.reason


def test_unread_judgements_are_not_counted(engine: Engine) -> None:
    records = [*run_records("r", "judge", "i", "a", "1?01"), *run_records("r2", "judge", "i", "b", "11??")]
    board = import_leaderboard(engine, ItemRecord(item=make_item()), *records)
    assert scores(board, "a", "judge") == (1.0, 0.5, pytest.approx(2 / 3))
    assert not [r for r in board.rows if r.source == "people" and r.author != "reference"]
    rows = {(row.author, row.level): row for row in board.rows if row.source == "judge"}
    of_a = rows["a", "micro"]
    assert (of_a.unread, of_a.coverage) == (1, 0.75)
    together = rows["llm", "macro"]
    assert (together.unread, together.coverage) == (3, 5 / 8)


def test_the_newest_run_of_a_judge_counts(engine: Engine) -> None:
    board = import_leaderboard(
        engine,
        ItemRecord(item=make_item()),
        *run_records("old", "judge", "i", "a", "0000"),
        *run_records("new", "judge", "i", "a", "11.."),
    )
    assert scores(board, "a", "judge") == (1.0, 0.0, 0.0)


def test_accuracy_uses_aius_with_gold_and_counts_unreadable_replies(engine: Engine) -> None:
    board = import_leaderboard(
        engine,
        ItemRecord(item=make_item()),
        *label_records("i", "a", "1101"),
        *run_records("r", "judge", "i", "a", "10?1"),
    )
    accuracies = {(a.task, a.critiques): (a.accuracy.value, a.aius, a.unread) for a in board.accuracies}
    assert accuracies["precision", "all"] == accuracies["precision", "llm"] == (0.5, 2, 0)
    assert accuracies["recall", "all"] == (1.0, 1, 1)
    assert accuracies["recall", "human"] == (None, 0, 0)


def test_an_added_aiu_belongs_to_its_critique(engine: Engine) -> None:
    imports.import_records(engine, "s", [ItemRecord(item=make_item()), *label_records("i", "a", "1111")])
    with connections.writing(engine) as session:
        study = studies.get(session, "s")
        aius.save_edit(session, study.id, "i", "ann", Add(critique="a", piece=Piece(text="Five.")))
    board = critiques.leaderboard(engine, study, resamples=20)
    (of_author,) = [r for r in board.rows if (r.author, r.level) == ("a", "micro")]
    assert (of_author.precision.value, of_author.aius) == (1.0, 3)


def test_a_study_without_values_has_rows_of_references_only(engine: Engine) -> None:
    board = import_leaderboard(engine, ItemRecord(item=make_item()))
    assert {r.author for r in board.rows} == {"reference"} and not board.pairs


@pytest.fixture
def published(tmp_path: Path) -> str:
    """Return the URL of a database with the published annotations in the study "meta"."""
    path = public_file("metacritique/annotation_data.json")
    address = create_database(tmp_path / "published.db")
    imports.import_records(connections.connect(address), "meta", read_records(path))
    return address


def print_critiques(address: str, *options: str) -> list[dict]:
    result = CliRunner().invoke(cli.app, ["critiques", "--study", "meta", "--database", address, "--json", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_published_pair_counts_are_reproduced(published: str) -> None:
    assert print_critiques(published, "--pairs") == [
        {"source": "people", "first": 58, "second": 39, "tie": 3, "undefined": 0}
    ]


def test_a_pair_needs_two_defined_scores(engine: Engine) -> None:
    board = import_leaderboard(
        engine, ItemRecord(item=make_item()), *label_records("i", "a", "1111"), *label_records("i", "b", "11..")
    )
    assert board.pairs == (PairCounts("people", 0, 0, 0, 1),)
