"""How sure a judge is of each of its verdicts, from what is stored of them.

A signal is a number for each target, larger the surer. None is read from labels, so thresholds on it can be tested
with them.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Text, cast, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.statistics.data.dataset import STAGES, Dataset
from core.statistics.data.frames import has_key
from core.statistics.data.ratings import encode_on_scale
from core.wording import Described, stored_criterion
from storage.db.tables import EventRow, OpinionRow, TargetRow, TraceRow
from storage.reports import _order_consistency as order_consistency
from storage.runs import inputs, runs
from storage.runs.runs import Run

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from core.statistics.data.arrays import Bools, Floats


class Signal(Described):
    """A measure of confidence; in the order in which one is chosen if none is named, which no label decides."""

    simulated = "simulated", "share of the simulated annotators that give the verdict"
    stated = "stated", "stated confidence"
    token = "token", "probability of the rating's token"
    repeats = "repeats", "share of the judge's repetitions with the same verdict"
    panel = "panel", "share of the panel that gives the verdict"
    contention = "contention", "1 − contention of the debate"
    orders = "orders", "same choice in both orders of the responses"
    rounds = "rounds", "1 / rounds until consensus"
    none = "none", "no signal: all verdicts or none"


# Trace and part -> value.
ByPart = Mapping[tuple[int, str], float]


@dataclass(frozen=True)
class _Judge:
    """A judge's verdicts on the N targets of a dataset."""

    dataset: Dataset
    name: str
    opinions: "pd.DataFrame"
    """All opinions of its kind and criterion."""

    @property
    def traces(self) -> "Floats":
        """(N,): the trace of each verdict; nan for none."""
        judged = self.dataset.judges[self.name]
        return judged.sides.get("trace", np.full(judged.values.size, np.nan))

    @property
    def decided(self) -> "Bools":
        """(N,): whether there is a verdict."""
        return ~np.isnan(self.dataset.judges[self.name].values)

    @property
    def runs(self) -> list[int]:
        """The runs of the verdicts."""
        of_judge = self.opinions["judge"] == self.name
        return sorted(set(self.opinions.loc[of_judge, "run"].tolist()))

    @property
    def raters(self) -> set[str]:
        """The names under which the runs have the judge."""
        return set(self.opinions.loc[self.opinions["judge"] == self.name, "rater"].astype(str))

    def of_traces(self, values: Mapping[int, float]) -> "Floats":
        """Return the value of each verdict's trace (N,), nan without one."""
        return np.array([values.get(int(trace), np.nan) if trace == trace else np.nan for trace in self.traces], float)

    def of_parts(self, values: ByPart) -> "Floats":
        """Return the value of each verdict's trace and part (N,), nan without one."""
        rows = zip(self.traces.tolist(), self.dataset.part.tolist(), strict=True)
        return np.array([values.get((int(trace), part), np.nan) if trace == trace else np.nan for trace, part in rows])


def of_judge(
    session: Session, study_id: int, opinions: "pd.DataFrame", dataset: Dataset, judge: str
) -> "dict[Signal, Floats]":
    """Return the signals that a judge has on a dataset of one kind and criterion, each (N,).

    nan for a target without a verdict, or whose verdict lacks the signal. A signal that is the same everywhere is left
    out; `Signal.none` is always there, and is 1.
    """
    own = opinions[has_key(opinions, {(dataset.kind, dataset.criterion)})]
    one = _Judge(dataset, judge, own)
    of_study = runs.of_study(session, study_id)
    simulated = {run.id for run in of_study if run.id in one.runs and run.settings.get(inputs.SIMULATED_ANNOTATORS)}
    found = {
        Signal.simulated: one.of_parts(_stated(session, one, simulated)),
        Signal.stated: one.of_parts(_stated(session, one, set(one.runs) - simulated)),
        Signal.token: one.of_traces(_token_probabilities(session, one)),
        Signal.repeats: _repeats(of_study, one),
        Signal.panel: _panel_shares(one),
        Signal.contention: one.of_parts(_agreement_of_debates(session, one)),
        Signal.orders: one.of_traces(_order_shares(session, study_id, one)),
        Signal.rounds: one.of_traces(_rounds(session, one)),
    }
    decided = one.decided
    signals = {name: np.where(decided, values, np.nan) for name, values in found.items()}
    signals = {name: values for name, values in signals.items() if np.unique(values[~np.isnan(values)]).size > 1}
    return signals | {Signal.none: np.where(decided, 1.0, np.nan)}


def shown_items(session: Session, study_id: int, opinions: "pd.DataFrame", judges: Collection[str]) -> set[str]:
    """Return the items whose labels the prompts of judges show, as the examples of simulated annotators."""
    used = set(opinions.loc[opinions["judge"].isin(judges), "run"].tolist())
    found = (run.settings.get(inputs.ANNOTATOR_EXAMPLES) for run in runs.of_study(session, study_id) if run.id in used)
    sets = (own for examples in found if isinstance(examples, list) for own in examples if isinstance(own, list))
    return {str(example.get("item")) for own in sets for example in own if isinstance(example, dict)}


def _stated(session: Session, judge: _Judge, run_ids: Collection[int]) -> ByPart:
    """Return the confidence that a reply, a file or the protocol of these runs states with the opinion."""
    if not run_ids:
        return {}
    body = cast(col(EventRow.body), Text)
    query = select(col(EventRow.trace_id), body).where(
        col(EventRow.run_id).in_(run_ids), col(EventRow.type) == "verdict", body.contains('"confidence"')
    )
    stage, raters = STAGES[judge.dataset.judges[judge.name].stage], judge.raters
    kind, criterion = judge.dataset.kind, stored_criterion(judge.dataset.criterion)
    return {
        (trace, opinion.get("part", "")): float(opinion["confidence"])
        for trace, text in session.execute(query)
        for opinion in json.loads(text)["verdict"].get("opinions", ())
        if (opinion["kind"], opinion.get("criterion", ""), opinion["stage"]) == (kind, criterion, stage)
        and opinion["judge"] in raters
        and opinion.get("confidence") is not None
    }


def _turn_query(judge: _Judge, *columns: Any) -> Any:
    return select(col(EventRow.trace_id), *columns).where(
        col(EventRow.run_id).in_(judge.runs), col(EventRow.type) == "turn"
    )


def _token_probabilities(session: Session, judge: _Judge) -> dict[int, float]:
    """Return trace -> the mean probability of the ratings that were read."""
    turn, criterion = col(EventRow.body)["turn"], stored_criterion(judge.dataset.criterion)
    columns = (cast(turn[name], Text) for name in ("probabilities", "reading", "criterion"))
    found: dict[int, list[float]] = defaultdict(list)
    for trace, probabilities, reading, named in session.execute(_turn_query(judge, *columns)):
        levels = json.loads(probabilities) if probabilities else None
        if levels and (json.loads(named) if named else "") in ("", None, criterion):
            found[trace].append(float(levels.get(str(json.loads(reading or "null")), 0.0)))
    return {trace: float(np.mean(values)) for trace, values in found.items()}


def _repeats(of_study: "Iterable[Run]", judge: _Judge) -> "Floats":
    """Return the share of the runs with the same settings and prompts in which the judge gives the verdict."""
    dataset, own = judge.dataset, set(judge.runs)
    settings = {run.id: (run.protocol, run.settings, run.prompts) for run in of_study}
    equal = [run for run, value in settings.items() if any(value == settings.get(other) for other in own)]
    rows = judge.opinions
    stage = STAGES[dataset.judges[judge.name].stage]
    chosen = rows["run"].isin(equal) & rows["rater"].astype(str).isin(judge.raters) & (rows["stage"] == stage)
    rows = rows[chosen.to_numpy(bool)]
    if rows["run"].nunique() < 2:
        return np.full(dataset.gold.size, np.nan)
    return _equal_shares(judge, rows, "item", dataset.item)


def _panel_shares(judge: _Judge) -> "Floats":
    """Return the share of the last opinions of the verdict's trace that are the verdict."""
    rows = judge.opinions
    rows = rows[((rows["stage"] == "last") & rows["run"].isin(judge.runs)).to_numpy(bool)]
    return _equal_shares(judge, rows, "trace", judge.traces)


def _equal_shares(judge: _Judge, rows: "pd.DataFrame", column: str, names: "npt.NDArray[Any]") -> "Floats":
    """Return the share of the rows of each target (N,) with the judge's value; nan for targets with fewer than two.

    `names` (N,) are those of the targets in a column of the rows; the parts have to be equal too.
    """
    keys = {key: place for place, key in enumerate(zip(names.tolist(), judge.dataset.part.tolist(), strict=True))}
    of_rows = zip(rows[column].tolist(), rows["part"].tolist(), strict=True)
    places = np.array([keys.get(key, -1) for key in of_rows], int)
    values, known = judge.dataset.judges[judge.name].values, places >= 0
    given = encode_on_scale(rows["value"], judge.dataset.scale)[known]
    places = places[known]
    counts = np.bincount(places, minlength=values.size)
    same = np.bincount(places, given == values[places], minlength=values.size)
    return np.where(counts > 1, same / np.maximum(counts, 1), np.nan)


def _agreement_of_debates(session: Session, judge: _Judge) -> ByPart:
    """Return 1 - the contention of the trace, or of its criterion."""
    contention = func.coalesce(col(OpinionRow.contention), col(TraceRow.contention))
    query = (
        select(col(OpinionRow.trace_id), col(TargetRow.part), contention)
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(
            col(OpinionRow.run_id).in_(judge.runs),
            col(OpinionRow.stage) == "verdict",
            col(TargetRow.kind) == judge.dataset.kind,
            col(TargetRow.criterion) == stored_criterion(judge.dataset.criterion),
            contention.is_not(None),
        )
    )
    return {(trace, part): 1 - value for trace, part, value in session.execute(query)}


def _order_shares(session: Session, study_id: int, judge: _Judge) -> dict[int, float]:
    """Return trace -> the share of its judges' pairs of choices that are the same in both orders."""
    same: dict[int, list[bool]] = defaultdict(list)
    of_runs = judge.opinions[judge.opinions["run"].isin(judge.runs).to_numpy(bool)]
    for pair in order_consistency.pairs(session, study_id, of_runs):
        same[pair.trace].append(pair.choices[0] is not None and len(set(pair.choices)) == 1)
    return {trace: float(np.mean(values)) for trace, values in same.items()}


def _rounds(session: Session, judge: _Judge) -> dict[int, float]:
    """Return trace -> 1 / its rounds if its judges agreed, 0 if they did not; only if a trace has several rounds."""
    numbers = cast(col(EventRow.body)["turn"]["round"], Text)
    rounds: dict[int, set[str]] = defaultdict(set)
    for trace, number in session.execute(_turn_query(judge, numbers).distinct()):
        rounds[trace].add(number)
    if max(map(len, rounds.values()), default=0) < 2:
        return {}
    of_runs = col(TraceRow.run_id).in_(judge.runs)
    agreed = set(session.scalars(select(col(TraceRow.id)).where(of_runs, col(TraceRow.outcome) == "agreed")))
    return {trace: 1 / len(found) if trace in agreed else 0.0 for trace, found in rounds.items()}
