"""Rankings and comparisons of judges by labels that are mainly of disputed targets: see `chosen_labels`."""

from collections.abc import Sequence
from dataclasses import replace

from core.statistics.data.estimate import Estimate
from core.statistics.measures.comparison import Comparison
from core.statistics.reports.decision_rule import Decision
from core.statistics.reports.recommendations import Ranking
from storage.reports.chosen_labels import ALL_TARGETS, DISPUTED_TARGETS, OF_DISPUTED, Population

NO_DECISION = "labels are mainly of disputed targets, so there is no decision for all targets"


def named_by_targets(found: Sequence[Comparison], population: Population) -> tuple[Comparison, ...]:
    """Return comparisons whose caveats say that they are of disputed targets, if they are."""
    if population == ALL_TARGETS:
        return tuple(found)
    return tuple(replace(one, reason="; ".join(filter(None, (OF_DISPUTED, one.reason)))) for one in found)


def of_disputed_targets(ranking: Ranking, population: Population) -> Ranking:
    """Return a ranking without decisions, which are about all targets; labels are mainly of disputed ones.

    The accuracies are of disputed targets too, unless the reference is of all.
    """

    def marked(estimate: Estimate, is_of_labels: bool) -> Estimate:
        is_of_disputed = is_of_labels or population == DISPUTED_TARGETS
        return (
            replace(estimate, reason="; ".join(filter(None, (OF_DISPUTED, estimate.reason))))
            if is_of_disputed
            else estimate
        )

    judges = (
        replace(
            judge,
            accuracy=marked(judge.accuracy, False),
            less_ceiling=marked(judge.less_ceiling, True),
            decision=Decision.not_enough_data,
            reason=f"{NO_DECISION}; {OF_DISPUTED}: {judge.reason}",
        )
        for judge in ranking.judges
    )
    baselines = (replace(one, accuracy=marked(one.accuracy, False)) for one in ranking.baselines)
    return replace(ranking, judges=tuple(judges), ceiling=marked(ranking.ceiling, True), baselines=tuple(baselines))
