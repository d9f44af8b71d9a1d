"""Re-ranking and MMR reorder the best hits, and a failing re-ranker leaves their order unchanged."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import harness
import linking
import pytest
from fake_provider import FakeProvider
from harness import Tenant, uris
from requests_of import search_request

from app.enums import Vector
from app.models.protocols import Reranker
from app.models.remote.rerankers import HttpReranker
from app.query.search_types import Answer
from app.search import search
from app.search.steps import reranking_and_mmr
from app.services import Budget
from benchmarks.fake_embedder import FakeEmbedder

SHELF = {
    "lime": "Below the third landing we use lime mortar.",
    "lime-again": "Below the third landing we use lime mortar, always.",
    "cement": "Cement mortar cracked on the second landing.",
    "buoys": "The Gannet buoy reports every eleven minutes.",
    "money": "Travel expenses are refunded within ten working days.",
}
QUERY = "lime mortar landing"


stored = harness.stored(SHELF)


@pytest.fixture
def shelf(stored: Tenant) -> Tenant:
    """The user of the shelf, whose embedder a test may replace."""
    return replace(stored)


@pytest.fixture
async def reranker(provider: FakeProvider) -> AsyncIterator[HttpReranker]:
    made = HttpReranker(kind="cohere", url=provider.url, model="tiny")
    yield made
    await made.aclose()


async def asked(tenant: Tenant, *, reranker: Reranker | None = None, rerank_s: float = 2.0, **fields: Any) -> Answer:
    query = search_request(fields.pop("text", QUERY), **fields)
    return await search.run(query, tenant.user_id, tenant.services(reranker=reranker, budget=Budget(rerank_s=rerank_s)))


def scored_by(word: str) -> Any:
    """Answers as Cohere does: a passage that holds the word is worth 0.9, others less the later they come."""

    def answer(question: dict[str, Any]) -> Any:
        texts = question["documents"]
        scores = [0.9 if word in text else 0.5 - place / 100 for place, text in enumerate(texts)]
        return {"results": [{"index": n, "relevance_score": score} for n, score in enumerate(scores)]}

    return answer


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_by_cosine_a_hit_of_the_text_leg_is_scored_by_its_stored_vector(shelf: Tenant) -> None:
    answer = await asked(shelf, rerank="cosine", mode="lexical", explain=True)
    assert set(uris(answer)) == {"lime", "lime-again", "cement"}
    fake = FakeEmbedder()
    question = await fake.embed_query(QUERY)
    for hit in answer.hits:
        assert (hit.candidate.vector_score, hit.explain is not None) == (None, True)
        stored = (await fake.embed_documents([f"{hit.candidate.title}\n{hit.candidate.content}"]))[0]
        assert hit.explain["rerank"]["value"] == pytest.approx(cosine(question, stored), abs=0.05)


async def test_by_cosine_without_a_query_vector_the_order_is_unchanged_and_degraded(shelf: Tenant) -> None:
    shelf.embedder = FakeEmbedder(failing=True)
    plain, answer = await asked(shelf), await asked(shelf, rerank="cosine", explain=True)
    assert uris(answer) == uris(plain)
    assert set(answer.degraded) == {"embedding_failed", "no_query_vector", "reranker_failed"}


async def test_only_the_best_hits_are_sent_and_the_others_follow(tenant, provider, reranker) -> None:
    await tenant.add_all({f"note {n}": f"Lime mortar note number {n}." for n in range(40)})
    provider.respond = scored_by("nothing")
    few = await asked(tenant, rerank="provider", reranker=reranker, limit=5)
    assert len(few.hits) == 5
    all_that_are_sure = await asked(tenant, rerank="provider", reranker=reranker, limit=8, min_confidence="low")
    assert len(all_that_are_sure.hits) == 8
    assert [len(question["documents"]) for _path, question in provider.requests] == [25, 32]
    floored = await asked(tenant, rerank="provider", mmr=True, reranker=reranker, limit=50, min_confidence="low")
    assert len(set(uris(floored))) == 40


@pytest.mark.parametrize("trouble", ["silent", "hang_up", "malformed", "busy", "missing"])
async def test_a_failing_provider_leaves_the_fused_order_and_the_log_says_why(
    shelf, provider, reranker, trouble, caplog
) -> None:
    provider.respond = scored_by("Gannet")
    provider.silent, provider.hang_up = trouble == "silent", trouble == "hang_up"
    if trouble == "malformed":
        provider.respond = lambda _asked: {"results": [{"index": 0, "relevance_score": "good"}]}
    if trouble == "busy":
        provider.status, provider.headers = 429, {"Retry-After": "60"}
    plain = await asked(shelf)
    for _ in range(2):
        answer = await asked(
            shelf, rerank="provider", reranker=None if trouble == "missing" else reranker, rerank_s=0.2, explain=True
        )
        assert (uris(answer), answer.degraded) == (uris(plain), ("reranker_failed",))
        assert [h.candidate.score for h in answer.hits] == [h.candidate.score for h in plain.hits]
    assert "re-ranking failed: limit" in caplog.text or trouble != "busy"
    if trouble != "hang_up":  # which is retried
        assert len(provider.requests) <= {"busy": 1, "missing": 0}.get(trouble, 2)


async def test_mmr_ranks_a_different_passage_before_a_repetition(shelf: Tenant) -> None:
    repeated = {"lime", "lime-again"}
    plain = await asked(shelf, mode="semantic", fusion="rrf")
    answer = await asked(shelf, mode="semantic", fusion="rrf", mmr=True, explain=True)
    assert set(uris(plain)[:2]) == repeated != set(uris(answer)[:2])
    assert uris(answer)[0] == uris(plain)[0]
    one, two = await FakeEmbedder().embed_documents([f"\n{hit.candidate.content}" for hit in answer.hits[:2]])
    step = (answer.hits[1].explain or {})["mmr"]
    assert step["nearest"] == pytest.approx(max(0.0, cosine(one, two)), abs=0.05)
    assert uris(plain)[step["place_before"] - 1] == uris(answer)[1]


async def test_reranked_hits_keep_their_entity_links(tenant: Tenant) -> None:
    await tenant.add_all({"ana": "Ana Torres calibrated the buoy.", **SHELF})
    await linking.add_entities(tenant, linking.person("Ana Torres"))
    answer = await asked(tenant, text="What did Ana Torres do?", rerank="cosine", mmr=True, limit=4)
    assert [hit.candidate.uri for hit in answer.hits if hit.guidance and hit.guidance.score] == ["ana"]


def test_jaccard_is_shared_words_over_all_words() -> None:
    abc, bcd, none = reranking_and_mmr.bit_sets([frozenset("abc"), frozenset("bcd"), frozenset()])
    assert reranking_and_mmr.jaccard(abc, bcd) == pytest.approx(2 / 4)
    assert reranking_and_mmr.jaccard(abc, none) == reranking_and_mmr.jaccard(none, none) == 0
    assert reranking_and_mmr.words("Red boat, RED tree") == {"red", "boat", "tree"}


def test_mmr_at_one_is_the_order_by_score_and_a_negative_cosine_counts_as_zero() -> None:
    relevance = reranking_and_mmr.select([1.0, 0.9, 0.8], lambda _i, _j: 1.0, trade=1.0, limit=2)
    assert [one.position for one in relevance] == [0, 1]
    assert [one.nearest for one in reranking_and_mmr.select([1.0, 0.9], lambda _i, _j: -1.0, limit=2, trade=0.7)] == [
        0.0,
        0.0,
    ]
