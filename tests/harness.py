"""Runs pipelines for a new user and starts the application on an open database; embedders that fail in given ways."""

import asyncio
import gc
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, routing
from requests_of import search_request

from app import capability, errors
from app.access import keys
from app.database import transactions
from app.database.embedded import postgres
from app.database.pooled_connection import Connection
from app.database.transactions import Database, Reading, Writing
from app.derived_row_repairs import Damage
from app.documents import operations as documents
from app.documents.storing import ingest
from app.documents.storing.ingest import IngestOutcome
from app.documents.types import IngestResult, Upload
from app.enums import Vector
from app.main import create_app
from app.maintenance import repair
from app.models.protocols import Embedder, EmbeddingModel
from app.query.search_types import Answer
from app.search import search
from app.services import Budget, ChunkingOptions, Services
from app.settings import Settings
from app.text.names import metadata_names
from benchmarks import statements
from benchmarks.fake_embedder import FakeEmbedder

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
"""Counts the connections to the database that wait for a lock."""
COMPANY = Path(__file__).with_name("company")
"""An evaluation set about a fictional company."""

Posed = TypeVar("Posed", Reading, Writing)


def cpu_s(work: Callable[[Any], object], given: Any) -> float:
    """The CPU time of this thread for some work, without garbage collections, which go through the whole process."""
    gc.disable()
    try:
        began = time.thread_time()
        work(given)
        return time.thread_time() - began
    finally:
        gc.enable()


def posing_as(transaction: Posed, user_id: str) -> Posed:
    """The same transaction with another user in its statements, whom row-level security must not believe."""
    return type(transaction)(transaction.entered, user_id)


def heed_ctrl_c() -> None:
    """In a child process: the shell starts background jobs with SIGINT ignored, which a child process inherits."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def new_user(name: str = "user") -> str:
    """A new user id: tests share databases, but not users."""
    return f"{name}-{uuid4().hex[:12]}"


@dataclass(slots=True)
class Tenant:
    """One user of a database, who stores and searches through the real pipelines."""

    db: Database
    embedder: Embedder = field(default_factory=FakeEmbedder)
    user_id: str = field(default_factory=new_user)
    chunking_options: ChunkingOptions = field(default_factory=ChunkingOptions)

    async def add(self, content: str, uri: str | None = None, **fields: Any) -> IngestResult:
        """Store one document."""
        upload = Upload(content, uri=uri, **fields)
        return await ingest.store_one(upload, self.user_id, self.services())

    async def add_all(self, contents: Mapping[str, str] | Iterable[Upload]) -> list[IngestResult]:
        """Store documents, or texts by uri, in batches: one by one takes ten times as long."""
        if isinstance(contents, Mapping):
            contents = [Upload(text, uri=uri) for uri, text in contents.items()]
        return [outcome.result() for outcome in await self.many(contents)]

    async def many(self, uploads: Iterable[Upload]) -> list[IngestOutcome]:
        """Store many documents."""
        outcomes = ingest.store(uploads, self.user_id, self.services())
        return [outcome async for outcome in outcomes]

    async def ask(self, text: str, *, budget: Budget | None = None, **fields: Any) -> Answer:
        """Search."""
        query = search_request(text, **fields)
        return await search.run(query, self.user_id, self.services(budget=budget or Budget()))

    def services(self, **fields: Any) -> Services:
        """The services with which pipelines run for this user."""
        return Services(self.db, self.embedder, chunking_options=self.chunking_options, **fields)

    async def assert_sound(self) -> None:
        """Every derived row is what the stored texts give."""
        assert (await repair.check(self.user_id, db=self.db, keys=metadata_names.KEYS)).damage == Damage()

    async def uris(self) -> list[str | None]:
        """The uris of the stored documents, newest first."""
        return [d.uri for d in await documents.page(self.user_id, db=self.db, limit=1000, after=None)]


def stored(contents: Mapping[str, str] | Iterable[Upload]) -> Any:
    """A fixture of a module: a user with these documents, whom its tests share."""
    documents = contents if isinstance(contents, Mapping) else list(contents)

    @pytest.fixture(scope="module")
    async def tenant_with_documents(database: Database) -> Tenant:
        tenant = Tenant(database)
        await tenant.add_all(documents)
        return tenant

    return tenant_with_documents


@contextmanager
def counted_statements(tenant: Tenant) -> Iterator[list[str]]:
    """The statements that are run on the tenant's database."""
    found: list[str] = []
    with statements.recorded(tenant.db, lambda text, _values: found.append(text)):
        yield found


@contextmanager
def lost_commit(number: int) -> Iterator[Callable[[], bool]]:
    """The answer to one COMMIT of this task, by number, is lost with its connection; yields whether it has been.

    Services of other tests may commit at the same time.
    """
    commit, count = Connection.run, 0
    of_this_task = ContextVar("of_this_task", default=False)

    async def lose(connection: Connection, command: str) -> None:
        nonlocal count
        await commit(connection, command)
        counts = command == "COMMIT" and of_this_task.get()
        count += counts
        if counts and count == number:
            await connection.invalidate()
            raise ConnectionResetError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "run", lose)
        of_this_task.set(True)
        yield lambda: count >= number


def uris(answer: Answer) -> list[str | None]:
    """The uris of the hits, in order."""
    return [hit.candidate.uri for hit in answer.hits]


class HangingEmbedder:
    """An embedder that never returns the vector of a query; documents are embedded."""

    def __init__(self) -> None:
        self._fake = FakeEmbedder()

    @property
    def model(self) -> EmbeddingModel:
        """The fake embedder's model."""
        return self._fake.model

    async def embed_query(self, text: str) -> Vector:
        """Wait without end."""
        await asyncio.Event().wait()
        raise AssertionError

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """The fake embedder's vectors."""
        return await self._fake.embed_documents(texts)


class FixedQueryEmbedder(FakeEmbedder):
    """An embedder with the same vector for every query."""

    def __init__(self, vector: Vector) -> None:
        super().__init__()
        self._vector = vector

    async def embed_query(self, text: str) -> Vector:
        """The fixed vector."""
        return self._vector


class FaultyEmbedder(FakeEmbedder):
    """An embedder that returns the vectors of documents as altered by `alter`."""

    def __init__(self, alter: Any) -> None:
        super().__init__()
        self._alter = alter

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """The altered vectors."""
        altered: list[Vector] = self._alter(await super().embed_documents(texts))
        return altered


async def services(db: Database, embedder: Embedder | None = None) -> Services:
    """Services on an open database, as an application is started with that offers agents every tool."""
    stats = await documents.stats("nobody", db=db)
    return Services(
        db=db,
        embedder=embedder or FakeEmbedder(),
        expected_schema=(stats.embedding_model, stats.embedding_dimension),
        tools=frozenset(capability.optional_tools()),
    )


@asynccontextmanager
async def running(settings: Settings, services: Services) -> AsyncIterator[FastAPI]:
    """The application between startup and shutdown, with the options in the settings; the database stays open."""
    made = {type(one): one for read in capability.declared("options") for one in (read(settings),)}
    app = create_app(settings, opened=(replace(services, options={**made, **services.options}), AsyncExitStack()))
    share_routes(app)
    async with app.router.lifespan_context(app):
        yield app


def share_routes(app: FastAPI) -> None:
    """Give the application what the framework has built for the routes of an earlier one: it takes a third of a second.

    It is the same for all: it depends on the routers, and on what `create_app` passes to each application alike.
    """
    for route in app.router.routes:
        if isinstance(route, routing._IncludedRouter):
            built = _built.setdefault(id(route.original_router), route)
            route._effective_candidates = built.effective_candidates()
            route._effective_candidates_version = built._effective_candidates_version


_built: dict[int, routing._IncludedRouter] = {}
"""The routers of the first application, by their ids; they live as long as the modules."""


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[int]:
    """Serves a running application on a socket; its port."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", log_config=None, access_log=False))
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn sets no event
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def client(app: FastAPI, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of an application in this process."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as opened:
        yield opened


@asynccontextmanager
async def calling(settings: Settings, services: Services, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that runs as long."""
    async with running(settings, services) as app, client(app, **headers) as opened:
        yield opened


def metric_names() -> set[str]:
    """The names of all metrics of an application."""
    families = create_app(Settings()).state.metrics.registry.collect()
    return {f"{family.name}_total" if family.type == "counter" else family.name for family in families}


def address(db: Database) -> str:
    """The address of a database, with which another pool can be opened."""
    return db.pool.engine.url.render_as_string(hide_password=False)


@asynccontextmanager
async def as_owner(db: Database) -> AsyncIterator[Database]:
    """The same database, connected as its owner."""
    address = db.pool.engine.url.set(username=postgres.OWNER).render_as_string(hide_password=False)
    async with transactions.connect(address, pool_size=1, pool_wait_s=30.0) as owner:
        yield owner


async def create_key(db: Database, user_id: str, *scopes: str, **fields: Any) -> str:
    """A new API key of a user, by default with the scopes search and write."""
    async with as_owner(db) as owner:
        return await create_key_as(owner, user_id, *scopes, **fields)


async def create_key_as(owner: Database, user_id: str, *scopes: str, **fields: Any) -> str:
    """The same with a database that is connected as its owner."""
    grant = keys.Grant(scopes or ("search", "write"), **fields)
    return await keys.create(user_id, grant, db=owner, actor="test")


async def eventually(search: Callable[[], Awaitable[Answer]], tries: int = 50) -> Answer:
    """The answer of a search, which is repeated while the database is unavailable."""
    for _ in range(tries - 1):
        try:
            return await search()
        except errors.DatabaseUnavailable:
            continue
    return await search()
