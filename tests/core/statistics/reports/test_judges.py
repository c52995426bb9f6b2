"""Rows that compare judges with each other."""

import numpy as np
import pytest

from core.statistics.data.dataset import Frames, build_datasets
from core.statistics.reports.judges import judge_differences
from tests.bench.bench_planted_judges import PLANTED, evaluate, is_ranked_as_planted, plant
from tests.core.statistics.frames import ANNOTATORS, SCALES, STARS, frame_from_words


def differences(labels, opinions, scales):
    datasets = build_datasets(Frames(labels, opinions, None, scales), "all")
    return [row for dataset in datasets for row in judge_differences(dataset)]


def test_judges_are_compared_by_their_accuracy():
    words = {name: word * 12 for name, word in ANNOTATORS.items()}
    judges = {"good": words["a1"], "fair": words["a3"], "bad": "0" * 120}
    rows = differences(frame_from_words(words), frame_from_words(judges, name_column="judge"), SCALES)
    by_pair = {(row.judge, row.other_judge): row for row in rows}
    assert list(by_pair) == [("bad", "fair"), ("bad", "good"), ("fair", "good")]
    assert by_pair["bad", "good"].high < 0
    assert all(row.p_bootstrap <= row.p_corrected for row in rows)


def test_scoring_judges_are_compared_by_correlation_and_williams_test():
    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, 80)
    near = np.clip(stars + rng.integers(-1, 2, 80), 1, 5)
    labels = frame_from_words({"a1": "".join(map(str, stars))}, "score")
    judges = {"near": "".join(map(str, near)), "far": "".join(map(str, rng.integers(1, 6, 80)))}
    (row,) = differences(labels, frame_from_words(judges, "score", "judge"), STARS)
    assert (row.judge, row.other_judge) == ("far", "near")
    assert row.high < 0
    assert max(row.p_bootstrap, row.p_t) < 0.01


def test_few_items_give_no_correlation_difference_and_a_reason():
    labels = frame_from_words({"a1": "123"}, "score")
    opinions = frame_from_words({"near": "123", "far": "321"}, "score", "judge")
    (row,) = differences(labels, opinions, STARS)
    assert (row.difference, row.p_corrected) == (None, None)
    assert row.reason == "4 items with all three scores are needed; there are 3"


# Judges and biases of planted studies


@pytest.mark.parametrize("seed", range(3))
def test_planted_judges_are_ranked_and_only_their_biases_found(seed: int) -> None:
    outcome = evaluate(plant(seed), resamples=200)
    assert is_ranked_as_planted(outcome)
    assert (outcome.decisions["strong"], outcome.decisions["weak"]) == ("use", "do not use")
    assert {outcome.decisions[name] for name in ("constant", "random")} == {"do not use"}
    assert outcome.found == PLANTED
