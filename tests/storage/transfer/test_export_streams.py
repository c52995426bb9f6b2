"""Exports read their rows in parts: in a stable order, and of one state of the database."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, Record
from storage.labels import labels
from storage.runs import traces
from storage.studies.studies import Study
from storage.transfer import exports, imports, participation
from storage.transfer.exports import turn_rows
from tests.conftest import make_item, make_label
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, import_study

PART = 20
"""Rows that are fetched at once in these tests."""


def records(engine: Engine, study: Study) -> Iterator[object]:
    return (record.model_dump_json() for record in exports.export_records(engine, study))


def turns(engine: Engine, study: Study) -> Iterator[object]:
    return map(str, turn_rows(engine, study))


EXPORTS: dict[str, Callable[[Engine, Study], Iterator[object]]] = {"records": records, "turns": turns}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((exports, "CHUNK"), (participation, "CHUNK"), (labels, "CHUNK"), (traces, "BATCH")):
        monkeypatch.setattr(module, name, PART)


def items_with_traces_and_labels(numbers: range) -> list[Record]:
    names = [f"item {number}" for number in numbers]
    judged = [a_trace(name, a_turn(prompt="prompt " * 50), a_verdict()) for name in names]
    given = [make_label(1, annotator, item=name) for name in names for annotator in ("ann", "bob")]
    return [*(ItemRecord(item=make_item(name)) for name in names), RUN, *judged, *given]


def a_study_of(engine: Engine, items: int, name: str = "s") -> Study:
    return import_study(engine, items_with_traces_and_labels(range(items)), name)


@pytest.mark.parametrize("export", EXPORTS)
def test_rows_that_are_added_during_an_export_are_not_in_it(engine: Engine, export: str) -> None:
    study, rows = a_study_of(engine, 3 * PART), EXPORTS[export]
    before = list(rows(engine, study))
    stream = rows(engine, study)
    exported = []
    for number, row in enumerate(stream):
        exported.append(row)
        if number in (PART // 2, 2 * PART):
            imports.import_records(engine, "s", items_with_traces_and_labels(range(100 + number, 110 + number)))
    assert exported == before
    after = list(rows(engine, study))
    assert len(after) > len(before) and [row for row in after if row in set(before)] == before
