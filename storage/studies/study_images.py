"""Images of other hosts that a study allows: signed addresses on this server, and copies of what was fetched.

An address is signed with the study's key, so the server fetches only images that one of its own pages shows.
"""

import asyncio
import hashlib
import hmac
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy.exc import NoResultFound
from sqlalchemy.orm import Session

from core import remote_images
from core.llm import images
from core.own_addresses import own_address
from storage.studies import studies

ROUTE = "/images/remote"
# A host that failed is asked again after this time.
FAILURE_SECONDS = 60.0
MAX_FAILURES = 1000
# Images that are fetched at the same time.
AT_ONCE = 8
# Returns the address on this server of an image of another host; None if it is not shown.
Route = Callable[[str], str | None]


def routes(session: Session, study_id: int, hosts: Collection[str]) -> Route:
    """Return the function that names the addresses of a study's stored and remote images in its texts."""
    secret = studies.secret(session, study_id)

    def find(address: str) -> str | None:
        is_shown = remote_images.is_stored(address) or remote_images.is_allowed(address, hosts)
        return route(secret, study_id, address) if is_shown else None

    return find


def route(secret: bytes, study_id: int, address: str) -> str:
    """Return the signed address of an image on this server."""
    return f"{own_address(ROUTE)}?{urlencode({'study': study_id, 'url': address, 'mark': _mark(secret, address)})}"


def is_signed(session: Session, study_id: int, address: str, mark: str) -> bool:
    """Return whether a study that allows the host of an image has signed its address."""
    try:
        study = studies.by_id(session, study_id)
    except NoResultFound:
        return False
    expected = _mark(studies.secret(session, study_id), address)
    matches = hmac.compare_digest(expected.encode(), mark.encode(errors="replace"))
    return matches and (remote_images.is_stored(address) or remote_images.is_allowed(address, study.rules.image_hosts))


def _mark(secret: bytes, address: str) -> str:
    return hashlib.blake2b(
        address.encode(errors="replace"), key=secret, digest_size=16, person=b"remote image"
    ).hexdigest()


class RemoteImages:
    """Fetches each image once, and stores it in a folder by the hash of its address."""

    def __init__(
        self, folder: Path | None = None, fetch: Callable[[str], Awaitable[images.Image]] = remote_images.fetch
    ) -> None:
        self._folder, self._fetch = folder, fetch
        self._fetching: dict[str, asyncio.Task[images.Image]] = {}
        self._failures: dict[str, tuple[float, str]] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    async def get(self, address: str) -> images.Image:
        """Return an image; raises RemoteImageError if it cannot be shown."""
        failed_at, problem = self._failures.get(address, (0.0, ""))
        if problem and time.monotonic() - failed_at < FAILURE_SECONDS:
            raise remote_images.RemoteImageError(problem)
        if address not in self._fetching:
            task = asyncio.create_task(self._load(address))
            self._fetching[address] = task
            task.add_done_callback(lambda _: self._fetching.pop(address, None))
        return await asyncio.shield(self._fetching[address])

    async def _load(self, address: str) -> images.Image:
        file = self._file(address)
        if await asyncio.to_thread(file.is_file):
            content = await asyncio.to_thread(file.read_bytes)
            return images.Image(images.detect_type(content, address), content)
        try:
            async with self._places:
                image = await self._fetch(address)
        except remote_images.RemoteImageError as error:
            if len(self._failures) >= MAX_FAILURES:
                self._failures.clear()
            self._failures[address] = (time.monotonic(), str(error))
            raise
        await asyncio.to_thread(_write, file, image.content)
        return image

    def _file(self, address: str) -> Path:
        folder = self._folder or images.media_folder("x").parent / ".remote"
        return folder / hashlib.sha256(address.encode(errors="replace")).hexdigest()


def _write(file: Path, content: bytes) -> None:
    """Store a copy; a full or read-only disk costs the copy only."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
            part.write(content)
        os.replace(part.name, file)
    except OSError:
        pass
