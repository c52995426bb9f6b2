"""The tour of a new visitor of a sample study: watch a dispute, decide one blind, see the figure move."""

from urllib.parse import urlencode

import streamlit as st

from core.own_addresses import own_address
from core.statistics import catalogue
from core.statistics.reports.agreement import AgreementRow
from core.texts import _, mark
from core.wording import format_n
from pages.parts import resources, shell
from pages.parts.text import escape_markdown
from storage.reports import overview
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
        addresses["traces"] |= resources.read(overview.find_dispute, study.id)
    steps = [
        (name, _(title), _(text), own_address(f"/{name}?{urlencode(addresses[name])}")) for name, title, text in STEPS
    ]
    TOUR(key="tour", data={"steps": steps, "skip": _("Skip the tour"), "page": page})


def draw_end(study: Study) -> None:
    """Draw the agreement without and with the visitor's newest label, and the end of the tour."""
    if st.query_params.get(PARAMETER) is None:
        return
    moved = overview.agreement_of_newest(resources.engine(), study, shell.current_annotator() or "")
    with st.container(border=True):
        st.markdown(_describe(*moved) if moved else "You have given no label here yet, so no figure has moved.")
        st.markdown("This is the whole loop: judges debate, people decide blind, and the figures follow each label.")
        shell.draw_links(study, ("results/overview.py", "Overview", ":material/home:"), LABEL)


LABEL: shell.Link = ("label/home.py", "Label", ":material/edit:")


def _describe(before: AgreementRow | None, after: AgreementRow | None, others: int) -> str:
    """Return both values with their n, and whether they differ; `others` have labelled the same target."""
    if after is None or after.value is None:
        return "Agreement is not defined yet: it needs more targets with two labels."
    was = "not defined" if before is None or before.value is None else f"{before.value:.3f}"
    n = format_n(before.items if before else 0, before.effective if before else None)
    name = f"{catalogue.name(after.statistic)} on {escape_markdown(after.criterion)}"
    now, counted = f"{after.value:.3f}", format_n(after.items, after.effective)
    of = f" {escape_markdown(after.reason)[:1].upper()}{escape_markdown(after.reason)[1:]}." if after.reason else ""
    values = f"{name}: **{was}** ({n}) without your newest label, **{now}** ({counted}) with it.{of}"
    if was != now:
        return values
    reason = "." if others else ": nobody else has labelled its target yet, and agreement needs two labels of a target."
    return f"{values} The figure did not move{reason}"
