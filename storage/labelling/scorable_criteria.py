"""What people can be asked to score without a judge having spoken: every item, on a criterion and its scale."""

from collections.abc import Iterator

from pydantic import ValidationError
from sqlalchemy.orm import Session

from core.formats.records import ScaleRecord
from core.items import Criterion, Item
from core.labels import Kind, Scale, Target
from core.protocols.registry import PROTOCOLS
from storage import items, runs, studies, targets
from storage.runs import Run

Offer = tuple[Kind, str]
"""A kind and a criterion."""


def scales(session: Session, study_id: int) -> dict[Offer, Scale]:
    """The scales on which people can score or answer: declared ones, the criteria's own, and those of the runs."""
    found: dict[Offer, Scale] = {}
    for run in runs.of_study(session, study_id):
        found |= _of_run(run)
    own = [criterion for criterion in studies.criteria(session, study_id) if criterion.scale]
    found |= {("score", criterion.name): criterion.scale for criterion in own if criterion.scale}
    declared = studies.scales(session, study_id)
    found |= {key: scale for key, scale in declared.items() if key[0] in ("score", "answer")}
    return dict(sorted(found.items(), key=lambda pair: (pair[0][0] != "score", pair[0][1])))


def _of_run(run: Run) -> dict[Offer, Scale]:
    """What a run scores or answers, and on which scale; a file may have brought any settings."""
    try:
        protocol = PROTOCOLS[run.protocol]
        return dict(protocol.scales(protocol.settings.model_validate(run.settings)))
    except (KeyError, ValidationError):
        return _of_criterion(run)


def _of_criterion(run: Run) -> dict[Offer, Scale]:
    """The scale of the settings' criterion, for a run made elsewhere whose settings are not complete here."""
    try:
        criterion = Criterion.model_validate(run.settings["criterion"])
    except (ValidationError, LookupError, TypeError):
        return {}
    return {("score", criterion.name): criterion.scale} if criterion.scale else {}


def offer(session: Session, study_id: int, kind: Kind, criterion: str, scale: Scale) -> None:
    """Make sure that every item of the study can be labelled on a criterion; what is there already stays."""
    if (kind, criterion) not in studies.scales(session, study_id):
        studies.put_scale(session, study_id, ScaleRecord(kind=kind, criterion=criterion, scale=scale))
    there = {t.item for _, t in targets.all_of(session, study_id) if (t.kind, t.criterion) == (kind, criterion)}
    missing = [item for item in items.all_of(session, study_id) if item.id not in there]
    if missing:
        targets.numbers(session, study_id, [one for item in missing for one in of_item(item, kind, criterion)])


def of_item(item: Item, kind: Kind, criterion: str) -> Iterator[Target]:
    """One target an item; where it has several responses to score, one for each, its part the response's number."""
    if kind == "answer" or len(item.responses) < 2:
        yield Target(item=item.id, kind=kind, criterion=criterion)
        return
    for number in range(1, len(item.responses) + 1):
        yield Target(item=item.id, kind=kind, criterion=criterion, part=str(number))
