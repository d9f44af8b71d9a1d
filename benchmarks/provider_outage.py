"""Measures a service during a long outage of its remote embedder, under light load, and its recovery."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

from app import errors
from benchmarks.provider_faults import Fault, FaultDrill, StandIn

FAULTS: tuple[Fault, ...] = ("hang", "error", "reset", "busy")
"""What the outage looks like, each for an equal part of it."""
SEARCH_EVERY_S, UPLOAD_EVERY_S, READY_EVERY_S = 1.0, 15.0, 5.0
LARGE_CHARACTERS = 1_100_000
JOB_S = 300.0


@dataclass(slots=True)
class OutageFigures:
    """What clients got during the outage, and the seconds from its end to a search with a vector, to an upload that is
    stored, and to the end of the job that was queued before it; None for what did not happen in time."""

    seconds: float
    searches: Counter[int] = field(default_factory=Counter)
    degraded: int = 0
    took_ms: list[float] = field(default_factory=list)
    uploads: Counter[int] = field(default_factory=Counter)
    ready: Counter[str] = field(default_factory=Counter)
    jobs: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    search_s: float | None = None
    upload_s: float | None = None
    job_s: float | None = None

    def rows(self) -> Iterator[tuple[str, str]]:
        """The figures as names and values."""
        quantiles = statistics.quantiles(self.took_ms, n=100)
        yield "outage", f"{self.seconds:.0f} s of {', '.join(FAULTS)}"
        yield "searches", f"{_counted(self.searches)}, {self.degraded} degraded"
        yield "p50, p99, longest", f"{quantiles[49]:.0f}, {quantiles[98]:.0f}, {max(self.took_ms):.0f} ms"
        yield "uploads", _counted(self.uploads)
        yield "/readyz", _counted(self.ready)
        yield "job", _counted(self.jobs)
        yield "calls of the embedder", str(self.calls)
        for what, seconds in (("a search", self.search_s), ("an upload", self.upload_s), ("the job", self.job_s)):
            yield f"{what} succeeds after", "not in time" if seconds is None else f"{seconds:.1f} s"

    def is_passed(self, deadline_ms: float) -> bool:
        """Whether every search was answered in time from the words, and everything worked again afterwards."""
        answered = set(self.searches) == {HTTPStatus.OK} and self.degraded == self.searches.total()
        ready = all(state.startswith("200 ") for state in self.ready)
        recovered = None not in (self.search_s, self.upload_s, self.job_s)
        return answered and max(self.took_ms) <= deadline_ms and ready and recovered


class OutageDrill:
    """Searches, uploads and reads the readiness and a job of a service whose embedder is `provider`."""

    def __init__(self, drill: FaultDrill, provider: StandIn) -> None:
        self._drill, self._provider = drill, provider
        self._uploaded = 0

    async def measure(self, seconds: float) -> OutageFigures:
        """Breaks the embedder, queues a large document, and waits until everything works again."""
        figures = OutageFigures(seconds)
        self._provider.fault, self._provider.calls = FAULTS[0], 0
        job = await self._queue()
        ended = time.monotonic() + seconds
        await asyncio.gather(
            self._fail(seconds),
            _repeated(lambda: self._search(figures), SEARCH_EVERY_S, ended),
            _repeated(lambda: self._upload(figures), UPLOAD_EVERY_S, ended),
            _repeated(lambda: self._ready(figures, job), READY_EVERY_S, ended),
        )
        figures.calls = self._provider.calls
        began = time.monotonic()
        figures.search_s = await self._recovered()
        figures.upload_s = await _elapsed(self._is_stored, began)
        figures.job_s = await _elapsed(lambda: self._is_done(job), began)
        return figures

    async def _recovered(self) -> float | None:
        try:
            return await self._drill.recovery()
        except errors.DeadlineExceeded:
            return None

    async def _queue(self) -> str:
        """Queues a document that is stored by a job; returns the job's id."""
        sentence = "The harbour keeps a ledger of every signal. "
        sent = {"content": sentence * (LARGE_CHARACTERS // len(sentence)), "uri": "large"}
        response = await self._drill.client.post("/api/rag/documents", json=sent)
        response.raise_for_status()
        return str(response.json()["job_id"])

    async def _fail(self, seconds: float) -> None:
        for fault in FAULTS:
            self._provider.fault = fault
            await asyncio.sleep(seconds / len(FAULTS))

    async def _search(self, figures: OutageFigures) -> None:
        began = time.perf_counter()
        response = await self._drill.search()
        figures.took_ms.append((time.perf_counter() - began) * 1000)
        figures.searches[response.status_code] += 1
        if response.is_success:
            answer = response.json()
            figures.degraded += bool(answer["results"]) and "embedding_failed" in answer["degraded"]

    async def _upload(self, figures: OutageFigures) -> None:
        figures.uploads[await self._stored()] += 1

    async def _stored(self) -> int:
        self._uploaded += 1
        sent = {"content": f"A note about the lantern {self._uploaded}.", "uri": f"note-{self._uploaded}"}
        return (await self._drill.client.post("/api/rag/documents", json=sent)).status_code

    async def _is_stored(self) -> bool:
        return await self._stored() == HTTPStatus.CREATED

    async def _ready(self, figures: OutageFigures, job: str) -> None:
        response = await self._drill.client.get("/readyz")
        state = response.json().get("providers", {}).get("embedder")
        figures.ready[f"{response.status_code} {state}"] += 1
        figures.jobs[await self._state(job)] += 1

    async def _state(self, job: str) -> str:
        status: str = (await self._drill.client.get(f"/api/rag/jobs/{job}")).json()["status"]
        return status

    async def _is_done(self, job: str) -> bool:
        return await self._state(job) == "done"


async def _repeated(step: Callable[[], Awaitable[None]], every_s: float, until: float) -> None:
    """Runs a step at intervals until a time of the monotonic clock."""
    while time.monotonic() < until:
        began = time.monotonic()
        await step()
        await asyncio.sleep(max(0.0, every_s - (time.monotonic() - began)))


async def _elapsed(check: Callable[[], Awaitable[bool]], began: float) -> float | None:
    """Seconds from `began` until a check succeeds; None after JOB_S."""
    while time.monotonic() - began < JOB_S:
        if await check():
            return time.monotonic() - began
        await asyncio.sleep(0.5)
    return None


def _counted(counted: Counter[int] | Counter[str]) -> str:
    return ", ".join(f"{count} × {what}" for what, count in sorted(counted.items(), key=str))
