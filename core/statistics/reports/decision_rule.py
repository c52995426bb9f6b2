"""The rule by which a judge is recommended or not.

use                the coverage is high, the judge wins the alternative-annotator test, and it is at most a margin
                   below the human ceiling: the lower end of (judge - ceiling) is above -margin; it is more
                   accurate than the most frequent answer alone
use with review    the upper end of (judge - ceiling) is above -margin
do not use         it is below the human ceiling by more than the margin, or it gives one answer to every target
not enough data    the test needs two annotators and 30 targets
"""

from dataclasses import dataclass, fields
from typing import Literal

from core.errors import TiebreakError
from core.statistics.data.estimate import Estimate
from core.statistics.measures.alternative_annotator import EPSILON, MIN_ITEMS
from core.wording import format_estimate

Decision = Literal["use", "use with review", "do not use", "not enough data"]

LARGEST = {"min_coverage": 1.0, "min_winning_rate": 1.0, "margin": 0.5, "epsilon": 0.5}
"""Parameter of the rule -> its largest value; the smallest one is 0."""


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
        f"{-rule.margin:g}, more accurate than the most frequent answer."
    )


def decide(
    coverage: Estimate,
    less_ceiling: Estimate,
    winning_rate: float | None,
    winning_targets: int,
    rule: Rule,
    only_answer: str = "",
) -> tuple[Decision, str]:
    """Return the recommendation and its reason, by the rule in the module's description.

    `winning_targets` is the number of targets of the winning rate, and without one the largest number that an annotator
    shares with others; `only_answer` is the answer of a judge that gives no other one.
    """
    low, high = less_ceiling.low, less_ceiling.high
    if less_ceiling.items < MIN_ITEMS or low is None or high is None or winning_rate is None:
        return "not enough data", why_undecided(less_ceiling, winning_rate, winning_targets)
    facts = (
        f"coverage {coverage.value or 0:.2f} (n {coverage.items:,}), winning rate {winning_rate:.2f} "
        f"(n {winning_targets:,}), {format_estimate(less_ceiling.value, low, high, sign=True)} from the human ceiling "
        f"(n {less_ceiling.items:,})"
    )
    if high <= -rule.margin:
        return "do not use", f"more than {rule.margin:g} below the human ceiling: {facts}"
    if only_answer:
        return "do not use", f"always {only_answer}, whatever the target: {facts}"
    failed = []
    if (coverage.value or 0) < rule.min_coverage:
        failed.append(f"coverage under {rule.min_coverage:g}")
    if winning_rate < rule.min_winning_rate:
        failed.append(f"winning rate under {rule.min_winning_rate:g}")
    if low <= -rule.margin:
        failed.append(f"possibly more than {rule.margin:g} below the human ceiling")
    return ("use with review", f"{', '.join(failed)}: {facts}") if failed else ("use", facts)


def why_undecided(less_ceiling: Estimate, winning_rate: float | None, winning_targets: int) -> str:
    """Return one sentence about the missing evidence of the recommendation; the parameters are those of `decide`."""
    if less_ceiling.value is None:
        return less_ceiling.reason
    if winning_rate is None:
        return (
            f"{MIN_ITEMS} targets that an annotator shares with others are needed for the alternative-annotator test; "
            f"there are at most {winning_targets}"
        )
    if less_ceiling.items < MIN_ITEMS:
        return (
            f"{MIN_ITEMS} targets with a majority of the other annotators are needed for the human ceiling; "
            f"there are {less_ceiling.items}"
        )
    return less_ceiling.reason
