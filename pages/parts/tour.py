"""The tour of a new visitor of a sample study: watch a dispute, decide one blind, see the figure move."""

from urllib.parse import urlencode

import streamlit as st

from core.own_addresses import own_address
from core.texts import _, mark
from pages.parts import resources, shell
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
