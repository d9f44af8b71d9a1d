"""Connects to hosts of the public Internet only: a name is resolved once, and what is checked is connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpcore

from app import errors

# Written out because `is_global` of the standard library differs between versions of Python, and is true of multicast
# addresses and of IPv6 addresses that a gateway translates to private IPv4 ones.
_NOT_PUBLIC = [
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network; RFC 6890 and the registries of IANA list these
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, with the metadata services of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",
        "2001::/23",  # Teredo, ORCHID and other protocols
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
]
_GLOBAL_UNICAST = ip_network("2000::/3")
"""All IPv6 addresses outside of it are local, multicast, or embed IPv4 addresses, as those of NAT64 do."""


def is_public(address: str) -> bool:
    """Whether an IP address belongs to a host of the public Internet; false if it is no IP address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return not any(parsed in network for network in _NOT_PUBLIC) and _is_unicast(parsed)


def _is_unicast(address: IPv4Address | IPv6Address) -> bool:
    return address.version == 4 or address in _GLOBAL_UNICAST


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a host name. Raises OSError."""
MAX_TRIED = 3
"""Addresses of a host that are tried."""
RESOLVED_AT_ONCE = 4
BLOCKED = "The address leads to this machine or to a network that is not public: send the address of a public page."


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections of an HTTP client by `inner`, to public addresses only.

    TLS still verifies the name of the host. Raises `blocked_url` if one of the host's addresses is not public.
    """

    def __init__(self, inner: httpcore.AsyncNetworkBackend | None = None, resolve: Resolve | None = None) -> None:
        self._inner = inner or httpcore.AnyIOBackend()
        self._resolve = resolve or resolved

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first of the host's addresses that accepts one."""
        failure: Exception | None = None
        for address in (await self._checked(host, port, timeout))[:MAX_TRIED]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError("the host has no address")

    async def _checked(self, host: str, port: int, timeout: float | None) -> Sequence[str]:
        """The addresses of a host. Raises `blocked_url`."""
        try:
            async with asyncio.timeout(timeout):
                found = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the name was not resolved in time") from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the name cannot be resolved") from error
        if not all(map(is_public, found)):
            raise errors.BadRequest(BLOCKED, field="url", code="blocked_url")
        return found


async def resolved(host: str, port: int) -> list[str]:
    """The IP addresses of a host, as the system resolves its name. Raises OSError, UnicodeError."""
    work = _threads().submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(address[0]) for *_, address in await asyncio.wrap_future(work)))


@cache
def _threads() -> ThreadPoolExecutor:
    """Threads of their own, because a name server that does not answer holds them."""
    return ThreadPoolExecutor(RESOLVED_AT_ONCE, "stepwell-dns")
