"""Fetches one page or file over HTTP within limits of size, time and redirects.

The site is not trusted. Each hop's host is checked (`network`), nothing of another request is sent, and what is
received is counted before and after it is decompressed.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from ssl import SSLContext, SSLError

import httpcore
import httpx

from app import errors, limits
from app.fetching.network import PublicNetwork
from app.fetching.pages import AllowedHosts, WebPage

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
MAX_PORT = 65_535
GZIP = b"\x1f\x8b"
MAX_CONTENT_TYPE = 500
"""Characters of the Content-Type that are read."""
PIECE = 1_000_000
"""Bytes that are decompressed at once, between which other requests are served."""
_OTHER_FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, SSLError)
_SEND_PUBLIC = "send an http or https address without a user name"


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one page: bytes as they are received and as they are decompressed, and seconds.

    `step_s` is the time of a connection and of each read, `whole_s` that of the page with all redirects.
    """

    max_bytes: int = 50_000_000
    step_s: float = 10.0
    whole_s: float = 60.0


class WebFetcher:
    """Fetches pages, each over connections of its own. `network` and `tls` are for tests."""

    def __init__(
        self,
        limits: FetchLimits | None = None,
        *,
        network: PublicNetwork | None = None,
        tls: SSLContext | None = None,
    ) -> None:
        self._limits = limits or FetchLimits()
        self._network = network or PublicNetwork()
        self._tls = tls

    def normalised(self, address: str) -> str:
        """An http or https address as it is fetched and stored, without its fragment. Raises `blocked_url`."""
        return str(_url(address))

    async def fetch(self, address: str, *, allowed: AllowedHosts) -> WebPage:
        """The page at an address. Raises `blocked_url`, `fetch_failed`, `site_unavailable`."""
        with _translate(self._limits):
            async with asyncio.timeout(self._limits.whole_s), self._connections() as connections:
                return await self._followed(_url(address), allowed, connections)

    def _connections(self) -> httpcore.AsyncConnectionPool:
        self._tls = self._tls or httpx.create_ssl_context()
        return httpcore.AsyncConnectionPool(ssl_context=self._tls, network_backend=self._network, max_connections=1)

    async def _followed(
        self, url: httpx.URL, allowed: AllowedHosts, connections: httpcore.AsyncConnectionPool
    ) -> WebPage:
        """The page to which an address leads over redirects."""
        for _hop in range(MAX_REDIRECTS + 1):
            _check(url, allowed)
            async with connections.stream(
                "GET", _raw(url), headers=_headers(url), extensions={"timeout": self._timeouts()}
            ) as response:
                headers = httpx.Headers(response.headers)
                if response.status in REDIRECTS and "location" in headers:
                    url = _url(headers["location"], base=url)
                    continue
                _check_status(response.status)
                return await self._page(response, headers)
        raise errors.BadRequest(
            f"The site redirects more than {MAX_REDIRECTS} times.", field="url", code="fetch_failed"
        )

    def _timeouts(self) -> dict[str, float]:
        return dict.fromkeys(("connect", "read", "write", "pool"), self._limits.step_s)

    async def _page(self, response: httpcore.Response, headers: httpx.Headers) -> WebPage:
        length = headers.get("content-length", "")
        if length.isdigit() and (len(length) > 15 or int(length) > self._limits.max_bytes):
            raise self._too_large()
        body = bytearray()
        async for part in _decode(self._received(response), headers.get("content-encoding", "")):
            body += part
            if len(body) > self._limits.max_bytes:
                raise self._too_large()
        content_type = Message()
        content_type["content-type"] = headers.get("content-type", "")[:MAX_CONTENT_TYPE]
        return WebPage(
            bytes(body),
            media_type=content_type.get_content_type() if headers.get("content-type") else "",
            charset=content_type.get_content_charset("") or "",
        )

    async def _received(self, response: httpcore.Response) -> AsyncIterator[bytes]:
        size = 0
        async for part in response.aiter_stream():
            size += len(part)
            if size > self._limits.max_bytes:
                raise self._too_large()
            yield part

    def _too_large(self) -> errors.BadRequest:
        return errors.BadRequest(
            f"The page has more than {self._limits.max_bytes:,} bytes: download and upload it.",
            field="url",
            code="fetch_failed",
        )


def _url(address: str, *, base: httpx.URL | None = None) -> httpx.URL:
    try:
        url = httpx.URL(address) if base is None else base.join(address)
        url = url.copy_with(fragment=None, raw_path=url.raw_path)  # an empty path becomes /
        host = url.host  # decodes an international name
    except (httpx.InvalidURL, ValueError) as error:
        raise errors.BadRequest(f"The address is no URL: {_SEND_PUBLIC}.", field="url", code="blocked_url") from error
    if url.scheme not in ("http", "https") or not host or _port(url) > MAX_PORT or len(str(url)) > limits.MAX_URI:
        most = f"of at most {limits.MAX_URI:,} characters"
        raise errors.BadRequest(
            f"The address cannot be fetched: {_SEND_PUBLIC}, {most}.", field="url", code="blocked_url"
        )
    if url.userinfo:
        raise errors.BadRequest(
            f"The address contains a user name or password: {_SEND_PUBLIC}.", field="url", code="blocked_url"
        )
    return url


def _check(url: httpx.URL, allowed: AllowedHosts) -> None:
    if not allowed.allow(url.raw_host.decode("ascii"), _port(url)):
        raise errors.Forbidden(errors.FETCH_NOT_ALLOWED, field="url", code="fetch_not_allowed")


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _raw(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def _headers(url: httpx.URL) -> list[tuple[str, str]]:
    return [
        ("Host", url.netloc.decode("ascii")),
        ("User-Agent", f"stepwell/{metadata.version('stepwell')}"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "gzip"),
    ]


def _check_status(status: int) -> None:
    """Raises unless the response has the page."""
    if status >= 500 or status in (408, 425, 429):
        raise errors.ProviderError(
            f"The site answered with status {status}: try again later.", field="url", code="site_unavailable"
        )
    if status not in (200, 203):
        raise errors.BadRequest(
            f"The site answered with status {status}: open the address in a browser.", field="url", code="fetch_failed"
        )


async def _decode(parts: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The content of a body. Raises `fetch_failed` for an encoding that was not asked for, and for invalid gzip."""
    named = encoding.strip().lower()
    if named in ("", "identity"):
        async for part in parts:
            yield part
        return
    if named not in ("gzip", "x-gzip"):
        raise errors.BadRequest(
            "The site sends the page in a content encoding that was not asked for.", field="url", code="fetch_failed"
        )
    try:
        async for part in _unzip(parts):
            yield part
    except (zlib.error, EOFError) as error:
        raise errors.BadRequest(
            "The site sends a page that is no valid gzip.", field="url", code="fetch_failed"
        ) from error


async def _unzip(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The content of gzip members in pieces. Raises zlib.error, and EOFError if it is not complete."""
    member, is_complete = _member(), False
    async for left in parts:
        while left and (not is_complete or left.startswith(GZIP)):  # what follows the last member is padding
            yield member.decompress(left, PIECE)
            left, is_complete = member.unconsumed_tail or member.unused_data, member.eof
            member = _member() if is_complete else member
            await asyncio.sleep(0)
    if not is_complete:
        raise EOFError


def _member() -> zlib._Decompress:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


@contextmanager
def _translate(limits: FetchLimits) -> Iterator[None]:
    """Translates failures of the network. Sentences do not say which addresses or ports answer."""
    try:
        yield
    except TimeoutError as error:
        raise errors.ProviderError(
            f"The site did not send the page within {limits.whole_s:g} seconds.", field="url", code="site_unavailable"
        ) from error
    except httpcore.TimeoutException as error:
        raise errors.ProviderError(
            f"The site did not answer within {limits.step_s:g} seconds.", field="url", code="site_unavailable"
        ) from error
    except _OTHER_FAILURES as error:
        raise errors.ProviderError(
            "The site cannot be reached, has no trusted certificate, or broke the connection off.",
            field="url",
            code="site_unavailable",
        ) from error
