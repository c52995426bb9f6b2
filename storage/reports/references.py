"""References: the values that judges are compared with in one analysis.

A reference is people's gold, their majority or mean, one annotator, or a debate with people's decisions on its disputes
(ScaleEval's own reference). Verdicts of the evaluated run are never part of it: the only verdicts in a reference are
those of the debate that it names, and that run is left out of the comparison.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, cast, get_args

from sqlalchemy import Engine, func, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.labels import Scale, Value, majority_value, mean_value
from core.wording import report_criterion
from storage.db import connections
from storage.db.tables import ExperimentRow, ItemRow, OpinionRow, RunRow, TargetRow, TraceRow
from storage.labels import labels, targets
from storage.labels.targets import TargetKey, own_outcome
from storage.runs import runs

if TYPE_CHECKING:
    import pandas as pd

ReferenceType = Literal["gold", "majority", "mean", "annotator", "debate"]
TYPES: tuple[ReferenceType, ...] = get_args(ReferenceType)
ADJUDICATED, BY_PEOPLE, BY_THE_DEBATE = "adjudicated", "by people", "by the debate"
NAMED = ("annotator", "debate")
COLUMNS = ["item", "kind", "criterion", "part", "value", "number", "source", "disputed"]
FORMS = "gold, majority, mean, annotator:NAME or debate:RUN"
Scales = Mapping[tuple[str, str], Scale]
TITLES: Mapping[ReferenceType, str] = {
    "gold": "adjudicated gold, otherwise the majority or mean of the annotators' labels",
    "majority": "the majority of people",
    "mean": "the mean of people's scores",
    "annotator": "the labels of NAME",
    "debate": "the debate NAME with people's decisions on its disputes",
}


@dataclass(frozen=True)
class Reference:
    """One reference, as it is written in addresses and on the command line: "gold", "debate:first run"."""

    type: ReferenceType = "gold"
    name: str = ""
    """The annotator, the run of the debate, or the experiment whose runs are debates."""

    def __str__(self) -> str:
        return f"{self.type}:{self.name}" if self.name else self.type

    @property
    def title(self) -> str:
        """The reference in words."""
        return TITLES[self.type].replace("NAME", self.name)


def parse(text: str) -> Reference:
    """Return the reference that `text` names; raises TiebreakError for any other text."""
    form, separator, name = text.partition(":")
    if form not in TYPES or bool(separator) != (form in NAMED) or (form in NAMED and not name.strip()):
        raise TiebreakError(f"There is no reference {text!r}; write {FORMS}.")
    return Reference(form, name.strip())


def debate_note(engine: Engine, study_id: int, text: str | None) -> list[str]:
    """Return a sentence that names a reference which is a debate, in a list; empty for labels of people."""
    with connections.reading(engine) as session:
        reference = resolve(session, study_id, text)
    return [f"Compared with {reference.title}."] if reference.type == "debate" else []


def choices(session: Session, study_id: int) -> list[Reference]:
    """Return the references that a study has, the default first."""
    runs_of_debates = debate_runs(session, study_id)
    debates = [Reference("debate", name) for name in runs_of_debates]
    experiments = [Reference("debate", name) for name in _debate_experiments(session, study_id, runs_of_debates)]
    people = [Reference("annotator", name) for name in labels.annotators_of(session, study_id)]
    own = [Reference("gold"), Reference("majority"), Reference("mean")]
    decided = people or labels.newest_adjudications(session, study_id)
    judging_runs = select(func.count(col(OpinionRow.run_id).distinct())).where(col(OpinionRow.study_id) == study_id)
    if debates and not decided and session.scalars(judging_runs).one() > 1:
        return [debates[-1], *debates[:-1], *experiments, *own]
    return [*own, *people, *debates, *experiments]


def resolve(session: Session, study_id: int, text: str | None) -> Reference:
    """Return the reference that `text` names, or the default: gold, or without people's decisions the newest debate.

    Raises TiebreakError for a reference that the study does not have.
    """
    known = choices(session, study_id)
    if not text:
        return known[0]
    reference = parse(text)
    if reference not in known:
        names = [other.name for other in known if other.type == reference.type]
        noun = "annotator with labels" if reference.type == "annotator" else "debate with verdicts"
        raise TiebreakError(f"There is no {noun} called {reference.name!r}; there are {', '.join(names) or 'none'}.")
    return reference


def debate_runs(session: Session, study_id: int) -> list[str]:
    """Return the names of the runs with verdicts of several judges, oldest first."""
    query = (
        select(col(OpinionRow.run_id), col(OpinionRow.judge), col(OpinionRow.stage))
        .where(col(OpinionRow.study_id) == study_id)
        .distinct()
    )
    members: dict[int, set[str]] = defaultdict(set)
    with_verdict: set[int] = set()
    for run, judge, stage in session.execute(query):
        if stage == "verdict":
            with_verdict.add(run)
        else:
            members[run].add(judge)
    found = [run for run in sorted(with_verdict) if len(members[run]) > 1]
    names = {run.id: run.name for run in runs.of_study(session, study_id)} if found else {}
    return [names[run] for run in found]


def _debate_experiments(session: Session, study_id: int, debates: Sequence[str]) -> list[str]:
    """Return the names of the experiments with a run among `debates`, oldest first."""
    query = (
        select(col(ExperimentRow.name))
        .join(RunRow, col(RunRow.experiment_id) == col(ExperimentRow.id))
        .where(col(RunRow.study_id) == study_id, col(RunRow.name).in_(debates))
        .group_by(col(ExperimentRow.id), col(ExperimentRow.name))
        .order_by(col(ExperimentRow.id))
    )
    return [name for name in session.scalars(query) if name not in debates] if debates else []


def debate_run_ids(session: Session, study_id: int, name: str) -> list[int]:
    """Return the run of that name, or the debates of the experiment of that name, first repetitions first."""
    of_experiment = select(col(ExperimentRow.id)).where(
        col(ExperimentRow.study_id) == study_id, col(ExperimentRow.name) == name
    )
    query = select(col(RunRow.id), col(RunRow.name)).where(
        col(RunRow.study_id) == study_id,
        or_(col(RunRow.name) == name, col(RunRow.experiment_id).in_(of_experiment)),
    )
    found = session.execute(query.order_by(col(RunRow.repeat), col(RunRow.id))).all()
    named = [run_id for run_id, run_name in found if run_name == name]
    if named or not found:
        return named
    debates = {*debate_runs(session, study_id)}
    return [run_id for run_id, run_name in found if run_name in debates]


def frame(
    session: Session, study_id: int, reference: Reference, scales: Scales, disputed: Collection[int] | None = None
) -> "pd.DataFrame":
    """Return the values of a reference, one per row, with COLUMNS.

    `value` is on the scale, or None; `number` is a number for correlations, which can be a mean between two categories.
    `disputed` are those of `disputed_targets`, if the caller has them.
    """
    import pandas as pd

    disputed = disputed_targets(session, study_id) if disputed is None else disputed
    rows = list(_rows(session, study_id, reference, scales, disputed))
    return pd.DataFrame(rows, columns=COLUMNS, dtype=object).astype({"number": float, "disputed": bool})


def _rows(
    session: Session, study_id: int, reference: Reference, scales: Scales, disputed: Collection[int]
) -> Iterator[tuple[str, str, str, str, Value | None, float | None, str, bool]]:
    from storage.labels import current_labels  # imports numpy, as `_mean_number` does

    annotator = reference.name if reference.type == "annotator" else None
    codes_by_target, values = current_labels.codes_by_target(session, study_id, annotator)

    @cache
    def decide(kind: str, criterion: str, codes: tuple[int, ...]) -> Decision | None:
        return _by_people(reference, [values[code] for code in codes], scales.get((kind, criterion)))

    has_decisions = reference.type in ("gold", "debate")
    adjudications = labels.newest_adjudications(session, study_id) if has_decisions else {}
    adjudicated = {targets.key_of(target): adjudication.value for target, adjudication in adjudications.items()}
    verdicts = _verdicts(session, study_id, reference.name) if reference.type == "debate" else {}
    for target_id, key in targets.keys_of_study(session, study_id):
        if reference.type == "debate" and key not in verdicts:
            continue
        item, kind, stored, part = key
        criterion = report_criterion(stored)
        verdict, scale = verdicts.get(key), scales.get((kind, criterion))
        decision: Decision | None
        if key in adjudicated:
            decision = adjudicated[key], _mean_number([adjudicated[key]], scale), ADJUDICATED
        elif verdict is not None:
            on_scale = scale is None or scale.contains(verdict)
            decision = verdict if on_scale else None, _mean_number([verdict], scale), BY_THE_DEBATE
        else:
            decision = decide(kind, criterion, codes_by_target.get(target_id, ()))
        if decision is not None:
            yield (item, kind, criterion, part, *decision, target_id in disputed)


# The value on the scale, the number, and the source.
Decision = tuple[Value | None, float | None, str]


def _by_people(reference: Reference, given: Sequence[Value], scale: Scale | None) -> Decision | None:
    """Return the decision of the labels of a target, or of one annotator's label; None if there is none."""
    majority = None if reference.type == "mean" else majority_value(given)
    if reference.type == "majority":
        given = [] if majority is None else [majority]
    mean = _mean_number(given, scale)
    return None if majority is None and mean is None else (majority, mean, BY_PEOPLE)


def _mean_number(values: Sequence[Value], scale: Scale | None) -> float | None:
    """Return the mean of numbers, or of the places of words on an ordered scale; None if there is none."""
    # Imported here: it imports numpy and pandas, which commands that compute nothing do without.
    from core.statistics.data.ratings import category_numbers

    if scale is not None and scale.categories:
        if scale.level == "nominal":
            return None
        places = dict(zip(scale.categories, category_numbers(scale.categories), strict=True))
        values = [float(places.get(value, math.nan)) if isinstance(value, str) else value for value in values]
    mean = mean_value(values)
    return float(mean) if isinstance(mean, int | float) and math.isfinite(mean) else None


def _verdicts(session: Session, study_id: int, name: str) -> dict[TargetKey, Value | None]:
    """Return the verdicts of a debate on every target that it judged; of several runs on one, the first counts."""
    ids = debate_run_ids(session, study_id, name)
    query = (
        select(
            col(OpinionRow.run_id), own_outcome(), col(OpinionRow.value),
            col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part),
        )
        .select_from(OpinionRow)
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .join(RunRow, col(RunRow.id) == col(OpinionRow.run_id))
        .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == "verdict", col(RunRow.id).in_(ids))
        .order_by(col(OpinionRow.id))
    )  # fmt: skip
    verdicts: dict[TargetKey, Value | None] = {}
    for _, outcome, value, *target in sorted(session.execute(query), key=lambda row: ids.index(row[0])):
        verdicts.setdefault(cast(TargetKey, tuple(target)), None if outcome == "disputed" else value)
    return verdicts


def disputed_targets(session: Session, study_id: int) -> frozenset[int]:
    """Return the ids of the targets that a run disputed, or came to no verdict about."""
    query = (
        select(col(OpinionRow.target_id))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == "verdict")
        .where(or_(own_outcome() == "disputed", col(OpinionRow.value).is_(None)))
    )
    return frozenset(session.scalars(query))


def settings_models(settings: object) -> set[str]:
    """Return every model named in settings, which may be imported and have any form."""
    match settings:
        case {"model": str(model), **others} if model:
            return {model} | settings_models(others)
        case dict():
            return {model for inner in settings.values() for model in settings_models(inner)}
        case list() | tuple():
            return {model for inner in settings for model in settings_models(inner)}
    return set()
