"""Sends the mixed load: searches, writes, slow, half-sent and hostile requests, at a limited rate."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from benchmarks import raw_http
from benchmarks.soak import ledger
from benchmarks.soak.ledger import DocumentKey, Ledger

SEARCH, DOCUMENTS = "/api/rag/search", "/api/rag/documents"
ENTITIES = "/api/rag/entities/bulk"
DOCUMENTS_PER_USER, QUERIES, ENTITIES_PER_USER = 40, 300, 60
AT_ONCE = 24
OVERLOADED = (503, 507)
"""The only 5xx statuses that a violation-free run may contain."""
WEIGHTS = {
    "search": 34,
    "multihop": 6,
    "write": 16,
    "write_list": 4,
    "delete": 7,
    "entities": 3,
    "rerank": 3,
    "read": 6,
    "slow_client": 3,
    "half_sent": 4,
    "hostile": 8,
}
TOPICS = ("lime mortar", "buoy telemetry", "cold storage", "routing", "firmware", "ledger entries", "rope access")


@dataclass(slots=True)
class Observations:
    """What the clients observed.

    `excused` is set while the service itself is being killed or restarted, `disrupted` during any disruption.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    overloaded_undisturbed: int = 0
    violations: list[str] = field(default_factory=list)
    lost_connections: int = 0
    excused: bool = False
    disrupted: bool = False

    def status(self, action: str, code: int, allowed: tuple[int, ...] = ()) -> None:
        """Counts a status; records a violation for a 5xx other than 503 and 507, or for a status not in `allowed`."""
        self.statuses[f"{code}"] += 1
        self.overloaded_undisturbed += code in OVERLOADED and not self.disrupted
        if (code >= 500 and code not in OVERLOADED) or (allowed and code not in (*allowed, *OVERLOADED)):
            self.violations.append(f"{action} was answered {code}")

    def lost(self, action: str, error: Exception, *, excused: bool) -> None:
        """Counts a lost connection; records a violation unless the service was being killed at some time meanwhile."""
        self.lost_connections += 1
        if not (excused or self.excused):
            self.violations.append(f"{action} ended with {type(error).__name__}")


@dataclass(slots=True)
class Load:
    """Clients of one service. `keys` has an API key for each user."""

    port: int
    keys: dict[str, str]
    rng: Random
    books: Ledger = field(default_factory=Ledger)
    seen: Observations = field(default_factory=Observations)
    paused: bool = False
    sent: Counter[str] = field(default_factory=Counter)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Opens the HTTP client that all requests use."""
        limits = httpx.Limits(max_connections=AT_ONCE * 2)
        address = f"http://127.0.0.1:{self.port}"
        async with httpx.AsyncClient(base_url=address, timeout=40.0, limits=limits, trust_env=False) as client:
            self._client = client
            yield

    async def run(self, rate: float, until: Callable[[], bool]) -> None:
        """Starts actions at `rate` per second on average until `until()` is true, then waits for all of them."""
        while not until():
            await asyncio.sleep(self.rng.expovariate(rate))
            if not self.paused and len(self._tasks) < AT_ONCE:
                self._start()
        await self.drained()

    async def drained(self) -> None:
        """Waits until no action is running; nothing new starts while `paused` is set."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self) -> None:
        name = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        action: Callable[[str], Awaitable[None]] = getattr(self, f"_{name}")
        self.sent[name] += 1
        task = asyncio.create_task(self._guarded(name, action(self.rng.choice(list(self.keys)))))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, name: str, action: Awaitable[None]) -> None:
        excused = self.seen.excused
        try:
            await action
        except (httpx.TransportError, OSError) as error:
            self.seen.lost(name, error, excused=excused)

    async def request(self, user: str, method: str, path: str, **fields: Any) -> httpx.Response:
        """Sends an ordinary request as a user."""
        assert self._client is not None
        headers = {"Authorization": f"Bearer {self.keys[user]}", **fields.pop("headers", {})}
        return await self._client.request(method, path, headers=headers, **fields)

    def _query(self, user: str) -> str:
        number = self.rng.randrange(QUERIES)
        return f"Which station of {user} reported {TOPICS[number % len(TOPICS)]} on day {number}?"

    async def _search(self, user: str) -> None:
        body = {
            "query": self._query(user),
            "limit": self.rng.randint(1, 20),
            "mode": self.rng.choice(["auto", "hybrid"]),
        }
        self.seen.status("search", (await self.request(user, "POST", SEARCH, json=body)).status_code, (200,))

    async def _multihop(self, user: str) -> None:
        response = await self.request(user, "POST", f"{SEARCH}/multihop", json={"query": self._query(user)})
        self.seen.status("multihop", response.status_code, (200,))

    async def _read(self, user: str) -> None:
        path = self.rng.choice([DOCUMENTS, "/api/rag/stats", "/api/rag/entities", "/readyz", "/healthz"])
        self.seen.status("read", (await self.request(user, "GET", path)).status_code, (200,))

    async def _rerank(self, user: str) -> None:
        hits = [
            {"chunk_id": str(n), "content": f"{TOPICS[n % len(TOPICS)]} " * self.rng.randint(5, 200)} for n in range(40)
        ]
        body = {"lists": [{"name": "a", "hits": hits}], "mmr": True}
        response = await self.request(user, "POST", "/api/rag/rerank", json=body)
        self.seen.status("rerank", response.status_code, (200,))

    async def _entities(self, user: str) -> None:
        first = self.rng.randrange(ENTITIES_PER_USER)
        lines = [
            {"type": "person", "name": f"Ana Number{n % ENTITIES_PER_USER}", "facts": [f"Station {n}."]}
            for n in range(first, first + 20)
        ]
        content = "\n".join(json.dumps(line) for line in lines)
        headers = {"Content-Type": "application/x-ndjson"}
        response = await self.request(user, "POST", ENTITIES, content=content, headers=headers)
        self.seen.status("entities", response.status_code, (200, 201))

    async def _write(self, user: str) -> None:
        await self._put(user, 1)

    async def _write_list(self, user: str) -> None:
        await self._put(user, 5)

    async def _put(self, user: str, count: int) -> None:
        chosen = [DocumentKey(user, f"note-{self.rng.randrange(DOCUMENTS_PER_USER)}") for _ in range(count)]
        with self.books.reserved(chosen) as keys:
            if not keys:
                return
            versions = {key: self.books.next_version(key) for key in keys}
            for key, version in versions.items():
                self.books.attempted(key, version)
            bodies = [_document(key, version) for key, version in versions.items()]
            response = await self.request(user, "POST", DOCUMENTS, json=bodies if count > 1 else bodies[0])
            self.seen.status("write", response.status_code, (200, 201))
            if response.status_code in (200, 201):
                answer = response.json()
                stored = {each["uri"] for each in answer["documents"]} if count > 1 else {answer["uri"]}
                for key, version in versions.items():
                    if key.uri in stored:
                        self.books.acknowledge(key, version)

    async def _delete(self, user: str) -> None:
        key = DocumentKey(user, f"note-{self.rng.randrange(DOCUMENTS_PER_USER)}")
        with self.books.reserved([key]) as keys:
            if not keys:
                return
            listed = await self.request(user, "GET", DOCUMENTS, params={"uri": key.uri})
            if listed.status_code != 200 or not (found := listed.json()["documents"]):
                return
            self.books.attempted(key, None)
            response = await self.request(user, "DELETE", f"{DOCUMENTS}/{found[0]['document_id']}")
            self.seen.status("delete", response.status_code, (200, 204, 404))
            if response.status_code in (200, 204):
                self.books.acknowledge(key, None)

    async def _slow_client(self, user: str) -> None:
        """Sends a search in small steps with pauses; the service may answer it or close the connection."""
        body = json.dumps({"query": self._query(user)}).encode()
        with suppress(OSError):
            async with raw_http.connection(self.port) as (reader, writer):
                writer.write(self._head(user, len(body)))
                await raw_http.trickle(writer, body, pause_s=self.rng.choice([0.01, 0.2]), step=8)
                code = await raw_http.status(reader, 15.0)
                if code is not None:
                    self.seen.status("slow client", code)

    async def _half_sent(self, user: str) -> None:
        """Announces a body, sends one byte and leaves after some seconds."""
        with suppress(OSError):
            async with raw_http.connection(self.port) as (_reader, writer):
                writer.write(self._head(user if self.rng.random() < 0.5 else "", 100) + b"{")
                await writer.drain()
                await asyncio.sleep(self.rng.uniform(0.1, 10))

    async def _hostile(self, user: str) -> None:
        path = self.rng.choice(
            [SEARCH, f"{SEARCH}/multihop", DOCUMENTS, ENTITIES, "/api/rag/rerank", "/api/rag/nothing"]
        )
        body = self.rng.choice(HOSTILE)(self.rng)
        kind = self.rng.choice(
            ["application/json", "application/x-ndjson", "multipart/form-data; boundary=x", "text/csv"]
        )
        response = await self.request(user, "POST", path, content=body, headers={"Content-Type": kind})
        self.seen.status("hostile body", response.status_code)

    def _head(self, user: str, length: int) -> bytes:
        headers = {"Content-Type": "application/json", "Content-Length": str(length)}
        if user:
            headers["Authorization"] = f"Bearer {self.keys[user]}"
        return raw_http.head("POST", SEARCH, headers)


def _document(key: DocumentKey, version: int) -> dict[str, Any]:
    return {"uri": key.uri, "title": ledger.title(key, version), "content": ledger.text(key, version)}


HOSTILE: tuple[Callable[[Random], bytes], ...] = (
    lambda rng: rng.randbytes(rng.randint(1, 5_000)),
    lambda rng: b"[" * rng.randint(10, 50_000),
    lambda rng: b'{"query": ' + b'{"a":' * 2_000 + b"1" + b"}" * 2_001,
    lambda rng: json.dumps({"query": "\x00" * rng.randint(1, 100)}).encode(),
    lambda rng: b'{"query": "\\ud800 lime"}',
    lambda rng: json.dumps({"query": "lime " * rng.randint(1, 20_000)}).encode(),
    lambda rng: json.dumps({"query": "lime", "limit": 10 ** rng.randint(2, 400)}).encode(),
    lambda rng: b'{"query": "lime", "filters": {"metadata": {"a": 1e999}}}',
    lambda rng: json.dumps({"query": '"' * 500 + "+" * 500 + "-" * 500}).encode(),
    lambda rng: json.dumps([{"content": ""}] * rng.randint(1, 600)).encode(),
    lambda rng: (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.pdf"\r\n\r\n%PDF-1.7 \xff\xfe\r\n--x'
    ),
    lambda rng: b'{"type": "person", "name": "' + b"\xc3\x28" * 50 + b'"}\n' * rng.randint(1, 50),
    lambda rng: json.dumps(
        {"lists": [{"name": "a", "hits": [{"chunk_id": str(n), "content": "a " * 900} for n in range(100)]}]}
    ).encode(),
)
"""Malformed, oversized and adversarial request bodies. None of them stores a document."""
