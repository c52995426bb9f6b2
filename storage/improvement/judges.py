"""The judge of a run as the current one of a comparison: its settings, criterion, kind of verdict and scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.contention import scale_length
from core.errors import TiebreakError
from core.improvement import changes
from core.improvement.changes import Judge
from core.labels import Kind, Scale
from core.protocols import registry
from storage import runs, studies
from storage.improvement import versions
from storage.runs import Run
from storage.tables import ExperimentRow, HeldOutUseRow, OpinionRow, TargetRow, TraceRow
from storage.worker.experiment_runs import settings_fields

KINDS: tuple[Kind, ...] = ("preference", "score", "answer")
"""Kinds of verdicts that are compared with gold."""
AXIS, CURRENT = "variant", "current"
"""The axis of the experiments of a variant, and its level of the judge without the changes."""


@dataclass(frozen=True)
class CurrentJudge:
    """The judge of a run, with what it judges."""

    run: Run
    judge: Judge
    kind: Kind
    scale: Scale | None


def choices(session: Session, study_id: int) -> dict[str, list[str]]:
    """Return run -> its criteria whose text can be changed, of the runs with verdicts, newest first.

    Runs on held-out items are left out, and those of the judge without the changes: they repeat another run.
    """
    ended = col(TraceRow.outcome).in_(("agreed", "disputed", "no_verdict"))
    query = select(col(TraceRow.run_id)).where(col(TraceRow.study_id) == study_id, ended).distinct()
    judged = set(session.scalars(query))
    held_out = select(col(ExperimentRow.id)).join(
        HeldOutUseRow,
        (col(HeldOutUseRow.study_id) == col(ExperimentRow.study_id))
        & (col(HeldOutUseRow.experiment) == col(ExperimentRow.name)),
    )
    hidden = set(session.scalars(held_out.where(col(ExperimentRow.study_id) == study_id)))
    found = {
        run.name: _changeable(run)
        for run in runs.of_study(session, study_id)
        if run.id in judged and run.experiment_id not in hidden and run.cell != {AXIS: CURRENT}
    }
    return {name: criteria for name, criteria in found.items() if criteria}


def newest_current(session: Session, study_id: int, known: Mapping[str, Sequence[str]]) -> str:
    """Return the first of these runs whose judge no accepted variant has replaced; the first if there is none.

    Runs that evaluated a variant come last: they are on a part of the items.
    """
    by_name = {run.name: run for run in runs.of_study(session, study_id)}
    for name, criteria in sorted(known.items(), key=lambda pair: AXIS in (by_name[pair[0]].cell or {})):
        try:
            judge = judge_of(by_name[name].protocol, _base(by_name[name], criteria[0]), criteria[0])
            versions.check_is_current(session, study_id, judge)
        except TiebreakError:
            continue
        return name
    return next(iter(known))


def of_run(session: Session, study_id: int, run: str, criterion: str | None = None) -> CurrentJudge:
    """Return the judge of a run on a criterion, by default its only one; raises TiebreakError."""
    known = choices(session, study_id)
    if run not in known:
        named = ", ".join(map(repr, known)) or "none"
        raise TiebreakError(
            f"The study has no run {run!r} of verdicts by a criterion that can be changed; there are: {named}."
        )
    name = criterion or known[run][0]
    if name not in known[run]:
        raise TiebreakError(f"The run {run!r} does not judge by {name!r}; its criteria: {', '.join(known[run])}.")
    found = next(one for one in runs.of_study(session, study_id) if one.name == run)
    kind = _kind(session, found.id, name)
    judge = judge_of(found.protocol, _base(found, name), name)
    scale = studies.scale(session, study_id, kind, name) or (judge.criterion.scale if kind == "score" else None)
    if kind == "score" and scale_length(scale) is None and not (scale and scale.level == "nominal"):
        raise TiebreakError(f"The scores on {name!r} need a declared scale with two ends to be compared.")
    return CurrentJudge(found, judge, kind, scale)


def judge_of(protocol: str, base: Mapping[str, Any], criterion: str) -> Judge:
    """Return the judge with the settings of a base, which has every template that differs from the protocol's."""
    installed = registry.get(protocol)
    return changes.find_judge(installed, base, installed.prompts_with(base.get("prompts", {})), criterion)


def _changeable(run: Run) -> list[str]:
    """Return the criteria whose text is in the settings of a run."""
    if run.protocol not in registry.PROTOCOLS or not run.settings:
        return []
    own = run.settings.get("criterion"), *(run.settings.get("criteria") or ())
    return list(dict.fromkeys(one["name"] for one in own if isinstance(one, Mapping) and "name" in one))


def _base(run: Run, criterion: str) -> dict[str, Any]:
    """Return the settings of a run with one of its criteria alone: changes of prompts would concern the others too."""
    installed = registry.get(run.protocol)
    if not installed.is_current(run.prompts):
        raise TiebreakError(f"The run {run.name!r} is of an earlier version, with other prompts: run it again.")
    fields = settings_fields(run, installed.prompts)
    every = [fields.get("criterion"), *(fields.pop("criteria", None) or ())]
    own = [one for one in every if isinstance(one, Mapping) and one.get("name") == criterion]
    return fields | ({"criterion": own[0]} if own else {})


def _kind(session: Session, run_id: int, criterion: str) -> Kind:
    """Return the kind of most verdicts of a run."""
    query = (
        select(col(TargetRow.kind), func.count())
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .where(
            col(OpinionRow.run_id) == run_id,
            col(OpinionRow.stage) == "verdict",
            col(TargetRow.criterion) == criterion,
            col(TargetRow.kind).in_(KINDS),
        )
        .group_by(col(TargetRow.kind))
        .order_by(func.count().desc(), col(TargetRow.kind))
    )
    found = session.execute(query).first()
    if found is None:
        raise TiebreakError(f"The run has no verdict on {criterion!r} that can be compared with people's decisions.")
    return cast(Kind, found[0])
