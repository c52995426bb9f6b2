"""A model that proposes the mapping of a file, from its fields, first records and documentation.

The proposal is never taken for granted: a person states what the values mean, as for one that follows from rules.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from core.answers.text import shorten
from core.errors import FileFormatError, TiebreakError
from core.formats.mapping import sketch, table
from core.formats.mapping.mapping import Mapping, build_mapping, draft_of
from core.formats.mapping.preview import format_unused, unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.plain_yaml import parse_fields, unfenced
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, TraceRecord
from core.items import Item
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
MAX_CORRECTIONS = 3
MAX_TOKENS = 8_192  # of a reply
TEXT_LENGTH = 200  # characters of a text of the item that is shown to the model
BLOCKS = ("labels", "judges", "gold")


def mapping_prompt(paths: Sequence[Path], about: str = "") -> str:
    """Return the prompt for the mapping of a file, the first, and those that are joined to it; `about` is its
    documentation. Raises FileFormatError for a file that cannot be read."""
    text = REFERENCE.read_text(encoding="utf-8")
    return render(
        load_templates(PROMPTS),
        NAME,
        file=[Material(f"File {path.name}", sketch.sketch_file(path)) for path in paths],
        about=Material("Documentation of the data set", about[:MAX_ABOUT] or NONE_GIVEN, required=False),
        reference=text[text.index(REFERENCE_BEGIN) :].strip(),
    )


def read_proposal(reply: str) -> Mapping:
    """Return the mapping in a reply, with everything left for a person to confirm.

    Raises FileFormatError without a valid mapping.
    """
    return _with_proposed(build_mapping(parse_fields(unfenced(reply))), is_proposed=True)


async def propose(model: Model, path: Path, prompt: str, spec: Spec) -> Mapping:
    """Return the mapping that a model proposes and with which the file can be read.

    The model is told what the import says of a mapping that does not fit, at most three times, and then once what
    would be imported. Raises TiebreakError if it refuses, if a reply is cut off, or if no correction helps.
    """
    ask = Ask(speaker="importer", step=NAME, round=0, spec=spec, prompt=prompt)
    standing: Mapping | None = None
    for _ in range(MAX_CORRECTIONS + 2):
        reply = await model.complete(ask)
        if reply.finish != "stop":
            raise TiebreakError(f"{spec.model} refused, or its reply was cut off: there is no mapping.")
        mapping, further = judge_reply(path, reply.text, is_reviewed=standing is not None)
        if not further:
            return mapping or standing  # type: ignore[return-value]
        standing = mapping or standing
        history = (*ask.history, ask.prompt, reply.text)
        ask = replace(ask, history=history, prompt=further, attempt=ask.attempt + 1)
    if standing is None:
        raise TiebreakError(f"{spec.model} proposed no mapping that fits the file.")
    return standing


def judge_reply(path: Path, reply: str, *, is_reviewed: bool) -> tuple[Mapping | None, str]:
    """Return the mapping of a reply, None if the file cannot be read with it, and what the model is told; "" for
    nothing, after it has seen what would be imported."""
    try:
        mapping = read_proposal(reply)
        result = describe_result(path, mapping)
    except FileFormatError as error:
        return None, render(load_templates(PROMPTS), CORRECTION, error=Material("Error", str(error)))
    if is_reviewed:
        return mapping, ""
    return mapping, render(load_templates(PROMPTS), REVIEW, result=Material("Result", result))


def describe_result(path: Path, mapping: Mapping) -> str:
    """Return what would be imported with a mapping if it is confirmed: counts, what is left out, the first item.

    Raises FileFormatError for a file that cannot be read with it.
    """
    mapping = _with_proposed(mapping, is_proposed=False)
    counts, annotators, systems = Counter[str](), set[str](), set[str]()
    first: Item | None = None
    with recording_omissions() as omissions:
        for record in table.read(path, mapping):
            if isinstance(record, ItemRecord):
                first = first or record.item
                counts[f"items with {len(record.item.responses)} responses"] += 1
                systems.update(own.system for own in record.item.responses if own.system)
            elif isinstance(record, LabelRecord):
                target = record.label.target
                annotators.add(record.label.annotator)
                counts[f"labels: {target.kind}, criterion {target.criterion!r}"] += 1
            elif isinstance(record, AdjudicationRecord):
                target = record.ruling.target
                counts[f"gold: {target.kind}, criterion {target.criterion!r}"] += 1
            elif isinstance(record, TraceRecord):
                counts["verdicts of judges"] += 1
    lines = [f"{count:,} {name}" for name, count in counts.items()]
    lines += [f"{len(annotators):,} annotators: {_some(annotators)}", f"{len(systems):,} systems: {_some(systems)}"]
    lines += [*omissions.notes(), *filter(None, [table.state_further(path, mapping)])]
    lines += filter(None, [format_unused(unused_fields(path, mapping))])
    return "\n".join(chain(lines, _item_lines(first) if first else ()))


def _some(names: set[str]) -> str:
    return ", ".join([*sorted(names)[:10], *(["..."] if len(names) > 10 else [])])


def _item_lines(item: Item) -> Iterator[str]:
    yield f"The first item is {item.id}"
    for name, text in (("prompt", item.prompt), ("context", item.context), ("reference", item.reference)):
        if text:
            yield f"  {name}: {shorten(text, TEXT_LENGTH)}"
    for number, own in enumerate(item.responses, 1):
        yield f"  response {number} of {own.system or 'no named system'}: {shorten(own.text, TEXT_LENGTH)}"


def _with_proposed(mapping: Mapping, *, is_proposed: bool) -> Mapping:
    draft, state = draft_of(mapping), {"proposed": is_proposed, "confirmed": not is_proposed}
    for name in BLOCKS:
        draft |= {name: [block | state for block in draft[name]]} if name in draft else {}
    return build_mapping(draft | {"confirmed": not is_proposed})
