"""Planning of further labels: the targets whose labels inform most, and how many tell two judges apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics import notes
from core.statistics.data.arrays import Floats, normal_quantile, ratio
from core.wording import format_count


def entropy(counts: Floats) -> Floats:
    """Return the Shannon entropy of the votes on each item, as a share of its maximum ln K, (N, K) -> (N,).

    0 if all votes are equal, 1 if they are evenly spread over the declared categories; nan without votes.
    """
    n_categories = counts.shape[1]
    shares = ratio(counts, counts.sum(axis=1, keepdims=True))
    logs = np.log(np.where(shares > 0, shares, 1))
    return np.asarray(-(shares * logs).sum(axis=1) / np.log(max(n_categories, 2)))


# How many more labels tell which of two judges is more accurate.
#
# Only targets on which the two judges have different verdicts can tell: on the others both are right or both are
# wrong, whatever the label is. So a plan counts labels of such targets.

POWER = 0.8
CONFIDENCE = 0.95
# Labelled targets on which the judges differ: fewer than 6 cannot have p < .05 (2 / 2^5 = .06 in the sign test), and
# the advantage on fewer than 10 is too uncertain for a plan.
MIN_SEPARATED, MIN_PLANNED = 6, 10
# No plan for more targets than this: the two judges are equal for every practical purpose.
MAX_TARGETS = 10_000


@dataclass(frozen=True)
class Separation:
    """The evidence about two judges on the labelled targets on which they differ, and the further ones needed."""

    labelled: int
    """Labelled targets on which the verdicts differ."""
    wins: int
    """Those on which the first judge is right."""
    losses: int
    """Those on which the second one is."""
    advantage: float | None
    """(wins - losses) / (labelled + 2), with one win and one loss added to the counts."""
    separated: bool
    """Whether the 95 % interval of the advantage is on one side of 0."""
    targets: int | None
    """Further targets on which they differ; 0 if they are separated, None if no plan can be made."""
    reason: str = ""


def plan_separation(scores: Floats, groups: Sequence[str] | None = None) -> Separation:
    """Plan the labels that separate two judges, from their differences in score on targets with different verdicts.

    `scores` (N,): 1 if the first judge is right, -1 if the second one is, 0 if neither is. The mean d has the adjusted
    Wald interval of paired proportions: one win and one loss are added (Bonett & Price 2012). With the standard error
    s on N targets, an advantage of d is found with this `POWER` on N' = N ((z_.975 + z_power) s / d)^2. For targets
    in clusters s is that of cluster means, so N' has as many targets a cluster as now.
    """
    n, wins, losses = scores.size, int((scores > 0).sum()), int((scores < 0).sum())
    if not n:
        reason = "no labelled target has different verdicts of the two judges"
        return Separation(0, 0, 0, None, False, None, reason)
    padded = np.concatenate([scores, [1.0, -1.0]])
    advantage = float(padded.mean())
    error = standard_error(padded, None if groups is None else [*groups, "a win", "a loss"])
    confidence = normal_quantile((1 + CONFIDENCE) / 2)
    clusters = n if groups is None else len(set(groups))
    caveat = notes.few_groups(clusters) if clusters < min(n, notes.FEW_GROUPS) else ""
    if n >= MIN_SEPARATED and abs(advantage) > confidence * error:
        return Separation(n, wins, losses, advantage, True, 0, caveat)
    needed = None
    if n < MIN_PLANNED:
        have = format_count(n, "labelled target has", "labelled targets have")
        caveat = f"{have} different verdicts of the two judges, {MIN_PLANNED} are needed for a plan"
    elif wins == losses:
        caveat = "the judges are right equally often, so no number of labels is expected to separate them"
    else:
        size = np.ceil(padded.size * ((confidence + normal_quantile(POWER)) * error / advantage) ** 2)
        if size > MAX_TARGETS:
            caveat = f"more than {MAX_TARGETS:,} targets on which they differ are needed"
        else:
            needed = max(1, int(size) - n)
    return Separation(n, wins, losses, advantage, False, needed, caveat)


def standard_error(values: Floats, groups: Sequence[str] | None) -> float:
    """Return the standard error of the mean; with groups, that of whole groups drawn."""
    if groups is None:
        return float(values.std() / np.sqrt(values.size))
    _, cluster = np.unique(np.array(groups, str), return_inverse=True)
    sums = np.bincount(cluster, weights=values - values.mean())
    return float(np.sqrt(sums @ sums) / values.size)
