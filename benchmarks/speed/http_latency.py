"""Measures the latency of HTTP requests and the memory of a `stepwell serve` in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.pipelines.maintenance import keys
from app.pipelines.running.services import Services
from benchmarks.service import Launch, serving
from benchmarks.speed.corpus import USER, BenchmarkQuestion
from benchmarks.speed.timings import Timing

WARM_UPS = 10


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """Latencies of `POST /api/rag/search` and `…/multihop`, embedding included, and the process's memory (RSS)."""

    request: Timing
    multihop: Timing
    memory_mb: float


async def measure(questions: Sequence[BenchmarkQuestion], *, services: Services, data_dir: Path) -> ServiceFigures:
    """Asks every question once by each endpoint. Raises EmbeddedServerError if the service does not start.

    The multi-hop question has its words in another order, so that its vector is not cached.
    """
    grant = keys.Grant(("search",), name="bench")
    key = await keys.create(USER, grant, db=services.owner or services.db, actor="bench")
    async with serving(Launch(data_dir, {"AUTH": "api_key"})) as service:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=service.address, headers=headers, trust_env=False) as client:
            single, several = [], []
            for question in questions:
                single.append(await _request(client, "/api/rag/search", [question.name, *question.words]))
                several.append(await _request(client, "/api/rag/search/multihop", [*question.words, question.name]))
        memory = service.memory_mb()
    request, multihop = (Timing.of(times[WARM_UPS:] or times) for times in (single, several))
    return ServiceFigures(request, multihop, round(memory, 1))


async def _request(client: httpx.AsyncClient, path: str, words: Sequence[str]) -> float:
    start = time.perf_counter()
    (await client.post(path, json={"query": " ".join(words)})).raise_for_status()
    return (time.perf_counter() - start) * 1000
