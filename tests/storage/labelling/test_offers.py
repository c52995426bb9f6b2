"""Pairs that are offered to annotators without a dispute of judges."""

import pytest

from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ItemRecord
from core.items import Criterion
from storage.db.connections import reading, writing
from storage.labelling import offers
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item
from tests.storage.labelling.workbench import Client
from tests.storage.shared import debates


def offer(engine, criterion="helpfulness", **options):
    with writing(engine) as session:
        return offers.offer(session, studies.get(session, "s"), criterion, **options)


@pytest.fixture
def items(engine):
    """Ten items with two responses and no run."""
    criterion = CriterionRecord(criterion=Criterion(name="helpfulness"))
    imports.import_records(engine, "s", [criterion, *(ItemRecord(item=make_item(f"item {n}")) for n in range(10))])


def test_every_pair_can_be_labelled_before_any_run(engine, items):
    client = Client(engine, "ann")
    assert client.tasks() == []
    assert offer(engine) == offers.Offer(added=10, drawn=10, total=10)
    task = client.tasks()[0]
    assert client.label(task, 1)["status"] == "accepted"
    assert client.progress()["total"] == 10


def test_a_larger_sample_contains_the_smaller_one(engine, items):
    assert offer(engine, count=4, seed=7) == offers.Offer(added=4, drawn=4, total=10)
    assert offer(engine, count=4, seed=7).added == 0
    assert offer(engine, count=6, seed=7) == offers.Offer(added=2, drawn=6, total=10)


def test_disputed_pairs_are_in_the_queue_already(engine):
    debates(engine, 3)
    with reading(engine) as session:
        names = offers.offered_criteria(session, studies.get(session, "s").id)
    assert [offer(engine, name) for name in names] == [offers.Offer(added=0, drawn=3, total=3)]


def test_an_unknown_criterion_is_refused(engine, items):
    with pytest.raises(TiebreakError, match="no criterion 'charm'; it has: helpfulness"):
        offer(engine, "charm")
