"""Replies that could not be read: how many of which judge and why, their texts, and a person's reading of them."""

from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from core.items import item_name
from pages.parts import numbers, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.watch.parts import stated_values, turns
from storage.db import connections
from storage.runs import outcomes, runs, trace_opinions
from storage.runs.outcomes import JudgeStep, UnreadCount, UnreadFilter, UnreadReply
from storage.studies.studies import Study

UNREADABLE, READ_SINCE = "Unreadable", "Read since"
FILTERS = ("judge", "step", "reason")


@st.cache_resource(show_spinner=False)
def _known_totals(url: str) -> dict[int, tuple[int, dict[JudgeStep, int]]]:
    """Return run id -> the number of its replies when they were counted, and their numbers by judge and step."""
    return {}


def draw_page(study: Study) -> None:
    """Draw the filters, the counts and one page of the replies; their share of all replies follows."""
    filter = choose_filter(study)
    with connections.reading(resources.engine()) as session:
        counts = outcomes.count_unread(session, filter, {})
    stated_values.draw_undo()
    if not counts:
        return empty_state(filter)
    with connections.reading(resources.engine()) as session:
        replies = outcomes.count_replies(session, filter.study_id, filter.run_id)
    known = _known_totals(str(resources.engine().url))
    changed = [run for run, number in replies.items() if known.get(run, (None,))[0] != number]
    place = st.empty()
    with place.container():
        draw_counts(with_totals(counts, replies), filter, is_complete=not changed)
    draw_replies(study, filter, sum(count.replies for count in counts))
    if changed:
        with connections.reading(resources.engine()) as session:
            known |= {run: (replies[run], totals) for run, totals in outcomes.replies_by_step(session, changed).items()}
        with place.container():
            draw_counts(with_totals(counts, replies), filter, is_complete=True)


def with_totals(counts: list[UnreadCount], run_ids: Iterable[int]) -> list[UnreadCount]:
    """Return the counts with the number of all replies of these runs, as far as they are counted."""
    known = _known_totals(str(resources.engine().url))
    totals = outcomes.sum_by_step(known[run_id][1] for run_id in run_ids if run_id in known)
    return [replace(count, of=totals.get((count.judge, count.step), 0)) for count in counts]


def choose_filter(study: Study) -> UnreadFilter:
    """Draw the filters and return the selection; every choice is in the URL."""
    columns = st.columns([1.4, 1, 1, 1, 1.4], vertical_alignment="bottom")
    with columns[0]:
        shown = st.segmented_control(
            "Show", (UNREADABLE, READ_SINCE), default=UNREADABLE, required=True, key="show", bind="query-params",
            on_change=reset_page,
        )  # fmt: skip
    with connections.reading(resources.engine()) as session:
        run_ids = {run.name: run.id for run in runs.of_study(session, study.id)}
        everything = UnreadFilter(study.id, read=shown == READ_SINCE)
        counts = outcomes.count_unread(session, everything, {})
    options = {name: sorted({getattr(count, name) for count in counts}) for name in FILTERS}
    run = _choose(columns[1], "run", list(run_ids))
    judge, step, reason = (
        _choose(column, name, options[name]) for column, name in zip(columns[2:], FILTERS, strict=True)
    )
    return UnreadFilter(study.id, run_ids.get(run or ""), judge, step, reason, read=shown == READ_SINCE)


def _choose(column: st.delta_generator.DeltaGenerator, name: str, options: list[str]) -> str | None:
    return column.selectbox(
        name.capitalize(),
        options,
        index=None,
        placeholder="all",
        key=name,
        bind="query-params",
        on_change=reset_page,
    )


def reset_page() -> None:
    """Open the first page of the list."""
    st.query_params.pop("after", None)


def empty_state(filter: UnreadFilter) -> None:
    """Draw the empty state if no reply matches."""
    if filter.read:
        st.info("No unreadable reply has been read since by a person, an extractor or newer parsers.")
    elif filter != UnreadFilter(filter.study_id):
        st.info("No unreadable reply matches. Clear a filter to see more.")
    else:
        st.success("No unreadable replies.", icon=":material/check:")
        st.page_link(shell.page_path("watch/traces.py"), label="Open the traces", icon=":material/forum:")


COLUMNS = {
    "Step": st.column_config.TextColumn(help="The part of the protocol in which the judge was asked."),
    "Reason": st.column_config.TextColumn(width="large", help="Why the reply has no value that counts."),
    "Replies": st.column_config.NumberColumn(help="The replies of the judge in this step with this reason."),
    "Of": st.column_config.NumberColumn(help="All replies of the judge in this step."),
    "Share": st.column_config.NumberColumn(
        format="percent", help="Replies, divided by all replies of the judge in the step."
    ),
}


def draw_counts(counts: list[UnreadCount], filter: UnreadFilter, *, is_complete: bool) -> None:
    """Draw the number of replies by judge, step and reason; without all replies until they are counted."""
    total = numbers.format_count(sum(count.replies for count in counts), "reply", "replies")
    st.markdown(f"**{total}** {'read since' if filter.read else 'without a reading'}")
    st.dataframe(
        [
            {
                "Judge": count.judge,
                "Step": count.step,
                "Reason": count.reason,
                "Replies": count.replies,
                "Of": count.of if is_complete else None,
                "Share": count.replies / count.of if is_complete and count.of else None,
            }
            for count in counts
        ],
        hide_index=True,
        height=min(38 + 35 * len(counts), 320),
        column_config=COLUMNS,
        key=f"counts_{is_complete}",
    )
    tables.draw_notes(COLUMNS)
    if not is_complete:
        st.caption(":material/hourglass: Counting all replies of these judges …")


def draw_replies(study: Study, filter: UnreadFilter, total: int) -> None:
    """Draw one page of the replies; the address has the key of the last reply before it."""
    after = shell.number_parameter("after") or 0
    with connections.reading(resources.engine()) as session:
        replies = outcomes.find_unread(session, filter, after=after, limit=outcomes.UNREAD_PAGE + 1)
    shown = replies[: outcomes.UNREAD_PAGE]
    if shown:
        record_views(study, shown)
    for reply in shown:
        draw_reply(reply)
    with st.container(horizontal=True):
        if after and st.button("First page", icon=":material/first_page:", key="first"):
            reset_page()
            st.rerun()
        if len(replies) > len(shown) and st.button("Next page", icon=":material/chevron_right:", key="next"):
            st.query_params["after"] = str(shown[-1].id)
            st.rerun()
        if after and not shown:
            st.caption(f"No more replies: {numbers.format_count(total, 'reply', 'replies')} on earlier pages.")


def record_views(study: Study, replies: list[UnreadReply]) -> None:
    """Record that judges' replies about these targets are shown: later labels are not blind."""
    with connections.reading(resources.engine()) as session:
        trace_ids = {reply.trace_id for reply in replies}
        viewed = {target for trace_id in trace_ids for target in trace_opinions.judged_targets(session, trace_id)}
    if shell.record_views(study.id, viewed):
        st.caption(turns.NOT_BLIND)


def draw_reply(reply: UnreadReply) -> None:
    """Draw a reply with its place, its text, and the control that states its value."""
    turn = reply.turn
    with st.container(border=True, key=f"unread-{reply.id}"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            place = [
                turn.speaker,
                turn.criterion,
                f"{turn.step}, round {turn.round}",
                item_name(reply.item, reply.part),
                reply.run,
            ]
            speaker, *others = (escape_markdown(part) for part in place if part)
            st.markdown(" · ".join([f"**{speaker}**", *others]), width="stretch")
            st.page_link(
                shell.page_path("watch/traces.py"),
                label="Trace",
                icon=":material/forum:",
                query_params={"trace": str(reply.trace_id)},
            )
        stated_values.draw_replies(reply.readings, f"unread-{reply.id}")
        name = f"{turn.speaker}, item {reply.item}"
        stated_values.draw_control(reply.trace_id, reply.readings, str(reply.id), name)


draw_page(
    shell.draw_header(
        "Unreadable replies",
        "Replies of judges that count as no verdict, since no value could be read: the reason, and the text.",
    )
)
