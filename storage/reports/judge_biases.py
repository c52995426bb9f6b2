"""The position, length and self-preference biases of all judges of a study, corrected for their number."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.statistics.data.arrays import Floats
from core.statistics.data.frames import ALL
from core.statistics.reports.judge_biases import BiasRow, bias_rows, summarize
from storage import database, items
from storage.reports import judge_families, judge_ranking, known_names, order_consistency
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.judge_ranking import RankingQuery, find_dataset
from storage.reports.order_consistency import OrderPair
from storage.studies import Study


def choices(data: AlignmentData) -> list[str]:
    """Return the criteria with preferences that have a reference, the largest first."""
    return [criterion for kind, criterion in judge_ranking.rankable(data) if kind == "preference"]


def report(data: AlignmentData, query: RankingQuery, both_orders: Sequence[OrderPair]) -> list[BiasRow]:
    """Return the biases of every judge of preferences on a criterion or "all", in a scenario or all.

    `both_orders` are the choices in both orders: see `order_consistency.pairs`.
    """
    dataset = find_dataset(data, replace(query, kind="preference"))
    if dataset is None:
        return []
    choices = _choices_in_both_orders(both_orders, query)
    return bias_rows(dataset, {judge: of_judge for judge, of_judge in choices.items() if judge in dataset.judges})


def _choices_in_both_orders(both_orders: Sequence[OrderPair], query: RankingQuery) -> Mapping[str, Floats]:
    """Return judge -> its choices (N, 2) with text 1 shown first, and with text 2; nan for unreadable."""
    by_judge: dict[str, list[tuple[int | None, ...]]] = defaultdict(list)
    for pair in both_orders:
        if query.criterion in (ALL, pair.criterion) and query.scenario in (None, pair.scenario):
            by_judge[pair.judge].append(pair.choices)
    return {judge: np.array(pairs, float) for judge, pairs in by_judge.items()}


def of_study(
    engine: Engine,
    study: Study,
    *,
    criterion: str | None = None,
    scenario: str | None = None,
    reference: str | None = None,
) -> list[BiasRow]:
    """Return the biases of a study's judges; raises TiebreakError if it has no preferences to compare with."""
    data = load_data(engine, study, reference)
    query = selected_query(data, criterion, scenario)
    if query is None or find_dataset(data, query) is None:
        raise TiebreakError("No bias can be measured: no pair has both a preference of people and one of a judge.")
    with database.reading(engine) as session:
        both_orders = list(order_consistency.pairs(session, study.id, data.opinions))
    return report(data, query, both_orders)


def selected_query(data: AlignmentData, criterion: str | None, scenario: str | None) -> RankingQuery | None:
    """Return the query of a criterion, or of the largest, in a scenario, or in all; None without a reference.

    Raises TiebreakError for a criterion or scenario that there is not.
    """
    known_names.check_scenario_of_items(data, scenario)
    criteria = [name for name in choices(data) if criterion in (None, name)]
    if not criteria:
        known_names.check_key(data, None, criterion)
    return RankingQuery("preference", criteria[0], scenario) if criteria else None


def sentence(engine: Engine, study: Study, rows: Sequence[BiasRow]) -> str:
    """Return the biases of a study in one line, with the systems that have no known model family."""
    with database.reading(engine) as session:
        systems = [outline.systems for outline in items.outlines(session, study.id).values()]
    return summarize(rows, judge_families.unknown_systems(systems, study.rules.families))


def table(rows: Sequence[BiasRow]) -> list[dict[str, object]]:
    """Return one row for each bias of each judge."""
    return [
        {
            "judge": row.judge,
            "bias": row.bias,
            "effect": row.effect.value,
            "low": row.effect.low,
            "high": row.effect.high,
            "n": row.effect.items,
            "judge_share": row.effect.judge_share,
            "people_share": row.effect.people_share,
            "flips": row.flips,
            "p": row.effect.p,
            "p_corrected": row.p_corrected,
            "found": row.found,
            "note": row.effect.reason,
        }
        for row in rows
    ]
