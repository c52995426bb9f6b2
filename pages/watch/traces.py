"""The list of traces with filters, and the page of one trace, live or finished."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from core.errors import TiebreakError
from core.formats.tables import Column, Table
from core.items import Item, pair_item, pair_numbers
from core.labels import Kind, Target, Value
from core.llm.progress import OpenCall
from core.protocols import Subject
from core.protocols.registry import PROTOCOLS
from core.trace import Event, Verdict
from core.transcripts import FIRST_WRONG_STEP
from pages.parts import items, live, numbers, paging, permissions, resources, shell, tables, tour
from pages.parts.colours import STATUS
from pages.parts.text import escape_markdown
from pages.watch.parts import stated_values, turns
from storage.accounts.access import Permission
from storage.db import connections
from storage.labelling import offers
from storage.labels import labels
from storage.reports import peer_reviews
from storage.runs import aius, call_totals, runs, trace_opinions, traces
from storage.runs.claims import VERDICTS
from storage.studies import items as stored_items
from storage.studies import studies

TRACES_PER_PAGE = 50
ORDERS: dict[str, traces.Order] = {"By run": "run", "Most disputed first": "contention"}
# Whether a judge of the trace has another opinion at the end than at first.
OPINIONS = {"Changed": True, "Unchanged": False}
ACTIVE = ("running", "waiting")
# Seconds after which a page says again that it watches a trace.
WATCH_SECONDS = 5.0
OPINIONS_HELP = "Your later labels of the targets on this page of the list are recorded as not blind."
UNDECIDED = ("disputed", "no_verdict")
PAIR_CAPTION = (
    ":material/compare_arrows: Two of the item's {of} responses: Response 1 is its response {0}, and Response 2 its "
    "response {1}."
)
SWAPPED_FOR_LABEL = (
    ":material/swap_horiz: You labelled the responses in swapped order: your Response 1 is Response 2 on this page."
)
draw_back = partial(shell.draw_back, "Traces", "trace", "shown")


def draw_list(study: studies.Study) -> None:
    """Draw the filters, which are in the URL, and the matching traces; a click opens a trace."""
    chosen = choose_filter(study)
    # With a filter they are counted, so not again for each page.
    count = partial(resources.read, traces.count, chosen)
    topics = (live.study_topic(study.id),)
    total = live.load("trace_count", topics, count, scope=chosen)
    if not total and chosen == traces.Filter(study.id):
        advice = "Start a run, or import recorded debates."
        return shell.draw_missing(study, "This study has no traces yet.", advice, shell.RUN, shell.IMPORT)
    if not total:
        st.info("No trace matches. Clear a filter to see more.")
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(numbers.format_count(total, "trace"), width="content")
        order = st.segmented_control(
            "Order", ORDERS, default=next(iter(ORDERS)), required=True, key="order", bind="query-params"
        )
        shows_opinions = st.toggle("Show opinions", key="opinions", bind="query-params", help=OPINIONS_HELP)
    after = paging.key_place(("traces", chosen, order))
    page = resources.read(traces.page, chosen, after=after, size=TRACES_PER_PAGE, order=ORDERS[order])
    matches = page.rows
    opinions = resources.read(trace_opinions.summarize_last, [trace.id for trace in matches])
    of_several = [trace.id for trace in matches if not trace.criterion]
    verdicts = resources.read(trace_opinions.verdicts_by_criterion, of_several)
    if shows_opinions:
        turns.note_judged(study.id, [trace.id for trace in matches])
    draw_table(matches, opinions if shows_opinions else None, verdicts)
    paging.draw_key_paging(page)
    if any(trace.status in ACTIVE for trace in matches):
        drawn = {trace.id: trace.status for trace in matches}
        read = partial(resources.read, traces.statuses, chosen, list(drawn))
        permissions.rerun_when(lambda: live.load("trace_statuses", topics, read, scope=tuple(drawn)) != drawn)


def choose_filter(study: studies.Study) -> traces.Filter:
    """Draw the filters and return the selection; every choice is in the URL."""
    scenarios = resources.read(stored_items.scenarios, study.id)
    study_runs = resources.read(runs.of_study, study.id)
    has_verdict_criteria = any(not run.criterion for run in study_runs)
    verdict_criteria = resources.read(trace_opinions.verdict_criteria, study.id) if has_verdict_criteria else []
    run_ids = {run.name: run.id for run in study_runs}
    criteria = sorted({run.criterion for run in study_runs if run.criterion} | set(verdict_criteria))
    outcomes = {STATUS[status][0]: status for status in traces.STATUSES}
    chosen = paging.choose_filters(
        {"run": run_ids, "scenario": scenarios, "criterion": criteria, "outcome": outcomes, "opinion": OPINIONS}
    )
    item = st.text_input("Item", placeholder="name contains…", key="name", bind="query-params")
    run_id, status = run_ids.get(chosen["run"] or ""), outcomes.get(chosen["outcome"] or "")
    changed = OPINIONS.get(chosen["opinion"] or "")
    return traces.Filter(study.id, run_id, chosen["scenario"], chosen["criterion"], status, item or None, changed)


def draw_table(
    matches: list[traces.Trace], opinions: Mapping[int, str] | None, verdicts: Mapping[int, Mapping[str, str]]
) -> None:
    """Draw one trace per row; a click opens it. Without `opinions` no value of a judge is shown.

    `verdicts` has the verdicts of runs without a criterion, by trace and criterion.
    """
    columns = [
        Column("Item", "name"),
        Column("Scenario", lambda trace: trace.scenario or ""),
        Column("Criterion", lambda trace: trace.criterion or ", ".join(verdicts.get(trace.id, {}))),
        Column("Outcome", lambda trace: STATUS[trace.status][0]),
        Column(
            "Contention", lambda trace: "–" if trace.contention is None else f"{trace.contention:.2f}", "figure",
            help="Disagreement of the opinions, from 0 to 1; – where it is not known.",
        ),
        Column(
            "Last opinions",
            lambda trace: (opinions or {}).get(trace.id) or list_verdicts(verdicts.get(trace.id, {})),
            help="One per judge, in the order of the settings; the verdicts by criterion if there are none",
        ),
        Column("Run", "run"),
    ]  # fmt: skip
    shown = [column for column in columns if opinions is not None or column.title != "Last opinions"]
    clicked = tables.draw(Table("traces", matches, shown, ()), opens=True, max_height=740)
    if clicked is not None:
        # One change of the address, without the filters, which Streamlit removes in a second one: Back needs one press.
        kept = {name: st.query_params[name] for name in ("study",) if name in st.query_params}
        st.query_params.from_dict(kept | {"trace": str(matches[clicked].id)})
        st.rerun()


def list_verdicts(verdicts: Mapping[str, str]) -> str:
    """Return `accuracy: 1, politeness: 2`, or `1` if there is one criterion."""
    return ", ".join(values if len(verdicts) == 1 else f"{name}: {values}" for name, values in verdicts.items())


def requested_trace() -> traces.Trace | None:
    """Return the trace that the URL names, if any; if there is no such trace, draw the way back and raise."""
    try:
        trace_id = shell.number_parameter("trace")
        if trace_id is None:
            return None
        study_id = resources.read(traces.study_id, trace_id)
        if not permissions.allows(study_id, Permission.open):
            raise TiebreakError(traces.no_trace(trace_id))
        permissions.require_page(study_id)
        return resources.read(traces.get, trace_id)
    except TiebreakError:
        draw_back()
        raise


def draw_trace(trace: traces.Trace) -> None:
    """Draw one trace: the item, then its events."""
    with connections.reading(resources.engine()) as session:
        run = runs.get(session, trace.run_id)
        whole = aius.evaluated_item(session, run, stored_items.get(session, trace.study_id, trace.item))
        study = studies.by_id(session, trace.study_id)
        disputed = trace_opinions.disputed_steps(session, trace.id) if whole.transcripts else []
    shell.set_current_study(study.name)
    item = pair_item(whole, trace.part)
    draw_trace_header(trace, item, study, run.source)
    if item != whole:
        st.caption(PAIR_CAPTION.format(*pair_numbers(trace.part) or (), of=len(whole.responses)))
    if st.query_params.get("shown") == "2,1":
        st.caption(SWAPPED_FOR_LABEL)
    has_begun = (
        trace.status != "running"
        or st.session_state.get("begun") == trace.id
        or bool(resources.read(traces.events, trace.id))
    )
    if has_begun:
        record_view(trace)
    is_pair = sum(bool(response.transcript) for response in item.responses) == 2  # they are read beside each other
    is_beside = turns.view_of(trace) in turns.BESIDE and not is_pair
    widths = [1, 1] if item.transcripts else [2, 3]
    left, right = st.columns(widths, gap="large") if is_beside else (st.container(), st.container())
    with left, st.container(key="material" if is_beside else "whole-item"):
        items.draw_item(item, study=study, stacked=is_beside, disputed=disputed)
        systems = items.system_names(item)
        if systems:
            st.caption(systems)
    with right:
        draw_decision(trace)
        draw_events(trace, item, run.settings, has_begun=has_begun)
        if trace.status in VERDICTS:
            stated_values.draw_section(trace)
            tour.draw(study, "traces")


def draw_decision(trace: traces.Trace) -> None:
    """Draw what people decided on a trace without consensus, and how, for visitors who may see all labels."""
    if trace.status not in UNDECIDED or not permissions.allows(trace.study_id, Permission.export):
        return
    target = Target(item=trace.item, kind="preference", criterion=trace.criterion, part=trace.part)
    target = next(iter(resources.read(peer_reviews.verdict_targets, trace.id)), target)  # a score, or a step
    found = resources.read(labels.decision, trace.study_id, target)
    if found is None:
        return
    gold, adjudicator = found
    value = name_value(gold.value, target.kind)
    by = f"by {adjudicator}" if adjudicator else f"by people · {gold.source}"
    how = escape_markdown(f"{by} · {gold.reason}")
    with st.container(key=f"outcome-{trace.id}-decided"):  # a replay hides it until its end
        st.markdown(f":green-badge[:material/how_to_reg: Decided: {escape_markdown(value)}] {how}")


def name_value(value: Value | None, kind: Kind) -> str:
    """Return the name of a preferred response, or the value as a text."""
    names = numbers.RESPONSE_NAMES if kind == "preference" else {}
    return names.get(value, str(value)) if isinstance(value, int) else numbers.format_value(value)


def draw_trace_header(trace: traces.Trace, item: Item, study: studies.Study, source: str) -> None:
    """Draw the way back, the trace's names, and the link to the page where it is labelled.

    `study` is the trace's own, which may differ from the one selected before.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_back()
        names = [
            f"Item {escape_markdown(trace.name)}",
            escape_markdown(trace.scenario or ""),
            escape_markdown(trace.criterion),
            f"run “{escape_markdown(trace.run)}”",
        ]
        st.markdown(" · ".join(filter(None, names)), width="stretch")
        link_to_labelling(trace, item, study)
    if source == "sample":
        st.caption(":material/info: Sample: this trace was written for demonstration. No model was called.")


def link_to_labelling(trace: traces.Trace, item: Item, study: studies.Study) -> None:
    """Link to the label page for the targets of the trace, if the visitor may label them."""
    if not permissions.allows(study.id, Permission.label):
        return
    judges = judged_kind(trace)
    criterion = resources.read(offers.criterion_to_label, trace)
    address = {"study": study.name, "item": trace.item} | ({"part": trace.part} if trace.part else {})
    if judges == "critique":
        script, label, icon = "label/aius.py", "Label its AIUs", "rule"
    elif judges in ("score", "answer") or len(item.responses) == 1:
        script, label, icon = "label/scores.py", "Label", "star_half"
    elif trace.status in UNDECIDED:
        script, label, icon = "label/disagreements.py", "Decide", "balance"
    else:
        return
    parameters = address if judges == "critique" else address | {"on": criterion}
    shell.draw_link(script, label, icon, **parameters)


def judged_kind(trace: traces.Trace) -> Subject:
    """Return the subject of the trace's protocol; a pair if the protocol is not installed."""
    return PROTOCOLS[trace.protocol].judges if trace.protocol in PROTOCOLS else "pair"


def record_view(trace: traces.Trace) -> None:
    """Record that the judges' opinions are shown, so a later label is not blind, and draw a note."""
    subject = judged_kind(trace)
    kinds: dict[Subject, Kind] = {"score": "score", "answer": "answer"}
    kind = "answer" if trace.criterion == FIRST_WRONG_STEP else kinds.get(subject, "preference")
    unjudged = Target(item=trace.item, kind=kind, criterion=trace.criterion, part=trace.part)
    is_open = trace.status in (*UNDECIDED, "running") and subject != "critique"
    viewed = resources.read(peer_reviews.verdict_targets, trace.id)
    if not viewed and is_open:
        judged = resources.read(trace_opinions.judged_targets, trace.id)
        viewed = [target for target in judged if target.kind == "preference"] or [unjudged]
    turns.note_views(trace.study_id, viewed)


def draw_events(trace: traces.Trace, item: Item, settings: dict[str, Any], *, has_begun: bool) -> None:
    """Draw the status and the events; while the trace runs, new events are loaded every second.

    If nothing was there to be seen (`has_begun`), the first reply draws the page again, which records the view.
    """
    is_live = trace.status in ACTIVE

    def read() -> tuple[list[tuple[int, Event]], traces.Trace, call_totals.Totals]:
        events = resources.read(traces.events, trace.id)
        with connections.reading(resources.engine()) as session:
            return events, traces.get(session, trace.id), call_totals.of_trace(session, trace.id)

    @permissions.fragment(run_every=1.0 if is_live else None)
    def refresh() -> None:
        events, current, totals = live.load("trace", (f"trace {trace.id}",), read)
        if is_live and current.status != trace.status:  # the page also records what is seen of a running trace
            st.rerun()
        calls = open_calls(current) if is_live else []
        if not has_begun and (events or any(call.text for call in calls)):
            st.session_state["begun"] = trace.id
            st.rerun()
        with st.container(key=f"outcome-{current.id}-status"):
            draw_status(current, totals, turns.verdict_of(events))
        if calls:
            st.markdown("  \n".join(map(describe_call, calls)))
        turns.render_trace(current, item, events, settings, live=current.status == "running")
        draw_open_texts(calls)

    refresh()


def open_calls(trace: traces.Trace) -> list[OpenCall]:
    """Return which judges are writing now; workers state it while a page says that it watches the trace."""
    last, watched = st.session_state.get("watched", (0.0, None))
    if watched != trace.id or time.monotonic() - last > WATCH_SECONDS:
        shell.record_watching(trace.id)
        st.session_state["watched"] = time.monotonic(), trace.id
    return resources.read(traces.open_calls, trace.id)


def describe_call(call: OpenCall) -> str:
    """Return `**judge A**, round 1, writing · 12 s` as Markdown."""
    when = "first opinion" if call.round == 0 else f"round {call.round}"
    what = "loading the model" if call.is_loading else "writing"
    seconds = numbers.format_duration(max(0.0, round(time.time() - call.since)))
    return f":material/edit: **{escape_markdown(call.speaker)}**, {when}, {what} · {seconds}"


def draw_open_texts(calls: Sequence[OpenCall]) -> None:
    """Draw what has arrived of replies below the turns, as it is written."""
    for number, call in enumerate(calls):
        if call.text:
            with st.container(key=f"open-call-{number}", gap="small"):
                st.markdown(describe_call(call))
                st.text(call.text)


def draw_status(trace: traces.Trace, totals: call_totals.Totals, verdict: Verdict | None) -> None:
    """Draw the trace's status with the value of its verdict, its turns, tokens, time and cost."""
    name, icon, colour = STATUS[trace.status]
    if verdict is not None and verdict.value is not None:
        kind: Kind = next((opinion.kind for opinion in verdict.opinions), "answer")
        name += f": {escape_markdown(name_value(verdict.value, kind))}"
    parts = [f":{colour}-badge[{icon} {name}]"]
    if totals.calls:
        parts.append(numbers.format_count(totals.calls, "turn"))
    if totals.completion_tokens or totals.uncounted:
        parts.append(totals.describe_tokens())
        parts.append(f"{numbers.format_duration(totals.seconds)} of calls")  # they overlap
        parts.append(numbers.format_dollars(totals.dollars, totals.unpriced).replace("$", r"\$"))
    if trace.problem:
        parts.append(escape_markdown(trace.problem))
    st.markdown(" · ".join(parts))


requested = requested_trace()
if requested is None:
    draw_list(shell.draw_header("Traces", "Watch the judges' debates, and find the disputed ones."))
else:
    draw_trace(requested)
