"""Scores of critique authors by people and by judges, and the accuracy of judges on AIUs."""

from collections.abc import Iterable, Sequence

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from core.formats.tables import csv_text
from core.statistics.reports.agreement import AgreementRow
from pages.parts import charts, downloads, numbers, resources, shell, tables
from pages.parts.chart_files import ChartData
from pages.parts.charts import Series
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, critique_summary
from storage.db import connections
from storage.labels import labels
from storage.reports import critiques
from storage.reports.critiques import Accuracy, CritiqueDetail, Leaderboard, Row
from storage.runs import aius
from storage.studies import studies
from storage.studies.studies import Study

LEVELS = {"macro": "Macro", "micro": "Micro"}
PEOPLE = "people"
GROUP_NAMES = {"human": "all people", "llm": "all models"}
SCORES = ("precision", "recall", "f1")
ACCURACY_NOTE = "Accuracy of a judge: the share of AIUs that it judges as people do."
NO_ACCURACY = "No AIU has been judged by both people and a judge. Run MetaCritique, or label the AIUs that it judged."
Interval = tuple[float, float] | None


def data_version(study: Study) -> tuple[int, ...]:
    """Return a version that changes whenever a label, an opinion or an edit of AIUs is added."""
    with connections.reading(resources.engine()) as session:
        return (*labels.version(session, study.id), aius.count_edits(session, study.id))


@st.cache_data(max_entries=64, show_spinner=False)
def load_leaderboard(url: str, study_id: int, version: tuple[int, ...]) -> Leaderboard:
    """Return the figures of a version of the data; the cache is shared by all visitors."""
    with connections.reading(resources.engine()) as session:
        study = studies.by_id(session, study_id)
    return critiques.leaderboard(resources.engine(), study)


def draw_page(study: Study) -> None:
    """Draw the answer in words, the leaderboard, the critiques of the selected author, and the judges."""
    alignment_data.rerun_on_change(study, alignment_data.label_version(study))
    leaderboard = load_leaderboard(str(resources.engine().url), study.id, data_version(study))
    rows = [row for row in leaderboard.rows if row.author != critiques.REFERENCE]
    if not rows:
        return empty_state(study)
    source, level = choose_source(rows)
    chosen_rows = [row for row in rows if (row.source, row.level) == (source, level)]
    draw_summary(chosen_rows, leaderboard.accuracies, source, level)
    draw_leaderboard(leaderboard, chosen_rows, source, level)
    draw_selected_critiques(study, source)
    draw_judges(leaderboard)


def choose_source(rows: Sequence[Row]) -> tuple[str, str]:
    """Draw the choices of the judge and of the level of averaging; both are in the URL."""
    sources = list(dict.fromkeys(row.source for row in rows))
    with alignment_data.draw_row():
        source = st.segmented_control(
            "Judged by",
            sources,
            format_func=lambda name: "People" if name == PEOPLE else escape_markdown(name),
            default=sources[0],
            required=True,
            key="source",
            bind="query-params",
        )
        level = st.segmented_control(
            "Average",
            list(LEVELS),
            format_func=LEVELS.__getitem__,
            default="macro",
            required=True,
            key="level",
            bind="query-params",
            help="Macro: every critique has the same weight, and F1 is the mean of their F1. Micro: every AIU has the "
            "same weight.",
        )
    return (source if source in sources else sources[0]), (level or "macro")


def empty_state(study: Study) -> None:
    """Draw the empty state if no critique has been judged."""
    links = (("label/aius.py", "Label AIUs", ":material/rule:"), shell.RUN, shell.IMPORT)
    advice = "Label AIUs, or start a MetaCritique run."
    shell.draw_missing(study, "No critique of this study has been judged yet.", advice, *links)
    shell.link_sample("results/critiques.py", "metacritique")
    shell.draw_links(study, *links)


def draw_summary(rows: Sequence[Row], accuracies: Sequence[Accuracy], source: str, level: str) -> None:
    """Draw the author with the highest F1 and the most accurate judge, and what both are of."""
    judges = critique_summary.describe_judges(accuracies)
    answer = " ".join(filter(None, (critique_summary.describe_authors(rows), judges)))
    st.markdown(f"**{escape_markdown(answer)}**")
    note = ACCURACY_NOTE if judges else NO_ACCURACY
    st.caption(f"F1: {LEVELS[level].lower()} average, judged by {escape_markdown(source)}. {note}")


def draw_leaderboard(leaderboard: Leaderboard, rows: Sequence[Row], source: str, level: str) -> None:
    """Draw F1 by author with intervals, and a table of all scores; a click selects an author."""
    ranking = sort_by_f1(rows)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        draw_f1_chart(ranking, source, level)
    with right:
        draw_pair_counts(leaderboard, source)
        for reason in dict.fromkeys(row.reason for row in ranking if row.reason):
            names = [escape_markdown(display_name(row)) for row in ranking if row.reason == reason]
            st.caption(f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}: {escape_markdown(reason)}.")
    lines = [table_line(row) for row in ranking]
    tables.draw_clickable(
        lines,
        "board",
        lambda row, _: _select(display_name(ranking[row])),
        column_config=tables.figure_columns(lines, {"Author"}),
    )
    st.caption(
        "AIU: atomic information unit, one claim of a critique. Precision: the share of a critique's AIUs that are "
        "true. Recall: the share of the reference critique's AIUs that it has. F1: their harmonic mean."
    )
    if any(row.unread for row in ranking):
        st.caption(
            "Coverage: the share of judgements of AIUs that have a value; the others are left out. Possible F1: F1 if "
            "all of them were false, and if all of them were true; the CSV file has precision and recall too."
        )
    downloads.draw_csv_download(lambda: rows_csv(rows), "critiques.csv")


def draw_f1_chart(ranking: Sequence[Row], source: str, level: str) -> None:
    """Draw F1 by author, if it is defined."""
    points = {display_name(row): f1_point(row) for row in ranking if row.f1 is not None}
    if not points:
        st.caption("F1 is undefined: it needs AIUs of both the critique and its reference.")
        return
    figure = charts.shared_interval_figure(
        [Series("", points)],
        title=f"F1 of critique authors, judged by {source}",
        axis=f"{level.capitalize()} F1 and 95 % interval",
        order=list(points),
        reference_line=None,
    )
    alt = "; ".join(f"{name} {numbers.format_estimate(row.value, None, None)}" for name, row in points.items())
    data = ChartData(ranking, unit="AIUs")
    author = st.query_params.get("author")
    charts.draw(figure, "authors", f"F1 by author: {alt}", _select_author, data, author)


def _select_author() -> None:
    _select(charts.clicked_point("authors"))


def _right_aligned(*names: str) -> dict[str, ColumnConfig | str | None]:
    return {name: st.column_config.TextColumn(alignment="right") for name in names}


def _select(author: str | None) -> None:
    """Write the selected author to the URL."""
    if author is None:
        st.query_params.pop("author", None)
    else:
        st.query_params["author"] = author


def draw_pair_counts(leaderboard: Leaderboard, source: str) -> None:
    """Draw the win rates of two models' critiques on the same item."""
    for counts in leaderboard.pairs:
        total = counts.first + counts.second + counts.tie
        if counts.source == source and total:
            undefined = f"; undefined for {numbers.format_count(counts.undefined, 'pair')}" if counts.undefined else ""
            st.caption(
                f"Pairs of critiques by models on the same item, compared by F1: the first is better in {counts.first} "
                f"of {total}, the second in {counts.second}, equal in {counts.tie}{undefined}."
            )


def draw_selected_critiques(study: Study, source: str) -> None:
    """Draw the critiques of the selected author; a click offers links to their AIUs and traces."""
    author = st.query_params.get("author")
    if author is None:
        return
    with connections.reading(resources.engine()) as session:
        details = critiques.drill_down(session, study.id, source, author_id(author), author in GROUP_NAMES.values())
    count = numbers.format_count(len(details), "critique")
    st.subheader(f"Selected: {count} by {escape_markdown(author)}", anchor=False)
    lines = [critique_line(detail) for detail in details]
    clicked = tables.draw_clickable(
        lines, "selected_critiques", column_config=_right_aligned("Precision", "Recall", "F1")
    )
    if clicked is not None:
        draw_links(study, details[clicked])


def draw_links(study: Study, detail: CritiqueDetail) -> None:
    """Link to the AIUs of a critique and to its trace."""
    with st.container(horizontal=True):
        st.page_link(
            shell.page_path("label/aius.py"),
            label="AIUs",
            icon=":material/rule:",
            query_params={"study": study.name, "item": detail.item, "of": detail.critique},
        )
        if detail.trace is not None:
            st.page_link(
                shell.page_path("watch/traces.py"),
                label="Trace",
                icon=":material/forum:",
                query_params={"study": study.name, "trace": str(detail.trace), "critique": detail.critique},
            )


def draw_judges(leaderboard: Leaderboard) -> None:
    """Draw the AIU-level accuracy of each judge against people, for precision and recall (MetaCritique, Table 4)."""
    st.subheader("Accuracy of judges on AIUs", anchor=False)
    defined = [accuracy for accuracy in leaderboard.accuracies if accuracy.accuracy is not None]
    if not defined:
        st.caption(NO_ACCURACY)
        return
    series = accuracy_series(defined)
    figure = charts.shared_interval_figure(
        series,
        title="Accuracy of judges on AIUs",
        axis="Accuracy and 95 % interval",
        order=list(dict.fromkeys(accuracy.judge for accuracy in defined)),
        reference_line=None,
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        charts.draw(figure, "accuracy", "Accuracy of judges on AIUs, precision and recall")
    with right:
        st.caption(
            "Precision: is an AIU factual? Recall: is an AIU of the reference critique covered? Unreadable replies are "
            "left out; the last columns have the readable share, and the possible effect of the others. The number "
            "of AIUs is in parentheses."
        )
    lines = accuracy_lines(leaderboard.accuracies)
    help_text = {"Range": st.column_config.TextColumn(alignment="right", help=numbers.RANGE_HELP)}
    figures = tables.figure_columns(lines, {"Judge", "Task"}, help_text)
    st.dataframe(lines, hide_index=True, column_config=figures)
    tables.draw_notes(figures)


def display_name(row: Row) -> str:
    """Return the author, or "all people" and "all models" for groups."""
    return GROUP_NAMES[row.author] if row.group else row.author


def author_id(name: str) -> str:
    """Return the author or group of a display name."""
    return next((group for group, group_name in GROUP_NAMES.items() if group_name == name), name)


def sort_by_f1(rows: Sequence[Row]) -> list[Row]:
    """Return groups, then authors, each with the highest F1 first and undefined values last."""
    return sorted(rows, key=lambda row: (not row.group, row.f1 is None, -(row.f1 or 0.0), row.author))


def table_line(row: Row) -> dict[str, str | int]:
    """Return the leaderboard's table row of an author."""
    return {
        "Author": display_name(row),
        "Precision": _format(row.precision, row.precision_interval),
        "Recall": _format(row.recall, row.recall_interval),
        "F1": _format(row.f1, row.f1_interval),
        "Critiques": row.critiques,
        "AIUs": row.aius,
        "Coverage": "" if row.coverage is None else f"{100 * row.coverage:.0f} %",
        "Possible F1": numbers.format_range(row.f1_range),
    }


def critique_line(detail: CritiqueDetail) -> dict[str, str]:
    """Return the table row of one critique."""
    values = {"Precision": detail.score.precision, "Recall": detail.score.recall, "F1": detail.score.f1}
    scores = {name: numbers.format_estimate(value, None, None) for name, value in values.items()}
    unread = str(detail.unread) if detail.unread else ""
    return {"Item": detail.item, "Author": detail.author, **scores, "Unread": unread, "Critique": detail.text}


def accuracy_series(accuracies: Sequence[Accuracy]) -> list[Series]:
    """Return precision and recall over all critiques, by judge."""
    return [
        Series(
            title,
            {
                accuracy.judge: _point(accuracy.judge, task, accuracy.accuracy, accuracy.interval, accuracy.aius)
                for accuracy in accuracies
                if accuracy.task == task and accuracy.critiques == "all"
            },
            hollow=task == "recall",
            lists_items=False,
        )
        for task, title in (("precision", "Precision task"), ("recall", "Recall task"))
    ]


def accuracy_lines(accuracies: Sequence[Accuracy]) -> list[dict[str, str | int]]:
    """Return one table row per judge and task: accuracy on all critiques, on people's and on models'."""
    lines: dict[tuple[str, str], dict[str, str | int]] = {}
    columns = {"all": "All critiques", "human": "By people", "llm": "By models"}
    for accuracy in accuracies:
        line = lines.setdefault(
            (accuracy.judge, accuracy.task), {"Judge": accuracy.judge, "Task": accuracy.task.capitalize()}
        )
        value = f"{_format(accuracy.accuracy, accuracy.interval)} ({accuracy.aius:,})" if accuracy.aius else "–"
        line[columns[accuracy.critiques]] = value
        if accuracy.critiques == "all":
            line["Readable"] = numbers.format_readable(accuracy.aius, accuracy.aius + accuracy.unread)
            line["Range"] = numbers.format_range(accuracy.range)
    order = ("Judge", "Task", *columns.values(), "Readable", "Range")
    return [{name: line[name] for name in order if name in line} for line in lines.values()]


def rows_csv(rows: Iterable[Row]) -> str:
    """Return the rows of the leaderboard with their intervals and possible ranges as CSV."""
    lines = []
    for row in rows:
        intervals = (row.precision_interval, row.recall_interval, row.f1_interval)
        ranges = (row.precision_range, row.recall_range, row.f1_range)
        ends = [end for pair in (*intervals, *ranges) for end in (pair or ("", ""))]
        values = ["" if value is None else value for value in (row.precision, row.recall, row.f1)]
        coverage = "" if row.coverage is None else row.coverage
        counts = [row.critiques, row.aius, row.unread, coverage]
        lines.append([row.author, row.source, row.level, *values, *ends, *counts, row.group, row.reason])
    columns = [f"{name}_{end}" for pair in (("low", "high"), ("least", "most")) for name in SCORES for end in pair]
    header = ["author", "source", "level", *SCORES, *columns]
    return csv_text([*header, "critiques", "aius", "unread", "coverage", "group", "reason"], lines)


def f1_point(row: Row) -> AgreementRow:
    """Return F1 as an estimate for charts."""
    return _point(row.author, "f1", row.f1, row.f1_interval, row.critiques)


def _format(value: float | None, interval: Interval) -> str:
    return numbers.format_estimate(value, *(interval or (None, None)))


def _point(name: str, statistic: str, value: float | None, interval: Interval, items: int) -> AgreementRow:
    low, high = interval or (None, None)
    return AgreementRow(
        kind="critique",
        criterion="",
        group=name,
        statistic=statistic,
        value=value,
        low=low,
        high=high,
        items=items,
        raters=1,
        pairs=0,
        reason="",
    )


draw_page(
    shell.draw_header(
        "Critiques", "Whose critiques are factual and complete, and how accurately do judges evaluate them?"
    )
)
