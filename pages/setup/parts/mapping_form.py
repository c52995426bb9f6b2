"""The form of a mapping: the role of each column of a table, chosen below the table's first rows."""

from collections import abc
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.errors import FileFormatError
from core.formats.mapping import mapping as mappings
from core.formats.mapping.confirmation import OPEN
from core.formats.mapping.fields import is_template, key_of
from core.formats.mapping.guess import Draft, guess_block, guess_confidence, guess_roles
from core.formats.mapping.preview import MANY_FIELDS, Preview, preview_draft, preview_elements
from core.formats.mapping.suggest import suggest_table
from core.formats.mapping.suggest_blocks import guess_values, leave_open
from core.formats.plain_yaml import dump_fields, parse_fields
from pages.parts import downloads
from pages.parts.numbers import RESPONSE_NAMES
from pages.parts.text import escape_markdown
from pages.setup.parts import scale_form, upload
from pages.setup.parts.scale_form import Chooser, Field, drop_empty, join_commas, split_commas
from pages.setup.parts.upload import FileSource

# The values in a table: labels in one column per annotator, one row per label or a list in a cell, or gold.

Blocks = dict[int, Draft]
LAYOUT_NAMES = {
    "wide": "One column per annotator",
    "long": "One row per label",
    "list": "A list in a cell",
    "gold": "Gold",
}
KIND_NAMES = {
    "preference": "preference",
    "score": "score",
    "likert": "rating in steps",
    "aspect_quality": "quality of an aspect",
    "answer": "answer",
}


WIDE_FIELD = Field("annotators", "One column for each annotator", placeholder="choose")
LONG_FIELDS = (
    Field(
        "annotator", "Annotator", "A column, or a name if all rows have the same.", allow_new=True, placeholder="choose"
    ),
    Field("value", "Value", placeholder="choose"),
    Field("criterion_field", "Criterion column"),
    Field("reason", "Reason"),
)
LIST_FIELDS = (
    Field("value", "List of values", placeholder="choose"),
    Field(
        "who",
        "Annotators",
        "A column with a list of names, or the names in the order of the values.",
        allow_new=True,
        placeholder="a column, or names separated by commas",
    ),
)

GOLD_FIELDS = (
    Field("value", "Value", "Decided values, which take precedence over labels.", placeholder="choose"),
    Field("criterion_field", "Criterion column"),
    Field("reason", "Reason"),
)


def draw_blocks(chooser: Chooser, blocks: Blocks, preview: Preview, responses: int) -> list[Draft]:
    """Draw every block of labels and gold of items with a number of responses; returns the blocks so far."""
    drafts = []
    for index in list(blocks):
        drafts.append(_draw_block(chooser.nested(f"labels{index}"), blocks, index, preview, responses))
    if st.button("Add labels or gold", key=chooser.key("more_labels"), icon=":material/add:", type="tertiary"):
        blocks[max(blocks, default=-1) + 1] = {}
        st.rerun()
    return drafts


def _draw_block(chooser: Chooser, blocks: Blocks, index: int, preview: Preview, responses: int) -> Draft:
    start = blocks[index]
    name = st.session_state.get(chooser.key("criterion"), start.get("criterion", ""))
    number = st.session_state.get(chooser.key("response"), start.get("response"))
    parts = [escape_markdown(name), f"response {number}" if isinstance(number, int) else ""]
    is_gold = st.session_state.get(chooser.key("layout"), start.get("layout")) == "gold"
    title = ": ".join(filter(None, ("Gold" if is_gold else "Labels", ", ".join(filter(None, parts)))))
    with st.expander(title, expanded=len(blocks) < 3, key=chooser.key("fold")):
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            layout = st.segmented_control(
                "Layout",
                list(LAYOUT_NAMES),
                default=start.get("layout", "wide"),
                required=True,
                format_func=LAYOUT_NAMES.__getitem__,
                key=chooser.key("layout"),
            )
            if st.button("Remove", key=chooser.key("remove"), icon=":material/close:", type="tertiary"):
                del blocks[index]
                st.rerun()
        target = _draw_target(chooser, start)
        places, preview = _draw_places(chooser, start, preview, responses)
        chooser = Chooser(preview.columns, chooser.prefix)
        columns = LAYOUT_FORMS[str(layout)](chooser, start)
        scale = scale_form.draw_scale(chooser, start, target["kind"])
        file_values = scale_form.distinct_values(preview, str(layout), columns)
        guess = (guess_block(file_values) or {}).get("values", {}) if target["kind"] == "preference" else {}
        meanings: Draft = {"values": guess | dict(start.get("values", {}))}
        values = scale_form.draw_values(chooser, meanings, file_values, target["kind"], scale)
    draft = drop_empty({"layout": layout, **target, **places, **columns, "scale": scale, "values": values})
    return _leave_open(start, draft, file_values)


def _leave_open(start: Draft, draft: Draft, file_values: list[str]) -> Draft:
    """Return the block, not confirmed if the file does not state its values. A loaded block with the same columns
    states its scale; numbers that are preferences are stated only by `values`. A suggestion stays open, also where it
    is changed: what it says is asked for."""
    if start.get("confirmed") is False:
        return draft | {name: start[name] for name in OPEN if name in start}
    is_loaded = bool(start) and all(start.get(name) == draft.get(name) for name in ("kind", "annotators", "value"))
    if is_loaded and draft["kind"] != "preference":
        return draft
    return leave_open(draft, [text for text in file_values if text not in draft.get("values", {})])


def _draw_target(chooser: Chooser, start: Draft) -> Draft:
    left, middle, right = st.columns([4, 4, 7], gap="medium")
    kinds = list(KIND_NAMES)
    kind = left.selectbox(
        "Kind",
        kinds,
        index=kinds.index(start.get("kind", "preference")),
        format_func=KIND_NAMES.__getitem__,
        key=chooser.key("kind"),
    )
    texts = {"kind": kind}
    for place, name, empty in (
        (middle, "criterion", "overall quality"),
        (right, "definition", "Shown to people and judges"),
    ):
        with place:
            texts[name] = chooser.enter_text(name.capitalize(), name, start.get(name, ""), placeholder=empty)
    return texts


def _draw_places(chooser: Chooser, start: Draft, preview: Preview, responses: int) -> tuple[Draft, Preview]:
    """Draw which response, elements and rows the labels are of; returns the choices, and the preview of these rows."""
    each, lists = start.get("each"), [*preview.lists, *filter(None, [start.get("each")])]
    about, *elements, column, values = st.columns(4 if lists else 3, gap="medium")
    if lists:
        field = Field(
            "each", "In each element of", "A list with an object for each value.", placeholder="the row itself"
        )
        with elements[0]:
            each = Chooser(tuple(dict.fromkeys(lists)), chooser.prefix).choose_column(field, each)
        preview = preview_elements(preview, each) if each in preview.lists else preview
    names: dict[Any, str] = {number: f"response {number}" for number in range(1, responses + 1)}
    names |= {"element": "the response of the element's number"} if each else {}
    options = [
        None,
        *dict.fromkeys([*(names if responses > 1 or each else ()), *filter(None, [start.get("response")])]),
    ]
    response = about.selectbox(
        "About",
        options,
        index=options.index(start.get("response")),
        format_func=lambda option: names.get(option, "all responses" if option is None else f"response {option}"),
        key=chooser.key("response"),
        disabled=len(options) == 1,
    )
    known: str | None = next(iter(start.get("where", {})), None)
    wanted = start["where"][known] if known else []
    with column:
        help_where = "Leave out rows with other values in this column."
        where = Chooser(preview.columns, chooser.prefix).choose_column(
            Field("where", "Only rows in which", help_where, placeholder="all rows"), known
        )
    cells = tuple(dict.fromkeys(row.get(where or "", "").strip() for row in preview.rows))
    with values:
        field = Field("where_values", "has the value", several=True, allow_new=True, placeholder="choose")
        kept = [wanted] if isinstance(wanted, str) else list(wanted)
        texts = Chooser(cells, chooser.prefix).choose_columns(field, kept if where == known else []) if where else []
    if texts:
        preview = replace(preview, rows=tuple(row for row in preview.rows if row.get(where, "").strip() in texts))
    return {"each": each, "response": response, "where": {where: texts} if where and texts else {}}, preview


def _draw_wide(chooser: Chooser, start: Draft) -> Draft:
    is_wide = start.get("layout", "wide") == "wide"
    names_by_column: dict[str, str] = dict(start.get("annotators", {})) if is_wide else {}
    columns = chooser.choose_columns(WIDE_FIELD, list(names_by_column))
    are_own = any(name != key_of(column) for column, name in names_by_column.items())
    names = chooser.enter_text(
        "Names of the annotators",
        "names",
        join_commas([*names_by_column.values()]) if are_own else "",
        placeholder="the column names",
        help="In the order of the columns, separated by commas. A name with a comma is in quotation marks.",
    )
    annotators = split_commas(names) or [key_of(column) for column in columns]
    if len(annotators) != len(columns):
        st.warning(f"{len(columns)} columns are chosen, but {len(annotators)} names entered.")
        return {"annotators": {}}
    return {"annotators": dict(zip(columns, annotators, strict=True))}


def _draw_long(chooser: Chooser, start: Draft) -> Draft:
    chosen = chooser.choose_row(LONG_FIELDS, start)
    name = chosen["annotator"]
    if isinstance(name, str) and not is_template(name) and name not in (*chooser.columns, start.get("annotator")):
        chosen["annotator"] = {"constant": name}
    return {"seconds": start.get("seconds"), **chosen}


def _draw_list(chooser: Chooser, start: Draft) -> Draft:
    names = join_commas(start.get("annotators", [])) if start.get("layout") == "list" else ""
    who = start.get("annotators_field") or names or None
    draft = chooser.choose_row(LIST_FIELDS, {"value": start.get("value"), "who": who})
    separator = chooser.enter_text(
        "Separator",
        "separator",
        start.get("separator") or "",
        placeholder="JSON",
        help="For lists written as text.",
    )
    annotators = draft.pop("who")
    if annotators in chooser.columns:
        return {**draft, "separator": separator, "annotators_field": annotators}
    return {**draft, "separator": separator, "annotators": split_commas(annotators or "")}


def _draw_gold(chooser: Chooser, start: Draft) -> Draft:
    stated: Draft = {field: start[field] for field in ("source", "adjudicator") if field in start}
    return {**stated, **chooser.choose_row(GOLD_FIELDS, start)}


LAYOUT_FORMS = {"wide": _draw_wide, "long": _draw_long, "list": _draw_list, "gold": _draw_gold}

# The choice of the columns that hold verdicts of judges, with the meaning of their values.

# The fields of a block that identify the judged target.
TARGET_FIELDS = ("kind", "criterion", "definition", "scale", "values")


JUDGES = Field("role_judges", "Judges", "One column per judge. Each becomes a recorded run.", several=True)
CONFIDENCE = "A number that is larger the surer the judge is. A policy accepts verdicts from a threshold on."
PANEL = "These judges are one panel"
PANEL_HELP = "One run with the share of its judges as confidence, instead of a run of each judge."


def judge_columns(draft: Draft) -> list[str] | None:
    """Return the columns of a draft's judges; None if they are more than columns."""
    judges = draft.get("judges", [])
    own = {*TARGET_FIELDS, "columns", "confidence", *OPEN} - {"criterion"}
    are_columns = len(judges) < 2 and all("columns" in block and block.keys() <= own for block in judges)
    return [column for block in judges for column in block["columns"]] if are_columns else None


def draw_judges(
    chooser: Chooser, preview: Preview, blocks: abc.Sequence[Draft], responses: int, suggested: list[str] | None
) -> list[Draft]:
    """Draw the choice of columns; returns the block `judges` of a mapping, if there is one.

    If the table has labels or gold, judges have the same targets and values; otherwise they are guessed from the cells.
    """
    guessed = guess_roles(preview.columns, preview.rows)[0] if suggested is None else suggested
    columns = chooser.choose_columns(JUDGES, guessed)
    if not columns:
        return []
    block = _translate(chooser.nested("role_judges"), _target(blocks, preview, columns, responses), preview, columns)
    unstated = [cell for cell in _cells(preview, columns) if cell.strip() not in block.get("values", {})]
    block |= {"columns": {name: key_of(name) for name in columns}, **_draw_judges(chooser, columns)}
    block = leave_open(block, unstated)
    _draw_meaning("Judges", block)
    return [block]


def _draw_judges(chooser: Chooser, columns: abc.Sequence[str]) -> Draft:
    """Draw the choice of one panel, and of the column with each judge's confidence; returns the fields of these."""
    if len(columns) > 1 and st.toggle(PANEL, key=chooser.key("panel"), help=PANEL_HELP):
        return {"run": "panel", "stage": "last"}
    names = {column: f"Confidence of {escape_markdown(key_of(column))}" for column in columns}
    fields = [Field(column, label, CONFIDENCE) for column, label in names.items()]
    chosen = chooser.nested("confidence").choose_row(fields, guess_confidence(chooser.columns, columns))
    confidence = {column: field for column, field in chosen.items() if field}
    return {"confidence": confidence} if confidence else {}


def _target(blocks: abc.Sequence[Draft], preview: Preview, columns: abc.Sequence[str], responses: int) -> Draft:
    """Return the targets of judges: as the first block of labels or gold, with the values of the cells translated too.

    Without one, words about a pair whose meaning is not clear are preferences, about one response answers.
    """
    words = sorted({cell.strip() for cell in _cells(preview, columns)} - {""})
    answer: Draft = {"kind": "answer", "scale": {"level": "nominal", "categories": words}}
    guess: Draft = guess_values(_cells(preview, columns)) or (
        answer if responses == 1 and words else {"kind": "preference"}
    )
    if not blocks:
        return guess
    own = {field: blocks[0][field] for field in TARGET_FIELDS if field in blocks[0]}
    if guess["kind"] != own.get("kind"):
        return own
    values = dict(guess.get("values", {})) | dict(own.get("values", {}))
    return own | ({"values": values} if values else {})


def _translate(chooser: Chooser, block: Draft, preview: Preview, columns: abc.Sequence[str]) -> Draft:
    """Return the block with the meaning of its values; draws their table if a cell is not on the scale."""
    cells = list(dict.fromkeys(cell.strip() for cell in _cells(preview, columns) if cell.strip()))
    kind = str(block.get("kind"))
    values = scale_form.draw_values(chooser, block, cells, kind, block.get("scale"), none="no verdict")
    others = {field: value for field, value in block.items() if field != "values"}
    return others | ({"values": values} if values else {})


def _cells(preview: Preview, columns: abc.Sequence[str]) -> abc.Iterable[str]:
    return [row.get(column, "") for row in preview.rows for column in columns]


def _draw_meaning(name: str, block: abc.Mapping[str, object]) -> None:
    """Draw how the values are read, so a wrong guess is visible before the import."""
    values = block.get("values")
    translated = values.items() if isinstance(values, dict) else ()
    names: dict[Any, str] = {None: "no value", **(RESPONSE_NAMES if block.get("kind") == "preference" else {})}
    parts = [f"{text} is {names.get(value, value)}" for text, value in translated]
    is_open = block.get("confirmed") is False  # then the values are asked for
    is_preference = block.get("kind") == "preference" and not is_open
    kind = "a preference: 1, 2, or 0 for a tie" if is_preference else f"a {block.get('kind')}"
    st.caption(f"{name}: {escape_markdown(', '.join([kind, *parts]))}.")


# A mapping as YAML text: for the fields of a mapping that the form has no widgets for.

BLOCKS = ("labels", "gold", "judges", "critiques", "weights")
LABEL_FIELDS = ("aggregate", "divider", "steps", "pair", "negative")  # fields of a block of labels that the form lacks
HEIGHT = 420  # pixels of the editor


def _is_in_form(block: Draft) -> bool:
    """Return whether the form has widgets for a block of labels or gold; another one is kept as it is."""
    is_template = isinstance(block.get("annotators"), str)
    is_other = block.get("layout", "gold") not in LAYOUT_NAMES  # a ranking
    is_other |= is_template or isinstance(block.get("value"), dict) or len(block.get("where", {})) > 1
    return not is_other and not any(field in block for field in LABEL_FIELDS)


def draw_yaml_editor(draft: Draft, key: str) -> Draft | None:
    """Draw the text of a mapping; returns its fields, or None with the reason on the page if it is no mapping."""
    text = st.text_area(
        "Mapping",
        dump_fields(draft),
        height=HEIGHT,
        key=key,
        help="All fields are described in docs/mappings, with mappings of public data sets to start from.",
    )
    try:
        fields: Any = parse_fields(text)
        return mappings.draft_of(mappings.build_mapping(fields))
    except FileFormatError as error:
        st.error(f"This is no mapping yet: {escape_markdown(str(error))}", icon=":material/error:")
        return None


PREVIEW_ROWS = 200  # rows that are searched for columns and values
TABLE_ROWS = 5
# Fields of a mapping that are chosen here; others are written in YAML.
IN_FORM = (
    *("id", "prompt", "responses", "context", "reference", "scenario", "group", "explode", "confirmed"),
    *("labels", "gold", "judges", "critiques", "weights"),
)
# The field of a block of labels -> its name in the form.
REQUIRED_COLUMNS = {
    "wide.annotators": "One column for each annotator",
    "long.annotator": "Annotator",
    "long.value": "Value",
    "list.value": "List of values",
    "list.annotators": "Annotators",
}


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
    _draw_levels(source, state)
    first_rows = st.container()
    with st.container(key="mapping_form"):  # the style sheet puts two choices into a line of a phone
        draft = _draw_text(state) if state["as_text"] else _draw_form(source, state)
    shown = draft or state["draft"]
    with first_rows:
        preview = source.read(preview_draft, PREVIEW_ROWS, shown)
        if preview.has_more:
            st.caption(MANY_FIELDS)
        rows = [{column: row.get(column, "") for column in preview.columns} for row in preview.rows[:TABLE_ROWS]]
        st.dataframe(rows, hide_index=True, key="first_rows", row_height=28)
    return draft


def _draw_text(state: dict[str, Any]) -> Draft | None:
    """Draw the mapping as YAML, and the way back to the form."""
    draft = draw_yaml_editor(state["draft"], f"map{state['number']}_text")
    if st.button("Choose columns", key="map_columns", icon=":material/view_column:", disabled=draft is None):
        state["judges"] = None if draft and "judges" in draft else []  # those that were written are kept as they are
        _restart(state, draft or {}, as_text=False)
        st.rerun()
    return draft


def _draw_form(source: FileSource, state: dict[str, Any]) -> Draft:
    draft = state["draft"]
    preview = source.read(preview_draft, PREVIEW_ROWS, draft)
    chooser = Chooser(preview.columns, f"map{state['number']}_")
    explode = _draw_explode(source, preview, chooser, draft)
    fields = _draw_item(chooser, draft)
    blocks = draw_blocks(chooser, state["blocks"], preview, len(fields["responses"]))
    made: Draft = {"labels": [own for own in blocks if own["layout"] != "gold"]}
    made["gold"] = [{name: own[name] for name in own if name != "layout"} for own in blocks if own["layout"] == "gold"]
    kept = _draw_kept(chooser, state["kept"])
    if not any(name == "judges" for name, _ in state["kept"]):
        made["judges"] = draw_judges(chooser, preview, blocks, len(fields["responses"]), state["judges"])
    for name, block in kept:
        made[name] = [*made.get(name, []), block]
    others = {field: draft[field] for field in draft if field not in IN_FORM}
    if others:
        st.caption(f"Also in the mapping, and imported: {', '.join(others)}.")
    made = drop_empty({"explode": explode, **fields, **made, **others})
    made |= {"confirmed": False} if draft.get("confirmed") is False else {}
    if st.button(
        "Edit as YAML",
        key="map_yaml",
        icon=":material/code:",
        help="For what the form lacks, such as judges with a model and reasons, critiques, weights and aspects, "
        "values from two fields, or steps of a transcript.",
    ):
        _restart(state, made, as_text=True)
        st.rerun()
    return made


def _draw_kept(chooser: Chooser, kept: list[tuple[str, Draft]]) -> list[tuple[str, Draft]]:
    """Draw the blocks that the form has no widgets for; returns those that are not left out."""
    if not kept:
        return []
    names = [
        " · ".join([f"{number}. {name}", *(str(block[field]) for field in ("criterion", "value") if block.get(field))])
        for number, (name, block) in enumerate(kept, start=1)
    ]
    chosen = st.multiselect(
        "Also imported",
        range(len(kept)),
        default=range(len(kept)),
        format_func=names.__getitem__,
        key=chooser.key("kept"),
        help="What the form has no choices for. Leave it out here, or edit it as YAML.",
    )
    return [kept[number] for number in sorted(chosen)]


def draw_upload(source: FileSource) -> None:
    """Draw the upload of a mapping, which replaces the choices in the form."""
    key = f"map_{source.key}"
    file = st.file_uploader("Mapping in YAML", type=["yaml", "yml", "json", "txt", "md"], key=f"{key}_yaml")
    if isinstance(file, UploadedFile) and st.session_state.get(f"{key}_read") != file.file_id:  # once for each upload
        st.session_state[f"{key}_read"] = file.file_id
        start_loaded(source, mappings.parse_mappings(upload.read_text(file)))
        st.rerun()


def start_loaded(source: FileSource, found: list[mappings.Mapping]) -> None:
    """Start the form with the first of the mappings of a file, one for each level of its values."""
    drafts = [mappings.draft_of(mapping) for mapping in found]
    reset_form(source, drafts[0])["levels"] = drafts


def _draw_levels(source: FileSource, state: dict[str, Any]) -> None:
    """Draw the choice of one of several mappings, which are imported one after another."""
    drafts = state.get("levels", [])
    if len(drafts) < 2:
        return
    chosen = st.selectbox(
        "Mapping",
        range(len(drafts)),
        index=state.get("level", 0),
        key=f"map_{source.key}_level",
        format_func=lambda number: f"{number + 1} of {len(drafts)}",
        help="The file has values at several levels. Save the mappings, and import the file with each of them, into "
        "the same study.",
    )
    if chosen != state.get("level", 0):
        reset_form(source, drafts[chosen]).update({"levels": drafts, "level": chosen})
        st.rerun()


def draw_download(mapping: mappings.Mapping, name: str) -> None:
    """Draw the download of the mapping, with those of other levels, for later imports, also by `data import --map`."""
    text = dump_levels(st.session_state["mapping"], mapping)
    downloads.draw_text_link("Save mapping", text, f"{name}.yaml", "save_mapping", kind="mapping")
    st.caption("Load it here again, or use it with `python cli.py data import PATH --map FILE.yaml`.")


def dump_levels(state: dict[str, Any], mapping: mappings.Mapping) -> str:
    """Return the mappings of all levels in YAML, with that of the form in its place."""
    found = [mappings.build_mapping(draft) for draft in state.get("levels", ())]
    place = state.get("level", 0)
    found[place : place + 1] = [mapping]
    return "---\n".join(map(mappings.dump_mapping, found))


def _form_state(source: FileSource) -> dict[str, Any]:
    """Return the initial values of the widgets; another file resets them."""
    state: dict[str, Any] | None = st.session_state.get("mapping")
    if state is None or state["file"] != source.key:
        state = _start_suggested(source)
    return state


def _start_suggested(source: FileSource, explode: str | list[str] | None = None) -> dict[str, Any]:
    """Start the form with a suggested mapping, in which judges are columns if they can be."""
    draft = source.read(suggest_table, explode, source.join)
    return reset_form(source, draft, judges=judge_columns(draft))


def reset_form(source: FileSource, draft: Draft, judges: list[str] | None = None) -> dict[str, Any]:
    """Start the form with another draft; what the form lacks is kept as it is. `judges` are chosen as columns."""
    state = {"file": source.key, "number": st.session_state.get("mapping", {}).get("number", 0), "judges": judges}
    _restart(state, draft, as_text=False)
    st.session_state["mapping"] = state
    return state


def _restart(state: dict[str, Any], draft: Draft, *, as_text: bool) -> None:
    """Show another draft; widgets keep their first value, so the number in their keys changes."""
    found = [(name, block) for name in BLOCKS for block in draft.get(name, [])]
    in_form = [own for own in found if own[0] in ("labels", "gold") and _is_in_form(own[1])]
    blocks = dict(enumerate(block if name == "labels" else {"layout": "gold", **block} for name, block in in_form))
    kept = [own for own in found if own not in in_form and (own[0] != "judges" or state["judges"] is None)]
    state.update({"number": state["number"] + 1, "draft": draft, "blocks": blocks, "kept": kept, "as_text": as_text})


def _draw_explode(source: FileSource, preview: Preview, chooser: Chooser, draft: Draft) -> str | list[str] | None:
    """Draw the choice of a list whose elements are items; another list has other columns, so the form is reset."""
    explode = draft.get("explode")
    if not preview.lists and explode is None:
        return None
    current = ", ".join(explode) if isinstance(explode, list) else explode
    options = list(dict.fromkeys(["", *preview.lists, current or ""]))
    selected = st.selectbox(
        "Items are the elements of",
        options,
        index=options.index(current or ""),
        key=chooser.key("explode"),
        format_func=lambda name: name or "none: each row is an item",
    )
    if selected != (current or ""):
        _start_suggested(source, selected or [])
        st.rerun()
    return explode


ITEM_FIELDS = (
    Field(
        "id",
        "Name of the item",
        "Unique for each item. Columns can be combined, such as {dialogue}-{element}.",
        allow_new=True,
        placeholder="choose",
        others={"{row}": "row number", "{row}-{element}": "row and element number"},
    ),
    Field(
        "prompt",
        "Question or prompt",
        "Several columns are joined with blank lines.",
        several=True,
        placeholder="choose",
    ),
)
MORE_FIELDS = (
    (
        Field("context", "Context", several=True),
        Field("reference", "Reference answer", several=True),
    ),
    (
        Field("scenario", "Scenario", "Results are also reported by scenario.", allow_new=True),
        Field(
            "group",
            "Group",
            "The dialogue or document. Items of a group are not independent, which intervals account for.",
            several=True,
            allow_new=True,
        ),
    ),
)


def _draw_item(chooser: Chooser, draft: Draft) -> Draft:
    fields = chooser.choose_row(ITEM_FIELDS, draft)
    fields["responses"] = _draw_responses(chooser.nested("response"), draft.get("responses") or [{}])
    with st.expander("Context, reference answer, scenario, group"):
        for row in MORE_FIELDS:
            fields |= chooser.choose_row(row, draft)
    return fields


def _draw_responses(chooser: Chooser, start: list[Draft]) -> list[Draft]:
    count_key = chooser.key("count")
    count = st.session_state.setdefault(count_key, len(start))
    responses = []
    for number in range(count):
        # Another response beside one whose transcript is in a field is a transcript as well.
        added: Draft = {"transcript": ""} if any("transcript" in one and "text" not in one for one in start) else {}
        responses.append(_draw_response(chooser, number, start[number] if number < len(start) else added))
    with st.container(horizontal=True):
        if st.button("Add a response", key=chooser.key("add"), icon=":material/add:", type="tertiary"):
            st.session_state[count_key] = count + 1
            st.rerun()
        if count > 1 and st.button(
            "Remove a response", key=chooser.key("less"), icon=":material/remove:", type="tertiary"
        ):
            st.session_state[count_key] = count - 1
            st.rerun()
    return [own for own in responses if not own.keys().isdisjoint(("text", "transcript", "image"))]


def _draw_response(chooser: Chooser, number: int, start: Draft) -> Draft:
    text, system = f"text{number}", f"system{number}"
    system_help = "The column with the system's name, or the name if all rows have the same."
    fields = (
        Field(text, f"Response {number + 1}", "Several columns are one text.", several=True, placeholder="choose"),
        Field(system, "System", system_help, allow_new=True, placeholder="unknown"),
    )
    transcript = start.get("transcript")
    known = {text: start.get("text") or transcript or None, system: start.get("system") or start.get("name")}
    chosen = chooser.choose_row(fields, known)
    system_field = "system" if chosen[system] in (*chooser.columns, start.get("system")) else "name"
    others = ("image", "optional", "each", *(["transcript"] if "text" in start else []))
    other_fields: Draft = {field: start[field] for field in others if field in start}
    is_transcript = transcript is not None and transcript != start.get("text")
    text_field = "transcript" if is_transcript and transcript in ("", chosen[text]) else "text"
    return drop_empty({text_field: chosen[text], system_field: chosen[system], **other_fields})
