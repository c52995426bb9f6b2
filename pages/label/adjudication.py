"""Adjudicate: decide targets on which annotators disagree, or annotators and judges do.

A case is decided in a panel: a value by key, a reason, and notes to the owner.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from core.errors import TiebreakError
from core.items import target_name
from core.labels import Scale, Value
from core.texts import _, mark, ngettext, number
from pages.label.parts import case_orders
from pages.parts import items, paging, permissions, resources, shell, tables
from pages.parts.numbers import format_value
from pages.parts.text import Mark, escape_markdown, text_html, truncate
from storage.accounts.access import Permission
from storage.labelling import adjudication, claims, queue
from storage.labelling.blocks import PAIRS
from storage.labelling.reveal import find_references
from storage.labels import labels
from storage.studies import transcripts
from storage.studies.studies import Study
from storage.studies.study_images import Route

DEFAULT_RULE = mark("Expert decision")
# Characters of a rubric line on a button.
LONGEST_NAME = 70


def draw_panel(
    study: Study, annotator: str, case: adjudication.Case, content: adjudication.CaseContent, allowed: bool
) -> bool:
    """Draw the panel; returns whether the adjudicator goes to the next case."""
    _draw_decision(case, content)
    if not allowed:
        st.info(_("You labelled this item: another person has to decide it."))
        return st.button(_("Next"), key="skip", shortcut="S", width="stretch")
    value = _draw_choices(case, content)
    reasons = list(study.rules.adjudication_reasons)
    rule = st.selectbox(_("Reason"), reasons, index=None, placeholder=_(DEFAULT_RULE), key=f"rule_{case.id}")
    reason = st.text_area(_("In your own words"), key=f"reason_{case.id}", height=90).strip()
    overrules = value is not None and value not in [person.value for person in content.people]
    if overrules:
        words = _("No annotator chose this value. Give a reason in your own words.")
        st.caption(f":material/priority_high: {words}")
    if st.button(_("Decide"), type="primary", key="decide", shortcut="Ctrl+Enter", width="stretch"):
        _save(study, annotator, case, value, rule or DEFAULT_RULE, reason)
        return True
    st.session_state[_key("known", case)] = case.decision.id if case.decision else 0
    if refusal := st.session_state.pop(_key("refused", case), None):
        st.error(escape_markdown(refusal), icon=":material/error:")
    _draw_note(study, annotator, case)
    if st.button(
        _("Ask one more annotator"),
        key=f"more_{case.id}",
        width="stretch",
        help=_("Opens the item for one more label."),
    ):
        wanted = permissions.write(
            study.id, Permission.adjudicate, "one more label requested", claims.request_label, study.id, case.id
        )
        st.toast(_("{n} labels are requested for this item now.", n=wanted), icon=":material/check:")
    return st.button(_("Skip"), key="skip", shortcut="S", width="stretch")


def _save(study: Study, annotator: str, case: adjudication.Case, value: Value | None, rule: str, reason: str) -> None:
    """Save a decision; if it is refused, the case is drawn again as it is now, and what was entered stays."""
    known = st.session_state.get(_key("known", case), 0)
    try:
        if value is None:
            raise TiebreakError(_("Choose a value first."))
        decided = {"rule": rule, "reason": reason, "adjudicator": annotator, "known": known}
        with permissions.writing(study.id, Permission.adjudicate, "") as session:
            labels.adjudicate(session, study.id, case.target, value, **decided)
    except TiebreakError as error:
        st.session_state[_key("refused", case)] = str(error)
        st.rerun()
    st.session_state.pop(_key("decision", case), None)
    st.toast(_("Decision saved."), icon=":material/check:")


def _key(name: str, case: adjudication.Case) -> str:
    """Return the name of something of a case in the state of the session."""
    return f"{name}_{case.id}"


def _name(content: adjudication.CaseContent, value: Value | None) -> str:
    """Return the name of a value among the choices."""
    return next((choice.name for choice in content.choices if repr(choice.value) == repr(value)), format_value(value))


def _draw_decision(case: adjudication.Case, content: adjudication.CaseContent) -> None:
    decision = case.decision
    if decision is None:
        return
    name = _name(content, decision.value)
    said = ": ".join(filter(None, (decision.rule, decision.reason)))
    st.success(f"**{escape_markdown(name)}** · {escape_markdown(decision.adjudicator)}\n\n{escape_markdown(said)}")
    if case.new_labels:
        st.warning(_("New labels since: {n}. The decision is unchanged until you change it.", n=case.new_labels))


def has_choice(case: adjudication.Case) -> bool:
    """Return whether the adjudicator has chosen or typed a value that is not saved yet."""
    return any(st.session_state.get(key) is not None for key in (_key("decision", case), _key("number", case)))


def _draw_choices(case: adjudication.Case, content: adjudication.CaseContent) -> Value | None:
    """Draw one button for each value with its key, or a field for a number; returns the chosen value."""
    if not content.choices:
        return _draw_number(case, case.scale)
    key = _key("decision", case)
    chosen: int | None = st.session_state.get(key)
    for place, choice in enumerate(content.choices):
        name = escape_markdown(truncate(choice.name, LONGEST_NAME))
        letters = " ".join(person.letter for person in content.people if repr(person.value) == repr(choice.value))
        st.button(
            f"{name} · {letters}" if letters else name,
            key=f"choice_{case.id}_{place}",
            type="primary" if place == chosen else "secondary",
            shortcut=choice.key,
            width="stretch",
            on_click=st.session_state.update,
            args=({key: place},),
        )
    return None if chosen is None else content.choices[chosen].value


def _draw_number(case: adjudication.Case, scale: Scale | None) -> float | None:
    low, high = (None, None) if scale is None else (scale.low, scale.high)
    if scale is not None and scale.categories:
        numbers = [float(value) for value in scale.categories if isinstance(value, int | float)]
        low, high = min(numbers, default=None), max(numbers, default=None)
    step = 1.0 if transcripts.asks_for_step(case.target) else None
    value = st.number_input(_("Value"), low, high, None, step, "%g", key=_key("number", case), placeholder=_("number"))
    return int(value) if value is not None and value == int(value) else value  # as the labels: 4, not 4.0


def _draw_note(study: Study, annotator: str, case: adjudication.Case) -> None:
    """Draw the form of a note that the guidelines do not cover this case."""
    with st.popover(_("Guideline unclear"), icon=":material/help:", width="stretch", key=f"unclear_{case.id}"):
        text = st.text_area(_("What should the guidelines say?"), key=f"note_{case.id}", height=90)
        if st.button(_("Send to the study's owner"), key=f"send_{case.id}"):
            if not text.strip():
                raise TiebreakError(_("Describe the unclear point."))
            note = f"Guideline unclear: {text.strip()}"
            with permissions.writing(study.id, Permission.adjudicate, "") as session:
                queue.set_mark(session, study.id, case.target, annotator, "note", text=note)
            st.toast(_("Sent."), icon=":material/check:")


# Draws the texts of a case, the annotators' labels side by side, and the judges' opinions.

PEOPLE_PER_ROW = 4
FOLDED = ("context", "reference")
ABOVE = ("context", "question", "reference")


def draw_content(study: Study, case: adjudication.Case, content: adjudication.CaseContent) -> None:
    """Draw the decision, the annotators' choices, and the texts with the evidence."""
    st.subheader(escape_markdown(content.question), anchor=False)
    if content.criterion is not None and content.criterion.definition:
        st.html(text_html(content.criterion.definition))
    _draw_people(content)
    _draw_judges(study, case, content)
    above = [passage for passage in content.passages if passage.id in ABOVE]
    wide = [passage for passage in content.passages if passage.transcript]
    texts = [passage for passage in content.passages if passage.id not in ABOVE and passage not in wide]
    image_route = resources.image_route(study)
    for passage in above:
        _draw_passage(study, passage, content.people, image_route)
    for start in range(0, len(texts), 2):
        for column, passage in zip(st.columns(min(2, len(texts))), texts[start : start + 2], strict=False):
            with column:
                _draw_passage(study, passage, content.people, image_route)
    for passage in wide:
        _draw_passage(study, passage, content.people, image_route)


def _draw_people(content: adjudication.CaseContent) -> None:
    texts = {passage.id: passage for passage in content.passages}
    for start in range(0, len(content.people), PEOPLE_PER_ROW):
        row = content.people[start : start + PEOPLE_PER_ROW]
        for column, person in zip(st.columns(len(row)), row, strict=True):
            with column, st.container(border=True, key=f"person-{person.letter}", height="stretch"):
                st.html(_person_html(person, _name(content, person.value), texts))


def _person_html(person: adjudication.Person, name: str, texts: Mapping[str, adjudication.Passage]) -> str:
    """Return an annotator's label as HTML: letter, value, reason, evidence and note."""
    lines = [f'<div class="person"><b class="letter">{person.letter}</b> {escape(name)}</div>']
    remarks = [] if person.blind else [_("after seeing the judges")]
    remarks += [_("newer than the decision")] * person.new + [_("flagged")] * person.flagged
    if remarks:
        lines.append(f'<div class="remark">{escape(" · ".join(remarks))}</div>')
    if person.reason:
        lines.append(f'<div class="plain-text words" dir="auto">{_words_html(person.reason, person, texts)}</div>')
    for passage in person.evidence:
        text = texts[passage.block].text[passage.start : passage.end] if passage.block in texts else ""
        if text:
            title = escape(texts[passage.block].title)
            lines.append(f'<blockquote class="quoted" dir="auto" title="{title}">{escape(text)}</blockquote>')
    if person.note:
        lines.append(
            f'<div class="remark" dir="auto">{escape(_("Note"))}: {_words_html(person.note, person, texts)}</div>'
        )
    return "".join(lines)


def _words_html(words: str, person: adjudication.Person, texts: Mapping[str, adjudication.Passage]) -> str:
    """Return an annotator's words as HTML, with the texts under the titles that they have here.

    Who saw response 2 first wrote "Response 1" and meant it.
    """
    nouns = [noun for noun in PAIRS.values() if f"{noun}-2" in texts]  # a pair of critiques after the responses
    pieces, at = [], 0
    for found in find_references(words, person.shown, len(person.shown), *nouns[-1:]):
        passage = texts.get(found["column"])
        if passage is None or found["start"] < at:
            continue
        written = escape(_("written as “{words}”", words=words[found["start"] : found["end"]]))
        pieces += [escape(words[at : found["start"]]), f'<b title="{written}">{escape(passage.title)}</b>']
        at = found["end"]
    return "".join([*pieces, escape(words[at:])])


def _draw_judges(study: Study, case: adjudication.Case, content: adjudication.CaseContent) -> None:
    """Draw the judges' opinions after a toggle: annotators' reasons are read first."""
    if not content.judges:
        return
    if not st.toggle(_("Judges"), key=f"judges_{case.id}", help=_("The judges' opinions and verdicts on this item")):
        return
    rows = [
        {
            _("Run"): row.run,
            _("Judge"): _("verdict") if row.verdict else row.judge,
            _("First opinion"): "" if row.verdict else _name(content, row.first),
            _("Last opinion"): f"– {row.problem}".strip() if row.last is None else _name(content, row.last),
        }
        for row in content.judges
    ]
    st.dataframe(rows, hide_index=True)
    with st.container(horizontal=True):
        for trace, run in {row.trace: row.run for row in content.judges}.items():
            label = _("Trace in run “{run}”", run=escape_markdown(run))
            shell.draw_link("watch/traces.py", label, "forum", study=study.name, trace=str(trace))


def _draw_passage(
    study: Study, passage: adjudication.Passage, people: tuple[adjudication.Person, ...], image_route: Route
) -> None:
    marked = [
        {
            "start": selected.start,
            "end": selected.end,
            "class": "evidence",
            "letter": person.letter,
            "title": _("Evidence of {letter}", letter=person.letter),
        }
        for person in people
        for selected in person.evidence
        if selected.block == passage.id
    ]
    if passage.id in FOLDED:
        with st.expander(passage.title, expanded=bool(marked)):
            _draw_text(study, passage, marked, image_route)
        return
    number = f"response-{passage.number}-case" if passage.number in (1, 2) else f"text-{passage.id}"
    with st.container(border=True, key=number):
        st.caption(f"**{passage.title}**")
        if passage.transcript:
            items.draw_transcript(study.id, passage.transcript, f"case-{passage.id}")
        with st.expander(_("As text"), expanded=bool(marked)) if passage.transcript else nullcontext():
            _draw_text(study, passage, marked, image_route)


def _draw_text(study: Study, passage: adjudication.Passage, marked: Sequence[Mark], image_route: Route) -> None:
    is_markdown = study.rules.markdown and passage.is_item_text
    st.html(text_html(passage.text, marked, image_route, markdown=is_markdown))
    if passage.image:
        items.draw_image(passage.image, study, image_route)


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
    if not ids:
        return draw_empty(study, state)
    decided = len(order.states) - len(order.select("open"))
    here = ngettext("{n} case here", "{n} cases here", len(ids))
    share = _("{n} of {total} decided", n=number(decided), total=number(len(order.states)))
    st.caption(f"{here} · {share}")
    page = paging.current_page("page", len(ids), CASES_PER_PAGE)
    start = (page - 1) * CASES_PER_PAGE
    shown = resources.read(adjudication.read, study, annotator, ids[start : start + CASES_PER_PAGE])
    first = next_case(study, annotator, ids)
    if first is None and state == "open":
        st.info(_("You labelled all of these items: another person has to decide them."))
    elif st.button(_("Start"), type="primary", icon=":material/gavel:", key="start", shortcut="Enter"):
        open_case(ids[0] if first is None else first)
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


def draw_case(study: Study, annotator: str, case: adjudication.Case, listed: list[int], blind: bool) -> None:
    """Draw one case; `listed` has the ids of the list that it was opened from.

    If it is `blind`, labels, verdicts and the decision are hidden until a value is chosen.
    """
    content = permissions.write(study.id, Permission.adjudicate, "", adjudication.open_case, study, case, annotator)
    if hidden := blind and not has_choice(case):
        case, content = replace(case, decision=None), replace(content, people=(), judges=())
    place = listed.index(case.id) if case.id in listed else None
    with st.container(horizontal=True, vertical_alignment="center"):
        shell.draw_back(_("Cases"), "case")
        names = filter(None, (target_name(case.target), case.scenario or "", case.target.criterion))
        st.markdown(" · ".join(map(escape_markdown, names)), width="stretch")
        if place is not None:
            here = ngettext("{place} of {n} case", "{place} of {n} cases", len(listed), place=place + 1)
            st.caption(here, width="content")
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        if hidden:
            st.info(_("Choose a value first: labels and verdicts are shown after it, and you can still change it."))
        draw_content(study, case, content)
    after = next_case(study, annotator, listed if place is None else listed[place + 1 :])

    @permissions.fragment()  # a choice redraws the panel without the texts
    def draw_answer() -> None:
        if draw_panel(study, annotator, case, content, can_decide(study, case)):
            open_case(after)
        if hidden and has_choice(case):
            st.rerun()

    with right, st.container(key=_("answer")):
        draw_answer()


def next_case(study: Study, annotator: str, ids: list[int]) -> int | None:
    """Return the first of these cases that the adjudicator may decide; None if there is none."""
    own: set[int] = set()
    if not study.rules.adjudicate_own:
        own = resources.read(adjudication.labelled_by, study.id, annotator)
    return next((target_id for target_id in ids if target_id not in own), None)


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
