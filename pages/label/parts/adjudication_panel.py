"""The panel in which an adjudicator decides a case: a value by key, a reason, and notes to the owner."""

import streamlit as st

from core.errors import TiebreakError
from core.labels import Scale, Value
from pages.parts import permissions
from pages.parts.text import escape_markdown, truncate
from pages.parts.values import format_value
from storage import labels
from storage.access import Permission
from storage.labelling import assignment, queue
from storage.labelling.adjudication import Case
from storage.labelling.adjudication_case import CaseContent, Choice
from storage.studies import Study

DEFAULT_RULE = "Expert decision"
LONGEST_NAME = 70
"""Characters of a rubric line on a button."""


def draw_panel(study: Study, annotator: str, case: Case, content: CaseContent, allowed: bool) -> bool:
    """Draw the panel; returns whether the adjudicator goes to the next case."""
    _draw_decision(case, content)
    if not allowed:
        st.info("You labelled this item: another person has to decide it.")
        return st.button("Next", key="skip", shortcut="S", width="stretch")
    value = _draw_choices(case, content)
    rule, reason = _draw_reason(study, case)
    overrules = value is not None and value not in [person.value for person in content.people]
    if overrules:
        st.caption(":material/priority_high: No annotator chose this value. Give a reason in your own words.")
    if st.button("Decide", type="primary", key="decide", shortcut="Ctrl+Enter", width="stretch"):
        try:
            _save(study, annotator, case, value, rule, reason.strip())
        except TiebreakError as error:
            st.error(escape_markdown(str(error)), icon=":material/error:")
        else:
            return True
    _draw_note(study, annotator, case)
    if st.button(
        "Ask one more annotator", key=f"more_{case.id}", width="stretch", help="Opens the item for one more label."
    ):
        with permissions.writing(study.id, Permission.adjudicate, "one more label requested") as session:
            wanted = assignment.request_label(session, study.id, case.id)
        st.toast(f"{wanted} labels are requested for this item now.", icon=":material/check:")
    return st.button("Skip", key="skip", shortcut="S", width="stretch")


def _save(study: Study, annotator: str, case: Case, value: Value | None, rule: str, reason: str) -> None:
    """Store the decision; raises TiebreakError if a value or a reason is missing."""
    if value is None:
        raise TiebreakError("Choose a value first.")
    with permissions.writing(study.id, Permission.adjudicate, "") as session:
        labels.adjudicate(session, study.id, case.target, value, rule=rule, reason=reason, adjudicator=annotator)
    st.session_state.pop(_choice_key(case), None)
    st.toast("Decision saved.", icon=":material/check:")


def _draw_decision(case: Case, content: CaseContent) -> None:
    """Draw the current decision, and a note on newer labels."""
    decision = case.decision
    if decision is None:
        return
    names = {repr(choice.value): choice.name for choice in content.choices}
    name = names.get(repr(decision.value), format_value(decision.value))
    said = ": ".join(filter(None, (decision.rule, decision.reason)))
    st.success(f"**{escape_markdown(name)}** · {escape_markdown(decision.adjudicator)}\n\n{escape_markdown(said)}")
    if case.new_labels:
        st.warning(f"New labels since: {case.new_labels}. The decision is unchanged until you change it.")


def _choice_key(case: Case) -> str:
    return f"decision_{case.id}"


def _draw_choices(case: Case, content: CaseContent) -> Value | None:
    """Draw one button for each value with its key, or a field for a number; returns the chosen value."""
    if not content.choices:
        return _draw_number(case, case.scale)
    key = _choice_key(case)
    letters = [
        " ".join(person.letter for person in content.people if repr(person.value) == repr(choice.value))
        for choice in content.choices
    ]
    chosen: int | None = st.session_state.get(key)
    for place, (choice, named) in enumerate(zip(content.choices, letters, strict=True)):
        st.button(
            _button_label(choice, named),
            key=f"choice_{case.id}_{place}",
            type="primary" if place == chosen else "secondary",
            shortcut=choice.key,
            width="stretch",
            on_click=_choose,
            args=(key, place),
        )
    return None if chosen is None else content.choices[chosen].value


def _choose(key: str, place: int) -> None:
    st.session_state[key] = place


def _button_label(choice: Choice, letters: str) -> str:
    """Return the name of a value, and the letters of the annotators who chose it."""
    name = escape_markdown(truncate(choice.name, LONGEST_NAME))
    return f"{name} · {letters}" if letters else name


def _draw_number(case: Case, scale: Scale | None) -> float | None:
    low, high = (None, None) if scale is None else (scale.low, scale.high)
    if scale is not None and scale.categories:
        numbers = [float(value) for value in scale.categories if isinstance(value, int | float)]
        low, high = min(numbers, default=None), max(numbers, default=None)
    return st.number_input("Value", low, high, None, key=f"number_{case.id}", placeholder="number")


def _draw_reason(study: Study, case: Case) -> tuple[str, str]:
    """Draw the list of reasons and a field for words."""
    reasons = list(study.rules.adjudication_reasons)
    rule = st.selectbox("Reason", reasons, index=None, placeholder=DEFAULT_RULE, key=f"rule_{case.id}")
    words = st.text_area("In your own words", key=f"reason_{case.id}", height=90)
    return rule or DEFAULT_RULE, words


def _draw_note(study: Study, annotator: str, case: Case) -> None:
    """Draw the form of a note that the guidelines do not cover this case."""
    with st.popover("Guideline unclear", icon=":material/help:", width="stretch", key=f"unclear_{case.id}"):
        text = st.text_area("What should the guidelines say?", key=f"note_{case.id}", height=90)
        if st.button("Send to the study's owner", key=f"send_{case.id}"):
            if not text.strip():
                raise TiebreakError("Describe the unclear point.")
            with permissions.writing(study.id, Permission.adjudicate, "") as session:
                queue.set_mark(
                    session, study.id, case.target, annotator, "note", text=f"Guideline unclear: {text.strip()}"
                )
            st.toast("Sent.", icon=":material/check:")
