"""Agreement for display: the statistics that suit a scale, their table, tags in reasons, and plans of labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote

import streamlit as st

from core.formats.tables import Column, rows_csv
from core.labels import Scale
from core.own_addresses import own_address
from core.statistics import catalogue
from core.statistics.reports.agreement import AgreementRow
from core.wording import ALL_CRITERIA, NO_CRITERION, format_n, scenario_name
from pages.parts import downloads, numbers
from pages.parts.text import natural_order
from storage.reports.agreement import ItemQuery, PanelReport, TagRow
from storage.studies.studies import Study

ALL = "all"
TARGETS_HELP = "The targets that the statistics are of; an item has one for each criterion and part."


@dataclass(frozen=True)
class StatisticChoice:
    """The statistics that suit a scale: for all raters, for pairs of raters, and in the table."""

    many_raters: str
    two_raters: str
    table_statistics: tuple[str, ...]


def statistics_for(scale: Scale | None) -> StatisticChoice:
    """Return the statistics for a scale; None is for weights, which have no scale."""
    if scale is None:
        weights = catalogue.of_role(catalogue.Role.weights)
        return StatisticChoice(weights[0], weights[0], weights)
    many, two = (catalogue.headlines_of(scale.level, role)[0] for role in (catalogue.Role.raters, catalogue.Role.pairs))
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


def rater_names(rows: Mapping[tuple[str, str], AgreementRow]) -> list[str]:
    """Return the raters of pairs in the order of their names, "annotator 2" before "annotator 10"."""
    return sorted({name for pair in rows for name in pair}, key=natural_order)


def pair_cells(
    rows: Mapping[tuple[str, str], AgreementRow],
    previous: Mapping[tuple[str, str], AgreementRow],
    names: Sequence[str],
    *,
    with_texts: bool,
) -> list[tuple[str, str, float, str, tuple[str, ...], list[str]]]:
    """Return the cells of pairs under the diagonal of a matrix: row, column, value, text, lines on hover, the pair.

    The text has the value, the `previous` one if any, and n.
    """
    cells = []
    for pair, row in rows.items():
        value, earlier = numbers.format_estimate(row.value, None, None), previous.get(pair)
        first = "" if earlier is None else f"first {numbers.format_estimate(earlier.value, None, None)}"
        text = "<br>".join(filter(None, (f"<b>{value}</b>", first, format_n(row.items)))) if with_texts else ""
        estimate = numbers.format_interval(row)
        lines = (" × ".join(pair), row.reason, estimate, format_n(row.items, row.effective), "Click to list the items")
        column, line = sorted(pair, key=names.index)
        cells.append((line, column, row.value or 0.0, text, tuple(filter(None, lines)), list(pair)))
    return cells


@dataclass(frozen=True)
class FigureLine:
    """A row of the table: the statistics of a stage, criterion and scenario."""

    stage: str
    criterion: str
    scenario: str | None
    """None for all scenarios."""
    items: int
    raters: int
    statistics: dict[str, AgreementRow] = field(default_factory=dict)


def table_lines(
    stage_figures: Sequence[PanelReport], query: ItemQuery, choice: StatisticChoice, by_scenario: bool
) -> list[FigureLine]:
    """Return the table rows, one for each stage, criterion and scenario."""
    lines: dict[tuple[str, str, str | None], FigureLine] = {}
    for figures in stage_figures:
        rows = [(None, row) for row in figures.overall] + [(row.group, row) for row in figures.scenarios if by_scenario]
        for scenario, row in rows:
            is_included = not by_scenario or query.criterion in (ALL, row.criterion)
            if row.kind == query.kind and row.statistic in choice.table_statistics and is_included:
                key = (figures.stage, row.criterion, scenario)
                lines.setdefault(key, FigureLine(*key, row.items, row.raters)).statistics[row.statistic] = row
    return list(lines.values())


def table_columns(statistics: Sequence[str], *, with_criterion: bool) -> list[Column]:
    """Return the columns of the table; the criterion is left out where scenarios name the rows and all are of one."""

    def estimate(statistic: str, line: FigureLine) -> tuple[float | None, ...]:
        row = line.statistics.get(statistic)
        return (None, None, None) if row is None else (row.value, row.low, row.high)

    return [
        Column("Opinions", "stage"),
        *([Column("Criterion", lambda line: criterion_name(line.criterion))] if with_criterion else []),
        Column("Scenario", lambda line: ALL if line.scenario is None else scenario_name(line.scenario)),
        *(
            Column(entry.short, partial(estimate, entry.id), "estimate", help=entry.help)
            for entry in (catalogue.BY_ID[name] for name in statistics)
        ),
        Column("Targets", "items", "count", help=TARGETS_HELP),
        Column("Raters", "raters", "count"),
    ]


def draw_tags(study: Study, rows: Sequence[TagRow]) -> None:
    """Draw the tags in reasons with the agreement on each; nothing without a tag."""
    if not rows:
        return
    st.subheader("Tags in reasons", anchor=False)
    st.caption(
        "A word after # in the reason of a label is a tag. Fleiss' kappa of using it or not, on targets for which two "
        "annotators gave a reason."
    )
    st.dataframe(
        [tag_line(study, row) for row in rows],
        key="tags_table",
        hide_index=True,
        column_config={"Reasons": st.column_config.LinkColumn(display_text="search ›")},
    )
    downloads.draw_csv_download(lambda: rows_csv(rows), "reason_tags.csv", key="tags_download")


def tag_line(study: Study, row: TagRow) -> dict[str, str | None]:
    """Return the table row of a tag."""
    query = f"study={quote(study.name)}&area=Reasons%20and%20notes&text=%23{quote(row.tag)}"
    return {
        "Tag": "all tags" if row.tag == ALL else f"#{row.tag}",
        "Labels": f"{row.labels:,}",
        "Targets": f"{row.targets:,}",
        "Annotators": f"{row.annotators:,}",
        "Fleiss' kappa": numbers.format_estimate(row.kappa, row.low, row.high),
        "n": f"{row.compared:,}",
        "Note": row.reason,
        "Reasons": None if row.tag == ALL else f"{own_address('/search')}?{query}",
    }
