"""DnA-Eval: responses are scored aspect by aspect, and we add up (Li et al. 2024, arXiv:2405.15329, Section 3).

The aspects are given, or a judge proposes k of them from the question alone (Eq. 1). It scores all responses on each
aspect in an ask of its own (Eq. 2), and weighs the aspects from the question alone. The weighted sum (Eq. 3) and the
comparison (Eq. 4) are ours: models add badly. Several judges work side by side; where they differ a person decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from core import aspects as sums
from core.items import Criterion, Item
from core.labels import Value
from core.problems import Problem
from core.protocols.dna_eval import grammars
from core.protocols.dna_eval import readings as read
from core.protocols.dna_eval.settings import Scoring
from core.protocols.dna_eval.settings import Settings as Settings
from core.protocols.dna_eval.verdicts import Judgement, aspects_of, conclude, judgements
from core.protocols.scaleeval.protocol import Judge
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn

NAME = "dna_eval"


def flow(item: Item, settings: Settings, chance: Random, templates: Templates) -> Flow:
    """One item. What needs no answer to another ask goes out with it: all scores, and the weights, at once."""
    task = opened(item, settings, chance, templates)
    said: list[Turn] = []
    if not settings.aspects:
        said += yield [proposal(task, judge, settings.proposed) for judge in settings.judges]
    judging = [(judge, found) for judge in settings.judges if (found := aspects_of(settings, said, judge.name))]
    if judging:
        weighed = judging if settings.aggregation == "weighted sum" else []
        asks = [weighing(task, judge, found) for judge, found in weighed]
        said += yield asks + [ask for judge, found in judging for ask in scoring(task, judge, found)]
    scored = [one for one in judgements(said, settings, len(item.responses)) if one.complete]
    if settings.aggregation == "chain of aspects" and scored:
        said += yield [adding_up(task, one) for one in scored]
    return conclude(judgements(said, settings, len(item.responses)), criterion_of(settings.criterion), NAME)


@dataclass(frozen=True)
class Task:
    """What stays the same for an item: the question, and the responses as the judges read them."""

    settings: Scoring
    templates: Templates
    question: str
    responses: str
    shown: tuple[int, ...]


def opened(item: Item, settings: Scoring, chance: Random, templates: Templates) -> Task:
    """Draw the order of the responses, and write them out."""
    if len(item.responses) < 2:
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; DnA-Eval compares two or more.")
    shown = list(range(1, len(item.responses) + 1))
    if settings.shuffle_responses:
        chance.shuffle(shown)
    question = f"{item.context}\n\n{item.prompt}" if item.context else item.prompt
    return Task(settings, templates, question, responses_in(templates, item, shown), tuple(shown))


def responses_in(templates: Templates, item: Item, shown: Sequence[int]) -> str:
    """The responses in the order `shown`, numbered as they stand."""
    texts = [item.responses[number - 1].text for number in shown]
    return "\n\n".join(render(templates, "response", number=n, text=text) for n, text in enumerate(texts, start=1))


def proposal(task: Task, judge: Judge, count: int) -> Ask:
    """Aspects for this item, from the question alone (Section 3.1)."""
    prompt = render(task.templates, "aspects", question=task.question, count=count)
    again = render(task.templates, "again_aspects", prompt=prompt, count=count)
    return Ask(
        speaker=judge.name,
        step="aspects",
        round=0,
        spec=judge.spec,
        prompt=prompt,
        read=lambda reply: "\n".join(read.aspects(reply, count)),
        again=again,
        grammar=grammars.aspects(count),
    )


def weighing(task: Task, judge: Judge, aspects: Sequence[str]) -> Ask:
    """The weights in percent, from the question and the aspects alone."""
    listed = "\n".join(f"{number}. {written(task.settings, name)}" for number, name in enumerate(aspects, start=1))
    prompt = render(task.templates, "weights", question=task.question, aspects=listed, count=len(aspects))
    again = render(task.templates, "again_weights", prompt=prompt, count=len(aspects))
    return Ask(
        speaker=judge.name,
        step="weights",
        round=0,
        spec=judge.spec,
        prompt=prompt,
        read=lambda reply: read.weights(reply, aspects),
        again=again,
        grammar=grammars.weights(len(aspects)),
    )


def scoring(task: Task, judge: Judge, aspects: Sequence[str]) -> list[Ask]:
    """One ask for each aspect, in which all responses are scored (Section 3.2); its round is the aspect's number."""
    return [
        asked_scores(task, judge, "score", number, aspect=written(task.settings, name))
        for number, name in enumerate(aspects, start=1)
    ]


def adding_up(task: Task, judged: Judgement) -> Ask:
    """The overall scores from the scores by aspect, as the model sees fit (Section 4.3)."""
    judge = next(judge for judge in task.settings.judges if judge.name == judged.judge)
    lines = [
        f"{written(task.settings, name)} - "
        + ", ".join(
            f"Response {n}: {judged.scores[number - 1][name]:g}" for n, number in enumerate(task.shown, start=1)
        )
        for name in judged.aspects
    ]
    return asked_scores(task, judge, "overall", 0, scores="\n".join(lines))


def criterion_of(criterion: Criterion | None) -> str:
    """What the preference is called; empty for an overall one."""
    return criterion.name if criterion else ""


def written(settings: Scoring, name: str) -> str:
    """An aspect as a judge reads it: with its definition, where the study gave one."""
    definition = next((aspect.definition for aspect in settings.aspects if aspect.name == name), "")
    return f"{name}: {definition}" if definition else name


def asked_scores(task: Task, judge: Judge, step: str, number: int, **values: object) -> Ask:
    """An ask for one score for each response; `values` fill what the template `step` has beyond the usual."""
    low, high, count = task.settings.lowest, task.settings.highest, len(task.shown)
    scale = {"count": count, "lowest": low, "highest": high}
    prompt = render(task.templates, step, question=task.question, responses=task.responses, **values, **scale)
    return Ask(
        speaker=judge.name,
        step=step,
        round=number,
        spec=judge.spec,
        prompt=prompt,
        read=own_order(count, task.shown, low, high),
        shown=task.shown,
        again=render(task.templates, "again_scores", prompt=prompt, **scale),
        grammar=grammars.scores(count, low, high, reasons=step == "reasoned"),
    )


def own_order(count: int, shown: tuple[int, ...], lowest: float, highest: float) -> Callable[[str], dict[str, float]]:
    """A reading that takes the scores in the order shown back to the item's own: response number -> score."""

    def reading(reply: str) -> dict[str, float]:
        found = dict(zip(shown, read.scores(reply, count, lowest, highest), strict=True))
        return {str(number): found[number] for number in sorted(found)}

    return reading


def longest(settings: Settings, ask: Ask) -> Value:
    """Everything can be read; the course is the same whatever is said."""
    if ask.step == "aspects":
        return "\n".join(f"aspect {number}" for number in range(1, settings.proposed + 1))
    if ask.step == "weights":
        given = [aspect.name for aspect in settings.aspects]
        return sums.equal(given or [f"aspect {number}" for number in range(1, settings.proposed + 1)])
    return {str(number): float(settings.highest) for number in ask.shown}


def shortest(settings: Settings, ask: Ask) -> Value:
    """The same: no ask is saved by an answer."""
    return longest(settings, ask)


def words(settings: Settings) -> int:
    """A line of numbers; or a few aspects."""
    return 12 if settings.aspects else 16
