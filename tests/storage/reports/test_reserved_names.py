"""Criteria and scenarios with a name that reports use for all of them together."""

from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, LabelRecord, Record, TraceRecord
from core.items import Item, Response
from core.labels import Label, Opinion
from core.trace import Turn, TurnCompleted, Verdict, VerdictReached
from storage.db.connections import connect
from storage.reports import (
    agreement,
    alignment,
    disagreements,
    discordance,
    judge_biases,
    judge_ranking,
    run_comparison,
    systems,
)
from storage.reports.judge_ranking import RankingQuery, Selection
from storage.studies.studies import Study
from storage.transfer import bundle
from tests.conftest import make_target
from tests.databases import create_database
from tests.storage.reports.test_alignment import import_study
from tests.storage.shared import RUN

ITEMS = 30
CRITERIA = ("all", "help")
SCENARIOS = ("all", "math", "")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A SQLite database: the tests of each report read the same from PostgreSQL."""
    opened = connect(create_database(tmp_path_factory.mktemp("reserved") / "tiebreak.db"))
    yield opened
    opened.dispose()


@pytest.fixture(scope="module")
def study(engine: Engine) -> Study:
    """Return a study whose judge is right on every target of the criterion "all" and on none of "help"."""
    records: list[Record] = [RUN.model_copy(update={"name": name}) for name in ("r", "again")]
    for number in range(ITEMS):
        item, value = f"i{number}", 1 + number % 2
        responses = (Response(text="short", system="a"), Response(text="a longer text", system="b"))
        records.append(ItemRecord(item=Item(id=item, prompt="?", responses=responses, scenario=SCENARIOS[number % 3])))
        records += [
            LabelRecord(label=Label(target=make_target(item, criterion=criterion), annotator=name, value=value))
            for criterion in CRITERIA
            for name in ("ann", "ben")
        ]
        opinions = tuple(
            Opinion(kind="preference", judge="j", stage="verdict", value=verdict, criterion=criterion)
            for criterion, verdict in zip(CRITERIA, (value, 3 - value), strict=True)
        )
        turn = Turn(speaker="j", step="opinion", round=0, model="m", reply="1", reading=1, shown=(1, 2))
        events = (
            TurnCompleted(ask=0, turn=turn),
            VerdictReached(verdict=Verdict(outcome="agreed", value=1, opinions=opinions)),
        )
        records += [TraceRecord(run=name, item=item, events=events) for name in ("r", "again")]
    return import_study(engine, records)


@pytest.mark.parametrize(("criterion", "accuracy", "targets"), [("all", 0.5, 60), ('"all"', 1, 30), ("help", 0, 30)])
def test_every_report_of_a_criterion_is_about_the_same_targets(
    engine: Engine, study: Study, criterion: str, accuracy: float, targets: int
) -> None:
    ranked = judge_ranking.of_study(engine, study, Selection(criterion=criterion), resamples=2)
    assert {judge.accuracy.items for judge in ranked.ranking.judges} == {targets}
    assert {judge.accuracy.value for judge in ranked.ranking.judges} == {accuracy}
    rows = {(row.criterion, row.statistic): row for row in alignment.rows(engine, study, resamples=2)}
    assert (rows[criterion, "accuracy_gold"].value, rows[criterion, "accuracy_gold"].items) == (accuracy, targets)
    (biased, *_) = judge_biases.of_study(engine, study, Selection(criterion=criterion))
    assert biased.effect.items == targets
    rated = systems.report(engine, study, criterion=criterion, resamples=2)
    assert rated.rows[0].labelled == targets
    compared = run_comparison.load(engine, study, ["r", "again"])
    assert compared.dataset(criterion=criterion).gold.size == targets
    (row,) = [
        row for row in agreement.rows(engine, study, "all") if (row.criterion, row.statistic) == (criterion, "percent")
    ]
    assert row.items == targets
    found = discordance.of_study(engine, study, Selection(criterion=criterion))
    assert {row.targets + row.targets_outside for row in found} == {targets}


def test_listed_targets_have_the_stored_name(engine: Engine, study: Study) -> None:
    data = alignment.load_data(engine, study)
    for criterion, stored in (("all", {"all", "help"}), ('"all"', {"all"})):
        query = RankingQuery("preference", criterion)
        judge, other = sorted(data.judges)
        dataset = judge_ranking.find_dataset(data, query)
        assert dataset is not None
        listed = disagreements.list_places(dataset, np.arange(dataset.gold.size), (judge, other), None)
        assert {one.target.criterion for one in listed.items} == stored


def test_tables_of_labels_have_the_stored_name(engine: Engine, study: Study) -> None:
    tables = {table.name: table for table in bundle.tables(engine, study, {})}
    for name in ("labels_long", "verdicts"):
        column = tables[name].columns.index("criterion")
        assert {row[column] for row in tables[name].rows} == {"all", "help"}
    column = tables["alignment"].columns.index("criterion")
    assert {row[column] for row in tables["alignment"].rows} == {"all", '"all"', "help"}


def test_groups_of_scenarios_differ_from_the_group_of_all(engine: Engine, study: Study) -> None:
    rows = [row for by in ("all", "scenario") for row in alignment.rows(engine, study, by, resamples=2)]
    found = {row.group: row.items for row in rows if (row.criterion, row.statistic) == ("help", "accuracy_gold")}
    assert found == {"all": 30, '"all"': 10, "math": 10, "": 10}
    agreed = agreement.rows(engine, study, "scenario")
    assert {row.group for row in agreed} == {'"all"', "math", ""}
    rated = systems.report(engine, study, criterion="help", resamples=2).rows
    assert {row.scenario: row.labelled for row in rated} == {"all": 30, '"all"': 10, "math": 10}
    assert len(rated) == 6
