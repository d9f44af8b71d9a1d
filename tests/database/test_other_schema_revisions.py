"""A process of another version than the database's goes on reading, and writes and claims nothing."""

import asyncio

import harness
import pytest
import sqlalchemy as sa
from example_app import assert_problem

from app import __version__, errors
from app.database import transactions
from app.database.schema import migration
from app.documents.storing import ingest
from app.documents.types import Upload
from app.settings import Settings


@pytest.fixture
async def process(new_database, template):
    """A process of this version, and its owner's address."""
    address = await new_database(template)
    limits = transactions.TimeLimits(lock_ms=200)
    revision = migration.head()
    async with transactions.connect(address.service_dsn, pool_size=2, limits=limits, revision=revision) as database:
        yield database, address


async def set_revision(address, revision):
    await address.fetch("UPDATE stepwell.alembic_version SET version_num = $1", revision)


async def test_after_a_migration_searches_go_on_and_writes_and_claims_are_refused(process, embedder):
    database, address = process
    tenant = harness.Tenant(database, embedder)
    await tenant.add("Copper lanterns hang in the harbour.", uri="a.md")
    await set_revision(address, "0099")
    assert harness.uris(await tenant.ask("copper")) == ["a.md"]
    with pytest.raises(errors.SchemaMismatch, match=r"revision 0099 .*: nothing is written"):
        await tenant.add("Granite.", uri="b.md")
    with pytest.raises(errors.SchemaMismatch):
        async with database.preparing(tenant.user_id):
            pass
    with pytest.raises(errors.SchemaMismatch):
        async with database.claiming():
            pass
    assert await tenant.uris() == ["a.md"]


async def test_a_write_of_another_version_is_a_503_that_says_why(process, embedder):
    database, address = process
    services = await harness.services(database, embedder)
    async with harness.calling(Settings(), services) as client:
        await set_revision(address, "0099")
        refused = await client.post("/api/rag/documents", json={"content": "Granite."})
        assert (refused.status_code, refused.json()["code"]) == (503, "schema_mismatch")
        assert "revision 0099" in refused.json()["detail"]
        unready = assert_problem(await client.get("/readyz"), 503, "schema_mismatch")
    for said in ("to revision 0099", f"({__version__}, revision {migration.head()})", "install the newer version"):
        assert said in unready["detail"]


async def migrate(address, embedder, *, waits_for_lock=None):
    """Bring the database from an earlier revision to this one by a migration that changes only that."""

    def step(connection):
        def change(_config):
            connection.execute(
                sa.text("UPDATE stepwell.alembic_version SET version_num = :to"), {"to": migration.head()}
            )
            if waits_for_lock is not None:
                connection.execute(sa.text("SET LOCAL lock_timeout = 0"))
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": waits_for_lock})

        return migration.upgrade_by(connection, change, model=embedder.model.name, dimension=embedder.model.dimension)

    return await migration.on_connection(address.owner_dsn, step)


async def until_waiting(address, migrating):
    """Return when something waits for a lock."""
    while not (await address.fetch(harness.WAITING))[0]["count"]:
        assert not migrating.done()


async def test_a_migration_waits_for_a_write_that_has_begun(process, embedder):
    _, address = process
    before = sorted(migration._known())[-2]
    await set_revision(address, before)
    async with transactions.connect(address.service_dsn, pool_size=1, revision=before) as old:
        async with old.preparing("user"):
            migrating = asyncio.create_task(migrate(address, embedder))
            await until_waiting(address, migrating)
        assert await migrating == migration.head()
        with pytest.raises(errors.SchemaMismatch):
            async with old.preparing("user"):
                pass


async def test_a_migration_gives_up_while_a_write_does_not_end(process, embedder, monkeypatch):
    _, address = process
    monkeypatch.setattr(migration, "WRITES_END_S", 0.2)
    before = sorted(migration._known())[-2]
    await set_revision(address, before)
    async with transactions.connect(address.service_dsn, pool_size=1, revision=before) as old, old.preparing("user"):
        with pytest.raises(errors.Busy):
            await asyncio.wait_for(migrate(address, embedder), 30)


async def test_while_a_slow_migration_runs_searches_go_on_and_writes_are_unavailable(process, embedder):
    database, address = process
    tenant = harness.Tenant(database, embedder)
    await tenant.add("Copper lanterns hang in the harbour.", uri="a.md")
    await set_revision(address, sorted(migration._known())[-2])
    holder = await address.connect()
    await holder.execute("SELECT pg_advisory_lock(42)")
    migrating = asyncio.create_task(migrate(address, embedder, waits_for_lock=42))
    await until_waiting(address, migrating)
    assert harness.uris(await tenant.ask("copper")) == ["a.md"]
    granite = Upload("Granite.", uri="b.md")
    with pytest.raises(errors.DatabaseUnavailable):
        await ingest.store_one(granite, tenant.user_id, tenant.services(), options=ingest.IN_TOOL)
    await holder.close()
    assert await migrating == migration.head()
    await tenant.add("Granite.", uri="b.md")
    assert await tenant.uris() == ["b.md", "a.md"]
