"""The annotators' labels, the judges' opinions and the gold labels of the same targets, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.labels import Scale
from core.statistics.data.arrays import Bools, Floats, Ints
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
from core.statistics.data.ratings import Ratings, encode_on_scale, grid_of, mean_scores, ratings_of
from core.statistics.data.sample import SEPARATOR, Sample
from core.wording import scenario_group

Strings = npt.NDArray[np.object_]
# Columns of opinions: the response that was shown first, that is longer, that is of the judge's own family.
SIDE_COLUMNS = ("shown_first", "longer", "own")
# Columns of opinions with a number for each verdict; see `JudgeOpinions.sides`.
NUMBER_COLUMNS = (*SIDE_COLUMNS, "length_gap", "trace")
STAGES = ("verdict", "last", "first")
# The columns of labels and opinions that describe the targets themselves.
ATTRIBUTES = ("item", "critique", "scenario", "part", "system", "group")


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
    ratings: Ratings
    """The annotators' labels."""
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
        if not self.scale.categories:
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
        columns |= {"ratings": self.ratings.select(targets=mask), "left_undecided": self.has_undecided}
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
    for (kind, criterion), _ in split_by_criterion(frames.opinions):
        if (kind, criterion) in frames.scales:
            yield from align(frames, kind, criterion, frames.scales[kind, criterion]).split(by)
    pools = [] if by == "criterion" else find_pools(frames.opinions, frames.scales)
    for pool in sorted(pools, key=lambda pool: pool.kind):
        yield from align(frames, pool.kind, ALL, pool.scale, pool).split(by)


def align(frames: Frames, kind: str, criterion: str, scale: Scale, pool: Pool | None = None) -> Dataset:
    """Return the labels, opinions, gold and draws of a design on one kind and criterion, or of a pool, by target."""

    def own(frame: pd.DataFrame) -> pd.DataFrame:
        return select_rows(frame, kind, criterion) if pool is None else pool_criteria(frame, [pool])

    known = [own(frame) for frame in (frames.labels, frames.opinions, frames.gold) if frame is not None]
    draws = []
    if frames.design is not None:  # the strata of different criteria are different ones
        names = frames.design["criterion"].astype(str) + SEPARATOR + frames.design["stratum"].astype(str)
        draws.append(own(frames.design.assign(stratum=names)))
    targets = np.split(target_codes(*known, *draws), np.cumsum([len(frame) for frame in known]))
    # Those that only the design has come after all others.
    n_targets = int(np.concatenate(targets[:-1]).max(initial=-1)) + 1
    labels, opinions, *gold = known
    of_gold = [(gold[0], targets[2])] if gold else []
    attributes = attributes_of(n_targets, [(opinions, targets[1]), (labels, targets[0]), *of_gold])
    ratings = ratings_of(labels, targets[0], n_targets, scale, target_groups(attributes, n_targets))
    reference = gold_reference(gold[0], targets[2], scale, ratings) if gold else annotators_reference(ratings)
    for design in filter(len, draws):
        has_label = ~np.isnan(ratings.labels).all(axis=1) if ratings.raters else np.zeros(n_targets, bool)
        labelled = has_label | ~np.isnan(reference[0]) | ~np.isnan(reference[1])
        ratings = replace(ratings, sample=sample_of(design, targets[-1], labelled, pool is not None))
    texts = {name: names_or_empty(values, n_targets) for name, values in attributes.items()}
    critique = "item" if attributes["critique"] is None else "critique"
    return Dataset(
        kind,
        criterion,
        ALL,
        scale,
        ratings,
        judges_of(opinions, targets[1], n_targets, scale),
        *reference,
        texts["scenario"],
        texts["item"],
        texts["part"],
        attributes["system"],
        texts[critique],
    )


def judges_of(opinions: pd.DataFrame, targets: Ints, n_targets: int, scale: Scale) -> dict[str, JudgeOpinions]:
    """Return each judge's verdicts by name; `targets` (M,) are those of the rows."""
    judges, names = pd.factorize(opinions["judge" if "judge" in opinions.columns else "rater"], sort=True)
    shape = n_targets, len(names)
    asked = np.zeros(shape, bool)
    asked[targets, judges] = True
    verdicts = grid_of(encode_on_scale(opinions["value"], scale), targets, judges, shape)
    sides = {
        name: grid_of(pd.to_numeric(opinions[name]).to_numpy(float), targets, judges, shape)
        for name in NUMBER_COLUMNS
        if name in opinions.columns
    }
    origins = opinion_origins(opinions, judges, len(names))
    return {
        str(name): JudgeOpinions(
            asked[:, j], verdicts[:, j], {side: grid[:, j] for side, grid in sides.items()}, *origins[j]
        )
        for j, name in enumerate(names)
    }


def attributes_of(n_targets: int, parts: Sequence[tuple[pd.DataFrame, Ints]]) -> dict[str, Strings | None]:
    """Return the first value of each target in `ATTRIBUTES`, (N,), "" for none; None if a column has no value.

    `parts` are frames with the targets of their rows; values of later ones replace those of earlier ones.
    """
    found: dict[str, Strings | None] = {}
    for name in ATTRIBUTES:
        values, is_known = np.full(n_targets, "", object), False
        for frame, targets in parts:
            # In reverse order, so the first row of a target is assigned last.
            rows = np.flatnonzero(frame[name].notna())[::-1] if name in frame.columns else np.zeros(0, np.int64)
            values[targets[rows]] = frame[name].to_numpy(object)[rows] if rows.size else ()
            is_known |= rows.size > 0
        found[name] = values if is_known else None
    return found


def target_groups(attributes: Mapping[str, Strings | None], n_targets: int) -> tuple[str, ...] | None:
    """Return the document or dialogue of each target, otherwise its item; None if targets are independent.

    Targets of one item, such as its AIUs or its criteria, are no more independent than those of one document.
    """
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


def annotators_reference(ratings: Ratings) -> ReferenceColumns:
    """Return the annotators' majority and mean as the reference."""
    gold = consensus(ratings)
    labels = ratings.labels
    labelled = ~np.isnan(labels).all(axis=1) if labels.shape[1] else np.zeros(len(gold), bool)
    sources = np.where(labelled, BY_PEOPLE, "").astype(object)
    return gold, mean_scores(ratings.to_numbers(labels)), sources, np.zeros(len(gold), bool), False


def gold_reference(gold: pd.DataFrame, targets: Ints, scale: Scale, ratings: Ratings) -> ReferenceColumns:
    """Return the rows of a reference by target; number, source and disputed are optional, as columns and as values."""
    codes, n_targets = encode_on_scale(gold["value"], scale), len(ratings.labels)
    if "number" in gold.columns:
        numbers = pd.to_numeric(gold["number"]).to_numpy(float, na_value=np.nan)
    else:
        numbers = ratings.to_numbers(codes)
    column = np.zeros(targets.size, np.int64)
    values, scores = (grid_of(of_rows, targets, column, (n_targets, 1))[:, 0] for of_rows in (codes, numbers))
    sources, disputed = np.full(n_targets, "", object), np.zeros(n_targets, bool)
    sources[targets] = ADJUDICATED
    if "source" in gold.columns:
        known = gold["source"].notna().to_numpy(bool)
        sources[targets[known]] = gold["source"].to_numpy(object)[known]
    if "disputed" in gold.columns:
        disputed[targets] = gold["disputed"].eq(True).to_numpy(bool, na_value=False)
    return values, scores, sources, disputed, True


def consensus(ratings: Ratings) -> Floats:
    """Return the annotators' majority category, or the mean of their numbers, (N,); nan if there is none."""
    if not ratings.categories:
        return mean_scores(ratings.labels)
    codes = majority_category(category_counts(ratings.codes, len(ratings.categories)))
    return np.where(codes >= 0, codes, np.nan)
