"""Find a trace, and watch it: as it happens, or as it happened."""

from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from core.items import Item
from core.labels import Target
from core.llm import images
from core.protocols.protocol import Judges
from core.protocols.registry import PROTOCOLS
from core.trace import Event
from pages.parts import colours, items, numbers, resources, shell
from pages.parts.text import plain
from pages.watch.parts import views
from storage import database, labels, runs, studies, traces
from storage import items as stored_items
from storage.reports import peer_reviews
from storage.studies import Study
from storage.traces import STATUSES, Filter, Trace

ROWS = 50


def find(study: Study) -> None:
    """The list: filters in the address, fifty traces a page, a click opens one."""
    wanted = filters(study)
    with database.reading(resources.engine()) as session:
        total = traces.count(session, wanted)
        page = min(int(st.session_state.get("page", 1)), max(1, -(-total // ROWS)))
        found = traces.find(session, wanted, offset=(page - 1) * ROWS, limit=ROWS)
        stances = traces.last_opinions(session, [trace.id for trace in found])
    if not total:
        return nothing(study, wanted)
    st.caption(numbers.count(total, "trace"))
    table(found, stances)
    if total > ROWS:
        st.pagination(-(-total // ROWS), key="page", bind="query-params")


def filters(study: Study) -> Filter:
    """What to look for; every choice is in the address."""
    with database.reading(resources.engine()) as session:
        scenarios = stored_items.scenarios(session, study.id)
        every_run = runs.of_study(session, study.id)
    names = {run.id: run.name for run in every_run}
    criteria = sorted({run.criterion for run in every_run if run.criterion})
    words = [colours.STATUS[status][0] for status in STATUSES]
    unknown({"run": names.values(), "scenario": scenarios, "criterion": criteria, "outcome": words})
    columns = st.columns([1.2, 1.2, 1, 1, 1])
    run = columns[0].selectbox(
        "Run", list(names.values()), index=None, placeholder="all", key="run", bind="query-params"
    )
    scenario = columns[1].selectbox(
        "Scenario", scenarios, index=None, placeholder="all", key="scenario", bind="query-params"
    )
    criterion = columns[2].selectbox(
        "Criterion", criteria, index=None, placeholder="all", key="criterion", bind="query-params"
    )
    status = columns[3].selectbox(
        "Outcome",
        STATUSES,
        index=None,
        placeholder="all",
        format_func=lambda status: colours.STATUS[status][0],
        key="outcome",
        bind="query-params",
    )
    item = columns[4].text_input("Item", placeholder="part of its name", key="name", bind="query-params")
    chosen = next((number for number, name in names.items() if name == run), None)
    return Filter(study.id, chosen, scenario, criterion, status, item or None)


def unknown(choices: Mapping[str, Collection[str]]) -> None:
    """Say what the address asks for and the study does not have, for the form leaves it out without a word."""
    for parameter, known in choices.items():
        told = st.query_params.get(parameter)
        if told is not None and told not in known:
            st.warning(
                f"There is no {parameter} called {plain(told[:80])} here, so traces of every {parameter} are shown."
            )


def nothing(study: Study, wanted: Filter) -> None:
    """What to do where there is no trace."""
    if wanted != Filter(study.id):
        st.info("No trace matches. Clear a filter to see more.")
        return
    st.info("This study has no traces yet: start a run, or import recorded debates.")
    with st.container(horizontal=True):
        st.page_link(shell.page("setup/runs.py"), label="Start a run", icon=":material/play_circle:")
        st.page_link(shell.page("setup/studies.py"), label="Import", icon=":material/upload_file:")


def table(found: list[Trace], stances: dict[int, str]) -> None:
    """The traces, one a row; a click opens it."""
    rows = [
        {
            "Item": trace.item,
            "Scenario": trace.scenario or "",
            "Criterion": trace.criterion,
            "Outcome": colours.STATUS[trace.status][0],
            "Last opinions": stances.get(trace.id, ""),
            "Run": trace.run,
        }
        for trace in found
    ]
    chosen = st.dataframe(
        rows,
        key="found",
        on_select="rerun",
        selection_mode="single-cell",
        hide_index=True,
        height=min(38 + 35 * len(rows), 740),
        column_config={"Last opinions": st.column_config.TextColumn(help="Each judge's, in the order of the settings")},
    )
    if chosen.selection.cells:
        st.query_params["trace"] = str(found[chosen.selection.cells[0][0]].id)
        st.rerun()


def watch(trace_id: int) -> None:
    """One trace: what was judged, then how."""
    with database.reading(resources.engine()) as session:
        trace = traces.get(session, trace_id)
        run = runs.get(session, trace.run_id)
        item = stored_items.get(session, trace.study_id, trace.item)
        study = studies.of_id(session, trace.study_id)
    head(trace, item, study, run.source)
    looked_at(trace, study)
    items.show(item, home=images.folder(study.name))
    systems = items.systems(item)
    if systems:
        st.caption(systems)
    follow(trace, item, run.settings)
    shell.folds()


def head(trace: Trace, item: Item, study: Study, source: str) -> None:
    """Where we are, and the way back; the study is the trace's own, whatever was chosen before."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Traces", icon=":material/arrow_back:", key="back", type="tertiary"):
            del st.query_params["trace"]
            st.rerun()
        parts = [f"Item {plain(trace.item)}", trace.scenario, trace.criterion, f"run “{plain(trace.run)}”"]
        st.markdown(" · ".join(part for part in parts if part), width="stretch")
        judges = judged_kind(trace)
        scored = judges in ("score", "answer") or (judges == "pair" and len(item.responses) == 1)
        if trace.status in ("disputed", "no_verdict") and not scored and judges != "critique":
            st.page_link(
                shell.page("label/disagreements.py"),
                label="Decide",
                icon=":material/balance:",
                query_params={"study": study.name, "item": trace.item, "on": trace.criterion},
            )
        if judges == "critique":
            st.page_link(
                shell.page("label/aius.py"),
                label="Judge its AIUs",
                icon=":material/rule:",
                query_params={"study": study.name, "item": trace.item},
            )
        if scored:
            st.page_link(
                shell.page("label/scores.py"),
                label="Label",
                icon=":material/star_half:",
                query_params={"study": study.name, "item": trace.item, "on": trace.criterion},
            )
    if source == "sample":
        st.caption(":material/info: A sample: this trace was written for the tour. No model was asked.")


def judged_kind(trace: Trace) -> Judges:
    """What the trace's protocol judges; a pair where the protocol is not installed here."""
    return PROTOCOLS[trace.protocol].judges if trace.protocol in PROTOCOLS else "pair"


def looked_at(trace: Trace, study: Study) -> None:
    """A label given after looking is not blind: keep that in mind, and say it."""
    name = shell.annotator()
    if name is None:
        return
    with database.writing(resources.engine()) as session:
        open_to = [Target(item=trace.item, kind="preference", criterion=trace.criterion)]
        open_here = trace.status in ("disputed", "no_verdict") and judged_kind(trace) != "critique"
        judged = open_to if open_here else []
        scored = peer_reviews.judged(session, trace.id)
        unlabelled = [one for one in scored or judged if labels.own(session, study.id, one, name) is None]
        for target in unlabelled:
            labels.see(session, study.id, target, name)
    if unlabelled:
        st.caption(":material/visibility: You have seen the judges now: a label you give later is kept as not blind.")


def follow(trace: Trace, item: Item, settings: dict[str, Any]) -> None:
    """The grid and the talk; while the trace runs, new events are read every second."""
    live = trace.status in ("running", "waiting")

    @st.fragment(run_every=1.0 if live else None)
    def growing() -> None:
        events = told_so_far(trace.id)
        with database.reading(resources.engine()) as session:
            now = traces.get(session, trace.id)
        if live and now.status not in ("running", "waiting"):
            st.rerun()
        status_line(now)
        views.render(now, item, events, settings, live=now.status == "running")

    growing()


def told_so_far(trace_id: int) -> list[tuple[int, Event]]:
    """Every event of the trace; only what is new since the last look is read."""
    held_id, held = st.session_state.get("told", (None, []))
    if held_id != trace_id:
        held = []
    with database.reading(resources.engine()) as session:
        held = held + traces.events(session, trace_id, after=held[-1][0] if held else -1)
    st.session_state["told"] = (trace_id, held)
    return held


def status_line(trace: Trace) -> None:
    """How it ended and what it took."""
    with database.reading(resources.engine()) as session:
        took = traces.totals(session, trace_id=trace.id)
    word, icon, colour = colours.STATUS[trace.status]
    parts = [f":{colour}-badge[{icon} {word}]"]
    if took.calls:
        parts.append(numbers.count(took.calls, "turn"))
    if took.completion_tokens:
        parts.append(numbers.count(took.prompt_tokens + took.completion_tokens, "token"))
        parts.append(numbers.seconds(took.seconds))
        parts.append(numbers.dollars(took.dollars, took.unpriced).replace("$", r"\$"))
    if trace.problem:
        parts.append(plain(trace.problem))
    st.markdown(" · ".join(parts))


number = shell.asked("trace")
if number is None:
    chosen_study = shell.opened("Traces", "Watch the judges argue, and find where they could not agree.")
    find(chosen_study)
else:
    watch(number)
