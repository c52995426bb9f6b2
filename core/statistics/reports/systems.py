"""Which system is better: win rates and mean scores from people's labels and a judge's verdicts together.

A few labels of people correct many verdicts of a judge (prediction-powered inference, Angelopoulos et al. 2023). The
estimate holds for any judge, however biased; a judge that predicts people's labels well makes the interval narrower.
Labelled targets have to be a random sample of all: labels of disputed targets alone are none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.statistics.data.arrays import Bools, Floats
from core.statistics.data.frames import ALL
from core.statistics.measures.bradley_terry import SystemRating, rate_systems
from core.statistics.measures.prediction_powered import prediction_powered_mean
from core.wording import format_count, scenario_name

GAME_COLUMNS = ("item", "scenario", "first", "second", "people", "judge", "undecided")
SCORE_COLUMNS = ("item", "scenario", "system", "people", "judge", "undecided")
WIN, TIE, LOSS = 1.0, 0.5, 0.0


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
    verdicts: float | None
    """From the judge's verdicts alone: its bias is not corrected."""
    labelled: int
    """Targets with a label of people and a verdict."""
    judged: int
    """Targets with only a verdict."""
    undecided: int
    """Targets with labels of people but no majority, which are left out."""
    labels_saved: float | None
    """How many further labels of people alone would give an interval as narrow, at most `judged`."""
    strength: float | None
    """Bradley-Terry log-strength from people's labels, mean 0 over the systems; None for scores."""
    strength_low: float | None
    strength_high: float | None
    reason: str


def rate_by_games(games: pd.DataFrame, *, resamples: int = 1000, seed: int = 0) -> list[SystemRow]:
    """Return the win rate of each system, of all targets and of each scenario, the best first.

    `games`: GAME_COLUMNS, one row per pair of responses; `first` and `second` are systems, `people` and `judge` the
    number of the better response, 0 for a tie, nan if there is none. `undecided` targets have labels of people but no
    value of them; they are left out, because they are not a random sample of the targets without labels.
    """
    rows = []
    for scenario, part in _parts(games):
        systems = sorted(set(part["first"]) | set(part["second"]))
        strengths = _strengths(part, systems, resamples, seed)
        ranked = [_win_row(part, scenario, system, strengths[system]) for system in systems]
        rows += sorted(ranked, key=_value_or_lowest, reverse=True)
    return rows


def rate_by_scores(scores: pd.DataFrame) -> list[SystemRow]:
    """Return the mean score of each system, of all targets and of each scenario, the highest first.

    `scores`: SCORE_COLUMNS, one row per response; `people` is the mean of people's scores, nan if there is none.
    `undecided` as in `rate_by_games`.
    """
    rows = []
    for scenario, part in _parts(scores):
        own = {system: part[part["system"] == system] for system in sorted(set(part["system"]))}
        ranked = [_row(system, scenario, *_columns(frame), None) for system, frame in own.items()]
        rows += sorted(ranked, key=_value_or_lowest, reverse=True)
    return rows


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
    people, judge, undecided = _columns(own)
    items = own["item"] if own["item"].duplicated().any() else None
    values = wins(people, is_first), wins(judge, is_first)
    return _row(system, scenario, *values, undecided, strength, (LOSS, WIN), items)


def wins(winners: Floats, is_first: Bools) -> Floats:
    """Return 1 for a win, .5 for a tie and 0 for a loss of a system that is the first of a pair, or the second; nan."""
    won = np.where(is_first, winners == 1, winners == 2)
    return np.where(np.isnan(winners), np.nan, np.select([winners == 0, won], [TIE, WIN], LOSS))


def _columns(frame: pd.DataFrame) -> tuple[Floats, Floats, int]:
    """Return the values of people and of the judge, nan on undecided targets, and the number of these."""
    undecided = frame["undecided"].to_numpy(bool)
    people, judge = (np.where(undecided, np.nan, frame[name].to_numpy(float)) for name in ("people", "judge"))
    return people, judge, int(undecided.sum())


def _row(
    system: str,
    scenario: str,
    people: Floats,
    judge: Floats,
    undecided: int,
    strength: SystemRating | None,
    limits: tuple[float, float] = (-np.inf, np.inf),
    items: "pd.Series[str] | None" = None,
) -> SystemRow:
    """Return the row of one system; `items` are those of the values, None if no item has several values."""
    numbers = None if items is None else pd.factorize(items)[0].astype(np.int64)
    labelled, judged = ~np.isnan(people), ~np.isnan(judge)
    both, only_judged = labelled & judged, judged & ~labelled
    if judged.any():
        clusters = None if numbers is None else (numbers[both], numbers[only_judged])
        mean = prediction_powered_mean(people[both], judge[both], judge[only_judged], limits=limits, clusters=clusters)
    else:  # without a judge, the mean of the labels
        clusters = None if numbers is None else (numbers[labelled], np.empty(0, np.int64))
        mean = prediction_powered_mean(
            people[labelled], people[labelled], np.empty(0), limits=limits, clusters=clusters
        )
    notes = [mean.reason] if mean.reason else []
    without_verdict = int((labelled & ~judged).sum())
    if judged.any() and without_verdict:
        notes.append(
            f"{format_count(without_verdict, 'labelled target has', 'labelled targets have')} no verdict, left out"
        )
    if undecided:
        notes.append(f"{format_count(undecided, 'target has', 'targets have')} labels but no majority, left out")
    saved = None if mean.effective_labels is None else max(0.0, mean.effective_labels - mean.labelled)
    return SystemRow(
        system, scenario, mean.value, mean.low, mean.high, mean.human, mean.human_low, mean.human_high,
        float(judge[judged].mean()) if judged.any() else None, mean.labelled, mean.judged, undecided, saved,
        *((strength.strength, strength.low, strength.high) if strength else (None, None, None)),
        reason="; ".join([*notes, *([strength.reason] if strength and strength.reason else [])]),
    )  # fmt: skip


def _strengths(
    games: pd.DataFrame, systems: Sequence[str], resamples: int, seed: int
) -> dict[str, SystemRating | None]:
    """Return the Bradley-Terry strength of each system from people's labels, resampled by item."""
    labelled = games[games["people"].notna() & (games["first"] != games["second"])]
    if len(labelled) < 2 or len(systems) < 2:
        return dict.fromkeys(systems)
    numbers = {system: number for number, system in enumerate(systems)}
    first, second = (np.array([numbers[name] for name in labelled[side]], np.int64) for side in ("first", "second"))
    winner = np.array(labelled["people"], np.int64)
    groups = labelled["item"].tolist() if labelled["item"].duplicated().any() else None
    ratings = rate_systems(first, second, winner, systems, groups=groups, resamples=resamples, seed=seed)
    return {rating.system: rating for rating in ratings}


def _value_or_lowest(row: SystemRow) -> float:
    return -np.inf if row.value is None else row.value
