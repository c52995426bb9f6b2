"""Labels of annotators, opinions of judges, adjudications, and the gold values that follow from them."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Any, Literal, TypeGuard

from pydantic import Field, field_validator

from core.frozen import Frozen

Kind = Literal[
    "preference",
    "score",
    "aiu_precision",
    "aiu_recall",
    "aspect_weights",
    "aspect_quality",
    "likert",
    "answer",
    "misleading_peer",
]
Value = bool | int | float | str | dict[str, float]


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number; True is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


Level = Literal["nominal", "ordinal", "interval"]
Source = Literal["adjudicated", "unanimous", "majority", "mean", "single", "unresolved", "judges", "policy"]
# Kinds with the annotators' mean as gold, if their values are numbers on a scale that is not nominal.
MEAN_KINDS: tuple[Kind, ...] = ("score", "likert", "aspect_quality", "aspect_weights")


class Scale(Frozen):
    """The values that labels may have, declared before labelling starts."""

    level: Level
    categories: tuple[bool | int | float | str, ...] = ()
    """In order, lowest first; empty for a continuous score between `low` and `high`."""
    low: float | None = None
    high: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether any number between its ends is a category, as on a scale of steps: reports name those that occur."""
        return self.level == "nominal" and self.low is not None

    def contains(self, value: object) -> bool:
        """Return whether `value` is on this scale. True does not count as 1."""
        if self.categories and not self.is_open:
            return any(value == c and isinstance(value, bool) == isinstance(c, bool) for c in self.categories)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            return False  # also NaN, and integers beyond those of a computer
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def covers(self, value: object) -> bool:
        """Return whether `value` is on this scale or between two of its numbers, as a mean of labels can be."""
        numbers = [category for category in self.categories if is_number(category)]
        if self.contains(value) or len(numbers) < max(len(self.categories), 1):
            return self.contains(value)
        return is_number(value) and min(numbers) <= value <= max(numbers)


# The number of the better response; 0 for a tie.
PREFERENCE = Scale(level="nominal", categories=(1, 2, 0))
# The number of a step of a transcript; 0 for none.
STEPS = Scale(level="nominal", low=0, high=10_000)
# The number of the peer that misled the chair of a peer review; 0 for none.
PEERS = Scale(level="nominal", low=0, high=99)
TRUTH = Scale(level="nominal", categories=(True, False))


class Target(Frozen):
    """A unit that both an annotator and a protocol can judge."""

    item: str
    kind: Kind
    criterion: str = ""
    part: str = ""


class Evidence(Frozen):
    """A passage that an annotator selected for a label. Positions count Unicode code points from 0."""

    block: str
    """The text: "response-1", "question"..."""
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Label(Frozen):
    """An annotator's value for a target. Labels are append-only; the newest counts.

    Fields that were added later are serialised only if present, so older files are exported unchanged.
    """

    target: Target
    annotator: str
    value: Value | None
    """None withdraws the earlier label."""
    blind: bool = True
    """Whether the annotator labelled before seeing other labels or the judges' verdict."""
    reason: str = ""
    seconds: float | None = None
    at: datetime | None = None
    evidence: tuple[Evidence, ...] = Field(default=(), exclude_if=lambda evidence: not evidence)
    surplus: bool = Field(default=False, exclude_if=lambda surplus: not surplus)
    """Whether the target was complete when the label arrived. A surplus label is a person's label like any other: it
    counts in agreement and gold. Only the overlap of the queue ignores it."""
    guidelines: int | None = Field(default=None, exclude_if=lambda version: version is None)
    """The version of the guidelines that the annotator had."""
    shown: tuple[int, ...] = Field(default=(), exclude_if=lambda shown: not shown)
    """The numbers of the texts that were side by side, in the order in which the annotator saw them: `(2, 1)` if the
    second was first. The value, the evidence and the part always have the item's own numbers. Empty if it is not known,
    as of labels from other tools, or if there was one text only."""

    @field_validator("shown")
    @classmethod
    def _all_numbers(cls, shown: tuple[int, ...]) -> tuple[int, ...]:
        if sorted(shown) != list(range(1, len(shown) + 1)):
            raise ValueError("an order has every number from 1 to the number of texts once, such as [2, 1]")
        return shown


class Adjudication(Frozen):
    """An adjudicator's decision on a target; it takes precedence over the labels."""

    target: Target
    value: Value
    rule: str
    """How it was decided: "expert decision", "discussion", "guideline change"..."""
    reason: str
    adjudicator: str
    at: datetime | None = None


class Opinion(Frozen):
    """A judge's value for a target at one stage of a trace."""

    kind: Kind
    judge: str
    stage: Literal["first", "last", "verdict"]
    value: Value | None
    """None if there is none, for the reason in `problem`."""
    criterion: str = ""
    part: str = ""
    problem: str = ""
    reason: str = Field(default="", exclude_if=lambda reason: not reason)
    """The judge's explanation of `value`, if the protocol separates it from the reply. Serialised only if
    present, so traces recorded before the field existed are exported unchanged; so is the next."""
    confidence: float | None = Field(default=None, allow_inf_nan=False, exclude_if=lambda number: number is None)
    """A number that is larger the surer the judge is, such as a probability that it stated; None if there is none."""


class Gold(Frozen):
    """The gold value of a target and where it comes from."""

    target: Target
    value: Value | None
    source: Source
    annotators: int
    """The number of annotators with a current label."""
    distribution: tuple[tuple[Value, int], ...]
    """(value, number of labels), most frequent first."""
    reason: str


def resolve_gold(
    target: Target,
    labels: Mapping[str, Value],
    adjudication: Adjudication | None = None,
    scale: Scale | None = None,
) -> Gold:
    """Return the gold value: adjudicated, a single label, the mean of scores or weights, unanimous, or majority.

    `labels` holds each annotator's newest value. `scale` is the declared scale of the target. A tie is never broken: it
    is unresolved until an adjudicator decides. Judges are not considered: see `judges_gold`.
    """
    distribution = _count_values(labels)
    value, source, reason = _resolve(target.kind, list(labels.values()), distribution, adjudication, scale)
    return Gold(
        target=target, value=value, source=source, annotators=len(labels), distribution=distribution, reason=reason
    )


def judges_gold(target: Target, verdicts: Mapping[str, Value]) -> Gold:
    """Return the value of agreed verdicts for a target without labels, with the source "judges".

    `verdicts` has the verdict of each selected run that has one. The reason names the runs: gold with this source says
    nothing about them.
    """
    values, names = list(verdicts.values()), ", ".join(verdicts)
    equal = len({_hashable(verdict) for verdict in values}) == 1
    return Gold(
        target=target,
        value=values[0] if equal else None,
        source="judges" if equal else "unresolved",
        annotators=0,
        distribution=(),
        reason=f"no label; the verdict of {names}" if equal else f"no label, and the verdicts of {names} differ",
    )


def policy_gold(target: Target, value: Value, policy: str) -> Gold:
    """Return a verdict that stands without a person as the value of a target, with the source "policy"."""
    reason = f"no label; accepted by the policy: {policy}"
    return Gold(target=target, value=value, source="policy", annotators=0, distribution=(), reason=reason)


def is_match(value: Value, known: Value, tolerance: float = 0) -> bool:
    """Return whether a value equals a known one; two numbers, and each of several weights, may differ by `tolerance`.

    True does not equal 1.
    """
    if isinstance(value, bool) or isinstance(known, bool):
        return value is known
    if isinstance(value, int | float) and isinstance(known, int | float):
        return abs(value - known) <= tolerance
    if isinstance(value, Mapping) and isinstance(known, Mapping):
        return value.keys() == known.keys() and all(
            abs(value[name] - known[name]) <= tolerance + 1e-9 for name in known
        )
    return value == known


def majority_value(values: Sequence[Value]) -> Value | None:
    """Return the value of more than half; None if there is none."""
    counts = Counter(map(_hashable, values))
    value, count = counts.most_common(1)[0] if counts else (None, 0)
    return _from_hashable(value) if count * 2 > len(values) else None


def mean_value(values: Sequence[Value]) -> Value | None:
    """Return the mean of numbers, or of each aspect's weight; None for other values and for different aspects."""
    try:
        return _mean(values) if values else None
    except (OverflowError, ValueError):  # numbers beyond those of a computer, or infinite ones of both signs
        return None


def _mean(values: Sequence[Value]) -> Value | None:
    first = values[0]
    if isinstance(first, dict):
        weights = [value for value in values if isinstance(value, dict) and value.keys() == first.keys()]
        return {name: fmean(each[name] for each in weights) for name in first} if len(weights) == len(values) else None
    numbers = [value for value in values if is_number(value)]
    if len(numbers) < len(values):
        return None
    mean = fmean(numbers)
    return int(mean) if mean.is_integer() and all(isinstance(number, int) for number in numbers) else mean


def _count_values(labels: Mapping[str, Value]) -> tuple[tuple[Value, int], ...]:
    counts = Counter(_hashable(value) for value in labels.values())
    # The representation breaks ties of frequency, so exports do not depend on the order of the labels.
    most_frequent_first = sorted(counts.items(), key=lambda pair: (-pair[1], repr(pair[0])))
    return tuple((_from_hashable(value), count) for value, count in most_frequent_first)


def _resolve(
    kind: Kind,
    values: Sequence[Value],
    distribution: tuple[tuple[Value, int], ...],
    adjudication: Adjudication | None,
    scale: Scale | None,
) -> tuple[Value | None, Source, str]:
    if adjudication is not None:
        rule, reason = adjudication.rule, adjudication.reason
        return adjudication.value, "adjudicated", f"{rule}: {reason}" if reason else rule
    if len(values) < 2:
        return (values[0], "single", "1 label") if values else (None, "unresolved", "no label")
    if kind in MEAN_KINDS and (scale is None or scale.level != "nominal"):
        mean = mean_value(values)
        if mean is not None:
            return mean, "mean", f"mean of {len(values)}"
    value, count = distribution[0]
    if count == len(values):
        return value, "unanimous", f"{count} of {count}"
    if count * 2 > len(values):
        return value, "majority", f"{count} of {len(values)}"
    return None, "unresolved", f"no majority among {len(values)} annotators"


def _hashable(value: Value) -> Any:
    """Return weights as sorted pairs, and booleans tagged: in Python True equals 1 and would be counted with it."""
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return (bool, value) if isinstance(value, bool) else value


def _from_hashable(value: Any) -> Value:
    if isinstance(value, tuple) and value and value[0] is bool:
        return bool(value[1])
    return dict(value) if isinstance(value, tuple) else value
