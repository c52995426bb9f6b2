"""Images of a study: by path inside its media folder, or by URL; sent with the prompt to models that can see.

A path never leaves the folder, a file is no larger than LARGEST, and what it is is told by its first bytes, not by
its name. A URL is handed on as it stands to whoever serves the model; nothing is fetched here.
"""

import asyncio
import base64
import ipaddress
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from core.items import Item
from core.llm import costs, local_server
from core.llm.client import Model, Reply, Sampler
from core.problems import Permanent, Problem
from core.trace import Ask, Spec

VARIABLE = "TIEBREAK_MEDIA"
DEFAULT = "media"
LARGEST = 10 * 1024 * 1024
"""Bytes of one image; providers refuse larger ones, most of them earlier."""
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
TYPES = "PNG, JPEG, GIF or WebP"


@dataclass(frozen=True)
class Image:
    """An image's bytes, and what they are."""

    type: str
    content: bytes

    @property
    def url(self) -> str:
        """The image as a data URL."""
        return f"data:{self.type};base64,{base64.b64encode(self.content).decode()}"


def folder(study: str) -> Path:
    """Where a study's images lie: a folder of its name in TIEBREAK_MEDIA, else in "media" beside the app.

    What may mean something in a path is written as %XX: `Sample: ReFeR` is `Sample%3A ReFeR`.
    """
    name = re.sub(r"[^\w \-]", lambda mark: f"%{ord(mark[0]):02X}", study)
    return Path(os.environ.get(VARIABLE) or DEFAULT) / name


def is_url(image: str) -> bool:
    """Whether an image is named by a URL."""
    return bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.\-]*:", image))


def checked_url(image: str) -> str:
    """The URL, where it is one that somebody else's server may be asked for."""
    parts = urlsplit(image)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host:
        raise Problem(f"The image {image[:80]!r} should be a path, or begin with https://.")
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or _is_inside(host):
        raise Problem(f"The image {image[:80]!r} is on a private network; put the file into the media folder instead.")
    return image


def _is_inside(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return not re.search(r"\.[a-zA-Z][a-zA-Z0-9\-]*\.?$", host)  # 127.1 is an address to some, too


def read(home: Path, image: str) -> Image:
    """The image at a path inside the folder `home`; raises Problem in a sentence that names it."""
    file = inside(home, image)
    if not file.is_file():
        raise Problem(f"The image {image!r} is not in the study's media folder, {home}.")
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise Problem(f"The image {image!r} cannot be read: {error.strerror}.") from None
    if len(content) > LARGEST:
        raise Problem(f"The image {image!r} has more than {LARGEST // 2**20} MB.")
    return Image(type_of(content, image), content)


def inside(home: Path, image: str) -> Path:
    """The file that a path names; one that leads out of the folder, by ".." or by a link, is refused."""
    root = home.resolve()
    refusal = Problem(f"The image {image!r} should be a path inside the study's media folder.")
    if not image or "\0" in image or "\\" in image or image.startswith(("/", "~")):
        raise refusal
    file = (root / image).resolve()
    if file == root or root not in file.parents:
        raise refusal
    return file


def type_of(content: bytes, image: str) -> str:
    """What the first bytes say an image is."""
    for beginning, name in _BEGINNINGS.items():
        if content.startswith(beginning):
            return name
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    raise Problem(f"The image {image!r} is not {TYPES}, whatever its name says.")


def reference(home: Path, image: str) -> str:
    """What a model is sent: a URL as it stands, a file as a data URL."""
    return checked_url(image) if is_url(image) else read(home, image).url


@dataclass(frozen=True)
class Seeing:
    """A model whose asks name images by path: they are read when they are sent."""

    model: Model
    home: Path

    async def ask(self, ask: Ask) -> Reply:
        """The reply; an image that cannot be read will not be readable on the next try either."""
        return await self.model.ask(await self._with_images(ask))

    async def sample(self, ask: Ask) -> list[Reply]:
        """Several replies at once, where the model can give them."""
        return await self.model.sample(await self._with_images(ask)) if isinstance(self.model, Sampler) else []

    async def _with_images(self, ask: Ask) -> Ask:
        if not ask.images:
            return ask
        try:
            images = await asyncio.to_thread(lambda: tuple(reference(self.home, image) for image in ask.images))
        except Problem as problem:
            raise Permanent(str(problem)) from None
        return replace(ask, images=images)

    async def close(self) -> None:
        """Close whoever answers."""
        await self.model.close()


def of_item(item: Item) -> Iterator[str]:
    """The images of an item: the prompt's, then the responses'."""
    yield from (image for image in (item.image, *(response.image for response in item.responses)) if image)


def sees(spec: Spec) -> bool | None:
    """Whether a model can see: as litellm's table says; None where nobody knows, as at an address of one's own."""
    if spec.model == local_server.NAME and spec.address is None:
        return False
    facts = costs.facts(spec)
    return None if facts is None else bool(facts.get("supports_vision"))


def check(settings: Any, items: Iterable[Item], home: Path) -> None:
    """Refuse, before anything is paid for, a run whose models cannot see or whose images cannot be read."""
    for item in items:
        for image in of_item(item):
            if blind := [spec.model for spec in specs(settings) if sees(spec) is False]:
                raise Problem(f"Item {item.id} has an image, and {blind[0]} cannot see: choose models that can.")
            checked_url(image) if is_url(image) else read(home, image)


def specs(settings: Any) -> Iterator[Spec]:
    """Every model that the settings name, wherever they do."""
    match settings:
        case Spec():
            yield settings
        case BaseModel():
            for name in type(settings).model_fields:
                yield from specs(getattr(settings, name))
        case tuple() | list():
            for one in settings:
                yield from specs(one)
