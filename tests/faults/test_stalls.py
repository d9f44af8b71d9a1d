"""Requests with much CPU-bound work do not stop the event loop, which other requests need.

The service runs as a process of its own, with the real model; stalls depend on the machine and are printed, not judged.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from tests.faults import running_service

SIZE = 4 if running_service.FULL else 1


@dataclass(frozen=True, slots=True)
class Attack:
    """One request that costs much."""

    name: str
    path: str
    content: bytes
    content_type: str = "application/json"


def _json(name: str, path: str, body: Any) -> Attack:
    return Attack(name, f"/api/rag/{path}", json.dumps(body).encode())


def attacks() -> Iterator[Attack]:
    words = " ".join(f"word{number % 3_000}" for number in range(1_000 * SIZE))
    hits = [{"chunk_id": str(index), "content": words[index % 100 :]} for index in range(200)]
    yield _json("diversify 200 hits", "rerank", {"lists": [{"name": "a", "hits": hits}], "mmr": True, "limit": 200})
    lines = (
        {"type": "team", "name": f"Team {number}", "members": [f"Team {number + 1}"]} for number in range(2_000 * SIZE)
    )
    bulk = "\n".join(map(json.dumps, lines)).encode()
    yield Attack("refuse a chain of entities", "/api/rag/entities/bulk", bulk, "application/x-ndjson")
    lines = ({"type": "team", "name": f"Crew {number}", "aliases": [f"C{number}"]} for number in range(2_000 * SIZE))
    bulk = "\n".join(map(json.dumps, lines)).encode()
    yield Attack("store entities", "/api/rag/entities/bulk", bulk, "application/x-ndjson")
    facts = [{"type": "team", "name": f"F {number}", "facts": ["word " * 150] * 20} for number in range(50 * SIZE)]
    yield _json("store facts", "entities", facts)
    yield _json("refuse 500 blank documents", "documents", [{"content": "\u200b" * 500} for _ in range(500)])
    yield _json("refuse a blank document", "documents", {"content": "\u200b" * 500_000 * SIZE})
    yield _json("store 500 documents", "documents", [{"content": "a", "metadata": {"a": [{}] * 190}}] * 500)
    yield _json("search a long query", "search", {"query": "a " * 999, "explain": True})
    yield _json("search long words", "search", {"query": "".join(f"Ab{number} of " for number in range(220))})


async def _lags(client: httpx.AsyncClient) -> tuple[int, int, float]:
    """How often the loop's lag was measured, how often it was over 100 ms, and the longest in seconds."""
    lines = (await client.get("/metrics")).text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if line.startswith("stepwell_event_loop_lag_"))
    name = "stepwell_event_loop_lag_seconds"
    count = int(float(values[f"{name}_count"]))
    within = int(float(values[f'{name}_bucket{{le="0.1"}}']))
    return count, count - within, float(values["stepwell_event_loop_lag_max_seconds"])


async def test_costly_requests_do_not_stop_the_event_loop(address: Any) -> None:
    async with running_service.process(DATABASE_URL=address.service_dsn, STEPWELL_METRICS="open") as (started, client):
        await running_service.answers(started, client)
        await client.post(running_service.SEARCH, json={"query": "warm"})
        for attack in attacks():
            before = await _lags(client)
            began = time.perf_counter()
            headers = {"Content-Type": attack.content_type}
            answer = await client.post(attack.path, content=attack.content, headers=headers)
            took = time.perf_counter() - began
            after = await _lags(client)
            stalls = after[1] - before[1]
            print(f"\n{attack.name}: {answer.status_code} in {took:.2f} s, {stalls} stalls over 100 ms", end="")
            assert answer.status_code in (200, 201, 400, 413, 422), answer.text[:300]
        print(f"\nlongest stall: {after[2]:.3f} s")
        assert after[0] > before[0]
