"""ChatEval's verdicts: the last turn of each persona, by average or majority (Appendix B), over both orders.

The verdict is disputed if its contention is above the threshold in the settings; it keeps its value. The flow, the
reader of released discussions and the view call the same functions on recorded turns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isclose
from statistics import fmean
from typing import Literal

from core.labels import Opinion, Scale, Value
from core.protocols.chateval.settings import Settings
from core.protocols.prompt_parts import describe_choice, describe_vote
from core.trace import Turn, Verdict
from core.verdicts import conclusion, contention, is_disputed

NAME = "chateval"
# (persona, order in which it read the responses) -> its turn.
TurnsByPersona = Mapping[tuple[str, tuple[int, ...]], Turn]


def conclude(turns: Sequence[Turn], settings: Settings) -> Verdict:
    """Return the verdict: agreed if there is a value and little contention, disputed if opinions differ, or none.

    A verdict needs a readable reply in each order of the responses, and readable replies of at least two personas if
    there are several: one persona is no consensus.
    """
    last = turns_by_persona(turns)
    distance = measure_contention(last, settings)
    missing = _describe_missing(last, settings)
    value, reason = (None, missing) if missing else _CONCLUSIONS[settings.outcome](last, settings)
    asked = len(settings.personas) * len(settings.orders)
    unread = asked - sum(turn.reading is not None for turn in last.values())
    if unread and not missing:
        reason = f"{reason}; {unread} of {asked} replies could not be read"
    has_split = value is None and not missing
    outcome: Literal["agreed", "disputed", "no_verdict"]
    outcome = "no_verdict" if missing else "agreed"
    if has_split or (value is not None and is_disputed(distance, settings.dispute_threshold)):
        outcome = "disputed"
    concluded = conclusion(NAME, settings.kind, value, reason, settings.criterion_name)
    opinions = (*persona_opinions(turns, settings), concluded)
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=opinions, contention=distance)


def measure_contention(last: TurnsByPersona, settings: Settings) -> float | None:
    """Return the contention of the last turns; None if none is readable.

    Ratings: their range, as a share of the scale. Votes: how they are divided. Scores: the larger of how the personas'
    preferences are divided, without those of equal scores, and the range of a response's mean scores by persona, as a
    share of the scale. 1 for a persona whose vote, or preferred response, changes with the order of the responses.
    """
    readings = [turn.reading for turn in last.values()]
    match settings.outcome:
        case "rating":
            return contention(readings, settings.scale)
        case "vote" | "step":
            return contention(readings, flipped=any(_flips(last, persona.name) for persona in settings.personas))
        case "scores":
            return _contention_of_scores(last, settings)


def _contention_of_scores(last: TurnsByPersona, settings: Settings) -> float | None:
    scale = Scale(level="interval", low=settings.lowest, high=settings.highest)
    flipped = any(_flips(last, persona.name) for persona in settings.personas)
    means = []
    for persona in settings.personas:
        readings = [turn.reading for (speaker, _), turn in last.items() if speaker == persona.name]
        scores = [reading for reading in readings if isinstance(reading, dict)]
        if scores:
            means.append((fmean(score["1"] for score in scores), fmean(score["2"] for score in scores)))
    # A persona with equal scores prefers neither response: it does not contradict one that prefers either.
    preferred = [preferred_response(*mean) for mean in means]
    preferences = contention([response for response in preferred if response != 0], flipped=flipped)
    ranges = [contention([mean[side] for mean in means], scale) for side in (0, 1)]
    return max((distance for distance in (preferences, *ranges) if distance is not None), default=None)


def _flips(last: TurnsByPersona, name: str) -> bool:
    """Return whether a persona's votes differ between the orders, or its scores prefer opposite responses."""
    turns = [turn for (speaker, _), turn in last.items() if speaker == name]
    values = {value for turn in turns if (value := turn_value(turn)) is not None}
    has_scores = any(isinstance(turn.reading, dict) for turn in turns)
    return values >= {1, 2} if has_scores else len(values) > 1


def turns_by_persona(turns: Sequence[Turn], number: int | None = None) -> TurnsByPersona:
    """Return each persona's turn `number` in each order; without a number the last one."""
    return {(turn.speaker, turn.shown): turn for turn in turns if turn.step == "talk" and number in (None, turn.round)}


def persona_opinions(turns: Sequence[Turn], settings: Settings) -> list[Opinion]:
    """Return each persona's last opinion, and its first if it stated one in an earlier turn."""
    names = [persona.name for persona in settings.personas]
    opinions: list[Opinion] = []
    first = turns_by_persona(turns, 0)
    # Runs of version 0.1 scored every turn and have no setting for it.
    is_scored = settings.is_scored(0) or any(turn_value(turn) is not None for turn in first.values())
    if settings.rounds > 1 and first and is_scored:
        opinions += [_opinion(name, "first", first, settings) for name in names]
    return opinions + [_opinion(name, "last", turns_by_persona(turns), settings) for name in names]


def persona_value(turns: TurnsByPersona, name: str, settings: Settings) -> tuple[Value | None, str]:
    """Return a persona's value over all orders, and the reason if it has none."""
    by_order = [turns.get((name, shown)) for shown in settings.orders]
    readings = [turn.reading for turn in by_order if turn is not None and turn.reading is not None]
    if len(readings) < len(by_order):
        unread = next(turn for turn in by_order if turn is None or turn.reading is None)
        return None, (unread.problem or "gave no opinion") if unread else "has given no reply"
    match settings.outcome:
        case "scores":
            scores = [reading for reading in readings if isinstance(reading, dict)]
            return preferred_response(sum(one["1"] for one in scores), sum(one["2"] for one in scores)), ""
        case "vote" if len(set(readings)) > 1:
            votes = " and ".join(map(describe_choice, readings))
            return None, f"its vote changes with the order of the responses: {votes}"
    return readings[0], ""


def preferred_response(first: float, second: float) -> int:
    """Return the response with the higher score; 0 if the scores are equal."""
    if isclose(first, second, abs_tol=1e-9):
        return 0
    return 1 if first > second else 2


def turn_value(turn: Turn) -> Value | None:
    """Return the choice of one turn: a response, neither, or its rating."""
    if isinstance(turn.reading, dict):
        return preferred_response(turn.reading["1"], turn.reading["2"])
    return turn.reading


def mean_scores(turns: TurnsByPersona, settings: Settings) -> tuple[float, float] | None:
    """Return each response's mean score: over the readable turns of an order, then over the orders.

    The orders are weighted equally, so an unreadable reply in one of them does not shift the balance. None if
    an order has no readable turn.
    """
    by_order = []
    for shown in settings.orders:
        readings = [turn.reading for (_, order), turn in turns.items() if order == shown]
        scores = [reading for reading in readings if isinstance(reading, dict)]
        if not scores:
            return None
        by_order.append([fmean(score[number] for score in scores) for number in ("1", "2")])
    return fmean(first for first, _ in by_order), fmean(second for _, second in by_order)


def _describe_missing(last: TurnsByPersona, settings: Settings) -> str:
    """Return why the readable turns are too few for a verdict; empty if they are enough."""
    readable = [turn for turn in last.values() if turn.reading is not None]
    personas = len({turn.speaker for turn in readable})
    if len({turn.shown for turn in readable}) < len(settings.orders):
        return f"only {len(readable)} of {len(settings.personas) * len(settings.orders)} replies could be read"
    if personas < min(2, len(settings.personas)):
        return f"only {personas} of {len(settings.personas)} personas gave a readable reply"
    return ""


def _conclude_scores(last: TurnsByPersona, settings: Settings) -> tuple[Value | None, str]:
    means = mean_scores(last, settings)
    assert means is not None, "every order has a readable turn"
    value = preferred_response(*means)
    if value == 0:
        return 0, f"both responses have {means[0]:.2f} on average"
    return value, f"{means[0]:.2f} for response 1 and {means[1]:.2f} for response 2 on average"


def _conclude_votes(last: TurnsByPersona, settings: Settings) -> tuple[Value | None, str]:
    """Return the choice with more than half of the readable votes, or None, and the reason."""
    counts = Counter(turn.reading for turn in last.values() if turn.reading is not None)
    total, is_step = counts.total(), settings.outcome == "step"
    value, count = counts.most_common(1)[0]
    if count * 2 > total:
        return value, f"{count} of {total} votes for {describe_vote(value, is_step=is_step)}"
    split = ", ".join(f"{count} for {describe_vote(value, is_step=is_step)}" for value, count in counts.most_common())
    return None, f"no majority of the {total} votes: {split}"


def _conclude_ratings(last: TurnsByPersona, settings: Settings) -> tuple[Value | None, str]:
    readings = [turn.reading for turn in last.values() if isinstance(turn.reading, int | float)]
    return fmean(readings), f"the mean of {len(readings)} ratings" if len(readings) > 1 else "one rating"


_CONCLUSIONS = {
    "scores": _conclude_scores,
    "vote": _conclude_votes,
    "rating": _conclude_ratings,
    "step": _conclude_votes,
}


def _opinion(name: str, stage: Literal["first", "last"], turns: TurnsByPersona, settings: Settings) -> Opinion:
    value, problem = persona_value(turns, name, settings)
    return Opinion(
        kind=settings.kind, judge=name, stage=stage, value=value, criterion=settings.criterion_name, problem=problem
    )
