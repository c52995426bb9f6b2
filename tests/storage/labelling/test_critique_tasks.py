"""Critiques and refined answers in the workbench: rated, and compared blind in an order of each annotator's own."""

import pytest

from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.labels import Target
from core.protocols.critique_baselines.protocol import (
    PAIRWISE_NAME,
    REFINEMENT_NAME,
    SINGLE_NAME,
    PairwiseSettings,
    RefinementSettings,
    SingleSettings,
)
from core.protocols.registry import PROTOCOLS
from core.statistics.reports import peer_errors
from storage.db.connections import reading, writing
from storage.labelling import adjudication, peers
from storage.reports import peer_reviews
from storage.studies import studies
from tests.core.protocols import reviews
from tests.core.protocols.critiques import make_complete_item, make_judges, run_scripted
from tests.core.protocols.reviews import make_item, make_settings, reviews_script
from tests.storage.critique_studies import import_study
from tests.storage.labelling.workbench import Client, listed_cases, stored
from tests.storage.shared import store_label, stored_study

PAIR = Target(item="ladder", kind="preference", criterion="critique", part="c1 or c2")


def run_of(protocol, settings, script, item):
    """Return the records of a run with one scripted trace."""
    result = run_scripted(script, settings, item, protocol)
    record = RunRecord(
        name=protocol,
        protocol=protocol,
        settings=settings.model_dump(mode="json"),
        prompts=PROTOCOLS[protocol].prompts,
    )
    return [record, TraceRecord(run=protocol, item=item.id, events=tuple(result.events))]


def refine_or_compare(ask):
    if ask.step == "refine":
        return f"The answer after {'first' if 'Critique 1.' in ask.prompt else 'second'} critique."
    return "Answer A is clearer. [[A]]"


@pytest.fixture
def clients(engine):
    """`clients(queue, annotator)`: a window on one of the queues of critiques, in a study that judges have compared."""
    item = make_complete_item(2)
    judges = make_judges()
    import_study(
        engine,
        ItemRecord(item=item),
        *run_of(SINGLE_NAME, SingleSettings(judges=judges), lambda ask: "Fine. [[6]]", item),
        *run_of(PAIRWISE_NAME, PairwiseSettings(judges=judges), lambda ask: "Critique A is clearer. [[A]]", item),
        *run_of(REFINEMENT_NAME, RefinementSettings(judges=judges), refine_or_compare, item),
        overlap=20,
    )
    return lambda queue, annotator="ann": Client(engine, annotator, queue=queue)


def key(task, digit):
    """Return the value of a key."""
    return next(option["value"] for option in task["targets"][0]["options"] if option["key"] == digit)


def test_each_two_critiques_are_compared_without_their_authors(clients):
    [task] = clients("critiques").tasks()
    assert (task["panel"], task["question"]) == ("critiques", "Which critique is better?")
    assert sorted(block["text"] for block in task["columns"]) == ["Critique 1.", "Critique 2."]
    assert [block["title"] for block in task["columns"]] == ["Critique 1", "Critique 2"]
    assert [block["title"] for block in task["above"]] == ["Question", "Answer", "Reference answer"]
    assert not any(hidden in str(task) for hidden in ("author", "c1 or c2", "clearer"))


def test_each_critique_is_first_for_one_of_two_annotators_and_a_value_names_it_whatever_the_order(clients, engine):
    orders = set()
    for name in ("ann", "bob"):
        client = clients("critiques", name)
        [task] = client.tasks()
        orders.add(task["columns"][0]["text"])
        client.label(task, key(task, "1"), shown=task["shown"])
        label = stored(engine)[-1]
        assert task["columns"][0]["text"] == f"Critique {label.value}."
        assert (label.shown, label.value) == (task["shown"], task["shown"][0])
    assert orders == {"Critique 1.", "Critique 2."}


def test_the_judges_are_shown_after_the_label_and_name_the_texts_by_their_place_on_the_screen(clients):
    client = clients("critiques")
    [task] = client.tasks()
    [opinion] = client.label(task, 0)["reveal"]["opinions"]
    assert opinion["judge"] == "a" and opinion["value"] in (1, 2) and opinion["reason"].startswith("Critique A")
    [reference] = opinion["references"]
    assert reference["column"] == f"critique-{opinion['value']}", "the judge preferred what it was shown first"
    assert reference["column"] in [block["id"] for block in task["columns"]]


def test_critiques_are_rated_from_1_to_7_with_anchors(clients, engine):
    client = clients("critique_ratings")
    tasks = client.tasks()
    assert [task["panel"] for task in tasks] == ["scores"] * 2
    assert sorted(task["columns"][0]["text"] for task in tasks) == ["Critique 1.", "Critique 2."]
    assert len(tasks[0]["targets"][0]["options"]) == 7 and len(tasks[0]["criterion"]["rubric"]) == 7
    result = client.label(tasks[0], 5)
    assert [(one["judge"], one["value"]) for one in result["reveal"]["opinions"]] == [("a", 6)]
    assert client.do("label", tasks[1], value=8)["status"] == "rejected"
    assert [row.value for row in stored(engine)] == [5]


def test_refined_answers_are_compared_blind(clients):
    client = clients("refined_answers")
    [task] = client.tasks()
    assert sorted(block["text"] for block in task["columns"]) == [
        "The answer after first critique.",
        "The answer after second critique.",
    ]
    assert "Critique" not in str([task["columns"], task["above"]])
    [opinion] = client.label(task, key(task, "2"))["reveal"]["opinions"]
    assert opinion["references"][0]["column"] == f"answer-{opinion['value']}"


def test_labels_of_critiques_are_carried_out_from_another_page_and_are_in_their_queue(clients, engine):
    [task] = clients("critiques").tasks()
    elsewhere = clients("aius")
    assert elsewhere.label(task, 1)["status"] == "accepted"
    assert clients("critiques").progress()["labelled"] == 1
    disagreements = clients("disagreements")
    assert disagreements.tasks() == disagreements.tasks(tab="done") == []


@pytest.mark.parametrize(
    ("criterion", "noun", "texts"),
    [
        ("critique", "critique", ["Critique 1.", "Critique 2."]),
        ("refined answer", "answer", ["The answer after first critique.", "The answer after second critique."]),
    ],
)
def test_a_contested_comparison_is_adjudicated_with_both_texts(clients, engine, criterion, noun, texts):
    clients("critiques")
    target = PAIR.model_copy(update={"criterion": criterion})
    with writing(engine) as session:
        study = studies.get(session, "s")
        store_label(session, study.id, target, "ann", 1)
        store_label(session, study.id, target, "bob", 2)
        (case,) = listed_cases(session, "eve")
        content = adjudication.open_case(session, study, case, "eve")
    assert content.question == f"Which {noun} is better?"
    compared = [passage for passage in content.passages if passage.id in (f"{noun}-1", f"{noun}-2")]
    assert [passage.text for passage in compared] == texts
    assert [choice.name for choice in content.choices[:2]] == [
        f"{noun.capitalize()} {number} is better" for number in (1, 2)
    ]


def test_a_contested_rating_of_a_critique_is_adjudicated_with_its_text(clients, engine):
    clients("critique_ratings")
    target = Target(item="ladder", kind="likert", criterion="critique", part="c2")
    with writing(engine) as session:
        study = studies.get(session, "s")
        store_label(session, study.id, target, "ann", 1)
        store_label(session, study.id, target, "bob", 7)
        (case,) = listed_cases(session, "eve")
        content = adjudication.open_case(session, study, case, "eve")
    assert [passage.text for passage in content.passages if passage.id == "critique"] == ["Critique 2."]


# Which peer misled the chair: asked after one's own score, without names, and compared with the estimate


SCORE = Target(item="flamingos", kind="score", criterion="engaging")
MISLED = Target(item="flamingos", kind="misleading_peer", criterion="engaging", part="review")


@pytest.fixture
def study(engine):
    item, settings = make_item(), make_settings()
    review = reviews.run_scripted(reviews_script([3], a=3, b=1, c=1), settings, item)
    run = RunRecord(
        name="review", protocol="refer", settings=settings.model_dump(mode="json"), prompts=PROTOCOLS["refer"].prompts
    )
    import_study(engine, ItemRecord(item=item), run, TraceRecord(run="review", item=item.id, events=review.events))
    study = stored_study(engine)
    peers.create_missing_targets(engine, study.id)
    return study


def label(engine, target, annotator):
    with writing(engine) as session:
        store_label(session, studies.get(session, "s").id, target, annotator, 1)


def test_a_review_is_shown_and_labelled_after_the_own_score_only(engine, study):
    client = Client(engine, "ann", queue="peers")
    assert client.tasks() == [] and client.progress()["total"] == 0
    label(engine, SCORE, "bob")
    assert client.tasks() == [], "another person's score shows nothing"
    label(engine, SCORE, "ann")
    [task] = client.tasks()
    assert [block["title"] for block in task["columns"]] == ["Peer 1: 3", "Peer 2: 1", "Peer 3: 1"]
    assert task["above"][-1]["title"] == "Area chair: 3" and "model-" not in str(task)
    assert [option["key"] for option in task["targets"][0]["options"]] == ["1", "2", "3", "0"]
    assert client.do("label", task, value=4)["status"] == "rejected"
    assert client.label(task, 1)["status"] == "accepted"


def test_the_estimate_is_compared_with_people_and_the_case_shows_the_reviews(engine, study):
    label(engine, SCORE, "ann")
    label(engine, MISLED, "ann")
    with reading(engine) as session:
        [run] = peer_reviews.find_runs(session, study.id)
        errors = peer_reviews.load_errors(session, run)
        passages = adjudication._passages(session, study.id, MISLED, make_item())
    outcomes = peer_errors.classify_traces(errors.reviewed, 0.5)
    rows, agreement = peer_errors.compare_with_people(outcomes, errors.misleading)
    assert rows == [("a", 1, 1), ("b", 0, 0), ("c", 0, 0), ("none", 0, 0)]
    assert (agreement.value, agreement.items_total) == (1, 1)
    assert [passage.id for passage in passages[-4:]] == ["chair", "peer-1", "peer-2", "peer-3"]
