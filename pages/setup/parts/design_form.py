"""The form of a study's design: which pairs people label, and what that makes known."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from core.designs import AGREED, CONTENTION, GROUP, SCENARIO, WHOLE, Form, disputes_only
from pages.parts import permissions, resources
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
    RANDOM: "Drawn from all pairs, also those that no judge has seen. Every dispute stays in the queue.",
    BY_SCENARIO: "The same share of every scenario, with or without disputes.",
    BY_GROUP: "The same share of every group of items, with or without disputes.",
    BY_UNCERTAINTY: "The probability is this share times the contention of the judges, and at least 5 %.",
}


def draw_design(study: Study) -> None:
    """Draw the present design of a criterion, and the forms that change it."""
    criteria = resources.read(offers.offered_criteria, study.id)
    if not criteria:
        return
    st.divider()
    st.markdown("**Which pairs people label**")
    criterion = st.selectbox("Criterion", criteria, key="design_criterion") if len(criteria) > 1 else criteria[0]
    report = resources.read(label_designs.find, study.id, criterion)
    present = label_designs.describe(report)
    if report is not None:
        present = f"{label_designs.form_name(report.design)}. {present} {label_designs.consequence(report)}"
    st.markdown(escape_markdown(present))
    _draw_agreed(study, criterion, report)
    with st.expander("Other designs"):
        _draw_others(study, criterion)


def _draw_agreed(study: Study, criterion: str, report: DesignReport | None) -> None:
    """Draw the number of agreed pairs, with what it makes known before it is drawn."""
    if report is None:
        report = resources.read(label_designs.preview, study.id, criterion, disputes_only())
    agreed = next((one for one in report.strata if one.name == AGREED), None)
    if report.design.by != CONTENTION or agreed is None:
        if report.design.by == CONTENTION and not any(one.targets for one in report.strata):
            share = f"{100 * study.rules.agreed_share:g} %"
            st.caption(f"The first run draws every disputed pair and {share} of the agreed ones; see the rules above.")
        return
    left, right = st.columns([2, 3], gap="medium", vertical_alignment="bottom")
    number = left.number_input(
        "Agreed pairs that people label",
        0,
        agreed.targets,
        agreed.drawn,
        key=f"design_agreed_{criterion}_{agreed.drawn}",
        help="Drawn at random, and shown among the disputed ones: annotators cannot tell them apart.",
    )
    st.caption(label_designs.consequence_of_agreed(report, number))
    if right.button("Draw", key="design_draw", disabled=number == agreed.drawn):
        change = partial(offers.change_design, study=study, criterion=criterion, sizes={AGREED: number})
        _write(study, change)


def _draw_others(study: Study, criterion: str) -> None:
    """Draw the other forms of a design."""
    left, middle, right = st.columns(3, gap="medium", vertical_alignment="bottom")
    choice = left.selectbox("Pairs", [RANDOM, EVERYTHING, DISPUTES, BY_SCENARIO, BY_GROUP, BY_UNCERTAINTY])
    count, share = None, 0.0
    if choice == RANDOM:
        count = middle.number_input("Number of pairs", 1, value=50, key="offer_pairs")
    elif choice in (BY_SCENARIO, BY_GROUP, BY_UNCERTAINTY):
        share = middle.number_input("Share, %", 1, 100, 20, key="design_share") / 100
    seed = right.number_input("Random seed", 0, value=None, placeholder="the present one", key="offer_seed")
    if choice == DISPUTES:
        report = resources.read(label_designs.preview, study.id, criterion, disputes_only())
        st.caption(label_designs.consequence(report))
    else:
        st.caption(HELP[choice])
    if not st.button("Use this design", key="offer"):
        return
    if choice in (RANDOM, EVERYTHING):
        _write(study, partial(offers.offer, study=study, criterion=criterion, count=count, seed=seed))
        return
    form, by = {
        DISPUTES: (Form.disputed, ""),
        BY_SCENARIO: (Form.stratified, SCENARIO),
        BY_GROUP: (Form.stratified, GROUP),
        BY_UNCERTAINTY: (Form.weighted, ""),
    }[choice]
    shares = {} if choice == DISPUTES else {WHOLE: share}
    _write(
        study,
        partial(offers.change_design, study=study, criterion=criterion, form=form, by=by, shares=shares, seed=seed),
    )


def _write(study: Study, change: Callable[..., object]) -> None:
    permissions.write(study.id, Permission.edit, "", change)
    st.toast("The queue has the pairs of this design.", icon=":material/check:")
    st.rerun()
