"""The home of an annotator: the next target, open targets, and lists of labelled, skipped and flagged ones."""

from datetime import datetime
from typing import Any

import streamlit as st

from core.texts import _, mark, ngettext, number
from pages.label.parts import workbench
from pages.parts import paging, permissions, resources, shell, tables
from pages.parts.numbers import format_value
from storage.accounts.access import Permission
from storage.db import connections
from storage.labelling import context, home
from storage.labelling.queue_view import Tab, open_view
from storage.reports import annotators as statistics
from storage.studies.studies import Study

TAB_NAMES: dict[Tab, str] = {
    "todo": mark("To do"),
    "drafts": mark("Drafts"),
    "done": mark("Done"),
    "skipped": mark("Skipped"),
    "flagged": mark("Flagged"),
}
TASKS_PER_PAGE = 50


def draw_figures(study: Study, annotator_id: int, name: str, summaries: list[home.QueueSummary]) -> None:
    """Draw the numbers of open and labelled targets, today's pace, and, if shown, the changes after the reveal."""
    zone = shell.time_zone()
    with connections.reading(resources.engine()) as session:
        today = statistics.pace_of_day(session, study.id, annotator_id, zone, datetime.now(zone).date())
        events = statistics.label_events(session, study.id, annotator_id) if study.rules.own_statistics else []
        changed = statistics.changes(session, study.id, events).get(name, statistics.Changes())
        repeats = statistics.repeats(session, study.id, annotator_id) if study.rules.own_statistics else {}
    columns = st.columns(4)
    columns[0].metric(_("To do"), f"{sum(summary.todo for summary in summaries):,}")
    columns[1].metric(_("Done"), f"{sum(summary.done for summary in summaries):,}")
    pace = None if today.per_hour is None else _("{n} per hour", n=round(today.per_hour))
    plain: Any = {"delta_color": "off", "delta_arrow": "off"}
    hint = _("A pause counts as at most 30 seconds.")
    columns[2].metric(_("Labelled today"), f"{today.labels:,}", pace, help=hint, **plain)
    if study.rules.own_statistics and changed.revealed:
        share = _("{done} of {total}", done=number(changed.changed), total=number(changed.revealed))
        towards = _("{n} towards the judges", n=changed.towards)
        hint = _("Labels that you changed after seeing the judges.")
        columns[3].metric(_("Changed after reveal"), share, towards, help=hint, **plain)
    own = repeats.get(name, statistics.Share(0, 0))
    if own.n >= 5:  # fewer tell an annotator nothing
        st.caption(_("The same answer on {same} of {n} repeated items.", same=number(own.hits), n=number(own.n)))


def draw_continue(study: Study, summaries: list[home.QueueSummary], preferred: str) -> None:
    """Draw the button that opens the target at which the annotator stopped, in the preferred queue if it has any."""
    waiting = [summary for summary in summaries if summary.todo]
    if not waiting:
        st.success(_("You have no open targets in this study."), icon=":material/check:")
        return
    chosen = next((summary for summary in waiting if summary.name == preferred), waiting[0])
    parts = [_("{n} to do", n=number(chosen.todo))]
    parts += [ngettext("{n} draft", "{n} drafts", chosen.drafts)] if chosen.drafts else []
    parts += [_("{n} of them training", n=number(chosen.training))] if 0 < chosen.training < chosen.todo else []
    is_training = chosen.training and chosen.training == chosen.todo
    label = mark("Continue: training for {queue} ({counts})") if is_training else mark("Continue: {queue} ({counts})")
    label = _(label, queue=_(workbench.QUEUE_PAGES[chosen.name].title), counts=", ".join(parts))
    if st.button(label, type="primary", icon=":material/play_arrow:", key="continue", shortcut="Enter"):
        address = {"study": study.name, **workbench.queue_address(chosen.name)}
        st.switch_page(workbench.queue_page(chosen.name), query_params=address)


def draw_queues(summaries: list[home.QueueSummary], last: home.QueueSummary) -> home.QueueSummary:
    """Draw the choice of a queue, if there is one; at first the one in which the annotator labelled last."""
    names = [workbench.QUEUE_PAGES[summary.name].title for summary in summaries]
    if len(names) == 1:
        return summaries[0]
    default, draw = names[summaries.index(last)], st.segmented_control
    return summaries[names.index(paging.choose_coded(_("Queue"), names, "queue", draw, default, required=True))]


def draw_lists(study: Study, annotator: str, summary: home.QueueSummary) -> None:
    """Draw the tabs of a queue as one table with search; a click on a row opens its task."""
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    name = paging.choose_coded(_("List"), list(TAB_NAMES.values()), "list", left.segmented_control, required=True)
    tab: Tab = next(tab for tab, tab_name in TAB_NAMES.items() if tab_name == name)
    search = right.text_input(_("Search"), placeholder=_("words in the texts"), key="search", bind="query-params")
    queue = permissions.write(study.id, Permission.label, "", context.open_context, summary.name, study.name, annotator)
    with connections.reading(resources.engine()) as session:
        view = open_view(session, queue)
        listed = home.listed_ids(session, queue, view, tab, search)
        page = paging.current_page("page", len(listed), TASKS_PER_PAGE)
        shown = home.listed_tasks(session, queue, view, paging.page_slice(listed, page, TASKS_PER_PAGE))
    st.caption(" · ".join(f"{_(tab_name)} {number(getattr(summary, own))}" for own, tab_name in TAB_NAMES.items()))
    if not listed:
        st.info(_("No item contains these words.") if search.strip() else _("This list is empty."))
        return
    rows = [
        {
            _("No."): task.number,
            _("Question"): task.question,
            _("Criterion"): task.criterion,
            _("Scenario"): task.scenario,
            _("Your label"): "" if task.value is None else format_value(task.value),
            _("Marks"): ", ".join(
                [_("draft")] * task.draft + [_("skipped")] * task.skipped + [_("flagged")] * task.flagged
            ),
        }
        for task in shown
    ]
    clicked = tables.draw_clickable(
        rows,
        f"tasks_{summary.name}_{tab}_{page}_{hash(search)}",
        max_height=600,
        column_config={_("Question"): st.column_config.TextColumn(width="large")},
    )
    paging.draw_pagination("page", len(listed), TASKS_PER_PAGE, bind="query-params")
    if clicked is not None:
        query = {"study": study.name, "item": shown[clicked].name, "tab": tab, "on": shown[clicked].criterion}
        given = {name: text for name, text in query.items() if text} | workbench.queue_address(queue.name)
        st.switch_page(workbench.queue_page(queue.name), query_params=given)


study = shell.draw_header(_("My work"), _("Your open targets, and where you left off."))
annotator = shell.require_annotator()
annotator_id = home.prepare(resources.engine(), study.id, annotator)
summaries = resources.read(home.summaries, study, annotator)
if not summaries:
    if not workbench.draw_excluded(study, annotator):
        workbench.draw_no_pairs(study, mark("This study has no targets for you yet."))
else:
    last_name = resources.read(home.last_queue, study.id, annotator_id)
    last = next((summary for summary in summaries if summary.name == last_name), summaries[0])
    # The choice of a queue is below the button: it is drawn first, so that the button opens what is chosen.
    top, below = st.container(), st.container()
    with below:
        chosen = draw_queues(summaries, last)
        draw_lists(study, annotator, chosen)
    with top:
        draw_continue(study, summaries, chosen.name)
        draw_figures(study, annotator_id, annotator, summaries)
