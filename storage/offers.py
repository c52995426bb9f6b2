"""What people can be asked to label without a judge having spoken: every item, on a criterion and its scale."""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from core.items import Item
from core.labels import Kind, Scale, Target
from storage import items, studies, targets

SCORED: tuple[Kind, ...] = ("score", "likert", "answer")
"""Kinds that the score desk serves."""


def scores(session: Session, study_id: int) -> dict[tuple[Kind, str], Scale]:
    """The declared scales on which people can score, by kind and criterion."""
    declared = studies.scales(session, study_id)
    return {key: scale for key, scale in sorted(declared.items()) if key[0] in SCORED}


def offer(session: Session, study_id: int, kind: Kind, criterion: str) -> None:
    """Make sure that every item of the study can be labelled on a criterion; what is there already stays."""
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
