"""Suggests labels of the steps of a transcript: the first one that went wrong, and the errors in a list."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from core.errors import FileFormatError
from core.formats.mapping.fields import key_of, quote_key
from core.formats.mapping.guess import ANNOTATORS, MAX_CATEGORIES, REASONS, Draft, first_of, names_of, with_value
from core.formats.mapping.mapping import StepCount
from core.formats.mapping.preview import Preview, parse_cell
from core.formats.mapping.scope import Scope
from core.formats.transcripts.messages import read_transcript
from core.labels import STEPS
from core.transcripts import ERROR_CATEGORY, FIRST_WRONG_STEP, Transcript

WRONG = ("mistake", "failure", "error", "wrong", "first_wrong", "first_error", "failed")
FIRST = tuple(f"{word}_{end}" for word in WRONG for end in ("step", "step_number", "step_index", "index"))
# A column such as `first_wrong_step_Ann`.
OF_PERSON = re.compile(rf"({'|'.join(FIRST)})[ _-](?P<name>.+)", re.IGNORECASE)
AGENTS = (*(f"{word}_agent" for word in WRONG), "failure_responsible_agent", "responsible_agent", "agent")
WHY = (*(f"{word}_reason" for word in WRONG), *REASONS, "description", "evidence", "step_reason", "category_reason")
PLACES = ("location", "span_id", "step", "step_id", "step_index", "step_number", *FIRST, "message_index", "turn")
KINDS = tuple(f"{word}_{end}" for word in WRONG for end in ("category", "type", "mode"))
CATEGORIES = ("category", ERROR_CATEGORY.replace(" ", "_"), *KINDS, "type", "label")
# An annotator's answer for a step without an error.
NO_ERROR = "none"
# The share of steps whose agent is the one that the file names from which on the count of steps is stated.
STATED = 0.9
# A transcript, a cell that names one of its steps, and the agent that the file names for it.
Place = tuple[Transcript, Any, str]


class StepSuggester:
    """Suggests the labels of the steps of the only response of a table."""

    def __init__(self, preview: Preview, column: str, people: str, first: str | None = None) -> None:
        """`first` is the field with the first wrong step, if its name does not say it."""
        self.preview, self.people, self.first = preview, people, first
        self.names = names_of([own for own in preview.columns if own != column])
        self.transcripts = [_transcript(row.get(column, "")) for row in preview.rows]

    def blocks(self) -> Iterator[tuple[str, Draft]]:
        """Yield the blocks, each with the list of the mapping that it belongs to."""
        yield from (("labels", block) for block in (*self._errors(), *self._keyed()))
        yield from self._first()

    def _first(self) -> Iterator[tuple[str, Draft]]:
        """Yield the block of the first wrong step: labels if the file names annotators, otherwise gold."""
        column, agent = self.first or first_of(self.names, FIRST), first_of(self.names, AGENTS)
        people = {} if column else self._people()
        columns = [column] if column else [*people]
        places = [
            (own, row.get(name, ""), row.get(agent or "", ""))
            for own, row in zip(self.transcripts, self.preview.rows, strict=True)
            for name in columns
            if own and with_value([row.get(name, "")])
        ]
        if not (counted := _counted(places)):
            return
        block: Draft = {
            "kind": "answer",
            "criterion": FIRST_WRONG_STEP,
            "scale": STEPS.model_dump(exclude_defaults=True),
        }
        cells = [row.get(name, "") for row in self.preview.rows for name in columns]
        words = {text: None for text in cells if text and not with_value([text])}
        block |= counted | ({"values": words} if words else {})
        if column is None:
            yield "labels", {"layout": "wide", "annotators": people, **block}
            return
        why = first_of(self.names, WHY)
        block |= {"value": column} | ({"reason": why} if why else {})
        if rater := first_of(self.names, ANNOTATORS):
            yield "labels", {"layout": "long", "annotator": rater, **block}
        else:
            yield "gold", block | {"source": f"column {key_of(column)}"}

    def _people(self) -> dict[str, str]:
        """Return column -> annotator of columns such as `first_wrong_step_Ann`."""
        matches = {own: OF_PERSON.fullmatch(key_of(own)) for own in self.names.values()}
        return {own: match["name"] for own, match in matches.items() if match and self._are_numbers(own)}

    def _are_numbers(self, column: str) -> bool:
        cells = with_value(row.get(column, "") for row in self.preview.rows)
        return bool(cells) and all(map(str.isdecimal, cells))

    def _errors(self) -> Iterator[Draft]:
        """Yield the block of a list with an object for each error: its step and its category."""
        for column in self.preview.lists:
            found = [
                (own, record)
                for own, row in zip(self.transcripts, self.preview.rows, strict=True)
                for record in (parse_cell(row.get(column, "")) or ())
                if own and isinstance(record, dict)
            ]
            keys = names_of([quote_key(key) for _, record in found for key in record])
            place, category = first_of(keys, PLACES), first_of(keys, CATEGORIES)
            if place is None or category is None:
                continue
            agent = key_of(first_of(keys, AGENTS) or "agent")
            named = [(own, one.get(key_of(place)), str(one.get(agent) or "")) for own, one in found]
            categories = dict.fromkeys(str(one[key_of(category)]) for _, one in found if one.get(key_of(category)))
            if counted := _counted(named):
                annotator = first_of(keys, ANNOTATORS) or {"constant": self.people}
                scale = {"level": "nominal", "categories": [NO_ERROR, *sorted({*categories} - {NO_ERROR})]}
                block: Draft = {"layout": "long", "each": column, "annotator": annotator, "kind": "answer"}
                block |= {"criterion": ERROR_CATEGORY, "step": place, "value": category, "scale": scale, **counted}
                reason = first_of(keys, WHY)
                yield block | {"aggregate": "first"} | ({"reason": reason} if reason else {})

    def _keyed(self) -> Iterator[Draft]:
        """Yield the block of an object with a value for each of several steps, whose numbers are its keys."""
        found: dict[str, list[str]] = {}
        for column in self.preview.columns:
            parent, _, key = column.rpartition(".")
            if parent and key.isdecimal():
                found.setdefault(parent, []).append(column)
        for parent, columns in found.items():
            cells = [
                (own, name, cell)
                for own, row in zip(self.transcripts, self.preview.rows, strict=True)
                for name in columns
                if own and (cell := row.get(name, "").strip())
            ]
            values = {cell for _, _, cell in cells}
            counted = _counted([(own, name.rpartition(".")[2], "") for own, name, _ in cells])
            if counted and 1 < len(values) <= MAX_CATEGORIES:
                numbers = [number for cell in values if (number := _whole(cell)) is not None]
                is_ordered = len(numbers) == len(values)
                scale = {"level": "ordinal", "categories": sorted(numbers)} if is_ordered else None
                scale = scale or {"level": "nominal", "categories": sorted(values)}
                block: Draft = {"layout": "long", "each": parent, "annotator": {"constant": self.people}}
                block |= {"kind": "answer", "criterion": key_of(parent), "scale": scale, "step": "{element}"}
                yield block | {"value": key_of(parent), **counted, "confirmed": False}


def _whole(cell: str) -> int | None:
    return int(cell) if re.fullmatch(r"-?\d{1,3}", cell) else None


def _transcript(cell: str) -> Transcript | None:
    try:
        return read_transcript(parse_cell(cell))
    except FileFormatError:  # of a row, which the import reports
        return None


def _counted(places: Sequence[Place]) -> Draft | None:
    """Return how steps are named, not confirmed if the file does not state it; None if the cells name no steps.

    The file states it by the agents of the steps, and by the ids of spans.
    """
    found: dict[StepCount, int] = {}
    inside: dict[StepCount, int] = {}
    for steps in get_args(StepCount):
        numbers = [_named(own, cell, steps) for own, cell, _ in places]
        is_span = steps == "span"
        inside[steps] = sum(bool(number) if is_span else number is not None for number in numbers)
        if 2 * inside[steps] > len(places):  # the import counts the others
            found[steps] = sum(
                bool(number) and not is_span and _is_by(own, number or 0, agent)
                for (own, _, agent), number in zip(places, numbers, strict=True)
            )
    if not found:
        return None
    # Where every message is one part, both counts are the same: that of messages is the usual one.
    best = max(reversed(found), key=lambda steps: (steps == "span", found[steps], inside[steps]))
    others = [count for steps, count in found.items() if steps.endswith("from 0") != best.endswith("from 0")]
    is_stated = best == "span" or (found[best] >= STATED * inside[best] and found[best] > max(others, default=0))
    return {"steps": best} if is_stated else {"steps": best, "confirmed": False}


def _named(own: Transcript, cell: Any, steps: StepCount) -> int | None:
    try:
        return Scope({}, 0, 0, transcripts=(own,)).named_step(cell, steps, "")
    except FileFormatError:
        return None


def _is_by(own: Transcript, step: int, agent: str) -> bool:
    """Return whether a step is one of an agent, by the name or the role of its message."""
    part = own.parts[step - 1]
    return bool(agent.strip()) and (part.agent or part.role).casefold().startswith(agent.strip().casefold())
