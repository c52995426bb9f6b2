"""What DnA-Eval's turns come to: scores and weights put together, added up and compared, without asking anybody.

The flow ends with it; the view and a replay call the same functions on recorded turns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from core import aspects as sums
from core.labels import Opinion, Value
from core.protocols.dna_eval.settings import Settings
from core.trace import Turn, Verdict


@dataclass(frozen=True)
class Judgement:
    """What one judge has said so far, put together; `problem` says why there is no overall score."""

    judge: str
    aspects: tuple[str, ...]
    weights: Mapping[str, float] | None
    no_weights: str
    """Why there are no weights, where they were asked for."""
    scores: tuple[Mapping[str, float], ...]
    """Each response's scores on the aspects that could be read."""
    overalls: tuple[float, ...] | None
    problem: str

    @property
    def complete(self) -> bool:
        """Whether every response has a score on every aspect."""
        return bool(self.aspects) and all(set(scores) == set(self.aspects) for scores in self.scores)


def aspects_of(settings: Settings, said: Sequence[Turn], judge: str) -> tuple[str, ...]:
    """The aspects that a judge goes by; empty where it has proposed none that could be read."""
    if settings.aspects:
        return tuple(aspect.name for aspect in settings.aspects)
    told = next((turn.reading for turn in said if turn.speaker == judge and turn.step == "aspects"), None)
    return tuple(told.split("\n")) if isinstance(told, str) else ()


def judgements(said: Sequence[Turn], settings: Settings, responses: int) -> list[Judgement]:
    """What the turns come to, judge by judge, without asking anybody: the view and a replay call this too."""
    return [
        _judgement([turn for turn in said if turn.speaker == judge.name], judge.name, settings, responses)
        for judge in settings.judges
    ]


def _judgement(said: Sequence[Turn], judge: str, settings: Settings, responses: int) -> Judgement:
    aspects = aspects_of(settings, said, judge)
    by_step = {(turn.step, turn.round): turn for turn in said}
    weights = by_step.get(("weights", 0))
    given = weights.reading if weights is not None and isinstance(weights.reading, dict) else None
    pairs = {name: _pair(by_step.get(("score", n))) for n, name in enumerate(aspects, start=1)}
    scores = tuple(
        {name: pair[str(number)] for name, pair in pairs.items() if pair} for number in range(1, responses + 1)
    )
    no_weights = "" if weights is None or given else weights.problem or "nothing was read"
    found = Judgement(judge, aspects, given, no_weights, scores, None, "")
    overalls = _overalls(found, _pair(by_step.get(("overall", 0))), settings)
    problem = "" if overalls else _problem(said, found)
    return replace(found, overalls=overalls, problem=problem)


def _overalls(judged: Judgement, told: Mapping[str, float], settings: Settings) -> tuple[float, ...] | None:
    """Eq. 3, or what the judge itself says in a chain of aspects; None while something is missing."""
    if settings.aggregation == "chain of aspects":
        return tuple(told[number] for number in sorted(told, key=int)) or None
    if judged.weights is None or not judged.complete:
        return None
    weights = judged.weights
    return tuple(sums.overall(weights, scores) for scores in judged.scores)


def _pair(turn: Turn | None) -> Mapping[str, float]:
    return turn.reading if turn is not None and isinstance(turn.reading, dict) else {}


def _problem(said: Sequence[Turn], judged: Judgement) -> str:
    """The first thing that is missing, in words."""
    for turn in said:
        if turn.reading is None:
            what = {"aspects": "aspects", "weights": "weights", "overall": "overall scores"}.get(turn.step)
            return f"no {what or 'score on ' + judged.aspects[turn.round - 1]}: {turn.problem or 'nothing was read'}"
    return "has not finished"


def conclude(judged: Sequence[Judgement], criterion: str, protocol: str) -> Verdict:
    """Agreed when all judges come to the same; disputed when two differ; no verdict when too little could be read.

    Of two responses the verdict is 1, 2 or 0 (Eq. 4). More are ranked: the verdict is each one's overall score, the
    mean over judges who rank them alike.
    """
    told = [one.overalls for one in judged if one.overalls]
    decisions = Counter(_decision(overalls) for overalls in told)
    agreed = len(decisions) == 1 and len(told) == len(judged)
    outcome = "agreed" if agreed else "disputed" if len(decisions) > 1 else "no_verdict"
    mean = tuple(sum(column) / len(told) for column in zip(*told, strict=True)) if agreed else None
    reason = _reason(judged, told, mean)
    count = max(len(one.scores) for one in judged)
    opinions = [opinion for one in judged for opinion in _opinions(one, criterion)]
    opinions += _concluded(protocol, "verdict", mean, count, criterion, "" if agreed else reason)
    return Verdict(outcome=outcome, value=_value(mean), reason=reason, opinions=tuple(opinions))


def _decision(overalls: Sequence[float]) -> Value | tuple[int, ...]:
    """What two judges can agree on: who is better, or the order of more than two."""
    return sums.preferred(overalls) if len(overalls) == 2 else sums.ranking(overalls)


def _value(mean: Sequence[float] | None) -> Value | None:
    if mean is None:
        return None
    return sums.preferred(mean) if len(mean) == 2 else {str(n): value for n, value in enumerate(mean, start=1)}


def _opinions(judged: Judgement, criterion: str) -> list[Opinion]:
    """A judge's preference (or scores, of more than two), and its weights."""
    found = _concluded(judged.judge, "last", judged.overalls, len(judged.scores), criterion, judged.problem)
    if judged.weights is not None or judged.no_weights:
        found.append(
            Opinion(
                kind="aspect_weights",
                judge=judged.judge,
                stage="last",
                value=dict(judged.weights) if judged.weights is not None else None,
                part=sums.part(judged.aspects),
                problem=judged.no_weights,
            )
        )
    return found


def _concluded(
    judge: str,
    stage: Literal["last", "verdict"],
    overalls: Sequence[float] | None,
    count: int,
    criterion: str,
    problem: str,
) -> list[Opinion]:
    if count == 2:
        value = None if overalls is None else sums.preferred(overalls)
        return [Opinion(kind="preference", judge=judge, stage=stage, value=value, criterion=criterion, problem=problem)]
    return [
        Opinion(
            kind="score",
            judge=judge,
            stage=stage,
            value=None if overalls is None else overalls[number],
            criterion=criterion,
            part=str(number + 1),
            problem=problem,
        )
        for number in range(count)
    ]


def _reason(judged: Sequence[Judgement], told: Sequence[Sequence[float]], mean: Sequence[float] | None) -> str:
    """The outcome in words for a person."""
    if mean is not None:
        winner = sums.preferred(mean)
        ahead = f"response {winner} is ahead" if winner else "the best responses are equal"
        return f"{ahead}, {_figures(mean)}" + (f" on average over {len(judged)} judges" if len(judged) > 1 else "")
    if len(told) == len(judged) or len({_decision(one) for one in told}) > 1:
        return "the judges differ: " + "; ".join(
            f"{one.judge} has {_figures(one.overalls)}" for one in judged if one.overalls
        )
    return "; ".join(f"{one.judge}: {one.problem}" if len(judged) > 1 else one.problem for one in judged if one.problem)


def _figures(overalls: Sequence[float]) -> str:
    """`8.05 to 7.8` in the order of two responses; more of them from the best to the worst."""
    if len(overalls) == 2:
        return " to ".join(f"{value:.4g}" for value in overalls)
    ranked = sorted(enumerate(overalls, start=1), key=lambda pair: -pair[1])
    return ", ".join(f"response {number} ({value:.4g})" for number, value in ranked)
