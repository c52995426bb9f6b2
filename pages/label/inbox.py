"""The inbox: annotators' flags and notes, answered and closed."""

from typing import Any, Literal

import streamlit as st

from core.errors import TiebreakError
from core.items import target_name
from core.texts import SOURCE, _, language, mark
from pages.parts import paging, permissions, resources, shell, tables
from pages.parts.text import escape_markdown, text_html, truncate
from storage.accounts.access import Permission
from storage.labelling import claims, home
from storage.labels import views
from storage.studies.studies import Study

LISTS = (mark("Open"), mark("Closed"))
THREADS_PER_PAGE = 50


def draw_list(threads: list[home.Thread], *, closed: bool) -> None:
    """Draw the threads of one list without their texts; a click opens one."""
    listed = [thread for thread in threads if thread.closed == closed]
    if not listed:
        st.info(_("No closed flags or notes yet.") if closed else _("No open flags or notes."))
        return
    page = paging.current_page("page", len(listed), THREADS_PER_PAGE)
    shown = paging.page_slice(listed, page, THREADS_PER_PAGE)
    rows = [
        {
            _("Annotator"): thread.annotator,
            _("Item"): target_name(thread.target),
            _("Criterion"): thread.target.criterion,
            _("What"): ", ".join([_("flag")] * thread.flagged + [_("note")] * bool(thread.note)) or _("withdrawn"),
            _("Replies"): sum(bool(reply.text) for reply in thread.replies),
            _("Last change"): thread.newest,
        }
        for thread in shown
    ]
    moment: Literal["distance", "localized"] = "distance" if language() == SOURCE else "localized"
    clicked = tables.draw_clickable(
        rows,
        f"threads_{closed}_{page}",
        max_height=740,
        column_config={_("Last change"): st.column_config.DatetimeColumn(format=moment)},
    )
    paging.draw_pagination("page", len(listed), THREADS_PER_PAGE, bind="query-params")
    if clicked is not None:
        thread = shown[clicked]
        st.query_params.update({"on": str(thread.target_id), "of": thread.annotator})
        st.rerun()


def draw_thread(study: Study, name: str, thread: home.Thread, *, may_reply: bool) -> None:
    """Draw one thread; the text of another annotator may suggest a label, so the view is recorded."""
    shell.draw_back(_("Inbox"), "on", "of")
    if name != thread.annotator:
        permissions.write(study.id, Permission.label, "", views.record, study.id, [thread.target], name)
    names = " · ".join(filter(None, (target_name(thread.target), thread.target.criterion)))
    st.subheader(escape_markdown(truncate(names, 120)), anchor=False)
    with st.container(border=True):
        flag = f" · :material/flag: {_('flagged')}" if thread.flagged else ""
        st.caption(f"**{escape_markdown(thread.annotator)}**{flag}")
        if thread.note:
            st.html(text_html(thread.note, markdown=False))
            order = resources.read(home.shown_order, study, thread)
            if list(order) != sorted(order):
                numbers = ", ".join(map(str, order))
                seen = _("The annotator saw the texts of the item in the order {order}: 1 in this note is {first}.")
                st.caption(seen.format(order=numbers, first=order[0]))
    for reply in thread.replies:
        with st.container(border=True):
            at, closed = reply.at.astimezone(shell.time_zone()), " · " + _("closed")
            st.caption(f"**{escape_markdown(reply.author)}** · {at:%Y-%m-%d %H:%M}{closed * reply.closed}")
            if reply.text:
                st.html(text_html(reply.text, markdown=False))
    draw_reply(study, name, thread, may_close=may_reply)
    if may_reply:
        address = {"study": study.name, "case": str(thread.target_id)}
        shell.draw_link("label/adjudication.py", _("Labels of this item"), "gavel", **address)


def draw_reply(study: Study, name: str, thread: home.Thread, *, may_close: bool) -> None:
    """Draw the form of a reply."""
    with st.form("reply", clear_on_submit=True, border=False):
        text = st.text_area(_("Reply"), height=90, key="reply_text", max_chars=home.LONGEST_REPLY)
        with st.container(horizontal=True):
            send = st.form_submit_button(_("Reply"), type="primary")
            close = may_close and not thread.closed and st.form_submit_button(_("Reply and close"))
    if send or close:
        needed = Permission.label if name == thread.annotator else Permission.adjudicate
        with permissions.writing(study.id, needed, "") as session:
            home.reply(session, study.id, thread.target_id, thread.annotator, name, text, closed=bool(close))
        st.rerun()


def requested_thread(threads: list[home.Thread]) -> home.Thread | None:
    """Return the thread that the URL names, if any."""
    target_id, annotator = shell.number_parameter("on"), st.query_params.get("of")
    if target_id is None or annotator is None:
        return None
    matching = next(
        (thread for thread in threads if thread.target_id == target_id and thread.annotator == annotator), None
    )
    if matching is None:
        raise TiebreakError(_("There is no such flag or note in this study any more."))
    return matching


study = shell.draw_header(_("Inbox"), _("Annotators' flags and notes: answer and close them."))
name = shell.require_annotator()
only_own = claims.is_named(study.rules, name) or not permissions.allows(study.id, Permission.adjudicate)
all_threads = resources.read(home.threads, study.id, name if only_own else None)
requested = requested_thread(all_threads)
if requested is not None:
    draw_thread(study, name, requested, may_reply=not only_own)
else:
    if only_own:
        st.caption(_("Your own flags and notes, with the replies."))
    options: dict[str, Any] = {"required": True, "label_visibility": "collapsed"}
    chosen = paging.choose_coded(_("List"), LISTS, "list", st.segmented_control, **options)
    draw_list(all_threads, closed=chosen == "Closed")
