"""Do judges prefer a response for its position, its length or its author, or depend on the criterion's format?

Each question has one test for each judge, with Holm's correction.
"""

import time

import streamlit as st

from core.formats.tables import rows_csv
from core.provenance import BIAS_TESTS
from core.statistics.reports.biases import BiasRow, FormatRow, summarize
from pages.parts import charts, downloads, numbers, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, bias_chart, format_section
from pages.results.parts.alignment_data import Version
from storage.db import connections
from storage.reports import alignment, format_effects, judge_biases, order_consistency
from storage.reports.alignment import AlignmentData
from storage.reports.judge_ranking import RankingQuery
from storage.reports.order_consistency import OrderPair
from storage.studies.studies import Study

PAGE = "biases"
WIDTHS = {"Judge": 300}
"""The largest widths of columns of names, in pixels."""
NOTE_WIDTH = 160


@st.cache_data(max_entries=4, show_spinner=False)
def load_both_orders(
    url: str, study_id: int, opinion_version: Version, judges: tuple[str, ...], _data: AlignmentData
) -> list[OrderPair]:
    """Return the choices of judges that were asked in both orders, at a version of the opinions."""
    with connections.reading(resources.engine()) as session:
        return list(order_consistency.pairs(session, study_id, _data.opinions))


@st.cache_data(max_entries=64, show_spinner="Testing biases …")
def load_rows(
    url: str, study_id: int, version: Version, reference: str, query: RankingQuery, _data: AlignmentData
) -> list[BiasRow]:
    """Return the biases at a version; the cache is shared by all visitors."""
    opinions = alignment_data.opinion_version(version)
    both_orders = load_both_orders(url, study_id, opinions, tuple(sorted(_data.judges)), _data)
    with connections.reading(resources.engine()) as session:
        people = judge_biases.choices_of_people(session, study_id)
    return judge_biases.report(_data, query, both_orders, people)


@st.cache_data(max_entries=64, show_spinner=False)
def load_formats(
    url: str, study_id: int, version: Version, reference: str, query: RankingQuery, _data: AlignmentData
) -> list[FormatRow]:
    """Return the effects of the criterion's format at a version."""
    with connections.reading(resources.engine()) as session:
        run_formats = format_effects.formats_of_runs(session, study_id)
    return format_effects.report(_data, query, run_formats)


def draw_page(study: Study) -> None:
    """Draw the biases, and redraw them when a label or an opinion is added."""
    start = time.thread_time()
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, drawn_version)
    if not alignment_data.has_data(study, PAGE, drawn_version, reference):
        return
    url = str(resources.engine().url)
    data = alignment_data.load_data(url, study.id, drawn_version, reference)
    criteria = judge_biases.choices(data)
    if not criteria:
        st.info("Biases need judges and people who compare the same pairs of responses. This study has none yet.")
        return
    with row:
        query = alignment_data.choose_query(data, [("preference", criterion) for criterion in criteria])

    def compute(version: Version) -> tuple[list[BiasRow], list[FormatRow]]:
        data = alignment_data.load_data(url, study.id, version, reference)
        return (
            load_rows(url, study.id, version, reference, query, data),
            load_formats(url, study.id, version, reference, query, data),
        )

    rows, formats = compute(drawn_version)
    alignment_data.computed(study, PAGE, drawn_version, start, compute)
    systems = (of_item for _, of_item in data.systems.values())
    draw_rows(rows, summarize(rows, alignment.unknown_systems(systems, study.rules.families)))
    format_section.draw_section(formats)


def draw_rows(rows: list[BiasRow], sentence: str) -> None:
    """Draw the sentence, the chart and the table."""
    st.markdown(f"**{escape_markdown(sentence)}**")
    st.caption(
        "Effect: how much more often than one half a judge chooses the response shown first, the longer one, or that "
        "of its own model family (self-preference); 0 is no bias, 0.5 is always. For length and family, people's own "
        "preference is taken out: the effect is the average over the pairs on which people chose that response and "
        "those on which they chose the other. People are tested for position only, by the order in which each "
        "annotator saw the responses."
    )
    if any(row.effect.value is not None for row in rows):
        names = [row.judge for row in rows if row.effect.value is not None]
        data = ChartData(judge_biases.table(rows), BIAS_TESTS, "verdicts", names=names)
        charts.draw(bias_chart.bias_figure(rows), "biases", sentence, data=data)
    if rows:
        lines = [table_line(row) for row in rows]
        lines = [{name: line[name] for name in line if any(other[name] for other in lines)} for line in lines]
        figures = tables.fit_figures(lines, WIDTHS, COLUMNS)
        if "Note" in figures:
            figures["Note"] = st.column_config.TextColumn(width=NOTE_WIDTH)
        table = tables.shorten(lines, tables.fit_names(lines, WIDTHS, figures))
        st.dataframe(table.lines, key="biases_table", hide_index=True, column_config=figures | table.columns)
        table.draw_full_names()
        tables.draw_notes({name: column for name, column in figures.items() if name in COLUMNS})
        downloads.draw_csv_download(lambda: rows_csv(judge_biases.table(rows)), "biases.csv")


COLUMNS = {
    "Bias": st.column_config.TextColumn(),
    "Found": st.column_config.TextColumn(),
    "n": st.column_config.TextColumn(
        alignment="right",
        help="Verdicts for one of the two responses, on pairs for which the side is known; a tie or a missing verdict "
        "is no choice. For length and family also with two labels or more, with or without a majority: the effect is "
        "computed from the labels. If too few pairs have two labels, or the reference is not their majority: with a "
        "reference that is one of the two responses.",
    ),
    "Judge chose": st.column_config.TextColumn(alignment="right", help="Of the pairs on which the judge decided."),
    "People chose": st.column_config.TextColumn(
        alignment="right", help="On the same pairs; empty if people are not needed. Of people: their labels."
    ),
    "Changed": st.column_config.TextColumn(alignment="right", help="Pairs with another verdict in the other order."),
    "p": st.column_config.TextColumn(alignment="right", help="Holm-corrected over all rows of judges."),
}


def table_line(row: BiasRow) -> dict[str, str]:
    """Return the table row of a bias."""
    effect = row.effect
    return {
        "Judge": row.judge,
        "Bias": row.bias,
        "Found": "yes" if row.found else "no" if row.p_corrected is not None else "–",
        "Effect": numbers.format_estimate(effect.value, effect.low, effect.high, sign=True),
        "n": f"{effect.items:,}",
        "p": numbers.format_p(row.p_corrected),
        "Judge chose": "" if effect.judge_share is None else f"{effect.judge_share:.0%}",
        "People chose": "" if effect.people_share is None else f"{effect.people_share:.0%}",
        "Changed": "" if row.flips is None else f"{row.flips:,} of {effect.items:,}",
        "Note": effect.reason,
    }


draw_page(shell.draw_header("Biases", "Does a judge prefer a response for its position, its length or its author?"))
