"""Labels that are read again only if they have changed: the same as if they were always read."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from unittest.mock import patch
from weakref import WeakKeyDictionary

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.labels import Target
from storage.db.connections import reading, writing
from storage.labelling import adjudication
from storage.labels import current_labels, labels, targets
from storage.reports import agreement, alignment, opinions, references
from storage.reports.references import Reference
from storage.runs import runs
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import deletions, erasure, imports
from tests.conftest import make_item, make_label, make_target
from tests.pages.test_queries import statements_of
from tests.sessions import write
from tests.storage.reports.test_references import DEBATE, SINGLE, debate_trace, items, single_trace
from tests.storage.shared import import_study, store_label

study_names = (f"labels {number}" for number in count())
names = st.sampled_from(("ann", "bob", "cat"))
numbers = st.integers(0, 4)
values = st.sampled_from((0, 1, 2))
changes = st.one_of(
    st.tuples(st.just("save"), names, numbers, st.none() | values),
    st.tuples(st.just("roll back"), names, numbers, values),
    st.tuples(st.just("adjudicate"), numbers, values),
    st.tuples(st.just("erase"), names),
    st.tuples(st.just("import"), names, st.integers(5, 7), values),
    st.tuples(st.just("delete a run")),
)


def target(number: int) -> Target:
    return make_target(f"item {number}")


def save(engine: Engine, study_id: int, name: str, number: int, value: int | None) -> None:
    write(engine, store_label, study_id, target(number), name, value)


def save_and_roll_back(engine: Engine, study: Study, name: str, number: int, value: int) -> None:
    """Save a label in a transaction that reads it and does not commit it."""
    with engine.connect() as connection, Session(connection) as session:
        session.connection(execution_options={"writes": True})
        store_label(session, study.id, target(number), name, value)
        labels.frame(session, study.id)
        session.rollback()


def apply(engine: Engine, study: Study, change: tuple) -> None:
    """Make one change."""
    match change:
        case ("save", name, number, value):
            save(engine, study.id, name, number, value)
        case ("roll back", name, number, value):
            save_and_roll_back(engine, study, name, number, value)
        case ("adjudicate", number, value):
            with writing(engine) as session:
                labels.adjudicate(session, study.id, target(number), value, rule="x", reason="y", adjudicator="lead")
        case ("erase", name):
            with suppress(TiebreakError), writing(engine) as session:  # there may be nobody of that name
                erasure.erase(session, name, erasure.Labels.remove)
        case ("import", name, number, value):
            item = ItemRecord(item=make_item(f"item {number}", scenario=f"scenario {number}"))
            imports.import_records(engine, study.name, [item, make_label(value, name, f"item {number}")])
        case ("delete a run",):
            with writing(engine) as session:
                for run in runs.of_study(session, study.id)[-1:]:
                    deletions.delete_run(session, run.id)


def listed(frame: pd.DataFrame) -> tuple[dict[str, list], dict[str, object]]:
    """Return the columns of a data frame in the order of their rows, and their types."""
    return frame.astype(object).where(frame.notna(), None).to_dict("list"), frame.dtypes.to_dict()


def contents(engine: Engine, study: Study) -> tuple:
    """Return everything that is read of labels and targets."""
    with reading(engine) as session:
        frames = [labels.frame(session, study.id), targets.frame(session, study.id)]
        for name in ("gold", "mean"):
            frames.append(references.frame(session, study.id, Reference(name), studies.scales(session, study.id)))
        cases = adjudication.order_cases(session, study)
        return (
            [listed(frame) for frame in frames[:1] + frames[2:]],
            labels.annotator_values(session, study.id),
            targets.keys_of_study(session, study.id),
            list(cases.states.items()),
        )


def figures(engine: Engine, study: Study) -> tuple:
    """Return the figures of agreement and alignment."""
    rows = [*agreement.rows(engine, study, "all", resamples=20), *alignment.rows(engine, study, resamples=20)]
    return tuple(map(repr, rows))


def from_all_rows(read: Callable[[Engine, Study], tuple], engine: Engine, study: Study) -> tuple:
    """Return what is read if nothing is remembered, and leave what is."""
    with (
        patch.object(current_labels, "_labels", WeakKeyDictionary()),
        patch.object(current_labels, "_targets", WeakKeyDictionary()),
    ):
        return read(engine, study)


@settings(max_examples=settings().max_examples // 10 + 2, suppress_health_check=list(HealthCheck), deadline=None)
@given(made=st.lists(changes, min_size=1, max_size=8))
def test_labels_are_the_same_as_if_all_rows_were_read(engine: Engine, made: list[tuple]) -> None:
    study = planted(engine)
    contents(engine, study)
    for change in made:
        apply(engine, study, change)
        assert contents(engine, study) == from_all_rows(contents, engine, study)
    assert figures(engine, study) == from_all_rows(figures, engine, study)


def planted(engine: Engine) -> Study:
    """Return a new study with five items, of which a debate and a judge have judged four."""
    traces = [trace(f"item {number}", 1 + number % 2) for trace in (debate_trace, single_trace) for number in range(4)]
    records = [*items(5), DEBATE, SINGLE, *traces, *(make_label(1, name) for name in ("ann", "bob"))]
    return import_study(engine, records, next(study_names))


def test_labels_are_read_once_until_there_is_a_new_one(engine: Engine) -> None:
    study = planted(engine)

    def read() -> None:
        with reading(engine) as session:
            labels.frame(session, study.id)

    def queries() -> int:
        return sum("label.value" in text for text, _ in statements_of(engine, read))

    first, second = queries(), queries()
    save(engine, study.id, "cat", 2, 1)
    assert (first, second, queries()) == (1, 0, 1)


def test_what_follows_from_a_frame_is_forgotten_with_it() -> None:
    frame = pd.DataFrame({"value": [1, 2]})
    results = [opinions.once(frame, key, lambda: object()) for key in ("a", "a", "b")]
    assert results[0] is results[1] is not results[2]
    known, place = len(opinions._results), id(frame)
    del frame
    assert place not in opinions._results and len(opinions._results) == known - 1


@pytest.mark.parametrize("text", ["gold", "majority", "mean", "annotator:ann"])
def test_a_reference_is_the_decision_on_the_labels_of_each_target(engine: Engine, text: str) -> None:
    study, reference = planted(engine), references.parse(text)
    saved = (("ann", 0, 2), ("bob", 0, 2), ("cat", 0, 1), ("ann", 1, 2), ("bob", 1, 2), ("cat", 1, 1), ("cat", 2, 0))
    for name, number, value in saved:
        save(engine, study.id, name, number, value)
    with reading(engine) as session:
        scales = studies.scales(session, study.id)
        frame = references.frame(session, study.id, reference, scales)  # type: ignore[arg-type]
        by_target, keys = labels.annotator_values(session, study.id), targets.keys_of_study(session, study.id)
    expected = []
    for target_id, key in keys:
        given = by_target.get(target_id, {})
        own = [value for name, value in given.items() if text in ("gold", "majority", "mean", f"annotator:{name}")]
        decision = references._by_people(reference, own, scales.get((key[1], key[2])))  # type: ignore[call-overload]
        expected += [] if decision is None else [(*key, *decision)]
    found = frame[["item", "kind", "criterion", "part", "value", "number", "source"]]
    assert len(expected) > 1 or text == "mean"
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected, columns=found.columns), check_dtype=False)
