"""A new run evaluates the AIUs as annotators edited them, and asks only about what changed."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import Engine

from core.aius import Adopt, Piece, Reword, SetReference, Split
from core.critiques import Critique
from core.formats.records import ItemRecord
from core.llm.client import ScriptedModel
from core.protocols import registry
from core.protocols.critique_baselines.correction import Settings
from core.trace import Ask, TurnCompleted
from storage.db.connections import reading, writing
from storage.runs import aius, readings, runs, traces
from storage.studies import items
from storage.studies.studies import Study
from storage.worker._launch import RunRequest, create_run, estimate_run, execute_here
from tests.core.protocols.critiques import make_complete_item, make_settings
from tests.storage.critique_studies import import_study, save_edit
from tests.storage.shared import find_traces

REPLY = "Evidence: what the texts say.\nReasoning: so it is.\nFinal answer: true"
REWORD = Reword(aiu="c1.1", piece=Piece(text="One, better."))


@pytest.fixture
def study(engine: Engine) -> Study:
    """An item with a critique of two AIUs and a reference of one."""
    return import_study(engine, ItemRecord(item=make_complete_item()))


def test_a_correction_is_by_the_adopted_critique_of_its_author(engine: Engine, study: Study) -> None:
    adopted = Critique(id="mia", author="mia", source="llm", text="It is the other way round.")
    save_edit(engine, study, Adopt(run="r", critiques=(adopted,)))
    model = ScriptedModel(lambda ask: "Final answer: true")
    critic, grader = ({"name": name, "spec": {"model": "m"}} for name in ("mia", "g"))
    settings = Settings(critic=critic, critique="of the item", verdict="graded", grader=grader)
    request = RunRequest(study, registry.get("critique-correction"), settings, "corrected")
    asyncio.run(execute_here(engine, create_run(engine, request), lambda run, progress: None, model))
    assert [ask.step for ask in model.asked] == ["refine", "grade", "grade"]
    assert "It is the other way round." in model.asked[0].prompt


def run(engine: Engine, study: Study, name: str = "run", **settings: Any) -> tuple[int, list[Ask]]:
    """Execute a new run; return its id, and what its model was asked."""
    model = ScriptedModel(lambda ask: REPLY)
    request = RunRequest(study, registry.get("metacritique"), make_settings(**settings), name)
    run_id = create_run(engine, request)
    ended, _ = asyncio.run(execute_here(engine, run_id, lambda run, progress: None, model))
    assert ended.state == "finished"
    return run_id, model.asked


def opinions_of(engine: Engine, study: Study, run_id: int) -> set[str]:
    with reading(engine) as session:
        (trace,) = find_traces(session, traces.Filter(study.id, run_id))
        verdict = [event for _, event in traces.events(session, trace.id)][-1].verdict
    return {opinion.part for opinion in verdict.opinions}


def test_a_new_run_judges_the_edited_aius_and_asks_only_about_them(engine: Engine, study: Study) -> None:
    first, asked = run(engine, study)
    assert len(asked) == 3
    save_edit(engine, study, REWORD)
    second, asked = run(engine, study, "again")
    assert len(asked) == 1 and "One, better." in asked[0].prompt
    assert opinions_of(engine, study, first) == {"c1.1", "c1.2", "ref.1@c1"}
    assert opinions_of(engine, study, second) == {"c1.e1", "c1.2", "ref.1@c1"}
    imported, _ = run(engine, study, "of the imported AIUs", edited_aius=False)
    assert opinions_of(engine, study, imported) == {"c1.1", "c1.2", "ref.1@c1"}
    with reading(engine) as session:
        (trace,) = find_traces(session, traces.Filter(study.id, second))
        turns = [e.turn for _, e in traces.events(session, trace.id) if isinstance(e, TurnCompleted)]
    assert sorted(turn.reused for turn in turns) == ["", "run", "run"]


def test_a_new_reference_is_judged_by_and_only_what_depends_on_it_is_asked_again(engine: Engine, study: Study) -> None:
    run(engine, study)
    save_edit(engine, study, SetReference(text="Another answer."))
    _, asked = run(engine, study, "again")
    assert [ask.step for ask in asked] == ["precision", "precision"]  # recall depends on the reference critique
    assert all("Another answer." in ask.prompt for ask in asked)


def test_later_edits_change_nothing_about_a_run(engine: Engine, study: Study) -> None:
    run_id, _ = run(engine, study)
    save_edit(engine, study, REWORD)
    with reading(engine) as session:
        found = runs.get(session, run_id)
        item = items.get(session, study.id, "ladder")
        assert aius.evaluated_item(session, found, item) == item
    assert list(readings.reread_study(engine, study)) == []


def test_an_estimate_is_of_the_edited_aius(engine: Engine, study: Study) -> None:
    request = RunRequest(study, registry.get("metacritique"), make_settings(), "run")
    before = estimate_run(engine, request).calls_at_most
    with writing(engine) as session:
        change = Split(aiu="c1.1", into=(Piece(text="One a."), Piece(text="One b.")))
        aius.save_edit(session, study.id, "ladder", "ann", change)
    assert estimate_run(engine, request).calls_at_most == before + 1
