"""Images of other hosts, fetched by the server: a browser that loads them would disclose who reads which item.

A study allows hosts. From these only images are fetched, over HTTPS, without redirects, cookies or keys. The addresses
of a host have to be public: the connection is made to the addresses that were checked.
"""

import asyncio
import io
import ipaddress
import re
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.errors import TiebreakError
from core.llm.images import ACCEPTED_FORMATS, MAX_BYTES, Image

if TYPE_CHECKING:
    import ssl

    from aiohttp.abc import AbstractResolver

# For a whole request.
SECONDS = 10.0
MAX_PIXELS = 50_000_000
HEADERS = {"Accept": "image/png, image/jpeg, image/gif, image/webp", "Accept-Encoding": "identity"}
# The path of an image in a study's media folder, and an image in Markdown as the labelling page reads it.
STORED = r"\w[\w./-]*\.(?:png|jpe?g|gif|webp)"
MARKDOWN_IMAGE = re.compile(rf"!\[[^\]\n]*\]\(\s*(?P<address>https://[^\s()<>]+|{STORED})(?:\s+\"[^\"\n]*\")?\s*\)")
_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.[a-z][a-z0-9-]{0,61}[a-z0-9]")
MAX_HOST = 253


class RemoteImageError(TiebreakError):
    """An image of another host that cannot be shown."""


def normalize_host(name: str) -> str:
    """Return a host name as it is compared; raises TiebreakError for anything else, such as an IP address or a URL."""
    try:
        host = name.strip().rstrip(".").encode("idna").decode().lower()
    except UnicodeError:
        host = ""
    if len(host) > MAX_HOST or not _HOST.fullmatch(host):
        raise TiebreakError(f"An image host should be a name such as images.example.org, not {name[:80]!r}.")
    return host


def is_allowed(address: str, hosts: Collection[str]) -> bool:
    """Return whether a URL is one of a public image host: HTTPS, the usual port, no user, and a host in `hosts`."""
    if not address.startswith("https://") or re.search(r"[\s\\\x00-\x1f]", address):
        return False
    try:
        parts = urlsplit(address)
        port, host = parts.port, normalize_host(parts.hostname or "")
    except (ValueError, TiebreakError):
        return False
    return port in (None, 443) and parts.username is None and parts.password is None and host in hosts


def is_stored(address: str) -> bool:
    """Return whether an address is a path of the study's media folder."""
    return re.fullmatch(STORED, address) is not None


def markdown_images(text: str, hosts: Collection[str]) -> list[str]:
    """Return the addresses of a text's Markdown images that are stored or on allowed hosts, each once."""
    found = (match["address"] for match in MARKDOWN_IMAGE.finditer(text))
    return list(dict.fromkeys(address for address in found if is_stored(address) or is_allowed(address, hosts)))


def public_resolver() -> "AbstractResolver":
    """Return a resolver that refuses a host unless all of its addresses are public."""
    from core.llm.openai_compatible import CheckedResolver  # imports aiohttp

    def check_public(ip: str) -> None:
        if not is_public(ip):
            raise RemoteImageError("The image host is on a private network.")

    return CheckedResolver(check_public)


def is_public(address: str) -> bool:
    """Return whether an IP address is public, also in the forms in which IPv6 contains an IPv4 address."""
    from core.llm.openai_compatible import address_forms

    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(form.is_global and not form.is_multicast for form in address_forms(ip))


async def fetch(
    address: str, *, resolver: "AbstractResolver | None" = None, trust: "ssl.SSLContext | bool" = True
) -> Image:
    """Fetch an image whose address `is_allowed`; raises RemoteImageError with a sentence if it cannot be shown.

    Tests pass a resolver and the certificates to trust.
    """
    import aiohttp

    connector = aiohttp.TCPConnector(resolver=resolver or public_resolver(), use_dns_cache=False, ssl=trust)
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector,
                timeout=timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            ) as session,
            session.get(address, headers=HEADERS, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise RemoteImageError(f"The image host answered with status {response.status}.")
            content = bytearray()
            async for piece in response.content.iter_chunked(65536):
                content += piece
                if len(content) > MAX_BYTES:
                    raise RemoteImageError(f"The image is larger than {MAX_BYTES // 2**20} MB.")
    except TimeoutError:
        raise RemoteImageError(f"The image host did not answer within {SECONDS:g} seconds.") from None
    except (aiohttp.ClientError, OSError, ValueError):
        raise RemoteImageError("The image host cannot be reached.") from None
    return await asyncio.to_thread(check, bytes(content))


def check(content: bytes) -> Image:
    """Return an image after its type, its size and its data are checked; raises RemoteImageError for others."""
    from PIL import Image as pillow

    try:
        with pillow.open(io.BytesIO(content), formats=ACCEPTED_FORMATS) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise RemoteImageError("The image has too many pixels.")
            media_type = pillow.MIME[opened.format or ""]
            opened.load()
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError):
        raise RemoteImageError("The image is not PNG, JPEG, GIF or WebP, or it is damaged.") from None
    return Image(media_type, content)
