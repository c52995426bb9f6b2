"""What the judges said, as raters beside the people."""

from typing import TYPE_CHECKING, Literal

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage import targets
from storage.tables import OpinionRow, RunRow

if TYPE_CHECKING:
    import pandas as pd

Stage = Literal["first", "last", "verdict"]


def frame(session: Session, study_id: int, *, run_id: int | None = None, stage: Stage | None = None) -> "pd.DataFrame":
    """The judges' readable opinions, one a row: item, scenario, group, kind, criterion, part, rater, value, run, stage.

    The first eight columns are those of `labels.frame`.
    """
    import pandas as pd

    query = (
        select(
            col(OpinionRow.target_id),
            col(OpinionRow.judge),
            col(OpinionRow.value),
            col(RunRow.name),
            col(OpinionRow.stage),
        )
        .join(RunRow, col(RunRow.id) == col(OpinionRow.run_id))
        .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.value).is_not(None))
        .order_by(col(OpinionRow.id))
    )
    if run_id is not None:
        query = query.where(col(OpinionRow.run_id) == run_id)
    if stage is not None:
        query = query.where(col(OpinionRow.stage) == stage)
    numbers, judges, values, runs, stages = list(zip(*session.execute(query), strict=True)) or [()] * 5
    opinions = targets.frame(session, study_id).reindex(list(numbers)).reset_index(drop=True)
    opinions["rater"] = pd.Series(judges, dtype="str")
    opinions["value"] = pd.Series(values, dtype=object)
    opinions["run"] = pd.Series(runs, dtype="str")
    opinions["stage"] = pd.Series(stages, dtype="str")
    return opinions
