"""Asks the hybrid queries that projects publish as SQL, and the plain ones, over one table of chunks.

The statements have the predicates, ranking functions, candidates and fusion of their source. What differs is named
with each: limits are parameters, and an index that a query could not use is replaced by one that it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import asyncpg

from benchmarks.peers import measure, postgres
from benchmarks.peers.exchange import Material, Order

Rows = list[asyncpg.Record]

TABLE = """
CREATE TABLE documents (
    id bigint PRIMARY KEY,
    content text NOT NULL,
    embedding vector({dimension}) NOT NULL,
    fts tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED
)
"""
COSINE = "CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops)"
INNER_PRODUCT = "CREATE INDEX ON documents USING hnsw (embedding vector_ip_ops)"
STORED_TSV = "CREATE INDEX ON documents USING gin (fts)"
COMPUTED_TSV = "CREATE INDEX ON documents USING gin (to_tsvector('english', content))"

VECTOR_ONLY = """
SELECT id, content FROM documents ORDER BY embedding <=> CAST($1 AS vector) LIMIT $3
"""

# Any word matches, as in most recipes for questions; ts_rank divided by the logarithm of the length (1), which ranks
# better than without.
TS_RANK = """
WITH query AS (SELECT CAST(replace(CAST(plainto_tsquery('english', $2) AS text), '&', '|') AS tsquery) AS words),
by_vector AS (
    SELECT id, row_number() OVER (ORDER BY distance) AS rank
    FROM (SELECT id, embedding <=> CAST($1 AS vector) AS distance FROM documents
          ORDER BY embedding <=> CAST($1 AS vector) LIMIT $4) AS nearest
),
by_text AS (
    SELECT id, row_number() OVER (ORDER BY score DESC, id) AS rank
    FROM (SELECT d.id, ts_rank(d.fts, q.words, 1) AS score FROM documents AS d, query AS q WHERE d.fts @@ q.words
          ORDER BY score DESC, d.id LIMIT $4) AS best
)
SELECT d.id, d.content
FROM by_vector AS v FULL JOIN by_text AS t ON t.id = v.id
JOIN documents AS d ON d.id = coalesce(v.id, t.id)
ORDER BY coalesce(1.0 / (60 + v.rank), 0) + coalesce(1.0 / (60 + t.rank), 0) DESC LIMIT $3
"""

# pgvector-python, examples/hybrid_search/rrf.py: plainto_tsquery (all words), ts_rank_cd, RRF with k = 60. There each
# leg has 20 candidates and the answer 5 rows of ids; here both are parameters, and the texts are read too.
PGVECTOR_RRF = """
WITH by_vector AS (
    SELECT id, rank() OVER (ORDER BY embedding <=> CAST($1 AS vector)) AS rank
    FROM documents ORDER BY embedding <=> CAST($1 AS vector) LIMIT $4
),
by_text AS (
    SELECT id, rank() OVER (ORDER BY ts_rank_cd(to_tsvector('english', content), query) DESC) AS rank
    FROM documents, plainto_tsquery('english', $2) AS query
    WHERE to_tsvector('english', content) @@ query
    ORDER BY ts_rank_cd(to_tsvector('english', content), query) DESC LIMIT $4
)
SELECT d.id, d.content
FROM by_vector AS v FULL JOIN by_text AS t ON t.id = v.id
JOIN documents AS d ON d.id = coalesce(v.id, t.id)
ORDER BY coalesce(1.0 / (60 + v.rank), 0) + coalesce(1.0 / (60 + t.rank), 0) DESC LIMIT $3
"""

# The function of Supabase's guide to hybrid search: websearch_to_tsquery (all words), ts_rank_cd, inner product, legs
# of twice the limit (at most 60), RRF with k = 50. Its vector leg orders by the row number, as here.
SUPABASE = """
WITH by_text AS (
    SELECT id, row_number() OVER (ORDER BY ts_rank_cd(fts, websearch_to_tsquery('english', $2)) DESC) AS rank
    FROM documents WHERE fts @@ websearch_to_tsquery('english', $2)
    ORDER BY rank LIMIT least($3, 30) * 2
),
by_vector AS (
    SELECT id, row_number() OVER (ORDER BY embedding <#> CAST($1 AS vector)) AS rank
    FROM documents ORDER BY rank LIMIT least($3, 30) * 2
)
SELECT d.id, d.content
FROM by_text AS t FULL JOIN by_vector AS v ON v.id = t.id
JOIN documents AS d ON d.id = coalesce(t.id, v.id)
ORDER BY coalesce(1.0 / (50 + t.rank), 0) + coalesce(1.0 / (50 + v.rank), 0) DESC LIMIT least($3, 30)
"""

# R2R 3.6, core/providers/database/chunks.py: two queries and a fusion in Python. The text leg is websearch_to_tsquery
# (all words) with ts_rank 32 and a limit of 200; the vector leg has as many rows as the answer.
R2R_VECTOR = VECTOR_ONLY
R2R_TEXT = """
SELECT id, content, ts_rank(fts, websearch_to_tsquery('english', $1), 32) AS rank
FROM documents WHERE fts @@ websearch_to_tsquery('english', $1) ORDER BY rank DESC LIMIT $2
"""
R2R_TEXT_LIMIT, R2R_K, R2R_VECTOR_WEIGHT, R2R_TEXT_WEIGHT = 200, 50, 5.0, 1.0


def fuse_r2r(by_vector: Rows, by_text: Rows, limit: int) -> list[int]:
    """Returns R2R's weighted RRF: a chunk that is absent from a leg gets the last rank of that leg's limit."""
    vector_ranks = {int(row["id"]): rank for rank, row in enumerate(by_vector, 1)}
    text_ranks = {int(row["id"]): rank for rank, row in enumerate(by_text, 1)}

    def score(number: int) -> float:
        vector_rank = vector_ranks.get(number, limit)
        text_rank = text_ranks.get(number, R2R_TEXT_LIMIT)
        return R2R_VECTOR_WEIGHT / (R2R_K + vector_rank) + R2R_TEXT_WEIGHT / (R2R_K + text_rank)

    return sorted(vector_ranks | text_ranks, key=score, reverse=True)[:limit]


@dataclass(frozen=True, slots=True)
class Published:
    """A statement with the parameters vector, question, limit and candidates, as many as it has, and its indexes."""

    statement: str
    indexes: tuple[str, ...]
    parameters: int = 4


STATEMENTS = {
    "vector": Published(VECTOR_ONLY.replace("$3", "$2"), (COSINE,), 2),
    "ts_rank": Published(TS_RANK, (COSINE, STORED_TSV)),
    "pgvector": Published(PGVECTOR_RRF, (COSINE, COMPUTED_TSV)),
    "supabase": Published(SUPABASE, (INNER_PRODUCT, STORED_TSV), 3),
    "r2r": Published(R2R_VECTOR.replace("$3", "$2"), (COSINE, STORED_TSV), 2),
}


class PostgresSql:
    """One table of chunks, asked by one of the statements on one connection with `hnsw.ef_search` = candidates."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._published = STATEMENTS[order.variant]
        self._connection: asyncpg.Connection | None = None

    async def store(self, material: Material) -> None:
        """Inserts the chunks and creates the indexes afterwards, as pgvector's documentation advises."""
        connection = self._connection = await asyncpg.connect(self._order.dsn)
        dimension = material.chunk_vectors.shape[1]
        await connection.execute(TABLE.format(dimension=dimension))
        await connection.set_type_codec("vector", encoder=str, decoder=str, schema="public")
        vectors = map(postgres.as_text, material.chunk_vectors.tolist())
        rows = zip(range(len(material.chunks)), material.chunks, vectors, strict=True)
        await connection.executemany("INSERT INTO documents (id, content, embedding) VALUES ($1, $2, $3)", rows)
        for index in self._published.indexes:
            await connection.execute(index)
        await connection.execute(f"SET hnsw.ef_search = {int(self._order.candidates)}")

    async def settle(self) -> None:
        """Vacuums and analyses the table."""
        await postgres.settle(self._order.dsn)

    async def ask(self, question: str, vector: list[float]) -> list[int]:
        """Runs the statement."""
        order, text = self._order, postgres.as_text(vector)
        if self._published.parameters == 2:
            rows = await self._fetch(self._published.statement, text, order.limit)
        else:
            parameters = (text, question, order.limit, order.candidates)[: self._published.parameters]
            rows = await self._fetch(self._published.statement, *parameters)
        if order.variant == "r2r":
            return fuse_r2r(rows, await self._fetch(R2R_TEXT, question, R2R_TEXT_LIMIT), order.limit)
        return [int(row["id"]) for row in rows]

    async def _fetch(self, statement: str, *parameters: Any) -> Rows:
        assert self._connection is not None
        return list(await self._connection.fetch(statement, *parameters))

    async def size(self) -> int:
        """Returns the bytes of the table and its indexes."""
        return await postgres.size(self._order.dsn)


create: Callable[[Order], PostgresSql] = PostgresSql

if __name__ == "__main__":
    measure.main(create, "asyncpg")
