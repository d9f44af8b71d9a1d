"""Runs the same requests on an embedded single node and on a Citus cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import sqlalchemy as sa
from harness import COMPANY

from app import errors
from app.database import transactions
from app.database.embedded import postgres
from app.database.schema import migration
from app.database.transactions import Database
from app.evaluation import beir
from app.search.store import recall
from app.services import Budget, Services
from app.sources.types import SourceRoots
from benchmarks.fake_embedder import FakeEmbedder
from citus import pair, routing, story
from citus.pair import Pair, Tally
from citus.routing import Routed, Statements

PATIENT = Budget(60.0, 120.0, 60.0, 60.0)
FACTORS = ("EXACT_FLOOR", "EXACT_FACTOR", "EXACT_FACTOR_FILTERED")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is stored and asked for each user."""

    users: int
    documents: int
    questions: int
    shards: int | None


@dataclass(frozen=True, slots=True)
class Report:
    """The answers, and the statements that were run on the cluster."""

    tally: Tally
    routed: Routed
    statements: Statements
    shards: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Opened:
    """A database as the service's role and as its owner."""

    database: Database
    owner: Database


async def compare(plan: Plan, dsn: str, folder: Path) -> Report:
    """Compares an embedded server in `folder` with the cluster whose coordinator's owner has the address `dsn`.

    The cluster's schema is replaced.
    """
    model = FakeEmbedder().model
    async with postgres.EmbeddedPostgres(folder / "data") as server:
        await migration.upgrade(server.owner_dsn, model=model.name, dimension=model.dimension)
        await _replace(dsn)
        await migration.upgrade(dsn, model=model.name, dimension=model.dimension)
        found, unmarked = await migration.distribute(dsn, shards=plan.shards)
        if unmarked:
            raise errors.SchemaMismatch("; ".join(unmarked))
        service_dsn = sa.make_url(dsn).set(username=postgres.SERVICE_ROLE).render_as_string(hide_password=False)
        async with (
            _connected(server.service_dsn, server.owner_dsn) as single,
            _connected(service_dsn, dsn) as cluster,
        ):
            with routing.recorded(cluster.database) as statements:
                tally = await _run(plan, single, cluster, folder)
            counted = await routing.routed(cluster.database, "user-0", statements)
            return Report(tally, counted, statements, found.shards, found.nodes)


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
async def _connected(service_dsn: str, owner_dsn: str) -> AsyncIterator[Opened]:
    limits = transactions.TimeLimits(read_ms=60_000, lock_ms=30_000)
    database = transactions.connect(service_dsn, pool_size=4, pool_wait_s=60.0, limits=limits)
    owner = transactions.connect(owner_dsn, pool_size=1, pool_wait_s=60.0, limits=limits)
    try:
        yield Opened(database, owner)
    finally:
        await database.close()
        await owner.close()


def _services(opened: Opened, folder: Path) -> Services:
    model = FakeEmbedder()
    return Services(
        opened.database,
        model,
        budget=PATIENT,
        expected_schema=(model.model.name, model.model.dimension),
    ).with_option(SourceRoots((folder,), per_user=True))


async def _run(plan: Plan, single: Opened, cluster: Opened, folder: Path) -> Tally:
    """Every user stores, reads, changes and reads again, exactly and through the HNSW graph."""
    tally, company = Tally(), beir.load(COMPANY)
    asked = [one.text for one in company.questions][:: max(1, len(company.questions) // plan.questions)]
    users = [f"user-{number}" for number in range(plan.users)]
    folders = folder / "sources"
    async with (
        pair.opened(_services(single, folders), single.owner, users) as first,
        pair.opened(_services(cluster, folders), cluster.owner, users) as second,
    ):
        for number, user in enumerate(users):
            own = company.documents[number * plan.documents :][: plan.documents]
            both = Pair(first[user], second[user], tally)
            await story.write(both, own, company.entities)
            await story.settle(both)
            await story.read(both, asked[: plan.questions])
            await story.change(both)
            await story.settle(both)
            with _through_the_graph():
                await story.read(both, asked[: plan.questions])
            await story.synchronise(both, folders / user)
    return tally


@contextmanager
def _through_the_graph() -> Iterator[None]:
    """Never scans vectors exactly."""
    before = {name: getattr(recall, name) for name in FACTORS}
    try:
        for name in FACTORS:
            setattr(recall, name, type(before[name])(0))
        yield
    finally:
        for name, value in before.items():
            setattr(recall, name, value)
