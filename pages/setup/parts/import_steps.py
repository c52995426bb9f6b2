"""Import in three steps: the file, what its columns mean, into which study."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core import formats
from core.formats.mapping import mapping as mappings
from core.formats.mapping.mapping import Mapping
from core.formats.records import ItemRecord, LabelRecord, Record
from core.items import Item
from core.labels import Label
from core.problems import FileRefused, Problem
from pages.parts import items, resources
from pages.parts.text import plain
from pages.setup.parts import mapping_form, upload
from pages.setup.parts.upload import Given
from storage import database, studies
from storage.transfer import imports

FORMATS = {
    "tiebreak": "Tiebreak's own file, with everything a study holds",
    "scaleeval": "ScaleEval's released debates",
    "chateval": "ChatEval's released debates",
    "metacritique": "MetaCritique's critiques with their AIUs",
    "dna-weights": "DnA-Eval's human weights",
    "table": "a table",
}
NEEDED = {"id": "the name of the item", "prompt": "the question or prompt", "responses": "a response"}
NEW, EXISTING = "A new study", "One that is here"
LOOK = 60
"""Records that are read to show the first item."""
LABELS = 9
"""Labels of the first item that are shown."""
TELL = 1000
"""Records between two signs of progress while the file is read."""


@dataclass(frozen=True)
class Plan:
    """What is read, and how."""

    given: Given
    format: str
    mapping: Mapping | None = None

    def records(self, path: Path) -> Iterator[Record]:
        """Everything the file says."""
        return formats.read(path, self.format, self.mapping)


def show() -> None:
    """One step after the other; each appears when the one before it is done."""
    st.subheader("1 · The file", anchor=False)
    given = upload.ask("import")
    if given is None:
        return _what_goes()
    plan = _planned(given)
    if plan is not None:
        last = "3" if plan.mapping else "2"
        st.subheader(f"{last} · Check and import", anchor=False)
        if _first_item(plan):
            _into(plan)


def _what_goes() -> None:
    st.caption(
        "A table of items, with or without labels, in any shape: you say what its columns mean in the next step. "
        "Or a file that Tiebreak wrote, or the folder of ScaleEval's released debates."
    )


def _planned(given: Given) -> Plan | None:
    found, names = _recognised(given, given.key), list(formats.READERS)
    chosen = st.selectbox(
        "Read it as",
        names,
        index=names.index(found),
        format_func=lambda name: FORMATS.get(name, name),
        key=f"format_{given.key}",
        width=420,
    )
    return _mapped(given) if chosen == "table" else Plan(given, chosen)


@st.cache_data(max_entries=8, show_spinner=False)
def _recognised(_given: Given, key: str) -> str:
    with _given.on_disk() as path:
        return formats.detect(path)


def _mapped(given: Given) -> Plan | None:
    """A table needs a mapping; None until it is whole."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("2 · What its columns mean", anchor=False, width="content")
        beside = st.container(horizontal=True, width="content")
    with beside, st.popover("Load a mapping", icon=":material/upload_file:"):
        mapping_form.load(given)
    draft = mapping_form.ask(given)
    if open_fields := [words for field, words in NEEDED.items() if field not in draft]:
        st.info(f"Still to choose: {', '.join(open_fields)}.", icon=":material/pending:")
        return None
    try:
        mapping = mappings.build(draft)
    except FileRefused as lack:
        st.info(f"Not whole yet: {lack}", icon=":material/pending:")
        return None
    with beside:
        mapping_form.save(mapping, Path(given.name).stem)
    return Plan(given, "table", mapping)


def _first_item(plan: Plan) -> bool:
    """The first item as it will be: a wrong column shows here. False where the file is refused already."""
    try:
        item, labels = _look(plan, plan.given.key, plan.format, plan.mapping and mappings.dump(plan.mapping))
    except Problem as refusal:
        st.error(f"This cannot be imported: {refusal}", icon=":material/error:")
        return False
    if item is None:
        return True
    with st.expander(f"The first item as it will be: {plain(item.id)}", expanded=True):
        items.show(item, key="first")
        about = [f"scenario {plain(item.scenario)}" if item.scenario else "", items.systems(item)]
        about += [_said(label) for label in labels[:LABELS]]
        about.append(f"and {len(labels) - LABELS} more labels" if len(labels) > LABELS else "")
        st.caption(" · ".join(part for part in about if part))
    return True


def _said(label: Label) -> str:
    about = f" ({plain(label.target.criterion)})" if label.target.criterion else ""
    return f"{plain(label.annotator)} says {plain(str(label.value))}{about}"


@st.cache_data(max_entries=8, show_spinner="Reading the first rows …")
def _look(_plan: Plan, key: str, format: str, mapping: str | None) -> tuple[Item | None, list[Label]]:
    item, labels = None, []
    with _plan.given.on_disk() as path:
        for number, record in enumerate(_plan.records(path)):
            if number > LOOK or (isinstance(record, ItemRecord) and item is not None):
                break
            if isinstance(record, ItemRecord):
                item = record.item
            if isinstance(record, LabelRecord):
                labels.append(record.label)
    return item, labels


def _into(plan: Plan) -> None:
    """The study, and the button that does it."""
    with database.reading(resources.engine()) as session:
        names = studies.names(session)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        way = st.segmented_control("Into", [NEW, EXISTING], default=NEW, required=True, key="into", disabled=not names)
        if way == EXISTING and names:
            name = st.selectbox("Study", names, key="into_study", filter_mode="contains", width=320)
        else:
            stem = " ".join(Path(plan.given.name).stem.replace("_", " ").split())
            name = st.text_input("Its name", stem, key=f"into_name_{plan.given.key}", width=320)
        pressed = st.button("Import", type="primary", key="import", icon=":material/download_done:")
    if pressed:
        _import(plan, _name(name or "", names if way == NEW else []))


def _name(name: str, taken: list[str]) -> str:
    name = studies.name_of(name)
    if name in taken:
        raise Problem(f'There is a study called "{name}" already. Choose "{EXISTING}" to add to it, or another name.')
    return name


def _import(plan: Plan, study: str) -> None:
    bar = st.progress(0.0, "Reading the file …")

    def tell(done: int, there: int) -> None:
        bar.progress(min(done / max(there, 1), 1.0), f"{done:,} of {there:,} records are in")

    def counted(records: Iterator[Record]) -> Iterator[Record]:
        for number, record in enumerate(records, start=1):
            if number % TELL == 0:
                bar.progress(0.0, f"Reading the file: {number:,} records")
            yield record

    try:
        with plan.given.on_disk() as path:
            added = imports.load(resources.engine(), study, counted(plan.records(path)), tell)
    except Problem as refusal:
        bar.empty()
        st.error(f"Nothing was imported: {refusal}", icon=":material/error:")
        return
    st.session_state["imported"] = (study, added.sentence())
    st.query_params.clear()
    st.rerun()
