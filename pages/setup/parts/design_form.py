"""The form of a study's design: which pairs people label, and what that makes known."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from core.designs import AGREED, CONTENTION, GROUP, SCENARIO, WHOLE, Form, disputes_only
from core.labels import Kind
from pages.parts import permissions, resources, shell
from pages.parts.text import escape_markdown
from storage.accounts.access import Permission
from storage.labelling import offers
from storage.reports import label_designs
from storage.reports.label_designs import DesignReport
from storage.studies.studies import Study

EVERYTHING, RANDOM, DISPUTES = "Every pair", "A random sample of all pairs", "Disputed pairs only"
BY_SCENARIO, BY_GROUP, BY_UNCERTAINTY = "A share of each scenario", "A share of each group", "By uncertainty"
HELP = {
    EVERYTHING: "All pairs of all items, also those that no judge has seen.",
    RANDOM: "Drawn from all pairs, also those that no judge has seen.",
    BY_SCENARIO: "The same share of every scenario, with or without disputes.",
    BY_GROUP: "The same share of every group of items, with or without disputes.",
    BY_UNCERTAINTY: "The probability is this share times the contention of the judges, and at least 5 %.",
}


def draw_design(study: Study) -> None:
    """Draw the present design of a criterion, and the forms that change it."""
    scores = [one for one in resources.read(offers.scales, study.id) if one[0] == "score"]
    subjects = [*((offers.KIND, name) for name in resources.read(offers.offered_criteria, study.id)), *scores]
    if not subjects:
        st.info(f"This study has no criterion yet. Add one in the tab {shell.CRITERIA_TAB}.")
        return
    subject = subjects[0]
    if len(subjects) > 1:
        subject = st.selectbox(
            "Criterion", subjects, key="design_criterion",
            format_func=lambda one: one[1] if one[0] == offers.KIND else f"{one[1]}, scores",
        )  # fmt: skip
    kind, criterion = subject
    st.markdown(f"**Which {'pairs' if kind == offers.KIND else 'scores'} people label**")
    report = resources.read(label_designs.find, study.id, criterion, kind)
    present = label_designs.describe(report, kind)
    if report is not None:
        present = f"{label_designs.form_name(report)}. {present} {label_designs.consequence(report)}"
    st.markdown(escape_markdown(present))
    _draw_agreed(study, criterion, kind, report)
    with st.expander("Other designs", expanded=report is None):
        _draw_others(study, criterion, kind)


def _draw_agreed(study: Study, criterion: str, kind: Kind, report: DesignReport | None) -> None:
    """Draw the number of agreed targets, with what it makes known before it is drawn."""
    if report is None:
        report = resources.read(label_designs.preview, study.id, criterion, disputes_only(), kind)
    agreed = next((one for one in report.strata if one.name == AGREED), None)
    if report.design.by != CONTENTION or agreed is None:
        if kind == offers.KIND and report.design.by == CONTENTION and not any(one.targets for one in report.strata):
            share = f"{100 * study.rules.agreed_share:g} %"
            st.caption(f"The first run draws every disputed pair and {share} of the agreed ones ({shell.RULES_TAB}).")
        return
    left, right = st.columns([2, 3], gap="medium", vertical_alignment="bottom")
    number = left.number_input(
        f"Agreed {report.noun}s that people label",
        0,
        agreed.targets,
        agreed.drawn,
        key=f"design_agreed_{kind}_{criterion}_{agreed.drawn}",
        help="Drawn at random, and shown among the disputed ones: annotators cannot tell them apart.",
    )
    st.caption(label_designs.consequence_of_agreed(report, number))
    if right.button("Draw", key="design_draw", disabled=number == agreed.drawn):
        change = partial(offers.change_design, study=study, criterion=criterion, sizes={AGREED: number}, kind=kind)
        _write(study, change)


def _draw_others(study: Study, criterion: str, kind: Kind) -> None:
    """Draw the other forms of a design."""

    def named(text: str) -> str:
        return text if kind == offers.KIND else text.replace("pair", "score").replace("Pair", "Score")

    left, middle, right = st.columns(3, gap="medium", vertical_alignment="bottom")
    choices = [RANDOM, EVERYTHING, DISPUTES, BY_SCENARIO, BY_GROUP, BY_UNCERTAINTY]
    choice = left.selectbox(named("Pairs"), choices, format_func=named)
    count, share = None, 0.0
    if choice == RANDOM:
        count = middle.number_input(named("Number of pairs"), 1, value=50, key="offer_pairs")
    elif choice in (BY_SCENARIO, BY_GROUP, BY_UNCERTAINTY):
        share = middle.number_input("Share, %", 1, 100, 20, key="design_share") / 100
    seed = right.number_input("Random seed", 0, value=None, placeholder="the present one", key="offer_seed")
    if choice == DISPUTES:
        report = resources.read(label_designs.preview, study.id, criterion, disputes_only(), kind)
        st.caption(label_designs.consequence(report))
    else:
        stays = " Every dispute stays in the queue." if choice == RANDOM and kind == offers.KIND else ""
        st.caption(named(HELP[choice]) + stays)
    if not st.button("Use this design", key="offer"):
        return
    if choice in (RANDOM, EVERYTHING) and kind == offers.KIND:
        _write(study, partial(offers.offer, study=study, criterion=criterion, count=count, seed=seed))
        return
    form, by = {
        RANDOM: (Form.random, ""),
        EVERYTHING: (Form.everything, ""),
        DISPUTES: (Form.disputed, ""),
        BY_SCENARIO: (Form.stratified, SCENARIO),
        BY_GROUP: (Form.stratified, GROUP),
        BY_UNCERTAINTY: (Form.weighted, ""),
    }[choice]
    change = partial(offers.change_design, study=study, criterion=criterion, kind=kind, form=form, by=by, seed=seed)
    _write(study, partial(change, shares={WHOLE: share} if share else {}, sizes={WHOLE: count} if count else None))


def _write(study: Study, change: Callable[..., object]) -> None:
    permissions.write(study.id, Permission.edit, "", change)
    st.toast("The queue follows this design.", icon=":material/check:")
    st.rerun()
