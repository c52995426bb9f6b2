"""ReFeR: peers review alone, an area chair decides (Narsupalli et al. 2024, arXiv:2407.12877, Algorithm 1).

K peers evaluate in parallel (Eq. 1); the area chair, which sees their reviews, is asked n times (Eq. 2); the final
score is the mean of its readable samples (Eq. 3). For reasoning tasks the verdict is an answer.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any, Literal

from core.answers import words
from core.answers.answer import Answer, spoken_text
from core.answers.number import Number, Rating
from core.answers.option import Option
from core.errors import TiebreakError, UnreadableReply
from core.items import Criterion, Item
from core.labels import Opinion, Value
from core.protocols.prompt_parts import describe_scale, number_images, rating_answer, response_material
from core.protocols.refer.settings import Reviewer, Settings
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Turn, Verdict
from core.verdicts import conclusion, contention, is_disputed

NAME = "refer"
# What the chair reads in place of a peer's review.
Alteration = Literal["opposite", "of another item"]

_HEADING = re.compile(r"^\W*analysis\W*?:[\s*_]*", re.I)
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?][\"'”’)*_]*(?=\s)|(?=\n)|$)[^\S\n]*\n*", re.S)
_OUT_OF = re.compile(r"\d\s*(?:/|out\s+of|von|sur|de)\s*\d", re.I)


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Run one review. The protocol itself makes no random choice."""
    task = start_review(item, settings, templates)
    if not settings.peers:
        alone = _ask(task, settings.chair, "chair", 1, alone=True)  # the single-agent baseline
        return conclude((), (yield [alone] * settings.samples), settings)
    reviews = yield [_ask(task, peer, "peer", 0) for peer in settings.peers]
    samples = yield [ask_decision(task, reviews)] * settings.samples
    return conclude(reviews, samples, settings)


@dataclass(frozen=True)
class ReviewTask:
    """The common input of all reviewers: the item, with a note where each image belongs, and the images."""

    settings: Settings
    templates: Templates
    item: Item
    images: tuple[str, ...]


def start_review(item: Item, settings: Settings, templates: Templates) -> ReviewTask:
    """Check the item and number its images."""
    if settings.verdict == "score" and len(item.responses) != 1:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; ReFeR scores one.")
    if settings.verdict != "score":
        item = item.model_copy(update={"responses": ()})
    item, images = number_images(item)
    return ReviewTask(settings, templates, item, images)


def ask_decision(task: ReviewTask, reviews: Sequence[Turn]) -> Ask:
    """Ask for one sample of the area chair's decision (Eq. 2); all samples have the same prompt.

    The chair sees the peers as "Reviewer n" and does not see those whose review is unreadable.
    """
    noun = "Reviewer" if task.settings.verdict == "score" else "Solver"
    criterion, altered = task.settings.criterion.name, task.settings.altered_reviews
    own = {peer: by_criterion.get(criterion, {}).get(task.item.id) for peer, by_criterion in altered.items()}
    shared = [
        Material(f"{noun} {number}", own.get(turn.speaker) or shared_review(turn, task.settings))
        for number, turn in enumerate(reviews, start=1)
        if turn.reading is not None
    ]
    return _ask(task, task.settings.chair, "chair", 1, reviews=shared or render(task.templates, "no_reviews"))


def shared_review(turn: Turn, settings: Settings) -> str:
    """Return the part of a readable review that the chair sees; a comment alone does not contain the score."""
    score = f"{'Rating' if settings.verdict == 'score' else 'Answer'}: {turn.reading}"
    if settings.shared_with_chair == "scores":
        return score
    comment = comment_text(turn.reply, expected_answer(settings)) or "(no comment)"
    return comment if settings.shared_with_chair == "comments" else f"{comment}\n{score}"


def altered_reviews(reviews: Mapping[str, Turn], how: Alteration, settings: Settings) -> dict[str, str]:
    """Return item -> the text in place of a peer's readable review of the item, for the settings `altered_reviews`.

    "opposite": the same with the score mirrored on the scale, or the next letter as the answer. "of another item": the
    review of the next item. A number has no opposite, nor has a comment without a score: then none is returned.
    """
    if how == "of another item":
        items = list(reviews)
        others = [*items[1:], *items[:1]]
        return {item: shared_review(reviews[other], settings) for item, other in zip(items, others, strict=True)}
    if settings.verdict == "number" or settings.shared_with_chair == "comments":
        return {}
    mirrored = {
        item: turn.model_copy(update={"reading": _opposite(turn.reading, settings)}) for item, turn in reviews.items()
    }
    return {item: shared_review(turn, settings) for item, turn in mirrored.items()}


def _opposite(value: Any, settings: Settings) -> Value:
    """Return a score mirrored on its scale, or the letter after this one."""
    values = settings.scale.categories
    if settings.verdict == "option":
        return values[(values.index(value) + 1) % len(values)]
    numbers = [_as_number(one) for one in values] or [settings.scale.low or 0.0, settings.scale.high or 0.0]
    mirrored = min(numbers) + max(numbers) - value
    return next((one for one in values if one == mirrored), mirrored)  # 2, not 2.0


def comment_text(reply: str, answer: Answer[Any]) -> str:
    """Return the reply without the parts that state the answer, so no part of it can be read as one; may be empty.

    Of a rating, every sentence that speaks of a rating and has a number is left out too.
    """
    text = spoken_text(reply)
    while text:
        try:
            shorter = _without_span(text, answer.parse(text).span)
        except UnreadableReply:
            break
        if shorter == text:
            return ""
        text = shorter
    if isinstance(answer, Rating):
        text = "".join(sentence for sentence in _SENTENCE.findall(text) if not _mentions_rating(sentence, answer))
    return _HEADING.sub("", text.strip()).strip()


def schema_parts(settings: Settings, templates: Templates, role: Literal["peer", "chair"]) -> Mapping[str, str]:
    """Return the parts of the prompting schema that precede the input (Figure 4), for a peer or for the chair."""
    suffix = "score" if settings.verdict == "score" else "answer"
    name, values = settings.criterion.name, describe_scale(settings.scale)
    task, rubric, steps, guidelines = settings.task, "", settings.steps, settings.guidelines.strip()
    if role == "chair":
        task, rubric = settings.chair_task or task, settings.chair_rubric.strip()
        steps, guidelines = settings.chair_steps or steps, settings.chair_guidelines.strip() or guidelines
    criterion = settings.criterion
    if settings.rubric_in == "guidelines" and not guidelines:
        guidelines = "\n".join(f"- {line}" for line in criterion.rubric)
        criterion = criterion.model_copy(update={"rubric": ()})
    analysed = settings.way != "score only" and "analysis" in templates  # earlier runs have it in their prompts
    return {
        "task": task or render(templates, f"task_{suffix}", criterion=name),
        "criterion": name,
        "criteria": describe_criterion(criterion, rubric),
        "steps": steps or render(templates, f"steps_{suffix}", values=values),
        "guidelines": render(templates, "guidelines", guidelines=guidelines) if guidelines else "",
        "form": render(templates, "analysis", criterion=name) if analysed else "",
    }


def expected_answer(settings: Settings) -> Answer[Any]:
    """Return the answer type for peers and chair: a rating, the letter of an option, or a number."""
    match settings.verdict:
        case "score":
            return rating_answer(settings.scale, settings.criterion.name, reasoning=settings.way != "score only")
        case "option":
            return Option(letters=settings.letters)
        case "number":
            return Number()


def conclude(reviews: Sequence[Turn], samples: Sequence[Turn], settings: Settings) -> Verdict:
    """Return the mean of the chair's readable scores (Eq. 3), or its most frequent answer.

    Disputed if answers tie, if the contention of the samples is above the threshold in the settings, or if no review of
    a peer could be read: then the chair has decided alone.
    """
    readings = [turn.reading for turn in samples if turn.reading is not None]
    value = summarize_samples(readings, settings)
    distance = contention(readings, settings.scale)
    outcome: Literal["agreed", "disputed", "no_verdict"] = "agreed" if readings else "no_verdict"
    is_alone = bool(reviews) and all(turn.reading is None for turn in reviews)
    if readings and (value is None or is_alone or is_disputed(distance, settings.dispute_threshold)):
        outcome = "disputed"
    reason = _describe_outcome(value, readings, samples, settings)
    reason += f"; none of {len(reviews)} reviews could be read" if is_alone else ""
    opinions = [_opinion(turn, settings) for turn in reviews]
    opinions.append(conclusion(settings.chair.name, settings.kind, value, reason, settings.criterion.name))
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=tuple(opinions), contention=distance)


def summarize_samples(readings: Sequence[Value], settings: Settings) -> Value | None:
    """Return the mean of readable scores (Eq. 3), or the most frequent answer; None if there is none."""
    if settings.verdict == "score":
        return fmean(map(_as_number, readings)) if readings else None
    counts = Counter(readings).most_common(2)
    is_unique = len(counts) == 1 or (len(counts) == 2 and counts[0][1] > counts[1][1])
    return counts[0][0] if is_unique else None


def representative_sample(samples: Sequence[Turn], value: Value | None) -> int | None:
    """Return the index of the sample whose comment represents the verdict; None if no sample is readable.

    It is the first of the samples that are nearest to the verdict.
    """
    readings = [(index, turn.reading) for index, turn in enumerate(samples) if turn.reading is not None]
    if not readings:
        return None
    if isinstance(value, str) or value is None:
        return next((index for index, reading in readings if reading == value), readings[0][0])
    return min(readings, key=lambda pair: abs(_as_number(pair[1]) - _as_number(value)))[0]


def describe_criterion(criterion: Criterion, rubric: str = "") -> str:
    """Return `Engaging (1, 2 or 3): ...`, then the levels from the lowest to the highest; `rubric` replaces both."""
    scale = f" ({describe_scale(criterion.scale)})" if criterion.scale else ""
    if rubric:
        return f"{criterion.name}{scale}: {rubric}"
    head = f"{criterion.name}{scale}" + (f": {criterion.definition}" if criterion.definition else "")
    return "\n".join([head, *(f"- {line}" for line in criterion.rubric)])


def _ask(
    task: ReviewTask,
    reviewer: Reviewer,
    step: Literal["peer", "chair"],
    number: int,
    *,
    alone: bool = False,
    **values: object,
) -> Ask:
    role: Literal["peer", "chair"] = "peer" if alone else step
    name = role if task.settings.verdict == "score" else f"{role}_answer"
    parts = schema_parts(task.settings, task.templates, role)
    material = response_material(task.item, task.templates, name)
    return Ask(
        speaker=reviewer.name,
        step=step,
        round=number,
        spec=reviewer.spec,
        prompt=render(task.templates, name, **material, **parts, **values),
        answer=expected_answer(task.settings),
        images=task.images,
        may_fail=step == "peer" and task.settings.failing_peer == "left out",
    )


def _describe_outcome(
    value: Value | None, readings: Sequence[Value], samples: Sequence[Turn], settings: Settings
) -> str:
    if not readings:
        return f"none of the chair's {len(samples)} samples could be read: {samples[0].problem}"
    if value is None:
        return "the chair's samples are tied: " + ", ".join(f"{n} for {v}" for v, n in Counter(readings).most_common())
    if len(samples) == 1:
        return "the area chair's decision"
    share = (
        f"the mean of {len(readings)}"
        if settings.verdict == "score"
        else f"{Counter(readings)[value]} of {len(readings)}"
    )
    unread = f", {len(samples) - len(readings)} more could not be read" if len(readings) < len(samples) else ""
    number = (representative_sample(samples, value) or 0) + 1
    return f"{share} samples{unread}; the comment of sample {number} stands for them"


def _opinion(turn: Turn, settings: Settings) -> Opinion:
    return Opinion(
        kind=settings.kind,
        judge=turn.speaker,
        stage="last",
        value=turn.reading,
        criterion=settings.criterion.name,
        problem="" if turn.reading is not None else turn.problem or "gave no opinion",
    )


def _as_number(value: Value) -> float:
    if isinstance(value, bool | str | dict):
        raise TypeError(f"{value!r} is not a score")
    return float(value)


def _without_span(text: str, span: tuple[int, int]) -> str:
    """Return the text without the sentences that the span touches."""
    remaining, position = [], 0
    for sentence in _SENTENCE.findall(text):
        end = position + len(sentence)
        if end <= span[0] or position >= span[1]:
            remaining.append(sentence)
        position = end
    return "".join(remaining)


def _mentions_rating(sentence: str, answer: Rating) -> bool:
    if _OUT_OF.search(sentence):
        return True
    if any(character.isdigit() for character in sentence) and words.find("rating", sentence):
        return True
    try:
        answer.parse(sentence)
    except UnreadableReply:
        return False
    return True
