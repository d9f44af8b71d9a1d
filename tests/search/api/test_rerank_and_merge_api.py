"""Tests of reranking in searches and lists, and of merging lists with the parts of each score."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import fake_provider
import harness
import httpx
import pytest
from api_caller import Caller
from fake_provider import FakeProvider
from fastapi import FastAPI

from app.database.transactions import Database
from app.models.remote.rerankers import HttpReranker
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

URL = "/api/rag/rerank"
NOTES = {
    "lime": "Below the third landing we use lime mortar.",
    "buoys": "The Gannet reports every eleven minutes.",
    "money": "Travel expenses are refunded within ten working days.",
}


@pytest.fixture(scope="module")
async def cross_encoder() -> AsyncIterator[FakeProvider]:
    """An HTTP server in place of a cross-encoder."""
    async with fake_provider.serve() as started:
        yield started


@pytest.fixture
def provider(cross_encoder: FakeProvider) -> FakeProvider:
    """The server as it is at first."""
    FakeProvider.__init__(cross_encoder, url=cross_encoder.url)
    return cross_encoder


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder, cross_encoder: FakeProvider) -> AsyncIterator[FastAPI]:
    """The application with a cross-encoder behind HTTP."""
    reranker = HttpReranker(kind="tei", url=cross_encoder.url)
    services = replace(await harness.services(database, embedder), reranker=reranker)
    async with harness.running(Settings(auth="api_key"), services) as running:
        yield running
    await reranker.aclose()


@pytest.fixture
async def chunks(caller: Caller) -> dict[str, str]:
    """The ids of the caller's three notes, by uri."""
    for uri, content in NOTES.items():
        await caller.add(content, uri)
    return {hit["uri"]: hit["chunk_id"] for hit in (await caller.search("lime", limit=50))["results"]}


def prefer(provider: FakeProvider, word: str) -> None:
    """Let the cross-encoder find a passage that holds the word the best."""
    provider.respond = lambda asked: [
        {"index": n, "score": 0.9 if word in text else 0.1} for n, text in enumerate(asked["texts"])
    ]


async def merged(client: httpx.AsyncClient, ids: list[Any], **fields: Any) -> dict[str, Any]:
    hits = [{"chunk_id": hit} if isinstance(hit, str) else hit for hit in ids]
    response = await client.post(URL, json={"lists": [{"name": "one", "hits": hits}], **fields})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def ids(answer: dict[str, Any]) -> list[str]:
    return [hit["chunk_id"] for hit in answer["results"]]


@pytest.mark.parametrize("path", ["/api/rag/search", "/api/rag/search/two-pass"])
async def test_a_search_is_reranked_by_the_provider(caller, chunks, provider, path) -> None:
    prefer(provider, "Gannet")
    asked = {"query": "lime mortar", "ranking": {"rerank": "provider"}, "explain": True}
    ranked = (await caller.client.post(path, json=asked)).json()
    first = ranked["results"][0]
    assert (first["chunk_id"], first["score"], "degraded" in ranked) == (chunks["buoys"], 0.9, False)
    assert first["explain"]["rerank"]["by"] == "provider"
    assert first["explain"]["rerank"]["place_before"] > 1
    assert ranked["explain"]["rerank"] == "provider"
    assert "rerank" in ranked["explain"]["timings"]


async def test_stored_chunks_are_compared_by_their_vectors_and_others_keep_their_score(caller, chunks) -> None:
    ranked = await merged(
        caller.client, ["elsewhere", chunks["money"], chunks["lime"]], query="lime mortar landing", rerank="cosine"
    )
    by_id = {hit["chunk_id"]: hit for hit in ranked["results"]}
    assert ranked["degraded"] == []
    lime = by_id[chunks["lime"]]["explain"]["rerank"]
    assert (lime["place_before"], lime["score_before"]) == (3, pytest.approx(61 / 63))
    assert by_id[chunks["lime"]]["score"] == pytest.approx(0.5 * lime["value"] + 0.5 * lime["score_before"])
    assert ids(ranked).index(chunks["lime"]) < ids(ranked).index(chunks["money"])
    assert (by_id["elsewhere"]["score"], by_id["elsewhere"]["explain"]["rerank"]["value"]) == (1.0, None)


async def test_a_provider_gets_stored_texts_and_those_in_the_request(caller, chunks, provider) -> None:
    prefer(provider, "Gannet")
    brought = {"chunk_id": "theirs", "content": "Their Gannet sleeps."}
    ranked = await merged(
        caller.client, ["bare", chunks["lime"], brought, chunks["buoys"]], query="buoy", rerank="provider"
    )
    assert ids(ranked) == ["theirs", chunks["buoys"], chunks["lime"], "bare"]
    assert [hit["score"] for hit in ranked["results"]] == [0.9, 0.9, 0.1, 0.1]
    _path, question = provider.requests[0]
    assert question["query"] == "buoy"
    assert len(question["texts"]) == 3


async def test_a_list_whose_provider_fails_or_has_nothing_to_read_keeps_its_order(caller, chunks, provider) -> None:
    provider.hang_up = True
    ranked = await merged(caller.client, [chunks["money"], chunks["lime"]], query="lime", rerank="provider")
    assert (ids(ranked), ranked["degraded"]) == ([chunks["money"], chunks["lime"]], ["reranker_failed"])
    called = len(provider.requests)
    assert called > 0
    ranked = await merged(caller.client, ["b", "a"], query="lime", rerank="provider")
    assert (ids(ranked), ranked["degraded"], len(provider.requests)) == (["b", "a"], ["reranker_failed"], called)


async def test_another_users_chunks_are_treated_as_external_hits(caller, chunks, new_caller, provider) -> None:
    prefer(provider, "lime")
    stranger = await new_caller("search")
    mine = [chunks["money"], chunks["lime"], str(uuid4())]
    ranked = await merged(stranger.client, mine, query="lime mortar", rerank="provider", mmr=True)
    assert (ids(ranked), ranked["degraded"]) == (mine, ["reranker_failed"])
    ranked = await merged(stranger.client, mine, query="lime mortar", rerank="cosine")
    assert (ids(ranked), ranked["degraded"]) == (mine, ["reranker_failed"])
    assert provider.requests == []


async def test_mmr_compares_stored_vectors_or_the_words_of_external_hits(caller, chunks) -> None:
    await caller.add(NOTES["lime"] + " Always.", "again")
    found = (await caller.search("lime", collapse="off"))["results"]
    twin_id = next(hit["chunk_id"] for hit in found if hit["uri"] == "again")
    ranked = await merged(caller.client, [chunks["lime"], twin_id, chunks["money"]], mmr=True)
    assert ids(ranked) == [chunks["lime"], chunks["money"], twin_id]
    assert ranked["results"][2]["explain"]["mmr"]["nearest"] > 0.8
    brought = {"chunk_id": "theirs", "content": f"lime\n{NOTES['lime']}"}
    ranked = await merged(caller.client, [chunks["lime"], brought, chunks["money"]], mmr=True)
    assert ids(ranked)[2] == "theirs"


async def test_lists_are_fused_by_reciprocal_ranks(caller: Caller) -> None:
    lists = [
        {"name": "ours", "hits": [{"chunk_id": "a", "score": 0.9}, {"chunk_id": "b"}]},
        {"name": "theirs", "weight": 0.5, "hits": [{"chunk_id": "b"}, {"chunk_id": "c"}]},
    ]
    answer = await caller.post(URL, {"lists": lists})
    assert [hit["chunk_id"] for hit in answer["results"]] == ["b", "a", "c"]
    first = answer["results"][0]
    assert first["combined_score"] == pytest.approx(1 / 62 + 0.5 / 61)
    assert first["ranks"] == {"ours": 2, "theirs": 1}
    assert first["parts"] == {"ours": pytest.approx(1 / 62), "theirs": pytest.approx(0.5 / 61)}
    assert answer["results"][1]["hit"] == {"chunk_id": "a", "score": 0.9}
    assert answer["total_results"] == 3


async def test_a_hit_that_a_list_repeats_counts_once(caller: Caller) -> None:
    hits = [{"chunk_id": "a", "score": 0.9}, {"chunk_id": "a"}, {"chunk_id": "b"}]
    first, second = (await caller.post(URL, {"lists": [{"name": "ours", "hits": hits}]}))["results"]
    assert (first["hit"], first["ranks"], second["ranks"]) == (hits[0], {"ours": 1}, {"ours": 2})
    assert second["parts"] == {"ours": pytest.approx(1 / 62)}


async def test_classic_puts_the_earlier_hop_first(caller: Caller) -> None:
    lists = [
        {"name": "hop 1", "hits": [{"chunk_id": "a", "document_id": "x"}]},
        {"name": "hop 2", "hits": [{"chunk_id": "b", "document_id": "y"}, {"chunk_id": "a", "document_id": "x"}]},
    ]
    answer = await caller.post(URL, {"lists": lists, "merge": "classic"})
    assert [(hit["chunk_id"], hit["hop"]) for hit in answer["results"]] == [("a", 1), ("b", 2)]
    assert answer["results"][0]["combined_score"] == pytest.approx(1 / 61 + 0.0005 + 0.0002)
    assert answer["results"][1]["combined_score"] == pytest.approx(1 / 61 + 0.0002)
    assert answer["results"][0]["score"] == pytest.approx(1.0)
