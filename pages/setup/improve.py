"""Improving a judge: split, disagreements on development items, variants, and their acceptance on held-out items."""

import streamlit as st

from core.improvement.suggestion import Case
from core.wording import format_count
from pages.parts import resources, shell
from pages.setup.parts import improvement
from storage.db import connections
from storage.improvement import evaluations, judges, splits
from storage.improvement.evaluations import Version
from storage.improvement.judges import CurrentJudge
from storage.studies.studies import Study

CASES, PROPOSE, VARIANTS = "Disagreements", "Propose", "Variants"
STEPS = (CASES, PROPOSE, VARIANTS)


def draw_page(study: Study) -> None:
    """Draw the split, or its form; then the steps."""
    with connections.reading(resources.engine()) as session:
        split = splits.find(session, study.id)
        runs = judges.choices(session, study.id)
        version = evaluations.version(session, study.id)
    if split is None:
        improvement.draw_split_form(study)
        return
    improvement.draw_summary(study, split, version)
    if not runs:
        st.info("A judge is improved from a run with verdicts by a criterion: start a run first.")
        shell.draw_links(study, ("setup/runs.py", "Runs", ":material/play_circle:"))
        return
    current = draw_choice(study, runs)
    step = st.segmented_control(
        "Step",
        STEPS,
        default=CASES,
        required=True,
        key="improve_step",
        bind="query-params",
        label_visibility="collapsed",
    )
    if step == VARIANTS:
        improvement.draw_variants(study, split, current.kind, current.judge.criterion.name, version)
        return
    criterion = current.judge.criterion.name
    cases = load_cases(str(resources.engine().url), study.id, current.run.id, criterion, version, current)
    if step == CASES:
        draw_disagreements(study, cases)
    elif improvement.draw_form(study, current, cases):
        st.session_state["improve_next"] = VARIANTS
        st.rerun()


def draw_choice(study: Study, runs: dict[str, list[str]]) -> CurrentJudge:
    """Draw the choice of the run and of one of its criteria, which are in the URL, and return its judge."""
    names = list(runs)
    requested = st.query_params.get("run")
    if requested not in runs:
        with connections.reading(resources.engine()) as session:
            requested = judges.newest_current(session, study.id, runs)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox("Run of the judge", names, names.index(requested), key=f"improve_run_{study.id}", width=520)
        criteria = runs[run]
        named = st.query_params.get("criterion")
        chosen = criteria.index(named) if named in criteria else 0
        criterion = st.selectbox("Criterion", criteria, chosen, key=f"improve_criterion_{run}", width=300)
    # Not bound to the URL: a bound widget omits its default there, which changes with the next run.
    st.query_params["run"], st.query_params["criterion"] = run, criterion
    with connections.reading(resources.engine()) as session:
        return judges.of_run(session, study.id, run, criterion)


@st.cache_data(max_entries=16, show_spinner="Comparing verdicts with people's decisions …")
def load_cases(
    url: str, study_id: int, run_id: int, criterion: str, version: Version, _current: CurrentJudge
) -> list[Case]:
    """Return the disagreements on development items at a version of the study, shared by all visitors."""
    with connections.reading(resources.engine()) as session:
        return splits.disagreement_cases(session, study_id, _current)


def draw_disagreements(study: Study, cases: list[Case]) -> None:
    """Draw the disagreements."""
    if not cases:
        st.info("On no development item does this judge differ from people's decision.")
        return
    adjudicated = sum(case.source == "adjudicated" for case in cases)
    st.caption(
        f"{format_count(len(cases), 'disagreement')} on development items, {adjudicated:,} of them adjudicated. "
        "Held-out items are not shown here."
    )
    improvement.draw_cases(study, cases)


if next_step := st.session_state.pop("improve_next", None):
    st.session_state["improve_step"] = next_step
draw_page(
    shell.draw_header(
        "Improve a judge",
        "Change a criterion or its prompts on development items, and accept a change that is better on held-out items.",
    )
)
