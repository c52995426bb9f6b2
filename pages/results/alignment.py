"""Alignment of each judge with people, compared with the human ceiling; disagreements; judge biases."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formats.tables import flatten
from core.statistics.data.frames import ALL
from core.statistics.reports.agreement import AgreementRow
from core.statistics.reports.alignment import AlignmentRow, By
from pages.parts import charts, downloads, numbers, resources, shell
from pages.parts.chart_files import ChartData
from pages.parts.charts import ReferenceLine, Series
from pages.results.parts import (
    agreement_rows,
    alignment_charts,
    alignment_data,
    alignment_differences,
    alignment_rows,
    chosen_labels_note,
    item_drilldown,
)
from pages.results.parts.alignment_charts import JudgePoints
from pages.results.parts.alignment_differences import AlignmentView
from pages.results.parts.alignment_rows import KINDS, VIEWS, Figures
from storage.db import connections
from storage.reports import alignment
from storage.reports.alignment import AlignmentData
from storage.reports.judge_costs import JudgeCost
from storage.reports.references import ADJUDICATED
from storage.studies import studies
from storage.studies.studies import Study

Version = tuple[int, ...]
PAGE = "alignment"
BIAS_TITLES = {
    "shown_first": "The response shown first is preferred",
    "longer": "The longer response: judge minus people",
    "both_orders": "The same choice in both orders",
}
BIAS_NOTE = (
    "Decided verdicts, without ties and missing verdicts. For the longer response: the judge's share minus people's, "
    "on the n pairs that both decided. People may prefer longer responses for good reasons, and a judge that errs at "
    "random prefers them less often than such people: the page Biases takes both into account and tests the effects."
)


@st.cache_data(max_entries=32, show_spinner="Comparing judges with people …")
def load_rows(url: str, study_id: int, by: By, version: Version, reference: str) -> list[AlignmentRow]:
    """Return the figures at a version; the cache is shared by all visitors."""
    with connections.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    data = alignment_data.load_data(url, study_id, version, reference)
    return alignment.rows_of(resources.engine(), study, data, by)


def draw_page(study: Study) -> None:
    """Draw the figures, and redraw them when a label or an opinion is added."""
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    item_drilldown.apply_selection()
    cache_key = (str(resources.engine().url), study.id)
    start = time.thread_time()
    version = alignment_data.shown_version(study, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, version)

    def compute(newer: Version) -> tuple[AlignmentData, list[AlignmentRow]]:
        data = alignment_data.load_data(*cache_key, newer, reference)
        return data, load_rows(*cache_key, "all", newer, reference)

    if not alignment_data.has_first_figures(study, PAGE, version, compute):
        return None
    data, rows = compute(version)
    alignment_data.computed(study, PAGE, version, start, compute)
    if not rows:
        return empty_state(study, data)
    view = choose_view(rows, data, row)
    if view is None:
        return draw_download(rows)
    (kind, criterion, statistic), by_scenario, include_first, all_columns = view
    all_rows = rows + (load_rows(*cache_key, "scenario", version, reference) if by_scenario else [])
    by_place = alignment_rows.rows_by_judge(all_rows, kind, criterion, include_first=include_first)
    costs = alignment_data.load_costs(*cache_key, version, reference)
    chosen_labels_note.draw(data.choices.note(kind, criterion))
    if alignment_rows.has_reference_values(by_place):
        judges = draw_comparison(by_place, statistic, costs, by_scenario, all_columns)
    else:
        draw_without_labels(
            study,
            data,
            alignment_rows.lines_without_reference(by_place, costs),
        )
        judges = [judge for judge, _ in by_place]
    draw_download(all_rows)
    judges = list(dict.fromkeys(judges))
    alignment_differences.draw_differences(
        AlignmentView(study, version, data, by_place, judges, kind, criterion, statistic, by_scenario)
    )
    draw_biases(by_place)


def choose_view(
    rows: Sequence[AlignmentRow], data: AlignmentData, row: DeltaGenerator
) -> tuple[tuple[str, str, str], bool, bool, bool] | None:
    """Draw the choices into a row; they are in the URL. None if nothing can be drawn.

    Returns (kind, criterion, statistic), whether by scenario, whether with first opinions, and whether the table has
    all columns.
    """
    with row:
        kinds = [kind for kind in KINDS if any(row.kind == kind for row in rows)]
        kind = _choose("Kind", kinds, "kind", KINDS.__getitem__)
        criteria = sorted({row.criterion for row in rows if row.kind == kind}, key=lambda name: (name != "all", name))
        criterion = _choose("Criterion", criteria, "criterion", agreement_rows.criterion_name)
        statistics = alignment_rows.available_statistics(
            alignment_rows.rows_by_judge(rows, kind, criterion, include_first=True),
            data.reference,
            adjudicated=has_adjudications(data, kind, criterion),
        )
        if not statistics:
            st.caption("No statistic of these values can be drawn. The download has every figure.")
            return None
        statistic = _choose("Statistic", statistics, "statistic", lambda name: VIEWS[name].name)
        by_scenario = st.toggle(
            "By scenario", key="by_scenario", bind="query-params", on_change=item_drilldown.clear_selection
        )
        include_first = False
        if any(alignment.FIRST_OPINION in row.judge for row in rows if row.kind == kind):
            include_first = st.toggle("First opinions", key="firsts", bind="query-params")
        all_columns = st.toggle("All columns", key="all_columns", bind="query-params")
    return (kind, criterion, statistic), by_scenario, include_first, all_columns


def has_adjudications(data: AlignmentData, kind: str, criterion: str) -> bool:
    """Return whether the reference has adjudicated values of a kind and criterion, or of all its criteria."""
    gold = data.gold[(data.gold["kind"] == kind) & (data.gold["source"] == ADJUDICATED)]
    return bool(len(gold) if criterion == ALL else (gold["criterion"] == criterion).any())


def _choose(label: str, options: Sequence[str], key: str, format_func: Callable[[str], str]) -> str:
    """Draw a choice; a single option is returned without a widget."""
    return alignment_data.choose(label, options, key, format_func, alignment_differences.clear_selection)


def empty_state(study: Study, data: AlignmentData) -> None:
    """Draw the empty state if there is nothing to compare."""
    if len(data.opinions):
        kinds = ", ".join(sorted({KINDS.get(kind, kind).lower() for kind in data.opinions["kind"]}))
        st.info(f"The judges' values have no declared scale, so nothing can be compared: {kinds}.")
        return
    missing = "labels but no judge opinions" if len(data.labels) else "no judge opinions"
    links = (shell.RUN, (shell.STUDIES, "Import recorded judgements", ":material/upload_file:"))
    shell.draw_missing(study, f"This study has {missing} yet.", "Start a run, or import recorded judgements.", *links)
    shell.draw_links(study, *links)


def draw_without_labels(study: Study, data: AlignmentData, lines: Sequence[alignment_rows.Line]) -> None:
    """Draw the figures of judges that need no labels by people."""
    judged_items = numbers.format_count(data.opinions["item"].nunique(), "item")
    st.info(f"The judges have opinions on {judged_items}, none of which has labels. Figures without labels are below.")
    shell.draw_links(
        study,
        ("label/disagreements.py", "Label disputed debates", ":material/balance:"),
        (shell.STUDIES, "Import labels", ":material/upload_file:"),
    )
    right_aligned = {name: st.column_config.TextColumn(alignment="right") for name in ("No verdict", "$ per 1,000")}
    st.dataframe(lines, key="bare", hide_index=True, column_config=right_aligned)


def draw_comparison(
    by_place: Figures, statistic: str, costs: Mapping[str, JudgeCost], by_scenario: bool, all_columns: bool
) -> list[str]:
    """Draw chart, notes and table; returns the judges, best first."""
    order = alignment_rows.sort_places(by_place, statistic)
    by_judge = {judge: by_place[judge, group] for judge, group in order if group == "all"}
    left, right = st.columns([3, 2], gap="large")
    with left:
        draw_chart(by_judge, statistic, costs)
    with right:
        alignment_rows.draw_notes(by_judge, statistic)
    alignment_differences.draw_table(by_place, order, statistic, costs, by_scenario, all_columns)
    return list(by_judge)


def draw_chart(
    by_judge: Mapping[str, Mapping[str, AlignmentRow]], statistic: str, costs: Mapping[str, JudgeCost]
) -> None:
    """Draw a point for each judge, with the human ceiling."""
    view = VIEWS[statistic]
    points = alignment_rows.defined_rows(by_judge, statistic)
    if not points:
        return
    details = {name: alignment_rows.format_details(by_judge[name], statistic, costs.get(name)) for name in points}
    point_rows = {name: by_judge[name] for name in points}
    second = alignment_rows.defined_rows(point_rows, view.second)
    ceilings = alignment_rows.defined_rows(point_rows, view.ceiling) if second else {}
    figure = alignment_charts.judge_figure(
        JudgePoints(points, second, ceilings, details),
        title=view.name,
        axis="Value and 95 % interval",
        legend=(view.legend, view.second_name),
    )
    alt = "; ".join(f"{name} {numbers.format_estimate(row.value, row.low, row.high)}" for name, row in points.items())
    shown = (statistic, view.second, view.ceiling) if second else (statistic,)
    rows, names = alignment_rows.chart_rows(point_rows, *shown), list(points)
    data = ChartData(rows, names=names)
    # The choice of a judge follows the chart, so that it has no state yet when an address is opened.
    judge = st.session_state.get("judge", st.query_params.get("judge"))
    selected = judge if "cell" in st.query_params else None
    charts.draw(figure, "judges", f"{view.name}: {alt}", _select_judge, data, selected)


def _select_judge() -> None:
    """Select every item on which the clicked judge differs from people."""
    name = charts.clicked_point("judges")
    alignment_differences.select(name, **({} if name is None else {"cell": alignment_differences.ALL_DIFFERENCES}))


def draw_download(rows: Sequence[AlignmentRow]) -> None:
    """Draw the download of every figure, which is written when it is requested."""
    downloads.draw_csv_download(lambda: alignment_rows.to_csv(rows), "alignment.csv")


def draw_biases(by_place: Figures) -> None:
    """Draw the judges' preferences for the response shown first and, compared with people's, for the longer one."""
    by_judge = {judge: rows for (judge, group), rows in by_place.items() if group == "all"}
    rows_by_bias = {
        name: alignment_rows.defined_rows(by_judge, statistic) for name, statistic in alignment_rows.BIASES.items()
    }
    if not any(rows_by_bias.values()):
        return
    present = {name: rows for name, rows in rows_by_bias.items() if rows}
    is_selected = bool({"bias", alignment_differences.FORMER_PARAMETERS["bias"]} & set(st.query_params))
    biases = st.expander("Judge biases", expanded=is_selected, key="biases", on_change="rerun")
    if not biases.open:
        return
    with biases:
        for column, (name, rows) in zip(st.columns(max(2, len(present)), gap="large"), present.items(), strict=False):
            with column:
                draw_bias(name, rows)
        st.caption(BIAS_NOTE)


def draw_bias(name: str, rows: Mapping[str, AgreementRow]) -> None:
    """Draw one bias of each judge: a share, or for length the difference from people's share."""
    lines = {"shown_first": ReferenceLine("unbiased", 0.5), "longer": ReferenceLine("as people", 0)}
    figure = charts.shared_interval_figure(
        [Series("judge", rows, lists_items=name != "both_orders")],
        title=BIAS_TITLES[name],
        axis="Judge − people and 95 % interval" if name == "longer" else "Share and 95 % interval",
        order=list(rows),
        reference_line=lines.get(name),
    )
    alt = "; ".join(f"{judge} {numbers.format_estimate(row.value, None, None)}" for judge, row in rows.items())
    on_select = partial(_select_bias, name)
    data = ChartData([{"judge": judge} | flatten(row) for judge, row in rows.items()])
    selected = st.session_state.get("judge") if st.query_params.get("bias") == name else None
    alt = f"{BIAS_TITLES[name]}: {alt}"
    charts.draw(figure, f"bias_{name}", alt, "ignore" if name == "both_orders" else on_select, data, selected)


def _select_bias(name: str) -> None:
    """Select the items on which the clicked judge chose so."""
    judge = charts.clicked_point(f"bias_{name}")
    alignment_differences.select(judge, **({} if judge is None else {"bias": name}))


draw_page(
    shell.draw_header("Alignment", "Agreement of each judge with people, compared with the agreement among people.")
)
