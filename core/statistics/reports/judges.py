"""Which judges can replace annotators: every judge on the same targets against one reference, with a recommendation.

A judge that abstains on difficult targets is not better than one that answers them. So a target without a verdict
counts as an error by default, and all judges are compared on the targets that every one of them was asked about.
The rule of the recommendation is in `decision_rule`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import combinations
from typing import Literal

import numpy as np

from core import wording
from core.errors import TiebreakError
from core.statistics import notes
from core.statistics.data.arrays import Bools, Codes, Estimate, Floats, mean_of_defined
from core.statistics.data.dataset import Dataset, source_mix
from core.statistics.data.patterns import JudgedPatterns, Units, distinct_scores, judged_patterns
from core.statistics.data.sample import Sample
from core.statistics.measures import continuous
from core.statistics.measures.alternative_annotator import EPSILON, MIN_ITEMS, human_ceiling, run_on_patterns
from core.statistics.measures.annotator_dependence import Dependence, State
from core.statistics.measures.comparison import (
    Comparison,
    bootstrap_p_value,
    compare_scores,
    correct_comparisons,
    paired_comparison,
    williams_test,
)
from core.statistics.measures.means import Range, possible_range, selected_groups, share_estimate
from core.statistics.measures.resampling import NoInterval, bootstrap, difference, stack_statistics
from core.statistics.reports import judge_findings
from core.statistics.reports.judge_findings import Findings
from core.wording import format_count, format_estimate, format_percent

# The rule by which a judge is recommended or not.
#
# d is the judge's accuracy minus the human ceiling, with its interval. Whatever would speak against a judge has to be
# excluded by the data: fewer of them exclude less, so they never make a recommendation more lenient. In this order:
#
# - not enough data: there are not two annotators, 30 targets that they share, or 30 targets with a reference
# - do not use: the upper end of d is at most -margin; it gives one answer to every target; or a bias of at least twice
#   the margin was found
# - not enough data: -margin is within the interval of d; a bias of at least twice the margin is not excluded; the judge
#   repeats the labels of an annotator, so nothing is known about it on targets without them; or that is not excluded
# - use with review: the coverage or the winning rate of the alternative-annotator test is too low, it is not more
#   accurate than the most frequent answer alone, or a bias of at least the margin was found
# - use: otherwise


class Decision(StrEnum):
    """The recommendation of a judge."""

    use = "use"
    use_with_review = "use with review"
    do_not_use = "do not use"
    not_enough_data = "not enough data"


# Parameter of the rule -> its largest value; the smallest one is 0.
LARGEST = {"min_coverage": 1.0, "min_winning_rate": 1.0, "margin": 0.5, "epsilon": 0.5}
# No bias below this effect excludes a judge, however small the margin is.
SMALLEST_LARGE_BIAS = 0.1


@dataclass(frozen=True)
class Rule:
    """The parameters of the recommendation; raises TiebreakError for one that is not between 0 and `LARGEST`."""

    min_coverage: float = 0.95
    min_winning_rate: float = 0.5
    """Of the alternative-annotator test: omega."""
    margin: float = 0.05
    """Margin: the accepted difference below the human ceiling."""
    epsilon: float = EPSILON
    """Epsilon: the advantage that the alternative-annotator test concedes to a judge for its lower cost."""

    @property
    def large_bias(self) -> float:
        """The effect of a bias that excludes a judge: a share of its verdicts."""
        return max(2 * self.margin, SMALLEST_LARGE_BIAS)

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value, largest = getattr(self, name), LARGEST[name]
            if not 0 <= value <= largest:  # nan is not either
                words = name.replace("min_", "minimum ").replace("_", " ")
                raise TiebreakError(f"The {words} must be between 0 and {largest:g}, not {value:g}.")


def describe_rule(rule: Rule) -> str:
    """Return the parameters of the rule as one sentence."""
    return (
        f"Use: coverage at least {rule.min_coverage:g}, winning rate ω at least {rule.min_winning_rate:g} "
        f"(ε = {rule.epsilon:g}), lower end of the difference from the human ceiling above "
        f"{-rule.margin:g}, more accurate than the most frequent answer, no bias of {rule.margin:g} or more found, "
        f"and excluded that it has one of {rule.large_bias:g} or repeats the labels of one annotator. "
        "Judges with not enough data are not ranked."
    )


@dataclass(frozen=True)
class Concerns:
    """What speaks against a judge apart from its coverage, its winning rate and its difference from annotators."""

    only_answer: str = ""
    """The answer of a judge that gives no other one."""
    objections: Sequence[str] = ()
    """What speaks against use without review, in words."""
    refusals: Sequence[str] = ()
    """What speaks against any use."""
    doubts: Sequence[str] = ()
    """What is not excluded and would speak against any use."""


def decide(judge: "JudgeEvaluation", concerns: Concerns, rule: Rule) -> tuple[Decision, str]:
    """Return the recommendation and its reason, by the rule in the module's description."""
    coverage, d, winning_rate = judge.coverage, judge.less_ceiling, judge.winning_rate
    low, high = d.low, d.high
    also = "".join(f"; {one}" for one in (*concerns.refusals, *concerns.objections))
    enough = min(d.items, judge.accuracy.items) >= MIN_ITEMS
    if not enough or low is None or high is None or winning_rate is None:
        return Decision.not_enough_data, why_undecided(judge) + also
    facts = (
        f"coverage {coverage.value or 0:.2f} (n {coverage.items:,}), winning rate {winning_rate:.2f} "
        f"(n {judge.winning_targets:,}), {format_estimate(d.value, low, high, sign=True)} from the human ceiling "
        f"(n {d.items:,})"
    )
    if high <= -rule.margin:
        below = f"more than {rule.margin:g} below"
        with_missing = f"{judge.silence}; with its missing verdicts it is {below}"
        why = with_missing if judge.silence else f"{below} the human ceiling"
        return Decision.do_not_use, f"{why}: {facts}{also}"
    if concerns.only_answer:
        return Decision.do_not_use, f"always {concerns.only_answer}, whatever the target: {facts}{also}"
    if concerns.refusals:
        return Decision.do_not_use, f"{also.removeprefix('; ')}: {facts}"
    few = f"not enough targets to tell whether it is more than {rule.margin:g} below the human ceiling"
    if doubts := [few] * (low <= -rule.margin) + [*concerns.doubts]:
        return Decision.not_enough_data, f"{'; '.join(doubts)}: {facts}{also}"
    failed = list(concerns.objections)
    if (coverage.value or 0) < rule.min_coverage:
        failed.append(f"coverage under {rule.min_coverage:g}")
    if winning_rate < rule.min_winning_rate:
        failed.append(f"winning rate under {rule.min_winning_rate:g}")
    return (Decision.use_with_review, f"{'; '.join(failed)}: {facts}") if failed else (Decision.use, facts)


def describe_silence(coverage: Estimate, answered: Estimate | None, rule: Rule) -> str:
    """Return the coverage of a judge, and its difference from the human ceiling where it has a verdict.

    Empty if it is shown to be below the human ceiling there too. `answered` is `less_ceiling` of the targets with a
    verdict, if missing verdicts count in it and are many.
    """
    if answered is None or answered.high is None or answered.high <= -rule.margin:
        return ""
    difference = format_estimate(answered.value, answered.low, answered.high, sign=True)
    return (
        f"answers {format_percent(coverage.value or 0)} of the targets, {difference} from the human ceiling "
        f"where it answers (n {answered.items:,})"
    )


def why_undecided(judge: "JudgeEvaluation") -> str:
    """Return one sentence about the missing evidence of the recommendation."""
    less_ceiling, referenced = judge.less_ceiling, judge.accuracy.items
    if judge.accuracy.reason == judge_findings.NO_REFERENCE:
        return judge.accuracy.reason
    if less_ceiling.value is None:
        return less_ceiling.reason
    if judge.winning_rate is None:
        return (
            f"{MIN_ITEMS} targets that an annotator shares with others are needed for the alternative-annotator test; "
            f"there are at most {judge.winning_targets}"
        )
    if less_ceiling.items < MIN_ITEMS:
        return (
            f"{MIN_ITEMS} targets with a majority of the other annotators are needed for the human ceiling; "
            f"there are {less_ceiling.items}"
        )
    if referenced < MIN_ITEMS:
        return f"{MIN_ITEMS} targets with a value of the reference are needed; there are {referenced}"
    return less_ceiling.reason


# How a missing verdict counts: an error, nothing (the target is left out for that judge), or the verdict 0.
Abstentions = Literal["error", "excluded", "tie"]
# Policy -> its words, after "targets without a verdict".
ABSTENTION_POLICIES: Mapping[Abstentions, str] = {
    "error": "count as errors",
    "excluded": "are left out",
    "tie": "count as ties",
}
TIE = 0
# Judges are compared that were asked about this share of the targets of the judge with the most.
MIN_SHARE = 0.8
FEW_OF_STRATUM = f"a stratum of the design has fewer than {MIN_ITEMS} labels, which can hide every error in it"
# The ceiling leaves one annotator out, so another has to remain.
MIN_ANNOTATORS = 2


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
    """Targets of omega: those that a tested annotator shares with another, with a verdict; without omega the largest
    number that an annotator shares with others."""
    decision: Decision = Decision.not_enough_data
    reason: str = ""
    """The decision in one sentence, with its numbers."""
    dependence: tuple[Dependence, ...] = ()
    """Annotators whose labels it repeats, and without whom its figures are, or who is not excluded."""
    biases: tuple[judge_findings.BiasRow, ...] = ()
    """Biases that were found."""
    silence: str = ""
    """The coverage, and the difference from the human ceiling where it answers, of a judge that is below it only by its
    missing verdicts."""

    @property
    def is_ranked(self) -> bool:
        """Whether its place among the judges means something: not if the data are too few to tell what it is."""
        return self.decision is not Decision.not_enough_data


@dataclass(frozen=True)
class Baseline:
    """The score of an answer that ignores the target."""

    name: str
    accuracy: Estimate


@dataclass(frozen=True)
class Ranking:
    """Judges that can be used by accuracy, those not ranked by name, those not to use by accuracy, and baselines."""

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
    findings: Findings | None = None,
) -> Ranking:
    """Evaluate every judge of a dataset with categories; raises ValueError if the scale has none.

    `findings` are those of `judge_findings.find`, if the caller has them.
    """
    if not dataset.scale.categories:
        raise ValueError("a scale without categories has no verdicts that are right or wrong")
    findings = judge_findings.find(dataset) if findings is None else findings
    left_out = judge_findings.left_out_of_reference(dataset, findings)
    repeated = f", without the labels of {wording.list_names(left_out)}, which a judge repeats" if left_out else ""
    dataset = judge_findings.with_independent_reference(dataset, findings)
    asked = dataset.subset(dataset.group, asked_targets(dataset))
    common = asked.subset(dataset.group, ~np.isnan(asked.gold))
    constant = baselines(common)
    few = asked.sample is not None and asked.sample.has_few_labels(MIN_ITEMS)
    settings = Settings(abstentions, rule or Rule(), findings, constant[:1], resamples, few)
    evaluations = []
    for judge in common.judges:
        own_ratings = judge_findings.without_annotators(asked.ratings, findings.repeated(judge))
        of_judge = replace(asked, ratings=own_ratings)
        patterns = patterns_of(of_judge, verdict_codes(asked, judge, abstentions))
        evaluations.append(evaluate_judge(common, of_judge, patterns, judge, settings))
    evaluations.sort(key=_place)
    return Ranking(
        common.gold.size,
        int((common.ratings.codes >= 0).any(axis=0).sum()),
        tuple(evaluations),
        # A judge with a verdict on every target leaves none out.
        ceiling_difference(patterns_of(asked, np.zeros(asked.gold.size, np.int16)), resamples, "annotators"),
        tuple(constant),
        source_mix(common, ~np.isnan(common.gold)) + repeated,
    )


def _place(evaluation: JudgeEvaluation) -> tuple[int, float, str]:
    """Return the sort key of a judge: usable ones first, then those that are not ranked, by name, as in no order."""
    if not evaluation.is_ranked:
        return 1, 0.0, evaluation.judge
    group = 2 if evaluation.decision is Decision.do_not_use else 0
    value = evaluation.accuracy.value
    return group, np.inf if value is None else -value, evaluation.judge


@dataclass(frozen=True)
class Settings:
    """What is the same for all judges of a ranking."""

    abstentions: Abstentions
    rule: Rule
    findings: Findings
    most_frequent: Sequence[Baseline]
    """The most frequent answer, if there is one."""
    resamples: int
    few_of_stratum: bool = False
    """Whether a design has a stratum of which only few of several targets are labelled: it can hide every error."""


def find_concerns(judge: JudgeEvaluation, settings: Settings, only_answer: str) -> Concerns:
    """Return what speaks against a judge, in words; `only_answer` is that of `Concerns`."""
    rule = settings.rule
    doubts = [judge_findings.describe_dependence(one) for one in judge.dependence]
    refusals: list[str] = []
    found: list[str] = []
    for row in judge.biases:
        effect = abs(row.effect.value or 0)
        if effect >= rule.margin:
            is_large = min(effect, row.limit) >= rule.large_bias
            (refusals if is_large else found).append(row.sentence.removeprefix(f"{judge.judge} "))
    if settings.few_of_stratum:
        doubts.append(FEW_OF_STRATUM)
    if names := wording.list_names(settings.findings.possible_biases(judge.judge, rule.large_bias)):
        doubts.append(f"not enough targets to tell whether it has a bias of {rule.large_bias:g} or more ({names})")
    for baseline in settings.most_frequent:
        value, own = baseline.accuracy.value, judge.accuracy.value
        if own is not None and value is not None and own <= value:
            found.append(f"not more accurate than the {baseline.name} ({value:.2f})")
    return Concerns(only_answer, found, refusals, doubts)


def comparable_judges(dataset: Dataset) -> tuple[str, ...]:
    """Return the judges with a verdict that were asked about `MIN_SHARE` of the targets of the judge with the most.

    A judge of few targets would leave only those for the comparison of all; one without any verdict, such as that of an
    outage, has judged nothing, which is no accuracy of 0.
    """
    referenced = ~np.isnan(dataset.gold)
    judges = {judge: own for judge, own in dataset.judges.items() if has_verdict(dataset, judge)}
    counts = {judge: int((opinions.asked & referenced).sum()) for judge, opinions in judges.items()}
    widest = max(counts.values(), default=0)
    return tuple(judge for judge, count in counts.items() if count >= MIN_SHARE * widest)


def has_verdict(dataset: Dataset, judge: str) -> bool:
    """Return whether a judge has a readable verdict on a target with a reference."""
    return bool((~np.isnan(dataset.judges[judge].values) & ~np.isnan(dataset.gold)).any())


def compare_judges(
    dataset: Dataset, *, abstentions: Abstentions = "error", resamples: int = 1000, findings: Findings | None = None
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
    return compare_scores(scores, groups=groups, resamples=resamples, sample=common.sample)


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
    coverage = share_estimate(
        has_verdict, dataset.ratings.groups, reason="no target was judged by every judge", sample=dataset.sample
    )
    accuracy = accuracy_estimate(dataset, verdict_codes(dataset, judge, settings.abstentions))
    limits = accuracy_range(dataset, judge)
    if not judge_findings.is_reference_independent(dataset, findings, judge):
        limits = None
        accuracy = Estimate(None, None, None, 0, accuracy.items_total, 0, 0, 0, judge_findings.NO_REFERENCE)
    answered = None
    if settings.abstentions != "excluded" and (coverage.value or 0) < rule.min_coverage:
        decided = patterns_of(asked, verdict_codes(asked, judge, "excluded"))
        answered = ceiling_difference(decided, settings.resamples)
    test = run_on_patterns(patterns, epsilon=rule.epsilon)
    omega = test.winning_rate
    evaluation = JudgeEvaluation(
        judge, accuracy, limits, coverage, ceiling_difference(patterns, settings.resamples), omega,
        test.most_items if omega is None else patterns.count_items(test.used),
        dependence=tuple(findings.dependence.get(judge, ())), biases=findings.biases_of(judge),
        silence=describe_silence(coverage, answered, rule),
    )  # fmt: skip
    concerns = find_concerns(evaluation, settings, only_answer(dataset, judge))
    decision, reason = decide(evaluation, concerns, rule)
    silence = evaluation.silence if decision is Decision.do_not_use else ""
    return replace(evaluation, decision=decision, reason=reason, silence=silence)


def only_answer(dataset: Dataset, judge: str) -> str:
    """Return the name of the answer that a judge gives to every target, though the reference varies; "" if none."""
    values = dataset.judges[judge].values
    given = np.unique(values[~np.isnan(values)])
    enough = np.count_nonzero(~np.isnan(values)) >= MIN_ITEMS and np.unique(dataset.gold).size > 1
    return describe(dataset.kind, dataset.scale.categories[int(given[0])]) if enough and given.size == 1 else ""


def accuracy_range(dataset: Dataset, judge: str) -> Range | None:
    """Return the accuracy with every missing verdict counted as wrong, and as right; None if none is missing."""
    values = dataset.judges[judge].values
    weights = np.ones(values.size) if dataset.sample is None else dataset.sample.weights
    missing, right, total = (float(weights[mask].sum()) for mask in (np.isnan(values), values == dataset.gold, ...))
    return possible_range(lambda value: (right + missing * value) / total) if missing else None


def verdict_codes(dataset: Dataset, judge: str, abstentions: Abstentions) -> Codes:
    """Return the judge's codes (N,); a missing verdict is -1, a tie, or K, a code that no annotator has."""
    missing = {"excluded": -1, "error": len(dataset.scale.categories)}
    if abstentions == "tie" and TIE in dataset.scale.categories:
        missing["tie"] = dataset.scale.categories.index(TIE)
    values = dataset.judges[judge].values
    return np.where(np.isnan(values), missing.get(abstentions, missing["error"]), values).astype(np.int16)


def patterns_of(dataset: Dataset, verdicts: Codes) -> JudgedPatterns:
    """Return the distinct rows of labels, verdict and reference, with "no verdict" as a further category."""
    ratings = replace(dataset.ratings, categories=(*dataset.ratings.categories, "no verdict"))
    gold = np.where(np.isnan(dataset.gold), -1, dataset.gold).astype(np.int16)
    return judged_patterns(ratings, verdicts, gold)


def accuracy_estimate(dataset: Dataset, verdicts: Codes) -> Estimate:
    """Estimate the share of the targets with a verdict, of codes (N,), on which it equals the reference."""
    used = verdicts >= 0
    hit: Bools = verdicts[used] == dataset.gold[used]
    groups = selected_groups(dataset.ratings.groups, used)
    raters = len(dataset.ratings.raters)
    return share_estimate(
        hit,
        groups,
        total=verdicts.size,
        raters=raters,
        pairs=hit.size,
        reason="no target has a verdict",
        sample=dataset.sample_of(used),
    )


def ceiling_difference(
    patterns: JudgedPatterns, resamples: int, of: Literal["difference", "annotators"] = "difference"
) -> Estimate:
    """Estimate the judge's accuracy against the other annotators minus the annotators' own, or the latter alone."""
    total = int(patterns.units.frequencies.sum())
    patterns = patterns.with_shared_labels()
    ceiling = human_ceiling(patterns)
    if ceiling is None or ceiling.raters < MIN_ANNOTATORS:
        reason = "two annotators with the same targets are needed for the human ceiling"
        return Estimate(None, None, None, 0, total, 0, 0, 0, reason)
    statistic = ceiling.difference if of == "difference" else ceiling.annotators
    (result,) = bootstrap(stack_statistics([statistic]), patterns.units, resamples)
    items = patterns.count_items(ceiling.used)
    low, high = result.low, result.high
    if of == "difference" and result.value is not None and result.missing is NoInterval.NO_SPREAD:
        low, high = interval_without_spread(result.value, items, patterns.units)
    groups = items if patterns.units.clusters is None else patterns.units.clusters.shape[0]
    few = notes.few_groups(groups) if groups < min(items, notes.FEW_GROUPS) else ""
    return Estimate(
        result.value, low, high, items, total, ceiling.raters, ceiling.comparisons, result.dropped,
        result.problem or few,
        patterns.units.effective(ceiling.used),
    )  # fmt: skip


def interval_without_spread(value: float, items: int, units: Units) -> tuple[float, float]:
    """Return the 95 % interval of a mean difference that is the same on every item.

    A share of at most 1 - .05^(1/n) of further items differs from it (exact bound of 0 of n, Clopper & Pearson 1934;
    about 3/n, Hanley & Lippman-Hand 1983), each by at most 1 + |value|. n is the number of clusters if there are any.
    """
    n = items if units.clusters is None else min(items, units.clusters.shape[0])
    margin = (1 + abs(value)) * (1 - 0.05 ** (1 / n)) if n else 2.0
    return max(-1.0, value - margin), min(1.0, value + margin)


def baselines(dataset: Dataset) -> list[Baseline]:
    """Return the accuracy of the most frequent answer, of every constant answer of a preference, and of chance."""
    gold = dataset.gold.astype(int)
    categories = dataset.scale.categories
    weights = np.ones(gold.size) if dataset.sample is None else dataset.sample.weights
    counts = np.bincount(gold, weights, minlength=len(categories))
    groups = dataset.ratings.groups

    def constant(code: int) -> Estimate:
        return share_estimate(gold == code, groups, sample=dataset.sample)

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
    """Return the recommendations as one line, then what was found about each judge."""
    return " ".join([*recommendations(ranking), *(text for one in ranking.judges for text in remarks(one))])


def recommend(ranking: Ranking) -> str:
    """Return the recommendations with what was found about the judges that they name for use."""
    used = [one for one in ranking.judges if one.decision in (Decision.use, Decision.use_with_review)]
    return " ".join([*recommendations(ranking), *(text for one in used for text in remarks(one))])


def recommendations(ranking: Ranking) -> list[str]:
    """Return one sentence for each decision: "Use a.", "Use b and c with review.", "Do not use d."."""
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
            parts.append(sentence.format(wording.join_names(names)))
    if all(evaluation.decision is Decision.not_enough_data for evaluation in ranking.judges):
        few = f"Not enough data to recommend a judge: {format_count(ranking.targets, 'target')}."
        parts = [few, "Judges are not ranked."]
    return parts


def remarks(evaluation: JudgeEvaluation) -> list[str]:
    """Return sentences about the annotators whom a judge repeats, its biases and its missing verdicts."""
    name, is_open = evaluation.judge, evaluation.decision is Decision.not_enough_data
    is_reason = is_open and evaluation.less_ceiling.items >= MIN_ITEMS
    dependence = [one for one in evaluation.dependence if one.state is State.repeats or is_reason]
    found = [f"{name}: {judge_findings.describe_dependence(one)}." for one in dependence]
    found += [f"{row.sentence}." for row in evaluation.biases]
    return found + ([f"{name} {evaluation.silence}."] if evaluation.silence else [])


# Comparison of two judges on the same items.

# Williams' test has n - 3 degrees of freedom.
MIN_COMPARED_ITEMS = 4


def compared_statistic(dataset: Dataset) -> str:
    """Return the statistic of which differences between judges are tested."""
    return "accuracy_gold" if dataset.scale.level == "nominal" else "pearson"


def judge_differences(
    dataset: Dataset, *, resamples: int = 1000, evaluators: Mapping[str, str] | None = None
) -> list[Comparison]:
    """Return the difference of every two judges: in accuracy on a nominal scale, in Pearson's r on others.

    `evaluators`: judge -> the judge that it is a repeat of; without them each is one of its own.
    """
    repeats: dict[str, list[str]] = {}
    for judge in dataset.judges:
        repeats.setdefault((evaluators or {}).get(judge, judge), []).append(judge)
    pairs = combinations(repeats, 2)
    return correct_comparisons([judge_difference(dataset, *pair, resamples, repeats) for pair in pairs])


def judge_difference(
    dataset: Dataset, judge: str, other: str, resamples: int, repeats: Mapping[str, Sequence[str]] | None = None
) -> Comparison:
    """Return the paired difference of two judges in that statistic, on targets with both verdicts and a reference.

    A target's value is the mean over the `repeats` of a judge: judge -> their names, by default its own.
    """
    groups, is_nominal = dataset.ratings.groups, dataset.scale.level == "nominal"
    columns = []
    for name in (judge, other):
        values = [dataset.judges[one].values for one in (repeats or {}).get(name, (name,))]
        hits = [np.where(np.isnan(of) | np.isnan(dataset.gold), np.nan, of == dataset.gold) for of in values]
        scores = hits if is_nominal else [dataset.to_numbers(of) for of in values]
        columns.append(mean_of_defined(np.stack(scores, axis=-1)))
    if is_nominal:
        return paired_comparison(judge, other, columns[0] - columns[1], groups, resamples, dataset.sample)
    scored = np.column_stack([dataset.gold_scores, *columns])
    return correlation_difference(judge, other, scored, groups, resamples, dataset.sample)


def correlation_difference(
    judge: str,
    other_judge: str,
    columns: Floats,
    groups: tuple[str, ...] | None,
    resamples: int,
    sample: Sample | None = None,
) -> Comparison:
    """Return the difference of two judges' correlations from the scores (N, 3) of the annotators and both judges."""
    present: Bools = np.asarray(~np.isnan(columns).any(axis=1))
    n = int(present.sum())
    comparison = Comparison(judge, other_judge, None, None, None, n, None, None, None)
    if n < MIN_COMPARED_ITEMS:
        return replace(comparison, reason=f"{MIN_COMPARED_ITEMS} items with all three scores are needed; there are {n}")
    present_groups = None if groups is None else np.array(groups, object)[present].tolist()
    rows, units = distinct_scores(columns[present], present_groups, None if sample is None else sample.select(present))
    reference, first, second = rows.T
    statistic = difference(continuous.pearson(reference, first), continuous.pearson(reference, second))
    (result,) = bootstrap(stack_statistics([statistic]), units, resamples)
    result = notes.without_few_items(result, n)
    if result.value is None:
        return replace(comparison, reason="all scores of one side are equal: there is no correlation")
    if result.low is None:  # nothing that a test could use either
        return replace(comparison, difference=result.value, reason=result.problem)
    resampled = np.concatenate([statistic(weights) for weights in units.resample_weights(resamples)])
    r12, r13, r23 = (
        float(continuous.pearson(*rows[:, pair].T)(units.counted[None])[0]) for pair in ([0, 1], [0, 2], [1, 2])
    )
    test = williams_test(r12, r13, r23, n)
    return replace(
        comparison, difference=result.value, low=result.low, high=result.high,
        p_bootstrap=bootstrap_p_value(result.value, resampled), p_t=None if test is None else test[1],
        reason=result.problem,
    )  # fmt: skip
