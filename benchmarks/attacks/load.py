"""Attacks with expensive or abandoned requests."""

from __future__ import annotations

import asyncio
import json
import signal
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx

from benchmarks import raw_http
from benchmarks.attacks.target import DOCUMENTS, SEARCH, Probe, Response, Target, milliseconds, note, search, timed
from benchmarks.service import Service

LIMIT_S = 25.0
UPLOAD_BYTES, UPLOADS = 9_600_000, 14
WRITERS = 30
READERS, READ_S = 60, 4.0
READS = {
    "statistics": ("/api/rag/stats", None),
    "entities": ("/api/rag/entities?limit=200", None),
    "MCP resources": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {}}),
}


async def rerank_large_hits(target: Target) -> str:
    """Reranks 200 hits of 48 KB with MMR; measures the longest wait of another client for /healthz."""
    return await _rerank(target, 48_000)


async def rerank_medium_hits(target: Target) -> str:
    """Reranks 200 hits of 9 KB with MMR, which the limit of the body permits."""
    return await _rerank(target, 9_000)


async def _rerank(target: Target, characters: int) -> str:
    words = [f"word{n % 5000}" for n in range(6_800)]
    hits = [{"chunk_id": str(n), "content": " ".join(words[n:] + words[:n])[:characters]} for n in range(200)]
    body = json.dumps({"lists": [{"name": "a", "hits": hits}], "mmr": True, "limit": 200}).encode()
    return await _stall(target, "/api/rag/rerank", body, "application/json")


async def bulk_entities(target: Target) -> str:
    """Imports a chain of 8,000 teams whose last member does not exist; measures CPU time and another client's wait."""
    lines = [{"type": "team", "name": f"Team {n}", "members": [f"Team {n + 1}"]} for n in range(8_000)]
    body = "\n".join(json.dumps(line) for line in lines).encode()
    return await _stall(target, "/api/rag/entities/bulk", body, "application/x-ndjson")


async def _stall(target: Target, path: str, body: bytes, kind: str) -> str:
    async with target.serving() as service, target.client(service) as other:
        before = service.cpu_s()
        async with target.client(service, "ana", LIMIT_S) as client, Probe(other).running() as probe:
            response = await timed(client, "POST", path, content=body, headers={"Content-Type": kind})
        used = service.cpu_s() - before
    return f"{response.outcome}, {used:.1f} s of CPU, longest stall {milliseconds(probe.longest_s)}"


async def abandoned_uploads(target: Target) -> str:
    """Sends 14 uploads of 9.6 MB and leaves; measures memory and another user's write during the next ten seconds."""
    async with target.serving() as service, target.client(service, "ben", 15.0) as other:
        before, most = service.memory_mb(), 0.0
        await asyncio.gather(*(_upload(target, service, wait_s=0.5) for _ in range(UPLOADS)))
        write = asyncio.create_task(timed(other, "POST", DOCUMENTS, json={"content": "Lime.", "uri": "after"}))
        deadline = time.monotonic() + 10.0
        while time.monotonic() < deadline:
            most = max(most, service.memory_mb())
            await asyncio.sleep(0.1)
        response = await write
    return f"memory {before:.0f} to {most:.0f} MB, other write {response.outcome} in {milliseconds(response.seconds)}"


async def stop_during_uploads(target: Target) -> str:
    """Sends SIGTERM while six uploads of 9.6 MB run; measures the time to exit, up to 30 seconds."""
    async with target.serving() as service:
        uploads = [asyncio.create_task(_upload(target, service, wait_s=40.0)) for _ in range(6)]
        await asyncio.sleep(2.0)
        took = await service.stop(signal.SIGTERM, timeout_s=30.0)
        for upload in uploads:
            upload.cancel()
        await asyncio.gather(*uploads, return_exceptions=True)
    return f"{took:.1f} s" if took < 30 else "more than 30 s"


async def _upload(target: Target, service: Service, *, wait_s: float) -> None:
    body = json.dumps({"content": "Lime mortar sets slowly at the station. " * (UPLOAD_BYTES // 40)}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    headers["Authorization"] = f"Bearer {target.keys['ana']}"
    with suppress(OSError, TimeoutError):
        async with raw_http.connection(service.port) as (reader, writer):
            writer.write(raw_http.head("POST", DOCUMENTS, headers) + body)
            await asyncio.wait_for(writer.drain(), 10.0)
            await raw_http.status(reader, wait_s)


async def writers_against_others(target: Target) -> str:
    """Runs 30 writers of one user for ten seconds; measures the slowest search and write of another user."""
    async with target.serving() as service, target.client(service, "ana") as ana, target.client(service, "ben") as ben:
        deadline = time.monotonic() + 10.0

        async def write(number: int) -> None:
            while time.monotonic() < deadline:
                text = f"{note(number)} {time.monotonic()}. " + "Buoys report at noon. " * 1_500
                await timed(ana, "POST", DOCUMENTS, json={"content": text, "uri": f"w{number}"})

        writers = [asyncio.create_task(write(number)) for number in range(WRITERS)]
        await asyncio.sleep(1.0)
        reads: list[Response] = []
        writes: list[Response] = []
        while time.monotonic() < deadline:
            reads.append(await search(ben, f"buoys {len(reads)}"))
            writes.append(await timed(ben, "POST", DOCUMENTS, json={"content": f"Lime {len(writes)}", "uri": "b"}))
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
    slowest = [milliseconds(max(each.seconds for each in group)) for group in (reads, writes)]
    failed = [sum(not each.ok for each in group) for group in (reads, writes)]
    return (
        f"search up to {slowest[0]} ({failed[0]} of {len(reads)} failed), "
        f"write up to {slowest[1]} ({failed[1]} of {len(writes)} failed)"
    )


async def readers_against_searches(target: Target) -> str:
    """Runs 60 connections of one user that only read; measures another user's searches beside each kind of read."""
    async with target.serving() as service:
        figures = [f"{milliseconds(await _searches_beside(target, service, b''))} alone"]
        for name, (path, message) in READS.items():
            request = _request(target, "ana", path, message)
            figures.append(f"{milliseconds(await _searches_beside(target, service, request))} beside {name}")
    return ", ".join(figures)


async def _searches_beside(target: Target, service: Service, request: bytes) -> float:
    """Returns the median seconds of a user's searches during READ_S, while READERS send a request again and again."""
    deadline = time.monotonic() + READ_S
    readers = [asyncio.create_task(_read(service, request, deadline)) for _ in range(READERS if request else 0)]
    await asyncio.sleep(0.5)
    took: list[float] = []
    async with raw_http.connection(service.port) as (reader, writer):
        while time.monotonic() < deadline:
            start = time.monotonic()
            await _exchange(reader, writer, _request(target, "ben", SEARCH, {"query": f"buoys {len(took)}"}))
            took.append(time.monotonic() - start)
    await asyncio.gather(*readers)
    return statistics.median(took)


async def _read(service: Service, request: bytes, deadline: float) -> None:
    async with raw_http.connection(service.port) as (reader, writer):
        while time.monotonic() < deadline:
            await _exchange(reader, writer, request)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    """Sends a request and reads the whole response; httpx would take more CPU time than the service."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r")[0]))


def _request(target: Target, user: str, path: str, message: object) -> bytes:
    body = b"" if message is None else json.dumps(message).encode()
    headers = {"Authorization": f"Bearer {target.keys[user]}", "Accept": "application/json, text/event-stream"}
    if body:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return raw_http.head("POST" if body else "GET", path, headers) + body


@dataclass(slots=True)
class SilentServer:
    """Accepts connections and never answers."""

    port: int = 0
    called: asyncio.Event = field(default_factory=asyncio.Event)
    accepted: list[asyncio.StreamWriter] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[SilentServer]:
        """Listens on a loopback port during the block."""

        async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.accepted.append(writer)
            self.called.set()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            for writer in self.accepted:
                writer.transport.abort()
            server.close()


async def hanging_llm(target: Target) -> str:
    """Runs three multi-hop searches whose LLM never answers; counts twelve plain searches meanwhile."""
    async with SilentServer().running() as silent:
        llm = {
            "STEPWELL_LLM": "openai",
            "STEPWELL_LLM_URL": f"http://127.0.0.1:{silent.port}/v1",
            "STEPWELL_LLM_MODEL": "none",
            "STEPWELL_LLM_API_KEY": "none",
        }
        async with target.serving(**llm) as service, target.client(service, "ana") as client:
            question = "Which station of the Gannet Survey uses lime mortar?"
            body = {"query": question, "ranking": {"hops": {"extractor": "llm"}}}
            hanging = [asyncio.create_task(timed(client, "POST", f"{SEARCH}/multihop", json=body)) for _ in range(3)]
            await asyncio.wait_for(silent.called.wait(), 5.0)
            answered = await asyncio.gather(*(_spaced_search(client, place) for place in range(12)))
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)
    return f"{sum(answered)} of 12 plain searches answered"


async def _spaced_search(client: httpx.AsyncClient, place: int) -> bool:
    await asyncio.sleep(0.2 * place)
    return (await search(client, f"lime mortar {place}")).ok
