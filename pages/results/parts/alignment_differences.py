"""Where one judge and people differ: tables of values whose cells open their items, changes of mind, and leanings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.labels import Scale
from pages.parts import charts, numbers, resources, shell
from pages.parts.text import plain
from pages.results.parts import agreement_rows, alignment_charts, alignment_rows, item_drilldown
from pages.results.parts.alignment_charts import Judges, Naming
from pages.results.parts.alignment_rows import CHOICES, Figures
from storage.reports import disagreements, opinion_changes
from storage.reports.alignment import Sides
from storage.reports.disagreements import DIVIDED, SILENT, Behind, Pair, Wanted
from storage.reports.opinion_changes import Move
from storage.studies import Study

OPENED = ("scenario", "cell", "move", "leaning", "item")
"""What a click leaves in the address."""
DIFFER = "differ"
"""The cell that stands for every item on which judge and people differ."""
LEANINGS = {"shown_first": "the response that it was shown first", "longer": "the longer response"}
ELSEWHERE = {
    "aiu": (
        "critiques",
        "Critiques",
        "The verdicts behind these are the AIUs: choose precision or recall above, or see the authors ranked.",
    ),
    "aspect_weights": ("weights", "Weights", "Weights have a page of their own, with the items behind every distance."),
}
"""Kinds whose items are shown on another page: its script and name, and what to say."""


@dataclass(frozen=True)
class Subject:
    """What the page is about, as it was chosen above."""

    study: Study
    at: tuple[int, ...]
    """The version of the labels."""
    there: Sides
    figures: Figures
    judges: Sequence[str]
    kind: str
    criterion: str
    statistic: str
    by_scenario: bool


@st.cache_resource(max_entries=16, show_spinner=False)
def spoken(
    address: str, study_id: int, at: tuple[int, ...], wanted: Wanted, _there: Sides
) -> tuple[list[Pair], list[Move]]:
    """What the judge and people said, and how opinions moved, at a version of the labels; nobody may change it."""
    return disagreements.pairs(_there, wanted), opinion_changes.moves(_there, wanted)


def open(judge: str | None = None, **clicked: str) -> None:
    """From a click: show the items of this cell, move, leaning or scenario, and nothing clicked before."""
    if judge is not None:
        st.session_state["judge"] = judge
    st.session_state["opened"] = st.session_state.get("opened", 0) + 1
    st.session_state["clicked"] = {name: clicked.get(name) for name in OPENED}


def close() -> None:
    """Forget what was clicked."""
    open()


def within(**clicked: str) -> None:
    """The same from a click inside a scenario, which stays."""
    scenario = st.query_params.get("scenario")
    open(**({} if scenario is None else {"scenario": scenario}), **clicked)


def show(subject: Subject) -> None:
    """The judge that is chosen, and everything that can be clicked about it."""
    kind, statistic = subject.kind, subject.statistic
    with st.container(horizontal=True, vertical_alignment="bottom", key="apart"):
        st.subheader("Where they disagree", anchor=False, width="content")
        judge = subject.judges[0]
        if len(subject.judges) > 1 and kind not in ELSEWHERE:
            judge = st.selectbox("Judge", subject.judges, key="judge", bind="query-params", width=300, on_change=close)
    if kind in ELSEWHERE:
        return elsewhere(subject.study, kind)
    if subject.by_scenario:
        rows = {group: rows for (name, group), rows in subject.figures.items() if name == judge}
        scenarios(rows, judge, statistic)
    wanted = Wanted(judge, kind, subject.criterion, st.query_params.get("scenario"))
    if wanted.scenario is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Scenario: **{plain(agreement_rows.place(wanted.scenario))}**", width="content")
            st.button("All scenarios", icon=":material/close:", type="tertiary", key="all_scenarios", on_click=close)
    details(subject, wanted)


def details(subject: Subject, wanted: Wanted) -> None:
    """Tables of values, the items behind what was clicked, and leanings."""
    there, study = subject.there, subject.study
    pairs, moves = spoken(str(resources.engine().url), study.id, subject.at, wanted, there)
    pooled = wanted.criterion == disagreements.ALL
    scale = there.scales.get((wanted.kind, there_of(there, wanted.kind) if pooled else wanted.criterion))
    found = disagreements.compared(pairs)
    left, right = st.columns(2, gap="large")
    with left:
        beside(found, wanted, scale)
    with right if found else left:
        flow(moves, wanted, scale)
    behind(study, wanted, pairs, moves, categorical=disagreements.categorical(pairs, scale))


def there_of(there: Sides, kind: str) -> str:
    """A criterion of the kind; where criteria are pooled they share one scale."""
    return next((criterion for one, criterion in there.scales if one == kind), "")


def elsewhere(study: Study, kind: str) -> None:
    """Critiques as a whole and weights have pages of their own."""
    script, label, told = ELSEWHERE[kind]
    st.caption(told)
    st.page_link(shell.page(f"results/{script}.py"), label=label, query_params={"study": study.name})


def scenarios(rows: Mapping[str, Mapping[str, alignment_rows.AlignmentRow]], judge: str, statistic: str) -> None:
    """The judge in each scenario, beside people there; a click narrows everything below to it."""
    choice = CHOICES[statistic]
    drawn = {agreement_rows.place(group): one for group, one in rows.items() if group != "all"}
    points = alignment_rows.points(drawn, statistic)
    points = dict(sorted(points.items(), key=lambda pair: -(pair[1].value or 0.0)))
    if points:
        details = {name: alignment_rows.details(drawn[name], statistic, None) for name in points}
        shown = {name: drawn[name] for name in points}
        beside = alignment_rows.points(shown, choice.beside)
        figure = alignment_charts.judges(
            Judges(points, beside, alignment_rows.points(shown, choice.ceiling) if beside else {}, details),
            title=f"{choice.name}, by scenario",
            axis="Value and 95 % interval",
            names=(choice.whose, choice.beside_name),
            chosen=st.query_params.get("scenario"),
        )
        with st.container(height=640 if len(points) > 9 else "content", border=False):
            charts.draw(figure, "by_scenario_chart", f"{choice.name} of {judge} by scenario", _scenario)
    for reason, names in alignment_rows.undefined(drawn, statistic).items():
        st.caption(f":material/help: No value for {', '.join(map(plain, names))}: {plain(reason)}.")


def _scenario() -> None:
    name = charts.clicked("by_scenario_chart")
    scenario = "" if name == agreement_rows.place("") else name
    open(**({} if name is None else {"scenario": scenario}))


def naming(wanted: Wanted, scale: Scale, down: str, across: str) -> Naming:
    """What the sides of a table are called, and its values."""
    names = {name: alignment_rows.values(wanted.kind, name) for name in disagreements.names(scale)}
    return Naming(down, across, names)


def beside(found: Sequence[Pair], wanted: Wanted, scale: Scale | None) -> None:
    """The judge's values beside people's."""
    if not found or scale is None:
        st.caption("People have labelled none of what this judge was asked, so that there is no table of both.")
        return
    if disagreements.categorical(found, scale):
        matrix = disagreements.table([one.place for one in found], scale, (SILENT, DIVIDED))
        names = naming(wanted, scale, "Judge", "People, by majority")
        title = f"Judge and people: {numbers.count(len(found), alignment_rows.noun(wanted.kind))}"
        figure = alignment_charts.matrix(matrix, names, title=title, chosen=st.query_params.get("cell"))
        charts.draw(figure, "cells", alt(title, matrix, names), lambda: _clicked("cells", "cell"))
    else:
        title = f"Judge and people: {numbers.count(len(found), alignment_rows.noun(wanted.kind))}"
        item = st.query_params.get("item")
        figure = alignment_charts.scores(found, judge=wanted.judge, title=title, chosen=item)
        charts.draw(figure, "dots", title, _dot)


def alt(title: str, matrix: disagreements.Matrix, names: Naming) -> str:
    """A table of values in words."""
    told = [
        f"{names.values.get(down, down)} and {names.values.get(across, across)}: {count}"
        for (down, across), count in matrix.counts.items()
    ]
    return f"{title}. {'; '.join(told)}"


def _clicked(chart: str, parameter: str) -> None:
    place = charts.clicked(chart)
    within(**({} if place is None else {parameter: place}))


def _dot() -> None:
    item = charts.clicked("dots")
    within(**({} if item is None else {"cell": DIFFER, "item": item}))


def flow(moves: Sequence[Move], wanted: Wanted, scale: Scale | None) -> None:
    """First and last opinions, and whether minds changed towards people."""
    if not moves or scale is None or not disagreements.categorical([one.pair for one in moves], scale):
        return
    matrix = disagreements.table([one.place for one in moves], scale, (SILENT, SILENT))
    several = len({one.judge for one in moves}) > 1
    names = naming(wanted, scale, "First opinion", "Last opinion")
    title = f"First and last{' of all judges' * several}: {numbers.count(len(moves), 'opinion')}"
    figure = alignment_charts.matrix(matrix, names, title=title, chosen=st.query_params.get("move"))
    charts.draw(figure, "moves", alt(title, matrix, names), lambda: _clicked("moves", "move"))
    found = opinion_changes.turned(moves)
    known = found.changed - found.unknown
    told = f"Changed {numbers.count(found.changed, 'opinion')} of {found.opinions:,}."
    if known:
        told += f" Where people have a majority ({known:,}): {found.towards:,} towards it, {found.away:,} away from it."
    st.caption(told)


def behind(study: Study, wanted: Wanted, pairs: Sequence[Pair], moves: Sequence[Move], *, categorical: bool) -> None:
    """The items of what was clicked, if anything was."""
    found = _wanted(wanted, pairs, moves, categorical)
    if found is None:
        st.caption("Click a judge, a cell or a point to see the items behind it.")
        return
    told, there = found
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(f"Items behind what you clicked: {len(there.items):,}", anchor=False, width="content")
        st.button("Close", icon=":material/close:", type="tertiary", key="close_items", on_click=close)
    st.caption(plain(" · ".join(filter(None, (told, wanted.scenario)))))
    if there.hidden:
        hidden = numbers.count(there.hidden, "more item")
        st.caption(f":material/visibility_off: {hidden}: not told, because you have not labelled them yourself.")
    if not there.items:
        return
    item_drilldown.listed(list(there.items[: item_drilldown.MOST]))
    if len(there.items) > item_drilldown.MOST:
        st.caption(f"The first {item_drilldown.MOST} of {numbers.count(len(there.items), 'item')}.")
    one = next((one for one in there.items if one.target.item == st.query_params.get("item")), None)
    if one is not None:
        item_drilldown.detail(study, one)


def _wanted(
    wanted: Wanted, pairs: Sequence[Pair], moves: Sequence[Move], categorical: bool
) -> tuple[str, Behind] | None:
    """What was clicked in words, and its items."""
    clicked, viewer, judge = st.query_params, shell.annotator(), wanted.judge
    if cell := clicked.get("cell"):
        found = disagreements.in_cell(pairs, None if cell == DIFFER else cell, categorical=categorical)
        down, _, across = cell.partition(" × ")
        values = [alignment_rows.values(wanted.kind, name) for name in (down, across)]
        words = f"{judge} and most people differ" if categorical else f"{judge} and people, the furthest apart first"
        told = words if cell == DIFFER else f"{judge}: {values[0]} · people: {values[1]}"
        return told, disagreements.behind(found, judge, viewer)
    if move := clicked.get("move"):
        down, _, across = move.partition(" × ")
        values = [alignment_rows.values(wanted.kind, name) for name in (down, across)]
        return f"First {values[0]} · last {values[1]}", opinion_changes.behind(
            [one for one in moves if one.place == (down, across)], viewer
        )
    leaning = clicked.get("leaning")
    if leaning in LEANINGS:
        there = [one for one in pairs if one.leans("longer" if leaning == "longer" else "shown_first")]
        return f"{judge} chose {LEANINGS[leaning]}", disagreements.behind(there, judge, viewer)
    return None
