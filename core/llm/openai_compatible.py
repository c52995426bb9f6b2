"""Any server that speaks the OpenAI chat completions protocol (vLLM, Ollama, llama.cpp, OpenAI), over aiohttp.

A call takes about a tenth of the CPU time of a call through litellm, which is not imported. A key is sent only to the
address that it was named for: redirects are not followed, and proxies of the environment are not used.
"""

import asyncio
import io
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

import aiohttp
from yarl import URL

from core.answers import Format
from core.errors import PermanentFailure, TemporaryFailure, TiebreakError
from core.llm import addresses, chat_request, chat_response, local_server
from core.llm.client import Reply
from core.llm.errors import ServerError, has_policy_code, parse_retry_after, server_problem
from core.llm.local_server import is_local
from core.llm.refused_parameters import RefusedParameters, describe_omissions, refused_parameter, schema_refused
from core.llm.replies import MAX_BYTES, too_large
from core.llm.secrets import api_key
from core.trace import Ask, Spec, Usage

MAX_ERROR_BYTES = 2**16
"""Bytes that are read of an error response; a sentence of it is shown."""
LARGE_REQUEST = 2**20
"""Bytes; a larger request, such as one with images, is sent in pieces."""
KEEP_ALIVE = 4.0
"""Seconds that an idle connection stays open: uvicorn, which serves vLLM, closes it after 5, and a request that is sent
at that moment is lost."""


@dataclass(frozen=True)
class Route:
    """Where the requests for a model go, and with which headers."""

    url: URL
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Response:
    """A server's response: its status, its body, and the wait in seconds that it requests."""

    status: int
    body: bytes
    retry_after: float | None


class OpenAICompatible:
    """Models at an address, and the local model. Each event loop has its own session."""

    def __init__(self, connections: int = 0, max_bytes: int = MAX_BYTES) -> None:
        """`connections` is the maximum over all servers, 0 for no limit: a run limits its own calls, and waiting for a
        connection counts towards the time-out. `max_bytes` is the maximum size of a response."""
        self._connections = connections
        self._max_bytes = max_bytes
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()
        self._refused = RefusedParameters()

    async def complete(self, ask: Ask) -> Reply:
        """Make one call, without retries: the caller decides about them."""
        return (await self._call(ask))[0]

    async def answer_format(self, spec: Spec) -> Format:
        """Return the format of the settings; "auto" is JSON, because servers that do not accept a schema say so."""
        return "json" if spec.answer_format == "auto" else spec.answer_format

    async def sample(self, ask: Ask) -> list[Reply]:
        """Make one call with `n`, without retries; a server may return fewer. The local one does not support `n`."""
        return [] if is_local(ask.spec) else await self._call(ask)

    async def close(self) -> None:
        """Close the connections of this event loop only."""
        if session := self._sessions.pop(asyncio.get_running_loop(), None):
            await session.close()

    async def _call(self, ask: Ask) -> list[Reply]:
        spec = ask.spec
        route = await route_to(spec)
        start = time.perf_counter()
        try:
            async with asyncio.timeout(spec.timeout):
                return await self._call_without_refused(ask, route, start)
        except TimeoutError:
            raise TemporaryFailure(f"{spec.model} did not answer within {spec.timeout:g} seconds.") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _connection_problem(error, spec) from error

    async def _call_without_refused(self, ask: Ask, route: Route, start: float) -> list[Reply]:
        """Send the request, and repeat it without each parameter that the server refuses; raises UnsupportedSchema."""
        omitted = self._refused.names(ask.spec)
        refused: set[str] = set()
        while True:  # ends: each repetition omits one more of the optional parameters
            body = chat_request.chat_body(ask, omitted)
            response = await self._post(route, json.dumps(body).encode(), ask.spec)
            data = chat_response.parse_json(response.body)
            error = chat_response.parse_error(response.status, response.body, data)
            if error is None:
                break
            name = refused_parameter(error, body)
            if name is None:
                return [_refusal(error, response, ask, start)]
            if name == chat_request.FORMAT:
                raise schema_refused(ask.spec)
            refused.add(name)
            omitted |= {name}
        self._refused.add(ask.spec, refused)
        if data is None:
            raise chat_response.invalid_response(response.body, ask)
        dollars = 0.0 if is_local(ask.spec) else None  # the prices of a server at an address are unknown
        omissions = describe_omissions(ask, omitted)
        return chat_response.parse_replies(data, ask, _seconds_since(start), dollars, omissions)

    async def _post(self, route: Route, body: bytes, spec: Spec) -> Response:
        """Send a request; raises PermanentFailure for a redirect, and a problem for a response that is too large."""
        data = io.BytesIO(body) if len(body) > LARGE_REQUEST else body
        async with self._session().post(route.url, data=data, headers=route.headers, allow_redirects=False) as response:
            if 300 <= response.status < 400:
                raise PermanentFailure(
                    f"{spec.model} returned a redirect ({response.status}), and redirects are not followed: "
                    "enter the address that it leads to, if you trust it."
                )
            failed = response.status >= 400
            content = await _read(response, MAX_ERROR_BYTES if failed else self._max_bytes, truncate=failed)
            if content is None:
                raise too_large(spec, self._max_bytes)
            return Response(response.status, content, parse_retry_after(response.headers.get("Retry-After")))

    def _session(self) -> aiohttp.ClientSession:
        """Return the session of this event loop: a session cannot be used in another one."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._connections, keepalive_timeout=KEEP_ALIVE, resolver=addresses.CheckedResolver()
                ),
                timeout=aiohttp.ClientTimeout(total=None),  # the call as a whole has one
                cookie_jar=aiohttp.DummyCookieJar(),  # a cookie of one server could link the calls of different runs
                headers={"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "tiebreak"},
                trust_env=False,  # a proxy would see the key and the texts
            )
        return session


async def route_to(spec: Spec) -> Route:
    """Return where the requests for a model go; start the local server for the local model."""
    if is_local(spec):
        return Route(_endpoint(await asyncio.to_thread(local_server.start_server), spec.model), {})
    if spec.address is None:
        raise PermanentFailure(f"{spec.model} has no address.")
    url, key = _endpoint(spec.address, spec.model), api_key(spec)
    return Route(url, {"Authorization": f"Bearer {key}"} if key else {})


@lru_cache(maxsize=256)
def _endpoint(address: str, model: str) -> URL:
    return addresses.checked_url(address, model) / "chat/completions"


async def _read(response: aiohttp.ClientResponse, max_bytes: int, truncate: bool) -> bytes | None:
    """Return the body; a longer one than `max_bytes` is truncated, or None."""
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            return b"".join(pieces)[:max_bytes] if truncate else None
    return b"".join(pieces)


def _refusal(error: ServerError, response: Response, ask: Ask, start: float) -> Reply:
    """Return an empty reply if the server declined because of its policy; raise the problem of any other error."""
    if has_policy_code(error.codes):
        return Reply(text="", finish="refused", usage=Usage(seconds=_seconds_since(start)))
    raise server_problem(error, ask.spec, response.retry_after)


def _connection_problem(error: Exception, spec: Spec) -> TiebreakError:
    """Return the problem to raise in place of an error of aiohttp or of the operating system."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return PermanentFailure(f"The connection to {spec.model} failed: the certificate of its server is invalid.")
        case aiohttp.InvalidURL():
            return PermanentFailure(f"The address of {spec.model} cannot be used: its host is invalid.")
        case aiohttp.ClientConnectorSSLError():
            return PermanentFailure(
                f"The connection to {spec.model} failed: its server does not speak TLS; should the address start with http://?"
            )
        case aiohttp.ClientConnectorDNSError():
            reason = "the name of its host could not be resolved"
        case aiohttp.ClientConnectorError():
            reason = os.strerror(error.os_error.errno).lower() if error.os_error.errno else "no connection"
        case aiohttp.ClientPayloadError():
            reason = "the response was incomplete"
        case aiohttp.ClientResponseError():
            reason = "the response is not valid HTTP"
        case _:
            reason = "the server closed the connection without a response"
    return TemporaryFailure(f"The connection to {spec.model} failed: {reason}.")


def _seconds_since(start: float) -> float:
    return round(time.perf_counter() - start, 3)
