"""Which addresses are valid, and which are rejected before a request is sent."""

import asyncio
import socket
from typing import Any

import pytest

from core.errors import PermanentFailure
from core.llm import openai_compatible
from core.llm.openai_compatible import OpenAICompatible
from tests.core.llm.asking import complete_ask, make_ask

REFUSED = "Requests to link-local addresses and to the metadata services of cloud machines are refused."


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1",
        "169.254.170.2",
        "１６９.254.169.254",
        "169。254。169。254",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[febf::1]",
        "[fd00:ec2::254]",
        "[FD00:EC2:0:0::254]",
        "[fd20:ce::254]",
        "[::ffff:169.254.169.254]",
        "[::169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    ],
)
def test_link_local_and_metadata_addresses_are_refused(host: str) -> None:
    with pytest.raises(PermanentFailure, match=REFUSED):
        openai_compatible.checked_url(f"http://{host}/v1", "judge-1")


@pytest.mark.parametrize("host", ["2852039166", "0xa9fea9fe", "169.254.43518", "0251.0376.0251.0376"])
def test_other_notations_of_them_are_refused_too(host: str) -> None:
    outcome = complete_ask(make_ask(f"http://{host}/v1"), OpenAICompatible)
    assert isinstance(outcome, PermanentFailure), outcome


@pytest.mark.parametrize("resolved", ["169.254.169.254", "fe80::1%eth0", "fd00:ec2::254", "::ffff:169.254.169.254"])
def test_a_host_name_that_resolves_to_one_is_refused(monkeypatch: pytest.MonkeyPatch, resolved: str) -> None:
    async def resolve(*_: Any, **__: Any) -> list[dict[str, Any]]:
        hosts = ("127.0.0.1", resolved)
        return [{"hostname": "", "host": host, "port": 80, "family": 0, "proto": 0, "flags": 0} for host in hosts]

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    outcome = complete_ask(make_ask("http://metadata.example/v1"), OpenAICompatible)
    assert isinstance(outcome, PermanentFailure) and str(outcome) == REFUSED


def test_host_names_are_resolved_by_the_system() -> None:
    async def run() -> list[str]:
        resolver = openai_compatible.CheckedResolver()
        return [result["host"] for result in await resolver.resolve("localhost", 80, socket.AF_INET)]

    assert asyncio.run(run()) == ["127.0.0.1"]


@pytest.mark.parametrize(
    "address",
    [
        "ftp://host/v1",
        "host:8000/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://name:word@host/v1",
        "http://host/v1?key=1",
    ],
)
def test_invalid_addresses_are_refused(address: str) -> None:
    outcome = complete_ask(make_ask(address), OpenAICompatible)
    assert isinstance(outcome, PermanentFailure)
    assert str(outcome).startswith("The address of judge-1 cannot be used: ")


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost:11434/v1",
        "http://[::1]:8000/v1",
        "http://10.0.0.8/v1",
        "http://192.168.1.20:8080/v1/",
        "http://gpu-1.lab.example:8000",
        "https://api.openai.com/v1",
    ],
)
def test_addresses_of_ordinary_servers_are_accepted(address: str) -> None:
    assert openai_compatible.checked_url(address, "judge-1").host
