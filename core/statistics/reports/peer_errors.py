"""Correctness of the area chair by the number of correct peers (ReFeR, Section 5.3 and Figure 3).

A score is correct if it lies within a threshold of the annotators' score; the paper's 25 % are applied to the length of
the scale. An answer is correct if it is the gold answer. An unreadable reply is not correct.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.formats.tables import Column, in_file
from core.labels import Scale, Value, is_number
from core.statistics.data.arrays import Estimate
from core.statistics.measures.means import mean_estimate, share_estimate, wilson_proportion

# The paper's value, a quarter of the scale.
THRESHOLD = 0.25
# The name of the value that no peer misled the chair.
NO_PEER = "none"


@dataclass(frozen=True)
class ReviewedTrace:
    """One trace: the true value and the values of peers and chair; None if a reply was unreadable."""

    trace: int
    item: str
    truth: Value
    peers: tuple[tuple[str, Value | None], ...]
    """(name, value)."""
    chair: Value | None


@dataclass(frozen=True)
class TraceOutcome:
    """One trace: which peers were right, and whether the chair was."""

    reviewed: ReviewedTrace
    peers_right: tuple[str, ...]
    chair_right: bool

    @property
    def misled_by(self) -> tuple[str, ...]:
        """The peers that were wrong if the chair was wrong, with the same answer or an error in its direction."""
        if self.chair_right or self.reviewed.chair is None:
            return ()
        wrong = [(name, value) for name, value in self.reviewed.peers if name not in self.peers_right]
        return tuple(name for name, value in wrong if _is_same_error(value, self.reviewed.chair, self.reviewed.truth))


@dataclass(frozen=True)
class OutcomeSlice:
    """A slice of Figure 3: a number of peers right, the chair right or wrong."""

    peers_right: int
    peers: int
    chair_right: bool
    outcomes: tuple[TraceOutcome, ...]
    share: Estimate
    """Of all traces."""

    @property
    def name(self) -> str:
        """As the URL names it: `2 of 3, chair right`."""
        return f"{self.peers_right} of {self.peers}, chair {'right' if self.chair_right else 'wrong'}"


# Of the files of the chart.
COLUMNS = (
    in_file("peers_right peers"),
    Column("", lambda one: "yes" if one.chair_right else "no", key="chair_right"),
    Column("", lambda one: len(one.outcomes), key="n"),
    in_file("share.value share.low share.high", "share share_low share_high"),
)


def score_tolerance(scale: Scale, threshold: float = THRESHOLD) -> float | None:
    """Return the largest error of a correct score, a share of the scale's length; None for a scale without ends."""
    numbers = [float(category) for category in scale.categories if is_number(category)]
    low, high = (min(numbers), max(numbers)) if numbers else (scale.low, scale.high)
    return None if low is None or high is None else threshold * (high - low)


def is_correct(value: Value | None, truth: Value, tolerance: float | None = None) -> bool:
    """Return whether a value equals the truth or lies at most `tolerance` from it."""
    if value is None:
        return False
    if tolerance is not None and is_number(value) and is_number(truth):
        # Decimal fractions such as 2.6 - 2.1 exceed .5 in binary by a rounding error.
        return abs(float(value) - float(truth)) <= tolerance + 1e-9
    if isinstance(value, str) and isinstance(truth, str):
        return value.strip().casefold() == truth.strip().casefold()
    return value == truth


def classify_traces(reviewed: Iterable[ReviewedTrace], tolerance: float | None = None) -> list[TraceOutcome]:
    """Return the outcome of every trace; `tolerance` from `score_tolerance` for scores, None for answers."""
    return [
        TraceOutcome(
            reviewed=trace,
            peers_right=tuple(name for name, value in trace.peers if is_correct(value, trace.truth, tolerance)),
            chair_right=is_correct(trace.chair, trace.truth, tolerance),
        )
        for trace in reviewed
    ]


def outcome_slices(outcomes: Sequence[TraceOutcome]) -> list[OutcomeSlice]:
    """Return the slices of Figure 3 that are not empty, from no peer right to all.

    For each number the chair is right first, then wrong. Traces with different numbers of peers are never merged.
    """
    groups: dict[tuple[int, int, bool], list[TraceOutcome]] = {}
    for outcome in outcomes:
        key = (len(outcome.reviewed.peers), len(outcome.peers_right), not outcome.chair_right)
        groups.setdefault(key, []).append(outcome)
    return [
        OutcomeSlice(peers_right, peers, not chair_wrong, tuple(group), _share(len(group), len(outcomes)))
        for (peers, peers_right, chair_wrong), group in sorted(groups.items())
    ]


def published_shares(outcomes: Sequence[TraceOutcome]) -> dict[str, Estimate]:
    """Return the three shares of Section 5.3, each of all traces.

    "some": the chair was right and some but not all peers were; "led astray": it was wrong though at least one peer was
    right; "alone": it was right though no peer was.
    """
    some = sum(
        outcome.chair_right and 0 < len(outcome.peers_right) < len(outcome.reviewed.peers) for outcome in outcomes
    )
    astray = sum(not outcome.chair_right and bool(outcome.peers_right) for outcome in outcomes)
    alone = sum(outcome.chair_right and not outcome.peers_right for outcome in outcomes)
    counts = {"some": some, "led astray": astray, "alone": alone}
    return {name: _share(count, len(outcomes)) for name, count in counts.items()}


def count_misleading_peers(outcomes: Sequence[TraceOutcome]) -> Counter[str]:
    """Count how often each peer misled the chair, see `TraceOutcome.misled_by`."""
    return Counter(name for outcome in outcomes for name in outcome.misled_by)


def compare_with_people(
    outcomes: Iterable[TraceOutcome], labelled: Mapping[int, int]
) -> tuple[list[tuple[str, int, int]], Estimate]:
    """Compare the estimate with people's value of each labelled trace: a peer's number from 1, or 0 for none.

    Returns (peer or "none", traces in which people name it, traces in which the estimate does), and the share of traces
    in which the estimate, which can name several peers, has people's peer, or none if people have none.
    """
    named, estimated, equal = Counter[str](), Counter[str](), 0
    compared = [outcome for outcome in outcomes if outcome.reviewed.trace in labelled]
    for outcome in compared:
        number, peers = labelled[outcome.reviewed.trace], [name for name, _ in outcome.reviewed.peers]
        person = peers[number - 1] if 0 < number <= len(peers) else NO_PEER
        estimate = outcome.misled_by or (NO_PEER,)
        named[person] += 1
        estimated.update(estimate)
        equal += person in estimate
    names = list(dict.fromkeys([name for one in compared for name, _ in one.reviewed.peers] + [NO_PEER]))
    return [(name, named[name], estimated[name]) for name in names], _share(equal, len(compared))


@dataclass(frozen=True)
class PeerInfluence:
    """What leaving out a peer changes in the chair's verdicts, on the items on which the chair has both."""

    name: str
    """What differs: a peer that is left out, or nothing but the seed of the chair."""
    items: int
    change: Estimate
    """The mean of the verdict with all peers less the other one; of answers undefined."""
    distance: Estimate
    """The mean distance of the two verdicts; of answers the share that differs."""
    error: Estimate
    """The mean error with all peers less that of the other verdict, on items with a true value: above 0, the peer makes
    the chair worse. The error of an answer is 0 or 1."""


def peer_influence(
    name: str, whole: Mapping[str, Value | None], other: Mapping[str, Value | None], truths: Mapping[str, Value]
) -> PeerInfluence:
    """Compare the chair's verdicts by item, with all peers and without one; intervals are over items."""
    both = [(item, a, b) for item, a in whole.items() if a is not None and (b := other.get(item)) is not None]
    changes = [float(a) - float(b) for _, a, b in both if is_number(a) and is_number(b)]
    is_score = len(changes) == len(both)
    changes = changes if is_score else []
    errors = [error_of(a, truths[item]) - error_of(b, truths[item]) for item, a, b in both if item in truths]
    distance = (
        mean_estimate([abs(one) for one in changes]) if is_score else share_estimate([a != b for _, a, b in both])
    )
    return PeerInfluence(name, len(both), mean_estimate(changes), distance, mean_estimate(errors))


def error_of(value: Value, truth: Value) -> float:
    """Return the distance of a score from the truth; of an answer 0 if it is right, otherwise 1."""
    if is_number(value) and is_number(truth):
        return abs(float(value) - float(truth))
    return float(not is_correct(value, truth))


def _share(count: int, total: int) -> Estimate:
    """Return count / total with Wilson's 95 % interval."""
    value, low, high = wilson_proportion(count, total)
    return Estimate(value, low, high, count, total, 0, 0, reason="" if total else "no trace to count")


def _is_same_error(value: Value | None, chair: Value, truth: Value) -> bool:
    """Return whether a wrong value is the chair's answer or, for scores, on the same side of the truth."""
    if value is None:
        return False
    if is_number(value) and is_number(chair) and is_number(truth):
        return (float(value) - float(truth)) * (float(chair) - float(truth)) > 0
    return value == chair
