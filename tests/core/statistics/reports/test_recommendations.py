"""Recommendations: planted judges are ranked and recommended as they were planted."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.errors import TiebreakError
from core.labels import PREFERENCE, Scale
from core.statistics.data.dataset import Dataset
from core.statistics.data.estimate import Estimate
from core.statistics.reports.decision_rule import Rule, decide
from core.statistics.reports.recommendations import Abstentions, list_names, rank_judges, summarize
from tests.core.statistics.one_dataset import build_dataset

Verdict = int | None
Answer = Callable[[int, np.random.Generator], Verdict]


def noisy(accuracy: float) -> Answer:
    """Return a judge that states the truth with this probability, otherwise the other response."""
    return lambda truth, rng: truth if rng.random() < accuracy else 3 - truth


def abstaining(share: float, answer: Answer) -> Answer:
    return lambda truth, rng: None if rng.random() < share else answer(truth, rng)


PLANTED: dict[str, Answer] = {
    "strong": noisy(0.95),
    "middle": noisy(0.75),
    "silent": abstaining(0.62, noisy(1.0)),
    "constant": lambda truth, rng: 1,
    "random": lambda truth, rng: int(rng.integers(1, 3)),
}


def planted_dataset(
    judges: dict[str, Answer], seed: int, items: int = 300, annotators: int = 3, accuracy: float = 0.92
) -> Dataset:
    rng = np.random.default_rng(seed)
    truths = rng.integers(1, 3, items)
    people = {f"annotator {number}": noisy(accuracy) for number in range(1, annotators + 1)}
    frames = [
        pd.DataFrame(
            [
                {"item": f"i{number}", "kind": "preference", "criterion": "c", "part": "", column: name, "value": value}
                for name, answer in answers.items()
                for number, truth in enumerate(truths)
                for value in [answer(int(truth), rng)]
            ]
        )
        for column, answers in (("rater", people), ("judge", judges))
    ]
    return build_dataset("preference", "c", PREFERENCE, frames[0], frames[1], None)


def test_a_constant_judge_is_not_used_without_review() -> None:
    judges: dict[str, Answer] = {"right": noisy(1.0), "constant": lambda truth, rng: 1}
    dataset = planted_dataset(judges, 0, items=90, accuracy=1.0)
    ones = dataset.subset(dataset.group, dataset.gold == dataset.scale.categories.index(1))
    for judge in rank_judges(ones, resamples=50).judges:
        assert judge.decision == "use with review"
        assert judge.reason.startswith("not more accurate than the most frequent answer: response 1 (1.00)")


def test_a_judge_that_is_always_wrong_is_not_used() -> None:
    judges: dict[str, Answer] = {"wrong": lambda truth, rng: 3 - truth, "silent": lambda truth, rng: None}
    dataset = planted_dataset(judges, 0, items=60, accuracy=1.0)
    ranking = rank_judges(dataset, resamples=50)
    assert {judge.decision for judge in ranking.judges} == {"do not use"}
    assert ranking.judges[0].less_ceiling.high == pytest.approx(-1 + 2 * (1 - 0.05 ** (1 / 60)))


@pytest.mark.parametrize(("items", "decision"), [(58, "use with review"), (59, "use")])
def test_a_judge_that_equals_people_on_every_target_needs_59_of_them(items: int, decision: str) -> None:
    ranking = rank_judges(planted_dataset({"right": noisy(1.0)}, 0, items=items, accuracy=1.0), resamples=50)
    assert ranking.judges[0].decision == decision


@pytest.mark.parametrize("seed", range(5))
def test_planted_judges_are_ranked_and_recommended_as_planted(seed: int) -> None:
    ranking = rank_judges(planted_dataset(PLANTED, seed), resamples=300)
    names = [evaluation.judge for evaluation in ranking.judges]
    assert names[:2] == ["strong", "middle"] and names[-1] == "silent"
    decisions = {evaluation.judge: evaluation.decision for evaluation in ranking.judges}
    assert decisions["strong"] == "use"
    assert all(decisions[name] == "do not use" for name in ("middle", "silent", "constant", "random"))


def test_a_judge_that_abstains_is_not_ranked_above_one_that_answers() -> None:
    judges = {"answers": noisy(0.8), "abstains": PLANTED["silent"]}
    dataset = planted_dataset(judges, 1)
    assert [evaluation.judge for evaluation in rank_judges(dataset).judges] == ["answers", "abstains"]
    excluded = rank_judges(dataset, abstentions="excluded")
    assert [evaluation.judge for evaluation in excluded.judges] == ["abstains", "answers"]
    coverage = excluded.judges[0].coverage
    assert coverage.value is not None and 0.3 < coverage.value < 0.46 and coverage.items == ranking_targets(dataset)
    assert excluded.judges[0].decision == "use with review" and "coverage under 0.95" in excluded.judges[0].reason


def ranking_targets(dataset: Dataset) -> int:
    return int((~np.isnan(dataset.gold)).sum())


@pytest.mark.parametrize("abstentions", ["error", "excluded"])
def test_missing_verdicts_have_the_range_of_the_accuracy_that_they_allow(abstentions: Abstentions) -> None:
    dataset = planted_dataset({"strong": noisy(0.95), "silent": abstaining(0.5, noisy(1.0))}, 0, items=100)
    judges = {one.judge: one for one in rank_judges(dataset, abstentions=abstentions, resamples=20).judges}
    assert judges["strong"].accuracy_range is None
    values, gold = dataset.judges["silent"].values, dataset.gold
    asked = ~np.isnan(gold)
    right, missing = (values == gold)[asked].mean(), np.isnan(values)[asked].mean()
    assert judges["silent"].accuracy_range == pytest.approx((right, right + missing))


def test_an_abstention_can_be_a_tie() -> None:
    dataset = planted_dataset({"silent": abstaining(1.0, noisy(1.0))}, 1)
    (judge,) = rank_judges(dataset, abstentions="tie").judges
    assert judge.accuracy.value == 0.0 and judge.coverage.value == 0.0


def test_all_judges_are_compared_on_the_targets_that_each_was_asked_about() -> None:
    dataset = planted_dataset({"strong": noisy(0.95), "middle": noisy(0.75)}, 2)
    dataset.judges["middle"].asked[:100] = False
    ranking = rank_judges(dataset)
    assert ranking.targets == int((~np.isnan(dataset.gold[100:])).sum())
    assert {evaluation.accuracy.items for evaluation in ranking.judges} == {ranking.targets}


def test_the_baselines_are_the_constant_answers_and_chance() -> None:
    dataset = planted_dataset({"strong": noisy(0.95)}, 3)
    ranking = rank_judges(dataset)
    values = [baseline.accuracy.value or 0 for baseline in ranking.baselines]
    assert ranking.baselines[-1].name == "random choice among 3 answers" and values[-1] == pytest.approx(1 / 3)
    assert values[0] >= values[1] and values[0] + values[1] == pytest.approx(1)
    assert ranking.ceiling.value is not None and 0.8 < ranking.ceiling.value < 0.95


def test_one_annotator_is_not_enough() -> None:
    ranking = rank_judges(planted_dataset({"strong": noisy(0.95)}, 4, annotators=1))
    (judge,) = ranking.judges
    assert judge.decision == "not enough data"
    assert judge.reason == "two annotators with the same targets are needed for the human ceiling"
    assert summarize(ranking) == "Not enough data for strong."


def test_few_targets_are_not_enough() -> None:
    (judge,) = rank_judges(planted_dataset({"strong": noisy(0.95)}, 4, items=20)).judges
    assert judge.decision == "not enough data"
    assert judge.reason == (
        "30 targets that an annotator shares with others are needed for the alternative-annotator test; "
        "there are at most 20"
    )


def test_missing_evidence_is_stated_with_its_own_n() -> None:
    labels = planted_dataset({"strong": noisy(0.95)}, 4, items=40, annotators=4)
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0)]
    codes = np.array([np.where(np.isin(range(4), pairs[n % 4]), row, -1) for n, row in enumerate(labels.ratings.codes)])
    (judge,) = rank_judges(replace(labels, ratings=replace(labels.ratings, codes=codes)), resamples=50).judges
    assert judge.less_ceiling.items == 40 and judge.winning_rate is None
    assert judge.reason.endswith("alternative-annotator test; there are at most 20")
    few, coverage = replace(judge.less_ceiling, items=29), judge.coverage
    assert decide(coverage, few, 1.0, 35, Rule()) == (
        "not enough data",
        "30 targets with a majority of the other annotators are needed for the human ceiling; there are 29",
    )


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 200, 200, 3, 600)


@pytest.mark.parametrize(
    ("coverage", "winning_rate", "interval", "decision"),
    [
        (0.99, 0.7, (0.0, -0.04, 0.04), "use"),
        (0.90, 0.7, (0.0, -0.04, 0.04), "use with review"),
        (0.99, 0.4, (0.0, -0.04, 0.04), "use with review"),
        (0.99, 0.7, (-0.04, -0.10, 0.02), "use with review"),
        (0.99, 0.7, (-0.12, -0.20, -0.05), "do not use"),
        (0.99, 0.7, (-0.05, -0.05, 0.00), "use with review"),
    ],
)
def test_the_rule_at_its_boundaries(
    coverage: float, winning_rate: float, interval: tuple[float, float, float], decision: str
) -> None:
    assert decide(estimate(coverage, 0, 1), estimate(*interval), winning_rate, 200, Rule())[0] == decision


def test_each_figure_of_a_reason_has_its_own_n() -> None:
    """A target with three different labels counts for omega and not for the ceiling, and has no reference."""
    votes = [(1, 1, 1)] * 40 + [(2, 2, 2)] * 40 + [(1, 2, 0)] * 3 + [(1, None, None)] * 2
    rows = [
        {"item": f"i{number}", "kind": "preference", "criterion": "c", "part": "", "rater": rater, "value": value}
        for number, values in enumerate(votes)
        for rater, value in zip("abc", values, strict=True)
        if value is not None
    ]
    labels = pd.DataFrame(rows)
    opinions = labels[labels["rater"] == "a"].rename(columns={"rater": "judge"}).assign(judge="right")
    ranking = rank_judges(build_dataset("preference", "c", PREFERENCE, labels, opinions, None), resamples=50)
    (judge,) = ranking.judges
    assert (ranking.targets, ranking.ceiling.items, judge.winning_targets) == (82, 80, 83)
    assert "coverage 1.00 (n 82), winning rate 1.00 (n 83)" in judge.reason
    assert judge.reason.endswith("from the human ceiling (n 80)")


def test_a_scale_without_categories_is_refused() -> None:
    labels = pd.DataFrame([{"item": "i", "kind": "score", "criterion": "c", "part": "", "rater": "a", "value": 0.5}])
    opinions = labels.rename(columns={"rater": "judge"})
    dataset = build_dataset("score", "c", Scale(level="interval", low=0, high=1), labels, opinions, None)
    with pytest.raises(ValueError, match="without categories"):
        rank_judges(dataset)


def test_a_judge_with_one_answer_is_not_used_although_it_is_as_accurate_as_people() -> None:
    rare, names = [1] * 190 + [2] * 10, [f"i{number}" for number in range(200)]
    labels = pd.DataFrame(
        [
            {"item": name, "kind": "preference", "criterion": "c", "part": "", "rater": rater, "value": value}
            for rater in "abc"
            for name, value in zip(names, rare, strict=True)
        ]
    )
    opinions = labels[labels["rater"] == "a"].rename(columns={"rater": "judge"}).assign(judge="constant", value=1)
    gold = labels[labels["rater"] == "a"].drop(columns="rater")
    (judge,) = rank_judges(build_dataset("preference", "c", PREFERENCE, labels, opinions, gold)).judges
    assert judge.accuracy.value == 0.95
    assert (judge.decision, judge.reason.split(":")[0]) == ("do not use", "always response 1, whatever the target")


def test_a_sentence_lists_few_names_and_fewer_long_ones() -> None:
    assert list_names(["a"]) == "a" and list_names(["a", "b", "c", "d", "e"]) == "a, b, c, d and e"
    assert list_names(list("abcdefg")) == "a, b, c, d and 3 more"
    long = [f"{letter} {'long ' * 8}name" for letter in "abc"]
    assert list_names(long) == f"{long[0]} and 2 more"
    assert list_names(["x" * 90]) == "x" * 90


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.01, 1.01])
@pytest.mark.parametrize("name", ["min_coverage", "min_winning_rate", "margin", "epsilon"])
def test_a_parameter_of_the_rule_outside_its_range_is_refused(name: str, value: float) -> None:
    with pytest.raises(TiebreakError, match=rf"The .+ must be between 0 and [\d.]+, not {value:g}\."):
        Rule(**{name: value})


def test_a_rule_may_have_the_ends_of_the_ranges() -> None:
    assert Rule(0, 0, 0, 0).margin == 0 and Rule(1, 1, 0.5, 0.5).margin == 0.5
