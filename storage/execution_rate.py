"""The rate at which the traces of runs end while the runs are executed, without the pauses between two executions."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Integer, cast, extract, func, literal_column, not_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from storage.database import clock
from storage.tables import EventRow

PERIOD = timedelta(seconds=120)
"""The rate is that of this last period."""
PAUSE = timedelta(seconds=20)
"""A longer time without an event and without a call in flight is a pause: nothing was executed."""
STEP_SECONDS = 5
"""Events are summed over steps of this length: there can be many thousands in a period."""


def traces_per_minute(session: Session, run_ids: Sequence[int], since: datetime | None = None) -> float:
    """Return the rate of the last period, since the last pause in it and since a time of the database's clock.

    The time begins with the first call whose reply arrived in it. 0.0 if no trace ended.
    """
    at = clock(session)
    start = at - PERIOD if since is None else max(since, at - PERIOD)
    # A literal: PostgreSQL does not take two parameters for equal, one to group by and one to order by.
    step = cast(extract("epoch", col(EventRow.at)), Integer) // literal_column(str(STEP_SECONDS), Integer)
    query = (
        select(
            func.count().filter(col(EventRow.type).in_(("verdict", "failed"))),
            func.min(col(EventRow.at)),
            func.max(col(EventRow.at)),
            func.max(col(EventRow.seconds)).filter(not_(col(EventRow.reused))),
        )
        .where(col(EventRow.run_id).in_(run_ids), col(EventRow.at) > start)
        .group_by(step)
        .order_by(step.desc())
    )
    ended, began = 0, at
    for index, (count, first, last, seconds) in enumerate(session.execute(query)):
        if index and began - last > PAUSE:
            break
        ended += count
        began = max(start, min(began, first - timedelta(seconds=seconds or 0.0)))
    return 60 * ended / max((at - began).total_seconds(), 1.0)
