"""Lists of hits are merged into one, with the parts of each score."""

import pytest
from api_caller import Caller


async def test_lists_are_fused_by_reciprocal_ranks(caller: Caller) -> None:
    lists = [
        {"name": "ours", "hits": [{"chunk_id": "a", "score": 0.9}, {"chunk_id": "b"}]},
        {"name": "theirs", "weight": 0.5, "hits": [{"chunk_id": "b"}, {"chunk_id": "c"}]},
    ]
    answer = await caller.post("/api/rag/rerank", {"lists": lists})
    assert [hit["chunk_id"] for hit in answer["results"]] == ["b", "a", "c"]
    first = answer["results"][0]
    assert first["combined_score"] == pytest.approx(1 / 62 + 0.5 / 61)
    assert first["ranks"] == {"ours": 2, "theirs": 1}
    assert first["parts"] == {"ours": pytest.approx(1 / 62), "theirs": pytest.approx(0.5 / 61)}
    assert answer["results"][1]["hit"]["score"] == 0.9
    assert answer["total_results"] == 3


async def test_classic_puts_the_earlier_hop_first(caller: Caller) -> None:
    lists = [
        {"name": "hop 1", "hits": [{"chunk_id": "a", "document_id": "x"}]},
        {"name": "hop 2", "hits": [{"chunk_id": "b", "document_id": "y"}, {"chunk_id": "a", "document_id": "x"}]},
    ]
    answer = await caller.post("/api/rag/rerank", {"lists": lists, "merge": "classic"})
    assert [(hit["chunk_id"], hit["hop"]) for hit in answer["results"]] == [("a", 1), ("b", 2)]
    assert answer["results"][0]["combined_score"] == pytest.approx(1 / 61 + 0.0005 + 0.0002)
    assert answer["results"][1]["combined_score"] == pytest.approx(1 / 61 + 0.0002)
    assert answer["results"][0]["score"] == pytest.approx(1.0)
