"""Auto prompt: a model drafts evaluation guidelines from a prompt's structure and rated examples (ReFeR, Appendix E).

The draft is for a person to edit; no run uses it unedited. The examples should not be among the items that are judged
with the guidelines afterwards, or the alignment with annotators is overestimated.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import TiebreakError, UnreadableReply
from core.items import Criterion, Item
from core.llm.client import Model
from core.protocols.prompt_parts import describe_scale, is_numeric
from core.protocols.refer.protocol import describe_criterion, schema_parts
from core.protocols.refer.settings import Reviewer, Settings
from core.templates import Material, Templates, load_templates, render
from core.trace import Ask, Spec

PROMPTS = Path(__file__).parent / "prompts" / "auto_prompt"
# Number of examples in the prompt by default.
DEFAULT_EXAMPLES = 6
# The longest draft in tokens.
DRAFT_TOKENS = 800
_HEADING = re.compile(r"^\W*(?:here are |these are )?(?:the )?(?:evaluation |scoring )?guidelines(?: are)?\W*$", re.I)
_FENCE = re.compile(r"^\s*```\w*\s*$")


@dataclass(frozen=True)
class RatedItem:
    """An item and the score that annotators gave it: a value of the scale, or their mean."""

    item: Item
    value: int | float


@dataclass(frozen=True)
class Draft:
    """Drafted guidelines, and whether the model finished before the token limit."""

    text: str
    complete: bool


def select_examples(rated: Sequence[RatedItem], count: int = DEFAULT_EXAMPLES) -> list[RatedItem]:
    """Return up to `count` examples, evenly spaced from the lowest value to the highest."""
    ordered = sorted(rated, key=lambda example: example.value)
    if count >= len(ordered):
        return ordered
    if count == 1:
        return [ordered[len(ordered) // 2]]
    return [ordered[round(index * (len(ordered) - 1) / (count - 1))] for index in range(count)]


def guidelines_request(
    criterion: Criterion,
    examples: Sequence[RatedItem],
    spec: Spec,
    templates: Templates,
    task: str = "",
    steps: str = "",
) -> Ask:
    """Ask a model for guidelines that complete a peer's prompt with this task and these steps.

    Raises TiebreakError if the criterion has no scale or the examples have one value.
    """
    if criterion.scale is None or not is_numeric(criterion.scale):
        raise TiebreakError(f"Criterion {criterion.name!r} needs a scale of numbers before guidelines can be drafted.")
    if len({example.value for example in examples}) < 2:
        raise TiebreakError("At least two items with different scores are needed to learn from.")
    peer, chair = (Reviewer(name=name, spec=spec) for name in ("peer", "chair"))
    settings = Settings(peers=(peer,), chair=chair, criterion=criterion, task=task, steps=steps)
    structure = "{task}\n\nEvaluation criterion:\n{criteria}\n\nEvaluation steps:\n{steps}"
    prompt = render(
        load_templates(PROMPTS),
        "draft",
        values=describe_scale(criterion.scale),
        criteria=Material("Criterion", describe_criterion(criterion)),
        structure=Material("Prompt", structure.format(**schema_parts(settings, templates, "peer"))),
        examples=[Material(f"Example {n}", _example_text(example)) for n, example in enumerate(examples, start=1)],
    )
    return Ask(speaker="drafter", step="draft", round=0, spec=spec, prompt=prompt)


async def draft_guidelines(model: Model, ask: Ask) -> Draft:
    """Return the model's draft; raises TiebreakError if it refuses or the reply is empty."""
    reply = await model.complete(ask)
    if reply.finish == "refused":
        raise TiebreakError(f"{ask.spec.model} refused: there is no draft.")
    return Draft(read_guidelines(reply.text), complete=reply.finish == "stop")


def read_guidelines(reply: str) -> str:
    """Return the lines of the reply without a heading or a code fence."""
    lines = [line.rstrip() for line in reply.strip().splitlines() if not _FENCE.match(line)]
    while lines and (not lines[0].strip() or _HEADING.match(lines[0])):
        lines.pop(0)
    if not "".join(lines).strip():
        raise UnreadableReply("The reply is empty: there is no draft.")
    return "\n".join(lines).strip()


def _example_text(example: RatedItem) -> str:
    item = example.item
    parts = [("Context", item.context), ("Prompt", item.prompt)]
    parts += [("Response", response.text) for response in item.responses]
    parts += [("People's score", f"{example.value:g}")]
    return "\n\n".join(f"{name}:\n{text}" for name, text in parts if text)
