"""Stores documents with given chunks and runs the hybrid statement, without chunking and without a model."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

import pytest

from app.database import vectors
from app.database.filter_types import Filters
from app.database.transactions import Database, Writing
from app.documents.store import document_puts
from app.documents.types import ChunkDraft, DocumentDraft
from app.enums import Vector
from app.query.search_types import HybridRequest, HybridResult, LexicalQuery, Weights
from app.search.store import hybrid_search
from app.text.chunking import Passage
from app.text.queries.parsed_query import IndexText
from app.text.words import tsvector_text
from benchmarks.fake_embedder import FakeEmbedder


def draft(
    *texts: str,
    uri: str | None = None,
    title: str = "",
    metadata: dict[str, Any] | None = None,
    config: str = "english",
    created_at: datetime | None = None,
) -> DocumentDraft:
    """A document with exactly the chunks `texts`; without a uri, every call makes another document."""
    whole = "\n".join(texts)
    attributes = json.dumps([title, metadata, config, str(created_at)], sort_keys=True)
    return DocumentDraft(
        uri=uri,
        title=title,
        content=whole,
        metadata=metadata or {},
        config=config,
        created_at=created_at,
        identity=hashlib.sha256((uri or str(uuid4())).encode()).digest(),
        content_hash=hashlib.sha256(whole.encode()).digest(),
        attributes_hash=hashlib.sha256(attributes.encode()).digest(),
        chunks=tuple(_chunk(text, config) for text in texts),
    )


def _chunk(text: str, config: str) -> ChunkDraft:
    passage = Passage(text, 0, len(text))
    return ChunkDraft(passage, text, tsvector_text.index_text(text, config), config, uuid5(NAMESPACE_OID, text))


async def store(
    db: Database, user_id: str, new: DocumentDraft, *, embedded: Sequence[Vector] | None = None, embedder: FakeEmbedder
) -> UUID:
    """Store a draft; its vectors are `embedded` or, by default, the embedder's."""
    return (await store_all(db, user_id, [new], embedded=embedded, embedder=embedder))[0]


async def store_all(
    db: Database,
    user_id: str,
    new: Sequence[DocumentDraft],
    *,
    embedded: Sequence[Vector] | None = None,
    embedder: FakeEmbedder,
) -> list[UUID]:
    """Store drafts in one transaction, which takes a third less time than one for each of them."""
    async with db.writing(user_id) as writing:
        return await put(writing, new, embedded=embedded, embedder=embedder)


async def put(
    writing: Writing, new: Sequence[DocumentDraft], *, embedded: Sequence[Vector] | None = None, embedder: FakeEmbedder
) -> list[UUID]:
    """The same in a transaction that is open."""
    chunks = [chunk for draft in new for chunk in draft.chunks]
    if embedded is None:
        embedded = await embedder.embed_documents([chunk.embedded for chunk in chunks])
    by_key = {chunk.embedding_key: vectors.as_text(vector) for chunk, vector in zip(chunks, embedded, strict=True)}
    done, _replaced = await document_puts.put(writing, new, vectors_by_key=by_key)
    return [one.document_id for one in done]


def request(
    user_id: str,
    words: str | None = None,
    vector: Vector | None = None,
    *,
    strict: Sequence[str] = (),
    excluded: Sequence[str] = (),
    weights: tuple[float, float] = (1.0, 1.0),
    fusion: Any = "rrf",
    limit: int = 10,
    filters: Filters | None = None,
    **options: Any,
) -> HybridRequest:
    """A request for the hybrid statement; the words are indexed as `pipelines.understanding` does."""
    lexical_query = None
    if words is not None or strict or excluded:
        lexical_query = LexicalQuery(_index(words or ""), tuple(map(_index, strict)), tuple(map(_index, excluded)))
    return HybridRequest(
        user_id, vector, lexical_query, Weights(*weights), fusion, limit=limit, filters=filters or Filters(), **options
    )


def _index(text: str) -> IndexText:
    return IndexText(tsvector_text.index_text(text, "english"), tsvector_text.index_text(text, "german"))


async def run(db: Database, hybrid_request: HybridRequest) -> HybridResult:
    """Run the hybrid statement in a transaction of its own."""
    async with db.reading(hybrid_request.user_id, candidates=hybrid_request.candidates) as reading:
        return await hybrid_search.hybrid(reading, hybrid_request)


def scan_up_to(patch: pytest.MonkeyPatch, floor: int = 0, factor: float = 0.0) -> None:
    """Let scopes up to these bounds be scanned exactly; by default every search goes through the graph."""
    for name, value in (("EXACT_FLOOR", floor), ("EXACT_FACTOR", factor), ("EXACT_FACTOR_FILTERED", factor)):
        patch.setattr(hybrid_search, name, value)


def contents(result: HybridResult) -> list[str]:
    """The contents of the candidates, in order."""
    return [candidate.content for candidate in result.candidates]
