"""Agreement between annotators, from labels in long form to rows of statistics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from core.labels import Scale
from core.statistics import catalogue
from core.statistics.data.arrays import Estimate, Ints
from core.statistics.data.dataset import attributes_of, target_groups
from core.statistics.data.frames import (
    By,
    find_pools,
    pool_criteria,
    pooled_scales,
    split_by_criterion,
    split_frame,
    target_codes,
)
from core.statistics.data.ratings import Ratings, category_numbers, ratings_of
from core.statistics.data.sample import Sample
from core.statistics.measures.agreement import (
    MAX_TABLE_CATEGORIES,
    estimate_score_statistics,
    estimate_statistics,
    pair_values,
    with_raters_as_sample,
)
from core.statistics.measures.pairwise import overlapping_pairs
from core.statistics.reports import weight_distances
from core.wording import join_notes

# The intervals of one pair take 6 ms, those of 25 raters 2 s; the pairs of more raters have values only.
MAX_PAIRS_WITH_INTERVALS = 300


ONE_ITEM = "not enough items to say: only one has two labels"
# Whether intervals are for these annotators on other items, or for other annotators like them too.
Annotators = Literal["fixed", "sample"]


@dataclass(frozen=True)
class AgreementRow:
    """One statistic of the agreement between annotators."""

    kind: str
    criterion: str
    group: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    raters: int
    pairs: int
    reason: str
    effective: float | None = None
    """Kish's effective number of the items, if they count differently by the design of the labels."""

    def noted(self, note: str) -> "AgreementRow":
        """Return the row with a note before its reason."""
        return replace(self, reason=join_notes(note, self.reason))


@dataclass(frozen=True)
class LabelGroup:
    """The labels of one kind, criterion and group."""

    kind: str
    criterion: str
    group: str
    scale: Scale
    ratings: Ratings


def agreement_rows(
    labels: pd.DataFrame,
    *,
    by: By,
    scales: Mapping[tuple[str, str], Scale],
    resamples: int = 1000,
    annotators: Annotators = "fixed",
) -> list[AgreementRow]:
    """Return the agreement between annotators, one row for each statistic.

    `labels` has one row for each label: item, scenario, kind, criterion, part, rater, value and, if items come in
    documents or dialogues, group. `scales` gives the declared scale of each (kind, criterion). By "raters" a group is a
    pair, "a × b"; by "scenario" a scenario; otherwise "all". Except by "criterion" the criteria of a kind that share a
    scale are also pooled, as criterion "all". Kinds without a scale are left out, except aspect weights, which need
    none. `annotators`: whether intervals are for these annotators, or for others like them too.
    """
    pools = [] if by == "criterion" else find_pools(labels, scales)
    pooled = pd.concat([labels, pool_criteria(labels, pools)], ignore_index=True) if pools else labels
    rows: list[AgreementRow] = []
    for whole in label_groups(pooled, by, {**scales, **pooled_scales(pools)}):
        if by == "raters" and is_crowd(whole.ratings):
            rows += crowd_pair_rows(whole)
            continue
        for group in rater_pairs(whole) if by == "raters" else (whole,):
            rows += [
                agreement_row(group.kind, group.criterion, group.group, name, estimate)
                for name, estimate in group_statistics(group, resamples, annotators).items()
            ]
    return rows + weight_rows(labels, by, resamples)


def crowd_pair_rows(group: LabelGroup) -> Iterator[AgreementRow]:
    """Yield the rows of every two of many raters who share an item, in the order of their names, without intervals."""
    ratings = group.ratings
    order = np.argsort(np.array(ratings.raters, object).astype(str), kind="stable")
    codes = ratings.codes[:, order]
    raters = [ratings.raters[place] for place in order]
    pairs = overlapping_pairs(codes)
    names = catalogue.of_level(group.scale.level)
    no_interval = f"more than {MAX_PAIRS_WITH_INTERVALS} pairs of raters: no intervals"
    start = 0
    for shared, values in pair_values(codes, category_numbers(ratings.categories), names, pairs):
        for number, items in enumerate(shared.tolist()):
            a, b = (raters[rater] for rater in pairs[start + number].tolist())
            for name, value in zip(names, values[:, number].tolist(), strict=True):
                is_single = items < 2 and name != "percent"
                undefined = value != value or is_single
                reason = ONE_ITEM if is_single else "undefined for these two raters' labels"
                reason = reason if undefined else no_interval
                yield AgreementRow(
                    group.kind, group.criterion, f"{a} × {b}", name, None if undefined else value, None, None, items, 2,
                    items, reason,
                )  # fmt: skip
        start += len(shared)


def group_statistics(group: LabelGroup, resamples: int, annotators: Annotators = "fixed") -> dict[str, Estimate]:
    """Estimate the statistics that apply to the group's scale."""
    if not group.scale.categories:
        found = estimate_score_statistics(group.ratings, resamples=resamples)
    else:
        names = catalogue.of_level(group.scale.level)
        found = estimate_statistics(group.ratings, names, resamples=resamples)
    if annotators == "sample":
        found = with_raters_as_sample(group.ratings, found)
    # Of one item there is no value beyond chance: two labels would give -1 or 0.
    single = [name for name, one in found.items() if name != "percent" and one.value is not None and one.items < 2]
    return found | {name: replace(found[name], value=None, low=None, high=None, reason=ONE_ITEM) for name in single}


def weight_rows(frame: pd.DataFrame, by: By, resamples: int) -> list[AgreementRow]:
    """Return the agreement of aspect weights, which need no scale: distances, and Kendall's W."""
    rows = []
    for (kind, criterion), labels in split_by_criterion(frame):
        if kind == "aspect_weights":
            for group, group_labels in split_frame(labels, by):
                estimates = weight_distances.annotator_weight_statistics(group_labels, resamples=resamples)
                rows += [agreement_row(kind, criterion, group, name, estimate) for name, estimate in estimates.items()]
    return rows


def agreement_row(kind: str, criterion: str, group: str, statistic: str, estimate: Estimate) -> AgreementRow:
    """Return an estimate as a row."""
    counts = (estimate.items, estimate.raters, estimate.pairs)
    ends = (estimate.value, estimate.low, estimate.high)
    return AgreementRow(kind, criterion, group, statistic, *ends, *counts, estimate.reason, estimate.effective)


def label_groups(frame: pd.DataFrame, by: By, scales: Mapping[tuple[str, str], Scale]) -> Iterator[LabelGroup]:
    """Yield the labels of each kind, criterion and group; by raters those of all raters together."""
    for (kind, criterion), labels in split_by_criterion(frame):
        if (kind, criterion) in scales:
            scale = scales[kind, criterion]
            for group, group_labels in split_frame(labels, "all" if by == "raters" else by):
                yield LabelGroup(kind, criterion, group, scale, ratings_from_labels(group_labels, scale))


def is_crowd(ratings: Ratings) -> bool:
    """Return whether the pairs of raters are too many for intervals, and their tables are small."""
    pairs = len(ratings.raters) * (len(ratings.raters) - 1) // 2
    return pairs > MAX_PAIRS_WITH_INTERVALS and 0 < len(ratings.categories) <= MAX_TABLE_CATEGORIES


def rater_pairs(group: LabelGroup) -> Iterator[LabelGroup]:
    """Yield the labels of every two raters, in the order of their names, on the items that both labelled.

    Selecting columns of the array is faster than building each pair's array from the labels.
    """
    for a, b in combinations(sorted(group.ratings.raters), 2):
        pair = group.ratings.select(raters=(a, b)).complete()
        yield LabelGroup(group.kind, group.criterion, f"{a} × {b}", group.scale, pair)


def ratings_from_labels(labels: pd.DataFrame, scale: Scale) -> Ratings:
    """Return the labels as an array of targets x raters."""
    targets = target_codes(labels)
    n_targets = int(targets.max(initial=-1)) + 1
    groups = target_groups(attributes_of(n_targets, [(labels, targets)]), n_targets)
    ratings = ratings_of(labels, targets, n_targets, scale, groups)
    is_drawn = "weight" in labels.columns and bool(labels["weight"].notna().all())
    return replace(ratings, sample=label_sample(labels, targets)) if is_drawn else ratings


def label_sample(labels: pd.DataFrame, targets: Ints) -> Sample:
    """Return how the labelled targets were drawn, in order of first appearance, from columns of their rows.

    `stratum`, `weight`: how many targets each one stands for, and `size`: the targets of its stratum.
    """
    first = labels.iloc[np.unique(targets, return_index=True)[1]]
    strata, names = pd.factorize(first["stratum"])
    sizes = np.zeros(len(names))
    sizes[strata] = first["size"].to_numpy(float)
    return Sample(strata, first["weight"].to_numpy(float), sizes, np.ones(len(first)), np.ones(len(first), bool))
