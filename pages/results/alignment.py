"""How closely each judge follows people, beside how closely people follow each other; and where they differ."""

from collections.abc import Mapping, Sequence

import streamlit as st

from core.statistics.reports.agreement import AlignmentRow
from pages.parts import charts, numbers, resources, shell
from pages.parts.text import plain
from pages.results.parts import (
    agreement_rows,
    alignment_charts,
    alignment_differences,
    alignment_rows,
    item_drilldown,
    judge_biases,
)
from pages.results.parts.alignment_charts import Judges
from pages.results.parts.alignment_differences import Subject
from pages.results.parts.alignment_rows import CHOICES, KINDS, Figures, Place
from storage import database, studies
from storage.reports import alignment, disagreements, judge_costs
from storage.reports.alignment import Sides
from storage.reports.judge_costs import Cost
from storage.studies import Study

Version = tuple[int, ...]
WIDTH = 146  # pixels for `-0.62 [-0.71, -0.51]`; a text here would be shown on the page


def version(study: Study) -> Version:
    """Changes whenever somebody saves a label, or a judge gives an opinion."""
    with database.reading(resources.engine()) as session:
        return disagreements.version(session, study.id)


@st.cache_resource(max_entries=4, show_spinner=False)
def sides(address: str, study_id: int, at: Version) -> Sides:
    """Who said what, at a version of the labels; nobody may change it."""
    with database.reading(resources.engine()) as session:
        study = studies.of_id(session, study_id)
    return alignment.sides(resources.engine(), study)


@st.cache_data(max_entries=32, show_spinner="Comparing judges with people …")
def told(address: str, study_id: int, by: alignment.By, at: Version) -> list[AlignmentRow]:
    """The figures at a version of the labels; everybody who looks shares them."""
    with database.reading(resources.engine()) as session:
        study = studies.of_id(session, study_id)
    return alignment.rows(resources.engine(), study, by)


@st.cache_data(max_entries=32, show_spinner=False)
def costs(address: str, study_id: int, at: Version) -> dict[str, Cost]:
    """What each judge cost."""
    with database.reading(resources.engine()) as session:
        return judge_costs.costs(session, study_id, sides(address, study_id, at).opinions)


def show(study: Study) -> None:
    """The figures, and whoever listens for new labels."""
    seen = version(study)

    @st.fragment(run_every=2)
    def listening() -> None:
        if version(study) != seen:
            st.rerun()

    @st.fragment
    def figures() -> None:
        item_drilldown.settle()
        place = (str(resources.engine().url), study.id)
        at = version(study)
        there = sides(*place, at)
        rows = told(*place, "all", at)
        if not rows:
            return nothing(study, there)
        chosen = choices(rows)
        if chosen is None:
            return download(rows)
        (kind, criterion, statistic), by_scenario, firsts = chosen
        every = rows + (told(*place, "scenario", at) if by_scenario else [])
        found = alignment_rows.figures(every, kind, criterion, firsts=firsts)
        if alignment_rows.compared(found):
            judges = draw(found, statistic, costs(*place, at), by_scenario)
        else:
            unlabelled(study, there, alignment_rows.bare(found, costs(*place, at)))
            judges = [judge for judge, _ in found]
        download(every)
        there_too = list(dict.fromkeys(judges))
        alignment_differences.show(Subject(study, at, there, found, there_too, kind, criterion, statistic, by_scenario))
        judge_biases.show(found)

    listening()
    figures()


def choices(rows: Sequence[AlignmentRow]) -> tuple[tuple[str, str, str], bool, bool] | None:
    """Kind, criterion and statistic, whether by scenario, and whether with first opinions; all in the address."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="choices"):
        kinds = [kind for kind in KINDS if any(row.kind == kind for row in rows)]
        kind = one_of("Of", kinds, "kind", KINDS.get)
        criteria = sorted({row.criterion for row in rows if row.kind == kind}, key=lambda name: (name != "all", name))
        criterion = one_of("Criterion", criteria, "criterion", agreement_rows.named)
        offered = alignment_rows.offered(alignment_rows.figures(rows, kind, criterion, firsts=True))
        if not offered:
            st.caption("Nothing that is measured of these values can be drawn; the download has every figure.")
            return None
        statistic = one_of("Statistic", offered, "statistic", lambda name: CHOICES[name].name)
        by_scenario = st.toggle("By scenario", key="by_scenario", bind="query-params", on_change=item_drilldown.close)
        firsts = False
        if any(alignment.FIRST in row.judge for row in rows if row.kind == kind):
            firsts = st.toggle("First opinions too", key="firsts", bind="query-params")
    return (kind, criterion, statistic), by_scenario, firsts


def one_of(label: str, options: Sequence[str], key: str, named: object) -> str:
    """A choice, where there is more than one."""
    if len(options) < 2:
        return options[0]
    words = {"format_func": named, "width": 300}
    chosen = st.selectbox(label, options, key=key, bind="query-params", on_change=alignment_differences.close, **words)
    return chosen or options[0]


def nothing(study: Study, there: Sides) -> None:
    """What to do where there is nothing to compare."""
    if len(there.opinions):
        kinds = ", ".join(sorted({KINDS.get(kind, kind).lower() for kind in there.opinions["kind"]}))
        st.info(f"What the judges gave here has no declared scale, so that nothing can be compared: {kinds}.")
        return
    labelled = "People have labelled this study, but no judge" if len(there.labels) else "No judge"
    st.info(f"{labelled} has given an opinion in it yet. Alignment shows here as soon as one has.")
    with st.container(horizontal=True):
        for script, label, icon in (
            ("setup/runs.py", "Start a run", ":material/play_circle:"),
            ("setup/studies.py", "Import recorded judgements", ":material/upload_file:"),
        ):
            st.page_link(shell.page(script), label=label, icon=icon, query_params={"study": study.name})


def unlabelled(study: Study, there: Sides, lines: Sequence[alignment_rows.Line]) -> None:
    """Judges have spoken, and nobody can be compared with them."""
    judged = numbers.count(there.opinions["item"].nunique(), "item")
    why = "people labelled none of them" if len(there.labels) else "nobody has labelled any of them yet"
    st.info(f"Judges gave their opinions on {judged}, but {why}. Below is what can be told without people.")
    with st.container(horizontal=True):
        for script, label, icon in (
            ("label/disagreements.py", "Label what the judges could not settle", ":material/balance:"),
            ("setup/studies.py", "Import labels", ":material/upload_file:"),
        ):
            st.page_link(shell.page(script), label=label, icon=icon, query_params={"study": study.name})
    right = {name: st.column_config.TextColumn(alignment="right") for name in ("No verdict", "$ per 1,000")}
    st.dataframe(lines, key="bare", hide_index=True, column_config=right)


def draw(found: Figures, statistic: str, prices: Mapping[str, Cost], by_scenario: bool) -> list[str]:
    """Chart, what to mind, and table; returns the judges, the best first."""
    order = alignment_rows.order(found, statistic)
    whole = {judge: found[judge, group] for judge, group in order if group == "all"}
    left, right = st.columns([3, 2], gap="large")
    with left:
        chart(whole, statistic, prices)
    with right:
        reading(whole, statistic)
    table(found, order, statistic, prices, by_scenario)
    return list(whole)


def chart(whole: Mapping[str, Mapping[str, AlignmentRow]], statistic: str, prices: Mapping[str, Cost]) -> None:
    """A point for each judge beside people."""
    choice = CHOICES[statistic]
    points = alignment_rows.points(whole, statistic)
    if not points:
        return
    details = {name: alignment_rows.details(whole[name], statistic, prices.get(name)) for name in points}
    shown = {name: whole[name] for name in points}
    beside = alignment_rows.points(shown, choice.beside)
    ceilings = alignment_rows.points(shown, choice.ceiling) if beside else {}
    figure = alignment_charts.judges(
        Judges(points, beside, ceilings, details),
        title=choice.name,
        axis="Value and 95 % interval",
        names=(choice.whose, choice.beside_name),
        chosen=st.session_state.get("judge"),
    )
    aloud = "; ".join(f"{name} {numbers.estimate(row.value, row.low, row.high)}" for name, row in points.items())
    charts.draw(figure, "judges", f"{choice.name}: {aloud}", pointed)


def pointed() -> None:
    """A judge was clicked: every item on which it differs from people."""
    name = charts.clicked("judges")
    alignment_differences.open(name, **({} if name is None else {"cell": alignment_differences.DIFFER}))


def reading(whole: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> None:
    """How each judge stands to the ceiling, why a figure is undefined, and what to mind."""
    choice = CHOICES[statistic]
    if choice.beside and choice.ceiling:
        st.markdown("**Beside people**")
        told = {judge: alignment_rows.against_ceiling(rows, choice) for judge, rows in whole.items()}
        st.markdown("\n".join(f"- **{plain(judge)}** {plain(words)}" for judge, words in told.items() if words))
        st.caption(
            "The ceiling: each person in turn is left out and compared with the majority of the others (with their "
            "mean, for scores); the judge takes the same test on the same items. The difference has its own interval."
        )
    elif choice.ceiling:
        st.caption("The human ceiling is measured as accuracy, or Spearman for scores: see it there, or in the table.")
    for reason, judges in alignment_rows.undefined(whole, statistic).items():
        st.caption(f":material/help: No value for {who(judges)}: {plain(reason)}.")
    if choice.ceiling:
        test(whole)
    notes = alignment_rows.shaky(whole, statistic)
    for note, judges in notes.items():
        whose = "" if len(judges) == len(whole) and len(judges) > 1 else f"{who(judges)}: "
        st.caption(f":material/info: {whose}{plain(note)}.")


def test(whole: Mapping[str, Mapping[str, AlignmentRow]]) -> None:
    """Whom a judge may stand in for, or why that could not be tested."""
    name = alignment_rows.TEST[1]
    told = alignment_rows.undefined(whole, name) | alignment_rows.reasons(whole, name)
    for reason, judges in told.items():
        st.caption(f":material/group: Alternative-annotator test, {who(judges)}: {plain(reason)}.")


def who(judges: Sequence[str]) -> str:
    """The first few names."""
    return f"{', '.join(plain(judge) for judge in judges[:4])}{f' and {len(judges) - 4} more' * (len(judges) > 4)}"


def table(
    found: Figures, order: Sequence[Place], statistic: str, prices: Mapping[str, Cost], by_scenario: bool
) -> None:
    """Every figure, one line a judge and scenario; a click opens the items on which they differ."""
    lines = [alignment_rows.line(at, found[at], statistic, prices.get(at[0]), by_scenario=by_scenario) for at in order]
    texts = {name for line in lines for name, value in line.items() if isinstance(value, str)}
    texts -= {"Judge", "Scenario", alignment_rows.WHY}
    key = f"table_{st.session_state.get('opened', 0)}"
    st.dataframe(
        lines,
        key=key,
        on_select=lambda: rowed(order, key),
        selection_mode="single-cell",
        hide_index=True,
        height=min(38 + 35 * len(lines), 420),
        column_config={name: st.column_config.TextColumn(alignment="right", width=WIDTH) for name in texts}
        | {alignment_rows.WHY: st.column_config.TextColumn(width="large")},
    )


def rowed(order: Sequence[Place], key: str) -> None:
    """A line was clicked."""
    cells = st.session_state[key].selection.cells
    if cells:
        judge, group = order[cells[0][0]]
        scenario = {} if group == "all" else {"scenario": group}
        alignment_differences.open(judge, cell=alignment_differences.DIFFER, **scenario)


def download(rows: Sequence[AlignmentRow]) -> None:
    """Every figure of the study."""
    st.download_button(
        "Download as CSV",
        alignment_rows.as_csv(rows),
        file_name="alignment.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="download",
    )


show(shell.opened("Alignment", "How closely each judge follows people, beside how closely people follow each other."))
