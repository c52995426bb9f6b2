"""Renders a conversation in a cell, a list of messages with roles, as one text."""

from typing import Any

CONTENT_KEYS = ("content", "value", "text", "utterance", "message")
ROLE_KEYS = ("role", "from", "speaker", "author")


def render_messages(cell: Any) -> str | None:
    """Return `role: content` for each message, separated by blank lines; None if the cell is no conversation.

    A single message is its content. Messages are objects with a text under one of CONTENT_KEYS and a name under one of
    ROLE_KEYS; the text may be a list of parts such as `{"type": "text", "text": ...}`.
    """
    messages = cell if isinstance(cell, list) else [cell]
    parts = [_message(message) for message in messages]
    if not parts or None in parts:
        return None
    pairs = [part for part in parts if part is not None]
    return pairs[0][1] if len(pairs) == 1 else "\n\n".join(f"{role}: {content}" for role, content in pairs)


def _message(message: Any) -> tuple[str, str] | None:
    """Return (role, content)."""
    if not isinstance(message, dict):
        return None
    role = next((message[key] for key in ROLE_KEYS if isinstance(message.get(key), str)), None)
    content = next((message[key] for key in CONTENT_KEYS if key in message), None)
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else None for part in content]
        content = "\n\n".join(map(str, texts)) if texts and all(isinstance(text, str) for text in texts) else None
    return (role, content) if role is not None and isinstance(content, str) else None
