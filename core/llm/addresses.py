"""Blocks requests to link-local networks and to the metadata services of cloud machines.

A metadata service gives the machine's credentials to any request from it, so a study's settings must not be able to
name such a service as a judge's address. Host names are checked after they are resolved, by the IP address of the
connection, which also covers unusual notations of numbers (0xa9fea9fe).
"""

import ipaddress
import socket
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from core.errors import PermanentFailure
from core.llm.secrets import describe_problem

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
BLOCKED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",  # link-local; the metadata services of AWS, Google Cloud, Azure and others
        "fe80::/10",  # link-local
        "fd00:ec2::/32",  # AWS
        "fd20:ce::254/128",  # Google Cloud
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle Cloud
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


def checked_url(address: str, model: str) -> URL:
    """Return the base URL; raise PermanentFailure if it is invalid or blocked.

    An IP address is checked here; a name is checked by `CheckedResolver` when it is resolved.
    """
    if reason := describe_problem("", address, ""):
        raise PermanentFailure(f"The address of {model} cannot be used: {reason}")
    try:
        url = URL(address)
    except ValueError:
        raise PermanentFailure(f"The address of {model} cannot be used: its host or port is invalid.") from None
    check_host(url.raw_host or "")  # normalised: "１６９.254.169.254" is such an address too
    return url


def check_host(host: str) -> None:
    """Raise PermanentFailure for a blocked IP address in text form; host names pass."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return
    if any(form in network for form in _forms(ip) for network in BLOCKED):
        raise PermanentFailure(
            "Requests to link-local addresses and to the metadata services of cloud machines are refused."
        )


def _forms(ip: IP) -> list[IP]:
    """Return the address without its zone, and the IPv4 address that an IPv6 address contains."""
    if isinstance(ip, ipaddress.IPv4Address):
        return [ip]
    plain = ipaddress.IPv6Address(int(ip))
    forms: list[IP | None] = [plain, plain.ipv4_mapped, plain.sixtofour]
    if plain in _NAT64 or plain in _COMPATIBLE:
        forms.append(ipaddress.IPv4Address(int(plain) & 0xFFFFFFFF))
    return [form for form in forms if form is not None]


class CheckedResolver(AbstractResolver):
    """Resolves names as the system does, and rejects a name with a blocked address."""

    def __init__(self) -> None:
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> "list[ResolveResult]":
        """Return the addresses of a host; raise PermanentFailure when one of them is blocked."""
        resolved = await self._system.resolve(host, port, family)
        for result in resolved:
            check_host(result["host"])
        return resolved

    async def close(self) -> None:
        """Close the system's resolver."""
        await self._system.close()
