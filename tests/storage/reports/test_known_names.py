"""Requests with a kind, criterion or scenario that the study does not have."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from storage.reports import (
    alignment,
    discordance,
    judge_biases,
    judge_errors,
    judge_ranking,
    label_plans,
    rationales,
    run_comparison,
    systems,
)
from storage.reports.judge_ranking import Selection
from storage.studies.studies import Study
from tests.storage.reports.test_reserved_names import engine as engine
from tests.storage.reports.test_reserved_names import study as study

Report = Callable[..., object]
CRITERIA = r"There is no criterion called 'tone' here; there are: all, \"all\", help\."
SCENARIOS = r"There is no scenario called 'code' here; there are: \(no scenario\), \"all\", math\."


def selected(report: Report, engine: Engine, study: Study, **names: str) -> object:
    return report(engine, study, Selection(**names))


def of_runs(engine: Engine, study: Study, **names: str) -> object:
    return run_comparison.load(engine, study, ["r", "again"]).dataset(**names)


OF_JUDGES = [partial(selected, one.of_study) for one in (judge_ranking, label_plans, judge_errors, discordance)]
BY_BOTH = [
    *OF_JUDGES,
    partial(selected, judge_ranking.comparisons_of_study),
    partial(selected, judge_biases.of_study),
    partial(selected, judge_biases.formats_of_study),
    of_runs,
]


@pytest.mark.parametrize("report", [*BY_BOTH, rationales.of_study, systems.report])
def test_an_unknown_criterion_is_refused_with_the_known_ones(engine: Engine, study: Study, report: Report) -> None:
    with pytest.raises(TiebreakError, match=CRITERIA):
        report(engine, study, criterion="tone")


@pytest.mark.parametrize("report", BY_BOTH)
def test_an_unknown_scenario_is_refused_with_the_known_ones(engine: Engine, study: Study, report: Report) -> None:
    with pytest.raises(TiebreakError, match=SCENARIOS):
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
