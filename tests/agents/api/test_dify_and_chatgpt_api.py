"""Tests the contracts of other platforms: Dify's external knowledge API, and the tools search and fetch."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.agents.compat import chatgpt
from app.database.transactions import Database
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder) -> AsyncIterator[FastAPI]:
    """The application with both contracts."""
    settings = Settings(auth="api_key", compat="dify, chatgpt")
    services = replace(await harness.services(database, embedder), tools=settings.optional_tools)
    async with harness.running(settings, services) as running:
        yield running


async def test_dify_retrieves_records_and_gets_its_own_errors(caller: Caller) -> None:
    await caller.add("Lime mortar hardens slowly.", uri="lime.md")
    await caller.add("Cement mortar hardens fast.", uri="cement.md")

    async def retrieve(**fields: Any) -> tuple[int, Any]:
        body = {"knowledge_id": "default", "query": "mortar", "retrieval_setting": {"top_k": 5, "score_threshold": 0}}
        response = await caller.client.post("/retrieval", json={**body, **fields})
        return response.status_code, response.json()

    status, found = await retrieve()
    assert status == 200
    assert {record["metadata"]["path"] for record in found["records"]} == {"lime.md", "cement.md"}
    assert found["records"][0].keys() == {"content", "score", "title", "metadata"}
    highest = max(record["score"] for record in found["records"])
    best = (await retrieve(retrieval_setting={"top_k": 5, "score_threshold": highest}))[1]["records"]
    assert {record["score"] for record in best} == {highest}
    status, refused = await retrieve(knowledge_id="nowhere")
    assert (status, refused["error_code"]) == (404, 2001)
    condition = {"name": "team", "comparison_operator": "is", "value": "masonry"}
    status, refused = await retrieve(metadata_condition={"logical_operator": "and", "conditions": [condition]})
    assert (status, refused["error_code"]) == (422, 422)
    assert "key with filters" in refused["error_msg"]
    assert (await retrieve(metadata_condition={"conditions": []}))[0] == 200
    status, refused = await retrieve(query=" ", retrieval_setting={"top_k": 0})
    assert refused.keys() == {"error_code", "error_msg"}
    assert "top_k" in refused["error_msg"]
    caller.client.headers["Authorization"] = "Bearer sw_wrong"
    assert (await retrieve())[1]["error_code"] == 1002
    caller.client.headers["Authorization"] = "Basic x"
    assert (await retrieve())[1]["error_code"] == 1001


async def test_search_and_fetch_return_documents_with_addresses(caller, monkeypatch) -> None:
    monkeypatch.setattr(chatgpt, "PART", 20)
    await caller.add("Lime mortar hardens slowly.", uri="https://notes.example/lime")
    found = (await caller.call("search", query="mortar"))["results"]
    assert [one["url"] for one in found] == ["https://notes.example/lime"]
    read = await caller.call("fetch", id=found[0]["id"])
    assert read.keys() == {"id", "title", "text", "url", "metadata"}
    rest = await caller.call("fetch", id=read["metadata"]["continues_at"])
    assert read["text"] + rest["text"] == "Lime mortar hardens slowly."
    assert "continues_at" not in rest["metadata"]
    assert (await caller.client.post("/api/rag/tools/fetch", json={"id": "x"})).status_code == 404


async def test_other_contracts_are_off_by_default(open_app: FastAPI) -> None:
    async with harness.client(open_app) as client:
        assert (await client.post("/retrieval", json={})).status_code == 404
        assert (await client.post("/api/rag/tools/search", json={"query": "x"})).status_code == 404
