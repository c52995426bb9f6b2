"""The position, length and self-preference biases of all judges of a study, corrected for their number.

The position bias of people is beside them.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import Engine, Text, cast, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.tables import Column, in_file, records
from core.protocols.prompt_parts import CRITERION_FORMATS
from core.statistics.data.arrays import Floats
from core.statistics.data.frames import ALL
from core.statistics.reports.judge_findings import BiasRow, FormatRow, bias_rows, format_rows, people_row, summarize
from core.wording import report_criterion
from storage.db import connections
from storage.db.tables import ItemRow, LabelRow, TargetRow
from storage.reports import _order_consistency, alignment, judge_ranking
from storage.reports import opinions as remembered
from storage.reports._order_consistency import OrderPair
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.judge_ranking import RankingQuery, Selection, find_dataset
from storage.runs import runs
from storage.studies import items
from storage.studies.studies import Study


@dataclass(frozen=True)
class PersonChoice:
    """A current label of a pair of responses, with the number of the response that its annotator saw first."""

    criterion: str
    scenario: str
    group: str
    """The item, or the dialogue that it is part of."""
    value: int
    first: int


def choices(data: AlignmentData) -> list[str]:
    """Return the criteria with preferences that have a reference, the largest first."""
    return [criterion for kind, criterion in judge_ranking.rankable(data) if kind == "preference"]


def compute(engine: Engine, study: Study, data: AlignmentData, query: RankingQuery) -> list[BiasRow]:
    """Return the biases of every judge of a study's data; the choices in both orders are read once for all queries."""
    with connections.reading(engine) as session:
        both_orders = remembered.once(
            data.opinions, "both orders", lambda: list(_order_consistency.pairs(session, study.id, data.opinions))
        )
        people = choices_of_people(session, study.id)
    return report(data, query, both_orders, people)


def report(
    data: AlignmentData, query: RankingQuery, both_orders: Sequence[OrderPair], people: Sequence[PersonChoice]
) -> list[BiasRow]:
    """Return the biases of every judge of preferences on a criterion or "all", in a scenario or all.

    That of people is the last row, if there are labels with a known order.
    `both_orders` are the choices in both orders: see `order_consistency.pairs`. `people`: see `choices_of_people`.
    """
    dataset = find_dataset(data, replace(query, kind="preference"))
    if dataset is None:
        return []
    choices = _choices_in_both_orders(both_orders, query)
    rows = bias_rows(dataset, {judge: of_judge for judge, of_judge in choices.items() if judge in dataset.judges})
    own = [
        choice
        for choice in people
        if query.criterion in (ALL, choice.criterion) and query.scenario in (None, choice.scenario)
    ]
    values, first = (np.array([getattr(choice, name) for choice in own], float) for name in ("value", "first"))
    of_people = people_row(values, first, [choice.group for choice in own])
    weighted, unweighted = (judge_ranking.population_of_labels(data, query, weighted=one) for one in (True, False))
    rows = [row if row.bias == "position" else replace(row, population=weighted) for row in rows]
    return rows if of_people is None else [*rows, replace(of_people, population=unweighted)]


def choices_of_people(session: Session, study_id: int) -> list[PersonChoice]:
    """Return the current labels of pairs of responses for which it is known which one the annotator saw first."""
    newest = select(func.max(col(LabelRow.id))).where(col(LabelRow.study_id) == study_id)
    query = (
        select(
            col(TargetRow.criterion), func.coalesce(col(ItemRow.scenario), ""),
            func.coalesce(col(ItemRow.cluster), col(ItemRow.key)), cast(col(LabelRow.value), Text),
            cast(col(LabelRow.shown), Text),
        )
        .select_from(LabelRow)
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(LabelRow.id).in_(newest.group_by(col(LabelRow.target_id), col(LabelRow.annotator_id))))
        .where(col(TargetRow.kind) == "preference", col(LabelRow.value).is_not(None), col(LabelRow.shown).is_not(None))
        .order_by(col(LabelRow.id))
    )  # fmt: skip
    parsed = cache(json.loads)  # there are few different texts
    return [
        PersonChoice(report_criterion(criterion), scenario, group, parsed(value), parsed(shown)[0])
        for criterion, scenario, group, value, shown in session.execute(query)
    ]


def _choices_in_both_orders(both_orders: Sequence[OrderPair], query: RankingQuery) -> Mapping[str, Floats]:
    """Return judge -> its choices (N, 2) with text 1 shown first, and with text 2; nan for unreadable."""
    by_judge: dict[str, list[tuple[int | None, ...]]] = defaultdict(list)
    for pair in both_orders:
        if query.criterion in (ALL, pair.criterion) and query.scenario in (None, pair.scenario):
            by_judge[pair.judge].append(pair.choices)
    return {judge: np.array(pairs, float) for judge, pairs in by_judge.items()}


def of_study(engine: Engine, study: Study, selection: Selection, *, reference: str | None = None) -> list[BiasRow]:
    """Return the biases of a study's judges; raises TiebreakError if it has no preferences to compare with."""
    return compute(engine, study, *_selected(engine, study, selection, reference))


def _selected(
    engine: Engine, study: Study, selection: Selection, reference: str | None
) -> tuple[AlignmentData, RankingQuery]:
    """Return the data of a study, and the query of the preferences selected, by default on the largest criterion.

    Raises TiebreakError for a criterion or scenario that there is not, and without preferences to compare with.
    """
    data = load_data(engine, study, reference)
    query = judge_ranking.selected_query(data, replace(selection, kind="preference")) if choices(data) else None
    if query is None or find_dataset(data, query) is None:
        raise TiebreakError("No bias can be measured: no pair has both a preference of people and one of a judge.")
    return data, query


def sentence(engine: Engine, study: Study, rows: Sequence[BiasRow]) -> str:
    """Return the biases of a study in one line, with the systems that have no known model family."""
    with connections.reading(engine) as session:
        systems = [outline.systems for outline in items.outlines(session, study.id).values()]
    return summarize(rows, alignment.unknown_systems(systems, study.rules.families))


# The columns of `table`, and those of the page.
COLUMNS = (
    Column("Judge", "judge", key="judge"),
    Column("Bias", "bias", key="bias"),
    Column("Effect", "effect.value effect.low effect.high", "difference", "effect low high"),
    Column(
        "n", "effect.items", "count", "n",
        help="Verdicts for one of the two responses, on pairs for which the side is known; a tie or a missing verdict "
        "is no choice. For length and family also with two labels or more, with or without a majority: the effect is "
        "computed from the labels. If too few pairs have two labels, or the reference is not their majority: with a "
        "reference that is one of the two responses.",
    ),
    Column("Judge chose", "effect.judge_share", "share", "judge_share", "Of the pairs on which the judge decided."),
    Column(
        "People chose", "effect.people_share", "share", "people_share",
        "On the same pairs; empty if people are not needed. Of people: their labels.",
    ),
    Column(
        "Changed", lambda row: "" if row.flips is None else f"{row.flips:,} of {row.effect.items:,}", "figure",
        help="Pairs with another verdict in the other order.",
    ),
    in_file("flips effect.p"),
    Column("p", "p_corrected", "p", "p_corrected", "Holm-corrected over all rows of judges."),
    Column("Found", lambda row: row.found if row.p_corrected is not None else None, "yes"),
    in_file("found"),
    Column("Note", "effect.reason", key="note"),
    Column("Of", "population", key="population"),
)  # fmt: skip


def table(rows: Sequence[BiasRow]) -> list[dict[str, object]]:
    """Return one row for each bias of each judge."""
    return records(rows, COLUMNS)


# The effect of the criterion's format on each judge: runs that differ in their setting `format` only.

# The format that the others are compared with; without a run that has it, the first format of the others.
BASE = CRITERION_FORMATS[0]
# Run -> what its settings have in common with other runs, and its format.
RunFormats = Mapping[int, tuple[str, str]]


def formats_of_runs(session: Session, study_id: int) -> RunFormats:
    """Return the runs whose settings equal those of a run with another format of the criterion."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for run in runs.of_study(session, study_id):
        settings = run.settings if isinstance(run.settings, dict) else {}
        common = {name: value for name, value in settings.items() if name != "format"}
        key = json.dumps([run.protocol, run.criterion, common], sort_keys=True, default=str)
        found[key][run.id] = str(settings.get("format", BASE))
    return {
        run: (key, format)
        for key, formats in found.items()
        if len(set(formats.values())) > 1
        for run, format in formats.items()
    }


# The columns of a page.
FORMAT_COLUMNS = (
    Column("Judge", "judge"),
    Column("Format", lambda row: f"{row.format}, compared with {row.base}"),
    Column("Effect", "effect low high", "estimate"),
    Column("p", "p_corrected", "p"),
    Column("Accuracy", "accuracy", "estimate"),
    Column("Base", "base_accuracy", "estimate"),
    Column("n", "targets", "count"),
    Column("Other verdict", "changed changed_low changed_high", "estimate"),
    Column(
        "No verdict", lambda row: f"{row.no_verdict:,} of {row.judged:,}, base {row.base_no_verdict:,}", "figure"
    ),
    Column("Note", "reason"),
)  # fmt: skip


def compute_formats(engine: Engine, study: Study, data: AlignmentData, query: RankingQuery) -> list[FormatRow]:
    """Compare the formats of every judge of a query; empty if no runs differ in their format only."""
    with connections.reading(engine) as session:
        run_formats = formats_of_runs(session, study.id)
    dataset = find_dataset(data, query)
    if dataset is None or not run_formats:
        return []
    pairs = _format_pairs(data, run_formats)
    return format_rows(dataset, {key: names for key, names in pairs.items() if {*names} <= dataset.judges.keys()})


def formats_of_study(
    engine: Engine, study: Study, selection: Selection, *, reference: str | None = None
) -> list[FormatRow]:
    """Compare the formats of a study's judges; raises TiebreakError if no runs differ in their format only."""
    rows = compute_formats(engine, study, *_selected(engine, study, selection, reference))
    if not rows:
        raise TiebreakError(
            "No two runs differ in the format of the criterion only, with verdicts on the same targets."
        )
    return rows


def format_table(rows: Sequence[FormatRow]) -> list[dict[str, object]]:
    """Return one row for each judge and format."""
    return [asdict(row) | {"found": row.found} for row in rows]


def _format_pairs(data: AlignmentData, run_formats: RunFormats) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the pairs of `format_rows`: every judge with its base format and each other one, of repeats the first."""
    opinions = data.opinions[data.opinions["run"].isin(list(run_formats)) & (data.opinions["stage"] != "first")]
    names: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    columns: Any = opinions[["rater", "run", "judge"]].drop_duplicates().sort_values("run")
    for rater, run, judge in columns.itertuples(index=False):
        key, format = run_formats[run]
        names[rater, key].setdefault(format, judge)
    pairs: dict[tuple[str, str, str], tuple[str, str]] = {}
    for (rater, _), by_format in names.items():
        order: list[str] = [name for name in CRITERION_FORMATS if name in by_format]
        order += [name for name in by_format if name not in CRITERION_FORMATS]
        base, *others = order
        pairs |= {(rater, base, other): (by_format[base], by_format[other]) for other in others}
    return pairs
