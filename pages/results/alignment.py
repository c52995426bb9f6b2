"""The former address of the alignment of judges with people, which is a section of the page Judges."""

import streamlit as st

from core.wording import scenario_name
from pages.parts import shell

parameters = {name: st.query_params.get_all(name) for name in st.query_params}
parameters["section"] = ["Alignment"]
for former, name in (("move", "change"), ("scenario", "among")):
    if former in parameters:
        parameters[name] = [scenario_name(value) if name == "among" else value for value in parameters.pop(former)]
st.switch_page(shell.page_path("results/judges.py"), query_params=parameters)
