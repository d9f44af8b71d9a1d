"""Gemini gets a response schema, and every kind of failure is a ProviderError."""

from __future__ import annotations

import json

import pytest
from fake_provider import FakeProvider, assert_provider_error, serve

from app.errors import ProviderError
from app.providers.calls import CallTimes
from app.providers.remote import prompts
from app.providers.remote.gemini import MODEL, GeminiLlm

PASSAGES = ["Ada\nAda wrote the notes."]


async def test_gemini_proposes_terms_under_a_schema(provider: FakeProvider) -> None:
    provider.gemini(json.dumps({"terms": ["Ada"]}))
    llm = GeminiLlm(api_key="key", url=provider.url)
    assert (await llm.propose("Who wrote them?", PASSAGES)).terms == ["Ada"]
    path, body = provider.requests[0]
    assert f"models/{MODEL}:generateContent" in path
    assert body["generationConfig"]["responseMimeType"] == "application/json"
    assert body["generationConfig"]["responseJsonSchema"] == prompts.SCHEMA
    assert llm.name == MODEL
    await llm.aclose()


async def test_gemini_names_entities_under_a_schema_and_may_take_longer_than_a_query(provider: FakeProvider) -> None:
    provider.gemini(json.dumps({"entities": [{"type": "person", "name": "Ada"}]}))
    provider.delay_s = 0.2
    llm = GeminiLlm(api_key="key", url=provider.url, times=CallTimes(0.1))
    assert await llm.entities("Ada wrote the notes.") == [{"type": "person", "name": "Ada"}]
    config = provider.requests[0][1]["generationConfig"]
    assert (config["responseJsonSchema"], config["maxOutputTokens"]) == (
        prompts.ENTITY_SCHEMA, prompts.MAX_ENTITY_TOKENS,
    )  # fmt: skip
    await llm.aclose()


@pytest.mark.parametrize("status", [400, 403, 429, 500])
async def test_an_error_status_is_a_provider_error(provider: FakeProvider, status: int) -> None:
    provider.body = {"error": {"code": status, "message": "no", "status": "NO"}}
    provider.status = status
    await assert_provider_error(GeminiLlm(api_key="key", url=provider.url))


@pytest.mark.parametrize("body", [{}, {"candidates": []}])
async def test_an_answer_without_text_is_a_provider_error(provider: FakeProvider, body: object) -> None:
    provider.body = body
    await assert_provider_error(GeminiLlm(api_key="key", url=provider.url))


@pytest.mark.parametrize("body", [b"<html>", b'{"candidates": ', b"\xff\xfe", [], "text"])
async def test_an_answer_that_does_not_follow_geminis_api_is_a_provider_error(
    provider: FakeProvider, body: object
) -> None:
    provider.body = body
    await assert_provider_error(GeminiLlm(api_key="key", url=provider.url))


@pytest.mark.parametrize("text", ["PWNED", "", "{", '{"terms": "Ada"}', '{"other": []}'])
async def test_an_answer_other_than_the_requested_json_is_a_provider_error(provider: FakeProvider, text: str) -> None:
    provider.gemini(text)
    await assert_provider_error(GeminiLlm(api_key="key", url=provider.url))


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_honoured_on_429_and_503(provider: FakeProvider, status: int) -> None:
    provider.body, provider.status, provider.headers = {"error": {"code": status}}, status, {"Retry-After": "30"}
    llm = GeminiLlm(api_key="key", url=provider.url)
    for _ in range(3):
        with pytest.raises(ProviderError):
            await llm.propose("Who?", PASSAGES)
    assert len(provider.requests) == 1
    await llm.aclose()


async def test_a_retry_after_of_zero_allows_the_next_call(provider: FakeProvider) -> None:
    provider.body, provider.status, provider.headers = {"error": {"code": 429}}, 429, {"Retry-After": "0"}
    llm = GeminiLlm(api_key="key", url=provider.url)
    with pytest.raises(ProviderError):
        await llm.propose("Who?", PASSAGES)
    provider.gemini(json.dumps({"terms": ["Ada"]}))
    provider.status = 200
    assert (await llm.propose("Who?", PASSAGES)).terms == ["Ada"]
    await llm.aclose()


async def test_closed_and_refused_connections_are_provider_errors(provider: FakeProvider) -> None:
    provider.hang_up = True
    async with serve() as gone:
        pass
    for fake in (provider, gone):
        await assert_provider_error(GeminiLlm(api_key="key", url=fake.url, times=CallTimes(2.0)))


async def test_a_timeout_is_a_provider_error(provider: FakeProvider) -> None:
    provider.silent = True
    await assert_provider_error(GeminiLlm(api_key="key", url=provider.url, times=CallTimes(0.2)))
