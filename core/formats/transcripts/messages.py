"""Reads a list of messages as a transcript: OpenAI's and Anthropic's forms, LangChain's, those of the GenAI semantic
conventions and of OpenInference, and others with a role and a text.

A message may have no content, several tool calls, and contents in blocks. A block of an unknown type remains as data.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from core.errors import FileFormatError
from core.formats.mapping.fields import CONTENT_KEYS, ROLE_KEYS, parse_nested
from core.formats.validation_errors import validated
from core.frozen import valid_text, valid_texts
from core.transcripts import MAX_PARTS, Part, PartKind, Transcript

# Type of a block -> kind of its part.
KINDS: Mapping[str, PartKind] = {
    **dict.fromkeys(("text", "input_text", "output_text", "refusal"), "text"),
    **dict.fromkeys(("thinking", "redacted_thinking", "reasoning", "summary_text"), "reasoning"),
    **dict.fromkeys(("image", "image_url", "input_image"), "image"),
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call"), "tool_call"),
    **dict.fromkeys(("function", "tool", "custom_tool_call"), "tool_call"),
    **dict.fromkeys(("tool_result", "mcp_tool_result", "tool_call_response", "function_call_output"), "tool_result"),
}
# Kind -> the keys under which blocks have its content.
KEYS: Mapping[PartKind, tuple[str, ...]] = {
    "text": ("text", "content", "refusal"),
    "reasoning": ("thinking", "reasoning", "summary", "text", "content", "data"),
    "image": ("image_url", "source", "image", "url", "data"),
    "tool_call": ("arguments", "input", "args", "parameters"),
    "tool_result": ("content", "output", "result", "response"),
}
TIMES = ("timestamp", "created_at", "time")
CALL_IDS = ("tool_call_id", "tool_use_id", "call_id", "id")
REASONING = ("reasoning_content", "reasoning", "thought", "thoughts")
# Keys of agents that state in one message what they do, such as `search{"q": 1}`, and what comes back.
ACTION, OBSERVATION = "action", "observation"
# How an action begins that is what the agent says to the user.
FINAL = re.compile(r"\s*final answer\s*:", re.IGNORECASE)
# The name of the tool at the begin of an action.
TOOL = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?=[({\[])")
# Keys of a message that say who it is of, and not what it says.
ASIDE_KEYS = frozenset((*ROLE_KEYS, *TIMES, "name", "id", "type", "index", "step"))
ROLES = {
    **dict.fromkeys(("human", "HumanMessage"), "user"),
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk", "gpt", "bot", "model", "agent", "chatbot"), "assistant"),
    **dict.fromkeys(("developer", "SystemMessage"), "system"),
    **dict.fromkeys(("function", "ToolMessage", "FunctionMessage", "observation", "environment"), "tool"),
}
# Objects that have nothing but what they are, under this key.
WRAPPERS = ("message", "message_content", "tool_call", "kwargs")
DATETIME = TypeAdapter(datetime)


def read_transcript(cell: Any, line: int | None = None, field: str = "") -> Transcript:
    """Return the transcript in a cell: a list of messages, of texts, or of parts as `core.transcripts` has them.

    Raises FileFormatError with the number of the message.
    """
    messages = parse_nested(cell) if isinstance(cell, str) else cell
    messages = messages.get("messages", [messages]) if isinstance(messages, dict) else messages
    if not isinstance(messages, list) or not messages:
        raise FileFormatError("expected a list of messages", line=line, field=field or None)
    if all(isinstance(message, dict) and {"number", "kind"} <= message.keys() for message in messages):
        return checked({"parts": valid_texts(messages)}, line, field)
    parts: list[Part] = []
    for part in message_parts(messages, line, field):
        parts.append(part.model_copy(update={"number": len(parts) + 1}))
        if len(parts) > MAX_PARTS:
            break
    return checked({"parts": parts}, line, field)


def checked(fields: Any, line: int | None, field: str = "") -> Transcript:
    """Return a transcript; raises FileFormatError for too many or too long parts."""
    try:
        transcript: Transcript = validated(Transcript, fields, line=line)
    except FileFormatError as error:
        raise FileFormatError(error.expected, line=line, field=error.field or field or None) from None
    return transcript


def is_messages(cell: Any) -> bool:
    """Return whether a value is a list of messages, each with a role or a type of a block that is known."""
    return isinstance(cell, list) and bool(cell) and all(map(_is_message, cell))


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    own = _unwrap(message)
    keys = (*CONTENT_KEYS, "parts", "tool_calls", "function_call", ACTION, *REASONING)
    has_content = any(key in own for key in keys)
    is_block = own.get("type") in KINDS or {"number", "kind"} <= own.keys()
    return is_block or (bool(_role(own, message)) and has_content)


def message_parts(messages: list[Any], line: int | None = None, field: str = "") -> Iterator[Part]:
    """Yield the parts of messages, all with the number 1."""
    tools: dict[str, str] = {}
    for number, message in enumerate(messages, 1):
        place = f"{field}.{number - 1}" if field else str(number - 1)
        for part in _parts_of(message, line, place, number):
            if part.kind == "tool_call" and part.call:
                tools[part.call] = part.name
            elif not part.name and part.call in tools:
                part = part.model_copy(update={"name": tools[part.call]})
            yield part if part.message else part.model_copy(update={"message": number})


def _parts_of(message: Any, line: int | None, place: str, number: int) -> Iterator[Part]:
    if isinstance(message, str):
        yield new_part("text", content=message)
        return
    if not isinstance(message, dict):
        expected = f"message {number}: expected an object or text, not {json.dumps(message, default=str)[:40]}"
        raise FileFormatError(expected, line=line, field=place)
    own = _unwrap(message)
    role, at = _role(own, message), read_time(next((own[key] for key in TIMES if key in own), None))
    if not role and "type" in own:
        yield from _block(own, {"role": "assistant", "at": at})
        return
    common = {"role": role, "at": at, "agent": "" if role == "tool" else text_of(own.get("name"))}
    contents = [*_contents(own, common), *_acts(own, common)]
    yield from contents
    calls = own.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        expected = f"message {number}: expected a list of tool calls, not {json.dumps(calls, default=str)[:40]}"
        raise FileFormatError(expected, line=line, field=f"{place}.tool_calls")
    for call in (*(calls or ()), own.get("function_call")):
        block = _unwrap(call) if isinstance(call, dict) else call
        yield from _block({"type": "function", **block} if isinstance(block, dict) else block, common)
    if not contents and not calls and not own.get("function_call"):
        rest = {key: value for key, value in own.items() if key not in ASIDE_KEYS and value not in (None, "", [], {})}
        if rest:  # a message of unknown keys remains as data
            yield new_part("data", content=text_of(rest), **{**common, "name": "data"})


def _acts(own: Mapping[str, Any], common: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the action of an agent and what it observed, if the message has them under these names."""
    action, seen = own.get(ACTION), own.get(OBSERVATION)
    if isinstance(action, dict):
        yield from _block({"type": "function", **action}, common)
    elif action and FINAL.match(text_of(action)):
        yield new_part("text", content=text_of(action), **common)
    elif action:
        name = TOOL.match(text_of(action))
        content = text_of(action)[name.end() :] if name else text_of(action)
        yield new_part("tool_call", content=content, **{**common, "name": name[1] if name else ""})
    if seen:
        yield new_part("tool_result", content=text_of(seen), **{**common, "role": "tool"})


def _contents(own: Mapping[str, Any], common: Mapping[str, Any]) -> Iterator[Part]:
    for key in REASONING:
        if isinstance(own.get(key), str) and own[key]:
            yield new_part("reasoning", content=own[key], **common)
    content = next((own[key] for key in ("parts", *CONTENT_KEYS) if own.get(key) is not None), None)
    if common["role"] == "tool" and not (isinstance(content, list) and any(map(_is_result, content))):
        yield _result(own, content, common)
        return
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        content = "\n".join(content)  # the lines of one text
    for block in content if isinstance(content, list) else [content]:
        yield from _block(block, common)


def _unwrap(value: dict[str, Any]) -> dict[str, Any]:
    for key in WRAPPERS:
        inner = value.get(key)
        if isinstance(inner, dict) and (len(value) == 1 or "lc" in value or not any(map(value.get, ROLE_KEYS))):
            return _unwrap(inner)
    return value


def _role(own: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    """Return the role of a message; LangChain has it in the type or in the name of the class."""
    role = next((own[key] for key in ROLE_KEYS if isinstance(own.get(key), str)), "")
    named = message.get("id") if "lc" in message else None
    if not role and isinstance(named, list) and named:
        role = str(named[-1])
    if not role and own.get("type") in (*ROLES, "system", "tool", "user", "assistant") and "content" in own:
        role = own["type"]
    lower = role.lower()
    return ROLES.get(role) or ROLES.get(lower) or (lower if lower in ("user", "assistant", "system", "tool") else role)


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and KINDS.get(str(block.get("type"))) == "tool_result"


def _result(own: Mapping[str, Any], content: Any, common: Mapping[str, Any]) -> Part:
    failed = own.get("is_error") is True or own.get("status") == "error" or bool(own.get("error"))
    error = own.get("error")
    if failed and error and not isinstance(error, bool):
        content = error.get("message", error) if isinstance(error, dict) else error
    call = next((text_of(own[key]) for key in CALL_IDS if own.get(key)), "")
    kind: PartKind = "error" if failed else "tool_result"
    name = text_of(own.get("name") or own.get("function"))
    return new_part(kind, content=text_of(content), call=call, **{**common, "role": "tool", "name": name})


def _block(block: Any, common: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the part of a block of a content, and the images in the result of a tool."""
    if block is None or block == "":
        return
    own = _unwrap(block) if isinstance(block, dict) else block
    kind = KINDS.get(str(own.get("type", "text" if "text" in own else ""))) if isinstance(own, dict) else "text"
    if not isinstance(own, dict):
        yield new_part("text", content=text_of(own), **common)
        return
    inner = own["function"] if isinstance(own.get("function"), dict) else own
    content = next((inner[key] for key in KEYS.get(kind or "data", ()) if inner.get(key) is not None), None)
    if kind == "tool_call":
        call = next((text_of(own[key]) for key in ("call_id", "id") if own.get(key)), "")
        name = text_of(inner.get("name") or own.get("function"))
        yield new_part("tool_call", content=text_of(content), call=call, **{**common, "name": name})
    elif kind == "tool_result":
        yield _result(own, content, common)
    elif kind == "image":
        yield new_part("image", content=_address(content), **common)
    elif kind and content is not None:
        yield new_part(kind, content=text_of(content), **common)
    elif not kind and str(own.get("mime_type", "")).startswith("image/"):
        address = own.get("uri") or f"data:{own['mime_type']};base64,{text_of(own.get('content'))}"
        yield new_part("image", content=address, **common)
    else:
        yield new_part("data", content=text_of(own), **{**common, "name": text_of(own.get("type")) or "data"})


def _address(image: Any) -> str:
    """Return the address of an image; one of bytes is a `data:` address."""
    if not isinstance(image, dict):
        return text_of(image)
    if isinstance(image.get("data"), str):
        return f"data:{image.get('media_type') or 'image'};base64,{image['data']}"
    return text_of(image.get("url", image))


def text_of(value: Any) -> str:
    """Return text as it is, that of a list of text blocks joined, and other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(one, dict) and _text_block(one) for one in value):
        return "\n\n".join(text_of(one.get("text")) for one in value)
    if isinstance(value, dict) and set(value) <= {"text", "type"} and isinstance(value.get("text"), str):
        return str(value["text"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _text_block(block: Mapping[str, Any]) -> bool:
    return KINDS.get(str(block.get("type", "text"))) in ("text", "reasoning") and isinstance(block.get("text"), str)


def new_part(kind: PartKind, content: str = "", **fields: Any) -> Part:
    """Return a part with the number 1; what a database cannot store is replaced by the replacement character."""
    return Part(number=1, kind=kind, content=valid_text(content), **valid_texts(fields))


def read_time(value: Any) -> datetime | None:
    """Return a time of a source, such as ISO 8601 or seconds, milliseconds or nanoseconds since 1970; None for none."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        while abs(value) > 10**11:
            value /= 1000
    try:
        time: datetime = DATETIME.validate_python(value)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def write_messages(transcript: Transcript) -> list[dict[str, Any]]:
    """Return a transcript as messages with the roles system, user, assistant and tool, as Inspect has them.

    A message has the parts of one message of the source, unless a text follows a call in it. Steps have no numbers
    there, and parts of kinds that messages do not have are texts.
    """
    messages: list[dict[str, Any]] = []
    former: Part | None = None
    for part in transcript.parts:
        if part.kind in ("tool_result", "error"):
            problem = {"error": {"type": "unknown", "message": part.content}} if part.kind == "error" else {}
            own = {"role": "tool", "content": part.content, "tool_call_id": part.call, "function": part.name}
            messages.append(own | problem)
            former = None
            continue
        follows = former is not None and (part.message, part.role) == (former.message, former.role)
        if not follows or ("tool_calls" in messages[-1] and part.kind != "tool_call"):
            role = part.role if part.role in ("system", "user") else "assistant"
            messages.append({"role": role, "content": []})
        if part.kind == "tool_call":
            call = {"id": part.call, "function": part.name, "arguments": _arguments(part.content), "type": "function"}
            messages[-1].setdefault("tool_calls", []).append(call)
        else:
            key = part.kind if part.kind in ("reasoning", "image") else "text"
            messages[-1]["content"].append({"type": key, key: part.content})
        former = part
    return messages


def _arguments(content: str) -> dict[str, Any]:
    found = parse_nested(content)
    return found if isinstance(found, dict) else {"arguments": content}
