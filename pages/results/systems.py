"""Which system is better: win rates and mean scores from people's labels and a judge's verdicts together."""

from collections.abc import Sequence
from typing import cast

import streamlit as st

from core.formats.tables import Table
from core.statistics.data.frames import ALL
from core.statistics.reports.systems import SystemRow
from core.wording import group_by_note
from pages.parts import numbers, shell
from pages.parts.charts import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data
from pages.results.renderer import Intervals, Mark, Result, Section, draw_sections
from storage.reports import opinions, systems
from storage.reports.alignment import AlignmentData
from storage.reports.chosen_labels import ALL_TARGETS, CAVEATS, Population
from storage.studies.studies import Study

NO_JUDGE = "none: people's labels alone"
PEOPLE, TOGETHER, VERDICTS = "people's labels alone", "labels and verdicts together", "verdicts alone, not corrected"
# A kind, a criterion and its judges, and the judge, "" for none.
Query = tuple[systems.Choice, str]


def filters(data: AlignmentData) -> Query | None:
    """Draw the choices of kind, criterion and judge."""
    found = opinions.once(data, "choices of systems", lambda: systems.choices(data))
    if not found:
        return None
    choice = alignment_data.choose_offered(found)
    judges = [*choice.judges, NO_JUDGE]
    alignment_data.follow_default("judge", judges[0], is_chosen="judge" in st.query_params)
    judge = alignment_data.choose("Judge", judges, "judge")
    return choice, "" if judge == NO_JUDGE else judge


def show(study: Study, data: AlignmentData, query: Query, report: systems.SystemReport) -> Result | str:
    """Return the finding in one sentence, the chart and the table."""
    if not report.rows:
        return "No two responses of different systems were labelled or judged on this criterion."
    rows = [row for row in report.rows if row.scenario == ALL]
    return Result(
        headline=describe(rows),
        warning=report.note,
        caption=describe_design(report),
        figures=[system_chart(rows, report)],
        remark=describe_caveats(rows),
        tables=[Table("systems", report.rows, systems.COLUMNS[len(rows) == len(report.rows) :], report.rows)],
    )


def describe_design(report: systems.SystemReport) -> str:
    """Return how the labels were drawn, and their effective number, as Markdown; "" without a design."""
    effective = next((row.effective for row in report.rows if row.scenario == ALL), None)
    of_weights = "" if effective is None else f"; effective n {effective:,.0f}"
    return escape_markdown(f"Labels {report.design}{of_weights}.") if report.design else ""


def describe_caveats(rows: Sequence[SystemRow]) -> str:
    """Return each caveat once as Markdown, with the systems that it is about if it is not about all."""
    lines = []
    for caveat, concerned in group_by_note(rows, lambda row: row.reason.split("; ")).items():
        prefix = "All systems" if len(concerned) == len(rows) else ", ".join(row.system for row in concerned)
        lines.append(f":material/info: {escape_markdown(f'{prefix}: {caveat}')}.")
    return "  \n".join(lines)


def describe(rows: Sequence[SystemRow]) -> str:
    """Return the best system, and whether its interval overlaps with that of the next; of which targets, if not all."""
    best, *others = rows
    population = cast(Population, best.population)
    if population != ALL_TARGETS:
        shares = (f"{row.system}: {numbers.format_estimate(*systems.shown_estimate(row))}" for row in rows)
        basis = f"By people's labels {CAVEATS[population]}"
        return f"The systems are not ranked on all targets. {basis}, {'; '.join(shares)}."
    text = f"{best.system}: {numbers.format_interval(best)}"
    if not others:
        return f"{text}."
    second = others[0]
    if best.low is None or second.high is None:
        return f"Not enough data to rank the systems. {text}."
    verdict = "is ahead of" if best.low > second.high else "is not clearly ahead of"
    other = numbers.format_interval(second)
    return f"{best.system} {verdict} {second.system}. {text}; {second.system}: {other}."


def system_chart(rows: Sequence[SystemRow], report: systems.SystemReport) -> Intervals:
    """Return a row for each system: people's labels alone, the corrected value, and the judge alone."""
    marks = []
    for row in rows:
        values: list[tuple[str, float | None, float | None, float | None]]
        values = [(PEOPLE, row.people, row.people_low, row.people_high)]
        if report.judge:
            values += [(TOGETHER, row.value, row.low, row.high), (VERDICTS, row.verdicts, None, None)]
        n = f"{row.labelled:,}" + (f" + {row.judged:,}" if report.judge else "")
        marks += [
            Mark(row.system, value, low, high, series, n) for series, value, low, high in values if value is not None
        ]
    series = ((TOGETHER, "circle"), (PEOPLE, "circle-open"), (VERDICTS, "x-thin-open"))
    unit = "Win rate, a tie is half a win" if report.kind == "preference" else "Mean score"
    unit = ", ".join(filter(None, (unit, CAVEATS.get(report.population))))
    n = "n: labelled + only judged targets" if report.judge else "n: labelled targets"
    data = ChartData(rows, systems.method(report), "labelled targets")
    return Intervals("systems", "Systems, with 95 % intervals", f"{unit} ({n})", series, marks, data=data)


SECTION = Section(
    name="systems",
    title="Systems",
    filters=filters,
    compute=lambda study, data, query: systems.rate(data, *query),
    show=show,
    empty="Systems are compared by labels or verdicts on their responses. This study has none yet.",
    links=(shell.RUN, (shell.STUDIES, "Import labels or judgements", ":material/upload_file:")),
)
QUESTION = "Which system is better, by people's labels and a judge's verdicts together?"

draw_sections(shell.draw_header(SECTION.title, QUESTION), [SECTION])
