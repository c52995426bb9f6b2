"""Opinion changes, adopted opinions and ablations of discussions, on debates counted by hand and planted ones."""

import numpy as np
import pytest

from core.statistics.reports.discussions import (
    Debate,
    StatedOpinion,
    ablation_rows,
    change_rows,
    influence_rows,
    votes_row,
)
from tests.bench.bench_planted_judges import ADOPTED, adoption_is_covered, finds_changes_to_people, plant_debates


def debate(trace: int, *rounds: str, reference: int | None = 1, sequential: bool = False) -> Debate:
    """Return a debate of the judges A, B, C; "121" are their values in a round, "-" is unreadable."""
    said = [
        StatedOpinion(judge, number, int(value))
        for number, values in enumerate(rounds)
        for judge, value in zip("ABC", values, strict=True)
        if value != "-"
    ]
    return Debate(trace, f"i{trace}", (tuple(said),), reference, sequential)


def test_first_and_last_opinions_are_counted_to_the_reference_and_from_it() -> None:
    found = [debate(1, "121", "111"), debate(2, "122", "122"), debate(3, "122", "211"), debate(4, "1-1", "121")]
    rows = {row.judge: row for row in change_rows(found, "ABC")}
    assert (rows["B"].changed, rows["B"].opinions, rows["B"].towards, rows["B"].away) == (2, 3, 2, 0)
    assert rows["B"].traces == (1, 3)
    assert (rows["A"].changed, rows["A"].towards, rows["A"].away) == (1, 0, 1)
    assert rows["C"].p == 1.0 and rows["C"].opinions == 4


def test_an_opinion_is_adopted_from_each_judge_that_had_it() -> None:
    rows = {(row.judge, row.source): row for row in influence_rows([debate(1, "121", "111"), debate(2, "122", "122")])}
    assert (rows["B", "A"].heard, rows["B", "A"].adopted) == (2, 1)
    assert (rows["B", "C"].heard, rows["B", "C"].adopted) == (1, 1)
    assert (rows["A", "B"].heard, rows["A", "B"].adopted) == (2, 0)
    assert rows["B", "A"].traces == (1,)


def test_sequential_judges_have_read_the_earlier_replies_of_their_round() -> None:
    parallel, sequential = (influence_rows([debate(1, "112", "211", sequential=how)]) for how in (False, True))
    heard = [{(row.judge, row.source): row.heard for row in rows} for rows in (parallel, sequential)]
    assert ("B", "A") not in heard[0]  # in the first round A agreed with B
    assert heard[1]["B", "A"] == 1  # in the second, A spoke before B
    assert heard[1]["C", "B"] == heard[0]["C", "B"] == 1  # first opinions are no replies


def test_the_majority_is_compared_with_fewer_rounds_and_without_each_judge() -> None:
    found = [debate(number, "122", "112") for number in range(6)] + [debate(6 + n, "111", "111") for n in range(6)]
    rows = {(row.left_out, row.rounds): row for row in ablation_rows(found, "ABC", 2, resamples=200)}
    assert rows["", 2].accuracy == 1.0 and rows["", 2].gain.difference is None
    assert rows["", 1].accuracy == 0.5 and rows["", 1].gain.difference == -0.5
    low, high = rows["", 1].gain.low, rows["", 1].gain.high
    assert low is not None and low < -0.5 < (high or 0)
    assert rows["C", 2].accuracy == 1.0 and rows["A", 2].decided == 0.5  # B and C differ on six of twelve
    assert not ablation_rows(found[:9], "ABC", 2)


def test_planted_adoptions_and_changes_are_recovered() -> None:
    seeds = [plant_debates(seed) for seed in range(20)]
    assert sum(map(adoption_is_covered, seeds)) >= 18 and sum(map(finds_changes_to_people, seeds)) >= 18
    shares = [next(r.share for r in influence_rows(s) if (r.judge, r.source) == ("B", "A")) for s in seeds]
    assert sum(shares) / 20 == pytest.approx(ADOPTED, abs=0.05)


def panel_with_errors(correlation: float, targets: int, seed: int = 0, judges: int = 5) -> list[Debate]:
    """Return debates of one round in which judges err on 30 %, a share of them on the same targets."""
    rng = np.random.default_rng(seed)
    common = rng.random((targets, 1)) < 0.3
    follows = rng.random((targets, judges)) < correlation**0.5  # two of them follow with the probability rho
    wrong = np.where(follows, common, rng.random((targets, judges)) < 0.3)
    return [
        Debate(n, f"i{n}", (tuple(StatedOpinion(f"j{k}", 0, 1 + int(one)) for k, one in enumerate(row)),), 1)
        for n, row in enumerate(wrong)
    ]


@pytest.mark.parametrize(("correlation", "votes"), [(0.0, 5.0), (0.5, 5 / 3), (1.0, 1.0)])
def test_planted_correlations_of_errors_have_their_effective_votes(correlation: float, votes: float) -> None:
    names = [f"j{number}" for number in range(5)]
    row = votes_row(panel_with_errors(correlation, 4000), names, 1, resamples=200)
    assert row.correlation == pytest.approx(correlation, abs=0.04) and row.votes == pytest.approx(votes, rel=0.1)
    rows = [votes_row(panel_with_errors(correlation, 80, seed), names, 1, resamples=200) for seed in range(40)]
    held = [one.low - 1e-9 <= votes <= one.high + 1e-9 for one in rows if one.low is not None and one.high is not None]
    assert held.count(True) >= 36 if correlation < 1 else not held  # without spread there is no interval


def test_effective_votes_need_errors_and_ten_targets() -> None:
    right = [debate(number, "111") for number in range(12)]
    assert votes_row(right, "ABC", 1).reason == "no two judges err"
    few = votes_row(right[:9], "ABC", 1)
    assert few.votes is None and few.reason.startswith("10 targets")
