"""Which further labels tell the judges apart, and how many: see `core.statistics.measures.planning`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from core.statistics.data.dataset import Dataset
from core.statistics.measures.planning import Separation, plan_separation
from core.statistics.reports.judges import Abstentions, verdict_codes


@dataclass(frozen=True)
class PairPlan:
    """The labels that separate two judges."""

    judge: str
    other_judge: str
    evidence: Separation
    differing_share: float
    """Share of the targets of both judges on which their verdicts differ."""
    waiting: int
    """Targets without a reference on which they differ."""
    overlap: int
    """Labels for each target."""

    @property
    def labels(self) -> int | None:
        """Further labels on targets on which they differ; None without a plan."""
        return None if self.evidence.targets is None else self.evidence.targets * self.overlap

    @property
    def labels_at_random(self) -> int | None:
        """Further labels if the targets are drawn from all targets instead."""
        if self.evidence.targets is None or not self.differing_share:
            return None
        return int(np.ceil(self.evidence.targets / self.differing_share)) * self.overlap

    @property
    def sentence(self) -> str:
        """The plan in words."""
        names, evidence = f"{self.judge} from {self.other_judge}", self.evidence
        caveat = f" ({evidence.reason})" * bool(evidence.reason)
        if evidence.separated:
            counts = f"{evidence.wins} : {evidence.losses}"
            return f"{self.judge} and {self.other_judge} are separated at 95 %, {counts}{caveat}."
        if self.labels is None or evidence.targets is None:
            return f"No plan for {self.judge} and {self.other_judge}: {evidence.reason}."
        enough = f"{self.waiting:,} such targets wait"
        if self.waiting < evidence.targets:
            enough += f", so {evidence.targets - self.waiting:,} further such items are needed"
        return (
            f"About {self.labels:,} more labels separate {names} at 95 %: {evidence.targets:,} targets on which they "
            f"differ, with {self.overlap} each; {enough}{caveat}."
        )


def pair_plans(
    dataset: Dataset, judges: Sequence[str], overlap: int, abstentions: Abstentions = "error"
) -> tuple[PairPlan, ...]:
    """Plan the labels that separate every two judges, the fewest labels first; `overlap` is the labels of a target."""
    pairs = [pair_plan(dataset, judge, other, overlap, abstentions) for judge, other in combinations(judges, 2)]
    return tuple(sorted(pairs, key=lambda pair: (pair.evidence.separated, pair.labels is None, pair.labels or 0)))


def pair_plan(dataset: Dataset, judge: str, other: str, overlap: int, abstentions: Abstentions = "error") -> PairPlan:
    """Plan the labels that separate two judges on the targets that both were asked about."""
    verdicts, others = (verdict_codes(dataset, name, abstentions) for name in (judge, other))
    both = dataset.judges[judge].asked & dataset.judges[other].asked & (verdicts >= 0) & (others >= 0)
    differ, referenced = both & (verdicts != others), ~np.isnan(dataset.gold)
    used = differ & referenced
    scores = (verdicts[used] == dataset.gold[used]).astype(float) - (others[used] == dataset.gold[used])
    groups = dataset.ratings.groups
    chosen = None if groups is None else np.array(groups, object)[used].tolist()
    return PairPlan(
        judge,
        other,
        plan_separation(scores, chosen),
        float(differ.sum() / both.sum()) if both.any() else 0.0,
        int((differ & ~referenced).sum()),
        overlap,
    )
