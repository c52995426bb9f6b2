"""Single judges, the baseline of other methods: one on a pair of responses, one that scores a response.

On a pair: the evaluator that ScaleEval's debate meta-evaluates (Chern et al. 2024, arXiv:2401.16788, Section 4.2). On a
response: G-Eval's form with the score alone (Liu et al. 2023, arXiv:2303.16634), or Analyze-Rate's with the analysis
first (Chiang and Lee 2023, arXiv:2310.05657); in both the score is the mean of n samples, or weighted by probabilities.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from statistics import fmean
from typing import Literal

from core.answers.choice import Choice
from core.errors import TiebreakError
from core.items import Item
from core.labels import Kind, Value
from core.protocols.prompt_parts import (
    criterion_text,
    describe_choice,
    describe_scale,
    draw_orders,
    in_item_order,
    item_material,
    number_images,
    rating_answer,
    response_material,
    with_examples,
)
from core.protocols.single_judge.settings import PairSettings, ScoreSettings
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Turn, Verdict
from core.verdicts import choice_of_orders, conclusion, contention, is_disputed

# The smallest probability of a level that counts for the contention, and of one that the reason lists.
LIKELY, NEGLIGIBLE = 0.1, 0.001
PAIR_NAME, SCORE_NAME = "single-judge", "single-score"


def pair_flow(item: Item, settings: PairSettings, rng: Random, templates: Templates) -> Flow:
    """Run E(c, p, r1, r2): one choice, or one for each order or simulated annotator, asked in parallel."""
    if len(item.responses) != 2:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; a judge on a pair compares two.")
    orders = draw_orders(2, settings, rng)
    criteria = criterion_text(settings.criterion, settings.format, rng)
    asks = [
        replace(ask, prompt=with_examples(ask.prompt, examples))
        for ask in [ask_choice(item, settings, shown, criteria, templates) for shown in orders]
        for examples in settings.examples_for(item.id)
    ]
    turns = yield asks
    return conclude_simulated(turns, settings) if settings.simulated_annotators else conclude_pair(turns, settings)


def score_flow(item: Item, settings: ScoreSettings, rng: Random, templates: Templates) -> Flow:
    """Ask for n ratings with the same prompt, in parallel; or for one with the probabilities of its alternatives."""
    if len(item.responses) != 1:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; a judge that scores takes one.")
    ask = ask_rating(item, settings, rng, templates)
    if settings.weighting == "samples":
        turns = yield [ask] * settings.samples
        return conclude_score(turns, settings)
    (first,) = yield [replace(ask, top_logprobs=settings.top_logprobs)]
    if settings.weighting == "probabilities" or (first.probabilities and not first.read_by):
        return conclude_weighted(first, settings)
    others = yield [ask] * (settings.samples - 1)
    return conclude_score([first, *others], settings)


def ask_choice(item: Item, settings: PairSettings, shown: tuple[int, ...], criteria: str, templates: Templates) -> Ask:
    """Ask for the choice with the responses in the order `shown`."""
    name = "reasoned" if settings.reasons else "direct"
    prompt = render(
        templates,
        name,
        **item_material(item, templates, name),
        submission_1=Material("Submission 1", item.responses[shown[0] - 1].text),
        submission_2=Material("Submission 2", item.responses[shown[1] - 1].text),
        criteria=Material("Criteria", criteria, required=False),
        words=settings.words,
    )
    return Ask(
        speaker=settings.judge.name,
        step="choice",
        round=0,
        spec=settings.judge.spec,
        prompt=prompt,
        answer=Choice(noun="Submission", reasoning=settings.reasons),
        value=in_item_order(shown),
        shown=shown,
    )


def ask_rating(item: Item, settings: ScoreSettings, rng: Random, templates: Templates) -> Ask:
    """Ask for one rating; all samples have the same prompt."""
    name, is_reasoned = settings.criterion.name, settings.way != "score only"
    item, images = number_images(item)
    prompt = render(
        templates,
        "rate",
        **response_material(item, templates, "rate"),
        task=settings.task or render(templates, "task", criterion=name),
        criteria=f"{name}\n{criterion_text(settings.criterion, 'general', rng)}",
        steps=settings.steps or render(templates, "steps", values=describe_scale(settings.scale)),
        form=render(templates, "analysis", criterion=name, words=settings.words) if is_reasoned else "",
    )
    return Ask(
        speaker=settings.judge.name,
        step="rating",
        round=0,
        spec=settings.judge.spec,
        prompt=prompt,
        answer=rating_answer(settings.scale, name, reasoning=is_reasoned),
        images=images,
    )


def conclude_pair(turns: Sequence[Turn], settings: PairSettings) -> Verdict:
    """Return the choice that holds in every order asked; if the orders differ, the value that the settings define."""
    readings = [turn.reading for turn in turns if turn.reading is not None]
    name = settings.judge.name
    if len(readings) < len(turns):
        unread = next(turn for turn in turns if turn.reading is None)
        return _verdict(settings, "preference", None, f"{name} gave no opinion that could be read: {unread.problem}")
    distance = contention(readings)
    if len(set(readings)) == 1:
        orders = " in both orders" if len(turns) > 1 else ""
        reason = f"{name} chose {describe_choice(readings[0])}{orders}"
        return _verdict(settings, "preference", readings[0], reason, contention=distance)
    first, second = map(describe_choice, readings)
    reason = f"{name} chose {first} in one order of the responses and {second} in the other"
    if settings.differing == "neither":
        reason = f"{reason}, which counts as neither"
        return _verdict(settings, "preference", 0, reason, contention=distance)
    if settings.differing == "JudgeBench" and (choice := choice_of_orders(*readings)) is not None:
        reason = f"{reason}, and a tie does not outweigh a choice"
        return _verdict(settings, "preference", choice, reason, contention=distance)
    return _verdict(settings, "preference", None, reason, disputed=True, contention=distance)


def conclude_simulated(turns: Sequence[Turn], settings: PairSettings) -> Verdict:
    """Return the most frequent answer, with the share of all answers that give it as its confidence.

    No verdict if two answers are equally frequent: a person decides. An answer that cannot be read agrees with none.
    """
    name = settings.judge.name
    counted = Counter(turn.reading for turn in turns if turn.reading is not None).most_common()
    if not counted:
        return _verdict(settings, "preference", None, f"no answer of {name} could be read: {turns[0].problem}")
    choice, count = counted[0]
    reason = f"{name} chose {describe_choice(choice)} as {count} of {len(turns)} simulated annotators"
    distance = contention([reading for reading, number in counted for _ in range(number)])
    if len(counted) > 1 and counted[1][1] == count:
        reason = f"{reason}, and {describe_choice(counted[1][0])} as often"
        return _verdict(settings, "preference", None, reason, disputed=True, contention=distance)
    verdict = _verdict(settings, "preference", choice, reason, contention=distance)
    opinion = verdict.opinions[0].model_copy(update={"confidence": count / len(turns)})
    return verdict.model_copy(update={"opinions": (opinion,)})


def conclude_score(turns: Sequence[Turn], settings: ScoreSettings) -> Verdict:
    """Return the mean of the readable samples; disputed if they are further apart than the settings allow."""
    readings = [turn.reading for turn in turns if isinstance(turn.reading, int | float)]
    if not readings:
        reason = f"none of {len(turns)} ratings could be read: {turns[0].problem}"
        return _verdict(settings, "score", None, reason)
    unread = f"; {len(turns) - len(readings)} more could not be read" if len(readings) < len(turns) else ""
    counted = sorted(Counter(readings).items(), reverse=True)
    counts = "".join(f", {count} × {value:g}" for value, count in counted) if len(readings) > 1 else ""
    reason = f"the mean of {len(readings)} ratings{counts}{unread}" if len(turns) > 1 else "one rating"
    distance = contention(readings, settings.scale)
    disputed = is_disputed(distance, settings.dispute_threshold)
    return _verdict(settings, "score", fmean(readings), reason, disputed=disputed, contention=distance)


def conclude_weighted(turn: Turn, settings: ScoreSettings) -> Verdict:
    """Return the mean of the levels weighted by their probabilities; no verdict without probabilities.

    Levels with at least `LIKELY` count for the contention. If a person or an extractor read the reply, its value is
    that reading: the probabilities are those of another place.
    """
    if turn.reading is None:
        return _verdict(settings, "score", None, f"the rating could not be read: {turn.problem}")
    if turn.read_by and isinstance(turn.reading, int | float):
        return _verdict(settings, "score", turn.reading, f"one rating, read by {turn.read_by}")
    if not turn.probabilities:
        reason = turn.notes[-1] if turn.notes else f"{turn.model}: no log probabilities were returned."
        return _verdict(settings, "score", None, f"no probabilities of the ratings: {reason}")
    ranked = sorted(turn.probabilities.items(), key=lambda pair: -pair[1])
    listed = ", ".join(f"{level} × {p:.3g}" for level, p in ranked if p >= NEGLIGIBLE)
    likely = [float(level) for level, p in ranked if p >= LIKELY]
    distance = contention(likely, settings.scale)
    return _verdict(
        settings,
        "score",
        weighted_mean(turn.probabilities),
        f"the mean of the levels weighted by their probabilities, {listed}",
        disputed=is_disputed(distance, settings.dispute_threshold),
        contention=distance,
    )


def weighted_mean(probabilities: Mapping[str, float]) -> float:
    """Return the sum of the levels weighted by their probabilities, which are divided by their sum."""
    return sum(float(level) * p for level, p in probabilities.items()) / sum(probabilities.values())


def reply_words(settings: PairSettings | ScoreSettings) -> int:
    """Return the words of a reply: the reasons, or about three for a value alone."""
    reasoned = settings.reasons if isinstance(settings, PairSettings) else settings.way != "score only"
    return settings.words if reasoned else 3


def _verdict(
    settings: PairSettings | ScoreSettings,
    kind: Kind,
    value: Value | None,
    reason: str,
    *,
    disputed: bool = False,
    contention: float | None = None,
) -> Verdict:
    """Return a verdict with one opinion: the judge's, which is neither a first nor a last one."""
    opinion = conclusion(settings.judge.name, kind, value, reason, settings.criterion.name)
    outcome: Literal["agreed", "disputed", "no_verdict"] = "no_verdict" if value is None else "agreed"
    return Verdict(
        outcome="disputed" if disputed else outcome,
        value=value,
        reason=reason,
        opinions=(opinion,),
        contention=contention,
    )
