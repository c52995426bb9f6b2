"""Judges, biases and causes of planted studies; `tests.bench.bench_planted_judges` measures more of them."""

import pytest

from tests.bench.bench_planted_judges import PLANTED, evaluate, is_ranked_as_planted, plant


@pytest.mark.parametrize("seed", range(3))
def test_planted_judges_are_ranked_and_only_their_biases_found(seed: int) -> None:
    outcome = evaluate(plant(seed), resamples=200)
    assert is_ranked_as_planted(outcome)
    assert (outcome.decisions["strong"], outcome.decisions["weak"]) == ("use", "do not use")
    assert {outcome.decisions[name] for name in ("constant", "random")} == {"do not use"}
    assert outcome.found == PLANTED
