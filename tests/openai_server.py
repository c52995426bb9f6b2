"""A real server that speaks the OpenAI chat completions protocol, for tests and benchmarks.

    python -m tests.openai_server --port 8123 --latency 0.1

A reply depends only on the model and the prompt, so a run that is killed and resumed gets the same replies. Models
called "sampler..." and "panel..." return several replies to a request for `n`; those of "panel..." differ in choice.
`Server.log` has one entry per request, added when it ends: {"model", "prompt" (SHA-256), "answer", "delivered", "key",
"at"}; `delivered` is false when the client had disconnected. `Server.faults` apply to the next requests, one after
another: [{"fault": "429", "after": 0.2}, {"fault": "drop", "model": "judge-1"}].
"""

import argparse
import asyncio
import hashlib
import json
import math
import re
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.provider_faults import PROVIDER_FAULTS

ERROR_FAULTS: dict[str, tuple[int, str, str | None]] = {
    "429": (429, "Rate limit reached for key sk-abcdefghijklmnop", None),
    "500": (500, "This is a planned 500", None),
    "503": (503, "This is a planned 503", None),
    "400": (400, "This is a planned 400", None),
    "401": (401, "Incorrect API key provided: sk-abcdefghijklmnop", "invalid_api_key"),
    "404": (404, "No such model", "model_not_found"),
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "schema": (400, "'response_format' of type 'json_schema' is not supported with this model.", None),
    "policy": (400, "Flagged by our content management policy", "content_policy_violation"),
}
"""Fault -> status, message, error code of the provider."""
REPLY_FAULTS: dict[str, dict[str, Any]] = {
    "length": {"text": "Submission 1 is\n\n1", "finish": "length"},
    "refusal": {"text": "", "refusal": "I cannot judge this."},
    "filter": {"text": "", "finish": "content_filter"},
    "unreadable": {"text": "I would rather not say."},
    "empty": {"text": "", "choices": 0},
}
FILLER = "Both submissions were weighed against every level of the criteria, step by step. " * 8


class Server:
    """The state of the server: its faults, and the log of its requests."""

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        self.faults: list[dict[str, Any]] = []
        self.behaviours: dict[str, dict[str, Any]] = {}
        """Model -> the fault of each of its requests."""
        self.log: list[dict[str, Any]] = []
        self.bodies: deque[dict[str, Any]] = deque(maxlen=100)
        """The bodies of the latest requests."""
        self.heads: deque[str] = deque(maxlen=100)
        """Their request lines and headers."""
        self.transports: set[asyncio.Transport] = set()
        """The open connections."""
        self.connections = 0
        """The number of connections so far."""
        self.probabilities: dict[str, float] = {}
        """Token -> its probability in place of a token that is a number; empty: no log probabilities are returned."""
        self.stream_seconds = 0.5
        """The time over which a streamed reply is sent."""
        self.stream_end = True
        """Whether a stream is sent to its end."""
        self.hung_up = 0
        """The number of requests whose client disconnected before the response."""
        self.address = ""
        self.open = 0
        """Requests in progress."""
        self.most_open = 0
        """The largest number of simultaneous requests so far."""
        self._recorded = threading.Condition()

    def record(self, line: dict[str, Any]) -> None:
        with self._recorded:
            self.log.append(line)
            self._recorded.notify_all()

    def wait_for_requests(self, count: int, seconds: float = 60.0) -> bool:
        """Wait until so many requests have ended; return False when the time has passed before."""
        with self._recorded:
            return self._recorded.wait_for(lambda: len(self.log) >= count, seconds)

    def fault_for(self, model: str) -> dict[str, Any] | None:
        """Return the model's behaviour; otherwise remove and return its next fault; None if there is none."""
        if model in self.behaviours:
            return self.behaviours[model]
        for index, fault in enumerate(self.faults):
            if fault.get("model") in (None, model):
                return self.faults.pop(index)
        return None

    def reply(self, schema: dict[str, Any] | None, model: str, prompt: str) -> str:
        """Return a reply: structured, if a schema is passed."""
        return self.structured_text(schema, model, prompt) if schema else self.text(model, prompt)

    def text(self, model: str, prompt: str) -> str:
        """Return a text. A model whose name ends in 0, 1 or 2 always chooses that; any other depends on the prompt."""
        choice, mark = self.choice(model, prompt)
        return f"{FILLER}({mark})\n\n{choice}\n\n{choice}"

    def structured_text(self, schema: dict[str, Any], model: str, prompt: str) -> str:
        """Return a reply that follows a JSON schema; the last option of an `enum` is chosen by 0."""
        choice, mark = self.choice(model, prompt)
        return json.dumps(example_value(schema, choice, f"{FILLER}({mark})"))

    def choice(self, model: str, prompt: str) -> tuple[int, str]:
        """Return 0, 1 or 2, and a mark that only this prompt has."""
        digest = hashlib.sha256(f"{model}\n{prompt}".encode(errors="replace")).hexdigest()
        return int(model[-1] if model[-1:] in ("0", "1", "2") else digest[:8], 16) % 3, digest[:12]


def example_value(schema: dict[str, Any], choice: int, text: str) -> Any:
    """Return a value that follows a JSON schema."""
    if "enum" in schema:
        return schema["enum"][(choice - 1) % len(schema["enum"])]
    match schema["type"]:
        case "object":
            return {name: example_value(inner, choice, text) for name, inner in schema["properties"].items()}
        case "array":
            return [example_value(schema["items"], choice, f"Point {number}.") for number in range(1, 4)]
        case "boolean":
            return choice == 1
        case "number" | "integer":
            return choice
    return text


def completion(
    model: str, prompt: str, text: str, finish: str = "stop", refusal: str | None = None, choices: int = 1, n: int = 1
) -> dict[str, Any]:
    """Return a response with `n` replies; several end in their numbers, so they differ."""
    message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
    counts = {"prompt_tokens": len(prompt) // 4, "completion_tokens": n * len(text) // 4}
    messages = [{**message, "content": f"{text} {number}"} for number in range(n)] if n > 1 else [message]
    return {
        "id": "chatcmpl-" + hashlib.sha256(prompt.encode(errors="replace")).hexdigest()[:12],
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {"index": index, "message": message, "finish_reason": finish}
            for index, message in enumerate(messages[: n * choices])
        ],
        "usage": counts | {"total_tokens": sum(counts.values())},
    }


def logprobs(text: str, probabilities: dict[str, float]) -> dict[str, Any]:
    """Return the `logprobs` of a reply whose tokens are words, numbers and the text between them."""
    alternatives = [
        {"token": token, "logprob": math.log(p), "bytes": list(token.encode())} for token, p in probabilities.items()
    ]
    content = []
    for token in re.findall(r"\d+|[^\W\d]+|[\W_]", text):
        own = probabilities.get(token, 1.0) if token.isdigit() else 1.0
        entry = {"token": token, "logprob": math.log(own), "bytes": list(token.encode())}
        content.append(entry | {"top_logprobs": alternatives if token.isdigit() else [entry]})
    return {"content": content, "refusal": None}


class Connection(asyncio.Protocol):
    """A minimal HTTP/1.1 connection: requests with a content length, one after another."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.buffer = b""
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.server.connections += 1
        self.server.transports.add(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.transports.discard(self.transport)
        if self.task and not self.task.done():
            self.server.hung_up += 1
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, rest = self.buffer.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line[:15].lower() == b"content-length:"), 0)
        if not separator or len(rest) < length:
            return
        self.buffer = rest[length:]
        self.server.heads.append(head.decode("latin-1"))
        self.key = next((line[22:].decode() for line in lines if line[:22].lower() == b"authorization: bearer "), "")
        self.handle(lines[0].decode().split(" ")[1], rest[:length])

    def handle(self, path: str, body: bytes) -> None:
        if path.endswith("/chat/completions"):
            self.task = asyncio.get_running_loop().create_task(self.complete(body))
        else:
            self.answer(404, {"error": {"message": f"unknown path {path}"}})

    async def complete(self, body: bytes) -> None:
        request = json.loads(body)
        self.server.bodies.append(request)
        content = request["messages"][-1]["content"]
        prompt = content if isinstance(content, str) else json.dumps(content)
        fault = self.server.fault_for(request["model"])
        line = {
            "model": request["model"],
            "prompt": hashlib.sha256(prompt.encode(errors="replace")).hexdigest(),
            "answer": fault["fault"] if fault else "ok",
            "delivered": False,
            "key": self.key,
        }
        self.server.open += 1
        self.server.most_open = max(self.server.most_open, self.server.open)
        try:
            await asyncio.sleep(self.server.latency)
            if fault:
                await self.fail(fault, request, prompt)
            else:
                schema = request.get("response_format", {}).get("json_schema", {}).get("schema")
                model = request["model"]
                n = request.get("n") or 1 if model.startswith(("sampler", "panel")) else 1  # most servers ignore it
                response = completion(model, prompt, self.server.reply(schema, model, prompt), n=n)
                if model.startswith("panel") and n > 1:
                    for number, choice in enumerate(response["choices"]):
                        choice["message"]["content"] = self.server.reply(schema, model, f"{prompt}\n{number}")
                if request.get("logprobs") and self.server.probabilities:
                    for choice in response["choices"]:
                        choice["logprobs"] = logprobs(choice["message"]["content"], self.server.probabilities)
                if request.get("stream"):
                    await self.stream(response)
                else:
                    self.answer(200, response)
            line["delivered"] = True
        finally:
            self.server.open -= 1
            self.server.record(line | {"at": time.time()})

    async def stream(self, response: dict[str, Any]) -> None:
        """Send a reply word by word; the end of the connection is that of the stream."""
        self.transport.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        (choice,) = response["choices"]
        words = re.findall(r"\s*\S+|\s+$", choice["message"]["content"])
        for word in words[: len(words) if self.server.stream_end else len(words) // 2]:
            self.send_event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
            await asyncio.sleep(self.server.stream_seconds / len(words))
        if self.server.stream_end:
            self.send_event({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
            self.send_event({"choices": [], "usage": response["usage"]})
            self.transport.write(b"data: [DONE]\n\n")
        self.transport.close()

    def send_event(self, value: dict[str, Any]) -> None:
        self.transport.write(f"data: {json.dumps(value)}\n\n".encode())

    async def fail(self, fault: dict[str, Any], request: dict[str, Any], prompt: str) -> None:
        kind = fault["fault"]
        if kind in PROVIDER_FAULTS:
            await PROVIDER_FAULTS[kind](self, fault, request)
        elif kind == "timeout":
            await asyncio.sleep(fault.get("after", 30))
        elif kind == "drop":
            self.transport.abort()
        elif kind == "cut":
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
            self.transport.close()
        elif kind == "malformed":
            self.send(200, b'{"id": "x", "choices": [{"mess')
        elif kind in ERROR_FAULTS:
            status, sentence, code = ERROR_FAULTS[kind]
            after = {"Retry-After": str(fault["after"])} if "after" in fault else {}
            self.answer(status, {"error": {"message": sentence, "type": "error", "code": code}}, after)
        else:
            self.answer(200, completion(request["model"], prompt, **REPLY_FAULTS[kind]))

    def answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(value).encode(), headers)

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        lines = {"Content-Type": "application/json", "Content-Length": str(len(body))} | (headers or {})
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.transport.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)


async def serve(server: Server, port: int, ready: threading.Event, stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", port, backlog=1024)
    server.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    ready.set()
    async with listening:
        await stop.wait()
        listening.close()
        for _ in range(1000):  # a connection that is being accepted becomes a transport, and has to be closed too
            if not server.transports and asyncio.all_tasks() == {asyncio.current_task()}:
                break
            for transport in tuple(server.transports):
                transport.abort()  # a client of another process may still hold its connection
            await asyncio.sleep(0)


@contextmanager
def run_server(latency: float = 0.0) -> Iterator[Server]:
    """Run a server on a free port in a background thread; `address` is its base URL."""
    server, ready = Server(latency), threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve(server, 0, ready, stop)), daemon=True)
    thread.start()
    ready.wait(5)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(5)
        loop.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A local server that speaks the OpenAI protocol.")
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every reply")
    arguments = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(Server(arguments.latency), arguments.port, threading.Event(), asyncio.Event()))


if __name__ == "__main__":
    main()
