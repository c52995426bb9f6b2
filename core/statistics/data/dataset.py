"""The annotators' labels, the judges' opinions and the gold labels of the same targets, side by side."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Bools, Floats, Ints
from core.statistics.data.encoded_opinions import NUMBER_COLUMNS as NUMBER_COLUMNS
from core.statistics.data.encoded_opinions import SIDE_COLUMNS as SIDE_COLUMNS
from core.statistics.data.encoded_opinions import STAGES as STAGES
from core.statistics.data.encoded_opinions import (
    EncodedOpinions,
    Strings,
    TargetAttributes,
    encode_on_scale,
    encode_opinions,
    names_or_empty,
)
from core.statistics.data.encoded_opinions import JudgeOpinions as JudgeOpinions
from core.statistics.data.frames import (
    ALL,
    By,
    Scale,
    pool_criteria,
    select_rows,
    target_codes,
)
from core.statistics.data.patterns import category_counts, majority_category
from core.statistics.data.ratings import Ratings, Scores, category_numbers, fill_grid, mean_scores
from core.wording import scenario_group

BY_PEOPLE, ADJUDICATED = "by people", "adjudicated"
"""Sources of the values of a reference; others name their origin."""


@dataclass(frozen=True)
class Dataset:
    """N targets of one kind, criterion and group."""

    kind: str
    criterion: str
    group: str
    scale: Scale
    ratings: Ratings | Scores
    """The annotators' labels; the items are the N targets."""
    judges: Mapping[str, JudgeOpinions]
    gold: Floats
    """(N,): the reference as codes, or as numbers if the scale has no categories; nan if there is none."""
    gold_scores: Floats
    """(N,): the reference as numbers, which can be means between two categories; nan if there is none."""
    sources: Strings
    """(N,): the source of each value of the reference, "" if unknown."""
    disputed: Bools
    """(N,): whether judges of some run disagreed about the target."""
    adjudicated: bool
    """Whether a reference was passed; otherwise it is the annotators' majority or mean."""
    scenario: Strings
    item: Strings
    part: Strings
    """The part of the item, after its criterion and a line break if criteria are pooled."""
    system: Strings | None
    critique: Strings

    @property
    def labels(self) -> Floats:
        """(N, R): the annotators' labels as codes or numbers, nan missing."""
        if isinstance(self.ratings, Scores):
            return self.ratings.values
        return np.where(self.ratings.codes >= 0, self.ratings.codes, np.nan)

    @cached_property
    def scenario_codes(self) -> Ints:
        """(N,): the number of each target's scenario."""
        return np.asarray(pd.factorize(self.scenario)[0], np.int64)

    @cached_property
    def source_codes(self) -> tuple[Ints, list[str]]:
        """The number of each target's source, (N,), and the names of the sources."""
        codes, names = pd.factorize(self.sources)
        return np.asarray(codes, np.int64), list(map(str, names))

    def to_numbers(self, values: Floats) -> Floats:
        """Return codes as the numbers that their categories denote; numbers are returned unchanged."""
        return _to_numbers(self.ratings, values)

    def subset(self, group: str, mask: Bools) -> "Dataset":
        """Return only the targets where the mask is true, under the group's name."""
        if mask.all():
            return replace(self, group=group)
        places = np.flatnonzero(mask)  # a mask is searched for every column
        judges = {
            name: JudgeOpinions(
                opinions.asked[places],
                opinions.values[places],
                {side: values[places] for side, values in opinions.sides.items()},
                opinions.origins,
                opinions.stage,
            )
            for name, opinions in self.judges.items()
        }
        return replace(
            self,
            group=group,
            ratings=self.ratings.select(items=mask),
            judges=judges,
            gold=self.gold[places],
            gold_scores=self.gold_scores[places],
            sources=self.sources[places],
            disputed=self.disputed[places],
            scenario=self.scenario[places],
            item=self.item[places],
            part=self.part[places],
            system=None if self.system is None else self.system[places],
            critique=self.critique[places],
        )

    def split(self, by: By) -> Iterator["Dataset"]:
        """Yield the targets of each scenario by "scenario"; otherwise the dataset itself."""
        if by != "scenario":
            yield self
            return
        names = self.scenario.astype(str)
        for name in np.unique(names).tolist():
            yield self.subset(scenario_group(name), names == name)


ALL_DISPUTED = ", all of disputed targets"
"""The end of the sources of a reference that only disputed targets have."""


def source_mix(dataset: Dataset, used: Bools) -> str:
    """Return the sources of the reference on the targets where `used` (N,) is true, such as "41 by people".

    Says if all of these targets are disputed ones. Empty without targets.
    """
    codes, names = dataset.source_codes
    counts = np.bincount(codes[used], minlength=len(names)).tolist()
    mix = ", ".join(f"{count:,} {source}".strip() for source, count in sorted(zip(names, counts, strict=True)) if count)
    return f"{mix}{ALL_DISPUTED}" if mix and dataset.disputed[used].all() else mix


def build_datasets(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame | None,
    scales: Mapping[tuple[str, str], Scale],
    by: By,
) -> Iterator[Dataset]:
    """Yield the targets of each kind, criterion and group that a judge was asked about and a scale is declared for.

    Except by "criterion", datasets of pooled criteria follow, see `frames.find_pools`.
    """
    for encoded in encode_opinions(opinions, scales, by):
        yield from combine(labels, encoded, gold).split(by)


def combine(labels: pd.DataFrame, opinions: EncodedOpinions, gold: pd.DataFrame | None) -> Dataset:
    """Align labels and gold with the opinions on one kind and criterion by target."""
    return align(labels, opinions, gold).dataset(opinions)


@dataclass(frozen=True)
class AlignedTargets:
    """Labels and gold by target, which all opinions about the same T targets have in common."""

    without_judges: Dataset
    places: Ints
    """(T,): the places of the targets of the opinions among those of the dataset."""

    def dataset(self, opinions: EncodedOpinions) -> Dataset:
        """Return the dataset with opinions about these targets."""
        judges = opinions.judges(self.places, self.without_judges.gold.size)
        return replace(self.without_judges, judges=judges)


def align(labels: pd.DataFrame, opinions: EncodedOpinions, gold: pd.DataFrame | None) -> AlignedTargets:
    """Align labels and gold with the targets of opinions on one kind and criterion."""
    if opinions.pool is None:
        kind, criterion = opinions.kind, opinions.criterion
        of_labels = select_rows(labels, kind, criterion)
        of_gold = None if gold is None else select_rows(gold, kind, criterion)
    else:
        of_labels = pool_criteria(labels, [opinions.pool])
        of_gold = None if gold is None else pool_criteria(gold, [opinions.pool])
    return align_rows(of_labels, opinions, of_gold)


def align_rows(labels: pd.DataFrame, opinions: EncodedOpinions, gold: pd.DataFrame | None) -> AlignedTargets:
    """Align the rows of the frames with the targets of opinions, all of one kind and criterion."""
    frames = [labels, opinions.targets] if gold is None else [labels, opinions.targets, gold]
    targets, distinct_targets = pd.factorize(target_codes(*frames))
    targets_by_frame = np.split(targets.astype(np.int64), np.cumsum([len(frame) for frame in frames])[:-1])
    n_targets = len(distinct_targets)
    attributes = TargetAttributes(
        n_targets, ((targets_by_frame[0], labels),), ((targets_by_frame[1], opinions.attributes),)
    )
    ratings = annotator_ratings(labels, targets_by_frame[0], opinions.scale, attributes)
    if gold is None:
        reference = annotators_reference(ratings)
    else:
        reference = gold_reference(gold, targets_by_frame[2], opinions.scale, n_targets)
    item, critique = attributes.column("item"), attributes.column("critique")
    dataset = Dataset(
        opinions.kind,
        opinions.criterion,
        ALL,
        opinions.scale,
        ratings,
        {},
        *reference,
        names_or_empty(attributes.column("scenario"), n_targets),
        names_or_empty(item, n_targets),
        names_or_empty(attributes.column("part"), n_targets),
        attributes.column("system"),
        names_or_empty(item if critique is None else critique, n_targets),
    )
    return AlignedTargets(dataset, targets_by_frame[1])


ReferenceColumns = tuple[Floats, Floats, Strings, Bools, bool]
"""The columns gold, gold_scores, sources, disputed and adjudicated of a `Dataset`."""


def annotators_reference(ratings: Ratings | Scores) -> ReferenceColumns:
    """Return the annotators' majority and mean as the reference."""
    gold = consensus(ratings)
    labels = ratings.values if isinstance(ratings, Scores) else np.where(ratings.codes >= 0, ratings.codes, np.nan)
    labelled = ~np.isnan(labels).all(axis=1) if labels.shape[1] else np.zeros(len(gold), bool)
    sources = np.where(labelled, BY_PEOPLE, "").astype(object)
    return gold, mean_scores(_to_numbers(ratings, labels)), sources, np.zeros(len(gold), bool), False


def gold_reference(gold: pd.DataFrame, targets: Ints, scale: Scale, n_targets: int) -> ReferenceColumns:
    """Return the rows of a reference by target; number, source and disputed are optional, as columns and as values."""
    codes = encode_on_scale(gold["value"], scale)
    if "number" in gold.columns:
        numbers = pd.to_numeric(gold["number"]).to_numpy(float, na_value=np.nan)
    elif scale.categories:
        numbers = np.where(
            np.isnan(codes), np.nan, category_numbers(scale.categories)[np.nan_to_num(codes).astype(int)]
        )
    else:
        numbers = codes
    values, scores = (values_by_target(column, targets, n_targets) for column in (codes, numbers))
    sources, disputed = np.full(n_targets, "", object), np.zeros(n_targets, bool)
    sources[targets] = ADJUDICATED
    if "source" in gold.columns:
        known = gold["source"].notna().to_numpy(bool)
        sources[targets[known]] = gold["source"].to_numpy(object)[known]
    if "disputed" in gold.columns:
        disputed[targets] = gold["disputed"].eq(True).to_numpy(bool, na_value=False)
    return values, scores, sources, disputed, True


def _to_numbers(ratings: Ratings | Scores, values: Floats) -> Floats:
    if isinstance(ratings, Scores):
        return values
    numbers = category_numbers(ratings.categories)
    return np.where(np.isnan(values), np.nan, numbers[np.nan_to_num(values).astype(int)])


def annotator_ratings(
    labels: pd.DataFrame, targets: Ints, scale: Scale, attributes: TargetAttributes
) -> Ratings | Scores:
    """Return the annotators' labels as an array of targets x annotators."""
    rater_codes, names = pd.factorize(labels["rater"].to_numpy(object), sort=True)
    items = tuple(map(str, range(attributes.n_targets)))
    annotators = tuple(map(str, names.tolist()))
    grid = np.full((attributes.n_targets, len(annotators)), np.nan)
    values = encode_on_scale(labels["value"], scale)
    fill_grid(grid, targets, rater_codes.astype(np.int64), values, ~np.isnan(values))
    groups = attributes.groups()
    if not scale.categories:
        return Scores(items, annotators, grid, groups)
    codes = np.where(np.isnan(grid), -1, grid).astype(np.int16)
    return Ratings(items, annotators, codes, scale.categories, groups)


def values_by_target(values: Floats, targets: Ints, n_targets: int) -> Floats:
    """Return the value of each target, (N,), nan if there is none."""
    grid = np.full((n_targets, 1), np.nan)
    fill_grid(grid, targets, np.zeros(targets.size, np.int64), values, ~np.isnan(values))
    return grid[:, 0]


def consensus(ratings: Ratings | Scores) -> Floats:
    """Return the annotators' majority category, or the mean of their scores, (N,); nan if there is none."""
    if isinstance(ratings, Scores):
        return mean_scores(ratings.values)
    codes = majority_category(category_counts(ratings.codes, len(ratings.categories)))
    return np.where(codes >= 0, codes, np.nan)
