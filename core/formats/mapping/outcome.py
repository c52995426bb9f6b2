"""What an import with a mapping would store: it is read before anything is stored, and before a person confirms it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from core.answers.text import shorten
from core.formats.mapping import table
from core.formats.mapping.mapping import Mapping, with_proposed
from core.formats.mapping.scope import Omissions, recording_omissions
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, Record, TraceRecord
from core.items import Item
from core.labels import Target
from core.trace import VerdictReached

TEXT_LENGTH = 200  # characters of a text of the first item
NAMES = 10  # of annotators and systems that are listed
SHARED = 12  # characters that all responses have in common from which on they are stated
SOME = 3  # responses from which on this is no coincidence


@dataclass
class Outcome:
    """The counts of what would be stored, and of what would be left out."""

    omissions: Omissions
    counts: Counter[str] = field(default_factory=Counter)
    annotators: set[str] = field(default_factory=set)
    systems: set[str] = field(default_factory=set)
    labels: int = 0
    first: Item | None = None
    without_value: set[str] = field(default_factory=set)
    """The ids of items without a label, a verdict or gold."""
    texts: int = 0
    """Responses with a text."""
    begin: str | None = None
    """What the texts of all responses begin with."""
    with_prompt: int = 0
    """Responses with the prompt in them."""

    def add(self, record: Record) -> None:
        """Count a record."""
        match record:
            case ItemRecord(item=item):
                self.first = self.first or item
                self.without_value.add(item.id)
                self.counts[f"items with {len(item.responses)} responses"] += 1
                self.systems.update(own.system for own in item.responses if own.system)
                for text in filter(None, (own.text for own in item.responses)):
                    self.texts += 1
                    self.begin = text if self.begin is None else _shared_beginning(self.begin, text)
                    self.with_prompt += len(item.prompt) >= SHARED and item.prompt in text
            case LabelRecord(label=label):
                self.labels += 1
                self.annotators.add(label.annotator)
                self.without_value.discard(label.target.item)
                self.counts[f"labels ({_name(label.target)})"] += 1
            case AdjudicationRecord(ruling=ruling):
                self.without_value.discard(ruling.target.item)
                self.counts[f"gold values ({_name(ruling.target)})"] += 1
            case TraceRecord(item=key, events=[*_, VerdictReached(verdict=verdict)]):
                self.without_value.discard(key)
                for opinion in verdict.opinions:
                    self.counts[f"values of judges ({_kind(opinion.kind, opinion.criterion)})"] += 1

    @property
    def further(self) -> str:
        """A sentence if of more than a tenth of the values only one of several counts; "" otherwise.

        Such a mapping lacks what tells the values of one annotator about one target apart, such as a criterion.
        """
        left_out, all_values = self.omissions.further, self.omissions.further + self.labels
        if 10 * left_out <= all_values:
            return ""
        return (
            f"{left_out:,} of {all_values:,} labels would be left out, as further values of a target by one annotator: "
            "state what tells them apart with `--role criterion=FIELD`, or the `id` in a mapping"
        )

    def lines(self) -> list[str]:
        """Return the counts, the names of annotators and systems, and what is left out."""
        lines = [f"{count:,} {name}" for name, count in self.counts.items()]
        if len(self.counts) > 1 and self.without_value:  # not of items alone
            lines.append(f"{len(self.without_value):,} items have no value: {_listed(self.without_value)}")
        lines += [f"{len(self.annotators):,} annotators: {_listed(self.annotators)}"] if self.annotators else []
        lines += [f"{len(self.systems):,} systems: {_listed(self.systems)}"] if self.systems else []
        return [*lines, *self._shared_texts(), *self.omissions.notes(), *filter(None, [self.further])]

    def _shared_texts(self) -> Iterator[str]:
        """Yield what responses have in common: a response should be only what a system wrote."""
        if self.texts >= SOME and self.begin and len(self.begin) >= SHARED:
            yield f"all {self.texts:,} responses begin with {shorten(self.begin, TEXT_LENGTH)!r}"
        if self.with_prompt:
            yield f"{self.with_prompt:,} of {self.texts:,} responses contain the prompt"

    def item_lines(self) -> Iterator[str]:
        """Yield the texts of the first item, shortened."""
        if self.first is None:
            return
        yield f"The first item is {self.first.id}"
        for name in ("prompt", "context", "reference"):
            if text := getattr(self.first, name):
                yield f"  {name}: {shorten(text, TEXT_LENGTH)}"
        for number, own in enumerate(self.first.responses, 1):
            kind = "transcript, with the final answer" if own.transcript else "text"
            yield f"  response {number} of {own.system or 'no named system'}, {kind}: {shorten(own.text, TEXT_LENGTH)}"


def read_outcome(path: Path, mapping: Mapping) -> Outcome:
    """Return what an import would store if a mapping is confirmed as it is.

    Raises FileFormatError for a file that cannot be read with it.
    """
    with recording_omissions() as omissions:
        outcome = Outcome(omissions)
        for record in table.read(path, with_proposed(mapping, is_proposed=False)):
            outcome.add(record)
    return outcome


def _shared_beginning(first: str, second: str) -> str:
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return "".join(character for character, _ in equal)


def _name(target: Target) -> str:
    return _kind(target.kind, target.criterion)


def _kind(kind: str, criterion: str) -> str:
    return ", ".join(filter(None, (kind, criterion)))


def _listed(names: set[str]) -> str:
    return ", ".join([*sorted(names)[:NAMES], *(["..."] if len(names) > NAMES else [])])
