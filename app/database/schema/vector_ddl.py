"""The statements that create, switch and drop the tables of vectors, as the database's owner.

Vectors are stored as `halfvec`, with 16 bits a number. Tables that an earlier version created have `vector`, with 32
bits, which pgvector indexes up to 2,000 dimensions only; they keep it until the model is replaced.
"""

from __future__ import annotations

from app.database.schema import tables

MOST_VECTOR, MOST_HALFVEC = 2_000, 4_000
"""The largest numbers of dimensions that an HNSW index allows."""
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
"""Indexes with the key's, whose names are unique in a schema; the names of other constraints are unique in a table."""
NEXT = tuple(f"{base}_next" for base in _COLUMNS)
LOCK_WRITES = "LOCK TABLE stepwell.embeddings IN SHARE ROW EXCLUSIVE MODE"
"""Waits for writers to end; searches go on."""
LOCK_ALL = """
LOCK TABLE stepwell.embeddings, stepwell.embeddings_next, stepwell.entity_vectors, stepwell.entity_vectors_next,
    stepwell.chunks, stepwell.entities IN ACCESS EXCLUSIVE MODE
"""
"""Waits for searches to end, the table that they lock first included; others wait for this transaction meanwhile."""
DROP = ("DROP TABLE stepwell.embeddings_next", "DROP TABLE stepwell.entity_vectors_next")


def create(dimension: int) -> list[str]:
    """The statements that create the empty tables for vectors of another model."""
    statements = []
    for base, lines in _COLUMNS.items():
        table = f"{base}_next"
        shared = f"user_id TEXT NOT NULL, CONSTRAINT ck_{base}_user_id CHECK (user_id <> ''),"
        body = lines.format(table=table, type=f"halfvec({dimension})")
        statements += [
            f"CREATE TABLE stepwell.{table} ({shared}{body})",
            f"ALTER TABLE stepwell.{table} ALTER COLUMN embedding SET STORAGE MAIN",
            hnsw(table),
            f"ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY",
            _POLICY.format(table=table),
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.{table} TO stepwell_service",
            _VISIBLE.format(base=base, table=table, condition=_CONDITIONS[base].format(table=table)),
        ]
    return [
        *statements,
        "CREATE INDEX ix_embeddings_next_user_id_document_id ON stepwell.embeddings_next (user_id, document_id)",
    ]


def hnsw(table: str) -> str:
    """The statement that creates the HNSW index of a table."""
    key = "embedding halfvec_cosine_ops"
    return f"CREATE INDEX ix_{table}_embedding ON stepwell.{table} USING hnsw ({key}) WITH ({_HNSW})"


def switch() -> list[str]:
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
