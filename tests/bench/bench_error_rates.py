"""Error rates of tests and rules, and forecasts of plans, in studies whose truth is planted.

    python -m tests.bench.bench_error_rates [STUDIES [CASE ...]] [--units N ...]

Each case draws a study without the effect, or exactly at the boundary of the rule, and states whether something is
found. The intervals are in `bench_coverage`, other tests in `bench_planted_judges`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np

from core.improvement.comparison import AcceptanceRule, compare, decide
from core.labels import PREFERENCE, Value
from core.statistics.data.arrays import Bools, Floats, Ints
from core.statistics.data.patterns import JudgedPatterns, judged_patterns
from core.statistics.measures.alternative_annotator import run_on_patterns
from core.statistics.measures.comparison import Comparison, compare_scores, correct_comparisons
from core.statistics.measures.designs import dispute_ratio, scenarios_without
from core.statistics.measures.planning import plan_separation
from core.statistics.measures.texts import cluster_texts
from core.statistics.reports.judge_findings import Slice, correct_slices, people_row, slice_rows
from core.statistics.reports.judges import Rule, ceiling_difference, correlation_difference
from tests.bench.bench_coverage import EVEN, Design, draw_codes
from tests.bench.studies import RESAMPLES, print_tables
from tests.core.statistics.builders import ratings_from_codes

SIZES = (50, 300)
LEVEL = 0.05
Draw = Callable[[np.random.Generator, int], Mapping[str, float]]
"""(generator, units) -> by name whether something is found, or a value whose mean over studies is shown; nan: none."""
JUDGES = 5
MARGIN = Rule().margin
ANNOTATORS = (2, 3, 5)
SPREAD = 0.8
"""Of annotators' errors, in categories."""


def equal_judges(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """Two, or five, judges of equal accuracy on the same targets, or on documents of four targets: p < .05 (Holm)."""
    difficulty = np.where(rng.random(units) < 0.3, 0.5, 0.9)
    of_documents = np.repeat(difficulty, 4)
    names = np.repeat(np.arange(units), 4).astype(str).tolist()
    return {
        "two judges": _differs(_scores(rng, difficulty, 2), None),
        "any two of five judges": _differs(_scores(rng, difficulty, JUDGES), None),
        "any two of five judges, documents of four": _differs(_scores(rng, of_documents, JUDGES), names),
    }


def _scores(rng: np.random.Generator, rates: Floats, judges: int) -> dict[str, Floats]:
    return {str(judge): (rng.random(rates.size) < rates).astype(float) for judge in range(judges)}


def _differs(scores: Mapping[str, Floats], groups: Sequence[str] | None) -> bool:
    return _any_found(compare_scores(scores, groups=groups, resamples=RESAMPLES))


def _any_found(comparisons: Sequence[Comparison]) -> bool:
    return any(one.p_corrected is not None and one.p_corrected < LEVEL for one in comparisons)


def equal_correlations(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """Two judges of scores from 1 to 5 that correlate equally with people: p of the bootstrap and of Williams' test."""
    quality = rng.normal(3, 1, units)
    columns = np.column_stack([np.clip(np.rint(quality + rng.normal(0, 0.8, units)), 1, 5) for _ in range(3)])
    found = correlation_difference("a", "b", columns, None, RESAMPLES)
    return {"bootstrap": _any_found(correct_comparisons([found])), "Williams": (found.p_t or 1) < LEVEL}


def equal_slices(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """Six scenarios and a feature of half of the targets, in which a judge differs equally often: any slice found."""
    rates = rng.beta(1, 3, units)
    scenario = rng.integers(0, 6, units)
    feature = rng.random(units) < 0.5
    of_targets = np.repeat(np.arange(units), 4)
    differs = rng.random(4 * units) < rates[of_targets]
    names = of_targets.astype(str).tolist()
    return {
        "targets": _slice_found(rng.random(units) < 0.25, _slices(scenario, feature), None),
        "documents of four": _slice_found(differs, _slices(scenario[of_targets], feature[of_targets]), names),
    }


def _slices(scenario: Ints, feature: Bools) -> dict[Slice, tuple[Bools, Bools]]:
    known = np.ones(scenario.size, bool)
    slices = {("scenario", str(name)): (scenario == name, known) for name in range(6)}
    return slices | {("length gap", "above"): (feature, known)}


def _slice_found(differs: Bools, slices: Mapping[Slice, tuple[Bools, Bools]], groups: Sequence[str] | None) -> bool:
    return any(row.found for row in correct_slices(slice_rows("judge", differs, slices, groups)))


TOPICS = (
    "proof lemma integer equation theorem digit sum product root fraction",
    "poem verse rhythm metaphor rhyme stanza image voice mood line",
    "function loop compiler pointer array recursion variable class syntax bug",
)
COMMON_WORDS = "response better because answer clear short long detail reader correct complete style tone"


def reply_clusters(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """Clusters of replies on three topics, in which a judge differs equally often; or twice as often in one topic."""
    topic = rng.integers(0, len(TOPICS), units)
    texts = [
        " ".join([*rng.choice(TOPICS[number].split(), 6), *rng.choice(COMMON_WORDS.split(), 8)]) for number in topic
    ]
    clusters, names = cluster_texts(texts)
    known = np.ones(units, bool)
    slices = {("rationale", name): (clusters == number, known) for number, name in enumerate(names)}
    return {
        "no difference": _slice_found(rng.random(units) < 0.3, slices, None),
        "45 % in one topic, 20 % in the others": _slice_found(
            rng.random(units) < np.where(topic == 0, 0.45, 0.2), slices, None
        ),
    }


def draw_study(rng: np.random.Generator, annotators: int, items: int, random_share: float) -> JudgedPatterns:
    """Return labels on five even categories, and a further annotator as judge, random on a share of the items."""
    codes = draw_codes(rng, Design(EVEN.shares, annotators, SPREAD), items)
    verdicts = np.where(rng.random(items) < random_share, rng.integers(0, 5, items), codes[:, -1]).astype(np.int16)
    return judged_patterns(ratings_from_codes(codes[:, :-1], 5), verdicts, np.zeros(items, np.int16))


@cache
def boundary(is_above: Callable[[JudgedPatterns], bool], annotators: int) -> float:
    """Return the share of random verdicts of a judge that is exactly at a boundary, by bisection on 400,000 items."""
    low, high = 0.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        above = is_above(draw_study(np.random.default_rng(99), annotators, 400_000, middle))
        low, high = (middle, high) if above else (low, middle)
    return (low + high) / 2


def is_above_margin(patterns: JudgedPatterns) -> bool:
    """Return whether the judge is less than the margin below the human ceiling."""
    return (ceiling_difference(patterns, 2).value or 0.0) > -MARGIN


def has_advantage(patterns: JudgedPatterns) -> bool:
    """Return whether the judge is less than epsilon below the annotators, so that p is below one half."""
    return float(np.mean([test.p or 0.0 for test in run_on_patterns(patterns).tests])) < 0.5


def judge_at_margin(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """A judge exactly the margin below the human ceiling: "use" by its interval; "do not use" by its interval."""
    found = {}
    for annotators in ANNOTATORS:
        patterns = draw_study(rng, annotators, units, boundary(is_above_margin, annotators))
        estimate = ceiling_difference(patterns, RESAMPLES)
        found[f"lower end above, {annotators} annotators"] = estimate.low is not None and estimate.low > -MARGIN
        found[f"upper end below, {annotators} annotators"] = estimate.high is not None and estimate.high <= -MARGIN
    return found


def judge_at_epsilon(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """A judge exactly epsilon below every annotator in the alternative-annotator test: wins, and winning rate >= .5."""
    found = {}
    for annotators in ANNOTATORS:
        test = run_on_patterns(draw_study(rng, annotators, units, boundary(has_advantage, annotators)))
        found[f"any win, {annotators} annotators"] = any(one.won for one in test.tests)
        found[f"winning rate >= .5, {annotators} annotators"] = (test.winning_rate or 0.0) >= Rule().min_winning_rate
    return found


def same_as_annotators(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """A judge that errs as an annotator does: "use" by the interval, by the winning rate, and by both."""
    found = {}
    for annotators in ANNOTATORS:
        patterns = draw_study(rng, annotators, units, 0.0)
        low, rate = ceiling_difference(patterns, RESAMPLES).low, run_on_patterns(patterns).winning_rate
        by_interval, by_rate = low is not None and low > -MARGIN, (rate or 0.0) >= Rule().min_winning_rate
        found[f"by the interval, {annotators} annotators"] = by_interval
        found[f"by the winning rate, {annotators} annotators"] = by_rate
        found[f"by both, {annotators} annotators"] = by_interval and by_rate
    return found


def rare_differences(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """A judge that differs from unanimous people on 0.25, 1 or 3 targets: the interval misses the true difference."""
    found = {}
    for expected in (0.25, 1.0, 3.0):
        people = rng.integers(0, 2, (units, 1)).repeat(3, axis=1).astype(np.int16)
        verdicts = np.where(rng.random(units) < expected / units, 1 - people[:, 0], people[:, 0]).astype(np.int16)
        patterns = judged_patterns(ratings_from_codes(people, 2), verdicts, people[:, 0])
        estimate = ceiling_difference(patterns, RESAMPLES)
        low, high = estimate.low, estimate.high
        found[f"{expected:g} expected"] = low is None or high is None or not low <= -expected / units <= high
    return found


def useless_variants(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """Five variants of a judge that are as accurate as it is, on held-out items: any of them is accepted."""
    gold = rng.integers(1, 3, units).tolist()
    names = list(map(str, range(units)))
    rule, accepted = AcceptanceRule(), False
    p_values: list[float] = []
    current = _verdicts(rng, gold)
    for _ in range(rule.evaluations):
        result = compare(current, _verdicts(rng, gold), gold, names, PREFERENCE, resamples=RESAMPLES)
        if result is None:
            raise ValueError("no target")
        accepted |= decide(rule, result, p_values).accepted
        p_values.append(result.p)
    return {"accepted": accepted}


def _verdicts(rng: np.random.Generator, gold: Sequence[int]) -> list[Value | None]:
    return [value if right else 3 - value for value, right in zip(gold, rng.random(len(gold)) < 0.75, strict=True)]


def planned_separation(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """A plan from targets on which two judges differ, the first right on 60 %: separated in a study of that size."""

    def draw(size: int) -> Floats:
        return np.where(rng.random(size) < 0.6, 1.0, -1.0)

    plan = plan_separation(draw(units))
    if plan.separated or plan.targets is None:
        return {"separated": np.nan, "without a plan": not plan.separated, "separated before": plan.separated}
    found = plan_separation(draw(plan.labelled + plan.targets)).separated
    return {"separated": found, "without a plan": False, "separated before": False}


def chosen_samples(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """A random sample, or a sample of disputed targets, of `units` of 600 targets, 256 disputed: found as chosen."""
    disputed, one, documents = np.arange(600) < 256, np.zeros(600, int), np.repeat(np.arange(50), 12)
    first = np.append(rng.permutation(256), 256 + rng.permutation(344))
    few = np.append(rng.permutation(256)[: round(0.85 * units)], 256 + rng.permutation(344)[: round(0.15 * units)])
    weights = np.where(disputed, 1.8, 1.0)
    often = rng.choice(600, units, replace=False, p=weights / weights.sum())
    scenarios = rng.choice(5, 600, p=(0.4, 0.3, 0.15, 0.1, 0.05))
    of_documents = rng.random(600) < rng.beta(0.4, 0.6, 50)[documents]
    whole = np.isin(documents, rng.choice(50, max(2, units // 12), replace=False))

    def found(labelled: Ints) -> bool:
        return dispute_ratio(np.isin(np.arange(600), labelled), disputed, one) is not None

    return {
        "random": found(rng.permutation(600)[:units]),
        "random documents of 12, as a whole": dispute_ratio(whole, of_documents, one, documents) is not None,
        "random, by scenarios": bool(
            scenarios_without(np.isin(np.arange(600), rng.permutation(600)[:units]), scenarios)
        ),
        "random documents of 12, by scenarios": bool(scenarios_without(whole, documents // 10, documents)),
        "one scenario of five": bool(scenarios_without(np.arange(600) < min(units, 120), documents // 10)),
        "disputed ones first": found(first[:units]),
        "85 % disputed ones, 15 % others": found(few),
        "disputed ones 1.8 times as often": found(often),
    }


def position_of_people(rng: np.random.Generator, units: int) -> Mapping[str, float]:
    """Annotators see the orders of `storage.labelling.blocks`: of each item one is drawn, the next has the other one.

    Each chooses the response shown first with probability `bias`, otherwise the better one with .8: the interval of
    people's position bias holds the true effect, bias / 2, and a bias is found.
    """
    found: dict[str, float] = {}
    for annotators, bias in product((1, 2, 3, 5), (0.0, 0.2, 0.5)):
        drawn, better = (rng.integers(1, 3, (units, 1)) for _ in range(2))
        first = np.where(np.arange(annotators) % 2 == 0, drawn, 3 - drawn)
        honest = np.where(rng.random(first.shape) < 0.8, better, 3 - better)
        values = np.where(rng.random(first.shape) < bias, first, honest)
        names = np.repeat([f"i{number}" for number in range(units)], annotators).tolist()
        row = people_row(values.ravel().astype(float), first.ravel().astype(float), names)
        if row is None or row.effect.low is None or row.effect.high is None:
            continue
        design = f"{annotators} annotators, bias {bias}"
        found[f"{design}: held"] = row.effect.low <= bias / 2 <= row.effect.high
        found[f"{design}: found"] = row.found
    return found


CASES: Mapping[Draw, tuple[int, ...]] = {
    equal_judges: SIZES,
    equal_correlations: SIZES,
    equal_slices: SIZES,
    reply_clusters: (60, 300),
    judge_at_margin: SIZES,
    judge_at_epsilon: SIZES,
    same_as_annotators: SIZES,
    rare_differences: SIZES,
    useless_variants: (20, 60, 200),
    planned_separation: (20, 50, 100),
    chosen_samples: (20, 50, 100, 256),
    position_of_people: (30, 100, 300),
}
"""Case -> the numbers of units."""


def rates(draw: Draw, units: int, studies: int) -> dict[str, str]:
    """Return the means over the studies that have a value, with their standard errors in points."""
    rng = np.random.default_rng(units)
    values: dict[str, list[float]] = {}
    for _ in range(studies):
        for name, value in draw(rng, units).items():
            if value == value:
                values.setdefault(name, []).append(float(value))
    cells = {}
    for name, found in values.items():
        error = 100 * float(np.std(found)) / len(found) ** 0.5
        fewer = f" ({len(found)})" if len(found) < studies else ""
        cells[name] = f"{100 * float(np.mean(found)):.1f} ±{error:.2f}{fewer}"
    return cells


if __name__ == "__main__":
    print_tables(__doc__, CASES, "{} studies, per cent ± standard error (n if fewer)".format, rates, 20)
