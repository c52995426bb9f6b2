"""Inter-annotator agreement, and agreement between judges; the page updates as labels are saved."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from core.formats.tables import Table, rows_csv
from core.statistics import catalogue
from core.statistics.measures.agreement import MIN_RATERS
from core.statistics.reports.agreement import AgreementRow
from core.wording import scenario_name
from pages.label.parts import case_orders
from pages.parts import charts, downloads, live, numbers, resources, shell
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import agreement_rows, alignment_data, alignment_rows, item_drilldown
from pages.results.parts.agreement_rows import StatisticChoice
from pages.results.parts.alignment_data import Version
from pages.results.renderer import Cell, Intervals, Mark, Matrix, Result
from storage.reports import agreement
from storage.reports.agreement import AgreementReport, PanelReport, TagRow
from storage.reports.opinions import RaterGroup
from storage.studies import studies
from storage.studies.studies import Study

GROUPS: dict[str, RaterGroup] = {"People": "people", "Judges": "judges"}
PAGE = "agreement"
STAGES = {"": "", "first": "First opinions", "last": "Last opinions"}
# Raters up to which the cells of pairs have texts.
FEW_RATERS = 8
SERIES = (("", "circle"), ("Last opinions", "circle"), ("First opinions", "circle-open"))


def load_report(study: Study, group: RaterGroup, version: Version) -> AgreementReport:
    """Return the figures of a version of the labels; those of judges depend on the opinions and the scales alone."""
    scales = ""
    if group == "judges":
        version = alignment_data.opinion_version(version)
        scales = resources.read(case_orders.scales_key, study.id)
    return load_group(str(resources.engine().url), study.id, group, version, scales)


@st.cache_resource(max_entries=16, show_spinner=False)  # without the copy that each read of other caches makes
def load_group(url: str, study_id: int, group: RaterGroup, version: Version, scales: str) -> AgreementReport:
    """Return the agreement of a group at a version; shared by all visitors, so do not modify."""
    study = resources.read(studies.by_id, study_id)
    if group == "judges":
        return agreement.report(resources.engine(), study, "judges")
    overall, _ = alignment_data.load_agreement(url, study_id, version)
    return agreement.report(resources.engine(), study, "people", overall=overall)


def load_tags(study: Study, version: Version) -> list[TagRow]:
    """Return the tags in the reasons of labels at a version."""
    return live.cached(study, version, "tags", partial(resources.read, agreement.tags, study.id))


def draw_page(study: Study) -> None:
    """Draw the figures, and redraw them when a label is saved."""
    url = str(resources.engine().url)
    alignment_data.follow(study, PAGE)
    item_drilldown.apply_selection()
    row = alignment_data.draw_row()
    with row:
        titles = dict(zip(GROUPS, GROUPS, strict=True))
        group = GROUPS[alignment_data.choose_segment("Agreement between", titles, "between", item_drilldown.select)]
    version = alignment_data.shown_version(study, PAGE)

    def compute(newer: Version) -> AgreementReport:
        if group == "judges":
            alignment_data.load_agreement(url, study.id, newer)  # the judges are compared with people
        else:
            load_tags(study, newer)
        return load_report(study, group, newer)

    report = alignment_data.figures(study, PAGE, version, compute)
    with row:
        view = choose_view(report)
    if report.unmeasured:
        (st.caption if view is None else shell.draw_note)(agreement.describe_unmeasured(report.unmeasured))
    if view is None:
        return None if report.unmeasured else empty_state(study, group)
    query = agreement.ItemQuery(group, *view[:2], judges=view[2])
    panels = [panel for panel in report.panels if panel.judges == query.judges]
    draw_report(study, report, panels, query, version)
    item_drilldown.draw_selected_items(study, query, version)
    if group == "people":
        agreement_rows.draw_tags(study, load_tags(study, version))


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
    name = agreement_rows.criterion_name if key == "criterion" else str
    return alignment_data.choose(label, options, key, name, item_drilldown.select)


def empty_state(study: Study, group: str) -> None:
    """Draw the empty state if there is nothing to compare."""
    if group == "judges":
        fact = (
            "This study has no targets with opinions of two or more judges. Runs with only one verdict are "
            "compared with people on the page Judges."
        )
        advice = "Start a run of several judges, or import recorded debates."
        shell.draw_missing(study, fact, advice, shell.RUN, shell.IMPORT)
    else:
        st.info("This study has no labels yet. Agreement needs labels by at least two annotators.")
        shell.draw_links(
            study, ("label/disagreements.py", "Label disputed debates", ":material/balance:"), shell.IMPORT
        )


def draw_report(
    study: Study, report: AgreementReport, panels: Sequence[PanelReport], query: agreement.ItemQuery, version: Version
) -> None:
    """Draw headline, charts, notes and table."""
    kind = query.kind
    choice = agreement_rows.statistics_for(report.scales.get((kind, query.criterion or "")))
    stage_figures = [figures for figures in panels if not figures.as_shown]
    draw_headline(panels, query, choice)
    if query.group == "people":
        draw_interval_note(study, stage_figures[-1], query, choice, version)
    by_scenario = len({row.group for row in stage_figures[-1].scenarios if row.kind == kind}) > 1
    pairs = [agreement_rows.select_rows(one.pairs, kind, choice.two_raters, query.criterion) for one in stage_figures]
    rows_by_stage = [agreement_rows.rows_by_pair(rows) for rows in pairs]
    # The matrix of many raters needs the width of the page.
    many = len(agreement_rows.rater_names(rows_by_stage[-1])) > FEW_RATERS
    left, right = (st.container(), st.container()) if many else st.columns([3, 2], gap="medium")
    with left:
        draw_points(study, stage_figures, query, choice, by_scenario, version)
    with right:
        draw_pairs(rows_by_stage, catalogue.name(choice.two_raters))
    for figures in stage_figures:
        for note in figures.notes:
            opinions = f"{STAGES[figures.stage]}: " if figures.stage else ""
            st.markdown(f":material/balance: {opinions}{escape_markdown(note)}")
    draw_table(stage_figures, query, choice, by_scenario)


def draw_interval_note(
    study: Study, figures: PanelReport, query: agreement.ItemQuery, choice: StatisticChoice, version: Version
) -> None:
    """Draw whom intervals are for and, of five annotators or more, those for others like them too on request."""
    shell.draw_note(agreement.INTERVALS_FOR["fixed"])
    key = query.kind, query.criterion or ""
    raters = max((row.raters for row in figures.overall if (row.kind, row.criterion) == key), default=0)
    if raters < MIN_RATERS or not st.toggle("Annotators as a sample", key="sample", bind="query-params"):
        return
    measure = partial(agreement.annotator_agreement, resources.engine(), study, annotators="sample")
    rows, _ = live.cached(study, version, "sample", measure)
    found = [row for row in rows if (row.kind, row.criterion) == key and row.statistic in choice.table_statistics]
    estimates = "; ".join(f"{catalogue.name(row.statistic)} {numbers.format_interval(row)}" for row in found)
    st.markdown(f"{agreement.INTERVALS_FOR['sample']} {escape_markdown(estimates)}.")


def draw_headline(panels: Sequence[PanelReport], query: agreement.ItemQuery, choice: StatisticChoice) -> None:
    """Draw `0.62 [0.51, 0.71]` with `120 items · 3 annotators`, once for each stage."""
    kind, criterion = query.kind, query.criterion or ""
    rows = [
        (panel, row)
        for panel in panels
        for row in agreement_rows.select_rows(panel.overall, kind, choice.many_raters, criterion)
    ]
    stages = [(panel.stage, row) for panel, row in rows if not panel.as_shown]
    unit = "debate" if query.group == "judges" else alignment_rows.unit_name(kind, criterion)
    rater = "judge" if query.group == "judges" else "annotator"
    for column, (stage, row) in zip(st.columns(max(2, len(stages))), stages, strict=False):
        with column, st.container(gap=None):
            heading = STAGES[stage] or escape_markdown(agreement_rows.criterion_name(criterion))
            st.markdown(f"{heading}: {catalogue.name(choice.many_raters)}")
            st.markdown(f"## {numbers.format_interval(row)}")
            st.caption(f"{numbers.format_count(row.items, unit)} · {numbers.format_count(row.raters, rater)}")
            if row.reason:
                shell.draw_note(f"{heading}: {escape_markdown(row.reason)}")
    in_shown_order = [numbers.format_interval(row) for panel, row in rows if panel.as_shown]
    if in_shown_order:
        shell.draw_note(
            f"By the order in which the judges read the responses: {', then '.join(in_shown_order)}. The observed "
            "agreement is the same; the chance agreement depends on which response is numbered 1."
        )


def draw_points(
    study: Study,
    stage_figures: Sequence[PanelReport],
    query: agreement.ItemQuery,
    choice: StatisticChoice,
    by_scenario: bool,
    version: Version,
) -> None:
    """Draw points with intervals by scenario, or by criterion if there is only one scenario."""
    name, axis_kind = catalogue.name(choice.many_raters), "scenario" if by_scenario else "criterion"
    parameter = "scenario" if by_scenario else "among"
    drawn = []
    for figures in stage_figures:
        if by_scenario:
            rows = agreement_rows.select_rows(figures.scenarios, query.kind, choice.many_raters, query.criterion)
            drawn += [(STAGES[figures.stage], row.group, scenario_name(row.group), row) for row in rows]
        else:
            rows = agreement_rows.select_rows(figures.overall, query.kind, choice.many_raters)
            names = [agreement_rows.criterion_name(row.criterion) for row in rows]
            drawn += [(STAGES[figures.stage], row.criterion, name, row) for name, row in zip(names, rows, strict=True)]
    last = {label: row.value for _, _, label, row in drawn if row.value is not None}
    marks = [
        Mark.of(label, row, stage, opens=opens)
        for stage, opens, label, row in sorted(drawn, key=lambda entry: -last.get(entry[2], 0.0))
    ]
    people = None
    if query.group == "judges":
        overall, _ = alignment_data.load_agreement(str(resources.engine().url), study.id, version)
        found = agreement_rows.select_rows(overall, query.kind, choice.many_raters, query.criterion)
        people = found[0].value if found else None
    chart = Intervals(
        "points", f"{name}, by {axis_kind}", "Value and 95 % interval", SERIES, marks,
        lines=[] if people is None else [("people", people)], data=charts.ChartData([row for *_, row in drawn]),
        on_select=lambda: item_drilldown.select(**{parameter: charts.clicked_point("points")}),
        selected=st.query_params.get(parameter),
    )  # fmt: skip
    if not chart.is_empty:
        renderer.draw_chart(chart, f"{name}, by {axis_kind}, highest first: {', '.join(dict.fromkeys(last))}")
    numbers.draw_reasons({label: row.reason for _, _, label, row in drawn if row.value is None})


def draw_pairs(rows_by_stage: Sequence[Mapping[tuple[str, str], AgreementRow]], name: str) -> None:
    """Draw the pairs of raters as a heat map; for judges the last opinions, with the first in small."""
    if not rows_by_stage[-1]:
        st.caption("Pairwise agreement needs at least two raters.")
        return
    title = f"{name}, {'last opinions' if len(rows_by_stage) > 1 else 'by pair'}"
    first_rows = rows_by_stage[0] if len(rows_by_stage) > 1 else {}
    alt = "; ".join(
        f"{a} and {b} {numbers.format_estimate(row.value, None, None)}" for (a, b), row in rows_by_stage[-1].items()
    )
    rows = [{"rater_a": a, "rater_b": b} | vars(row) for stage in rows_by_stage for (a, b), row in stage.items()]
    names = agreement_rows.rater_names(rows_by_stage[-1])
    cells = agreement_rows.pair_cells(rows_by_stage[-1], first_rows, names, with_texts=len(names) <= FEW_RATERS)
    pair = st.query_params.get("raters")
    matrix = Matrix(
        "pairs", title, names, names[:-1], [Cell(*cell) for cell in cells],
        numbered=True, data=charts.ChartData(rows), selected=pair and pair.split(" × ", 1),
        on_select=lambda: item_drilldown.select(raters=charts.clicked_point("pairs") or ()),
    )  # fmt: skip
    renderer.draw_chart(matrix, f"{title}: {alt}")


def draw_table(
    stage_figures: Sequence[PanelReport], query: agreement.ItemQuery, choice: StatisticChoice, by_scenario: bool
) -> None:
    """Draw every figure, one row for each criterion and scenario; a click selects its items."""
    lines = agreement_rows.table_lines(stage_figures, query, choice, by_scenario)
    several = not by_scenario or len({line.criterion for line in lines}) > 1
    columns = agreement_rows.table_columns(choice.table_statistics, with_criterion=several)
    table = Table("agreement", lines, columns, file_rows=())
    renderer.draw_result(
        Result(tables=[table], on_click=lambda row, _: item_drilldown.select(lines[row].scenario, lines[row].criterion))
    )
    downloads.draw_csv_download(
        lambda: rows_csv([row for figures in stage_figures for row in figures.rows()]), "agreement.csv"
    )


draw_page(shell.draw_header("Inter-annotator agreement", "Agreement beyond chance, between people and between judges."))
