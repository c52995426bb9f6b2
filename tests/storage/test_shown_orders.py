"""The orders stored with traces are those of their turns: after runs, imports, restarts and migrations."""

import pytest
from sqlalchemy import select

from core.trace import ReadingReplaced, TraceFailed, TraceRestarted
from storage.db.connections import reading
from storage.db.tables import TraceRow
from storage.runs import outcomes, trace_opinions, traces
from storage.runs.outcomes import NewEvent
from storage.transfer import imports
from tests.sessions import read, write
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, debates, find_traces

FORWARD, REVERSE = (a_turn(0, shown=(1, 2)), a_turn(1, shown=(2, 1)))
TRACES = {
    "item 0": ((FORWARD, a_verdict()), [[1, 2]]),
    "item 1": ((REVERSE, FORWARD, a_turn(2, shown=(2, 1)), a_verdict()), [[1, 2], [2, 1]]),
    "item 2": ((a_turn(), a_verdict()), []),
    "item 3": ((REVERSE, TraceRestarted(reason="new prompts"), FORWARD, a_verdict()), [[1, 2]]),
    "item 4": ((FORWARD, TraceFailed(problem="no credit")), None),
    "item 5": ((REVERSE, a_verdict(), ReadingReplaced(ask=1, reading=2), a_verdict("agreed", (2, 2, 2))), [[2, 1]]),
}
EXPECTED = [orders for _, orders in TRACES.values()]


@pytest.fixture
def study_id(engine):
    """A study with each trace in the run `again`, and one without an order in the run `r`."""
    queue = debates(engine, len(TRACES))
    records = [a_trace(item, *events, run="again") for item, (events, _) in TRACES.items()]
    imports.import_records(engine, "s", [RUN.model_copy(update={"name": "again"}), *records])
    return queue.study_id


def stored(session):
    orders = session.scalars(select(TraceRow.shown_orders).order_by(TraceRow.id)).all()
    assert orders[: len(TRACES)] == [[]] * len(TRACES)  # of the run `r`
    return orders[len(TRACES) :]


def test_imported_traces_have_the_orders_of_their_turns(engine, study_id):
    with reading(engine) as session:
        assert stored(session) == EXPECTED
        assert trace_opinions.order_differences(session) == []
        of_study = [orders for _, orders in sorted(trace_opinions.orders_of_study(session, study_id))]
        both = trace_opinions.with_orders(session, study_id, {(1, 2), (2, 1)})
    assert of_study == [tuple(map(tuple, orders)) for orders in EXPECTED if orders]
    assert len(both) == EXPECTED.count([[1, 2], [2, 1]]) == 1


def test_appended_events_give_the_same_orders_as_an_import(engine):
    study_id = debates(engine, len(TRACES)).study_id
    imports.import_records(
        engine,
        "s",
        [RUN.model_copy(update={"name": "again"}), *(a_trace(item, a_turn(), run="again") for item in TRACES)],
    )
    found = read(engine, find_traces, traces.Filter(study_id))
    ids = {trace.item: trace.id for trace in found if trace.run == "again"}
    for item, (events, _) in TRACES.items():
        for seq, event in enumerate((TraceRestarted(reason="from the first ask"), *events), 1):
            write(engine, outcomes.append_events, [NewEvent(ids[item], seq, event)])
    with reading(engine) as session:
        assert stored(session) == EXPECTED
        assert trace_opinions.order_differences(session) == []
