"""The scores of critiques as people and judges see them; acceptance rows 1 to 5."""

import json

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core.aius import Add, Piece
from core.critiques import Critique, covered, factual, numbered
from core.formats import read
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.items import Item, Response
from core.labels import Label, Opinion, Target
from core.trace import Verdict, VerdictReached
from storage import aius, database, studies
from storage.reports import critiques
from storage.reports.critiques import Board, Pairs
from storage.transfer import imports
from tests.core.formats.shared import public


def an_item(name: str = "i", authors: str = "ab") -> Item:
    """One AIU pair for each author's critique, and a reference with two."""
    there = [Critique(id=a, author=a, text=f"{a}.", aius=numbered(a, ["One.", "Two."])) for a in authors]
    held = Critique(id="ref", author="g", role="reference", text="r", aius=numbered("ref", ["Three.", "Four."]))
    return Item(id=name, prompt="?", responses=(Response(text="!"),), critiques=(*there, held))


def said(item: str, critique: str, marks: str, who: str = "ann") -> list[LabelRecord]:
    """Four labels: "1100" is both AIUs factual, neither of the reference's covered; "." is no label."""
    about = [factual(item, f"{critique}.{n}") for n in (1, 2)] + [covered(item, f"ref.{n}", critique) for n in (1, 2)]
    return [
        LabelRecord(label=Label(target=target, annotator=who, value=mark == "1"))
        for target, mark in zip(about, marks, strict=True)
        if mark != "."
    ]


def judged(run: str, judge: str, item: str, critique: str, marks: str) -> list:
    """A run's verdict; "?" is an opinion that could not be read."""
    about = [factual(item, f"{critique}.{n}") for n in (1, 2)] + [covered(item, f"ref.{n}", critique) for n in (1, 2)]
    opinions = tuple(
        Opinion(kind=target.kind, judge=judge, stage="verdict", part=target.part, value=None if m == "?" else m == "1")
        for target, m in zip(about, marks, strict=True)
        if m != "."
    )
    verdict = VerdictReached(verdict=Verdict(outcome="agreed", opinions=opinions))
    settings = {"judges": [{"name": judge, "spec": {"model": "m"}}]}
    return [
        RunRecord(name=run, protocol="metacritique", settings=settings),
        TraceRecord(run=run, item=item, events=(verdict,)),
    ]


def board(engine: Engine, *records: object) -> Board:
    imports.load(engine, "s", list(records))
    with database.reading(engine) as session:
        study = studies.get(session, "s")
    return critiques.board(engine, study, resamples=20)


def row(found: Board, author: str, source: str = "people", level: str = "micro") -> tuple:
    (one,) = [r for r in found.rows if (r.author, r.source, r.level) == (author, source, level)]
    return one.precision, one.recall, one.f1


def test_authors_and_groups_have_their_own_rows(engine: Engine) -> None:
    found = board(engine, ItemRecord(item=an_item()), *said("i", "a", "1110"), *said("i", "b", "1000"))
    assert row(found, "a") == (1.0, 0.5, pytest.approx(2 / 3))
    assert row(found, "b") == (0.5, 0.0, 0.0)
    assert row(found, "llm") == (0.75, 0.25, pytest.approx(0.375))
    assert row(found, "llm", level="macro") == (0.75, 0.25, pytest.approx(1 / 3))


def test_what_people_are_divided_on_counts_neither_way(engine: Engine) -> None:
    found = board(engine, ItemRecord(item=an_item()), *said("i", "a", "11.."), *said("i", "a", "10..", "bob"))
    assert row(found, "a") == (1.0, None, None)
    (one,) = [r for r in found.rows if (r.author, r.level) == ("a", "micro")]
    assert one.critiques == 1 and one.aius == 2 and "no AIU to count" in one.reason


def test_a_judge_has_rows_and_an_unreadable_reply_is_no_false(engine: Engine) -> None:
    found = board(engine, ItemRecord(item=an_item()), *judged("r", "judge", "i", "a", "1?01"))
    assert row(found, "a", "judge") == (1.0, 0.5, pytest.approx(2 / 3))
    assert not [r for r in found.rows if r.source == "people" and r.author != "reference"]


def test_of_two_runs_of_a_judge_the_newest_counts(engine: Engine) -> None:
    found = board(
        engine,
        ItemRecord(item=an_item()),
        *judged("old", "judge", "i", "a", "0000"),
        *judged("new", "judge", "i", "a", "11.."),
    )
    assert row(found, "a", "judge") == (1.0, 0.0, 0.0)


def test_accuracy_is_on_aius_that_both_judged_and_tells_what_was_unread(engine: Engine) -> None:
    found = board(
        engine,
        ItemRecord(item=an_item()),
        *said("i", "a", "1101"),
        *judged("r", "judge", "i", "a", "10?1"),
    )
    told = {(a.task, a.critiques): (a.accuracy, a.aius, a.unread) for a in found.accuracies}
    assert told["precision", "all"] == told["precision", "llm"] == (0.5, 2, 0)
    assert told["recall", "all"] == (1.0, 1, 1)
    assert told["recall", "human"] == (None, 0, 0)


def test_an_aiu_that_was_added_belongs_to_its_critique_and_waits_for_labels(engine: Engine) -> None:
    imports.load(engine, "s", [ItemRecord(item=an_item()), *said("i", "a", "1111")])
    with database.writing(engine) as session:
        study = studies.get(session, "s")
        aius.put(session, study.id, "i", "ann", Add(critique="a", piece=Piece(text="Five.")))
    found = critiques.board(engine, study, resamples=20)
    (one,) = [r for r in found.rows if (r.author, r.level) == ("a", "micro")]
    assert (one.precision, one.aius) == (1.0, 3)


def test_nothing_judged_is_no_row_but_the_references(engine: Engine) -> None:
    found = board(engine, ItemRecord(item=an_item()))
    assert {r.author for r in found.rows} == {"reference"} and not found.pairs


@pytest.fixture
def published(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a database with the published annotations in the study "meta"."""
    path = public("metacritique/annotation_data.json")
    address = f"sqlite:///{tmp_path}/published.db"
    engine = database.connect(address)
    database.upgrade(engine)
    imports.load(engine, "meta", read(path))
    return address


def printed(address: str, *options: str) -> list[dict]:
    told = CliRunner().invoke(cli.app, ["critiques", "--study", "meta", "--database", address, "--json", *options])
    assert told.exit_code == 0, told.output
    return json.loads(told.stdout)


def test_the_published_scores_come_out_again(published: str) -> None:
    rows = {(r["author"], r["source"], r["level"]): r for r in printed(published)}
    percent = {
        key: tuple(round(100 * r[name], 2) for name in ("precision", "recall", "f1"))
        for key, r in rows.items()
        if r["group"] and r["precision"] is not None
    }
    assert percent == {
        ("human", "people", "micro"): (87.61, 48.72, 62.62),
        ("human", "people", "macro"): (85.37, 50.97, 58.24),
        ("llm", "people", "micro"): (71.85, 53.28, 61.19),
        ("llm", "people", "macro"): (71.07, 54.37, 58.2),
    }
    aius_each = {a: rows[a, "people", "micro"]["aius"] for a in ("human", "llm", "reference")}
    assert aius_each == {"human": 331, "llm": 1620, "reference": 702} and sum(aius_each.values()) == 2653
    assert [rows[a, "people", "micro"]["critiques"] for a in ("human", "llm", "reference")] == [100, 200, 100]


def test_the_better_of_each_pair_comes_out_again(published: str) -> None:
    assert printed(published, "--pairs") == [{"source": "people", "first": 58, "second": 39, "tie": 3, "undefined": 0}]


def test_a_pair_needs_two_defined_scores(engine: Engine) -> None:
    found = board(engine, ItemRecord(item=an_item()), *said("i", "a", "1111"), *said("i", "b", "11.."))
    assert found.pairs == (Pairs("people", 0, 0, 0, 1),)


def test_a_target_tells_its_aiu_and_its_critique() -> None:
    assert covered("i", "ref.1", "a") == Target(item="i", kind="aiu_recall", part="ref.1@a")
