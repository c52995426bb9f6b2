"""Which system is better: win rates and mean scores from people's labels and a judge's verdicts together."""

import time
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formats.tables import rows_csv
from core.statistics.data.frames import ALL
from core.statistics.reports.systems import SystemRow
from pages.parts import chart_files, charts, downloads, numbers, resources, shell, tables
from pages.parts.axes import ROW_HEIGHT, place_rows
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import agreement_rows, alignment_data, chosen_labels_note
from pages.results.parts.alignment_data import Version
from pages.results.parts.alignment_rows import KINDS
from storage.reports import systems
from storage.reports.alignment import AlignmentData
from storage.reports.chosen_labels import ALL_TARGETS, OF_DISPUTED
from storage.reports.systems import Choice, SystemReport
from storage.studies.studies import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

NO_JUDGE = "none: people's labels alone"
HELP = {
    "Together": "The win rate (a tie is half a win) or the mean score, from the judge's verdicts on all targets, "
    "corrected by its errors on the labelled ones, with the 95 % interval.",
    "People alone": "The same from people's labels alone, of all targets that have one.",
    "Verdicts": "The mean of the judge's verdicts alone. Its bias is not corrected.",
    "n": "Targets with a label of people + targets without one, of those that the judge was asked about; without a "
    "judge, targets with a label. A missing verdict counts as the mean of the judge's verdicts.",
    "Saved": "How many further labels of people alone would give an interval as narrow.",
    "Bradley-Terry": "The log strength of a system in the Bradley-Terry model of people's preferences; the mean of all "
    "systems is 0.",
}
COLUMNS = {name: st.column_config.TextColumn(alignment="right", help=text) for name, text in HELP.items()}

PAGE = "systems"
SYSTEM_HEIGHT = ROW_HEIGHT + 20
"""Pixels of a row with three points."""


@st.cache_data(max_entries=16, show_spinner=False)
def load_choices(url: str, study_id: int, version: Version, reference: str, _data: AlignmentData) -> list[Choice]:
    """Return the kinds, criteria and judges at a version."""
    return systems.choices(_data)


@st.cache_data(max_entries=64, show_spinner="Rating systems …")
def load_report(
    url: str, study_id: int, version: Version, reference: str, choice: Choice, judge: str, _data: AlignmentData
) -> SystemReport:
    """Return the systems by one judge at a version; the cache is shared by all visitors."""
    return systems.rate(_data, choice, judge)


def draw_page(study: Study) -> None:
    """Draw the systems, and redraw them when a label or an opinion is added."""
    start = time.thread_time()
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, drawn_version)
    if not alignment_data.has_data(study, PAGE, drawn_version, reference):
        return
    data = alignment_data.load_data(str(resources.engine().url), study.id, drawn_version, reference)
    found = load_choices(str(resources.engine().url), study.id, drawn_version, reference, data)
    if not found:
        return empty_state(study)
    choice, judge = choose(found, row)

    def compute(version: Version) -> SystemReport:
        url = str(resources.engine().url)
        data = alignment_data.load_data(url, study.id, version, reference)
        load_choices(url, study.id, version, reference, data)
        return load_report(url, study.id, version, reference, choice, judge, data)

    report = compute(drawn_version)
    alignment_data.computed(study, PAGE, drawn_version, start, compute)
    if not report.rows:
        st.info("No two responses of different systems were labelled or judged on this criterion.")
        return
    draw_report(report)


def empty_state(study: Study) -> None:
    """Draw the empty state if there are no labels and no verdicts."""
    st.info("Systems are compared by labels or verdicts on their responses. This study has none yet.")
    shell.draw_links(
        study,
        shell.RUN,
        (shell.STUDIES, "Import labels or judgements", ":material/upload_file:"),
    )


def choose(found: Sequence[Choice], row: DeltaGenerator) -> tuple[Choice, str]:
    """Draw the choices of kind, criterion and judge into a row; they are in the URL. The judge is "" for none."""
    with row:
        kinds = list(dict.fromkeys(choice.kind for choice in found))
        kind = alignment_data.choose("Kind", kinds, "kind", KINDS.__getitem__)
        of_kind = {choice.criterion: choice for choice in found if choice.kind == kind}
        criterion = alignment_data.choose("Criterion", list(of_kind), "criterion", agreement_rows.criterion_name)
        choice = of_kind[criterion]
        judges = [*choice.judges, NO_JUDGE]
        alignment_data.follow_default("judge", judges[0], is_chosen="judge" in st.query_params)
        judge = alignment_data.choose("Judge", judges, "judge")
    return choice, "" if judge == NO_JUDGE else judge


def draw_caveats(rows: Sequence[SystemRow]) -> None:
    """Draw each caveat once, with the systems that it is about if it is not about all."""
    systems: dict[str, list[str]] = {}
    for row in rows:
        for caveat in filter(None, row.reason.split("; ")):
            systems.setdefault(caveat, []).append(row.system)
    lines = []
    for caveat, names in systems.items():
        prefix = "All systems" if len(names) == len(rows) else ", ".join(names)
        lines.append(f":material/info: {escape_markdown(f'{prefix}: {caveat}')}.")
    if lines:
        st.caption("  \n".join(lines))


def format_labels(fewest: float, most: float) -> str:
    """Return a range of additional labels: "12 to 40 more labels", "1 more label"."""
    low, high = round(fewest), round(most)
    start = "" if low == high else f"{low:,} to "
    return start + numbers.format_count(high, "more label")


def draw_report(report: SystemReport) -> None:
    """Draw the finding in one sentence, the chart and the table."""
    rows = [row for row in report.rows if row.scenario == ALL]
    st.markdown(f"**{escape_markdown(describe(rows))}**")
    chosen_labels_note.draw(report.note)
    saved = [row.labels_saved for row in rows if row.labels_saved]
    if saved:
        st.caption(
            f"Without the verdicts of {escape_markdown(report.judge)}, intervals as narrow would take "
            f"{format_labels(min(saved), max(saved))} of people for each system."
        )
    unit = "Win rate, a tie is half a win" if report.kind == "preference" else "Mean score"
    if report.note:
        unit = f"{unit}, {OF_DISPUTED}"
    data = ChartData(rows, systems.method(report), "labelled targets")
    charts.draw(system_figure(rows, unit, with_judge=bool(report.judge)), "systems", describe(rows), data=data)
    draw_caveats(rows)
    by_scenario = len(rows) < len(report.rows)
    widths = {"System": 220} | ({"Scenario": 160} if by_scenario else {})
    lines = [table_line(row, by_scenario) for row in report.rows]
    figures = tables.fit_figures(lines, widths, COLUMNS)
    table = tables.shorten(lines, tables.fit_names(lines, widths, figures))
    shown = {name: column for name, column in COLUMNS.items() if any(line[name] != "–" for line in table.lines)}
    st.dataframe(table.lines, key="systems_table", hide_index=True, column_config=table.columns | figures)
    table.draw_full_names()
    tables.draw_notes(shown)
    downloads.draw_csv_download(lambda: rows_csv(report.rows), "systems.csv")


def describe(rows: Sequence[SystemRow]) -> str:
    """Return the best system, and whether its interval overlaps with that of the next; of which targets, if not all."""
    best, *others = rows
    if best.population != ALL_TARGETS:
        shares = (f"{row.system}: {numbers.format_estimate(*systems.shown_estimate(row))}" for row in rows)
        return f"The systems are not ranked on all targets. By people's labels {OF_DISPUTED}, {'; '.join(shares)}."
    text = f"{best.system}: {numbers.format_estimate(best.value, best.low, best.high)}"
    if not others:
        return f"{text}."
    second = others[0]
    if best.low is None or second.high is None:
        return f"Not enough data to rank the systems. {text}."
    verdict = "is ahead of" if best.low > second.high else "is not clearly ahead of"
    other = numbers.format_estimate(second.value, second.low, second.high)
    return f"{best.system} {verdict} {second.system}. {text}; {second.system}: {other}."


@chart_files.built_once
def system_figure(rows: Sequence[SystemRow], unit: str, *, with_judge: bool) -> "go.Figure":
    """Return a row for each system: the corrected value, people's labels alone, and the judge alone."""
    import plotly.graph_objects as go

    placed = place_rows((row.system for row in rows), row_height=SYSTEM_HEIGHT)
    positions = placed.positions
    series = [("people's labels alone", "circle-open", charts.GREY, -0.22, _people)]
    if with_judge:
        series.append(("labels and verdicts together", "circle", charts.accent_colour(), 0.0, _together))
    figure = go.Figure()
    for name, symbol, colour, shift, ends in series:
        points = [(row, *ends(row)) for row in rows]
        defined = [(row, value, low, high) for row, value, low, high in points if value is not None]
        figure.add_trace(
            go.Scatter(
                x=[value for _, value, _, _ in defined],
                y=[positions[row.system] + shift for row, _, _, _ in defined],
                name=name,
                mode="markers",
                marker={"size": 10, "symbol": symbol, "color": colour},
                error_x=charts.error_bars([(value, low, high) for _, value, low, high in defined], colour),
                hovertext=[
                    f"<b>{escape(row.system, quote=False)}</b><br>{name}<br>"
                    f"{numbers.format_estimate(value, low, high)}<br>"
                    f"{numbers.format_count(row.labelled, 'labelled target')}"
                    for row, value, low, high in defined
                ],
                hoverinfo="text",
            )
        )
    if with_judge:
        judged = [row for row in rows if row.verdicts is not None]
        figure.add_trace(
            go.Scatter(
                x=[row.verdicts for row in judged], y=[positions[row.system] + 0.22 for row in judged], mode="markers",
                name="verdicts alone, not corrected", marker={"size": 9, "symbol": "x-thin-open", "color": charts.GREY},
                hovertext=[
                    f"<b>{escape(row.system, quote=False)}</b><br>verdicts alone<br>{row.verdicts:.2f}"
                    for row in judged
                ],
                hoverinfo="text",
            )
        )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(positions.values()), ticktext=[placed.labels[name] for name in positions],
        range=[-0.1, placed.end + 0.1], showgrid=False, zeroline=False,
    )  # fmt: skip
    for row in rows:
        judged_only = f" + {row.judged:,}" if with_judge else ""
        figure.add_annotation(
            x=1.0, xref="paper", xanchor="left", y=positions[row.system], showarrow=False, font={"size": 11},
            text=f" n {row.labelled:,}{judged_only}",
        )  # fmt: skip
    n = "n: labelled + only judged targets" if with_judge else "n: labelled targets"
    figure.update_xaxes(title=f"{unit} ({n})", showgrid=True, zeroline=False)
    charts.apply_layout(figure, "Systems, with 95 % intervals", 130 + placed.height, legend=True)
    return charts.place_legend(figure, len(figure.data), right=84)


Ends = tuple[float | None, float | None, float | None]


def _people(row: SystemRow) -> Ends:
    return row.people, row.people_low, row.people_high


def _together(row: SystemRow) -> Ends:
    return row.value, row.low, row.high


def table_line(row: SystemRow, by_scenario: bool) -> dict[str, str]:
    """Return the table row of a system."""
    line = {"System": row.system}
    if by_scenario:
        line["Scenario"] = row.scenario
    line |= {
        "Together": numbers.format_estimate(row.value, row.low, row.high),
        "People alone": numbers.format_estimate(row.people, row.people_low, row.people_high),
        "Verdicts": numbers.format_estimate(row.verdicts, None, None),
        "n": f"{row.labelled:,} + {row.judged:,}" if row.verdicts is not None else f"{row.labelled:,}",
        "Saved": "–" if row.labels_saved is None else f"{row.labels_saved:,.0f}",
        "Bradley-Terry": numbers.format_estimate(row.strength, row.strength_low, row.strength_high),
    }
    return line


draw_page(shell.draw_header("Systems", "Which system is better, by people's labels and a judge's verdicts together?"))
