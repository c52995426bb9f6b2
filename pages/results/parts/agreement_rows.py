"""Agreement for display: the statistics that suit a scale, their names, and table rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.labels import Scale
from core.statistics import catalogue
from core.statistics.catalogue import Role
from core.statistics.reports.agreement import AgreementRow
from core.wording import ALL_CRITERIA, NO_CRITERION, scenario_name
from pages.parts import downloads, numbers
from storage.reports.agreement import PanelReport
from storage.reports.agreement_items import ItemQuery

TARGETS_HELP = "The targets that the statistics are of; an item has one for each criterion and part."
COLUMNS: Mapping[str, Any] = {
    entry.short: st.column_config.TextColumn(alignment="right", help=entry.help)
    for entry in catalogue.ENTRIES
    if entry.table or entry.role is Role.weights
} | {"Targets": st.column_config.NumberColumn(help=TARGETS_HELP)}

NAMES = ("Opinions", "Criterion", "Scenario")
"""Columns of text."""


@dataclass(frozen=True)
class StatisticChoice:
    """The statistics that suit a scale: for all raters, for pairs of raters, and in the table."""

    many_raters: str
    two_raters: str
    table_statistics: tuple[str, ...]


ALL = "all"


def statistics_for(scale: Scale | None) -> StatisticChoice:
    """Return the statistics for a scale; None is for weights, which have no scale."""
    if scale is None:
        weights = catalogue.of_role(Role.weights)
        return StatisticChoice(weights[0], weights[0], weights)
    many, two = (catalogue.headlines_of(scale.level, role)[0] for role in (Role.raters, Role.pairs))
    return StatisticChoice(many, two, catalogue.table_of(scale.level))


def criterion_name(criterion: str) -> str:
    """Return the display name of a criterion as reports name it, see `core.wording.report_criterion`."""
    return {ALL: ALL_CRITERIA, "": NO_CRITERION}.get(criterion, criterion)


def select_rows(
    rows: Iterable[AgreementRow], kind: str, statistic: str, criterion: str | None = None
) -> list[AgreementRow]:
    """Return the rows of a kind and statistic, of one criterion or of all."""
    return [
        row for row in rows if row.kind == kind and row.statistic == statistic and criterion in (None, row.criterion)
    ]


def rows_by_pair(rows: Iterable[AgreementRow]) -> dict[tuple[str, str], AgreementRow]:
    """Return the rows by their pair of raters."""
    return {(first, second): row for row in rows for first, _, second in [row.group.partition(" × ")]}


def order_pairs(pairs: Mapping[tuple[str, str], AgreementRow]) -> list[tuple[tuple[str, str], AgreementRow]]:
    """Return the pairs with a value, those that share the most targets first, then the lowest value.

    The order by value alone would begin with pairs of one to three targets, whose values are extreme by chance.
    """
    defined = [(pair, row) for pair, row in pairs.items() if row.value is not None]
    return sorted(defined, key=lambda entry: (-entry[1].items, entry[1].value or 0.0))


def sort_names(*series: Mapping[str, AgreementRow]) -> list[str]:
    """Return the names with a defined value, sorted by the value in the last series, highest first."""
    last_values = {name: row.value for rows in series for name, row in rows.items() if row.value is not None}
    return sorted(last_values, key=lambda name: -last_values[name])


def format_counts(row: AgreementRow, share: float | None, rater_noun: str = "rater", item_noun: str = "item") -> str:
    """Return `120 items · 3 annotators · 94 % of labels collected`."""
    parts = [numbers.format_count(row.items, item_noun), numbers.format_count(row.raters, rater_noun)]
    return " · ".join(parts + ([f"{share:.0%}".replace("%", " % of labels collected")] if share is not None else []))


def describe_coverage(overlap: int) -> str:
    """Return what the share of labels collected is of; `overlap` is the study's number of labels a target."""
    return (
        f"Labels collected: this study asks for {numbers.format_count(overlap, 'label')} of every target that has a "
        f"label, and of every target for which a run has no verdict. The share is of these; further labels of a target "
        "do not raise it, and other targets are left out."
    )


LineKey = tuple[str, str, str | None]
"""Stage, criterion and scenario of a row; None for all scenarios."""


def table_lines(
    stage_figures: Sequence[PanelReport], query: ItemQuery, choice: StatisticChoice, by_scenario: bool
) -> dict[LineKey, dict[str, str | int]]:
    """Return the table rows, one for each stage, criterion and scenario."""
    lines: dict[LineKey, dict[str, str | int]] = {}
    for figures in stage_figures:
        rows = [(None, row) for row in figures.overall] + [(row.group, row) for row in figures.scenarios if by_scenario]
        for scenario, row in rows:
            is_included = not by_scenario or query.criterion in ("all", row.criterion)
            if row.kind == query.kind and row.statistic in choice.table_statistics and is_included:
                line = lines.setdefault((figures.stage, row.criterion, scenario), _line(figures, row, scenario, choice))
                line[catalogue.BY_ID[row.statistic].short] = numbers.format_estimate(row.value, row.low, row.high)
    return lines


def _line(
    figures: PanelReport, row: AgreementRow, scenario: str | None, choice: StatisticChoice
) -> dict[str, str | int]:
    """Return a row with its names and counts, and empty cells for its statistics."""
    stage: dict[str, str | int] = {"Opinions": figures.stage} if figures.stage else {}
    names = {
        "Criterion": criterion_name(row.criterion),
        "Scenario": ALL if scenario is None else scenario_name(scenario),
    }
    return (
        stage
        | names
        | {catalogue.BY_ID[name].short: "" for name in choice.table_statistics}
        | {"Targets": row.items, "Raters": row.raters}
    )


def without_single_criterion(
    lines: Sequence[Mapping[str, str | int]], *, by_scenario: bool
) -> list[dict[str, str | int]]:
    """Return the table rows without the criterion if scenarios name the rows and all are of the same one."""
    is_single = by_scenario and len({line["Criterion"] for line in lines}) == 1
    return [{name: cell for name, cell in line.items() if not is_single or name != "Criterion"} for line in lines]


def to_csv(rows: Iterable[AgreementRow]) -> str:
    """Return all rows as CSV, as the command line writes them."""
    return downloads.dataclass_csv(AgreementRow, rows)
