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
from core.statistics.measures.annotator_dependence import Dependence
from core.statistics.measures.ceiling import human_ceiling
from core.statistics.measures.comparison import Comparison, Correction, compare_scores
from core.statistics.measures.intervals import NO_SPREAD, bootstrap
from core.statistics.measures.ranges import Range, possible_range
from core.statistics.measures.shares import selected_groups, share_estimate
from core.statistics.measures.statistic import stack_statistics
from core.statistics.reports import judge_findings
from core.statistics.reports.decision_rule import Decision, Evidence, Rule, decide, describe_silence, is_only_silent
from core.statistics.reports.judge_biases import BiasRow
from core.statistics.reports.judge_findings import Findings

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
    dependence: tuple[Dependence, ...] = ()
    """Annotators whose labels it repeats, and without whom its figures are, or may repeat."""
    biases: tuple[BiasRow, ...] = ()
    """Biases that were found, of at least the margin of the rule."""
    silence: str = ""
    """The coverage, and the difference from the human ceiling where it answers, of a judge that is below it only by its
    missing verdicts."""


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
    findings: Findings | None = None,
) -> Ranking:
    """Evaluate every judge of a dataset with categories; raises ValueError if the scale has none.

    `findings` are those of `judge_findings.find`, if the caller has them.
    """
    if not dataset.scale.categories:
        raise ValueError("a scale without categories has no verdicts that are right or wrong")
    findings = judge_findings.find(dataset) if findings is None else findings
    left_out = judge_findings.left_out_of_reference(dataset, findings)
    dataset = judge_findings.with_independent_reference(dataset, findings)
    asked = dataset.subset(dataset.group, asked_targets(dataset))
    common = asked.subset(dataset.group, ~np.isnan(asked.gold))
    if not isinstance(common.ratings, Ratings):
        raise ValueError("the labels have no categories")
    constant = baselines(common)
    settings = Settings(abstentions, rule or Rule(), findings, constant[:1], resamples, seed)
    evaluations, patterns = [], None
    for judge in common.judges:
        of_judge = without_repeated(asked, findings, judge)
        patterns = patterns_of(of_judge, verdict_codes(asked, judge, abstentions), patterns)
        evaluations.append(evaluate_judge(common, of_judge, patterns, judge, settings))
    evaluations.sort(
        key=lambda evaluation: -np.inf if evaluation.accuracy.value is None else evaluation.accuracy.value, reverse=True
    )
    return Ranking(
        common.gold.size,
        int((common.ratings.codes >= 0).any(axis=0).sum()),
        tuple(evaluations),
        annotator_ceiling(asked, resamples, seed),
        tuple(constant),
        source_mix(common, ~np.isnan(common.gold)) + judge_findings.describe_left_out(left_out),
    )


@dataclass(frozen=True)
class Settings:
    """What is the same for all judges of a ranking."""

    abstentions: Abstentions
    rule: Rule
    findings: Findings
    most_frequent: Sequence[Baseline]
    """The most frequent answer, if there is one."""
    resamples: int
    seed: int


def without_repeated(dataset: Dataset, findings: Findings, judge: str) -> Dataset:
    """Return the dataset without the labels of the annotators whom a judge repeats."""
    people = findings.repeated(judge)
    assert isinstance(dataset.ratings, Ratings)
    return replace(dataset, ratings=judge_findings.without_annotators(dataset.ratings, people)) if people else dataset


def objections(judge: str, accuracy: Estimate, settings: Settings) -> list[str]:
    """Return what speaks against a judge apart from its difference from annotators, in words."""
    findings, rule = settings.findings, settings.rule
    found = [judge_findings.describe_dependence(one) for one in findings.dependence.get(judge, ())]
    found += [row.sentence.removeprefix(f"{judge} ") for row in findings.biases_of(judge, rule.margin)]
    for baseline in settings.most_frequent:
        value = baseline.accuracy.value
        if accuracy.value is not None and value is not None and accuracy.value <= value:
            found.append(f"not more accurate than the {baseline.name} ({value:.2f})")
    return found


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
    findings: Findings | None = None,
) -> list[Comparison]:
    """Return the paired difference in accuracy of every two judges, on the targets that all were asked about.

    The reference is that of `rank_judges`, with the same `findings`.
    """
    findings = judge_findings.find_repeated(dataset) if findings is None else findings
    dataset = judge_findings.with_independent_reference(dataset, findings)
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
    dataset: Dataset, asked: Dataset, patterns: JudgedPatterns, judge: str, settings: Settings
) -> JudgeEvaluation:
    """Evaluate one judge on every target of the dataset, and compare it with annotators on all that it was asked about,
    which are the patterns; neither has labels of an annotator whom the judge repeats.

    Targets without a majority have no reference, and count for the comparison with annotators: without them, two
    annotators of each target would always agree.
    """
    rule, findings = settings.rule, settings.findings
    has_verdict: Bools = ~np.isnan(dataset.judges[judge].values)
    coverage = share_estimate(has_verdict, dataset.ratings.groups, reason="no target was judged by every judge")
    accuracy = accuracy_estimate(dataset, verdict_codes(dataset, judge, settings.abstentions))
    limits, no_reference = accuracy_range(dataset, judge), ""
    if not judge_findings.is_reference_independent(dataset, findings, judge):
        no_reference, limits = judge_findings.NO_REFERENCE, None
        accuracy = Estimate(None, None, None, 0, accuracy.items_total, 0, 0, 0, no_reference)
    test = run_on_patterns(patterns, epsilon=rule.epsilon)
    omega, targets = test.winning_rate, patterns.count_items(test.used)
    evidence = Evidence(
        coverage,
        ceiling_difference(patterns, settings.resamples, settings.seed),
        omega,
        test.most_items if omega is None else targets,
        accuracy.items,
        no_reference,
        only_answer(dataset, judge),
        answered_difference(asked, judge, coverage, settings),
        objections(judge, accuracy, settings),
    )
    decision, reason = decide(evidence, rule)
    is_silent = decision is Decision.do_not_use and is_only_silent(evidence.answered, rule)
    return JudgeEvaluation(
        judge, accuracy, limits, coverage, evidence.less_ceiling, omega, targets, decision, reason,
        tuple(findings.dependence.get(judge, ())), findings.biases_of(judge, rule.margin),
        describe_silence(evidence) if is_silent else "",
    )  # fmt: skip


def answered_difference(asked: Dataset, judge: str, coverage: Estimate, settings: Settings) -> Estimate | None:
    """Return the judge's difference from the human ceiling where it has a verdict; None if that is not another one."""
    if settings.abstentions == "excluded" or (coverage.value or 0) >= settings.rule.min_coverage:
        return None
    return ceiling_difference(
        patterns_of(asked, verdict_codes(asked, judge, "excluded")), settings.resamples, settings.seed
    )


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
    """Return the recommendations as one line: "Use a. Use b and c with review. Do not use d.", then what was found."""
    sentences: Mapping[Decision, str] = {
        Decision.use: "Use {}.",
        Decision.use_with_review: "Use {} with review.",
        Decision.do_not_use: "Do not use {}.",
        Decision.not_enough_data: "Not enough data for {}.",
    }
    parts = []
    for decision, sentence in sentences.items():
        names = [evaluation.judge for evaluation in ranking.judges if evaluation.decision is decision]
        if names:
            parts.append(sentence.format(list_names(names)))
    return " ".join([*parts, *(remark for evaluation in ranking.judges for remark in remarks(evaluation))])


def remarks(evaluation: JudgeEvaluation) -> list[str]:
    """Return sentences about the annotators whom a judge repeats, its biases and its missing verdicts."""
    name, is_usable = evaluation.judge, evaluation.decision is not Decision.do_not_use
    found = [f"{name}: {judge_findings.describe_dependence(one)}." for one in evaluation.dependence]
    found += [f"{row.sentence}." for row in evaluation.biases if is_usable]
    return found + ([f"{name} {evaluation.silence}."] if evaluation.silence else [])


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
