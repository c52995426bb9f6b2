"""Transcripts are stored once, outside of items, and judges see them as text."""

import asyncio

import pytest
from sqlalchemy import delete, func, select

from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, RunRecord, ScaleRecord, TraceRecord, TranscriptRecord
from core.formats.transcripts.messages import read_transcript
from core.items import Response
from core.labels import STEPS, Label, Opinion, Scale, Target
from core.llm import costs
from core.llm.client import ScriptedModel
from core.protocols import registry
from core.trace import Spec, Verdict, VerdictReached
from core.transcripts import ERROR_CATEGORY, FIRST_WRONG_STEP, steps_left_out
from storage.db.connections import reading, writing
from storage.db.tables import StudyRow, TranscriptRow
from storage.labelling import adjudication, offers
from storage.labels import targets
from storage.labels.labels import adjudicate as decide
from storage.reports import agreement
from storage.studies import items, studies, transcripts
from storage.transfer import imports
from storage.transfer.gold import gold_rows
from storage.worker._launch import RunRequest, create_run, estimate_run, execute_here
from tests.conftest import make_item
from tests.core.protocols.debates import make_settings
from tests.storage.labelling.workbench import Client
from tests.storage.shared import import_study
from tests.storage.transfer.test_imports import export

IMAGE = {"type": "image_url", "image_url": {"url": "https://images.example/a.png"}}
AGENT = read_transcript(
    [
        {"role": "user", "content": ["Rome?", IMAGE]},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "weather", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "timeout", "is_error": True},
        {"role": "assistant", "content": "I cannot tell."},
    ]
)
RESPONSES = (Response(text=AGENT.answer, transcript=AGENT.digest), Response(text="31"))
RECORDS = [
    TranscriptRecord(transcript=AGENT),
    ItemRecord(item=make_item("a", responses=RESPONSES)),
    ItemRecord(item=make_item("b", responses=RESPONSES[::-1])),
]


def count(engine):
    with reading(engine) as session:
        return session.scalars(select(func.count()).select_from(TranscriptRow)).one()


def test_a_transcript_is_stored_once_and_exported_before_its_items(engine):
    imports.import_records(engine, "s", [*RECORDS, RECORDS[0]])
    assert imports.import_records(engine, "s", RECORDS).summary().startswith("nothing new")
    assert count(engine) == 1
    exported = [record for record in export(engine, "s") if record.type in ("item", "transcript")]
    assert exported == RECORDS
    with reading(engine) as session:
        study = studies.get(session, "s")
        bodies = items.by_key(session, study.id)
        assert "timeout" not in bodies["a"].model_dump_json() and bodies["a"].responses[0].text == "I cannot tell."
        text = transcripts.with_text(session, study.id, bodies["a"]).responses[0].text
    assert text.splitlines()[-2:] == ["[4] error of weather: timeout", "[5] assistant: I cannot tell."]
    with writing(engine) as session:
        session.execute(delete(StudyRow))
    assert count(engine) == 0


def test_an_item_without_its_transcript_is_refused(engine):
    with pytest.raises(TiebreakError, match=r"Item 'a' refers to the transcript '.*', which is neither in the file"):
        imports.import_records(engine, "s", RECORDS[1:])


def test_judges_are_asked_about_the_transcript_and_images_are_stated_before(engine):
    study = import_study(engine, RECORDS)
    model = ScriptedModel(lambda ask: "Final answer: 1")
    request = RunRequest(study, registry.get("scaleeval"), make_settings(), "run")
    assert "images in transcripts are not sent" in estimate_run(engine, request).summary()
    run_id = create_run(engine, request)
    asyncio.run(execute_here(engine, run_id, lambda run, progress: None, model))
    assert model.asked and "left out" not in model.asked[0].prompt
    for ask in model.asked:
        assert "[4] error of weather: timeout\n[5] assistant: I cannot tell." in ask.prompt
        assert "(an image that is not shown: https://images.example/a.png)" in ask.prompt


def test_judges_read_a_transcript_within_the_smallest_budget_with_the_steps_that_the_question_cites(engine):
    long = read_transcript([{"role": "user", "content": f"m{n} " + "x" * 300} for n in range(1, 101)])
    responses = (Response(text="?", transcript=long.digest), Response(text="31"))
    item = make_item("a", responses=responses).model_copy(update={"prompt": "Is [50] right?"})
    study = import_study(engine, [TranscriptRecord(transcript=long), ItemRecord(item=item)])
    small, *others = make_settings().judges
    small = small.model_copy(update={"spec": small.spec.model_copy(update={"transcript_tokens": 1000})})
    request = RunRequest(study, registry.get("scaleeval"), make_settings(judges=(small, *others)), "run")
    assert "steps are left out of the transcripts of 1 of 1 simulated items" in estimate_run(engine, request).summary()
    model = ScriptedModel(lambda ask: "Final answer: 1")
    asyncio.run(execute_here(engine, create_run(engine, request), lambda run, progress: None, model))
    for ask in model.asked:
        assert "\n[1] user: m1 " in ask.prompt and "\n[50] user: m50 " in ask.prompt and len(ask.prompt) < 8000
        before, after = steps_left_out(ask.prompt)
        assert before.endswith("to 49, 42 of 100") and after.startswith("steps 51 to ")
    assert costs.transcript_budget(Spec(model="gpt-4o")) == 4 * 50_000
    assert costs.transcript_budget(Spec(model="gpt-4")) == 4 * 4096  # half of its context


def test_the_first_wrong_step_is_labelled_adjudicated_and_exported_as_any_answer(engine):
    imports.import_records(engine, "s", RECORDS)
    with writing(engine) as session:
        study = studies.get(session, "s")
        scale = offers.scales(session, study.id)["answer", FIRST_WRONG_STEP]
        offers.create_targets(session, study.id, "answer", FIRST_WRONG_STEP, scale)
    for name, steps in {"ann": (4, 3), "bob": (4, 0), "cyd": (4, 3)}.items():
        client = Client(engine, name, queue="answers")
        todo = sorted(client.tasks(), key=lambda task: task["columns"][0]["id"])
        assert [task["columns"][0]["text"].splitlines()[-2] for task in todo] == ["[4] error of weather: timeout"] * 2
        assert todo[0]["targets"][0]["number"] == {"low": 0, "high": 5}
        assert todo[0]["question"].startswith("Which step went wrong first?")
        assert client.label(todo[0], 6)["status"] == "rejected"  # the transcript has 5 steps
        for task, step in zip(todo, steps, strict=True):
            assert client.label(task, step)["status"] == "accepted"
    with reading(engine) as session:
        rows = list(gold_rows(session, study))
    assert [(row.gold.target.part, row.gold.value, row.gold.source) for row in rows] == [
        ("1", 4, "unanimous"),
        ("2", 3, "majority"),
    ]
    found = {row.statistic: row for row in agreement.rows(engine, study, "all")}
    # labels 4 4 4 and 3 0 3: observed agreement 2/3, expected (1/2)^2 + (1/3)^2 + (1/6)^2 = 7/18
    assert found["fleiss_kappa"].value == pytest.approx((2 / 3 - 7 / 18) / (1 - 7 / 18))
    assert "krippendorff_alpha_interval" not in found


def test_steps_are_compared_and_decided_at_full_shape_and_others_are_refused(engine):
    """Three annotators, of whom one says none; two judges with three repetitions each; the category of a step."""
    step, kind = FIRST_WRONG_STEP, "answer"
    only, category = make_item("a", responses=RESPONSES[:1]), Target(item="a", kind=kind, criterion=ERROR_CATEGORY)
    first, on_step = Target(item="a", kind=kind, criterion=step), category.model_copy(update={"part": "step 4"})
    scales = [ScaleRecord(kind=kind, criterion=step, scale=STEPS)]
    scales += [
        ScaleRecord(kind=kind, criterion=ERROR_CATEGORY, scale=Scale(level="nominal", categories=("none", "tool")))
    ]
    labels = [Label(target=first, annotator=name, value=value) for name, value in {"x": 4, "y": 4, "z": 0}.items()]
    labels += [Label(target=on_step, annotator=name, value="tool") for name in "xyz"]
    records = [RECORDS[0], ItemRecord(item=only), *scales, *(LabelRecord(label=label) for label in labels)]
    for judge, value in {"j": 4, "k": 2}.items():
        for repeat in (1, 2, 3):
            opinion = Opinion(kind=kind, criterion=step, judge=judge, stage="verdict", value=value)
            run = RunRecord(name=f"{judge}{repeat}", protocol="single-score", repeat=repeat, criterion=step)
            verdict = VerdictReached(verdict=Verdict(outcome="agreed", value=value, opinions=(opinion,)))
            records += [run, TraceRecord(run=run.name, item="a", events=(verdict,))]
    imports.import_records(engine, "s", records)
    with reading(engine) as session:
        study = studies.get(session, "s")
        rows = {row.gold.target: row.gold for row in gold_rows(session, study)}
        ids = {target: id for id, target in targets.of_study(session, study.id)}
        cases = {target: adjudication.find_case(session, study, "boss", ids[target]) for target in (first, on_step)}
    assert (rows[first].value, rows[first].source) == (4, "majority")
    assert (rows[on_step].value, rows[on_step].source) == ("tool", "unanimous")
    assert cases[first].is_contested and not cases[on_step].is_contested
    with writing(engine) as session:
        content = adjudication.open_case(session, study, cases[first], "boss")
        assert [passage.text for passage in content.passages[:2]] == [
            "[2] user: (an image that is not shown: https://images.example/a.png)", "[4] error of weather: timeout"
        ]  # fmt: skip
        assert {(row.judge, row.last) for row in content.judges} == {("j", 4), ("k", 2)}
        assert len(content.judges) == 6
        assert (
            adjudication.open_case(session, study, cases[on_step], "boss").question
            == "Which error category has step 4?"
        )
        with pytest.raises(TiebreakError, match="There is no step 6: item 'a' has the steps 1 to 5"):
            decide(session, study.id, first, 6, rule="", reason="?", adjudicator="boss")
        assert decide(session, study.id, first, 4, rule="", reason="It failed.", adjudicator="boss").value == 4
    found = {row.statistic: row for row in agreement.rows(engine, study, "all") if row.criterion == step}
    assert found["percent"].value == pytest.approx(1 / 3)
    with writing(engine) as session:
        scale = offers.scales(session, study.id)[kind, ERROR_CATEGORY]
        offers.create_targets(session, study.id, kind, ERROR_CATEGORY, scale)
        parts = {own.part for _, own in targets.of_study(session, study.id) if own.criterion == ERROR_CATEGORY}
    assert parts == {"step 4"}  # nobody named another step, and none is no step
    for target, value in ((first, 6), (category.model_copy(update={"part": "step 9"}), "tool")):
        wrong = LabelRecord(label=Label(target=target, annotator="x", value=value))
        with pytest.raises(TiebreakError, match=r"There is no step \d: item 'a' has the steps 1 to 5"):
            imports.import_records(engine, "t", [RECORDS[0], ItemRecord(item=only), *scales, wrong])
