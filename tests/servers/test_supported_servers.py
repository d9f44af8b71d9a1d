"""The service works on each kind of server, directly and through each kind of pooler: upgrade, load, keys, readiness.

`pytest tests/servers -v` prints a line for each combination. Those that need packages of Debian are skipped without.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import debian_servers
import harness
import httpx
import pytest
from requests_of import search_body

from app import errors
from app.database import transactions
from app.database.embedded import postgres
from app.database.schema import inspection, migration, roles
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

OWNER = "app_owner"
MAJOR = 15
ROUNDS = 3
MEMBERSHIP = (
    f"ALTER ROLE {postgres.SERVICE_ROLE} NOINHERIT",
    f"GRANT {postgres.RESTRICTED_ROLE} TO {postgres.SERVICE_ROLE}",
)
"""What a superuser runs where the owner may not create roles; `db upgrade` prints it."""


@dataclass(frozen=True, slots=True)
class Database:
    """The addresses of one database: those of the server itself, and those that the service is given."""

    owner_dsn: str
    service_dsn: str


@contextmanager
def through(pooling: str, host: str, port: int, passwords: dict[str, str], *, tls: bool) -> Iterator[int]:
    """The port of the server, or of a pooler in front of it."""
    if pooling == "direct":
        yield port
        return
    if debian_servers.PGBOUNCER is None:
        pytest.skip(debian_servers.NO_PGBOUNCER)
    with debian_servers.pgbouncer(host=host, port=port, mode=pooling, passwords=passwords, tls=tls) as own:
        yield own


@contextmanager
def embedded(address: Any, pooling: str) -> Iterator[Database]:
    """A new database of the embedded server, whose programs are those of Postgres 18."""
    socket_folder = address.server.dsn(user=postgres.OWNER, database=address.name).partition("host=")[2]
    if pooling == "direct":
        yield Database(address.owner_dsn, address.service_dsn)
        return
    users = {postgres.OWNER: "", postgres.SERVICE_ROLE: ""}
    with through(pooling, socket_folder.partition("&")[0], 5432, users, tls=False) as port:
        yield Database(*(f"postgresql://{user}@127.0.0.1:{port}/{address.name}" for user in users))


@asynccontextmanager
async def on_debian(
    server: debian_servers.Server, pooling: str, *, schema: str = "public", creates_roles: bool = True, name: str = ""
) -> AsyncIterator[Database]:
    """A database as an administrator prepares it: its owner is no superuser; TLS is required."""
    name = name or f"app_{pooling}_{schema}_{creates_roles}".lower()
    statements = [
        f"CREATE ROLE {OWNER} LOGIN PASSWORD '{debian_servers.PASSWORD}'",
        f"ALTER ROLE {OWNER} {'CREATEROLE' if creates_roles else 'NOCREATEROLE'}",
        f"CREATE DATABASE {name} OWNER {OWNER}",
        f'ALTER DATABASE {name} SET search_path = "$user", public, {schema}',
    ]
    await run(server, "postgres", *statements)
    await run(server, name, f"CREATE SCHEMA IF NOT EXISTS {schema}", f"CREATE EXTENSION vector SCHEMA {schema}")
    await run(server, name, f"GRANT USAGE ON SCHEMA {schema} TO PUBLIC")
    passwords = {OWNER: debian_servers.PASSWORD, postgres.SERVICE_ROLE: debian_servers.PASSWORD}
    try:
        with through(pooling, "127.0.0.1", server.port, passwords, tls=True) as port:
            given = (f"{user}:{word}@127.0.0.1:{port}/{name}?sslmode=require" for user, word in passwords.items())
            yield Database(*(f"postgresql://{one}" for one in given))
    finally:
        await run(server, "postgres", f"DROP DATABASE {name} WITH (FORCE)")


async def run(server: debian_servers.Server, database: str, *statements: str) -> None:
    """Run statements as the superuser; a role that exists is left as it is."""
    superuser = await asyncpg.connect(
        host=str(server.folder), port=server.port, user=debian_servers.SUPERUSER, database=database
    )
    try:
        for statement in statements:
            try:
                await superuser.execute(statement)
            except asyncpg.DuplicateObjectError:
                continue
    finally:
        await superuser.close()


async def drive(database: Database, *, sets_password: bool = True) -> None:
    """Upgrade, and let two processes serve two users with keys that see all or one team, beside each other."""
    embedder = FakeEmbedder()
    await migration.upgrade(database.owner_dsn, model=embedder.model.name, dimension=embedder.model.dimension)
    if sets_password and debian_servers.PASSWORD in database.service_dsn:
        await roles.set_password(database.owner_dsn, service_dsn=database.service_dsn)
    async with AsyncExitStack() as stack:
        owner = transactions.connect(database.owner_dsn, pool_size=1, pool_wait_s=30.0)
        stack.push_async_callback(owner.close)
        clients = [await stack.enter_async_context(served(database, embedder)) for _ in range(2)]
        users = [harness.new_user() for _ in range(2)]
        await asyncio.gather(*(use(clients[place], users[place], place, owner) for place in range(2)))
        for client in clients:
            ready = await client.get("/readyz")
            assert ready.status_code == 200, ready.text


@asynccontextmanager
async def served(database: Database, embedder: FakeEmbedder) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application with a pool of its own."""
    async with transactions.connect(database.service_dsn, pool_size=4, pool_wait_s=30.0) as opened:
        services = await harness.services(opened, embedder)
        async with harness.calling(Settings(auth="api_key"), services) as client:
            yield client


async def use(client: httpx.AsyncClient, user: str, place: int, owner: transactions.Database) -> None:
    """Store and search as one user with both keys at the same time; each answer is right."""
    whole = await harness.create_key_as(owner, user)
    tide = await harness.create_key_as(owner, user, "search", filters={"metadata": {"team": "tide"}})

    async def store(number: int) -> None:
        team = ("tide", "reef")[number % 2]
        body = {"content": f"Copper lantern {user} {number}", "uri": f"{team}/{number}", "metadata": {"team": team}}
        stored = await client.post("/api/rag/documents", json=body, headers=bearer(whole))
        assert stored.status_code == 201, stored.text

    async def search(key: str, prefixes: tuple[str, ...]) -> None:
        found = await client.post("/api/rag/search", json=search_body("copper lantern"), headers=bearer(key))
        assert found.status_code == 200, found.text
        for hit in found.json()["results"]:
            assert hit["uri"].startswith(prefixes), hit
            assert user in hit["content"], hit

    await store(0)
    for number in range(1, ROUNDS):
        await asyncio.gather(store(number), search(whole, ("tide/", "reef/")), search(tide, ("tide/",)))


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("pooling", ["direct", "session", "transaction"])
async def test_the_service_works_on_the_embedded_server(new_database, pooling):
    with embedded(await new_database(), pooling) as database:
        await drive(database)


async def test_a_pooler_by_statement_is_refused_in_a_sentence(new_database):
    with embedded(await new_database(), "statement") as database:
        async with transactions.connect(database.owner_dsn, pool_size=1) as opened:
            with pytest.raises(errors.SchemaMismatch, match="pools by statement: set its pool_mode to transaction"):
                await inspection.server(opened)


@pytest.mark.parametrize("pooling", ["direct", "session", "transaction"])
async def test_the_service_works_on_postgres_15_with_tls(debian, pooling):
    async with on_debian(debian, pooling) as database:
        await drive(database)


@pytest.mark.skipif(debian_servers.programs(MAJOR) is not None, reason="pgvector is installed for this server")
async def test_a_server_without_pgvector_is_told_from_a_role_that_may_not_install_it():
    programs = debian_servers.programs(MAJOR, vectors=False)
    if programs is None:
        pytest.skip(f"needs Debian's package postgresql-{MAJOR}")
    with debian_servers.postgres(programs) as server, pytest.raises(errors.SchemaMismatch, match="is not available"):
        await migration.upgrade(server.dsn(debian_servers.SUPERUSER, "postgres"), model="fake", dimension=64)


@pytest.mark.parametrize("pooling", ["direct", "transaction"])
async def test_the_service_works_where_pgvector_is_in_another_schema(debian, pooling):
    async with on_debian(debian, pooling, schema="extensions") as database:
        await drive(database)


async def test_the_service_works_where_the_owner_may_not_create_roles(debian):
    async with on_debian(debian, "direct", creates_roles=False) as database:
        for role, rights in ((postgres.SERVICE_ROLE, postgres.SERVICE_RIGHTS), (postgres.RESTRICTED_ROLE, "NOLOGIN")):
            await run(debian, "postgres", f"CREATE ROLE {role} {rights} PASSWORD '{debian_servers.PASSWORD}'")
        await run(debian, "postgres", *MEMBERSHIP)
        await drive(database, sets_password=False)
