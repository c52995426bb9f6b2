"""Tables of debates and judges, on small own files and on the released ones where these are present."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import cli
from core.formats import tiebreak
from core.formats.records import ExperimentRecord, ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.formats.registry import read_records
from core.items import Item, Response
from core.labels import Label, Target
from core.trace import VerdictReached
from storage.db import connections
from storage.labels import labels
from storage.reports import published
from storage.reports.published import TABLES, PublishedRow
from storage.reports.published.rows import MEAN, share
from storage.studies import studies
from storage.transfer import imports, samples
from tests.conftest import make_item, make_label
from tests.core.formats.shared import FIXTURES
from tests.databases import create_database
from tests.storage.reports.test_references import SINGLE, make_run, single_trace

pytestmark = pytest.mark.slow  # whole commands and runs


def compute(folder: Path, records: list, name: str, decide: dict[str, int] | None = None) -> list[PublishedRow]:
    """Return a table of a new study; `decide`: item -> an adjudication of its preference in helpfulness."""
    (rows,) = compute_all(folder, records, name, decide=decide)
    return rows


def compute_all(
    folder: Path, records: list, *names: str, decide: dict[str, int] | None = None
) -> list[list[PublishedRow]]:
    """Return several tables of a new study."""
    engine = connections.connect(create_database(folder / "tiebreak.db"))
    imports.import_records(engine, "s", records)
    with connections.writing(engine) as session:
        study = studies.get(session, "s")
        for item, value in (decide or {}).items():
            target = Target(item=item, kind="preference", criterion="helpfulness")
            labels.adjudicate(
                session, study.id, target, value, rule="expert decision", reason="read", adjudicator="zoe"
            )
    found = [published.compute(engine, study, name, resamples=20) for name in names]
    engine.dispose()
    return found


def by_scorer(rows: list[PublishedRow], statistic: str, group: str | None = None) -> dict[str, float | None]:
    return {row.scorer: row.value for row in rows if row.statistic == statistic and group in (None, row.group)}


def test_people_decide_before_the_majority_of_the_panel(tmp_path: Path) -> None:
    records = list(read_records(FIXTURES / "scaleeval"))
    items = [record.item.id for record in records if isinstance(record, ItemRecord)]
    rows = compute(tmp_path, records, "scaleeval-4", dict.fromkeys(items, 1))
    assert all(row.note == f"{row.items} adjudicated" for row in rows)


def test_pooled_errors_costs_and_distributions_of_a_peer_review(tmp_path: Path) -> None:
    tables = "refer-figure-3", "costs", "refer-figure-6"
    slices, costs, scores = compute_all(tmp_path, list(tiebreak.read(samples.path("refer"))), *tables)
    pooled = [row.value or 0.0 for row in slices if row.scorer == "all runs of no experiment"]
    assert sum(pooled) == pytest.approx(1) and any("chair" in row.group for row in slices)
    relative = {(row.scorer, row.group): row.value for row in costs if row.statistic == "relative seconds"}
    chair = {run: value for (run, group), value in relative.items() if group != "all calls"}
    assert max(value for (_, group), value in relative.items() if group == "all calls") == 1 and chair
    of_first = [row.value or 0.0 for row in scores if row.group == scores[0].group]
    assert sum(of_first) == pytest.approx(1) and scores[0].statistic.startswith("share of ")


def test_the_interval_of_a_pooled_share_is_over_items() -> None:
    """Twenty items, each with nine correlated observations: three repeats on three criteria; the true share is .3."""
    random = np.random.default_rng(1)
    items = [f"item {number}" for number in range(20) for _ in range(9)]
    covered = 0
    for _ in range(200):
        of_items = random.beta(0.6, 1.4, size=20).repeat(9)
        row = share("s", "", "share", (random.random(180) < of_items).tolist(), items)
        assert row.low is not None and row.high is not None
        covered += row.low <= 0.3 <= row.high
    assert 0.9 <= covered / 200 <= 0.99, "plain Wilson intervals cover it in about 70 %"
    assert row.items == 20 and row.note.startswith("180 observations of 20 items")


def test_errors_are_pooled_over_the_runs_of_an_experiment_alone(tmp_path: Path) -> None:
    records = list(tiebreak.read(samples.path("refer")))
    (run,) = (record for record in records if isinstance(record, RunRecord))
    traces = [record for record in records if isinstance(record, TraceRecord)]
    records.append(ExperimentRecord(name="e", definition="name: e\nprotocol: refer\naxes: {samples: [1]}"))
    for repeat in (1, 2):
        name = f"e · 1 · repeat {repeat}"
        update = {"name": name, "experiment": "e", "cell": {"samples": "1"}, "repeat": repeat}
        records += [run.model_copy(update=update), *(one.model_copy(update={"run": name}) for one in traces)]
    alone = RunRecord.model_validate(run.model_dump() | {"name": "alone", "settings": {**run.settings, "peers": []}})
    records.append(alone)  # a chair without peers is no part of the population
    for trace in traces:
        (verdict,) = (event.verdict for event in trace.events if event.type == "verdict")
        own = verdict.model_copy(update={"opinions": verdict.opinions[-1:]})
        events = (VerdictReached(verdict=own),)
        records.append(trace.model_copy(update={"run": "alone", "events": events}))
    rows = compute(tmp_path, records, "refer-figure-3")
    assert {row.scorer for row in rows} == {"all runs of e", "e · 1", "all runs of no experiment", run.name}
    own, other = ([row for row in rows if row.scorer == f"all runs of {name}"] for name in ("e", "no experiment"))
    assert [row.value for row in own] == [row.value for row in other]
    assert {(row.items, row.note.partition(";")[0]) for row in own} == {(8, "16 observations of 8 items")}


def test_peoples_kappa_is_that_of_each_pair_of_systems(tmp_path: Path) -> None:
    """People agree on the items of one pair of systems, and are opposed on those of the other."""
    pairs = {"a": ("x", "y"), "b": ("y", "z")}
    records: list = []
    for pair, (first, second) in pairs.items():
        for n in range(4):
            responses = (Response(text="1", system=first), Response(text="2", system=second))
            records.append(ItemRecord(item=make_item(f"{pair}{n}", responses=responses, scenario="math")))
            for name, flip in (("ann", False), ("bob", pair == "b")):
                value = 1 + (n % 2 != flip)
                records.append(make_label(value, annotator=name, item=f"{pair}{n}"))
    rows = compute(tmp_path, records, "scaleeval-figure-4")
    found = {row.group: (row.value, row.items) for row in rows}
    assert found["helpfulness · x and y · math"] == (pytest.approx(1), 4)
    assert found["helpfulness · y and z · math"] == (pytest.approx(-1), 4)


def test_win_rates_of_systems_sum_to_one(tmp_path: Path) -> None:
    rows = compute(tmp_path, list(read_records(FIXTURES / "scaleeval")), "scaleeval-figure-3")
    totals: dict[tuple[str, str], float] = {}
    for row in rows:
        totals[row.scorer, row.group] = totals.get((row.scorer, row.group), 0.0) + (row.value or 0.0)
    assert totals and all(total == pytest.approx(1) for total in totals.values())
    assert {row.statistic for row in rows} == {"small wins", "tie", "large wins"}


def test_rounds_have_the_accuracy_of_each_judge_and_of_the_majority(tmp_path: Path) -> None:
    records = list(read_records(FIXTURES / "scaleeval"))
    items = [record.item.id for record in records if isinstance(record, ItemRecord)]
    rows = compute(tmp_path, records, "rounds", dict.fromkeys(items, 1))
    assert {row.group for row in rows} >= {"after round 0", "after round 1"}
    assert any(row.scorer.startswith("majority of the panel") for row in rows)


def test_rounds_are_not_compared_with_the_verdicts_of_their_own_debate(tmp_path: Path) -> None:
    records = list(read_records(FIXTURES / "scaleeval"))
    keys = [record.item.id for record in records if isinstance(record, ItemRecord)]
    rows = compute(tmp_path, [*records, SINGLE, *(single_trace(key, 1) for key in keys)], "rounds")
    assert not rows  # nobody labelled: the reference is the debate


def test_the_sample_of_aspects_has_every_table_of_dna_eval(tmp_path: Path) -> None:
    names = "dna-2", "dna-3", "dna-4", "dna-7", "dna-figure-5"
    for rows in compute_all(tmp_path, list(read_records(samples.path("dna_eval"))), *names):
        assert rows and all(row.value is not None or row.note for row in rows)


def test_a_study_without_values_has_no_rows(tmp_path: Path) -> None:
    engine = connections.connect(create_database(tmp_path / "tiebreak.db"))
    imports.import_records(engine, "s", [ItemRecord(item=Item(id="i", prompt="?"))])
    with connections.reading(engine) as session:
        study = studies.get(session, "s")
        assert published.available(session, study.id) == []
    assert {table.name: published.compute(engine, study, table.name) for table in TABLES} == {
        table.name: [] for table in TABLES
    }
    engine.dispose()


def test_the_command_lists_the_tables_and_prints_one(tmp_path: Path) -> None:
    address = create_database(tmp_path / "tiebreak.db")
    imports.import_records(connections.connect(address), "s", list(read_records(samples.path("dna_eval"))))
    listed = json.loads(CliRunner().invoke(cli.app, ["experiments", "table", "--json"]).stdout)
    assert [table["name"] for table in listed] == [table.name for table in TABLES]
    options = ["--study", "s", "--database", address]
    printed = CliRunner().invoke(cli.app, ["experiments", "table", "dna-3", *options])
    assert "How good are the aspects that models propose?" in printed.stdout and "clarity" in printed.stdout
    empty = CliRunner().invoke(cli.app, ["experiments", "table", "metacritique-3", *options])
    assert empty.exit_code == 2 and "'metacritique-3' has no rows for this study: it needs people's" in empty.stderr
    refused = CliRunner().invoke(cli.app, ["experiments", "table", "dna-3"])
    assert refused.exit_code == 2 and "--study" in refused.stderr


def test_annotators_are_compared_with_the_majority(tmp_path: Path) -> None:
    item, target = Item(id="i", prompt="?"), Target(item="i", kind="preference", criterion="c")
    given = [Label(target=target, annotator=name, value=value) for name, value in (("x", 1), ("y", 1), ("z", 2))]
    rows = compute(tmp_path, [ItemRecord(item=item), *(LabelRecord(label=one) for one in given)], "chateval-1")
    assert by_scorer(rows, "accuracy") == {"x": 1.0, "y": 1.0, "z": 0.0}


def test_what_dna_eval_corrects_and_makes_wrong_is_of_a_baseline_with_its_model(tmp_path: Path) -> None:
    """People prefer the first response to each of four items."""
    values = {"direct": (2, 2, 1, 1), "aspects": (1, 2, 1, 2), "other": (1, 1, 1, 1)}
    protocols = {"direct": "dna_baselines"}
    records: list = []
    for number in range(4):
        item = make_item(f"i{number}")
        records += [ItemRecord(item=item), make_label(1, item=item.id)]
    for name, given in values.items():
        records.append(
            make_run(name, ("solo", "n" if name == "other" else "m"), protocol=protocols.get(name, "dna_eval"))
        )
        records += [single_trace(f"i{number}", value, run=name) for number, value in enumerate(given)]
    rows = compute(tmp_path, records, "dna-11")
    assert [(row.scorer, row.group, row.statistic, row.value, row.items, row.note) for row in rows] == [
        ("aspects", "instead of direct", "corrected", 0.25, 4, "items: i0"),
        ("aspects", "instead of direct", "made wrong", 0.25, 4, "items: i3"),
    ]


def test_the_repeats_of_a_run_are_one_judge_in_differences_and_corrections(tmp_path: Path) -> None:
    """People prefer the first response: the aspects are right 4 + 2 times of 4 in two repeats, the baseline 2 + 2."""
    given = {"dna_baselines": ((1, 1, 2, 2), (1, 2, 2, 1)), "dna_eval": ((1, 1, 1, 1), (2, 1, 1, 2))}
    records: list = [ExperimentRecord(name="e", definition="name: e\nprotocol: dna_eval\naxes: {x: [1]}")]
    for number in range(4):
        records += [ItemRecord(item=make_item(f"i{number}")), make_label(1, item=f"i{number}")]
    for protocol, repeats in given.items():
        for repeat, values in enumerate(repeats, 1):
            name = f"e · {protocol} · repeat {repeat}"
            update = {"experiment": "e", "cell": {"x": protocol}, "repeat": repeat}
            records.append(make_run(name, ("solo", "m"), protocol=protocol).model_copy(update=update))
            records += [single_trace(f"i{number}", value, run=name) for number, value in enumerate(values)]
    corrected, (row,) = compute_all(tmp_path, records, "dna-11", "dna-4")
    assert {(row.scorer, row.group, row.items) for row in corrected} == {
        ("e · dna_eval", "instead of e · dna_baselines", 4)
    }
    assert [row.value for row in corrected] == [0.5, 0.25]
    assert (row.scorer, row.value, row.items) == (
        "solo · e · dna_baselines less solo · e · dna_eval", pytest.approx(-0.25), 4
    )  # fmt: skip


def test_the_repeats_of_a_run_are_one_row_with_the_mean_of_accuracies(tmp_path: Path) -> None:
    """Three of four and one of three are right; the missing verdict of the second repeat is a tie in its own rows."""
    records: list = [ExperimentRecord(name="e", definition="name: e\nprotocol: chateval\naxes: {x: [1]}")]
    records += [ItemRecord(item=make_item(f"i{number}")) for number in range(4)]
    records += [make_label(1, item=f"i{number}", annotator=name) for number in range(4) for name in ("ann", "bob")]
    for repeat, values in enumerate(((1, 1, 1, 2), (1, 2, 2, None)), 1):
        update = {"name": f"e · x · repeat {repeat}", "experiment": "e", "cell": {"x": "1"}, "repeat": repeat}
        records.append(make_run("e", ("solo", "m")).model_copy(update=update))
        records += [single_trace(f"i{n}", value, run=str(update["name"])) for n, value in enumerate(values)]
    rows, *others = compute_all(tmp_path, records, "chateval-1", "dna-2", "scaleeval-3")
    accuracies = {row.scorer: row for row in rows if row.statistic == "accuracy"}
    assert set(accuracies) == {"ann", "bob", "solo · e · x"}
    row = accuracies["solo · e · x"]
    assert (row.value, row.items) == (pytest.approx((3 / 4 + 1 / 3) / 2), 4) and row.note.startswith(
        "mean of 2 repeats"
    )
    assert row.low is not None and row.low < 0.54
    assert by_scorer(rows, "accuracy, no verdict as a tie") == {"solo · e · x": 0.5}
    assert {row.scorer for row in rows if row.statistic == "cohen_kappa"} == set(accuracies)
    for table, scorer, value in zip(others, ("e · x", "solo · e · x"), (4 / 7, 4 / 8), strict=True):
        (row, *_) = (row for row in table if row.scorer == scorer)
        assert (row.value, row.items) == (pytest.approx(value), 4)


def test_pairs_of_systems_of_one_study_are_separate_rows_of_example_level_agreement(tmp_path: Path) -> None:
    records: list = [SINGLE]
    for number, names in enumerate((("a", "b"), ("c", "a"), ("b", "c"))):
        responses = tuple(Response(text=name, system=name) for name in names)
        item = make_item(f"i{number}", responses=responses)
        records += [ItemRecord(item=item), make_label(1, item=item.id), single_trace(item.id, 1 + (number == 2))]
    rows = compute(tmp_path, records, "scaleeval-3")
    values = {row.group: (row.value, row.items) for row in rows}
    assert {group.split(" · ")[1]: value for group, value in values.items() if group != MEAN} == {
        "a and b": (1.0, 1), "a and c": (1.0, 1), "b and c": (0.0, 1),
    }  # fmt: skip
