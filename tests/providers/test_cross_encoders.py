"""Each cross-encoder gets requests of its own API, and every kind of failure is a ProviderError."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from scripted import Script, server

from app import runtime
from app.config import Settings
from app.errors import ProviderError
from app.providers import endpoint, rerankers
from app.providers.rerankers import HttpReranker, Kind

PASSAGES = ["lime mortar", "no cement", "a dog"]


def _reranker(script: Script, kind: Kind = "cohere", **given: Any) -> HttpReranker:
    return HttpReranker(kind=kind, url=f"{script.url}/v2", model="tiny", **given)


async def _scores(reranker: HttpReranker, passages: list[str] = PASSAGES) -> list[float]:
    try:
        return await reranker.scores("mortar?", passages)
    finally:
        await reranker.aclose()


async def test_cohere_scores_come_back_in_the_order_of_the_passages(script: Script) -> None:
    script.rerank([0.2, 0.9, 0.1])
    assert await _scores(_reranker(script)) == [0.2, 0.9, 0.1]
    path, body = script.asked[0]
    assert path == "/v2/rerank"
    assert body == {"model": "tiny", "query": "mortar?", "documents": PASSAGES, "top_n": 3}


async def test_jina_is_asked_not_to_return_the_passages(script: Script) -> None:
    script.rerank([0.2, 0.9, 0.1])
    assert await _scores(_reranker(script, "jina")) == [0.2, 0.9, 0.1]
    assert script.asked[0][1]["return_documents"] is False


async def test_tei_gets_requests_of_its_own_api(script: Script) -> None:
    script.body = [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}, {"index": 2, "score": 0.1}]
    assert await _scores(_reranker(script, "tei")) == [0.2, 0.9, 0.1]
    path, body = script.asked[0]
    assert (path, body["query"], body["texts"], body["truncate"]) == ("/v2/rerank", "mortar?", PASSAGES, True)


async def test_tei_gets_passages_in_batches(script: Script) -> None:
    script.answering = lambda asked: [{"index": i, "score": int(text) / 100} for i, text in enumerate(asked["texts"])]
    found = await _scores(_reranker(script, "tei"), [str(n) for n in range(70)])
    assert found == [n / 100 for n in range(70)]
    assert [len(body["texts"]) for _path, body in script.asked] == [32, 32, 6]


async def test_no_passages_need_no_request(script: Script) -> None:
    assert await _scores(_reranker(script), []) == []
    assert script.asked == []


async def test_logits_become_probabilities_and_probabilities_are_unchanged(script: Script) -> None:
    script.rerank([-2.0, 3.5, 0.5])
    found = await _scores(_reranker(script))
    assert found == [pytest.approx(1 / (1 + math.exp(-logit))) for logit in (-2.0, 3.5, 0.5)]
    assert rerankers.probabilities([0, 1, 0.5]) == [0, 1, 0.5]
    assert all(0 <= score <= 1 for score in rerankers.probabilities([1e308, -1e308, 0]))


async def test_long_passages_are_truncated(script: Script) -> None:
    script.rerank([0.5])
    await _scores(_reranker(script), ["x" * 100_000])
    assert len(script.asked[0][1]["documents"][0]) == rerankers.MAX_CHARACTERS


@pytest.mark.parametrize(
    "body",
    [
        *(b"<html>", b"", b"[" * 100_000, b"\xff", {}, [], 5, None, {"results": None}, {"results": 3}),
        *({"results": [{"index": 0, "relevance_score": 0.5}]}, {"results": [{"index": 0}] * 3}),
        {"results": [{"index": 0, "relevance_score": 0.5}] * 3},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (0, 1, 3)]},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (-1, 0, 1)]},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (0, 1, True)]},
        {"results": [{"index": n, "relevance_score": 0.5} for n in (0, 1, 2, 2)]},
        *({"results": [{"index": n, "relevance_score": bad} for n in range(3)]} for bad in ("0.5", None, True, [])),
        json.dumps({"results": [{"index": n, "relevance_score": math.nan} for n in range(3)]}).encode(),
        b'{"results": [{"index": 0, "relevance_score": 1' + b"0" * 400 + b"}]}",
        b" " * (endpoint.MAX_BYTES + 1),
    ],
    ids=lambda body: repr(body)[:40],
)
async def test_an_answer_that_does_not_follow_the_api_is_a_provider_error(script: Script, body: Any) -> None:
    script.body = body
    with pytest.raises(ProviderError):
        await _scores(_reranker(script))


async def test_retry_after_is_honoured_on_429(script: Script) -> None:
    script.rerank([0.5] * 3)
    script.status, script.headers = 429, {"Retry-After": "30"}
    reranker = _reranker(script)
    for _ in range(3):
        with pytest.raises(ProviderError):
            await reranker.scores("mortar?", PASSAGES)
    await reranker.aclose()
    assert len(script.asked) == 1


async def test_a_retry_after_of_zero_allows_the_next_call(script: Script) -> None:
    script.rerank([0.5] * 3)
    script.status, script.headers = 503, {"Retry-After": "0"}
    reranker = _reranker(script)
    with pytest.raises(ProviderError):
        await reranker.scores("mortar?", PASSAGES)
    script.status = 200
    assert await _scores(reranker) == [0.5] * 3


async def test_a_timeout_a_closed_connection_a_redirect_and_an_error_status_are_provider_errors(script: Script) -> None:
    for silent, hang_up, status in ((True, False, 200), (False, True, 200), (False, False, 307), (False, False, 500)):
        script.rerank([0.5] * 3)
        script.silent, script.hang_up, script.status = silent, hang_up, status
        with pytest.raises(ProviderError):
            await _scores(_reranker(script, timeout_s=0.2))


async def test_a_refused_connection_is_a_provider_error() -> None:
    async with server() as gone:
        pass
    with pytest.raises(ProviderError):
        await _scores(_reranker(gone))


async def test_the_settings_choose_the_reranker(script: Script) -> None:
    async with runtime.open_reranker(Settings()) as reranker:
        assert reranker is None
    script.rerank([0.5])
    chosen = Settings(reranker="jina", reranker_url=script.url, reranker_api_key="secret")  # type: ignore[arg-type]
    async with runtime.open_reranker(chosen) as reranker:
        assert reranker is not None
        assert await reranker.scores("mortar?", ["lime"]) == [0.5]
        assert reranker.name == script.asked[0][1]["model"] == "jina-reranker-v2-base-multilingual"
    assert "secret" not in repr(chosen)


@pytest.mark.parametrize("kind", ["cohere", "jina", "tei"])
def test_an_incomplete_reranker_setting_is_rejected_at_start(kind: Any) -> None:
    with pytest.raises(ValueError, match=f"STEPWELL_RERANKER={kind} needs STEPWELL_RERANKER_(API_KEY|URL)"):
        Settings(reranker=kind)
