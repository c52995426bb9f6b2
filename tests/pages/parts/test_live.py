"""Values that open pages look at again and again: read once after a change, for all visitors."""

from concurrent.futures import ThreadPoolExecutor

from core.formats.records import ItemRecord
from core.labels import Target
from pages.parts import live, resources
from pages.results.parts import alignment_data
from storage.db import connections
from storage.labels import labels
from storage.studies import studies
from tests.conftest import make_item
from tests.pages.visits import prepare_study
from tests.storage.shared import store_label


def save_label(value: int) -> int:
    """Save a label and return the number of stored ones."""
    with connections.writing(resources.engine()) as session:
        study = studies.get(session, "s")
        store_label(session, study.id, Target(item="item 0", kind="preference", criterion="helpfulness"), "ann", value)
        return labels.version(session, study.id)[0]


def test_visitors_share_one_reading_after_each_change():
    prepare_study([ItemRecord(item=make_item())])
    readings = []

    def load() -> int:
        return live.load_shared("test", ("study 1",), lambda: readings.append(1) or len(readings))

    for number in (1, 2):
        save_label(number)
        with ThreadPoolExecutor(4) as visitors:
            assert {visit.result(5) for visit in [visitors.submit(load) for _ in range(8)]} == {number}


def test_the_sign_of_newer_labels_states_their_number():
    assert alignment_data.describe_newer((5, 9, 0, 0), (6, 9, 0, 0)).startswith("1 newer label. ")
    assert alignment_data.describe_newer((5, 9, 0, 0), (1005, 9, 0, 0)).startswith("1,000 newer labels. ")
    assert alignment_data.describe_newer((5, 9, 0, 0), (5, 10, 0, 0)).startswith("There are newer verdicts")
