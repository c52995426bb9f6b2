"""MetaCritique's tables: every scorer of critiques in one table, on critiques whose figures are computed by hand."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import numpy as np
import pytest
from sqlalchemy import Engine

from core.formats.records import ExperimentRecord, ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.labels import Kind, Label, Opinion, Target, Value
from core.trace import Verdict, VerdictReached
from storage.reports import published
from storage.reports.published import PublishedRow, _metacritique, _values
from tests.storage.reports.test_critiques import label_records, make_item, run_records
from tests.storage.shared import import_study

GOLD = {"a": "1111", "b": "1010", "c": "0000"}
"""Critique -> people's labels of its AIUs, then of those of the reference: F1 1, 1/2 and 0."""
EXPERIMENT = "metacritique-table-5"
SINGLE = {"a": 7, "b": 2, "c": 4}
Table = Callable[[str], list[PublishedRow]]


def opinions_run(run: str, judge: str, values: dict[tuple[str, str, str], Value], item: str = "i") -> list:
    """Return a run with opinions by (kind, criterion, part)."""
    opinions = tuple(
        Opinion(kind=kind, judge=judge, stage="last", criterion=criterion, part=part, value=value)
        for (kind, criterion, part), value in values.items()
    )
    verdict = VerdictReached(verdict=Verdict(outcome="agreed", opinions=opinions))
    settings = {"judges": [{"name": judge, "spec": {"model": judge}}]}
    return [
        RunRecord(name=run, protocol="metacritique-single", settings=settings),
        TraceRecord(run=run, item=item, events=(verdict,)),
    ]


def label(kind: Kind, criterion: str, part: str, value: Value, annotator: str = "ann") -> LabelRecord:
    target = Target(item="i", kind=kind, criterion=criterion, part=part)
    return LabelRecord(label=Label(target=target, annotator=annotator, value=value))


@pytest.fixture(scope="module")
def table(module_engine: Engine) -> Table:
    """`table(name)`: a table of a study with all scorers."""
    pairs = {"a or b": 2, "a or c": 1, "b or c": 0}
    records = [
        ItemRecord(item=make_item(authors="abc")),
        *(record for critique, digits in GOLD.items() for record in label_records("i", critique, digits)),
        *run_records("meta", "gpt", "i", "a", "1111"),
        *opinions_run("single", "rater", {("likert", "critique", part): value for part, value in SINGLE.items()}),
        *opinions_run("pairs", "chooser", {("preference", "critique", part): value for part, value in pairs.items()}),
        *opinions_run("refined", "reader", {("preference", "refined answer", "a or b"): 1}),
        label("likert", "critique", "a", 6),
        label("likert", "critique", "a", 7, "bob"),
        label("likert", "critique", "b", 5),
        label("preference", "refined answer", "a or b", 2),
        label("likert", "AIU extraction", "a", 5),
        label("likert", "reference answer", "", 7),
    ]
    study = import_study(module_engine, records)
    return partial(published.compute, module_engine, study, resamples=20)


def values(rows: list[PublishedRow], statistic: str, group: str | None = None) -> dict[str, float | None]:
    """Return scorer -> value."""
    return {row.scorer: row.value for row in rows if row.statistic == statistic and group in (None, row.group)}


def test_every_score_is_correlated_with_the_gold_f1(table: Table) -> None:
    rows = table("metacritique-5")
    # Gold 1, .5, 0 and ratings 7, 2, 4: ranks 3 2 1 and 3 1 2.
    assert values(rows, "spearman", "llm")["rater: ratings 1-7"] == pytest.approx(0.5)
    assert values(rows, "kendall_tau_b", "llm")["rater: ratings 1-7"] == pytest.approx(1 / 3)
    assert {"gpt: Meta-P", "gpt: Meta-R", "gpt: Meta-F1", "people: ratings 1-7"} <= {row.scorer for row in rows}


def test_the_repeats_of_a_scorer_are_one_row_in_every_table(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratings 7, 2, 4 and 7, 4, 2 of critiques whose F1 are 1, .5 and 0; AIUs of "a" that are judged right and wrong.

    An earlier run of the same judge does not count.
    """
    monkeypatch.setattr(_values, "is_of", lambda *of: True)
    records: list = [
        ExperimentRecord(name=EXPERIMENT, definition=f"name: {EXPERIMENT}\nprotocol: refer\naxes: {{x: [1]}}")
    ]
    records += [ItemRecord(item=make_item(authors="abc"))]
    records += [one for critique, digits in GOLD.items() for one in label_records("i", critique, digits)]
    records += run_records("earlier", "MetaCritique", "i", "a", "0000")
    given = ({"a": 7, "b": 2, "c": 4}, "1111"), ({"a": 7, "b": 4, "c": 2}, "0011")
    for repeat, (ratings, digits) in enumerate(given, 1):
        cell = {"experiment": EXPERIMENT, "repeat": repeat}
        likert = {("likert", "critique", part): value for part, value in ratings.items()}
        for label, (run, trace) in {
            "Single": opinions_run("", "Single", likert),
            "MetaCritique": run_records("", "MetaCritique", "i", "a", digits),
        }.items():
            name = f"{EXPERIMENT} · {label} · repeat {repeat}"
            records.append(run.model_copy(update={"name": name, "cell": {"x": label}, **cell}))
            records.append(trace.model_copy(update={"run": name}))
    study = import_study(engine, records)
    name = f"Single · {EXPERIMENT} · Single: ratings 1-7"
    rows = published.compute(engine, study, "metacritique-5", resamples=20)
    (row,) = [row for row in rows if (row.statistic, row.group) == ("spearman", "llm") and "ratings" in row.scorer]
    assert (row.scorer, row.value, row.items, row.published) == (name, pytest.approx(0.75), 3, 0.379)
    assert row.note.startswith("mean of 2 repeats, standard deviation 0.354")
    *pairs, margin = published.compute(engine, study, "metacritique-figure-3", resamples=20)
    assert (margin.value, margin.published) == (None, 0.44)
    assert [(row.scorer, row.value, row.items) for row in pairs] == [(name, pytest.approx(5 / 6), 1)]
    assert pairs[0].note.startswith("2 repeats together") and "6 observations of 1 item" in pairs[0].note
    accuracy = published.compute(engine, study, "metacritique-4", resamples=20)
    assert [(row.value, row.items) for row in accuracy if row.group == "precision, all"] == [(0.5, 2)]
    (f1, *_) = [
        row
        for row in published.compute(engine, study, "metacritique-6", resamples=20)
        if row.scorer == "MetaCritique" and row.statistic == "precision"
    ]
    assert f1.value == 0.5 and f1.note.startswith("2 repeats together")


def test_a_difference_of_correlations_is_that_of_their_means_over_repeats() -> None:
    rng = np.random.default_rng(1)
    gold = {(f"i{n}", "c"): float(n % 5) for n in range(12)}
    scorer, baseline = ([{key: value + rng.normal(0, 2) for key, value in gold.items()} for _ in "ab"] for _ in "sb")
    r = {
        name: row.value
        for name, repeats in (("scorer", scorer), ("baseline", baseline))
        for row in _metacritique._correlations_of(name, "llm", repeats, gold, 20)
        if row.statistic == "pearson"
    }
    (row,) = _metacritique._less_baselines("scorer", "llm", scorer, gold, {"baseline": baseline}, 20)
    assert row.value == pytest.approx(r["scorer"] - r["baseline"]) and row.items == 12


def test_every_scorer_chooses_between_critiques(table: Table) -> None:
    rows = table("metacritique-figure-3")
    agreement = values(rows, "agreement", "llm")
    assert agreement == {"rater: ratings 1-7": pytest.approx(2 / 3), "people: ratings 1-7": 1.0, "chooser": 1 / 3}
    (chooser,) = [row for row in rows if row.scorer == "chooser"]
    assert chooser.note.startswith("ties: 1 by the scorer, 0 by gold") and chooser.items == 1
    (people,) = [row for row in rows if row.scorer == "people: ratings 1-7"]
    assert "2 pairs without a choice" in people.note


def test_the_better_critique_of_each_scorer_leads_to_the_better_answer_or_not(table: Table) -> None:
    rows = table("metacritique-figure-4")
    by_model = values(rows, "win rate", "refined answers compared by reader")
    by_people = values(rows, "win rate", "refined answers compared by people")
    assert (by_model["gold: Meta-F1"], by_model["chooser"]) == (1.0, 0.0)
    assert (by_people["gold: Meta-F1"], by_people["chooser"]) == (0.0, 1.0)


def test_gold_ratings_and_accuracies_have_a_row_for_each_group(table: Table) -> None:
    assert values(table("metacritique-2"), "f1", "llm, macro")["people"] == pytest.approx(0.5)
    ratings = {row.group: row.value for row in table("metacritique-3")}
    assert ratings == {"reference answer": 7.0, "AIU extraction, llm": 5.0}
    accuracies = {(row.scorer, row.group): row.value for row in table("metacritique-4")}
    assert accuracies["gpt", "precision, llm"] == 1.0


def test_a_table_is_offered_for_values_of_its_kind_and_criterion() -> None:
    assert published.find_table("metacritique-figure-4").kinds == ("preference/refined answer",)
    kinds = {kind.partition("/")[0] for table in published.TABLES for kind in table.kinds}
    assert kinds <= {*get_args(Kind)} and all(table.kinds for table in published.TABLES)
