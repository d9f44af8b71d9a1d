"""Measures in a process of its own what an answer costs besides the model; another checkout runs it too.

The application answers in this process, without a socket, and the vector of every query is given. This file imports
nothing of its package. It reads its order from the JSON file that its argument names and prints its figures as JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psutil
import uvicorn

from app import config, runtime
from app.main import create_app
from app.pipelines.maintenance import keys
from app.pipelines.running import model_switch

SEARCH = "/api/rag/search"
WARM_UPS = 30


class FixedEmbedder:
    """An embedder that takes no time: each text has one of the given vectors."""

    def __init__(self, inner: Any, vectors: list[list[float]]) -> None:
        self.model = inner.model
        self._vectors = vectors

    async def embed_query(self, text: str) -> list[float]:
        """Returns the vector of a query."""
        return self._vectors[sum(text.encode()) % len(self._vectors)]

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Returns the vectors of texts."""
        return [await self.embed_query(text) for text in texts]


class Client:
    """Sends requests to an application as a server does, one at a time."""

    def __init__(self, app: Any, key: str) -> None:
        self._app = app
        self._headers = [
            (b"host", b"localhost"),
            (b"x-api-key", key.encode()),
            (b"content-type", b"application/json"),
        ]

    async def post(self, path: str, body: bytes) -> int:
        """Sends one request; returns the status of the response once it is complete."""
        status, complete, received = 0, asyncio.Event(), False

        async def receive() -> dict[str, Any]:
            nonlocal received
            if not received:
                received = True
                return {"type": "http.request", "body": body, "more_body": False}
            await complete.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                complete.set()

        headers = [*self._headers, (b"content-length", str(len(body)).encode())]
        await self._app(_scope(path, headers), receive, send)
        return status


def _scope(path: str, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50_000),
        "scheme": "http",
        "method": "POST",
        "root_path": "",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "state": {},
    }


def _postgres_s(data_dir: Path) -> float:
    """The CPU time of the processes of Postgres so far."""
    (file,) = data_dir.rglob("postmaster.pid")
    server = psutil.Process(int(file.read_text().split()[0]))
    return sum(_nanoseconds(one.pid) for one in [server, *server.children(recursive=True)]) / 1e9


def _nanoseconds(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])


async def measured(client: Client, bodies: Sequence[bytes], data_dir: Path) -> dict[str, float]:
    """Returns milliseconds of CPU time per answer of the event loop and of Postgres."""
    for body in bodies[:WARM_UPS]:
        await _answered(client, body)
    gc.collect()
    postgres, loop = _postgres_s(data_dir), time.thread_time()
    for body in bodies[WARM_UPS:]:
        await _answered(client, body)
    loop, postgres = time.thread_time() - loop, _postgres_s(data_dir) - postgres
    answers = len(bodies) - WARM_UPS
    return {"loop": 1000 * loop / answers, "postgres": 1000 * postgres / answers}


async def _answered(client: Client, body: bytes) -> None:
    status = await client.post(SEARCH, body)
    if status != 200:
        raise RuntimeError(f"status {status}")


async def run(order: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Returns the figures of each kind of request."""
    data_dir = Path(order["data_dir"])
    settings = config.load(data_dir=data_dir, auth="api_key", log_level="error")
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(runtime.open_services(settings))
        switch = model_switch.of(services.embedder)
        assert switch is not None
        fixed = FixedEmbedder(switch.active.embedder, order["vectors"])
        switch._active = dataclasses.replace(switch.active, embedder=fixed)
        key = await keys.create(
            order["user"], keys.Grant(("search",), name="answers"), db=services.owner or services.db, actor="answers"
        )
        app = create_app(settings, opened=(services, AsyncExitStack()))
        await stack.enter_async_context(app.router.lifespan_context(app))
        gc.collect()
        gc.freeze()
        client = Client(app, key)
        return {
            name: await measured(client, [body.encode() for body in bodies], data_dir)
            for name, bodies in order["bodies"].items()
        }


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    loop = uvicorn.Config("", loop="auto", log_config=None).get_loop_factory()
    with asyncio.Runner(loop_factory=loop) as runner:
        sys.stdout.write(json.dumps(runner.run(run(given))) + "\n")
