"""The choice of the reference of judges, stored in the URL."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts import resources
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, choices
from pages.results.parts.alignment_data import Version
from storage.studies import Study

KEY = "reference"


def draw_choice(study: Study, version: Version, row: DeltaGenerator | None = None) -> tuple[str, DeltaGenerator]:
    """Draw the choice of a reference at a version, in the row for all choices of the page; None draws the row.

    Returns the reference as `storage.reports.references.parse` reads it, and the row.
    """
    titles = alignment_data.load_references(str(resources.engine().url), study.id, version)
    # The options are written as on the command line, because they are in the URL.
    row = choices.draw_row() if row is None else row
    with row:
        choices.draw_unknown("Reference", list(titles), KEY)
        chosen = st.selectbox(
            "Reference",
            list(titles),
            key=KEY,
            bind="query-params",
            width=min(choices.MAX_WIDTH, choices.width("Reference", titles)),
            help="The values that judges are compared with. They never include the verdicts of the judge itself; a "
            "debate that is the reference is not compared.",
        )
    st.caption(f"Compared with {escape_markdown(titles[chosen])}.")
    return chosen, row
