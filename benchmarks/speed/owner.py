"""Runs the benchmark's own SQL as the owner of the tables: bulk loads, reference statements and exact results.

Statements are files in `sql/`, in the format of `app.database.sql`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from pgvector.asyncpg import register_vector
from sqlalchemy.ext.asyncio import AsyncConnection

from app import errors
from app.database import sql, sqlalchemy_engines, vectors
from app.database.pools import Entered, VectorTables
from app.database.schema import tables
from app.database.transactions import Writing
from app.entities.store import mentions
from app.entities.store.mentions import Mention
from app.enums import Vector
from app.text.names.names import Name

FOLDER = Path(__file__).parent / "sql"
Plan = Literal["default", "serial", "no sequential scan"]
Vectors = npt.NDArray[np.float32]

_HEAVY = (
    next(index for index in tables.chunks.indexes if index.name == "ix_chunks_tsv"),
    next(index for index in tables.embeddings.indexes if index.name == "ix_embeddings_embedding"),
)
_LOADED = ("tenants", "documents", "chunks", "embeddings", "text_statistics", "lexemes", "postings", "entities")
_SETTINGS = {"jit": "off", "plan_cache_mode": "force_custom_plan", "hnsw.ef_search": "100"}
_PLANS: dict[Plan, dict[str, str]] = {
    "default": {"max_parallel_workers_per_gather": "2", "enable_seqscan": "on"},
    "serial": {"max_parallel_workers_per_gather": "0", "enable_seqscan": "on"},
    "no sequential scan": {"max_parallel_workers_per_gather": "0", "enable_seqscan": "off"},
}
_BYTES_A_VECTOR = 8
"""Memory per dimension and vector that building an HNSW graph takes, neighbours included."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Synthetic documents and their chunks, one list per column; `of` has the index of each chunk's document.

    `titled` has each document's title as a name; `named` the names in texts as (chunk index, name, occurrences).
    """

    document_ids: list[UUID]
    titles: list[str]
    contents: list[str]
    metadata: list[str]
    chunk_counts: list[int]
    chunk_ids: list[UUID]
    of: list[int]
    indices: list[int]
    starts: list[int]
    chunk_contents: list[str]
    indexed: list[str]
    vectors: Vectors
    titled: list[Name] = field(default_factory=list)
    named: list[tuple[int, Name, int]] = field(default_factory=list)

    def mentions(self, first_no: int) -> list[Mention]:
        """Returns the mentions in the chunks, which are numbered from `first_no`."""
        texts = [(place, name.entity_id, "text", count) for place, name, count in self.named]
        titles = [(place, self.titled[of].entity_id, "title", 1) for place, of in enumerate(self.of) if self.titled]
        return [
            Mention(entity, first_no + place, self.document_ids[self.of[place]], kind, count)
            for place, entity, kind, count in (*texts, *titles)
        ]


@dataclass(frozen=True, slots=True)
class Disk:
    """Megabytes on disk."""

    postings: float
    hnsw: float
    gin: float
    whole: float


class Owner:
    """A connection of the tables' owner in autocommit mode."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def begin_load(self, users: Sequence[str]) -> None:
        """Deletes these users' rows and drops the two indexes that are cheaper to build afterwards.

        Raises Conflict if the database holds rows of other users.
        """
        t = tables.tenants.c
        if await self._connection.scalar(sa.select(sa.func.count()).where(t.user_id.not_in(users))):
            raise errors.Conflict("The database holds other documents; a benchmark needs an empty one.")
        for name in _LOADED:
            await self._run(f"TRUNCATE stepwell.{name} CASCADE")
        for index in _HEAVY:
            await self._connection.execute(sa.schema.DropIndex(index, if_exists=True))

    async def add(self, user_id: str, batch: Batch, *, first_no: int) -> None:
        """Stores a batch whose chunks are numbered from `first_no`, without postings and statistics; see `derive`."""
        await self._execute(
            "documents",
            user_id=user_id,
            document_ids=batch.document_ids,
            titles=batch.titles,
            contents=batch.contents,
            metadata=batch.metadata,
            chunk_counts=batch.chunk_counts,
        )
        await self._execute(
            "chunks",
            user_id=user_id,
            first_no=first_no,
            chunk_ids=batch.chunk_ids,
            document_ids=[batch.document_ids[place] for place in batch.of],
            indices=batch.indices,
            starts=batch.starts,
            contents=batch.chunk_contents,
            indexed=batch.indexed,
        )
        await self._copy_vectors(user_id, batch, first_no)
        named = list({name.entity_id: name for _place, name, _count in batch.named}.values())
        # SQLAlchemy's connection runs statements as the store's does.
        own = Writing(Entered(self._connection, VectorTables(0, 0)), user_id)  # type: ignore[arg-type]
        await mentions.ensure(own, batch.titled, origin="title")
        await mentions.ensure(own, named, origin="text")
        await mentions.add(own, batch.mentions(first_no))

    async def _copy_vectors(self, user_id: str, batch: Batch, first_no: int) -> None:
        raw = (await self._connection.get_raw_connection()).driver_connection
        await register_vector(raw)
        rows = (
            (user_id, number, batch.document_ids[place], vector)
            for number, (place, vector) in enumerate(zip(batch.of, batch.vectors, strict=True), first_no)
        )
        assert raw is not None
        await raw.copy_records_to_table(
            "embeddings",
            schema_name=tables.SCHEMA,
            columns=["user_id", "chunk_no", "document_id", "embedding"],
            records=rows,
        )

    async def derive(self, users: Sequence[str]) -> None:
        """Builds the users' postings, document frequencies and statistics from their chunks."""
        await self._run("SET work_mem = '512MB'")
        for user_id in users:
            for name in ("postings", "lexemes", "statistics", "tenants"):
                await self._execute(name, user_id=user_id)
        await self._run("RESET work_mem")

    async def build_indexes(self, *, chunks: int, dimension: int) -> None:
        """Creates the two indexes as the schema defines them and updates the planner's statistics."""
        megabytes = min(64 + chunks * dimension * _BYTES_A_VECTOR // 2**20, 8192)
        await self._run(f"SET maintenance_work_mem = '{megabytes}MB'")
        await self._run("SET max_parallel_maintenance_workers = 2")
        for index in _HEAVY:
            await self._connection.execute(sa.schema.CreateIndex(index))
        await self._run("RESET maintenance_work_mem")
        await self._run("VACUUM (ANALYZE)")
        await self._run("CHECKPOINT")

    async def use(self, plan: Plan) -> None:
        """Applies the planner settings for the textbook statement."""
        for name, value in _PLANS[plan].items():
            await self._run(f"SET {name} = {value}")

    async def textbook(self, user_id: str, query: str, vector: Vector, *, candidates: int, limit: int) -> int:
        """Runs the textbook's hybrid query; returns the number of rows."""
        embedding = vectors.as_text(vector)
        rows = await self._execute(
            "textbook", user_id=user_id, query=query, embedding=embedding, candidates=candidates, limit=limit
        )
        return len(rows)

    async def matches(self, user_id: str, query: str) -> int:
        """Returns how many of the user's chunks a tsquery matches."""
        return int((await self._execute("matches", user_id=user_id, query=query))[0].matches)

    async def nearest(self, vector: Vector, *, candidates: int) -> int:
        """Runs a bare HNSW lookup; returns the number of rows."""
        return len(await self._execute("nearest", embedding=vectors.as_text(vector), candidates=candidates))

    @asynccontextmanager
    async def searching(self, breadth: int) -> AsyncIterator[None]:
        """Sets `hnsw.ef_search` within the block."""
        await self._run(f"SET hnsw.ef_search = {breadth}")
        try:
            yield
        finally:
            await self._run(f"SET hnsw.ef_search = {_SETTINGS['hnsw.ef_search']}")

    async def exact_nearest(self, user_id: str, vector: Vector, *, containing: str, limit: int) -> list[UUID]:
        """Returns the exactly nearest chunks among documents whose metadata contain a JSON object; `{}` means all."""
        embedding = vectors.as_text(vector)
        rows = await self._execute(
            "exact_nearest", user_id=user_id, embedding=embedding, containing=containing, limit=limit
        )
        return [row.chunk_id for row in rows]

    async def exact_bm25(self, user_id: str, query: str, *, limit: int) -> list[tuple[UUID, float]]:
        """Returns the best chunks for an OR query with their BM25 scores, computed without the postings."""
        chunks = tables.chunks.c
        counted = sa.select(sa.func.count(), sa.func.avg(chunks.length)).where(chunks.user_id == user_id)
        number, average = (await self._connection.execute(counted)).one()
        rows = await self._execute(
            "exact_bm25",
            user_id=user_id,
            query=query,
            chunks=number,
            average_length=float(average or 0),
            limit=limit,
        )
        return [(row.chunk_id, row.score) for row in rows]

    async def sample(self, user_id: str, numbers: Sequence[int]) -> list[tuple[str, Vector]]:
        """Returns contents and vectors of the chunks with these numbers."""
        rows = await self._execute("sample_chunks", user_id=user_id, numbers=list(numbers))
        return [(row.content, json.loads(row.embedding)) for row in rows]

    async def chunk_ids(self, user_id: str, numbers: Sequence[int]) -> list[UUID]:
        """Returns the ids of the chunks with these numbers, in their order."""
        ids = sa.text(
            "SELECT c.chunk_id FROM unnest(CAST(:numbers AS bigint[])) WITH ORDINALITY AS n(chunk_no, place)"
            " JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = n.chunk_no ORDER BY n.place"
        )
        return list(await self._connection.scalars(ids, {"user_id": user_id, "numbers": list(numbers)}))

    async def disk(self) -> Disk:
        """Returns the corpus's size on disk."""
        sizes = sa.text(
            "SELECT pg_total_relation_size('stepwell.postings'), pg_relation_size('stepwell.ix_embeddings_embedding'), "
            "pg_relation_size('stepwell.ix_chunks_tsv'), pg_database_size(current_database())"
        )
        return Disk(*(round(size / 2**20, 1) for size in (await self._connection.execute(sizes)).one()))

    async def _execute(self, name: str, **binds: Any) -> Sequence[sa.Row[Any]]:
        result = await self._connection.execute(_statement(name), binds)
        return result.all() if result.returns_rows else ()

    async def _run(self, statement: str) -> None:
        await self._connection.execute(sa.text(statement))


@cache
def _statement(name: str) -> sa.TextClause:
    return sql.parse((FOLDER / f"{name}.sql").read_text(encoding="utf-8")).compiled()


@asynccontextmanager
async def owning(dsn: str) -> AsyncIterator[Owner]:
    """Connects to the database at `dsn` as its owner, with the settings that the service's statements run with."""
    engine = sqlalchemy_engines.create(dsn, pool_size=1, max_overflow=0, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as connection:
            for name, value in _SETTINGS.items():
                await connection.execute(sa.text(f"SET {name} = '{value}'"))
            yield Owner(connection)
    finally:
        await engine.dispose()
