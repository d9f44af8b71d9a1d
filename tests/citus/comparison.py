"""Runs the same requests on an embedded single node and on a Citus cluster."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import harness
import httpx
import pytest
import sqlalchemy as sa
from harness import COMPANY

from app import capability
from app.database import transactions
from app.database.embedded import postgres
from app.database.schema import migration
from app.database.transactions import Database
from app.evaluation import beir
from app.search.store import hybrid_search
from app.services import Budget, Services
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder
from citus import routing, story
from citus.pair import Pair
from citus.routing import Routed

USER, DOCUMENTS = "user-0", 40
PATIENT = Budget(60.0, 120.0, 60.0, 60.0)
LIMITS = transactions.TimeLimits(read_ms=60_000, lock_ms=30_000)
FACTORS = {"EXACT_FLOOR": 0, "EXACT_FACTOR": 0.0, "EXACT_FACTOR_FILTERED": 0.0}


@dataclass(frozen=True, slots=True)
class Report:
    """The number of answers, those that differ, and the statements that were run on the cluster."""

    asked: int
    different: list[str]
    routed: Routed


async def compare(dsn: str, folder: Path, *, shards: int) -> Report:
    """Compares an embedded server in `folder` with the cluster whose coordinator's owner has the address `dsn`.

    The cluster's schema is replaced.
    """
    model = FakeEmbedder().model
    async with postgres.EmbeddedPostgres(folder / "data") as server:
        await migration.upgrade(server.owner_dsn, model=model.name, dimension=model.dimension)
        await _replace(dsn)
        await migration.upgrade(dsn, model=model.name, dimension=model.dimension)
        _, unmarked = await migration.distribute(dsn, shards=shards)
        assert unmarked == []
        service_dsn = sa.make_url(dsn).set(username=postgres.SERVICE_ROLE).render_as_string(hide_password=False)
        async with (
            transactions.connect(server.service_dsn, pool_size=4, pool_wait_s=60.0, limits=LIMITS) as single,
            transactions.connect(service_dsn, pool_size=4, pool_wait_s=60.0, limits=LIMITS) as cluster,
        ):
            with routing.recorded(cluster) as statements:
                async with _client(single, server.owner_dsn, folder) as first, _client(cluster, dsn, folder) as second:
                    both = Pair(first, second)
                    await _run(both, folder / "sources" / USER)
            return Report(both.asked, both.different, await routing.routed(cluster, USER, statements))


async def _replace(dsn: str) -> None:
    """Drops the schema, and lets the planner know that the catalogue is small again."""
    owner = await asyncpg.connect(dsn)
    try:
        await owner.execute("DROP SCHEMA IF EXISTS stepwell CASCADE")
        for table in ("pg_class", "pg_attribute", "pg_type", "pg_depend"):
            await owner.execute(f"VACUUM (ANALYZE) pg_catalog.{table}")
    finally:
        await owner.close()


@asynccontextmanager
async def _client(database: Database, owner_dsn: str, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the service on a database, with a key of the user."""
    model = FakeEmbedder()
    identity = model.model.name, model.model.dimension
    services = Services(database, model, budget=PATIENT, expected_schema=identity)
    async with transactions.connect(owner_dsn, pool_size=1, pool_wait_s=60.0, limits=LIMITS) as owner:
        key = await harness.create_key_as(owner, USER)
    async with AsyncExitStack() as stack:
        settings = Settings(auth="api_key", log_level="error", source_roots=(str(folder / "sources"),))
        app = await stack.enter_async_context(harness.running(settings, services))
        yield await stack.enter_async_context(harness.client(app, Authorization=f"Bearer {key}"))


async def _run(both: Pair, notes: Path) -> None:
    """The user stores, reads, changes and reads again, exactly and through the HNSW graph."""
    company = beir.load(COMPANY)
    questions = [company.questions[0].text]
    await story.write(both, company.documents[:DOCUMENTS], company.entities)
    await story.settle(both)
    await story.read(both, questions)
    await story.change(both)
    await story.settle(both)
    with _through_the_graph():
        await story.read(both, questions)
    if "sources" in capability.exports():
        await story.synchronise(both, notes)


@contextmanager
def _through_the_graph() -> Iterator[None]:
    """Never scans vectors exactly."""
    with pytest.MonkeyPatch.context() as patch:
        for name, factor in FACTORS.items():
            patch.setattr(hybrid_search, name, factor)
        yield
