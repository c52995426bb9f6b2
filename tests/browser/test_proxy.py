"""The server behind nginx, with the configuration of docs/deployment and TLS."""

import os
import shutil
import socket
import subprocess
import time

import pytest

from storage import database
from tests.accounts import PASSWORD, add_account
from tests.browser.conftest import free_port, serve, stop_server
from tests.databases import create_database
from tests.paths import ROOT

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
HOST = "lab.localhost"  # a browser resolves it to this machine
CONFIGURATION = ROOT / "docs" / "deployment" / "nginx.conf"


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """A server with the account "ann" and an nginx in front of it; its address."""
    if NGINX is None or shutil.which("openssl") is None:
        pytest.skip("nginx and openssl are not installed (Debian: apt install nginx openssl)")
    folder = tmp_path_factory.mktemp("proxy")
    address = create_database(folder / "tiebreak.db")
    add_account(database.connect(address), "ann")
    served = serve(address, folder / "server.log", TIEBREAK_HOSTS=HOST)
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
    wait_for_port(port)
    yield f"https://{HOST}:{port}"
    proxy.terminate()
    proxy.wait(10)
    stop_server(served)


def wait_for_port(port):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("nginx did not start")


@pytest.mark.browser
def test_an_account_works_through_a_proxy_with_tls(proxied, visit):
    page = visit(proxied, ignore_https_errors=True)
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Overview").or_(page.get_by_text("There are no studies yet")).first.wait_for()
    (session,) = [cookie for cookie in page.context.cookies() if cookie["name"] == "tiebreak_session"]
    assert session["secure"] and session["httpOnly"] and session["sameSite"] == "Strict"
