"""Items that people have scored, to learn from."""

from statistics import fmean

from sqlalchemy.orm import Session

from core.protocols.refer.auto_prompt import Rated
from storage import items, labels


def scored(session: Session, study_id: int, criterion: str) -> list[Rated]:
    """Items with one response and people's mean score on a criterion, in the order of the study."""
    said = labels.frame(session, study_id)
    said = said[(said["kind"] == "score") & (said["criterion"] == criterion) & (said["part"] == "")]
    means: dict[str, float] = {
        str(item): fmean(float(value) for value in there["value"]) for item, there in said.groupby("item", sort=False)
    }
    every = items.all_of(session, study_id) if means else []
    return [Rated(item, means[item.id]) for item in every if item.id in means and len(item.responses) == 1]
