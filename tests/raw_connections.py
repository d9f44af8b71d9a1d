"""A raw HTTP client, a port that nobody else gets, and a server that runs a small application behind the limits."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import uvicorn

from app.http import connections
from app.http.metrics import Metrics

PATIENCE_S = 20.0


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses connections unless a server listens on it; nobody else is given it meanwhile."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@dataclass
class App:
    """Answers by path; `release` lets `/wait` end."""

    release: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    ended: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    scopes: list[dict[str, Any]] = field(default_factory=list)
    read: list[bytes] = field(default_factory=list)
    state: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(metrics=Metrics()))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        path = scope["path"]
        await self.begun.put(path)
        try:
            await self._answer(path, receive, send)
        finally:
            await self.ended.put(path)

    async def _answer(self, path: str, receive: Any, send: Any) -> None:
        if path == "/read":
            body = b""
            while (message := await receive())["type"] == "http.request":
                body += message["body"]
                if not message["more_body"]:
                    break
            if message["type"] == "http.disconnect":
                return
            self.read.append(body)
        if path == "/wait":
            await self.release.wait()
        if path == "/left":
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        size, parts = (1_000_000, 30) if path == "/large" else (2, 1)
        headers = [(b"content-length", str(size * parts).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for left in reversed(range(parts)):
            await send({"type": "http.response.body", "body": b"k" * size, "more_body": left > 0})


class Client:
    """A raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        try:
            self.writer.write(data)
        except RuntimeError as error:  # of uvloop, for a connection that is closed
            raise ConnectionResetError from error
        await self.writer.drain()

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(PATIENCE_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            status, *lines = head.strip().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines)
            return int(status.split()[1]), headers, await self.reader.readexactly(int(headers["content-length"]))

    async def refused(self) -> tuple[int, str]:
        """Status and code of the problem that is the last response on this connection."""
        status, headers, body = await self.response()
        assert headers["content-type"] == "application/problem+json"
        assert headers["connection"] == "close"
        assert await self.is_closed()
        return status, json.loads(body)["code"]

    async def is_closed(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True


@dataclass
class Running:
    """A server and how to connect to it."""

    app: App
    server: uvicorn.Server
    clients: list[Client]

    async def connect(self, sent: bytes = b"") -> Client:
        """A new connection on which this has been sent."""
        port = self.server.servers[0].sockets[0].getsockname()[1]
        client = Client(*await asyncio.open_connection("127.0.0.1", port))
        self.clients.append(client)
        await client.send(sent)
        return client

    async def count(self, wanted: int) -> None:
        """Return once the server has so many connections."""
        await until(lambda: len(self.server.server_state.connections) == wanted)


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 - uvicorn sets no event
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(limits: connections.ConnectionLimits) -> AsyncIterator[Running]:
    app = App()
    http = type("LimitedProtocol", (connections.Protocol,), {"limits": limits})
    server = uvicorn.Server(
        uvicorn.Config(
            app, port=0, http=http, ws="none", lifespan="off", log_config=None, access_log=False,
            timeout_graceful_shutdown=10, timeout_keep_alive=30,
        )
    )  # fmt: skip
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    run = Running(app, server, [])
    try:
        yield run
    finally:
        app.release.set()
        for client in run.clients:
            client.writer.transport.abort()
        server.should_exit = True
        await serving
