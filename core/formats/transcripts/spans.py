"""Makes the transcript of a trace from its spans: the messages of model calls, calls of tools, and other operations.

Model calls repeat the conversation so far: a message that is there already is not added again.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from core.formats.transcripts.messages import is_messages, message_parts, new_part, text_of
from core.frozen import valid_text
from core.transcripts import MAX_PARTS, Part

SpanKind = Literal["llm", "tool", "agent", "other"]
EARLIEST = datetime.min.replace(tzinfo=UTC)
# Keys of an object whose value is what a span received or returned.
MESSAGES = ("messages", "message", "choices", "generations")
TEXTS = ("input", "output", "content", "text", "question", "query", "prompt", "answer", "response", "completion")


@dataclass(frozen=True)
class Span:
    """An operation of a trace."""

    id: str
    parent: str
    name: str
    kind: SpanKind
    inputs: Any = None
    outputs: Any = None
    start: datetime | None = None
    end: datetime | None = None
    error: str = ""
    """Why it failed; empty if it did not."""
    model: str = ""
    tokens: int | None = None
    """Those of the reply."""
    call: str = ""
    """Of a tool: the id of the call in the message that asked for it."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None if it is not known."""
        return None if self.start is None or self.end is None else (self.end - self.start).total_seconds()


class Collector:
    """The parts of the spans so far."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = sorted(spans, key=lambda span: span.start or EARLIEST)
        self.by_id = {span.id: span for span in spans}
        self.parents_of_calls = {span.parent for span in spans if span.kind == "llm"}
        self.parents = {span.parent for span in spans}
        self.has_calls = any(span.kind == "llm" for span in spans)
        self.parts: list[Part] = []
        self.owners: list[tuple[str, bool]] = []
        """For each part the id of its span, and whether the part is the span's reply."""
        self.seen: Counter[tuple[str, ...]] = Counter()

    def parts_of_trace(self) -> list[Part]:
        """Return the parts in the order of time."""
        roots = [span for span in self.spans if span.parent not in self.by_id]
        if roots and not self.has_calls:
            self.add(message_parts(as_messages(roots[0].inputs, "user")), roots[0])
        for span in self.spans:
            if len(self.parts) > MAX_PARTS:
                break
            self.add_span(span)
        if roots and not self.has_calls:
            self.add(message_parts(as_messages(roots[0].outputs, "assistant")), roots[0])
        spans = self.spans_of_parts()
        return [
            part.model_copy(update={"number": place + 1, "spans": tuple(spans.get(place, ()))})
            for place, part in enumerate(self.parts)
        ]

    def spans_of_parts(self) -> dict[int, list[str]]:
        """Return the place of a part -> the spans that it stands for: with its reply first, otherwise its first part,
        and a span without any those of the spans in it."""
        first: dict[str, int] = {}
        for is_reply in (True, False):
            for place, (id, own) in enumerate(self.owners):
                if own == is_reply:
                    first.setdefault(id, place)
        for id, place in sorted(first.items(), key=lambda pair: pair[1]):
            parent = self.by_id[id].parent
            while parent in self.by_id and parent not in first:
                first[parent] = place
                parent = self.by_id[parent].parent
        spans: dict[int, list[str]] = {}
        for id, place in first.items():
            spans.setdefault(place, []).append(id)
        return spans

    def add_span(self, span: Span) -> None:
        is_leaf = span.id not in self.parents
        if span.kind == "llm" and span.id not in self.parents_of_calls:
            self.add_call(span)
        elif span.kind == "tool":
            self.add_tool(span)
        elif span.kind == "other" and is_leaf and len(self.spans) > 1:
            content = {"input": span.inputs, "output": span.outputs}
            self.add([new_part("data", text_of(content), name=span.name)], span, timed=True)
        if span.error and span.kind != "tool" and is_leaf:
            self.add([new_part("error", span.error, name=span.name)], span, timed=True)

    def add_call(self, span: Span) -> None:
        met: Counter[tuple[str, ...]] = Counter()
        for part in message_parts(as_messages(span.inputs, "user")):
            met[_key(part)] += 1
            if met[_key(part)] > self.seen[_key(part)]:
                self.add([part], span)
        self.add(message_parts(as_messages(span.outputs, "assistant")), span, timed=True)

    def add_tool(self, span: Span) -> None:
        answered = {part.call for part in self.parts if part.kind in ("tool_result", "error")}
        waiting = [part for part in self.parts if part.kind == "tool_call" and part.call not in answered]
        asked = next((part.call for part in waiting if span.call in ("", part.call) and part.name == span.name), None)
        if asked is None:
            called = new_part("tool_call", text_of(span.inputs), name=span.name, call=span.call, role="assistant")
            self.add([called], span)
        kind: Literal["error", "tool_result"] = "error" if span.error else "tool_result"
        # A tool that failed can have returned something before; a text that both have is there once.
        texts = dict.fromkeys((span.error, text_of(tool_output(span.outputs))))
        content = "\n\n".join(text for text in texts if text)
        result = new_part(kind, content, name=span.name, call=asked or span.call, role="tool")
        self.add([result], span, timed=True)

    def add(self, parts: Iterable[Part], span: Span, *, timed: bool = False) -> None:
        """Append parts of a span; `timed`: they are its reply, and the first one gets its duration and tokens."""
        fields: dict[str, Any] = {"at": span.start, "message": None}
        if timed:
            fields |= {"seconds": span.seconds, "tokens": span.tokens}
        for part in parts:
            self.seen[_key(part)] += 1
            self.owners.append((span.id, timed))
            self.parts.append(part.model_copy(update=fields | {"agent": part.agent or self.agent(span)}))
            fields = {"at": span.start, "message": None}

    def agent(self, span: Span) -> str:
        """Return the name of the sub-agent in which a span is; empty in the outermost agent."""
        names, met = [], set()
        current: Span | None = span
        while current is not None and current.id not in met:
            met.add(current.id)
            names += [current.name] if current.kind == "agent" else []
            current = self.by_id.get(current.parent)
        return valid_text(names[0]) if len(names) > 1 else ""


def _key(part: Part) -> tuple[str, ...]:
    """Return what a part and its repetition in a later call have in common."""
    if part.call and part.kind in ("tool_call", "tool_result", "error"):
        return ("call" if part.kind == "tool_call" else "result", part.call)
    return (part.kind, part.role, part.name, part.content)


def as_messages(value: Any, role: str) -> list[Any]:
    """Return what a span received or returned as messages; text is one of `role`."""
    value = parsed(value)
    if value is None or value == "" or value == []:
        return []
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        return as_messages(value[0], role)  # LangChain calls models with a batch of one conversation
    if is_messages(value):
        return list(value)
    if isinstance(value, dict):
        return _of_object(value, role)
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return [message for one in value for message in _of_object(one, role)]
    return [{"role": role, "content": text_of(value)}]


def _of_object(value: dict[str, Any], role: str) -> list[Any]:
    if is_messages([value]):
        return [value]
    for key in MESSAGES:
        if isinstance(value.get(key), list | dict):
            return as_messages(value[key], role)
    text = next((value[key] for key in TEXTS if isinstance(value.get(key), str | list)), None)
    if isinstance(text, list):
        return as_messages(text, role)
    if "tool_calls" in value or "content" in value:
        return [{"role": role, **value}]
    return [{"role": role, "content": text_of(value if text is None else text)}]


def tool_output(value: Any) -> Any:
    """Return the result of a tool without the message or the object around it."""
    value = parsed(value)
    if isinstance(value, dict):
        for key in ("content", "output", "result"):
            if key in value and (len(value) == 1 or "tool_call_id" in value):
                return value[key]
    return value


def parsed(value: Any) -> Any:
    """Return the list or the object that a text has as JSON, otherwise the value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{", '"'):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return None if isinstance(value, float) and value != value else value
