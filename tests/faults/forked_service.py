"""Runs the service with the fake embedder in a process that another one, which has imported it, forks in a moment.

It can be killed often: a new process takes a third of a second instead of three.
"""

import asyncio
import multiprocessing
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import harness
import httpx
import pytest
import uvicorn
from raw_connections import reserved_port
from running_service import PATIENCE_S

from app import capability_registry
from app.database import transactions
from app.documents.storing import large_documents
from app.jobs import workers
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["forked_service", "preloaded_app"])
LARGE = 2_000
"""Characters from which a job of the service stores a document."""


def serve(dsn: str, port: int, roots: tuple[Path, ...]) -> None:
    """Serves a database until the process is killed; jobs have small slices, and store their progress often."""
    capability_registry.register()
    large_documents.LARGE = LARGE
    large_documents.CHUNKS = 3
    workers.IDLE_S = 0.02
    asyncio.run(_serve(dsn, port, roots))


async def _serve(dsn: str, port: int, roots: tuple[Path, ...]) -> None:
    database = transactions.connect(dsn, pool_size=6, pool_wait_s=30)
    services = await harness.services(database, FakeEmbedder())
    settings = Settings(auth="none", log_level="error", source_roots=tuple(map(str, roots)))
    async with harness.running(settings, services) as app:
        await uvicorn.Server(uvicorn.Config(app, port=port, lifespan="off", log_config=None, access_log=False)).serve()


@dataclass(slots=True)
class ForkedService:
    """A service that can be killed and started again, and a client of it."""

    dsn: str
    roots: tuple[Path, ...]
    client: httpx.AsyncClient
    port: int
    serve: Callable[[str, int, tuple[Path, ...]], None]
    _process: ForkServerProcess | None = field(default=None, init=False)

    async def start(self) -> None:
        """Start a process; returns once it answers. The first one imports the service before."""
        self._process = _FORKING.Process(target=self.serve, args=(self.dsn, self.port, self.roots), daemon=True)
        with pytest.MonkeyPatch.context() as patch:  # Python 3.11 imports nothing from the path of this process
            patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
            await asyncio.to_thread(self._process.start)
        while not await self._answers():  # noqa: ASYNC110 - another process cannot set an event
            await asyncio.sleep(0.01)

    async def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.is_alive(), "the service did not start"
        try:
            return (await self.client.get("/healthz")).status_code == 200
        except httpx.TransportError:
            return False

    async def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        await asyncio.to_thread(self._process.join)


@asynccontextmanager
async def forked_service(
    dsn: str, *roots: Path, serve: Callable[[str, int, tuple[Path, ...]], None] = serve
) -> AsyncIterator[ForkedService]:
    """Runs a service on a database; sources may be added from these folders."""
    with reserved_port() as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client:
            service = ForkedService(dsn, roots, client, port, serve)
            await service.start()
            try:
                yield service
            finally:
                await service.kill()
