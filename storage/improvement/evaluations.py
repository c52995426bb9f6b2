"""Evaluations of variants: on development items as often as wanted, on held-out items once; and the acceptance.

A use of held-out items is recorded before its runs start. Its result is stored when they have ended, and does not
change with later labels. p-values are corrected for the planned uses of a criterion; see `core.improvement.comparison`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.experiments import Definition
from core.improvement.changes import PARTS, Part, set_names
from core.improvement.comparison import Decision, PairedResult, compare, decide
from core.labels import Target, Value
from core.wording import equate_p, format_estimate
from storage.db import audit
from storage.db.connections import reading, write
from storage.db.tables import CriterionVersionRow, HeldOutUseRow, ItemPartRow, RunRow, VariantRow, now
from storage.improvement import judges, splits, variants
from storage.reports import disagreements as reports
from storage.runs import experiments
from storage.studies import items, studies
from storage.studies.studies import Study
from storage.worker import Plan, plan, start

Version = tuple[object, ...]


@dataclass(frozen=True)
class Use:
    """The evaluation of a variant on held-out items."""

    variant: str
    author: str
    at: datetime
    experiment: str
    result: PairedResult | None  # None until its runs have ended


@dataclass(frozen=True)
class Evaluation:
    """A variant with its results."""

    variant: variants.Variant
    development: PairedResult | None
    development_progress: experiments.Progress | None
    use: Use | None
    held_out_progress: experiments.Progress | None
    decision: Decision | None  # by the rule of the split, from the result on held-out items
    accepted_version: int | None  # the version of the criterion that the variant became


def uses(session: Session, study_id: int, kind: str, criterion: str) -> list[Use]:
    """Return the uses of held-out items for a criterion, oldest first."""
    query = (
        select(HeldOutUseRow, col(VariantRow.name))
        .join(VariantRow, col(VariantRow.id) == col(HeldOutUseRow.variant_id))
        .where(
            col(HeldOutUseRow.study_id) == study_id,
            col(VariantRow.kind) == kind,
            col(VariantRow.criterion) == criterion,
        )
        .order_by(col(HeldOutUseRow.id))
    )
    return [_use(row, name) for row, name in session.execute(query)]


def _use(row: HeldOutUseRow, variant: str) -> Use:
    result = None if row.result is None else PairedResult.model_validate(row.result)
    return Use(variant, row.author, row.at, row.experiment, result)


def _find_use(made: Sequence[Use], variant: variants.Variant) -> Use | None:
    return next((use for use in made if use.variant == variant.name), None)


def _record_start(session: Session, study: Study, variant: variants.Variant, planned: Definition, part: Part) -> None:
    """Record that the experiment of a variant starts; a use of held-out items is recorded once, also if resumed.

    Raises TiebreakError if all planned uses were made, or if the judge is no longer the current one.
    """
    if part == "development":
        session.get_one(VariantRow, variant.id).development = planned.name
        return
    studies.lock(session, study.id)
    made = uses(session, study.id, variant.kind, variant.criterion)
    if _find_use(made, variant) is not None:
        return
    limit = splits.get(session, study.id).rule.evaluations
    if len(made) >= limit:
        raise TiebreakError(
            f"The held-out items were used {len(made)} times for {variant.criterion!r}, as often as planned: "
            "another use would find improvements by chance."
        )
    judges.check_is_current(session, study.id, variant.current)
    session.add(
        HeldOutUseRow(
            study_id=study.id,
            variant_id=variant.id,
            author=audit.actor_name(),
            experiment=planned.name,
            at=now(),
        )
    )
    session.flush()
    audit.record_change(
        session, study.id, f"variant {variant.name} evaluated on held-out items, use {len(made) + 1} of {limit}"
    )


def prepare(engine: Engine, study: Study, variant: variants.Variant, part: Part) -> Plan:
    """Return what an evaluation of a variant executes, without starting it.

    It is on the items of the part that have gold, or as it was started; raises TiebreakError if no item has gold.
    """
    with reading(engine) as session:
        use = _find_use(uses(session, study.id, variant.kind, variant.criterion), variant)
        stored = experiments.find(session, study.id, use.experiment) if use and part == "held-out" else None
        gold = splits.gold_of_part(session, study.id, part, variant.kind, variant.criterion)
        order = splits.parts(session, study.id)
    if stored is not None:
        return plan(engine, study, stored.definition)
    with_gold = {target.item for target in gold}
    chosen = tuple(item for item in order if item in with_gold)
    if not chosen:
        raise TiebreakError(f"No {part} item has a decision of people on {variant.criterion!r}.")
    return plan(engine, study, variant.definition(study, part, chosen))


def begin(engine: Engine, study: Study, variant: variants.Variant, part: Part, planned: Plan) -> int:
    """Record an evaluation, create its runs or request the rest of them, and return the id of its experiment."""
    write(engine, lambda session: _record_start(session, study, variant, planned.definition, part))
    return start(engine, study, planned)


def evaluate(engine: Engine, study: Study, name: str) -> Evaluation:
    """Return the results of a variant; the result on held-out items is stored when its runs have ended."""
    with reading(engine) as session:
        variant = variants.get(session, study.id, name)
        made = uses(session, study.id, variant.kind, variant.criterion)
        use = _find_use(made, variant)
        development = experiments.find(session, study.id, variant.development or "")
        held_out = experiments.find(session, study.id, use.experiment if use else "")
        result, progress = _compare(session, study.id, variant, development)
        new_result, held_out_progress = (
            _compare(session, study.id, variant, held_out) if use and use.result is None else (None, None)
        )
        rule = splits.get(session, study.id).rule
        accepted = _accepted_version(session, variant.id)
    if use is not None and new_result is not None:
        found = new_result
        use = write(engine, lambda session: _store_result(session, study, variant, found))
    decision = None
    if use is not None and use.result is not None:
        others = [1.0 if one.result is None else one.result.p for one in made if one.variant != variant.name]
        decision = decide(rule, use.result, others)
    return Evaluation(variant, result, progress, use, held_out_progress, decision, accepted)


def table(engine: Engine, study: Study) -> list[dict[str, Any]]:
    """Return one row per variant and part, newest variant first; figures are None without a result."""
    with reading(engine) as session:
        names = [variant.name for variant in variants.of_study(session, study.id)]
    return [row for name in names for row in _rows(evaluate(engine, study, name))]


def _rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    variant, decision = evaluation.variant, evaluation.decision
    named = {"name": variant.name, "criterion": variant.criterion, "origin": variant.origin}
    results = (evaluation.development, evaluation.use.result if evaluation.use else None)
    none = dict.fromkeys(PairedResult.model_fields)
    rows: list[dict[str, Any]] = [
        {**named, "part": part, **(result.model_dump() if result else none), "p_corrected": None, "accepted": None}
        for part, result in zip(PARTS, results, strict=True)
    ]
    if decision is not None:
        rows[1] |= {"p_corrected": decision.p_corrected, "accepted": decision.accepted}
    return rows


def accept(session: Session, study: Study, evaluation: Evaluation) -> int:
    """Make a variant the study's criterion and prompts, as a new version; return its number.

    Raises TiebreakError unless the rule accepts it, or if another variant was accepted since it was proposed.
    """
    studies.lock(session, study.id)
    variant, decision, use = evaluation.variant, evaluation.decision, evaluation.use
    if _accepted_version(session, variant.id) is not None:
        raise TiebreakError(f"The variant {variant.name!r} is accepted already.")
    if decision is None or use is None or use.result is None:
        raise TiebreakError(f"The variant {variant.name!r} has no result on held-out items.")
    if not decision.accepted:
        raise TiebreakError(f"The variant {variant.name!r} is not accepted: {decision.reason}")
    current = variant.current
    judges.check_is_current(session, study.id, current)
    result = use.result
    difference = format_estimate(result.difference, result.low, result.high, 3, sign=True)
    note = (
        f"variant {variant.name} accepted: difference {difference} on {result.targets:,} held-out "
        f"targets, corrected {equate_p(decision.p_corrected)}"
    )
    return judges.replace_version(
        session,
        study.id,
        variant.changed_criterion,
        variant.protocol,
        variant.changed_templates,
        before=current.criterion,
        note=note,
        variant_id=variant.id,
    )


def version(session: Session, study_id: int) -> Version:
    """Return values that change whenever the result or the state of a variant may have changed."""
    states = select(col(RunRow.state), func.count()).where(col(RunRow.study_id) == study_id).group_by(col(RunRow.state))
    rows: tuple[Any, ...] = (VariantRow, HeldOutUseRow, CriterionVersionRow, ItemPartRow)
    counts = [select(func.count()).select_from(row).where(col(row.study_id) == study_id) for row in rows]
    finished = select(func.count()).where(
        col(HeldOutUseRow.study_id) == study_id, col(HeldOutUseRow.result).is_not(None)
    )
    return (
        *reports.version(session, study_id),
        *sorted(f"{state} {number}" for state, number in session.execute(states)),
        *(session.scalars(count).one() for count in (*counts, finished)),
    )


def _compare(
    session: Session, study_id: int, variant: variants.Variant, experiment: experiments.Experiment | None
) -> tuple[PairedResult | None, experiments.Progress | None]:
    """Return the result of an experiment, and its progress; no result before every trace has a verdict or none."""
    if experiment is None:
        return None, None
    progress = experiments.progress(session, experiment.id)
    if progress.state != "finished" or progress.failed or progress.done < progress.traces:
        return None, progress
    cells = {run.id: (run.cell or {}).get(judges.AXIS) for run in experiments.runs_of(session, experiment.id)}
    verdicts = splits.verdicts_of_runs(session, list(cells), variant.kind, variant.criterion)
    by_level: dict[str | None, dict[Target, Value | None]] = {judges.CURRENT: {}, variant.name: {}}
    for (run, target), (_, value) in verdicts.items():
        by_level[cells[run]][target] = value
    chosen = experiment.definition.items
    part = splits.parts(session, study_id)[chosen[0]]
    gold = {
        target: one.value
        for target, one in splits.gold_of_part(session, study_id, part, variant.kind, variant.criterion).items()
        if target.item in chosen and one.value is not None and any(target in own for own in by_level.values())
    }
    names = set_names(list(items.by_keys(session, study_id, chosen).values()))
    scale = studies.scale(session, study_id, variant.kind, variant.criterion)
    if scale is None and variant.kind == "score":
        scale = variant.current.criterion.scale
    current, changed = ([by_level[level].get(target) for target in gold] for level in (judges.CURRENT, variant.name))
    return compare(current, changed, list(gold.values()), [names[target.item] for target in gold], scale), progress


def _store_result(session: Session, study: Study, variant: variants.Variant, result: PairedResult) -> Use:
    """Store the result of a use unless it has one, and return the use."""
    studies.lock(session, study.id)
    row = session.scalars(select(HeldOutUseRow).where(col(HeldOutUseRow.variant_id) == variant.id)).one()
    if row.result is None:
        row.result = result.model_dump(mode="json")
    return _use(row, variant.name)


def _accepted_version(session: Session, variant_id: int) -> int | None:
    query = select(col(CriterionVersionRow.version)).where(col(CriterionVersionRow.variant_id) == variant_id)
    return session.scalars(query).first()
