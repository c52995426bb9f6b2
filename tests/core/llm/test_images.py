"""Images come from the media folder, have the type of their content, and are sent only to models that accept them."""

import asyncio
import io
import os
from pathlib import Path

import PIL.Image
import pytest

from core.errors import PermanentFailure, TiebreakError
from core.items import Item, Response
from core.llm import images
from core.trace import Ask, Spec
from tests.core.protocols.reviews import make_settings


def encode(format: str) -> bytes:
    """Return a small image in a format."""
    stream = io.BytesIO()
    PIL.Image.new("RGB", (2, 2), "red").save(stream, format)
    return stream.getvalue()


PNG = encode("PNG")
GPT = Spec(model="gpt-5.4-mini")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "media" / "study"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.png").write_bytes(PNG)
    (folder / "deep" / "b.png").write_bytes(PNG)
    (tmp_path / "media" / "secret.png").write_bytes(PNG)
    return folder


def an_ask(*images: str) -> Ask:
    return Ask(speaker="a", step="peer", round=0, spec=GPT, prompt="?", images=images)


def test_a_file_in_the_folder_is_read(folder: Path) -> None:
    assert images.read_image(folder, "a.png") == images.Image("image/png", PNG)
    assert images.read_image(folder, "deep/b.png").url.startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize(
    "path",
    [
        *("../secret.png", "deep/../../secret.png", "/etc/passwd", "~/x.png", "", ".", "deep\\..\\a.png", "a\0.png"),
        "link.png",
    ],
)
def test_a_path_or_a_link_that_leaves_the_folder_is_refused(folder: Path, path: str) -> None:
    os.symlink(folder.parent / "secret.png", folder / "link.png")
    with pytest.raises(TiebreakError, match="should be a path inside"):
        images.read_image(folder, path)


@pytest.mark.parametrize("path", ["c.png", "deep"])
def test_a_missing_file_and_a_folder_are_refused(folder: Path, path: str) -> None:
    with pytest.raises(TiebreakError, match="is not in the study's media folder"):
        images.read_image(folder, path)


def test_a_large_file_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_BYTES", 10)
    with pytest.raises(TiebreakError, match="is larger than"):
        images.read_image(folder, "a.png")


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_type_is_determined_by_the_content(format: str) -> None:
    assert images.detect_type(encode(format), "x.txt") == f"image/{format.lower()}"


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg onload='x()'/>", b"%PDF-1.4", b"RIFF....WAVE", PNG[:20], encode("BMP"), encode("TIFF")],
    ids=["empty", "svg", "pdf", "wave", "cut png", "bmp", "tiff"],
)
def test_other_formats_are_refused_whatever_the_name(folder: Path, content: bytes) -> None:
    (folder / "x.png").write_bytes(content)
    with pytest.raises(TiebreakError, match="is not PNG, JPEG, GIF or WebP"):
        images.read_image(folder, "x.png")


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/x.png",
        "http://127.0.0.1/x.png",
        "http://127.1/x.png",
        "http://2130706433/x.png",
        "http://[::1]/x.png",
        "http://10.0.0.8/x.png",
        "http://169.254.169.254/latest",
        "http://printer/x.png",
        "http://a.internal/x.png",
    ],
)
def test_a_url_on_a_private_network_is_refused(url: str) -> None:
    with pytest.raises(TiebreakError, match="private network"):
        images.validate_url(url)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "data:image/png;base64,AAAA", "ftp://example.org/x.png", "https:"]
)
def test_a_url_that_is_not_a_web_address_is_refused(folder: Path, url: str) -> None:
    with pytest.raises(TiebreakError, match="should be a path"):
        images.image_url(folder, url)


def test_a_path_is_sent_as_its_content_and_a_url_unchanged(folder: Path) -> None:
    sent = asyncio.run(images.with_contents(an_ask("a.png", "https://example.org/b.png"), folder))
    assert sent.images == (images.Image("image/png", PNG).url, "https://example.org/b.png")


def test_an_image_that_cannot_be_read_is_a_permanent_failure(folder: Path) -> None:
    with pytest.raises(PermanentFailure, match=r"'c\.png' is not in"):
        asyncio.run(images.with_contents(an_ask("c.png"), folder))


def test_the_folder_is_named_after_the_study_with_special_characters_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(images.FOLDER_VARIABLE, "/pictures")
    assert images.media_folder("My study") == Path("/pictures/My study")
    assert images.media_folder("../etc") == Path("/pictures/%2E%2E%2Fetc")
    assert images.media_folder("Sample: ReFeR").name == "Sample%3A ReFeR"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(GPT, True, marks=pytest.mark.litellm),
        pytest.param(Spec(model="gpt-3.5-turbo"), False, marks=pytest.mark.litellm),
        (Spec(model="local"), False),
        (Spec(model="unknown-model"), None),
        (Spec(model="gpt-3.5-turbo", address="http://127.0.0.1:8000/v1"), None),
    ],
)
def test_image_support_is_looked_up_and_none_where_unknown(spec: Spec, expected: bool | None) -> None:
    assert images.supports_images(spec) is expected


def make_image_item(image: str = "a.png") -> Item:
    return Item(id="boat", prompt="Draw a boat.", responses=(Response(text="", image=image),))


def test_a_run_with_images_and_a_text_only_model_is_refused(folder: Path) -> None:
    settings = make_settings()
    chair = settings.chair.model_copy(update={"spec": Spec(model="local")})
    settings = settings.model_copy(update={"chair": chair})
    with pytest.raises(TiebreakError, match="Item boat has an image, and local cannot see"):
        images.check_images(settings, [make_image_item()], folder)
    images.check_images(settings, [Item(id="x", prompt="no image")], folder)


def test_a_run_with_an_unreadable_image_is_refused(folder: Path) -> None:
    with pytest.raises(TiebreakError, match=r"'gone\.png' is not in"):
        images.check_images(make_settings(), [make_image_item("gone.png")], folder)
