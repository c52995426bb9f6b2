"""DnA-Eval's verdicts: the scores and weights of recorded turns, their weighted sums and their comparison.

The flow, the view and replays call the same functions; none of them asks a model.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Literal

from core import aspects as aspect_scores
from core.aspects import rank_responses
from core.labels import Opinion, Value
from core.protocols import Judge
from core.protocols.dna_eval.settings import ScoringSettings, Settings
from core.trace import Turn, Verdict
from core.verdicts import contention, is_disputed


@dataclass(frozen=True)
class Judgement:
    """One judge's aspects, weights and scores so far."""

    judge: str
    scores: tuple[Mapping[str, float], ...]
    """Each response's readable scores by aspect."""
    overalls: tuple[float, ...] | None
    """Each response's overall score."""
    problem: str
    """Why there are no overall scores."""
    aspects: tuple[str, ...] = ()
    weights: Mapping[str, float] | None = None
    """The weights of the weighted sum: normalised to a sum of 100 unless the settings say otherwise."""
    weights_problem: str = ""
    """Why there are no weights, if they were asked for."""
    weigher: str = ""
    """Who weighted the aspects: the judge, unless the settings name another model."""
    stated_weights: Mapping[str, float] | None = None
    """The weights as the reply states them, which need not sum to 100."""
    flipped: bool = False
    """Whether two responses are ranked one way if they are read in one order, and the other way in the other."""

    @property
    def complete(self) -> bool:
        """Whether every response has a score on every aspect."""
        return bool(self.aspects) and all(set(scores) == set(self.aspects) for scores in self.scores)


def judge_aspects(settings: Settings, turns: Sequence[Turn], judge: str) -> tuple[str, ...]:
    """Return the predefined aspects, or those proposed for the judge; empty if the proposal is not readable."""
    if settings.aspects:
        return tuple(aspect.name for aspect in settings.aspects)
    proposal = _proposal(settings, turns, judge)
    return tuple(proposal.reading.split("\n")) if proposal is not None and isinstance(proposal.reading, str) else ()


def weightings_needed(
    settings: Settings, aspects: Sequence[tuple[Judge, tuple[str, ...]]]
) -> list[tuple[Judge, int, tuple[str, ...]]]:
    """Return (who weights, number of the set, aspects): each judge's own set, or the weigher's distinct sets."""
    if settings.aggregation != "weighted sum":
        return []
    if settings.weigher is None:
        return [(judge, 0, names) for judge, names in aspects]
    sets = dict.fromkeys(names for _, names in aspects)
    return [(settings.weigher, number, names) for number, names in enumerate(sets)]


def collect_judgements(turns: Sequence[Turn], settings: Settings, responses: int) -> list[Judgement]:
    """Return one judgement for each judge; `responses` is the number of responses of the item.

    If the responses were read in both orders, a judge's scores are its means over them.
    """
    by_order = [
        collect_judgements_of_order(turns, settings, responses, order) for order in orders_read(turns, settings)
    ]
    return [over_orders(of_judge) for of_judge in zip(*by_order, strict=True)]


def orders_read(turns: Sequence[Turn], settings: ScoringSettings) -> list[tuple[int, ...]]:
    """Return the orders in which the responses were read; a second one that has no turn yet is empty."""
    orders = list(dict.fromkeys(turn.shown for turn in turns if turn.shown)) or [()]
    return [*orders, ()] if settings.both_orders and len(orders) == 1 else orders


def collect_judgements_of_order(
    turns: Sequence[Turn], settings: Settings, responses: int, order: tuple[int, ...]
) -> list[Judgement]:
    """Return one judgement for each judge, from its scores in one order of the responses."""
    of_order = [turn for turn in turns if turn.shown in (order, ())]
    aspects = [(judge, names) for judge in settings.judges if (names := judge_aspects(settings, turns, judge.name))]
    numbers = {names: number for _, number, names in weightings_needed(settings, aspects)}
    by_judge = {judge.name: names for judge, names in aspects}
    return [
        _judgement(of_order, judge.name, by_judge.get(judge.name, ()), settings, responses, numbers)
        for judge in settings.judges
    ]


def over_orders(judgements: Sequence[Judgement]) -> Judgement:
    """Return one judge's judgement over all orders of the responses, from that of each order."""
    if len(judgements) == 1:
        return judgements[0]
    overalls = [judgement.overalls for judgement in judgements if judgement.overalls is not None]
    is_complete = len(overalls) == len(judgements)
    pairs = combinations(range(len(judgements[0].scores)), 2)

    def before(overall: Sequence[float], a: int, b: int) -> int:
        return aspect_scores.preferred_response((overall[a], overall[b]))

    return replace(
        judgements[0],
        scores=tuple(
            _mean_of_each(of_response)
            for of_response in zip(*(judgement.scores for judgement in judgements), strict=True)
        ),
        overalls=tuple(fmean(column) for column in zip(*overalls, strict=True)) if is_complete else None,
        problem=""
        if is_complete
        else next(judgement.problem for judgement in judgements if judgement.overalls is None),
        flipped=is_complete and any({before(overall, *pair) for overall in overalls} >= {1, 2} for pair in pairs),
    )


def _mean_of_each(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each aspect that has a score in every order."""
    return {
        name: fmean(scores_by_aspect[name] for scores_by_aspect in scores)
        for name in scores[0]
        if all(name in scores_by_aspect for scores_by_aspect in scores)
    }


def conclude(judgements: Sequence[Judgement], settings: ScoringSettings, protocol: str) -> Verdict:
    """Return the verdict: agreed, disputed if the judges differ too much, or none if one of them has no scores.

    The verdict on two responses is 1, 2 or 0 (Eq. 4). More than two are ranked: the verdict holds each one's overall
    score. Scores are the means over the judges that decide as the majority does; without a majority there is no value.
    A judge that ranks two responses differently in the two orders has a contention of 1.
    """
    criterion = settings.criterion_name
    decisions = [rank_responses(judgement.overalls) for judgement in judgements if judgement.overalls]
    has_flip = any(judgement.flipped for judgement in judgements)
    distance = contention(map(str, decisions), flipped=has_flip)
    majority = _majority(decisions)
    has_dispute = bool(decisions) and (majority is None or is_disputed(distance, settings.dispute_threshold))
    has_value = majority is not None and len(decisions) == len(judgements)
    supporting = [
        judgement.overalls
        for judgement in judgements
        if judgement.overalls and has_value and rank_responses(judgement.overalls) == majority
    ]
    means = tuple(sum(column) / len(supporting) for column in zip(*supporting, strict=True)) if supporting else None
    reason = _describe_outcome(judgements, len(supporting), means, has_dispute)
    responses = max(len(judgement.scores) for judgement in judgements)
    opinions: list[Opinion] = []
    for opinion in (one for judgement in judgements for one in _judge_opinions(judgement, criterion)):
        if opinion not in opinions:  # several judges may share the weights of one weigher
            opinions.append(opinion)
    opinions += _opinions(protocol, "verdict", means, responses, criterion, "" if has_value else reason)
    return Verdict(
        outcome="disputed" if has_dispute else "agreed" if has_value else "no_verdict",
        value=_verdict_value(means),
        reason=reason,
        opinions=tuple(opinions),
        contention=distance,
    )


def _judgement(
    turns: Sequence[Turn],
    judge: str,
    aspects: tuple[str, ...],
    settings: Settings,
    responses: int,
    set_numbers: Mapping[tuple[str, ...], int],
) -> Judgement:
    weigher = settings.weigher.name if settings.weigher else judge
    asked = (weigher, "weights", set_numbers.get(aspects, 0))
    by_step = {(turn.step, turn.round): turn for turn in turns if turn.speaker == judge and turn.step != "weights"}
    weights_turn = next((turn for turn in turns if aspects and (turn.speaker, turn.step, turn.round) == asked), None)
    stated = weights_turn.reading if weights_turn is not None and isinstance(weights_turn.reading, dict) else None
    weights = aspect_scores.in_percent(stated) if stated and settings.totals == "normalise" else stated
    by_aspect = {name: _dict_reading(by_step.get(("score", n))) for n, name in enumerate(aspects, start=1)}
    scores = tuple(
        {name: reading[str(number)] for name, reading in by_aspect.items() if reading}
        for number in range(1, responses + 1)
    )
    weights_problem = "" if weights_turn is None or weights else weights_turn.problem or "nothing was read"
    judgement = Judgement(judge, scores, None, "", aspects, weights, weights_problem, weigher, stated)
    overalls = _overall_scores(judgement, _dict_reading(by_step.get(("overall", 0))), settings)
    inputs = [_proposal(settings, turns, judge), weights_turn, *by_step.values()]
    problem = "" if overalls else _first_problem([turn for turn in inputs if turn is not None], judgement)
    return replace(judgement, overalls=overalls, problem=problem)


def _proposal(settings: Settings, turns: Sequence[Turn], judge: str) -> Turn | None:
    """Return the turn with the aspects of a judge: the proposer's, or its own."""
    proposer = settings.proposer.name if settings.proposer else judge
    return next((turn for turn in turns if turn.speaker == proposer and turn.step == "aspects"), None)


def _majority(decisions: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the most frequent ranks; None if two are equally frequent, and without any."""
    ranked = Counter(decisions).most_common(2)
    return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None


def _overall_scores(
    judgement: Judgement, own_scores: Mapping[str, float], settings: Settings
) -> tuple[float, ...] | None:
    """Return Eq. 3, or the judge's `own_scores` in a chain of aspects; None while something is missing."""
    if settings.aggregation == "chain of aspects":
        return tuple(own_scores[number] for number in sorted(own_scores, key=int)) or None
    if judgement.weights is None or not judgement.complete:
        return None
    weights = judgement.weights
    return tuple(aspect_scores.overall_score(weights, scores) for scores in judgement.scores)


def _dict_reading(turn: Turn | None) -> Mapping[str, float]:
    return turn.reading if turn is not None and isinstance(turn.reading, dict) else {}


def _first_problem(turns: Sequence[Turn], judgement: Judgement) -> str:
    """Return the first missing input and the reason."""
    for turn in turns:
        if turn.reading is None:
            missing = {"aspects": "aspects", "weights": "weights", "overall": "overall scores"}.get(turn.step)
            missing = missing or f"score on {judgement.aspects[turn.round - 1]}"
            return f"no {missing}: {turn.problem or 'nothing was read'}"
    return "has not finished"


def _verdict_value(means: Sequence[float] | None) -> Value | None:
    if means is None:
        return None
    if len(means) == 2:
        return aspect_scores.preferred_response(means)
    return {str(number): value for number, value in enumerate(means, start=1)}


def _judge_opinions(judgement: Judgement, criterion: str) -> list[Opinion]:
    """Return a judge's preference, or its scores of more than two responses, and its weights."""
    responses = len(judgement.scores)
    opinions = _opinions(judgement.judge, "last", judgement.overalls, responses, criterion, judgement.problem)
    if judgement.stated_weights is not None or judgement.weights_problem:
        opinions.append(
            Opinion(
                kind="aspect_weights",
                judge=judgement.weigher,
                stage="last",
                value=dict(judgement.stated_weights) if judgement.stated_weights is not None else None,
                part=aspect_scores.aspect_set_id(judgement.aspects),
                problem=judgement.weights_problem,
            )
        )
    return opinions


def _opinions(
    judge: str,
    stage: Literal["last", "verdict"],
    overalls: Sequence[float] | None,
    responses: int,
    criterion: str,
    problem: str,
) -> list[Opinion]:
    """Return one preference for two responses, or one score for each of more."""
    if responses == 2:
        value = None if overalls is None else aspect_scores.preferred_response(overalls)
        return [Opinion(kind="preference", judge=judge, stage=stage, value=value, criterion=criterion, problem=problem)]
    return [
        Opinion(
            kind="score",
            judge=judge,
            stage=stage,
            value=None if overalls is None else overalls[index],
            criterion=criterion,
            part=str(index + 1),
            problem=problem,
        )
        for index in range(responses)
    ]


def _describe_outcome(
    judgements: Sequence[Judgement], supporting: int, means: Sequence[float] | None, has_dispute: bool
) -> str:
    if means is not None:
        winner = aspect_scores.preferred_response(means)
        result = f"response {winner} is ahead" if winner else "the best responses are equal"
        majority = f" of {len(judgements)}" if supporting < len(judgements) else ""
        judges = f" on average over {supporting}{majority} judges" if len(judgements) > 1 else ""
        flipped = ", ".join(judgement.judge for judgement in judgements if judgement.flipped)
        changes = f"; the preference of {flipped} changes with the order of the responses" if flipped else ""
        return f"{result}, {_describe_scores(means)}{judges}{changes}"
    if has_dispute:
        return "the judges differ: " + "; ".join(
            f"{judgement.judge} has {_describe_scores(judgement.overalls)}"
            for judgement in judgements
            if judgement.overalls
        )
    return "; ".join(
        f"{judgement.judge}: {judgement.problem}" if len(judgements) > 1 else judgement.problem
        for judgement in judgements
        if judgement.problem
    )


def _describe_scores(overalls: Sequence[float]) -> str:
    """Return `8.05 to 7.8` in the order of two responses; more of them from the best to the worst."""
    if len(overalls) == 2:
        return " to ".join(f"{value:.4g}" for value in overalls)
    ranked = sorted(enumerate(overalls, start=1), key=lambda pair: -pair[1])
    return ", ".join(f"response {number} ({value:.4g})" for number, value in ranked)
