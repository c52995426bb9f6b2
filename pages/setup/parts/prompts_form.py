"""The prompts of a protocol, which a study can replace."""

from collections.abc import Mapping

import streamlit as st

from core.errors import TiebreakError
from core.protocols import Protocol, registry
from pages.parts import permissions
from pages.parts.text import escape_markdown
from storage import studies
from storage.access import Permission
from storage.studies import Study

SYSTEM_HELP = (
    "A prompt can begin with a system message: a first line `=== system ===`, the message, and a line "
    "`=== prompt ===` before the rest."
)


def draw_prompts(study: Study, protocol: str) -> dict[str, str]:
    """Draw the choice of a prompt template, and its text: the default, the study's replacement, or the run's own.

    Returns the texts that the run uses instead of the study's.
    """
    installed = registry.get(protocol)
    default_templates = installed.prompts
    own = _own_prompts(protocol)
    replaced = {name: "replaced" for name in default_templates if f"{protocol}/{name}" in study.prompts}
    replaced |= dict.fromkeys(own, "this run")
    title = f"Prompts ({len(replaced)} of {len(default_templates)} replaced)" if replaced else "Prompts"
    with st.expander(title, key=f"prompts_{protocol}"):
        st.caption("Any prompt can be replaced for a study or for a single run. The prompts are stored with each run.")
        names = sorted(default_templates, key=lambda name: (name == "again", name))
        name = st.segmented_control(
            "Prompt",
            names,
            default=names[0],
            required=True,
            format_func=lambda name: f"{name} ({replaced[name]})" if name in replaced else name,
            key=f"prompt_of_{protocol}",
            label_visibility="collapsed",
        )
        _draw_editor(study, installed, str(name))
    return dict(own)


def use_in_run(protocol: str, prompts: Mapping[str, str]) -> None:
    """Use these texts in the run that the form starts, such as those of a settings file."""
    st.session_state["own_prompts"] = {protocol: dict(prompts)}
    st.session_state["own_prompts_number"] = st.session_state.get("own_prompts_number", 0) + 1


def _own_prompts(protocol: str) -> dict[str, str]:
    own: dict[str, dict[str, str]] = st.session_state.setdefault("own_prompts", {})
    return own.setdefault(protocol, {})


def _draw_editor(study: Study, installed: Protocol, name: str) -> None:
    protocol, default = installed.name, installed.prompts[name]
    replacement = study.prompts.get(f"{protocol}/{name}")
    own = _own_prompts(protocol)
    current = own.get(name) or replacement or default
    key = f"prompt_{study.id}_{protocol}_{name}"
    text = st.text_area(
        "Text",
        current,
        height="content",
        # A widget keeps its first value, so its key changes with the text that it starts with.
        key=f"{key}_{replacement is None}" + (f"_{st.session_state['own_prompts_number']}" if name in own else ""),
        label_visibility="collapsed",
    )
    listed = ", ".join(f"`${blank}`" for blank in sorted(installed.blanks_of(name)))
    st.caption(
        f"Placeholders: {listed}. A template without the material to judge is refused. Write `$$` for a dollar sign. "
        f"{SYSTEM_HELP}"
    )
    with st.container(horizontal=True):
        if st.button("Save for this study", key=f"{key}_keep", disabled=text == (replacement or default)):
            _save_checked(study, installed, name, text)
        if st.button("Use in this run only", key=f"{key}_own", disabled=text == current):
            _use_checked(installed, name, text)
        if name in own and st.button("Use the study's", key=f"{key}_drop", icon=":material/undo:"):
            use_in_run(protocol, {other: text for other, text in own.items() if other != name})
            st.rerun()
        if replacement is not None and st.button("Restore the default", key=f"{key}_back", icon=":material/undo:"):
            _save(study, {other: text for other, text in study.prompts.items() if other != f"{protocol}/{name}"})


def _use_checked(protocol: Protocol, name: str, text: str) -> None:
    """Use a valid template in this run."""
    if _is_valid(protocol, name, text):
        use_in_run(protocol.name, {**_own_prompts(protocol.name), name: text})
        st.rerun()


def _save_checked(study: Study, protocol: Protocol, name: str, text: str) -> None:
    """Save a valid template for the study."""
    if _is_valid(protocol, name, text):
        _save(study, {**study.prompts, f"{protocol.name}/{name}": text})


def _is_valid(protocol: Protocol, name: str, text: str) -> bool:
    """Return whether a template can be used; otherwise draw the problem and leave the text in the editor."""
    try:
        protocol.check_prompts({name: text})
    except TiebreakError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return False
    return True


def _save(study: Study, prompts: dict[str, str]) -> None:
    with permissions.writing(study.id, Permission.edit, "prompts") as session:
        studies.update_prompts(session, study.id, prompts)
    st.rerun()
