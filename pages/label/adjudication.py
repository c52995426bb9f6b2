"""Adjudicate: decide targets on which annotators disagree, or annotators and judges do."""

import streamlit as st

from core.errors import TiebreakError
from core.pairs import target_name
from pages.label.parts import adjudication_panel, adjudication_texts
from pages.parts import numbers, paging, permissions, resources, shell
from pages.parts.text import escape_markdown
from storage import database
from storage.access import Permission
from storage.labelling import adjudication, adjudication_case
from storage.labelling.adjudication import Case, State
from storage.studies import Study

STATES: dict[State, str] = {"open": "To decide", "new_labels": "New labels since", "decided": "Decided"}
KINDS = {
    "preference": "preference",
    "score": "score",
    "answer": "answer",
    "aiu_precision": "AIU: true?",
    "aiu_recall": "AIU: covered?",
    "likert": "rating",
    "aspect_quality": "aspects",
}
CASES_PER_PAGE = 50


def draw_list(study: Study, cases: list[Case], state: State) -> None:
    """Draw the cases in one state without labels or verdicts, which would end blindness."""
    if not cases:
        return draw_empty(study, state)
    decided = len(all_cases) - len(adjudication.select_state(all_cases, "open"))
    st.caption(f"{numbers.format_count(len(cases), 'case')} here · {decided:,} of {len(all_cases):,} decided")
    page = paging.current_page("page", len(cases), CASES_PER_PAGE)
    shown = cases[(page - 1) * CASES_PER_PAGE : page * CASES_PER_PAGE]
    first = next((case for case in cases if can_decide(study, case)), None)
    if first is None and state == "open":
        st.info("You labelled all of these items: another person has to decide them.")
    elif st.button("Start", type="primary", icon=":material/gavel:", key="start", shortcut="Enter"):
        open_case((first or cases[0]).id)
    st.caption("A case shows the annotators' labels and the judges' verdicts. Your later labels of it are not blind.")
    table = st.dataframe(
        [_row(study, case) for case in shown],
        key=f"cases_{state}_{page}",
        on_select="rerun",
        selection_mode="single-cell",
        hide_index=True,
        height=min(38 + 35 * len(shown), 740),
        column_config={
            "Split": st.column_config.NumberColumn(
                format="%.2f",
                help="Disagreement of the annotators, from 0 to 1; together with Judges it determines the order",
            ),
            "Judges": st.column_config.NumberColumn(
                format="%.2f", help="Disagreement of the judges with each other or with the annotators, from 0 to 1"
            ),
        },
    )
    if table.selection.cells:
        open_case(shown[table.selection.cells[0][0]].id)
    paging.draw_pagination("page", len(cases), CASES_PER_PAGE, bind="query-params")


def _row(study: Study, case: Case) -> dict[str, object]:
    return {
        "Item": target_name(case.target),
        "Kind": KINDS.get(case.target.kind, case.target.kind),
        "Criterion": case.target.criterion,
        "Scenario": case.scenario or "",
        "Annotators": len(case.values),
        "Split": case.human_split,
        "Judges": case.contention,
        "New labels": case.new_labels,
        "": "" if can_decide(study, case) else "labelled by you",
    }


def draw_empty(study: Study, state: State) -> None:
    """Draw the empty state if there is no case."""
    if state != "open":
        st.info("None. Later labels do not change a decision; their items are listed here.")
        return
    st.info("No cases: annotators agree with each other and with the judges on all targets.")
    shell.draw_links(
        study,
        ("label/disagreements.py", "Label disagreements", ":material/balance:"),
        ("results/agreement.py", "Agreement", ":material/monitoring:"),
    )


def can_decide(study: Study, case: Case) -> bool:
    """Return whether this adjudicator may decide a case; storage checks it again."""
    return study.rules.adjudicate_own or not case.own


def open_case(case_id: int) -> None:
    """Write a case to the URL, and redraw the page."""
    st.query_params["case"] = str(case_id)
    st.rerun()


def close_case() -> None:
    """Return to the list."""
    st.query_params.pop("case", None)
    st.rerun()


def draw_case(study: Study, annotator: str, case: Case, queue: list[Case]) -> None:
    """Draw one case; `queue` is the list that it was opened from."""
    with permissions.writing(study.id, Permission.adjudicate, "") as session:
        content = adjudication_case.open_case(session, study, case, annotator)
    places = [other.id for other in queue]
    place = places.index(case.id) if case.id in places else None
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Cases", icon=":material/arrow_back:", type="tertiary", key="back"):
            close_case()
        names = filter(None, (target_name(case.target), case.scenario or "", case.target.criterion))
        st.markdown(" · ".join(map(escape_markdown, names)), width="stretch")
        if place is not None:
            st.caption(f"{place + 1} of {numbers.format_count(len(places), 'case')}", width="content")
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        adjudication_texts.draw_case(study, case, content)
    after = next_case(study, queue, place)

    @st.fragment  # a choice redraws the panel without the texts
    def draw_answer() -> None:
        if adjudication_panel.draw_panel(study, annotator, case, content, can_decide(study, case)):
            close_case() if after is None else open_case(after)

    with right, st.container(key="answer"):
        draw_answer()


def next_case(study: Study, queue: list[Case], place: int | None) -> int | None:
    """Return the next case of the list that the adjudicator may decide; None after the last one."""
    later = queue if place is None else queue[place + 1 :]
    return next((case.id for case in later if can_decide(study, case)), None)


def read_cases(study: Study, annotator: str, requested: Case | None) -> list[Case]:
    """Return the cases of the study: for the list as they are now, next to a case as they were in the list.

    To compare all labels of a large study takes seconds, and while a case is open only its own state can matter.
    """
    key = (study.id, annotator)
    stored_key, stored = st.session_state.get("adjudication_cases", (None, []))
    if requested is None or stored_key != key:
        with database.reading(resources.engine()) as session:
            stored = adjudication.cases(session, study, annotator)
        st.session_state["adjudication_cases"] = key, stored
        return stored
    return [requested if case.id == requested.id else case for case in stored]


def requested_case(study: Study, annotator: str) -> Case | None:
    """Return the case that the URL names, if any."""
    case_id = shell.number_parameter("case")
    if case_id is None:
        return None
    with database.reading(resources.engine()) as session:
        case = adjudication.find_case(session, study, annotator, case_id)
    if case is None:
        st.query_params.pop("case")
        raise TiebreakError("There is no such case in this study. It may have been opened from another study.")
    return case


study = shell.draw_header(
    "Adjudication", "Decide on targets that annotators, or annotators and judges, disagree about."
)
annotator = shell.require_annotator()
requested = requested_case(study, annotator)
all_cases = read_cases(study, annotator, requested)
chosen = st.segmented_control(
    "Cases",
    list(STATES.values()),
    default=STATES["open"],
    required=True,
    key="state",
    bind="query-params",
    label_visibility="collapsed",
)
state: State = next(state for state, name in STATES.items() if name == chosen)
if requested is None:
    draw_list(study, adjudication.select_state(all_cases, state), state)
else:
    draw_case(study, annotator, requested, adjudication.select_state(all_cases, state))
