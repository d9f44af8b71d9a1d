"""The service under attack, with clients and probes that the attacks share."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import psutil

from app import errors
from benchmarks.service import Launch, Service, free_port
from benchmarks.soak.disruptions import postmaster

SEARCH, DOCUMENTS = "/api/rag/search", "/api/rag/documents"
USERS = ("ana", "ben", "cy")
"""`cy` owns nothing but the prepared documents, also after the other attacks."""
NOTES = 30
LIMIT_S = 30.0
"""Time limit of each attack."""
PROBE_PAUSE_S = 0.02


@dataclass(slots=True)
class Target:
    """A data dir with three users and a few documents, and the revision (`checkout`, `python`) that serves it."""

    data_dir: Path
    checkout: Path
    python: str = sys.executable
    keys: dict[str, str] = field(default_factory=dict)

    def launch(self, **settings: str) -> Launch:
        """Returns how to start the service, with API keys unless the settings say otherwise."""
        return Launch(self.data_dir, {"AUTH": "api_key", **settings}, self.checkout, self.python)

    @asynccontextmanager
    async def serving(self, **settings: str) -> AsyncIterator[Service]:
        """Starts the service for one attack. Afterwards it is given five seconds to stop and then killed."""
        port = free_port()
        service = Service(await self.launch(**settings).start("serve", "--port", str(port)), port)
        try:
            await service.ready()
            yield service
        finally:
            await service.stop(timeout_s=5.0)

    def client(self, service: Service, user: str = "", timeout_s: float = LIMIT_S) -> httpx.AsyncClient:
        """Returns a client with a user's key, or without a key."""
        headers = {"Authorization": f"Bearer {self.keys[user]}"} if user else {}
        return httpx.AsyncClient(base_url=service.address, headers=headers, timeout=timeout_s, trust_env=False)

    async def prepare(self) -> None:
        """Creates the keys and the documents. Raises EmbeddedServerError."""
        for user in USERS:
            status, out = await self.launch().run("keys", "create", user, "--json")
            if status != 0:
                raise errors.EmbeddedServerError(
                    "The revision does not run. If its dependencies differ, "
                    "give an interpreter that has them (--python)."
                )
            self.keys[user] = json.loads(out)["key"]
        async with self.serving() as service:
            for user in USERS:
                async with self.client(service, user) as client:
                    notes = [{"uri": f"n{n}", "title": f"Note {n}", "content": note(n)} for n in range(NOTES)]
                    (await client.post(DOCUMENTS, json=notes)).raise_for_status()

    @asynccontextmanager
    async def database(self, user: str) -> AsyncIterator[asyncpg.Connection]:
        """Connects to the embedded database as one of its roles, over the socket of the running server."""
        (path,) = self.data_dir.rglob("postmaster.pid")
        lines = path.read_text().splitlines()
        connection = await asyncpg.connect(
            host=lines[4], port=int(lines[3]), user=user, database="stepwell", timeout=10.0
        )
        try:
            yield connection
        finally:
            await connection.close()

    def postgres(self) -> list[psutil.Process]:
        """Returns the processes of the embedded server."""
        main = postmaster(self.data_dir)
        return [] if main is None else [main, *main.children(recursive=True)]


def note(number: int) -> str:
    """Returns the text of a stored document."""
    return f"Station {number} of the Gannet Survey repairs buoys with lime mortar. " * 3


@dataclass(slots=True)
class Probe:
    """Polls a path until stopped; `longest_s` is the longest wait for a response, pending ones included."""

    client: httpx.AsyncClient
    path: str = "/healthz"
    longest_s: float = 0.0
    _sent: float | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Probe]:
        """Polls during the block."""
        task = asyncio.create_task(self._poll())
        try:
            yield self
        finally:
            self._finish()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _poll(self) -> None:
        while True:
            self._sent = time.monotonic()
            with suppress(httpx.TransportError):
                await self.client.get(self.path)
            self._finish()
            await asyncio.sleep(PROBE_PAUSE_S)

    def _finish(self) -> None:
        if self._sent is not None:
            self.longest_s = max(self.longest_s, time.monotonic() - self._sent)
            self._sent = None


@dataclass(frozen=True, slots=True)
class Response:
    """A status, or the name of the failure, and the time it took."""

    outcome: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return self.outcome.startswith("2")


async def timed(client: httpx.AsyncClient, method: str, path: str, **fields: Any) -> Response:
    """Sends a request; a failure or timeout is an outcome, too."""
    start = time.monotonic()
    try:
        outcome = str((await client.request(method, path, **fields)).status_code)
    except httpx.TimeoutException:
        outcome = "no answer"
    except httpx.TransportError as error:
        outcome = type(error).__name__
    return Response(outcome, time.monotonic() - start)


async def search(client: httpx.AsyncClient, query: str = "lime mortar of the Gannet Survey") -> Response:
    """Sends a search."""
    return await timed(client, "POST", SEARCH, json={"query": query})


def milliseconds(seconds: float) -> str:
    """Returns a duration for the table."""
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


def merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """Returns headers merged from left to right."""
    return {name: value for part in parts for name, value in part.items()}
