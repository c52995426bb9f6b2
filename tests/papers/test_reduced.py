"""A reduced experiment of each paper on the local server, from its file to its printed table."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.formats.records import ItemRecord, LabelRecord
from core.labels import Label, Target
from storage.db.connections import connect
from storage.transfer import imports
from tests.commands import run_command
from tests.conftest import make_item
from tests.databases import create_database
from tests.openai_server import Server, run_server
from tests.papers.packs import write_variant
from tests.papers.studies import records_for

pytestmark = pytest.mark.slow
Command = Callable[..., str]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with run_server() as running:
        yield running


@pytest.fixture
def url(tmp_path: Path) -> str:
    return create_database(tmp_path / "p.db")


@pytest.fixture
def command(url: str) -> Command:
    def run(*words: str) -> str:
        done = run_command([*words, "--study", "s", "--database", url])
        assert done.exit_code == 0, done.stderr
        return done.stdout

    return run


def add(url: str, *records: object) -> None:
    imports.import_records(connect(url), "s", list(records))


def label(target: Target, value: object, annotator: str = "ann") -> LabelRecord:
    return LabelRecord(label=Label(target=target, annotator=annotator, value=value))


def preference_items(count: int, scenario: str = "math", criterion: str = "") -> list[object]:
    """Return items with two responses, and a label of each that prefers the first one."""
    items = [make_item(f"{scenario} {number}", scenario=scenario) for number in range(count)]
    labels = [label(Target(item=item.id, kind="preference", criterion=criterion), 1) for item in items]
    return [*(ItemRecord(item=item) for item in items), *labels]


def lines_of(table: str) -> list[list[str]]:
    """Return the columns of each line below the rule of a printed table."""
    _, _, body = table.partition("\n---")
    return [[part.strip() for part in line.split("  ") if part.strip()] for line in body.splitlines()[1:]]


def test_scaleeval_compares_evaluators_with_the_debates_of_another_experiment(
    tmp_path: Path, url: str, command: Command, server: Server
) -> None:
    cells = ["helpfulness · brainstorming", "interpretability · coding"]
    records = [record for scenario in ("brainstorming", "coding") for record in preference_items(3, scenario)]
    add(url, *(record for record in records if isinstance(record, ItemRecord)))
    keep = {"criterion and scenario": cells}
    command("experiments", "run", str(write_variant(tmp_path, "scaleeval/debates", server.address, keep=keep)), "--yes")
    fewer = keep | {"format": 2, "judge.model": 2}
    file = write_variant(tmp_path, "scaleeval/table-5", server.address, choices="12", keep=fewer, repeats=2)
    assert "16 of 16 runs finished, 48 of 48 traces" in command("experiments", "run", str(file), "--yes")
    table = command("experiments", "table", "scaleeval-table-5", "--statistic", "example_level_agreement")
    assert "reference: debate:scaleeval-debates" in table
    assert [line[:3] for line in lines_of(table)] == [
        [format, cell, "1.000 ± 0.000 [0.439, 1.000]"] for format in ("general", "shortened") for cell in cells
    ]
    assert all(line[3].startswith("0.000") for line in lines_of(table))
    rows = json.loads(command("experiments", "table", "scaleeval-4", "--json"))
    of_judges = {row["scorer"]: row for row in rows if "table-5" in row["scorer"]}
    assert len(of_judges) == 8 and {(row["value"], row["items"]) for row in of_judges.values()} == {(1, 3), (0, 3)}
    assert all("6 observations of 3 items" in row["note"] for row in of_judges.values())
    words = ("experiments", "table", "scaleeval-table-5", "--published")
    notes = {row["note"].split("; ")[1] for row in json.loads(command(*words, "--json"))}
    assert notes == {"compared with debate:scaleeval-debates: 3 by the debate"}, "each cell with its own debate"
    assert "people's decisions" not in command(*words)
    wins = command("experiments", "table", "scaleeval-figure-3", "--rows", "group,statistic", "--columns", "scorer")
    assert "ScaleEval, Chern et al. 2024, Figure 3" in wins


def test_realcritic_counts_what_three_critics_correct(
    tmp_path: Path, url: str, command: Command, server: Server
) -> None:
    """The solutions answer A B A B A C, and A A A B B C are right; the critics always answer A, B or D, in turn."""
    add(url, *records_for("realcritic/critique", tmp_path))
    file = write_variant(tmp_path, "realcritic/critique", server.address, choices="120", keep={"critic": 3}, repeats=2)
    assert "12 of 12 runs finished, 72 of 72 traces" in command("experiments", "run", str(file), "--yes")
    rounds = write_variant(tmp_path, "realcritic/iterative", server.address, choices="120", keep={"critic": 1})
    command("experiments", "run", str(rounds), "--yes")  # another experiment is not pooled with the first
    rows = json.loads(command("experiments", "table", "realcritic", "--json"))
    assert {row["group"] for row in rows if "iterative" in row["scorer"]} > {"all", "round 1", "round 2", "round 3"}
    rows = [row for row in rows if "iterative" not in row["scorer"]]
    of: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        if row["group"] == "all" and "cross" in row["scorer"]:
            of.setdefault(row["scorer"].split(" · ")[1], {})[row["statistic"]] = row
    assert len(of) == 3
    for name, figures in of.items():
        values = {statistic: (row["value"], row["items"]) for statistic, row in figures.items()}
        after, to_right, to_wrong = {"1": (3 / 6, 1 / 2, 2 / 4), "2": (2 / 6, 1 / 2, 3 / 4), "0": (0, 0, 1)}[name[-1]]
        assert values == {
            "right before": (4 / 6, 6), "right after": (after, 6), "wrong to right": (to_right, 2),
            "right to wrong": (to_wrong, 4), "right after less before": (pytest.approx(after - 4 / 6), 6),
        }  # fmt: skip
        assert figures["right after"]["note"].startswith("12 observations of 6 items")
    own = [row for row in rows if "self" in row["scorer"] and row["statistic"] == "right after less before"]
    assert len(own) == 9 and {row["value"] for row in own} == {0.0}
