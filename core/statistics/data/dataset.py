"""People's labels, the judges' opinions and the gold of the same targets, side by side."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from core.statistics.data.arrays import Bools, Codes, Floats, Ints
from core.statistics.data.frames import Scale, same, targets, text
from core.statistics.data.panel import majority
from core.statistics.data.patterns import tally
from core.statistics.data.ratings import Category, Ratings, Scores, encode

COLUMNS = ("item", "kind", "criterion", "part", "rater", "value")
Strings = npt.NDArray[np.object_]
SIDES = ("shown_first", "longer", "own")
"""Columns of opinions: the response that was shown first, that is longer, that is of the judge's family."""


@dataclass(frozen=True)
class Judged:
    """What one judge said of N targets."""

    asked: Bools
    """(N,): whether the judge was asked at all."""
    values: Floats
    """(N,): codes of the scale, or numbers where it has no categories; nan for no verdict."""
    sides: Mapping[str, Floats] = field(default_factory=dict)
    """For preferences, by the names of `SIDES` that are known: 1 or 2, (N,), else 0 or nan."""


@dataclass(frozen=True)
class Joined:
    """N targets of one kind, criterion and group."""

    kind: str
    criterion: str
    group: str
    scale: Scale
    people: Ratings | Scores
    """Of N items: the targets, in their order."""
    judges: Mapping[str, Judged]
    gold: Floats
    """(N,): codes or numbers; nan where there is none."""
    ruled: bool
    """Whether the gold was given; otherwise it is the people's majority, or their mean."""
    scenario: Strings
    item: Strings
    system: Strings | None
    critique: Strings

    @property
    def labels(self) -> Floats:
        """(N, R): people's labels as codes or numbers, nan missing."""
        if isinstance(self.people, Scores):
            return self.people.values
        return np.where(self.people.codes >= 0, self.people.codes, np.nan)

    def numbers(self, codes: Floats) -> Floats:
        """Codes as the numbers that they stand for; numbers as they are."""
        if isinstance(self.people, Scores):
            return codes
        return of_categories(self.people.categories, codes)

    def part(self, group: str, mask: Bools) -> "Joined":
        """Only the targets where the mask is true, under the group's name."""
        judges = {
            name: Judged(
                judged.asked[mask],
                judged.values[mask],
                {side: values[mask] for side, values in judged.sides.items()},
            )
            for name, judged in self.judges.items()
        }
        return replace(
            self,
            group=group,
            people=self.people.select(items=mask),
            judges=judges,
            gold=self.gold[mask],
            scenario=self.scenario[mask],
            item=self.item[mask],
            system=None if self.system is None else self.system[mask],
            critique=self.critique[mask],
        )


def of_categories(categories: tuple[Category, ...], codes: Floats) -> Floats:
    """The number of each code's category, its place on the scale where that is no number."""
    plain = all(isinstance(category, int | float) for category in categories)
    numbers = np.array([float(c) if plain else at for at, c in enumerate(categories)])
    return np.where(np.isnan(codes), np.nan, numbers[np.nan_to_num(codes).astype(int)])


def join(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame | None,
    scales: Mapping[tuple[str, str], Scale],
) -> Iterator[Joined]:
    """One for each kind and criterion that a judge was asked about and a scale is declared for."""
    if opinions.empty:
        return
    for key, said in opinions.groupby(["kind", "criterion"], sort=True, dropna=False):
        kind, criterion = text(key[0]), text(key[1])
        if (kind, criterion) in scales:
            yield one(
                kind,
                criterion,
                scales[kind, criterion],
                chosen(labels, kind, criterion),
                said,
                None if gold is None else chosen(gold, kind, criterion),
            )


def pooled(
    labels: pd.DataFrame,
    opinions: pd.DataFrame,
    gold: pd.DataFrame | None,
    scales: Mapping[tuple[str, str], Scale],
) -> Iterator[Joined]:
    """The criteria of a kind together, where a judge was asked about several on one scale."""
    if opinions.empty:
        return
    for key, said in opinions.groupby("kind", sort=True):
        kind = text(key)
        names = [text(name) for name in said["criterion"].unique()]
        declared = [scales[kind, name] for name in names if (kind, name) in scales]
        alike = declared and all(same(scale, declared[0]) for scale in declared)
        if len(declared) > 1 and len(declared) == len(names) and alike:
            mine = labels[(labels["kind"] == kind) & labels["criterion"].map(text).isin(names)]
            ruled = None if gold is None else gold[gold["kind"] == kind]
            yield one(kind, "all", declared[0], mine, said, ruled)


def chosen(frame: pd.DataFrame, kind: str, criterion: str) -> pd.DataFrame:
    """The rows of a kind and criterion."""
    if frame.empty:
        return frame.reindex(columns=COLUMNS)
    return frame[(frame["kind"] == kind) & (frame["criterion"].map(text) == criterion)]


def one(
    kind: str,
    criterion: str,
    scale: Scale,
    labels: pd.DataFrame,
    said: pd.DataFrame,
    gold: pd.DataFrame | None,
) -> Joined:
    """Put the three frames on the same targets."""
    frames = [labels, said] if gold is None else [labels, said, gold]
    at, found = pd.factorize(targets(pd.concat(frames, ignore_index=True)))
    here = np.split(at.astype(np.int64), np.cumsum([len(frame) for frame in frames])[:-1])
    facts = Facts(len(found), np.concatenate(here[:2]), pd.concat(frames[:2], ignore_index=True))
    people = people_of(labels, here[0], scale, facts)
    ruled = gold is not None and len(gold) > 0
    item, critique = facts.column("item"), facts.column("critique")
    return Joined(
        kind,
        criterion,
        "all",
        scale,
        people,
        judges_of(said, here[1], scale, facts.size),
        placed(of_scale(gold["value"], scale), here[2], facts.size)
        if gold is not None and ruled
        else from_people(people),
        ruled,
        filled(facts.column("scenario"), facts.size),
        filled(item, facts.size),
        facts.column("system"),
        filled(item if critique is None else critique, facts.size),
    )


@dataclass(frozen=True)
class Facts:
    """What labels and opinions say of the targets themselves."""

    size: int
    at: Ints
    """(L,): the target of each row."""
    frame: pd.DataFrame

    def column(self, name: str) -> Strings | None:
        """(N,): what the first row that says something says of each target; None where none does."""
        if name not in self.frame.columns:
            return None
        values = self.frame[name].to_numpy(object)
        there = np.flatnonzero(self.frame[name].notna())[::-1]
        if not there.size:
            return None
        out = np.full(self.size, "", object)
        out[self.at[there]] = values[there]
        return out

    def groups(self) -> tuple[str, ...] | None:
        """The document or dialogue of each target, else its item; None where each target stands alone."""
        item, group = filled(self.column("item"), self.size), self.column("group")
        if group is not None:
            return tuple(map(str, np.where(group == "", item, group)))
        return None if len(set(item)) == self.size else tuple(map(str, item))


def filled(names: Strings | None, size: int) -> Strings:
    """The names, or empty ones."""
    return np.full(size, "", object) if names is None else names


def people_of(labels: pd.DataFrame, at: Ints, scale: Scale, facts: Facts) -> Ratings | Scores:
    """The people's labels as an array of targets x raters."""
    raters, names = pd.factorize(labels["rater"].to_numpy(object), sort=True)
    items = tuple(map(str, range(facts.size)))
    people = tuple(map(str, names.tolist()))
    grid = np.full((facts.size, len(people)), np.nan)
    place(grid, at, raters.astype(np.int64), of_scale(labels["value"], scale))
    groups = facts.groups()
    if not scale.categories:
        return Scores(items, people, grid, groups)
    codes = np.where(np.isnan(grid), -1, grid).astype(np.int16)
    return Ratings(items, people, codes, scale.categories, groups)


def judges_of(said: pd.DataFrame, at: Ints, scale: Scale, size: int) -> dict[str, Judged]:
    """What each judge said, by name; a value of None is no verdict."""
    name = "judge" if "judge" in said.columns else "rater"
    judges, names = pd.factorize(said[name].to_numpy(object), sort=True)
    columns = {"value": of_scale(said["value"], scale)}
    columns |= {side: pd.to_numeric(said[side]).to_numpy(float) for side in SIDES if side in said.columns}
    grids = {column: np.full((size, len(names)), np.nan) for column in columns}
    for column, values in columns.items():
        place(grids[column], at, judges.astype(np.int64), values)
    asked = np.zeros((size, len(names)), bool)
    asked[at, judges] = True
    given = grids.pop("value")
    return {
        str(name): Judged(asked[:, j], given[:, j], {side: grid[:, j] for side, grid in grids.items()})
        for j, name in enumerate(names)
    }


def place(grid: Floats, rows: Ints, columns: Ints, values: Floats) -> None:
    """Write each value to its cell; two values of one rater for a target are an error."""
    there = ~np.isnan(values)
    cells = rows[there] * grid.shape[1] + columns[there]
    if cells.size and np.bincount(cells).max() > 1:
        raise ValueError("somebody has two values for the same target; pass only the newest one")
    grid.reshape(-1)[cells] = values[there]


def placed(values: Floats, at: Ints, size: int) -> Floats:
    """(N,): the value of each target, nan where there is none."""
    out = np.full((size, 1), np.nan)
    place(out, at, np.zeros(at.size, np.int64), values)
    return out[:, 0]


def of_scale(values: pd.Series, scale: Scale) -> Floats:
    """Values as codes of the scale, or as numbers where it has no categories; nan missing."""
    if scale.categories:
        codes: Codes = encode(values.to_numpy(object), scale.categories)
        return np.where(codes >= 0, codes, np.nan)
    return pd.to_numeric(values).to_numpy(float, na_value=np.nan)


def from_people(people: Ratings | Scores) -> Floats:
    """Gold where nobody ruled: the majority of people, or the mean of their scores; nan for none."""
    if isinstance(people, Scores):
        return mean_of_people(people.values)
    codes = majority(tally(people.codes, len(people.categories)))
    return np.where(codes >= 0, codes, np.nan)


def mean_of_people(values: Floats) -> Floats:
    """(N, R) -> (N,): the mean of the scores that are there, nan where none is."""
    there = ~np.isnan(values)
    n = there.sum(axis=1)
    return np.where(n > 0, np.where(there, values, 0).sum(axis=1) / np.maximum(n, 1), np.nan)
