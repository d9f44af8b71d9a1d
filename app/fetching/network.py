"""Connects to hosts of the public Internet only: a name is resolved once, and what is checked is connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import httpcore

from app import errors
from app.fetching import addresses

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
        if not all(map(addresses.is_public, found)):
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
