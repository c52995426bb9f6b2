"""Where labels stand in a table: one row a label, one column an annotator, or a list in a cell."""

from typing import Any

import streamlit as st
from pydantic import ValidationError

from core.formats.cells import items, number, on_scale, word
from core.formats.guess import Draft
from core.formats.preview import Preview
from core.labels import PREFERENCE, Scale, Value
from core.problems import FileRefused
from pages.parts.chooser import Chooser, told
from pages.parts.text import plain

Blocks = dict[int, Draft]
LAYOUTS = {"wide": "One column an annotator", "long": "One row a label", "list": "A list in a cell"}
KINDS = {
    "preference": "which response is better",
    "score": "a score",
    "likert": "a rating in steps",
    "aspect_quality": "how good an aspect is",
    "answer": "an answer",
}
LEVELS = {"nominal": "names without an order", "ordinal": "steps in an order", "interval": "numbers at equal distances"}
PREFERENCES = {"1": "Response 1", "2": "Response 2", "0": "Neither"}
NOTHING = "no label"
MOST_WORDS = 30
"""Foreign words that are offered for translation."""


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
        scale = _scale(choose, start, about["kind"])
        values = _values(choose, start, _words(look, str(layout), where), about["kind"], scale)
    return told({"layout": layout, **about, **where, "scale": scale, "values": values})


def _about(choose: Chooser, start: Draft) -> Draft:
    left, middle, right = st.columns([1, 1, 2], gap="medium")
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
    given = _split(names) or chosen
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
    named: Draft = {"annotators_field": who} if who in choose.columns else {"annotators": _split(who or "")}
    return {"value": value, "separator": separator, **named}


WHERE = {"wide": _wide, "long": _long, "list": _list}


def _scale(choose: Chooser, start: Draft, kind: str) -> Draft | None:
    """The values that may occur; a preference has its own."""
    if kind == "preference":
        return None
    scale = start.get("scale", {})
    left, right = st.columns([1, 2], gap="medium")
    with left:
        levels = list(LEVELS)
        level = st.selectbox(
            "The values are",
            levels,
            index=levels.index(scale.get("level", "ordinal")),
            format_func=LEVELS.__getitem__,
            key=choose.key("level"),
            help="Every statistic is told this, so that it knows how far apart two values are.",
        )
    with right:
        written = choose.text(
            "All values, lowest first",
            "categories",
            ", ".join(word(category) for category in scale.get("categories", [])),
            placeholder="1, 2, 3, 4, 5; leave empty for any number between two ends",
        )
    if written:
        return {"level": level, "categories": [_value(text) for text in _split(written)]}
    low, high = st.columns(2, gap="medium")
    return told(
        {
            "level": level,
            "low": low.number_input("Lowest", value=scale.get("low"), key=choose.key("low")),
            "high": high.number_input("Highest", value=scale.get("high"), key=choose.key("high")),
        }
    )


def _values(choose: Chooser, start: Draft, seen: list[str], kind: str, scale: Draft | None) -> dict[str, Value | None]:
    """What the file's words mean; asked for as soon as one of them is not on the scale."""
    declared = PREFERENCE if kind == "preference" else _declared(scale)
    if declared is None:
        return {}
    known: dict[str, Value | None] = dict(start.get("values", {}))
    foreign = [said for said in seen if said not in known and not _holds(declared, said)][:MOST_WORDS]
    if not known and not foreign:
        return {}
    meanings: dict[str, Value | None] = {word(category): category for category in declared.categories}
    rows = [
        {"The file says": said, "It means": NOTHING if value is None else word(value)} for said, value in known.items()
    ]
    rows += [{"The file says": said, "It means": None} for said in foreign]
    st.caption("Some words in the file are not values of the scale. What do they mean?")
    found = st.data_editor(
        rows,
        num_rows="dynamic",
        hide_index=True,
        width=480,
        key=choose.key(f"values_{abs(hash(tuple(map(str, rows))))}"),
        column_config={"It means": _meaning([*meanings, NOTHING] if meanings else [])},
    )
    return {
        str(row["The file says"]).strip(): None if row["It means"] == NOTHING else _value(row["It means"], meanings)
        for row in found
        if row.get("The file says") and row.get("It means")
    }


def _meaning(options: list[str]) -> Any:
    if not options:
        return st.column_config.TextColumn(help=f'A number, or "{NOTHING}"')
    return st.column_config.SelectboxColumn(options=options, format_func=lambda text: PREFERENCES.get(text, text))


def _words(look: Preview, layout: str, where: Draft) -> list[str]:
    """The different values in the rows that were looked at."""
    columns = list(where.get("annotators", {})) if layout == "wide" else [where.get("value")]
    cells = [row[column] for row in look.rows for column in columns if row.get(column)]
    if layout == "list":
        cells = [word(one) for cell in cells for one in _listed(cell, where.get("separator"))]
    return list(dict.fromkeys(cell.strip() for cell in cells))


def _listed(cell: str, separator: str | None) -> list[Any]:
    try:
        return items(cell, 0, "", separator or None)
    except FileRefused:
        return []


def _holds(scale: Scale, said: str) -> bool:
    try:
        return on_scale(said, scale, {}, 0, "") is not None
    except FileRefused:
        return False


def _declared(scale: Draft | None) -> Scale | None:
    try:
        return Scale.model_validate(scale)
    except ValidationError:
        return None


def _value(text: str, meanings: dict[str, Value | None] | None = None) -> Value | None:
    """A word as the value that it spells: a number, true or false, else text."""
    if meanings and text in meanings:
        return meanings[text]
    if text in ("true", "false"):
        return text == "true"
    counted = number(text, 0, "")
    return text if counted is None else counted


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
