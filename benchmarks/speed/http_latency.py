"""Measures the latency of HTTP requests and the memory of a `stepwell serve` in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.access import keys
from app.services import Services
from benchmarks.service import Launch, serving
from benchmarks.speed.corpus import USER, BenchmarkQuestion
from benchmarks.speed.timings import Timing

WARM_UPS = 10
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@dataclass(frozen=True, slots=True)
class ServiceFigures:
    """Latencies of `POST /api/rag/search`, `…/multihop` and of the tool `search_documents` over `/mcp`, and the memory.

    They include embedding; the memory is the process's (RSS).
    """

    request: Timing
    multihop: Timing
    tool: Timing
    memory_mb: float


async def measure(questions: Sequence[BenchmarkQuestion], *, services: Services, data_dir: Path) -> ServiceFigures:
    """Asks every question once by each endpoint. Raises EmbeddedServerError if the service does not start.

    The words of a question are in another order for each endpoint, so that its vector is not cached.
    """
    grant = keys.Grant(("search",), name="bench")
    key = await keys.create(USER, grant, db=services.owner or services.db, actor="bench")
    async with serving(Launch(data_dir, {"AUTH": "api_key"})) as service:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=service.address, headers=headers, trust_env=False) as client:
            single, several, tool = [], [], []
            for question in questions:
                words, backwards = list(question.words), list(reversed(question.words))
                single.append(await _request(client, "/api/rag/search", _query([question.name, *words])))
                several.append(await _request(client, "/api/rag/search/multihop", _query([*words, question.name])))
                tool.append(await _request(client, "/mcp", _call(_query([question.name, *backwards]))))
        memory = service.memory_mb()
    request, multihop, called = (Timing.of(times[WARM_UPS:] or times) for times in (single, several, tool))
    return ServiceFigures(request, multihop, called, round(memory, 1))


def _query(words: Sequence[str]) -> dict[str, Any]:
    return {"query": " ".join(words)}


def _call(arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": "search_documents", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def _request(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> float:
    start = time.perf_counter()
    response = (await client.post(path, json=body, headers=MCP_HEADERS if path == "/mcp" else None)).raise_for_status()
    took = (time.perf_counter() - start) * 1000
    if path == "/mcp" and response.json()["result"].get("isError"):
        raise RuntimeError(f"the tool failed: {response.text[:300]}")
    return took
