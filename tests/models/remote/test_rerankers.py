"""Each cross-encoder gets requests of its own API, and every kind of failure is a ProviderError."""

import json
import math
from typing import Any

import pytest
from fake_provider import FakeProvider

from app.errors import ProviderError
from app.models.remote import rerankers
from app.models.remote.rerankers import HttpReranker, Kind
from app.runtime import configured_models
from app.settings import Settings

PASSAGES = ["lime mortar", "no cement", "a dog"]


def _reranker(provider: FakeProvider, kind: Kind = "cohere", **given: Any) -> HttpReranker:
    return HttpReranker(kind=kind, url=f"{provider.url}/v2", model="tiny", **given)


async def _scores(reranker: HttpReranker, passages: list[str] = PASSAGES) -> list[float]:
    try:
        return await reranker.scores("mortar?", passages)
    finally:
        await reranker.aclose()


@pytest.mark.parametrize(("kind", "own"), [("cohere", {}), ("jina", {"return_documents": False})])
async def test_scores_come_back_in_the_order_of_the_passages(provider: FakeProvider, kind: Kind, own: Any) -> None:
    provider.rerank([0.2, 0.9, 0.1])
    assert await _scores(_reranker(provider, kind)) == [0.2, 0.9, 0.1]
    asked = {"model": "tiny", "query": "mortar?", "documents": PASSAGES, "top_n": 3}
    assert provider.requests == [("/v2/rerank", asked | own)]


async def test_tei_gets_requests_of_its_own_api_in_batches(provider: FakeProvider) -> None:
    assert await _scores(_reranker(provider), []) == []
    assert provider.requests == [], "no passages need no request"
    provider.respond = lambda asked: [
        {"index": place, "score": int(text) / 100} for place, text in reversed(list(enumerate(asked["texts"])))
    ]
    texts = [str(number) for number in range(70)]
    assert await _scores(_reranker(provider, "tei"), texts) == [number / 100 for number in range(70)]
    assert [len(body["texts"]) for _path, body in provider.requests] == [32, 32, 6]
    path, body = provider.requests[0]
    assert (path, body["query"], body["texts"], body["truncate"]) == ("/v2/rerank", "mortar?", texts[:32], True)


async def test_logits_become_probabilities_and_probabilities_are_unchanged(provider: FakeProvider) -> None:
    provider.rerank([-2.0, 3.5, 0.5])
    found = await _scores(_reranker(provider))
    assert found == [pytest.approx(1 / (1 + math.exp(-logit))) for logit in (-2.0, 3.5, 0.5)]
    assert rerankers.probabilities([0, 1, 0.5]) == [0, 1, 0.5]
    assert all(0 <= score <= 1 for score in rerankers.probabilities([1e308, -1e308, 0]))
    of_a_hundred = [round(score, 12) for score in rerankers.probabilities(range(101))]
    assert of_a_hundred == sorted(set(of_a_hundred))


async def test_long_passages_are_truncated(provider: FakeProvider) -> None:
    provider.rerank([0.5])
    await _scores(_reranker(provider), ["x" * 100_000])
    assert len(provider.requests[0][1]["documents"][0]) == rerankers.MAX_CHARACTERS


@pytest.mark.parametrize(
    "body",
    [
        *({}, [], 5, None, {"results": None}, {"results": 3}),
        *({"results": [{"index": 0, "relevance_score": 0.5}]}, {"results": [{"index": 0}] * 3}),
        {"results": [{"index": 0, "relevance_score": 0.5}] * 3},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (0, 1, 3)]},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (-1, 0, 1)]},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (0, 1, True)]},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (0, 1, 2, 2)]},
        *({"results": [{"index": n, "relevance_score": bad} for n in range(3)]} for bad in ("0.5", None, True, [])),
        json.dumps({"results": [{"index": n, "relevance_score": math.nan} for n in range(3)]}).encode(),
        b'{"results": [{"index": 0, "relevance_score": 1' + b"0" * 400 + b"}]}",
    ],
    ids=lambda body: repr(body)[:40],
)
async def test_an_answer_that_does_not_follow_the_api_is_a_provider_error(provider: FakeProvider, body: Any) -> None:
    provider.body = body
    with pytest.raises(ProviderError):
        await _scores(_reranker(provider))


async def test_the_settings_choose_the_reranker(provider: FakeProvider) -> None:
    async with configured_models.open_reranker(Settings()) as reranker:
        assert reranker is None
    provider.rerank([0.5])
    chosen = Settings(reranker="jina", reranker_url=provider.url, reranker_api_key="secret")  # type: ignore[arg-type]
    async with configured_models.open_reranker(chosen) as reranker:
        assert await reranker.scores("mortar?", ["lime"]) == [0.5]
        assert reranker.name == provider.requests[0][1]["model"] == "jina-reranker-v2-base-multilingual"
    assert "secret" not in repr(chosen)


@pytest.mark.parametrize("kind", ["cohere", "jina", "tei"])
def test_an_incomplete_reranker_setting_is_rejected_at_start(kind: Any) -> None:
    with pytest.raises(ValueError, match=f"STEPWELL_RERANKER={kind} needs STEPWELL_RERANKER_(API_KEY|URL)"):
        Settings(reranker=kind)
