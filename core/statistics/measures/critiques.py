"""MetaCritique's scores of critiques, from true and false atomic information units (AIUs).

Sun et al. 2024. Precision: of the AIUs of the critique, the share that is factual. Recall: of the
AIUs of the reference critique, the share that the critique covers. F1 is their harmonic mean.
Micro: over all AIUs. Macro: over critiques, each weighing the same; macro F1 is the mean of the
critiques' F1, as in the authors' code, not the F1 of the means.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.statistics import remarks
from core.statistics.data.arrays import Bools, Floats, ratio
from core.statistics.data.estimate import Estimate
from core.statistics.data.patterns import Units, grouped
from core.statistics.data.ratings import Column
from core.statistics.measures.intervals import resample

NAMES = (
    "precision_micro",
    "recall_micro",
    "f1_micro",
    "precision_macro",
    "recall_macro",
    "f1_macro",
)


@dataclass(frozen=True)
class Critiques:
    """The AIUs of each of C critiques: how many there are and how many are true."""

    names: tuple[str, ...]
    precise: Floats
    """(C, 2): true AIUs of the critique, all AIUs of the critique."""
    recalled: Floats
    """(C, 2): covered AIUs of the reference critique, all of them."""

    @property
    def precision(self) -> Floats:
        """(C,): nan for a critique without an AIU."""
        return ratio(self.precise[:, 0], self.precise[:, 1])

    @property
    def recall(self) -> Floats:
        """(C,): nan for a critique whose reference has no AIU."""
        return ratio(self.recalled[:, 0], self.recalled[:, 1])

    @property
    def f1(self) -> Floats:
        """(C,): 0 where precision or recall is 0, nan where either is undefined."""
        return harmonic(self.precision, self.recall)


def critiques(critique: Column, recall: Bools, true: Bools) -> Critiques:
    """Count AIU labels (N,): of which critique, of its recall (else precision), and whether true."""
    names, at = np.unique(np.array(critique, object).astype(str), return_inverse=True)
    precise, recalled = (
        np.column_stack([np.bincount(at, some, minlength=names.size) for some in (task & true, task)])
        for task in (~recall, recall)
    )
    return Critiques(tuple(names.tolist()), precise.astype(float), recalled.astype(float))


def scores(
    of: Critiques, *, groups: Sequence[str] | None = None, resamples: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """The six scores of `NAMES`; critiques are resampled, or groups (C,) of them (one question's)."""
    each = np.column_stack([of.precision, of.recall, of.f1])
    there = ~np.isnan(each)
    features = np.column_stack([of.precise, of.recalled, np.nan_to_num(each), there])
    units = Units(np.ones(len(of.names)), grouped(None if groups is None else np.array(groups, object)))

    def family(weights: Floats) -> Floats:
        sums = (weights @ features).T
        precision, recall = ratio(sums[0], sums[1]), ratio(sums[2], sums[3])
        macro = ratio(sums[4:7], sums[7:10])
        return np.stack([precision, recall, harmonic(precision, recall), *macro])

    found = resample(family, units, resamples, seed)
    used = [*there.sum(axis=0).tolist()] * 2
    return {
        name: remarks.of_critiques(one, kept, len(of.names)) for name, one, kept in zip(NAMES, found, used, strict=True)
    }


def harmonic(precision: Floats, recall: Floats) -> Floats:
    """2 p r / (p + r); 0 where either is 0, nan where either is nan."""
    total = precision + recall
    return np.where(total == 0, 0.0, ratio(2 * precision * recall, np.where(total == 0, 1, total)))
