"""Which system is better: win rates and mean scores from people's labels and a judge's verdicts together.

A few labels of people correct many verdicts of a judge (prediction-powered inference, Angelopoulos et al. 2023). The
estimate holds for any judge, however biased; a judge that predicts people's labels well makes the interval narrower.
A missing verdict counts as the mean of the verdicts, which predicts nothing: without its targets, the estimate would be
of those on which the judge decides. Labelled targets have to be a random sample of all: see `without_value_of_all`.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Bools, Floats, Ints
from core.statistics.data.frames import ALL
from core.statistics.data.sample import Sample
from core.statistics.measures.designs import DesignMean, design_mean
from core.statistics.measures.means import kish
from core.statistics.measures.systems import SystemRating, rate_systems
from core.wording import format_count, scenario_name

GAME_COLUMNS = ("item", "scenario", "first", "second", "people", "judge", "asked", "undecided")
SCORE_COLUMNS = ("item", "scenario", "system", "people", "judge", "asked", "undecided")
# Columns of games or scores whose targets were drawn by a design, see `sample.Sample`.
DRAW_COLUMNS = ("stratum", "probability", "drawn")
WIN, TIE, LOSS = 1.0, 0.5, 0.0
# Below this many targets with only a verdict their variance, and so the labels that they save, is not known.
FEWEST_VERDICTS = 10
# Below this many labelled targets the interval can be too narrow, see docs/statistics.md.
FEW_LABELS = 100


@dataclass(frozen=True)
class SystemRow:
    """One system's win rate or mean score."""

    system: str
    scenario: str
    """The name of a scenario, or "all"."""
    value: float | None
    """From people's labels and the judge's verdicts together."""
    low: float | None
    high: float | None
    people: float | None
    """From people's labels alone, and its 95 % interval."""
    people_low: float | None
    people_high: float | None
    people_labelled: int
    """Targets with a label of people, whether or not the judge was asked about them."""
    verdicts: float | None
    """From the judge's verdicts alone: its bias is not corrected."""
    labelled: int
    """Targets with a label of people that the judge was asked about, with or without a verdict."""
    judged: int
    """Targets that only the judge was asked about."""
    abstained: int
    """Targets of both without a verdict of the judge."""
    undecided: int
    """Targets with labels of people but no majority, which are left out."""
    labels_saved: float | None
    """How many further labels of people alone would give an interval as narrow, at most `judged`."""
    strength: float | None
    """Bradley-Terry log-strength from people's labels, mean 0 over the systems; None for scores."""
    strength_low: float | None
    strength_high: float | None
    reason: str
    population: str = "all targets"
    """The targets that the row is of: all, or those that labels are mainly of; then it has no value
    from labels and verdicts together."""
    effective: float | None = None
    """Kish's effective number of the labels, if they count differently by their design."""


Strengths = dict[str, SystemRating | None]
Once = Callable[[Hashable, Callable[[], Strengths]], Strengths]


def rate_by_games(
    games: pd.DataFrame, *, resamples: int = 1000, once: Once = lambda _, compute: compute()
) -> list[SystemRow]:
    """Return the win rate of each system, of all targets and of each scenario, the best first.

    `games`: GAME_COLUMNS, one row per pair of responses; `first` and `second` are systems, `people` and `judge` the
    number of the better response, 0 for a tie, nan if there is none; `asked`: whether the judge was asked about the
    pair, with or without a verdict. `undecided` targets have labels of people but no
    value of them; they are left out, because they are not a random sample of the targets without labels.

    `once` may return what it returned before for an equal scenario and equal systems: the strengths do not depend on
    the judge.
    """
    rows = []
    for scenario, part in _parts(games):
        systems = sorted(set(part["first"]) | set(part["second"]))
        strengths = once((scenario, tuple(systems)), partial(_strengths, part, systems, resamples))
        ranked = [_win_row(part, scenario, system, strengths[system]) for system in systems]
        rows += sorted(ranked, key=_value_or_lowest, reverse=True)
    return rows


def rate_by_scores(scores: pd.DataFrame) -> list[SystemRow]:
    """Return the mean score of each system, of all targets and of each scenario, the highest first.

    `scores`: SCORE_COLUMNS, one row per response; `people` is the mean of people's scores, nan if there is none.
    `asked` and `undecided` as in `rate_by_games`.
    """
    rows = []
    for scenario, part in _parts(scores):
        own = {system: part[part["system"] == system] for system in sorted(set(part["system"]))}
        ranked = [_row(system, scenario, _values(frame), None) for system, frame in own.items()]
        rows += sorted(ranked, key=_value_or_lowest, reverse=True)
    return rows


def without_value_of_all(row: SystemRow, population: str, reason: str) -> SystemRow:
    """Return a row of a population, without what is of all targets: its labels are no sample of all.

    `reason` states why.
    """
    reasons = "; ".join(filter(None, (reason, row.reason)))
    return replace(row, value=None, low=None, high=None, labels_saved=None, population=population, reason=reasons)


def _parts(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield all rows, then those of each scenario if there are several."""
    yield ALL, frame
    names = sorted(name for name in set(frame["scenario"]) if name)
    if len(names) > 1:
        for name in names:
            yield scenario_name(name), frame[frame["scenario"] == name]


def _win_row(games: pd.DataFrame, scenario: str, system: str, strength: SystemRating | None) -> SystemRow:
    """Return the row of one system, from the pairs in which it is exactly one of the two."""
    own = games[(games["first"] == system) ^ (games["second"] == system)]
    is_first = (own["first"] == system).to_numpy(bool)
    values = _values(own)
    won = replace(values, people=wins(values.people, is_first), judge=wins(values.judge, is_first))
    return _row(system, scenario, won, strength, (LOSS, WIN))


def wins(winners: Floats, is_first: Bools) -> Floats:
    """Return 1 for a win, .5 for a tie and 0 for a loss of a system that is the first of a pair, or the second; nan."""
    won = np.where(is_first, winners == 1, winners == 2)
    return np.where(np.isnan(winners), np.nan, np.select([winners == 0, won], [TIE, WIN], LOSS))


@dataclass(frozen=True)
class _Values:
    """What people and a judge give each target of a system, (N,), nan for nothing."""

    people: Floats
    judge: Floats
    asked: Bools
    """Whether the judge was asked about the target."""
    undecided: int
    """Targets with labels of people but no value of them: they are neither labelled nor asked about here."""
    items: Ints | None
    """The numbers of the items of the targets; None if no item has several targets."""
    sample: Sample | None = None
    """How the targets were drawn for labelling; None if no design is known."""

    @property
    def predictions(self) -> Floats:
        """The verdicts, and their mean for a missing one; nan where the judge was not asked.

        The mean is that of labelled and other targets alike, so the difference of the two is not biased by it.
        """
        missing = self.asked & np.isnan(self.judge)
        return np.where(missing, self.judge[~np.isnan(self.judge)].mean(), self.judge) if missing.any() else self.judge


def _values(frame: pd.DataFrame) -> _Values:
    undecided = frame["undecided"].to_numpy(bool)
    people, judge = (np.where(undecided, np.nan, frame[name].to_numpy(float)) for name in ("people", "judge"))
    asked = frame["asked"].to_numpy(bool) & ~undecided
    items = pd.factorize(frame["item"])[0].astype(np.int64) if frame["item"].duplicated().any() else None
    sample = _sample(frame, ~np.isnan(people)) if "stratum" in frame.columns else None
    return _Values(people, judge, asked, int(undecided.sum()), items, sample)


def describe_draws(frame: pd.DataFrame) -> str:
    """Return how the targets of a frame with the `DRAW_COLUMNS` were drawn; "" without these columns."""
    if "stratum" not in frame.columns:
        return ""
    return _sample(frame, (frame["people"].notna() | frame["undecided"]).to_numpy(bool)).describe()


def _sample(frame: pd.DataFrame, labelled: Bools) -> Sample:
    strata, names = pd.factorize(frame["stratum"])
    probability, drawn = frame["probability"].to_numpy(float), frame["drawn"].to_numpy(bool)
    return Sample.of_labelled(strata.astype(np.int64), probability, drawn, labelled, tuple(map(str, names)))


def _row(
    system: str,
    scenario: str,
    values: _Values,
    strength: SystemRating | None,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> SystemRow:
    has_verdict = ~np.isnan(values.judge)
    # A draw has strata to count; other labels are those of a random part, whose mean needs no targets without one.
    whole = ~np.isnan(values.people) if values.sample is None else np.ones(values.people.size, bool)
    alone = mean = _mean(values, whole, limits)
    saved, abstained, notes = None, 0, []
    if has_verdict.any():
        mean = _mean(values, values.asked, limits, values.predictions)
        saved = _labels_saved(mean, _mean(values, values.asked, limits))
        abstained = int((values.asked & ~has_verdict).sum())
        notes = _notes_on_judge(values, mean, abstained)
    notes = [*_notes_on_interval(values, mean), *notes]
    if values.undecided:
        notes.append(f"{format_count(values.undecided, 'target has', 'targets have')} labels but no majority, left out")
    return SystemRow(
        system, scenario, mean.value, mean.low, mean.high,
        alone.value, alone.low, alone.high, int((~np.isnan(values.people)).sum()),
        float(values.judge[has_verdict].mean()) if has_verdict.any() else None,
        mean.labelled, mean.targets - mean.labelled if has_verdict.any() else 0, abstained, values.undecided, saved,
        *((strength.strength, strength.low, strength.high) if strength else (None, None, None)),
        reason="; ".join([*notes, *([strength.reason] if strength and strength.reason else [])]),
        effective=kish(values.sample),
    )  # fmt: skip


def _mean(
    values: _Values, population: Bools, limits: tuple[float, float], predictions: Floats | None = None
) -> DesignMean:
    """Return the mean of a population of targets (N,), from labels alone or with predictions of all of them."""
    people = values.people[population]
    strata, probability = np.zeros(people.size, np.int64), np.ones(people.size)
    if values.sample is not None:
        own = values.sample.select(population)
        people = np.where(own.drawn, people, np.nan)
        strata = np.unique(own.strata, return_inverse=True)[1].reshape(-1).astype(np.int64)
        probability = np.where(own.drawn, own.probability, 1.0)
    return design_mean(
        people, probability, strata, None if predictions is None else predictions[population], limits=limits,
        clusters=None if values.items is None else values.items[population],
    )  # fmt: skip


def _labels_saved(mean: DesignMean, alone: DesignMean) -> float | None:
    """Return how many more labels alone would give an interval as narrow: a verdict is worth one label at most.

    None for few verdicts, whose variance is unknown.
    """
    verdicts = mean.targets - mean.labelled
    if not mean.variance or not alone.variance or 0 < verdicts < FEWEST_VERDICTS:
        return None
    return max(0.0, min(mean.labelled * alone.variance / mean.variance, float(mean.targets)) - mean.labelled)


def _notes_on_interval(values: _Values, mean: DesignMean) -> list[str]:
    """Return why there is no interval, or that it can be too narrow."""
    labels = ~np.isnan(values.people)
    independent = int(labels.sum()) if values.items is None else np.unique(values.items[labels]).size
    few = f"fewer than {FEW_LABELS} labelled items: the interval may be too narrow"
    return [mean.reason] if mean.reason else [few] if independent < FEW_LABELS else []


def _notes_on_judge(values: _Values, mean: DesignMean, abstained: int) -> list[str]:
    """Return what is known of the targets without a label or a verdict, and of those without the judge."""
    notes, verdicts = [], mean.targets - mean.labelled
    if not verdicts:
        notes.append("no items that only the judge saw: this is the mean of the human labels")
    elif verdicts < FEWEST_VERDICTS:
        items = format_count(verdicts, "item")
        notes.append(f"no estimate of the labels saved: {items} that only the judge saw, {FEWEST_VERDICTS} needed")
    if abstained:
        notes.append(f"{format_count(abstained, 'target has', 'targets have')} no verdict: the mean verdict counts")
    not_asked = int((~np.isnan(values.people) & ~values.asked).sum())
    if not_asked:
        notes.append(
            f"the judge was not asked about {format_count(not_asked, 'labelled target')}: for people alone only"
        )
    return notes


def _strengths(games: pd.DataFrame, systems: Sequence[str], resamples: int) -> Strengths:
    """Return the Bradley-Terry strength of each system from people's labels, resampled by item."""
    labelled = games[games["people"].notna() & (games["first"] != games["second"])]
    if len(labelled) < 2 or len(systems) < 2:
        return dict.fromkeys(systems)
    numbers = {system: number for number, system in enumerate(systems)}
    first, second = (np.array([numbers[name] for name in labelled[side]], np.int64) for side in ("first", "second"))
    winner = np.array(labelled["people"], np.int64)
    groups = labelled["item"].tolist() if labelled["item"].duplicated().any() else None
    sample = None
    if "stratum" in games.columns:
        is_labelled = games.index.isin(labelled.index)
        sample = _sample(games, is_labelled).select(is_labelled)
    ratings = rate_systems(first, second, winner, systems, groups=groups, resamples=resamples, sample=sample)
    return {rating.system: rating for rating in ratings}


def _value_or_lowest(row: SystemRow) -> float:
    return -np.inf if row.value is None else row.value
