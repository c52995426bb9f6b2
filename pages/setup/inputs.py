"""The inputs of new runs that people edit: references, aspects, and AIUs that were extracted again."""

import streamlit as st

from pages.parts import shell
from pages.setup.parts import inputs

study = shell.draw_header(
    "Inputs", "What new runs judge by: the references, aspects and AIUs of the items, as people edited them."
)
annotator = shell.current_annotator()
if annotator is None:
    st.caption("Sign in on a page of the section Label to change inputs.")
items, aius = st.tabs(["References and aspects", "AIUs of another extraction"])
with items:
    inputs.draw(study, annotator)
with aius:
    inputs.draw_matches(study, annotator)
