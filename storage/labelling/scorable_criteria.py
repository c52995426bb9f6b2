"""Scores and answers that annotators can give without a judge's opinion: every item, on a criterion and its scale."""

from collections.abc import Iterator

from pydantic import ValidationError
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.formats.study_records import ScaleRecord
from core.items import Criterion, Item
from core.labels import Kind, Scale, Target
from core.protocols.registry import PROTOCOLS
from storage import items, runs, studies, targets
from storage.operations import reading_for
from storage.read_guard import QUEUE
from storage.runs import Run

ScaleKey = tuple[Kind, str]
"""A kind and a criterion."""


def scales(session: Session, study_id: int) -> dict[ScaleKey, Scale]:
    """Return the scales of scores and answers: those of the runs, of the study's criteria, and declared ones."""
    scales: dict[ScaleKey, Scale] = {}
    with reading_for(QUEUE):  # the scales of the runs tell nothing of the opinions
        found = runs.of_study(session, study_id)
    for run in found:
        scales |= _run_scales(run)
    criteria = studies.criteria(session, study_id)
    scales |= {("score", criterion.name): criterion.scale for criterion in criteria if criterion.scale}
    declared = studies.scales(session, study_id)
    scales |= {key: scale for key, scale in declared.items() if key[0] in ("score", "answer")}
    return dict(sorted(scales.items(), key=lambda pair: (pair[0][0] != "score", pair[0][1])))


def _run_scales(run: Run) -> dict[ScaleKey, Scale]:
    """Return the scales of a run's scores or answers. An imported run may have any settings and protocol."""
    try:
        protocol = PROTOCOLS[run.protocol]
        return dict(protocol.scales(protocol.settings.model_validate(run.settings)))
    except (KeyError, TiebreakError, ValidationError):
        return _criterion_scale(run)


def _criterion_scale(run: Run) -> dict[ScaleKey, Scale]:
    """Return the scale of the criterion in the settings, if the rest of them is not valid here."""
    try:
        criterion = Criterion.model_validate(run.settings["criterion"])
    except (ValidationError, LookupError, TypeError):
        return {}
    return {("score", criterion.name): criterion.scale} if criterion.scale else {}


def create_targets(session: Session, study_id: int, kind: Kind, criterion: str, scale: Scale) -> None:
    """Add the targets that are missing, so every item of the study can be labelled on a criterion."""
    if (kind, criterion) not in studies.scales(session, study_id):
        studies.declare_scale(session, study_id, ScaleRecord(kind=kind, criterion=criterion, scale=scale))
    existing = {t.item for _, t in targets.of_study(session, study_id) if (t.kind, t.criterion) == (kind, criterion)}
    missing = [item for item in items.of_study(session, study_id) if item.id not in existing]
    new = [target for item in missing for target in item_targets(item, kind, criterion)]
    if new:
        targets.get_or_create_ids(session, study_id, new)


def item_targets(item: Item, kind: Kind, criterion: str) -> Iterator[Target]:
    """Yield one target for the item, or for a score one for each of several responses, with its number as part."""
    if kind == "answer" or len(item.responses) < 2:
        yield Target(item=item.id, kind=kind, criterion=criterion)
        return
    for number in range(1, len(item.responses) + 1):
        yield Target(item=item.id, kind=kind, criterion=criterion, part=str(number))
