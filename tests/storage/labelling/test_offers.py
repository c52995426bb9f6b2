"""Pairs that are offered to annotators without a dispute of judges."""

import pytest

from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ItemRecord
from core.items import Criterion
from storage.db.connections import reading, writing
from storage.labelling import offers
from storage.labels import designs
from storage.studies import studies
from storage.transfer import imports
from storage.transfer.imports import import_records
from tests.conftest import make_item, make_target
from tests.sessions import read
from tests.storage.labelling.workbench import Client
from tests.storage.shared import debates, store_label


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
    with pytest.raises(TiebreakError, match="no criterion 'charm'; it has: helpfulness"):
        offer(engine, "charm")
    assert offer(engine) == offers.Offer(added=10, drawn=10, total=10)
    task = client.tasks()[0]
    assert client.label(task, 1)["status"] == "accepted"
    assert client.progress()["total"] == 10


def test_disputed_pairs_are_in_the_queue_already(engine):
    debates(engine, 3)
    with reading(engine) as session:
        names = offers.offered_criteria(session, studies.get(session, "s").id)
    assert [offer(engine, name) for name in names] == [offers.Offer(added=0, drawn=3, total=3)]


def test_an_offer_is_a_round_of_the_design_and_leaves_disputes_in_the_queue(engine):
    queue = debates(engine, 4)
    import_records(engine, "s", [ItemRecord(item=make_item(f"new {n}")) for n in range(6)])
    assert offer(engine, count=5).total == 10
    with reading(engine) as session:
        design = designs.current(session, queue.study_id)["preference", "helpfulness"]
        strata = {one.name: one for one in designs.counts(session, queue.study_id, "helpfulness")}
    assert (design.form, design.shares["unjudged"]) == ("stratified", 0.5)
    assert strata["disputed"].drawn == 4
    assert offer(engine).added == 6 - strata["unjudged"].drawn
    assert read(engine, designs.current, queue.study_id)["preference", "helpfulness"].form == "everything"


def test_a_larger_offer_contains_the_smaller_one_and_another_seed_is_refused_after_a_label(engine, items):
    assert offer(engine, count=4, seed=7) == offers.Offer(added=4, drawn=4, total=10)
    assert offer(engine, count=4, seed=7).added == offer(engine, count=2).added == 0
    assert offer(engine, count=6, seed=7) == offers.Offer(added=2, drawn=6, total=10)
    with writing(engine) as session:
        study = studies.get(session, "s").id
        drawn = designs.frame(session, study).query("drawn")["item"].iloc[0]
        store_label(session, study, make_target(drawn), "ann", 1)
    with pytest.raises(TiebreakError, match="drawn with the seed 7; a further round has the same seed"):
        offer(engine, count=8, seed=8)
