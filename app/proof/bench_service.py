"""How fast does a whole request come back, and how much memory does the process take?

Asked of a real `stepwell serve` in a process of its own, with a key of the benchmark's user.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx
import psutil

from app import errors
from app.pipelines import keys
from app.pipelines.services import Services
from app.proof.bench_corpus import USER, Question
from app.proof.bench_timings import Timing

START_S = 60.0
PAUSE_S = 0.1
WARM_UPS = 10


@dataclass(frozen=True, slots=True)
class Whole:
    """`POST /api/rag/search` and the same over several hops, over a socket, the embedding included; and the process's
    memory in megabytes (RSS)."""

    request: Timing
    multihop: Timing
    memory_mb: float


async def measure(
    questions: Sequence[Question], *, services: Services, data_dir: Path, environment: Mapping[str, str]
) -> Whole:
    """Ask every question once in each mode, as text. Raises EmbeddedServerError where the service does not come up.

    Over several hops its words come in another order, so that no vector is remembered.
    """
    key = await keys.create(USER, db=services.owner or services.db, scopes=("search",), name="bench")
    async with _serving(data_dir, environment) as (address, process):
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=address, headers=headers, trust_env=False) as client:
            await _ready(client, process)
            took, over = [], []
            for question in questions:
                took.append(await _asked(client, "/api/rag/search", [question.name, *question.words]))
                over.append(await _asked(client, "/api/rag/search/multihop", [*question.words, question.name]))
        memory = psutil.Process(process.pid).memory_info().rss
    single, hops = (Timing.of(times[WARM_UPS:] or times) for times in (took, over))
    return Whole(single, hops, round(memory / 2**20, 1))


@asynccontextmanager
async def _serving(
    data_dir: Path, environment: Mapping[str, str]
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    port = _free_port()
    given = {name: value for name, value in environment.items() if not name.endswith(("DATABASE_URL", "MIGRATION_URL"))}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", "serve", "--port", str(port), "--data-dir", str(data_dir)),
        env={**given, "STEPWELL_AUTH": "api_key", "STEPWELL_LOG_LEVEL": "error"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _ready(client: httpx.AsyncClient, process: asyncio.subprocess.Process) -> None:
    deadline = time.monotonic() + START_S
    while process.returncode is None and time.monotonic() < deadline:
        try:
            if (await client.get("/readyz")).status_code == HTTPStatus.OK:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(PAUSE_S)
    raise errors.EmbeddedServerError("The service under measurement did not come up.")


async def _asked(client: httpx.AsyncClient, path: str, words: Sequence[str]) -> float:
    start = time.perf_counter()
    (await client.post(path, json={"query": " ".join(words)})).raise_for_status()
    return (time.perf_counter() - start) * 1000


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
