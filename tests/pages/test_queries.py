"""The queries of the pages: each uses an index, and their number does not grow with the items."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from storage.db import columns, connections
from storage.labelling import adjudication, context, home, tasks
from storage.reports import (
    agreement,
    alignment,
    critiques,
    disagreements,
    discordance,
    judge_costs,
    overview,
    published,
    references,
    weights,
)
from storage.runs import outcomes, runs, trace_opinions, traces
from storage.runs.traces import Filter
from storage.studies import studies
from storage.studies.studies import Study
from tests.databases import create_database
from tests.pages import large_study

LARGE_TABLES = ("item", "target", "label", "trace", "opinion", "event", "unread_reply")
ANNOTATOR = "annotator 2"  # has open targets in both studies
Statement = tuple[str, tuple[object, ...]]


def planted(path: Path, items: int) -> tuple[Engine, Study]:
    engine = connections.connect(create_database(path))
    large_study.plant(engine, items, judges=3, annotators=5)
    with connections.reading(engine) as session:
        return engine, studies.get(session, large_study.STUDY)


def read_overview(engine: Engine, study: Study) -> None:
    with connections.reading(engine) as session:
        overview.counts(session, study.id)
        disagreements.version(session, study.id)
        references.choices(session, study.id)
    overview.agreement(agreement.annotator_agreement(engine, study, resamples=10))


def read_judges(engine: Engine, study: Study) -> None:
    data = alignment.load_data(engine, study)
    with connections.reading(engine) as session:
        judge_costs.cost_by_judge(session, study.id, data.opinions)
        discordance.contentions(session, study.id)


def read_agreement(engine: Engine, study: Study) -> None:
    agreement.report(engine, study, "people", resamples=10)
    agreement.load_values(engine, study, "people")


def read_weights(engine: Engine, study: Study) -> None:
    weights.rows(engine, study, resamples=10)
    weights.laboratory(engine, study, resamples=10)


def read_critiques(engine: Engine, study: Study) -> None:
    critiques.leaderboard(engine, study, resamples=10)


def read_published(engine: Engine, study: Study) -> None:
    with connections.reading(engine) as session:
        tables = published.available(session, study.id)
    for table in tables:
        published.compute(engine, study, table.name, resamples=10)


def read_traces(engine: Engine, study: Study) -> None:
    for chosen in (Filter(study.id), Filter(study.id, run_id=1, scenario="scenario 1")):
        with connections.reading(engine) as session:
            traces.count(session, chosen)
            matches = traces.page(session, chosen, after=7, size=1, order="run").rows
            traces.page(session, chosen, after=columns.START, size=1, order="contention")
            trace_opinions.summarize_last(session, [trace.id for trace in matches])
            runs.of_study(session, study.id)
            outcomes.count_unread(session, outcomes.UnreadFilter(study.id))


def read_label_pages(engine: Engine, study: Study) -> None:
    home.prepare(engine, study.id, ANNOTATOR)
    with connections.reading(engine) as session:
        home.summaries(session, study, ANNOTATOR)
        order = adjudication.order_cases(session, study)
        adjudication.read(session, study, ANNOTATOR, list(order.states)[:50])
        adjudication.labelled_by(session, study.id, ANNOTATOR)
        home.threads(session, study.id)
        opened = context.open_context(session, "disagreements", study.name, ANNOTATOR)
        tasks.next_tasks(session, opened, have=(), count=5, tab="todo", first=None)


PAGES: dict[str, Callable[[Engine, Study], None]] = {
    "overview": read_overview,
    "judges": read_judges,
    "agreement": read_agreement,
    "weights": read_weights,
    "critiques": read_critiques,
    "published": read_published,
    "traces": read_traces,
    "label pages": read_label_pages,
}


def statements_of(engine: Engine, read: Callable[[], None]) -> list[Statement]:
    """Return the statements with their parameters that are executed."""
    executed: list[Statement] = []

    def record(connection, cursor, statement, parameters, context, executemany) -> None:
        executed.append((statement, tuple(parameters)))

    event.listen(engine, "before_cursor_execute", record)
    try:
        read()
    finally:
        event.remove(engine, "before_cursor_execute", record)
    return [(text, values) for text, values in executed if text.lstrip().startswith(("SELECT", "WITH"))]


def full_scans(engine: Engine, statement: Statement) -> list[str]:
    """Return the steps of a statement's plan that read every row of a large table, of all studies."""
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement[0]}", statement[1]).all()
    names = "|".join(LARGE_TABLES)
    return [row.detail for row in plan if re.match(rf"SCAN ({names})(_\d+)?\b", row.detail)]


@pytest.fixture(scope="module")
def studies_by_size(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queries")
    return {items: planted(folder / f"{items}.db", items) for items in (20, 40)}


@pytest.mark.parametrize("page", PAGES)
def test_no_query_of_a_page_reads_the_rows_of_all_studies_and_their_number_does_not_grow_with_the_items(
    studies_by_size, page
):
    counts = []
    for engine, study in studies_by_size.values():
        # Some values are cached by the first visit.
        first, later = (statements_of(engine, lambda e=engine, s=study: PAGES[page](e, s)) for _ in range(2))
        assert first and not {(one[0], step) for one in first for step in full_scans(engine, one)}
        counts.append(len(later))
    assert counts[0] == counts[1]


def test_a_scan_is_found(studies_by_size):
    engine, _ = studies_by_size[20]
    assert full_scans(engine, ("SELECT count(*) FROM opinion WHERE judge = ?", ("judge 1",)))
    assert not full_scans(engine, ("SELECT count(*) FROM opinion WHERE study_id = ?", (1,)))
