"""Images stay inside the media folder, are what their bytes say, and go only to models that can see."""

import asyncio
import os
from pathlib import Path

import pytest

from core.items import Item, Response
from core.llm import images
from core.llm.client import ScriptedModel
from core.problems import Permanent, Problem
from core.trace import Ask, Spec
from tests.core.protocols.reviews import settings

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
GPT = Spec(model="gpt-5.4-mini")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "media" / "study"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.png").write_bytes(PNG)
    (folder / "deep" / "b.png").write_bytes(PNG)
    (tmp_path / "media" / "secret.png").write_bytes(PNG)
    return folder


def an_ask(*images: str) -> Ask:
    return Ask(speaker="a", step="peer", round=0, spec=GPT, prompt="?", read=str, images=images)


def test_a_file_in_the_folder_is_read(home: Path) -> None:
    assert images.read(home, "a.png") == images.Image("image/png", PNG)
    assert images.read(home, "deep/b.png").url.startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize(
    "path", ["../secret.png", "deep/../../secret.png", "/etc/passwd", "~/x.png", "", ".", "deep\\..\\a.png", "a\0.png"]
)
def test_a_path_that_leads_out_is_refused(home: Path, path: str) -> None:
    with pytest.raises(Problem, match="should be a path inside"):
        images.read(home, path)


def test_a_link_that_leads_out_is_refused(home: Path) -> None:
    os.symlink(home.parent / "secret.png", home / "link.png")
    with pytest.raises(Problem, match="should be a path inside"):
        images.read(home, "link.png")


def test_a_file_that_is_not_there_or_no_file_is_refused(home: Path) -> None:
    for path in ("c.png", "deep"):
        with pytest.raises(Problem, match="is not in the study's media folder"):
            images.read(home, path)


def test_a_file_that_is_too_large_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "LARGEST", 10)
    with pytest.raises(Problem, match="has more than"):
        images.read(home, "a.png")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF....WEBPVP8 ", "image/webp"),
    ],
)
def test_the_type_is_told_by_the_content(content: bytes, name: str) -> None:
    assert images.type_of(content, "x.txt") == name


@pytest.mark.parametrize("content", [b"", b"<svg onload='x()'/>", b"%PDF-1.4", b"RIFF....WAVE"])
def test_what_is_no_image_is_refused_whatever_its_name(home: Path, content: bytes) -> None:
    (home / "x.png").write_bytes(content)
    with pytest.raises(Problem, match="is not PNG, JPEG, GIF or WebP"):
        images.read(home, "x.png")


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
    with pytest.raises(Problem, match="private network"):
        images.checked_url(url)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "data:image/png;base64,AAAA", "ftp://example.org/x.png", "https:"]
)
def test_a_url_that_is_no_web_address_is_refused(home: Path, url: str) -> None:
    with pytest.raises(Problem, match="should be a path"):
        images.reference(home, url)


def test_a_model_is_sent_the_bytes_of_a_path_and_a_url_as_it_stands(home: Path) -> None:
    model = ScriptedModel(lambda ask: "fine")
    asyncio.run(images.Seeing(model, home).ask(an_ask("a.png", "https://example.org/b.png")))
    assert model.asked[0].images == (images.Image("image/png", PNG).url, "https://example.org/b.png")


def test_an_image_that_cannot_be_read_is_not_tried_again(home: Path) -> None:
    with pytest.raises(Permanent, match=r"'c\.png' is not in"):
        asyncio.run(images.Seeing(ScriptedModel(lambda ask: "fine"), home).ask(an_ask("c.png")))


def test_a_folder_is_named_after_its_study_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(images.VARIABLE, "/pictures")
    assert images.folder("My study") == Path("/pictures/My study")
    assert images.folder("../etc") == Path("/pictures/%2E%2E%2Fetc")
    assert images.folder("Sample: ReFeR").name == "Sample%3A ReFeR"


@pytest.mark.parametrize(
    ("spec", "can"),
    [
        (GPT, True),
        (Spec(model="gpt-3.5-turbo"), False),
        (Spec(model="local"), False),
        (Spec(model="nobody-knows-it"), None),
        (Spec(model="gpt-3.5-turbo", address="http://127.0.0.1:8000/v1"), None),
    ],
)
def test_who_can_see(spec: Spec, can: bool | None) -> None:
    assert images.sees(spec) is can


def an_image_item(image: str = "a.png") -> Item:
    return Item(id="boat", prompt="Draw a boat.", responses=(Response(text="", image=image),))


def test_a_run_whose_models_cannot_see_is_refused(home: Path) -> None:
    chosen = settings().model_copy(update={"chair": settings().chair.model_copy(update={"spec": Spec(model="local")})})
    with pytest.raises(Problem, match="Item boat has an image, and local cannot see"):
        images.check(chosen, [an_image_item()], home)
    images.check(chosen, [Item(id="x", prompt="no image")], home)


def test_a_run_whose_images_cannot_be_read_is_refused(home: Path) -> None:
    with pytest.raises(Problem, match=r"'gone\.png' is not in"):
        images.check(settings(), [an_image_item("gone.png")], home)
