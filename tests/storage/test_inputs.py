"""References and aspects that people give an item are inputs of new runs, which judge only what changed."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import Engine

from core.aius import Undo
from core.aspects import aspect_set_id
from core.critiques import aius_with_text_ids, precision_target
from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord
from core.items import Item
from core.labels import Label, Target
from core.llm.client import ScriptedModel
from core.protocols import Judge, registry
from core.trace import Ask, Spec
from storage.db.connections import reading, writing
from storage.labels import labels, targets
from storage.reports import weights
from storage.runs import aius, aspects, inputs, runs
from storage.runs.inputs import Input
from storage.studies import items, studies
from storage.studies.studies import Study
from storage.transfer import imports, samples
from storage.worker._launch import RunRequest, create_run, estimate_run, execute_here
from tests.core.protocols.critiques import CLAIMS, CRITIQUE, make_complete_item, worked_example_reply
from tests.core.protocols.critiques import make_item as make_critiqued_item
from tests.core.protocols.scorings import make_item, make_settings
from tests.sessions import read, write
from tests.storage import shared
from tests.storage.critique_studies import import_study, run_records, save_answer

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


# What runs generated becomes the items' own, for many items at once; confirmed AIUs keep their labels


OLD = aius_with_text_ids("model", CLAIMS)
OTHER_WORDS = {"Ada can own a ladder.": "A ladder can be owned by Ada.", "The reason should be put better.": "Brief."}


def other_extraction(ask: Ask) -> str:
    """Return the worked example with other words for two AIUs."""
    if ask.step != "extract":
        return "Final answer: true" if ask.step in ("precision", "recall") else worked_example_reply(ask)
    reply = worked_example_reply(ask)
    for text, other in OTHER_WORDS.items():
        reply = reply.replace(text, other)
    return reply


@pytest.fixture
def extracted(engine: Engine) -> Study:
    """Two items without AIUs, which the run "first" has extracted for both and "second" again, otherwise, for one."""
    one, two = make_critiqued_item(), make_critiqued_item(id="again")
    records = [*run_records(one, worked_example_reply, "first"), *run_records(two, worked_example_reply, "first")[1:]]
    return import_study(
        engine, ItemRecord(item=one), ItemRecord(item=two), *records, *run_records(one, other_extraction, "second")
    )


def adopt(engine: Engine, study: Study, run: str | None = None) -> int:
    return write(engine, inputs.adopt_all, study.id, "eve", run)


def texts(engine: Engine, study: Study, item: str = "ladder") -> list[str]:
    state = read(engine, aius.current_state, study.id, item)
    return [aiu.text for aiu in state.critiques[0].aius or ()]


def test_every_item_that_lacks_aius_adopts_those_of_a_run(engine: Engine, extracted: Study) -> None:
    assert adopt(engine, extracted, "first") == 2
    assert texts(engine, extracted) == texts(engine, extracted, "again") == list(CLAIMS)
    assert adopt(engine, extracted) == 0
    with pytest.raises(TiebreakError, match="no run called 'third' that splits critiques"):
        adopt(engine, extracted, "third")
    (edit,) = read(engine, aius.history, extracted.id, "again")
    assert (edit.number, edit.annotator, edit.change.type) == (1, "eve", "adopt")


def test_critiques_that_a_run_wrote_are_adopted_if_the_run_is_named(engine: Engine) -> None:
    written, complete = make_critiqued_item(id="bare", critiques=()), make_complete_item()
    critics = (Judge(name="critic", spec=Spec(model="c")),)

    def reply(ask: Ask) -> str:
        if ask.step in ("precision", "recall"):
            return "Final answer: true"
        return CRITIQUE if ask.step == "hypothesis_critique" else worked_example_reply(ask)

    records = [ItemRecord(item=item) for item in (written, complete)]
    run = [*run_records(written, reply, "w", critics=critics), *run_records(complete, reply, "w", critics=critics)[1:]]
    study = import_study(engine, *records, *run)
    assert (adopt(engine, study), adopt(engine, study, "w"), adopt(engine, study, "w")) == (1, 1, 0)
    states = read(engine, aius.current_states, study.id)
    assert [critique.author for critique in states["bare"].critiques] == ["critic", "a"]
    assert [critique.id for critique in states["ladder"].critiques] == ["c1", "ref", "critic"]


def test_of_several_runs_the_newest_counts(engine: Engine, extracted: Study) -> None:
    assert adopt(engine, extracted) == 2
    assert "Brief." in texts(engine, extracted) and texts(engine, extracted, "again") == list(CLAIMS)


def test_confirmed_aius_of_a_reextraction_keep_their_id_text_and_labels(engine: Engine, extracted: Study) -> None:
    adopt(engine, extracted, "first")
    kept = next(aiu for aiu in OLD if aiu.text == "Ada can own a ladder.")
    save_answer(engine, extracted, precision_target("ladder", kept.id), True)
    (found,) = read(engine, inputs.reextractions, extracted.id, "second")
    proposed = {match.old.text: match.new for match in found.matches()}
    assert "The reason should be put better." not in proposed
    confirmed = {("ladder", "model"): {proposed[kept.text].id: kept.id}}
    assert write(engine, inputs.replace_aius, extracted.id, "eve", "second", confirmed) == 1
    after = texts(engine, extracted)
    assert kept.text in after and "Brief." in after and "The reason should be put better." not in after
    with reading(engine) as session:
        assert kept.id in aius.current_state(session, extracted.id, "ladder").aius()
        assert len(labels.history(session, extracted.id, precision_target("ladder", kept.id))) == 1
    write(engine, aius.save_edit, extracted.id, "ladder", "eve", Undo(edit=2))
    assert texts(engine, extracted) == list(CLAIMS)


def test_without_a_confirmation_a_reextracted_aiu_is_a_new_one(engine: Engine, extracted: Study) -> None:
    adopt(engine, extracted, "first")
    write(engine, inputs.replace_aius, extracted.id, "eve", "second", {("ladder", "model"): {}})
    assert "A ladder can be owned by Ada." in texts(engine, extracted)


# Sets of aspects in the database: their members, and their weights and ratings


ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")
NOTE = Target(item="farewell note", kind="aspect_weights", part=aspect_set_id(ASPECTS))


@pytest.fixture
def weighed(engine: Engine) -> Study:
    """Import the sample weighed of DnA-Eval."""
    return shared.import_study(engine, tiebreak.read(samples.path("dna_eval")))


def test_aspects_definitions_and_weights_are_those_of_the_run(engine: Engine, weighed: Study) -> None:
    with reading(engine) as session:
        assert aspects.of_target(session, weighed.id, NOTE) == ASPECTS
        relevance = aspects.definitions(session, weighed.id, NOTE)["relevance"]
        assert relevance == "The response answers the question that was asked."
        by_judge = aspects.judge_weights(session, weighed.id, NOTE)
        assert by_judge["judge B"] == {"accuracy": 20, "helpfulness": 40, "relevance": 30, "level of detail": 10}
        annotators = {f"annotator {number}" for number in (1, 2, 3)}
        assert aspects.annotator_weights(session, weighed.id, NOTE).keys() == annotators
    with pytest.raises(TiebreakError, match="not on 'charm'"):
        aspects.quality_target(NOTE, "charm")


def test_proposed_aspects_are_read_from_the_judges_turn(engine: Engine, weighed: Study) -> None:
    with reading(engine) as session:
        weighted = [target for _, target in targets.of_study(session, weighed.id) if target.kind == "aspect_weights"]
        proposed = next(one for one in weighted if one.item == NOTE.item and one.part != NOTE.part)
        assert aspects.of_target(session, weighed.id, proposed)[1] == "Is there humour that fits an office farewell?"


def test_aspects_without_a_run_are_read_from_a_label(engine: Engine) -> None:
    target = Target(item="i", kind="aspect_weights", part=aspect_set_id(("x", "y")))
    label = Label(target=target, annotator="ann", value={"y": 60, "x": 40})
    imports.import_records(engine, "bare", [ItemRecord(item=Item(id="i", prompt="?")), LabelRecord(label=label)])
    with reading(engine) as session:
        bare = studies.get(session, "bare")
        assert aspects.of_target(session, bare.id, target) == ("y", "x")
        with pytest.raises(TiebreakError, match="aspects of item 'i' are not known"):
            aspects.of_target(session, bare.id, target.model_copy(update={"part": "other"}))
