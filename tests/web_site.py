"""A site of the public web that misbehaves: connections to any address reach it."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import certificates
import httpcore

from app.fetching.web_fetcher import FetchLimits, PublicNetwork, WebFetcher

PUBLIC = "93.184.216.34"
Answer = Callable[[dict[str, str], asyncio.StreamWriter], Any]


def response(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """An HTTP response; `content_type` is Content-Type."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("content-length", str(len(body)))
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in named.items()), "connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def redirect(to: str) -> bytes:
    """A redirect, with a body that nobody needs."""
    return response(b"moved", "302 Found", location=to)


@dataclass(slots=True)
class Site(httpcore.AsyncNetworkBackend):
    """A server, and the network in which every address leads to it.

    `answers` has the bytes of each path's response, or what writes them. `names` has the addresses of hosts, one list
    for each time that they are resolved; the last one stays. `connected` are the addresses that were connected to, of
    which one may refuse, and `requests` the headers of the requests, with `target`.
    """

    answers: dict[str, bytes | Answer] = field(default_factory=dict)
    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    connected: list[str] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)
    port: int = 0
    refusing: str = ""

    def fetcher(self, limits: FetchLimits | None = None, **fields: Any) -> WebFetcher:
        """What fetches pages in this network."""
        return WebFetcher(limits, network=PublicNetwork(self, self._resolve), **fields)

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        answers = self.names.setdefault(host, [[host if host[0].isdigit() or ":" in host else PUBLIC]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.connected.append(host)
        if host == self.refusing:
            raise httpcore.ConnectError
        return await httpcore.AnyIOBackend().connect_tcp("127.0.0.1", self.port, timeout)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request."""
        try:
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
            target = headers["target"] = first.split()[1]
            self.requests.append(headers)
            answer = self.answers.get(target, response(b"<h1>Not here</h1>", "404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(headers, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def opened(tls: Any = None) -> AsyncIterator[Site]:
    """A site that serves until the block ends."""
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


@asynccontextmanager
async def opened_over_tls(host: str, asked: list[str | None]) -> AsyncIterator[tuple[Site, ssl.SSLContext]]:
    """A site with a certificate for a host, and a context that trusts it; `asked` gets the names in requests."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = certificates.write(Path(folder), host)
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(certificate, key)
        serving.sni_callback = lambda _socket, name, _context: asked.append(name)
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with opened(serving) as site:
            yield site, trusting
