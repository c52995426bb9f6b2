"""Where labels stand in a table: one row a label, one column an annotator, or a list in a cell."""

import streamlit as st

from core.formats.mapping.guess import Draft
from core.formats.mapping.preview import Preview
from pages.parts.text import plain
from pages.setup.parts import scale_form
from pages.setup.parts.chooser import Chooser, split, told

Blocks = dict[int, Draft]
LAYOUTS = {"wide": "One column an annotator", "long": "One row a label", "list": "A list in a cell"}
KINDS = {
    "preference": "which is better",
    "score": "a score",
    "likert": "a rating in steps",
    "aspect_quality": "how good an aspect is",
    "answer": "an answer",
}


def ask(choose: Chooser, blocks: Blocks, look: Preview) -> list[Draft]:
    """Every block of labels, as far as it is made."""
    found = []
    for place in list(blocks):
        block = _block(choose.within(f"labels{place}"), blocks[place], look, place, blocks)
        found.append(block)
    words = "More labels" if blocks else "The table holds labels"
    if st.button(words, key=choose.key("more_labels"), icon=":material/add:", type="tertiary"):
        blocks[max(blocks, default=-1) + 1] = {}
        st.rerun()
    return found


def _block(choose: Chooser, start: Draft, look: Preview, place: int, blocks: Blocks) -> Draft:
    name = st.session_state.get(choose.key("criterion"), start.get("criterion", ""))
    title = f"Labels: {plain(name)}" if name else "Labels"
    with st.expander(title, expanded=len(blocks) < 3, key=choose.key("fold")):
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            layout = st.segmented_control(
                "How they stand",
                list(LAYOUTS),
                default=start.get("layout", "wide"),
                required=True,
                format_func=LAYOUTS.__getitem__,
                key=choose.key("layout"),
            )
            if st.button("Leave out", key=choose.key("remove"), icon=":material/close:", type="tertiary"):
                del blocks[place]
                st.rerun()
        about = _about(choose, start)
        where = WHERE[str(layout)](choose, start)
        scale = scale_form.scale(choose, start, about["kind"])
        seen = scale_form.words(look, str(layout), where)
        values = scale_form.values(choose, start, seen, about["kind"], scale)
    return told({"layout": layout, **about, **where, "scale": scale, "values": values})


def _about(choose: Chooser, start: Draft) -> Draft:
    left, middle, right = st.columns([4, 4, 7], gap="medium")
    with left:
        kinds = list(KINDS)
        kind = st.selectbox(
            "They say",
            kinds,
            index=kinds.index(start.get("kind", "preference")),
            format_func=KINDS.__getitem__,
            key=choose.key("kind"),
        )
    with middle:
        criterion = choose.text(
            "By which criterion", "criterion", start.get("criterion", ""), placeholder="overall quality"
        )
    with right:
        definition = choose.text(
            "What it means", "definition", start.get("definition", ""), placeholder="Shown to people and judges"
        )
    return {"kind": kind, "criterion": criterion, "definition": definition}


def _wide(choose: Chooser, start: Draft) -> Draft:
    named: dict[str, str] = dict(start.get("annotators", {})) if start.get("layout", "wide") == "wide" else {}
    chosen = choose.several("One column for each annotator", "annotators", list(named), empty="choose")
    names = choose.text(
        "Their names",
        "names",
        ", ".join(named.values()) if any(name != column for column, name in named.items()) else "",
        placeholder="as the columns are called",
        help="In the order of the columns, with commas between.",
    )
    given = split(names) or chosen
    if len(given) != len(chosen):
        st.warning(f"There are {len(chosen)} columns and {len(given)} names.")
        return {"annotators": {}}
    return {"annotators": dict(zip(chosen, given, strict=True))}


def _long(choose: Chooser, start: Draft) -> Draft:
    columns = st.columns(4, gap="medium")
    fields = ("annotator", "value", "criterion_field", "reason")
    words = ("Who said it", "What they said", "Column of the criterion", "Why")
    found: Draft = {"seconds": start.get("seconds")}
    for column, field, label in zip(columns, fields, words, strict=True):
        with column:
            empty = "choose" if field in ("annotator", "value") else "not in the file"
            found[field] = choose.one(label, field, start.get(field), empty=empty)
    return found


def _list(choose: Chooser, start: Draft) -> Draft:
    left, middle, right = st.columns([1, 2, 1], gap="medium")
    with left:
        value = choose.one("The list of values", "value", start.get("value"), empty="choose")
    with middle:
        given = start.get("annotators", []) if start.get("layout") == "list" else []
        who = choose.one(
            "Who gave them",
            "who",
            start.get("annotators_field") or ", ".join(given) or None,
            new=True,
            empty="a column, or names with commas",
            help="The column with the list of names; or the names, in the order of the values.",
        )
    with right:
        separator = choose.text(
            "Separator", "separator", start.get("separator") or "", placeholder="JSON", help="Where the list is text."
        )
    named: Draft = {"annotators_field": who} if who in choose.columns else {"annotators": split(who or "")}
    return {"value": value, "separator": separator, **named}


WHERE = {"wide": _wide, "long": _long, "list": _list}
