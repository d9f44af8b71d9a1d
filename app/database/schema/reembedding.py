"""Stores the vectors of another model beside those in use, and switches to it.

The owner creates the tables, compares them and switches; the service's role fills them, one user at a time. Vectors are
stored as `halfvec`, with 16 bits a number. Tables that an earlier version created have `vector`, with 32 bits, which
pgvector indexes up to 2,000 dimensions only; they keep it until the model is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa

from app.database import pools, sql, vectors
from app.database.pools import VectorTables
from app.database.schema import citus, tables
from app.database.transactions import Database, Reading, SharedTransaction, Transaction, Writing
from app.database.vectors import VectorValue

STOP_VACUUM = """
LOCK TABLE stepwell.embeddings, stepwell.entity_vectors, stepwell.chunks, stepwell.entities
    IN SHARE UPDATE EXCLUSIVE MODE
"""
"""An automatic VACUUM of a large graph takes minutes. It gives way to a lock that has waited for it for a second, after
which Postgres checks for deadlocks. Neither searches nor writers wait for this lock."""
SWITCH_LOCK = "SET LOCAL lock_timeout = '500ms'"
"""Shorter than the time after which Postgres checks for deadlocks. Searches that queue behind it wait only briefly."""
_HNSW = ", ".join(f"{name} = {value}" for name, value in tables.HNSW.items())
_POLICY = """
CREATE POLICY own_rows ON stepwell.{table}
USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
"""
# Only where the table in use has the policy.
_VISIBLE = """
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_policy WHERE polrelid = 'stepwell.{base}'::regclass AND polname = 'visible') THEN
        CREATE POLICY visible ON stepwell.{table} AS RESTRICTIVE TO stepwell_restricted USING ({condition});
        GRANT SELECT ON stepwell.{table} TO stepwell_restricted;
    END IF;
END
$$
"""
_CONDITIONS = {
    "embeddings": """CASE
        WHEN (SELECT NULLIF(current_setting('stepwell.visible_documents', true), '') IS NOT NULL)
        THEN document_id IN (
            SELECT unnest(CAST(NULLIF(current_setting('stepwell.visible_documents', true), '') AS uuid[])))
        ELSE (SELECT true FROM stepwell.documents AS d
              WHERE d.user_id = {table}.user_id AND d.document_id = {table}.document_id LIMIT 1) END""",
    "entity_vectors": """(SELECT current_setting('stepwell.shows_entities', true) = 'true')
        AND (SELECT true FROM stepwell.entities AS e
        WHERE e.user_id = {table}.user_id AND e.entity_id = {table}.entity_id LIMIT 1)""",
}
_COLUMNS = {
    "embeddings": """
        chunk_no BIGINT NOT NULL,
        document_id UUID NOT NULL,
        embedding {type} NOT NULL,
        CONSTRAINT pk_{table} PRIMARY KEY (user_id, chunk_no),
        CONSTRAINT fk_embeddings_chunks FOREIGN KEY (user_id, chunk_no)
            REFERENCES stepwell.chunks (user_id, chunk_no) ON DELETE CASCADE
        """,
    "entity_vectors": """
        entity_id UUID NOT NULL,
        embedding {type} NOT NULL,
        CONSTRAINT pk_{table} PRIMARY KEY (user_id, entity_id),
        CONSTRAINT fk_entity_vectors_entities FOREIGN KEY (user_id, entity_id)
            REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
        """,
}
_INDEXES = {
    "embeddings": ("pk_{table}", "ix_{table}_embedding", "ix_{table}_user_id_document_id"),
    "entity_vectors": ("pk_{table}", "ix_{table}_embedding"),
}
"""Indexes, including the key's. Their names are unique in a schema; names of other constraints only in a table."""
_LOCK_WRITES = "LOCK TABLE stepwell.embeddings IN SHARE ROW EXCLUSIVE MODE"
"""Waits until writers end. Searches continue."""
_LOCK_ALL = """
LOCK TABLE stepwell.embeddings, stepwell.embeddings_next, stepwell.entity_vectors, stepwell.entity_vectors_next,
    stepwell.chunks, stepwell.entities IN ACCESS EXCLUSIVE MODE
"""
"""Waits until searches end, also on the table that they lock first. New searches wait for this transaction."""
_DROP = ("DROP TABLE stepwell.embeddings_next", "DROP TABLE stepwell.entity_vectors_next")
_i, _t = tables.embedding_identity.c, tables.embedding_target.c


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model whose vectors are stored in the table with the object id `table`.

    `keyed_by` is the model's name in the embedding keys of chunks. It stays the same when the model is replaced.
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
        f"STEPWELL_EMBEDDER back to what gives {stored[0]}. To change the model, name the new one in "
        "STEPWELL_NEXT_EMBEDDER and run `stepwell reembed`."
    )


async def read_stored(db: Database) -> StoredModel:
    """The model whose vectors are searched."""
    async with db.shared() as connection:
        found = await _lock(connection)
        # A separate statement sees what was committed before the lock was granted.
        row = (await connection.execute(sa.select(_i.model, _i.dimension, _i.keyed_by))).one()
    return StoredModel(row.model, row.dimension, found.current, row.keyed_by or row.model)


async def target(db: Transaction) -> StoredModel | None:
    """The other model whose vectors are being computed, as a user's or the owner's transaction sees it."""
    found = await _lock(db)
    row = (await db.execute(sa.select(_t.model, _t.dimension))).one_or_none()
    return StoredModel(row.model, row.dimension, found.next) if row is not None and found.next else None


async def _lock(db: Transaction) -> VectorTables:
    return VectorTables(*await db.scalar(sa.text(f"SELECT {pools.READ_VECTORS}")))


_DESCRIPTIONS = sql.inline(
    """
    SELECT e.entity_id, {{description_of_entity e}} AS text
    FROM stepwell.entities AS e
    WHERE e.user_id = :user_id AND e.origin = 'user' AND {{description_of_entity e}} <> ''
      AND NOT EXISTS (
          SELECT FROM stepwell.entity_vectors_next AS n
          WHERE n.user_id = :user_id AND n.entity_id = e.entity_id)
    ORDER BY e.entity_id
    LIMIT :limit::bigint
    """
)


async def descriptions(db: Reading, *, limit: int) -> dict[UUID, str]:
    """The descriptions of some entities without a vector of the other model."""
    rows = await db.execute(_DESCRIPTIONS, {"user_id": db.user_id, "limit": limit})
    return {row.entity_id: row.text for row in rows}


_ADD_DESCRIPTIONS = sql.inline(
    """
    INSERT INTO stepwell.entity_vectors_next (user_id, entity_id, embedding)
    SELECT :user_id, e.entity_id, {{stored_vector stepwell.entity_vectors_next, g.embedding}}
    FROM unnest(:entity_ids::uuid[], :texts::text[], :vectors::text[]) AS g (entity_id, text, embedding)
    JOIN stepwell.entities AS e
      ON e.user_id = :user_id AND e.entity_id = g.entity_id AND {{description_of_entity e}} = g.text
    ON CONFLICT (user_id, entity_id) DO NOTHING
    """
)


async def add_descriptions(
    db: Writing, by_entity: Mapping[UUID, VectorValue], *, described: Mapping[UUID, str]
) -> None:
    """Store vectors of the other model. Skips entities whose description has changed. Under the user's lock."""
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
    FROM unnest(:embedding_keys::uuid[], :vectors::text[]) AS g (embedding_key, embedding)
    JOIN stepwell.chunks AS c
      ON c.user_id = :user_id AND c.document_id = ANY (:document_ids::uuid[]) AND c.embedding_key = g.embedding_key
    ON CONFLICT (user_id, chunk_no) DO NOTHING
    """
)


async def add_documents(
    db: Writing, document_ids: Sequence[UUID], by_key: Mapping[UUID, VectorValue], *, table: int
) -> None:
    """Store vectors of the other model for the chunks of documents, if `table` is still the one being filled."""
    if not by_key or db.vector_tables.next != table:
        return
    binds = {"user_id": db.user_id, "document_ids": list(document_ids)}
    binds |= {"embedding_keys": list(by_key), "vectors": vectors.as_texts(by_key.values())}
    await db.execute(_ADD_DOCUMENTS, binds)


async def begin(owner: Database, model: str, dimension: int) -> None:
    """Create the empty tables for another model. Raises Busy while writers or searches keep their locks."""
    async with owner.shared() as connection:
        await _run(connection, STOP_VACUUM, SWITCH_LOCK, *_create(dimension))
        await connection.run_sync(citus.extend)
        await connection.execute(sa.insert(tables.embedding_target).values(model=model, dimension=dimension))


async def gaps(db: SharedTransaction) -> dict[str, int]:
    """The users with chunks or entities without a vector of the other model, and the numbers of these chunks.

    `db` is the owner's.
    """
    return {row.user_id: row.chunks for row in await db.execute(sql.statement("reembed_gaps"))}


async def analyze(owner: Database) -> None:
    """Give the planner the size of the new tables. It decides between an exact scan and the index."""
    async with owner.shared() as connection:
        await _run(connection, *(f"ANALYZE stepwell.{table}" for table in tables.NEXT))


async def switch(owner: Database) -> bool:
    """Replace the tables in use by the filled ones. Returns false, without a change, if vectors or tables are missing.

    Writers wait during the search for gaps; searches wait only while tables are renamed. Raises Busy.
    """
    async with owner.shared() as connection:
        await _run(connection, STOP_VACUUM, SWITCH_LOCK, _LOCK_WRITES)
        if await target(connection) is None or await gaps(connection):
            return False
        await _run(connection, _LOCK_ALL, *_switch())
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
        await _run(connection, STOP_VACUUM, SWITCH_LOCK, _LOCK_ALL, *_DROP)
        await connection.execute(sa.delete(tables.embedding_target))


async def _run(connection: Transaction, *statements: str) -> None:
    for statement in statements:
        await connection.execute(sa.text(statement))


def _create(dimension: int) -> list[str]:
    """The statements that create the empty tables for vectors of another model."""
    statements = []
    for base, lines in _COLUMNS.items():
        table = f"{base}_next"
        shared = f"user_id TEXT NOT NULL, CONSTRAINT ck_{base}_user_id CHECK (user_id <> ''),"
        body = lines.format(table=table, type=f"halfvec({dimension})")
        statements += [
            f"CREATE TABLE stepwell.{table} ({shared}{body})",
            f"ALTER TABLE stepwell.{table} ALTER COLUMN embedding SET STORAGE MAIN",
            f"CREATE INDEX ix_{table}_embedding ON stepwell.{table} "
            f"USING hnsw (embedding halfvec_cosine_ops) WITH ({_HNSW})",
            f"ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY",
            _POLICY.format(table=table),
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.{table} TO stepwell_service",
            _VISIBLE.format(base=base, table=table, condition=_CONDITIONS[base].format(table=table)),
        ]
    return [
        *statements,
        "CREATE INDEX ix_embeddings_next_user_id_document_id ON stepwell.embeddings_next (user_id, document_id)",
    ]


def _switch() -> list[str]:
    """The statements that replace the tables in use by the others, with the names of their indexes."""
    statements = []
    for base in _COLUMNS:
        new = f"{base}_next"
        statements += [f"DROP TABLE stepwell.{base}", f"ALTER TABLE stepwell.{new} RENAME TO {base}"]
        statements += [
            f"ALTER INDEX stepwell.{name.format(table=new)} RENAME TO {name.format(table=base)}"
            for name in _INDEXES[base]
        ]
    return statements
