"""Runs compared with each other: settings, verdicts that changed, agreement, accuracy, cost and time."""

import time
from collections.abc import Mapping
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formats.tables import Table
from core.statistics import catalogue
from core.statistics.data.dataset import Dataset
from core.statistics.reports.run_comparison import RunComparison
from core.wording import short_names
from pages.parts import live, resources, shell
from pages.parts.charts import ChartData
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import alignment_data, item_drilldown
from storage.reports import run_comparison as report
from storage.runs import runs
from storage.studies.studies import Study

# The kind, the criterion and the scenario that are compared.
Scope = tuple[str, str, str | None]
PAGE = "compare_runs"
PARAMETER = "runs"
# Pairs with a sentence: the table has all.
MAX_SENTENCES = 3
# Statistics that the chart shows: the first that the runs have.
DRAWN = ("accuracy_gold", "pearson")


@st.cache_resource(max_entries=4, show_spinner=False)
def load_runs(
    url: str, study_id: int, version: alignment_data.Version, names: tuple[str, ...], reference: str, _study: Study
) -> report.ComparedRuns:
    """Return the runs with their verdicts at a version; shared by all visitors, so do not modify."""
    return report.load(resources.engine(), _study, names, reference)


def draw_page(study: Study) -> None:
    """Draw the comparison, and redraw it when a label or an opinion is added."""
    alignment_data.follow(study, PAGE)
    item_drilldown.apply_selection()
    names = choose_runs(study)
    if names is None:
        return
    start = time.thread_time()
    version = alignment_data.shown_version(study, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, version)
    url = str(resources.engine().url)

    def load(newer: alignment_data.Version) -> report.ComparedRuns:
        return load_runs(url, study.id, newer, names, reference, study)

    compared = alignment_data.figures(study, PAGE, version, load)
    scope = choose_scope(compared, row) if compared.keys else None

    if scope is None or scope[:2] not in compared.keys:
        st.info("These runs have no verdicts that can be compared yet.")
    else:
        dataset = compared.dataset(*scope)
        compare = partial(compared.compare, dataset)
        comparison = live.cached(study, version, PAGE, compare, names, reference, scope)
        renderer.draw_result(runs_result(compared, comparison))
        renderer.draw_result(pairs_result(compared, comparison, compared.note(dataset)))
        draw_changes(study, compared, dataset, comparison)
    draw_settings(compared)
    alignment_data.computed(study, PAGE, version, start)


def choose_runs(study: Study) -> tuple[str, ...] | None:
    """Draw the choice of runs, which is in the URL unless it is the default; None until there are two."""
    names = [run.name for run in resources.read(runs.of_study, study.id)]
    if len(names) < 2:
        st.info("A comparison needs two runs of this study.")
        shell.draw_links(study, shell.RUN)
        return None
    # Not bound to the URL: chosen runs stay there when they become the default, so that their link does not change.
    newest, key = names[1::-1], alignment_data.runs_key(study)
    requested = [name for name in st.query_params.get_all(PARAMETER) if name in names][: report.MAX_RUNS]
    if requested:
        st.session_state.setdefault(key, requested)
    alignment_data.follow_default(key, newest, is_chosen=bool(requested))
    chosen = st.multiselect(
        "Runs",
        names,
        key=key,
        max_selections=report.MAX_RUNS,
        on_change=item_drilldown.pick,
        help="The first run is the one that the others are compared with.",
    )
    if len(chosen) < 2:
        st.caption("Choose two or more runs.")
        return None
    if chosen != newest or PARAMETER in st.query_params:
        st.query_params[PARAMETER] = chosen
    return tuple(chosen)


def draw_settings(compared: report.ComparedRuns) -> None:
    """Draw the settings that differ, then the lines that other runs change in templates and texts of the first."""
    st.subheader("Settings that differ", anchor=False)
    titles = short_names([run.name for run in compared.runs])
    first, *others = names = [titles[run.name] for run in compared.runs]
    if compared.settings:
        rows = [{"Setting": one.path, **dict(zip(names, one.values, strict=True))} for one in compared.settings]
        st.dataframe(rows, key="run_settings", hide_index=True)
    elif not compared.texts:
        st.caption("The runs have the same settings and prompts.")
    for difference in compared.texts:
        with st.expander(f"Text: {escape_markdown(difference.path)}"):
            for place, name in enumerate(others, 1):
                st.caption(f"{escape_markdown(first)} → {escape_markdown(name)}")
                st.code("\n".join(difference.lines(place)) or "No difference.", language="diff", wrap_lines=True)


def pairs_result(compared: report.ComparedRuns, comparison: RunComparison, note: str) -> renderer.Result:
    """Return the agreement of each pair and its difference against the reference."""
    title, pairs = "Runs against each other", comparison.pairs
    if not pairs:
        nothing = "No two of these runs have verdicts on this criterion: choose another one."
        return renderer.Result(title=title, warning=note, caption=nothing)
    titles = short_names(list(compared.columns))
    tests = f", corrected by Holm's method for {len(pairs)} pairs" if len(pairs) > 1 else ""
    columns = report.pair_columns(comparison, titles)
    return renderer.Result(
        title=title,
        warning=note,
        caption="Difference: the second run minus the first, paired by target, in accuracy on nominal scales and in "
        f"Pearson's r on others. p: paired bootstrap{tests}. Groups of items are resampled together. κ is Cohen's, on "
        "targets with a verdict of both; the file has more statistics.",
        tables=[Table("run_pairs", pairs, columns)],
    )


def runs_result(compared: report.ComparedRuns, comparison: RunComparison) -> renderer.Result:
    """Return a sentence for each pair, and each run against the reference, as a chart and a table with costs."""
    titles = short_names(list(compared.columns))
    shown = next((name for name in DRAWN if any(name in one.estimates for one in comparison.figures)), None)
    columns = report.run_columns(compared, comparison, titles)
    return renderer.Result(
        title="Each run",
        headline=" ".join(report.summarize(comparison, titles)[:MAX_SENTENCES]) if comparison.pairs else "",
        figures=[] if shown is None else [run_chart(shown, titles, comparison)],
        tables=[Table("runs", comparison.figures, columns)],
        caption="Statistics are of targets with a verdict and a reference (n): a missing verdict is left out here, "
        "whereas the page Judges counts it as an error unless chosen otherwise. κ is Cohen's. *Targets* are all of the "
        "run. Tokens and seconds are those of a trace; with dollars they count a reused reply as the call that was "
        "made. *Paid*, in dollars, is without reused replies. Dollars are unknown without the price of a model.",
    )


def run_chart(statistic: str, titles: Mapping[str, str], comparison: RunComparison) -> renderer.Intervals:
    """Return a row for each run: its statistic against the reference."""
    found = [(titles[one.name], one.estimates[statistic]) for one in comparison.figures if statistic in one.estimates]
    marks = [renderer.Mark.of(name, one) for name, one in found]
    short = catalogue.BY_ID[statistic].short
    rows = [{"run": name, **vars(estimate)} for name, estimate in found if estimate.value is not None]
    data = ChartData(rows, unit="targets")
    axis = f"{short} and 95 % interval"
    return renderer.Intervals("runs_chart", f"{short} of each run", axis, [("", "circle")], marks, data=data)


def choose_scope(compared: report.ComparedRuns, row: DeltaGenerator) -> Scope:
    """Draw the choices of kind, criterion and scenario into a row, if there are several."""

    def scenarios(kind: str, criterion: str) -> list[str]:
        return sorted(set(map(str, compared.dataset(kind, criterion).scenario.tolist())))

    with row:
        query = alignment_data.choose_query(compared.keys, scenarios, item_drilldown.pick)
    return query.kind, query.criterion, query.scenario


def draw_changes(study: Study, compared: report.ComparedRuns, dataset: Dataset, comparison: RunComparison) -> None:
    """Draw the targets on which two runs have different verdicts; a click opens the item or its trace."""
    if not comparison.pairs:
        return
    st.subheader("Verdicts that changed", anchor=False)
    changed = [pair for pair in comparison.pairs if pair.changed]
    if not changed:
        st.caption("No verdict changed on the targets that the runs have in common.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = short_names(list(compared.columns))
        titles = {f"{names[pair.first]} → {names[pair.second]}": pair for pair in changed}
        pair = titles[alignment_data.choose("Pair", list(titles), "compared", on_change=item_drilldown.pick)]
    drilldown = report.changed(
        dataset,
        pair.first,
        pair.second,
        titles=names,
        viewer=shell.current_annotator(),
    )
    item = item_drilldown.draw_drilldown(drilldown)
    if item is not None:
        item_drilldown.draw_detail(study, item)
    elif drilldown.items:
        st.caption("Click a row to open the item.")


draw_page(
    shell.draw_header(
        "Compare runs", "Which settings differ, which verdicts changed, and is one run better than another?"
    )
)
