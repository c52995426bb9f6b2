"""References and aspects that people give an item are inputs of new runs, which judge only what changed."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.llm.client import ScriptedModel
from core.protocols import registry
from core.trace import Ask
from storage.db.connections import reading, writing
from storage.labels import targets
from storage.reports import weights
from storage.runs import aius, aspects, inputs, runs
from storage.runs.inputs import Input
from storage.studies import items
from storage.studies.studies import Study
from storage.worker._launch import RunRequest, create_run, estimate_run, execute_here
from tests.core.protocols.scorings import make_item, make_settings
from tests.sessions import read, write
from tests.storage.critique_studies import import_study

THREE = ("accuracy", "depth", "tone: Is it polite?")


@pytest.fixture
def study(engine: Engine) -> Study:
    """One item with two responses, without a reference and without aspects."""
    return import_study(engine, ItemRecord(item=make_item()))


def reply(ask: Ask) -> str:
    """Return a reply of the expected form, with as many numbers as the prompt asks for."""
    if ask.step == "aspects":
        return "1. accuracy: Are the facts right?\n2. depth: Is it deep?\n3. length: Is it short?"
    names = ask.answer.names
    values = dict.fromkeys(names, 100 // len(names)) if ask.step == "weights" else dict.fromkeys(names, 7)
    values[names[0]] += 100 - sum(values.values()) if ask.step == "weights" else 1
    return "\n".join(f"{name}: {value}" for name, value in values.items())


def run(engine: Engine, study: Study, name: str, **fields: Any) -> list[Ask]:
    """Execute a new run of DnA-Eval; return what its model was asked."""
    model = ScriptedModel(reply)
    settings = make_settings(**{"aspects": ("accuracy", "depth")} | fields)
    run_id = create_run(engine, RunRequest(study, registry.get("dna_eval"), settings, name))
    asyncio.run(execute_here(engine, run_id, lambda run, progress: None, model))
    return model.asked


def save(engine: Engine, study: Study, **fields: Any) -> int:
    return write(engine, inputs.save, study.id, "eve", {"dryers": Input(**fields)})


def standing(engine: Engine, study: Study) -> inputs.StandingInput:
    (row,) = read(engine, inputs.standing, study.id)
    return row


def test_a_run_takes_the_standing_aspects_and_asks_only_about_the_new_one(engine: Engine, study: Study) -> None:
    request = RunRequest(study, registry.get("dna_eval"), make_settings(aspects=("accuracy", "depth")), "second")
    assert estimate_run(engine, request).calls_at_most == 3
    assert sorted(ask.step for ask in run(engine, study, "first")) == ["score", "score", "weights"]
    assert save(engine, study, aspects=THREE) == 1
    assert estimate_run(engine, request).calls_at_most == 4
    asked = run(engine, study, "second")
    assert sorted(ask.step for ask in asked) == ["score", "weights"]
    assert "Is it polite?" in next(ask.prompt for ask in asked if ask.step == "score")
    assert save(engine, study, aspects=THREE) == 0  # nothing differs


def test_earlier_runs_stay_as_they_were(engine: Engine, study: Study) -> None:
    run(engine, study, "first")
    save(engine, study, aspects=THREE, reference="Warm and quiet.")
    with reading(engine) as session:
        (first,) = runs.of_study(session, study.id)
        item = items.get(session, study.id, "dryers")
        assert aius.evaluated_item(session, first, item) == item
        (target,) = [t for _, t in targets.of_study(session, study.id) if t.kind == "aspect_weights"]
        assert aspects.of_target(session, study.id, target) == ("accuracy", "depth")
    run(engine, study, "second")
    found = {t.part for _, t in read(engine, targets.of_study, study.id) if t.kind == "aspect_weights"}
    assert len(found) == 2
    assert weights.load_pairs(engine, study) == {}  # no gold; every judgement is read with its own aspects


def test_a_reference_is_in_the_prompts_of_the_next_run(engine: Engine, study: Study) -> None:
    request = RunRequest(
        study,
        registry.get("dna_eval"),
        make_settings(),
        "run",
        own_prompts={"weights": registry.get("dna_eval").prompts["weights"] + "\n$reference"},
    )
    save(engine, study, reference="  Warm and quiet. ")
    model = ScriptedModel(reply)
    run_id = create_run(engine, request)
    asyncio.run(execute_here(engine, run_id, lambda run, progress: None, model))
    assert any("Warm and quiet." in ask.prompt for ask in model.asked if ask.step == "weights")
    assert (standing(engine, study).reference, standing(engine, study).reference_by) == ("Warm and quiet.", "eve")
    save(engine, study, reference="")
    assert (standing(engine, study).reference, standing(engine, study).reference_by) == (None, "eve")


def test_the_aspects_that_a_run_proposed_are_adopted_by_items_without_any(engine: Engine, study: Study) -> None:
    run(engine, study, "proposing", aspects=())
    with writing(engine) as session:
        assert inputs.adopt_aspects(session, study.id, "eve", "proposing") == 1
        assert inputs.adopt_aspects(session, study.id, "eve", "proposing") == 0
    row = standing(engine, study)
    assert row.aspects[:1] == ("accuracy: Are the facts right?",) and len(row.aspects) == 3
    assert row.aspects_by == "eve, from proposing"
    assert "aspects" not in {ask.step for ask in run(engine, study, "next", aspects=())}
    with writing(engine) as session, pytest.raises(TiebreakError, match="no run called 'x' in which judges propose"):
        inputs.adopt_aspects(session, study.id, "eve", "x")


def test_invalid_inputs_are_refused_in_a_sentence(engine: Engine, study: Study) -> None:
    with pytest.raises(TiebreakError, match=r"^The aspects of item 'dryers': an aspect is given twice\.$"):
        save(engine, study, aspects=("a", "A"))
    with writing(engine) as session, pytest.raises(TiebreakError, match="There is no item 'x' in this study"):
        inputs.save(session, study.id, "eve", {"x": Input(reference="r")})
