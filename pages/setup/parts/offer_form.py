"""The form that adds pairs of responses to the annotators' queue."""

import streamlit as st

from pages.parts import numbers, permissions, resources
from storage import database
from storage.access import Permission
from storage.labelling import offers
from storage.studies import Study


def draw_form(study: Study) -> None:
    """Draw the choice of pairs, and add them on a click."""
    with database.reading(resources.engine()) as session:
        criteria = offers.criteria(session, study.id)
    if not criteria:
        return
    with st.expander("Offer more pairs of responses"), st.form("offer", border=False):
        st.caption(
            "Annotators are offered the pairs on which judges disagree or give no verdict. Labels of these alone "
            "measure judges on disputed pairs only. Offer every pair, or a random sample of all pairs, to measure "
            "them on all, or to label before any run."
        )
        left, middle, right = st.columns(3, gap="medium", vertical_alignment="bottom")
        criterion = left.selectbox("Criterion", criteria, key="offer_criterion")
        count = middle.number_input("Pairs", 1, value=None, placeholder="every pair", key="offer_pairs")
        seed = right.number_input("Random seed", 0, value=0, key="offer_seed")
        if not st.form_submit_button("Offer", key="offer"):
            return
    with permissions.writing(study.id, Permission.edit, "") as session:
        result = offers.offer(session, study, criterion, count=count, seed=seed)
    added = numbers.format_count(result.added, "pair")
    st.toast(f"{added} added to the queue, {result.drawn:,} of {result.total:,} drawn.", icon=":material/check:")
