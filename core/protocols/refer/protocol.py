"""ReFeR: peers review alone, an area chair decides (Narsupalli et al. 2024, arXiv:2407.12877, Algorithm 1).

K peers evaluate in parallel (Eq. 1); the area chair, which sees their reviews, is asked n times (Eq. 2); the final
score is the mean of its readable samples (Eq. 3). For reasoning tasks the verdict is an answer.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from core.items import Criterion, Item
from core.labels import Opinion, Value
from core.problems import Problem
from core.protocols import ratings
from core.protocols.refer.settings import Reviewer, Settings
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn, Verdict

NAME = "refer"


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """One review. The protocol itself makes no random choice."""
    task = start_review(item, settings, templates)
    reviews = yield [ask_review(task, peer) for peer in settings.peers]
    samples = yield [ask_decision(task, reviews)] * settings.samples
    return conclude(reviews, samples, settings)


@dataclass(frozen=True)
class ReviewTask:
    """The parts of the prompting schema that all reviewers of an item share (Figure 4)."""

    settings: Settings
    templates: Templates
    task: str
    steps: str
    guidelines: str
    input: str
    form: str
    images: tuple[str, ...]

    def prompt(self, name: str, **values: object) -> str:
        """Render the prompt of a peer or of the chair; `values` are the blanks beyond the shared parts."""
        parts = {"task": self.task, "steps": self.steps, "guidelines": self.guidelines, "input": self.input}
        if self.settings.verdict == "score":
            criteria = describe_criterion(self.settings.criterion)
            return render(self.templates, name, **parts, form=self.form, criteria=criteria, **values)
        return render(self.templates, f"{name}_answer", **parts, form=self.form, **values)


def start_review(item: Item, settings: Settings, templates: Templates) -> ReviewTask:
    """Render the parts that are the same for all reviewers."""
    is_score = settings.verdict == "score"
    if is_score and len(item.responses) != 1:
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; ReFeR scores one.")
    suffix = "score" if is_score else "answer"
    values = _describe_values(settings)
    # The templates for reasoning tasks have no criterion and no values to fill in.
    criterion = {"criterion": settings.criterion.name} if is_score else {}
    step_values = {"values": values} if is_score else {}
    guidelines = settings.guidelines.strip()
    text, images = item_material(item, settings, templates)
    return ReviewTask(
        settings,
        templates,
        task=settings.task or render(templates, f"task_{suffix}", **criterion),
        steps=settings.steps or render(templates, f"steps_{suffix}", **step_values),
        guidelines=render(templates, "guidelines", guidelines=guidelines) if guidelines else "",
        input=text,
        form=render(templates, f"form_{settings.verdict}", **criterion, values=values),
        images=images,
    )


def item_material(item: Item, settings: Settings, templates: Templates) -> tuple[str, tuple[str, ...]]:
    """Return the text to judge or solve, part by part, and its images in the order of their numbers in the text."""
    parts = [("context", item.context)] if item.context else []
    images = [image for image in (item.image,) if image]
    parts.append(("prompt" if settings.verdict == "score" else "problem", item.prompt))
    texts = [render(templates, name, text=text) for name, text in parts]
    texts += [render(templates, "prompt_image", number=len(images))] if images else []
    if settings.verdict == "score":
        (response,) = item.responses
        texts += [render(templates, "response", text=response.text)] if response.text or not response.image else []
        if response.image:
            images.append(response.image)
            texts.append(render(templates, "response_image", number=len(images)))
    return "\n\n".join(texts), tuple(images)


def ask_review(task: ReviewTask, peer: Reviewer) -> Ask:
    """Ask a peer for its comment and score (Eq. 1)."""
    return _ask(task, peer, "peer", 0, task.prompt("peer"))


def ask_decision(task: ReviewTask, reviews: Sequence[Turn]) -> Ask:
    """Ask for one sample of the area chair's decision (Eq. 2); all samples have the same prompt."""
    suffix = "score" if task.settings.verdict == "score" else "answer"
    texts = [
        render(task.templates, f"review_{suffix}", number=number, said=shared_review(turn, task.settings))
        for number, turn in enumerate(reviews, start=1)
    ]
    prompt = task.prompt("chair", count=len(reviews), reviews="\n\n".join(texts))
    return _ask(task, task.settings.chair, "chair", 1, prompt)


def shared_review(turn: Turn, settings: Settings) -> str:
    """Return the part of a review that the chair sees; a comment alone does not contain the score."""
    label = "Rating" if settings.verdict == "score" else "Answer"
    score = f"{label}: {turn.reading}" if turn.reading is not None else f"({label.lower()} that nobody could read)"
    comment = ratings.comment_text(turn.reply, (settings.criterion.name,)) or "(no comment)"
    return {"scores": score, "comments": comment, "both": f"{comment}\n{score}"}[settings.shared_with_chair]


def conclude(reviews: Sequence[Turn], samples: Sequence[Turn], settings: Settings) -> Verdict:
    """Return the mean of the readable scores (Eq. 3), or the most frequent answer; disputed where answers tie."""
    readings = [turn.reading for turn in samples if turn.reading is not None]
    value = _mean(readings) if settings.verdict == "score" else _most_frequent(readings)
    outcome = "agreed" if value is not None else "disputed" if readings else "no_verdict"
    reason = _describe_outcome(value, readings, samples, settings)
    opinions = [_opinion(turn, settings) for turn in reviews]
    conclusion = Opinion(
        kind=settings.kind,
        judge=settings.chair.name,
        stage="verdict",
        value=value,
        criterion=settings.criterion.name,
        problem="" if value is not None else reason,
    )
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(*opinions, conclusion))


def representative_sample(samples: Sequence[Turn], value: Value | None) -> int | None:
    """Return the index of the sample whose comment represents the verdict; None where no sample is readable.

    It is the first of the samples that are nearest to the verdict.
    """
    readings = [(index, turn.reading) for index, turn in enumerate(samples) if turn.reading is not None]
    if not readings:
        return None
    if isinstance(value, str) or value is None:
        return next((index for index, reading in readings if reading == value), readings[0][0])
    return min(readings, key=lambda pair: abs(_as_number(pair[1]) - _as_number(value)))[0]


def describe_criterion(criterion: Criterion) -> str:
    """Return `Engaging (1, 2 or 3): ...`, then the rubric from the lowest level to the highest."""
    scale = f" ({ratings.describe_scale(criterion.scale)})" if criterion.scale else ""
    head = f"{criterion.name}{scale}" + (f": {criterion.definition}" if criterion.definition else "")
    return "\n".join([head, *(f"- {line}" for line in criterion.rubric)])


def any_reading(settings: Settings, ask: Ask) -> Value:
    """Return a valid reading; the number of calls does not depend on it."""
    if settings.verdict == "score":
        return ratings.lowest_value(settings.scale)
    return settings.letters[0] if settings.verdict == "option" else 0


def _ask(task: ReviewTask, reviewer: Reviewer, step: str, number: int, prompt: str) -> Ask:
    label = "Rating" if task.settings.verdict == "score" else "Answer"
    return Ask(
        speaker=reviewer.name,
        step=step,
        round=number,
        spec=reviewer.spec,
        prompt=prompt,
        read=_reader(task.settings),
        retry_prompt=render(task.templates, "again", prompt=prompt, line=f"{label}:"),
        grammar=ratings.rating_grammar(label, _grammar_values(task.settings)),
        images=task.images,
    )


def _grammar_values(settings: Settings) -> Sequence[object]:
    """Return the values that the local model may generate; of a continuous scale eleven, evenly spaced."""
    match settings.verdict:
        case "option":
            return settings.letters
        case "number":
            return range(100)
        case "score" if settings.scale.categories:
            return settings.scale.categories
    low, high = settings.scale.low or 0, settings.scale.high or 0
    return [f"{low + step * (high - low) / 10:g}" for step in range(11)]


def _reader(settings: Settings) -> Callable[[str], Value]:
    match settings.verdict:
        case "score":
            return lambda reply: ratings.read_rating(reply, settings.scale, (settings.criterion.name,))
        case "option":
            return lambda reply: ratings.read_option(reply, settings.letters)
        case "number":
            return ratings.read_number


def _describe_values(settings: Settings) -> str:
    if settings.verdict == "score":
        return ratings.describe_scale(settings.scale)
    *most, last = list(settings.letters)
    return f"{', '.join(most)} or {last}" if settings.verdict == "option" else "the number alone"


def _mean(readings: Sequence[Value]) -> Value | None:
    """S_final = 1/n Σ S_AC(j), over the readable samples."""
    return fmean(_as_number(reading) for reading in readings) if readings else None


def _most_frequent(readings: Sequence[Value]) -> Value | None:
    """Return the reading that occurs more often than any other; None where two tie."""
    counts = Counter(readings).most_common(2)
    is_unique = len(counts) == 1 or (len(counts) == 2 and counts[0][1] > counts[1][1])
    return counts[0][0] if is_unique else None


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
