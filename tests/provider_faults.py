"""Faults of real servers and gateways, for tests/openai_server.py: each responds to one request.

A fault is a dictionary with its name under "fault" and its parameters, such as {"fault": "usage", "usage": {}}.
"""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

Fault = dict[str, Any]


class Connection(Protocol):
    """The interface of a connection that faults use."""

    key: str
    transport: asyncio.Transport

    def answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None: ...

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None: ...


def chat(text: Any = "1", finish: Any = "stop", **fields: Any) -> dict[str, Any]:
    """A completion with one choice; `message` adds fields to its message, any other name to the completion."""
    message = {"role": "assistant", "content": text} | fields.pop("message", {})
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge-1",
        "choices": [choice],
        "usage": usage,
    } | fields


async def usage(connection: Connection, fault: Fault, request: Fault) -> None:
    """Any usage; None to omit the field."""
    completion = chat()
    if fault["usage"] is None:
        del completion["usage"]
    else:
        completion["usage"] = fault["usage"]
    connection.answer(200, completion)


async def message(connection: Connection, fault: Fault, request: Fault) -> None:
    """A reply with other fields in its message, or another finish reason."""
    connection.answer(200, chat(finish=fault.get("finish", "stop"), message=fault.get("message", {})))


async def raw(connection: Connection, fault: Fault, request: Fault) -> None:
    """Any status and body."""
    body = fault["body"] if isinstance(fault["body"], str) else json.dumps(fault["body"])
    connection.send(fault.get("status", 200), body.encode(), fault.get("headers"))


async def large(connection: Connection, fault: Fault, request: Fault) -> None:
    """A reply of `size` bytes, with its length in the headers."""
    connection.answer(200, chat("x" * fault["size"]))


async def endless(connection: Connection, fault: Fault, request: Fault) -> None:
    """A chunked body without an end."""
    connection.transport.write(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"x" * 65536
    while not connection.transport.is_closing():
        connection.transport.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await asyncio.sleep(0.001)


async def compressed(connection: Connection, fault: Fault, request: Fault) -> None:
    """A reply of `size` bytes, compressed to about a thousandth."""
    body = gzip.compress(json.dumps(chat("x" * fault["size"])).encode())
    connection.send(200, body, {"Content-Encoding": "gzip"})


async def drip(connection: Connection, fault: Fault, request: Fault) -> None:
    """A reply that arrives one byte every 50 ms."""
    body = json.dumps(chat("x" * 1000)).encode()
    connection.transport.write(f"HTTP/1.1 200 X\r\nContent-Length: {len(body)}\r\n\r\n".encode())
    for byte in body:
        connection.transport.write(bytes([byte]))
        await asyncio.sleep(0.05)


async def echo(connection: Connection, fault: Fault, request: Fault) -> None:
    """A reply and its reasoning, or an error, that contain the key of the request."""
    if "status" in fault:
        connection.answer(fault["status"], {"error": {"message": f"Wrong: {connection.key}!"}})
    else:
        connection.answer(
            200, chat(f"Your key is {connection.key}.", message={"reasoning_content": f"({connection.key})"})
        )


async def last_answer(connection: Connection, fault: Fault, request: Fault) -> None:
    """A reply after which the connection is closed without notice."""
    connection.answer(200, chat())
    connection.transport.close()


async def no_parameter(connection: Connection, fault: Fault, request: Fault) -> None:
    """Refuse one parameter with OpenAI's message, or with that of the fault; answer a request without it."""
    name = fault["parameter"]
    if name not in request:
        connection.answer(200, chat())
        return
    sentence = fault.get("message", f"Unsupported parameter: '{name}' is not supported with this model.")
    error = {"message": sentence, "type": "invalid_request_error", "param": fault.get("param"), "code": None}
    connection.answer(fault.get("status", 400), {"error": error})


PROVIDER_FAULTS: dict[str, Callable[[Any, Fault, Fault], Awaitable[None]]] = {
    "usage": usage,
    "message": message,
    "raw": raw,
    "large": large,
    "endless": endless,
    "compressed": compressed,
    "drip": drip,
    "echo": echo,
    "last answer": last_answer,
    "no parameter": no_parameter,
}
