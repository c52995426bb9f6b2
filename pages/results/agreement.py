"""How far people agree with each other, and the judges with each other; it changes as labels are saved."""

from collections.abc import Sequence

import streamlit as st

from pages.parts import charts, numbers, resources, shell
from pages.parts.charts import Ceiling, Series
from pages.parts.text import plain
from pages.results.parts import agreement_rows, item_drilldown
from pages.results.parts.agreement_rows import Shown
from storage import database, labels, studies
from storage.reports import agreement
from storage.reports.agreement import Figures, Report
from storage.reports.agreement_items import Wanted
from storage.reports.opinions import Who
from storage.studies import Study

WHO: dict[str, Who] = {"People": "people", "Judges": "judges"}
STAGES = {"": "", "first": "First opinions", "last": "Last opinions"}


def version(study: Study) -> tuple[int, int]:
    """Changes whenever somebody saves a label."""
    with database.reading(resources.engine()) as session:
        return labels.version(session, study.id)


@st.cache_data(max_entries=64, show_spinner=False)
def told(address: str, study_id: int, who: Who, at: tuple[int, int]) -> Report:
    """The figures of a version of the labels; everybody who looks shares them."""
    with database.reading(resources.engine()) as session:
        study = studies.of_id(session, study_id)
    return agreement.report(resources.engine(), study, who)


def show(study: Study) -> None:
    """The figures, and whoever listens for new labels."""
    seen = version(study)

    @st.fragment(run_every=0.5)
    def listening() -> None:
        if version(study) != seen:
            st.rerun()

    @st.fragment
    def figures() -> None:
        item_drilldown.settle()
        with st.container(horizontal=True, vertical_alignment="bottom", key="choices"):
            who = between()
            found = told(str(resources.engine().url), study.id, who, version(study))
            chosen = choices(found)
        if found.unmeasured:
            kinds = ", ".join(kind.replace("_", " ") for kind in found.unmeasured)
            st.caption(f"Not shown here: {kinds}. Such values have no scale on which kappa or alpha makes sense.")
        if chosen is None:
            return None if found.unmeasured else nothing(study, who)
        kind, criterion, judges = chosen
        panels = [panel for panel in found.panels if panel.judges == judges]
        draw(study, found, panels, Wanted(who, kind, criterion, judges=judges))

    listening()
    figures()


def between() -> Who:
    """Whose agreement; this and every other choice is in the address."""
    chosen = st.segmented_control(
        "Agreement between",
        list(WHO),
        default="People",
        required=True,
        key="between",
        bind="query-params",
        on_change=item_drilldown.close,
    )
    return WHO[chosen or "People"]


def choices(found: Report) -> tuple[str, str, str] | None:
    """Of what kind and criterion, and of which judges; None where nothing was judged."""
    rows = [row for panel in found.panels for row in panel.overall]
    if not rows:
        return None
    kind = _one_of("Kind", sorted({row.kind for row in rows}), "kind")
    criteria = sorted({row.criterion for row in rows if row.kind == kind}, key=lambda name: (name != "all", name))
    criterion = _one_of("Criterion", criteria, "criterion")
    return kind, criterion, _one_of("Judges", sorted({panel.judges for panel in found.panels}), "judges")


def _one_of(label: str, options: Sequence[str], key: str) -> str:
    """A choice, where there is more than one."""
    if len(options) < 2:
        return options[0]
    chosen = st.selectbox(
        label,
        options,
        format_func=agreement_rows.named if key == "criterion" else str,
        key=key,
        bind="query-params",
        width=240,
        on_change=item_drilldown.close,
    )
    return chosen or options[0]


def nothing(study: Study, who: str) -> None:
    """What to do where nobody has judged anything."""
    if who == "judges":
        st.info("No judge has given an opinion in this study yet: start a run, or import recorded debates.")
        st.page_link(shell.page("setup/runs.py"), label="Start a run", icon=":material/play_circle:")
    else:
        st.info("Nobody has labelled anything in this study yet. Agreement shows here as soon as two people have.")
        st.page_link(
            shell.page("label/disagreements.py"),
            label="Label what the judges could not settle",
            icon=":material/balance:",
            query_params={"study": study.name},
        )
    st.page_link(shell.page("setup/studies.py"), label="Import", icon=":material/upload_file:")


def draw(study: Study, found: Report, panels: list[Figures], wanted: Wanted) -> None:
    """Headline, charts, remarks, table, and the items behind what was clicked."""
    kind, criterion = wanted.kind, wanted.criterion or ""
    shown = agreement_rows.suited(found.scales.get((kind, criterion)))
    stages = [panel for panel in panels if not panel.shown]
    headline(panels, found, wanted, shown)
    by_scenario = len({row.group for row in stages[-1].scenarios if row.kind == kind}) > 1
    left, right = st.columns([3, 2], gap="medium")
    with left:
        scenarios(study, stages, wanted, shown, by_scenario)
    with right:
        raters(stages, wanted, shown)
    for panel in stages:
        for remark in panel.remarks:
            opinions = f"{STAGES[panel.stage]}: " if panel.stage else ""
            st.markdown(f":material/balance: {opinions}{plain(remark)}")
    table(stages, wanted, shown, by_scenario)
    item_drilldown.show(study, wanted)


def headline(panels: list[Figures], found: Report, wanted: Wanted, shown: Shown) -> None:
    """`0.62 [0.51, 0.71] · 120 items · 3 raters · 94 % of labels in`."""
    kind, criterion = wanted.kind, wanted.criterion or ""
    judged = wanted.who == "judges"
    rows = {
        panel.stage: row
        for panel in panels
        for row in agreement_rows.of(panel.overall, kind, shown.many, criterion)
        if not panel.shown
    }
    for column, (stage, row) in zip(st.columns(max(2, len(rows))), rows.items(), strict=False):
        with column, st.container(gap=None):
            st.caption(f"{STAGES[stage] or 'Overall'}: {agreement_rows.NAMES[shown.many]}")
            st.markdown(f"## {numbers.estimate(row.value, row.low, row.high)}")
            share = None if judged else found.labels_in.get((kind, criterion))
            st.caption(agreement_rows.counts(row, share, *(("judge", "debate") if judged else ("rater", "item"))))
            if row.reason:
                st.caption(plain(row.reason))
    as_shown = [
        numbers.estimate(row.value, row.low, row.high)
        for panel in panels
        if panel.shown
        for row in agreement_rows.of(panel.overall, kind, shown.many, criterion)
    ]
    if as_shown:
        st.caption(
            f"In the order in which the judges read the responses: {', then '.join(as_shown)}. The choices agree as "
            "often; what chance would give depends on which response is called 1."
        )


def scenarios(study: Study, stages: list[Figures], wanted: Wanted, shown: Shown, by_scenario: bool) -> None:
    """Points with whiskers by scenario, or by criterion where there is only one scenario."""
    series = [
        Series(STAGES[panel.stage], _points(panel, wanted, shown, by_scenario), panel.stage == "first")
        for panel in stages
    ]
    order = agreement_rows.order(*(one.rows for one in series))
    undefined = {name: row for one in series for name, row in one.rows.items() if row.value is None}
    what = "scenario" if by_scenario else "criterion"
    if order:
        name = agreement_rows.NAMES[shown.many]
        figure = charts.points(
            series,
            title=f"{name} by {what}",
            axis="Value and 95 % interval",
            order=order,
            chosen=item_drilldown.chosen(what),
            ceiling=_ceiling(study, wanted, shown),
        )
        with st.container(height=640 if len(order) > charts.TALL else "content", border=False):
            charts.draw(
                figure, "points", f"{name} by {what}, highest first: {', '.join(order)}", lambda: _pointed(what)
            )
    if undefined:
        with st.expander(
            f"Undefined: {numbers.count(len(undefined), what, 'criteria' if what == 'criterion' else None)}"
        ):
            for name, row in undefined.items():
                st.caption(f"**{plain(agreement_rows.place(name))}** – {plain(row.reason)}")


def _points(panel: Figures, wanted: Wanted, shown: Shown, by_scenario: bool) -> dict[str, agreement.Row]:
    if by_scenario:
        rows = agreement_rows.of(panel.scenarios, wanted.kind, shown.many, wanted.criterion)
        return {row.group: row for row in rows}
    return {row.criterion: row for row in agreement_rows.of(panel.overall, wanted.kind, shown.many)}


def _ceiling(study: Study, wanted: Wanted, shown: Shown) -> Ceiling | None:
    """How far people agree on the same, beside the judges."""
    if wanted.who == "people":
        return None
    people = told(str(resources.engine().url), study.id, "people", version(study))
    rows = [row for panel in people.panels for row in panel.overall]
    (row,) = agreement_rows.of(rows, wanted.kind, shown.many, wanted.criterion) or [None]
    return None if row is None or row.value is None else Ceiling("people", row.value)


def _pointed(what: str) -> None:
    _charted()
    name = charts.clicked("points")
    item_drilldown.open(**({} if name is None else {what: name}))


def _charted() -> None:
    """A chart was clicked, so that the table starts anew with nothing selected."""
    st.session_state["charted"] = st.session_state.get("charted", 0) + 1


def raters(stages: list[Figures], wanted: Wanted, shown: Shown) -> None:
    """Raters by raters; for judges their last opinions, with the first beside."""
    found = [
        agreement_rows.by_raters(agreement_rows.of(panel.pairs, wanted.kind, shown.two, wanted.criterion))
        for panel in stages
    ]
    if not found[-1]:
        st.caption("Only one rater so far: there is no pair to compare.")
        return
    name = agreement_rows.NAMES[shown.two]
    title = f"{name}, {'last opinions' if len(stages) > 1 else 'pair by pair'}"
    before = found[0] if len(stages) > 1 else {}
    figure = charts.pairs(found[-1], before, title=title, chosen=item_drilldown.chosen_raters())
    alt = "; ".join(f"{a} and {b} {numbers.estimate(row.value, None, None)}" for (a, b), row in found[-1].items())
    charts.draw(figure, "pairs", f"{title}: {alt}", _paired)


def _paired() -> None:
    _charted()
    item_drilldown.open(raters=tuple(charts.clicked("pairs") or ()))


def table(stages: list[Figures], wanted: Wanted, shown: Shown, by_scenario: bool) -> None:
    """Every figure, one line for each criterion and scenario; a click opens its items."""
    lines = agreement_rows.table(stages, wanted, shown, by_scenario)
    key = f"figures_{st.session_state.get('charted', 0)}"
    st.dataframe(
        list(lines.values()),
        key=key,
        on_select=lambda: _rowed(list(lines), key),
        selection_mode="single-cell",
        hide_index=True,
        height=min(38 + 35 * len(lines), 400),
        column_config={name: st.column_config.TextColumn(alignment="right") for name in agreement_rows.SHORT.values()},
    )
    st.download_button(
        "Download as CSV",
        agreement_rows.as_csv(row for panel in stages for row in panel.rows()),
        file_name="agreement.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="download",
    )


def _rowed(keys: list[agreement_rows.Key], key: str) -> None:
    cells = st.session_state[key].selection.cells
    if cells:
        _, criterion, scenario = keys[cells[0][0]]
        item_drilldown.open(criterion=criterion, scenario=scenario)


show(shell.opened("Agreement", "How far people agree with each other beyond chance, and judges with judges."))
