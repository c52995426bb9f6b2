"""The form of a mapping: the role of each column of a table, chosen below the table's first rows."""

from typing import Any

import streamlit as st

from core.errors import FileFormatError
from core.formats.mapping import mapping as mappings
from core.formats.mapping.guess import Draft
from core.formats.mapping.mapping import Mapping
from core.formats.mapping.preview import MANY_FIELDS, Preview, preview_table
from core.formats.mapping.suggest import ROWS, suggest_table, why_row_numbers
from pages.parts import downloads
from pages.parts.text import escape_markdown
from pages.setup.parts import label_blocks, mapping_yaml, role_choices, upload
from pages.setup.parts.chooser import Chooser, drop_empty, one_or_list
from pages.setup.parts.upload import FileSource

PREVIEW_ROWS = 200
"""Rows that are searched for columns and values."""
TABLE_ROWS = 5
OTHER_FIELDS = (
    *("separator", "quotes", "where", "where_not", "shuffle", "join", "aspects"),
    *("critiques", "judges", "gold", "weights"),
)
"""Fields of a mapping that are written in YAML and not chosen here."""
REQUIRED_COLUMNS = {
    "wide.annotators": "One column for each annotator",
    "long.annotator": "Annotator",
    "long.value": "Value",
    "list.value": "List of values",
    "list.annotators": "Annotators",
}
"""The field of a block of labels -> its name in the form."""
ROW_NUMBERS = {"{row}": "row number", "{row}-{element}": "row and element number"}


def describe_error(error: FileFormatError) -> str:
    """Return an error of a mapping with the names of the form."""
    list_name, _, place = (error.field or "").partition(".")
    if list_name != "labels":
        return str(error)
    number, _, field = place.partition(".")
    choice = REQUIRED_COLUMNS.get(field)
    return f"labels, block {int(number) + 1}: {error.expected if choice is None else f'choose {choice!r}'}"


def draw_mapping(source: FileSource) -> Draft | None:
    """Draw the form, or the mapping as text; returns the mapping so far, or None if the text is no mapping."""
    state = _form_state(source)
    first_rows = st.container()
    with st.container(key="mapping_form"):  # the style sheet puts two choices into a line of a phone
        draft = _draw_text(state) if state["as_text"] else _draw_form(source, state)
    shown = draft or state["draft"]
    with first_rows:
        _draw_first_rows(_load_preview(source, source.key, shown.get("explode"), shown.get("separator")))
    return draft


def _draw_text(state: dict[str, Any]) -> Draft | None:
    """Draw the mapping as YAML, and the way back to the form."""
    draft = mapping_yaml.draw_editor(state["draft"], f"map{state['number']}_text")
    is_back = draft is None or mapping_yaml.needs_yaml(draft)
    if st.button(
        "Choose columns",
        key="map_columns",
        icon=":material/view_column:",
        disabled=is_back,
        help="Not for mappings with fields that the form lacks." if is_back else None,
    ):
        _restart(state, draft or {}, as_text=False)
        st.rerun()
    return draft


def _draw_form(source: FileSource, state: dict[str, Any]) -> Draft:
    draft = state["draft"]
    preview = _load_preview(source, source.key, draft.get("explode"), draft.get("separator"))
    chooser = Chooser(preview.columns, f"map{state['number']}_")
    explode = _draw_explode(source, preview, chooser, draft)
    objects = {field: value for field, value in draft.items() if isinstance(value, dict)}
    fields = _draw_item(chooser, {field: value for field, value in draft.items() if field not in objects})
    if note := _why_row_numbers(source, source.key, explode, fields.get("id")):
        st.caption(f":material/info: {escape_markdown(note)}")
    labels = label_blocks.draw_blocks(chooser, state["blocks"], preview)
    others = {field: draft[field] for field in OTHER_FIELDS if field in draft}
    if not {"judges", "gold"} & others.keys():
        others |= role_choices.draw_roles(chooser, preview, labels, state.get("roles"))
    loaded = [field for field in (*objects, *others) if field in draft]
    if loaded:
        st.caption(f"Also in the mapping, and imported: {', '.join(dict.fromkeys(loaded))}.")
    made = drop_empty({"explode": explode, **fields, "labels": labels, **others, **objects})
    if st.button(
        "Edit as YAML",
        key="map_yaml",
        icon=":material/code:",
        help="For what the form lacks, such as judges with a model and reasons, critiques, weights and aspects, a "
        "second file, values from two fields, or labels in a list of objects.",
    ):
        _restart(state, made, as_text=True)
        st.rerun()
    return made


def draw_upload(source: FileSource) -> None:
    """Draw the upload of a mapping, which replaces the choices in the form."""
    fields = upload.draw_yaml_upload("Mapping in YAML", f"map_{source.key}")
    if fields is not None:
        mapping = mappings.build_mapping(fields)
        reset_form(source, mappings.draft_of(mapping))
        st.rerun()


def draw_download(mapping: Mapping, name: str) -> None:
    """Draw the download of the mapping, for later imports and for `cli.py import --map`."""
    text = mappings.dump_mapping(mapping)
    downloads.draw_text_link("Save mapping", text, f"{name}.yaml", "save_mapping", kind="mapping")
    st.caption("Load it here again, or use it with `python cli.py import PATH --map FILE.yaml`.")


def _form_state(source: FileSource) -> dict[str, Any]:
    """Return the initial values of the widgets; another file resets them."""
    state: dict[str, Any] | None = st.session_state.get("mapping")
    if state is None or state["file"] != source.key:
        state = _start_suggested(source)
    return state


def _start_suggested(source: FileSource, explode: str | None = None) -> dict[str, Any]:
    """Start the form with a suggested mapping, in which judges and gold are columns if they can be."""
    draft = _suggest(source, source.key, explode)
    fields, roles = (draft, None) if mapping_yaml.needs_yaml(draft) else role_choices.split_roles(draft)
    state = reset_form(source, fields)
    state["roles"] = roles
    return state


@st.cache_data(max_entries=8, show_spinner="Reading the file …")
def _suggest(_source: FileSource, key: str, explode: str | None = None) -> Draft:
    with _source.on_disk() as path:
        return suggest_table(path, explode)


@st.cache_data(max_entries=8, show_spinner=False)
def _why_row_numbers(_source: FileSource, key: str, explode: str | list[str] | None, id_field: str | None) -> str:
    """Return why the id is the row's number although the first rows have a column of ids."""
    with _source.on_disk() as path:
        return why_row_numbers(preview_table(path, ROWS, explode), {"id": id_field})


def reset_form(source: FileSource, draft: Draft) -> dict[str, Any]:
    """Start the form with another draft; one with fields that the form lacks is shown as text."""
    state = {"file": source.key, "number": st.session_state.get("mapping", {}).get("number", 0)}
    _restart(state, draft, as_text=mapping_yaml.needs_yaml(draft))
    st.session_state["mapping"] = state
    return state


def _restart(state: dict[str, Any], draft: Draft, *, as_text: bool) -> None:
    """Show another draft; widgets keep their first value, so the number in their keys changes."""
    blocks = dict(enumerate(draft.get("labels", [])))
    state.update({"number": state["number"] + 1, "draft": draft, "blocks": blocks, "as_text": as_text})


@st.cache_data(max_entries=8, show_spinner="Reading the file …")
def _load_preview(
    _source: FileSource, key: str, explode: str | list[str] | None, separator: str | None = None
) -> Preview:
    with _source.on_disk() as path:
        return preview_table(path, PREVIEW_ROWS, explode, separator)


def _draw_first_rows(preview: Preview) -> None:
    if preview.has_more:
        st.caption(MANY_FIELDS)
    rows = preview.rows[:TABLE_ROWS]
    st.dataframe(
        [{column: row.get(column, "") for column in preview.columns} for row in rows],
        hide_index=True,
        key="first_rows",
        row_height=28,
    )


def _draw_explode(source: FileSource, preview: Preview, chooser: Chooser, draft: Draft) -> str | None:
    """Draw the choice of a list whose elements are items; another list has other columns, so the form is reset."""
    current = draft.get("explode")
    if not preview.lists and current is None:
        return None
    options = list(dict.fromkeys([*preview.lists, *([current] if current else [])]))
    selected = st.selectbox(
        "Items are the elements of",
        options,
        index=options.index(current) if current else None,
        key=chooser.key("explode"),
        placeholder="none: each row is an item",
    )
    if selected != current:
        _start_suggested(source, selected)
        st.rerun()
    return selected


def _draw_item(chooser: Chooser, draft: Draft) -> Draft:
    left, right = st.columns(2, gap="medium")
    with left:
        name = chooser.choose_column(
            "Name of the item",
            "id",
            draft.get("id"),
            other_options=ROW_NUMBERS,
            allow_new=True,
            placeholder="choose",
            help="Unique for each item. Columns can be combined, such as {dialogue}-{element}.",
        )
    with right:
        prompt = chooser.choose_columns(
            "Question or prompt",
            "prompt",
            draft.get("prompt"),
            placeholder="choose",
            help="Several columns are joined with blank lines.",
        )
    responses = _draw_responses(chooser.nested("response"), draft.get("responses") or [{}])
    more = _draw_more(chooser, draft)
    return {"id": name, "prompt": one_or_list(prompt), "responses": responses, **more}


def _draw_responses(chooser: Chooser, start: list[Draft]) -> list[Draft]:
    count_key = chooser.key("count")
    count = st.session_state.setdefault(count_key, len(start))
    responses = []
    for number in range(count):
        responses.append(_draw_response(chooser, number, start[number] if number < len(start) else {}))
    with st.container(horizontal=True):
        if st.button("Add a response", key=chooser.key("add"), icon=":material/add:", type="tertiary"):
            st.session_state[count_key] = count + 1
            st.rerun()
        if count > 1 and st.button(
            "Remove a response", key=chooser.key("less"), icon=":material/remove:", type="tertiary"
        ):
            st.session_state[count_key] = count - 1
            st.rerun()
    return [response for response in responses if response.get("text")]


def _draw_response(chooser: Chooser, number: int, start: Draft) -> Draft:
    left, right = st.columns(2, gap="medium")
    with left:
        text = chooser.choose_column(f"Response {number + 1}", f"text{number}", start.get("text"), placeholder="choose")
    with right:
        system = chooser.choose_column(
            "System",
            f"system{number}",
            start.get("system") or start.get("name"),
            allow_new=True,
            placeholder="unknown",
            help="The column with the system's name, or the name if all rows have the same.",
        )
    system_field: Draft = {"system": system} if system in chooser.columns else {"name": system}
    other_fields: Draft = {field: start[field] for field in ("image", "optional") if field in start}
    return drop_empty({"text": text, **system_field, **other_fields})


def _draw_more(chooser: Chooser, draft: Draft) -> Draft:
    with st.expander("Context, reference answer, scenario, group"):
        left, right = st.columns(2, gap="medium")
        with left:
            context = chooser.choose_columns("Context", "context", draft.get("context"))
            scenario = chooser.choose_column(
                "Scenario",
                "scenario",
                draft.get("scenario"),
                allow_new=True,
                help="Results are also reported by scenario.",
            )
        with right:
            reference = chooser.choose_columns("Reference answer", "reference", draft.get("reference"))
            group = chooser.choose_columns(
                "Group",
                "group",
                draft.get("group"),
                allow_new=True,
                help="The dialogue or document. Items of a group are not independent, which intervals account for.",
            )
    return {
        "context": one_or_list(context),
        "reference": one_or_list(reference),
        "scenario": scenario,
        "group": one_or_list(group),
    }
