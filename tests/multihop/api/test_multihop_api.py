"""Tests of the endpoints for multi-hop search and for merging lists."""

from __future__ import annotations

import httpx
import pytest
from api_caller import Caller
from pydantic import TypeAdapter

from app.multihop.api import RerankAnswer

URL = "/api/rag/search/multihop"


@pytest.fixture
def client(caller: Caller) -> httpx.AsyncClient:
    return caller.client


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


async def test_a_merged_list_can_be_compact_or_ids(client: httpx.AsyncClient) -> None:
    hits = [{"chunk_id": "a", "note": None}, {"chunk_id": "b"}]
    request = {"lists": [{"name": "one", "hits": hits}, {"name": "two", "hits": hits[1:]}]}
    full, compact, ids = [
        (await client.post("/api/rag/rerank", json={**request, "detail": detail})).json()
        for detail in ("full", "compact", "ids")
    ]
    order = [(hit["chunk_id"], round(hit["score"], 4)) for hit in full["results"]]
    assert [(hit["chunk_id"], hit["score"]) for hit in ids["results"]] == order
    assert [(hit["chunk_id"], hit["score"]) for hit in compact["results"]] == order
    assert [chunk_id for chunk_id, _score in order] == ["b", "a"]
    assert compact["results"][1]["hit"]["note"] is None
    for answer in (full, compact, ids):
        TypeAdapter(RerankAnswer).validate_python(answer)
