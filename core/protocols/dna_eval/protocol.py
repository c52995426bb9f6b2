"""DnA-Eval: responses are scored aspect by aspect, and the scores summed (Li et al. 2024, arXiv:2405.15329, Section 3).

The aspects are predefined, or a judge proposes k of them from the question alone (Eq. 1). It scores all responses on
each aspect in a separate ask (Eq. 2), and weights the aspects from the question alone. The weighted sum (Eq. 3) and the
comparison (Eq. 4) are computed here, since models calculate badly. Several judges work independently.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from core import aspects as aspect_scores
from core.items import Item
from core.labels import Value
from core.problems import Problem
from core.protocols import Judge
from core.protocols.dna_eval import readings
from core.protocols.dna_eval.settings import ScoringSettings, Settings
from core.protocols.dna_eval.verdicts import Judgement, collect_judgements, conclude, judge_aspects
from core.protocols.prompt_parts import question_text
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn

NAME = "dna_eval"


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """One item. Asks that do not depend on each other run in parallel: all scores, and the weights."""
    task = start_scoring(item, settings, rng, templates)
    turns: list[Turn] = []
    if not settings.aspects:
        turns += yield [ask_aspects(task, judge, settings.proposed) for judge in settings.judges]
    aspects = {judge: names for judge in settings.judges if (names := judge_aspects(settings, turns, judge.name))}
    if aspects:
        weighted = aspects if settings.aggregation == "weighted sum" else {}
        weight_asks = [ask_weights(task, judge, names) for judge, names in weighted.items()]
        score_asks = [ask for judge, names in aspects.items() for ask in ask_aspect_scores(task, judge, names)]
        turns += yield weight_asks + score_asks
    scored = [judgement for judgement in collect_judgements(turns, settings, len(item.responses)) if judgement.complete]
    if settings.aggregation == "chain of aspects" and scored:
        turns += yield [ask_overall_scores(task, judgement) for judgement in scored]
    return conclude(collect_judgements(turns, settings, len(item.responses)), settings.criterion_name, NAME)


@dataclass(frozen=True)
class ScoringTask:
    """What is constant for an item: the question, and the responses as the judges read them."""

    settings: ScoringSettings
    templates: Templates
    question: str
    responses: str
    shown: tuple[int, ...]


def start_scoring(item: Item, settings: ScoringSettings, rng: Random, templates: Templates) -> ScoringTask:
    """Draw the order of the responses, and render them."""
    if len(item.responses) < 2:
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; DnA-Eval compares two or more.")
    shown = list(range(1, len(item.responses) + 1))
    if settings.shuffle_responses:
        rng.shuffle(shown)
    return ScoringTask(settings, templates, question_text(item), responses_text(templates, item, shown), tuple(shown))


def responses_text(templates: Templates, item: Item, shown: Sequence[int]) -> str:
    """Return the responses in the order `shown`, numbered by their position."""
    texts = [item.responses[number - 1].text for number in shown]
    return "\n\n".join(render(templates, "response", number=n, text=text) for n, text in enumerate(texts, start=1))


def ask_aspects(task: ScoringTask, judge: Judge, count: int) -> Ask:
    """Ask for `count` aspects of this item, from the question alone (Section 3.1)."""
    prompt = render(task.templates, "aspects", question=task.question, count=count)
    return Ask(
        speaker=judge.name,
        step="aspects",
        round=0,
        spec=judge.spec,
        prompt=prompt,
        read=lambda reply: "\n".join(readings.read_aspects(reply, count)),
        retry_prompt=render(task.templates, "again_aspects", prompt=prompt, count=count),
        grammar=readings.aspects_grammar(count),
    )


def ask_weights(task: ScoringTask, judge: Judge, aspects: Sequence[str]) -> Ask:
    """Ask for the weights in percent, from the question and the aspects alone."""
    lines = "\n".join(f"{number}. {aspect_text(task.settings, name)}" for number, name in enumerate(aspects, start=1))
    prompt = render(task.templates, "weights", question=task.question, aspects=lines, count=len(aspects))
    return Ask(
        speaker=judge.name,
        step="weights",
        round=0,
        spec=judge.spec,
        prompt=prompt,
        read=lambda reply: readings.read_weights(reply, aspects),
        retry_prompt=render(task.templates, "again_weights", prompt=prompt, count=len(aspects)),
        grammar=readings.weights_grammar(len(aspects)),
    )


def ask_aspect_scores(task: ScoringTask, judge: Judge, aspects: Sequence[str]) -> list[Ask]:
    """Return one ask for each aspect, which scores all responses (Section 3.2); its round is the aspect's number."""
    return [
        ask_scores(task, judge, "score", number, aspect=aspect_text(task.settings, name))
        for number, name in enumerate(aspects, start=1)
    ]


def ask_overall_scores(task: ScoringTask, judgement: Judgement) -> Ask:
    """Ask the model itself for the overall scores, from its scores by aspect (Section 4.3)."""
    judge = next(judge for judge in task.settings.judges if judge.name == judgement.judge)
    lines = [
        f"{aspect_text(task.settings, name)} - "
        + ", ".join(
            f"Response {n}: {judgement.scores[number - 1][name]:g}" for n, number in enumerate(task.shown, start=1)
        )
        for name in judgement.aspects
    ]
    return ask_scores(task, judge, "overall", 0, scores="\n".join(lines))


def aspect_text(settings: ScoringSettings, name: str) -> str:
    """Return an aspect with its definition, where the settings give one."""
    definition = next((aspect.definition for aspect in settings.aspects if aspect.name == name), "")
    return f"{name}: {definition}" if definition else name


def ask_scores(task: ScoringTask, judge: Judge, step: str, number: int, **values: object) -> Ask:
    """Ask for one score for each response; `values` fill the blanks that only the template `step` has."""
    low, high, count = task.settings.lowest, task.settings.highest, len(task.shown)
    scale = {"count": count, "lowest": low, "highest": high}
    prompt = render(task.templates, step, question=task.question, responses=task.responses, **values, **scale)
    return Ask(
        speaker=judge.name,
        step=step,
        round=number,
        spec=judge.spec,
        prompt=prompt,
        read=scores_reader(task.shown, low, high),
        shown=task.shown,
        retry_prompt=render(task.templates, "again_scores", prompt=prompt, **scale),
        grammar=readings.scores_grammar(count, low, high, reasons=step == "reasoned"),
    )


def scores_reader(shown: tuple[int, ...], lowest: float, highest: float) -> Callable[[str], dict[str, float]]:
    """Return a reader of scores in the order `shown` that gives {response number: score} in the item's own order."""

    def read(reply: str) -> dict[str, float]:
        scores = dict(zip(shown, readings.read_scores(reply, len(shown), lowest, highest), strict=True))
        return {str(number): scores[number] for number in sorted(scores)}

    return read


def any_reading(settings: Settings, ask: Ask) -> Value:
    """Return a valid reading; the number of calls does not depend on it."""
    proposed = [f"aspect {number}" for number in range(1, settings.proposed + 1)]
    if ask.step == "aspects":
        return "\n".join(proposed)
    if ask.step == "weights":
        return aspect_scores.equal_weights([aspect.name for aspect in settings.aspects] or proposed)
    return {str(number): float(settings.highest) for number in ask.shown}


def reply_words(settings: Settings) -> int:
    """Return the words of a reply: a line of numbers, or a few aspects."""
    return 12 if settings.aspects else 16
