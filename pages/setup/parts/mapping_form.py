"""The form of a mapping: a table with the role of each field of a file, and the mapping itself in YAML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import FileFormatError
from core.formats.mapping import mapping as mappings
from core.formats.mapping.preview import MANY_FIELDS, FileFields, describe_fields
from core.formats.mapping.suggest import build_suggested, suggest_table
from core.formats.plain_yaml import dump_fields
from pages.parts import downloads
from pages.parts.text import escape_markdown
from pages.setup.parts import upload
from pages.setup.parts.upload import FileSource

# What a person can state that a field is -> its name in the table; NONE and OTHER are no roles of a suggestion.
NONE, OTHER = "none", "other"
ROLE_NAMES = {
    "prompt": "question or prompt",
    "context": "context",
    "reference": "reference answer",
    "response": "response",
    "transcript": "transcript of a response",
    "system": "system",
    "label": "label or gold",
    "annotator": "annotator",
    "criterion": "criterion",
    "judge": "verdict of a judge",
    "step": "first wrong step",
    OTHER: "something else: see the YAML",
    NONE: "not used",
}
EDITOR_HEIGHT = 420  # pixels
# Of a table with more rows, others are scrolled to.
FEW_FIELDS, TABLE_HEIGHT = 14, 420
EACH_ROW = "none: each row is an item"
INCOMPLETE = (
    "No field is known as a question or a response: choose its role, or write `prompt` or `responses` in the YAML."
)


@dataclass
class FormState:
    """What the widgets of the form begin with; a new number gives them new keys, so that they begin again."""

    file: str
    """The key of the file."""
    number: int
    mapping: mappings.Mapping
    text: str
    """The mapping, or several of them, in YAML."""
    is_complete: bool = True
    is_suggested: bool = False
    """Whether roles can be chosen: what is loaded or written is changed in YAML."""
    explode: Any = None
    roles: Mapping[str, str] = field(default_factory=dict)
    """Field -> the role that a person has chosen."""


def draw_mapping(source: FileSource) -> list[mappings.Mapping] | None:
    """Draw the form; returns the mappings of the file, or None until they are complete and valid."""
    state: FormState | None = st.session_state.get("mapping")
    if state is None or state.file != source.key:
        state = _start_suggested(source)
    table = st.container()
    found = _draw_text(state)
    is_changed = st.session_state[f"map{state.number}_text"] != state.text
    with table:
        for number, mapping in enumerate(found or ([] if is_changed else [state.mapping]), 1):
            fields = source.read(describe_fields, mapping)
            if state.is_suggested and not is_changed:
                _draw_explode(source, state, fields.lists)
                _draw_roles(source, state, fields)
            else:
                _draw_table(fields, f"map{state.number}_fields{number}", disabled=True)
    return found


def _draw_text(state: FormState) -> list[mappings.Mapping] | None:
    """Draw the text of the mapping; returns the mappings in it, or None with the reason on the page."""
    text = st.text_area(
        "Mapping in YAML",
        state.text,
        height=EDITOR_HEIGHT,
        key=f"map{state.number}_text",
        help="It says what the table above cannot. All fields are described in docs/mappings, with mappings of public "
        "data sets to start from.",
    )
    if text == state.text and not state.is_complete:
        st.info(INCOMPLETE, icon=":material/pending:")
        return None
    try:
        return mappings.parse_mappings(text)
    except FileFormatError as error:
        st.error(f"This is no mapping yet: {escape_markdown(str(error))}", icon=":material/error:")
        return None


def _draw_explode(source: FileSource, state: FormState, lists: Sequence[str]) -> None:
    """Draw the choice of a list whose elements are items; another list has other fields, so the form begins again."""
    current = ", ".join(state.mapping.explode)
    options = list(dict.fromkeys(["", *lists, current]))
    if len(options) < 2:
        return
    chosen = st.selectbox(
        "Items are the elements of",
        options,
        index=options.index(current),
        key=f"map{state.number}_explode",
        format_func=lambda name: name or EACH_ROW,
    )
    if chosen != current:
        _start_suggested(source, chosen or [])
        st.rerun()


def _draw_roles(source: FileSource, state: FormState, fields: FileFields) -> None:
    """Draw the choice of roles; a choice suggests the rest of the mapping again."""
    chosen = _draw_table(fields, f"map{state.number}_roles")
    former = {own.field: own.role for own in fields.rows}
    changed = {name: role for name, role in chosen.items() if role != former[name]}
    if not changed:
        return
    roles = {name: role for name, role in {**state.roles, **changed}.items() if role != OTHER}
    try:
        _start_suggested(source, state.explode, roles, _stated(chosen, roles, [former[name] for name in changed]))
    except FileFormatError as error:
        st.error(f"The roles do not fit: {escape_markdown(str(error))}", icon=":material/error:")
        return
    st.rerun()


def _stated(
    chosen: Mapping[str, str], stated: Mapping[str, str], former: Sequence[str]
) -> list[tuple[str, tuple[str, ...]]]:
    """Return role -> all fields of the table that have it, for each role that a person has given or taken away.

    Of the fields that are not used, only those that the person has chosen: others can get a role.
    """
    touched = {*stated.values(), *former} - {NONE, OTHER}
    fields = {
        role: tuple(name for name, own in chosen.items() if own == role) for role in ROLE_NAMES if role in touched
    }
    fields[NONE] = tuple(name for name, role in stated.items() if role == NONE)
    return [(role, names) for role, names in fields.items() if names]


def _draw_table(fields: FileFields, key: str, *, disabled: bool = False) -> dict[str, str]:
    """Draw a row for each field with an example; returns field -> its role, which can be chosen."""
    if fields.has_more:
        st.caption(MANY_FIELDS)
    columns: dict[str, Any] = {
        "field": st.column_config.TextColumn("Field", disabled=True),
        "example": st.column_config.TextColumn("Example", disabled=True, width="large"),
        "role": st.column_config.SelectboxColumn(
            "Role",
            options=list(ROLE_NAMES),
            format_func=lambda role: ROLE_NAMES[str(role)],
            required=True,
            width="medium",
        ),
    }
    edited = st.data_editor(
        [{"field": own.field, "role": own.role, "example": own.example} for own in fields.rows],
        hide_index=True,
        height="auto" if len(fields.rows) < FEW_FIELDS else TABLE_HEIGHT,
        key=key,
        disabled=disabled,
        column_config=columns,
    )
    return {row["field"]: row["role"] for row in edited}


def _start_suggested(
    source: FileSource, explode: Any = None, roles: Mapping[str, str] | None = None, stated: Any = ()
) -> FormState:
    """Start the form with a suggested mapping, in which fields have the stated roles.

    Raises FileFormatError for a role that a field cannot have.
    """
    draft = source.read(_suggest, explode, tuple(stated), source.join)
    mapping, is_complete = build_suggested(draft)
    text = mappings.dump_mapping(mapping) if is_complete else dump_fields(draft)
    return _restart(
        source, mapping, text, is_complete=is_complete, is_suggested=True, explode=explode, roles=roles or {}
    )


def _suggest(path: Path, explode: Any, stated: Any, join: Any) -> dict[str, Any]:
    return suggest_table(path, explode, join, dict(stated))


def start_loaded(source: FileSource, found: Sequence[mappings.Mapping]) -> None:
    """Start the form with the mappings of a file, or of a model's proposal."""
    _restart(source, found[0], "---\n".join(map(mappings.dump_mapping, found)))


def _restart(source: FileSource, mapping: mappings.Mapping, text: str, **more: Any) -> FormState:
    former: FormState | None = st.session_state.get("mapping")
    state = FormState(source.key, former.number + 1 if former else 1, mapping, text, **more)
    st.session_state["mapping"] = state
    return state


def draw_upload(source: FileSource) -> None:
    """Draw the upload of a mapping, which replaces that of the form."""
    key = f"map_{source.key}"
    file = st.file_uploader("Mapping in YAML", type=["yaml", "yml", "json", "txt", "md"], key=f"{key}_yaml")
    if isinstance(file, UploadedFile) and st.session_state.get(f"{key}_read") != file.file_id:  # once for each upload
        st.session_state[f"{key}_read"] = file.file_id
        start_loaded(source, mappings.parse_mappings(upload.read_text(file)))
        st.rerun()


def draw_download(found: Sequence[mappings.Mapping], name: str) -> None:
    """Draw the download of the confirmed mappings for later imports, also by `data import --map`."""
    text = "---\n".join(map(mappings.dump_mapping, found))
    downloads.draw_text_link("Save mapping", text, f"{name}.yaml", "save_mapping", kind="mapping")
