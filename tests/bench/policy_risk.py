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

from core.statistics.measures.policies import Cascade, Verdicts, find_cascade
from core.statistics.measures.risk import upper_bound

TARGETS, LABELS = 1_000, 300
RISKS = (0.05, 0.1)
LEVEL = 0.05
Array = np.ndarray
# Confidences and errors of the verdicts.
Judged = tuple[Array, Array]
Judge = Callable[[np.random.Generator], Judged]


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


def study(seed: int, judges: Sequence[Judge], risk: float, doubted: bool, looks: int) -> tuple[Cascade, float, float]:
    """Return the policy of a study, the risk of what it accepts, and the coverage of the best threshold.

    `doubted`: the less sure half of the verdicts has four times as many labels.
    """
    rng = np.random.default_rng(seed)
    judged = [judge(rng) for judge in judges]
    sure = judged[0][0]
    probabilities = (np.where(sure < np.median(sure), 1.6, 0.4) if doubted else np.ones(TARGETS)) * LABELS / TARGETS
    labelled = rng.random(TARGETS) < probabilities
    verdicts = [Verdicts(confidence, np.where(labelled, wrong, np.nan)) for confidence, wrong in judged]
    found = find_cascade(verdicts, probabilities, rng.random(TARGETS), promised=risk, level=LEVEL, looks=looks)
    best = best_coverage(judged[0], risk)
    if found.verification is not None and found.verification.contradicts:
        return found, 0.0, best
    wrong = np.concatenate([errors[found.pile == place] for place, (_, errors) in enumerate(judged)])
    return found, float(wrong.mean()) if wrong.size else 0.0, best


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
    name: str, judges: Sequence[Judge], risk: float, studies: int, doubted: bool = False, looks: int = 1
) -> None:
    """Print one row of the table."""
    found = [study(seed, judges, risk, doubted, looks) for seed in range(studies)]
    broken = np.mean([actual > risk for _, actual, _ in found])
    coverage = np.mean([cascade.accepted / TARGETS for cascade, _, _ in found])
    best = np.mean([one for _, _, one in found])
    known = "–" if doubted or len(judges) > 1 or looks > 1 else f"{best:.1%}"
    print(f"| {name} | {risk:.0%} | {broken:.1%} | {coverage:.1%} | {known} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1_000)
    count = parser.parse_args().studies
    print("| judge | promised | broken | coverage | best threshold |\n|---|---|---|---|---|")
    for promised in RISKS:
        for one in JUDGES:
            print_row(one.__name__, (one,), promised, count)
        print_row("hard, labels of what it doubts", (hard,), promised, count, doubted=True)
        print_row("hard, then easy", (hard, easy), promised, count)
        print_row("hard, one of 3 planned looks", (hard,), promised, count, looks=3)
