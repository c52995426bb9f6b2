"""Import in three steps: the file, the meaning of its columns, and the study."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path

import streamlit as st

from core.answers.text import shorten
from core.errors import TiebreakError
from core.formats.mapping import request
from core.formats.mapping.confirmation import Found, Question, Statement, answer
from core.formats.mapping.guess import warn_of_models
from core.formats.mapping.mapping import Mapping
from core.formats.mapping.preview import format_unused, unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.suggest import state_row_names, state_unused_labels, suggested_annotators
from core.formats.mapping.table import questions, read_outcome, roles, statements
from core.formats.records import (
    AdjudicationRecord,
    ItemRecord,
    LabelRecord,
    Record,
    Records,
    RunRecord,
    TranscriptRecord,
)
from core.formats.registry import READERS, detect_format, read_levels, read_records, unread_files
from core.formats.text import recording_reads
from core.formats.validation_errors import join_names
from core.items import Item, target_name
from core.labels import Target, Value
from core.llm import router, secrets
from core.llm.client import available_models
from core.trace import Spec
from pages.parts import account_guard, downloads, permissions, resources, shell
from pages.parts.numbers import RESPONSE_NAMES, format_count, format_value
from pages.parts.text import escape_markdown
from pages.setup.parts import mapping_form, upload
from storage.accounts import access
from storage.db import audit, connections, guards
from storage.studies import studies
from storage.transfer import imports

MEANINGS: dict[str, Value | None] = {**{name: value for value, name in RESPONSE_NAMES.items()}, "no label": None}
NEW_STUDY, EXISTING_STUDY = "New study", "Existing study"
# Items of the preview, records that are read for them at most, and values and characters that are shown of one.
PREVIEW_ITEMS = 10
PREVIEW_RECORDS = 400
PREVIEW_VALUES = 12
PREVIEW_LENGTH = 500
PROGRESS_STEP = 1000  # records between two updates of the progress bar


@dataclass(frozen=True)
class ImportPlan:
    """A file with the way to read it."""

    source: upload.FileSource
    format: str
    mappings: tuple[Mapping, ...] = ()
    """Of a table: one for each level of its values."""
    is_guessed: bool = False
    """Whether a person has to confirm what the fields are."""


def draw_import() -> None:
    """Draw the steps; each appears when the previous one is complete."""
    st.subheader("1 · The file", anchor=False)
    source = upload.draw_upload("import", several=True)
    if source is None:
        st.caption(
            "A table of items, with or without labels, whose columns you choose in the next step; a file exported by "
            "Tiebreak; or the files that the papers released."
        )
        return
    plan = _draw_format(source)
    if plan is not None:
        step = "3" if plan.mappings else "2"
        st.subheader(f"{step} · Check and import", anchor=False)
        if _draw_preview(plan) and (not plan.is_guessed or _draw_roles(plan)):
            _draw_target(plan)


def _draw_format(source: upload.FileSource) -> ImportPlan | None:
    detected, format_names = source.read(detect_format), list(READERS)
    selected = st.selectbox(
        "Format",
        format_names,
        index=format_names.index(detected),
        key=f"format_{source.key}",
        width=420,
    )
    return _draw_mapping(source) if selected == "table" else ImportPlan(source, selected)


def _draw_mapping(source: upload.FileSource) -> ImportPlan | None:
    """Draw the form of a table's mapping; returns None until the mapping is complete."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("2 · Columns", anchor=False, width="content")
        actions = st.container(horizontal=True, width="content")
    with actions, st.popover("Load a mapping", icon=":material/upload_file:"):
        mapping_form.draw_upload(source)
    with actions:
        _draw_request(source)
    found = mapping_form.draw_mapping(source)
    if found is None:
        return None
    confirmed = [_draw_confirmations(source, own, f"map_{source.key}_{place}") for place, own in enumerate(found)]
    if None in confirmed:
        return None
    complete = tuple(filter(None, confirmed))
    with actions:
        mapping_form.draw_download(complete, Path(source.name).stem)
    return ImportPlan(source, "table", complete, is_guessed=not all(own.confirmed for own in found))


def _draw_request(source: upload.FileSource) -> None:
    """Draw the choice of a model; its mapping replaces the choices in the form."""
    with st.popover("Let a model propose", icon=":material/auto_awesome:", key="map_model"):
        st.caption("The model receives the names of the fields, examples of their values, and the first three records.")
        about = st.text_area(
            "Documentation of the data set",
            key=f"map_about_{source.key}",
            height=120,
            help="What the values mean, such as the ends of a scale: the text of its README or paper.",
        )
        if permissions.may_ask_models():
            model = st.selectbox("Model", list(available_models()), accept_new_options=True, key="map_model_name")
            if st.button("Propose", type="primary", key="map_propose", disabled=not model):
                try:
                    _propose(source, str(model), about)
                except TiebreakError as error:  # the form is drawn, so it keeps what was entered
                    st.error(escape_markdown(str(error)), icon=":material/error:")
        try:
            prompt = _prompt(source, about)
        except TiebreakError as error:  # the file can be imported all the same
            st.caption(escape_markdown(f"No prompt: {error}"))
            return
        name = f"{Path(source.name).stem}-prompt.txt"
        downloads.draw_text_link("Save the prompt", prompt, name, "save_mapping_prompt", kind="mapping")
        st.caption("Give it to any other model, and load its reply as a mapping.")


def _prompt(source: upload.FileSource, about: str) -> str:
    prompt: str = source.read(_make_prompt, tuple(own.name for own in source.others), about)
    return prompt


def _make_prompt(path: Path, others: tuple[str, ...], about: str) -> str:
    return request.mapping_prompt([path, *(path.parent / name for name in others)], about)


def _propose(source: upload.FileSource, model: str, about: str) -> None:
    spec = Spec(model=model, max_tokens=request.MAX_TOKENS)
    secrets.check_key(spec)
    prompt = _prompt(source, about)
    permissions.record_request(model, "mapping requested of a model")
    with st.spinner("The model reads the fields and first records …"), source.on_disk() as path:
        paths = [path, *(path.parent / own.name for own in source.others)]
        ask = partial(request.propose, paths=paths, prompt=prompt, spec=spec)
        found: list[Mapping] = router.call(ask, resources.model_client())
    mapping_form.start_loaded(source, found)
    st.rerun()


def _draw_confirmations(source: upload.FileSource, mapping: Mapping, key: str) -> Mapping | None:
    """Draw what the file does not state; returns the confirmed mapping, or None until there is one."""
    mapping = mapping.model_copy(update={"confirmed": True})
    try:
        found = source.read(questions, mapping)
        by_row = source.read(state_row_names, mapping)
    except TiebreakError as error:
        st.error(f"The file cannot be imported: {escape_markdown(str(error))}", icon=":material/error:")
        return None
    if by_row and not st.checkbox(f"Right: {escape_markdown(by_row)}", key=f"{key}_rows"):
        return None
    if not found:
        return mapping
    st.info("The file does not state what these values mean. Confirm them before the import.", icon=":material/help:")
    answers = [_draw_question(question, key) for question in found]
    for question, values in zip(found, answers, strict=True):
        if values is None:
            return None
        mapping = answer(mapping, question, values)
    return mapping


def _draw_roles(plan: ImportPlan) -> bool:
    """Draw what the fields of a suggestion are; returns whether a person has confirmed them."""
    lines = [line for mapping in plan.mappings for line in plan.source.read(roles, mapping)]
    with st.expander("What the fields are", expanded=True, key="roles"):
        st.markdown("\n".join(f"- {escape_markdown(line)}" for line in lines))
    key = f"map_{plan.source.key}_roles_{zlib.crc32(repr(lines).encode())}"
    return st.checkbox("Right: this is what the fields are", key=key)


def _draw_question(question: Question, prefix: str) -> dict[str, Value | None] | None:
    """Return the meaning of each value, none for a confirmed scale; None until it is stated."""
    # With what it states: a tick of one reading is none of another.
    asked = (question.places, question.fields, question.scale, question.reading())
    key = f"{prefix}_confirm_{zlib.crc32(repr(asked).encode())}"
    st.markdown(f"**{escape_markdown(', '.join(question.fields))}**")
    values = {found.text: _describe(found) for found in question.values}
    if not question.needs_values:
        st.markdown("\n".join(f"- {text}" for text in values.values()))
        return {} if st.checkbox(f"Right: {escape_markdown(question.reading())}", key=key) else None
    chosen = {
        text: st.selectbox(label, list(MEANINGS), index=None, placeholder="choose", key=f"{key}_{text}")
        for text, label in values.items()
    }
    meanings = {text: MEANINGS[name] for text, name in chosen.items() if name is not None}
    return meanings if len(meanings) == len(chosen) else None


def _describe(found: Found) -> str:
    examples = escape_markdown("; ".join(found.examples))
    return f"{escape_markdown(found.text)}: {found.count:,} times, for example {examples}"


def _draw_preview(plan: ImportPlan) -> bool:
    """Draw the first items as they will be, in which a wrong column is visible; returns False for a refused file."""
    try:
        for mapping in plan.mappings:
            _draw_statements(*plan.source.read(_statements, mapping))
        first = plan.source.read(_read_first_items, plan.format, plan.mappings)
    except TiebreakError as error:
        st.error(f"The file cannot be imported: {escape_markdown(str(error))}", icon=":material/error:")
        return False
    if plan.mappings:
        _draw_unused(plan)
    if first:
        with st.expander(f"As they will be: the first {format_count(len(first), 'item')}", expanded=True):
            st.dataframe([own.row() for own in first], hide_index=True, key="first_items")
    return True


def _draw_unused(plan: ImportPlan) -> None:
    """Draw the files and the fields that no mapping uses although they may have values."""
    joined = {join.file for mapping in plan.mappings for join in mapping.join}
    if left := [own.name for own in plan.source.others if own.name not in joined]:
        st.warning(f"Nothing is imported of {escape_markdown(', '.join(left))}: the mapping does not join it.")
    if labels := plan.source.read(state_unused_labels, plan.mappings):
        st.info(escape_markdown(labels), icon=":material/label_off:")


def _statements(path: Path, mapping: Mapping) -> tuple[list[Statement], list[str], str]:
    """Return how values are read, notes on the file, and a sentence on annotators with names of models or ""."""
    stated, notes = statements(path, mapping)
    notes += [*read_outcome(path, mapping).lines(), format_unused(unused_fields(path, mapping))]
    return stated, list(dict.fromkeys(filter(None, notes))), warn_of_models(suggested_annotators(path, mapping))


def _draw_statements(stated: list[Statement], notes: list[str], warning: str) -> None:
    """Draw what the values of each block mean, and the rows that are left out."""
    if stated:
        with st.expander("Meaning of the values", expanded=True):
            for own in stated:
                lines = "\n".join(f"- {escape_markdown(line)}" for line in own.lines())
                st.markdown(f"**{escape_markdown(own.title())}**\n\n{lines}")
    for note in notes:
        st.caption(escape_markdown(note))
    if warning:
        st.warning(f"{escape_markdown(warning)} `where` and `where_not` select rows.", icon=":material/smart_toy:")


@dataclass
class FirstItem:
    """An item of the preview, with people's values and gold."""

    item: Item
    steps: dict[str, int]
    """Digest of a transcript -> the number of its steps."""
    labels: list[str] = field(default_factory=list)
    gold: list[str] = field(default_factory=list)

    def row(self) -> dict[str, str]:
        """Return the row of a table: column -> text."""
        row = {"item": self.item.id, **({"scenario": self.item.scenario} if self.item.scenario else {})}
        for name, values in (("labels", self.labels), ("gold", self.gold)):
            more = len(values) - PREVIEW_VALUES
            row[name] = "; ".join([*values[:PREVIEW_VALUES], *([f"and {more} more"] if more > 0 else [])])
        row["prompt"] = shorten(self.item.prompt, PREVIEW_LENGTH)
        for number, own in enumerate(self.item.responses, start=1):
            count = self.steps.get(own.transcript or "")
            steps = f"{format_count(count, 'step')}, then: " if count else ""
            system = f"{own.system}: " if own.system else ""
            row[f"response {number}"] = f"{system}{steps}{shorten(own.text, PREVIEW_LENGTH)}"
        return row


def _read_first_items(path: Path, format: str, mappings: tuple[Mapping, ...]) -> list[FirstItem]:
    found: dict[str, FirstItem] = {}
    steps: dict[str, int] = {}
    levels = [read_records(path, format, mapping) for mapping in mappings or (None,)]
    for record in chain(*(islice(records, PREVIEW_RECORDS) for records in levels)):
        if isinstance(record, ItemRecord):
            if len(found) == PREVIEW_ITEMS:
                break
            found[record.item.id] = FirstItem(record.item, steps)
        elif isinstance(record, TranscriptRecord):
            steps[record.transcript.digest] = len(record.transcript.parts)
        elif isinstance(record, LabelRecord) and (own := found.get(record.label.target.item)):
            own.labels.append(f"{_describe_value(record.label.target, record.label.value)} ({record.label.annotator})")
        elif isinstance(record, AdjudicationRecord) and (own := found.get(record.ruling.target.item)):
            own.gold.append(_describe_value(record.ruling.target, record.ruling.value))
    return [*found.values()]


def _describe_value(target: Target, value: Value | None) -> str:
    """Return a value with what it is about: `clarity of response 2: 4`."""
    place = target_name(target).removeprefix(target.item).lstrip(", ")
    if not place and target.part.isdecimal():
        place = f"response {target.part}"
    is_response = target.kind == "preference" and isinstance(value, int)
    text = RESPONSE_NAMES.get(value, format_value(value)) if is_response else format_value(value)  # type: ignore[arg-type]
    about = " of ".join(part for part in (target.criterion or target.kind, place) if part)
    return f"{about}: {text}"


def _draw_target(plan: ImportPlan) -> None:
    """Draw the choice of a study, and the button that imports."""
    names = permissions.study_names(access.Permission.edit)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = [NEW_STUDY, EXISTING_STUDY] if permissions.is_administrator() else [EXISTING_STUDY]
        only_one = not names or len(options) == 1
        target = st.segmented_control("Into", options, default=options[0], required=True, key="into", disabled=only_one)
        if target == EXISTING_STUDY and names:
            name = st.selectbox("Study", names, key="into_study", filter_mode="contains", width=320)
        else:
            stem = " ".join(Path(plan.source.name).stem.replace("_", " ").split())
            name = st.text_input("Name", stem, key=f"into_name_{plan.source.key}", width=320)
        clicked = st.button("Import", type="primary", key="import", icon=":material/download_done:")
    if not clicked:
        return
    name = studies.normalize_study_name(name or "")
    if target == NEW_STUDY and name in resources.read(studies.names):
        raise TiebreakError(
            f'A study named "{name}" already exists. Choose "{EXISTING_STUDY}" to add to it, or enter another name.'
        )
    _run_import(plan, name)


def _record_check(name: str) -> Callable[[Record], None]:
    """Return a function that raises Forbidden for a record that the visitor may not import."""
    actor = account_guard.current_actor()
    with connections.reading(resources.engine()) as session:
        study_id = studies.get(session, name).id if name in studies.names(session) else None

    def check(record: Record) -> None:
        if study_id is not None and isinstance(record, RunRecord):
            resources.read(access.require_imported, study_id, actor, record)

    return check


@guards.operation()
def _run_import(plan: ImportPlan, study: str) -> None:
    resources.read(access.require_import, account_guard.current_actor(), study)  # raises Forbidden
    check_record = _record_check(study)
    bar = st.progress(0.0, "Reading the file …")

    def show_progress(done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), f"{done:,} of {total:,} records imported")

    def count_records(records: Records) -> Records:
        for number, record in enumerate(records, start=1):
            if number % PROGRESS_STEP == 0:
                bar.progress(0.0, f"Reading the file: {number:,} records")
            check_record(record)
            yield record

    try:
        acting = audit.acting(account_guard.current_actor().name)
        reading = plan.source.on_disk()
        with acting, reading as path, recording_reads() as opened, recording_omissions() as omissions:
            records = count_records(read_levels(path, plan.format, plan.mappings))
            added = imports.import_records(resources.engine(), study, records, show_progress, draws=True)
            unread = unread_files(path, opened) if path.is_dir() else []
    except TiebreakError as error:
        bar.empty()
        st.error(f"The import failed and changed nothing: {escape_markdown(str(error))}", icon=":material/error:")
        return
    notes = [
        added.summary(),
        *omissions.notes(),
        *([f"not read: {escape_markdown(join_names(unread))}"] if unread else []),
    ]
    st.session_state["imported"] = (study, "; ".join(filter(None, notes)))
    shell.set_current_study(study)
    shell.open_view()
    st.rerun()
