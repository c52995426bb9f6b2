"""The raters of a study: annotators with their labels, judges with their first and last opinions.

A judge rates a debate: one item in one run. First and last opinions are compared on the same debates, those in which
both could be read for every judge.
"""

import json
import threading
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

import numpy as np
import pandas as pd
from sqlalchemy import Text, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.annotator_names import is_unknown
from core.labels import Kind, Scale, Value, is_number
from core.statistics.data.frames import ALL, as_text, row_keys
from core.wording import report_criterion
from storage.db.tables import OpinionRow, RunRow, TargetRow
from storage.labels import targets
from storage.runs import trace_opinions
from storage.studies import studies
from storage.studies.studies import Study

RaterGroup = Literal["people", "judges"]
Stage = Literal["", "first", "last"]
Scales = Mapping[tuple[str, str], Scale]
STAGES: tuple[Stage, ...] = ("first", "last")
# The (name, model) of the judges of a run, sorted.
JudgeSet = tuple[tuple[str, str], ...]
# Rows fetched at once.
CHUNK = 10_000
OPINION_COLUMNS = ["trace", "run", "item", "scenario", "group", "kind", "criterion", "part", "rater", "stage", "value"]


@dataclass(frozen=True)
class RaterPanel:
    """Raters with their values: item, scenario, group, kind, criterion, part, rater, value; for judges also trace."""

    values: pd.DataFrame
    stage: Stage = ""
    """Empty for annotators."""
    judges: str = ""
    """The judges' names, if runs of the study have different judges."""
    as_shown: bool = False
    """Whether preferences are positions in the order shown to the judge, instead of the item's response numbers."""
    debates: pd.DataFrame | None = None
    """For judges: kind, criterion and scenario of every debate, and `excluded`: whether an opinion is unreadable."""
    populations: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """For annotators, (kind, criterion) -> the strata that labels are of; "" if they are of all targets."""

    def population(self, kind: str, criterion: str) -> str:
        """Return the strata that figures are of; criterion "all" has those of each criterion that is not of all."""
        found = {note for key, note in self.populations.items() if key[0] == kind and criterion in (ALL, key[1])}
        return "; ".join(sorted(filter(None, found)))

    def exclusion_note(self, kind: str, criterion: str | None = None, scenario: str | None = None) -> str:
        """Return `17 of 560 debates left out: ...`; empty if none is."""
        counts = [
            count
            for key, count in self._exclusions.items()
            if key[0] == kind and criterion in (None, key[1]) and scenario in (None, key[2])
        ]
        excluded, total = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
        unit = "debates" if kind == "preference" else "judgements"
        return f"{excluded} of {total} {unit} left out: an opinion could not be read" if excluded else ""

    @cached_property
    def _exclusions(self) -> dict[tuple[str, str, str], tuple[int, int]]:
        """(kind, criterion, scenario) -> the number of excluded debates, and of all; a missing name is empty."""
        if self.debates is None:
            return {}
        names = ["kind", "criterion", "scenario"]
        counts = self.debates.groupby(names, dropna=False, observed=True)["excluded"].agg(["sum", "size"])
        return {
            (as_text(kind), as_text(criterion), as_text(scenario)): (int(excluded), int(total))
            for (kind, criterion, scenario), excluded, total in counts.itertuples(name=None)
        }

    @property
    def name(self) -> str:
        """Such as `judges, last opinions`; empty for annotators."""
        if not self.stage:
            return ""
        return f"judges, {self.stage} opinions{f' ({self.judges})' * bool(self.judges)}{', as shown' * self.as_shown}"


def find_scales(session: Session, study: Study, frames: Iterable[pd.DataFrame]) -> Scales:
    """Return the scale of every kind and criterion in the frames: declared, the default, or that of a score.

    A nominal scale of any number, such as that of steps, has the values that occur as its categories.
    """
    declared = studies.scales(session, study.id)
    scales: dict[tuple[str, str], Scale] = {
        (kind, report_criterion(criterion)): scale for (kind, criterion), scale in declared.items()
    }
    for frame in filter(len, frames):
        for key, rows in frame.groupby(["kind", "criterion"], sort=False, observed=True):
            kind, criterion = cast(tuple[Kind, str], key)
            scale = scales.get((kind, criterion)) or studies.DEFAULT_SCALES.get(kind)
            values = rows["value"].tolist()
            if scale is None and all(map(is_number, values)):
                scale = Scale(level="interval")
            if scale is not None:
                scales[kind, criterion] = _with_values(scale, values) if scale.is_open else scale
    return scales


def with_values(scales: Scales, *frames: pd.DataFrame) -> dict[tuple[str, str], Scale]:
    """Return the scales; of those of any number, the values of the frames are categories too.

    A frame has the columns kind, criterion and value: what somebody decided may be a step that no label names.
    """
    extended = dict(scales)
    for (kind, criterion), scale in scales.items():
        for frame in frames if scale.is_open else ():
            found = frame.loc[(frame["kind"] == kind) & (frame["criterion"] == criterion), "value"]
            extended[kind, criterion] = _with_values(extended[kind, criterion], found.tolist())
    return extended


def _with_values(scale: Scale, values: Iterable[object]) -> Scale:
    used = {*scale.categories, *filter(is_number, values)}
    return scale.model_copy(update={"categories": tuple(sorted(used, key=float))})


def judge_panels(session: Session, study: Study) -> list[RaterPanel]:
    """Return the judges' first and last opinions, by set of judges; as shown too if the order was swapped."""
    opinions = opinion_frame(session, study.id)
    opinions = opinions[opinions["stage"] != "verdict"]
    raters = opinions.groupby("run")["rater"].nunique()
    opinions = opinions[opinions["run"].isin(raters.index[raters > 1])]  # agreement needs two
    if opinions.empty:
        return []
    swapped = _swapped_orders(session, study.id)
    sets = opinions["run"].map(_judge_set_names(session, study.id))
    return [panel for name, part in opinions.groupby(sets) for panel in _panels(part, str(name), swapped)]


def _panels(opinions: pd.DataFrame, judges: str, swapped: dict[int, tuple[int, ...]]) -> Iterator[RaterPanel]:
    # A trace may judge several targets: an unreadable opinion of one AIU excludes this AIU, not the whole trace.
    targets = row_keys(opinions, ("trace", "kind", "criterion", "part"))
    excluded = np.isin(targets, targets[opinions["value"].isna().to_numpy(bool)])
    debates = opinions.assign(excluded=excluded).iloc[np.unique(targets, return_index=True)[1]]
    values = opinions[~excluded]
    # The unit is the debate: two runs over an item are two units, which are resampled together.
    groups = values["group"].where(values["group"].notna(), values["item"])
    values = values.assign(group=groups, item=values["trace"].map(str))
    for as_shown in (False, True):
        if as_shown and values["trace"].isin(swapped).any():
            values = values.assign(value=pd.Series(_values_as_shown(values, swapped), values.index, dtype=object))
        elif as_shown:
            return
        for stage in STAGES:
            of_stage = values["stage"] == stage
            if of_stage.any():
                yield RaterPanel(values[of_stage], stage, judges, as_shown, debates)


def _values_as_shown(values: pd.DataFrame, swapped: dict[int, tuple[int, ...]]) -> list[Value]:
    """Return preferences as positions in the order shown to the judge; other values as they are."""
    columns = [values[name].tolist() for name in ("trace", "kind", "value")]
    orders = [swapped.get(trace, ()) for trace in columns[0]]
    return [
        order.index(value) + 1 if kind == "preference" and value in order else value
        for order, kind, value in zip(orders, *columns[1:], strict=True)
    ]


def opinion_frame(session: Session, study_id: int, kinds: Collection[Kind] | None = None) -> pd.DataFrame:
    """Return every opinion of a study, one per row, with OPINION_COLUMNS; the value of an unreadable one is None.

    With `kinds`, only opinions on targets of these kinds are read.
    """
    return with_texts(categorical_opinions(session, study_id, kinds))


def with_texts(opinions: pd.DataFrame) -> pd.DataFrame:
    """Return opinions with texts instead of categories, for operations that categories do not have."""
    restored = {}
    for name in opinions.columns[opinions.dtypes == "category"]:
        names = opinions[name].astype(opinions[name].cat.categories.dtype)
        restored[name] = names.where(names.notna(), None) if names.dtype == object else names
    return opinions.assign(**restored)


def categorical_opinions(session: Session, study_id: int, kinds: Collection[Kind] | None = None) -> pd.DataFrame:
    """Return the same with names as categories, in their order: a quarter of the memory if there are millions."""
    rows = _opinion_rows(session, study_id, kinds)
    if rows.empty:
        return pd.DataFrame(columns=OPINION_COLUMNS)
    by_target = targets.frame(session, study_id)
    by_target = by_target.astype(dict.fromkeys(by_target.columns, "category"))
    frame = by_target.take(by_target.index.get_indexer(pd.Index(rows["target"]))).reset_index(drop=True)
    texts, known = pd.factorize(rows["value"], use_na_sentinel=False)  # a study has few distinct values
    values = np.empty(len(known), object)
    values[:] = [json.loads(text) if isinstance(text, str) else None for text in known]
    rows = rows.astype({"rater": "category", "stage": "category"}).assign(value=pd.Series(values[texts], dtype=object))
    return pd.concat([frame, rows], axis=1)[OPINION_COLUMNS]


def _opinion_rows(session: Session, study_id: int, kinds: Collection[Kind] | None) -> pd.DataFrame:
    """Return the opinions of a study in the order of their ids, or those on targets of some kinds; values as JSON."""
    columns = {
        "trace": col(OpinionRow.trace_id),
        "run": col(OpinionRow.run_id),
        "target": col(OpinionRow.target_id),
        "rater": col(OpinionRow.judge),
        "stage": col(OpinionRow.stage),
        "value": sql_cast(col(OpinionRow.value), Text),
    }
    query = select(*columns.values()).where(col(OpinionRow.study_id) == study_id).order_by(col(OpinionRow.id))
    if kinds is not None:
        judged = select(col(TargetRow.id)).where(col(TargetRow.study_id) == study_id, col(TargetRow.kind).in_(kinds))
        query = query.where(col(OpinionRow.target_id).in_(judged))
    parts = [
        pd.DataFrame(rows, columns=list(columns))
        for rows in session.execute(query, execution_options={"yield_per": CHUNK}).partitions()
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns))


def _swapped_orders(session: Session, study_id: int) -> dict[int, tuple[int, ...]]:
    """Return trace id -> the order of the responses, if it was not the item's own."""
    return {
        trace: order
        for trace, orders in trace_opinions.orders_of_study(session, study_id)
        for order in orders
        if list(order) != sorted(order)
    }


def _judge_set_names(session: Session, study_id: int) -> dict[int, str]:
    """Return run id -> its judges' names, with models if names are equal; empty if all runs have the same.

    Speakers without a name belong to the panel that has the named judges next to them.
    """
    query = select(col(RunRow.id), col(RunRow.settings)).where(col(RunRow.study_id) == study_id)
    sets = _with_unnamed_speakers({run: judges_of_settings(settings) for run, settings in session.execute(query)})
    if len(set(sets.values())) < 2:
        return dict.fromkeys(sets, "")
    names = {judges: ", ".join(name for name, _ in judges) for judges in sets.values()}
    return {
        run: names[judges]
        if list(names.values()).count(names[judges]) == 1
        else ", ".join(f"{name}: {model}" for name, model in judges)
        for run, judges in sets.items()
    }


def _with_unnamed_speakers(sets: dict[int, JudgeSet]) -> dict[int, JudgeSet]:
    """Return the sets; one with unnamed speakers becomes the only complete set that has its named judges."""
    named = {run: tuple(judge for judge in judges if not is_unknown(judge[0])) for run, judges in sets.items()}
    complete = {judges for run, judges in sets.items() if judges == named[run]}
    found = {run: [panel for panel in complete if set(named[run]) <= set(panel)] for run in sets}
    return {run: found[run][0] if len(found[run]) == 1 else named[run] for run in sets}


def judges_of_settings(settings: Any) -> JudgeSet:
    """Return the (name, model) of the judges in settings, sorted. An imported run may have any settings."""
    fields = settings if isinstance(settings, dict) else {}
    lists = [fields.get(name) for name in ("judges", "peers", "personas")]
    listed = [judge for judges in lists if isinstance(judges, list) for judge in judges]
    judges = [judge for judge in (*listed, fields.get("chair")) if isinstance(judge, dict)]
    specs = [(judge.get("name"), judge.get("spec")) for judge in judges]
    return tuple(sorted((str(name), str(spec.get("model")) if isinstance(spec, dict) else "") for name, spec in specs))


# What follows from data alone, remembered as long as the data exists.
#
# The opinions of a study stay the same frame while labels are added, which changes far more often. Pages that draw the
# same version of a study share its data, so what several of them need is computed once.

Result = TypeVar("Result")
# By the identity of the data.
_results: dict[int, tuple["weakref.ref[object]", dict[Hashable, Any]]] = {}
_changing = threading.Lock()


def _forget(place: int) -> Callable[[object], None]:
    results = _results  # the name of the module is None while the interpreter ends

    def forget(_: object) -> None:
        results.pop(place, None)

    return forget


def once(data: object, key: Hashable, compute: Callable[[], Result]) -> Result:
    """Return `compute()`, or its earlier result for the same data and key; shared, so do not modify.

    The data, a frame or a frozen object, is never modified. The result has no reference to it, because it would exist
    as long as the process.
    """
    place = id(data)
    with _changing:
        known = _results.get(place)
        if known is None or known[0]() is not data:
            known = _results[place] = (weakref.ref(data, _forget(place)), {})
    if key not in known[1]:
        known[1][key] = compute()
    result: Result = known[1][key]
    return result
