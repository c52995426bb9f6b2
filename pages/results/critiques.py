"""Whose critiques are best, as people and judges see them, and how well each judge tells true AIUs from false ones."""

from collections.abc import Sequence

import streamlit as st

from pages.parts import charts, numbers, resources, shell
from pages.parts.charts import Series
from pages.parts.text import plain
from pages.results.parts import critique_rows
from storage import aius, database, labels, studies
from storage.reports import critiques
from storage.reports.critiques import Behind, Board, Row
from storage.studies import Study

LEVELS = {"macro": "Macro", "micro": "Micro"}
PEOPLE = "people"


def version(study: Study) -> tuple[int, ...]:
    """Changes whenever a label, an opinion or an edit of AIUs is added."""
    with database.reading(resources.engine()) as session:
        return (*labels.version(session, study.id), aius.count(session, study.id))


@st.cache_data(max_entries=64, show_spinner=False)
def told(address: str, study_id: int, at: tuple[int, ...]) -> Board:
    """The figures of a version of the labels; everybody who looks shares them."""
    with database.reading(resources.engine()) as session:
        study = studies.of_id(session, study_id)
    return critiques.board(resources.engine(), study)


def show(study: Study) -> None:
    """The leaderboard, the judges, and the critiques behind what was clicked."""
    found = told(str(resources.engine().url), study.id, version(study))
    rows = [row for row in found.rows if row.author != critiques.REFERENCE]
    if not rows:
        return nothing(study)
    source, level = choices(rows)
    leaderboard(found, [row for row in rows if (row.source, row.level) == (source, level)], source, level)
    behind(study, source)
    judges(found)


def choices(rows: Sequence[Row]) -> tuple[str, str]:
    """Who judges, and what weighs the same; both are in the address."""
    sources = list(dict.fromkeys(row.source for row in rows))
    with st.container(horizontal=True, vertical_alignment="bottom", key="choices"):
        source = st.segmented_control(
            "As seen by",
            sources,
            format_func=lambda name: "People" if name == PEOPLE else name,
            default=sources[0],
            required=True,
            key="source",
            bind="query-params",
        )
        level = st.segmented_control(
            "Level",
            list(LEVELS),
            format_func=LEVELS.__getitem__,
            default="macro",
            required=True,
            key="level",
            bind="query-params",
            help="Macro: every critique weighs the same, and F1 is the mean of their F1. Micro: every AIU does.",
        )
    return (source if source in sources else sources[0]), (level or "macro")


def nothing(study: Study) -> None:
    """What to do where no critique has been judged."""
    st.info("No critique has been judged in this study yet. Scores show here as soon as a person or a judge has.")
    shell.offer_sample("results/critiques.py", "metacritique")
    with st.container(horizontal=True):
        for script, label, icon in (
            ("label/aius.py", "Judge AIUs", ":material/rule:"),
            ("setup/runs.py", "Start a MetaCritique run", ":material/play_circle:"),
            ("setup/studies.py", "Import", ":material/upload_file:"),
        ):
            st.page_link(shell.page(script), label=label, icon=icon, query_params={"study": study.name})


def leaderboard(found: Board, rows: Sequence[Row], source: str, level: str) -> None:
    """F1 of each author with its interval, and a table of all three scores; a click opens an author's critiques."""
    best = critique_rows.best_first(rows)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        chart(best, source, level)
    with right:
        pairs(found, source)
        for reason in dict.fromkeys(row.reason for row in best if row.reason):
            who = [plain(critique_rows.named(row)) for row in best if row.reason == reason]
            st.caption(f"{', '.join(who[:3])}{' …' if len(who) > 3 else ''}: {plain(reason)}.")
        st.download_button(
            "Download as CSV",
            critique_rows.as_csv(rows),
            file_name="critiques.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            key="download",
        )
    st.dataframe(
        [critique_rows.line(row) for row in best],
        key="board",
        on_select=lambda: _rowed([critique_rows.named(row) for row in best]),
        selection_mode="single-row",
        hide_index=True,
        height=min(38 + 35 * len(best), 420),
        column_config=_right_aligned("Precision", "Recall", "F1"),
    )


def chart(best: Sequence[Row], source: str, level: str) -> None:
    """F1 by author, where it is defined."""
    drawn = {critique_rows.named(row): critique_rows.as_point(row) for row in best if row.f1 is not None}
    if not drawn:
        st.caption("No F1 yet: it needs AIUs of both the critique and its reference.")
        return
    figure = charts.points(
        [Series("", drawn)],
        title="F1 of critique authors, as people see them" if source == PEOPLE else f"F1, as {source} sees the authors",
        axis=f"{level.capitalize()} F1, with its 95 % interval",
        order=list(drawn),
        chosen=st.query_params.get("author"),
        ceiling=None,
    )
    told_aloud = "; ".join(f"{name} {numbers.estimate(row.value, None, None)}" for name, row in drawn.items())
    charts.draw(figure, "authors", f"F1 by author: {told_aloud}", _pointed)


def _right_aligned(*names: str) -> dict[str, object]:
    return {name: st.column_config.TextColumn(alignment="right") for name in names}


def _pointed() -> None:
    _open(charts.clicked("authors"))


def _rowed(names: list[str]) -> None:
    rows = st.session_state["board"].selection.rows
    _open(names[rows[0]] if rows else None)


def _open(author: str | None) -> None:
    if author is None:
        st.query_params.pop("author", None)
    else:
        st.query_params["author"] = author


def pairs(found: Board, source: str) -> None:
    """Which of two critiques by models is better, item by item."""
    for one in found.pairs:
        there = one.first + one.second + one.tie
        if one.source == source and there:
            lost = f"; {numbers.count(one.undefined, 'pair')} without a defined F1" if one.undefined else ""
            st.caption(
                f"Two critiques by models on the same item, by F1: the first is better on {one.first} of {there}, the "
                f"second on {one.second}, equal on {one.tie}{lost}."
            )


def behind(study: Study, source: str) -> None:
    """The critiques of the author that was clicked, each one click from the desk and from its trace."""
    author = st.query_params.get("author")
    if author is None:
        return
    name = critique_rows.plain_name(author)
    with database.reading(resources.engine()) as session:
        there = critiques.behind(session, study.id, source, name, critique_rows.is_group(author))
    st.subheader(f"Critiques behind it: {numbers.count(len(there), 'critique')} by {plain(author)}", anchor=False)
    chosen = st.dataframe(
        [critique_rows.behind_line(one) for one in there],
        key="behind",
        on_select="rerun",
        selection_mode="single-row",
        hide_index=True,
        height=min(38 + 35 * len(there), 420),
        column_config=_right_aligned("Precision", "Recall", "F1"),
    )
    if chosen.selection.rows:
        links(study, there[chosen.selection.rows[0]])


def links(study: Study, one: Behind) -> None:
    """From a critique to where it is judged, and to how it was."""
    with st.container(horizontal=True):
        st.page_link(
            shell.page("label/aius.py"),
            label="Its AIUs",
            icon=":material/rule:",
            query_params={"study": study.name, "item": one.item, "of": one.critique},
        )
        if one.trace is not None:
            st.page_link(
                shell.page("watch/traces.py"),
                label="How it was judged",
                icon=":material/forum:",
                query_params={"study": study.name, "trace": str(one.trace), "critique": one.critique},
            )


def judges(found: Board) -> None:
    """AIU-level accuracy of each judge against people, precision and recall apart (MetaCritique, Table 4)."""
    st.subheader("Judges against people, AIU by AIU", anchor=False)
    there = [one for one in found.accuracies if one.accuracy is not None]
    if not there:
        st.caption("No AIU has been judged by people and by a judge yet: run MetaCritique, or label what it judged.")
        return
    figure = charts.points(
        critique_rows.accuracies(there),
        title="Accuracy of judges on AIUs",
        axis="Share of AIUs with the same answer",
        order=list(dict.fromkeys(one.judge for one in there)),
        chosen=None,
        ceiling=None,
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        charts.draw(figure, "accuracy", "Accuracy of judges on AIUs, precision and recall", "ignore")
    with right:
        st.caption(
            "Precision: is an AIU factual? Recall: is an AIU of the reference critique covered? A reply that cannot be "
            "read is neither right nor wrong; it is counted under Unread. In parentheses: AIUs."
        )
    st.dataframe(
        critique_rows.accuracy_lines(found.accuracies),
        hide_index=True,
        column_config=_right_aligned("All critiques", "By people", "By models", "Unread"),
    )


show(shell.opened("Critiques", "Whose critiques are factual and complete, and which judge can be trusted to say so."))
