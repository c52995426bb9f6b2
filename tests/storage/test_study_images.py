"""Images of other hosts: signed addresses, and one request to the host for each image."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import pytest

from core.llm.images import Image
from core.remote_images import RemoteImageError
from storage.db.connections import reading, writing
from storage.studies import studies, study_images
from storage.studies.study_images import RemoteImages
from tests.core.test_remote_images import picture
from tests.sessions import read, write

HOST = "images.example.org"
ADDRESS = f"https://{HOST}/a b&c.png".replace(" ", "%20")


def query(route):
    return {name: values[0] for name, values in parse_qs(urlsplit(route).query).items()}


def allow(session, study, hosts):
    rules = study.rules.model_copy(update={"image_hosts": hosts})
    studies.update(session, study.id, description="", guidelines="", rules=rules)


def test_a_study_signs_addresses_of_its_own_hosts_only(engine, a_study):
    with writing(engine) as session:
        other = studies.get_or_create(session, "other").id
        allow(session, a_study, (HOST,))
    with reading(engine) as session:
        route = study_images.routes(session, a_study.id, (HOST,))
        assert route("https://evil.example/a.png") is None
        assert study_images.routes(session, a_study.id, ())(ADDRESS) is None
        signed = query(route(ADDRESS))
        assert signed["url"] == ADDRESS
        assert study_images.is_signed(session, a_study.id, ADDRESS, signed["mark"])
        assert not study_images.is_signed(session, a_study.id, ADDRESS + "x", signed["mark"])
        assert not study_images.is_signed(session, other, ADDRESS, signed["mark"])
        assert not study_images.is_signed(session, a_study.id, ADDRESS, "é")
    write(engine, allow, a_study, ())
    assert not read(engine, study_images.is_signed, a_study.id, ADDRESS, signed["mark"]), "the host is removed"


def test_an_image_is_fetched_once_and_then_read_from_the_folder(tmp_path):
    fetched = []

    async def fetch(address):
        fetched.append(address)
        await asyncio.sleep(0.02)
        return Image("image/png", picture())

    async def get_often():
        images = RemoteImages(tmp_path, fetch)
        return await asyncio.gather(*(images.get(ADDRESS) for _ in range(5)))

    assert {image.content for image in asyncio.run(get_often())} == {picture()}
    assert asyncio.run(RemoteImages(tmp_path, fetch).get(ADDRESS)).type == "image/png"
    assert fetched == [ADDRESS]


def test_a_host_that_failed_is_not_asked_again_at_once(tmp_path, monkeypatch):
    asked = []

    async def fail(address):
        asked.append(address)
        raise RemoteImageError("The image host cannot be reached.")

    async def get_twice():
        images = RemoteImages(tmp_path, fail)
        for _ in range(2):
            with pytest.raises(RemoteImageError, match="cannot be reached"):
                await images.get(ADDRESS)

    asyncio.run(get_twice())
    assert len(asked) == 1
    monkeypatch.setattr(study_images, "FAILURE_SECONDS", 0)
    asyncio.run(get_twice())
    assert len(asked) == 3
