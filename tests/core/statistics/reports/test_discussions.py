"""Opinion changes, adopted opinions and ablations of discussions, on debates counted by hand and planted ones."""

import pytest

from core.statistics.reports.discussions import (
    Debate,
    StatedOpinion,
    ablation_rows,
    change_rows,
    influence_rows,
    report_panel,
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
    assert rows["", 2].accuracy == 1.0 and rows["", 2].difference is None
    assert rows["", 1].accuracy == 0.5 and rows["", 1].difference == -0.5
    assert rows["", 1].low is not None and rows["", 1].low < -0.5 < (rows["", 1].high or 0)
    assert rows["C", 2].accuracy == 1.0 and rows["A", 2].decided == 0.5  # B and C differ on six of twelve
    assert not ablation_rows(found[:9], "ABC", 2)


def test_a_report_states_what_the_discussion_changes() -> None:
    found = [debate(number, "122", "112") for number in range(6)] + [debate(6 + n, "111", "111") for n in range(6)]
    sentence = report_panel("c", found, resamples=200).sentence
    assert sentence.startswith("6 of 36 opinions changed; 6 to the reference's value, 0 from it.")
    assert "B adopts the opinion of A most often: 6 of 6" in sentence
    assert "right on 1.00 of 12 targets, before the discussion on 0.50: a difference of +0.50 [" in sentence


def test_planted_adoptions_and_changes_are_recovered() -> None:
    seeds = [plant_debates(seed) for seed in range(20)]
    assert sum(map(adoption_is_covered, seeds)) >= 18 and sum(map(finds_changes_to_people, seeds)) >= 18
    shares = [next(r.share for r in influence_rows(s) if (r.judge, r.source) == ("B", "A")) for s in seeds]
    assert sum(shares) / 20 == pytest.approx(ADOPTED, abs=0.05)
