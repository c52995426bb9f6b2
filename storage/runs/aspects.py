"""Sets of aspects (DnA-Eval): their members, and the weights and ratings that people and judges give them."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aspects import Weights, aspect_set_id
from core.errors import TiebreakError
from core.labels import Kind, Scale, Target
from core.protocols import registry
from core.protocols.dna_eval.settings import QUALITIES, Settings, settings_of_item
from core.protocols.dna_eval.verdicts import collect_judgements
from core.protocols.settings_file import validate_settings
from core.trace import completed_turns
from storage.db.guards import TASK, reading_for
from storage.db.tables import OpinionRow
from storage.labels import labels, targets
from storage.runs import aius, runs, traces
from storage.studies import items, studies

KIND: Kind = "aspect_weights"
# Ratings of relevance, clarity and comprehensiveness (DnA-Eval, Appendix D.3).
QUALITY = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


@reading_for(TASK)
def of_target(session: Session, study_id: int, target: Target) -> tuple[str, ...]:
    """Return the aspects of a target in the order in which they were configured or proposed.

    Raises TiebreakError if no run and no label names them.
    """
    for trace, settings in _traces_with_settings(session, study_id, target):
        turns = completed_turns(traces.events_with_prompts(session, trace.id))
        for judgement in collect_judgements(turns, settings, 0):
            if aspect_set_id(judgement.aspects) == target.part:
                return judgement.aspects
    for label in labels.history(session, study_id, target):
        if isinstance(label.value, dict):
            return tuple(label.value)
    raise TiebreakError(f"The aspects of item {target.item!r} are not known here: no run names them.")


def parse_settings(settings: Mapping[str, Any]) -> Settings:
    """Return a run's settings; raises TiebreakError for an imported run with invalid ones."""
    valid = validate_settings(settings, registry.get("dna_eval"))
    assert isinstance(valid, Settings)
    return valid


@reading_for(TASK)
def definitions(session: Session, study_id: int, target: Target) -> dict[str, str]:
    """Return aspect -> its definition, for those that the study or a run defines."""
    definitions = {criterion.name: criterion.definition for criterion in studies.criteria(session, study_id)}
    for _, settings in _traces_with_settings(session, study_id, target):
        definitions |= {aspect.name: aspect.definition for aspect in settings.aspects if aspect.definition}
    return definitions


def _traces_with_settings(session: Session, study_id: int, target: Target) -> Iterator[tuple[traces.Trace, Settings]]:
    """Yield the traces that judged a target by aspects, newest run first, with the settings for its item."""
    item = items.get(session, study_id, target.item)
    for trace in traces.of_target(session, study_id, target):
        run = runs.get(session, trace.run_id)
        if run.protocol in registry.with_artifact("aspects"):
            evaluated = aius.evaluated_item(session, run, item)
            yield trace, settings_of_item(parse_settings(run.settings), evaluated)


def judge_weights(session: Session, study_id: int, target: Target) -> dict[str, Weights]:
    """Return judge -> its newest weights of a target. To be shown after an annotator's own weights."""
    query = (
        select(col(OpinionRow.judge), col(OpinionRow.value))
        .where(col(OpinionRow.target_id) == targets.find_id(session, study_id, target), col(OpinionRow.stage) == "last")
        .order_by(col(OpinionRow.id))
    )
    return {judge: value for judge, value in session.execute(query) if isinstance(value, dict)}


def annotator_weights(session: Session, study_id: int, target: Target) -> dict[str, Weights]:
    """Return annotator -> current weights of a target. To be shown after an annotator's own weights."""
    newest = {label.annotator: label.value for label in labels.history(session, study_id, target)}
    return {name: value for name, value in newest.items() if isinstance(value, dict)}


def quality_target(target: Target, quality: str) -> Target:
    """Return the target of a rating: one quality of the same set of aspects."""
    if quality not in QUALITIES:
        raise TiebreakError(f"Aspects are rated on {', '.join(QUALITIES)}, not on {quality!r}.")
    return Target(item=target.item, kind="aspect_quality", criterion=quality, part=target.part)
