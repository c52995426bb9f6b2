"""The alignment of each judge with the annotators of a study.

A judge is a method with its verdicts, or one of its members with its last and first opinions. A name that judged the
same target in several runs, or with several models, is a separate judge for each run.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.labels import Scale
from core.statistics.data.dataset import Dataset, build_datasets
from core.statistics.reports.alignment import AlignmentRow, By, alignment_rows
from storage import database, items, runs
from storage.reports import derived_preferences, order_consistency, references, response_features
from storage.reports.frame_keys import distinct_rows, has_key, row_keys
from storage.reports.judge_families import judge_model
from storage.reports.opinions import RaterPanel, annotator_panel, find_scales, opinion_frame
from storage.reports.references import Reference
from storage.studies import Study

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

STAGE_RANK = {"verdict": 0, "last": 1, "first": 2}
FIRST_OPINION = ", first opinion"
TIE, AS_TIE = 0, "_no_verdict_as_tie"
AS_TIE_NOTE = "no verdict is counted as a tie here, to compare with papers that do so"
TARGET = ["item", "kind", "criterion", "part"]
JUDGED = ("judge", "kind", "criterion")
Scales = Mapping[tuple[str, str], Scale]


@dataclass(frozen=True)
class AlignmentData:
    """Labels, opinions and gold of a study, one per row."""

    labels: "pd.DataFrame"
    """Current labels: item, scenario, group, kind, criterion, part, rater, value."""
    opinions: "pd.DataFrame"
    """The same with `judge`; also run, stage and, if they are known, system, critique, shown_first, longer, own, and
    `length_gap`: the length of the longer response over that of the shorter one."""
    gold: "pd.DataFrame"
    """The values of the reference: see `storage.reports.references.frame`."""
    scales: Scales
    reference: Reference
    marks: Mapping[str, str]
    """Judge -> a caveat of its comparison with this reference: a model that is on both sides."""

    systems: Mapping[str, tuple[str, tuple[str | None, ...]]]
    """Item -> its scenario, and the system of each of its responses."""

    @cached_property
    def averaging(self) -> frozenset[tuple[str, str, str]]:
        """The (judge, kind, criterion) whose scores are means: 2.5 is not a category of 1, 2, 3, and not missing."""
        between = self.opinions.loc[is_between_categories(self.opinions, self.scales), list(JUDGED)]
        return frozenset(between.itertuples(index=False, name=None))

    @cached_property
    def categorical_datasets(self) -> tuple[Dataset, ...]:
        """The targets of each kind and criterion whose scale has categories, with verdicts and last opinions."""
        if self.opinions.empty:
            return ()
        opinions = next(split_averages(self)).opinions
        scales = {key: scale for key, scale in self.scales.items() if scale.categories}
        opinions = opinions[(opinions["stage"] != "first").to_numpy(bool) & has_key(opinions, set(scales))]
        if opinions.empty:
            return ()
        return tuple(build_datasets(self.labels, opinions, self.gold, scales, "all"))


def rows(
    engine: Engine, study: Study, by: By = "all", *, reference: str | None = None, resamples: int = 1000
) -> list[AlignmentRow]:
    """Return every statistic of every judge, one per row; `reference` is written as in `references.FORMS`.

    Raises TiebreakError for a reference that the study does not have.
    """
    data = load_data(engine, study, reference)
    statistics = [row for part in split_averages(data) for row in _rows(part, by, resamples)]
    with database.reading(engine) as session:
        consistency = order_consistency.rows(session, study.id, data.opinions, by)
    return [_mark(row, data) for row in [*statistics, *_rows_with_ties(data, by, resamples), *consistency]]


def load_data(engine: Engine, study: Study, reference: str | None = None) -> AlignmentData:
    """Return the labels and opinions of a study, and the values of a reference.

    The verdicts and opinions of a debate that is the reference are left out: they would be compared with themselves.
    """
    with database.reading(engine) as session:
        chosen = references.resolve(session, study.id, reference)
        panel = annotator_panel(session, study)
        opinions = opinion_frame(session, study.id)
        scales = find_scales(session, study, [panel, RaterPanel(opinions[opinions["value"].notna()])])
        if chosen.type == "debate":
            own = references.debate_run_ids(session, study.id, chosen.name)
            opinions = opinions[~opinions["run"].isin(own)]
        opinions = _with_judge_names(session, study.id, opinions)
        gold = references.frame(session, study.id, chosen, scales)
        items_by_id = {item.id: item for item in items.of_study(session, study.id)}
        labels, opinions, gold = derived_preferences.add(panel.values, opinions, gold, items_by_id)
        opinions = response_features.add(session, study, opinions, items_by_id)
        marks = _shared_model_marks(session, study.id, chosen, opinions)
        systems = {
            key: (item.scenario or "", tuple(response.system for response in item.responses))
            for key, item in items_by_id.items()
        }
    return AlignmentData(labels, opinions, gold, scales, chosen, marks, systems)


def _shared_model_marks(
    session: Session, study_id: int, reference: Reference, opinions: "pd.DataFrame"
) -> dict[str, str]:
    """Return judge -> a note on the models that are also on the panel of the reference's debate."""
    if opinions.empty:
        return {}
    models = {
        str(judge): references.shared_models(session, study_id, reference, runs_of_judge.unique().tolist())
        for judge, runs_of_judge in opinions.groupby("judge")["run"]
    }
    return {judge: f"{', '.join(shared)} is on the debate's panel too" for judge, shared in models.items() if shared}


def _mark(row: AlignmentRow, data: AlignmentData) -> AlignmentRow:
    """Return the row with its reference in words."""
    if not row.reference:
        return row
    parts = (f"{data.reference}: {row.reference}", data.marks.get(row.judge))
    return replace(row, reference="; ".join(filter(None, parts)))


def _rows(data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    if data.opinions.empty:
        return []
    return alignment_rows(data.labels, data.opinions, scales=data.scales, gold=data.gold, by=by, resamples=resamples)


def _rows_with_ties(data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    """Return accuracy and kappa with a missing verdict as a tie, named so: some papers report these."""
    opinions = data.opinions[data.opinions["kind"] == "preference"] if len(data.opinions) else data.opinions
    incomplete = set(opinions.loc[opinions["value"].isna(), "judge"]) if len(opinions) else set()
    affected = opinions[opinions["judge"].isin(incomplete)] if len(opinions) else opinions
    filled = affected.assign(value=affected["value"].where(affected["value"].notna(), TIE))
    return [
        replace(row, statistic=row.statistic + AS_TIE, reason="; ".join(filter(None, (AS_TIE_NOTE, row.reason))))
        for row in _rows(replace(data, opinions=filled), by, resamples)
        if row.statistic in ("accuracy_gold", "cohen_kappa_gold")
    ]


def split_averages(data: AlignmentData) -> Iterator[AlignmentData]:
    """Separate the judges whose scores are means."""
    opinions = data.opinions
    if not data.averaging:
        yield data
        return
    is_average = has_key(opinions, data.averaging, JUDGED)
    yield replace(data, opinions=opinions[~is_average])
    scales = {key: continuous_scale(scale) for key, scale in data.scales.items()}
    yield replace(data, opinions=opinions[is_average], scales=scales)


def is_between_categories(opinions: "pd.DataFrame", scales: Scales) -> "npt.NDArray[np.bool_]":
    """Return whether each opinion is a number between two categories of its scale, such as a mean of samples."""
    between = np.zeros(len(opinions), bool)
    keys, distinct = distinct_rows(opinions, ("kind", "criterion"))
    values = opinions["value"].to_numpy(object)
    for place, key in enumerate(distinct):
        scale = scales.get(key)
        if scale is not None and scale.categories:
            known: dict[tuple[type, Any], bool] = {}
            rows = keys == place
            between[rows] = [_is_between(value, scale, known) for value in values[rows]]
    return between


def _is_between(value: Any, scale: Scale, known: dict[tuple[type, Any], bool]) -> bool:
    """Return whether a value is between two categories; `known` has the answers for earlier values."""
    if isinstance(value, dict):
        return False
    key = (type(value), value)
    if key not in known:
        known[key] = not scale.contains(value) and scale.covers(value)
    return known[key]


def continuous_scale(scale: Scale) -> Scale:
    """Return an interval scale with the same ends; the scale itself if it is not one of numbers."""
    ends = [category for category in scale.categories if isinstance(category, int | float)]
    ends = [end for end in ends if not isinstance(end, bool)]
    if len(ends) < max(len(scale.categories), 1):
        return scale
    return Scale(level="interval", low=min(ends), high=max(ends))


def _with_judge_names(session: Session, study_id: int, opinions: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row for each judge and target; a verdict replaces a last opinion of the same judge."""
    import pandas as pd

    if opinions.empty:
        return opinions.assign(judge=opinions["rater"], rank=opinions["stage"])
    opinions = opinions.assign(rank=opinions["stage"].map(STAGE_RANK), target=row_keys(opinions, TARGET))
    is_first = (opinions["stage"] == "first").astype(int)
    judge_keys = row_keys(opinions.assign(first=is_first), ["run", "rater", "first"])
    ranked = pd.DataFrame({"judge": judge_keys, "target": opinions["target"]}, index=opinions.index)
    order = np.argsort(opinions["rank"].to_numpy(), kind="stable")
    repeated = ranked.iloc[order].duplicated().reindex(opinions.index)
    opinions, judge_keys = opinions[~repeated.to_numpy(bool)], judge_keys[~repeated.to_numpy(bool)]
    separate = _raters_by_run(session, study_id, opinions)
    run_names = {run.id: run.name for run in runs.of_study(session, study_id)}
    codes, first_rows = np.unique(judge_keys, return_index=True)
    names = [
        f"{rater}{FIRST_OPINION if stage == 'first' else ''}{f' · {run_names[run]}' if rater in separate else ''}"
        for rater, run, stage in opinions.iloc[first_rows][["rater", "run", "stage"]].itertuples(index=False)
    ]
    judges = pd.Series(names, dtype="str").iloc[np.searchsorted(codes, judge_keys)]
    return opinions.assign(judge=judges.to_numpy()).drop(columns="target")


def _raters_by_run(session: Session, study_id: int, opinions: "pd.DataFrame") -> set[str]:
    """Return the raters that are a separate judge in each run: with other models, or on the same targets again."""
    once = opinions.drop_duplicates(["rater", "run", "target"])
    repeated = set(once["rater"][once.duplicated(["rater", "target"])])
    models: dict[str, set[str]] = defaultdict(set)
    settings = {run.id: run.settings for run in runs.of_study(session, study_id)}
    for rater, run in opinions[["rater", "run"]].drop_duplicates().itertuples(index=False):
        models[rater].add(judge_model(settings.get(run), rater))
    return repeated | {rater for rater, used in models.items() if len(used) > 1}
