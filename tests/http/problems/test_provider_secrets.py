"""API keys of providers appear in no response, metric or log, whatever a provider answers."""

import logging

import harness
import pytest

from app import logging_setup, runtime
from app.models.local import minilm
from app.settings import Settings

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""

KEYS = {f"{role}_api_key": f"sk-canary-{role}-0123456789" for role in ("embedder", "llm", "reranker")}


@pytest.mark.parametrize("fault", ["unauthorized", "garbage", "reset"])
async def test_no_key_of_a_provider_is_shown(address, database, provider, caplog, fault) -> None:
    urls = {f"{role}_url": f"http://user:{KEYS['llm_api_key']}@{provider.url.removeprefix('http://')}"
            for role in ("embedder", "llm", "reranker")}  # fmt: skip
    settings = Settings(
        database_url=address.service_dsn,
        metrics="open",
        embedder="openai",
        embedder_model=minilm.MODEL.name,
        embedder_dim=minilm.MODEL.dimension,
        model_timeout_s=1.0,
        llm="openai",
        llm_model="tiny",
        reranker="cohere",
        **KEYS,
        **urls,
    )
    provider.body = {"error": {"message": f"Incorrect API key provided: {' '.join(KEYS.values())}"}}
    provider.misbehave(fault)
    shown = [repr(keyed := Settings(**KEYS)), str(keyed.model_dump())]
    await harness.Tenant(database, user_id="local").add("Ada Brandt wrote the lime survey of Lundby.", "survey")
    caplog.set_level(logging.DEBUG, logger="app")
    caplog.handler.setFormatter(logging_setup.formatter(json=True))
    async with (
        runtime.open_services(settings) as services,
        harness.running(settings, services) as app,
        harness.client(app) as client,
    ):
        search = {"query": "Who wrote the lime survey?", "explain": True}
        for response in (
            await client.post("/api/rag/search", json={**search, "ranking": {"rerank": "provider"}}),
            await client.post("/api/rag/search/multihop", json={**search, "ranking": {"hops": {"extractor": "llm"}}}),
            await client.get("/api/rag/stats"),
            await client.get("/readyz"),
            await client.get("/metrics"),
        ):
            assert response.status_code == 200, response.text
            shown.append(response.text)
    shown += [caplog.text, *(caplog.handler.format(record) for record in caplog.records)]
    assert {path.rsplit("/")[-1] for path, _ in provider.requests} == {"embeddings", "completions", "rerank"}
    assert [text for text in shown if any(key in text for key in KEYS.values())] == []
