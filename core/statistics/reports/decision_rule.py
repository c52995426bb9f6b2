"""The rule by which a judge is recommended or not.

d is the judge's accuracy minus the human ceiling, with its interval. The interval alone decides whether the judge is
accurate enough, so fewer data, which widen it, never make a recommendation more lenient:

use                the lower end of d is above -margin, and nothing of what follows
use with review    the lower end of d is above -margin, but the coverage or the winning rate of the
                   alternative-annotator test is too low, the judge is not more accurate than the most frequent answer
                   alone, has a bias of at least the margin, or repeats, or may repeat, the labels of one annotator
do not use         the upper end of d is at most -margin, or it gives one answer to every target
not enough data    -margin is within the interval of d, or there are not two annotators, 30 targets that they share,
                   or 30 targets with a reference
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from core.errors import TiebreakError
from core.statistics.data.estimate import Estimate
from core.statistics.measures.alternative_annotator import EPSILON, MIN_ITEMS
from core.wording import format_estimate, format_percent


class Decision(StrEnum):
    """The recommendation of a judge."""

    use = "use"
    use_with_review = "use with review"
    do_not_use = "do not use"
    not_enough_data = "not enough data"


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
        f"{-rule.margin:g}, more accurate than the most frequent answer, no bias of {rule.margin:g} or more found, "
        "no annotator's labels repeated."
    )


@dataclass(frozen=True)
class Evidence:
    """What the recommendation of a judge is made of."""

    coverage: Estimate
    less_ceiling: Estimate
    winning_rate: float | None
    winning_targets: int
    """Targets of the winning rate, and without one the largest number that an annotator shares with others."""
    referenced: int = MIN_ITEMS
    """Targets of the accuracy."""
    no_reference: str = ""
    """Why the accuracy could not be measured."""
    only_answer: str = ""
    """The answer of a judge that gives no other one."""
    answered: Estimate | None = None
    """The same as `less_ceiling` of the targets with a verdict, if missing verdicts count in it."""
    objections: Sequence[str] = ()
    """What else speaks against use without review, in words."""


def decide(evidence: Evidence, rule: Rule) -> tuple[Decision, str]:
    """Return the recommendation and its reason, by the rule in the module's description."""
    coverage, d, winning_rate = evidence.coverage, evidence.less_ceiling, evidence.winning_rate
    low, high, also = d.low, d.high, "".join(f"; {objection}" for objection in evidence.objections)
    enough = min(d.items, evidence.referenced) >= MIN_ITEMS
    if not enough or low is None or high is None or winning_rate is None:
        return Decision.not_enough_data, why_undecided(evidence) + also
    facts = (
        f"coverage {coverage.value or 0:.2f} (n {coverage.items:,}), winning rate {winning_rate:.2f} "
        f"(n {evidence.winning_targets:,}), {format_estimate(d.value, low, high, sign=True)} from the human ceiling "
        f"(n {d.items:,})"
    )
    if high <= -rule.margin:
        return Decision.do_not_use, f"{why_below(evidence, rule)}: {facts}{also}"
    if evidence.only_answer:
        return Decision.do_not_use, f"always {evidence.only_answer}, whatever the target: {facts}{also}"
    if low <= -rule.margin:
        few = f"not enough targets to tell whether it is more than {rule.margin:g} below the human ceiling"
        return Decision.not_enough_data, f"{few}: {facts}{also}"
    failed = list(evidence.objections)
    if (coverage.value or 0) < rule.min_coverage:
        failed.append(f"coverage under {rule.min_coverage:g}")
    if winning_rate < rule.min_winning_rate:
        failed.append(f"winning rate under {rule.min_winning_rate:g}")
    return (Decision.use_with_review, f"{'; '.join(failed)}: {facts}") if failed else (Decision.use, facts)


def why_below(evidence: Evidence, rule: Rule) -> str:
    """Return what is below the human ceiling: the judge, or only its missing verdicts, which count as wrong."""
    if is_only_silent(evidence.answered, rule):
        return f"{describe_silence(evidence)}; with its missing verdicts it is more than {rule.margin:g} below"
    return f"more than {rule.margin:g} below the human ceiling"


def is_only_silent(answered: Estimate | None, rule: Rule) -> bool:
    """Return whether a judge is not shown to be below the human ceiling on the targets that it answers."""
    return answered is not None and answered.high is not None and answered.high > -rule.margin


def describe_silence(evidence: Evidence) -> str:
    """Return the coverage of a judge, and its difference from the human ceiling where it has a verdict."""
    answered = evidence.answered
    assert answered is not None
    difference = format_estimate(answered.value, answered.low, answered.high, sign=True)
    return (
        f"answers {format_percent(evidence.coverage.value or 0)} of the targets, {difference} from the human ceiling "
        f"where it answers (n {answered.items:,})"
    )


def why_undecided(evidence: Evidence) -> str:
    """Return one sentence about the missing evidence of the recommendation."""
    less_ceiling = evidence.less_ceiling
    if evidence.no_reference:
        return evidence.no_reference
    if less_ceiling.value is None:
        return less_ceiling.reason
    if evidence.winning_rate is None:
        return (
            f"{MIN_ITEMS} targets that an annotator shares with others are needed for the alternative-annotator test; "
            f"there are at most {evidence.winning_targets}"
        )
    if less_ceiling.items < MIN_ITEMS:
        return (
            f"{MIN_ITEMS} targets with a majority of the other annotators are needed for the human ceiling; "
            f"there are {less_ceiling.items}"
        )
    if evidence.referenced < MIN_ITEMS:
        return f"{MIN_ITEMS} targets with a value of the reference are needed; there are {evidence.referenced}"
    return less_ceiling.reason
