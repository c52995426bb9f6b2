"""Recommendations: planted judges are ranked and recommended as they were planted."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.errors import TiebreakError
from core.labels import PREFERENCE, Scale
from core.statistics.data.arrays import Estimate
from core.statistics.data.dataset import ADJUDICATED, BY_PEOPLE, Dataset
from core.statistics.measures.annotator_dependence import State
from core.statistics.reports.judge_findings import NO_REFERENCE, find
from core.statistics.reports.judges import Abstentions, Concerns, JudgeEvaluation, Rule, decide, rank_judges, summarize
from tests.bench.studies import dataset_of
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
    drawn = [
        {name: np.array([answer(int(truth), rng) for truth in truths], object) for name, answer in answers.items()}
        for answers in (people, judges)
    ]
    return dataset_of(*drawn)


def test_a_constant_judge_is_not_used_without_review() -> None:
    judges: dict[str, Answer] = {"right": noisy(1.0), "constant": lambda truth, rng: 1}
    dataset = planted_dataset(judges, 0, items=150, accuracy=1.0)
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


@pytest.mark.parametrize(("items", "decision"), [(58, "not enough data"), (59, "use")])
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
    ranking = rank_judges(planted_dataset({"strong": noisy(0.95), "middle": noisy(0.75)}, 4, annotators=1))
    assert [one.judge for one in ranking.judges] == ["middle", "strong"]  # by name: no order is claimed
    judge = ranking.judges[0]
    assert judge.decision == "not enough data"
    assert judge.reason == "two annotators with the same targets are needed for the human ceiling"
    assert summarize(ranking).startswith("Not enough data to recommend a judge:")
    assert "Judges are not ranked." in summarize(ranking) and not judge.is_ranked


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
    given = replace(labels.ratings, labels=np.where(codes < 0, np.nan, codes))
    (judge,) = rank_judges(replace(labels, ratings=given), resamples=50).judges
    assert judge.less_ceiling.items == 40 and judge.winning_rate is None
    assert judge.reason.endswith("alternative-annotator test; there are at most 20")
    few = replace(judge, less_ceiling=replace(judge.less_ceiling, items=29), winning_rate=1.0)
    assert decide(few, Concerns(), Rule()) == (
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
        (0.99, 0.7, (-0.04, -0.10, 0.02), "not enough data"),
        (0.90, 0.4, (-0.04, -0.10, 0.02), "not enough data"),
        (0.99, 0.7, (-0.12, -0.20, -0.05), "do not use"),
        (0.99, 0.7, (-0.05, -0.05, 0.00), "not enough data"),
    ],
)
def test_the_rule_at_its_boundaries(
    coverage: float, winning_rate: float, interval: tuple[float, float, float], decision: str
) -> None:
    judge = JudgeEvaluation(
        "j", estimate(1, 1, 1), None, estimate(coverage, 0, 1), estimate(*interval), winning_rate, 200
    )
    assert decide(judge, Concerns(), Rule())[0] == decision


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


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.01, 1.01])
@pytest.mark.parametrize("name", ["min_coverage", "min_winning_rate", "margin", "epsilon"])
def test_a_parameter_of_the_rule_outside_its_range_is_refused(name: str, value: float) -> None:
    with pytest.raises(TiebreakError, match=rf"The .+ must be between 0 and [\d.]+, not {value:g}\."):
        Rule(**{name: value})


NOISE = (0.06, 0.12, 0.22)


def test_a_rule_may_have_the_ends_of_the_ranges() -> None:
    assert Rule(0, 0, 0, 0).margin == 0 and Rule(1, 1, 0.5, 0.5).margin == 0.5


def mixed_study(seed: int, items: int = 260) -> Dataset:
    """Return three annotators, copies of the noisiest and of the best, and judges of other kinds."""
    rng = np.random.default_rng(seed)
    truth, first = rng.integers(1, 3, items), rng.integers(1, 3, items)

    def noise(values: np.ndarray, share: float) -> np.ndarray:
        return np.where(rng.random(items) < share, 3 - values, values)

    people = {f"annotator {number}": noise(truth, share) for number, share in enumerate(NOISE, start=1)}
    judges: dict[str, np.ndarray] = {
        "excellent": noise(truth, 0.02),
        "weak": noise(truth, 0.3),
        "copy of the noisiest": noise(people["annotator 3"], 0.03),
        "coin": rng.integers(1, 3, items),
        "silent": np.where(rng.random(items) < 0.4, np.nan, noise(truth, 0.03)),
        "first": np.where(rng.random(items) < 0.3, first, noise(truth, 0.02)),
    }
    return dataset_of(people, judges, shown_first=first)


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_of_an_annotator_is_not_certified_as_better_than_people(seed: int) -> None:
    ranking = rank_judges(mixed_study(seed), resamples=200)
    judges = {one.judge: one for one in ranking.judges}
    copy = judges["copy of the noisiest"]
    assert [(one.annotator, one.state) for one in copy.dependence] == [("annotator 3", State.repeats)]
    assert copy.decision in ("do not use", "not enough data") and (copy.less_ceiling.value or 0) < -0.05
    assert copy.less_ceiling.raters == 2
    assert not any(one.dependence for one in ranking.judges if one is not copy)
    assert ranking.sources.endswith(", without the labels of annotator 3, which a judge repeats")
    summary = summarize(ranking)
    assert "copy of the noisiest: repeats the labels of annotator 3 (with annotator 3 on " in summary
    assert ranking.judges[0].judge == "excellent"
    assert [one.judge for one in ranking.judges if one.decision == "use"] in (["excellent"], [])


def test_the_reference_of_a_single_annotator_tells_nothing_about_the_judge_that_repeats_it() -> None:
    dataset = mixed_study(0)
    own = dataset.labels[:, 2]
    dataset = replace(dataset, gold=own, adjudicated=True, sources=np.full(own.size, BY_PEOPLE, object))
    ranking = rank_judges(dataset, findings=find(dataset, "annotator 3"), resamples=50)
    copy = next(one for one in ranking.judges if one.judge == "copy of the noisiest")
    assert copy.accuracy.value is None
    assert copy.decision == "not enough data" and copy.reason.startswith(NO_REFERENCE)


def test_a_bias_that_was_found_is_stated_and_excludes_use_without_review() -> None:
    dataset = mixed_study(0, items=1500)
    judge = dataset.judges["excellent"]
    follows = np.random.default_rng(0).random(1500) < 0.14
    values = np.where(follows, judge.sides["shown_first"] - 1, judge.values)  # response 1 has code 0
    ranking = rank_judges(
        replace(dataset, judges={"biased": replace(judge, values=values), "fair": judge}), resamples=200
    )
    decisions = {one.judge: one for one in ranking.judges}
    assert decisions["fair"].decision == "use" and not decisions["fair"].biases
    assert decisions["biased"].decision == "use with review"
    assert decisions["biased"].reason.startswith("prefers the response shown first: +0.0")
    assert "biased prefers the response shown first: +0.0" in summarize(ranking)


def test_a_judge_that_is_at_the_ceiling_where_it_answers_is_not_called_below_it() -> None:
    judges = {"silent": abstaining(0.4, noisy(0.98)), "wrong": abstaining(0.4, noisy(0.6))}
    ranking = rank_judges(planted_dataset(judges, 3), resamples=200)
    silent, wrong = ({one.judge: one for one in ranking.judges}[name] for name in ("silent", "wrong"))
    assert silent.decision == wrong.decision == "do not use"
    assert silent.reason.startswith("answers 6") and "from the human ceiling where it answers (n 1" in silent.reason
    assert f"silent {silent.silence}." in summarize(ranking)
    assert wrong.reason.startswith("more than 0.05 below the human ceiling") and not wrong.silence


@pytest.mark.parametrize("items", [3, 10, 35, 50])
def test_a_coin_is_never_recommended_from_few_targets(items: int) -> None:
    coins: dict[str, Answer] = {"coin": PLANTED["random"], "constant": PLANTED["constant"]}
    for seed in range(15):
        for judge in rank_judges(planted_dataset(coins, seed, items=items), resamples=100).judges:
            assert judge.decision in ("not enough data", "do not use")


def test_three_targets_with_a_reference_are_not_enough() -> None:
    dataset = planted_dataset({"constant": PLANTED["constant"]}, 0, items=60)
    gold = np.where(np.arange(60) < 3, dataset.gold, np.nan)
    few = replace(dataset, gold=gold, adjudicated=True, sources=np.full(60, ADJUDICATED, object))
    (judge,) = rank_judges(few, resamples=50).judges
    assert judge.decision in ("not enough data", "do not use")
    right = replace(few, judges={"right": replace(few.judges["constant"], values=dataset.gold)})
    (judge,) = rank_judges(right, resamples=50).judges
    assert judge.decision == "not enough data"
    assert judge.reason.startswith("30 targets with a value of the reference are needed; there are 3")


@pytest.mark.parametrize("seed", range(3))
def test_a_judge_that_is_refused_is_not_recommended_on_a_part_of_the_same_targets(seed: int) -> None:
    whole, refused = mixed_study(seed), set[str]()
    for items in (260, 130, 65, 35):
        judges = rank_judges(whole.subset(whole.group, np.arange(260) < items), resamples=100).judges
        recommended = {one.judge for one in judges if one.decision in ("use", "use with review")}
        assert not recommended & refused and recommended <= {"excellent"}
        refused |= {one.judge for one in judges} - recommended


def test_what_few_targets_do_not_exclude_is_stated() -> None:
    (right,) = rank_judges(planted_dataset({"right": noisy(1.0)}, 0, items=40, accuracy=0.98), resamples=50).judges
    assert right.decision == "not enough data"
    assert "not enough targets to tell whether it repeats the labels of annotator" in right.reason
    reasons = [one.reason for seed in range(3) for one in rank_judges(mixed_study(seed, 50), resamples=50).judges]
    assert any("not enough targets to tell whether it has a bias of 0.1 or more (position)" in one for one in reasons)


@pytest.mark.parametrize("difference", [0.1, 0.0, -0.03, -0.07, -0.3])
@pytest.mark.parametrize("objections", [(), ("a bias",)])
@pytest.mark.parametrize("doubts", [(), ("a copy",)])
def test_a_recommendation_is_never_more_lenient_with_a_wider_interval(
    difference: float, objections: tuple[str, ...], doubts: tuple[str, ...]
) -> None:
    rank = {"use": 2, "use with review": 1, "not enough data": 0, "do not use": 0}
    leniencies = []
    for width in np.linspace(0, 0.6, 61).tolist():
        d = estimate(difference, difference - width, difference + width)
        judge = JudgeEvaluation("j", estimate(1, 1, 1), None, estimate(1, 1, 1), d, 1.0, 200)
        leniencies.append(rank[decide(judge, Concerns(objections=objections, doubts=doubts), Rule())[0]])
    assert leniencies == sorted(leniencies, reverse=True) and not (doubts and any(leniencies))
