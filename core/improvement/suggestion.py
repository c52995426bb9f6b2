"""A model that proposes changes of a criterion from cases that people decided otherwise than the judge.

After the auto prompt of ReFeR (Narsupalli et al. 2024, Appendix E), which drafts guidelines from rated examples; here
the examples are the judge's errors on development items. A proposal is tested like one of a person.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import TiebreakError, UnreadableReply
from core.improvement.changes import Changes
from core.items import Criterion, Item, target_item
from core.labels import Source, Target, Value
from core.llm.client import Model
from core.protocols.prompt_parts import NONE_GIVEN
from core.templates import Material, load_templates, render
from core.trace import Ask, Spec
from core.wording import format_count

PROMPTS = Path(__file__).parent / "prompts"
MAX_TEXT = 3_000  # characters of a text of an item or a reply in the prompt
DEFAULT_CASES = 10
_PART = re.compile(r"^[*# ]{0,4}(DEFINITION|RUBRIC|GUIDELINES)[* ]{0,4}:[* ]{0,4}", re.M | re.I)
_LEVEL = re.compile(r"^\s*(?:[-*]\s*)?(?:\(?\d+[.):]\s*)?")
_FENCE = re.compile(r"^\s*```\w*\s*$", re.M)


@dataclass(frozen=True)
class Case:
    """A target on which people's decision differs from the judge's verdict."""

    item: Item
    target: Target
    gold: Value
    source: Source
    reason: str  # the rule and the reason of an adjudication; otherwise how the labels were counted
    verdict: Value | None
    distance: float  # of the verdict from gold, 0 to 1
    trace: int
    replies: tuple[tuple[str, str], ...] = ()  # (judge, reply) of the judges' last replies


def suggestion_request(criterion: Criterion, guidelines: str, cases: Sequence[Case], spec: Spec) -> Ask:
    """Ask a model for changes of the criterion; raises TiebreakError without a case."""
    if not cases:
        raise TiebreakError("There is no case to learn from: on no development item do judge and people disagree.")
    levels = [f"{level}: {text}" for level, text in criterion.levels]
    form = (
        f"{format_count(len(levels), 'line')}, one for each level" if levels else "nothing: the criterion has no levels"
    )
    prompt = render(
        load_templates(PROMPTS),
        "suggest",
        criterion=Material("Criterion", "\n".join(filter(None, [criterion.name, criterion.definition, *levels]))),
        guidelines=Material("Guidelines", guidelines or NONE_GIVEN, required=False),
        cases=[Material(f"Case {number}", case_text(case)) for number, case in enumerate(cases, 1)],
        rubric=form,
    )
    return Ask(speaker="editor", step="suggest", round=0, spec=spec, prompt=prompt)


async def suggest(model: Model, ask: Ask, criterion: Criterion) -> Changes:
    """Return the changes that a model proposes; raises TiebreakError if it refuses, or the reply cannot be used."""
    reply = await model.complete(ask)
    if reply.finish == "refused":
        raise TiebreakError(f"{ask.spec.model} refused: there is no proposal.")
    if reply.finish != "stop":
        raise TiebreakError(f"The reply of {ask.spec.model} was cut off: raise its token limit.")
    return read_changes(reply.text, criterion)


def read_changes(reply: str, criterion: Criterion) -> Changes:
    """Return the changes in a reply; raises UnreadableReply without a part, or with too few levels."""
    pieces = _PART.split(_FENCE.sub("", reply))
    parts = {name.upper(): text.strip() for name, text in zip(pieces[1::2], pieces[2::2], strict=True) if text.strip()}
    if not parts:
        raise UnreadableReply("The reply has no part DEFINITION, RUBRIC or GUIDELINES: there is no proposal.")
    rubric = None
    if "RUBRIC" in parts and criterion.rubric:
        lines = [line for line in parts["RUBRIC"].splitlines() if line.strip()]
        if len(lines) != len(criterion.rubric):
            raise UnreadableReply(f"The reply has {len(lines)} levels instead of {len(criterion.rubric)}.")
        rubric = tuple(
            before.removesuffix(text) + _LEVEL.sub("", line.strip().removeprefix(f"{level}:")).strip()
            for line, before, (level, text) in zip(lines, criterion.rubric, criterion.levels, strict=True)
        )
    return Changes(definition=parts.get("DEFINITION"), rubric=rubric, guidelines=parts.get("GUIDELINES"))


def case_text(case: Case) -> str:
    """Return a case with the judge's reasons, as the prompt has it."""
    verdict = "no verdict" if case.verdict is None else value_text(case.target, case.verdict)
    parts = [("Judge's verdict", verdict)]
    parts += [(f"Reply of the judge {judge}", _shortened(reply)) for judge, reply in case.replies]
    return "\n\n".join([example_text(case), *(f"{name}:\n{text}" for name, text in parts)])


def example_text(case: Case) -> str:
    """Return an item with people's decision and its reason, as an example for a judge."""
    item = target_item(case.item, case.target)
    number_of = len(item.responses) > 1
    parts = [("Context", item.context), ("Question", item.prompt), ("Reference answer", item.reference)]
    parts += [
        (f"Response {number}" if number_of else "Response", response.text)
        for number, response in enumerate(item.responses, 1)
        if case.target.kind != "score" or not case.target.part.isdecimal() or int(case.target.part) == number
    ]
    parts += [("People's decision", value_text(case.target, case.gold))]
    parts += [("Reason", case.reason)] if case.source == "adjudicated" else []
    return "\n\n".join(f"{name}:\n{_shortened(text)}" for name, text in parts if text)


def value_text(target: Target, value: Value) -> str:
    """Return a value in words."""
    if target.kind == "preference":
        return {1: "Response 1 is better", 2: "Response 2 is better", 0: "Neither is better"}.get(value, str(value))  # type: ignore[arg-type]
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} [...]"
