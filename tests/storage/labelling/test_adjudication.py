"""Which targets are to be adjudicated, in which order, by whom, and what the adjudicator sees."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.critiques import precision_target, recall_target
from core.errors import TiebreakError
from core.formats.records import ItemRecord, ScaleRecord
from core.items import Item, Response
from core.labels import Evidence, Scale, Target
from storage.db.connections import reading, writing
from storage.labelling import adjudication, queue
from storage.labels import labels
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_target
from tests.core.protocols.critiques import make_complete_item
from tests.sessions import read, write
from tests.storage.critique_studies import import_study
from tests.storage.labelling.workbench import listed_cases, set_rules
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, store_label, stored_study

pytestmark = pytest.mark.usefixtures("a_study")


def save(engine, item, *values, **fields):
    """Save the labels of the annotators ann, bob, cyd... on an item."""
    with writing(engine) as session:
        study = studies.get(session, "s")
        for annotator, value in zip(("ann", "bob", "cyd", "dan"), values, strict=False):
            store_label(session, study.id, make_target(item), annotator, value, **fields)


def decide(engine, item, value, adjudicator="eve", **fields):
    return write(engine, decide_in, item, value, adjudicator=adjudicator, **fields)


def decide_in(session, item, value, reason="", rule="Guidelines", **fields):
    study = studies.get(session, "s")
    return labels.adjudicate(session, study.id, make_target(item), value, rule=rule, reason=reason, **fields)


def test_a_decision_is_refused_if_another_one_is_stored_meanwhile(engine):
    save(engine, "item 0", 1, 2)
    with ThreadPoolExecutor() as pool:
        with writing(engine) as session:
            decide_in(session, "item 0", 1, adjudicator="dee", known=0)
            second = pool.submit(decide, engine, "item 0", 2, known=0)
            with pytest.raises(TimeoutError):
                second.result(0.3)
        with pytest.raises(TiebreakError, match="dee has decided 1 meanwhile"):
            second.result()
    decide(engine, "item 0", 2, known=opened_case(engine).decision.id)
    assert opened_case(engine).decision.value == 2


def cases(engine, adjudicator="eve"):
    return read(engine, listed_cases, adjudicator)


def opened_case(engine, item="item 0", adjudicator="eve"):
    (case,) = [case for case in cases(engine, adjudicator) if case.target.item == item]
    return case


def opened(engine, item="item 0", adjudicator="eve"):
    case = opened_case(engine, item, adjudicator)
    return write(engine, adjudication.open_case, stored_study(engine), case, adjudicator)


def test_labels_that_agree_with_each_other_and_with_the_verdict_are_no_case(engine):
    save(engine, "item 0", 1, 1, 1)
    save(engine, "item 1", 1, 2)
    save(engine, "item 2", 1, 1)
    verdicts = [a_trace(f"item {n}", a_turn(), a_verdict("agreed", (value,) * 3)) for n, value in ((0, 1), (2, 2))]
    imports.import_records(engine, "s", [RUN, *verdicts])
    assert {case.target.item for case in cases(engine)} == {"item 1", "item 2"}
    save(engine, "item 1", None)  # a withdrawn label does not count
    (case,) = cases(engine)
    assert (case.human_split, case.judge_conflict, case.contention) == (0.0, 1.0, 1.0)


def test_what_splits_annotators_and_judges_comes_before_what_splits_one_of_them(engine):
    save(engine, "item 0", 1, 1, 2)
    save(engine, "item 1", 1, 2)
    save(engine, "item 2", 1, 2)
    traces = [a_trace("item 2"), a_trace("item 1", a_turn(), a_verdict("agreed", (1, 1, 1)))]
    imports.import_records(engine, "s", [RUN, *traces])
    ordered = cases(engine)
    assert [case.target.item for case in ordered] == ["item 2", "item 1", "item 0"]
    assert ordered[0].priority == pytest.approx(1.1 * 1.1)
    assert ordered[1].priority == pytest.approx(0.1 * 1.1)


def test_scores_are_a_case_if_they_are_more_than_half_of_their_scale_apart(engine):
    scale = Scale(level="interval", categories=(1, 2, 3, 4, 5))
    with writing(engine) as session:
        study = studies.get(session, "s")
        studies.declare_scale(session, study.id, ScaleRecord(kind="score", criterion="helpfulness", scale=scale))
        for item, values in {"item 0": (2, 4), "item 1": (1, 4)}.items():
            for annotator, value in zip(("ann", "bob"), values, strict=True):
                store_label(session, study.id, make_target(item, kind="score"), annotator, value)
    assert [(case.target.item, case.human_split) for case in cases(engine)] == [("item 1", 0.75)]


def test_a_decision_is_gold_and_a_later_label_reopens_nothing(engine):
    save(engine, "item 0", 1, 2)
    decide(engine, "item 0", 2)
    assert [(case.state, case.decision.value, case.new_labels) for case in cases(engine)] == [("decided", 2, 0)]
    save(engine, "item 0", 1, 1, 1)
    assert [(case.state, case.new_labels) for case in cases(engine)] == [("new_labels", 3)]
    with reading(engine) as session:
        (gold,) = labels.gold_labels(session, studies.get(session, "s").id)
    assert (gold.value, gold.source, gold.reason) == (2, "adjudicated", "Guidelines")


def test_nobody_decides_on_an_own_label_unless_the_study_allows_it(engine):
    save(engine, "item 0", 1, 2)
    with pytest.raises(TiebreakError, match="labelled this item: another"):
        decide(engine, "item 0", 1, adjudicator="ann")
    save(engine, "item 0", None)  # to withdraw the label does not help
    with pytest.raises(TiebreakError, match="labelled this item: another"):
        decide(engine, "item 0", 1, adjudicator="ann")
    assert [case.own for case in cases(engine, "ann")] == []
    save(engine, "item 0", 1)
    assert [case.own for case in cases(engine, "ann")] == [True]
    set_rules(engine, adjudicate_own=True)
    assert decide(engine, "item 0", 1, adjudicator="ann").value == 1


def test_a_reason_is_required_where_the_decision_overrules_everybody_and_a_value_on_the_scale_always(engine):
    save(engine, "item 0", 1, 2)
    with pytest.raises(TiebreakError, match="needs a reason"):
        decide(engine, "item 0", 0)
    with pytest.raises(TiebreakError, match="not on the scale"):
        decide(engine, "item 0", 9, reason="all are wrong")
    assert decide(engine, "item 0", 0, reason="both are wrong").value == 0
    assert decide(engine, "item 0", 1).value == 1


def test_annotators_have_letters_with_their_reasons_passages_and_notes(engine):
    passage = Evidence(block="response-1", start=0, end=2)
    save(engine, "item 0", 1, 2, reason="clear", evidence=[passage])
    with writing(engine) as session:
        study = studies.get(session, "s")
        for annotator, text in (("ann", "the source is old"), ("bob", "seen")):
            queue.set_mark(session, study.id, make_target(), annotator, "note", text=text)
        queue.set_mark(session, study.id, make_target(), "bob", "note", on=False)
    content = opened(engine)
    assert [person.letter for person in content.people] == ["A", "B"]
    assert {(person.value, person.note) for person in content.people} == {(1, "the source is old"), (2, "")}
    assert all(person.evidence == (passage,) and person.reason == "clear" for person in content.people)
    assert [person.letter for person in opened(engine, adjudicator="fay").people] == ["A", "B"]
    assert "ann" not in repr(content)


def test_the_letters_of_the_same_annotators_differ_between_targets(engine):
    for item in ("item 0", "item 1", "item 2"):
        save(engine, item, 1, 2, 0, 2)
    orders = {tuple(person.value for person in opened(engine, item).people) for item in ("item 0", "item 1", "item 2")}
    assert len(orders) > 1 or len({order[0] for order in orders}) > 1


def test_a_case_has_the_judges_opinions_by_run_and_the_choices_of_the_workbench(engine):
    save(engine, "item 0", 1, 2)
    imports.import_records(engine, "s", [RUN, a_trace("item 0")])
    content = opened(engine)
    assert [(choice.key, choice.value) for choice in content.choices] == [("1", 1), ("2", 2), ("0", 0)]
    judges = content.judges
    assert [(row.judge, row.first, row.last) for row in judges if not row.verdict] == [
        ("j0", 1, 1),
        ("j1", 1, 2),
        ("j2", 1, 0),
    ]
    assert [row.last for row in judges if row.verdict] == [None]


def test_who_has_opened_a_case_is_no_longer_blind(engine):
    save(engine, "item 0", 1, 2)
    opened(engine, adjudicator="dan")
    with writing(engine) as session:
        label = store_label(session, studies.get(session, "s").id, make_target(), "dan", 1)
    assert not label.blind


def test_undecided_cases_are_counted_with_those_that_have_new_labels(engine):
    save(engine, "item 0", 1, 2)
    save(engine, "item 1", 1, 1)
    save(engine, "item 2", 1, 1)
    imports.import_records(engine, "s", [RUN, a_trace("item 2", a_turn(), a_verdict("agreed", (2, 2, 2)))])

    def counts():
        with reading(engine) as session:
            study = studies.get(session, "s")
            order = adjudication.order_cases(session, study)
        return order.undecided, sum(case.state != "decided" for case in cases(engine))

    assert counts() == (2, 2)
    decide(engine, "item 0", 1)
    assert counts() == (1, 1)
    save(engine, "item 0", 2)
    assert counts() == (2, 2)


# What an adjudicator reads and can decide, by kind of target


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
