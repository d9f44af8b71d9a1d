"""One embedded server a session, one template database built by the migrations, one copy of it a test module."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

import asyncpg
import folders
import pytest
import scripted
from scripted import Script

from app.providers.fake import FakeEmbedder
from app.store import db, embedded, schema

MODEL = "fake"
DIMENSION = 64
TEMPLATE = "stepwell_template"


@dataclass(frozen=True, slots=True)
class Place:
    """One database of the session's server, addressed as its owner (a superuser) and as the service."""

    server: embedded.EmbeddedPostgres
    name: str

    @property
    def owner_dsn(self) -> str:
        return self.server.dsn(user=embedded.OWNER, database=self.name)

    @property
    def service_dsn(self) -> str:
        return self.server.dsn(user=embedded.SERVICE_ROLE, database=self.name)

    async def connect(self, user: str = embedded.OWNER) -> asyncpg.Connection:
        """A bare connection, the owner's unless told otherwise."""
        return await asyncpg.connect(self.server.dsn(user=user, database=self.name, driver="postgresql"))


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[embedded.EmbeddedPostgres]:
    with folders.passable() as folder:
        async with embedded.EmbeddedPostgres(folder / "data", tuning=embedded.SMALL) as started:
            await _without_waiting_for_disks(started)
            yield started


async def _without_waiting_for_disks(server: embedded.EmbeddedPostgres) -> None:
    """What these tests store need not survive a power cut."""
    async with _maintaining(server) as owner:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            await owner.execute(f"ALTER SYSTEM SET {setting} = off")
        await owner.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
async def new_place(server: embedded.EmbeddedPostgres) -> Callable[..., Awaitable[Place]]:
    """Makes a database as a copy of `template`: empty unless told otherwise."""
    one_at_a_time = asyncio.Lock()

    async def made(template: str = "template0") -> Place:
        name = f"test_{uuid4().hex}"
        async with one_at_a_time, _maintaining(server) as owner:
            await owner.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        return Place(server, name)

    return made


@pytest.fixture(scope="session")
async def template(server: embedded.EmbeddedPostgres) -> str:
    """The name of a database to which the migrations were applied and nothing else."""
    async with _maintaining(server) as owner:
        await owner.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0 ENCODING 'UTF8'")
    await schema.upgrade(Place(server, TEMPLATE).owner_dsn, model=MODEL, dimension=DIMENSION)
    return TEMPLATE


@pytest.fixture(scope="session")
async def wide_template(new_place: Callable[..., Awaitable[Place]]) -> str:
    """The same for vectors of the offline model's length: the `template` of folders that say so."""
    from app.providers.minilm import MODEL as OFFLINE  # takes a second, which other folders' tests do without

    made = await new_place()
    await schema.upgrade(made.owner_dsn, model=OFFLINE.name, dimension=OFFLINE.dimension)
    return made.name


@pytest.fixture(scope="module")
async def place(new_place: Callable[..., Awaitable[Place]], template: str) -> Place:
    """The module's own migrated database."""
    return await new_place(template)


@pytest.fixture(scope="module")
async def database(place: Place) -> AsyncIterator[db.Database]:
    """The module's database as the service sees it."""
    opened = db.connect(place.service_dsn, pool_size=4, pool_wait_s=30.0)
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
async def owner(place: Place) -> AsyncIterator[asyncpg.Connection]:
    """The module's database as its owner sees it: all rows of all users."""
    connection = await place.connect()
    yield connection
    await connection.close()


@pytest.fixture(scope="session")
def embedder() -> FakeEmbedder:
    return FakeEmbedder(dimension=DIMENSION, name=MODEL)


@pytest.fixture
async def script() -> AsyncIterator[Script]:
    """An HTTP server that answers as it is told."""
    async with scripted.server() as started:
        yield started


@pytest.fixture
def user() -> str:
    """A user whom no other test knows."""
    return f"user-{uuid4().hex}"


@asynccontextmanager
async def _maintaining(server: embedded.EmbeddedPostgres) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.dsn(user=embedded.OWNER, database="postgres", driver="postgresql"))
    try:
        yield connection
    finally:
        await connection.close()
