"""The sets of aspects that people weigh and rate: which aspects they hold, and what a person said of them."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aspects import Weights, part
from core.formats.records import ScaleRecord
from core.labels import Scale, Target
from core.problems import Problem
from core.protocols import registry
from core.protocols.dna_eval.settings import QUALITIES, Settings
from core.protocols.dna_eval.verdicts import judgements
from core.protocols.settings_file import checked
from core.trace import turns
from storage import labels, runs, studies, targets, traces
from storage.tables import OpinionRow

KIND = "aspect_weights"
QUALITY = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
"""Relevance, clarity and comprehensiveness, as people rate them (Appendix D.3)."""


def of_target(session: Session, study_id: int, target: Target) -> tuple[str, ...]:
    """The aspects of a target in the order in which they were given or proposed; raises Problem where none is known."""
    for trace in traces.of_target(session, study_id, target):
        run = runs.get(session, trace.run_id)
        if run.protocol in registry.with_artifact("aspects"):
            said = turns(traces.whole(session, trace.id))
            for judged in judgements(said, settings_of(run.settings), 0):
                if part(judged.aspects) == target.part:
                    return judged.aspects
    for label in labels.history(session, study_id, target):
        if isinstance(label.value, dict):
            return tuple(label.value)
    raise Problem(f"The aspects of item {target.item!r} are not known here: no run names them.")


def settings_of(told: Mapping[str, Any]) -> Settings:
    """A run's settings; raises Problem where a file brought some that are none."""
    found = checked(told, registry.get("dna_eval"))
    assert isinstance(found, Settings)
    return found


def definitions(session: Session, study_id: int, target: Target) -> dict[str, str]:
    """What the aspects of a target mean, where a run or the study says so."""
    found = {criterion.name: criterion.definition for criterion in studies.criteria(session, study_id)}
    for trace in traces.of_target(session, study_id, target):
        run = runs.get(session, trace.run_id)
        if run.protocol in registry.with_artifact("aspects"):
            given = settings_of(run.settings).aspects
            found |= {aspect.name: aspect.definition for aspect in given if aspect.definition}
    return found


def weights_of_judges(session: Session, study_id: int, target: Target) -> dict[str, Weights]:
    """Each judge's newest weights of a target; for those only who gave their own."""
    query = (
        select(col(OpinionRow.judge), col(OpinionRow.value))
        .where(col(OpinionRow.target_id) == targets.find(session, study_id, target), col(OpinionRow.stage) == "last")
        .order_by(col(OpinionRow.id))
    )
    return {judge: value for judge, value in session.execute(query) if isinstance(value, dict)}


def weights_of_people(session: Session, study_id: int, target: Target) -> dict[str, Weights]:
    """Everybody's standing weights of a target; for those only who may see them."""
    newest = {label.annotator: label.value for label in labels.history(session, study_id, target)}
    return {name: value for name, value in newest.items() if isinstance(value, dict)}


def weigh(
    session: Session,
    study_id: int,
    target: Target,
    annotator: str,
    weights: Weights,
    *,
    reason: str = "",
    seconds: float | None = None,
) -> None:
    """Keep a person's weights of a target: of its aspects, none negative, and 100 together."""
    known = of_target(session, study_id, target)
    total = sum(weights.values())
    if set(weights) != set(known) or min(weights.values()) < 0 or abs(total - 100) > 0.01:
        raise Problem("Weights are percentages of all aspects that sum to 100.")
    told = {aspect: float(weights[aspect]) for aspect in known}
    labels.put(session, study_id, target, annotator, told, reason=reason, seconds=seconds)


def rate(session: Session, study_id: int, target: Target, annotator: str, ratings: Mapping[str, int]) -> None:
    """Keep ratings of the aspects of a target, 1 to 5 by quality; what stands already is not said again."""
    for quality, rating in ratings.items():
        about = quality_of(target, quality)
        if studies.scale(session, study_id, "aspect_quality", quality) is None:
            studies.put_scale(session, study_id, ScaleRecord(kind="aspect_quality", criterion=quality, scale=QUALITY))
        own = labels.own(session, study_id, about, annotator)
        if own is None or own.value != rating:
            labels.put(session, study_id, about, annotator, rating)


def ratings_of(session: Session, study_id: int, target: Target, annotator: str) -> dict[str, int]:
    """The annotator's standing ratings of the aspects of a target, by quality."""
    found = {quality: labels.own(session, study_id, quality_of(target, quality), annotator) for quality in QUALITIES}
    return {quality: label.value for quality, label in found.items() if label and isinstance(label.value, int)}


def quality_of(target: Target, quality: str) -> Target:
    """What is rated: one quality of the same set of aspects."""
    if quality not in QUALITIES:
        raise Problem(f"Aspects are rated on {', '.join(QUALITIES)}, not on {quality!r}.")
    return Target(item=target.item, kind="aspect_quality", criterion=quality, part=target.part)
