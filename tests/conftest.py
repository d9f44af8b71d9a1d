"""Starts one embedded server per session and copies a migrated template database for each test module."""

import asyncio
import functools
import gc
import logging
import os
import ssl
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import debian_servers
import fake_provider
import pytest
import server_folders
import uvloop
from fake_provider import FakeProvider
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from app import capability_registry
from app.access import keys
from app.database import transactions
from app.database.embedded import embedded_programs, postgres
from app.database.schema import migration
from app.documents.storing import ingest
from app.documents.types import Upload
from app.http import health
from app.jobs import operations as job_operations
from app.models.protocols import Embedder
from app.services import Services
from app.settings import usable_cores
from benchmarks.fake_embedder import FakeEmbedder

gc.disable()  # until all tests are collected: little of what that makes is garbage
capability_registry.register()
# Property tests check results, not the speed of the machine.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
# The results are the same with and without the extra `ocr`; the tests of OCR switch it on.
os.environ.setdefault("STEPWELL_OCR", "off")
job_operations.POLL_S = 0.1  # tests follow jobs that take milliseconds
_new_context = ssl.create_default_context
_of_files = functools.cache(_new_context)


def _context(*given: Any, **options: Any) -> ssl.SSLContext:
    """Clients that trust the same files share a context: to read the certificates of public sites takes 30 ms."""
    return (_new_context if given or not options.keys() <= {"cafile", "capath"} else _of_files)(*given, **options)


ssl.create_default_context = _context

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.14 on
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())  # the loop of the service
pytest_plugins = ["api_fixtures", "cli_fixtures", "store_fixtures", "use_case_fixtures"]
TOGETHER = (
    "tests/browser/",
    "tests/test_examples_in_docs.py",
    "tests/search/steps/why/",
    "tests/http/contract/test_openapi_examples.py",
    "tests/http/contract/test_success_examples.py",
)
"""Tests of one process: they share a browser and the sample notes, whose storing takes eight seconds."""
END_TO_END = "tests/end_to_end/"
"""Tests of one process too: they share two services."""
SLOW = ("browser", "end_to_end", "faults", "cli", "servers", "test_linear_time.py", "test_restricted_keys.py")
"""Folders and files that take long."""
SHORT = {"benchmarks", "database", "migrations", "store"}
"""Folders whose databases are for short vectors, above all those of statements."""
API = {"api", "http"}
"""Folders whose tests send requests, each for users of its own, to the application and the database that they share.

A module with OWN_DATABASE has a database of its own.
"""
MODEL = "fake"
DIMENSION = 64
TEMPLATE = "stepwell_template"


def pytest_xdist_auto_num_workers() -> int:
    """Two processes more than cores: many tests wait for other processes."""
    return min(4, usable_cores() + 2)


class ByFile(LoadFileScheduling):
    """Runs a file in one process, and in one process all files whose session fixtures take longer than their tests."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file.startswith(END_TO_END):
            return END_TO_END
        return TOGETHER[0] if file.startswith(TOGETHER) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """The scheduler of `--dist loadfile`."""
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts slow files first, so that none is left to one process at the end."""
    tests = Path(__file__).parent
    items.sort(key=lambda item: not {*item.path.relative_to(tests).parts}.intersection(SLOW))


def pytest_collection_finish() -> None:
    """Takes the collected tests and the imported modules out of garbage collection, which would scan them often."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # a test makes many objects and keeps few
    gc.enable()


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database of the session's server, with the addresses of its owner (a superuser) and of the service's role."""

    server: postgres.EmbeddedPostgres
    name: str

    @property
    def owner_dsn(self) -> str:
        return self.server.dsn(user=postgres.OWNER, database=self.name)

    @property
    def service_dsn(self) -> str:
        return self.server.dsn(user=postgres.SERVICE_ROLE, database=self.name)

    async def connect(self, user: str = postgres.OWNER, **settings: str) -> asyncpg.Connection:
        """An asyncpg connection as `user`, with these settings of the server."""
        dsn = self.server.dsn(user=user, database=self.name, driver="postgresql")
        return await asyncpg.connect(dsn, server_settings=settings)

    async def fetch(self, statement: str, *values: Any) -> list[asyncpg.Record]:
        """The rows of a statement that the owner runs on a connection of its own."""
        owner = await self.connect()
        try:
            rows: list[asyncpg.Record] = await owner.fetch(statement, *values)
            return rows
        finally:
            await owner.close()


@pytest.fixture(scope="module", autouse=True)
def _default_logging() -> Iterator[None]:
    """Leaves no level and no handler to the next module: a command in this process lets only errors pass."""
    yield
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if handler.name != "stepwell"]
    root.setLevel(logging.WARNING)


@pytest.fixture(scope="module", autouse=True)
def _patient_lookups(request: pytest.FixtureRequest) -> Iterator[None]:
    """The look-up of a key waits for the database longer than a busy machine stops a test that sends requests."""
    with pytest.MonkeyPatch.context() as patch:
        if _is_in(request, API):
            patch.setattr(keys, "LOOKUP_S", 30.0)
        yield


@pytest.fixture
def patient_readiness(monkeypatch: pytest.MonkeyPatch) -> None:
    """The readiness check waits for a database longer than a busy machine stops a test."""
    monkeypatch.setattr(health, "READY_WAIT_S", 30.0)


@pytest.fixture(scope="session")
def data_folder() -> Iterator[Path]:
    """The data folder of the session's server."""
    with server_folders.temporary() as folder:
        yield folder / "data"


class OtherPostgres(postgres.EmbeddedPostgres):
    """A server of other programs, such as those of an older Postgres, in place of the embedded one."""

    def __init__(self, started: debian_servers.Server) -> None:
        super().__init__(started.folder)
        self._sockets = started.folder
        (started.folder / ".s.PGSQL.5432").symlink_to(f".s.PGSQL.{started.port}")

    def dsn(self, *, user: str, database: str = postgres.DATABASE, driver: str = "postgresql+asyncpg") -> str:
        return f"{driver}://{user}@/{database}?host={self._sockets}&port=5432"

    def _is_alive(self) -> bool:
        return True


@pytest.fixture(scope="session")
async def server(data_folder: Path) -> AsyncIterator[postgres.EmbeddedPostgres]:
    """The server of all tests that do not start one: the embedded one, or one of the programs in POSTGRES_PROGRAMS."""
    if programs := os.environ.get("POSTGRES_PROGRAMS"):
        with debian_servers.postgres(Path(programs), tls=False, **embedded_programs.tune(postgres.SMALL)) as other:
            await (started := OtherPostgres(other)).ensure_database_and_role()
            await _configure(started)
            yield started
        return
    async with postgres.EmbeddedPostgres(data_folder, tuning=postgres.SMALL) as started:
        await _configure(started)
        yield started


async def _configure(server: postgres.EmbeddedPostgres) -> None:
    """Test data need not survive a power failure; statistics are as old as a test wants them."""
    async with _maintenance(server) as owner:
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "wal_compression", "autovacuum"):
            await owner.execute(f"ALTER SYSTEM SET {setting} = off")
        await owner.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
async def new_database(server: postgres.EmbeddedPostgres) -> Callable[..., Awaitable[DatabaseAddress]]:
    """A function that creates a database as a copy of `template`, by default an empty one."""
    one_at_a_time = asyncio.Lock()

    async def create(template: str = "template0") -> DatabaseAddress:
        name = f"test_{uuid4().hex}"
        async with one_at_a_time, _maintenance(server) as owner:
            await owner.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8' STRATEGY FILE_COPY")
        return DatabaseAddress(server, name)

    return create


@pytest.fixture(scope="session")
async def narrow_template(server: postgres.EmbeddedPostgres) -> str:
    """The name of an empty database with the schema of the newest migration."""
    async with _maintenance(server) as owner:
        await owner.execute(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0 ENCODING 'UTF8'")
    await migration.upgrade(DatabaseAddress(server, TEMPLATE).owner_dsn, model=MODEL, dimension=DIMENSION)
    return TEMPLATE


def _is_in(request: pytest.FixtureRequest, folders: set[str]) -> bool:
    """Whether the module is in one of these folders."""
    return bool(folders.intersection(request.path.relative_to(Path(__file__).parent).parts))


@pytest.fixture(scope="module")
def template(request: pytest.FixtureRequest) -> str:
    """The name of the template that the module's own databases are copies of."""
    name: str = request.getfixturevalue("narrow_template" if _is_in(request, SHORT) else "wide_template")
    return name


@pytest.fixture(scope="session")
async def wide_template(new_database: Callable[..., Awaitable[DatabaseAddress]]) -> str:
    """The same for vectors of the offline model's length."""
    from app.models.local.minilm import MODEL as OFFLINE  # imported here because it takes a second

    address = await new_database()
    await migration.upgrade(address.owner_dsn, model=OFFLINE.name, dimension=OFFLINE.dimension)
    return address.name


@pytest.fixture(scope="session")
async def offline_embedder() -> AsyncIterator[Embedder]:
    """The offline embedding model."""
    from app.models.local import int8_model, minilm

    model = await int8_model.load(minilm.DESCRIBED, minilm.locate_package(), threads=usable_cores())
    yield model
    await model.aclose()


@pytest.fixture(scope="session")
async def demo_template(new_database, wide_template, offline_embedder) -> str:
    """The name of a database with what `stepwell demo` stores."""
    from app.serving import demo  # imported here because it takes two seconds

    address = await new_database(wide_template)
    opened = transactions.connect(address.service_dsn, pool_size=4, pool_wait_s=30.0)
    uploads = [Upload(one["content"], uri=one["uri"], metadata=one["metadata"]) for one in demo.sample_documents()]
    services = Services(opened, offline_embedder)
    assert [outcome.error async for outcome in ingest.store(uploads, "local", services)] == [None] * len(uploads)
    await opened.close()
    return address.name


@pytest.fixture(scope="module")
async def own_address(new_database, template) -> AsyncIterator[DatabaseAddress]:
    """The address of the module's own migrated database, which is dropped after the module."""
    created = await new_database(template)
    yield created
    async with _maintenance(created.server) as owner:
        await owner.execute(f"DROP DATABASE {created.name} WITH (FORCE)")


@pytest.fixture(scope="module")
async def own_database(own_address: DatabaseAddress) -> AsyncIterator[transactions.Database]:
    """The module's own database, opened as the service's role."""
    async with transactions.connect(own_address.service_dsn, pool_size=4, pool_wait_s=30.0) as opened:
        yield opened


def _whose_database(request: pytest.FixtureRequest) -> str:
    return "own" if hasattr(request.module, "OWN_DATABASE") or not _is_in(request, API) else "shared"


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest) -> DatabaseAddress:
    """The address of the module's database."""
    found: DatabaseAddress = request.getfixturevalue(f"{_whose_database(request)}_address")
    return found


@pytest.fixture(scope="module")
def database(request: pytest.FixtureRequest) -> transactions.Database:
    """The module's database, opened as the service's role."""
    opened: transactions.Database = request.getfixturevalue(f"{_whose_database(request)}_database")
    return opened


@pytest.fixture(scope="module")
async def owner(address: DatabaseAddress) -> AsyncIterator[asyncpg.Connection]:
    """A connection to the module's database as its owner, who sees the rows of all users."""
    connection = await address.connect()
    yield connection
    await connection.close()


@pytest.fixture(scope="module")
def embedder(request: pytest.FixtureRequest) -> FakeEmbedder:
    """What the shared application embeds with (a test that makes it fail mends it), or an embedder of short vectors."""
    shared: FakeEmbedder | None = request.getfixturevalue("shared_embedder") if _is_in(request, API) else None
    return shared or FakeEmbedder(dimension=DIMENSION, name=MODEL)


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    """An HTTP server in place of a remote provider."""
    async with fake_provider.serve() as started:
        yield started


@pytest.fixture
def user() -> str:
    """A new user id, unique to the test."""
    return f"user-{uuid4().hex}"


@asynccontextmanager
async def _maintenance(server: postgres.EmbeddedPostgres) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.dsn(user=postgres.OWNER, database="postgres", driver="postgresql"))
    try:
        yield connection
    finally:
        await connection.close()
