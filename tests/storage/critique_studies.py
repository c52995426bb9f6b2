"""A study with two critiques, and the operations of an annotator on them."""

from typing import Any

import pytest
from sqlalchemy import Engine

from core.aius import Piece, Split
from core.critiques import critique_targets, reference_critique
from core.formats.records import ItemRecord, RunRecord, StudyRecord, StudyRules, TraceRecord
from core.items import Item
from core.labels import Target
from core.protocols.registry import PROTOCOLS
from storage.db import connections
from storage.labels import labels
from storage.runs import aius
from storage.studies.studies import Study
from storage.transfer import imports
from tests.core.protocols.critiques import (
    make_complete_item,
    make_settings,
    run_scripted,
)
from tests.sessions import write
from tests.storage.shared import store_label, stored_study

SPLIT = Split(aiu="c1.1", into=(Piece(text="One a."), Piece(text="One b.")))


def import_study(engine: Engine, *records: Any, name: str = "s", **rules: Any) -> Study:
    imports.import_records(engine, name, [StudyRecord(rules=StudyRules(**rules)), *records])
    return stored_study(engine, name)


@pytest.fixture
def study(engine: Engine) -> Study:
    """Two critiques with two AIUs each, and a reference with one."""
    return import_study(engine, ItemRecord(item=make_complete_item(2)), overlap=2)


def run_records(item: Item, script: Any, run: str = "run", **fields: Any) -> list[Any]:
    """A run with the trace that the real flow makes of scripted replies."""
    settings = make_settings(**fields)
    result = run_scripted(script, settings, item)
    record = RunRecord(
        name=run,
        protocol="metacritique",
        settings=settings.model_dump(mode="json"),
        prompts=PROTOCOLS["metacritique"].prompts,
    )
    return [record, TraceRecord(run=run, item=item.id, events=tuple(result.events))]


def save_edit(engine: Engine, study: Study, change: Any, annotator: str = "ann") -> None:
    write(engine, aius.save_edit, study.id, "ladder", annotator, change)


def save_answer(engine: Engine, study: Study, target: Target, value: Any, annotator: str = "ann") -> None:
    write(engine, store_label, study.id, target, annotator, value)


def answers(engine: Engine, study: Study, annotator: str = "ann") -> dict[str, Any]:
    """Return AIU -> the annotator's label, for the AIUs of critique c1 and of the reference."""
    with connections.reading(engine) as session:
        critiques = aius.current_state(session, study.id, "ladder").critiques
        targets = critique_targets("ladder", critiques[0], reference_critique(critiques))
        current = {target.part: labels.current(session, study.id, target, annotator) for target in targets}
    return {part: label.value if label else None for part, label in current.items()}
