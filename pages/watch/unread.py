"""Replies that could not be read: how many of which judge and why, their texts, and a person's reading of them."""

import streamlit as st

from core.formats.tables import Column, Table
from core.items import item_name
from pages.parts import numbers, paging, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.watch.parts import stated_values, turns
from storage.runs import outcomes, runs
from storage.studies.studies import Study

UNREADABLE, READ_SINCE = "Unreadable", "Read since"


def draw_page(study: Study) -> None:
    """Draw the filters, the counts and one page of the replies."""
    filter = choose_filter(study)
    counts = resources.read(outcomes.count_unread, filter)
    if not counts:
        return empty_state(filter)
    total = numbers.format_count(sum(count.replies for count in counts), "reply", "replies")
    st.markdown(f"**{total}** {'read since' if filter.read else 'without a reading'}")
    tables.draw(Table("unread", counts, COLUMNS, ()), key="counts")
    page = resources.read(
        outcomes.page_unread, filter, after=paging.key_place(("unread", filter)), size=outcomes.UNREAD_PAGE
    )
    turns.note_judged(study.id, {reply.trace_id for reply in page.rows})
    for reply in page.rows:
        draw_reply(reply)
    paging.draw_key_paging(page)


def choose_filter(study: Study) -> outcomes.UnreadFilter:
    """Draw the filters and return the selection; every choice is in the URL."""
    shown = st.segmented_control(
        "Show", (UNREADABLE, READ_SINCE), default=UNREADABLE, required=True, key="show", bind="query-params"
    )
    run_ids = {run.name: run.id for run in resources.read(runs.of_study, study.id)}
    everything = outcomes.UnreadFilter(study.id, read=shown == READ_SINCE)
    counts = resources.read(outcomes.count_unread, everything, with_all=False)
    if not counts and not st.query_params.keys() & {"run", "judge", "step", "reason"}:
        return everything
    options = {name: sorted({getattr(count, name) for count in counts}) for name in ("judge", "step", "reason")}
    chosen = paging.choose_filters({"run": run_ids, **options})
    run_id = run_ids.get(chosen.pop("run") or "")
    return outcomes.UnreadFilter(study.id, run_id, **chosen, read=shown == READ_SINCE)


def empty_state(filter: outcomes.UnreadFilter) -> None:
    """Draw the empty state if no reply matches."""
    if filter.read:
        st.info("No unreadable reply has been read since by a person, an extractor or newer parsers.")
    elif filter != outcomes.UnreadFilter(filter.study_id):
        st.info("No unreadable reply matches. Clear a filter to see more.")
    else:
        st.success("No unreadable replies.", icon=":material/check:")
        shell.draw_link("watch/traces.py", "Open the traces", "forum")


COLUMNS = (
    Column("Judge", "judge"),
    Column("Step", "step", help="The part of the protocol in which the judge was asked."),
    Column("Reason", "reason", help="Why the reply has no value that counts."),
    Column("Replies", "replies", "count", help="The replies of the judge in this step with this reason."),
    Column("Of", "of", "count", help="All replies of the judge in this step."),
    Column(
        "Share", lambda count: count.replies / count.of if count.of else None, "share",
        help="Replies, divided by all replies of the judge in the step.",
    ),
)  # fmt: skip


def draw_reply(reply: outcomes.UnreadReply) -> None:
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
            shell.draw_link("watch/traces.py", "Trace", "forum", trace=str(reply.trace_id))
        stated_values.draw_replies(reply.readings, f"unread-{reply.id}")
        name = f"{turn.speaker}, item {reply.item}"
        stated_values.draw_control(reply.trace_id, reply.readings, str(reply.id), name)


draw_page(
    shell.draw_header(
        "Unreadable replies",
        "Replies of judges that count as no verdict, since no value could be read: the reason, and the text.",
    )
)
