"""The embedding model is replaced beside a running service without a failed search, although the command is killed.

`make faults` does the same with a service in a process of its own and 20,000 chunks (STEPWELL_CHUNKS), kills Postgres
too.
"""

import asyncio
import dataclasses
import faulthandler
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import fake_provider
import harness
import httpx
import pytest
import running_service
import server_folders
from harness import Tenant
from running_service import DOCUMENTS, FULL, SEARCH
from typer.testing import CliRunner

from app import runtime
from app.__main__ import app as cli
from app.database import transactions
from app.database.embedded import postgres
from app.database.schema import migration
from app.documents.types import Upload
from app.enums import Vector
from app.maintenance.commands import reembed
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

CHUNKS = int(os.environ.get("STEPWELL_CHUNKS", "20000")) if FULL else 300
RATE = 10.0
WORDS = ("lime", "mortar", "slate", "oak", "copper", "chalk", "granite", "reed", "clay", "iron")


class Following(FakeEmbedder):
    """The next model; in the short form it waits after the first page, so that the kill comes before the end."""

    def __init__(self) -> None:
        super().__init__(dimension=96, name="following")
        self.released = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if not FULL and len(self.documents) >= reembed.CHUNKS:
            await self.released.wait()
        return await super().embed_documents(texts)


OLD, NEXT = FakeEmbedder(dimension=64, name="present"), Following()


@dataclass(slots=True)
class Observed:
    """What searches and writes returned while the model was replaced."""

    searches: int = 0
    failures: list[str] = field(default_factory=list)
    is_restarting: bool = False


def text(number: int) -> str:
    """The text of a chunk: its words differ from those of others, so that its vector does too."""
    digits = [WORDS[int(digit)] for digit in f"{number:05d}"]
    return f"Stone{number} " + " ".join(f"{word}{place}" for place, word in enumerate(digits))


@pytest.fixture
async def address(new_database: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    """A database of the present model, for one test; in the long form on a server of its own, made to die."""
    async with AsyncExitStack() as stack:
        created = await new_database()
        if FULL:
            folder = stack.enter_context(server_folders.temporary())
            server = await stack.enter_async_context(postgres.EmbeddedPostgres(folder / "data"))
            created = dataclasses.replace(created, server=server, name=postgres.DATABASE)
        await migration.upgrade(created.owner_dsn, model="present", dimension=64)
        yield created


def _embedder(url: str, embedder: FakeEmbedder) -> dict[str, str]:
    chosen = {"": "openai", "_URL": f"{url}/v1", "_MODEL": embedder.model.name, "_DIM": str(embedder.model.dimension)}
    return {f"STEPWELL_EMBEDDER{part}": value for part, value in chosen.items()}


async def _store(address: Any) -> None:
    async with transactions.connect(address.service_dsn, pool_size=2) as database:
        tenant = Tenant(database, embedder=OLD, user_id="local")
        await tenant.many([Upload(text(n), uri=f"stone-{n}", title="Stones") for n in range(CHUNKS)])


async def _search(client: httpx.AsyncClient, stopped: asyncio.Event, seen: Observed) -> None:
    """Search at RATE for the texts of chunks: if both vectors are of one model, they are equal."""
    number = 0
    while not stopped.is_set():
        began = time.monotonic()
        number = (number + 7_919) % CHUNKS
        sent = {"query": f"Stones\n{text(number)}", "mode": "semantic", "limit": 1}
        response = await client.post(SEARCH, json=sent)
        if response.status_code == 503 and seen.is_restarting:
            continue
        seen.searches += 1
        body = response.json()
        score = body["results"][0]["vector_score"] if response.status_code == 200 and body["results"] else 0.0
        if body.get("degraded") or not score > 0.999:
            seen.failures.append(f"{response.status_code} {score} {sent} {body}")
        await asyncio.sleep(max(0.0, 1 / RATE - (time.monotonic() - began)))


async def _write(client: httpx.AsyncClient, stopped: asyncio.Event, seen: Observed) -> None:
    number = 0
    while not stopped.is_set():
        sent = {"content": f"A note about {text(90_000 + number)}", "uri": f"note-{number % 5}"}
        response = await client.post(DOCUMENTS, json=sent)
        # A write that waits for the switch for too long may be told to come again.
        if response.status_code not in (200, 201, 503):
            seen.failures.append(f"write: {response.status_code} {response.text}")
        number += 1
        await asyncio.sleep(0.2)


async def _command(env: dict[str, str]) -> asyncio.subprocess.Process:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEPWELL_")}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app", "reembed", "--json", cwd=running_service.ROOT, stdout=pipe, stderr=pipe,
        env={**inherited, **env},
    )  # fmt: skip


async def _filled(owner: asyncpg.Connection) -> int:
    exists = await owner.fetchval("SELECT to_regclass('stepwell.embeddings_next') IS NOT NULL")
    return int(await owner.fetchval("SELECT count(*) FROM stepwell.embeddings_next")) if exists else 0


async def _killed_at(count: int, env: dict[str, str], address: Any, seen: Observed, *, postgres: bool) -> None:
    """Run the command, and kill it or Postgres once that many vectors are stored."""
    owner = await address.connect()
    command = await _command(env)
    while await _filled(owner) < count:
        assert command.returncode is None, (await command.communicate())[1].decode()
        await asyncio.sleep(0.01)
    if postgres:
        seen.is_restarting = True
        server_folders.kill(address.server)
        printed, _ = await asyncio.wait_for(command.communicate(), RESTART_S)
        assert "error" in json.loads(printed), "the command ends with an error"
        await address.server.ensure_running()
    else:
        command.kill()
        await command.wait()
        NEXT.released.set()
    await owner.close()


RESTART_S = 120.0


@asynccontextmanager
async def _service(env: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    if FULL:
        async with running_service.process(**env, STEPWELL_WORKER="false") as (process, client):
            await running_service.answers(process, client)
            yield client
        return
    settings = Settings(worker=False, **{name.removeprefix("STEPWELL_").lower(): value for name, value in env.items()})
    async with (
        runtime.open_services(settings) as services,
        harness.running(settings, services) as app,
        running_service.listening(app) as client,
    ):
        yield client


async def test_the_model_is_replaced_under_searches_and_writes_though_the_command_is_killed(address: Any) -> None:
    if FULL:
        faulthandler.cancel_dump_traceback_later()  # it takes longer than other tests may
    await _store(address)
    seen, stopped = Observed(), asyncio.Event()
    async with fake_provider.serve() as present, fake_provider.serve() as following:
        present.embedder, following.embedder = OLD, NEXT
        env = {"DATABASE_URL": address.service_dsn, **_embedder(present.url, OLD)}
        parts = {"url": f"{following.url}/v1", "model": NEXT.model.name, "dim": NEXT.model.dimension}
        env["STEPWELL_NEXT_EMBEDDER"] = json.dumps({"embedder": "openai", **parts})
        owning = {**env, "STEPWELL_MIGRATION_URL": address.owner_dsn}
        async with _service(env) as client:
            clients = [asyncio.create_task(run(client, stopped, seen)) for run in (_search, _write)]
            for kill in (1, 2) if FULL else (1,):
                await _killed_at(kill * CHUNKS // 3, owning, address, seen, postgres=FULL and kill == 2)
            answered = seen.searches
            await running_service.until(lambda: seen.searches > answered)
            seen.is_restarting = False
            ran = await asyncio.to_thread(CliRunner().invoke, cli, ["reembed", "--json"], env=owning)
            assert ran.exit_code == 0, (ran.output, ran.exception)
            assert json.loads(ran.stdout) == {"model": "following", "dimension": 96}
            searched, embedded = seen.searches, len(following.requests)
            await running_service.until(lambda: seen.searches > searched + 5 and len(following.requests) > embedded)
            stopped.set()
            await asyncio.gather(*clients)
            assert seen.failures == []
            stats = (await client.get("/api/rag/stats")).json()
            assert (stats["embedding_model"], stats["embedding_dimension"]) == ("following", 96)
            assert stats["vectors"] == stats["chunks"] >= CHUNKS
            assert (await client.get("/readyz")).status_code == 200
