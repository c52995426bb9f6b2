"""Images of other hosts: which addresses are fetched, and what a host may answer."""

import asyncio
import io
import socket
import ssl
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp.abc import AbstractResolver
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from PIL import Image

from core import remote_images
from core.errors import TiebreakError
from core.formats.records import StudyRules
from core.remote_images import RemoteImageError, fetch, is_allowed, is_public, markdown_images, normalize_host

HOST = "images.example.org"


@pytest.mark.parametrize(
    "address",
    [
        "http://images.example.org/a.png",
        "https://images.example.org:8443/a.png",
        "https://user:secret@images.example.org/a.png",
        "https://user@images.example.org/a.png",
        "https://images.example.org.evil.example/a.png",
        "https://evil.example/images.example.org/a.png",
        "https://evil.example\\@images.example.org/a.png",
        "https://evil.example#@images.example.org/a.png",
        "https://images.example.org\t/a.png",
        "https://127.0.0.1/a.png",
        "https://[::1]/a.png",
        "https://images.example.org:x/a.png",
        "https:///a.png",
        "//images.example.org/a.png",
        "ftp://images.example.org/a.png",
        "data:image/png;base64,AA",
        "",
    ],
)
def test_an_address_of_another_scheme_port_user_or_host_is_not_allowed(address):
    assert not is_allowed(address, [HOST])


@pytest.mark.parametrize("address", ["https://images.example.org/a.png?b=c#d", "https://IMAGES.example.org:443/"])
def test_an_address_of_an_allowed_host_is_allowed(address):
    assert is_allowed(address, [HOST])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "localhost",
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "https://a.example",
        "a.example/b",
        "*.example.org",
        "a b.c",
    ],
)
def test_a_setting_that_is_no_host_name_is_refused(name):
    with pytest.raises(TiebreakError, match="image host should be a name"):
        normalize_host(name)
    with pytest.raises(ValueError, match="image host"):
        StudyRules(image_hosts=(name,))


def test_host_names_are_compared_in_one_form():
    assert StudyRules(image_hosts=("Images.Example.org.", HOST)).image_hosts == (HOST,)
    assert normalize_host("bücher.example") == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "::127.0.0.1",
        "2002:7f00:1::",
        "name",
    ],
)
def test_private_link_local_and_metadata_addresses_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_other_addresses_are_public(address):
    assert is_public(address)


def test_the_images_of_a_text_are_those_of_allowed_hosts():
    text = f'![a](https://{HOST}/1.png) ![](<https://{HOST}/2.png>) ![b](https://x.example/3.png "t") ![c](/4.png)'
    assert markdown_images(text, [HOST]) == [f"https://{HOST}/1.png"]
    assert markdown_images(text, []) == []


# ---- what a host answers ---------------------------------------------------------------------------------------------


def picture(size=(3, 2), format="PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size).save(stream, format)
    return stream.getvalue()


class LocalResolver(AbstractResolver):
    """Resolves every name to the test server."""

    def __init__(self, port):
        self.port = port

    async def resolve(self, host, port=0, family=socket.AF_INET):
        return [{"hostname": host, "host": "127.0.0.1", "port": self.port, "family": family, "proto": 0, "flags": 0}]

    async def close(self):
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The paths of a certificate for the test host and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    return folder / "cert.pem", folder / "key.pem"


@contextmanager
def answering(certificate, response: bytes, requests: list[bytes]):
    """Run a TLS server that sends one response to every request; yield its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(10)

    def serve():
        try:
            with listening.accept()[0] as connection, context.wrap_socket(connection, server_side=True) as secured:
                requests.append(secured.recv(65536))
                secured.sendall(response)
        except OSError:
            pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        thread.join(10)
        listening.close()


def fetch_from(certificate, response: bytes, requests: list[bytes], host=HOST):
    trust = ssl.create_default_context(cafile=str(certificate[0]))
    with answering(certificate, response, requests) as port:
        return asyncio.run(fetch(f"https://{host}/a.png", resolver=LocalResolver(port), trust=trust))


def ok(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize(("format", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg")])
def test_an_image_is_fetched_with_the_type_of_its_content(certificate, format, media_type):
    requests = []
    fetched = fetch_from(certificate, ok(picture(format=format), "Content-Type: text/html"), requests)
    assert (fetched.type, fetched.content) == (media_type, picture(format=format))
    head = requests[0].decode().lower()
    assert "cookie" not in head
    assert "referer" not in head
    assert "authorization" not in head


@pytest.mark.parametrize(
    ("response", "sentence"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: https://169.254.169.254/\r\nContent-Length: 0\r\n\r\n", "status 302"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status 404"),
        (ok(b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "Content-Type: image/png"), "not PNG"),
        (ok(b"<html>"), "not PNG"),
        (ok(picture()[:40]), "damaged"),
        (ok(picture(), "Content-Encoding: gzip"), None),
        (b"nonsense\r\n\r\n", "cannot be reached"),
    ],
)
def test_anything_but_an_image_is_one_sentence(certificate, response, sentence):
    if sentence is None:
        assert fetch_from(certificate, response, []).type == "image/png"
        return
    with pytest.raises(RemoteImageError, match=sentence):
        fetch_from(certificate, response, [])


def test_an_image_that_is_too_large_is_refused(certificate, monkeypatch):
    monkeypatch.setattr(remote_images, "MAX_BYTES", 1000)
    with pytest.raises(RemoteImageError, match="larger than"):
        fetch_from(certificate, ok(b"x" * 200_000), [])


def test_an_image_with_too_many_pixels_is_refused(monkeypatch):
    monkeypatch.setattr(remote_images, "MAX_PIXELS", 100)
    with pytest.raises(RemoteImageError, match="too many pixels"):
        remote_images.check(picture((101, 1)))


def test_a_certificate_of_another_host_is_refused(certificate):
    with pytest.raises(RemoteImageError, match="cannot be reached"):
        fetch_from(certificate, ok(picture()), [], host="other.example.org")


def test_a_host_that_does_not_answer_is_refused_after_a_while(certificate, monkeypatch):
    monkeypatch.setattr(remote_images, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(RemoteImageError, match="did not answer"):
        asyncio.run(fetch(f"https://{HOST}/a.png", resolver=LocalResolver(silent.getsockname()[1])))


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["93.184.215.14", "127.0.0.1"]])
def test_a_host_with_a_private_address_is_refused(monkeypatch, addresses):
    async def resolve(self, host, port=0, family=socket.AF_INET):
        shared = {"hostname": host, "port": port, "family": family, "proto": 0, "flags": 0}
        return [shared | {"host": address} for address in addresses]

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    with pytest.raises(RemoteImageError, match="private network"):
        asyncio.run(fetch(f"https://{HOST}/a.png"))
