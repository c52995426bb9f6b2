"""Runs compared with each other: settings, verdicts that changed, agreement, accuracy, cost and time."""

import time
from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.statistics.data.dataset import Dataset
from core.statistics.reports.run_comparison import Pair, RunComparison
from core.wording import short_names
from pages.parts import resources, shell
from pages.parts.text import escape_markdown, shorten_names
from pages.results.parts import agreement_rows, alignment_data, item_drilldown, run_sections
from pages.results.parts.alignment_data import KINDS, Version
from storage.db import connections
from storage.reports import changed_verdicts
from storage.reports import run_comparison as report
from storage.reports.changed_verdicts import Transition
from storage.reports.run_comparison import MAX_RUNS, ComparedRuns
from storage.runs import runs
from storage.studies.studies import Study

Scope = tuple[str, str, str | None]
"""The kind, the criterion and the scenario that are compared."""
PAGE = "compare_runs"
PARAMETER = "runs"
ALL_CHANGES = "all changes"
MAX_TRANSITIONS = 6
"""Changes from one value to another whose counts are listed."""
MAX_NAME = 64
"""Characters of the name of a chosen run."""


@st.cache_resource(max_entries=4, show_spinner=False)
def load_runs(
    url: str, study_id: int, version: Version, names: tuple[str, ...], reference: str, _study: Study
) -> ComparedRuns:
    """Return the runs with their verdicts at a version; shared by all visitors, so do not modify."""
    return report.load(resources.engine(), _study, names, reference)


@st.cache_data(max_entries=32, show_spinner=False)
def load_comparison(
    url: str,
    study_id: int,
    version: Version,
    names: tuple[str, ...],
    reference: str,
    scope: Scope,
    _compared: ComparedRuns,
) -> RunComparison:
    """Return the figures of a kind, criterion and scenario at a version; shared by all visitors."""
    return _compared.compare(_compared.dataset(*scope))


def draw_page(study: Study) -> None:
    """Draw the comparison, and redraw it when a label or an opinion is added."""
    drawn_version = alignment_data.shown_version(study, PAGE)
    alignment_data.rerun_on_change(study, drawn_version, PAGE)
    item_drilldown.apply_selection()
    names = choose_runs(study)
    if names is None:
        return
    start = time.thread_time()
    version = alignment_data.shown_version(study, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, version)
    url = str(resources.engine().url)

    def load(newer: Version) -> ComparedRuns:
        return load_runs(url, study.id, newer, names, reference, study)

    if not alignment_data.has_first_figures(study, PAGE, version, load):
        return
    compared = load(version)
    scope = draw_comparison(study, compared, version, names, reference, row)

    def compute(newer: Version) -> None:
        newly_compared = load(newer)
        if scope is not None and scope[:2] in newly_compared.keys:
            load_comparison(url, study.id, newer, names, reference, scope, newly_compared)

    alignment_data.computed(study, PAGE, version, start, compute)


def choose_runs(study: Study) -> tuple[str, ...] | None:
    """Draw the choice of runs, which is in the URL unless it is the default; None until there are two."""
    with connections.reading(resources.engine()) as session:
        names = [run.name for run in runs.of_study(session, study.id)]
    if len(names) < 2:
        st.info("A comparison needs two runs of this study.")
        shell.draw_links(study, shell.RUN)
        return None
    # Not bound to the URL: chosen runs stay there when they become the default, so that their link does not change.
    newest, key = names[1::-1], alignment_data.runs_key(study)
    requested = [name for name in st.query_params.get_all(PARAMETER) if name in names][:MAX_RUNS]
    if requested:
        st.session_state.setdefault(key, requested)
    alignment_data.follow_default(key, newest, is_chosen=bool(requested))
    labels = shorten_names(names, MAX_NAME)
    chosen = st.multiselect(
        "Runs",
        names,
        format_func=lambda name: labels.get(name, name),
        key=key,
        max_selections=MAX_RUNS,
        on_change=item_drilldown.close_item,
        help="The first run is the one that the others are compared with.",
    )
    if len(chosen) < 2:
        st.caption("Choose two or more runs.")
        return None
    if chosen != newest or PARAMETER in st.query_params:
        st.query_params[PARAMETER] = chosen
    return tuple(chosen)


def draw_comparison(
    study: Study,
    compared: ComparedRuns,
    version: Version,
    names: tuple[str, ...],
    reference: str,
    row: DeltaGenerator,
) -> Scope | None:
    """Draw the settings, the figures and the changed verdicts; returns what is compared, None for nothing."""
    if not compared.keys:
        run_sections.draw_settings(compared)
        st.info("These runs have no verdicts that can be compared yet.")
        return None
    kind, criterion, scenario = scope = choose_scope(compared, row)
    dataset = compared.dataset(kind, criterion, scenario)
    comparison = load_comparison(str(resources.engine().url), study.id, version, names, reference, scope, compared)
    alignment_data.draw_population(compared.note(dataset))
    run_sections.draw_pairs(compared, comparison)
    draw_changes(study, compared, dataset, comparison)
    run_sections.draw_runs(compared, comparison)
    run_sections.draw_settings(compared)
    return scope


def choose_scope(compared: ComparedRuns, row: DeltaGenerator) -> Scope:
    """Draw the choices of kind, criterion and scenario into a row, if there are several."""
    kinds = list(dict.fromkeys(kind for kind, _ in compared.keys))
    with row:
        kind = alignment_data.choose(
            "Kind", kinds, "kind", lambda name: KINDS.get(name, name), item_drilldown.close_item
        )
        criteria = [criterion for key, criterion in compared.keys if key == kind]
        criterion = alignment_data.choose(
            "Criterion", criteria, "criterion", agreement_rows.criterion_name, item_drilldown.close_item
        )
        found = sorted(set(map(str, compared.dataset(kind, criterion).scenario.tolist())))
        scenario = alignment_data.choose_scenario(found, item_drilldown.close_item)
    return kind, criterion, scenario


def draw_changes(study: Study, compared: ComparedRuns, dataset: Dataset, comparison: RunComparison) -> None:
    """Draw the targets on which two runs have different verdicts; a click opens the item or its trace."""
    if not comparison.pairs:
        return
    st.subheader("Verdicts that changed", anchor=False)
    changed = [pair for pair in comparison.pairs if pair.changed]
    if not changed:
        st.caption("No verdict changed on the targets that the runs have in common.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pair = choose_pair(changed, short_names(list(compared.columns)))
        transition = choose_transition(dataset, pair)
    drilldown = changed_verdicts.changed(
        dataset,
        pair.first,
        pair.second,
        titles=short_names(list(compared.columns)),
        transition=transition,
        viewer=shell.current_annotator(),
    )
    item = item_drilldown.draw_drilldown(drilldown)
    if item is not None:
        item_drilldown.draw_detail(study, item)
    elif drilldown.items:
        st.caption("Click a row to open the item.")


def choose_pair(pairs: Sequence[Pair], names: Mapping[str, str]) -> Pair:
    """Draw the choice of a pair, if there are several."""
    titles = {f"{names[pair.first]} → {names[pair.second]}": pair for pair in pairs}
    return titles[alignment_data.choose("Pair", list(titles), "compared", on_change=item_drilldown.close_item)]


def choose_transition(dataset: Dataset, pair: Pair) -> Transition | None:
    """Draw the choice of a change from one value to another; None for all."""
    counts = changed_verdicts.transitions(dataset, pair.first, pair.second)
    titles = {f"{first} → {second}": (first, second) for first, second in counts}
    if len(titles) < 2:
        return None
    chosen = alignment_data.choose("Change", [ALL_CHANGES, *titles], "change", on_change=item_drilldown.close_item)
    listed = [f"{title}: {counts[transition]:,}" for title, transition in list(titles.items())[:MAX_TRANSITIONS]]
    more = f" · {len(titles) - MAX_TRANSITIONS} more" if len(titles) > MAX_TRANSITIONS else ""
    st.caption(escape_markdown(" · ".join(listed)) + more, width="content")
    return titles.get(chosen)


draw_page(
    shell.draw_header(
        "Compare runs", "Which settings differ, which verdicts changed, and is one run better than another?"
    )
)
