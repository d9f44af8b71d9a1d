"""Tests of the endpoints for multi-hop search and for merging lists."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from api_caller import Caller

URL = "/api/rag/search/multihop"
TEXTS = {
    "Silent Harbour": "Silent Harbour is a film whose director is Ilse Brandt.",
    "Ilse Brandt": "Trained as a painter, her youth went by in Lundby.",
}


@pytest.fixture
def client(caller: Caller) -> httpx.AsyncClient:
    return caller.client


async def _fill(client: httpx.AsyncClient) -> None:
    texts = TEXTS | {f"note {n}": f"Where the director of the harbour was born, {n}." for n in range(8)}
    for title, text in texts.items():
        assert (await client.post("/api/rag/documents", json={"content": text, "title": title})).status_code == 201


async def test_a_question_is_answered_over_two_hops(client: httpx.AsyncClient) -> None:
    await _fill(client)
    asked: dict[str, Any] = {"query": "Where was the director of Silent Harbour born?", "explain": True}
    asked["ranking"] = {"hops": {"extractor": "entities"}}
    response = await client.post(URL, json=asked)
    assert response.status_code == 200
    answer = response.json()
    assert (answer["explain"]["search_mode"], "degraded" in answer) == ("multihop", False)
    first, second = answer["hops"]
    assert (first["hop"], first["expanded_terms"], first["extractor"]) == (1, None, None)
    assert (second["hop"], second["extractor"]) == (2, "entities")
    assert "Ilse Brandt" in second["expanded_terms"]
    assert answer["total_results"] == first["result_count"] + second["result_count"]
    hit = next(hit for hit in answer["results"] if hit["title"] == "Ilse Brandt")
    assert (hit["hop"], hit["via"]["name"], hit["via"]["kind"]) == (2, "Ilse Brandt", "linked")
    assert hit["combined_score"] == pytest.approx(sum(hit["explain"]["parts"].values()), abs=1e-4)
    assert hit["explain"]["vector_rank"] is None or hit["vector_score"] is not None
    assert hit["explain"]["link"]["heading"] is False


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"query": " "}, 400),
        ({}, 422),
        ({"query": "x", "limit": 21}, 422),
        ({"query": "x", "limit": 0}, 422),
        ({"query": "x", "ranking": {"hops": {"max_hops": 1}}}, 422),
        ({"query": "x", "ranking": {"hops": {"max_hops": 5}}}, 422),
        ({"query": "x", "ranking": {"hops": {"extractor": "guess"}}}, 422),
        ({"query": "x", "ranking": {"hops": {"merge": "rrf"}}}, 422),
        ({"query": "x", "exclude_chunk_ids": ["no"]}, 422),
        ({"query": "x", "hops": 2}, 422),
    ],
)
async def test_bad_values_are_refused(client: httpx.AsyncClient, asked: dict[str, Any], status: int) -> None:
    response = await client.post(URL, json=asked)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


async def test_without_a_key_multihop_and_rerank_are_401(client: httpx.AsyncClient) -> None:
    for url in (URL, "/api/rag/rerank"):
        assert (await client.post(url, json={"query": "x"}, headers={"Authorization": ""})).status_code == 401


async def test_a_user_without_documents_gets_an_empty_answer(client: httpx.AsyncClient) -> None:
    answer = (await client.post(URL, json={"query": "anything"})).json()
    assert (answer["results"], answer["hints"], answer["total_results"]) == ([], ["No documents are stored."], 0)
    assert [hop["result_count"] for hop in answer["hops"]] == [0]


async def test_lists_are_fused_by_reciprocal_ranks(client: httpx.AsyncClient) -> None:
    lists = [
        {"name": "ours", "hits": [{"chunk_id": "a", "score": 0.9}, {"chunk_id": "b"}]},
        {"name": "theirs", "weight": 0.5, "hits": [{"chunk_id": "b"}, {"chunk_id": "c"}]},
    ]
    answer = (await client.post("/api/rag/rerank", json={"lists": lists})).json()
    assert [hit["chunk_id"] for hit in answer["results"]] == ["b", "a", "c"]
    first = answer["results"][0]
    assert first["combined_score"] == pytest.approx(1 / 62 + 0.5 / 61)
    assert first["ranks"] == {"ours": 2, "theirs": 1}
    assert first["parts"] == {"ours": pytest.approx(1 / 62), "theirs": pytest.approx(0.5 / 61)}
    assert answer["results"][1]["hit"]["score"] == 0.9
    assert answer["total_results"] == 3


async def test_classic_puts_the_earlier_hop_first(client: httpx.AsyncClient) -> None:
    lists = [
        {"name": "hop 1", "hits": [{"chunk_id": "a", "document_id": "x"}]},
        {"name": "hop 2", "hits": [{"chunk_id": "b", "document_id": "y"}, {"chunk_id": "a", "document_id": "x"}]},
    ]
    answer = (await client.post("/api/rag/rerank", json={"lists": lists, "merge": "classic"})).json()
    assert [(hit["chunk_id"], hit["hop"]) for hit in answer["results"]] == [("a", 1), ("b", 2)]
    assert answer["results"][0]["combined_score"] == pytest.approx(1 / 61 + 0.0005 + 0.0002)
    assert answer["results"][1]["combined_score"] == pytest.approx(1 / 61 + 0.0002)
    assert answer["results"][0]["score"] == pytest.approx(1.0)


async def test_mmr_and_the_limit(client: httpx.AsyncClient) -> None:
    hits = [{"chunk_id": i, "content": text} for i, text in (("a", "red boat"), ("b", "red boat"), ("c", "tree"))]
    lists = [{"name": "one", "hits": hits}]
    answer = (await client.post("/api/rag/rerank", json={"lists": lists, "mmr": True, "limit": 2})).json()
    assert [hit["chunk_id"] for hit in answer["results"]] == ["a", "c"]


@pytest.mark.parametrize(
    "lists", [[], None, [{"name": "x"}], [{"name": "x", "hits": [{}]}], [{"name": "x", "hits": 5}]]
)
async def test_invalid_lists_are_refused(client: httpx.AsyncClient, lists: Any) -> None:
    assert (await client.post("/api/rag/rerank", json={"lists": lists})).status_code == 422
