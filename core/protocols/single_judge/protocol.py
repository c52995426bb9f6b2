"""Single judges that other methods are measured against: one on a pair, one that scores a response.

On a pair: the evaluator that ScaleEval's debate meta-evaluates (Chern et al. 2024, arXiv:2401.16788, Section 4.2). On a
response: G-Eval's form with the score alone (Liu et al. 2023, arXiv:2303.16634), or Analyze-Rate's, with the analysis
first (Chiang and Lee 2023, arXiv:2310.05657); both take the mean of n samples.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from core.frozen import Frozen
from core.items import Criterion, Item
from core.labels import Kind, Opinion, Scale, Value
from core.problems import Problem
from core.protocols import ratings
from core.protocols.scaleeval.criterion_formats import Format, written
from core.protocols.scaleeval.protocol import GRAMMAR, Judge, own_order
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn, Verdict

PAIR, SCORE = "single-judge", "single-score"


class Pair(Frozen):
    """One judge on two responses; every default is ScaleEval's evaluator."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    judge: Judge
    """Who judges, alone."""
    criterion: Criterion
    """What "better" means, as in ScaleEval: a definition, or a rubric of levels."""
    format: Format = "general"
    """How the criterion is written; all but "general" wear it down on purpose (ScaleEval, Table 7)."""
    reasons: bool = True
    """Chain of thought: the judge reasons before it chooses. Off: the digit alone."""
    both_orders: bool = False
    """Ask twice, with the responses in both orders. Off: once, in an order drawn for each item."""
    differing: Literal["a person decides", "neither"] = "a person decides"
    """Where the two orders give different choices. "a person decides": there is no verdict. "neither": it counts as a
    tie, as for MT-Bench (Zheng et al. 2023); only where both replies were read."""
    shuffle_responses: bool = True
    """Toss a coin for each item on which response is read first; without meaning where both orders are asked."""
    words: int = Field(default=150, ge=20, le=2000)
    """The limit on the reasons that the prompt names."""


class Score(Frozen):
    """One judge on one response."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    judge: Judge
    """Who scores, alone."""
    criterion: Criterion
    """What is scored, with its scale."""
    way: Literal["analyse, then rate", "score only"] = "analyse, then rate"
    """"analyse, then rate" is Analyze-Rate's form, "score only" is G-Eval's."""
    samples: int = Field(default=1, ge=1, le=200)
    """Ratings averaged: both papers take 20 at temperature 1. The mean of samples stands for G-Eval's sum weighted by
    the probabilities of the scores, which few providers tell."""
    task: str = ""
    """The task in a few sentences. Empty: general words of ours."""
    steps: str = ""
    """Evaluation steps, one a line. G-Eval lets a model write them once from task and criterion; paste them here.
    Empty: general ones of ours."""
    words: int = Field(default=120, ge=20, le=2000)
    """The limit on the analysis that the prompt names."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not ratings.numeric(self.criterion.scale):
            raise ValueError(f"criterion {self.criterion.name!r} needs a scale of numbers, such as 1, 2, 3")
        if self.samples > 1 and self.judge.spec.temperature == 0:
            raise ValueError("a judge at temperature 0 says the same every time; give it temperature 1, or samples: 1")
        return self

    @property
    def scale(self) -> Scale:
        """The values that may be given."""
        return self.criterion.scale or Scale(level="interval")


def pair(item: Item, settings: Pair, chance: Random, templates: Templates) -> Flow:
    """E(c, p, r1, r2): one choice, or one for each order, asked at once."""
    if len(item.responses) != 2:
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; a judge on a pair compares two.")
    order = [1, 2]
    if settings.shuffle_responses and not settings.both_orders:
        chance.shuffle(order)
    orders = [tuple(order), tuple(reversed(order))][: 1 + settings.both_orders]
    criteria = written(settings.criterion, settings.format, chance)
    said = yield [comparing(item, settings, shown, criteria, templates) for shown in orders]
    return chosen(said, settings)


def score(item: Item, settings: Score, chance: Random, templates: Templates) -> Flow:
    """n ratings, asked at once."""
    if len(item.responses) != 1:
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; a judge that scores takes one.")
    said = yield [rating(item, settings, chance, templates)] * settings.samples
    return averaged(said, settings)


def comparing(item: Item, settings: Pair, shown: tuple[int, ...], criteria: str, templates: Templates) -> Ask:
    """The choice with the responses in one order."""
    prompt = render(
        templates,
        "reasoned" if settings.reasons else "direct",
        question=_given(item),
        submission_1=item.responses[shown[0] - 1].text,
        submission_2=item.responses[shown[1] - 1].text,
        criteria=criteria,
        **({"words": settings.words} if settings.reasons else {}),
    )
    return Ask(
        speaker=settings.judge.name,
        step="choice",
        round=0,
        spec=settings.judge.spec,
        prompt=prompt,
        read=own_order(shown),
        shown=shown,
        again=render(templates, "again", prompt=prompt),
        grammar=GRAMMAR if settings.reasons else "root ::= [012]",
    )


def rating(item: Item, settings: Score, chance: Random, templates: Templates) -> Ask:
    """One rating; all samples are asked alike."""
    name, offered = settings.criterion.name, ratings.values(settings.scale)
    if settings.way == "score only":
        form = render(templates, "form_scores", values=offered)
    else:
        form = render(templates, "form_analysis", criterion=name, values=offered, words=settings.words)
    prompt = render(
        templates,
        "rate",
        task=settings.task or render(templates, "task", criterion=name),
        criteria=f"{name}\n{written(settings.criterion, 'general', chance)}",
        steps=settings.steps or render(templates, "steps", values=offered),
        input=render(templates, "input", question=_given(item), response=item.responses[0].text),
        form=form,
    )
    return Ask(
        speaker=settings.judge.name,
        step="rating",
        round=0,
        spec=settings.judge.spec,
        prompt=prompt,
        read=lambda reply: ratings.rating(reply, settings.scale, (name,)),
        again=render(templates, "again", prompt=prompt),
    )


def chosen(said: Sequence[Turn], settings: Pair) -> Verdict:
    """What both orders say alike; where they differ, what the settings say of it."""
    readings = [turn.reading for turn in said if turn.reading is not None]
    name = settings.judge.name
    if len(readings) < len(said):
        unread = next(turn for turn in said if turn.reading is None)
        return _verdict(settings, "preference", None, f"{name} gave no opinion that could be read: {unread.problem}")
    if len(set(readings)) == 1:
        orders = " in both orders" if len(said) > 1 else ""
        return _verdict(settings, "preference", readings[0], f"{name} chose {_named(readings[0])}{orders}")
    first, second = map(_named, readings)
    reason = f"{name} chose {first} in one order of the responses and {second} in the other"
    if settings.differing == "neither":
        return _verdict(settings, "preference", 0, f"{reason}, which counts as neither")
    return _verdict(settings, "preference", None, reason, disputed=True)


def averaged(said: Sequence[Turn], settings: Score) -> Verdict:
    """The mean of the samples that could be read."""
    readings = [turn.reading for turn in said if isinstance(turn.reading, int | float)]
    unread = f"; {len(said) - len(readings)} more could not be read" if len(readings) < len(said) else ""
    if not readings:
        reason = f"none of {len(said)} ratings could be read: {said[0].problem}"
        return _verdict(settings, "score", None, reason)
    spread = f", {_spread(readings)}" if len(readings) > 1 else ""
    reason = f"the mean of {len(readings)} ratings{spread}{unread}" if len(said) > 1 else "one rating"
    return _verdict(settings, "score", fmean(readings), reason)


def longest(settings: Pair | Score, ask: Ask) -> Value:
    """Every course takes the same calls."""
    if isinstance(settings, Pair):
        return 1
    found = [one for one in settings.scale.categories if isinstance(one, int | float)]
    return found[0] if found else settings.scale.low or 0


def words(settings: Pair | Score) -> int:
    """A digit or a rating, and perhaps the reasons for it."""
    reasoned = settings.reasons if isinstance(settings, Pair) else settings.way != "score only"
    return settings.words if reasoned else 3


def _verdict(
    settings: Pair | Score, kind: Kind, value: Value | None, reason: str, *, disputed: bool = False
) -> Verdict:
    """One judge's opinion is the verdict: it has no first and last."""
    opinion = Opinion(
        kind=kind,
        judge=settings.judge.name,
        stage="verdict",
        value=value,
        criterion=settings.criterion.name,
        problem="" if value is not None else reason,
    )
    outcome: Literal["agreed", "disputed", "no_verdict"] = "disputed" if disputed else "no_verdict"
    return Verdict(outcome="agreed" if value is not None else outcome, value=value, reason=reason, opinions=(opinion,))


def _given(item: Item) -> str:
    return f"{item.context}\n\n{item.prompt}" if item.context else item.prompt


def _spread(readings: Sequence[int | float]) -> str:
    """`12 × 3, 8 × 2`."""
    return ", ".join(f"{count} × {value:g}" for value, count in sorted(Counter(readings).items(), reverse=True))


def _named(value: Value) -> str:
    return "neither" if value == 0 else f"response {value}"
