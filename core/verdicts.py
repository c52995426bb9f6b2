"""Verdicts: the contention of the opinions behind one, from 0 (none) to 1 (maximal), and those on several criteria.

Each of several criteria has its own outcome.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.labels import Kind, Opinion, Scale, Value
from core.trace import Event, Outcome, Turn, TurnCompleted, Verdict

# Kinds of opinions whose contention needs no scale.
UNORDERED_KINDS: frozenset[Kind] = frozenset({"preference", "aiu_precision", "aiu_recall"})
# The default above which a verdict counts as disputed: scores that differ by more than half of the scale, or votes of
# which none has a majority. An odd number of votes with a bare majority, such as two against one, has exactly 0.5.
DISPUTE_THRESHOLD = 0.5
ROUNDING = 1e-9


def contention(opinions: Iterable[Value | None], scale: Scale | None = None, *, flipped: bool = False) -> float | None:
    """Return the contention of opinions on one target; None if none can be read.

    Scores, which are numbers on a `scale`: their range divided by the length of the scale. Everything else: one minus
    the share of the most frequent value, divided by its largest possible value 1 - 1/n, so n different values
    give 1.
    `flipped` says that a judge changed its choice with the order of the responses, which gives 1.
    """
    readable = [opinion for opinion in opinions if opinion is not None]
    if flipped:
        return 1.0
    if not readable:
        return None
    length = scale_length(scale)
    numbers = [float(value) for value in readable if isinstance(value, int | float) and not isinstance(value, bool)]
    if length and len(numbers) == len(readable):
        return min(1.0, (max(numbers) - min(numbers)) / length)
    return _division(readable)


def verdict_contention(verdict: Verdict) -> float | None:
    """Return the contention of a verdict: its own, otherwise the largest of its targets by their last opinions.

    Verdicts of earlier versions and imported ones have none of their own. It is computed if a target has two last
    opinions or more that are not numbers on a scale, which is not stored with them; None if there is no such target.
    """
    if verdict.contention is not None:
        return verdict.contention
    by_target: dict[tuple[str, str, str], list[Value | None]] = defaultdict(list)
    for opinion in verdict.opinions:
        if opinion.stage == "last" and opinion.kind in UNORDERED_KINDS:
            by_target[opinion.kind, opinion.criterion, opinion.part].append(opinion.value)
    values = [contention(opinions) for opinions in by_target.values() if len(opinions) > 1]
    return max((value for value in values if value is not None), default=None)


def conclusion(judge: str, kind: Kind, value: Value | None, reason: str, criterion: str) -> Opinion:
    """Return what a trace concludes about a criterion; without a value the reason is its problem."""
    problem = "" if value is not None else reason
    return Opinion(kind=kind, judge=judge, stage="verdict", value=value, criterion=criterion, problem=problem)


def is_disputed(contention: float | None, threshold: float) -> bool:
    """Return whether the contention is above the threshold."""
    return contention is not None and contention > threshold + ROUNDING


def scale_length(scale: Scale | None) -> float | None:
    """Return the distance between the ends of a numeric scale; None if the scale has no numeric ends."""
    if scale is None or scale.level == "nominal":
        return None
    levels = [value for value in scale.categories if isinstance(value, int | float) and not isinstance(value, bool)]
    low = scale.low if scale.low is not None else min(levels, default=None)
    high = scale.high if scale.high is not None else max(levels, default=None)
    if low is None or high is None or high <= low:
        return None
    return float(high) - float(low)


def _division(values: Sequence[Value]) -> float:
    """Return one minus the modal share, as a share of its largest value: (1 - m/n) / (1 - 1/n), computed exactly."""
    if len(values) < 2:
        return 0.0
    counts = Counter((isinstance(value, bool), repr(value) if isinstance(value, dict) else value) for value in values)
    return (len(values) - max(counts.values())) / (len(values) - 1)


# Most in need of an annotator first.
OUTCOMES_BY_NEED: tuple[Outcome, ...] = ("disputed", "no_verdict", "agreed")


def combine_verdicts(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return one verdict on several criteria from {criterion name: verdict}.

    The outcome is the one that needs an annotator most: disputed, otherwise no verdict, otherwise agreed. The
    contention is the largest.
    """
    outcomes = {criterion: verdict.outcome for criterion, verdict in verdicts.items()}
    contentions = {
        criterion: verdict.contention for criterion, verdict in verdicts.items() if verdict.contention is not None
    }
    reasons = {criterion: verdict.reason for criterion, verdict in verdicts.items() if verdict.reason}
    return Verdict(
        outcome=next(outcome for outcome in OUTCOMES_BY_NEED if outcome in outcomes.values()),
        value=next(iter(verdicts.values())).value if len(verdicts) == 1 else None,
        reason="; ".join(f"{criterion}: {reason}" for criterion, reason in reasons.items()),
        opinions=tuple(opinion for verdict in verdicts.values() for opinion in verdict.opinions),
        contention=max(contentions.values(), default=None),
        outcomes=outcomes if len(outcomes) > 1 else {},
        contentions=contentions if len(outcomes) > 1 else {},
        reasons=reasons if len(outcomes) > 1 else {},
    )


def criterion_outcomes(verdict: Verdict) -> Mapping[str, Outcome]:
    """Return criterion -> outcome for the criteria whose outcome may differ from that of the verdict.

    Verdicts of earlier versions and imported ones have one outcome for all criteria. If some criteria have no value,
    they are the reason of a dispute, and those with a value are agreed.
    """
    if verdict.outcomes or verdict.outcome == "agreed":
        return verdict.outcomes
    has_value: dict[str, bool] = {}
    for opinion in verdict.opinions:
        if opinion.stage == "verdict":
            has_value[opinion.criterion] = has_value.get(opinion.criterion, True) and opinion.value is not None
    if all(has_value.values()):
        return {}
    return {criterion: "agreed" for criterion, has in has_value.items() if has}


def verdict_of_criterion(verdict: Verdict, criterion: str) -> Verdict:
    """Return the part of a verdict on several criteria that is about one of them; unchanged if it is on one.

    The reason is that of the whole verdict if the outcomes are not stored by criterion.
    """
    opinions = tuple(opinion for opinion in verdict.opinions if opinion.criterion == criterion)
    if len(opinions) == len(verdict.opinions):
        return verdict
    concluded = [opinion.value for opinion in opinions if opinion.stage == "verdict"]
    return Verdict(
        outcome=criterion_outcomes(verdict).get(criterion, verdict.outcome),
        value=concluded[0] if len(concluded) == 1 else None,
        reason=verdict.reasons.get(criterion, verdict.reason),
        opinions=opinions,
        contention=verdict.contentions.get(criterion),
    )


# The stances of a debate: each judge's value in each round, and where judges change or contradict each other.


@dataclass(frozen=True)
class Stance:
    """One judge's value in one round; `seq` is the number of its event in the trace."""

    seq: int
    judge: str
    round: int
    value: Value | None
    problem: str
    previous_value: Value | None
    """The judge's last readable value before this one, in the same order of the responses; None if there is none."""
    held_before: tuple[tuple[str, int], ...] | None = None
    """Of a changed value: the other judges that had stated it in what this one had read, each with the last such round.
    None if it is not known what was read, or if no other judge's value was."""

    @property
    def changed(self) -> bool:
        """Whether the judge's value differs from its previous one."""
        return self.value is not None and self.previous_value is not None and self.value != self.previous_value


# (turn, the turns before it in its order of the responses) -> those that its speaker had read.
Heard = Callable[[Turn, Sequence[Turn]], Sequence[Turn]]


def list_stances(events: Sequence[tuple[int, Event]], heard: Heard | None = None) -> list[Stance]:
    """Return every stance of a debate in the order of its turns; `events` are (number, event) pairs."""
    # Sorted by their asks: the replies of one round arrive, and are stored, in any order.
    answered = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnCompleted))
    return stances_of_turns(((seq, turn) for _, seq, turn in answered), lambda turn: turn.reading, heard)


def stances_of_turns(
    turns: Iterable[tuple[int, Turn]], value_of: Callable[[Turn], Value | None], heard: Heard | None = None
) -> list[Stance]:
    """Return the stances of (number, turn) pairs in the order of the flow."""
    latest_values: dict[tuple[str, tuple[int, ...]], Value] = {}
    earlier: dict[tuple[int, ...], list[Turn]] = defaultdict(list)
    stances = []
    for seq, turn in turns:
        value, before = value_of(turn), latest_values.get((turn.speaker, turn.shown))
        stance = Stance(seq, turn.speaker, turn.round, value, turn.problem, before)
        if heard is not None and stance.changed:
            others = [other for other in heard(turn, earlier[turn.shown]) if other.speaker != turn.speaker]
            stated = [(other, stated) for other in others if (stated := value_of(other)) is not None]
            held = {other.speaker: other.round for other, stated in stated if stated == value}
            stance = replace(stance, held_before=tuple(held.items()) if stated else None)
        stances.append(stance)
        earlier[turn.shown].append(turn)
        if value is not None:
            latest_values[turn.speaker, turn.shown] = value
    return stances


def find_disagreements(stances: Sequence[Stance]) -> list[int]:
    """Return the event numbers of the stances that change a judge's value or contradict the previous speaker."""
    numbers, previous = [], None
    for stance in stances:
        if stance.value is None:
            continue
        if stance.changed or (previous is not None and stance.value != previous):
            numbers.append(stance.seq)
        previous = stance.value
    return numbers


def choice_of_orders(first: Value | None, second: Value | None) -> Value | None:
    """Return JudgeBench's verdict of the choices in two orders: a tie in one order does not outweigh a choice.

    Each choice counts +1 for response 1, -1 for response 2, and 0 for a tie or no choice; the sign of the sum decides
    (Tan et al. 2024, arXiv:2410.12784, `compute_final_metrics`). Two ties are a tie. Opposite choices, which the
    benchmark does not count as correct, are no verdict.
    """
    total = sum({1: 1, 2: -1}.get(choice, 0) for choice in (first, second) if isinstance(choice, int))
    if total:
        return 1 if total > 0 else 2
    return 0 if first == second == 0 else None
