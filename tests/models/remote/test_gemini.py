"""Gemini gets a response schema, and every kind of failure is a ProviderError."""

from __future__ import annotations

import json

import pytest
from fake_provider import FakeProvider, assert_provider_error

from app.models.calls import CallTimes
from app.models.remote import prompts
from app.models.remote.gemini import MODEL, GeminiLlm

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
