"""Any server that speaks the OpenAI chat completions protocol (vLLM, Ollama, llama.cpp, OpenAI), over aiohttp.

A call takes about a tenth of the CPU time of a call through litellm, which is not imported. A key is sent only to the
address that it was named for: redirects are not followed, and proxies of the environment are not used.
"""

import asyncio
import io
import ipaddress
import json
import re
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from core.answers.answer import Format
from core.errors import PermanentFailure, TemporaryFailure, TiebreakError
from core.llm import errors, local_server, progress, wire
from core.llm.client import Reply, parse_replies, refusal, seconds_since
from core.llm.secrets import api_key, describe_problem
from core.llm.wire import MAX_BYTES, too_large
from core.trace import Ask, Spec

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult


# Blocks requests to link-local networks and to the metadata services of cloud machines.
#
# A metadata service gives the machine's credentials to any request from it, so a study's settings must not be able to
# name such a service as a judge's address. Host names are checked after they are resolved, by the IP address of the
# connection, which also covers unusual notations of numbers (0xa9fea9fe).

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
BLOCKED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",  # link-local; the metadata services of AWS, Google Cloud, Azure and others
        "fe80::/10",  # link-local
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google Cloud
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle Cloud
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


def checked_url(address: str, model: str) -> URL:
    """Return the base URL; raise PermanentFailure if it is invalid or blocked.

    An IP address is checked here; a name is checked by `CheckedResolver` when it is resolved.
    """
    if reason := describe_problem("", address, ""):
        raise PermanentFailure(f"The address of {model} cannot be used: {reason}")
    try:
        url = URL(address)
    except ValueError:
        raise PermanentFailure(f"The address of {model} cannot be used: its host or port is invalid.") from None
    check_host(url.raw_host or "")  # normalised: "１６９.254.169.254" is such an address too
    return url


def check_host(host: str) -> None:
    """Raise PermanentFailure for a blocked IP address in text form; host names pass."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return
    if any(form in network for form in address_forms(ip) for network in BLOCKED):
        raise PermanentFailure(
            "Requests to link-local addresses and to the metadata services of cloud machines are refused."
        )


def address_forms(ip: IP) -> list[IP]:
    """Return the address without its zone, and the IPv4 address that an IPv6 address contains."""
    if isinstance(ip, ipaddress.IPv4Address):
        return [ip]
    plain = ipaddress.IPv6Address(int(ip))
    forms: list[IP | None] = [plain, plain.ipv4_mapped, plain.sixtofour]
    if plain in _NAT64 or plain in _COMPATIBLE:
        forms.append(ipaddress.IPv4Address(int(plain) & 0xFFFFFFFF))
    return [form for form in forms if form is not None]


class CheckedResolver(AbstractResolver):
    """Resolves names as the system does, and rejects a name with an address for which `check` raises an error."""

    def __init__(self, check: Callable[[str], None] = check_host) -> None:
        self._system, self._check = ThreadedResolver(), check

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> "list[ResolveResult]":
        """Return the addresses of a host; raises the error of the check for any of them."""
        resolved = await self._system.resolve(host, port, family)
        for result in resolved:
            self._check(result["host"])
        return resolved

    async def close(self) -> None:
        """Close the system's resolver."""
        await self._system.close()


# Parses the response of a server that speaks the chat completions protocol: replies or an error.
#
# The response is untrusted: a field may be missing, of another type, very large, or contain the key of the request.

_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
# Characters of an error that is not JSON.
_TEXT_EXAMINED = 4096


def parse_json(body: bytes) -> Any:
    """Return the body as JSON; None if it is invalid, nested too deeply, or has too long a number."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def parse_error(status: int, body: bytes, data: Any) -> errors.ServerError | None:
    """Return the error in a response; None if there is none. Gateways also send errors with status 200."""
    fields = data.get("error") if isinstance(data, Mapping) else None
    if status < 400 and not fields:
        return None
    if isinstance(data, Mapping) and not fields:
        fields = data  # vLLM's older form, FastAPI's "detail"
    if not isinstance(fields, Mapping):
        return errors.ServerError(_status(status, None), fields if isinstance(fields, str) else page_text(body))
    inner = fields.get("innererror")
    codes = [fields.get("code"), fields.get("type"), inner.get("code") if isinstance(inner, Mapping) else None]
    return errors.ServerError(
        status=_status(status, fields.get("code")),
        message=_message(fields),
        param=str(fields.get("param") or ""),
        codes=frozenset(str(code) for code in codes if isinstance(code, str | int)),
    )


def page_text(body: bytes) -> str:
    """Return the title of an HTML page, or the text of any other body that is not JSON."""
    text = body[:_TEXT_EXAMINED].decode("utf-8", "replace")
    title = _TITLE.search(text)
    return title[1].strip() if title else " ".join(_TAG.sub(" ", text).split())


def invalid_response(body: bytes, ask: Ask) -> TemporaryFailure:
    """Return the problem of a body that is not valid JSON."""
    start = body[:64].lstrip()
    reason = "its JSON is malformed" if start[:1] in (b"{", b"[") else "it is not JSON"
    if start[:1] == b"<":
        reason = f'it is a web page, "{errors.plain_detail(page_text(body))}"'
    if not start:
        reason = "it is empty"
    return TemporaryFailure(f"{ask.spec.model} returned an invalid response: {reason}.")


def _status(status: int, code: object) -> int:
    """Return the status of an error; an error sent with status 200 has it as its code."""
    if status >= 400:
        return status
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _message(fields: Mapping[str, Any]) -> str:
    for name in ("message", "detail", "error", "msg"):
        value = fields.get(name)
        if value:
            return value if isinstance(value, str) else json.dumps(value)[:_TEXT_EXAMINED]
    return json.dumps(fields)[:_TEXT_EXAMINED]


# Bytes that are read of an error response; a sentence of it is shown.
MAX_ERROR_BYTES = 2**16
# Bytes; a larger request, such as one with images, is sent in pieces.
LARGE_REQUEST = 2**20
# Seconds that an idle connection stays open: uvicorn, which serves vLLM, closes it after 5, and a request that is sent
# at that moment is lost.
KEEP_ALIVE = 4.0
# What a request for a stream has in addition, the media type of one, and the statuses that can mean that it is refused.
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
EVENT_STREAM = "text/event-stream"
REFUSED_STREAM = (400, 422)
# Characters of a streamed text that are kept to show its end: that, and the longest key that may begin before it.
MAX_END = progress.SHOWN + 2_000


# Where the requests for a model go, and with which headers.
Route = tuple[URL, Mapping[str, str]]
# A server's response: its status, its body, and the wait in seconds that it requests.
Response = tuple[int, bytes, float | None]


class OpenAICompatible:
    """Models at an address, and the local model. Each event loop has its own session."""

    def __init__(self) -> None:
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()
        self._refused = errors.RefusedParameters()

    async def complete(self, ask: Ask) -> Reply:
        """Make one call, without retries: the caller decides about them."""
        return (await self._call(ask))[0]

    async def answer_format(self, spec: Spec) -> Format:
        """Return the format of the settings; "auto" is JSON, because servers that do not accept a schema say so."""
        return "json" if spec.answer_format == "auto" else spec.answer_format

    async def sample(self, ask: Ask) -> list[Reply]:
        """Make one call with `n`, without retries; a server may return fewer. The local one does not support `n`."""
        return [] if local_server.is_local(ask.spec) else await self._call(ask)

    async def close(self) -> None:
        """Close the connections of this event loop only."""
        if session := self._sessions.pop(asyncio.get_running_loop(), None):
            await session.close()

    async def _call(self, ask: Ask) -> list[Reply]:
        spec = ask.spec
        with progress.loading(ask) if local_server.is_local(spec) else nullcontext():
            route = await route_to(spec)
        try:
            async with asyncio.timeout(spec.timeout):
                return await self._replies(ask, route)
        except TimeoutError:
            raise TemporaryFailure(f"{spec.model} did not answer within {spec.timeout:g} seconds.") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _connection_problem(error, spec) from error

    async def _replies(self, ask: Ask, route: Route) -> list[Reply]:
        """Send the request, and repeat it without each parameter that the server refuses; raises UnsupportedSchema."""
        start = time.perf_counter()

        async def request(omitted: frozenset[str]) -> Any:
            body = wire.chat_body(ask, omitted)
            status, content, retry_after = await self._send(route, body, ask)
            data = parse_json(content)
            error = parse_error(status, content, data)
            if error is None and data is None:
                raise invalid_response(content, ask)
            if error is None:
                return data
            if name := errors.refused_parameter(error, body):
                raise errors.ParameterRefused(name)
            if errors.has_policy_code(error.codes):
                return None
            raise errors.server_problem(error, ask.spec, retry_after)

        data, notes = await self._refused.send(ask, frozenset(), request)
        if data is None:
            return [refusal(start)]
        dollars = 0.0 if local_server.is_local(ask.spec) else None  # the prices of a server at an address are unknown
        return parse_replies(data, ask, seconds_since(start), dollars, notes)

    async def _send(self, route: Route, body: Mapping[str, Any], ask: Ask) -> Response:
        """Send a request; that for a reply which somebody watches as a stream, unless the server refuses it."""
        call = progress.streamed_call(ask)
        if call is not None:
            response = await self._post(route, json.dumps({**body, **STREAMED}).encode(), ask.spec, call)
            if response[0] not in REFUSED_STREAM:
                return response
        return await self._post(route, json.dumps(body).encode(), ask.spec)

    async def _post(self, route: Route, body: bytes, spec: Spec, call: progress.OpenCall | None = None) -> Response:
        """Send a request; raises PermanentFailure for a redirect, and a problem for a response that is too large."""
        data, (url, headers) = io.BytesIO(body) if len(body) > LARGE_REQUEST else body, route
        async with self._session().post(url, data=data, headers=headers, allow_redirects=False) as response:
            if 300 <= response.status < 400:
                raise PermanentFailure(
                    f"{spec.model} returned a redirect ({response.status}), and redirects are not followed: "
                    "enter the address that it leads to, if you trust it."
                )
            failed = response.status >= 400
            if call is not None and not failed and response.content_type == EVENT_STREAM:
                content = await _read_stream(response, call)
            else:
                content = await _read(response, MAX_ERROR_BYTES if failed else MAX_BYTES, truncate=failed)
            if content is None:
                raise too_large(spec)
            return response.status, content, errors.parse_retry_after(response.headers.get("Retry-After"))

    def _session(self) -> aiohttp.ClientSession:
        """Return the session of this event loop: a session cannot be used in another one."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            session = self._sessions[loop] = aiohttp.ClientSession(
                # No limit: a run limits its own calls, and waiting for a connection counts towards the time-out.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE, resolver=CheckedResolver()),
                timeout=aiohttp.ClientTimeout(total=None),  # the call as a whole has one
                cookie_jar=aiohttp.DummyCookieJar(),  # a cookie of one server could link the calls of different runs
                headers={"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "tiebreak"},
                trust_env=False,  # a proxy would see the key and the texts
            )
        return session


async def route_to(spec: Spec) -> Route:
    """Return where the requests for a model go; start the local server for the local model."""
    if local_server.is_local(spec):
        return _endpoint(await asyncio.to_thread(local_server.start_server), spec.model), {}
    if spec.address is None:
        raise PermanentFailure(f"{spec.model} has no address.")
    url, key = _endpoint(spec.address, spec.model), api_key(spec)
    return url, {"Authorization": f"Bearer {key}"} if key else {}


@lru_cache(maxsize=256)
def _endpoint(address: str, model: str) -> URL:
    return checked_url(address, model) / "chat/completions"


async def _read(response: aiohttp.ClientResponse, max_bytes: int, truncate: bool) -> bytes | None:
    """Return the body; a longer one than `max_bytes` is truncated, or None."""
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            return b"".join(pieces)[:max_bytes] if truncate else None
    return b"".join(pieces)


async def _read_stream(response: aiohttp.ClientResponse, call: progress.OpenCall) -> bytes | None:
    """Return the whole response that a stream of its pieces makes, None for a longer one than `MAX_BYTES`.

    The text so far is that of the open call. Raises ClientPayloadError for a stream that ends before its reply.
    """
    rest, size, stream = b"", 0, _Stream()
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > MAX_BYTES:
            return None
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            stream.add(line)
        call.text = wire.partial_text(stream.end, progress.SHOWN)
    stream.add(rest)
    if not stream.is_complete:
        raise aiohttp.ClientPayloadError("the stream ended before the reply")
    return stream.body()


class _Stream:
    """The pieces of a streamed response, which is untrusted: what has another type is left out."""

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {}
        """Field of the message -> its texts."""
        self._last: dict[str, Any] = {}
        self._finish: Any = None
        self._error: Any = None
        self.is_complete = False
        self.end = ""
        """The end of the text so far, or of the reasoning before it: the whole would be joined for each piece."""

    def add(self, line: bytes) -> None:
        """Add a line of the stream."""
        name, _, value = line.strip().partition(b":")
        if name != b"data":
            return
        data = parse_json(value.strip())
        if not isinstance(data, dict):
            self.is_complete = self.is_complete or value.strip() == b"[DONE]"
            return
        if data.get("error"):
            self._error, self.is_complete = data["error"], True
        if data.get("usage"):
            self._last["usage"] = data["usage"]
        choices = data.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            self._add_choice(choices[0])

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        delta: Any = choice.get("delta")
        for name in ("content", "reasoning_content", "reasoning", "refusal") if isinstance(delta, Mapping) else ():
            if isinstance(text := delta.get(name), str):
                self._append("reasoning_content" if name == "reasoning" else name, text)
        if choice.get("finish_reason"):
            self._finish, self.is_complete = choice["finish_reason"], True

    def _append(self, name: str, text: str) -> None:
        if name == "content" and name not in self._parts:
            self.end = ""  # of the reasoning
        self._parts.setdefault(name, []).append(text)
        if name == "content" or "content" not in self._parts:
            self.end = (self.end + text)[-MAX_END:]

    def body(self) -> bytes:
        """Return the response as the server would have sent it without a stream."""
        if self._error is not None:
            return json.dumps({"error": self._error}).encode()
        message = {field: "".join(texts) for field, texts in self._parts.items()}
        return json.dumps({"choices": [{"message": message, "finish_reason": self._finish}], **self._last}).encode()


def _connection_problem(error: Exception, spec: Spec) -> TiebreakError:
    if isinstance(error, aiohttp.InvalidURL):
        return PermanentFailure(f"The address of {spec.model} cannot be used: its host is invalid.")
    if isinstance(error, aiohttp.ClientSSLError):
        return PermanentFailure(f"The connection to {spec.model} failed: {errors.plain_detail(str(error))}")
    reason = errors.plain_detail(str(error)) or "the server closed it without a response"
    return TemporaryFailure(f"The connection to {spec.model} failed: {reason}")
