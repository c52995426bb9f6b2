"""The judge of a run as the current one of a comparison: its settings, criterion, kind of verdict and scale."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.study_records import CriterionRecord
from core.improvement import changes
from core.items import Criterion
from core.labels import Kind, Scale
from core.protocols import registry
from core.verdicts import scale_length
from storage.db import audit, tables
from storage.runs import runs
from storage.studies import studies
from storage.worker.experiment_runs import settings_fields

# Versions of a criterion with the prompts of a protocol: what accepted variants replaced, and can be restored.


@dataclass(frozen=True)
class Version:
    """A criterion and the prompts of a protocol, as the study had them from some time on."""

    version: int
    criterion: Criterion
    protocol: str
    prompts: Mapping[str, str]  # template name -> text, if it differs from the protocol's
    variant: str | None  # the accepted variant; None for a version that was not found here
    note: str
    author: str
    at: datetime

    def equals(self, criterion: Criterion, protocol: str, templates: Mapping[str, str]) -> bool:
        """Return whether a judge has this criterion and, if it is of the same protocol, these prompts."""
        if self.criterion != criterion:
            return False
        return self.protocol != protocol or self.prompts == own_prompts(protocol, templates)


def own_prompts(protocol: str, templates: Mapping[str, str]) -> dict[str, str]:
    """Return the templates that differ from the protocol's."""
    installed = registry.get(protocol).prompts
    return {name: text for name, text in templates.items() if installed.get(name) != text}


def versions_of_criterion(session: Session, study_id: int, criterion: str) -> list[Version]:
    """Return the versions of a criterion, newest first; none before a variant was accepted."""
    row = tables.CriterionVersionRow
    query = (
        select(row, col(tables.VariantRow.name))
        .outerjoin(tables.VariantRow, col(tables.VariantRow.id) == col(row.variant_id))
        .where(col(row.study_id) == study_id, col(row.criterion) == criterion)
        .order_by(col(row.version).desc())
    )
    return [
        Version(
            found.version, Criterion.model_validate(found.body), found.protocol, found.prompts, variant, found.note,
            found.author, found.at,
        )
        for found, variant in session.execute(query)
    ]  # fmt: skip


def check_is_current(session: Session, study_id: int, judge: changes.Judge) -> None:
    """Raise TiebreakError for a judge that a newer version has replaced: a variant is compared with the newest."""
    newest = next(iter(versions_of_criterion(session, study_id, judge.criterion.name)), None)
    if newest is not None and not newest.equals(judge.criterion, judge.protocol.name, judge.templates):
        source = f"the variant {newest.variant!r}" if newest.variant else newest.note
        raise TiebreakError(
            f"This judge is no longer the current one: version {newest.version} of {judge.criterion.name!r} is from "
            f"{source}. Start from a run that has it."
        )


def replace_version(
    session: Session,
    study_id: int,
    criterion: Criterion,
    protocol: str,
    templates: Mapping[str, str],
    *,
    before: Criterion,
    note: str,
    variant_id: int | None = None,
) -> int:
    """Make a criterion and the templates of a protocol the study's, as a new version, and return its number.

    What the study had before is a version too; `before` is its criterion if the study has none of this name.
    """
    studies.lock(session, study_id)
    stored = {one.name: one for one in studies.criteria(session, study_id)}.get(criterion.name, before)
    study = studies.by_id(session, study_id)
    templates_before = study.templates(protocol)
    newest = next(iter(versions_of_criterion(session, study_id, criterion.name)), None)
    added = [(criterion, templates, note, variant_id)]
    if newest is None or not newest.equals(stored, protocol, templates_before) or newest.protocol != protocol:
        text = "the text before the first accepted variant" if newest is None else "changes outside of this page"
        added.insert(0, (stored, templates_before, text, None))
    first = newest.version + 1 if newest else 1
    for number, (body, own, text, variant) in enumerate(added, first):
        session.add(
            tables.CriterionVersionRow(
                study_id=study_id,
                criterion=criterion.name,
                version=number,
                body=body.model_dump(mode="json"),
                protocol=protocol,
                prompts=own_prompts(protocol, own),
                variant_id=variant,
                note=text,
                author=audit.actor_name(),
                at=tables.now(),
            )
        )
    session.flush()
    studies.save_criterion(session, study_id, CriterionRecord(criterion=criterion))
    others = {key: text for key, text in study.prompts.items() if not key.startswith(f"{protocol}/")}
    replaced = {f"{protocol}/{name}": text for name, text in own_prompts(protocol, templates).items()}
    studies.update_prompts(session, study_id, others | replaced)
    last = first + len(added) - 1
    audit.record_change(session, study_id, f"criterion {criterion.name}, version {last}: {note}")
    return last


def restore_version(session: Session, study_id: int, criterion: str, version: int) -> int:
    """Make an earlier version the newest one again, and return its new number; raises TiebreakError."""
    found = [one for one in versions_of_criterion(session, study_id, criterion) if one.version == version]
    if not found:
        raise TiebreakError(f"The criterion {criterion!r} has no version {version}.")
    templates = registry.get(found[0].protocol).prompts_with(found[0].prompts)
    note = f"version {version} restored"
    chosen = found[0].criterion
    return replace_version(session, study_id, chosen, found[0].protocol, templates, before=chosen, note=note)


KINDS: tuple[Kind, ...] = ("preference", "score", "answer")  # kinds of verdicts that are compared with gold
# The axis of the experiments of a variant, and its level of the judge without the changes.
AXIS, CURRENT = "variant", "current"


@dataclass(frozen=True)
class CurrentJudge:
    """The judge of a run, with what it judges."""

    run: runs.Run
    judge: changes.Judge
    kind: Kind
    scale: Scale | None


def choices(session: Session, study_id: int) -> dict[str, list[str]]:
    """Return run -> its criteria whose text can be changed, of the runs with verdicts, newest first.

    Runs on held-out items are left out, and those of the judge without the changes: they repeat another run.
    """
    ended = col(tables.TraceRow.outcome).in_(("agreed", "disputed", "no_verdict"))
    query = select(col(tables.TraceRow.run_id)).where(col(tables.TraceRow.study_id) == study_id, ended).distinct()
    judged = set(session.scalars(query))
    held_out = select(col(tables.ExperimentRow.id)).join(
        tables.HeldOutUseRow,
        (col(tables.HeldOutUseRow.study_id) == col(tables.ExperimentRow.study_id))
        & (col(tables.HeldOutUseRow.experiment) == col(tables.ExperimentRow.name)),
    )
    hidden = set(session.scalars(held_out.where(col(tables.ExperimentRow.study_id) == study_id)))
    found = {}
    for run in runs.of_study(session, study_id):
        is_offered = run.id in judged and run.experiment_id not in hidden and run.cell != {AXIS: CURRENT}
        if is_offered and run.protocol in registry.PROTOCOLS and run.settings:
            own = run.settings.get("criterion"), *(run.settings.get("criteria") or ())
            names = dict.fromkeys(one["name"] for one in own if isinstance(one, Mapping) and "name" in one)
            if names:
                found[run.name] = list(names)
    return found


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


def judge_of(protocol: str, base: Mapping[str, Any], criterion: str) -> changes.Judge:
    """Return the judge with the settings of a base, which has every template that differs from the protocol's."""
    installed = registry.get(protocol)
    return changes.find_judge(installed, base, installed.prompts_with(base.get("prompts", {})), criterion)


def _base(run: runs.Run, criterion: str) -> dict[str, Any]:
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
        select(col(tables.TargetRow.kind), func.count())
        .join(tables.OpinionRow, col(tables.OpinionRow.target_id) == col(tables.TargetRow.id))
        .where(
            col(tables.OpinionRow.run_id) == run_id,
            col(tables.OpinionRow.stage) == "verdict",
            col(tables.TargetRow.criterion) == criterion,
            col(tables.TargetRow.kind).in_(KINDS),
        )
        .group_by(col(tables.TargetRow.kind))
        .order_by(func.count().desc(), col(tables.TargetRow.kind))
    )
    found = session.execute(query).first()
    if found is None:
        raise TiebreakError(f"The run has no verdict on {criterion!r} that can be compared with people's decisions.")
    return cast(Kind, found[0])
