"""The prompts of a protocol, which a study can replace."""

from collections.abc import Collection, Sequence
from string import Template

import streamlit as st

from core.problems import Problem
from core.protocols import registry
from core.templates import render
from pages.parts import resources
from storage import database, studies
from storage.studies import Study


def draw_prompts(study: Study, protocol: str) -> None:
    """Draw the choice of a prompt template, and its text: the default or the study's replacement."""
    installed = registry.get(protocol)
    default_templates = installed.prompts
    replaced = [name for name in default_templates if f"{protocol}/{name}" in study.prompts]
    title = f"Prompts ({len(replaced)} of {len(default_templates)} replaced)" if replaced else "Prompts"
    with st.expander(title, key=f"prompts_{protocol}"):
        st.caption("A study can replace any prompt. The text that was used is stored with each run.")
        names = sorted(default_templates, key=lambda name: (name == "again", name))
        name = st.segmented_control(
            "Prompt",
            names,
            default=names[0],
            required=True,
            format_func=lambda name: f"{name} (replaced)" if name in replaced else name,
            key=f"prompt_of_{protocol}",
            label_visibility="collapsed",
        )
        _draw_editor(study, protocol, str(name), default_templates[str(name)], installed.optional_blanks)


def _draw_editor(study: Study, protocol: str, name: str, default: str, optional: Sequence[str]) -> None:
    replacement = study.prompts.get(f"{protocol}/{name}")
    key = f"prompt_{study.id}_{protocol}_{name}"
    text = st.text_area(
        "Text",
        replacement or default,
        height="content",
        key=f"{key}_{replacement is None}",
        label_visibility="collapsed",
    )
    blanks = set(Template(default).get_identifiers())
    blanks |= set(optional) if "question" in blanks else set()
    listed = ", ".join(f"`${blank}`" for blank in sorted(blanks))
    st.caption(f"Placeholders: {listed}. Each may be left out. Write `$$` for a dollar sign.")
    with st.container(horizontal=True):
        if st.button("Save for this study", key=f"{key}_keep", disabled=text == (replacement or default)):
            _save_checked(study, protocol, name, text, blanks)
        if replacement is not None and st.button("Restore the default", key=f"{key}_back", icon=":material/undo:"):
            _save(study, {other: text for other, text in study.prompts.items() if other != f"{protocol}/{name}"})


def _save_checked(study: Study, protocol: str, name: str, text: str, blanks: Collection[str]) -> None:
    """Save a valid template; otherwise draw the problem and leave the text in the editor."""
    try:
        check_template(name, text, blanks)
    except Problem as problem:
        st.error(str(problem), icon=":material/error:")
        return
    _save(study, {**study.prompts, f"{protocol}/{name}": text})


def check_template(name: str, text: str, blanks: Collection[str]) -> None:
    """Raise Problem for a template that is empty, or has a placeholder that is not one of `blanks`."""
    render({name: text}, name, **dict.fromkeys(blanks, ""))
    if not text.strip():
        raise Problem(f'The prompt "{name}" is empty.')


def _save(study: Study, prompts: dict[str, str]) -> None:
    with database.writing(resources.engine()) as session:
        studies.update_prompts(session, study.id, prompts)
    st.rerun()
