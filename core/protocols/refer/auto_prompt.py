"""Auto prompt: from a prompt's structure and rated examples, a model drafts evaluation guidelines (ReFeR, Appendix E).

The draft is for a person to edit; nothing uses it unread. The examples should not be among the items that are judged
with the guidelines afterwards, or the comparison with people flatters the judge.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.items import Criterion, Item
from core.labels import Scale
from core.llm.client import Model
from core.problems import Problem, Unreadable
from core.protocols import ratings
from core.protocols.refer import protocol as refer
from core.templates import Templates, load_templates, render
from core.trace import Ask, Spec

PROMPTS = Path(__file__).parent / "prompts" / "auto_prompt"
FEW = 6
"""Examples that are shown unless somebody wants others."""
_HEADING = re.compile(r"^\W*(?:here are |these are )?(?:the )?(?:evaluation |scoring )?guidelines(?: are)?\W*$", re.I)
_FENCE = re.compile(r"^\s*```\w*\s*$")


@dataclass(frozen=True)
class Rated:
    """An item and what people gave it: a value of the scale, or their mean."""

    item: Item
    value: int | float


@dataclass(frozen=True)
class Drafted:
    """A draft, and whether the model came to its end before the limit of tokens."""

    text: str
    whole: bool


def spread(rated: Sequence[Rated], count: int = FEW) -> list[Rated]:
    """Examples from the whole range: sorted by value, taken evenly from the lowest to the highest."""
    ordered = sorted(rated, key=lambda one: one.value)
    if count >= len(ordered):
        return ordered
    if count == 1:
        return [ordered[len(ordered) // 2]]
    return [ordered[round(place * (len(ordered) - 1) / (count - 1))] for place in range(count)]


def structure(settings: refer.Settings, texts: Templates) -> str:
    """The prompt of a review without its input and its guidelines: what the draft is to complete."""
    words = {"criterion": settings.criterion.name}
    task = settings.task or render(texts, "task_score", **words)
    steps = settings.steps or render(texts, "steps_score", values=ratings.values(settings.scale))
    return f"{task}\n\nEvaluation Criterion:\n{refer.written(settings.criterion)}\n\nEvaluation Steps:\n{steps}"


def ask(criterion: Criterion, structure: str, examples: Sequence[Rated], spec: Spec) -> Ask:
    """The question to the model that drafts; raises Problem where there is nothing to learn from."""
    if criterion.scale is None or not ratings.numeric(criterion.scale):
        raise Problem(f"Criterion {criterion.name!r} needs a scale of numbers before guidelines can be drafted.")
    if len({one.value for one in examples}) < 2:
        raise Problem("At least two items with different scores are needed to learn from.")
    texts = load_templates(PROMPTS)
    told = [
        render(texts, "example", number=number, input=_input(one.item), value=f"{one.value:g}")
        for number, one in enumerate(examples, start=1)
    ]
    prompt = render(
        texts,
        "draft",
        values=ratings.values(criterion.scale),
        criteria=refer.written(criterion),
        structure=structure,
        examples="\n\n".join(told),
    )
    grammar = _grammar(criterion.scale)
    return Ask(speaker="drafter", step="draft", round=0, spec=spec, prompt=prompt, read=guidelines, grammar=grammar)


async def drafted(model: Model, ask: Ask) -> Drafted:
    """What the model drafts; raises Problem where it refuses or says nothing."""
    reply = await model.ask(ask)
    if reply.finish == "refused":
        raise Problem(f"{ask.spec.model} refused: there is no draft.")
    return Drafted(guidelines(reply.text), whole=reply.finish == "stop")


def guidelines(reply: str) -> str:
    """The lines of the reply without a heading or a code fence around them."""
    lines = [line.rstrip() for line in reply.strip().splitlines() if not _FENCE.match(line)]
    while lines and (not lines[0].strip() or _HEADING.match(lines[0])):
        lines.pop(0)
    if not "".join(lines).strip():
        raise Unreadable("The reply is empty: there is no draft.")
    return "\n".join(lines).strip()


def _input(item: Item) -> str:
    parts = [("Context", item.context), ("Prompt", item.prompt)]
    parts += [("Response", response.text) for response in item.responses]
    return "\n".join(f"{name}:\n'''\n{text}\n'''" for name, text in parts if text)


def _grammar(scale: Scale) -> str:
    """A line for each score, in llama.cpp's GBNF."""
    ends = [one for one in (scale.low, scale.high) if one is not None]
    lines = [rf'"- A score of {value:g}: " [^\n]{{20,160}} "\n"' for value in scale.categories or ends]
    return "root ::= " + " ".join(lines)
