"""Scores of critique authors by people and by judges, and the accuracy of judges on AIUs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from core.formats.tables import Column, Table
from pages.parts import charts, live, numbers, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import alignment_data, item_drilldown
from storage.labels import labels
from storage.reports import critiques
from storage.reports.critiques import GROUP_NAMES, PEOPLE, Accuracy, Leaderboard, Row, display_name
from storage.runs import aius
from storage.studies.studies import Study

LEVELS = {"macro": "Macro", "micro": "Micro"}
ACCURACY_NOTE = "Accuracy of a judge: the share of AIUs that it judges as people do."
NO_ACCURACY = "No AIU has been judged by both people and a judge. Run MetaCritique, or label the AIUs that it judged."
TASK_SERIES = (("Precision task", "circle"), ("Recall task", "circle-open"))
DETAIL_COLUMNS = (
    Column("Item", "item"),
    Column("Author", "author"),
    Column("Precision", "score.precision", "estimate"),
    Column("Recall", "score.recall", "estimate"),
    Column("F1", "score.f1", "estimate"),
    Column("Unread", lambda detail: f"{detail.unread:,}" if detail.unread else "", "figure"),
    Column("Critique", "text"),
)


def draw_page(study: Study) -> None:
    """Draw the answer in words, the leaderboard, the critiques of the selected author, and the judges."""
    alignment_data.rerun_on_change(study, alignment_data.label_version(study))
    item_drilldown.apply_selection()
    measure = partial(critiques.leaderboard, resources.engine(), study)
    version = *resources.read(labels.version, study.id), resources.read(aius.count_edits, study.id)
    leaderboard = live.cached(study, version, "critiques", measure)
    rows = [row for row in leaderboard.rows if row.author != critiques.REFERENCE]
    if not rows:
        links = (("label/aius.py", "Label AIUs", ":material/rule:"), shell.RUN, shell.IMPORT)
        fact, advice = "No critique of this study has been judged yet.", "Label AIUs, or start a MetaCritique run."
        return shell.draw_missing(study, fact, advice, *links, script="results/critiques.py", protocol="metacritique")
    source, level = choose_source(rows)
    chosen_rows = [row for row in rows if (row.source, row.level) == (source, level)]
    renderer.draw_result(board_result(leaderboard, chosen_rows, source, level))
    draw_selected_critiques(study, source)
    renderer.draw_result(judges_result(leaderboard.accuracies))


def choose_source(rows: Sequence[Row]) -> tuple[str, str]:
    """Draw the choices of the judge and of the level of averaging; both are in the URL."""
    sources = {row.source: "People" if row.source == PEOPLE else escape_markdown(row.source) for row in rows}
    weighted = (
        "Macro: every critique has the same weight, and F1 is the mean of their F1. Micro: every AIU has the same "
        "weight."
    )
    with alignment_data.draw_row():
        source = alignment_data.choose_segment("Judged by", sources, "source")
        return source, alignment_data.choose_segment("Average", LEVELS, "level", help=weighted)


def board_result(leaderboard: Leaderboard, rows: Sequence[Row], source: str, level: str) -> renderer.Result:
    """Return the best author and judge in words, F1 by author, and a table of all scores; a click selects an author."""
    ranking = sorted(rows, key=lambda row: (not row.group, row.f1.value is None, -(row.f1.value or 0.0), row.author))
    judges = critiques.describe_judges(leaderboard.accuracies)
    average = f"F1: {LEVELS[level].lower()} average, judged by {escape_markdown(source)}."
    marks = [
        renderer.Mark.of(display_name(row), row.f1, opens=display_name(row))
        for row in ranking
        if row.f1.value is not None
    ]
    chart = renderer.Intervals(
        "authors", f"F1 of critique authors, judged by {source}", f"{LEVELS[level]} F1 and 95 % interval",
        (("", "circle"),), marks, data=charts.ChartData(ranking, unit="AIUs"),
        on_select=lambda: item_drilldown.pick(author=charts.clicked_point("authors")),
        selected=st.query_params.get("author"),
    )  # fmt: skip
    pairs = [critiques.describe_pairs(counts) for counts in leaderboard.pairs if counts.source == source]
    undefined = "" if marks else "F1 is undefined: it needs AIUs of both the critique and its reference."
    return renderer.Result(
        headline=" ".join(filter(None, (critiques.describe_authors(rows), judges))),
        caption=f"{average} {ACCURACY_NOTE if judges else NO_ACCURACY}",
        figures=[chart],
        remark=" ".join(filter(None, (undefined, *pairs))),
        tables=[Table("critiques", ranking, critiques.COLUMNS)],
        on_click=lambda row, _: item_drilldown.pick(author=display_name(ranking[row])),
    )


def draw_selected_critiques(study: Study, source: str) -> None:
    """Draw the critiques of the selected author; a click offers links to their AIUs and traces."""
    author = st.query_params.get("author")
    if author is None:
        return
    name = next((group for group, group_name in GROUP_NAMES.items() if group_name == author), author)
    details = resources.read(critiques.drill_down, study.id, source, name, author in GROUP_NAMES.values())
    count = numbers.format_count(len(details), "critique")
    st.subheader(f"Selected: {count} by {escape_markdown(author)}", anchor=False)
    clicked = tables.draw(Table("selected_critiques", details, DETAIL_COLUMNS, ()), opens=True)
    if clicked is None:
        return
    detail = details[clicked]
    with st.container(horizontal=True):
        shell.draw_link("label/aius.py", "AIUs", "rule", study=study.name, item=detail.item, of=detail.critique)
        if detail.trace is not None:
            address = {"study": study.name, "trace": str(detail.trace), "critique": detail.critique}
            shell.draw_link("watch/traces.py", "Trace", "forum", **address)


def judges_result(accuracies: Sequence[Accuracy]) -> renderer.Result:
    """Return the AIU-level accuracy of each judge against people, for precision and recall (MetaCritique, Table 4)."""
    title = "Accuracy of judges on AIUs"
    marks = [
        replace(renderer.Mark.of(one.judge, one.accuracy, f"{one.task.capitalize()} task"), n=f"{one.aius:,}")
        for one in accuracies
        if one.accuracy.value is not None and one.critiques == "all"
    ]
    if not marks:
        return renderer.Result(title=title, caption=NO_ACCURACY)
    by_task: dict[tuple[str, str], dict[str, Accuracy]] = {}
    for one in accuracies:
        by_task.setdefault((one.judge, one.task), {})[one.critiques] = one
    return renderer.Result(
        title=title,
        figures=[renderer.Intervals("accuracy", title, "Accuracy and 95 % interval", TASK_SERIES, marks)],
        remark="Precision: is an AIU factual? Recall: is an AIU of the reference critique covered? Unreadable replies "
        "are left out; the last column has the readable share. The number of AIUs is in parentheses.",
        tables=[Table("accuracy", list(by_task.values()), critiques.ACCURACY_COLUMNS, ())],
    )


draw_page(
    shell.draw_header(
        "Critiques", "Whose critiques are factual and complete, and how accurately do judges evaluate them?"
    )
)
