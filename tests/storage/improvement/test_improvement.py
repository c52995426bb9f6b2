"""From a split to an accepted variant."""

import asyncio
from functools import partial

import pytest
from sqlalchemy import Engine

import tiebreak
from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ItemRecord, LabelRecord
from core.improvement.changes import PARTS, Changes
from core.items import Criterion, Response
from core.labels import Label, Scale
from core.llm.client import ScriptedModel
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_settings
from core.trace import Ask
from storage.db import audit
from storage.db.connections import reading, write
from storage.improvement import evaluations, judges, splits
from storage.labels import labels, views
from storage.runs import experiments
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from storage.worker import RunRequest, create_run, execute_experiment, execute_here
from tests.conftest import make_item, make_label, make_target
from tests.sessions import read
from tests.storage.improvement.studies_to_improve import (
    BETTER,
    HARMFUL,
    USELESS,
    current_judge,
    prepare,
    propose,
    results,
    run_part,
    split,
)
from tests.storage.shared import import_study

ON_SQLITE = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
"""For tests that take seconds and depend on the database as little as the others, which use both."""


@pytest.fixture
def study(engine: Engine) -> Study:
    made = prepare(engine)
    split(engine, made)
    return made


def held_out_items(engine: Engine, study: Study) -> set[str]:
    with reading(engine) as session:
        return {item for item, part in splits.parts(session, study.id).items() if part == "held-out"}


def accept(engine: Engine, study: Study, name: str) -> int:
    evaluation = results(engine, study, name)
    return write(engine, lambda session: evaluations.accept(session, study, evaluation))


def test_a_split_has_the_parts_of_its_preview_and_is_made_once(engine: Engine) -> None:
    study = prepare(engine)
    with reading(engine) as session:
        expected = splits.preview(session, study.id, share=0.5, seed=0)
        assert splits.find(session, study.id) is None
    made = split(engine, study)
    assert expected == {part: made.count(part) for part in PARTS} == {"development": 12, "held-out": 12}
    assert read(engine, splits.get, study.id).items == made.items
    assert made.items == {name: {"development": 6, "held-out": 6} for name in ("math", "prose")}
    assert (made.rule.evaluations, made.rule.margin) == (5, 0.0)
    with pytest.raises(TiebreakError, match="has a split already"):
        split(engine, study)


@ON_SQLITE
def test_items_with_new_gold_are_added_and_the_others_keep_their_part(engine: Engine, study: Study) -> None:
    before = held_out_items(engine, study)
    new = [make_item(f"new {n}") for n in range(4)]
    related = make_item("related", prompt=make_item(min(before)).prompt)
    records = [ItemRecord(item=item) for item in (*new, related)]
    imports.import_records(engine, "s", [*records, *(make_label(item=item.id) for item in (*new, related))])
    assert write(engine, lambda session: splits.extend(session, study.id)) == 5
    after = held_out_items(engine, study)
    assert before | {"related"} <= after and len(after) == 15
    assert write(engine, lambda session: splits.extend(session, study.id)) == 0


def test_a_split_needs_gold(engine: Engine, a_study: Study) -> None:
    with pytest.raises(TiebreakError, match="needs gold on items"):
        split(engine, a_study)
    with reading(engine) as session, pytest.raises(TiebreakError, match="no split"):
        splits.get(session, a_study.id)


@ON_SQLITE
def test_disagreements_and_examples_are_of_development_items_only(engine: Engine, study: Study) -> None:
    current = current_judge(engine, study)
    held_out = held_out_items(engine, study)
    with reading(engine) as session:
        cases = splits.disagreement_cases(session, study.id, current)
        assert judges.choices(session, study.id) == {"base": ["helpfulness"]}
        texts = splits.disagreement_examples(session, study.id, current, [cases[0].item.id])
    assert cases and not held_out & {case.item.id for case in cases}
    assert all(int(case.item.id.split()[1]) % 4 for case in cases)
    case = cases[0]
    assert (case.gold, case.verdict, case.source, case.distance) == (1, 2, "adjudicated", 1.0)
    assert "expert decision: brevity" in case.reason and case.replies[0][1].startswith("It is longer.")
    assert "Response 1 is better" in texts[0]
    with pytest.raises(TiebreakError, match="is not a development item"):
        propose(engine, study, "leak", Changes(examples=(min(held_out),)))


def test_a_better_variant_is_found_accepted_and_becomes_a_new_version(engine: Engine, study: Study) -> None:
    variant = propose(engine, study, "brief", BETTER)
    development, asked = run_part(engine, study, variant, "development")
    held_out = held_out_items(engine, study)
    assert development.development is not None and development.development.targets == 12
    assert development.use is None and not any(f"{item}?" in ask.prompt for item in held_out for ask in asked)
    assert len(asked) == 12, "the judge without the changes is reused from its run"
    with pytest.raises(TiebreakError, match="no result on held-out items"):
        accept(engine, study, "brief")

    evaluation, asked = run_part(engine, study, variant, "held-out")
    wrong = len([item for item in held_out if int(item.split()[1]) % 4])
    assert evaluation.use is not None and evaluation.use.result is not None and evaluation.decision is not None
    assert evaluation.use.result.difference == wrong / 12 and evaluation.decision.accepted
    assert len(asked) == 12 and not run_part(engine, study, variant, "held-out")[1], "it runs once"

    assert accept(engine, study, "brief") == 2
    with reading(engine) as session:
        (criterion,) = studies.criteria(session, study.id)
        after, before = judges.versions_of_criterion(session, study.id, "helpfulness")
        log = [entry.details.get("change", "") for entry in audit.entries(session, audit.Filter(study.id))]
    assert criterion.definition == "Of use, and brief." == after.criterion.definition
    assert (before.criterion.definition, before.variant, after.variant) == ("Of use.", None, "brief")
    assert results(engine, study, "brief").accepted_version == 2
    assert any("variant brief evaluated on held-out items, use 1 of 5" in line for line in log)
    assert any("criterion helpfulness, version 2: variant brief accepted" in line for line in log)
    with pytest.raises(TiebreakError, match="is accepted already"):
        accept(engine, study, "brief")


@ON_SQLITE
def test_a_useless_or_harmful_variant_is_not_accepted(engine: Engine, study: Study) -> None:
    for name, changes in (("useless", USELESS), ("harmful", HARMFUL)):
        evaluation, _ = run_part(engine, study, propose(engine, study, name, changes), "held-out")
        assert evaluation.decision is not None and not evaluation.decision.accepted
        with pytest.raises(TiebreakError, match="is not accepted: The lower bound"):
            accept(engine, study, name)


@ON_SQLITE
def test_a_result_on_held_out_items_does_not_change_with_later_labels(engine: Engine, study: Study) -> None:
    before, _ = run_part(engine, study, propose(engine, study, "useless", USELESS), "held-out")
    for item in held_out_items(engine, study):
        decided = partial(labels.adjudicate, study_id=study.id, target=make_target(item), adjudicator="zoe", value=2)
        write(engine, lambda session, decided=decided: decided(session, rule="expert decision", reason="new"))  # type: ignore[misc]
    after = results(engine, study, "useless")
    assert before.use is not None and after.use is not None and before.use.result == after.use.result


@ON_SQLITE
def test_the_planned_uses_are_the_limit(engine: Engine) -> None:
    study = prepare(engine, 8)
    split(engine, study, evaluations=1)
    first, second = (propose(engine, study, name, changes) for name, changes in (("a", BETTER), ("b", USELESS)))
    run_part(engine, study, first, "held-out")
    with pytest.raises(TiebreakError, match="used 1 times for 'helpfulness', as often as planned"):
        run_part(engine, study, second, "held-out")
    assert run_part(engine, study, second, "development")[0].development is not None
    assert results(engine, study, "b").use is None


@ON_SQLITE
def test_after_an_acceptance_variants_start_from_the_new_judge(engine: Engine, study: Study) -> None:
    better, useless = propose(engine, study, "brief", BETTER), propose(engine, study, "useless", USELESS)
    for part in PARTS:
        run_part(engine, study, better, part)
    accept(engine, study, "brief")
    with reading(engine) as session:
        new = "brief · development of 12 items · brief"
        assert list(judges.choices(session, study.id)) == [new, "base"]
    with pytest.raises(TiebreakError, match="version 2 of 'helpfulness' is from the variant 'brief'"):
        run_part(engine, study, useless, "held-out")
    with pytest.raises(TiebreakError, match="no longer the current one"):
        propose(engine, study, "other", Changes(definition="Other."))
    from_new = propose(engine, study, "other", Changes(guidelines="Be fair."), run=new)
    assert from_new.current.criterion.definition == "Of use, and brief."


def test_a_judge_of_several_criteria_is_improved_on_one_of_them(engine: Engine) -> None:
    clear = "{name: clarity, definition: Clear.}"
    several = f"{{judge: {{name: j, model: m}}, criterion: helpfulness, criteria: [{clear}]}}"
    study = prepare(engine, count=4, settings=several)
    judge = read(engine, judges.of_run, study.id, "base", "clarity").judge
    assert judge.path == "criterion" and judge.criterion.definition == "Clear."
    assert judge.base["criterion"]["name"] == "clarity" and "criteria" not in judge.base


def test_an_earlier_version_can_be_restored(engine: Engine, study: Study) -> None:
    run_part(
        engine, study, propose(engine, study, "brief", Changes(definition="Brief.", guidelines="brief")), "held-out"
    )
    accept(engine, study, "brief")
    with reading(engine) as session:
        assert studies.by_id(session, study.id).prompts.keys() == {"single-judge/direct", "single-judge/reasoned"}
    assert write(engine, lambda session: judges.restore_version(session, study.id, "helpfulness", 1)) == 3
    with reading(engine) as session:
        assert studies.criteria(session, study.id)[0].definition == "Of use."
        assert studies.by_id(session, study.id).prompts == {}
        newest, *_ = judges.versions_of_criterion(session, study.id, "helpfulness")
    assert newest.note == "version 1 restored"
    with pytest.raises(TiebreakError, match="no version 9"):
        write(engine, lambda session: judges.restore_version(session, study.id, "helpfulness", 9))


def test_an_unusable_or_repeated_variant_is_refused(engine: Engine, study: Study) -> None:
    propose(engine, study, "brief", BETTER)
    for name, changes, sentence in [
        ("current", BETTER, "other than 'current'"),
        ("x" * 61, BETTER, "at most 60 characters"),
        ("brief", USELESS, "a variant 'brief' already"),
        ("again", BETTER, "'brief' has the same changes"),
    ]:
        with pytest.raises(TiebreakError, match=sentence):
            propose(engine, study, name, changes)


def test_views_of_held_out_items_are_counted(engine: Engine, study: Study) -> None:
    item = min(held_out_items(engine, study))
    write(engine, lambda session: views.record(session, study.id, [make_target(item)], "ann"))
    with reading(engine) as session:
        assert [splits.count_seen(session, study.id, name) for name in ("ann", "zoe")] == [1, 0]


def test_scores_are_compared_by_their_distance_from_the_mean_of_labels(engine: Engine) -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
    criterion = Criterion(name="clarity", definition="Easy to read.", scale=scale)
    names = [f"item {n}" for n in range(4)]
    items = [ItemRecord(item=make_item(name, responses=(Response(text=name),))) for name in names]
    given = [
        LabelRecord(label=Label(target=make_target(name, kind="score", criterion="clarity"), annotator=a, value=value))
        for name in names
        for a, value in (("ann", 4), ("bob", 5))
    ]
    study = import_study(engine, [CriterionRecord(criterion=criterion), *items, *given], "scores")
    protocol = PROTOCOLS["single-score"]
    settings = parse_settings("{judge: {name: j, model: m}, criterion: clarity}", protocol, [criterion])
    run_id = create_run(engine, RunRequest(study, protocol, settings, "base"))

    def rate(ask: Ask) -> str:
        return f"Rating of clarity: {4 if 'short' in ask.prompt else 2}"

    asyncio.run(execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(rate)))
    split(engine, study)
    variant = propose(engine, study, "short", Changes(guidelines="Sentences are short."))
    planned = evaluations.prepare(engine, study, variant, "development")
    experiment_id = evaluations.begin(engine, study, variant, "development", planned)
    asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, ScriptedModel(rate)))
    found = results(engine, study, "short").development
    assert found is not None
    assert (found.targets, found.current, found.variant, found.difference) == (2, 0.375, 0.875, 0.5)
    first = read(engine, splits.disagreement_cases, study.id, current_judge(engine, study))[0]
    assert (first.gold, first.verdict, first.source, first.distance) == (4.5, 2, "mean", 0.625)


def test_an_evaluation_that_two_processes_start_has_each_run_once(engine: Engine, study: Study) -> None:
    variant = propose(engine, study, "brief", BETTER)
    planned = [evaluations.prepare(engine, study, variant, "held-out") for _ in range(2)]
    (experiment_id, same) = [evaluations.begin(engine, study, variant, "held-out", each) for each in planned]
    with reading(engine) as session:
        made = experiments.runs_of(session, experiment_id)
        uses = evaluations.uses(session, study.id, variant.kind, variant.criterion)
    assert experiment_id == same and len(made) == 2 and len(uses) == 1


def test_the_python_api_has_disagreements_and_variants(engine: Engine, study: Study) -> None:
    opened = tiebreak.Database(engine).study("s")
    shown = opened.disagreements("base")
    assert not set(shown["item"]) & held_out_items(engine, study)
    assert set(zip(shown["people"], shown["judge"], strict=True)) == {(1, 2)}
    assert opened.variants().empty
    run_part(engine, study, propose(engine, study, "brief", BETTER), "development")
    development, held_out = opened.variants().to_dict("records")
    assert (development["part"], development["targets"], development["name"]) == ("development", 12, "brief")
    assert development["difference"] > 0 and (held_out["part"], held_out["accepted"]) == ("held-out", None)
