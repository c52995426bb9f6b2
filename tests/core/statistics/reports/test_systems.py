"""Systems: planted win rates are recovered through a biased judge, and Bradley-Terry ranks them."""

import numpy as np
import pandas as pd
import pytest

from core.statistics.reports.systems import GAME_COLUMNS, SCORE_COLUMNS, rate_by_games, rate_by_scores, wins

STRENGTH = {"large": 1.0, "middle": 0.0, "small": -1.0}


def planted_games(seed: int, pairs: int = 900, labelled: int = 150) -> pd.DataFrame:
    """Return games of three systems; the judge prefers the second response in one of five targets, whatever it is."""
    rng = np.random.default_rng(seed)
    names = list(STRENGTH)
    rows = []
    for number in range(pairs):
        first, second = rng.choice(names, 2, replace=False)
        chance = 1 / (1 + np.exp(STRENGTH[second] - STRENGTH[first]))
        truth = 1 if rng.random() < chance else 2
        judge = 2 if rng.random() < 0.2 else truth
        people = truth if number < labelled else np.nan
        rows.append((f"i{number}", "math" if number % 2 else "code", first, second, people, judge, True, False))
    return pd.DataFrame(rows, columns=list(GAME_COLUMNS))


def true_win_rate(games: pd.DataFrame, system: str) -> float:
    """Return the expected win rate of a system in the games that it plays."""
    own = games[(games["first"] == system) | (games["second"] == system)]
    chances = [
        1 / (1 + np.exp(STRENGTH[second if first == system else first] - STRENGTH[system]))
        for first, second in zip(own["first"], own["second"], strict=True)
    ]
    return float(np.mean(chances))


def test_systems_are_ranked_and_the_intervals_hold_the_truth() -> None:
    covered, widths = [], []
    for seed in range(10):
        games = planted_games(seed)
        rows = rate_by_games(games.assign(scenario=""), resamples=2)
        assert [row.system for row in rows] == list(STRENGTH)
        for row in rows:
            assert row.low is not None and row.high is not None and row.people_low is not None
            covered.append(row.low <= true_win_rate(games, row.system) <= row.high)
            widths.append((row.high - row.low) / ((row.people_high or 0) - row.people_low))
    assert np.mean(covered) >= 0.85  # of 30 intervals of 95 %
    assert np.median(widths) < 0.95


def test_bradley_terry_strengths_come_from_the_labels_of_people() -> None:
    rows = [row for row in rate_by_games(planted_games(2), resamples=200) if row.scenario == "all"]
    strengths = [row.strength or 0.0 for row in rows]
    assert strengths == sorted(strengths, reverse=True) and sum(strengths) == pytest.approx(0, abs=1e-9)
    assert all((row.strength_low or 0) < (row.strength or 0) < (row.strength_high or 0) for row in rows)


def test_a_tie_is_half_a_win_for_both() -> None:
    winners = np.array([0.0, 1.0, 2.0, np.nan])
    assert wins(winners, np.ones(4, bool)).tolist()[:3] == [0.5, 1.0, 0.0]
    assert wins(winners, np.zeros(4, bool)).tolist()[:3] == [0.5, 0.0, 1.0]
    assert np.isnan(wins(winners, np.ones(4, bool))[3])


def test_mean_scores_are_corrected_for_a_harsh_judge() -> None:
    rng = np.random.default_rng(5)
    rows = []
    for number in range(600):
        for system, mean in (("a", 3.5), ("b", 2.5)):
            score = mean + rng.normal()
            people = score if number < 80 else np.nan
            rows.append((f"i{number}", "", system, people, score - 1 + 0.2 * rng.normal(), True, False))
    a, b = rate_by_scores(pd.DataFrame(rows, columns=list(SCORE_COLUMNS)))
    assert (a.system, b.system) == ("a", "b")
    assert a.verdicts is not None and a.verdicts < 2.7 and a.value == pytest.approx(3.5, abs=0.2)
    assert a.low is not None and a.high is not None and a.people_low is not None and a.people_high is not None
    assert a.high - a.low < 0.6 * (a.people_high - a.people_low)


def test_targets_of_an_abstaining_judge_remain() -> None:
    """A judge that abstains on most wins of a system would otherwise lower its win rate."""
    games = planted_games(6, labelled=300).assign(scenario="")
    complete = {row.system: row for row in rate_by_games(games, resamples=2)}
    won = ((games["first"] == "large") & (games["judge"] == 1)) | ((games["second"] == "large") & (games["judge"] == 2))
    abstains = won & (np.random.default_rng(0).random(len(games)) < 0.8)
    row = {row.system: row for row in rate_by_games(games.assign(judge=games["judge"].mask(abstains)), resamples=2)}[
        "large"
    ]
    expected = complete["large"]
    assert (row.labelled, row.judged, row.abstained) == (expected.labelled, expected.judged, abstains.sum())
    assert (row.people, row.people_low, row.people_high) == (expected.people, expected.people_low, expected.people_high)
    assert row.verdicts is not None and expected.verdicts is not None and row.verdicts < expected.verdicts - 0.3
    assert row.value == pytest.approx(expected.value, abs=0.05)
    assert f"{abstains.sum()} targets have no verdict: the mean verdict counts" in row.reason


def test_labels_of_targets_that_the_judge_was_not_asked_about_count_for_people_alone() -> None:
    games = planted_games(6).assign(scenario="")
    some = games.copy()
    some.loc[:9, "judge"] = np.nan
    some.loc[:9, "asked"] = False
    for row, expected in zip(rate_by_games(some, resamples=2), rate_by_games(games, resamples=2), strict=True):
        assert row.labelled < row.people_labelled == expected.labelled
        assert (row.people, row.people_low) == (expected.people, expected.people_low)
        number = expected.labelled - row.labelled
        assert f"the judge was not asked about {number} labelled targets: for people alone only" in row.reason


def test_undecided_targets_are_neither_labelled_nor_judged_only() -> None:
    games = planted_games(7).assign(scenario="")
    labelled = games["people"].notna()
    split = games.index[labelled][:20]
    marked = games.copy()
    marked.loc[split, ["people", "undecided"]] = [np.nan, True]
    without = games.drop(index=split)
    for row, expected in zip(rate_by_games(marked, resamples=2), rate_by_games(without, resamples=2), strict=True):
        assert (row.value, row.labelled, row.judged) == (expected.value, expected.labelled, expected.judged)
        assert row.verdicts == expected.verdicts and expected.undecided == 0
        assert row.undecided > 0 and f"{row.undecided} targets have labels but no majority" in row.reason


def test_no_more_labels_are_saved_than_targets_only_judged() -> None:
    games = planted_games(8).assign(scenario="")
    for row in rate_by_games(games.iloc[:165], resamples=2):
        assert row.labels_saved is not None or row.judged < 10
        assert row.labels_saved is None or row.labels_saved <= row.judged
    for row in rate_by_games(games.iloc[:155], resamples=2):
        assert 0 < row.judged < 10 and row.labels_saved is None and "no estimate of the labels saved" in row.reason


def test_pairs_of_one_item_are_not_independent() -> None:
    games = planted_games(5).assign(scenario="")
    of_pairs = games.assign(item=[f"i{number // 3}" for number in range(len(games))])
    values = {row.system: row.value for row in rate_by_games(games, resamples=2)}
    clustered = {row.system: row for row in rate_by_games(of_pairs, resamples=2)}
    assert {name: row.value for name, row in clustered.items()} == values
    repeated = pd.concat([games] * 3)  # three equal games of each item are worth one
    widths = [
        {row.system: (row.high or 0) - (row.low or 0) for row in rate_by_games(frame, resamples=2)}
        for frame in (games, repeated)
    ]
    assert all(widths[1][name] == pytest.approx(widths[0][name], rel=0.03) for name in STRENGTH)
