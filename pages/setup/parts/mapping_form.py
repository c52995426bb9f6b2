"""What a table's columns mean: a mapping, made by choosing columns beside the table's first rows."""

from typing import Any

import streamlit as st

from core.formats.mapping import mapping as mappings
from core.formats.mapping.guess import Draft, suggest
from core.formats.mapping.mapping import Mapping
from core.formats.mapping.preview import Preview, preview
from pages.setup.parts import label_blocks, upload
from pages.setup.parts.chooser import Chooser, single, told
from pages.setup.parts.upload import Given

LOOKED_AT = 200
"""Rows in which values and columns are looked for."""
SHOWN = 5
ROW_NUMBERS = {"{row}": "the row's number", "{row}-{element}": "row and element number"}


def ask(given: Given) -> Draft:
    """The mapping as far as it is made; `build` says what it lacks."""
    start = _start(given)
    look = _look(given, given.key, start["draft"].get("explode"))
    _first_rows(look)
    choose = Chooser(look.columns, f"map{start['number']}_")
    draft = start["draft"]
    explode = _explode(given, look, choose, draft)
    fields = _item(choose, draft)
    labels = label_blocks.ask(choose, start["blocks"], look)
    return told({"explode": explode, **fields, "labels": labels})


def load(given: Given) -> None:
    """Take the mapping from a file in place of what was chosen."""
    fields = upload.yaml("A mapping, as YAML", f"map_{given.key}")
    if fields is not None:
        found = mappings.build(fields)
        begin(given, found.model_dump(mode="json", exclude_defaults=True))
        st.rerun()


def save(mapping: Mapping, name: str) -> None:
    """The mapping to keep, and for `cli.py import --map`."""
    st.download_button(
        "Mapping as YAML",
        mappings.dump(mapping),
        file_name=f"{name}.yaml",
        mime="application/yaml",
        key="save_mapping",
        icon=":material/download:",
        on_click="ignore",
        help="Use it again here, or with `python cli.py import PATH --map FILE.yaml`.",
    )


def _start(given: Given) -> dict[str, Any]:
    """What the form's widgets begin with; made anew for another file."""
    held = st.session_state.get("mapping")
    if held is None or held["file"] != given.key:
        look = _look(given, given.key, None)
        held = begin(given, suggest(look.columns))
    return held  # type: ignore[no-any-return]


def begin(given: Given, draft: Draft) -> dict[str, Any]:
    """Widgets take their values when they are made: another draft needs new ones."""
    number = st.session_state.get("mapping", {}).get("number", 0) + 1
    blocks = {place: block for place, block in enumerate(draft.get("labels", []))}
    st.session_state["mapping"] = {"file": given.key, "number": number, "draft": draft, "blocks": blocks}
    return st.session_state["mapping"]  # type: ignore[no-any-return]


@st.cache_data(max_entries=8, show_spinner="Looking at the file …")
def _look(_given: Given, key: str, explode: str | None) -> Preview:
    with _given.on_disk() as path:
        return preview(path, LOOKED_AT, explode)


def _first_rows(look: Preview) -> None:
    rows = look.rows[:SHOWN]
    st.dataframe(
        [{column: row.get(column, "") for column in look.columns} for row in rows],
        hide_index=True,
        key="first_rows",
        row_height=28,
    )


def _explode(given: Given, look: Preview, choose: Chooser, draft: Draft) -> str | None:
    """A list whose elements are the items; another choice means other columns, so the form begins again."""
    now = draft.get("explode")
    if not look.lists and now is None:
        return None
    options = list(dict.fromkeys([*look.lists, *([now] if now else [])]))
    chosen = st.selectbox(
        "Each element of this list is an item",
        options,
        index=options.index(now) if now else None,
        key=choose.key("explode"),
        placeholder="no: each row is an item",
    )
    if chosen != now:
        columns = _look(given, given.key, chosen).columns
        begin(given, suggest(columns, chosen))
        st.rerun()
    return chosen


def _item(choose: Chooser, draft: Draft) -> Draft:
    left, right = st.columns(2, gap="medium")
    with left:
        name = choose.one(
            "Name of the item",
            "id",
            draft.get("id"),
            also=ROW_NUMBERS,
            new=True,
            empty="choose",
            help="Must be different for each item. Or put it together, such as {dialogue}-{element}.",
        )
    with right:
        prompt = choose.several(
            "Question or prompt",
            "prompt",
            draft.get("prompt"),
            empty="choose",
            help="Several columns are joined, a blank line between them.",
        )
    responses = _responses(choose.within("response"), draft.get("responses") or [{}])
    more = _more(choose, draft)
    return {"id": name, "prompt": single(prompt), "responses": responses, **more}


def _responses(choose: Chooser, start: list[Draft]) -> list[Draft]:
    count_key = choose.key("count")
    count = st.session_state.setdefault(count_key, len(start))
    found = []
    for number in range(count):
        found.append(_response(choose, number, start[number] if number < len(start) else {}))
    with st.container(horizontal=True):
        if st.button("Another response", key=choose.key("add"), icon=":material/add:", type="tertiary"):
            st.session_state[count_key] = count + 1
            st.rerun()
        if count > 1 and st.button("One less", key=choose.key("less"), icon=":material/remove:", type="tertiary"):
            st.session_state[count_key] = count - 1
            st.rerun()
    return [response for response in found if response.get("text")]


def _response(choose: Chooser, number: int, start: Draft) -> Draft:
    left, right = st.columns(2, gap="medium")
    with left:
        text = choose.one(f"Response {number + 1}", f"text{number}", start.get("text"), empty="choose")
    with right:
        system = choose.one(
            "The system that wrote it",
            f"system{number}",
            start.get("system") or start.get("name"),
            new=True,
            empty="not known",
            help="The column that names it, or the name itself where it is the same in every row.",
        )
    named: Draft = {"system": system} if system in choose.columns else {"name": system}
    kept = {field: start[field] for field in ("image", "optional") if field in start}
    return told({"text": text, **named, **kept})


def _more(choose: Chooser, draft: Draft) -> Draft:
    with st.expander("Context, reference answer, scenario, group"):
        left, right = st.columns(2, gap="medium")
        with left:
            context = choose.several("Context", "context", draft.get("context"))
            scenario = choose.one(
                "Scenario", "scenario", draft.get("scenario"), new=True, help="Results are shown for each scenario."
            )
        with right:
            reference = choose.several("Reference answer", "reference", draft.get("reference"))
            group = choose.several(
                "Group",
                "group",
                draft.get("group"),
                new=True,
                help="The dialogue or document. Items of one group are not independent, and intervals take that in.",
            )
    return {
        "context": single(context),
        "reference": single(reference),
        "scenario": scenario,
        "group": single(group),
    }
