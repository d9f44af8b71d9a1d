"""Stores the vectors of another model beside those in use, and switches to it.

The owner creates the tables, compares them and switches; the service's role fills them, one user at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.database import sql, vector_tables, vectors
from app.database.schema import distribution, tables, vector_ddl
from app.database.transactions import Database, Reading, SharedTransaction, Transaction, Writing
from app.database.vector_tables import VectorTables
from app.database.vectors import VectorValue

SWITCH_LOCK = "SET LOCAL lock_timeout = '500ms'"
"""Less than the time after which Postgres looks for a deadlock, and a short wait for the searches behind it."""
_i, _t = tables.embedding_identity.c, tables.embedding_target.c


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model whose vectors are stored in the table with the object id `table`.

    `keyed_by` is the name of the model that the keys of chunks' vectors contain.
    """

    model: str
    dimension: int
    table: int
    keyed_by: str = ""

    @property
    def name(self) -> tuple[str, int]:
        """The model and its dimension, which identify it."""
        return self.model, self.dimension


def refusal(stored: tuple[str, int], configured: Sequence[tuple[str, int]]) -> str:
    """The message for vectors of a model that is not configured."""
    asked = " and ".join(f"{model} ({dimension})" for model, dimension in configured)
    return (
        f"The stored vectors come from {stored[0]} ({stored[1]} dimensions), the settings ask for {asked}: set "
        f"STEPWELL_EMBEDDER or STEPWELL_NEXT_EMBEDDER to {stored[0]}. To change the model, name the new one in "
        "STEPWELL_NEXT_EMBEDDER and run `stepwell reembed`."
    )


async def read_stored(db: Database) -> StoredModel:
    """The model whose vectors are searched."""
    async with db.shared() as connection:
        found = await _lock(connection)
        # A statement of its own sees what was committed before the lock was granted.
        row = (await connection.execute(sa.select(_i.model, _i.dimension, _i.keyed_by))).one()
    return StoredModel(row.model, row.dimension, found.current, row.keyed_by or row.model)


async def target(db: Transaction) -> StoredModel | None:
    """The other model whose vectors are being computed, as a user's or the owner's transaction sees it."""
    found = await _lock(db)
    row = (await db.execute(sa.select(_t.model, _t.dimension))).one_or_none()
    return StoredModel(row.model, row.dimension, found.next) if row is not None and found.next else None


async def _lock(db: Transaction) -> VectorTables:
    return VectorTables(*await db.scalar(sa.text(f"SELECT {vector_tables.READS}")))


_DESCRIPTIONS = sql.inline(
    """
    SELECT e.entity_id, {{description_of_entity e}} AS text
    FROM stepwell.entities AS e
    WHERE e.user_id = :user_id AND e.origin = 'user' AND {{description_of_entity e}} <> ''
      AND NOT EXISTS (
          SELECT FROM stepwell.entity_vectors_next AS n
          WHERE n.user_id = :user_id AND n.entity_id = e.entity_id)
    ORDER BY e.entity_id
    LIMIT :limit
    """,
    user_id="text",
    limit="bigint",
)


async def descriptions(db: Reading, *, limit: int) -> dict[UUID, str]:
    """The descriptions of some entities without a vector of the other model."""
    rows = await db.execute(_DESCRIPTIONS, {"user_id": db.user_id, "limit": limit})
    return {row.entity_id: row.text for row in rows}


_ADD_DESCRIPTIONS = sql.inline(
    """
    INSERT INTO stepwell.entity_vectors_next (user_id, entity_id, embedding)
    SELECT :user_id, e.entity_id, {{stored_vector stepwell.entity_vectors_next, g.embedding}}
    FROM unnest(:entity_ids, :texts, :vectors) AS g (entity_id, text, embedding)
    JOIN stepwell.entities AS e
      ON e.user_id = :user_id AND e.entity_id = g.entity_id AND {{description_of_entity e}} = g.text
    ON CONFLICT (user_id, entity_id) DO NOTHING
    """,
    user_id="text",
    entity_ids="uuid[]",
    texts="text[]",
    vectors="text[]",
)


async def add_descriptions(
    db: Writing, by_entity: Mapping[UUID, VectorValue], *, described: Mapping[UUID, str]
) -> None:
    """Store vectors of the other model; entities with another description by now are skipped. Under the user's lock."""
    binds = {
        "entity_ids": list(by_entity),
        "texts": [described[entity_id] for entity_id in by_entity],
        "vectors": vectors.as_texts(by_entity.values()),
    }
    await db.execute(_ADD_DESCRIPTIONS, {"user_id": db.user_id, **binds})


_ADD_DOCUMENTS = sql.inline(
    """
    INSERT INTO stepwell.embeddings_next (user_id, chunk_no, document_id, embedding)
    SELECT :user_id, c.chunk_no, c.document_id, {{stored_vector stepwell.embeddings_next, g.embedding}}
    FROM unnest(:embedding_keys, :vectors) AS g (embedding_key, embedding)
    JOIN stepwell.chunks AS c
      ON c.user_id = :user_id AND c.document_id = ANY (:document_ids) AND c.embedding_key = g.embedding_key
    ON CONFLICT (user_id, chunk_no) DO NOTHING
    """,
    user_id="text",
    document_ids="uuid[]",
    embedding_keys="uuid[]",
    vectors="text[]",
)


async def add_documents(
    db: Writing, document_ids: Sequence[UUID], by_key: Mapping[UUID, VectorValue], *, table: int
) -> None:
    """Store vectors of the other model with the chunks of documents, unless `table` is not the one being filled."""
    if not by_key or db.vector_tables.next != table:
        return
    binds = {"user_id": db.user_id, "document_ids": list(document_ids)}
    binds |= {"embedding_keys": list(by_key), "vectors": vectors.as_texts(by_key.values())}
    await db.execute(_ADD_DOCUMENTS, binds)


async def begin(owner: Database, model: str, dimension: int) -> None:
    """Create the empty tables for another model. Raises Busy while writers or searches keep their locks."""
    async with owner.shared() as connection:
        await _run(connection, SWITCH_LOCK, *vector_ddl.create(dimension))
        await connection.run_sync(distribution.extend)
        await connection.execute(sa.insert(tables.embedding_target).values(model=model, dimension=dimension))


async def gaps(db: SharedTransaction) -> dict[str, int]:
    """The users with chunks or entities without a vector of the other model, and the numbers of these chunks.

    `db` is the owner's.
    """
    return {row.user_id: row.chunks for row in await db.execute(sql.statement("reembed_gaps"))}


async def analyze(owner: Database) -> None:
    """Let the planner know the size of the new tables, which decides between an exact scan and the index."""
    async with owner.shared() as connection:
        await _run(connection, *(f"ANALYZE stepwell.{table}" for table in vector_ddl.NEXT))


async def switch(owner: Database) -> bool:
    """Replace the tables in use by the filled ones; false if vectors are missing, and nothing has changed then.

    Writers wait while gaps are looked for, searches only while tables are renamed. Raises Busy.
    """
    async with owner.shared() as connection:
        await _run(connection, SWITCH_LOCK, vector_ddl.LOCK_WRITES)
        if await gaps(connection):
            return False
        await _run(connection, vector_ddl.LOCK_ALL, *vector_ddl.switch())
        t = (await connection.execute(sa.select(_t.model, _t.dimension))).one()
        keyed_by = sa.func.coalesce(_i.keyed_by, _i.model)
        named = {"model": t.model, "dimension": t.dimension, "keyed_by": keyed_by}
        await connection.execute(sa.update(tables.embedding_identity).values(named))
        await connection.execute(sa.delete(tables.embedding_target))
        # Cursors were made for the order that the previous model gave.
        version = tables.tenants.c.version
        await connection.execute(sa.update(tables.tenants).values(version=version + 1))
        staged = tables.staged_chunks
        await connection.execute(sa.update(staged).where(staged.c.embedding.is_not(None)).values(embedding=None))
    return True


async def abandon(owner: Database) -> None:
    """Drop the tables of the other model. Raises Busy."""
    async with owner.shared() as connection:
        await _run(connection, SWITCH_LOCK, vector_ddl.LOCK_ALL, *vector_ddl.DROP)
        await connection.execute(sa.delete(tables.embedding_target))


async def _run(connection: Transaction, *statements: str) -> None:
    for statement in statements:
        await connection.execute(sa.text(statement))
