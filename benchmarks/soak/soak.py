"""Runs the soak test: mixed load, disruptions, samples and checks of every acknowledged write."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx

from app import errors
from benchmarks.service import Launch
from benchmarks.soak import disruptions, ledger
from benchmarks.soak.disruptions import Kind, Runner
from benchmarks.soak.ledger import DocumentKey, Found
from benchmarks.soak.load import DOCUMENTS, SEARCH, Load
from benchmarks.soak.samples import Memory, Samples

USERS = ("ana", "ben", "cy")
SAMPLE_S = 5.0
MIN_INTERVAL_S, MAX_INTERVAL_S, INTERVALS = 10.0, 120.0, 24
RESTARTS_UNTIL, SHORT_MINUTES = 1 / 3, 10.0
"""Share of a run in which the service is restarted too; afterwards one process serves to the end. Short runs restart it
throughout."""
SETTLE_S = 3.0
"""Time after a disruption in which 503 is still expected."""
READ_BACK = 25
"""Documents per user whose content, chunks and searchability are read back at each check."""
CHECK_S = 120.0
LINKED_S = 120.0
"""Time in which the jobs that link names finish after the last write."""
Report = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    minutes: float
    requests: dict[str, int]
    statuses: dict[str, int]
    overloaded_undisturbed: int
    lost_connections: int
    disruptions: dict[str, int]
    restarts: int
    slowest_stop_s: float
    acknowledged_writes: int
    checks: int
    documents_checked: int
    max_lag_s: float | None
    cpu_share: float
    memory: Memory | None
    violations: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Soak:
    """One run."""

    runner: Runner
    load: Load
    admin_key: str
    minutes: float
    report: Report
    samples: Samples = field(default_factory=Samples)
    disrupted: dict[str, int] = field(default_factory=dict)
    checks: int = 0
    documents_checked: int = 0
    start: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """The share of the run that is over."""
        return (time.monotonic() - self.start) / (self.minutes * 60)

    async def run(self, rate: float) -> Outcome:
        """Runs to the end and returns the outcome."""
        sampling = asyncio.create_task(self._sample())
        try:
            async with self.load.connected():
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.load.run(rate, lambda: self.elapsed >= 1))
                    group.create_task(self._disrupt())
                await self._check(last=True)
                self.load.seen.violations += await self._drift()
        finally:
            sampling.cancel()
            with suppress(asyncio.CancelledError):
                await sampling
        return self._outcome()

    async def _sample(self) -> None:
        while True:
            await self.samples.take(self.runner.service, self.admin_key)
            await asyncio.sleep(SAMPLE_S)

    async def _disrupt(self) -> None:
        interval = min(max(self.minutes * 60 / INTERVALS, MIN_INTERVAL_S), MAX_INTERVAL_S)
        done = 0
        while self.elapsed + interval / (self.minutes * 60) < 1:
            await asyncio.sleep(interval)
            restarts = self.minutes < SHORT_MINUTES or self.elapsed < RESTARTS_UNTIL
            kinds = disruptions.ALL if restarts else disruptions.DATABASE_ONLY
            await self._one(kinds[done % len(kinds)])
            done += 1
            await self._check()

    async def _one(self, kind: Kind) -> None:
        self.report(f"{self.elapsed:4.0%} {kind}")
        self.disrupted[kind] = self.disrupted.get(kind, 0) + 1
        self.load.seen.disrupted = True
        self.load.seen.excused = kind in ("kill the service", "restart the service")
        try:
            await self.runner.disrupt(kind, self.load.rng)
        except errors.EmbeddedServerError:
            self.load.seen.violations.append(f"not ready {disruptions.READY_S:.0f} s after: {kind}")
        self.load.seen.excused = False
        await asyncio.sleep(SETTLE_S)
        self.load.seen.disrupted = False

    async def _check(self, *, last: bool = False) -> None:
        """Pauses the load and compares what is stored with the ledger."""
        self.load.paused = True
        await self.load.drained()
        try:
            async with asyncio.timeout(CHECK_S):
                for user in USERS:
                    self.load.seen.violations += await self._check_user(user, whole=last)
        except TimeoutError:
            self.load.seen.violations.append(f"a check took longer than {CHECK_S:.0f} s")
        self.checks += 1
        self.load.paused = False

    async def _drift(self) -> list[str]:
        """What `repair --dry-run` finds once the jobs that link names have finished."""
        out, end = "", time.monotonic() + LINKED_S
        while time.monotonic() < end:
            status, out = await self.runner.launch.run("repair", "--dry-run")
            if status == 0 and "nothing was wrong" in out and "not compared" not in out:
                return []
            await asyncio.sleep(1.0)
        return [f"derived rows differ from the texts: {line}" for line in out.splitlines()]

    async def _check_user(self, user: str, *, whole: bool) -> list[str]:
        found = await self._listed(user)
        violations = self.load.books.check(user, found)
        self.documents_checked += len(found)
        chosen = found if whole else self.load.rng.sample(found, min(READ_BACK, len(found)))
        for document in chosen:
            violations += await self._read_back(document)
        return violations

    async def _listed(self, user: str) -> list[Found]:
        rows: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = await self._get(user, DOCUMENTS, {"limit": 200, **({"cursor": cursor} if cursor else {})})
            rows += page["documents"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return [
            Found(
                DocumentKey(user, row["uri"]), row["document_id"], row["title"], row["content_hash"], row["chunk_count"]
            )
            for row in rows
        ]

    async def _read_back(self, document: Found) -> list[str]:
        """Checks that a document's chunks are complete and that search finds the current version by its marker."""
        version = self.load.books.version_of(document)
        if version is None:
            return []
        name = f"{document.key.user}: {document.key.uri}"
        user, violations = document.key.user, []
        chunks = await self._get(user, f"{DOCUMENTS}/{document.document_id}/chunks", {"limit": 500})
        marker = ledger.marker(document.key, version)
        if chunks["total"] != document.chunk_count or marker not in " ".join(
            each["content"] for each in chunks["chunks"]
        ):
            violations.append(f"{name} has {chunks['total']} of {document.chunk_count} chunks, or foreign ones")
        body = {"query": marker, "mode": "lexical", "limit": 50}
        answer = await self._answered(lambda: self.load.request(user, "POST", SEARCH, json=body))
        if document.document_id not in {hit["document_id"] for hit in answer["results"] if marker in hit["content"]}:
            violations.append(f"{name} is not found by its text")
        if version > 1:
            old = {**body, "query": ledger.marker(document.key, version - 1)}
            answer = await self._answered(lambda: self.load.request(user, "POST", SEARCH, json=old))
            if any(ledger.marker(document.key, version - 1) in hit["content"] for hit in answer["results"]):
                violations.append(f"{name} is found by the text of a replaced version")
        return violations

    async def _get(self, user: str, path: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._answered(lambda: self.load.request(user, "GET", path, params=params))

    async def _answered(self, send: Callable[[], Any]) -> dict[str, Any]:
        """Sends a request until it is answered 200; the check's time limit ends the attempts.

        Raises HTTPStatusError for a request that the service refuses.
        """
        while True:
            with suppress(httpx.TransportError):
                response = await send()
                if response.status_code == 200:
                    return dict(response.json())
                if response.is_client_error:
                    response.raise_for_status()
            await asyncio.sleep(0.2)

    def _outcome(self) -> Outcome:
        memory = self.samples.longest_lived()
        violations = list(self.load.seen.violations)
        if memory is not None and not memory.is_flat:
            violations.append(f"memory grew from {memory.first_mb:.0f} to {memory.last_mb:.0f} MB")
        return Outcome(
            minutes=round((time.monotonic() - self.start) / 60, 2),
            requests=dict(self.load.sent),
            statuses=dict(sorted(self.load.seen.statuses.items())),
            overloaded_undisturbed=self.load.seen.overloaded_undisturbed,
            lost_connections=self.load.seen.lost_connections,
            disruptions=self.disrupted,
            restarts=self.runner.restarts,
            slowest_stop_s=round(self.runner.slowest_stop_s, 1),
            acknowledged_writes=self.load.books.acknowledged,
            checks=self.checks,
            documents_checked=self.documents_checked,
            max_lag_s=self.samples.max_lag_s,
            cpu_share=round(sum(self.samples.cpu.values()) / (time.monotonic() - self.start), 2),
            memory=memory,
            violations=violations,
        )


async def run(data_dir: Path, *, minutes: float, rate: float, seed: int, report: Report) -> Outcome:
    """Runs a soak test on an empty data dir. Raises EmbeddedServerError if the service does not start."""
    runner = await Runner.started(Launch(data_dir, {"AUTH": "api_key"}))
    try:
        keys = await asyncio.gather(
            *(_key(runner.launch, user, "search", "write") for user in USERS), _key(runner.launch, "admin", "admin")
        )
        load = Load(runner.service.port, dict(zip(USERS, keys, strict=False)), Random(seed))
        return await Soak(runner, load, keys[-1], minutes, report).run(rate)
    finally:
        await runner.service.stop()


async def _key(launch: Launch, user: str, *scopes: str) -> str:
    options = [word for scope in scopes for word in ("--scope", scope)]
    status, out = await launch.run("keys", "create", user, "--json", *options)
    if status != 0:
        raise errors.EmbeddedServerError("No API key could be created.")
    return str(json.loads(out)["key"])
