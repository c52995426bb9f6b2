"""ChatEval's verdicts: the last turn of each persona, by average or majority (Appendix B), over both orders.

The flow, the readers of released discussions and the view call the same functions on recorded turns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isclose
from statistics import fmean
from typing import Literal

from core.labels import Opinion, Value
from core.protocols.chateval.settings import Settings
from core.protocols.choices import describe_choice
from core.trace import Turn, Verdict

NAME = "chateval"
TurnsByPersona = Mapping[tuple[str, tuple[int, ...]], Turn]
"""(persona, order in which it read the responses) -> its turn."""


def conclude(turns: Sequence[Turn], settings: Settings) -> Verdict:
    """Agreed where there is a value; disputed where readable votes have no majority; else no verdict."""
    last = turns_by_persona(turns)
    match settings.outcome:
        case "scores":
            value, reason = _conclude_scores(last, settings)
        case "vote":
            value, reason = _conclude_votes(last, settings)
        case "rating":
            value, reason = _conclude_ratings(last)
    is_split = settings.outcome == "vote" and len({turn.reading for turn in last.values()} - {None}) > 1
    outcome: Literal["agreed", "disputed", "no_verdict"]
    outcome = "agreed" if value is not None else "disputed" if is_split else "no_verdict"
    conclusion = Opinion(
        kind=settings.kind,
        judge=NAME,
        stage="verdict",
        value=value,
        criterion=settings.criterion_name,
        problem="" if value is not None else reason,
    )
    opinions = (*persona_opinions(turns, settings), conclusion)
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=opinions)


def turns_by_persona(turns: Sequence[Turn], number: int | None = None) -> TurnsByPersona:
    """Return each persona's turn `number` in each order; without a number the last one."""
    return {(turn.speaker, turn.shown): turn for turn in turns if turn.step == "talk" and number in (None, turn.round)}


def persona_opinions(turns: Sequence[Turn], settings: Settings) -> list[Opinion]:
    """Return each persona's last opinion, and its first where it had more than one turn."""
    names = [persona.name for persona in settings.personas]
    opinions: list[Opinion] = []
    if settings.rounds > 1 and any(turn.round == 0 for turn in turns):
        opinions += [_opinion(name, "first", turns_by_persona(turns, 0), settings) for name in names]
    return opinions + [_opinion(name, "last", turns_by_persona(turns), settings) for name in names]


def persona_value(turns: TurnsByPersona, name: str, settings: Settings) -> tuple[Value | None, str]:
    """Return a persona's value over all orders, and the reason where it has none."""
    by_order = [turns.get((name, shown)) for shown in settings.orders]
    readings = [turn.reading for turn in by_order if turn is not None and turn.reading is not None]
    if len(readings) < len(by_order):
        unread = next(turn for turn in by_order if turn is None or turn.reading is None)
        return None, (unread.problem or "gave no opinion") if unread else "has given no reply"
    match settings.outcome:
        case "scores":
            return preferred_response(*_total_scores(readings)), ""
        case "vote" if len(set(readings)) > 1:
            votes = " and ".join(map(describe_choice, readings))
            return None, f"its vote changes with the order of the responses: {votes}"
    return readings[0], ""


def preferred_response(first: float, second: float) -> int:
    """Return the response with the higher score; 0 where the scores are equal."""
    if isclose(first, second, abs_tol=1e-9):
        return 0
    return 1 if first > second else 2


def turn_value(turn: Turn) -> Value | None:
    """Return what one turn supports: a response, neither, or its rating."""
    if isinstance(turn.reading, dict):
        return preferred_response(turn.reading["1"], turn.reading["2"])
    return turn.reading


def mean_scores(turns: TurnsByPersona, settings: Settings) -> tuple[float, float] | None:
    """Return each response's mean score: over the readable turns of an order, then over the orders.

    The orders are weighted equally, so that an unreadable reply in one of them does not shift the balance. None where
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


def _conclude_scores(last: TurnsByPersona, settings: Settings) -> tuple[Value | None, str]:
    read, expected = _count_readable(last), len(settings.personas) * len(settings.orders)
    means = mean_scores(last, settings)
    if means is None:
        return None, f"only {read} of {expected} scorings could be read" if read else "no scores could be read"
    unread = f"; {expected - read} of {expected} scorings could not be read" if read < expected else ""
    value = preferred_response(*means)
    if value == 0:
        return 0, f"both responses have {means[0]:.2f} on average{unread}"
    return value, f"{means[0]:.2f} for response 1 and {means[1]:.2f} for response 2 on average{unread}"


def _conclude_votes(last: TurnsByPersona, settings: Settings) -> tuple[Value | None, str]:
    """More than half of all votes that were asked for, the unreadable ones included."""
    expected = len(settings.personas) * len(settings.orders)
    counts = Counter(turn.reading for turn in last.values() if turn.reading is not None)
    unread = f"; {expected - counts.total()} of {expected} could not be read" if counts.total() < expected else ""
    if counts:
        value, count = counts.most_common(1)[0]
        if count * 2 > expected:
            return value, f"{count} of {expected} votes for {describe_choice(value)}{unread}"
    split = ", ".join(f"{count} for {describe_choice(value)}" for value, count in counts.most_common()) or "none"
    return None, f"no majority of the {expected} votes: {split}{unread}"


def _conclude_ratings(last: TurnsByPersona) -> tuple[Value | None, str]:
    readings = [turn.reading for turn in last.values() if isinstance(turn.reading, int | float)]
    if not readings:
        return None, "no rating could be read"
    unread = f"; {len(last) - len(readings)} more could not be read" if len(readings) < len(last) else ""
    return fmean(readings), f"the mean of {len(readings)} ratings{unread}"


def _opinion(name: str, stage: Literal["first", "last"], turns: TurnsByPersona, settings: Settings) -> Opinion:
    value, problem = persona_value(turns, name, settings)
    return Opinion(
        kind=settings.kind, judge=name, stage=stage, value=value, criterion=settings.criterion_name, problem=problem
    )


def _count_readable(turns: TurnsByPersona) -> int:
    return sum(turn.reading is not None for turn in turns.values())


def _total_scores(readings: Sequence[Value]) -> tuple[float, float]:
    """Return each response's scores, summed over the orders."""
    scores = [reading for reading in readings if isinstance(reading, dict)]
    return sum(score["1"] for score in scores), sum(score["2"] for score in scores)
