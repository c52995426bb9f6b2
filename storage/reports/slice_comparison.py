"""Two slices of the targets compared: on which of them does a judge differ from people more often?"""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.validation_errors import join_names
from core.statistics.reports.discordance import Slice, SliceRow, correct_rows, slice_rows
from core.statistics.reports.judges import comparable_judges
from core.wording import scenario_of_name
from storage.db import connections
from storage.reports.alignment import AlignmentData
from storage.reports.discordance import (
    ABOVE,
    NOT_UNANIMOUS,
    NUMBERS,
    SIDES,
    Contentions,
    compare_with_people,
    load_selected,
    majorities_of,
    targets_of,
)
from storage.reports.judge_ranking import RankingQuery, Selection, find_dataset
from storage.studies import items
from storage.studies.studies import Study

Conditions = Sequence[Slice]
"""A slice: the targets that meet all of these conditions."""


def parse(text: str, saved: Mapping[str, Conditions], scenarios: Collection[str]) -> Conditions:
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


def compare(
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
    dataset = find_dataset(data, query)
    if dataset is None:
        return []
    rows: list[SliceRow] = []
    people = majorities_of(dataset)
    for judge in comparable_judges(dataset):
        compared = compare_with_people(dataset, judge, measured, people)
        (first, first_known), (second, second_known) = (targets_of(compared, one) for one in slices)
        masks = {names: (first & ~second, first_known & second_known & (first ^ second))}
        rows += slice_rows(judge, compared.differs, masks, compared.groups)
    return correct_rows(rows)


def of_study(engine: Engine, study: Study, selection: Selection, first: str, second: str) -> list[SliceRow]:
    """Compare two slices of a study, each a saved name or a condition; raises TiebreakError."""
    with connections.reading(engine) as session:
        scenarios = items.scenarios(session, study.id)
    slices = parse(first, study.rules.slices, scenarios), parse(second, study.rules.slices, scenarios)
    return compare(*load_selected(engine, study, selection), (first, second), slices)


def table(rows: Sequence[SliceRow]) -> list[dict[str, object]]:
    """Return one row for each judge."""
    return [
        {
            "judge": row.judge,
            "first": row.slice[0],
            "second": row.slice[1],
            "differing_first": row.differing,
            "targets_first": row.targets,
            "differing_second": row.differing_outside,
            "targets_second": row.targets_outside,
            "difference": row.excess,
            "low": row.low,
            "high": row.high,
            "p": row.p,
            "p_corrected": row.p_corrected,
        }
        for row in rows
    ]
