"""The choice of what judges are compared with, which is in the address."""

import streamlit as st

from pages.parts import resources
from storage import database
from storage.reports import references
from storage.studies import Study

KEY = "reference"


def draw_choice(study: Study) -> str:
    """Draw the choice of a reference; returns it as `storage.reports.references.parse` reads it."""
    with database.reading(resources.engine()) as session:
        titles = {str(choice): choice.title for choice in references.choices(session, study.id)}
    return st.selectbox(
        "Reference",
        list(titles),
        format_func=lambda choice: _capitalise(titles[choice]),
        key=KEY,
        bind="query-params",
        width=620,
        help="What judges are compared with. The verdicts of the judge itself are never part of it; a debate that is "
        "the reference is not compared.",
    )


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
