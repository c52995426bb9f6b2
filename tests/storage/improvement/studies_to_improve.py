"""A study whose judge is wrong on the items that people call brief, with the run of the judge."""

import asyncio

from sqlalchemy import Engine

from core.formats.records import AdjudicationRecord, CriterionRecord, ItemRecord, Record
from core.improvement.changes import Changes
from core.improvement.comparison import AcceptanceRule
from core.items import Criterion
from core.labels import Adjudication
from core.llm.client import ScriptedModel
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_settings
from core.trace import Ask
from storage.db.connections import write
from storage.improvement import evaluations, judges, splits, variants
from storage.improvement.evaluations import Evaluation
from storage.improvement.judges import CurrentJudge
from storage.improvement.variants import Variant
from storage.studies.studies import Study
from storage.worker import RunRequest, create_run, execute_experiment, execute_here
from tests.conftest import make_item, make_target
from tests.sessions import read
from tests.storage.shared import import_study

HELPFUL = Criterion(name="helpfulness", definition="Of use.")
BETTER = Changes(definition="Of use, and brief.")
USELESS = Changes(definition="Useful.")
HARMFUL = Changes(definition="Longer is better.")
SETTINGS = "{judge: {name: j, model: m}, criterion: helpfulness, shuffle_responses: false}"
ITEMS = 24


def answer(ask: Ask) -> str:
    """Choose response 2 instead of 1 on three items of four, unless the criterion is about brevity."""
    number = int(ask.prompt.partition("item ")[2].partition("?")[0])
    if "Longer" in ask.prompt:
        return "Final answer: 2"
    wrong = number % 4 and "brief" not in ask.prompt
    return f"It is longer.\nFinal answer: {2 if wrong else 1}"


def prepare(engine: Engine, count: int = ITEMS, settings: str = SETTINGS) -> Study:
    """Return the study "s": every item is adjudicated as 1, and the run "base" has judged all of them."""
    records: list[Record] = [CriterionRecord(criterion=HELPFUL)]
    for number in range(count):
        records.append(ItemRecord(item=make_item(f"item {number}", scenario="math" if number < count / 2 else "prose")))
        decided = {"rule": "expert decision", "reason": f"brevity {number}", "adjudicator": "zoe"}
        records.append(
            AdjudicationRecord(ruling=Adjudication(target=make_target(f"item {number}"), value=1, **decided))
        )
    study = import_study(engine, records)
    protocol = PROTOCOLS["single-judge"]
    run_id = create_run(engine, RunRequest(study, protocol, parse_settings(settings, protocol, [HELPFUL]), "base"))
    asyncio.run(execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(answer)))
    return study


def split(engine: Engine, study: Study, **rule: float) -> splits.Split:
    made = AcceptanceRule.model_validate(rule)
    return write(engine, lambda session: splits.create(session, study.id, share=0.5, seed=0, rule=made))


def current_judge(engine: Engine, study: Study, run: str = "base") -> CurrentJudge:
    return read(engine, judges.of_run, study.id, run)


def propose(engine: Engine, study: Study, name: str, changes: Changes, run: str = "base") -> Variant:
    current = current_judge(engine, study, run)
    return write(engine, lambda session: variants.add(session, study.id, name, current, changes))


def run_part(engine: Engine, study: Study, variant: Variant, part: splits.Part) -> tuple[Evaluation, list[Ask]]:
    """Execute the evaluation of a variant, and return its results and the asks."""
    planned = evaluations.prepare(engine, study, variant, part)
    model = ScriptedModel(answer)
    experiment_id = evaluations.begin(engine, study, variant, part, planned)
    asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, model))
    return results(engine, study, variant.name), model.asked


def results(engine: Engine, study: Study, variant: str) -> Evaluation:
    return evaluations.evaluate(engine, study, variant)
