"""The criteria of traces: those of a study, and the one of a trace with several that needs a label most."""

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Value
from storage import runs, trace_opinions
from storage.operations import reading_for
from storage.read_guard import QUEUE
from storage.tables import OpinionRow, TargetRow
from storage.traces import Trace


def criterion_to_label(session: Session, trace: Trace) -> str:
    """Return the criterion to begin with when the trace is labelled: the run's, or the first one without agreement.

    There is no agreement on a criterion if its verdict has no value or the judges' last opinions on it differ. If they
    agree on all criteria, it is the first; empty if the verdict has none.
    """
    if trace.criterion:
        return trace.criterion
    query = (
        select(col(TargetRow.criterion), col(TargetRow.kind), col(TargetRow.part), col(OpinionRow.stage))
        .add_columns(col(OpinionRow.value))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.trace_id) == trace.id, col(OpinionRow.stage).in_(("verdict", "last")))
        .order_by(col(OpinionRow.id))
    )
    criteria: dict[str, bool] = {}
    last: dict[tuple[str, ...], Value] = {}
    for criterion, kind, part, stage, value in session.execute(query):
        is_open = (
            value is None
            if stage == "verdict"
            else value is not None and (last.setdefault((criterion, kind, part), value) != value)
        )
        criteria[criterion] = criteria.get(criterion, False) or is_open
    return next((name for name, is_open in criteria.items() if is_open), next(iter(criteria), ""))


@reading_for(QUEUE)
def judged_criteria(session: Session, study_id: int) -> list[str]:
    """Return the names of the criteria of a study's runs and of their verdicts, sorted."""
    study_runs = runs.of_study(session, study_id)
    criteria = {run.criterion for run in study_runs if run.criterion}
    if any(isinstance(run.settings, dict) and run.settings.get("criteria") for run in study_runs):
        criteria.update(trace_opinions.verdict_criteria(session, study_id))
    return sorted(criteria)
