"""The nearest chunks are returned in order, without the chunk itself."""

from __future__ import annotations

import pytest
from harness import Tenant, uris

from app.database.filter_types import DocumentFilter
from app.database.transactions import Database
from app.documents import documents
from app.documents.types import Chunk
from app.models.local.onnx_embedder import OnnxEmbedder
from app.query.search_request import SimilarRequest
from app.query.types import Answer
from app.search import similar

NOTES = {
    "cat": "The cat sleeps on the warm window sill.",
    "kitten": "A kitten naps on the sunny window sill.",
    "tax": "The tax return is due at the end of July.",
    "levy": "Pay the council levy before the end of July.",
}


async def _chunk(tenant: Tenant, uri: str) -> Chunk:
    (document,) = await documents.page(tenant.user_id, db=tenant.db, limit=2, after=None, only=DocumentFilter(uri))
    return (await documents.chunks(document.document_id, tenant.user_id, db=tenant.db, limit=1, offset=0))[0]


async def _like(tenant: Tenant, **fields: object) -> Answer:
    return await similar.run(SimilarRequest(**fields), tenant.user_id, tenant.services())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
async def notes(database: Database, minilm: OnnxEmbedder) -> Tenant:
    tenant = Tenant(database, embedder=minilm)
    await tenant.add_all(NOTES)
    return tenant


async def test_the_nearest_chunk_is_first_and_the_chunk_itself_is_omitted(notes: Tenant) -> None:
    for uri, nearest in (("cat", "kitten"), ("kitten", "cat"), ("tax", "levy"), ("levy", "tax")):
        answer = await _like(notes, chunk_id=(await _chunk(notes, uri)).chunk_id, limit=50)
        assert uris(answer)[0] == nearest
        assert sorted(map(str, uris(answer))) == sorted(NOTES.keys() - {uri})
        scores = [hit.candidate.vector_score for hit in answer.hits]
        assert scores == sorted(scores, key=lambda score: -(score or 0))


async def test_a_vector_finds_the_chunk_that_it_belongs_to(notes: Tenant) -> None:
    vector = await notes.embedder.embed_query(NOTES["tax"])
    answer = await _like(notes, vector=vector, limit=1)
    assert uris(answer) == ["tax"]
    assert answer.hits[0].candidate.vector_score == pytest.approx(1.0, abs=1e-4)
    assert (answer.mode, answer.strategies_matched, answer.degraded) == ("semantic", ("vector",), ())
