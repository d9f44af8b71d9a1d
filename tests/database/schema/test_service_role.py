"""The service's role has only the rights that it needs, and verifies keys without reading them."""

import hashlib
from functools import partial
from uuid import uuid4

import asyncpg
import harness
import pytest
import sqlalchemy as sa

from app import errors
from app.access.store import keys
from app.database import filters, transactions
from app.database.filter_types import Filters
from app.database.schema import inspection, migration, roles
from benchmarks.fake_embedder import FakeEmbedder

FORBIDDEN = [
    "SELECT secret_hash FROM stepwell.api_keys",
    "INSERT INTO stepwell.audit_log (user_id, event_id, actor, action, target, at) "
    "VALUES ('x', gen_random_uuid(), '', '', '', '1999-01-01')",
    "ALTER TABLE stepwell.chunks DISABLE ROW LEVEL SECURITY",
    "DROP POLICY own_rows ON stepwell.chunks",
    "CREATE TABLE stepwell.extra ()",
    "CREATE FUNCTION stepwell.extra() RETURNS int LANGUAGE sql RETURN 1",
    "CREATE OR REPLACE FUNCTION stepwell.plan_each() RETURNS void LANGUAGE sql AS ''",
    "ALTER FUNCTION stepwell.live_key(text, bytea) SECURITY INVOKER",
    "CREATE TABLE public.extra ()",
    "CREATE TEMPORARY TABLE extra ()",
    "CREATE SCHEMA extra",
    "DROP EXTENSION vector",
    "CREATE ROLE extra",
    "ALTER ROLE stepwell_service BYPASSRLS",
    "ALTER ROLE postgres PASSWORD 'x'",
    "GRANT postgres TO stepwell_service",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION postgres",
    "SET session_preload_libraries = 'x'",
    "SELECT pg_read_file('postgresql.conf')",
    "SELECT pg_read_binary_file('PG_VERSION')",
    "SELECT pg_ls_dir('.')",
    "SELECT pg_stat_file('PG_VERSION')",
    "SELECT lo_import('/etc/hostname')",
    "SELECT lo_create(0)",
    "SELECT lo_creat(-1)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_put(1, 0, 'x')",
    "SELECT lo_unlink(1)",
    "SELECT pg_reload_conf()",
    "SELECT pg_switch_wal()",
    "COPY (SELECT 1) TO '/tmp/stepwell_extra'",
    "COPY stepwell.jobs FROM PROGRAM 'true'",
    "SELECT rolpassword FROM pg_authid",
    "CREATE PUBLICATION extra FOR ALL TABLES",
    "CHECKPOINT",
]
"""Statements beyond the grants on tables, which `test_schema_rules` lists, and two on columns."""


@pytest.fixture(scope="module")
async def upgraded(new_database, template):
    """A database that was upgraded itself: a copy has tables and grants of its template, but not what is granted on
    the database."""
    made = await new_database(template)
    await migration.upgrade(made.owner_dsn, model="fake", dimension=64)
    return made


@pytest.fixture(scope="module")
async def service(upgraded):
    """A bare connection as the service's role."""
    connection = await upgraded.connect("stepwell_service")
    yield connection
    await connection.close()


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_the_services_role_may_do_nothing_beyond_its_work(service, statement) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with service.transaction():
            await service.execute(statement)


async def test_the_services_role_reaches_no_other_database(upgraded, address) -> None:
    for name in ("postgres", "template1"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await asyncpg.connect(address.server.dsn(user="stepwell_service", database=name, driver="postgresql"))


async def test_planner_statistics_are_hidden_from_the_role(service, upgraded) -> None:
    await upgraded.fetch("INSERT INTO stepwell.tenants (user_id) VALUES ('ana'), ('ben')")
    await upgraded.fetch("ANALYZE stepwell.tenants")
    query = "SELECT FROM pg_stats WHERE schemaname = 'stepwell' AND tablename = 'tenants'"
    assert await upgraded.fetch(query)
    assert not await service.fetch(query)


async def test_the_roles_timeouts_are_longer_than_those_of_a_transaction(service, database, user) -> None:
    milliseconds = "SELECT setting::int FROM pg_settings WHERE name = $1"
    found = {name: await service.fetchval(milliseconds, name) for name in roles.BACKSTOPS}
    assert found == {
        "statement_timeout": 600_000, "lock_timeout": 60_000, "idle_in_transaction_session_timeout": 300_000,
    }  # fmt: skip
    async with database.writing(user) as writing:
        for name in ("statement_timeout", "lock_timeout"):
            query = sa.text("SELECT setting::int FROM pg_settings WHERE name = :name")
            assert 0 < await writing.scalar(query, {"name": name}) < found[name]


async def test_grants_to_public_are_kept_if_there_are_other_roles(new_database, template, owner) -> None:
    await owner.execute("CREATE ROLE neighbour LOGIN")
    try:
        made = await new_database(template)
        await migration.upgrade(made.owner_dsn, model="fake", dimension=64)
        service = await made.connect("stepwell_service")
        await service.execute("CREATE TEMPORARY TABLE extra ()")
        await service.close()
    finally:
        await owner.execute("DROP ROLE neighbour")


async def test_an_upgrade_lets_the_roles_in_where_public_has_no_rights(new_database, template) -> None:
    made = await new_database(template)
    await made.fetch(f'REVOKE ALL ON DATABASE "{made.name}" FROM PUBLIC')
    await made.fetch("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await made.connect("stepwell_service")
    await made.fetch(f'GRANT CONNECT ON DATABASE "{made.name}" TO stepwell_service')
    async with transactions.connect(made.service_dsn, pool_size=1) as service:
        (problem,) = await inspection.differences(service, dimension=64)
        assert "may not use pgvector's schema public: run as its owner GRANT USAGE ON SCHEMA public TO" in problem
    await made.fetch(f'REVOKE ALL ON DATABASE "{made.name}" FROM stepwell_service')
    await migration.upgrade(made.owner_dsn, model="fake", dimension=64)
    async with transactions.connect(made.service_dsn, pool_size=1) as service:
        assert await inspection.differences(service, dimension=64) == []
        tenant = harness.Tenant(service, FakeEmbedder(dimension=64, name="fake"))
        await tenant.add("Lime mortar sets slowly.", "a.md", metadata={"team": "tide"})
        tenant.db = service.restricted(filters.restriction(Filters(metadata={"team": "tide"})))
        assert harness.uris(await tenant.ask("lime")) == ["a.md"]


async def test_an_owner_who_may_not_use_the_schema_of_pgvector_is_told_what_to_run(new_database, owner) -> None:
    made, role = await new_database(), f"owner_{uuid4().hex}"
    await owner.execute(f"CREATE ROLE {role} LOGIN; ALTER DATABASE {made.name} OWNER TO {role}")
    await made.fetch(f"ALTER DATABASE {made.name} SET search_path = public, apart")
    await made.fetch("CREATE SCHEMA apart")
    await made.fetch("CREATE EXTENSION vector SCHEMA apart")
    dsn = made.server.dsn(user=role, database=made.name)
    try:
        with pytest.raises(
            errors.SchemaMismatch, match=f"run as the schema's owner (GRANT .* TO {role} .*)\\.$"
        ) as refused:
            await migration.upgrade(dsn, model="fake", dimension=64)
        await made.fetch(refused.value.message.partition("owner ")[2].rstrip("."))
        await migration.upgrade(dsn, model="fake", dimension=64)
        async with transactions.connect(made.service_dsn, pool_size=1) as service:
            assert await inspection.differences(service, dimension=64) == []
    finally:
        await owner.execute(f"DROP DATABASE {made.name} WITH (FORCE)")
        await owner.execute(f"DROP ROLE {role}")


async def test_a_service_that_inherits_the_restricted_role_is_refused_until_an_upgrade(upgraded, owner) -> None:
    inherits = ("ALTER ROLE stepwell_service INHERIT", "GRANT stepwell_restricted TO stepwell_service")
    if owner.get_server_version() >= (16,):
        inherits = (f"{inherits[1]} WITH INHERIT TRUE",)
    await owner.execute("; ".join(inherits))
    async with transactions.connect(upgraded.service_dsn, pool_size=1) as service:
        try:
            (problem,) = await inspection.differences(service, dimension=64)
        finally:
            await migration.upgrade(upgraded.owner_dsn, model="fake", dimension=64)
        assert problem.startswith(
            "stepwell_service inherits stepwell_restricted, whose policies then refuse its writes:"
        )
        assert await inspection.differences(service, dimension=64) == []


async def test_an_upgrade_by_a_superuser_marks_functions_that_a_dump_has_not_kept_as_leakproof(new_database, template):
    made = await new_database(template)
    await made.fetch("ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) NOT LEAKPROOF")
    async with transactions.connect(made.service_dsn, pool_size=1) as service:
        assert await inspection.not_leakproof(service) == ["jsonb_contains(jsonb,jsonb)"]
        await migration.upgrade(made.owner_dsn, model="fake", dimension=64)
        assert await inspection.not_leakproof(service) == []


async def test_a_key_is_verified_by_its_hash_alone_and_the_hash_never_shown(database, owner) -> None:
    secret = hashlib.sha256(b"secret").digest()
    add = "INSERT INTO stepwell.api_keys (key_id, user_id, secret_hash, scopes) VALUES ($1, 'ana', $2, '{search}')"
    await owner.execute(add, "k1", secret)
    verify = partial(keys.verify, database, within_s=5.0)
    assert await verify(key_id="k1", secret_hash=secret) == keys.Verified(
        key_id="k1", user_id="ana", scopes=("search",)
    )
    assert await verify(key_id="k1", secret_hash=hashlib.sha256(b"other").digest()) is None
    assert await verify(key_id="k1", secret_hash=b"") is None
    assert await verify(key_id="k2", secret_hash=secret) is None
    async with database.shared() as shared:
        row = (await shared.execute(sa.text("SELECT * FROM stepwell.live_key('k1', :s)"), {"s": secret})).one()
    assert set(row._fields) == {"user_id", "scopes", "filters", "shows_entities", "token_key"}
    for change in ("expires_at = now()", "expires_at = NULL, revoked_at = now()"):
        await owner.execute(f"UPDATE stepwell.api_keys SET {change} WHERE key_id = 'k1'")
        assert await verify(key_id="k1", secret_hash=secret) is None


async def test_filters_of_a_token_are_refused_where_the_restricted_role_has_no_grants(database, owner, user) -> None:
    """A Citus cluster has neither grants nor policies; any key signs tokens."""
    seen = database.restricted(filters.restriction(Filters(metadata={"team": "tide"})))
    await owner.execute("REVOKE SELECT ON stepwell.documents FROM stepwell_restricted")
    try:
        with pytest.raises(errors.Forbidden, match="Citus"):
            async with seen.reading(user) as reading:
                await reading.execute(sa.text("SELECT FROM stepwell.documents"))
    finally:
        await owner.execute("GRANT SELECT ON stepwell.documents TO stepwell_restricted")
