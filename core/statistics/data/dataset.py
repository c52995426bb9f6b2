"""The annotators' labels, the judges' opinions and the gold labels of the same targets, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.labels import Scale
from core.statistics.data.arrays import Bools, Codes, Floats, Ints
from core.statistics.data.frames import (
    ALL,
    By,
    Pool,
    find_pools,
    pool_criteria,
    select_rows,
    split_by_criterion,
    target_codes,
)
from core.statistics.data.patterns import LabelRows, category_counts, majority_category
from core.statistics.data.ratings import Ratings, Scores, encode_categories, fill_grid, mean_scores
from core.statistics.data.sample import SEPARATOR, Sample
from core.wording import scenario_group

# The opinions of judges by target, as arrays that do not change with the labels.

Strings = npt.NDArray[np.object_]
# Columns of opinions: the response that was shown first, that is longer, that is of the judge's own family.
SIDE_COLUMNS = ("shown_first", "longer", "own")
# Columns of opinions with a number for each verdict; see `JudgeOpinions.sides`.
NUMBER_COLUMNS = (*SIDE_COLUMNS, "length_gap", "trace")
STAGES = ("verdict", "last", "first")


@dataclass(frozen=True)
class Frames:
    """Labels, opinions and a reference in long form, one per row, from which datasets are made."""

    labels: pd.DataFrame
    """Current labels: item, kind, criterion, part, rater, value and, if known, scenario and group."""
    opinions: pd.DataFrame
    """The same with `judge` instead of `rater`, one row for each target that a judge was asked about; a value of None
    is no verdict. If they are known, run, rater and stage, which tell what judges are not independent, `system`,
    `critique` and `NUMBER_COLUMNS`."""
    gold: pd.DataFrame | None
    """The reference: item, kind, criterion, part, value and, if known, number (a mean between two categories), source
    and disputed; without it the annotators' majority or mean."""
    scales: Mapping[tuple[str, str], Scale]
    """By (kind, criterion)."""
    design: pd.DataFrame | None = field(default=None, kw_only=True)
    """How targets were drawn for labelling: item, kind, criterion, part, stratum, probability and drawn; None without
    a design."""


@dataclass(frozen=True)
class JudgeOpinions:
    """One judge's verdicts on N targets."""

    asked: Bools
    """(N,): whether the judge was asked about the target."""
    values: Floats
    """(N,): codes of the scale, or numbers if it has no categories; nan for no verdict."""
    sides: Mapping[str, Floats] = field(default_factory=dict)
    """By the available `NUMBER_COLUMNS`, (N,), nan if unknown; a side of a preference is 1 or 2, or 0 for neither."""
    origins: frozenset[str] = frozenset()
    """The runs and the raters of the opinions, if known: judges with a common origin are not independent."""
    stage: int = 0
    """The earliest of `STAGES` that the opinions are from."""


@dataclass(frozen=True)
class EncodedOpinions:
    """The opinions of J judges about T targets of one kind and criterion, without labels, which change far more often.

    `Dataset` combines them with the labels.
    """

    kind: str
    criterion: str
    scale: Scale
    pool: Pool | None
    """The criteria that are pooled; None for one criterion."""
    targets: pd.DataFrame
    """The first opinion of each target, in order of appearance."""
    attributes: "Attributes"
    """See `attributes_of`."""
    names: tuple[str, ...]
    origins: Sequence[tuple[frozenset[str], int]]
    """(J,): see `opinion_origins`."""
    asked: Bools
    """(T, J)."""
    grids: Mapping[str, Floats]
    """The value and the available `NUMBER_COLUMNS`, (T, J) each, nan if unknown."""

    def judges(self, targets: Ints, n_targets: int) -> dict[str, JudgeOpinions]:
        """Return each judge's verdicts by name; `targets` (T,) are their places among the targets of a dataset."""
        asked = np.zeros((n_targets, len(self.names)), bool)
        asked[targets] = self.asked
        grids = {name: np.full(asked.shape, np.nan) for name in self.grids}
        for name, grid in self.grids.items():
            grids[name][targets] = grid
        verdicts = grids.pop("value")
        return {
            name: JudgeOpinions(
                asked[:, j], verdicts[:, j], {side: grid[:, j] for side, grid in grids.items()}, *self.origins[j]
            )
            for j, name in enumerate(self.names)
        }

    def on_targets_of(self, other: "EncodedOpinions") -> "EncodedOpinions":
        """Return these opinions with the frame of equal targets of others, so that labels are aligned with one.

        The opinions themselves if the targets or their order differ.
        """
        if (self.kind, self.criterion, self.scale, self.pool) != (other.kind, other.criterion, other.scale, other.pool):
            return self
        if len(self.targets) != len(other.targets):
            return self
        own, others = np.split(target_codes(self.targets, other.targets), 2)
        is_equal = np.array_equal(own, others)
        return replace(self, targets=other.targets, attributes=other.attributes) if is_equal else self


def encode_opinions(
    opinions: pd.DataFrame, scales: Mapping[tuple[str, str], Scale], by: By
) -> Iterator[EncodedOpinions]:
    """Yield the opinions of each kind and criterion with a declared scale, and except by "criterion" those of pools."""
    for (kind, criterion), rows in split_by_criterion(opinions):
        if (kind, criterion) in scales:
            yield encode(kind, criterion, scales[kind, criterion], rows)
    pools = [] if by == "criterion" else find_pools(opinions, scales)
    for pool in sorted(pools, key=lambda pool: pool.kind):
        yield encode(pool.kind, ALL, pool.scale, pool_criteria(opinions, [pool]), pool)


def encode(
    kind: str, criterion: str, scale: Scale, opinions: pd.DataFrame, pool: Pool | None = None
) -> EncodedOpinions:
    """Return opinions of one kind and criterion by target; a value of None is no verdict."""
    codes, distinct_targets = pd.factorize(target_codes(opinions))
    targets, n_targets = codes.astype(np.int64), len(distinct_targets)
    first = np.empty(n_targets, np.int64)
    first[targets[::-1]] = np.arange(targets.size)[::-1]  # in reverse order, so the first row is assigned last
    judges, names = pd.factorize(opinions["judge" if "judge" in opinions.columns else "rater"], sort=True)
    columns = {"value": encode_on_scale(opinions["value"], scale)}
    columns |= {
        name: pd.to_numeric(opinions[name]).to_numpy(float) for name in NUMBER_COLUMNS if name in opinions.columns
    }
    grids = {column: np.full((n_targets, len(names)), np.nan) for column in columns}
    for column, values in columns.items():
        fill_grid(grids[column], targets, judges.astype(np.int64), values, ~np.isnan(values))
    asked = np.zeros((n_targets, len(names)), bool)
    asked[targets, judges] = True
    return EncodedOpinions(
        kind,
        criterion,
        scale,
        pool,
        opinions.iloc[first],
        attributes_of(n_targets, targets, opinions),
        tuple(map(str, names)),
        opinion_origins(opinions, judges, len(names)),
        asked,
        grids,
    )


# The columns of labels and opinions that describe the targets themselves.
ATTRIBUTES = ("item", "critique", "scenario", "part", "system", "group")
Attributes = Mapping[str, Strings | None]


def attributes_of(
    n_targets: int, targets: Ints, frame: pd.DataFrame, others: Attributes | None = None, places: Ints | None = None
) -> Attributes:
    """Return the first value of each target in `ATTRIBUTES`, (N,), "" for none; None if a column has no value.

    `targets` are those of the rows of the frame. Where it has no value, that of the targets at these places of others.
    """
    found: dict[str, Strings | None] = {}
    for name in ATTRIBUTES:
        values, known = np.full(n_targets, "", object), (others or {}).get(name)
        if known is not None:
            values[places] = known
        # In reverse order, so the first row of a target is assigned last.
        rows = np.flatnonzero(frame[name].notna())[::-1] if name in frame.columns else np.zeros(0, np.int64)
        if rows.size:
            values[targets[rows]] = frame[name].to_numpy(object)[rows]
        found[name] = values if rows.size or known is not None else None
    return found


def target_groups(attributes: Attributes, n_targets: int) -> tuple[str, ...] | None:
    """Return the document or dialogue of each target, otherwise its item; None if targets are independent."""
    item, group = names_or_empty(attributes["item"], n_targets), attributes["group"]
    if group is not None:
        return tuple(map(str, np.where(group == "", item, group)))
    return None if len(set(item)) == n_targets else tuple(map(str, item))


def names_or_empty(names: Strings | None, size: int) -> Strings:
    """Return the names, or empty strings (size,) if there are none."""
    return np.full(size, "", object) if names is None else names


def opinion_origins(opinions: pd.DataFrame, judges: Ints, n_judges: int) -> list[tuple[frozenset[str], int]]:
    """Return of each judge, by the judge of each row (M,), the runs and raters, and the earliest of its `STAGES`."""
    columns = [column for column in ("run", "rater", "stage") if column in opinions.columns]
    distinct = opinions[columns].assign(number=judges).drop_duplicates()
    names: list[set[str]] = [set() for _ in range(n_judges)]
    stages: list[set[int]] = [set() for _ in range(n_judges)]
    for row in distinct.to_dict("records"):
        names[row["number"]] |= {f"{column}: {row[column]}" for column in ("run", "rater") if column in row}
        stages[row["number"]] |= {STAGES.index(row["stage"])} if "stage" in row else set()
    return [(frozenset(origins), min(of_judge, default=0)) for origins, of_judge in zip(names, stages, strict=True)]


def encode_on_scale(values: pd.Series, scale: Scale) -> Floats:
    """Return values as codes of the scale, or as numbers if it has no categories; nan missing."""
    if scale.categories:
        codes: Codes = encode_categories(values.to_numpy(object), scale.categories)
        return np.where(codes >= 0, codes, np.nan)
    return pd.to_numeric(values).to_numpy(float, na_value=np.nan)


# Sources of the values of a reference; others name their origin.
BY_PEOPLE, ADJUDICATED = "by people", "adjudicated"
# Of a `Dataset`: arrays with an element for each target.
COLUMNS = ("gold", "gold_scores", "sources", "disputed", "scenario", "item", "part", "system", "critique")


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
    left_undecided: bool = False
    """Whether it is a part of targets of which others have neither a label nor a reference."""

    @property
    def sample(self) -> Sample | None:
        """How the targets were drawn for labelling; None if no design is known."""
        return self.ratings.sample

    def sample_of(self, used: Bools) -> Sample | None:
        """Return the draw of the targets where the mask (N,) is true."""
        return None if self.sample is None else self.sample.select(used)

    @property
    def labels(self) -> Floats:
        """(N, R): the annotators' labels as codes or numbers, nan missing."""
        return self.ratings.labels

    @cached_property
    def source_codes(self) -> tuple[Ints, list[str]]:
        """The number of each target's source, (N,), and the names of the sources."""
        codes, names = pd.factorize(self.sources)
        return np.asarray(codes, np.int64), list(map(str, names))

    @cached_property
    def label_rows(self) -> LabelRows:
        """The labels of a scale with categories, with what follows from them alone."""
        if not isinstance(self.ratings, Ratings):
            raise TypeError("a scale without categories has no verdicts that are right or wrong")
        return LabelRows(self.ratings.codes, len(self.ratings.categories))

    @cached_property
    def has_undecided(self) -> bool:
        """Whether some targets, or others of the whole that it is a part of, have neither a label nor a reference."""
        has_reference = ~np.isnan(self.gold) | ~np.isnan(self.gold_scores)
        has_label = ~np.isnan(self.labels).all(axis=1) if self.ratings.raters else has_reference
        return self.left_undecided or not (has_label | has_reference).all()

    def to_numbers(self, values: Floats) -> Floats:
        """Return codes as the numbers that their categories denote; numbers are returned unchanged."""
        return self.ratings.to_numbers(values)

    def subset(self, group: str, mask: Bools) -> "Dataset":
        """Return only the targets where the mask is true, under the group's name."""
        if mask.all():
            return replace(self, group=group)
        places = np.flatnonzero(mask)  # a mask is searched for every column
        judges = {
            name: replace(
                opinions,
                asked=opinions.asked[places],
                values=opinions.values[places],
                sides={side: values[places] for side, values in opinions.sides.items()},
            )
            for name, opinions in self.judges.items()
        }
        columns: dict[str, Any] = {
            name: column[places] for name, column in vars(self).items() if name in COLUMNS and column is not None
        }
        columns |= {"ratings": self.ratings.select(items=mask), "left_undecided": self.has_undecided}
        return replace(self, group=group, judges=judges, **columns)

    def split(self, by: By) -> Iterator["Dataset"]:
        """Yield the targets of each scenario by "scenario"; otherwise the dataset itself."""
        if by != "scenario":
            yield self
            return
        names = self.scenario.astype(str)
        for name in np.unique(names).tolist():
            yield self.subset(scenario_group(name), names == name)


# The end of the sources of a reference that only disputed targets have.
ALL_DISPUTED = ", all of disputed targets"


def source_mix(dataset: Dataset, used: Bools) -> str:
    """Return the sources of the reference on the targets where `used` (N,) is true, such as "41 by people".

    Says how targets were drawn by a design, or if people decided on disputed ones alone: others have neither a
    reference nor a label. Empty without targets.
    """
    codes, names = dataset.source_codes
    counts = np.bincount(codes[used], minlength=len(names)).tolist()
    mix = ", ".join(f"{count:,} {source}".strip() for source, count in sorted(zip(names, counts, strict=True)) if count)
    if mix and dataset.sample is not None:
        return f"{mix}, {dataset.sample.describe(used)}"
    by_people = {name for name, count in zip(names, counts, strict=True) if count} <= {BY_PEOPLE, ADJUDICATED}
    is_of_disputed = by_people and dataset.has_undecided and dataset.disputed[used].all()
    return f"{mix}{ALL_DISPUTED}" if mix and is_of_disputed else mix


def build_datasets(frames: Frames, by: By) -> Iterator[Dataset]:
    """Yield the targets of each kind, criterion and group that a judge was asked about and a scale is declared for.

    Except by "criterion", datasets of pooled criteria follow, see `frames.find_pools`.
    """
    for encoded in encode_opinions(frames.opinions, frames.scales, by):
        yield from align(frames, encoded).dataset(encoded).split(by)


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


def align(frames: Frames, opinions: EncodedOpinions) -> AlignedTargets:
    """Align labels, gold and the draws of a design with the targets of opinions on one kind and criterion."""

    def own(frame: pd.DataFrame) -> pd.DataFrame:
        if opinions.pool is None:
            return select_rows(frame, opinions.kind, opinions.criterion)
        return pool_criteria(frame, [opinions.pool])

    design, gold = frames.design, frames.gold
    if design is not None:  # the strata of different criteria are different ones
        names = design["criterion"].astype(str) + SEPARATOR + design["stratum"].astype(str)
        design = own(design.assign(stratum=names))
    return align_rows(own(frames.labels), opinions, None if gold is None else own(gold), design)


def align_rows(
    labels: pd.DataFrame, opinions: EncodedOpinions, gold: pd.DataFrame | None, design: pd.DataFrame | None = None
) -> AlignedTargets:
    """Align the rows of the frames with the targets of opinions, all of one kind and criterion."""
    frames = [frame for frame in (labels, opinions.targets, gold) if frame is not None]
    draws = [] if design is None else [design]
    targets = pd.factorize(target_codes(*frames, *draws))[0].astype(np.int64)
    targets_by_frame = np.split(targets, np.cumsum([len(frame) for frame in frames]))
    # Those that only the design has come after all others.
    n_targets = int(np.concatenate(targets_by_frame[:-1]).max(initial=-1)) + 1
    of_labels, of_opinions = targets_by_frame[:2]
    attributes = attributes_of(n_targets, of_labels, labels, opinions.attributes, of_opinions)
    if gold is not None:  # targets that have neither a label nor an opinion are of an item too
        attributes = attributes_of(n_targets, targets_by_frame[2], gold, attributes, np.arange(n_targets))
    ratings = annotator_ratings(labels, of_labels, opinions.scale, n_targets, target_groups(attributes, n_targets))
    if gold is None:
        reference = annotators_reference(ratings)
    else:
        reference = gold_reference(gold, targets_by_frame[2], opinions.scale, ratings)
    if design is not None and len(design):
        has_label = ~np.isnan(ratings.labels).all(axis=1) if ratings.raters else np.zeros(n_targets, bool)
        labelled = has_label | ~np.isnan(reference[0]) | ~np.isnan(reference[1])
        sample = sample_of(design, targets_by_frame[-1], labelled, opinions.pool is not None)
        ratings = replace(ratings, sample=sample)
    texts = {name: names_or_empty(values, n_targets) for name, values in attributes.items()}
    critique = "item" if attributes["critique"] is None else "critique"
    dataset = Dataset(
        opinions.kind,
        opinions.criterion,
        ALL,
        opinions.scale,
        ratings,
        {},
        *reference,
        texts["scenario"],
        texts["item"],
        texts["part"],
        attributes["system"],
        texts[critique],
    )
    return AlignedTargets(dataset, of_opinions)


def sample_of(design: pd.DataFrame, places: Ints, labelled: Bools, is_pooled: bool = False) -> Sample | None:
    """Return the draw of N targets from the rows of a design; `places` are the targets of the rows, `labelled` is (N,).

    A target that the design does not know was not drawn. None if criteria are pooled of which one has no design.
    """
    n_targets = labelled.size
    own = places < n_targets
    rows, places = design[own], places[own]
    if is_pooled and places.size < n_targets:
        return None
    codes, names = pd.factorize(rows["stratum"])
    strata = np.full(n_targets, len(names), np.int64)
    probability, drawn = np.zeros(n_targets), np.zeros(n_targets, bool)
    strata[places], probability[places] = codes, rows["probability"].to_numpy(float)
    drawn[places] = rows["drawn"].to_numpy(bool)
    return Sample.of_labelled(strata, probability, drawn, labelled, (*map(str, names), ""))


# The columns gold, gold_scores, sources, disputed and adjudicated of a `Dataset`.
ReferenceColumns = tuple[Floats, Floats, Strings, Bools, bool]


def annotators_reference(ratings: Ratings | Scores) -> ReferenceColumns:
    """Return the annotators' majority and mean as the reference."""
    gold = consensus(ratings)
    labels = ratings.labels
    labelled = ~np.isnan(labels).all(axis=1) if labels.shape[1] else np.zeros(len(gold), bool)
    sources = np.where(labelled, BY_PEOPLE, "").astype(object)
    return gold, mean_scores(ratings.to_numbers(labels)), sources, np.zeros(len(gold), bool), False


def gold_reference(gold: pd.DataFrame, targets: Ints, scale: Scale, ratings: Ratings | Scores) -> ReferenceColumns:
    """Return the rows of a reference by target; number, source and disputed are optional, as columns and as values."""
    codes, n_targets = encode_on_scale(gold["value"], scale), len(ratings.items)
    if "number" in gold.columns:
        numbers = pd.to_numeric(gold["number"]).to_numpy(float, na_value=np.nan)
    else:
        numbers = ratings.to_numbers(codes)
    values, scores = (values_by_target(column, targets, n_targets) for column in (codes, numbers))
    sources, disputed = np.full(n_targets, "", object), np.zeros(n_targets, bool)
    sources[targets] = ADJUDICATED
    if "source" in gold.columns:
        known = gold["source"].notna().to_numpy(bool)
        sources[targets[known]] = gold["source"].to_numpy(object)[known]
    if "disputed" in gold.columns:
        disputed[targets] = gold["disputed"].eq(True).to_numpy(bool, na_value=False)
    return values, scores, sources, disputed, True


def annotator_ratings(
    labels: pd.DataFrame, targets: Ints, scale: Scale, n_targets: int, groups: tuple[str, ...] | None
) -> Ratings | Scores:
    """Return the annotators' labels as an array of targets x annotators."""
    rater_codes, names = pd.factorize(labels["rater"].to_numpy(object), sort=True)
    items = tuple(map(str, range(n_targets)))
    annotators = tuple(map(str, names.tolist()))
    grid = np.full((n_targets, len(annotators)), np.nan)
    values = encode_on_scale(labels["value"], scale)
    fill_grid(grid, targets, rater_codes.astype(np.int64), values, ~np.isnan(values))
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
