"""Adjudicate: decide targets on which annotators disagree, or annotators and judges do."""

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from core.errors import TiebreakError
from core.items import target_name
from core.texts import _, mark, ngettext, number
from pages.label.parts import adjudication_panel, case_orders
from pages.parts import paging, permissions, resources, shell, tables
from pages.parts.text import escape_markdown
from storage.accounts.access import Permission
from storage.labelling import adjudication
from storage.studies.studies import Study

STATES: dict[adjudication.State, str] = {
    "open": mark("To decide"),
    "new_labels": mark("New labels since"),
    "decided": mark("Decided"),
}
KINDS = {
    "preference": _("preference"),
    "score": _("score"),
    "answer": _("answer"),
    "aiu_precision": _("AIU: true?"),
    "aiu_recall": _("AIU: covered?"),
    "likert": _("rating"),
    "aspect_quality": _("aspects"),
    "misleading_peer": _("misleading peer"),
}
CASES_PER_PAGE = 50

COLUMNS = {
    _("Split"): st.column_config.NumberColumn(
        format="%.2f",
        help=_("Disagreement of the annotators, from 0 to 1; together with Judges it determines the order"),
    ),
    _("Judges"): st.column_config.NumberColumn(
        format="%.2f", help=_("Disagreement of the judges with each other or with the annotators, from 0 to 1")
    ),
}


def draw_list(study: Study, annotator: str, order: adjudication.CaseOrder, state: adjudication.State) -> None:
    """Draw the cases in one state without labels or verdicts, which would end blindness."""
    ids = order.select(state)
    if not len(ids):
        return draw_empty(study, state)
    decided = len(order.ids) - len(order.select("open"))
    here = ngettext("{n} case here", "{n} cases here", len(ids))
    share = _("{n} of {total} decided", n=number(decided), total=number(len(order.ids)))
    st.caption(f"{here} · {share}")
    page = paging.current_page("page", len(ids), CASES_PER_PAGE)
    start = (page - 1) * CASES_PER_PAGE
    shown = resources.read(adjudication.read, study, annotator, ids[start : start + CASES_PER_PAGE].tolist())
    first = next_case(study, annotator, ids)
    if first is None and state == "open":
        st.info(_("You labelled all of these items: another person has to decide them."))
    elif st.button(_("Start"), type="primary", icon=":material/gavel:", key="start", shortcut="Enter"):
        open_case(int(ids[0]) if first is None else first)
    shell.draw_note(
        _("A case shows the annotators' labels and the judges' verdicts. Your later labels of it are not blind.")
    )
    rows = [
        {
            _("Item"): target_name(case.target),
            _("Kind"): KINDS.get(case.target.kind, case.target.kind),
            _("Criterion"): case.target.criterion,
            _("Scenario"): case.scenario or "",
            _("Annotators"): len(case.values),
            _("Split"): case.human_split,
            _("Judges"): case.contention,
            _("New labels"): case.new_labels,
            "": "" if can_decide(study, case) else _("labelled by you"),
        }
        for case in shown
    ]
    clicked = tables.draw_clickable(rows, f"cases_{state}_{page}", max_height=740, column_config=COLUMNS)
    tables.draw_notes(COLUMNS)
    if clicked is not None:
        open_case(shown[clicked].id)
    paging.draw_pagination("page", len(ids), CASES_PER_PAGE, bind="query-params")


def draw_empty(study: Study, state: adjudication.State) -> None:
    """Draw the empty state if there is no case."""
    if state != "open":
        st.info(_("None. Later labels do not change a decision; their items are listed here."))
        return
    st.info(_("No cases: annotators agree with each other and with the judges on all targets."))
    shell.draw_links(
        study,
        ("label/disagreements.py", mark("Label disagreements"), ":material/balance:"),
        ("results/agreement.py", mark("Agreement"), ":material/monitoring:"),
    )


def can_decide(study: Study, case: adjudication.Case) -> bool:
    """Return whether this adjudicator may decide a case; storage checks it again."""
    return study.rules.adjudicate_own or not case.own


def open_case(case_id: int | None) -> None:
    """Write a case to the URL, or none for the list, and redraw the page."""
    if case_id is None:
        st.query_params.pop("case", None)
    else:
        st.query_params["case"] = str(case_id)
    st.rerun()


def draw_case(study: Study, annotator: str, case: adjudication.Case, queue: np.ndarray, blind: bool) -> None:
    """Draw one case; `queue` has the ids of the list that it was opened from.

    If it is `blind`, labels, verdicts and the decision are hidden until a value is chosen.
    """
    content = permissions.write(study.id, Permission.adjudicate, "", adjudication.open_case, study, case, annotator)
    if hidden := blind and not adjudication_panel.has_choice(case):
        case, content = replace(case, decision=None), replace(content, people=(), judges=())
    places = (queue == case.id).nonzero()[0]
    place = int(places[0]) if len(places) else None
    with st.container(horizontal=True, vertical_alignment="center"):
        shell.draw_back(_("Cases"), "case")
        names = filter(None, (target_name(case.target), case.scenario or "", case.target.criterion))
        st.markdown(" · ".join(map(escape_markdown, names)), width="stretch")
        if place is not None:
            here = ngettext("{place} of {n} case", "{place} of {n} cases", len(queue), place=place + 1)
            st.caption(here, width="content")
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        if hidden:
            st.info(_("Choose a value first: labels and verdicts are shown after it, and you can still change it."))
        adjudication_panel.draw_case(study, case, content)
    after = next_case(study, annotator, queue if place is None else queue[place + 1 :])

    @permissions.fragment()  # a choice redraws the panel without the texts
    def draw_answer() -> None:
        if adjudication_panel.draw_panel(study, annotator, case, content, can_decide(study, case)):
            open_case(after)
        if hidden and adjudication_panel.has_choice(case):
            st.rerun()

    with right, st.container(key=_("answer")):
        draw_answer()


def next_case(study: Study, annotator: str, ids: np.ndarray) -> int | None:
    """Return the first of these cases that the adjudicator may decide; None if there is none."""
    own: set[int] = set()
    if not study.rules.adjudicate_own:
        own = resources.read(adjudication.labelled_by, study.id, annotator)
    return next((int(target_id) for target_id in ids if int(target_id) not in own), None)


def read_order(study: Study, requested: adjudication.Case | None) -> adjudication.CaseOrder:
    """Return the cases of the study: for the list as they are now, next to a case as they were in the list.

    A case that is decided or labelled meanwhile would change the list with every step, and take a second to order it.
    """
    stored_study, stored = st.session_state.get("adjudication_cases", (None, None))
    if requested is None or stored_study != study.id:
        stored = case_orders.load(study)
        st.session_state["adjudication_cases"] = study.id, stored
    order: adjudication.CaseOrder = stored
    return order if requested is None else order.with_state(requested.id, requested.state)


def requested_case(study: Study, annotator: str) -> adjudication.Case | None:
    """Return the case that the URL names, if any."""
    case_id = shell.number_parameter("case")
    if case_id is None:
        return None
    case = resources.read(adjudication.find_case, study, annotator, case_id)
    if case is None:
        st.query_params.pop("case")
        raise TiebreakError(_("There is no such case in this study. It may have been opened from another study."))
    return case


study = shell.draw_header(
    _("Adjudication"), _("Decide on targets that annotators, or annotators and judges, disagree about.")
)
annotator = shell.require_annotator()
requested = requested_case(study, annotator)
order = read_order(study, requested)
options: dict[str, Any] = {"required": True, "label_visibility": "collapsed"}
chosen = paging.choose_coded(_("Cases"), list(STATES.values()), "state", st.segmented_control, **options)
state: adjudication.State = next(state for state, name in STATES.items() if name == chosen)
blind = st.toggle(
    _("Blind first"), key="blind", bind="query-params", help=_("Hides labels and verdicts until your choice.")
)
if requested is None:
    draw_list(study, annotator, order, state)
else:
    draw_case(study, annotator, requested, order.select(state), blind)
