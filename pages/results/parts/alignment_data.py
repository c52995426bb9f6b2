"""The labels, opinions and reference of a study, loaded once at each version for all visitors."""

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.wording import ALL_SCENARIOS, scenario_name
from pages.parts import live, numbers, permissions, resources, shell
from pages.parts.text import escape_markdown
from pages.results.parts import agreement_rows
from storage.reports import agreement, alignment, disagreements, references
from storage.reports.alignment import AlignmentData
from storage.reports.judge_ranking import RankingQuery
from storage.reports.systems import Choice
from storage.studies import studies
from storage.studies.studies import Study

Version = tuple[int, ...]
Figures = TypeVar("Figures")
# Seconds after which an open page looks for newer labels again.
INTERVAL = 0.5
KINDS = {
    "preference": "Preferences",
    "score": "Scores",
    "aiu_precision": "AIU precision",
    "aiu_recall": "AIU recall",
    "aiu": "Critique scores",
    "aspect_weights": "Aspect weights",
    "aspect_quality": "Aspect quality",
    "likert": "Ratings",
    "answer": "Answers",
    "misleading_peer": "Misleading peers",
}


def label_version(study: Study) -> Version:
    """Return a version that changes whenever a label or an opinion is added; its first number is that of labels."""
    read = partial(resources.read, disagreements.version, study.id)
    return live.load_shared("opinions", (live.study_topic(study.id),), read)


def figures_key(study: Study, page: str) -> Hashable:
    """Return the key of a page's figures in `pages.parts.live`."""
    choices = tuple(tuple(st.query_params.get_all(name)) for name in ("reference", "between", "table", "section"))
    runs = tuple(st.session_state.get(runs_key(study)) or ())
    return str(resources.engine().url), study.id, page, choices, runs


def runs_key(study: Study) -> str:
    """Return the key of the choice of runs of the page Compare runs."""
    return f"runs_of_{study.id}"


def shown_version(study: Study, page: str) -> Version:
    """Return the version that a page draws: the newest, or of a large study the last one that was computed."""
    return live.shown_version(figures_key(study, page), label_version(study))


def follow(study: Study, page: str, is_outdated: Callable[[], bool] | None = None) -> Version:
    """Return the version that a page draws, and run the page again on changes: see `rerun_on_change`."""
    version = shown_version(study, page)
    rerun_on_change(study, version, page, is_outdated)
    return version


def computed(study: Study, page: str, version: Version, start: float) -> None:
    """Record that a page has the figures of a version; `start` is the thread's processor time when it began."""
    live.computed(figures_key(study, page), version, time.thread_time() - start)


def figures(study: Study, page: str, version: Version, compute: Callable[[Version], Figures]) -> Figures:
    """Return what a page computes of a version, and record how long it takes."""
    start = time.thread_time()
    found = compute(version)
    computed(study, page, version, start)
    return found


def rerun_on_change(
    study: Study, drawn_version: Version, page: str = "", is_outdated: Callable[[], bool] | None = None
) -> None:
    """Run the page again when a label or an opinion is added to what was drawn, and its figures are due.

    Also when `is_outdated` is true of something else that the page shows. A page has no other fragment that looks for
    changes: each is a request of every open page.
    """

    @permissions.fragment(run_every=INTERVAL)
    def watch_version() -> None:
        newest = label_version(study)
        if newest == drawn_version:
            if is_outdated is not None and is_outdated():
                st.rerun()
            return
        if live.shown_version(figures_key(study, page), newest) != drawn_version:
            st.rerun()
        labels = newest[0] - drawn_version[0]
        name = numbers.format_count(labels, "newer label") if labels > 0 else "There are newer verdicts or decisions"
        they = "it" if labels == 1 else "them"
        st.caption(f":material/sync: {name}. The figures below are computed with {they} in a while.")

    watch_version()


@st.cache_data(max_entries=32, show_spinner=False)
def load_references(url: str, study_id: int, version: Version) -> dict[str, str]:
    """Return the references of a study with their titles at a version, the default first."""
    return {str(choice): choice.title for choice in resources.read(references.choices, study_id)}


@st.cache_resource(max_entries=3, show_spinner="Computing …")
def load_data(url: str, study_id: int, version: Version, reference: str) -> AlignmentData:
    """Return labels, opinions and a reference at a version; cached and shared by all visitors, so do not modify."""
    study = resources.read(studies.by_id, study_id)
    return alignment.load_data(resources.engine(), study, reference)


def opinion_version(version: Version) -> Version:
    """Return the part of a version that changes with opinions only: labels change far more often."""
    _, opinions, removals, _ = version
    return opinions, removals


@st.cache_data(max_entries=32, show_spinner="Measuring agreement …")
def load_agreement(url: str, study_id: int, version: Version) -> agreement.OverallAgreement:
    """Return the agreement of the annotators over everything at a version."""
    study = resources.read(studies.by_id, study_id)
    return agreement.annotator_agreement(resources.engine(), study)


# Choices of a result page that are in the URL.

# Pixels of a choice in a row; a longer text is complete in the list of its options.
MAX_WIDTH = 340


def draw_row() -> DeltaGenerator:
    """Draw the row for all choices of a page: in one line on a wide screen, where the style sheet lets them shrink."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="choices")


def width(label: str, texts: Iterable[str]) -> int:
    """Return the pixels of a selectbox that shows its label and the longest of its texts."""
    return min(760, max(150, 8 * max(map(len, texts)) + 60, 8 * len(label) + 16))


def choose(
    label: str,
    options: Sequence[str],
    key: str,
    format_func: Callable[[str], str] = str,
    on_change: Callable[[], None] | None = None,
) -> str:
    """Draw a choice; a single option is returned without a widget."""
    draw_unknown(label, options, key, format_func)
    if len(options) < 2:
        return options[0]
    return st.selectbox(
        label, options, format_func=format_func, key=key, bind="query-params", on_change=on_change,
        width=min(MAX_WIDTH, width(label, map(format_func, options))),
    )  # fmt: skip


def choose_segment(
    label: str,
    titles: Mapping[str, str],
    key: str,
    on_change: Callable[[], None] | None = None,
    help: str | None = None,
) -> str:
    """Draw a choice of few options (option -> title) beside each other; the first is the default."""
    options = list(titles)
    chosen = st.segmented_control(
        label, options, format_func=titles.__getitem__, default=options[0], required=True, key=key,
        bind="query-params", on_change=on_change, help=help,
    )  # fmt: skip
    return chosen if chosen in titles else options[0]


def follow_default(key: str, default: object, *, is_chosen: bool) -> None:
    """Set the widget of a key, before it is drawn, to the default of newer data unless the visitor chose a value.

    A value in the address `is_chosen`, and so is another one than the default at the last run, until the visitor
    leaves the page. Without this, an open page would stay at a value that nobody chose, and differ from another page
    at the same address.
    """
    state, former = st.session_state, f"default_of_{key}"
    if not is_chosen and state.get(key) in (None, state.get(former)):
        state[key] = state[former] = default
    else:  # Streamlit removes the value from the address where it is the default
        state.pop(former, None)


def draw_unknown(label: str, options: Sequence[str], key: str, format_func: Callable[[str], str] = str) -> None:
    """Draw a line if the address names none of the options, so that the first is shown, until another one is chosen.

    Called before the choice is drawn, which removes an unknown name from the address.
    """
    note = f"unknown_{key}"
    page, requested = st.session_state.get(note, (None, None))
    if key not in st.session_state or page != st.context.url:  # a key can have the state of another page
        named = st.query_params.get(key)
        requested = None if named in [*map(format_func, options)] else named
    elif st.session_state[key] != options[0]:
        requested = None
    st.session_state[note] = st.context.url, requested
    if requested:
        draw_warning(label, requested, format_func(options[0]))


def draw_warning(label: str, requested: str, shown: str) -> None:
    """Draw a line about a name in the address that the study does not have, and what is shown in its place."""
    sentence = f"The address names the {label.lower()} {requested!r}, which this study does not have. Shown: {shown}."
    with st.container(key=f"unknown-{label}"):
        st.caption(f":material/warning: {escape_markdown(sentence)}")


def choose_scenario(scenarios: Sequence[str], on_change: Callable[[], None] | None = None) -> str | None:
    """Draw the choice of one of several scenarios, "" for the items without one; None is for all of them."""
    names = [ALL_SCENARIOS, *map(scenario_name, scenarios)]
    if len(scenarios) < 2:
        draw_unknown("Scenario", names, "among")
        return None
    place = names.index(choose("Scenario", names, "among", on_change=on_change))
    return scenarios[place - 1] if place else None


def choose_key(keys: Iterable[tuple[str, str]], on_change: Callable[[], None] | None = None) -> tuple[str, str]:
    """Draw the choices of one of the kinds and criteria."""
    by_kind: dict[str, list[str]] = {}
    for kind, criterion in keys:
        by_kind.setdefault(kind, []).append(criterion)
    kind = choose("Kind", list(by_kind), "kind", lambda name: KINDS.get(name, name), on_change)
    return kind, choose("Criterion", by_kind[kind], "criterion", agreement_rows.criterion_name, on_change)


def choose_query(
    keys: Sequence[tuple[str, str]],
    scenarios: Callable[[str, str], Sequence[str]],
    on_change: Callable[[], None] | None = None,
) -> RankingQuery:
    """Draw the choices of one of the kinds and criteria, and of one of their scenarios."""
    key = choose_key(keys, on_change)
    return RankingQuery(*key, choose_scenario(scenarios(*key), on_change))


def choose_offered(offered: Sequence[Choice], on_change: Callable[[], None] | None = None) -> Choice:
    """Draw the choices of one of the kinds and criteria that are offered."""
    by_key = {(one.kind, one.criterion): one for one in offered}
    return by_key[choose_key(by_key, on_change)]


# The choice of the reference of judges, stored in the URL.

KEY = "reference"


def draw_reference_choice(
    study: Study, version: Version, row: DeltaGenerator | None = None
) -> tuple[str, DeltaGenerator]:
    """Draw the choice of a reference at a version, in the row for all choices of the page; None draws the row.

    Returns the reference as `storage.reports.references.parse` reads it, and the row.
    """
    titles = load_references(str(resources.engine().url), study.id, version)
    # The options are written as on the command line, because they are in the URL.
    row = draw_row() if row is None else row
    with row:
        draw_unknown("Reference", list(titles), KEY)
        chosen = st.selectbox(
            "Reference",
            list(titles),
            key=KEY,
            bind="query-params",
            width=min(MAX_WIDTH, width("Reference", titles)),
            help="The values that judges are compared with. They never include the verdicts of the judge itself; a "
            "debate that is the reference is not compared.",
        )
    shell.draw_note(f"Compared with {escape_markdown(titles[chosen])}.")
    return chosen, row
