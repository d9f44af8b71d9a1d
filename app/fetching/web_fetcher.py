"""Fetches one page or file over HTTP within limits of size, time and redirects.

The site is not trusted. Connections are made only to hosts of the public Internet: the name of a host is resolved once,
and its checked address is the one that is used. A request sends only its address and fixed headers. The size of a
response is limited both before and after it is decompressed.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import socket
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from ipaddress import ip_address, ip_network
from ssl import SSLContext, SSLError
from typing import Any

import httpcore
import httpx

from app import errors, limits
from app.fetching.types import AllowedHosts, WebPage

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
MAX_PORT = 65_535
MAX_CONTENT_TYPE = 500
"""Characters of the Content-Type that are read."""
_HEADERS = {"User-Agent": f"stepwell/{metadata.version('stepwell')}", "Accept": "*/*", "Accept-Encoding": "gzip"}
_OTHER_FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, SSLError)
_SEND_PUBLIC = "send an http or https address without a user name"
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
"""All IPv6 addresses outside of it are local, multicast, or embed IPv4 addresses, as NAT64 addresses do."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a host name. Raises OSError."""
MAX_TRIED = 3
"""Addresses of a host that are tried."""
_THREADS = ThreadPoolExecutor(4, "stepwell-dns")
"""Threads of their own for resolving names, because a name server that does not answer holds them."""
BLOCKED = "The address leads to this machine or to a network that is not public: send the address of a public page."


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one page: bytes as they are received and as they are decompressed, and seconds.

    `step_s` is the limit of a connection and of each read, `whole_s` the limit of the page with all redirects.
    """

    max_bytes: int = 50_000_000
    step_s: float = 10.0
    whole_s: float = 60.0


class WebFetcher:
    """Fetches pages, each over connections of its own. `network` and `tls` are for tests."""

    def __init__(
        self, limits: FetchLimits | None = None, *, network: PublicNetwork | None = None, tls: SSLContext | None = None
    ) -> None:
        self._limits = limits or FetchLimits()
        self._network = network or PublicNetwork()
        self._tls = tls

    def normalise(self, address: str) -> str:
        """An http or https address as it is fetched and stored, without its fragment. Raises `blocked_url`."""
        return str(_url(address))

    async def fetch(self, address: str, *, allowed: AllowedHosts) -> WebPage:
        """The page at an address.

        Raises `blocked_url` or `fetch_not_allowed` if it may not be fetched, else `fetch_failed` or `site_unavailable`.
        """
        self._tls = self._tls or httpx.create_ssl_context()
        with _translate(self._limits):
            async with (
                asyncio.timeout(self._limits.whole_s),
                httpcore.AsyncConnectionPool(
                    ssl_context=self._tls, network_backend=self._network, max_connections=1
                ) as connections,
            ):
                return await self._followed(_url(address), allowed, connections)

    async def _followed(
        self, url: httpx.URL, allowed: AllowedHosts, connections: httpcore.AsyncConnectionPool
    ) -> WebPage:
        """The page to which an address leads over redirects."""
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self._limits.step_s)
        for _hop in range(MAX_REDIRECTS + 1):
            if not allowed.allow(url.raw_host.decode("ascii"), _port(url)):
                raise errors.Forbidden(errors.FETCH_NOT_ALLOWED, field="url", code="fetch_not_allowed")
            target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
            sent = {"Host": url.netloc.decode("ascii"), **_HEADERS}
            async with connections.stream(
                "GET", target, headers=list(sent.items()), extensions={"timeout": timeouts}
            ) as response:
                headers = httpx.Headers(response.headers)
                if response.status in REDIRECTS and "location" in headers:
                    url = _url(headers["location"], base=url)
                    continue
                if response.status >= 500 or response.status in (408, 425, 429):
                    raise _unavailable(f"The site answered with status {response.status}: try again later.")
                if response.status not in (200, 203):
                    raise _failed(f"The site answered with status {response.status}: open the address in a browser.")
                return await self._page(response, headers)
        raise _failed(f"The site redirects more than {MAX_REDIRECTS} times.")

    async def _page(self, response: httpcore.Response, headers: httpx.Headers) -> WebPage:
        most, length = self._limits.max_bytes, headers.get("content-length", "")
        if length.isdigit() and (len(length) > 15 or int(length) > most):
            raise _too_large(most)
        body = bytearray()
        async for part in response.aiter_stream():
            body += part
            if len(body) > most:
                raise _too_large(most)
        content_type = Message()
        content_type["content-type"] = headers.get("content-type", "")[:MAX_CONTENT_TYPE]
        return WebPage(
            await asyncio.to_thread(_decode, bytes(body), headers.get("content-encoding", ""), most),
            media_type=content_type.get_content_type() if headers.get("content-type") else "",
            charset=content_type.get_content_charset("") or "",
        )


def _failed(message: str) -> errors.BadRequest:
    return errors.BadRequest(message, field="url", code="fetch_failed")


def _blocked(message: str) -> errors.BadRequest:
    return errors.BadRequest(message, field="url", code="blocked_url")


def _unavailable(message: str) -> errors.ProviderError:
    return errors.ProviderError(message, field="url", code="site_unavailable")


def _too_large(most: int) -> errors.BadRequest:
    return _failed(f"The page has more than {most:,} bytes: download and upload it.")


def _url(address: str, *, base: httpx.URL | None = None) -> httpx.URL:
    try:
        url = httpx.URL(address) if base is None else base.join(address)
        url = url.copy_with(fragment=None, raw_path=url.raw_path)  # an empty path becomes /
        host = url.host  # decodes an international name
    except (httpx.InvalidURL, ValueError) as error:
        raise _blocked(f"The address is no URL: {_SEND_PUBLIC}.") from error
    if url.scheme not in ("http", "https") or not host or _port(url) > MAX_PORT or len(str(url)) > limits.MAX_URI:
        most = f"of at most {limits.MAX_URI:,} characters"
        raise _blocked(f"The address cannot be fetched: {_SEND_PUBLIC}, {most}.")
    if url.userinfo:
        raise _blocked(f"The address contains a user name or password: {_SEND_PUBLIC}.")
    return url


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _decode(body: bytes, encoding: str, most: int) -> bytes:
    """The content of a body. Raises `fetch_failed` for more than `most` bytes, and for an encoding other than gzip."""
    named = encoding.strip().lower()
    if named in ("", "identity"):
        return body
    if named not in ("gzip", "x-gzip"):
        raise _failed("The site sends the page in a content encoding that was not asked for.")
    try:
        content = gzip.GzipFile(fileobj=io.BytesIO(body)).read(most + 1)
    except (OSError, zlib.error, EOFError) as error:
        raise _failed("The site sends a page that is no valid gzip.") from error
    if len(content) > most:
        raise _too_large(most)
    return content


@contextmanager
def _translate(limits: FetchLimits) -> Iterator[None]:
    """Translates failures of the network. Sentences do not say which addresses or ports answer."""
    try:
        yield
    except TimeoutError as error:
        raise _unavailable(f"The site did not send the page within {limits.whole_s:g} seconds.") from error
    except httpcore.TimeoutException as error:
        raise _unavailable(f"The site did not answer within {limits.step_s:g} seconds.") from error
    except _OTHER_FAILURES as error:
        raise _unavailable(
            "The site cannot be reached, has no trusted certificate, or broke the connection off."
        ) from error


def is_public(address: str) -> bool:
    """Whether an IP address belongs to a host of the public Internet; false if it is no IP address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    is_unicast = parsed.version == 4 or parsed in _GLOBAL_UNICAST
    return is_unicast and not any(parsed in network for network in _NOT_PUBLIC)


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections of an HTTP client by `inner`, to public addresses only.

    TLS still verifies the name of the host. Raises `blocked_url` if one of the host's addresses is not public.
    """

    def __init__(self, inner: httpcore.AsyncNetworkBackend | None = None, resolve: Resolve | None = None) -> None:
        self._inner = inner or httpcore.AnyIOBackend()
        self._resolve = resolve or resolve_host

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first of the host's addresses that accepts one."""
        try:
            async with asyncio.timeout(timeout):
                found = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the name was not resolved in time") from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the name cannot be resolved") from error
        if not all(map(is_public, found)):
            raise _blocked(BLOCKED)
        failure: Exception | None = None
        for address in found[:MAX_TRIED]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError("the host has no address")


async def resolve_host(host: str, port: int) -> list[str]:
    """The IP addresses of a host, as the system resolves its name. Raises OSError, UnicodeError."""
    work = _THREADS.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(address[0]) for *_, address in await asyncio.wrap_future(work)))
