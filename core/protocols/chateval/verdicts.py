"""What a ChatEval talk comes to: the last turn of each persona, averaged or by majority (Appendix B), in both orders.

The flow ends with it; readers of recorded talks and the view call the same functions on recorded turns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isclose
from statistics import fmean
from typing import Literal

from core.labels import Opinion, Value
from core.protocols.chateval.settings import Settings
from core.trace import Turn, Verdict

NAME = "chateval"
Ballots = Mapping[tuple[str, tuple[int, ...]], Turn]
"""(persona, order in which it read the responses) -> its turn."""


def conclude(said: Sequence[Turn], settings: Settings) -> Verdict:
    """Agreed when there is an answer; disputed when votes were read and have no majority; else no verdict."""
    last = spoken(said)
    match settings.outcome:
        case "scores":
            value, reason = _by_scores(last, settings)
        case "vote":
            value, reason = _by_votes(last, settings)
        case "rating":
            value, reason = _by_ratings(last)
    several = settings.outcome == "vote" and len({turn.reading for turn in last.values()} - {None}) > 1
    outcome: Literal["agreed", "disputed", "no_verdict"]
    outcome = "agreed" if value is not None else "disputed" if several else "no_verdict"
    ruling = Opinion(
        kind=settings.kind,
        judge=NAME,
        stage="verdict",
        value=value,
        criterion=_criterion(settings),
        problem="" if value is not None else reason,
    )
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(*opinions(said, settings), ruling))


def spoken(said: Sequence[Turn], number: int | None = None) -> Ballots:
    """Each persona's turn of that number in each order; without a number the last one."""
    return {(turn.speaker, turn.shown): turn for turn in said if turn.step == "talk" and number in (None, turn.round)}


def opinions(said: Sequence[Turn], settings: Settings) -> list[Opinion]:
    """What each persona said first, where there was more than one turn, and last."""
    names = [persona.name for persona in settings.personas]
    found: list[Opinion] = []
    if settings.rounds > 1 and any(turn.round == 0 for turn in said):
        found += [_opinion(name, "first", spoken(said, 0), settings) for name in names]
    return found + [_opinion(name, "last", spoken(said), settings) for name in names]


def held(ballots: Ballots, name: str, settings: Settings) -> tuple[Value | None, str]:
    """What a persona holds over all orders, and why it holds nothing."""
    turns = [ballots.get((name, shown)) for shown in settings.orders]
    readings = [turn.reading for turn in turns if turn is not None and turn.reading is not None]
    if len(readings) < len(turns):
        silent = next(turn for turn in turns if turn is None or turn.reading is None)
        return None, (silent.problem or "gave no opinion") if silent else "has not spoken"
    match settings.outcome:
        case "scores":
            return preferred(*_totals(readings)), ""
        case "vote" if len(set(readings)) > 1:
            return None, "its vote changes with the order of the responses: " + " and ".join(map(_named, readings))
    return readings[0], ""


def preferred(first: float, second: float) -> int:
    """The response with the higher score; 0 where both have the same."""
    if isclose(first, second, abs_tol=1e-9):
        return 0
    return 1 if first > second else 2


def stance(turn: Turn) -> Value | None:
    """What a turn leans to: a response, neither, or its rating."""
    if isinstance(turn.reading, dict):
        return preferred(turn.reading["1"], turn.reading["2"])
    return turn.reading


def means(ballots: Ballots, settings: Settings) -> tuple[float, float] | None:
    """Each response's mean score: over those who could be read in an order, then over the orders.

    So that a reply which cannot be read does not tip the balance of the orders. None where nobody could be read in
    one of them.
    """
    by_order = []
    for shown in settings.orders:
        readings = [turn.reading for (_, order), turn in ballots.items() if order == shown]
        there = [reading for reading in readings if isinstance(reading, dict)]
        if not there:
            return None
        by_order.append([fmean(scores[number] for scores in there) for number in ("1", "2")])
    return fmean(first for first, _ in by_order), fmean(second for _, second in by_order)


def _by_scores(last: Ballots, settings: Settings) -> tuple[Value | None, str]:
    read, asked = _read(last), len(settings.personas) * len(settings.orders)
    found = means(last, settings)
    if found is None:
        return None, f"only {read} of {asked} scorings could be read" if read else "no scores could be read"
    unread = f"; {asked - read} of {asked} scorings could not be read" if read < asked else ""
    value = preferred(*found)
    if value == 0:
        return 0, f"both responses have {found[0]:.2f} on average{unread}"
    return value, f"{found[0]:.2f} for response 1 and {found[1]:.2f} for response 2 on average{unread}"


def _by_votes(last: Ballots, settings: Settings) -> tuple[Value | None, str]:
    """More than half of all votes that were asked for; one that could not be read counts for nobody."""
    asked = len(settings.personas) * len(settings.orders)
    counts = Counter(turn.reading for turn in last.values() if turn.reading is not None)
    unread = f"; {asked - counts.total()} of {asked} could not be read" if counts.total() < asked else ""
    if counts:
        value, most = counts.most_common(1)[0]
        if most * 2 > asked:
            return value, f"{most} of {asked} votes for {_named(value)}{unread}"
    split = ", ".join(f"{count} for {_named(value)}" for value, count in counts.most_common()) or "none"
    return None, f"no majority of the {asked} votes: {split}{unread}"


def _by_ratings(last: Ballots) -> tuple[Value | None, str]:
    readings = [turn.reading for turn in last.values() if isinstance(turn.reading, int | float)]
    if not readings:
        return None, "no rating could be read"
    unread = f"; {len(last) - len(readings)} more could not be read" if len(readings) < len(last) else ""
    return fmean(readings), f"the mean of {len(readings)} ratings{unread}"


def _opinion(name: str, stage: Literal["first", "last"], ballots: Ballots, settings: Settings) -> Opinion:
    value, problem = held(ballots, name, settings)
    return Opinion(
        kind=settings.kind, judge=name, stage=stage, value=value, criterion=_criterion(settings), problem=problem
    )


def _read(last: Ballots) -> int:
    return sum(turn.reading is not None for turn in last.values())


def _totals(readings: Sequence[Value]) -> tuple[float, float]:
    """Scores summed over the orders."""
    scores = [reading for reading in readings if isinstance(reading, dict)]
    return sum(one["1"] for one in scores), sum(one["2"] for one in scores)


def _criterion(settings: Settings) -> str:
    return settings.criterion.name if settings.criterion else ""


def _named(value: Value) -> str:
    return "neither" if value == 0 else f"response {value}"
