"""A model that proposes the mapping of a file, from its fields, first records and documentation.

The prompt has a sketch of the file, which is short enough for it: all fields with their values, and the first records.

The proposal is never taken for granted: a person states what the values mean, as for one that follows from rules.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from core.answers.text import shorten
from core.errors import FileFormatError, TiebreakError
from core.formats.mapping.fields import parse_nested, quote_key
from core.formats.mapping.guess import number_of
from core.formats.mapping.mapping import Mapping, parse_mappings, with_proposed
from core.formats.mapping.preview import format_unused, unused_fields
from core.formats.mapping.rows import has_header, is_empty, read_beside
from core.formats.mapping.table import read_outcome
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
# Records whose fields are counted, and those that are shown.
COUNTED, SHOWN = 2_000, 3
# Different values of a field up to which all are listed, those of a field whose values are repeated, and examples of a
# field with more.
FEW, CATEGORIES, EXAMPLES = 12, 40, 3
VALUE_LENGTH = 80
# Keys of an object from which on they can be values such as ids.
MANY_KEYS = 12
# Characters of a text, elements of a list and keys of an object that are shown, the first whose record is short enough.
EXTENTS = ((300, 3, 60), (150, 2, 40), (80, 1, 20), (40, 1, 6))
MAX_RECORD = 5_000  # characters
MAX_VALUES = 2_000  # different ones of a field that are counted
# Characters of a line, and of all lines.
MAX_LINE, MAX_SKETCH = 1_500, 40_000
ANY_KEY = "{element}"


@dataclass
class FieldSketch:
    """What the values at one place of the records are."""

    count: int = 0
    empty: int = 0
    values: Counter[str] = field(default_factory=Counter)
    lengths: set[int] = field(default_factory=set)
    keys: dict[str, "FieldSketch"] = field(default_factory=dict)
    elements: "FieldSketch | None" = None

    def add(self, value: Any) -> None:
        """Count a value, and those in it."""
        self.count += 1
        nested = parse_nested(value) if isinstance(value, str) else value
        if isinstance(nested, dict) and nested:
            for key, inner in nested.items():
                self.keys.setdefault(str(key), FieldSketch()).add(inner)
        elif isinstance(nested, list):
            self.lengths.add(len(nested))
            self.elements = self.elements or FieldSketch()
            for inner in nested:
                self.elements.add(inner)
        elif is_empty(value):
            self.empty += 1
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            if text in self.values or len(self.values) < MAX_VALUES:
                self.values[text] += 1

    def merge(self, other: "FieldSketch") -> None:
        """Add the values of another place, whose key is a value such as an id."""
        self.count, self.empty = self.count + other.count, self.empty + other.empty
        self.values += other.values
        self.lengths |= other.lengths
        for key, inner in other.keys.items():
            self.keys.setdefault(key, FieldSketch()).merge(inner)
        if other.elements is not None:
            self.elements = self.elements or FieldSketch()
            self.elements.merge(other.elements)

    def with_any_key(self) -> None:
        """Take keys that are values, such as ids, together: many of like objects, or most of which few records have."""
        are_rare = 5 * sum(own.count for own in self.keys.values()) < self.count * len(self.keys)
        are_objects = all(own.keys or own.elements for own in self.keys.values())
        if len(self.keys) > MANY_KEYS and (are_rare or are_objects):
            merged, names = FieldSketch(), list(islice(self.keys, EXAMPLES))
            for inner in self.keys.values():
                merged.merge(inner)
            self.keys = {f"{ANY_KEY} (such as {', '.join(map(quote_key, names))})": merged}
        for inner in (*self.keys.values(), *filter(None, [self.elements])):
            inner.with_any_key()

    def lines(self, path: str) -> Iterator[str]:
        """Yield a line for each place at which there are values."""
        if self.values or self.empty or not (self.keys or self.elements):
            yield f"- {path}: {self._describe()}"
        for key, inner in self.keys.items():
            name = key if key.startswith(ANY_KEY) else quote_key(key)
            yield from inner.lines(f"{path}.{name}" if path else name)
        if self.elements is not None:
            ends = {min(self.lengths), max(self.lengths)}
            yield f"- {path}: {self.count:,} lists of {' to '.join(map(str, sorted(ends)))} elements"
            yield from self.elements.lines(f"{path}[]")

    def _describe(self) -> str:
        texts = [json.dumps(shorten(text, VALUE_LENGTH), ensure_ascii=False) for text in self.values]
        parts = [f"{self.count:,} values", f"{self.empty:,} empty" if self.empty else ""]
        are_repeated = len(texts) <= CATEGORIES and 4 * len(texts) <= self.values.total()
        if len(texts) <= FEW or are_repeated:
            parts += [f"{text} ({count:,} times)" for text, count in zip(texts, self.values.values(), strict=True)]
        else:
            more = "or more " if len(texts) == MAX_VALUES else ""
            numbers = [number for text in self.values if (number := number_of(text)) is not None]
            ends = f" from {min(numbers):g} to {max(numbers):g}" if len(numbers) == len(self.values) else ""
            parts += [f"{len(texts):,} {more}different ones{ends}", f"such as {', '.join(texts[:EXAMPLES])}"]
        return ", ".join(filter(None, parts))


def sketch_file(path: Path) -> str:
    """Return the fields of a file with their values, and its first records.

    Raises FileFormatError if it has none, or if they are nested too deeply.
    """
    try:
        return _sketch(path)
    except RecursionError:
        raise FileFormatError(f"the records of {path.name} are nested too deeply to be described") from None


def _sketch(path: Path) -> str:
    whole, shown = FieldSketch(), list[str]()
    for number, (_, row) in enumerate(islice(read_beside(path), COUNTED)):
        whole.add(dict(row))
        if number < SHOWN:
            shown.append(_record(dict(row)))
    kind = "a table with a line of names" if has_header(path) else "records"
    more = "" if whole.count < COUNTED else " or more, of which these are described"
    whole.with_any_key()
    fields = "\n".join(line[:MAX_LINE] for line in whole.lines(""))
    fields = fields if len(fields) <= MAX_SKETCH else f"{fields[:MAX_SKETCH]} …\nand more fields"
    size = f"The file `{path.name}` ({kind}) has {whole.count:,} records{more}."
    begin = f"Its first {len(shown)} records, with long texts and lists cut:"
    return "\n".join([size, "Its fields, with `[]` for the elements of a list:", fields, "", begin, *shown])


def _record(row: dict[str, Any]) -> str:
    """Return a record as JSON, with so much of its texts, lists and objects as there is room for."""
    for extent in EXTENTS:
        text = json.dumps(_shortened(row, *extent), ensure_ascii=False, indent=1, default=str)
        if len(text) <= MAX_RECORD:
            break
    return text[:MAX_RECORD]


def _shortened(value: Any, length: int, elements: int, keys: int) -> Any:
    """Return a value with the begin of long texts, and the first of many elements and keys."""
    nested = parse_nested(value) if isinstance(value, str) else value
    if isinstance(nested, dict):
        return {key: _shortened(inner, length, elements, keys) for key, inner in islice(nested.items(), keys)}
    if isinstance(nested, list):
        more = len(nested) - elements
        own = [_shortened(inner, length, elements, keys) for inner in nested[:elements]]
        return [*own, *([f"... and {more:,} more elements"] if more > 0 else [])]
    return shorten(value, length) if isinstance(value, str) else value


def mapping_prompt(paths: Sequence[Path], about: str = "") -> str:
    """Return the prompt for the mapping of a file, the first, and those that are joined to it; `about` is its
    documentation. Raises FileFormatError for a file that cannot be read."""
    text = REFERENCE.read_text(encoding="utf-8")
    prompt = render(
        load_templates(PROMPTS),
        NAME,
        file=[Material(f"File {path.name}", sketch_file(path)) for path in paths],
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
