"""The choice of the reference of judges, stored in the URL."""

import streamlit as st

from pages.parts import resources
from pages.parts.text import escape_markdown
from storage import database
from storage.reports import references
from storage.studies import Study

KEY = "reference"


def draw_choice(study: Study) -> str:
    """Draw the choice of a reference; returns it as `storage.reports.references.parse` reads it."""
    with database.reading(resources.engine()) as session:
        titles = {str(choice): choice.title for choice in references.choices(session, study.id)}
    # The options are written as on the command line, because they are in the URL.
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Reference",
            list(titles),
            key=KEY,
            bind="query-params",
            width=300,
            help="The values that judges are compared with. They never include the verdicts of the judge itself; a "
            "debate that is the reference is not compared.",
        )
        st.caption(f"Compared with {escape_markdown(titles[chosen])}.", width="content")
    return chosen
