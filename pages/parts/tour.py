"""The tour of a new visitor of a sample study: watch a dispute, decide one blind, see the figure move."""

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.own_addresses import own_address
from core.texts import _, mark
from core.wording import format_n
from pages.parts import resources, shell
from pages.parts.text import escape_markdown
from storage.labels import labels
from storage.studies.studies import Study

TOUR = st.components.v2.component(
    "tour",
    html='<div class="tour" hidden></div>',
    css=shell.read_asset("parts/tour.css"),
    js=shell.read_asset("parts/tour.js"),
)
# Page, what the visitor does there, and why.
STEPS = (
    ("traces", mark("Watch a dispute"), mark("that three judges could not settle.")),
    ("disagreements", mark("Decide one yourself"), mark("before you see what the judges said.")),
    ("agreement", mark("See the figures move"), mark("with each label, here and in every open window.")),
)
# In the address of a page that the tour opens.
PARAMETER = "tour"
LINKS: tuple[shell.Link, ...] = (
    ("results/overview.py", "Overview", ":material/home:"), ("label/home.py", "Label", ":material/edit:"),
)  # fmt: skip


def draw(study: Study, page: str = "") -> None:
    """Draw the steps of the tour on a sample study, or on the page of a step, once it has begun, the next one.

    Nothing is drawn after this browser has taken or skipped all of them.
    """
    if not study.sample:
        return
    addresses = {name: {"study": study.name, PARAMETER: "1"} for name, *_ in STEPS}
    if not page:
        from storage.reports import overview  # with pandas, which the workbench need not load

        addresses["traces"] |= resources.read(overview.find_dispute, study.id)
    steps = [
        (name, _(title), _(text), own_address(f"/{name}?{urlencode(addresses[name])}")) for name, title, text in STEPS
    ]
    TOUR(key="tour", data={"steps": steps, "skip": _("Skip the tour"), "page": page})


def draw_end(study: Study) -> None:
    """Draw the agreement without and with the visitor's last label, and the end of the tour."""
    if st.query_params.get(PARAMETER) is None:
        return
    annotator = shell.current_annotator() or ""
    with st.container(border=True):
        if resources.read(labels.table, study.id)["rater"].equals(annotator).any():
            st.markdown(_describe_movement(study, annotator))
        else:
            st.markdown("You have given no label here yet, so no figure has moved.")
        st.markdown("This is the whole loop: judges debate, people decide blind, and the figures follow each label.")
        shell.draw_links(study, *LINKS)


def _describe_movement(study: Study, annotator: str) -> str:
    """Return the value that an annotator's last label changes, without and with it; of several the first."""
    from core.statistics import catalogue
    from storage.reports import agreement, overview

    before, after = (
        {(row.kind, row.criterion): row for row in overview.agreement(measured)}
        for measured in (
            agreement.annotator_agreement(resources.engine(), study, without_last_of=left_out)
            for left_out in (annotator, "")
        )
    )
    subject = next((one for one, row in after.items() if before.get(one) != row), next(iter(after), None))
    if subject is None:
        return "Agreement is not defined yet: it needs targets with two labels."
    values = [_describe_value(rows.get(subject)) for rows in (before, after)]
    name = f"{catalogue.name(after[subject].statistic)} on {escape_markdown(subject[1])}"
    sentence = f"{name}: {values[0]} without your last label, {values[1]} with it."
    return sentence if values[0] != values[1] else f"{sentence} It did not move: it needs two labels of a target."


def _describe_value(row: Any) -> str:
    """Return `**0.752** (n 134)`, with what the value is of."""
    if row is None or row.value is None:
        return "not defined"
    return f"**{row.value:.3f}** ({'; '.join(filter(None, (format_n(row.items, row.effective), row.reason)))})"
