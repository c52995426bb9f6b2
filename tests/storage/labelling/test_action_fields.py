"""The fields of an action: evidence, value and guidelines as they are stored, and those that are rejected."""

import pytest
from pydantic import ValidationError

from storage.labelling._action_transaction import Action
from tests.storage.labelling.workbench import Client, add_guidelines, set_rules, stored
from tests.storage.shared import debates


@pytest.fixture
def ann(engine):
    debates(engine, 2)
    return Client(engine)


def passage(start, end, block="response-1"):
    return {"block": block, "start": start, "end": end}


def test_evidence_up_to_the_end_of_a_text_is_stored_and_not_beyond(ann, engine):
    task = ann.tasks()[0]
    length = len(task["columns"][0]["text"])
    assert ann.label(task, 1, evidence=[passage(0, length + 1)])["status"] == "rejected"
    assert ann.label(task, 1, evidence=[passage(0, length), passage(0, 1, "question")])["status"] == "accepted"
    assert stored(engine)[0].evidence == [passage(0, length), passage(0, 1, "question")]


@pytest.mark.parametrize("type", ["label", "draft"])
@pytest.mark.parametrize(
    "evidence",
    [
        [passage(2, 2)],
        [passage(2, 1)],
        [passage(0, 1, "response-9")],
        [passage(0, 1, "")],
        [passage(True, 2)],
        [passage(0, 10**30)],
        [passage(0, 2), passage(0, 2)],
    ],
)
def test_evidence_that_is_no_passage_is_rejected(ann, engine, type, evidence):
    result = ann.do(type, ann.tasks()[0], value=1, evidence=evidence)
    assert result["status"] == "rejected" and result["message"].endswith(".")
    assert stored(engine) == []


@pytest.mark.parametrize(
    ("field", "most", "beyond"),
    [
        ("evidence", 100 * [passage(0, 1)], 101 * [passage(0, 1)]),
        ("shown", 1000 * [1], 1001 * [1]),
        ("shown", [1], [0]),
        ("seconds", 0, -1),
        ("seconds", 1e6, 1e6 + 1),
        ("guidelines", 2**31 - 1, 2**31),
        ("guidelines", 0, -1),
    ],
)
def test_fields_of_an_action_have_bounds(field, most, beyond):
    assert Action(seq=1, type="label", **{field: most})
    with pytest.raises(ValidationError):
        Action(seq=1, type="label", **{field: beyond})


def test_evidence_is_not_stored_in_a_study_without_it(ann, engine):
    task = ann.tasks()[0]
    set_rules(engine, evidence=False)
    assert ann.label(task, 1, evidence=[passage(0, 2)])["status"] == "accepted"
    assert not stored(engine)[0].evidence


def test_a_version_of_the_guidelines_that_does_not_exist_is_stored_as_the_newest(ann, engine):
    add_guidelines(engine)
    ann.label(ann.tasks()[0], 1, guidelines=99)
    assert stored(engine)[0].guidelines == 1


def test_a_value_is_stored_as_the_scale_s_own_category(ann, engine):
    task = ann.tasks()[0]
    assert ann.label(task, 1.0, guidelines=0)["status"] == "accepted"
    assert type(stored(engine)[0].value) is int
    assert ann.label(task, True, base="1")["status"] == "rejected"


def test_a_reason_that_is_too_long_is_named(ann):
    result = ann.label(ann.tasks()[0], 1, reason="x" * 20_001)
    assert (result["status"], result["message"]) == ("rejected", "The reason is longer than 20,000 characters.")


def test_a_restored_label_has_its_guidelines_and_adds_no_seconds(ann, engine):
    add_guidelines(engine)
    task = ann.tasks()[0]
    first = ann.label(task, 1, reason="a", seconds=3.5, guidelines=1, evidence=[passage(0, 2)])
    second = ann.label(task, 2, base="1", seconds=1.25)
    for type, entry in (("undo", second), ("undo", first), ("redo", first), ("redo", second)):
        assert ann.do(type, entry=entry["entry"])["status"] == "accepted"
    rows = [(row.value, row.seconds, row.guidelines) for row in stored(engine)[2:]]
    assert rows == [(1, None, 1), (None, None, None), (1, None, 1), (2, None, None)]
