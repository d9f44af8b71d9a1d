"""Pages of results neither repeat nor omit a result, and results can be grouped by document."""

import random
from dataclasses import replace
from typing import Any
from uuid import UUID

import harness
import linking
import pytest
from harness import Tenant
from requests_of import search_request

from app import errors, limits
from app.database.filter_types import Filters
from app.database.transactions import Database
from app.documents.types import Upload
from app.query.search_request import GuidanceOptions, SimilarRequest
from app.query.search_types import Answer, Hit
from app.search import search, similar
from app.services import ChunkingOptions

DOCUMENTS, CHUNKS_EACH = 20, 52
WORDS = ("lime", "mortar", "harbour", "ferry", "gannet", "tide", "buoy", "battery", "rope", "anchor", "lamp", "chart")


@pytest.fixture(scope="module")
async def archive(database: Database) -> Tenant:
    """A user with more than 1,000 chunks in 20 documents, four of which mention a person."""
    dice = random.Random(7)
    tenant = Tenant(database, chunking_options=ChunkingOptions(target=16, overlap=0))
    uploads = []
    for number in range(DOCUMENTS):
        name = "Ana Torres wrote: " if number < 4 else ""
        sections = [
            f"## Entry\n\n{name}{' '.join(dice.choices(WORDS, k=8))} on day {entry} of book {number}."
            for entry in range(CHUNKS_EACH)
        ]
        uploads.append(Upload("\n\n".join(sections), uri=f"log-{number}", title=f"Log {number}"))
    await tenant.many(uploads)
    await linking.add_entities(tenant, linking.person("Ana Torres"))
    return tenant


def chunk_ids(hits: Any) -> list[UUID]:
    return [hit.candidate.chunk_id for hit in hits]


async def page_of(tenant: Tenant, query: Any, cursor: str | None) -> Answer:
    services = tenant.services()
    query = query.model_copy(update={"cursor": cursor})
    if isinstance(query, SimilarRequest):
        return await similar.run(query, tenant.user_id, services)
    return await search.run(query, tenant.user_id, services)


async def pages_of(tenant: Tenant, query: Any, *, most: int = limits.MAX_RESULTS) -> list[Answer]:
    """The answers of all pages of a search or of a search for similar chunks, or of the first `most`."""
    answers = [await page_of(tenant, query, None)]
    while (cursor := answers[-1].next_cursor) and len(answers) < most:
        answers.append(await page_of(tenant, query, cursor))
    return answers


async def hits_of_pages(tenant: Tenant, query: Any, **options: int) -> list[Hit]:
    """The hits of all pages, or of the first `most`."""
    return [hit for answer in await pages_of(tenant, query, **options) for hit in answer.hits]


VARIANTS: dict[str, dict[str, Any]] = {
    "convex": {},
    "rrf": {"mode": "hybrid"},
    "lexical": {"mode": "lexical"},
    "cosine": {"rerank": "cosine"},
    "mmr": {"mmr": True, "rerank": "cosine"},
    "relevant": {"min_relevance": 0.001},
    "minimum": {"min_vector_score": 0.2},
    "guided": {"text": "what did Ana Torres write about lime mortar?"},
    "filtered": {"filters": Filters(metadata={}), "text": "+gannet lime"},
}


@pytest.mark.parametrize("fields", VARIANTS.values(), ids=VARIANTS)
async def test_no_result_is_on_two_pages_and_scores_do_not_rise(archive: Tenant, fields: dict[str, Any]) -> None:
    query = search_request(**{"text": "lime mortar", "limit": 50, "candidates": 60, **fields})
    hits = await hits_of_pages(archive, query, most=3)
    found = chunk_ids(hits)
    assert len(found) == len(set(found)) >= 2 * 60
    if not query.ranking.mmr:
        scores = [hit.candidate.score for hit in hits]
        assert scores == sorted(scores, reverse=True)


async def test_the_pages_have_1000_results_of_a_larger_corpus(archive: Tenant) -> None:
    answers = await pages_of(archive, search_request("lime mortar", limit=50))
    assert [len(answer.hits) for answer in answers] == [50] * 20
    assert len({hit for answer in answers for hit in chunk_ids(answer.hits)}) == limits.MAX_RESULTS


async def test_another_request_cannot_use_a_cursor(archive: Tenant) -> None:
    options: dict[str, Any] = {"text": "lime mortar", "limit": 10}
    cursor = (await page_of(archive, search_request(**options), None)).next_cursor
    changes: list[dict[str, Any]] = [
        {"text": "lime"},
        {"limit": 11},
        {"mode": "lexical"},
        {"candidates": 99},
        {"filters": Filters(metadata={"a": 1})},
        {"guidance": GuidanceOptions(mode="off")},
        {"group_size": 3},
        {"collapse": "off"},
    ]
    for change in changes:
        with pytest.raises(errors.BadRequest):
            await page_of(archive, search_request(**{**options, **change}), cursor)
    with pytest.raises(errors.BadRequest):
        await page_of(Tenant(archive.db), search_request(**options), cursor)
    for change in ({"detail": "compact"}, {"detail": "ids"}, {"explain": True}):
        assert (await page_of(archive, search_request(**{**options, **change}), cursor)).hits


async def test_a_cursor_is_of_the_same_filters_in_any_order_of_their_keys(archive: Tenant) -> None:
    absent = {"a": {"exists": False}, "b": {"exists": False}}
    orders = [Filters(metadata=dict(items)) for items in (absent.items(), reversed(absent.items()))]
    first, again = (search_request(text="lime mortar", limit=10, filters=filters) for filters in orders)
    cursor = (await page_of(archive, first, None)).next_cursor
    assert cursor is not None
    assert (await page_of(archive, again, cursor)).hits


async def test_a_cursor_is_stale_if_the_results_before_the_page_differ(archive: Tenant) -> None:
    vectors = await archive.embedder.embed_documents(["lime", "ferry"])
    query = search_request("mortar", mode="semantic", limit=10)
    one, other = (replace(archive, embedder=harness.FixedQueryEmbedder(vector)) for vector in vectors)
    cursor = (await page_of(one, query, None)).next_cursor
    assert (await page_of(one, query, cursor)).hits
    with pytest.raises(errors.Conflict):
        await page_of(other, query, cursor)


async def test_pages_of_similar_chunks_have_every_chunk_once(archive: Tenant) -> None:
    documents = Filters(document_ids=tuple({hit.candidate.document_id for hit in (await archive.ask("tide")).hits}))
    chunk = (await archive.ask("lime", limit=1)).hits[0].candidate.chunk_id
    query = SimilarRequest(chunk_id=chunk, limit=20, filters=documents)
    hits = await hits_of_pages(archive, query)
    found = chunk_ids(hits)
    assert len(found) == len(set(found)) >= len(documents.document_ids) * CHUNKS_EACH - 1
    assert [hit.candidate.vector_score for hit in hits] == sorted(
        (hit.candidate.vector_score or 0.0 for hit in hits), reverse=True
    )


async def test_grouped_results_are_documents_with_their_best_chunks(archive: Tenant) -> None:
    query = search_request("lime mortar", limit=5, group_size=2)
    flat = chunk_ids((await archive.ask("lime mortar", limit=50)).hits)
    answer = await page_of(archive, query, None)
    assert len(answer.hits) == len({hit.candidate.document_id for hit in answer.hits}) == 5
    assert answer.hits[0].candidate.chunk_id == flat[0]
    for hit in answer.hits:
        assert {other.candidate.document_id for other in hit.more} == {hit.candidate.document_id}
        scores = [one.candidate.score for one in (hit, *hit.more)]
        assert scores == sorted(scores, reverse=True)
        assert all(other.strategies for other in hit.more)
    assert {len(hit.more) for hit in answer.hits} == {2}


@pytest.mark.parametrize("fields", [{}, {"candidates": 10}, {"mmr": True}, {"min_relevance": 0.001}])
async def test_pages_of_groups_have_every_document_once(archive: Tenant, fields: dict[str, Any]) -> None:
    hits = await hits_of_pages(archive, search_request("lime mortar", limit=7, group_size=3, **fields))
    found = [hit.candidate.document_id for hit in hits]
    assert len(found) == len(set(found)) == DOCUMENTS
    chunks = [chunk for hit in hits for chunk in chunk_ids((hit, *hit.more))]
    assert len(chunks) == len(set(chunks))
