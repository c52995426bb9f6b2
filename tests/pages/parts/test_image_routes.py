"""The route of images of other hosts: only addresses that a study has signed are fetched."""

from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.formats.records import ItemRecord, StudyRecord, StudyRules
from core.llm.images import Image
from core.remote_images import RemoteImageError
from pages.parts import account_guard, image_routes, resources
from storage.accounts import access, registry
from storage.accounts.access import Role
from storage.accounts.registry import Actor, Identity
from storage.db import connections
from storage.studies import studies
from storage.studies.study_images import RemoteImages
from storage.transfer import imports
from tests.conftest import make_item
from tests.core.test_remote_images import picture

HOST = "images.example.org"
ADDRESS = f"https://{HOST}/a.png"


@pytest.fixture
def client(tmp_path, monkeypatch):
    """A client of the route, on a host whose image b.png cannot be reached."""

    async def fetch(address):
        if address.endswith("b.png"):
            raise RemoteImageError("The image host cannot be reached.")
        return Image("image/png", picture())

    monkeypatch.setattr(image_routes, "_images", lambda: RemoteImages(tmp_path, fetch))
    connections.upgrade(resources.engine())
    rules = StudyRules(image_hosts=(HOST,))
    imports.import_records(resources.engine(), "s", [StudyRecord(rules=rules), ItemRecord(item=make_item())])
    monkeypatch.setattr(account_guard, "identity_of", lambda _: Identity(accounts=False))
    return TestClient(Starlette(routes=image_routes.routes()))


def route(address):
    with connections.reading(resources.engine()) as session:
        study = studies.get(session, "s")
    return resources.image_route(study)(address)


def test_a_signed_image_is_served_with_its_type_and_without_rights(client):
    response = client.get(route(ADDRESS))
    assert (response.status_code, response.content) == (200, picture())
    assert response.headers["content-type"] == "image/png"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_an_account_without_a_role_in_the_study_is_refused(client, monkeypatch):
    with connections.writing(resources.engine()) as session:
        account = registry.add(session, "stranger")
        study_id = studies.get(session, "s").id
    identity = Identity(accounts=True, actor=Actor("stranger", account.id))
    monkeypatch.setattr(account_guard, "identity_of", lambda _: identity)
    assert client.get(route(ADDRESS)).status_code == 404
    with connections.writing(resources.engine()) as session:
        access.set_role(session, study_id, "stranger", Role.viewer)
    assert client.get(route(ADDRESS)).status_code == 200
    monkeypatch.setattr(account_guard, "identity_of", lambda _: Identity(accounts=True))
    assert client.get(route(ADDRESS)).status_code == 404, "nobody is signed in"


def test_other_addresses_and_marks_are_refused(client):
    signed = route(ADDRESS)
    for changed in (
        signed.replace("a.png", "c.png"),
        signed[:-1] + ("0" if signed[-1] != "0" else "1"),
        signed.replace("study=1", "study=2"),
        signed.replace("study=1", "study=%C2%B9"),
        f"/images/remote?url={quote(ADDRESS)}",
        "/images/remote",
    ):
        assert client.get(changed).status_code == 404, changed
    assert route("https://evil.example/a.png") is None


def test_an_image_that_cannot_be_fetched_is_one_sentence(client):
    response = client.get(route(f"https://{HOST}/b.png"))
    assert (response.status_code, response.json()["message"]) == (404, "The image host cannot be reached.")
