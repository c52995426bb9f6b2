"""Which judges can replace annotators: every judge on the same targets against one reference, with a recommendation.

A judge that abstains on difficult targets is not better than one that answers them. So a target without a verdict
counts as an error by default, and all judges are compared on the targets that every one of them was asked about.
The rule of the recommendation is in `decision_rule`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import numpy as np

from core.statistics import notes
from core.statistics.data.arrays import Bools, Codes
from core.statistics.data.dataset import Dataset, source_mix
from core.statistics.data.estimate import Estimate
from core.statistics.data.judged_patterns import JudgedPatterns, judged_patterns
from core.statistics.data.patterns import Units, category_counts
from core.statistics.data.ratings import Ratings
from core.statistics.measures.alternative_annotator import MIN_ITEMS, run_on_patterns
from core.statistics.measures.ceiling import human_ceiling
from core.statistics.measures.comparison import Comparison, Correction, compare_scores
from core.statistics.measures.intervals import NO_SPREAD, bootstrap
from core.statistics.measures.ranges import Range, possible_range
from core.statistics.measures.shares import selected_groups, share_estimate
from core.statistics.measures.statistic import stack_statistics
from core.statistics.reports.decision_rule import Decision, Rule, decide

Abstentions = Literal["error", "excluded", "tie"]
"""How a missing verdict counts: an error, nothing (the target is left out for that judge), or the verdict 0."""
ABSTENTION_POLICIES: Mapping[Abstentions, str] = {
    "error": "count as errors",
    "excluded": "are left out",
    "tie": "count as ties",
}
"""Policy -> its words, after "targets without a verdict"."""
TIE = 0
MIN_SHARE = 0.8
"""Judges are compared that were asked about this share of the targets of the judge with the most."""
MIN_ANNOTATORS = 2
"""The ceiling leaves one annotator out, so another has to remain."""


@dataclass(frozen=True)
class JudgeEvaluation:
    """One judge on the targets that all judges were asked about."""

    judge: str
    accuracy: Estimate
    """Share of the targets with a reference on which the verdict equals it."""
    accuracy_range: Range | None
    """The lowest and the highest accuracy that the missing verdicts allow; None if none is missing."""
    coverage: Estimate
    """Share of those targets with a verdict."""
    less_ceiling: Estimate
    """Accuracy against the other annotators' majority, minus the annotators' own: negative is below the ceiling."""
    winning_rate: float | None
    """omega; None if the test could not be made."""
    winning_targets: int
    """Targets of omega: those that a tested annotator shares with another, with a verdict."""
    decision: Decision
    reason: str
    """The decision in one sentence, with its numbers."""


@dataclass(frozen=True)
class Baseline:
    """The score of an answer that ignores the target."""

    name: str
    accuracy: Estimate


@dataclass(frozen=True)
class Ranking:
    """Judges by accuracy, the most accurate first, with the baselines."""

    targets: int
    """Targets with a reference common to all judges."""
    annotators: int
    judges: tuple[JudgeEvaluation, ...]
    ceiling: Estimate
    """The annotators' accuracy against the majority of the others."""
    baselines: tuple[Baseline, ...]
    sources: str = ""
    """The number of the targets by source of their reference, such as "52 adjudicated, 8 by people"."""


def rank_judges(
    dataset: Dataset,
    *,
    abstentions: Abstentions = "error",
    rule: Rule | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Ranking:
    """Evaluate every judge of a dataset with categories; raises ValueError if the scale has none."""
    if not dataset.scale.categories:
        raise ValueError("a scale without categories has no verdicts that are right or wrong")
    asked = dataset.subset(dataset.group, asked_targets(dataset))
    common = asked.subset(dataset.group, ~np.isnan(asked.gold))
    if not isinstance(common.ratings, Ratings):
        raise ValueError("the labels have no categories")
    rule = rule or Rule()
    evaluations, patterns = [], None
    for judge in common.judges:
        patterns = patterns_of(asked, verdict_codes(asked, judge, abstentions), patterns)
        evaluations.append(evaluate_judge(common, patterns, judge, abstentions, rule, resamples, seed))
    evaluations.sort(
        key=lambda evaluation: -np.inf if evaluation.accuracy.value is None else evaluation.accuracy.value, reverse=True
    )
    constant = baselines(common)
    return Ranking(
        common.gold.size,
        int((common.ratings.codes >= 0).any(axis=0).sum()),
        tuple(compare_with_baseline(evaluation, constant[:1]) for evaluation in evaluations),
        annotator_ceiling(asked, resamples, seed),
        tuple(constant),
        source_mix(common, ~np.isnan(common.gold)),
    )


def compare_with_baseline(evaluation: JudgeEvaluation, most_frequent: Sequence[Baseline]) -> JudgeEvaluation:
    """Return the evaluation, at most "use with review" if the most frequent answer alone is as accurate."""
    accuracy = evaluation.accuracy.value
    baseline = most_frequent[0].accuracy.value if most_frequent else None
    if accuracy is None or baseline is None or accuracy > baseline or not evaluation.decision.startswith("use"):
        return evaluation
    reason = f"not more accurate than the {most_frequent[0].name} ({baseline:.2f}); {evaluation.reason}"
    return replace(evaluation, decision="use with review", reason=reason)


def comparable_judges(dataset: Dataset, min_share: float = MIN_SHARE) -> tuple[str, ...]:
    """Return the judges that were asked about at least this share of the targets that the widest judge was asked about.

    A judge of few targets would leave only those for the comparison of all.
    """
    referenced = ~np.isnan(dataset.gold)
    counts = {judge: int((opinions.asked & referenced).sum()) for judge, opinions in dataset.judges.items()}
    widest = max(counts.values(), default=0)
    return tuple(judge for judge, count in counts.items() if count and count >= min_share * widest)


def compare_judges(
    dataset: Dataset,
    *,
    abstentions: Abstentions = "error",
    correction: Correction = "holm",
    resamples: int = 1000,
    seed: int = 0,
) -> list[Comparison]:
    """Return the paired difference in accuracy of every two judges, on the targets that all were asked about."""
    common = dataset.subset(dataset.group, common_targets(dataset))
    scores = {}
    for judge in common.judges:
        verdicts = verdict_codes(common, judge, abstentions)
        scores[judge] = np.where(verdicts < 0, np.nan, verdicts == common.gold)
    groups = common.ratings.groups
    return compare_scores(scores, groups=groups, correction=correction, resamples=resamples, seed=seed)


def common_targets(dataset: Dataset) -> Bools:
    """Return the targets with a reference common to all judges, (N,)."""
    return asked_targets(dataset) & ~np.isnan(dataset.gold)


def asked_targets(dataset: Dataset) -> Bools:
    """Return the targets that all judges were asked about, (N,), with or without a reference."""
    mask = np.ones(dataset.gold.size, bool)
    for opinions in dataset.judges.values():
        mask &= opinions.asked
    return mask


def evaluate_judge(
    dataset: Dataset,
    patterns: JudgedPatterns,
    judge: str,
    abstentions: Abstentions,
    rule: Rule,
    resamples: int,
    seed: int,
) -> JudgeEvaluation:
    """Evaluate one judge on every target of the dataset, and compare it with annotators on all that it was asked about,
    which are the patterns.

    Targets without a majority have no reference, and count for the comparison with annotators: without them, two
    annotators of each target would always agree.
    """
    has_verdict: Bools = ~np.isnan(dataset.judges[judge].values)
    coverage = share_estimate(has_verdict, dataset.ratings.groups, reason="no target was judged by every judge")
    accuracy = accuracy_estimate(dataset, verdict_codes(dataset, judge, abstentions))
    less_ceiling = ceiling_difference(patterns, resamples, seed)
    test = run_on_patterns(patterns, epsilon=rule.epsilon)
    omega, targets = test.winning_rate, patterns.count_items(test.used)
    counted = test.most_items if omega is None else targets
    decision, reason = decide(coverage, less_ceiling, omega, counted, rule, only_answer(dataset, judge))
    limits = accuracy_range(dataset, judge)
    return JudgeEvaluation(judge, accuracy, limits, coverage, less_ceiling, omega, targets, decision, reason)


def only_answer(dataset: Dataset, judge: str) -> str:
    """Return the name of the answer that a judge gives to every target, though the reference varies; "" if none."""
    values = dataset.judges[judge].values
    given = np.unique(values[~np.isnan(values)])
    enough = np.count_nonzero(~np.isnan(values)) >= MIN_ITEMS and np.unique(dataset.gold).size > 1
    return describe(dataset.kind, dataset.scale.categories[int(given[0])]) if enough and given.size == 1 else ""


def accuracy_range(dataset: Dataset, judge: str) -> Range | None:
    """Return the accuracy with every missing verdict counted as wrong, and as right; None if none is missing."""
    values = dataset.judges[judge].values
    missing, right, total = int(np.isnan(values).sum()), int((values == dataset.gold).sum()), dataset.gold.size
    return possible_range(lambda value: (right + missing * value) / total) if missing else None


def verdict_codes(dataset: Dataset, judge: str, abstentions: Abstentions) -> Codes:
    """Return the judge's codes (N,); a missing verdict is -1, a tie, or K, a code that no annotator has."""
    missing = {"excluded": -1, "error": len(dataset.scale.categories)}
    if abstentions == "tie" and TIE in dataset.scale.categories:
        missing["tie"] = dataset.scale.categories.index(TIE)
    values = dataset.judges[judge].values
    return np.where(np.isnan(values), missing.get(abstentions, missing["error"]), values).astype(np.int16)


def patterns_of(dataset: Dataset, verdicts: Codes, other: JudgedPatterns | None = None) -> JudgedPatterns:
    """Return the distinct rows of labels, verdict and reference, with "no verdict" as a further category.

    `other` are those of another judge, see `judged_patterns`.
    """
    assert isinstance(dataset.ratings, Ratings)
    ratings = replace(dataset.ratings, categories=(*dataset.ratings.categories, "no verdict"))
    gold = np.where(np.isnan(dataset.gold), -1, dataset.gold).astype(np.int16)
    return judged_patterns(ratings, verdicts, gold, other)


def accuracy_estimate(dataset: Dataset, verdicts: Codes) -> Estimate:
    """Estimate the share of the targets with a verdict, of codes (N,), on which it equals the reference."""
    used = verdicts >= 0
    hit: Bools = verdicts[used] == dataset.gold[used]
    groups = selected_groups(dataset.ratings.groups, used)
    raters = len(dataset.ratings.raters)
    return share_estimate(
        hit, groups, total=verdicts.size, raters=raters, pairs=hit.size, reason="no target has a verdict"
    )


def ceiling_difference(patterns: JudgedPatterns, resamples: int, seed: int) -> Estimate:
    """Estimate the judge's accuracy against the other annotators minus the annotators' own."""
    patterns = patterns.merged
    total = int(patterns.units.frequencies.sum())
    ceiling = human_ceiling(patterns)
    if ceiling is None or ceiling.raters < MIN_ANNOTATORS:
        reason = "two annotators with the same targets are needed for the human ceiling"
        return Estimate(None, None, None, 0, total, 0, 0, 0, reason)
    (result,) = bootstrap(stack_statistics([ceiling.difference]), patterns.units, resamples, seed)
    items = patterns.count_items(ceiling.used)
    low, high = result.low, result.high
    if result.value is not None and result.problem == NO_SPREAD:
        low, high = interval_without_spread(result.value, items, patterns.units)
    reason = result.problem or few_groups_caveat(items, patterns.units)
    return Estimate(result.value, low, high, items, total, ceiling.raters, ceiling.comparisons, result.dropped, reason)


def interval_without_spread(value: float, items: int, units: Units) -> tuple[float, float]:
    """Return the 95 % interval of a mean difference that is the same on every item.

    A share of at most 1 - .05^(1/n) of further items differs from it (exact bound of 0 of n, Clopper & Pearson 1934;
    about 3/n, Hanley & Lippman-Hand 1983), each by at most 1 + |value|. n is the number of clusters if there are any.
    """
    n = items if units.clusters is None else min(items, units.clusters.shape[0])
    margin = (1 + abs(value)) * (1 - 0.05 ** (1 / n)) if n else 2.0
    return max(-1.0, value - margin), min(1.0, value + margin)


def few_groups_caveat(items: int, units: Units) -> str:
    """Return the caveat of an interval over few groups of items; empty without one."""
    groups = items if units.clusters is None else units.clusters.shape[0]
    return notes.few_groups(groups) if groups < min(items, notes.FEW_GROUPS) else ""


def annotator_ceiling(dataset: Dataset, resamples: int, seed: int) -> Estimate:
    """Estimate the annotators' accuracy against the majority of the others, on all targets of the dataset."""
    # A judge with a verdict on every target leaves none out.
    patterns = patterns_of(dataset, np.zeros(dataset.gold.size, np.int16)).merged
    total = int(patterns.units.frequencies.sum())
    ceiling = human_ceiling(patterns)
    if ceiling is None or ceiling.raters < MIN_ANNOTATORS:
        reason = "two annotators with the same targets are needed for the human ceiling"
        return Estimate(None, None, None, 0, total, 0, 0, 0, reason)
    (result,) = bootstrap(stack_statistics([ceiling.annotators]), patterns.units, resamples, seed)
    items = patterns.count_items(ceiling.used)
    return Estimate(
        result.value, result.low, result.high, items, total, ceiling.raters, ceiling.comparisons, result.dropped,
        result.problem or few_groups_caveat(items, patterns.units),
    )  # fmt: skip


def baselines(dataset: Dataset) -> list[Baseline]:
    """Return the accuracy of the most frequent answer, of every constant answer of a preference, and of chance."""
    gold = dataset.gold.astype(int)
    categories = dataset.scale.categories
    counts = category_counts(dataset.gold.astype(np.int16)[:, None], len(categories)).sum(axis=0)
    groups = dataset.ratings.groups

    def constant(code: int) -> Estimate:
        return share_estimate(gold == code, groups)

    if not gold.size:
        return []
    most_frequent = int(np.argmax(counts))
    matches = [
        Baseline(f"most frequent answer: {describe(dataset.kind, categories[most_frequent])}", constant(most_frequent))
    ]
    if dataset.kind == "preference":
        matches += [
            Baseline(f"always {describe(dataset.kind, category)}", constant(code))
            for code, category in enumerate(categories)
            if code != most_frequent and counts[code]
        ]
    chance = Estimate(
        1 / len(categories), None, None, gold.size, gold.size, 0, 0, 0, "by definition, without an interval"
    )
    return [*matches, Baseline(f"random choice among {len(categories)} answers", chance)]


def describe(kind: str, category: object) -> str:
    """Return a category's name for a sentence."""
    if kind == "preference":
        return "neither response" if category == TIE else f"response {category}"
    return str(category).lower() if isinstance(category, bool) else str(category)


def summarize(ranking: Ranking) -> str:
    """Return the recommendations as one line: "Use a. Use b and c with review. Do not use d."."""
    sentences: Mapping[Decision, str] = {
        "use": "Use {}.",
        "use with review": "Use {} with review.",
        "do not use": "Do not use {}.",
        "not enough data": "Not enough data for {}.",
    }
    parts = []
    for decision, sentence in sentences.items():
        names = [evaluation.judge for evaluation in ranking.judges if evaluation.decision == decision]
        if names:
            parts.append(sentence.format(list_names(names)))
    return " ".join(parts)


MAX_LISTED = 80
"""Characters of the names in a list of a sentence."""


def list_names(names: Sequence[str]) -> str:
    """Return "a, b and c"; of more than five names, or of long ones, the first ones and the number of the others."""
    ends = list(accumulate(map(len, names)))
    if len(names) <= 5 and (len(names) == 1 or ends[-1] <= MAX_LISTED):
        shown = list(names)
    else:
        number = max(1, sum(end <= MAX_LISTED for end in ends[:4]))
        shown = [*names[:number], f"{len(names) - number} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
