"""The alignment of each judge with the annotators of a study.

A judge is a method with its verdicts, or one of its members with its last and first opinions. A name that judged the
same target in several runs, or with several models, is a separate judge for each run.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.labels import Scale
from core.statistics.data.dataset import AlignedTargets, Dataset, align
from core.statistics.data.encoded_opinions import NUMBER_COLUMNS, EncodedOpinions, encode_opinions
from core.statistics.reports.alignment import AlignmentRow, By, accuracy_rows, alignment_rows
from storage import database, items, targets
from storage import labels as stored_labels
from storage.reports import (
    chosen_labels,
    derived_preferences,
    judge_opinions,
    order_consistency,
    references,
    remembered,
    response_features,
)
from storage.reports.chosen_labels import ALL_TARGETS, NO_VALUE_OF_ALL, NOTHING, OF_DISPUTED, Choices
from storage.reports.frame_keys import distinct_rows, has_key
from storage.reports.judge_opinions import FIRST_OPINION as FIRST_OPINION
from storage.reports.judge_opinions import StudyOpinions
from storage.reports.opinions import find_scales, frame_panel
from storage.reports.references import Reference
from storage.studies import Study

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

TIE, AS_TIE = 0, "_no_verdict_as_tie"
AS_TIE_NOTE = "no verdict is counted as a tie here, to compare with papers that do so"
JUDGED = ("judge", "kind", "criterion")
WITHOUT_LABELS = ("no_verdict_rate", "first_shown_preferred", order_consistency.STATISTIC)
"""Statistics of verdicts alone."""
OF_ALL = "dawid_skene_accuracy"
"""A statistic of labels and of verdicts on all targets."""
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
    choices: Choices = NOTHING
    """The labels and values of the reference that are mainly of disputed targets; the frames have only these."""
    all_labels: "pd.DataFrame | None" = None
    """The labels with those of other targets; None if they are the same."""

    @cached_property
    def judges(self) -> frozenset[str]:
        """The names of the judges with an opinion."""
        return frozenset(map(str, self.opinions["judge"].unique()))

    @cached_property
    def averaging(self) -> frozenset[tuple[str, str, str]]:
        """The (judge, kind, criterion) whose scores are means: 2.5 is not a category of 1, 2, 3, and not missing."""
        scales = categorical_scales(self.scales)
        return remembered.once(
            self.opinions, ("averaging", _key(scales)), lambda: averaging_judges(self.opinions, scales)
        )

    @cached_property
    def categorical_datasets(self) -> tuple[Dataset, ...]:
        """The targets of each kind and criterion whose scale has categories, with verdicts and last opinions."""
        scales = categorical_scales(self.scales)
        encoded = remembered.once(
            self.opinions,
            ("categorical", _key(scales)),
            lambda: _encode_categorical(self.opinions, scales, self.averaging),
        )
        return tuple(map(self.dataset, encoded))

    def dataset(self, encoded: EncodedOpinions) -> Dataset:
        """Return the targets of encoded opinions with the labels and the reference, aligned once."""
        if id(encoded) not in self._datasets:
            self._datasets[id(encoded)] = encoded, self.aligned_targets(encoded).dataset(encoded)
        return self._datasets[id(encoded)][1]

    def aligned_targets(self, encoded: EncodedOpinions) -> AlignedTargets:
        """Return the targets of encoded opinions with the labels and the reference, aligned once for their frame."""
        place = id(encoded.targets)
        if place not in self._aligned_targets:
            self._aligned_targets[place] = encoded.targets, align(self.labels, encoded, self.gold)
        return self._aligned_targets[place][1]

    @cached_property
    def _datasets(self) -> dict[int, tuple[EncodedOpinions, Dataset]]:
        """By the identity of the encoded opinions, which exist as long as this."""
        return {}

    @cached_property
    def _aligned_targets(self) -> dict[int, tuple["pd.DataFrame", AlignedTargets]]:
        """By the identity of the frame of targets, which exists as long as this."""
        return {}


def categorical_scales(scales: Scales) -> Scales:
    """Return the scales that have categories."""
    return {key: scale for key, scale in scales.items() if scale.categories}


def averaging_judges(opinions: "pd.DataFrame", scales: Scales) -> frozenset[tuple[str, str, str]]:
    """Return the (judge, kind, criterion) with a value between two categories."""
    between = is_between_categories(opinions, scales) if len(opinions) else np.zeros(0, bool)
    if not between.any():
        return frozenset()
    return frozenset(opinions.loc[between, list(JUDGED)].itertuples(index=False, name=None))


def encoded_opinions(opinions: "pd.DataFrame", scales: Scales, by: By) -> tuple[EncodedOpinions, ...]:
    """Return the opinions of each kind and criterion with a scale by target: once for the frame, for all labels."""
    pooled: By = "criterion" if by == "criterion" else "all"
    return remembered.once(
        opinions, ("encoded", _key(scales), pooled), lambda: tuple(encode_opinions(opinions, scales, pooled))
    )


def _key(scales: Scales) -> Hashable:
    return frozenset(scales.items())


def _encode_categorical(
    opinions: "pd.DataFrame", scales: Scales, averaging: frozenset[tuple[str, str, str]]
) -> tuple[EncodedOpinions, ...]:
    if opinions.empty:
        return ()
    if averaging:
        opinions = opinions[~has_key(opinions, averaging, JUDGED)]
    chosen = (opinions["stage"] != "first").to_numpy(bool) & has_key(opinions, set(scales))
    opinions = opinions if chosen.all() else opinions[chosen]
    return () if opinions.empty else encoded_opinions(opinions, scales, "all")


def rows(
    engine: Engine, study: Study, by: By = "all", *, reference: str | None = None, resamples: int = 1000
) -> list[AlignmentRow]:
    """Return every statistic of every judge, one per row; `reference` is written as in `references.FORMS`.

    Raises TiebreakError for a reference that the study does not have.
    """
    return rows_of(engine, study, load_data(engine, study, reference), by, resamples=resamples)


def rows_of(
    engine: Engine, study: Study, data: AlignmentData, by: By = "all", *, resamples: int = 1000
) -> list[AlignmentRow]:
    """Return every statistic of every judge from the data of a study, one per row."""
    statistics = [row for part in split_averages(data) for row in _rows(part, by, resamples)]
    consistency = remembered.once(
        data.opinions, ("order consistency", by), lambda: _order_consistency(engine, study, data.opinions, by)
    )
    return [_mark(row, data) for row in [*statistics, *_rows_with_ties(data, by, resamples), *consistency]]


def _order_consistency(engine: Engine, study: Study, opinions: "pd.DataFrame", by: By) -> list[AlignmentRow]:
    with database.reading(engine) as session:
        return order_consistency.rows(session, study.id, opinions, by)


def load_data(
    engine: Engine, study: Study, reference: str | None = None, loaded: StudyOpinions | None = None
) -> AlignmentData:
    """Return the labels and opinions of a study, and the values of a reference.

    The verdicts and opinions of a debate that is the reference are left out: they would be compared with themselves.
    If labels are mainly of disputed targets, those of other targets are left out: see `chosen_labels`.
    `loaded` are the opinions, if the caller has them: see `judge_opinions.load`.
    """
    with database.reading(engine) as session:
        chosen = references.resolve(session, study.id, reference, None if loaded is None else loaded.debates)
        own_run = chosen.name if chosen.type == "debate" else ""
        if loaded is None or loaded.left_out != own_run:
            loaded = judge_opinions.load(session, study, own_run)
        given = stored_labels.frame(session, study.id)
        scales = find_scales(session, study, [frame_panel(given), loaded.scale_panel])
        gold = references.frame(session, study.id, chosen, scales, loaded.disputed)
        responses = {key: len(systems) for key, (_, systems) in loaded.systems.items()}
        labels, opinions, gold = derived_preferences.add(given, loaded.values, gold, responses)
        if len(opinions) > len(loaded.values):
            opinions = response_features.add(session, study, opinions, items.outlines(session, study.id))
        marks = _shared_model_marks(session, study.id, chosen, opinions)
        disputed = targets.frame(session, study.id).loc[list(loaded.disputed)]
    data = AlignmentData(labels, opinions, gold, scales, chosen, marks, loaded.systems)
    return _restrict(data, disputed)


def _restrict(data: AlignmentData, disputed: "pd.DataFrame") -> AlignmentData:
    """Return the data with labels of disputed targets only, for kinds and criteria whose labels are mainly of these."""
    parts = split_averages(data) if len(data.opinions) else ()
    encoded = (one for part in parts for one in encoded_opinions(part.opinions, part.scales, "all"))
    found = chosen_labels.find(data.labels, data.gold, encoded, disputed)
    if not (found.of_labels or found.of_reference):
        return data
    labels = chosen_labels.keep_disputed(data.labels, found.of_labels)
    gold = chosen_labels.keep_disputed(data.gold, found.of_reference)
    return replace(data, labels=labels, gold=gold, choices=found, all_labels=data.labels)


def _shared_model_marks(
    session: Session, study_id: int, reference: Reference, opinions: "pd.DataFrame"
) -> dict[str, str]:
    """Return judge -> a note on the models that are also on the panel of the reference's debate."""
    if opinions.empty or reference.type != "debate":
        return {}
    models = {
        str(judge): references.shared_models(session, study_id, reference, runs_of_judge.unique().tolist())
        for judge, runs_of_judge in opinions.groupby("judge")["run"]
    }
    return {judge: f"{', '.join(shared)} is on the debate's panel too" for judge, shared in models.items() if shared}


def _mark(row: AlignmentRow, data: AlignmentData) -> AlignmentRow:
    """Return the row with the targets that it is of, and with its reference in words."""
    if row.statistic not in WITHOUT_LABELS:
        population = data.choices.population(row.kind, row.criterion, of_labels=not row.reference)
        if population != ALL_TARGETS and row.statistic == OF_ALL:
            return replace(row, value=None, low=None, high=None, reason=NO_VALUE_OF_ALL)
        if population != ALL_TARGETS:
            row = replace(row, population=population, reason="; ".join(filter(None, (OF_DISPUTED, row.reason))))
    if not row.reference:
        return row
    parts = (f"{data.reference}: {row.reference}", data.marks.get(row.judge))
    return replace(row, reference="; ".join(filter(None, parts)))


def _rows(data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    if data.opinions.empty:
        return []
    encoded = encoded_opinions(data.opinions, data.scales, by)
    datasets = [part for one in encoded for part in data.dataset(one).split(by)]
    return alignment_rows(
        data.labels, data.opinions, scales=data.scales, gold=data.gold, by=by, resamples=resamples, datasets=datasets
    )


def _rows_with_ties(data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    """Return accuracy and kappa with a missing verdict as a tie, named so: some papers report these."""
    if data.opinions.empty:
        return []
    pooled: By = "criterion" if by == "criterion" else "all"
    encoded = remembered.once(
        data.opinions, ("ties", _key(data.scales), pooled), lambda: _encode_with_ties(data, pooled)
    )
    datasets = (part for one in encoded for part in data.aligned_targets(one).dataset(one).split(by))
    rows = accuracy_rows(datasets, resamples=resamples)
    return [
        replace(row, statistic=row.statistic + AS_TIE, reason="; ".join(filter(None, (AS_TIE_NOTE, row.reason))))
        for row in rows
    ]


def _encode_with_ties(data: AlignmentData, by: By) -> tuple[EncodedOpinions, ...]:
    """Return the preferences of the judges with a missing verdict, which is a tie, by target."""
    opinions = data.opinions
    preferences = opinions[opinions["kind"] == "preference"]
    incomplete = set(preferences.loc[preferences["value"].isna(), "judge"])
    affected = preferences[preferences["judge"].isin(incomplete)]
    filled = affected.assign(value=affected["value"].where(affected["value"].notna(), TIE))
    encoded = encode_opinions(filled.drop(columns=[*NUMBER_COLUMNS], errors="ignore"), data.scales, by)
    # Without means all rows are of these opinions, which are aligned with the labels already.
    others = () if data.averaging else encoded_opinions(opinions, data.scales, by)
    return tuple(reduce(EncodedOpinions.on_targets_of, others, one) for one in encoded)


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


def comparable_scales(opinions: "pd.DataFrame", scales: Scales) -> dict[tuple[str, str], Scale]:
    """Return the scales on which all these judges can be compared with each other.

    A criterion on which one of them has means between categories is a scale of numbers for all.
    """
    comparable = dict(scales)
    if len(opinions):
        between = opinions[is_between_categories(opinions, scales)]
        for key in set(zip(between["kind"], between["criterion"], strict=True)):
            comparable[key] = continuous_scale(scales[key])
    return comparable


def is_between_categories(opinions: "pd.DataFrame", scales: Scales) -> "npt.NDArray[np.bool_]":
    """Return whether each opinion is a number between two categories of its scale, such as a mean of samples."""
    between = np.zeros(len(opinions), bool)
    keys, distinct = distinct_rows(opinions, ("kind", "criterion"))
    values = opinions["value"].to_numpy(object)
    for place, key in enumerate(distinct):
        scale = scales.get(key)
        if scale is not None and scale.categories:
            rows = np.flatnonzero(keys == place)
            # Opinions share the objects of their values, so few of them are looked at.
            identities = np.fromiter(map(id, values[rows]), np.int64, rows.size)
            _, first, inverse = np.unique(identities, return_index=True, return_inverse=True)
            distinct_values = values[rows[first]]
            between[rows] = np.array([_is_between(value, scale) for value in distinct_values], bool)[inverse]
    return between


def _is_between(value: Any, scale: Scale) -> bool:
    """Return whether a value is a number between two categories."""
    return not isinstance(value, dict) and not scale.contains(value) and scale.covers(value)


def continuous_scale(scale: Scale) -> Scale:
    """Return an interval scale with the same ends; the scale itself if it is not one of numbers."""
    ends = [category for category in scale.categories if isinstance(category, int | float)]
    ends = [end for end in ends if not isinstance(end, bool)]
    if len(ends) < max(len(scale.categories), 1):
        return scale
    return Scale(level="interval", low=min(ends), high=max(ends))
