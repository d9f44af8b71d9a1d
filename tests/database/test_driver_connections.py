"""Connections run text on the driver and other statements through SQLAlchemy, and are pooled, shared and closed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import asyncpg
import harness
import pytest
import sqlalchemy as sa

from app import errors, logging_setup
from app.database import pools, sqlalchemy_engines, transactions
from app.database.schema import migration, tables

TENANTS = tables.tenants.c.user_id
ADD = sa.text("INSERT INTO stepwell.tenants (user_id) VALUES (CAST(:user_id AS text)) RETURNING user_id AS added")
PATIENCE_S = 10
OPEN = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'stepwell_service'"
BACKEND = sa.text("SELECT pg_backend_pid()")


@pytest.fixture
async def alone(address: Any) -> AsyncIterator[transactions.Database]:
    """A pool of one connection."""
    limits = transactions.TimeLimits(read_ms=60_000)
    async with transactions.connect(address.service_dsn, pool_size=1, limits=limits) as database:
        yield database


async def test_text_and_other_statements_share_a_transaction_that_an_error_rolls_back(alone) -> None:
    with suppress(ZeroDivisionError):
        async with alone.writing("connections") as writing:
            row = (await writing.execute(ADD, {"user_id": "connections"})).one()
            assert row.added == row[0] == "connections"
            assert (row._fields, dict(row._mapping)) == (("added",), {"added": "connections"})
            assert await writing.scalar(sa.select(TENANTS)) == "connections"
            raise ZeroDivisionError
    async with alone.reading("connections") as reading:
        assert (await reading.execute(sa.text("SELECT user_id FROM stepwell.tenants"))).all() == []
        assert await reading.scalar(sa.select(TENANTS)) is None
        assert await reading.scalar(sa.text("SELECT current_setting('transaction_isolation')")) == "repeatable read"
        assert list(await reading.scalars(sa.text("SELECT generate_series(1, 3)"))) == [1, 2, 3]
        two = await reading.execute(sa.text("SELECT generate_series(1, 2)"))
        with pytest.raises(ValueError, match="unpack"):
            two.one()


@pytest.mark.parametrize("through", ["driver", "sqlalchemy"])
async def test_the_log_of_a_defect_names_the_error_of_the_driver(alone, through: str) -> None:
    missing = sa.text("SELECT * FROM stepwell.missing") if through == "driver" else sa.select(sa.table("missing"))
    with pytest.raises((asyncpg.UndefinedTableError, sa.exc.ProgrammingError)) as raised:
        async with alone.reading("ana") as reading:
            await reading.execute(missing)
    assert any("UndefinedTableError" in line for line in logging_setup.describe(raised.value))
    assert raised.value.__cause__ is not raised.value


async def test_a_limit_of_the_server_on_temporary_files_is_unavailable_and_no_defect(alone) -> None:
    async def sort() -> None:
        async with harness.as_owner(alone) as owner, owner.shared() as shared:
            for name, value in (("temp_file_limit", "0"), ("work_mem", "64kB")):
                await shared.execute(sa.text(f"SET LOCAL {name} = '{value}'"))
            await shared.execute(sa.text("SELECT g FROM generate_series(1, 20000) AS g ORDER BY -g"))

    with pytest.raises(errors.DatabaseUnavailable, match=r"exceeds .?temp_file_limit.? .*ask for less"):
        await sort()


async def test_a_connection_is_pooled_after_an_error_of_a_statement_and_closed_after_its_cancellation(alone) -> None:
    async def backend() -> int:
        async with alone.reading("connections") as reading:
            return int(await reading.scalar(BACKEND))

    first = await backend()
    for broken in (sa.text("SELECT 1 / 0"), sa.select(sa.literal(1) / 0)):
        with pytest.raises(Exception, match="division by zero"):
            async with alone.reading("connections") as reading:
                await reading.execute(broken)
        assert await backend() == first
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_wait(alone))
        while not alone.in_use():  # noqa: ASYNC110 - until the statement runs
            await asyncio.sleep(0)
        waiting.cancel()
    assert await backend() != first


async def _wait(database: transactions.Database) -> None:
    async with database.reading("connections") as reading:
        await reading.execute(sa.text("SELECT pg_sleep(60)"))


async def test_the_connections_of_a_pool_forget_their_statements_once_one_has_met_another_schema(address, owner):
    statement = sa.text("SELECT * FROM stepwell.changing")
    await owner.execute("CREATE TABLE stepwell.changing (n integer); GRANT SELECT ON stepwell.changing TO PUBLIC")
    async with transactions.connect(address.service_dsn, pool_size=2) as database:
        async with database.reading("a") as one, database.reading("b") as two:
            await one.execute(statement)
            await two.execute(statement)
        await owner.execute("ALTER TABLE stepwell.changing ALTER n TYPE text")
        with pytest.raises(Exception, match="cached statement plan is invalid"):
            async with database.reading("a") as one:
                await one.execute(statement)
        async with database.reading("a") as one, database.reading("b") as two:
            assert (await one.execute(statement)).all() == (await two.execute(statement)).all() == []
    await owner.execute("DROP TABLE stepwell.changing")


@pytest.mark.parametrize(
    ("setting", "needed"),
    [
        ("transaction_isolation=serializable", "read committed"),
        ("standard_conforming_strings=off", "on"),
        ("row_security=off", "on"),
    ],
)
async def test_settings_of_the_role_that_change_what_statements_mean_do_not_apply(new_database, setting, needed):
    address, name = await new_database(), setting.partition("=")[0]
    default = setting.replace("transaction_", "default_transaction_")
    await address.fetch(f'ALTER DATABASE "{address.name}" SET {default}')
    async with transactions.connect(address.owner_dsn, pool_size=1) as database, database.shared() as shared:
        used = sa.text(f"SELECT current_setting('{name}')")
        assert await shared.scalar(used) == needed
    assert await migration.on_connection(address.owner_dsn, lambda connection: connection.scalar(used)) == needed


async def test_a_request_that_only_reads_cannot_write(alone) -> None:
    view = alone.for_request(alone.reads.new(), only_reads=True)
    for transaction in (view.writing("connections"), view.preparing("connections")):
        with pytest.raises(RuntimeError, match="only reads"):
            async with transaction:
                pass
    for one in (view, alone):
        async with one.reading("connections") as reading:
            with pytest.raises(asyncpg.PostgresError, match="read-only transaction"):
                await reading.execute(sa.text("DELETE FROM stepwell.documents"))


async def test_one_statement_alone_reads_what_no_transaction_settings_are_needed_for(alone) -> None:
    assert (await alone.rows(sa.text("SELECT CAST(:n AS integer) AS n"), {"n": 3}, within_s=5.0)).one().n == 3
    with pytest.raises(errors.DatabaseUnavailable):
        await alone.rows(sa.text("SELECT pg_sleep(60)"), {}, within_s=0.05)
    assert alone.in_use() == 0


async def test_vectors_are_numbers_on_connections_that_were_opened_after_pgvector_was_installed(new_database) -> None:
    address = await new_database()
    vector = [1.0, -0.5, 2.0**-20]
    backends = []
    async with transactions.connect(address.owner_dsn, pool_size=1) as database:
        async with database.shared() as before:
            backends.append(await before.scalar(BACKEND))
        await address.fetch("CREATE SCHEMA kinds")
        await address.fetch("CREATE EXTENSION vector SCHEMA kinds")
        await address.fetch(f'ALTER DATABASE "{address.name}" SET search_path = public, kinds')
        for _ in range(2):
            async with database.shared() as after:
                backends.append(await after.scalar(BACKEND))
                assert await after.scalar(sa.text("SELECT CAST(:vector AS vector)"), {"vector": vector}) == vector
    assert backends[0] != backends[1] == backends[2]


async def test_a_connection_in_use_is_closed_after_its_transaction_and_no_other_is_opened(address, owner) -> None:
    database = transactions.connect(address.service_dsn)
    async with database.shared() as used:
        await database.close()
        with pytest.raises(errors.DatabaseUnavailable):
            async with database.shared():
                pass
        assert await used.scalar(sa.text("SELECT 1")) == 1
        assert await owner.fetchval(OPEN) == 1
    await _all_end(owner)


async def test_a_pool_whose_idle_connections_were_closed_counts_new_ones_and_keeps_no_earlier_one(address, owner):
    async with transactions.connect(address.service_dsn, pool_size=2) as database:
        async with database.shared():
            await database.pool.close_idle()
        await _all_end(owner)
        async with database.shared():
            assert database.in_use() == 1
        assert database.in_use() == 0


async def test_connections_for_whose_orderly_end_no_time_is_left_are_aborted(address, owner, monkeypatch) -> None:
    monkeypatch.setattr(pools, "DISPOSE_S", 0.0)
    database = transactions.connect(address.service_dsn, pool_size=3)
    async with database.shared(), database.shared(), database.shared():
        assert await owner.fetchval(OPEN) == 3
    await database.close()
    await _all_end(owner)


@pytest.mark.parametrize("step", ["_is_pooled", "_begin"])
async def test_a_connection_whose_opening_is_cancelled_is_closed(address, owner, monkeypatch, step) -> None:
    async def pooled(_driver: Any) -> bool:
        return True

    async def hang(_driver: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(sqlalchemy_engines, "_is_pooled", pooled)
    monkeypatch.setattr(sqlalchemy_engines, step, hang)
    async with transactions.connect(address.service_dsn, pool_size=3) as database:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2), database.shared():
                    pass
        await _all_end(owner)


async def _all_end(owner: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await owner.fetchval(OPEN):  # noqa: ASYNC110 - the backend ends after its client
            await asyncio.sleep(0.01)


@pytest.fixture
async def few(owner, address):
    """A function that opens a pool of ten connections for a role that may have two."""
    await owner.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 2")
    dsn = address.server.dsn(user="few", database=address.name)
    yield lambda pool_wait_s: transactions.connect(dsn, pool_size=10, pool_wait_s=pool_wait_s)
    await owner.execute("DROP ROLE few")


async def sleep(database, seconds):
    async with database.shared() as shared:
        await shared.scalar(sa.text(f"SELECT CAST(pg_sleep({seconds}) AS text)"))


async def test_transactions_share_the_connections_that_the_server_grants(few):
    async with few(pool_wait_s=30.0) as database:
        for _ in range(2):
            await asyncio.gather(*(sleep(database, 0.01) for _ in range(20)))
        assert database.in_use() == 0


async def test_where_none_is_granted_or_given_back_in_time_the_database_is_unavailable(few):
    async with few(pool_wait_s=0.2) as first, few(pool_wait_s=0.2) as second:
        async with first.shared(), first.shared():
            with pytest.raises(errors.DatabaseUnavailable, match="All database connections are busy"):
                await sleep(first, 0)
            with pytest.raises(errors.DatabaseUnavailable):
                await sleep(second, 0)
        await sleep(first, 0)
