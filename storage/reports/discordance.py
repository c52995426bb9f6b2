"""Where each judge differs from people more often: by scenario, length, order, human split and contention."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median

import numpy as np
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.statistics.data.arrays import Bools
from core.statistics.reports.discordance import Slice, SliceRow, correct_rows, slice_rows
from core.statistics.reports.recommendations import comparable_judges
from storage import database
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.disagreements import JudgeQuery, Pair, pairs
from storage.reports.judge_errors import groups_of
from storage.reports.judge_ranking import RankingQuery, Selection, find_dataset
from storage.studies import Study
from storage.tables import RunRow, TraceRow

Contentions = Mapping[int, float]
"""Trace -> its contention, if it has one."""


def contentions(session: Session, study_id: int) -> dict[int, float]:
    """Return the contention of every trace of a study that has one."""
    query = (
        select(col(TraceRow.id), col(TraceRow.contention))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(TraceRow.contention).is_not(None))
    )
    return {trace: contention for trace, contention in session.execute(query) if contention is not None}


def report(data: AlignmentData, query: RankingQuery, by_trace: Contentions) -> list[SliceRow]:
    """Compare the slices of every judge of a query; p-values are corrected over all of them together."""
    dataset = find_dataset(data, query)
    rows: list[SliceRow] = []
    for judge in () if dataset is None else query.judges or comparable_judges(dataset):
        compared = compared_pairs(data, query, judge)
        differs = np.array([pair.differs for pair in compared], bool)
        rows += slice_rows(judge, differs, slices_of(compared, by_trace), groups_of(data, compared))
    return correct_rows(rows)


def compared_pairs(data: AlignmentData, query: RankingQuery, judge: str) -> list[Pair]:
    """Return the judge's targets with a verdict and a majority of people."""
    every = pairs(data, JudgeQuery(judge, query.kind, query.criterion, query.scenario))
    return [pair for pair in every if pair.judge is not None and pair.majority is not None]


def slices_of(compared: Sequence[Pair], by_trace: Contentions) -> dict[Slice, tuple[Bools, Bools]]:
    """Return the targets in each slice, and those on which its feature is known."""
    known = np.ones(len(compared), bool)
    found: dict[Slice, tuple[Bools, Bools]] = {}
    for scenario in _tested_scenarios(compared):
        found["scenario", scenario] = _mask([pair.scenario == scenario for pair in compared]), known
    several = _mask([len(pair.labels) > 1 for pair in compared])
    found["people", "not unanimous"] = (
        _mask([len({*map(repr, pair.labels.values())}) > 1 for pair in compared]),
        several,
    )
    for name, value in (("longer", "prefer the shorter response"), ("shown_first", "prefer the response shown last")):
        sides = [pair.sides.get(name) if pair.majority in (1, 2) else None for pair in compared]  # type: ignore[call-overload]
        against = [pair.majority != side for pair, side in zip(compared, sides, strict=True)]
        found["people", value] = _mask(against), _mask([side is not None for side in sides])
    for feature, values in (
        ("length gap", [pair.length_gap for pair in compared]),
        ("contention", [by_trace.get(pair.trace) for pair in compared]),
    ):
        present = [value for value in values if value is not None]
        if present:
            middle = median(present)
            above = _mask([value is not None and value > middle for value in values])
            found[feature, f"above {middle:.2g}"] = above, _mask([value is not None for value in values])
    return found


def _tested_scenarios(compared: Sequence[Pair]) -> list[str]:
    """Return the scenarios; of two only the one with more disagreement, because their tests are the same."""
    by_scenario: dict[str, list[bool]] = defaultdict(list)
    for pair in compared:
        by_scenario[pair.scenario].append(pair.differs)
    names = sorted(name for name in by_scenario if name)
    return [max(names, key=lambda name: fmean(by_scenario[name]))] if len(by_scenario) == 2 and names else names


def _mask(values: Sequence[bool]) -> Bools:
    return np.array(values, bool)


def differing_pairs(
    data: AlignmentData, query: RankingQuery, by_trace: Contentions, judge: str, chosen: Slice
) -> list[Pair]:
    """Return the targets of a slice on which a judge differs from people; none for an unknown slice."""
    compared = compared_pairs(data, query, judge)
    found = slices_of(compared, by_trace).get(chosen)
    if found is None:
        return []
    inside, known = found
    return [pair for pair, within in zip(compared, (inside & known).tolist(), strict=True) if within and pair.differs]


def of_study(engine: Engine, study: Study, selection: Selection) -> list[SliceRow]:
    """Compare the slices of a study's judges with the annotators' majority; empty if there is nothing to compare."""
    data = load_data(engine, study, "majority")
    keys = [
        key
        for key in judge_ranking.rankable(data)
        if selection.kind in (None, key[0]) and selection.criterion in (None, key[1])
    ]
    if not keys:
        return []
    with database.reading(engine) as session:
        by_trace = contentions(session, study.id)
    return report(data, RankingQuery(*keys[0], scenario=selection.scenario), by_trace)


def table(rows: Sequence[SliceRow]) -> list[dict[str, object]]:
    """Return one row for each slice of each judge."""
    return [
        {
            "judge": row.judge,
            "feature": row.slice[0],
            "value": row.slice[1],
            "differing": row.differing,
            "targets": row.targets,
            "differing_outside": row.differing_outside,
            "targets_outside": row.targets_outside,
            "excess": row.excess,
            "low": row.low,
            "high": row.high,
            "p": row.p,
            "p_corrected": row.p_corrected,
            "found": row.found,
        }
        for row in rows
    ]
