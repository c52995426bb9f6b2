"""The server behind nginx, with the configuration of docs/deployment and TLS."""

import http.client
import os
import shutil
import socket
import ssl
import subprocess
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from storage.db import connections
from storage.transfer import imports
from tests.accounts import PASSWORD, add_account
from tests.browser.conftest import free_port, serve, stop_server
from tests.browser.test_security import picture_study
from tests.browser.test_workbench import READY, press, settle
from tests.databases import create_database
from tests.paths import ROOT
from tests.waiting import wait_for

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
HOST = "lab.localhost"  # a browser resolves it to this machine
CONFIGURATION = ROOT / "docs" / "deployment" / "nginx.conf"


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """A server with the account "ann" and an nginx in front of it; its address."""
    folder = tmp_path_factory.mktemp("proxy")
    with behind_nginx(folder, new_database(folder)) as address:
        yield address


@pytest.fixture
def under_a_path(tmp_path):
    """The same under the path /tiebreak/ of the host, with a study that has images."""
    folder, url = tmp_path, new_database(tmp_path)
    imports.import_records(connections.connect(url), "pictures", picture_study(folder / "media"))
    settings = {"STREAMLIT_SERVER_BASE_URL_PATH": "tiebreak", "TIEBREAK_MEDIA": str(folder / "media")}
    with behind_nginx(folder, url, "tiebreak/", **settings) as address:
        yield address


def new_database(folder):
    """Return the address of a database with the account "ann"."""
    if NGINX is None or shutil.which("openssl") is None:
        pytest.skip("nginx and openssl are not installed (Debian: apt install nginx openssl)")
    address = create_database(folder / "tiebreak.db")
    add_account(connections.connect(address), "ann")
    return address


@contextmanager
def behind_nginx(folder, url, path="", **environment):
    """Start a server on a database and an nginx in front of it; yield the address of the first page."""
    served = serve(url, folder / "server.log", path=path, TIEBREAK_HOSTS=HOST, **environment)
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={HOST}"]
    files = ["-keyout", folder / "server.key", "-out", folder / "server.pem"]
    subprocess.run(["openssl", "req", *options, *files], check=True, capture_output=True)
    port, http_port = free_port(), free_port()
    site = CONFIGURATION.read_text(encoding="utf-8")
    for found, new in (
        ("listen 80;", f"listen 127.0.0.1:{http_port};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("lab.example;", f"{HOST};"),
        ("/etc/ssl/certs/lab.example.pem", str(folder / "server.pem")),
        ("/etc/ssl/private/lab.example.key", str(folder / "server.key")),
        ("location / {", f"location /{path} {{"),
        ("http://127.0.0.1:8501", served.address),
        ("Host $host;", "Host $http_host;"),
    ):
        assert found in site, found
        site = site.replace(found, new)
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"{'user root;' if os.getuid() == 0 else ''}\n"
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {temporary}\n{site} }}"
    )
    proxy = subprocess.Popen([NGINX, "-c", configuration, "-p", folder], stderr=subprocess.DEVNULL)
    try:
        assert wait_for(lambda: is_open(port)), "nginx did not start"
        yield f"https://{HOST}:{port}/{path}"
    finally:
        proxy.terminate()
        proxy.wait(10)
        stop_server(served)


def is_open(port) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.browser
def test_an_account_works_through_a_proxy_with_tls(proxied, visit):
    page = visit(proxied, ignore_https_errors=True)
    sign_in(page)
    page.get_by_role("heading", name="Overview").or_(page.get_by_text("There are no studies yet")).first.wait_for()
    (session,) = [cookie for cookie in page.context.cookies() if cookie["name"] == "tiebreak_session"]
    assert session["secure"] and session["httpOnly"] and session["sameSite"] == "Strict"


@pytest.mark.browser
def test_an_account_signs_in_labels_downloads_and_signs_out_under_a_path(under_a_path, visit):
    page = visit(under_a_path + "disagreements?study=pictures", ignore_https_errors=True)
    reports, failed = [], []
    page.on("console", lambda message: reports.append(message.text))
    page.on("response", lambda reply: failed.append((reply.status, reply.url)) if reply.status >= 400 else None)
    sign_in(page)
    page.locator(READY).wait_for()
    assert page.url.startswith(under_a_path + "disagreements?"), "the page that was asked for"
    settle(page)
    pictures = page.locator("img[src*='/tiebreak/images/remote?'], img[src*='/tiebreak/api/label/image?']")
    pictures.first.wait_for()
    assert pictures.first.evaluate("async (image) => (await image.decode(), image.naturalWidth)") > 0
    with page.expect_response(lambda reply: reply.url.startswith(under_a_path + "api/label/actions")) as saved:
        press(page, "1", "Enter")
    assert saved.value.ok
    page.goto(under_a_path + "agreement?study=pictures")
    with page.expect_download() as download:
        page.locator("a.file-link").first.click()
    assert download.value.url.startswith(under_a_path + "files/") and download.value.failure() is None
    cookies = {cookie["name"]: cookie["path"] for cookie in page.context.cookies()}
    assert {cookies["tiebreak_session"], cookies["tiebreak_visitor"]} == {"/tiebreak"}
    assert [url for _, url in failed if "/_stcore/" not in url] == [], "Streamlit looks for its path by itself"
    assert status(under_a_path, "GET", "tiebreak/api/label/session") == 401
    assert status(under_a_path, "GET", "tiebreak/account/sign-in") == 200
    assert status(under_a_path, "POST", "tiebreak/account/sign-in", Origin="https://other.example") == 403
    page.locator(".st-key-account_menu button").first.click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign in").or_(page.get_by_role("button", name="Sign in")).first.wait_for()
    assert [text for text in reports if "Content Security Policy" in text] == []


def status(address, method, path, **headers):
    """Return the status of a request without a session."""
    parts = urlsplit(address)
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", parts.port, timeout=30, context=context)
    connection.request(method, f"/{path}", headers={"Host": parts.netloc} | headers)
    found = connection.getresponse().status
    connection.close()
    return found


def sign_in(page):
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
