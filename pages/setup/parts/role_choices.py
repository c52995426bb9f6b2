"""The choice of the columns that hold verdicts of judges and gold, with the meaning of their values."""

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from core.formats.mapping.fields import key_of
from core.formats.mapping.guess import Draft
from core.formats.mapping.preview import Preview
from core.formats.mapping.roles import guess_roles
from core.formats.mapping.suggest_blocks import guess_values, leave_open
from pages.parts.text import escape_markdown
from pages.parts.values import RESPONSE_NAMES
from pages.setup.parts import scale_form
from pages.setup.parts.chooser import Chooser

TARGET_FIELDS = ("kind", "criterion", "definition", "scale", "values")
"""The fields of a block that identify the judged target."""


Roles = tuple[list[str], str | None]
"""The columns of judges, and that of gold."""


def split_roles(draft: Draft) -> tuple[Draft, Roles | None]:
    """Return a draft without judges and gold, and their columns; None for them if they are more than columns."""
    judges, gold = draft.get("judges", []), draft.get("gold", [])
    are_columns = all("columns" in block for block in judges) and all(
        isinstance(block["value"], str) and block["kind"] != "answer" for block in gold
    )
    if not are_columns or len(gold) > 1:
        return draft, None
    others = {field: value for field, value in draft.items() if field not in ("judges", "gold")}
    return others, ([column for block in judges for column in block["columns"]], gold[0]["value"] if gold else None)


def draw_roles(chooser: Chooser, preview: Preview, labels: Sequence[Draft], suggested: Roles | None = None) -> Draft:
    """Draw the two choices; returns the blocks `judges` and `gold` of a mapping.

    If the table has labels, judges and gold have the same targets and values; otherwise they are guessed from the
    cells.
    """
    judge_guess, gold_guess = suggested or guess_roles(preview.columns, preview.rows)
    left, right = st.columns(2, gap="medium")
    with left:
        judges = chooser.choose_columns(
            "Judges", "role_judges", judge_guess, help="One column per judge. Each becomes a recorded run."
        )
    with right:
        gold = chooser.choose_columns(
            "Gold", "role_gold", gold_guess, help="Decided values, which take precedence over labels."
        )
    blocks: Draft = {}
    if judges:
        block = _translate(
            chooser.nested("role_judges"), _target(labels, preview, judges), preview, judges, "no verdict"
        )
        columns = {column: key_of(column) for column in judges}
        blocks["judges"] = [leave_open(block | {"columns": columns}, _unstated(block, preview, judges))]
        _draw_meaning("Judges", blocks["judges"][0])
    if gold:
        block = _translate(
            chooser.nested("role_gold"), _target(labels, preview, gold[:1]), preview, gold[:1], "no value"
        )
        blocks["gold"] = [leave_open(block | {"value": gold[0]}, _unstated(block, preview, gold[:1]))]
        _draw_meaning("Gold", blocks["gold"][0])
    return blocks


def _target(labels: Sequence[Draft], preview: Preview, columns: Sequence[str]) -> Draft:
    """Return the targets of a block: as the first block of labels, with the values of the cells translated too."""
    guess = guess_values(_cells(preview, columns)) or {"kind": "preference"}
    if not labels:
        return guess
    own = {field: labels[0][field] for field in TARGET_FIELDS if field in labels[0]}
    if guess["kind"] != own.get("kind"):
        return own
    values = dict(guess.get("values", {})) | dict(own.get("values", {}))
    return own | ({"values": values} if values else {})


def _translate(chooser: Chooser, block: Draft, preview: Preview, columns: Sequence[str], none: str) -> Draft:
    """Return the block with the meaning of its values; draws their table if a cell is not on the scale."""
    cells = list(dict.fromkeys(cell.strip() for cell in _cells(preview, columns) if cell.strip()))
    kind = str(block.get("kind"))
    values = scale_form.draw_values(chooser, block, cells, kind, block.get("scale"), none=none)
    others = {field: value for field, value in block.items() if field != "values"}
    return others | ({"values": values} if values else {})


def _cells(preview: Preview, columns: Sequence[str]) -> Iterable[str]:
    return [row.get(column, "") for row in preview.rows for column in columns]


def _unstated(block: Draft, preview: Preview, columns: Sequence[str]) -> list[str]:
    return [cell for cell in _cells(preview, columns) if cell.strip() not in block.get("values", {})]


def _draw_meaning(name: str, block: Mapping[str, object]) -> None:
    """Draw how the values are read, so a wrong guess is visible before the import."""
    values = block.get("values")
    translated = values.items() if isinstance(values, dict) else ()
    parts = [f"{text} is {_meaning(block, value)}" for text, value in translated]
    is_open = block.get("confirmed") is False  # then the values are asked for
    is_preference = block.get("kind") == "preference" and not is_open
    kind = "a preference: 1, 2, or 0 for a tie" if is_preference else f"a {block.get('kind')}"
    st.caption(f"{name}: {escape_markdown(', '.join([kind, *parts]))}.")


def _meaning(block: Mapping[str, object], value: object) -> str:
    if value is None:
        return "no value"
    is_response = block.get("kind") == "preference" and isinstance(value, int)
    return RESPONSE_NAMES.get(value, str(value)) if is_response and isinstance(value, int) else str(value)
