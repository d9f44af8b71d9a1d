"""Measures searches of a running service while its remote embedder fails in different ways, and its recovery."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import httpx

from app import errors
from app.enums import Vector
from benchmarks.fake_embedder import FakeEmbedder

Fault = Literal[
    "none",
    "hang",
    "error",
    "flap",
    "trickle",
    "busy",
    "reset",
    "garbage",
    "truncated",
    "wrong count",
    "wrong dimension",
    "nan",
]
FAULTS: tuple[Fault, ...] = get_args(Fault)[1:]
MODEL, DIMENSION = "stand-in", 384
CLIENTS = 4
RECOVERY_S = 120.0
WORDS = ("harbour", "ledger", "mortar", "well", "survey", "lantern", "copper", "orchard", "signal", "parish")


@dataclass(slots=True)
class StandIn:
    """An OpenAI-compatible embedding server with a fault."""

    fault: Fault = "none"
    calls: int = 0
    embedder: FakeEmbedder = field(default_factory=lambda: FakeEmbedder(dimension=DIMENSION))
    url: str = ""

    def settings(self) -> dict[str, str]:
        """The settings of a service that embeds with this server."""
        return {
            "STEPWELL_EMBEDDER": "openai",
            "STEPWELL_EMBEDDER_URL": self.url,
            "STEPWELL_EMBEDDER_MODEL": MODEL,
            "STEPWELL_EMBEDDER_DIM": str(DIMENSION),
        }

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close the connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
            asked = json.loads(await reader.readexactly(int(length.split(":")[1])))
            self.calls += 1
            # Two calls in a row of each kind, so that a retry after a failure may fail too.
            failing = self.fault != "flap" or self.calls % 4 < 2
            await self._respond(writer, asked["input"], ("error" if self.fault == "flap" else self.fault), failing)
        writer.close()

    async def _respond(self, writer: asyncio.StreamWriter, texts: list[str], fault: Fault, failing: bool) -> None:
        vectors = await self.embedder.embed_documents(texts)
        response = _response(200, _embeddings(vectors))
        if not failing or fault == "none":
            writer.write(response)
        elif fault == "hang":
            await asyncio.sleep(3_600)
        elif fault == "trickle":
            for byte in response:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        elif fault == "reset":
            writer.transport.abort()
        else:
            writer.write(_FAULTY[fault](vectors))
        await writer.drain()


def _embeddings(vectors: list[Vector]) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]}


_FAULTY: dict[str, Callable[[list[Vector]], bytes]] = {
    "error": lambda _: _response(500, {"error": "internal"}),
    "busy": lambda _: _response(429, {"error": "busy"}, "Retry-After: 5\r\n"),
    "garbage": lambda _: _response(200, "<html>"),
    "truncated": lambda vectors: _response(200, json.dumps(_embeddings(vectors))[:-20]),
    "wrong count": lambda vectors: _response(200, _embeddings([*vectors, vectors[0]])),
    "wrong dimension": lambda vectors: _response(200, _embeddings([vector[:-1] for vector in vectors])),
    "nan": lambda vectors: _response(200, _embeddings([[math.nan] * len(vector) for vector in vectors])),
}


def _response(status: int, body: Any, fields: str = "") -> bytes:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} x\r\nContent-Length: {len(content)}\r\nConnection: close\r\n{fields}\r\n"
    return head.encode() + content


@asynccontextmanager
async def standing_in() -> AsyncIterator[StandIn]:
    """Runs the server on a free port of the loopback interface."""
    server = StandIn()
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(server.handle(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        for task in list(tasks):
            task.cancel()
        listening.close()


@dataclass(frozen=True, slots=True)
class FaultFigures:
    """What searches got during a fault: statuses, the share without a vector, latencies, calls of the provider.

    `recovered_s` is the time from the end of the fault to the first answer with a vector.
    """

    fault: Fault
    searches: int
    statuses: Counter[int]
    degraded: int
    without_hits: int
    p50_ms: float
    p95_ms: float
    longest_ms: float
    calls: int
    recovered_s: float


class FaultDrill:
    """Searches a service at `address`, whose embedder is `provider`."""

    def __init__(self, address: str, provider: StandIn) -> None:
        limits = httpx.Limits(max_connections=None)
        self.client = httpx.AsyncClient(base_url=address, trust_env=False, timeout=180.0, limits=limits)
        self._provider = provider
        self._numbers = itertools.count()

    async def __aenter__(self) -> FaultDrill:
        await self.client.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.client.aclose()

    async def store(self, documents: int) -> None:
        """Stores documents of which each search finds some."""
        words = itertools.cycle(WORDS)
        contents = [f"Note {n} about the {next(words)} and the {WORDS[n % 7]} of the town." for n in range(documents)]
        for start in range(0, documents, 100):
            body = [{"content": content} for content in contents[start : start + 100]]
            (await self.client.post("/api/rag/documents", json=body)).raise_for_status()

    async def measure(self, fault: Fault, searches: int) -> FaultFigures:
        """Searches during a fault with CLIENTS clients, and then until an answer has a vector again."""
        self._provider.fault, self._provider.calls = fault, 0
        remaining = iter(range(searches))
        took: list[float] = []
        statuses: Counter[int] = Counter()
        degraded = without_hits = 0

        async def client() -> None:
            nonlocal degraded, without_hits
            for _ in remaining:
                began = time.perf_counter()
                response = await self.search()
                took.append((time.perf_counter() - began) * 1000)
                statuses[response.status_code] += 1
                if response.is_success:
                    answer = response.json()
                    degraded += "embedding_failed" in answer.get("degraded", [])
                    without_hits += not answer["results"]

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        calls, quantiles = self._provider.calls, statistics.quantiles(took, n=20)
        recovered_s = await self.recovery()
        return FaultFigures(
            fault,
            searches,
            statuses,
            degraded,
            without_hits,
            quantiles[9],
            quantiles[18],
            max(took),
            calls,
            recovered_s,
        )

    async def recovery(self) -> float:
        """Ends the fault; returns the seconds until an answer has a vector. Raises DeadlineExceeded."""
        self._provider.fault = "none"
        began = time.monotonic()
        while time.monotonic() - began < RECOVERY_S:
            response = await self.search()
            if response.is_success and not response.json().get("degraded"):
                return time.monotonic() - began
            await asyncio.sleep(0.1)
        raise errors.DeadlineExceeded("The service did not use the embedder again.")

    async def search(self) -> httpx.Response:
        """Searches for something that is not cached."""
        number = next(self._numbers)
        query = f"{WORDS[number % len(WORDS)]} of the town {number}"
        return await self.client.post("/api/rag/search", json={"query": query})
