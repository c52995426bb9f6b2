"""What a variant changes of a judge: the text and rubric of its criterion, guidelines, examples and prompt templates.

Guidelines and examples are paragraphs of the prompts, after the paragraph with the criterion, so annotators do not see
them. Every change is part of the settings of the variant's runs, as in a settings file.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Literal, get_args

import yaml
from pydantic import Field

from core.errors import TiebreakError
from core.experiments import set_path
from core.formats.validation_errors import validated
from core.frozen import Frozen
from core.items import Criterion, Item
from core.protocols import Protocol, settings_file
from core.protocols.prompt_parts import EXAMPLES_HEADING, fence_examples
from core.templates import Templates, blanks

CRITERIA_BLANK = "criteria"
GUIDELINES, EXAMPLES = "guidelines", "examples"
HEADINGS = {
    GUIDELINES: "Guidelines for judging by these criteria:",
    EXAMPLES: EXAMPLES_HEADING,
}
_CRITERIA = re.compile(r"^[^\n]*\$(?:criteria\b|\{criteria\})[^\n]*\n(?:[^\n]+\n)*", re.M)


class Changes(Frozen):
    """A proposal. None leaves a part as it is."""

    definition: str | None = None
    rubric: tuple[str, ...] | None = None
    guidelines: str | None = None  # instructions for the judge; empty removes those of an earlier variant
    examples: tuple[str, ...] | None = None
    """Development items whose decisions are shown to the judge; empty removes those of an earlier variant."""
    prompts: dict[str, str] = Field(default_factory=dict)  # template name -> its whole text

    @property
    def names(self) -> list[str]:
        """The parts that it changes."""
        return [name for name, value in self if value is not None and value != {}]


@dataclass(frozen=True)
class Judge:
    """A judge as a run had it."""

    protocol: Protocol
    base: Mapping[str, Any]  # the fields of a settings file
    templates: Templates  # the text of every template
    criterion: Criterion
    path: str  # the path of the criterion in the settings

    @property
    def guidelines(self) -> str:
        """The guidelines that an earlier variant added; empty for none."""
        found = (_block_pattern(GUIDELINES).search(text) for text in self.templates.values())
        return next((block[1].replace("$$", "$") for block in found if block and block[1]), "")


def find_judge(protocol: Protocol, base: Mapping[str, Any], templates: Templates, criterion: str) -> Judge:
    """Return the judge with its criterion; raises TiebreakError if the settings have none that can be changed."""
    settings = settings_file.validate_settings(_settings_fields(base), protocol)
    fields = [("criterion", getattr(settings, "criterion", None))]
    fields += [(f"criteria.{n}", one) for n, one in enumerate(getattr(settings, "criteria", None) or ())]
    for path, found in fields:
        if isinstance(found, Criterion) and found.name == criterion:
            return Judge(protocol, base, templates, found, path)
    raise TiebreakError(
        f"The settings of {protocol.title} have no criterion {criterion!r} whose text could be changed."
    )


def parse_changes(text: str) -> Changes:
    """Return the changes in a YAML text; raises FileFormatError."""
    expected = "the changes should be names and values, such as `definition: ...`."
    changes: Changes = validated(Changes, dict(settings_file.yaml_fields(text, expected)))
    return changes


def changes_yaml(changes: Changes) -> str:
    """Return changes as `parse_changes` reads them."""
    fields = changes.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)


def assignments(judge: Judge, changes: Changes, examples: Sequence[str]) -> dict[str, Any]:
    """Return path -> value of what the changes set in the judge's settings; `examples` are the texts of the examples.

    Raises TiebreakError for changes that have no effect or cannot be made.
    """
    set_values: dict[str, Any] = {}
    criterion = _changed_criterion(judge.criterion, changes)
    if criterion != judge.criterion:
        set_values[judge.path] = criterion.model_dump(mode="json")
    prompts = _changed_prompts(judge, changes, examples)
    judge.protocol.check_prompts(prompts)
    changed = {name: text for name, text in prompts.items() if text != judge.templates[name]}
    set_values |= {f"prompts.{name}": text for name, text in changed.items()}
    if not set_values:
        raise TiebreakError("The variant changes nothing.")
    fields = yaml.safe_load(yaml.safe_dump(_settings_fields(judge.base)))  # a copy without aliases
    for path, value in set_values.items():
        if not path.startswith("prompts."):
            set_path(fields, path, value)
    settings_file.validate_settings(fields, judge.protocol)
    return set_values


def describe_difference(judge: Judge, values: Mapping[str, Any]) -> str:
    """Return what assignments change as a unified diff of the texts."""
    parts = [("criterion", _criterion_lines(judge.criterion), _criterion_lines(judge.criterion))]
    if judge.path in values:
        parts = [("criterion", parts[0][1], _criterion_lines(Criterion.model_validate(values[judge.path])))]
    for name, text in judge.templates.items():
        parts.append((f"prompt {name}", text.splitlines(), values.get(f"prompts.{name}", text).splitlines()))
    lines = [
        line for name, before, after in parts for line in unified_diff(before, after, name, name, lineterm="", n=1)
    ]
    return "\n".join(line for line in lines if not line.startswith(("--- ", "@@ ")))


def _criterion_lines(criterion: Criterion) -> list[str]:
    return [*criterion.definition.splitlines(), *(f"{level}: {text}" for level, text in criterion.levels)]


def _settings_fields(base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a settings file that concern the protocol."""
    return {name: value for name, value in base.items() if name not in ("prompts", "extractor", "pairs")}


def _changed_criterion(criterion: Criterion, changes: Changes) -> Criterion:
    update: dict[str, Any] = {}
    if changes.definition is not None:
        update["definition"] = changes.definition.strip()
    if changes.rubric is not None:
        rubric = tuple(" ".join(line.split()) for line in changes.rubric)
        if criterion.rubric and len(rubric) != len(criterion.rubric):
            raise TiebreakError(
                f"The rubric has {len(criterion.rubric)} levels, which labels refer to; {len(rubric)} were given."
            )
        update["rubric"] = rubric
    changed = criterion.model_copy(update=update)
    if criterion.definition and not (changed.definition or changed.rubric):
        raise TiebreakError("The criterion needs a definition or a rubric.")
    return changed


def _changed_prompts(judge: Judge, changes: Changes, examples: Sequence[str]) -> dict[str, str]:
    """Return the templates with the changes; raises TiebreakError for an unknown one, or if none has the criterion."""
    if unknown := sorted(changes.prompts.keys() - judge.templates.keys()):
        raise TiebreakError(f"{judge.protocol.title} has no prompt called {unknown[0]!r}.")
    prompts = dict(changes.prompts)
    blocks = {GUIDELINES: changes.guidelines, EXAMPLES: None if changes.examples is None else fence_examples(examples)}
    for block, text in blocks.items():
        if text is None:
            continue
        named = {name: prompts.get(name, own) for name, own in judge.templates.items()}
        with_criterion = [name for name, own in named.items() if CRITERIA_BLANK in blanks(own)]
        if not with_criterion:
            raise TiebreakError(f"No prompt of {judge.protocol.title} has the criterion: it takes no {block}.")
        prompts |= {name: _write_block(named[name], block, text) for name in with_criterion}
    return prompts


def _block_pattern(block: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(HEADINGS[block])}\n(.*?)\nEnd of the {block}\.\n\n", re.M | re.S)


def _write_block(template: str, block: str, text: str) -> str:
    """Return the template with a paragraph of this text after that of the criterion, in place of an earlier one."""
    template = _block_pattern(block).sub("", template)
    if not text.strip():
        return template
    end = f"End of the {block}."
    content = text.strip().replace("$", "$$").replace(end, f"end of the {block}.")
    found = _CRITERIA.search(template if template.endswith("\n") else f"{template}\n")
    place = min(found.end(), len(template)) if found else len(template)
    paragraph = f"{HEADINGS[block]}\n{content}\n{end}\n\n"
    before, after = template[:place].rstrip("\n"), template[place:].lstrip("\n")
    return f"{before}\n\n{paragraph}{after}" if after else f"{before}\n\n{paragraph}"


# A seeded split of items into a development and a held-out part, stratified by scenario.
#
# Items that belong together stay together, so nothing of a held-out item is seen during development: items of one
# group (a document or dialogue), with the same context, or with the same prompt and context. An item never changes its
# part.

Part = Literal["development", "held-out"]
PARTS: tuple[Part, ...] = get_args(Part)


def assign_parts(items: Sequence[Item], existing: Mapping[str, Part], *, share: float, seed: int) -> dict[str, Part]:
    """Return item id -> part of the items that have none in `existing`.

    `share` is that of held-out items. In each scenario, and overall, their number differs from it by less than the
    size of the largest set of connected items. A new item that connects items of both parts is in neither.
    """
    parts: dict[str, Part] = {}
    new: list[list[Item]] = []
    for connected in connected_items(items):
        known = {existing[item.id] for item in connected if item.id in existing}
        if not known:
            new.append(connected)
        elif len(known) == 1:
            parts |= dict.fromkeys((item.id for item in connected if item.id not in existing), next(iter(known)))
    seen, held = len(existing) + len(parts), sum(part == "held-out" for part in [*existing.values(), *parts.values()])
    for connected in sorted(new, key=lambda connected: _random_order(connected, seed)):
        seen += len(connected)
        is_held_out = share * seen - held >= len(connected) / 2
        held += len(connected) * is_held_out
        parts |= dict.fromkeys((item.id for item in connected), PARTS[is_held_out])
    return parts


def connected_items(items: Sequence[Item]) -> list[list[Item]]:
    """Return the sets of items that belong together, directly or through others."""
    parent = list(range(len(items)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    first_with: dict[tuple[str, str], int] = {}
    for place, item in enumerate(items):
        for link in _links(item):
            parent[root(place)] = root(first_with.setdefault(link, place))
    connected: dict[int, list[Item]] = defaultdict(list)
    for place, item in enumerate(items):
        connected[root(place)].append(item)
    return list(connected.values())


def set_names(items: Sequence[Item]) -> dict[str, str]:
    """Return item id -> the name of its set of connected items."""
    return {item.id: connected[0].id for connected in connected_items(items) for item in connected}


def _links(item: Item) -> Iterator[tuple[str, str]]:
    """Yield what an item has in common with the items that it belongs to."""
    prompt, context = (" ".join((text or "").casefold().split()) for text in (item.prompt, item.context))
    if item.group:
        yield "group", item.group
    if context:
        yield "context", context
    elif prompt:
        yield "prompt", prompt


def _random_order(connected: Sequence[Item], seed: int) -> tuple[str, bytes]:
    """Return a key that sorts by scenario, and randomly within one, whatever the order of the items is."""
    names = sorted(item.id for item in connected)
    scenario = min(item.scenario or "" for item in connected)
    return scenario, hashlib.sha256(f"{seed}:{names[0]}".encode(errors="replace")).digest()
