"""How often the promise of a policy is broken, and how much of what could be accepted is.

python -m tests.bench.policy_risk [--studies 1000]

A study has 1,000 verdicts with a confidence and 300 labels. The promise is broken if more than the promised share of
the accepted verdicts differ from people's decisions. The best threshold is that of a single test with all labels, at
the threshold with the highest expected coverage, which only the simulation knows.
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import binom

from core.statistics.measures.designs import effective_labels
from core.statistics.measures.policies import Cascade, Verdicts, find_cascade
from core.statistics.measures.risk import fewest_labels, thresholds_of, upper_bound

TARGETS, LABELS = 1_000, 300
RISKS = (0.05, 0.1)
LEVEL = 0.05
Array = np.ndarray
# Confidences and errors of the verdicts.
Judged = tuple[Array, Array]
Judge = Callable[[np.random.Generator], Judged]
Design = Callable[[np.random.Generator, Judged], Array]


def easy(rng: np.random.Generator) -> Judged:
    """A judge that is right on 97 %, and knows where it is not."""
    confidence = rng.beta(6, 1, TARGETS)
    return confidence, rng.random(TARGETS) > 0.5 + 0.5 * confidence**0.4


def hard(rng: np.random.Generator) -> Judged:
    """A judge that is right on 85 %, and on nearly all verdicts of its surest third."""
    confidence = rng.random(TARGETS)
    return confidence, rng.random(TARGETS) < 0.45 * (1 - confidence) ** 2


def overconfident(rng: np.random.Generator) -> Judged:
    """A judge that states at least .8 everywhere, and is right on 90 %."""
    sure = rng.random(TARGETS)
    return 0.8 + 0.2 * sure, rng.random(TARGETS) < 0.25 * (1 - sure) ** 1.5


def drifting(rng: np.random.Generator) -> Judged:
    """A judge whose errors grow threefold over the study, with the same confidences."""
    confidence = rng.random(TARGETS)
    errors = (0.5 + np.arange(TARGETS) / TARGETS) * 0.3 * (1 - confidence) ** 2
    return confidence, rng.random(TARGETS) < errors


JUDGES: Sequence[Judge] = (easy, hard, overconfident, drifting)


def random_labels(rng: np.random.Generator, judged: Judged) -> Array:
    """Return probabilities (N,) of labels, of which LABELS are drawn."""
    return np.full(TARGETS, LABELS / TARGETS)


def doubted_first(rng: np.random.Generator, judged: Judged) -> Array:
    """Return probabilities with which the less sure half has four times as many labels."""
    less_sure = judged[0] < np.median(judged[0])
    return np.where(less_sure, 1.6, 0.4) * LABELS / TARGETS


def disputes_first(rng: np.random.Generator, judged: Judged) -> Array:
    """Return probabilities with which all disputed targets have a label, and one in twelve of the others."""
    disputed = rng.random(TARGETS) < np.where(judged[1], 0.6, 0.25)
    return np.where(disputed, 1, 1 / 12)


def errors_last(rng: np.random.Generator, judged: Judged) -> Array:
    """Return probabilities with which a part that has most of the errors has few labels."""
    rare = rng.random(TARGETS) < np.where(judged[1], 0.8, 0.05)
    return np.where(rare, 0.1, 0.4)


def betting_coverage(judged: Judged, labelled: Array, probabilities: Array, risk: float) -> float:
    """Return the coverage with a bound of all labels in place of the exact one of those of equal probability.

    Waudby-Smith and Ramdas (2024): the wealth of bets on weight * (risk - error) exceeds 1 / level with at most the
    probability `level` if the risk is higher. As there, bets depend on the variance of the labels before.
    """
    confidence, wrong = judged
    coverage = 0.0
    for threshold in thresholds_of(confidence):
        accepted = confidence >= threshold
        own = np.flatnonzero(labelled & accepted)
        weights = 1 / probabilities[own]
        if effective_labels(weights) < fewest_labels(risk, LEVEL, 1):
            continue
        share = weights * probabilities[accepted].min()
        gains = share * (risk - wrong[own])
        prior = 10 * np.mean(share**2) * risk * (1 - risk) / 2
        variance = (prior + np.concatenate([[0], np.cumsum(gains**2)[:-1]])) / (10 + np.arange(own.size))
        bets = np.minimum(np.sqrt(-2 * np.log(LEVEL) / (variance * own.size)), 0.95 / (1 - risk))
        if np.log1p(bets * gains).cumsum().max() < -np.log(LEVEL):
            break
        coverage = float(accepted.mean())
    return coverage


def study(seed: int, judges: Sequence[Judge], risk: float, design: Design, looks: int) -> tuple[Cascade, float, float]:
    """Return the policy of a study, the risk of what it accepts, and the coverage that it is compared with.

    With equal probabilities it is that of the best threshold, otherwise that with the betting bound.
    """
    rng = np.random.default_rng(seed)
    judged = [judge(rng) for judge in judges]
    probabilities = design(rng, judged[0])
    labelled = rng.random(TARGETS) < probabilities
    verdicts = [Verdicts(confidence, np.where(labelled, wrong, np.nan)) for confidence, wrong in judged]
    found = find_cascade(verdicts, probabilities, rng.random(TARGETS), promised=risk, level=LEVEL, looks=looks)
    equal = design is random_labels
    other = best_coverage(judged[0], risk) if equal else betting_coverage(judged[0], labelled, probabilities, risk)
    if found.verification is not None and found.verification.contradicts:
        return found, 0.0, other
    wrong = np.concatenate([errors[found.pile == place] for place, (_, errors) in enumerate(judged)])
    return found, float(wrong.mean()) if wrong.size else 0.0, other


def best_coverage(judged: Judged, risk: float) -> float:
    """Return the highest expected coverage of one test at one threshold with LABELS random labels."""
    order = np.argsort(-judged[0])
    best = 0.0
    for share in np.arange(0.1, 1.01, 0.05):
        accepted, n = order[: int(share * TARGETS)], int(share * LABELS)
        most = -1
        while upper_bound(most + 1, n, LEVEL) <= risk:
            most += 1
        best = max(best, share * float(binom.cdf(most, n, judged[1][accepted].mean())))
    return best


def print_row(
    name: str, judges: Sequence[Judge], risk: float, studies: int, design: Design = random_labels, looks: int = 1
) -> None:
    """Print one row of the table."""
    found = [study(seed, judges, risk, design, looks) for seed in range(studies)]
    broken = np.mean([actual > risk for _, actual, _ in found])
    coverage = np.mean([cascade.accepted / TARGETS for cascade, _, _ in found])
    best = np.mean([one for _, _, one in found])
    known = f"{best:.1%}" if len(judges) == 1 and looks == 1 else "–"
    columns = (known, "–") if design is random_labels else ("–", known)
    print(f"| {name} | {risk:.0%} | {broken:.1%} | {coverage:.1%} | {columns[0]} | {columns[1]} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1_000)
    count = parser.parse_args().studies
    print("| judge | promised | broken | coverage | best threshold | betting bound |\n|---|---|---|---|---|---|")
    for promised in RISKS:
        for one in JUDGES:
            print_row(one.__name__, (one,), promised, count)
        print_row("hard, labels of what it doubts", (hard,), promised, count, design=doubted_first)
        for judge in (easy, hard):
            print_row(f"{judge.__name__}, labels of all disputes", (judge,), promised, count, design=disputes_first)
            print_row(f"{judge.__name__}, few labels of its errors", (judge,), promised, count, design=errors_last)
        print_row("hard, then easy", (hard, easy), promised, count)
        print_row("hard, one of 3 planned looks", (hard,), promised, count, looks=3)
