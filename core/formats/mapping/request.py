"""A model that proposes the mapping of a file, from its fields, first records and documentation.

The proposal is never taken for granted: a person states what the values mean, as for one that follows from rules.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import FileFormatError, TiebreakError
from core.formats.mapping import sketch
from core.formats.mapping.mapping import Mapping, parse_mappings, with_proposed
from core.formats.mapping.outcome import read_outcome
from core.formats.mapping.preview import format_unused, unused_fields
from core.formats.validation_errors import join_names
from core.frozen import valid_text
from core.llm.client import Model
from core.protocols.prompt_parts import NONE_GIVEN
from core.templates import Material, load_templates, render
from core.trace import Ask, Spec

ROOT = Path(__file__).parents[3]
PROMPTS = Path(__file__).parent / "prompts"
NAME, CORRECTION, REVIEW = "suggest", "correct", "review"
# The description of mappings for people is the reference for a model, too.
REFERENCE = ROOT / "docs" / "mappings" / "README.md"
REFERENCE_BEGIN = "\n## Items\n"
MAX_ABOUT = 20_000  # characters of the documentation
MAX_REQUESTS = 5
MAX_TOKENS = 8_192  # of a reply


def mapping_prompt(paths: Sequence[Path], about: str = "") -> str:
    """Return the prompt for the mapping of a file, the first, and those that are joined to it; `about` is its
    documentation. Raises FileFormatError for a file that cannot be read."""
    text = REFERENCE.read_text(encoding="utf-8")
    prompt = render(
        load_templates(PROMPTS),
        NAME,
        file=[Material(f"File {path.name}", sketch.sketch_file(path)) for path in paths],
        about=Material("Documentation of the data set", about[:MAX_ABOUT] or NONE_GIVEN, required=False),
        reference=text[text.index(REFERENCE_BEGIN) :].strip(),
    )
    return valid_text(prompt)


def read_proposal(reply: str) -> list[Mapping]:
    """Return the mappings in a reply, with everything left for a person to confirm.

    Raises FileFormatError without a valid mapping.
    """
    return [with_proposed(mapping, is_proposed=True) for mapping in parse_mappings(reply)]


async def propose(model: Model, paths: Sequence[Path], prompt: str, spec: Spec) -> list[Mapping]:
    """Return the mappings, usually one, that a model proposes and with which the file can be read.

    The model is told what the import says of a mapping that does not fit, and what would be imported with one that
    does, until it leaves the mapping as it is, and at most four times. Raises TiebreakError if it refuses, if a reply
    is cut off, or if no correction helps.
    """
    ask = Ask(speaker="importer", step=NAME, round=0, spec=spec, prompt=prompt)
    standing: list[Mapping] | None = None
    further = ""
    for _ in range(MAX_REQUESTS):
        try:
            reply = await model.complete(ask)
        except TiebreakError:
            if standing is None:
                raise
            return standing
        if reply.finish != "stop":
            break
        found, further = judge_reply(paths, reply.text, standing)
        if found and found == standing:
            return found
        standing = found or standing
        history = (*ask.history, ask.prompt, reply.text)
        ask = replace(ask, history=history, prompt=further, attempt=ask.attempt + 1)
    if standing is not None:
        return standing
    if reply.finish != "stop":
        raise TiebreakError(f"{spec.model} refused, or its reply was cut off: there is no mapping.")
    raise TiebreakError(f"{spec.model} proposed no mapping that fits the file. {' '.join(further.split())[:500]}")


def judge_reply(paths: Sequence[Path], reply: str, standing: Sequence[Mapping] | None) -> tuple[list[Mapping], str]:
    """Return the mappings of a reply, none if the file cannot be read with one, and what the model is told; "" if it
    has seen what would be imported with them."""
    try:
        found = read_proposal(reply)
        joined = {join.file for mapping in found for join in mapping.join}
        if others := joined - {path.name for path in paths}:
            raise FileFormatError(f"only the files of this request are joined, and not {join_names(sorted(others))}")
        outcomes = [read_outcome(paths[0], mapping) for mapping in found]
    except FileFormatError as error:
        return [], render(load_templates(PROMPTS), CORRECTION, error=Material("Error", str(error)))
    if found == standing:
        return found, ""
    lines = [
        f"File {path.name} is not joined: nothing of it is imported" for path in paths[1:] if path.name not in joined
    ]
    for number, (mapping, outcome) in enumerate(zip(found, outcomes, strict=True), 1):
        lines += [f"Mapping {number}:"] if len(found) > 1 else []
        unused = format_unused(unused_fields(paths[0], mapping))
        lines += [*outcome.lines(), *filter(None, [unused]), *outcome.item_lines()]
    return found, render(load_templates(PROMPTS), REVIEW, result=Material("Result", "\n".join(lines)))
