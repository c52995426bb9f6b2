"""Figures of labels that were drawn by a design are of all targets of the population, whatever was drawn."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from core.labels import PREFERENCE
from core.statistics.data.arrays import Estimate
from core.statistics.data.dataset import Dataset, Frames, align
from core.statistics.data.sample import Draw, Sample
from core.statistics.measures.agreement import estimate_statistics
from core.statistics.measures.designs import drawn_mean
from core.statistics.reports.alignment import asked_patterns, verdict_statistics
from core.statistics.reports.judge_findings import Findings
from core.statistics.reports.judges import compare_judges, rank_judges

N = 4_000


def dataset(drawn: np.ndarray, probability: np.ndarray, *, design: bool = True) -> Dataset:
    """Return pairs of which 30 % are disputed: people and judges are worse on these, and A wins half of them."""
    rng = np.random.default_rng(5)
    disputed = rng.random(N) < 0.3
    truth = np.where(rng.random(N) < np.where(disputed, 0.5, 0.75), 1, 2)

    def noisy(accuracy: np.ndarray) -> np.ndarray:
        return np.where(rng.random(N) < accuracy, truth, 3 - truth)

    columns = {"item": [f"i{number}" for number in range(N)], "kind": "preference", "criterion": "c", "part": ""}
    pairs = pd.DataFrame(columns)
    accuracies = {"a": np.where(disputed, 0.55, 0.9), "b": np.where(disputed, 0.6, 0.8)}
    opinions = pd.concat([pairs.assign(judge=name, value=noisy(one)) for name, one in accuracies.items()])
    people = [
        pairs.assign(rater=f"annotator {number}", value=noisy(np.where(disputed, 0.75, 0.92)))[drawn(disputed)]
        for number in range(3)
    ]
    draws = pairs.assign(
        stratum=np.where(disputed, "disputed", "agreed"), probability=probability(disputed),
        drawn=drawn(disputed), number=np.linspace(0.01, 0.99, N),
    )  # fmt: skip
    opinions = opinions.reset_index(drop=True).astype({"value": object})
    labels = pd.concat(people).reset_index(drop=True).astype({"value": object})
    frames = Frames(labels, opinions, None, {}, design=draws if design else None)
    return align(frames, "preference", "c", PREFERENCE)


def figures(of: Dataset) -> Mapping[str, Estimate]:
    ranking = rank_judges(of, resamples=100, findings=Findings())
    (comparison,) = compare_judges(of, resamples=100, findings=Findings())
    judge = of.judges["a"]
    statistics = verdict_statistics(of, judge, asked_patterns(of, judge), resamples=100)
    names = ("cohen_kappa_gold", "win_rate_1_people", "advantage_probability", "accuracy_gold")
    labelled = of.ratings.select(targets=(of.ratings.labels >= 0).any(axis=1))
    agreement = estimate_statistics(labelled, ["fleiss_kappa", "percent", "krippendorff_alpha_nominal"], resamples=100)
    return {
        **{one.judge: one.accuracy for one in ranking.judges},
        **{f"{one.judge} less ceiling": one.less_ceiling for one in ranking.judges},
        "ceiling": ranking.ceiling,
        "difference": Estimate(comparison.difference, comparison.low, comparison.high, 0, 0, 0, 0),
        **{name: statistics[name] for name in names},
        **agreement,
    }


def everything(disputed: np.ndarray) -> np.ndarray:
    return np.ones(N, bool)


def half_of_the_agreed(disputed: np.ndarray) -> np.ndarray:
    return disputed | (np.arange(N) % 2 == 0)


def probability(disputed: np.ndarray) -> np.ndarray:
    return np.where(disputed, 1.0, 0.5)


def test_a_draw_of_every_target_changes_no_figure() -> None:
    with_design = figures(dataset(everything, lambda disputed: np.ones(N)))
    without = figures(dataset(everything, lambda disputed: np.ones(N), design=False))
    for name, estimate in with_design.items():
        assert estimate.value == pytest.approx(without[name].value, abs=1e-9), name


def test_figures_of_all_disputed_and_a_part_of_the_others_are_of_all_targets() -> None:
    whole = figures(dataset(everything, lambda disputed: np.ones(N)))
    weighted = figures(dataset(half_of_the_agreed, probability))
    unweighted = figures(dataset(half_of_the_agreed, probability, design=False))
    moved = 0
    for name, estimate in weighted.items():
        assert estimate.value == pytest.approx(whole[name].value, abs=0.017), name
        moved += abs(unweighted[name].value - whole[name].value) > abs(estimate.value - whole[name].value)
    # Without weights disputed targets count twice as much as others.
    assert moved >= len(weighted) - 2
    assert unweighted["a"].value < whole["a"].value - 0.03


def test_weights_count_the_population_whoever_was_reached() -> None:
    strata, drawn = np.repeat([0, 1], [4, 6]), np.array([1, 1, 1, 1, 1, 1, 1, 0, 0, 0], bool)
    labelled = np.array([1, 1, 0, 0, 1, 1, 0, 1, 1, 1], bool)
    sample = Sample.of_labelled(strata, np.repeat([1.0, 0.5], [4, 6]), drawn, labelled)
    assert sample.weights.tolist() == [2, 2, 0, 0, 3, 3, 0, 0, 0, 0]
    assert sample.sizes.tolist() == [4, 6]
    assert np.ptp(sample.weights[sample.weights > 0]) > 0
    assert sample.select(strata == 1).weights.sum() == 6


def test_the_variance_of_a_stratified_mean_is_the_textbook_one() -> None:
    # Two strata of 40 and 60 targets; Cochran 1977, eq. 5.12 without the correction for finite populations, plus the
    # variance of the sizes of the strata.
    values, strata = np.array([1.0, 0, 1, 1, 0, 0, 1, 0]), np.repeat([0, 1], 4)
    mean, variance, degrees = drawn_mean(
        values, np.ones(8), Draw(strata, np.repeat([10.0, 15.0], 4), np.array([40.0, 60.0]))
    )
    assert mean == pytest.approx(0.4 * 0.75 + 0.6 * 0.25)
    within = 0.4**2 * 0.25 / 4 + 0.6**2 * 0.25 / 4
    assert variance == pytest.approx(within + (0.4 * 0.3**2 + 0.6 * 0.2**2) / 100)
    assert degrees == 6


def test_resamples_have_the_variance_of_the_mean() -> None:
    rng = np.random.default_rng(1)
    frequencies, strata = np.array([6.0, 4, 3, 7]), np.array([0, 0, 1, 1])
    draw, values = Draw(strata, np.array([4.0, 4, 9, 9]), np.array([40.0, 90.0])), np.array([1.0, 0, 1, 0])
    resampled = draw.resample(frequencies, 20_000, rng)
    means = resampled @ values / resampled.sum(axis=1)
    assert means.var() == pytest.approx(drawn_mean(values, frequencies, draw)[1], rel=0.05)
    without, occurrences = draw.without_each(frequencies, 400)
    assert occurrences.tolist() == frequencies.tolist()
    assert without.sum(axis=1) == pytest.approx([130.0] * 4)


def test_a_draw_names_its_strata_and_the_few_labels_of_one() -> None:
    strata = np.repeat([0, 1, 2], [60, 40, 5])
    labelled = np.concatenate([np.arange(60) < 55, np.arange(40) < 7, np.ones(5, bool)])
    sample = Sample.of_labelled(
        strata, np.ones(105), np.ones(105, bool), labelled, ("c\ndisputed", "c\nagreed", "c\nwhole")
    )
    described = sample.describe()
    assert described.startswith("drawn by design: 55 of 60 disputed, 7 of 40 agreed, 5 of 5 whole")
    assert described.endswith("fewer than 50 labels of a stratum: intervals may be too narrow")
    assert sample.has_few_labels(30) and not sample.select(strata != 1).has_few_labels(30)
    assert sample.select(strata != 1).describe().endswith("0 of 40 agreed, 5 of 5 whole")
