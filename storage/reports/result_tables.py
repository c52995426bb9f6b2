"""The results of a study as tables for a publication: judges, their differences, causes, systems and biases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Engine

from core.errors import TiebreakError
from storage.reports import judge_biases, judge_errors, judge_ranking, systems
from storage.reports.alignment import load_data
from storage.reports.judge_ranking import Selection
from storage.studies import Study

Rows = Sequence[Mapping[str, Any]]


def result_tables(engine: Engine, study: Study) -> tuple[dict[str, Rows], dict[str, str]]:
    """Return name -> rows of each table, with the defaults of its page, and name -> why a table has no rows."""
    makers: Mapping[str, Callable[[], Rows]] = {
        "judges": lambda: judge_ranking.table(judge_ranking.of_data(load_data(engine, study), Selection())),
        "comparisons": lambda: _comparisons(engine, study),
        "causes": lambda: judge_errors.table(judge_errors.of_study(engine, study, Selection())),
        "systems": lambda: systems.table(systems.report(engine, study)),
        "biases": lambda: judge_biases.table(judge_biases.of_study(engine, study)),
    }
    tables: dict[str, Rows] = {}
    missing: dict[str, str] = {}
    for name, make in makers.items():
        try:
            rows = make()
        except TiebreakError as error:
            missing[name] = str(error)
            continue
        if rows:
            tables[name] = rows
        else:
            missing[name] = "There is nothing to compare."
    return tables, missing


def _comparisons(engine: Engine, study: Study) -> Rows:
    found, _ = judge_ranking.comparisons_of_study(engine, study, Selection())
    return [asdict(comparison) for comparison in found]
