"""The labels in a table: one column per annotator, one row per label, or a list in a cell."""

import streamlit as st

from core.formats.mapping.fields import key_of
from core.formats.mapping.guess import Draft
from core.formats.mapping.preview import Preview
from core.formats.mapping.roles import guess_preferences
from core.formats.mapping.suggest_blocks import leave_open
from pages.parts.text import escape_markdown
from pages.setup.parts import scale_form
from pages.setup.parts.chooser import Chooser, drop_empty, join_commas, split_commas

Blocks = dict[int, Draft]
LAYOUT_NAMES = {"wide": "One column per annotator", "long": "One row per label", "list": "A list in a cell"}
KIND_NAMES = {
    "preference": "preference",
    "score": "score",
    "likert": "rating in steps",
    "aspect_quality": "quality of an aspect",
    "answer": "answer",
}


def draw_blocks(chooser: Chooser, blocks: Blocks, preview: Preview) -> list[Draft]:
    """Draw every block of labels; returns the blocks so far."""
    drafts = []
    for index in list(blocks):
        block = _draw_block(chooser.nested(f"labels{index}"), blocks[index], preview, index, blocks)
        drafts.append(block)
    if st.button("Add labels", key=chooser.key("more_labels"), icon=":material/add:", type="tertiary"):
        blocks[max(blocks, default=-1) + 1] = {}
        st.rerun()
    return drafts


def _draw_block(chooser: Chooser, start: Draft, preview: Preview, index: int, blocks: Blocks) -> Draft:
    name = st.session_state.get(chooser.key("criterion"), start.get("criterion", ""))
    title = f"Labels: {escape_markdown(name)}" if name else "Labels"
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
        columns = LAYOUT_FORMS[str(layout)](chooser, start)
        scale = scale_form.draw_scale(chooser, start, target["kind"])
        file_values = scale_form.distinct_values(preview, str(layout), columns)
        guess = guess_preferences(file_values) if target["kind"] == "preference" else {}
        meanings: Draft = {"values": guess | dict(start.get("values", {}))}
        values = scale_form.draw_values(chooser, meanings, file_values, target["kind"], scale)
    draft = drop_empty({"layout": layout, **target, **columns, "scale": scale, "values": values})
    return _leave_open(start, draft, file_values)


def _leave_open(start: Draft, draft: Draft, file_values: list[str]) -> Draft:
    """Return the block, not confirmed if the file does not state its values. A loaded block with the same columns
    states its scale; numbers that are preferences are stated only by `values`."""
    own = ("kind", "annotators", "value")
    is_loaded = start.get("confirmed", bool(start)) and all(start.get(name) == draft.get(name) for name in own)
    if is_loaded and draft["kind"] != "preference":
        return draft
    return leave_open(draft, [text for text in file_values if text not in draft.get("values", {})])


def _draw_target(chooser: Chooser, start: Draft) -> Draft:
    left, middle, right = st.columns([4, 4, 7], gap="medium")
    with left:
        kinds = list(KIND_NAMES)
        kind = st.selectbox(
            "Kind",
            kinds,
            index=kinds.index(start.get("kind", "preference")),
            format_func=KIND_NAMES.__getitem__,
            key=chooser.key("kind"),
        )
    with middle:
        criterion = chooser.enter_text(
            "Criterion", "criterion", start.get("criterion", ""), placeholder="overall quality"
        )
    with right:
        definition = chooser.enter_text(
            "Definition", "definition", start.get("definition", ""), placeholder="Shown to people and judges"
        )
    return {"kind": kind, "criterion": criterion, "definition": definition}


def _draw_wide(chooser: Chooser, start: Draft) -> Draft:
    names_by_column: dict[str, str] = dict(start.get("annotators", {})) if start.get("layout", "wide") == "wide" else {}
    columns = chooser.choose_columns(
        "One column for each annotator", "annotators", list(names_by_column), placeholder="choose"
    )
    names = chooser.enter_text(
        "Names of the annotators",
        "names",
        join_commas([*names_by_column.values()])
        if any(name != key_of(column) for column, name in names_by_column.items())
        else "",
        placeholder="the column names",
        help="In the order of the columns, separated by commas. A name with a comma is in quotation marks.",
    )
    annotators = split_commas(names) or [key_of(column) for column in columns]
    if len(annotators) != len(columns):
        st.warning(f"{len(columns)} columns are chosen, but {len(annotators)} names entered.")
        return {"annotators": {}}
    return {"annotators": dict(zip(columns, annotators, strict=True))}


def _draw_long(chooser: Chooser, start: Draft) -> Draft:
    columns = st.columns(4, gap="medium")
    fields = ("annotator", "value", "criterion_field", "reason")
    labels = ("Annotator", "Value", "Criterion column", "Reason")
    draft: Draft = {"seconds": start.get("seconds")}
    for column, field, label in zip(columns, fields, labels, strict=True):
        with column:
            empty = "choose" if field in ("annotator", "value") else "not in the file"
            draft[field] = chooser.choose_column(label, field, start.get(field), placeholder=empty)
    return draft


def _draw_list(chooser: Chooser, start: Draft) -> Draft:
    left, middle, right = st.columns([1, 2, 1], gap="medium")
    with left:
        value = chooser.choose_column("List of values", "value", start.get("value"), placeholder="choose")
    with middle:
        start_names = start.get("annotators", []) if start.get("layout") == "list" else []
        annotators = chooser.choose_column(
            "Annotators",
            "who",
            start.get("annotators_field") or join_commas(start_names) or None,
            allow_new=True,
            placeholder="a column, or names separated by commas",
            help="A column with a list of names, or the names in the order of the values.",
        )
    with right:
        separator = chooser.enter_text(
            "Separator",
            "separator",
            start.get("separator") or "",
            placeholder="JSON",
            help="For lists written as text.",
        )
    annotator_fields: Draft = {"annotators": split_commas(annotators or "")}
    if annotators in chooser.columns:
        annotator_fields = {"annotators_field": annotators}
    return {"value": value, "separator": separator, **annotator_fields}


LAYOUT_FORMS = {"wide": _draw_wide, "long": _draw_long, "list": _draw_list}
