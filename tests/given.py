"""What do the tests of the corridor, the door and the command line begin with?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from fastapi import FastAPI

from app import errors
from app.config import Settings
from app.main import create_app
from app.pipelines import documents, ingest, keys, search
from app.pipelines.budget import Budget
from app.pipelines.services import Services
from app.providers.base import Embedder, EmbeddingModel
from app.providers.fake import FakeEmbedder
from app.shapes import Answer, IngestResult, Query, Upload, Vector
from app.store import db as store_db
from app.store import embedded
from app.store.db import Database


def user(name: str = "user") -> str:
    """A user of the test's own: databases are shared, users are not."""
    return f"{name}-{uuid4().hex[:12]}"


@dataclass(slots=True)
class World:
    """One user's view of the service: what is stored and asked goes through the real pipelines."""

    db: Database
    embedder: Embedder = field(default_factory=FakeEmbedder)
    user_id: str = field(default_factory=user)
    chunking_options: ingest.ChunkingOptions = field(default_factory=ingest.ChunkingOptions)

    async def add(self, content: str, uri: str | None = None, **fields: Any) -> IngestResult:
        """Store one document."""
        upload = Upload(content, uri=uri, **fields)
        return await ingest.run(upload, self.user_id, db=self.db, embedder=self.embedder, options=self.chunking_options)

    async def add_all(self, contents: dict[str, str]) -> dict[str, IngestResult]:
        """Store documents by uri."""
        return {uri: await self.add(content, uri) for uri, content in contents.items()}

    async def many(self, uploads: Sequence[Upload]) -> list[ingest.IngestOutcome]:
        """Store many documents."""
        outcomes = ingest.many(uploads, self.user_id, db=self.db, embedder=self.embedder, options=self.chunking_options)
        return [outcome async for outcome in outcomes]

    async def ask(self, text: str, *, budget: Budget | None = None, **fields: Any) -> Answer:
        """Search."""
        query = Query(self.user_id, text, **fields)
        return await search.run(query, self.services(budget=budget or Budget()))

    def services(self, **fields: Any) -> Services:
        """The services of this world, as pipelines take them."""
        return Services(self.db, self.embedder, chunking_options=self.chunking_options, **fields)

    async def uris(self) -> list[str | None]:
        """The uris of what is stored, newest first."""
        return [d.uri for d in await documents.page(self.user_id, db=self.db, limit=1000, after=None, uri=None)]


def uris(answer: Answer) -> list[str | None]:
    """The hits' uris, in order."""
    return [hit.candidate.uri for hit in answer.hits]


class Hanging:
    """An embedder whose queries never come back; documents do."""

    def __init__(self) -> None:
        self._fake = FakeEmbedder()

    @property
    def model(self) -> EmbeddingModel:
        """The pretended model."""
        return self._fake.model

    async def embed_query(self, text: str) -> Vector:
        """Never answer."""
        await asyncio.Event().wait()
        raise AssertionError

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Answer as the fake does."""
        return await self._fake.embed_documents(texts)


class Answering(FakeEmbedder):
    """An embedder that has one answer to every query."""

    def __init__(self, vector: Vector) -> None:
        super().__init__()
        self._vector = vector

    async def embed_query(self, text: str) -> Vector:
        """The one answer."""
        return self._vector


class Miscounting(FakeEmbedder):
    """An embedder whose answers to documents are spoilt by `spoil`."""

    def __init__(self, spoil: Any) -> None:
        super().__init__()
        self._spoil = spoil

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """The fake's vectors, spoilt."""
        spoilt: list[Vector] = self._spoil(await super().embed_documents(texts))
        return spoilt


async def services(db: Database, embedder: Embedder | None = None) -> Services:
    """What an application is started with, on a database that is open already."""
    stats = await documents.stats("nobody", db=db)
    return Services(
        db=db,
        embedder=embedder or FakeEmbedder(),
        expected_schema=(stats.embedding_model, stats.embedding_dimension),
    )


@asynccontextmanager
async def running(settings: Settings, given: Services) -> AsyncIterator[FastAPI]:
    """The application between its start and its stop; the database stays open."""
    app = create_app(settings, opened=(given, AsyncExitStack()))
    async with app.router.lifespan_context(app):
        yield app


@asynccontextmanager
async def calling(app: FastAPI, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that runs in this process."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


@asynccontextmanager
async def owning(db: Database) -> AsyncIterator[Database]:
    """The same database as its owner."""
    address = db._engine.url.set(username=embedded.OWNER).render_as_string(hide_password=False)
    owner = store_db.connect(address, pool_size=1, pool_wait_s=30.0)
    try:
        yield owner
    finally:
        await owner.close()


async def key(db: Database, user_id: str, *scopes: str, **fields: Any) -> str:
    """A new API key, made as the database's owner."""
    async with owning(db) as owner:
        grant = keys.Grant(scopes or ("search", "write"), **fields)
        return await keys.create(user_id, grant, db=owner, actor="test")


async def eventually(story: Callable[[], Awaitable[Answer]], tries: int = 50) -> Answer:
    """The story's answer, told again while the database is unavailable."""
    for _ in range(tries - 1):
        try:
            return await story()
        except errors.DatabaseUnavailable:
            continue
    return await story()
