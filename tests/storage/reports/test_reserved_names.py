"""Criteria and scenarios with a name that reports use for all of them together."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
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
    judge_errors,
    judge_ranking,
    label_plans,
    rationales,
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


# Requests with a kind, criterion or scenario that the study does not have


Report = Callable[..., object]
NO_CRITERION = r"There is no criterion called 'tone' here; there are: all, \"all\", help\."
NO_SCENARIO = r"There is no scenario called 'code' here; there are: \(no scenario\), \"all\", math\."


def selected(report: Report, engine: Engine, study: Study, **names: str) -> object:
    return report(engine, study, Selection(**names))


def of_runs(engine: Engine, study: Study, **names: str) -> object:
    return run_comparison.load(engine, study, ["r", "again"]).dataset(**names)


OF_JUDGES = [partial(selected, one.of_study) for one in (judge_ranking, label_plans, judge_errors, discordance)]
BY_BOTH = [
    *OF_JUDGES,
    partial(selected, judge_ranking.comparisons_of_study),
    partial(selected, judge_biases.of_study),
    of_runs,
]


@pytest.mark.parametrize("report", [*BY_BOTH, rationales.of_study, systems.report])
def test_an_unknown_criterion_is_refused_with_the_known_ones(engine: Engine, study: Study, report: Report) -> None:
    with pytest.raises(TiebreakError, match=NO_CRITERION):
        report(engine, study, criterion="tone")


@pytest.mark.parametrize("report", BY_BOTH)
def test_an_unknown_scenario_is_refused_with_the_known_ones(engine: Engine, study: Study, report: Report) -> None:
    with pytest.raises(TiebreakError, match=NO_SCENARIO):
        report(engine, study, scenario="code")


@pytest.mark.parametrize("report", [*OF_JUDGES, systems.report, of_runs])
def test_an_unknown_kind_is_refused_with_the_known_ones(engine: Engine, study: Study, report: Report) -> None:
    with pytest.raises(TiebreakError, match=r"There is no kind called 'score' here; there are: preference\."):
        report(engine, study, kind="score")


def test_a_missing_criterion_and_scenario_are_named_as_pages_do() -> None:
    with pytest.raises(TiebreakError, match=r"called '\(no criterion\)' here; there are: help\."):
        alignment.check_keys([("preference", "help")], None, "")
    with pytest.raises(TiebreakError, match=r"called '\(no scenario\)' here; there are: math\."):
        alignment.check_scenario(["math"], "")


def test_names_that_there_are_pass() -> None:
    known = [("preference", ""), ("preference", "help"), ("score", "tone")]
    for kind, criterion in (None, None), ("preference", "all"), ("preference", ""), (None, "tone"):
        alignment.check_keys(known, kind, criterion)
    alignment.check_scenario(["", "math"], "")
    with pytest.raises(TiebreakError, match=r"no criterion called 'all' here; there are: tone\."):
        alignment.check_keys(known, "score", "all")
