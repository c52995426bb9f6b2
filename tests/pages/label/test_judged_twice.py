"""An item that two runs judged: both traces stand under one another once the label is given."""

from collections.abc import Iterator

from streamlit.testing.v1 import AppTest

from core.formats import tiebreak
from core.formats.records import Record, RunRecord, TraceRecord
from core.labels import Target
from core.trace import VerdictReached
from pages.parts import resources
from storage import database, labels, studies
from storage.transfer import samples
from tests.pages.opened import prepared, visit, whole


def twice(file: str) -> Iterator[Record]:
    """A sample in which every run was made a second time."""
    for record in tiebreak.read(samples.path(file)):
        yield record
        if isinstance(record, RunRecord):
            yield record.model_copy(update={"name": f"{record.name} again"})
        if isinstance(record, TraceRecord):
            yield record.model_copy(update={"run": f"{record.run} again"})


def first_disputed(records: list[Record]) -> Target:
    runs = {record.name: record for record in records if isinstance(record, RunRecord)}
    for record in records:
        if isinstance(record, TraceRecord) and runs[record.run].protocol == "scaleeval":
            for event in record.events:
                if isinstance(event, VerdictReached) and event.verdict.outcome == "disputed":
                    return Target(item=record.item, kind="preference", criterion=runs[record.run].criterion)
    raise AssertionError("no debate is open")


def revealed(target: Target) -> AppTest:
    with database.writing(resources.engine()) as session:
        labels.put(session, studies.get(session, "s").id, target, "zoe", 1)
    app = visit("setup/studies")
    app.session_state["annotator"] = "zoe"
    app.query_params["item"], app.query_params["on"] = target.item, target.criterion
    return app.switch_page("pages/label/disagreements.py").run()


def test_both_debates_are_shown() -> None:
    records = list(twice("scaleeval"))
    prepared(records)
    app = revealed(first_disputed(records))
    assert not app.exception
    assert whole(app).count("What the judges said") == 2
