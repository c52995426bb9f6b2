"""Transcripts: a conversation, or the messages, tool calls, results and errors of an agent, as numbered parts."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from core.frozen import Frozen

PartKind = Literal["text", "reasoning", "image", "tool_call", "tool_result", "error", "data"]
MAX_PARTS = 10_000
# The criterion of answers that are the number of the first step that went wrong; 0 if none did.
FIRST_WRONG_STEP = "first wrong step"
# The criterion of answers about single steps: what went wrong in it, from the study's own list.
ERROR_CATEGORY = "error category"
# The part of a target that is a step: of the only transcript among an item's responses, or of that of a response.
_STEP_PART = re.compile(r"(?:([1-9]\d*), )?step ([1-9]\d{0,5})")
# Steps that a text cites: `[12]` or `[3, 9]`.
CITATION = re.compile(r"\[\d{1,6}(?:, ?\d{1,6})*\]")
_LEFT_OUT = re.compile(r"^\(Left out here: (steps \d+ to \d+, [\d,]+ of [\d,]+)\.\)$", re.MULTILINE)
# Bytes of the contents of all parts.
MAX_SIZE = 20 * 2**20
# Characters of a transcript as text, unless the models of a run have another budget: about 12,000 tokens.
BUDGET = 48_000
# The share of the budget that one part has at most, and that of all errors and cited steps, if not everything fits.
PART_SHARE, ERROR_SHARE = 1 / 16, 1 / 3
# What precedes the address of an image.
HIDDEN_IMAGE = "(an image that is not shown:"
# How a part begins in plain text; `who` is the role, after the name of a sub-agent.
FORMS: dict[PartKind, str] = {
    "text": "{who}: {content}",
    "reasoning": "{who}, reasoning: {content}",
    "image": "{who}: " + HIDDEN_IMAGE + " {content})",
    "tool_call": "{who} calls {name}({content})",
    "tool_result": "{name} returns: {content}",
    "error": "error of {name}: {content}",
    "data": "{name}: {content}",
}


def _absent(default: Any) -> Any:
    """Return a field that is serialised only if it is present; 0 tokens are a number."""
    return Field(default=default, exclude_if=lambda value: value in (None, "", ()))


class Part(Frozen):
    """A part of a message; its number is its stable id, by which targets, labels and replies refer to it."""

    number: int = Field(ge=1)
    kind: PartKind
    role: str = _absent("")
    """Who sent it: "user", "assistant", "system", "tool", or what the source says."""
    content: str = _absent("")
    """The text; of a tool call its arguments, of an image its address, of data what the source has, as JSON."""
    name: str = _absent("")
    """The tool, or the kind of the data in its source."""
    call: str = _absent("")
    """The id that a tool call shares with its result."""
    agent: str = _absent("")
    """The sub-agent in whose span it is."""
    message: int | None = _absent(None)
    """The number of its message in the source, from 1."""
    at: datetime | None = _absent(None)
    seconds: float | None = _absent(None)
    tokens: int | None = _absent(None)
    spans: tuple[str, ...] = _absent(())
    """The ids of the spans of a recorded trace that this part stands for."""

    def line(self) -> str:
        """Return the part as text with its number. Its further lines are indented, so none can begin like a part."""
        who = f"{self.agent}, {self.role}" if self.agent else self.role or "turn"
        content = self.content
        if self.kind == "image" and content.startswith("data:"):
            content = content.partition(",")[0]
        text = FORMS[self.kind].format(who=who, name=self.name or "tool", content=content)
        return f"[{self.number}] " + "\n    ".join(text.splitlines())


class Transcript(Frozen):
    """The parts in their order, numbered from 1."""

    parts: tuple[Part, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if [part.number for part in self.parts] != list(range(1, len(self.parts) + 1)):
            raise ValueError("the parts of a transcript are numbered from 1")
        if not self.parts:
            raise ValueError("a transcript has at least one part")
        if len(self.parts) > MAX_PARTS:
            raise ValueError(f"a transcript has at most {MAX_PARTS:,} parts, not {len(self.parts):,}")
        if sum(len(part.content.encode(errors="replace")) for part in self.parts) > MAX_SIZE:
            raise ValueError(f"a transcript has at most {MAX_SIZE // 2**20} MB")
        return self

    @property
    def answer(self) -> str:
        """The final answer: the last text of the assistant, otherwise the last text that is no user's."""
        texts = [part for part in self.parts if part.kind == "text" and part.role not in ("user", "system")]
        own = [part for part in texts if part.role == "assistant"]
        return next((part.content for part in reversed(own or texts)), "")

    @property
    def question(self) -> str:
        """The first text of the user; without one the first text."""
        texts = [part for part in self.parts if part.kind == "text"]
        return next((part.content for part in (*(one for one in texts if one.role == "user"), *texts)), "")

    @property
    def digest(self) -> str:
        """The name under which it is stored, from its content: ids of spans, which came later, are left out."""
        has_spans = any(part.spans for part in self.parts)
        body = self.model_dump_json(exclude={"parts": {"__all__": {"spans"}}} if has_spans else None)
        return blake2b(body.encode(), digest_size=16).hexdigest()


def step_part(step: int, response: str = "") -> str:
    """Return the part of a target that is a step; `response` is the number of its response, "" for the only one."""
    return f"{response}, step {step}" if response else f"step {step}"


def step_of(part: str) -> tuple[str, int] | None:
    """Return the response, "" for the only one, and the step of a part; None if it names no step."""
    match = _STEP_PART.fullmatch(part)
    return (match[1] or "", int(match[2])) if match else None


def cited_steps(*texts: str | None) -> list[int]:
    """Return the numbers of steps that texts cite, as `[12]` or `[3, 9]`."""
    groups = [group for text in texts if text for group in CITATION.findall(text)]
    return list(dict.fromkeys(int(number) for group in groups for number in re.findall(r"\d+", group)))


def steps_left_out(prompt: str) -> list[str]:
    """Return what a prompt states to leave out of its transcripts: `steps 3 to 40, 38 of 60` each."""
    return _LEFT_OUT.findall(prompt)


def render(transcript: Transcript, budget: int = BUDGET, cited: Sequence[int] = ()) -> str:
    """Return a transcript as text, a part after the other: `[12] assistant: ...`.

    Beyond `budget` characters, long parts are cut in their middle, and the beginning, the end, the steps `cited` and
    errors with the part before them remain; what is left out is stated where it was.
    """
    lines = [part.line() for part in transcript.parts]
    if sum(map(len, lines)) <= budget:
        return "\n".join(lines)
    lines = [_cut(line, int(budget * PART_SHARE)) for line in lines]
    kept: set[int] = set()
    failed = [place for place, part in enumerate(transcript.parts) if part.kind == "error"]
    wanted = [step - 1 for step in cited if 0 < step <= len(lines)]
    wanted += [place for error in failed for place in (error, max(error - 1, 0))]
    _fill(kept, lines, iter(wanted), budget * ERROR_SHARE)
    ends = (place for first in range(len(lines)) for place in (first, len(lines) - 1 - first))
    _fill(kept, lines, ends, budget)
    return "\n".join(_with_gaps(lines, sorted(kept)))


def _fill(kept: set[int], lines: Sequence[str], places: Iterator[int], budget: float) -> None:
    """Add places to those kept until the next one does not fit."""
    used = sum(len(lines[place]) for place in kept)
    for place in places:
        if place not in kept:
            used += len(lines[place])
            if used > budget:
                return
            kept.add(place)


def _with_gaps(lines: Sequence[str], kept: Sequence[int]) -> Iterator[str]:
    following = 0
    for place in (*kept, len(lines)):
        if place > following:
            yield f"(Left out here: steps {following + 1} to {place}, {place - following:,} of {len(lines):,}.)"
        if place < len(lines):
            yield lines[place]
        following = place + 1


def _cut(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    half = limit // 2
    return f"{line[:half]} (... {len(line) - 2 * half:,} characters left out ...) {line[-half:]}"
