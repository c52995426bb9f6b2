"""Examples for instruction tuning from the area chairs of a study."""

import pytest

from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord
from storage.db.connections import reading
from storage.studies import studies
from storage.transfer import samples
from storage.transfer.imports import import_records
from storage.transfer.instructions import instruction_examples
from tests.conftest import make_item

EXAMPLES_WITH_EVERY_SAMPLE = 78
"""8 traces of 10 samples, of which two could not be read."""


def import_study(engine, records):
    import_records(engine, "tour", records)
    with reading(engine) as session:
        return studies.get(session, "tour")


def test_a_trace_gives_one_example_or_one_for_every_sample(engine):
    study = import_study(engine, tiebreak.read(samples.path("refer")))
    examples = list(instruction_examples(engine, study))
    assert [example.item for example in examples][:2] == ["lighthouse", "sourdough"] and len(examples) == 8
    assert examples[0].output.startswith("Analysis: ") and examples[0].output.endswith("Rating: 3")
    assert len(list(instruction_examples(engine, study, every=True))) == EXAMPLES_WITH_EVERY_SAMPLE


def test_a_study_without_a_peer_review_has_no_examples(engine, a_study):
    with pytest.raises(TiebreakError, match="no peer review"):
        next(instruction_examples(engine, a_study))


def test_a_run_with_invalid_settings_is_skipped(engine):
    run = RunRecord(name="odd", protocol="refer", settings={"peers": 3})
    study = import_study(engine, [ItemRecord(item=make_item()), run])
    assert list(instruction_examples(engine, study)) == []


def test_a_run_whose_protocol_is_not_installed_is_named(engine):
    run = RunRecord(name="elsewhere", protocol="their-review")
    study = import_study(engine, [ItemRecord(item=make_item()), run])
    with pytest.raises(TiebreakError, match="'their-review' of run 'elsewhere' is not installed"):
        next(instruction_examples(engine, study))
