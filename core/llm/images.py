"""Images of a study's items, by path inside its media folder or by URL, sent to models that accept images.

A path cannot leave the folder, a file is at most MAX_BYTES long, and its type is determined by its content, not by its
name. A URL is sent to the model's provider unchanged; nothing is fetched here.
"""

import asyncio
import base64
import io
import ipaddress
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.errors import PermanentFailure, TiebreakError
from core.items import Item
from core.llm import costs, local_server
from core.trace import Ask, Spec, model_specs

FOLDER_VARIABLE = "TIEBREAK_MEDIA"
DEFAULT_FOLDER = "media"
# Size limit of one image; most providers have a lower one.
MAX_BYTES = 10 * 1024 * 1024
# Pillow's names of the formats that providers accept.
ACCEPTED_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


@dataclass(frozen=True)
class Image:
    """An image's media type, such as "image/png", and its bytes."""

    type: str
    content: bytes

    @property
    def url(self) -> str:
        """The image as a data URL."""
        return f"data:{self.type};base64,{base64.b64encode(self.content).decode()}"


def media_folder(study: str) -> Path:
    """Return the folder of a study's images: a subfolder of TIEBREAK_MEDIA, or of "media" next to the app.

    Characters with a meaning in paths are written as %XX: `Sample: ReFeR` becomes `Sample%3A ReFeR`.
    """
    name = re.sub(r"[^\w \-]", lambda match: f"%{ord(match[0]):02X}", study)
    return Path(os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER) / name


def is_url(image: str) -> bool:
    """Return whether an image is given as a URL of any scheme."""
    return bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.\-]*:", image))


def validate_url(image: str) -> str:
    """Return the URL; raises TiebreakError unless it is a public web address.

    A provider's server fetches it, so an address on a private network could expose resources that only that server can
    reach.
    """
    parts = urlsplit(image)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host:
        raise TiebreakError(f"The image {image[:80]!r} should be a path, or begin with https://.")
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or _is_private(host):
        raise TiebreakError(
            f"The image {image[:80]!r} is on a private network; use a file in the media folder instead."
        )
    return image


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return not re.search(r"\.[a-zA-Z][a-zA-Z0-9\-]*\.?$", host)  # some clients accept 127.1 as an address


def read_image(folder: Path, image: str) -> Image:
    """Return the image at a path inside `folder`; raises TiebreakError when it cannot be used."""
    file = resolve_path(folder, image)
    if not file.is_file():
        raise TiebreakError(f"The image {image!r} is not in the study's media folder, {folder}.")
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise TiebreakError(f"The image {image!r} cannot be read: {error.strerror}.") from None
    if len(content) > MAX_BYTES:
        raise TiebreakError(f"The image {image!r} is larger than {MAX_BYTES // 2**20} MB.")
    return Image(detect_type(content, image), content)


def resolve_path(folder: Path, image: str) -> Path:
    """Return the file at a path; raises TiebreakError for one that leaves the folder, by ".." or by a symbolic link."""
    root = folder.resolve()
    refusal = TiebreakError(f"The image {image!r} should be a path inside the study's media folder.")
    if not image or "\0" in image or "\\" in image or image.startswith(("/", "~")):
        raise refusal
    file = (root / image).resolve()
    if file == root or root not in file.parents:
        raise refusal
    return file


def detect_type(content: bytes, image: str) -> str:
    """Return the media type of an image's content; raises TiebreakError for any format but ACCEPTED_FORMATS."""
    from PIL import Image as pillow  # imported here: most runs have no images

    try:
        with pillow.open(io.BytesIO(content), formats=ACCEPTED_FORMATS) as opened:
            return pillow.MIME[opened.format or ""]
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError):  # of its parsers, for invalid headers
        raise TiebreakError(f"The image {image!r} is not PNG, JPEG, GIF or WebP.") from None


def image_url(folder: Path, image: str) -> str:
    """Return the form that is sent to a model: a URL unchanged, a file as a data URL."""
    return validate_url(image) if is_url(image) else read_image(folder, image).url


async def with_contents(ask: Ask, folder: Path) -> Ask:
    """Return an ask with its images as they are sent; raises PermanentFailure for one that cannot be read."""
    try:
        images = await asyncio.to_thread(lambda: tuple(image_url(folder, image) for image in ask.images))
    except TiebreakError as error:
        raise PermanentFailure(str(error)) from None
    return replace(ask, images=images)


def item_images(item: Item) -> Iterator[str]:
    """Yield the images of an item: the prompt's, then the responses'."""
    yield from (image for image in (item.image, *(response.image for response in item.responses)) if image)


def supports_images(spec: Spec) -> bool | None:
    """Return whether a model accepts images, by litellm's list; None if unknown, as for a server at its own address."""
    if local_server.is_local(spec):
        return False
    info = costs.model_info(spec)
    return None if info is None else bool(info.get("supports_vision"))


def refuse_images(protocol: str, items: Iterable[Item]) -> None:
    """Raise TiebreakError for an item with an image, which a protocol that sends none would judge without seeing it."""
    for item in items:
        if next(item_images(item), None):
            raise TiebreakError(f"Item {item.id} has an image, and {protocol} sends none.")


def check_images(settings: Any, items: Iterable[Item], folder: Path) -> None:
    """Raise TiebreakError, before anything is paid for, when a model cannot see images or an image cannot be read."""
    text_only = [spec.model for _, spec in model_specs(settings) if supports_images(spec) is False]
    for item in items:
        for image in item_images(item):
            if text_only:
                raise TiebreakError(
                    f"Item {item.id} has an image, and {text_only[0]} cannot see: choose models that can."
                )
            validate_url(image) if is_url(image) else read_image(folder, image)
