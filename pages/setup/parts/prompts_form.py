"""The prompts of a protocol, which a study may put in its own words."""

from string import Template

import streamlit as st

from core.problems import Problem
from core.protocols import registry
from core.templates import render
from pages.parts import resources
from storage import database, studies
from storage.studies import Study


def show(study: Study, protocol: str) -> None:
    """One template after the other: ours, or the study's own text."""
    ours = registry.get(protocol).prompts
    own = [name for name in ours if f"{protocol}/{name}" in study.prompts]
    title = f"Prompts ({len(own)} of {len(ours)} in this study's own words)" if own else "Prompts"
    with st.expander(title, key=f"prompts_{protocol}"):
        st.caption("A study can put any prompt in its own words. The text that was used is stored with each run.")
        names = sorted(ours, key=lambda name: (name == "again", name))
        name = st.segmented_control(
            "Prompt",
            names,
            default=names[0],
            required=True,
            format_func=lambda name: f"{name} (own)" if name in own else name,
            key=f"prompt_of_{protocol}",
            label_visibility="collapsed",
        )
        _editor(study, protocol, str(name), ours[str(name)])


def _editor(study: Study, protocol: str, name: str, ours: str) -> None:
    kept = study.prompts.get(f"{protocol}/{name}")
    key = f"prompt_{study.id}_{protocol}_{name}"
    text = st.text_area(
        "Text", kept or ours, height="content", key=f"{key}_{kept is None}", label_visibility="collapsed"
    )
    blanks = ", ".join(f"`${blank}`" for blank in sorted(Template(ours).get_identifiers()))
    st.caption(f"Blanks that have to stand in it: {blanks}. Write `$$` for a dollar sign.")
    with st.container(horizontal=True):
        if st.button("Keep for this study", key=f"{key}_keep", disabled=text == (kept or ours)):
            _try(study, protocol, name, text, ours)
        if kept is not None and st.button("Back to ours", key=f"{key}_back", icon=":material/undo:"):
            _keep(study, {other: words for other, words in study.prompts.items() if other != f"{protocol}/{name}"})


def _try(study: Study, protocol: str, name: str, text: str, ours: str) -> None:
    """Keep a text that can be filled in; else say why not, with the text still there."""
    try:
        check(name, text, ours)
    except Problem as problem:
        st.error(str(problem), icon=":material/error:")
        return
    _keep(study, {**study.prompts, f"{protocol}/{name}": text})


def check(name: str, text: str, ours: str) -> None:
    """Refuse a text that leaves out a blank of ours, or has one that nothing fills."""
    render({name: text}, name, **{blank: "" for blank in Template(ours).get_identifiers()})
    if not text.strip():
        raise Problem(f'The prompt "{name}" is empty.')


def _keep(study: Study, prompts: dict[str, str]) -> None:
    with database.writing(resources.engine()) as session:
        studies.change_prompts(session, study.id, prompts)
    st.rerun()
