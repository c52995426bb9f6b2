"""The panel in which an adjudicator decides a case: a value by key, a reason, and notes to the owner."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from html import escape

import streamlit as st

from core.errors import TiebreakError
from core.labels import Scale, Value
from core.texts import _, mark
from pages.parts import items, permissions, resources, shell
from pages.parts.numbers import format_value
from pages.parts.text import Mark, escape_markdown, text_html, truncate
from storage.accounts.access import Permission
from storage.labelling import claims, queue
from storage.labelling.adjudication import Case, CaseContent, Passage, Person
from storage.labelling.blocks import PAIRS
from storage.labelling.reveal import find_references
from storage.labels import labels
from storage.studies import transcripts
from storage.studies.studies import Study
from storage.studies.study_images import Route

DEFAULT_RULE = mark("Expert decision")
# Characters of a rubric line on a button.
LONGEST_NAME = 70


def draw_panel(study: Study, annotator: str, case: Case, content: CaseContent, allowed: bool) -> bool:
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


def _save(study: Study, annotator: str, case: Case, value: Value | None, rule: str, reason: str) -> None:
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


def _key(name: str, case: Case) -> str:
    """Return the name of something of a case in the state of the session."""
    return f"{name}_{case.id}"


def _name(content: CaseContent, value: Value | None) -> str:
    """Return the name of a value among the choices."""
    return next((choice.name for choice in content.choices if repr(choice.value) == repr(value)), format_value(value))


def _draw_decision(case: Case, content: CaseContent) -> None:
    decision = case.decision
    if decision is None:
        return
    name = _name(content, decision.value)
    said = ": ".join(filter(None, (decision.rule, decision.reason)))
    st.success(f"**{escape_markdown(name)}** · {escape_markdown(decision.adjudicator)}\n\n{escape_markdown(said)}")
    if case.new_labels:
        st.warning(_("New labels since: {n}. The decision is unchanged until you change it.", n=case.new_labels))


def has_choice(case: Case) -> bool:
    """Return whether the adjudicator has chosen or typed a value that is not saved yet."""
    return any(st.session_state.get(key) is not None for key in (_key("decision", case), _key("number", case)))


def _draw_choices(case: Case, content: CaseContent) -> Value | None:
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


def _draw_number(case: Case, scale: Scale | None) -> float | None:
    low, high = (None, None) if scale is None else (scale.low, scale.high)
    if scale is not None and scale.categories:
        numbers = [float(value) for value in scale.categories if isinstance(value, int | float)]
        low, high = min(numbers, default=None), max(numbers, default=None)
    step = 1.0 if transcripts.asks_for_step(case.target) else None
    value = st.number_input(_("Value"), low, high, None, step, "%g", key=_key("number", case), placeholder=_("number"))
    return int(value) if value is not None and value == int(value) else value  # as the labels: 4, not 4.0


def _draw_note(study: Study, annotator: str, case: Case) -> None:
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


def draw_case(study: Study, case: Case, content: CaseContent) -> None:
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


def _draw_people(content: CaseContent) -> None:
    texts = {passage.id: passage for passage in content.passages}
    for start in range(0, len(content.people), PEOPLE_PER_ROW):
        row = content.people[start : start + PEOPLE_PER_ROW]
        for column, person in zip(st.columns(len(row)), row, strict=True):
            with column, st.container(border=True, key=f"person-{person.letter}", height="stretch"):
                st.html(_person_html(person, _name(content, person.value), texts))


def _person_html(person: Person, name: str, texts: Mapping[str, Passage]) -> str:
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


def _words_html(words: str, person: Person, texts: Mapping[str, Passage]) -> str:
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


def _draw_judges(study: Study, case: Case, content: CaseContent) -> None:
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


def _draw_passage(study: Study, passage: Passage, people: tuple[Person, ...], image_route: Route) -> None:
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


def _draw_text(study: Study, passage: Passage, marked: Sequence[Mark], image_route: Route) -> None:
    is_markdown = study.rules.markdown and passage.is_item_text
    st.html(text_html(passage.text, marked, image_route, markdown=is_markdown))
    if passage.image:
        items.draw_image(passage.image, study, image_route)
