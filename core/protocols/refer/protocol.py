"""ReFeR: peers review alone, an area chair decides (Narsupalli et al. 2024, arXiv:2407.12877, Algorithm 1).

K peers evaluate at once (Eq. 1); the area chair, told what they made of it, is asked n times (Eq. 2); the final score
is the mean of those of its samples that could be read (Eq. 3). For reasoning tasks the verdict is an answer.
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
from core.protocols.refer.settings import Reviewer as Reviewer
from core.protocols.refer.settings import Settings as Settings
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn, Verdict

NAME = "refer"


def flow(item: Item, settings: Settings, chance: Random, templates: Templates) -> Flow:
    """One review. Nothing in it is random but what the models say."""
    paper = opened(item, settings, templates)
    reviews = yield [review(paper, peer) for peer in settings.peers]
    samples = yield [decision(paper, reviews)] * settings.samples
    return conclude(reviews, samples, settings)


@dataclass(frozen=True)
class Paper:
    """What lies before the reviewers: the schema's parts, written out."""

    settings: Settings
    templates: Templates
    task: str
    steps: str
    guidelines: str
    input: str
    form: str
    images: tuple[str, ...]

    def prompt(self, name: str, **more: object) -> str:
        """The prompt of a peer or of the chair, with the parts that both have."""
        parts = {"task": self.task, "steps": self.steps, "guidelines": self.guidelines, "input": self.input}
        if self.settings.verdict == "score":
            criteria = written(self.settings.criterion)
            return render(self.templates, name, **parts, form=self.form, criteria=criteria, **more)
        return render(self.templates, f"{name}_answer", **parts, form=self.form, **more)


def opened(item: Item, settings: Settings, templates: Templates) -> Paper:
    """Write out what stays the same for everybody."""
    score = settings.verdict == "score"
    if score and len(item.responses) != 1:
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; ReFeR scores one.")
    words = {"criterion": settings.criterion.name}
    offered = _offered(settings)
    text, images = material(item, settings, templates)
    form = render(templates, f"form_{settings.verdict}", **(words if score else {}), values=offered)
    own = settings.guidelines.strip()
    return Paper(
        settings,
        templates,
        task=settings.task or (render(templates, "task_score", **words) if score else render(templates, "task_answer")),
        steps=settings.steps
        or (render(templates, "steps_score", values=offered) if score else render(templates, "steps_answer")),
        guidelines=render(templates, "guidelines", guidelines=own) if own else "",
        input=text,
        form=form,
        images=images,
    )


def material(item: Item, settings: Settings, templates: Templates) -> tuple[str, tuple[str, ...]]:
    """What is judged or solved, part by part, and the images that go with it in the order of their numbers."""
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


def review(paper: Paper, peer: Reviewer) -> Ask:
    """A peer's comment and score (Eq. 1)."""
    return _ask(paper, peer, "peer", 0, paper.prompt("peer"))


def decision(paper: Paper, reviews: Sequence[Turn]) -> Ask:
    """One sample of the area chair's decision (Eq. 2); all samples are asked alike."""
    sort = "score" if paper.settings.verdict == "score" else "answer"
    told = [
        render(paper.templates, f"review_{sort}", number=number, said=passed_on(turn, paper.settings))
        for number, turn in enumerate(reviews, start=1)
    ]
    prompt = paper.prompt("chair", count=len(reviews), reviews="\n\n".join(told))
    return _ask(paper, paper.settings.chair, "chair", 1, prompt)


def passed_on(turn: Turn, settings: Settings) -> str:
    """What the chair is told of a review. A comment alone does not give the score away."""
    word = "Rating" if settings.verdict == "score" else "Answer"
    score = f"{word}: {turn.reading}" if turn.reading is not None else f"({word.lower()} that nobody could read)"
    remark = ratings.comment(turn.reply, (settings.criterion.name,)) or "(no comment)"
    return {"scores": score, "comments": remark, "both": f"{remark}\n{score}"}[settings.told]


def conclude(reviews: Sequence[Turn], samples: Sequence[Turn], settings: Settings) -> Verdict:
    """The mean of the scores that could be read (Eq. 3), or the answer that most samples give; a tie is left open."""
    readings = [turn.reading for turn in samples if turn.reading is not None]
    value = _mean(readings) if settings.verdict == "score" else _most(readings)
    outcome = "agreed" if value is not None else "disputed" if readings else "no_verdict"
    reason = _reason(value, readings, samples, settings)
    opinions = [_opinion(turn, settings) for turn in reviews]
    ruling = Opinion(
        kind=settings.kind,
        judge=settings.chair.name,
        stage="verdict",
        value=value,
        criterion=settings.criterion.name,
        problem="" if value is not None else reason,
    )
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(*opinions, ruling))


def shown(samples: Sequence[Turn], value: Value | None) -> int | None:
    """Which sample's comment is the final one: the first of those nearest to the verdict; None where none was read."""
    read = [(number, turn.reading) for number, turn in enumerate(samples) if turn.reading is not None]
    if not read:
        return None
    if isinstance(value, str) or value is None:
        return next((number for number, reading in read if reading == value), read[0][0])
    return min(read, key=lambda pair: abs(_number(pair[1]) - _number(value)))[0]


def written(criterion: Criterion) -> str:
    """`Engaging (1, 2 or 3): ...`, then the rubric from the lowest level to the highest."""
    scale = f" ({ratings.values(criterion.scale)})" if criterion.scale else ""
    head = f"{criterion.name}{scale}" + (f": {criterion.definition}" if criterion.definition else "")
    return "\n".join([head, *(f"- {line}" for line in criterion.rubric)])


def longest(settings: Settings, ask: Ask) -> Value:
    """Every course takes the same calls."""
    if settings.verdict == "score":
        return settings.scale.categories[0] if settings.scale.categories else settings.scale.low or 0
    return settings.letters[0] if settings.verdict == "option" else 0


def _ask(paper: Paper, who: Reviewer, step: str, number: int, prompt: str) -> Ask:
    line = "Rating:" if paper.settings.verdict == "score" else "Answer:"
    return Ask(
        speaker=who.name,
        step=step,
        round=number,
        spec=who.spec,
        prompt=prompt,
        read=_reader(paper.settings),
        again=render(paper.templates, "again", prompt=prompt, line=line),
        grammar=ratings.grammar(line.removesuffix(":"), _examples(paper.settings)),
        images=paper.images,
    )


def _examples(settings: Settings) -> Sequence[object]:
    """Values that a model may be held to; of a continuous scale eleven, evenly from end to end."""
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
            return lambda reply: ratings.rating(reply, settings.scale, (settings.criterion.name,))
        case "option":
            return lambda reply: ratings.option(reply, settings.letters)
        case "number":
            return ratings.number


def _offered(settings: Settings) -> str:
    if settings.verdict == "score":
        return ratings.values(settings.scale)
    *most, last = list(settings.letters)
    return f"{', '.join(most)} or {last}" if settings.verdict == "option" else "the number alone"


def _mean(readings: Sequence[Value]) -> Value | None:
    """S_final = 1/n Σ S_AC(j), over the samples that could be read."""
    return fmean(_number(reading) for reading in readings) if readings else None


def _most(readings: Sequence[Value]) -> Value | None:
    """The answer that more samples give than any other."""
    counts = Counter(readings).most_common(2)
    alone = len(counts) == 1 or (len(counts) == 2 and counts[0][1] > counts[1][1])
    return counts[0][0] if alone else None


def _reason(value: Value | None, readings: Sequence[Value], samples: Sequence[Turn], settings: Settings) -> str:
    """The outcome in words for a person."""
    if not readings:
        return f"none of the chair's {len(samples)} samples could be read: {samples[0].problem}"
    if value is None:
        return "the chair's samples are tied: " + ", ".join(f"{n} for {v}" for v, n in Counter(readings).most_common())
    if len(samples) == 1:
        return "the area chair's decision"
    alike = (
        f"the mean of {len(readings)}"
        if settings.verdict == "score"
        else f"{Counter(readings)[value]} of {len(readings)}"
    )
    unread = f", {len(samples) - len(readings)} more could not be read" if len(readings) < len(samples) else ""
    return f"{alike} samples{unread}; the comment of sample {(shown(samples, value) or 0) + 1} stands for them"


def _opinion(turn: Turn, settings: Settings) -> Opinion:
    return Opinion(
        kind=settings.kind,
        judge=turn.speaker,
        stage="last",
        value=turn.reading,
        criterion=settings.criterion.name,
        problem="" if turn.reading is not None else turn.problem or "gave no opinion",
    )


def _number(value: Value) -> float:
    if isinstance(value, bool | str | dict):
        raise TypeError(f"{value!r} is no score")
    return float(value)
