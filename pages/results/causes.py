"""Is the judge wrong, or the people: the causes of each judge's disagreements, where they are, and what to label."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.formats.charts import place_rows
from core.formats.tables import Table
from core.provenance import CAUSE_MODEL
from core.statistics.measures.causes import CAUSES
from core.statistics.reports.judge_findings import Slice, SliceRow
from core.wording import format_count, format_percent
from pages.parts import charts, colours, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import alignment_data, item_drilldown
from pages.results.renderer import Drawn, Result, Section
from storage.accounts.access import Permission
from storage.reports import discordance, judge_errors, judge_ranking, opinions, rationales
from storage.reports.alignment import AlignmentData
from storage.reports.disagreements import Drilldown
from storage.reports.judge_errors import JudgeErrors
from storage.reports.judge_ranking import RankingQuery
from storage.reports.rationales import RationaleReport
from storage.studies import studies
from storage.studies.studies import Study

# The targets, and one of their judges, "" if none has disagreements that can be divided.
JudgeQuery = tuple[RankingQuery, str]
# Judges with a sentence: the chart and the table have all.
SENTENCES = 3
# Pixels of a row with a bar.
BAR_ROW = 32
SEPARATOR = ": "
NO_JUDGE = "No judge has disagreements that can be divided: the tab Causes has the reasons."
DEFINITIONS = (
    "Targets are those with a verdict of the judge, two labels or more, and a majority of the annotators; the page "
    "Judges also counts those without a verdict. A disagreement is a "
    "verdict that is not this majority. Judge error: fewer than a third of "
    "all possible annotators would choose the judge's verdict. Human noise: more than two thirds would, and those "
    "who labelled are the exception. Ambiguity: people are divided. Estimated from the votes on each target, how "
    "often annotators agree, and how often the judge is right on clear targets. Few labels cannot tell divided "
    "people from clear targets with annotators that err: the 95 % intervals allow for both, so they are wide, and "
    "held the true shares in 92 to 100 % of planted studies."
)


def filters(data: AlignmentData) -> RankingQuery | None:
    """Draw the choices of a kind, a criterion and a scenario."""
    keys = judge_ranking.rankable(data)
    return alignment_data.choose_query(keys, partial(judge_ranking.scenarios, data)) if keys else None


def judge_filters(data: AlignmentData) -> JudgeQuery | None:
    """Draw the same with the choice of a judge that has disagreements, the one with the most first."""
    query = filters(data)
    if query is None:
        return None
    names = [errors.judge for errors in errors_of(data, query) if errors.uncertain]
    return query, alignment_data.choose("Disagreements of", names, "judge") if names else ""


def errors_of(data: AlignmentData, query: RankingQuery) -> list[JudgeErrors]:
    """Return the disagreements of all judges, which are divided once."""
    return opinions.once(data, ("causes", query), lambda: judge_errors.report(data, query))


# The causes of each judge's disagreements.


def show_causes(study: Study, data: AlignmentData, query: RankingQuery, found: list[JudgeErrors]) -> Result:
    """Return the sentences, the chart and the table."""
    sentences = " ".join(errors.sentence for errors in found)
    divided = [errors for errors in found if errors.causes.shares]
    columns = [column for column in judge_errors.COLUMNS if divided or column.form != "estimate"]
    chart = charts.ChartData(judge_errors.table(found), CAUSE_MODEL, "targets")
    return Result(
        headline=" ".join(errors.sentence for errors in found[:SENTENCES]),
        caption=DEFINITIONS,
        figures=[Drawn("causes", causes_figure(divided), sentences, data=chart)] if divided else [],
        tables=[Table("causes", found, columns, chart.rows)],
    )


def draw_reasons(study: Study, data: AlignmentData, query: RankingQuery, found: list[JudgeErrors]) -> None:
    """Draw why the disagreements of judges are not divided."""
    numbers.draw_reasons({errors.judge: errors.causes.reason for errors in found})


@charts.built_once
def causes_figure(judged: Sequence[JudgeErrors]) -> go.Figure:
    """Return a bar for each judge, divided into the causes of its disagreements."""
    endings = {errors.judge: f" · n {errors.causes.disagreements:,}" for errors in judged}
    rows = place_rows(endings, row_height=BAR_ROW, endings=endings)
    fills = (charts.accent_colour(), charts.GREY, "#B35806")
    figure = go.Figure()
    for number, (cause, fill) in enumerate(zip(CAUSES, fills, strict=True)):
        shares = [errors.causes.shares[number] for errors in judged]
        figure.add_trace(
            go.Bar(
                x=[share.value for share in shares],
                y=[rows.positions[errors.judge] for errors in judged],
                width=0.75,
                name=cause,
                orientation="h",
                marker={"color": fill, "line": {"width": 0}},
                text=[f"{share.value:.0%}" if share.value >= 0.07 else "" for share in shares],
                textposition="inside",
                textangle=0,
                insidetextanchor="middle",
                textfont={"color": colours.text_colour(fill), "size": 11},
                hovertext=[
                    f"<b>{escape(errors.judge, quote=False)}</b><br>{cause} {format_percent(share.value)} "
                    f"[{format_percent(share.low)}, {format_percent(share.high)}]<br>"
                    f"n {errors.causes.disagreements:,} disagreements"
                    for errors, share in zip(judged, shares, strict=True)
                ],
                hoverinfo="text",
            )
        )
    figure.update_yaxes(
        tickvals=list(rows.positions.values()), ticktext=[rows.labels[name] for name in rows.positions],
        range=[0, rows.end], showgrid=False, zeroline=False,
    )  # fmt: skip
    figure.update_xaxes(title="Share of the disagreements", range=[0, 1], tickformat=".0%", zeroline=False, nticks=4)
    charts.apply_layout(figure, "Causes of each judge's disagreements", 130 + rows.height, legend=True)
    return figure.update_layout(barmode="stack")


# Slices of the targets, of which one can be opened, saved, and compared with another.


def chosen_slice() -> Slice | None:
    """Return the slice in the URL."""
    feature, separator, value = st.query_params.get("slice", "").partition(SEPARATOR)
    return (feature, value) if separator else None


def open_slice(rows: Sequence[SliceRow]) -> Callable[[int, str], None]:
    """Return what a click on a table of slices calls."""
    return lambda row, _: item_drilldown.pick(slice=SEPARATOR.join(rows[row].slice))


def contentions_of(study: Study, data: AlignmentData) -> discordance.Contentions:
    """Return the contention of the study's verdicts, which is read once."""
    return opinions.once(data.opinions, "contentions", partial(resources.read, discordance.contentions, study.id))


def compute_slices(study: Study, data: AlignmentData, query: JudgeQuery) -> list[SliceRow]:
    """Return the slices of all judges."""
    return discordance.report(data, query[0], contentions_of(study, data))


def show_slices(study: Study, data: AlignmentData, query: JudgeQuery, rows: list[SliceRow]) -> Result | str:
    """Return where a judge differs more often; a click on a row selects the slice."""
    judge = query[1]
    own = [row for row in rows if row.judge == judge]
    if not own:
        return "No slice has five targets inside and outside of it." if judge else NO_JUDGE
    return Result(
        title="Where does it differ more often?",
        headline=summarize(judge, own),
        caption="Targets are those with a verdict of the judge and a majority of people, one label included; for *not "
        "unanimous* those with two labels or more. Fisher's exact test, corrected "
        "by Benjamini and Hochberg's method over all judges. Click a row.",
        tables=[Table("slices", own, discordance.COLUMNS, discordance.table(rows))],
        on_click=open_slice(own),
    )


def draw_slices(study: Study, data: AlignmentData, query: JudgeQuery, rows: list[SliceRow]) -> None:
    """Draw the targets of the chosen slice, the saved slices, and the comparison of two."""
    measured = contentions_of(study, data)
    draw_slice(study, query[1], partial(discordance.differing_targets, data, query[0], measured, query[1]))
    found = list(dict.fromkeys(row.slice for row in rows))
    draw_save(study, found, chosen_slice())

    draw_comparison(study, data, query[0], measured, found)


def draw_slice(study: Study, judge: str, find: Callable[[Slice, str | None], Drilldown]) -> None:
    """Draw the targets of the chosen slice, if there is one, on which the judge differs."""
    chosen = chosen_slice()
    if chosen is not None:
        text = f"{judge} differs from people on {SEPARATOR.join(chosen)}"
        found = find(chosen, shell.current_annotator())
        item_drilldown.draw_targets(study, found, text, lambda: item_drilldown.pick(slice=None))


def summarize(judge: str, tested: Sequence[SliceRow]) -> str:
    """Return where the judge differs significantly more often, the largest excess first, or that it does nowhere."""
    found = [row for row in tested if row.found and row.excess > 0]
    if not found:
        counts = [row.targets + row.targets_outside for row in tested]
        return (
            f"{judge} does not differ from people significantly more often in any slice: "
            f"{format_count(len(tested), 'slice')} tested, n {numbers.format_span(counts)}, p corrected."
        )
    parts = [
        f"{' '.join(row.slice)} ({row.differing:,} of {row.targets:,}, otherwise {row.differing_outside:,} of "
        f"{row.targets_outside:,})"
        for row in sorted(found, key=lambda row: -row.excess)[:3]
    ]
    return f"{judge} differs from people more often on these targets: {'; '.join(parts)}."


def draw_save(study: Study, found: Sequence[Slice], chosen: Slice | None) -> None:
    """Draw the form that saves one or several conditions as a slice, and the saved slices."""
    if not permissions.allows(study.id, Permission.edit):
        return
    options = [SEPARATOR.join(one) for one in found]
    selected = [SEPARATOR.join(chosen)] if chosen is not None and SEPARATOR.join(chosen) in options else []
    with st.popover("Saved slices", icon=":material/bookmark:"):
        with st.form("save_slice", border=False):
            conditions = st.multiselect("Targets that meet all of", options, selected, key="slice_conditions")
            name = st.text_input("Name", key="slice_name")
            if st.form_submit_button("Save slice"):
                parts = [found[options.index(condition)] for condition in conditions]
                with permissions.writing(study.id, Permission.edit, f"slice saved: {name}") as session:
                    studies.save_slice(session, study.id, name, parts)
                st.rerun()
        for number, (saved, of_saved) in enumerate(study.rules.slices.items()):
            with st.container(horizontal=True, vertical_alignment="center"):
                described = " and ".join(SEPARATOR.join(condition) for condition in of_saved)
                st.markdown(f"**{escape_markdown(saved)}** {escape_markdown(described)}")
                if st.button("Delete", key=f"delete_slice_{number}", type="tertiary", icon=":material/delete:"):
                    with permissions.writing(study.id, Permission.edit, f"slice deleted: {saved}") as session:
                        studies.delete_slice(session, study.id, saved)
                    st.rerun()


def draw_comparison(
    study: Study, data: AlignmentData, query: RankingQuery, measured: discordance.Contentions, found: Sequence[Slice]
) -> None:
    """Draw the choice of two slices, saved or of the table, and the difference of each judge between them."""
    slices: dict[str, discordance.Conditions] = {SEPARATOR.join(one): (one,) for one in found}
    slices = dict(study.rules.slices) | {name: one for name, one in slices.items() if name not in study.rules.slices}
    if len(slices) < 2:
        return
    names = list(slices)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = st.selectbox("Compare", names, index=None, key="first", bind="query-params", placeholder="a slice")
        second = st.selectbox("with", names, index=None, key="second", bind="query-params", placeholder="another one")
    if first is None or second is None or first == second:
        return
    rows = discordance.compare_slices(data, query, measured, (first, second), (slices[first], slices[second]))
    if not rows:
        st.caption("Each slice needs five targets that the other one does not have.")
        return
    caption = (
        "How often each judge differs from people in the first slice minus the second; targets of both are left out. "
        "Fisher's exact test, corrected over the judges."
    )
    table = Table("compared_slices", rows, discordance.COMPARISON_COLUMNS, ())
    renderer.draw_result(Result(caption=caption, tables=[table]))


# Clusters of a judge's replies.


def show_rationales(study: Study, data: AlignmentData, query: JudgeQuery, report: RationaleReport) -> Result | str:
    """Return the clusters; a click on a row selects one."""
    if not report.rows:
        reason = f"No clusters of replies: {report.reason or 'no cluster has five targets'}."
        return reason if query[1] else NO_JUDGE
    return Result(
        title="What does it write when it differs?",
        headline=summarize(query[1], report.rows),
        caption=f"{len(report.places):,} replies in {len(report.names)} clusters by their words (TF-IDF, k-means), "
        "each named after its most characteristic terms, and tested as a slice; corrected over the clusters. Click a "
        "row.",
        tables=[Table("rationales", report.rows, discordance.COLUMNS)],
        on_click=open_slice(report.rows),
    )


def draw_rationales(study: Study, data: AlignmentData, query: JudgeQuery, report: RationaleReport) -> None:
    """Draw the targets of the chosen cluster."""
    draw_slice(study, query[1], partial(rationales.differing_targets, data, query[0], report, query[1]))


# More labels of the targets that tell most about the causes.


def show_request(study: Study, data: AlignmentData, query: JudgeQuery, found: list[JudgeErrors]) -> Result | str:
    """Return how many targets are offered for one more label."""
    if not query[1]:
        return NO_JUDGE
    errors = next(errors for errors in found if errors.judge == query[1])
    return Result(
        title=f"The most informative: {format_count(len(errors.uncertain), 'target')}",
        remark="One more label of these tells most about the causes: the chances of the three are closest to even.",
    )


def draw_request(study: Study, data: AlignmentData, query: JudgeQuery, found: list[JudgeErrors]) -> None:
    """Draw the button that asks for more labels of the most uncertain disagreements of a judge, and these."""
    errors = next(errors for errors in found if errors.judge == query[1])
    chosen = [one.target for one in judge_errors.informative(data, query[0], errors).items]
    requested_key = f"requested_{study.id}_{errors.judge}"
    label = f"Ask annotators for one more label of the {format_count(len(chosen), 'target')}"
    if st.button(label, icon=":material/person_add:", key="request_labels"):
        with permissions.writing(study.id, Permission.edit, "") as session:
            st.session_state[requested_key] = judge_errors.request_labels(session, study.id, chosen, errors, query[0])
    if requested := st.session_state.get(requested_key):
        text = format_count(requested, "target")
        st.success(f"One more label of {text} is requested; they are in the annotators' queues. The causes are "
                   "estimated again with every new label.")  # fmt: skip
    listed = judge_errors.informative(data, query[0], errors, shell.current_annotator())
    item = item_drilldown.draw_drilldown(listed)
    if item is not None:
        item_drilldown.draw_detail(study, item)


QUESTION = "Where a judge and people disagree: is the judge wrong, or the people?"
# Name, title, filters, what is computed, shown, and drawn below.
PARTS: Sequence[tuple[Any, ...]] = (
    ("causes", "Causes", filters, lambda study, data, query: errors_of(data, query), show_causes, draw_reasons),
    ("slices", "Slices", judge_filters, compute_slices, show_slices, draw_slices),
    (
        "rationales", "Replies", judge_filters,
        lambda study, data, query: resources.read(rationales.report, data, *query), show_rationales, draw_rationales,
    ),
    (
        "to_label", "To label", judge_filters,
        lambda study, data, query: errors_of(data, query[0]), show_request, draw_request,
    ),
)  # fmt: skip
SECTIONS: Sequence[Section[Any, Any]] = [
    Section(name, title, choices, compute, show, judge_ranking.why_unranked, below=below)
    for name, title, choices, compute, show, below in PARTS
]

study = shell.draw_header("Causes", QUESTION)
in_address = chosen_slice()  # an address with a slice opens the tab of its kind
opened = SECTIONS[0] if in_address is None else SECTIONS[2] if in_address[0] == rationales.FEATURE else SECTIONS[1]
renderer.draw_sections(study, SECTIONS, opened.title, reference="majority")
