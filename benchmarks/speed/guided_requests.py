"""Measures what entities add to the time of HTTP requests to a `stepwell serve`, embedding included."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.pipelines.maintenance import keys
from app.pipelines.running.services import Services
from benchmarks.service import Launch, serving
from benchmarks.speed.corpus import USER
from benchmarks.speed.timings import WARM_UPS, Timing

WITHOUT_ENTITIES = {"hierarchy": "off", "boost": False}


@dataclass(frozen=True, slots=True)
class Wordings:
    """One question in two orders of words, so that neither request finds its vector in the cache."""

    first: str
    second: str


async def measure(
    asked: Mapping[str, Sequence[Wordings]], *, services: Services, data_dir: Path
) -> dict[str, tuple[Timing, Timing]]:
    """Asks every question without entities and with them; returns both latencies by kind of question.

    The wordings and the order of both requests change from question to question. Raises EmbeddedServerError if the
    service does not start.
    """
    grant = keys.Grant(("search",), name="bench")
    key = await keys.create(USER, grant, db=services.owner or services.db, actor="bench")
    async with serving(Launch(data_dir, {"AUTH": "api_key"})) as service:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=service.address, headers=headers, trust_env=False) as client:
            return {kind: await _measured(client, questions) for kind, questions in asked.items()}


async def _measured(client: httpx.AsyncClient, questions: Sequence[Wordings]) -> tuple[Timing, Timing]:
    flat, guided = [], []
    for place, question in enumerate(questions):
        if place % 2:
            flat.append(await _request(client, {"query": question.first, **WITHOUT_ENTITIES}))
            guided.append(await _request(client, {"query": question.second}))
        else:
            guided.append(await _request(client, {"query": question.first}))
            flat.append(await _request(client, {"query": question.second, **WITHOUT_ENTITIES}))
    return Timing.of(flat[WARM_UPS:]), Timing.of(guided[WARM_UPS:])


async def _request(client: httpx.AsyncClient, body: Mapping[str, object]) -> float:
    start = time.perf_counter()
    (await client.post("/api/rag/search", json=body)).raise_for_status()
    return (time.perf_counter() - start) * 1000
