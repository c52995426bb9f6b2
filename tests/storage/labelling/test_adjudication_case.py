"""What an adjudicator reads and can decide, by kind of target."""

import pytest

from core.critiques import precision_target, recall_target
from core.formats.records import ItemRecord, ScaleRecord
from core.items import Item, Response
from core.labels import Scale, Target
from storage.db.connections import writing
from storage.labelling import adjudication
from storage.studies import studies
from storage.transfer import imports
from tests.core.protocols.critiques import make_complete_item
from tests.storage.critique_studies import import_study
from tests.storage.labelling.cases import listed_cases
from tests.storage.shared import store_label

FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def open_disagreement(engine, target, *values):
    """Save a label of each value, and return the content of the case they make."""
    with writing(engine) as session:
        study = studies.get(session, "s")
        for annotator, value in zip(("ann", "bob", "cyd"), values, strict=False):
            store_label(session, study.id, target, annotator, value)
        (case,) = listed_cases(session, "eve")
        return adjudication.open_case(session, study, case, "eve")


def titles(content):
    return [passage.title for passage in content.passages]


def import_item(engine, *records):
    responses = (Response(text="yes"), Response(text="no"))
    item = Item(id="i", prompt="Is it?", context="A talk.", reference="It is.", responses=responses)
    imports.import_records(engine, "s", [ItemRecord(item=item), *records])


def test_a_claim_of_a_critique_is_decided_with_its_critique(engine):
    item = make_complete_item(2)
    import_study(engine, ItemRecord(item=item))
    aiu = next(aiu for critique in item.critiques if critique.role != "reference" for aiu in critique.aius)
    content = open_disagreement(engine, precision_target(item.id, aiu.id), True, False)
    assert content.question == "Is this claim of the critique true?"
    assert titles(content)[-2:] == ["Critique", "Claim"] and content.passages[-1].text == aiu.text
    assert [(choice.value, choice.name, choice.key) for choice in content.choices] == [
        (True, "True", "1"),
        (False, "False", "2"),
    ]


def test_a_claim_of_the_reference_is_decided_with_both_critiques(engine):
    item = make_complete_item(2)
    import_study(engine, ItemRecord(item=item))
    reference = next(critique for critique in item.critiques if critique.role == "reference")
    other = next(critique for critique in item.critiques if critique.role != "reference")
    content = open_disagreement(engine, recall_target(item.id, reference.aius[0].id, other.id), True, False)
    assert content.question == "Does the critique contain this claim of the reference critique?"
    assert {"Critique", "Reference critique", "Claim"} < set(titles(content))
    assert [choice.name for choice in content.choices] == ["Yes", "No"]


def test_a_score_is_decided_with_its_response_only(engine):
    import_item(engine, ScaleRecord(kind="score", criterion="depth", scale=FIVE))
    content = open_disagreement(engine, Target(item="i", kind="score", criterion="depth", part="2"), 1, 5)
    assert (content.question, titles(content)) == (
        "Which score on depth?",
        ["Context", "Question", "Reference answer", "Response 2"],
    )
    assert [(choice.value, choice.key) for choice in content.choices] == [(n, str(n)) for n in range(1, 6)]


def test_answers_without_a_scale_are_chosen_from_the_labels(engine):
    import_item(engine)
    content = open_disagreement(engine, Target(item="i", kind="answer"), "Paris", "Lyon", "Paris")
    assert content.question == "What is the right answer?"
    assert {choice.value for choice in content.choices} == {"Paris", "Lyon"}
    assert [choice.key for choice in content.choices] == ["1", "2"]


@pytest.mark.parametrize(("count", "last_key"), [(10, "0"), (11, None)])
def test_more_values_than_digits_have_no_keys(engine, count, last_key):
    scale = Scale(level="nominal", categories=tuple(f"class {n}" for n in range(count)))
    import_item(engine, ScaleRecord(kind="score", criterion="topic", scale=scale))
    target = Target(item="i", kind="score", criterion="topic", part="1")
    content = open_disagreement(engine, target, "class 0", "class 1")
    assert (len(content.choices), content.choices[-1].key) == (count, last_key)
