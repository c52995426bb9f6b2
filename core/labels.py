"""What people say of targets, and what stands as gold."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

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
]
Value = bool | int | float | str | dict[str, float]
Level = Literal["nominal", "ordinal", "interval"]
Source = Literal["adjudicated", "unanimous", "majority", "unresolved", "judges"]


class Scale(Frozen):
    """The values that may occur, declared before anybody labels."""

    level: Level
    categories: tuple[bool | int | float | str, ...] = ()
    """In order, lowest first; empty for a continuous score between `low` and `high`."""
    low: float | None = None
    high: float | None = None

    def holds(self, value: object) -> bool:
        """Whether `value` lies on this scale; True is not 1 here."""
        if self.categories:
            return any(value == c and isinstance(value, bool) == isinstance(c, bool) for c in self.categories)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def spans(self, value: object) -> bool:
        """Whether `value` lies on this scale or, as a mean does, between two of its numbers."""
        ends = [one for one in self.categories if isinstance(one, int | float) and not isinstance(one, bool)]
        if self.holds(value) or len(ends) < max(len(self.categories), 1):
            return self.holds(value)
        return isinstance(value, int | float) and not isinstance(value, bool) and min(ends) <= value <= max(ends)


PREFERENCE = Scale(level="nominal", categories=(1, 2, 0))
TRUTH = Scale(level="nominal", categories=(True, False))


class Target(Frozen):
    """The thing that a person and a protocol can both judge."""

    item: str
    kind: Kind
    criterion: str = ""
    part: str = ""


class Label(Frozen):
    """A person's value for a target. Labels are only ever added; the newest stands."""

    target: Target
    annotator: str
    value: Value | None
    """None takes the earlier label back."""
    blind: bool = True
    """Given before the annotator could see other people's labels or the judges' verdict."""
    reason: str = ""
    seconds: float | None = None
    at: datetime | None = None


class Ruling(Frozen):
    """An adjudicator's decision on a target."""

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
    """None: no verdict, and `problem` says why."""
    criterion: str = ""
    part: str = ""
    problem: str = ""


class Gold(Frozen):
    """What stands for a target, and where it comes from."""

    target: Target
    value: Value | None
    source: Source
    annotators: int
    distribution: tuple[tuple[Value, int], ...]
    """(value, how many standing labels), most frequent first."""
    reason: str


def gold(
    target: Target,
    labels: Mapping[str, Value],
    ruling: Ruling | None = None,
    verdicts: Sequence[Value] = (),
) -> Gold:
    """Adjudicated, else unanimous, else majority, else unresolved; the judges' agreed verdict where nobody labelled.

    `labels` holds each annotator's standing value. A tie is never broken: it is unresolved until somebody rules.
    """
    distribution = _distribution(labels)
    value, source, reason = _standing(distribution, len(labels), ruling, verdicts)
    return Gold(
        target=target, value=value, source=source, annotators=len(labels), distribution=distribution, reason=reason
    )


def _distribution(labels: Mapping[str, Value]) -> tuple[tuple[Value, int], ...]:
    counts = Counter(_hashable(value) for value in labels.values())
    spread = sorted(counts.items(), key=lambda pair: (-pair[1], repr(pair[0])))
    return tuple((_plain(value), count) for value, count in spread)


def _standing(
    distribution: tuple[tuple[Value, int], ...], voters: int, ruling: Ruling | None, verdicts: Sequence[Value]
) -> tuple[Value | None, Source, str]:
    if ruling is not None:
        return ruling.value, "adjudicated", f"{ruling.rule}: {ruling.reason}" if ruling.reason else ruling.rule
    if not voters:
        return _from_judges(verdicts)
    top, most = distribution[0]
    if most == voters:
        return top, "unanimous", f"{most} of {voters}"
    if most * 2 > voters:
        return top, "majority", f"{most} of {voters}"
    return None, "unresolved", f"no majority among {voters} annotators"


def _from_judges(verdicts: Sequence[Value]) -> tuple[Value | None, Source, str]:
    agreed = {_hashable(verdict) for verdict in verdicts}
    if not agreed:
        return None, "unresolved", "no label, and no verdict that the judges agreed on"
    if len(agreed) > 1:
        return None, "unresolved", "no label, and the runs' verdicts differ"
    return verdicts[0], "judges", "the judges agreed; nobody labelled it"


def _hashable(value: Value) -> Any:
    """Weights become sorted pairs; True stays apart from 1."""
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return (bool, value) if isinstance(value, bool) else value


def _plain(value: Any) -> Value:
    if isinstance(value, tuple) and value and value[0] is bool:
        return bool(value[1])
    return dict(value) if isinstance(value, tuple) else value
