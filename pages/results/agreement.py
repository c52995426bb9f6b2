"""Inter-annotator agreement, and agreement between judges; the page updates as labels are saved."""

import time
from collections.abc import Mapping, Sequence

import streamlit as st

from core.statistics import catalogue
from core.statistics.measures.rater_sample import MIN_RATERS
from core.statistics.notes import FEW_ITEMS
from core.statistics.reports.agreement import AgreementRow
from core.wording import scenario_name
from pages.label.parts import case_orders
from pages.parts import charts, downloads, heat_map, numbers, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.charts import ReferenceLine, Series
from pages.parts.text import escape_markdown
from pages.results.parts import agreement_rows, alignment_data, alignment_rows, item_drilldown, tag_section
from pages.results.parts.agreement_rows import StatisticChoice
from pages.results.parts.alignment_data import Version
from storage.db import connections
from storage.reports import agreement, reason_tags
from storage.reports.agreement import AgreementReport, PanelReport
from storage.reports.agreement_items import ItemQuery
from storage.reports.opinions import RaterGroup, TargetNames, undecided_targets
from storage.reports.reason_tags import TagRow
from storage.studies import studies
from storage.studies.studies import Study

GROUPS: dict[str, RaterGroup] = {"People": "people", "Judges": "judges"}
PAGE = "agreement"
STAGES = {"": "", "first": "First opinions", "last": "Last opinions"}


def shown_version(study: Study) -> Version:
    """Return the version that is drawn: the newest, or of a large study the last one whose figures are complete."""
    return alignment_data.shown_version(study, PAGE)


def load_report(url: str, study_id: int, group: RaterGroup, version: Version) -> AgreementReport:
    """Return the figures of a version of the labels; those of judges depend on the opinions and the scales alone."""
    if group == "people":
        return load_people(url, study_id, version)
    with connections.reading(resources.engine()) as session:
        scales = case_orders.scales_key(session, study_id)
    return load_judges(url, study_id, alignment_data.opinion_version(version), scales)


@st.cache_resource(max_entries=8, show_spinner=False)  # without the copy that each read of other caches makes
def load_people(url: str, study_id: int, version: Version) -> AgreementReport:
    """Return the agreement of the annotators at a version; shared by all visitors, so do not modify."""
    with connections.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    overall = alignment_data.load_agreement(url, study_id, version).rows
    undecided = load_undecided(url, study_id, alignment_data.opinion_version(version))
    return agreement.report(resources.engine(), study, "people", overall=overall, undecided=undecided)


@st.cache_resource(max_entries=8, show_spinner=False)
def load_judges(url: str, study_id: int, opinion_version: Version, scales: str) -> AgreementReport:
    """Return the agreement of the judges at a version of the opinions and the scales; shared, so do not modify."""
    with connections.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    return agreement.report(resources.engine(), study, "judges")


@st.cache_resource(max_entries=4, show_spinner=False)
def load_undecided(url: str, study_id: int, opinion_version: Version) -> set[TargetNames]:
    """Return the targets without a verdict at a version of the opinions; shared by all visitors, so do not modify."""
    with connections.reading(resources.engine()) as session:
        return undecided_targets(session, study_id)


@st.cache_data(max_entries=32, show_spinner=False)
def load_tags(url: str, study_id: int, version: Version) -> list[TagRow]:
    """Return the tags in the reasons of labels at a version."""
    with connections.reading(resources.engine()) as session:
        return reason_tags.report(session, study_id)


def load_figures(url: str, study_id: int, group: RaterGroup, version: Version) -> AgreementReport:
    """Load everything that the page draws of a group at a version, and return its report."""
    if group == "judges":
        alignment_data.load_agreement(url, study_id, version)  # the judges are compared with people
    else:
        load_tags(url, study_id, version)
    return load_report(url, study_id, group, version)


def draw_page(study: Study) -> None:
    """Draw the figures, and redraw them when a label is saved."""
    drawn_version = shown_version(study)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    item_drilldown.apply_selection()
    row = alignment_data.draw_row()
    with row:
        group = choose_group()
    start, version = time.thread_time(), shown_version(study)

    def compute(newer: Version) -> AgreementReport:
        return load_figures(str(resources.engine().url), study.id, group, newer)

    if not alignment_data.has_first_figures(study, PAGE, version, compute):
        return None
    report = compute(version)
    alignment_data.computed(study, PAGE, version, start, compute)
    with row:
        view = choose_view(report)
    if report.unmeasured:
        st.caption(agreement.describe_unmeasured(report.unmeasured))
    if view is None:
        return None if report.unmeasured else empty_state(study, group)
    kind, criterion, judges = view
    figures = [panel for panel in report.panels if panel.judges == judges]
    draw_report(study, report, figures, ItemQuery(group, kind, criterion, judges=judges))


def choose_group() -> RaterGroup:
    """Draw the choice of people or judges; like all choices here, it is in the URL."""
    selected = st.segmented_control(
        "Agreement between",
        list(GROUPS),
        default="People",
        required=True,
        key="between",
        bind="query-params",
        on_change=item_drilldown.clear_selection,
    )
    return GROUPS[selected or "People"]


def choose_view(report: AgreementReport) -> tuple[str, str, str] | None:
    """Draw the choices of kind, criterion and judges; returns None if nothing was judged."""
    rows = [row for panel in report.panels for row in panel.overall]
    if not rows:
        return None
    kind = _choose("Kind", sorted({row.kind for row in rows}), "kind")
    items = {row.criterion: row.items for row in rows if row.kind == kind}
    criteria = sorted(items, key=lambda name: (name != "all", -items[name], name))
    criterion = _choose("Criterion", criteria, "criterion")
    return kind, criterion, _choose("Judges", sorted({panel.judges for panel in report.panels}), "judges")


def _choose(label: str, options: Sequence[str], key: str) -> str:
    """Draw a choice; a single option is returned without a widget."""
    name = agreement_rows.criterion_name if key == "criterion" else str
    return alignment_data.choose(label, options, key, name, item_drilldown.clear_selection)


def empty_state(study: Study, group: str) -> None:
    """Draw the empty state if there is nothing to compare."""
    if group == "judges":
        links = (shell.RUN, shell.IMPORT)
        fact = (
            "This study has no targets with opinions of two or more judges. Runs with only one verdict are "
            "compared with people on the page Judges."
        )
        shell.draw_missing(study, fact, "Start a run of several judges, or import recorded debates.", *links)
        shell.draw_links(study, *links)
    else:
        st.info("This study has no labels yet. Agreement needs labels by at least two annotators.")
        shell.draw_links(
            study, ("label/disagreements.py", "Label disputed debates", ":material/balance:"), shell.IMPORT
        )


def draw_report(study: Study, report: AgreementReport, panels: list[PanelReport], query: ItemQuery) -> None:
    """Draw headline, charts, notes, table and the selected items."""
    kind, criterion = query.kind, query.criterion or ""
    choice = agreement_rows.statistics_for(report.scales.get((kind, criterion)))
    stage_figures = [figures for figures in panels if not figures.as_shown]
    draw_headline(study, panels, report, query, choice)
    if query.group == "people":
        draw_interval_note(study, stage_figures[-1], query, choice)
    by_scenario = len({row.group for row in stage_figures[-1].scenarios if row.kind == kind}) > 1
    pairs = pair_rows(stage_figures[-1], query, choice)
    if len(heat_map.rater_names(pairs)) > heat_map.MAX_CELL_TEXTS:
        draw_points(study, stage_figures, query, choice, by_scenario)
        left, right = st.columns([11, 9], gap="medium")  # the list has room for names of twelve characters
        left = left.container(key="many_pairs")
        with right:
            draw_pair_list(pairs, catalogue.name(choice.two_raters))
    else:
        left, right = st.columns([3, 2], gap="medium")
        with left:
            draw_points(study, stage_figures, query, choice, by_scenario)
        left = right
    with left:
        draw_pairs(stage_figures, query, choice)
    for figures in stage_figures:
        for note in figures.notes:
            opinions = f"{STAGES[figures.stage]}: " if figures.stage else ""
            st.markdown(f":material/balance: {opinions}{escape_markdown(note)}")
    draw_table(stage_figures, query, choice, by_scenario)
    item_drilldown.draw_selected_items(study, query, shown_version(study))
    if query.group == "people":
        tag_section.draw_section(study, load_tags(str(resources.engine().url), study.id, shown_version(study)))


@st.cache_data(max_entries=8, show_spinner="Measuring agreement …")
def load_sample(url: str, study_id: int, version: Version) -> Sequence[AgreementRow]:
    """Return the agreement over everything with annotators as a sample, at a version of the labels."""
    with connections.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    return agreement.annotator_agreement(resources.engine(), study, annotators="sample").rows


def draw_interval_note(study: Study, figures: PanelReport, query: ItemQuery, choice: StatisticChoice) -> None:
    """Draw whom intervals are for and, of five annotators or more, those for others like them too on request."""
    st.caption(agreement.INTERVALS_FOR["fixed"])
    key = query.kind, query.criterion or ""
    raters = max((row.raters for row in figures.overall if (row.kind, row.criterion) == key), default=0)
    if raters < MIN_RATERS or not st.toggle("Annotators as a sample", key="sample", bind="query-params"):
        return
    rows = load_sample(str(resources.engine().url), study.id, shown_version(study))
    found = [row for row in rows if (row.kind, row.criterion) == key and row.statistic in choice.table_statistics]
    estimates = "; ".join(
        f"{catalogue.name(row.statistic)} {numbers.format_estimate(row.value, row.low, row.high)}" for row in found
    )
    st.markdown(f"{agreement.INTERVALS_FOR['sample']} {escape_markdown(estimates)}.")


def draw_headline(
    study: Study, panels: list[PanelReport], report: AgreementReport, query: ItemQuery, choice: StatisticChoice
) -> None:
    """Draw `0.62 [0.51, 0.71]` with `120 items · 3 annotators · 94 % of labels collected`, once for each stage."""
    kind, criterion = query.kind, query.criterion or ""
    are_judges = query.group == "judges"
    rows = {
        panel.stage: row
        for panel in panels
        for row in agreement_rows.select_rows(panel.overall, kind, choice.many_raters, criterion)
        if not panel.as_shown
    }
    unit = alignment_rows.unit_name(kind, criterion)
    for column, (stage, row) in zip(st.columns(max(2, len(rows))), rows.items(), strict=False):
        with column, st.container(gap=None):
            heading = STAGES[stage] or escape_markdown(agreement_rows.criterion_name(criterion))
            st.caption(f"{heading}: {catalogue.name(choice.many_raters)}")
            st.markdown(f"## {numbers.format_estimate(row.value, row.low, row.high)}")
            share = None if are_judges else report.label_coverage.get((kind, criterion))
            st.caption(
                agreement_rows.format_counts(row, share, *(("judge", "debate") if are_judges else ("annotator", unit))),
                help=None if share is None else agreement_rows.describe_coverage(study.rules.overlap),
            )
            if row.reason:
                st.caption(escape_markdown(row.reason))
    in_shown_order = [
        numbers.format_estimate(row.value, row.low, row.high)
        for panel in panels
        if panel.as_shown
        for row in agreement_rows.select_rows(panel.overall, kind, choice.many_raters, criterion)
    ]
    if in_shown_order:
        st.caption(
            f"By the order in which the judges read the responses: {', then '.join(in_shown_order)}. The observed "
            "agreement is the same; the chance agreement depends on which response is numbered 1."
        )


def draw_points(
    study: Study, stage_figures: list[PanelReport], query: ItemQuery, choice: StatisticChoice, by_scenario: bool
) -> None:
    """Draw points with intervals by scenario, or by criterion if there is only one scenario."""
    label = scenario_name if by_scenario else agreement_rows.criterion_name
    series = []
    for figures in stage_figures:
        rows = _point_rows(figures, query, choice, by_scenario)
        labels = {name: label(name) for name in rows}
        series.append(Series(STAGES[figures.stage], rows, figures.stage == "first", labels=labels))
    order = agreement_rows.sort_names(*(line.rows for line in series))
    undefined = {name: row for line in series for name, row in line.rows.items() if row.value is None}
    axis_kind = "scenario" if by_scenario else "criterion"
    if order:
        name = catalogue.name(choice.many_raters)
        figure = charts.shared_interval_figure(
            series,
            title=f"{name}, by {axis_kind}",
            axis="Value and 95 % interval",
            order=order,
            reference_line=_human_agreement(study, query, choice),
        )
        with st.container(height=640 if len(order) > charts.MAX_ROWS else "content", border=False):
            charts.draw(
                figure,
                "points",
                f"{name}, by {axis_kind}, highest first: {', '.join(map(label, order))}",
                lambda: _select_point(axis_kind),
                ChartData([row for line in series for row in line.rows.values()]),
                item_drilldown.selected(axis_kind),
            )
    numbers.draw_reasons({label(name): row.reason for name, row in undefined.items()})


def _point_rows(
    figures: PanelReport, query: ItemQuery, choice: StatisticChoice, by_scenario: bool
) -> dict[str, AgreementRow]:
    if by_scenario:
        rows = agreement_rows.select_rows(figures.scenarios, query.kind, choice.many_raters, query.criterion)
        return {row.group: row for row in rows}
    return {row.criterion: row for row in agreement_rows.select_rows(figures.overall, query.kind, choice.many_raters)}


def _human_agreement(study: Study, query: ItemQuery, choice: StatisticChoice) -> ReferenceLine | None:
    """Return people's agreement on the same targets, to compare the judges with."""
    if query.group == "people":
        return None
    rows = alignment_data.load_agreement(str(resources.engine().url), study.id, shown_version(study)).rows
    values = [row.value for row in agreement_rows.select_rows(rows, query.kind, choice.many_raters, query.criterion)]
    return None if not values or values[0] is None else ReferenceLine("people", values[0])


def _select_point(axis_kind: str) -> None:
    _reset_table()
    name = charts.clicked_point("points")
    item_drilldown.select(**({} if name is None else {axis_kind: name}))


def _reset_table() -> None:
    """Give the table a new key after a click on a chart, so no row stays selected."""
    st.session_state["charted"] = st.session_state.get("charted", 0) + 1


def pair_rows(figures: PanelReport, query: ItemQuery, choice: StatisticChoice) -> dict[tuple[str, str], AgreementRow]:
    """Return the agreement of every two raters."""
    rows = agreement_rows.select_rows(figures.pairs, query.kind, choice.two_raters, query.criterion)
    return agreement_rows.rows_by_pair(rows)


def draw_pair_list(pairs: Mapping[tuple[str, str], AgreementRow], name: str) -> None:
    """Draw the pairs of many raters, those that share the most targets first; a click selects the items of a pair."""
    ordered = agreement_rows.order_pairs(pairs)
    key = f"pair_list_{st.session_state.get('charted', 0)}"
    raters = heat_map.rater_names(pairs)
    lines = [
        {
            "A × B": tables.pair_numbers(pair, raters),
            "n": row.items,
            "Value": numbers.format_estimate(row.value, row.low, row.high),
            **dict(zip("AB", pair, strict=True)),
        }
        for pair, row in ordered
    ]
    few = sum(row.items < FEW_ITEMS for _, row in ordered)
    st.caption(
        f"{name} of {numbers.format_count(len(ordered), 'pair')} with a value, those that share the most targets (n) "
        f"first, then the lowest. {few:,} share fewer than {FEW_ITEMS}: the values of single pairs are imprecise. "
        "A × B: the numbers of the raters in the matrix."
    )
    tables.draw_clickable(
        lines,
        key,
        lambda row, _: item_drilldown.select(raters=ordered[row][0]),
        max_height=480,
        row_height=tables.DENSE_ROW,
        column_config=tables.figure_columns(lines, "AB"),
    )


def draw_pairs(stage_figures: list[PanelReport], query: ItemQuery, choice: StatisticChoice) -> None:
    """Draw the pairs of raters as a heat map; for judges the last opinions, with the first in small."""
    rows_by_stage = [pair_rows(figures, query, choice) for figures in stage_figures]
    if not rows_by_stage[-1]:
        st.caption("Pairwise agreement needs at least two raters.")
        return
    name = catalogue.name(choice.two_raters)
    title = f"{name}, {'last opinions' if len(stage_figures) > 1 else 'by pair'}"
    first_rows = rows_by_stage[0] if len(stage_figures) > 1 else {}
    figure = heat_map.heatmap_figure(rows_by_stage[-1], first_rows, title=title)
    alt = "; ".join(
        f"{a} and {b} {numbers.format_estimate(row.value, None, None)}" for (a, b), row in rows_by_stage[-1].items()
    )
    rows = [{"rater_a": a, "rater_b": b} | vars(row) for stage in rows_by_stage for (a, b), row in stage.items()]
    selected = item_drilldown.selected_raters() or None
    charts.draw(figure, "pairs", f"{title}: {alt}", _select_pair, ChartData(rows), selected)


def _select_pair() -> None:
    _reset_table()
    item_drilldown.select(raters=tuple(charts.clicked_point("pairs") or ()))


def draw_table(stage_figures: list[PanelReport], query: ItemQuery, choice: StatisticChoice, by_scenario: bool) -> None:
    """Draw every figure, one row for each criterion and scenario; a click selects its items."""
    lines = agreement_rows.table_lines(stage_figures, query, choice, by_scenario)
    keys = list(lines)

    def select_line(row: int, _: str) -> None:
        _, criterion, scenario = keys[row]
        item_drilldown.select(criterion=criterion, scenario=scenario)

    shown_lines = agreement_rows.without_single_criterion(list(lines.values()), by_scenario=by_scenario)
    figures = tables.figure_columns(shown_lines, agreement_rows.NAMES, agreement_rows.COLUMNS)
    key = f"figures_{st.session_state.get('charted', 0)}"
    tables.draw_clickable(shown_lines, key, select_line, column_config=figures)
    shown = set().union(*lines.values())
    tables.draw_notes({name: column for name, column in agreement_rows.COLUMNS.items() if name in shown})
    downloads.draw_csv_download(
        lambda: agreement_rows.to_csv(row for figures in stage_figures for row in figures.rows()), "agreement.csv"
    )


draw_page(shell.draw_header("Inter-annotator agreement", "Agreement beyond chance, between people and between judges."))
