"""Import in three steps: the file, the meaning of its columns, and the study."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core.errors import FileFormatError, TiebreakError
from core.formats.mapping import mapping as mappings
from core.formats.mapping.confirmation import Question
from core.formats.mapping.guess import warn_of_models
from core.formats.mapping.mapping import Mapping
from core.formats.mapping.preview import format_unused, unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.suggest import suggested_annotators
from core.formats.mapping.table import questions
from core.formats.plain_yaml import parse_fields
from core.formats.records import ImportedRecords, ItemRecord, LabelRecord, PlainLabels, Record, RunRecord
from core.formats.registry import READERS, detect_format, read_for_import, read_records, report_files
from core.formats.text import recording_reads
from core.items import Item
from core.labels import Label
from pages.parts import account_guard, current_study, items, permissions, resources
from pages.parts.text import escape_markdown
from pages.setup.parts import confirmations, mapping_form, upload
from pages.setup.parts.upload import FileSource
from storage.accounts import access
from storage.accounts.access import Permission
from storage.db import audit, connections, guards
from storage.studies import studies
from storage.transfer import imports

FORMAT_NAMES = {
    "tiebreak": "Tiebreak's own format, with the complete study",
    "scaleeval": "ScaleEval's released debates",
    "chateval": "ChatEval's released debates",
    "metacritique": "MetaCritique's critiques with their AIUs",
    "dna-weights": "DnA-Eval's human weights",
    "label-studio": "Label Studio's JSON export",
    "argilla": "Argilla's records",
    "inspect": "Inspect AI's log",
    "llm-comparator": "LLM Comparator's JSON",
    "potato": "Potato's project folder",
    "meta-evaluator": "MetaEvaluator's project folder",
    "table": "Table",
}
REQUIRED_FIELDS = {"id": "the item's name"}
EITHER_FIELD = {"prompt": "the question or prompt", "responses": "a response"}
"""An item needs at least one of these."""
NEW_STUDY, EXISTING_STUDY = "New study", "Existing study"
PREVIEW_RECORDS = 60
"""Records that are read for the preview of the first item."""
PREVIEW_LABELS = 9
OTHER_SCALE = (
    "If the judges have another scale than the labels, *Edit as YAML* has their block `judges`, with a `scale` of its "
    "own; their scores are then converted to the scale of the labels."
)
"""Labels of the first item in its preview."""
PROGRESS_STEP = 1000
"""Records between two updates of the progress bar."""


@dataclass(frozen=True)
class ImportPlan:
    """A file with the way to read it."""

    source: FileSource
    format: str
    mapping: Mapping | None = None

    def records(self, path: Path) -> Iterator[Record]:
        """Yield the records of the file."""
        return read_records(path, self.format, self.mapping)


def draw_import() -> None:
    """Draw the steps; each appears when the previous one is complete."""
    st.subheader("1 · The file", anchor=False)
    source = upload.draw_upload("import")
    if source is None:
        return _draw_hint()
    plan = _draw_format(source)
    if plan is not None:
        step = "3" if plan.mapping else "2"
        st.subheader(f"{step} · Check and import", anchor=False)
        if _draw_first_item(plan):
            _draw_target(plan)


def _draw_hint() -> None:
    st.caption(
        "A table of items, with or without labels, whose columns you choose in the next step; a file exported by "
        "Tiebreak; or the files that the papers released."
    )


def _draw_format(source: FileSource) -> ImportPlan | None:
    detected, format_names = _detect_format(source, source.key), list(READERS)
    selected = st.selectbox(
        "Format",
        format_names,
        index=format_names.index(detected),
        format_func=lambda name: FORMAT_NAMES.get(name, name),
        key=f"format_{source.key}",
        width=420,
    )
    return _draw_mapping(source) if selected == "table" else ImportPlan(source, selected)


@st.cache_data(max_entries=8, show_spinner=False)
def _detect_format(_source: FileSource, key: str) -> str:
    with _source.on_disk() as path:
        return detect_format(path)


def _draw_mapping(source: FileSource) -> ImportPlan | None:
    """Draw the form of a table's mapping; returns None until the mapping is complete."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("2 · Columns", anchor=False, width="content")
        actions = st.container(horizontal=True, width="content")
    with actions, st.popover("Load a mapping", icon=":material/upload_file:"):
        mapping_form.draw_upload(source)
    draft = mapping_form.draw_mapping(source)
    if draft is None:
        return None
    required = REQUIRED_FIELDS | (EITHER_FIELD if EITHER_FIELD.keys().isdisjoint(draft) else {})
    if missing := [description for field, description in required.items() if field not in draft]:
        st.info(f"Missing: {', '.join(missing)}.", icon=":material/pending:")
        return None
    try:
        mapping = mappings.build_mapping(draft)
    except FileFormatError as error:
        st.info(f"Incomplete: {escape_markdown(mapping_form.describe_error(error))}", icon=":material/pending:")
        return None
    confirmed = _draw_confirmations(source, mapping)
    if confirmed is None:
        return None
    with actions:
        mapping_form.draw_download(confirmed, Path(source.name).stem)
    return ImportPlan(source, "table", confirmed)


def _draw_confirmations(source: FileSource, mapping: Mapping) -> Mapping | None:
    """Draw what the file does not state; returns the confirmed mapping, or None until there is one."""
    try:
        open_ones = _questions(source, source.key, mappings.dump_mapping(mapping))
    except TiebreakError as error:
        st.error(f"The file cannot be imported: {escape_markdown(str(error))}", icon=":material/error:")
        return None
    return confirmations.draw_confirmations(open_ones, mapping, f"map_{source.key}")


@st.cache_data(max_entries=8, show_spinner="Reading the file …")
def _questions(_source: FileSource, key: str, mapping: str) -> list[Question]:
    with _source.on_disk() as path:
        return questions(path, mappings.build_mapping(parse_fields(mapping)))


def _draw_first_item(plan: ImportPlan) -> bool:
    """Draw a preview of the first item, in which a wrong column is visible; returns False if the file is refused."""
    try:
        mapping = mappings.dump_mapping(plan.mapping) if plan.mapping else None
        item, labels = _read_first_item(plan, plan.source.key, plan.format, mapping)
    except TiebreakError as error:
        text = f"The file cannot be imported: {escape_markdown(str(error))}"
        st.error(f"{text}{_other_scale(plan, error)}", icon=":material/error:")
        return False
    if item is None:
        return True
    with st.expander(f"Preview of the first item: {escape_markdown(item.id)}", expanded=True):
        items.draw_item(item, key="first")
        details = [f"scenario {escape_markdown(item.scenario)}" if item.scenario else "", items.system_names(item)]
        details += [_format_label(label) for label in labels[:PREVIEW_LABELS]]
        details.append(f"and {len(labels) - PREVIEW_LABELS} more labels" if len(labels) > PREVIEW_LABELS else "")
        st.caption(" · ".join(part for part in details if part))
        if mapping is not None and (unused := _unused_fields(plan, plan.source.key, mapping)):
            st.caption(escape_markdown(unused))
    if mapping is not None and (warning := _warn_of_models(plan, plan.source.key, mapping)):
        st.warning(f"{escape_markdown(warning)} `where` and `where_not` select rows.", icon=":material/smart_toy:")
    return True


def _other_scale(plan: ImportPlan, error: TiebreakError) -> str:
    """Return how judges have a scale of their own, for an error in a column with scores of judges; otherwise empty."""
    if plan.mapping is None or not isinstance(error, FileFormatError):
        return ""
    columns = {str(column) for block in plan.mapping.judges if block.kind == "score" for column in block.columns}
    return f" {OTHER_SCALE}" if error.field in columns else ""


@st.cache_data(max_entries=8, show_spinner=False)
def _warn_of_models(_plan: ImportPlan, key: str, mapping: str) -> str:
    """Return a sentence on annotators with names of models in the first rows."""
    if _plan.mapping is None:
        return ""
    with _plan.source.on_disk() as path:
        return warn_of_models(suggested_annotators(path, _plan.mapping))


@st.cache_data(max_entries=8, show_spinner=False)
def _unused_fields(_plan: ImportPlan, key: str, mapping: str) -> str:
    if _plan.mapping is None:
        return ""
    with _plan.source.on_disk() as path:
        return format_unused(unused_fields(path, _plan.mapping))


def _format_label(label: Label) -> str:
    criterion = f" ({escape_markdown(label.target.criterion)})" if label.target.criterion else ""
    return f"{escape_markdown(label.annotator)}: {escape_markdown(str(label.value))}{criterion}"


@st.cache_data(max_entries=8, show_spinner="Reading the first rows …")
def _read_first_item(_plan: ImportPlan, key: str, format: str, mapping: str | None) -> tuple[Item | None, list[Label]]:
    item, labels = None, []
    with _plan.source.on_disk() as path:
        for number, record in enumerate(_plan.records(path)):
            if number > PREVIEW_RECORDS or (isinstance(record, ItemRecord) and item is not None):
                break
            if isinstance(record, ItemRecord):
                item = record.item
            if isinstance(record, LabelRecord):
                labels.append(record.label)
    return item, labels


def _draw_target(plan: ImportPlan) -> None:
    """Draw the choice of a study, and the button that imports."""
    names = permissions.study_names(Permission.edit)
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
    if clicked:
        with connections.reading(resources.engine()) as session:
            existing = studies.names(session)
        _run_import(plan, _validate_name(name or "", existing if target == NEW_STUDY else []))


def _validate_name(name: str, existing_names: list[str]) -> str:
    name = studies.normalize_study_name(name)
    if name in existing_names:
        raise TiebreakError(
            f'A study named "{name}" already exists. Choose "{EXISTING_STUDY}" to add to it, or enter another name.'
        )
    return name


def _check_permission(name: str) -> None:
    """Raise Forbidden unless the visitor may create the study, or change it if it exists."""
    with connections.reading(resources.engine()) as session:
        access.require_import(session, account_guard.current_actor(), name)


def _record_check(name: str) -> Callable[[Record | PlainLabels], None]:
    """Return a function that raises Forbidden for a record that the visitor may not import."""
    actor = account_guard.current_actor()
    with connections.reading(resources.engine()) as session:
        study_id = studies.get(session, name).id if name in studies.names(session) else None

    def check(record: Record | PlainLabels) -> None:
        if study_id is not None and isinstance(record, RunRecord):
            with connections.reading(resources.engine()) as session:
                access.require_imported(session, study_id, actor, record)

    return check


@guards.operation()
def _run_import(plan: ImportPlan, study: str) -> None:
    _check_permission(study)
    check_record = _record_check(study)
    bar = st.progress(0.0, "Reading the file …")

    def show_progress(done: int, total: int) -> None:
        bar.progress(min(done / max(total, 1), 1.0), f"{done:,} of {total:,} records imported")

    def count_records(records: ImportedRecords) -> ImportedRecords:
        read = 0
        for number, record in enumerate(records, start=1):
            read += len(record.values) if isinstance(record, PlainLabels) else 1
            if number % PROGRESS_STEP == 0:
                bar.progress(0.0, f"Reading the file: {read:,} records")
            check_record(record)
            yield record

    try:
        acting = audit.acting(account_guard.current_actor().name)
        reading = plan.source.on_disk()
        with acting, reading as path, recording_reads() as opened, recording_omissions() as omissions:
            records = count_records(read_for_import(path, plan.format, plan.mapping))
            added = imports.import_records(resources.engine(), study, records, show_progress)
            files = report_files(path, opened, plan.format) if path.is_dir() else []
    except TiebreakError as error:
        bar.empty()
        text = f"The import failed and changed nothing: {escape_markdown(str(error))}"
        st.error(f"{text}{_other_scale(plan, error)}", icon=":material/error:")
        return
    st.session_state["imported"] = (study, "; ".join([added.summary(), *omissions.notes()]), files)
    current_study.open_view()
    st.rerun()
