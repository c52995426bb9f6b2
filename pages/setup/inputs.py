"""The inputs of new runs that people edit: references, aspects, and AIUs that were extracted again."""

from functools import partial

import streamlit as st

from core.aius import AiuMatch
from core.formats.tables import Column, Table
from core.protocols import Artifact, registry
from pages.parts import live, numbers, paging, permissions, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.setup.parts import upload
from storage.accounts.access import Permission
from storage.runs import aius, inputs, runs
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
    count = permissions.write(study.id, Permission.edit, "", inputs.save, study.id, annotator, wanted)
    _finish(f"Changed: {numbers.format_count(count, 'item')}. New runs use it.")


def _finish(sentence: str) -> None:
    st.toast(sentence)
    st.rerun()


def _runs_with(study: Study, artifact: Artifact) -> list[str]:
    protocols = registry.with_artifact(artifact)
    return [run.name for run in resources.read(runs.of_study, study.id) if run.protocol in protocols]


def _draw_adoption(study: Study, annotator: str | None) -> None:
    """Draw the choice of a run whose proposed aspects become those of items without aspects."""
    names = _runs_with(study, "aspects")
    if not names:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox("Aspects that a run proposed", names, key="inputs_run", width=320)
        clicked = st.button("Adopt for items without aspects", key="inputs_adopt", disabled=annotator is None)
    if clicked and annotator is not None:
        count = permissions.write(study.id, Permission.edit, "", inputs.adopt_aspects, study.id, annotator, run)
        _finish(f"Changed: {numbers.format_count(count, 'item')}. New runs use it.")


# Confirms for many items at once which AIUs of a later extraction are the standing ones in other words.

# What is selected in advance -> the least similarity.
TICKS = {"none": 2.0, "95 % alike": 0.95, "90 % alike": 0.9, "all": 0.0}
Proposal = tuple[inputs.Reextraction, AiuMatch]


def draw_matches(study: Study, annotator: str | None) -> None:
    """Draw the choice of a run, the pairs to confirm, and the replacement."""
    names = _runs_with(study, "aius")
    if not names:
        st.info("No run of this study splits critiques into AIUs.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = st.selectbox("AIUs that were extracted by", names, key="matches_run", width=320)
        ticked = st.segmented_control(
            "Selected in advance", list(TICKS), default="none", required=True, key="matches_ticks"
        )
    edits = resources.read(aius.count_edits, study.id)
    read = partial(resources.read, inputs.reextractions, study.id, run)
    found: list[inputs.Reextraction] = live.cached(study, edits, "extractions", read, run)
    if not found:
        st.info("The current AIUs are those of this run: there is nothing to replace.")
        return
    proposals = [(reextraction, match) for reextraction in found for match in reextraction.matches()]
    confirmed = _draw_pairs(proposals, TICKS[str(ticked)], f"matches_{run}_{ticked}")
    _draw_replacement(study, run, found, confirmed, annotator)


def _draw_pairs(proposals: list[Proposal], least: float, key: str) -> list[Proposal]:
    """Draw a row for each pair that may be the same; returns the ticked ones."""
    if not proposals:
        st.caption("No AIU of this run resembles a standing one.")
        return []
    st.caption(
        "Tick the pairs that state the same: these AIUs keep their text and their labels. A single word, such as "
        "“not”, can make two similar texts opposites."
    )
    edited = st.data_editor(
        [
            {
                "Same": match.similarity >= least,
                "Standing": match.old.text,
                "New": match.new.text,
                "Alike": match.similarity,
                "Item": reextraction.item,
                "Critique": reextraction.critique,
            }
            for reextraction, match in proposals
        ],
        hide_index=True,
        key=key,
        disabled=["Standing", "New", "Alike", "Item", "Critique"],
        column_config={
            "Same": st.column_config.CheckboxColumn(width="small"),
            "Standing": st.column_config.TextColumn(width=330),
            "New": st.column_config.TextColumn(width=330),
            "Alike": st.column_config.NumberColumn(format="percent", width="small"),
        },
    )
    return [proposal for proposal, row in zip(proposals, edited, strict=True) if row["Same"]]


def _draw_replacement(
    study: Study, run: str, found: list[inputs.Reextraction], confirmed: list[Proposal], annotator: str | None
) -> None:
    only = st.checkbox("Only critiques with a ticked pair", value=True, key="matches_only")
    ticked = {(reextraction.item, reextraction.critique) for reextraction, _ in confirmed}
    same: dict[tuple[str, str], dict[str, str]] = {
        key: {} for reextraction in found if (key := (reextraction.item, reextraction.critique)) in ticked or not only
    }
    for reextraction, match in confirmed:
        same[reextraction.item, reextraction.critique][match.new.id] = match.old.id
    label = f"Replace the AIUs of {numbers.format_count(len(same), 'critique')}"
    help = "Labels of AIUs that are not ticked are stored, and no longer count."
    clicked = st.button(label, key="matches_apply", type="primary", disabled=annotator is None or not same, help=help)
    if clicked and annotator is not None:
        count = permissions.write(study.id, Permission.edit, "", inputs.replace_aius, study.id, annotator, run, same)
        _finish(
            f"Replaced the AIUs of {numbers.format_count(count, 'critique')}. "
            f"Confirmed as the same: {numbers.format_count(len(confirmed), 'AIU')}."
        )


shown = shell.draw_header(
    "Inputs", "What new runs judge by: the references, aspects and AIUs of the items, as people edited them."
)
editor = shell.current_annotator()
if editor is None:
    st.caption("Sign in on a page of the section Label to change inputs.")
of_items, of_extractions = st.tabs(["References and aspects", "AIUs of another extraction"])
with of_items:
    draw(shown, editor)
with of_extractions:
    draw_matches(shown, editor)
