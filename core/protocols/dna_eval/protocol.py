"""DnA-Eval: responses are scored aspect by aspect, and the scores summed (Li et al. 2024, arXiv:2405.15329, Section 3).

The aspects are predefined, or a judge proposes k of them from the question alone (Eq. 1). It scores all responses on
each aspect in a separate ask (Eq. 2), and weights the aspects from the question alone. The weighted sum (Eq. 3) and the
comparison (Eq. 4) are computed here, since models calculate badly. Several judges work independently. With position
calibration they score the responses in both orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from core.answers.lists import Aspects
from core.answers.scores import Scores, Weights
from core.errors import TiebreakError
from core.items import Item
from core.protocols import Judge
from core.protocols.dna_eval.settings import ScoringSettings, Settings, settings_of_item
from core.protocols.dna_eval.verdicts import (
    collect_judgements,
    collect_judgements_of_order,
    conclude,
    judge_aspects,
    weightings_needed,
)
from core.protocols.prompt_parts import draw_orders, item_material
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Turn

NAME = "dna_eval"
# Words of an aspect's name that a reply is expected to repeat.
LONGEST_NAME = 5


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Run one item. Asks that do not depend on each other run in parallel: all scores, and the weights."""
    settings = settings_of_item(settings, item)
    tasks = start_scoring(item, settings, rng, templates)
    turns: list[Turn] = []
    if not settings.aspects:
        proposers = [settings.proposer] if settings.proposer else settings.judges
        turns += yield [ask_aspects(tasks[0], proposer, settings.proposed) for proposer in proposers]
    aspects = {judge: names for judge in settings.judges if (names := judge_aspects(settings, turns, judge.name))}
    if aspects:
        weightings = weightings_needed(settings, [(judge, names) for judge, names in aspects.items()])
        weight_asks = [
            ask_weights(tasks[0], weigher, names, number, proposal(turns, names))
            for weigher, number, names in weightings
        ]
        turns += yield weight_asks + [
            ask_scores(task, judge, "score", number, aspect=Material("Aspect", aspect_text(settings, name)))
            for task in tasks
            for judge, names in aspects.items()
            for number, name in enumerate(names, start=1)
        ]
    if settings.aggregation == "chain of aspects":
        overall_asks = [ask for task in tasks for ask in ask_overall_scores(task, turns)]
        turns += (yield overall_asks) if overall_asks else []
    return conclude(collect_judgements(turns, settings, len(item.responses)), settings, NAME)


@dataclass(frozen=True)
class ScoringTask:
    """The constants of an item: the settings, and the order in which the judges read the responses."""

    item: Item
    settings: ScoringSettings
    templates: Templates
    shown: tuple[int, ...]

    @property
    def responses(self) -> list[Material]:
        """The responses in the order `shown`, numbered by their position."""
        return [
            Material(name, self.item.responses[number - 1].text)
            for name, number in zip(response_names(self.shown), self.shown, strict=True)
        ]

    def render(self, step: str, **values: object) -> str:
        """Fill the template of a step; question, context, reference and rule are available in every one."""
        rule = f"\n\nKeep to this rule: {self.settings.rule.strip()}" if self.settings.rule.strip() else ""
        shared = item_material(self.item, self.templates, step)
        return render(self.templates, step, **shared, rule=rule, **values)


def start_scoring(item: Item, settings: ScoringSettings, rng: Random, templates: Templates) -> list[ScoringTask]:
    """Draw the order of the responses; return a task for each order in which they are read."""
    if len(item.responses) < 2:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; DnA-Eval compares two or more.")
    orders = draw_orders(len(item.responses), settings, rng)
    return [ScoringTask(item, settings, templates, order) for order in orders]


def response_names(shown: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the responses in the prompts, by position: `Response 1`, `Response 2`..."""
    return tuple(f"Response {position}" for position in range(1, len(shown) + 1))


def ask_aspects(task: ScoringTask, proposer: Judge, count: int) -> Ask:
    """Ask for `count` aspects of this item, from the question alone (Section 3.1)."""
    return Ask(
        speaker=proposer.name,
        step="aspects",
        round=0,
        spec=proposer.spec,
        prompt=task.render("aspects", count=count),
        answer=Aspects(count=count, definitions=True, reasoning=False),
        value=_aspect_lines,
    )


def _aspect_lines(aspects: Mapping[str, str]) -> str:
    """Return proposed aspects one per line, each with its definition: `Accuracy: Are the facts right?`."""
    lines = (f"{name}: {definition}" if definition else name for name, definition in aspects.items())
    return "\n".join(" ".join(line.split()) for line in lines)


def proposal(turns: Sequence[Turn], aspects: Sequence[str]) -> str:
    """Return the reply that proposed these aspects; empty for predefined ones."""
    return next((turn.statement for turn in turns if turn.reading == "\n".join(aspects)), "")


def ask_weights(task: ScoringTask, weigher: Judge, aspects: Sequence[str], number: int, proposed: str = "") -> Ask:
    """Ask for the weights in percent, from the question and the aspects alone; its round is the number of the set.

    `proposed` is the reply that proposed the aspects.
    """
    settings = task.settings
    assert isinstance(settings, Settings), "the baselines have no weights"
    names = short_names(aspects)
    in_full = dict(zip(names, aspects, strict=True))
    texts = [aspect_text(settings, aspect) for aspect in aspects]
    lines = [text if text.startswith(name) else f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
    return Ask(
        speaker=weigher.name,
        step="weights",
        round=number,
        spec=weigher.spec,
        prompt=task.render(
            "weights",
            aspects=Material("Aspects", "\n".join(lines)),
            aspects_proposed=Material("Aspects", proposed or "\n".join(texts), required=False),
            count=len(aspects),
        ),
        answer=Weights(names=names, reasoning=False, any_total=settings.totals != "refuse"),
        value=lambda weights: {in_full[name]: float(weights[name]) for name in names},
    )


def short_names(aspects: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the aspects in a reply: the names before their definitions, or `Aspect 1`, `Aspect 2`...

    They are numbered if a name is long, such as a question, or if two names are equal.
    """
    names = tuple(aspect.partition(": ")[0] for aspect in aspects)
    are_short = all(len(name.split()) <= LONGEST_NAME and "?" not in name for name in names)
    if are_short and len({name.casefold() for name in names}) == len(names):
        return names
    return tuple(f"Aspect {number}" for number in range(1, len(aspects) + 1))


def ask_overall_scores(task: ScoringTask, turns: Sequence[Turn]) -> list[Ask]:
    """Ask each model itself for the overall scores, from its scores by aspect in the task's order (Section 4.3)."""
    assert isinstance(task.settings, Settings), "the baselines have no chain of aspects"
    judgements = collect_judgements_of_order(turns, task.settings, len(task.item.responses), task.shown)
    places, asks = list(zip(response_names(task.shown), task.shown, strict=True)), []
    for judge, judgement in zip(task.settings.judges, judgements, strict=True):
        if judgement.complete:
            lines, each = [], dict[str, Any]()
            for place_of_aspect, name in enumerate(judgement.aspects, start=1):
                text = aspect_text(task.settings, name)
                scores = [(place, f"{judgement.scores[number - 1][name]:g}") for place, number in places]
                lines.append(f"{text} - {', '.join(f'{place}: {score}' for place, score in scores)}")
                each[f"aspect_{place_of_aspect}"] = Material("Aspect", text, required=False)
                each[f"scores_{place_of_aspect}"] = " ".join(score for _, score in scores)
            stated = Material("Scores by aspect", "\n".join(lines))
            asks.append(ask_scores(task, judge, "overall", 0, scores=stated, **each))
    return asks


def aspect_text(settings: ScoringSettings, name: str) -> str:
    """Return an aspect with its definition, if the settings give one."""
    definition = next((aspect.definition for aspect in settings.aspects if aspect.name == name), "")
    return f"{name}: {definition}" if definition else name


def ask_scores(
    task: ScoringTask, judge: Judge, step: str, number: int, *, reasoning: bool = False, **values: Any
) -> Ask:
    """Ask for one score for each response; `values` fill the blanks that only the template `step` has."""
    low, high, names = task.settings.lowest, task.settings.highest, response_names(task.shown)
    scale = {"count": len(names), "lowest": low, "highest": high}
    return Ask(
        speaker=judge.name,
        step=step,
        round=number,
        spec=judge.spec,
        prompt=task.render(step, responses=task.responses, **scale, **values),
        answer=Scores(names=names, low=low, high=high, reasoning=reasoning),
        # {response number: score} in the item's own order, from {"Response 1": score of the first shown, ...}
        value=lambda scores: {str(n): float(scores[name]) for n, name in sorted(zip(task.shown, names, strict=True))},
        shown=task.shown,
    )


def reply_words(settings: Settings) -> int:
    """Return the words of a reply: lines of names and numbers, or a few aspects with their definitions."""
    return 12 if settings.aspects else 30
