"""The references and aspects by which new runs judge items, and their editors."""

import streamlit as st

from core.protocols import registry
from pages.parts import clickable_table, key_paging, numbers, permissions, resources
from pages.parts.text import escape_markdown
from pages.setup.parts import upload
from storage import database, inputs, runs
from storage.access import Permission
from storage.inputs import Input, StandingInput
from storage.studies import Study
from storage.transfer.inputs_file import read_inputs

ROWS_PER_PAGE = 50
PROMPT_LENGTH = 200
"""Characters of a prompt in the table."""


def draw(study: Study, annotator: str | None) -> None:
    """Draw the table of items, the editor of the selected one, and the changes of many items."""
    text = st.text_input("Search", key="inputs_search", placeholder="name or prompt", width=320).strip()
    with database.reading(resources.engine()) as session:
        after = key_paging.place(("inputs", study.id, text))
        page = inputs.page(session, study.id, text, after=after, size=ROWS_PER_PAGE)
    if not page.rows and not text and page.previous is None:
        st.info("This study has no items.")
        return
    selected = _draw_table(page.rows)
    key_paging.draw(page)
    if selected is None:
        st.caption("Select an item to change its reference or its aspects.")
    else:
        _draw_editor(study, selected, annotator)
    with st.expander("Change many items"):
        _draw_file(study, annotator)
        _draw_adoption(study, annotator)


def _draw_table(rows: list[StandingInput]) -> StandingInput | None:
    """Draw the items of a page; returns the selected one."""
    clicked = clickable_table.draw(
        [
            {
                "Item": row.item,
                "Prompt": row.prompt[:PROMPT_LENGTH],
                "Reference": row.reference or "",
                "Reference by": row.reference_by,
                "Aspects": list(row.aspects),
                "Aspects by": row.aspects_by,
            }
            for row in rows
        ],
        "inputs_table",
        column_config={
            "Prompt": st.column_config.TextColumn(width="large"),
            "Reference": st.column_config.TextColumn(width="medium"),
        },
    )
    return None if clicked is None else rows[clicked]


def _draw_editor(study: Study, row: StandingInput, annotator: str | None) -> None:
    with st.form(f"input_{row.item}", border=True):
        st.markdown(f"**{escape_markdown(row.item)}**")
        left, right = st.columns(2, gap="medium")
        reference = left.text_area("Reference answer", row.reference or "", height=200)
        aspects = right.text_area(
            "Aspects, one a line",
            "\n".join(row.aspects),
            height=200,
            help="A name, or `name: definition`. Without any, the aspects of a run's settings apply.",
        )
        if st.form_submit_button("Save", type="primary", disabled=annotator is None) and annotator is not None:
            lines = tuple(" ".join(line.split()) for line in aspects.splitlines() if line.strip())
            _save(study, annotator, {row.item: Input(reference, lines)})


def _draw_file(study: Study, annotator: str | None) -> None:
    st.caption(
        "A CSV, JSON or JSON lines file with a field `item` and `reference`, `aspects` or both. Aspects are one a line "
        "or a JSON list. An empty cell removes an input."
    )
    source = upload.draw_upload("inputs")
    if source is None:
        return
    with source.on_disk() as path:
        wanted = read_inputs(path)
    label = f"Change the inputs of {numbers.format_count(len(wanted), 'item')}"
    if st.button(label, key="inputs_apply", disabled=annotator is None) and annotator is not None:
        _save(study, annotator, wanted)


def _save(study: Study, annotator: str, wanted: dict[str, Input]) -> None:
    with permissions.writing(study.id, Permission.edit, "") as session:
        count = inputs.save(session, study.id, annotator, wanted)
    st.session_state["inputs_saved"] = count
    st.rerun()


def _draw_adoption(study: Study, annotator: str | None) -> None:
    """Draw the choice of a run whose proposed aspects become those of items without aspects."""
    protocols = registry.with_artifact("aspects")
    with database.reading(resources.engine()) as session:
        names = [run.name for run in runs.of_study(session, study.id) if run.protocol in protocols]
    if not names:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox("Aspects that a run proposed", names, key="inputs_run", width=320)
        clicked = st.button("Adopt for items without aspects", key="inputs_adopt", disabled=annotator is None)
    if clicked and annotator is not None:
        with permissions.writing(study.id, Permission.edit, "") as session:
            st.session_state["inputs_saved"] = inputs.adopt_aspects(session, study.id, annotator, run)
        st.rerun()


def draw_result() -> None:
    """Show how many items the last change concerned."""
    count = st.session_state.pop("inputs_saved", None)
    if count is not None:
        st.toast(f"Changed: {numbers.format_count(count, 'item')}. New runs use it.")
