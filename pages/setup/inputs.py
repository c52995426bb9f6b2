"""The inputs of new runs that people edit: references and aspects."""

import streamlit as st

from core.formats.tables import Column, Table
from core.protocols import registry
from pages.parts import numbers, paging, permissions, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.setup.parts import upload
from storage.accounts.access import Permission
from storage.runs import inputs, runs
from storage.studies.studies import Study
from storage.transfer.imports import read_inputs

ROWS_PER_PAGE = 50
PROMPT_LENGTH = 200  # characters of a prompt in the table
COLUMNS = (
    Column("Item", "item"),
    Column("Prompt", lambda row: row.prompt[:PROMPT_LENGTH]),
    Column("Reference", lambda row: row.reference or ""),
    Column("Reference by", "reference_by"),
    Column("Aspects", lambda row: "; ".join(row.aspects)),
    Column("Aspects by", "aspects_by"),
)


def draw(study: Study, annotator: str | None) -> None:
    """Draw the table of items, the editor of the selected one, and the changes of many items."""
    text = st.text_input("Search", key="inputs_search", placeholder="name or prompt", width=320).strip()
    after = paging.key_place(("inputs", study.id, text))
    page = resources.read(inputs.page, study.id, text, after=after, size=ROWS_PER_PAGE)
    if not page.rows and not text and page.previous is None:
        st.info("This study has no items.")
        return
    clicked = tables.draw(Table("inputs", page.rows, COLUMNS, ()), opens=True)
    paging.draw_key_paging(page)
    if clicked is None:
        st.caption("Select an item to change its reference or its aspects.")
    else:
        _draw_editor(study, page.rows[clicked], annotator)
    with st.expander("Change many items"):
        _draw_file(study, annotator)
        _draw_adoption(study, annotator)


def _draw_editor(study: Study, row: inputs.StandingInput, annotator: str | None) -> None:
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
            _save(study, annotator, {row.item: inputs.Input(reference, lines)})


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


def _save(study: Study, annotator: str, wanted: dict[str, inputs.Input]) -> None:
    _finish(permissions.write(study.id, Permission.edit, "", inputs.save, study.id, annotator, wanted))


def _finish(count: int) -> None:
    st.toast(f"Changed: {numbers.format_count(count, 'item')}. New runs use it.")
    st.rerun()


def _draw_adoption(study: Study, annotator: str | None) -> None:
    """Draw the choice of a run whose proposed aspects become those of items without aspects."""
    protocols = registry.with_artifact("aspects")
    names = [run.name for run in resources.read(runs.of_study, study.id) if run.protocol in protocols]
    if not names:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox("Aspects that a run proposed", names, key="inputs_run", width=320)
        clicked = st.button("Adopt for items without aspects", key="inputs_adopt", disabled=annotator is None)
    if clicked and annotator is not None:
        _finish(permissions.write(study.id, Permission.edit, "", inputs.adopt_aspects, study.id, annotator, run))


shown = shell.draw_header(
    "Inputs", "What new runs judge by: the references and aspects of the items, as people edited them."
)
editor = shell.current_annotator()
if editor is None:
    st.caption("Sign in on a page of the section Label to change inputs.")
draw(shown, editor)
