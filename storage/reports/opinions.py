"""The raters of a study: annotators with their labels, judges with their first and last opinions.

A judge rates a debate: one item in one run. First and last opinions are compared on the same debates, those in which
both could be read for every judge.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from sqlalchemy import Text, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.published.unknown_speakers import is_unknown
from core.labels import Kind, Scale, Value
from storage import labels, shown_orders, studies, targets
from storage.studies import Study
from storage.tables import ItemRow, OpinionRow, RunRow, TargetRow

if TYPE_CHECKING:
    import pandas as pd

RaterGroup = Literal["people", "judges"]
Stage = Literal["", "first", "last"]
Scales = Mapping[tuple[str, str], Scale]
STAGES: tuple[Stage, ...] = ("first", "last")
JudgeSet = tuple[tuple[str, str], ...]
"""The (name, model) of the judges of a run, sorted."""
CHUNK = 10_000
"""Rows fetched at once."""
OPINION_COLUMNS = ["trace", "run", "item", "scenario", "group", "kind", "criterion", "part", "rater", "stage", "value"]


@dataclass(frozen=True)
class RaterPanel:
    """Raters with their values: item, scenario, group, kind, criterion, part, rater, value; for judges also trace."""

    values: "pd.DataFrame"
    stage: Stage = ""
    """Empty for annotators."""
    judges: str = ""
    """The judges' names, if runs of the study have different judges."""
    as_shown: bool = False
    """Whether preferences are positions in the order shown to the judge, instead of the item's response numbers."""
    debates: "pd.DataFrame | None" = None
    """For judges: kind, criterion and scenario of every debate, and `excluded`: whether an opinion is unreadable."""

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
        columns = [self.debates[column].fillna("").tolist() for column in ("kind", "criterion", "scenario")]
        counts: dict[tuple[str, str, str], tuple[int, int]] = {}
        for *names, excluded in zip(*columns, self.debates["excluded"].tolist(), strict=True):
            key = (names[0], names[1], names[2])
            before = counts.get(key, (0, 0))
            counts[key] = (before[0] + excluded, before[1] + 1)
        return counts

    @property
    def name(self) -> str:
        """Such as `judges, last opinions`; empty for annotators."""
        if not self.stage:
            return ""
        return f"judges, {self.stage} opinions{f' ({self.judges})' * bool(self.judges)}{', as shown' * self.as_shown}"


def find_scales(session: Session, study: Study, panels: list[RaterPanel]) -> Scales:
    """Return the scale of every kind and criterion in the panels: declared, the default, or that of a score."""
    declared = studies.scales(session, study.id)
    scales: dict[tuple[str, str], Scale] = dict(declared)  # type: ignore[arg-type]
    for panel in panels:
        for key, rows in panel.values.groupby(["kind", "criterion"], sort=False):
            kind, criterion = cast(tuple[Kind, str], key)
            scale = scales.get((kind, criterion)) or studies.DEFAULT_SCALES.get(kind) or _score_scale(rows["value"])
            if scale is not None:
                scales[kind, criterion] = scale
    return scales


def _score_scale(values: "pd.Series[Any]") -> Scale | None:
    """Return an interval scale for numbers; None for anything else."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return Scale(level="interval") if numbers else None


def annotator_panel(session: Session, study: Study) -> RaterPanel:
    """Return the annotators with their current labels."""
    return RaterPanel(labels.frame(session, study.id))


def judge_panels(session: Session, study: Study) -> list[RaterPanel]:
    """Return the judges' first and last opinions, by set of judges; as shown too if the order was swapped."""
    opinions = opinion_frame(session, study.id)
    opinions = opinions[opinions["stage"] != "verdict"]
    opinions = opinions[opinions.groupby("run")["rater"].transform("nunique") > 1]  # agreement needs two raters
    if opinions.empty:
        return []
    swapped = _swapped_orders(session, study.id)
    names = _judge_set_names(session, study.id)
    sets = opinions["run"].map(names)
    return [panel for name in sorted(set(names.values())) for panel in _panels(opinions[sets == name], name, swapped)]


def _panels(opinions: "pd.DataFrame", judges: str, swapped: dict[int, tuple[int, ...]]) -> Iterator[RaterPanel]:
    import pandas as pd

    # A trace may judge several targets: an unreadable opinion of one AIU excludes this AIU, not the whole trace.
    targets = opinions["trace"].astype(str).str.cat(opinions[["kind", "criterion", "part"]].astype(str), sep="\n")
    opinions = opinions.assign(excluded=targets.isin(targets[opinions["value"].isna()]))
    debates = opinions[~targets.duplicated()]
    values = opinions[~opinions["excluded"]].drop(columns="excluded")
    # The unit is the debate: two runs over an item are two units, which are resampled together.
    groups = values["group"].where(values["group"].notna(), values["item"])
    values = values.assign(group=groups, item=values["trace"].astype(str))
    for as_shown in (False, True):
        if as_shown and values["trace"].isin(swapped).any():
            values = values.assign(value=pd.Series(_values_as_shown(values, swapped), index=values.index, dtype=object))
        elif as_shown:
            return
        for stage in STAGES:
            if (values["stage"] == stage).any():
                yield RaterPanel(values[values["stage"] == stage], stage, judges, as_shown, debates)


def _values_as_shown(values: "pd.DataFrame", swapped: dict[int, tuple[int, ...]]) -> list[Value]:
    """Return preferences as positions in the order shown to the judge; other values as they are."""
    orders = [swapped.get(trace, ()) for trace in values["trace"]]
    return [
        order.index(value) + 1 if kind == "preference" and value in order else value
        for order, kind, value in zip(orders, values["kind"], values["value"], strict=True)
    ]


def opinion_frame(session: Session, study_id: int) -> "pd.DataFrame":
    """Return every opinion of a study, one per row, with OPINION_COLUMNS; the value of an unreadable one is None."""
    return with_texts(categorical_opinions(session, study_id))


def with_texts(opinions: "pd.DataFrame") -> "pd.DataFrame":
    """Return opinions with texts instead of categories, for operations that categories do not have."""
    restored = {}
    for name in opinions.columns[opinions.dtypes == "category"]:
        names = opinions[name].astype(opinions[name].cat.categories.dtype)
        restored[name] = names.where(names.notna(), None) if names.dtype == object else names
    return opinions.assign(**restored)


def categorical_opinions(session: Session, study_id: int) -> "pd.DataFrame":
    """Return the same with names as categories, in their order: a quarter of the memory if there are millions."""
    import pandas as pd

    query = (
        select(
            col(OpinionRow.trace_id),
            col(OpinionRow.run_id),
            col(OpinionRow.target_id),
            col(OpinionRow.judge),
            col(OpinionRow.stage),
            sql_cast(col(OpinionRow.value), Text),
        )
        .where(col(OpinionRow.study_id) == study_id)
        .order_by(col(OpinionRow.id))
    )
    ids = array("q"), array("q"), array("q")
    codes = array("i"), array("i"), array("i")
    numbers: list[defaultdict[str | None, int]] = [defaultdict(count().__next__) for _ in codes]
    for rows in session.execute(query, execution_options={"yield_per": CHUNK}).partitions():
        columns = tuple(zip(*rows, strict=True))
        for of_ids, column in zip(ids, columns[:3], strict=True):
            of_ids.extend(column)
        for of_codes, known, column in zip(codes, numbers, columns[3:], strict=True):
            of_codes.extend(map(known.__getitem__, column))
    traces, run_ids, target_ids = (np.array(column, np.int64) for column in ids)
    if not traces.size:
        return pd.DataFrame(columns=OPINION_COLUMNS)
    by_target = targets.frame(session, study_id)
    by_target = by_target.astype(dict.fromkeys(by_target.columns, "category"))
    frame = by_target.take(by_target.index.get_indexer(pd.Index(target_ids))).reset_index(drop=True)
    frame["trace"], frame["run"] = traces, run_ids
    for name, of_codes, known in zip(("rater", "stage"), codes[:2], numbers[:2], strict=True):
        names = pd.Series(list(known), dtype="str").astype("category")
        frame[name] = names.take(np.array(of_codes)).array
    # A study has few distinct values.
    values = np.array([None if text is None else json.loads(text) for text in numbers[2]] + [None], object)[:-1]
    frame["value"] = pd.Series(values[np.array(codes[2])], dtype=object)
    return frame[OPINION_COLUMNS]


def _swapped_orders(session: Session, study_id: int) -> dict[int, tuple[int, ...]]:
    """Return trace id -> the order of the responses, if it was not the item's own."""
    return {
        trace: order
        for trace, orders in shown_orders.of_study(session, study_id)
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


def undecided_targets(session: Session, study_id: int) -> "pd.DataFrame":
    """Return the targets on which a run ended without a verdict: item, kind, criterion, part."""
    import pandas as pd

    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .select_from(OpinionRow)
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(
            col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == "verdict", col(OpinionRow.value).is_(None)
        )
    )
    rows = [tuple(row) for row in session.execute(query)]
    return pd.DataFrame(rows, columns=["item", "kind", "criterion", "part"])
