"""Where each judge differs from people more often: by scenario, length, order, human split and contention."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.tables import Column, in_file, records
from core.formats.validation_errors import join_names
from core.statistics.data.arrays import Bools, Floats, Ints
from core.statistics.data.dataset import Dataset, Strings
from core.statistics.measures.means import selected_groups
from core.statistics.reports.judge_findings import Slice, SliceRow, correct_slices, slice_rows
from core.statistics.reports.judges import comparable_judges
from core.wording import report_criterion, scenario_name, scenario_of_name
from storage.db import connections
from storage.db.tables import OpinionRow, TargetRow, TraceRow
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.disagreements import Drilldown, list_places
from storage.reports.judge_ranking import RankingQuery, Selection, find_dataset
from storage.studies import items
from storage.studies.studies import Study

# Slice -> the targets in it, and those on which its feature is known; masks of the judge's compared targets.
Slices = Mapping[Slice, tuple[Bools, Bools]]


NOT_UNANIMOUS = "not unanimous"
# Numbers of a response -> the slice of the targets on which the majority prefers the other one.
SIDES = {"longer": "prefer the shorter response", "shown_first": "prefer the response shown last"}
ABOVE = "above "
# Feature -> the numbers of the compared targets that it divides.
NUMBERS = {"length gap": "length_gap", "contention": "contention"}


@dataclass(frozen=True)
class Contentions:
    """The contention of verdicts."""

    by_trace: Mapping[float, float]
    """Of every trace that has one, by the trace's id."""
    by_criterion: Mapping[str, Mapping[float, float]]
    """Criterion -> the contention on it, by the trace's id: of traces on several criteria."""

    def of_traces(self, traces: Floats, criterion: str) -> Floats:
        """Return the contention of the verdict of each trace on a criterion; nan if unknown."""
        own = self.by_criterion.get(criterion, {})
        return np.array([own.get(trace, self.by_trace.get(trace, np.nan)) for trace in traces.tolist()], np.float64)


def contentions(session: Session, study_id: int) -> Contentions:
    """Return the contention of the verdicts of a study."""
    of_traces = select(col(TraceRow.id), col(TraceRow.contention)).where(
        col(TraceRow.study_id) == study_id, col(TraceRow.contention).is_not(None)
    )
    of_criteria = (
        select(col(TargetRow.criterion), col(OpinionRow.trace_id), col(OpinionRow.contention))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == "verdict")
        .where(col(OpinionRow.contention).is_not(None))
    )
    by_criterion: dict[str, dict[float, float]] = defaultdict(dict)
    for criterion, trace, value in session.execute(of_criteria):
        by_criterion[report_criterion(criterion)][trace] = value or 0.0
    return Contentions({trace: value or 0.0 for trace, value in session.execute(of_traces)}, by_criterion)


def report(
    data: AlignmentData,
    query: RankingQuery,
    measured: Contentions,
    slices: "Callable[[Compared], Slices] | None" = None,
) -> list[SliceRow]:
    """Compare the slices, or others, of every judge of a query; p-values are corrected over all of them together."""
    dataset = find_dataset(data, query)
    if dataset is None:
        return []
    rows: list[SliceRow] = []
    for judge in comparable_judges(dataset):
        compared = compare_with_people(dataset, judge, measured)
        rows += slice_rows(judge, compared.differs, (slices or slices_of)(compared), compared.groups)
    population = judge_ranking.population_of_labels(data, query, weighted=False)
    return [replace(row, population=population) for row in correct_slices(rows)]


@dataclass(frozen=True)
class Compared:
    """A judge's n targets with a verdict and a majority of people."""

    places: Ints
    """(n,): their places in the dataset."""
    differs: Bools
    scenario: Strings
    majority: Floats
    """(n,): the majority's preference; nan for other kinds."""
    several: Bools
    """Whether there are two labels or more; the only label of a target is its majority."""
    unanimous: Bools
    numbers: Mapping[str, Floats]
    """By feature: shown_first and longer (response 1 or 2), length_gap and contention; nan if unknown."""
    groups: list[str] | None


def compare_with_people(dataset: Dataset, judge: str, measured: Contentions | None = None) -> Compared:
    """Return a judge's verdicts with the majority of people, from a dataset with categories."""
    rows, opinions = dataset.label_rows, dataset.judges[judge]
    used = opinions.asked & ~np.isnan(opinions.values) & (rows.majority >= 0)
    majority, counts = rows.majority[used].astype(float), rows.counts[used]
    is_preference = dataset.kind == "preference"
    numbers = {
        name: opinions.sides[name][used] for name in ("shown_first", "longer", "length_gap") if name in opinions.sides
    }
    if measured is not None and "trace" in opinions.sides:
        numbers["contention"] = measured.of_traces(opinions.sides["trace"][used], dataset.criterion)
    return Compared(
        np.flatnonzero(used),
        opinions.values[used] != majority,
        dataset.scenario[used],
        dataset.to_numbers(majority) if is_preference else np.full(majority.size, np.nan),
        counts.sum(axis=1) > 1,
        counts.max(axis=1, initial=0) == counts.sum(axis=1),
        numbers,
        selected_groups(dataset.ratings.groups, used),
    )


def slices_of(compared: Compared) -> Slices:
    """Return the slices by scenario, people's labels, length and contention."""
    known = np.ones(compared.differs.size, bool)
    found: dict[Slice, tuple[Bools, Bools]] = {}
    for scenario in _tested_scenarios(compared):
        found["scenario", scenario_name(scenario)] = compared.scenario == scenario, known
    found["people", NOT_UNANIMOUS] = ~compared.unanimous, compared.several
    decided = np.isin(compared.majority, (1, 2))
    for name, value in SIDES.items():
        side = compared.numbers.get(name, np.full(known.size, np.nan))
        found["people", value] = compared.majority != side, decided & np.isin(side, (1, 2))
    for feature, column in NUMBERS.items():
        values = compared.numbers.get(column, np.full(known.size, np.nan))
        present = ~np.isnan(values)
        if present.any():
            middle = float(f"{np.median(values[present]):.3g}")
            found[feature, f"{ABOVE}{middle:g}"] = values > middle, present
    return found


def targets_of(compared: Compared, conditions: Sequence[Slice]) -> tuple[Bools, Bools]:
    """Return the targets that meet all conditions, and those on which all of their features are known.

    A threshold of a number can be any: ("length gap", "above 2"). No target meets an unknown condition.
    """
    slices = slices_of(compared)
    inside, known = np.ones((2, compared.differs.size), bool)
    for feature, value in conditions:
        if feature in NUMBERS and value.startswith(ABOVE) and (limit := _number(value.removeprefix(ABOVE))) is not None:
            numbers = compared.numbers.get(NUMBERS[feature], np.full(compared.differs.size, np.nan))
            one = numbers > limit, ~np.isnan(numbers)
        elif feature == "scenario":
            one = compared.scenario == scenario_of_name(value), known
        else:
            one = slices.get((feature, value), (np.zeros(compared.differs.size, bool),) * 2)
        inside, known = inside & one[0], known & one[1]
    return inside & known, known


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _tested_scenarios(compared: Compared) -> list[str]:
    """Return the scenarios; of two only the one with more disagreement, because their tests are the same."""
    scenarios = np.unique(compared.scenario.astype(str)).tolist()
    names = [name for name in scenarios if name]
    if len(scenarios) != 2 or not names:
        return names
    return [max(names, key=lambda name: float(compared.differs[compared.scenario == name].mean()))]


def differing_targets(
    data: AlignmentData,
    query: RankingQuery,
    measured: Contentions,
    judge: str,
    chosen: Slice,
    viewer: str | None = None,
) -> Drilldown:
    """Return the first targets of a slice on which a judge differs from people; none for an unknown slice or judge.

    Targets that the viewer, if any, has not labelled are counted and not returned.
    """

    def inside(compared: Compared) -> Bools:
        members, known = slices_of(compared).get(chosen, (np.zeros(compared.differs.size, bool),) * 2)
        return members & known

    return list_differing(data, query, judge, inside, measured, viewer)


def list_differing(
    data: AlignmentData,
    query: RankingQuery,
    judge: str,
    inside: "Callable[[Compared], Bools]",
    measured: Contentions | None,
    viewer: str | None,
) -> Drilldown:
    """Return the first of the compared targets that are inside (n,) and on which a judge differs from people."""
    dataset = find_dataset(data, query)
    if dataset is None or judge not in dataset.judges:
        return Drilldown((), 0)
    compared = compare_with_people(dataset, judge, measured)
    return list_places(dataset, compared.places[inside(compared) & compared.differs], [judge], viewer)


def of_study(engine: Engine, study: Study, selection: Selection) -> list[SliceRow]:
    """Compare the slices of a study's judges with the annotators' majority; empty if there is nothing to compare."""
    return report(*load_selected(engine, study, selection))


def load_selected(
    engine: Engine, study: Study, selection: Selection
) -> tuple[AlignmentData, RankingQuery, Contentions]:
    """Return the labels and verdicts, the query of the first kind and criterion selected, and the contentions.

    Raises TiebreakError if no verdict is right or wrong.
    """
    data = load_data(engine, study, "majority")
    query = judge_ranking.selected_query(data, selection)
    with connections.reading(engine) as session:
        return data, query, contentions(session, study.id)


# The columns of `table`, and those of a page for one judge.
COLUMNS = (
    in_file("judge"),
    Column("Targets", lambda row: ": ".join(row.slice)),
    Column("", lambda row: row.slice[0], key="feature"),
    Column("", lambda row: row.slice[1], key="value"),
    Column("Found", "found", "yes"),
    Column(
        "Differs", lambda row: f"{row.differing:,} of {row.targets:,}", "figure",
        help="Targets of the slice on which the judge differs from the majority of people, of those with a verdict.",
    ),
    in_file("differing targets"),
    Column(
        "Elsewhere", lambda row: f"{row.differing_outside:,} of {row.targets_outside:,}", "figure",
        help="The same outside of the slice, where its feature is known.",
    ),
    in_file("differing_outside targets_outside"),
    Column(
        "Excess", "excess low high", "estimate", "excess low high",
        "The difference of the two shares, with its 95 % interval.",
    ),
    in_file("p"),
    Column("p", "p_corrected", "p", "p_corrected", "Corrected over all slices of all judges."),
    in_file("found"),
    Column("Of", "population", key="population"),
)  # fmt: skip


def table(rows: Sequence[SliceRow]) -> list[dict[str, object]]:
    """Return one row for each slice of each judge."""
    return records(rows, COLUMNS)


# Two slices of the targets compared: on which of them does a judge differ from people more often?

# A slice: the targets that meet all of these conditions.
Conditions = Sequence[Slice]


def parse_condition(text: str, saved: Mapping[str, Conditions], scenarios: Collection[str]) -> Conditions:
    """Return the conditions of a saved slice, or of a condition such as `scenario: math`; raises TiebreakError.

    `scenarios` are those of the study.
    """
    if text in saved:
        return saved[text]
    feature, colon, value = text.partition(":")
    if not colon:
        raise TiebreakError(f"There is no slice {text!r}; a condition is written as FEATURE: VALUE.")
    condition = feature.strip(), value.strip()
    people = (NOT_UNANIMOUS, *SIDES.values())
    if condition[0] not in ("scenario", "people", *NUMBERS) or (
        condition[0] == "people" and condition[1] not in people
    ):
        raise TiebreakError(
            f"{text!r} is no condition: scenario: NAME, people: {', '.join(people[:-1])} or {people[-1]}, "
            f"{' or '.join(NUMBERS)}: {ABOVE}NUMBER."
        )
    if condition[0] == "scenario" and scenario_of_name(condition[1]) not in ("", *scenarios):
        raise TiebreakError(f"There is no scenario {condition[1]!r}; there are {join_names(sorted(scenarios))}.")
    return (condition,)


def compare_slices(
    data: AlignmentData,
    query: RankingQuery,
    measured: Contentions,
    names: tuple[str, str],
    slices: tuple[Conditions, Conditions],
) -> list[SliceRow]:
    """Compare two slices for each judge of a query; targets of both are in neither.

    The rows have the two names as their slice; p-values are corrected over the judges. Judges without five targets in
    each have no row.
    """

    def both(compared: Compared) -> Slices:
        (first, first_known), (second, second_known) = (targets_of(compared, one) for one in slices)
        return {names: (first & ~second, first_known & second_known & (first ^ second))}

    return report(data, query, measured, both)


def of_two_slices(engine: Engine, study: Study, selection: Selection, first: str, second: str) -> list[SliceRow]:
    """Compare two slices of a study, each a saved name or a condition; raises TiebreakError."""
    with connections.reading(engine) as session:
        scenarios = items.scenarios(session, study.id)
    slices = (
        parse_condition(first, study.rules.slices, scenarios),
        parse_condition(second, study.rules.slices, scenarios),
    )
    return compare_slices(*load_selected(engine, study, selection), (first, second), slices)


COMPARISON_COLUMNS = (
    Column("Judge", "judge", key="judge"),
    Column("", lambda row: row.slice[0], key="first"),
    Column("", lambda row: row.slice[1], key="second"),
    Column("Differs in the first", lambda row: f"{row.differing:,} of {row.targets:,}", "figure"),
    in_file("differing targets", "differing_first targets_first"),
    Column("In the second", lambda row: f"{row.differing_outside:,} of {row.targets_outside:,}", "figure"),
    in_file("differing_outside targets_outside", "differing_second targets_second"),
    Column("Difference", "excess low high", "estimate", "difference low high"),
    in_file("p"),
    Column("p", "p_corrected", "p", "p_corrected"),
    Column("Of", "population", key="population"),
)


def comparison_table(rows: Sequence[SliceRow]) -> list[dict[str, object]]:
    """Return one row for each judge."""
    return records(rows, COMPARISON_COLUMNS)
