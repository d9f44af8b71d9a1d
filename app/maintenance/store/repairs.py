"""Compares derived rows with the stored texts and rewrites those that differ.

Comparisons read without a lock; every function that writes runs under the user's lock and allows for documents that
were stored or deleted since the comparison.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from app.database import sql, vectors
from app.database.schema import tables
from app.database.transactions import Reading, SharedTransaction, Writing
from app.database.vectors import VectorValue
from app.documents.store import hidden_chunks
from app.entities.store.mentions import Mention
from app.entities.store.titles_and_headings import HeadingChunk

_c = tables.chunks.c
_d = tables.documents.c
_h = tables.headings.c
_m = tables.mentions.c
_t = tables.tenants.c


@dataclass(frozen=True, slots=True)
class Text:
    """A stored chunk with the input of its derived rows; `filename` is the value of this key in the metadata.

    `content` is empty if the chunk is the document's title.
    """

    chunk_no: int
    embedding_key: UUID
    config: str
    title: str
    filename: object
    heading_path: tuple[str, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Drift:
    """The amounts to add to the statistics of a text-search configuration."""

    config: str
    chunks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Postings:
    """The correct postings of a lexeme, empty if no chunk contains it, in the chunks before number `since`."""

    lexeme: str
    items: Sequence[int]
    since: int


async def users(db: SharedTransaction) -> list[str]:
    """Every user who has ever stored anything. Requires the database's owner."""
    return list(await db.scalars(sa.select(_t.user_id).order_by(_t.user_id)))


async def next_chunk_no(db: Reading) -> int:
    """The number of the user's next chunk; 1 for a user who never stored anything."""
    return await db.scalar(sa.select(_t.next_chunk_no).where(_t.user_id == db.user_id)) or 1


async def count_chunks(db: Reading) -> int:
    """How many chunks the user has."""
    return await db.scalar(sa.select(sa.func.count()).where(_c.user_id == db.user_id)) or 0


async def texts(db: Reading, *, after: int, limit: int) -> list[Text]:
    """Chunks with numbers above `after`, in ascending order."""
    return await _texts(db, _c.chunk_no > after, limit)


async def texts_without_vector(
    db: Reading, *, after: int, limit: int, table: Literal["embeddings", "embeddings_next"] = "embeddings"
) -> list[Text]:
    """Chunks without a vector in a table and with numbers above `after`, in ascending order."""
    e = sa.table(table, sa.column("user_id"), sa.column("chunk_no"), schema="stepwell").c
    vector = sa.select(e.chunk_no).where(e.user_id == db.user_id, e.chunk_no == _c.chunk_no)
    return await _texts(db, sa.and_(_c.chunk_no > after, ~vector.exists()), limit)


_WRONG_TEXTS = sql.inline(
    """
    SELECT c.chunk_no
    FROM unnest(:chunk_nos::bigint[], :indexed::text[]) AS g (chunk_no, indexed)
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = g.chunk_no
    CROSS JOIN LATERAL (SELECT {{labelled_words c.config, g.indexed}} AS words) AS w
    WHERE c.tsv IS DISTINCT FROM stepwell.with_characters(w.words)
       OR c.length <> (SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(w.words) AS t)
    """
)


async def wrong_texts(db: Reading, indexed: Mapping[int, str]) -> list[int]:
    """The numbers of the chunks whose tsvector or length does not follow from the text to index."""
    binds = {"user_id": db.user_id, "chunk_nos": list(indexed), "indexed": list(indexed.values())}
    return list(await db.scalars(_WRONG_TEXTS, binds))


async def rewrite_texts(db: Writing, indexed: Sequence[tuple[int, str]]) -> None:
    """Rewrite the tsvector and the length of chunks from the texts to index. Under the user's lock."""
    numbers, texts_of = zip(*indexed, strict=True)
    binds = {"user_id": db.user_id, "chunk_nos": list(numbers), "indexed": list(texts_of)}
    await db.execute(sql.statement("repair_texts"), binds)


async def wrong_postings(db: Reading, *, slice_no: int, slices: int) -> list[Postings]:
    """The lexemes of a slice (by hash) whose postings or frequency disagree with the chunks' tsvectors.

    Empty while there are postings of chunks that are not visible.
    """
    if await hidden_chunks.exist(db):
        return []
    since = await next_chunk_no(db)
    binds = {"user_id": db.user_id, "slice": slice_no, "slices": slices}
    rows = await db.execute(sql.statement("repair_wrong_postings"), binds)
    return [Postings(row.lexeme, row.correct, since) for row in rows]


async def rewrite_postings(db: Writing, wrong: Sequence[Postings]) -> None:
    """Replace the postings of lexemes that were read together, unless there are chunks that are not visible.

    Under the user's lock.
    """
    if await hidden_chunks.exist(db):
        return
    lexemes = [one.lexeme for one in wrong]
    p = tables.postings.c
    named = p.lexeme == sa.any_(sa.literal(lexemes, sa.ARRAY(sa.Text)))
    await db.execute(sa.delete(tables.postings).where(p.user_id == db.user_id, named))
    binds = {
        "lexemes": lexemes,
        "owners": [one.lexeme for one in wrong for _ in one.items],
        "items": list(itertools.chain.from_iterable(one.items for one in wrong)),
        "since": wrong[0].since,
    }
    await db.execute(sql.statement("repair_postings"), {"user_id": db.user_id, **binds})


async def drift(db: Reading) -> list[Drift]:
    """The differences between the user's text statistics and the chunks, by configuration.

    Empty while the statistics include chunks that are not visible.
    """
    if await hidden_chunks.exist(db):
        return []
    rows = await db.execute(sql.statement("repair_drift"), {"user_id": db.user_id})
    return [Drift(**row._mapping) for row in rows]


async def add_drift(db: Writing, _found: Sequence[Drift]) -> None:
    """Add the differences to the user's text statistics. Another repair may have added those that were found before.

    Under the user's lock.
    """
    if not (found := await drift(db)):
        return
    rows = [{"user_id": db.user_id, **dataclasses.asdict(one)} for one in found]
    add = postgresql.insert(tables.text_statistics).values(rows)
    sums = {name: tables.text_statistics.c[name] + add.excluded[name] for name in ("chunks", "tokens")}
    await db.execute(add.on_conflict_do_update(index_elements=["user_id", "config"], set_=sums))


_ADD_VECTORS = sql.inline("{{insert_vectors stepwell.embeddings}}")
_ADD_NEXT_VECTORS = sql.inline("{{insert_vectors stepwell.embeddings_next}}")


async def add_vectors(db: Writing, by_chunk: Mapping[int, VectorValue], *, of_next: bool = False) -> None:
    """Store vectors of chunks that have none: of the model in use, or with `of_next` of the next model.

    Under the user's lock.
    """
    binds = {"user_id": db.user_id, "chunk_nos": list(by_chunk), "vectors": vectors.as_texts(by_chunk.values())}
    await db.execute(_ADD_NEXT_VECTORS if of_next else _ADD_VECTORS, binds)


async def document_ids(db: Reading) -> list[UUID]:
    """The user's documents."""
    return list(await db.scalars(sa.select(_d.document_id).where(_d.user_id == db.user_id).order_by(_d.document_id)))


async def read_names(db: Reading, document_id: UUID) -> tuple[set[Mention], set[HeadingChunk]]:
    """The stored mentions and headings of a document."""
    mentions = sa.select(_m.entity_id, _m.chunk_no, _m.document_id, _m.kind, _m.count)
    headings = sa.select(_h.entity_id, _h.section_no, _h.chunk_no, _h.document_id)
    mentioned = await db.execute(mentions.where(_m.user_id == db.user_id, _m.document_id == document_id))
    headed = await db.execute(headings.where(_h.user_id == db.user_id, _h.document_id == document_id))
    return {Mention(*row) for row in mentioned}, {HeadingChunk(*row) for row in headed}


async def _texts(db: Reading, condition: sa.ColumnElement[bool], limit: int) -> list[Text]:
    some = sa.select(tables.chunks).where(_c.user_id == db.user_id, condition).order_by(_c.chunk_no).limit(limit)
    chunk = some.subquery().c
    content = sa.case((chunk.end_offset == 0, ""), else_=chunk.content).label("content")
    filename = _d.metadata["filename"].label("filename")
    columns = (chunk.chunk_no, chunk.embedding_key, chunk.config, _d.title, filename)
    query = sa.select(*columns, chunk.heading_path, content).where(
        _d.user_id == db.user_id, _d.document_id == chunk.document_id
    )
    rows = await db.execute(query.order_by(chunk.chunk_no))
    return [Text(**{**row._mapping, "heading_path": tuple(row.heading_path)}) for row in rows]
