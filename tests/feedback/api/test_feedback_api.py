"""Feedback is stored when a caller gives it, once for each query and passage, and is deleted with its document."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import harness
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import FastAPI
from stepwell_client import AsyncClient

from app import capability
from app.database.transactions import Database
from app.feedback import operations as pipeline
from app.feedback import store as feedback
from app.feedback.types import FeedbackOptions, GivenFeedback
from app.settings import Settings

QUERY = "copper lantern"


async def judged(owner: asyncpg.Connection, user_id: str) -> list[tuple[Any, ...]]:
    rows = await owner.fetch(
        "SELECT query, document_id, chunk_id, helpful FROM stepwell.feedback WHERE user_id = $1 ORDER BY at", user_id
    )
    return [tuple(row) for row in rows]


async def give(caller: Caller, **fields: Any) -> Any:
    return await caller.client.post("/api/rag/feedback", json={"query": QUERY, "helpful": True, **fields})


@pytest.fixture
async def hit(caller: Caller) -> dict[str, Any]:
    """A hit of a search, which alone stores nothing."""
    await caller.add("The copper lantern hangs over the weir.", "weir.md")
    return (await caller.search(QUERY))["results"][0]


async def test_a_judgement_is_stored_replaced_and_withdrawn(caller, hit, owner) -> None:
    assert await judged(owner, caller.user_id) == []
    chunk_id, document_id = hit["chunk_id"], hit["document_id"]
    for given in (True, False, True, None):
        response = await give(caller, chunk_id=chunk_id, helpful=given)
        assert (response.status_code, response.json()) == (200, {"document_id": document_id, "helpful": given})
        stored = [(query, str(document), str(chunk), said) for query, document, chunk, said in
                  await judged(owner, caller.user_id)]  # fmt: skip
        assert stored == ([] if given is None else [(QUERY, document_id, chunk_id, given)])
    assert_problem(await give(caller, chunk_id=chunk_id, helpful=None), 404, "not_found", "chunk_id")
    await give(caller, document_id=document_id)
    await give(caller, document_id=document_id, query="lantern copper")
    assert [row[2] for row in await judged(owner, caller.user_id)] == [None, None]


async def test_a_key_with_filters_judges_no_document_that_it_does_not_see(caller, callers, hit, owner) -> None:
    key = await callers(caller.user_id, filters={"metadata": {"team": "tide"}})
    assert_problem(await give(key, document_id=hit["document_id"]), 404, "not_found", "document_id")
    assert await judged(owner, caller.user_id) == []


async def test_the_client_gives_feedback(caller: Caller, hit: dict[str, Any]) -> None:
    given = await AsyncClient(http=caller.client).give_feedback(QUERY, True, chunk_id=UUID(hit["chunk_id"]))
    assert (str(given.document_id), given.helpful) == (hit["document_id"], True)


async def test_a_judgement_is_deleted_with_its_document(caller: Caller, hit: dict, owner: asyncpg.Connection) -> None:
    await give(caller, chunk_id=hit["chunk_id"])
    replaced = await caller.add("The copper lantern hangs over the bridge.", "weir.md")
    assert replaced["document_id"] == hit["document_id"]
    assert len(await judged(owner, caller.user_id)) == 1, "it stays while the document is replaced"
    assert (await caller.client.delete(f"/api/rag/documents/{hit['document_id']}")).status_code == 200
    assert await judged(owner, caller.user_id) == []


async def test_old_judgements_of_all_users_expire_and_only_the_newest_are_kept(
    caller: Caller, hit: dict[str, Any], owner: asyncpg.Connection, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        await give(caller, chunk_id=hit["chunk_id"], query=f"{QUERY} {number}")
    aged = "UPDATE stepwell.feedback SET at = now() - make_interval(days => 31) WHERE user_id = $1 AND query = $2"
    await owner.execute(aged, caller.user_id, f"{QUERY} 0")
    async with database.reading(caller.user_id) as reading:
        recent = [one.query async for one in feedback.list_all(reading, days=30)]
    assert recent == [f"{QUERY} 2", f"{QUERY} 1"]
    async with database.shared() as shared:
        assert await feedback.expire(shared, days=30) >= 1
    assert [row[0] for row in await judged(owner, caller.user_id)] == [f"{QUERY} 1", f"{QUERY} 2"]
    monkeypatch.setattr(feedback, "MAX_STORED", 1)
    await give(caller, chunk_id=hit["chunk_id"], query=f"{QUERY} 3")
    assert [row[0] for row in await judged(owner, caller.user_id)] == [f"{QUERY} 3"]


async def test_judgements_are_counted(open_app: FastAPI) -> None:
    async with harness.client(open_app) as client:
        stored = (await client.post("/api/rag/documents", json={"content": "Feedback is counted."})).json()
        body = {"query": "counted", "document_id": stored["document_id"]}
        for helpful in (True, False, None):
            assert (await client.post("/api/rag/feedback", json={**body, "helpful": helpful})).status_code == 200
        await client.post("/api/rag/feedback", json={**body, "document_id": str(uuid4()), "helpful": True})
        metrics = (await client.get("/metrics")).text
    for kind in ("true", "false", "withdrawn"):
        assert f'stepwell_feedback_total{{helpful="{kind}"}} 1.0' in metrics


async def test_optional_tools_are_offered_and_called_where_they_are_named(database: Database) -> None:
    services = await harness.services(database)
    for tools in (frozenset[str](), frozenset(capability.optional_tools())):
        async with (
            harness.running(Settings(auth="none"), replace(services, tools=tools)) as app,
            harness.client(app) as client,
        ):
            names = {tool["function"]["name"] for tool in (await client.get("/api/rag/tools")).json()}
            assert names & set(capability.optional_tools()) == tools
            await client.post("/api/rag/documents", json={"content": "Agents rate heron passages.", "uri": "heron.md"})
            (found,) = (await client.post("/api/rag/search", json={"query": "heron", "limit": 1})).json()["results"]
            given = {"query": "heron", "chunk_id": found["chunk_id"], "helpful": True}
            rated = await client.post("/api/rag/tools/rate_passage", json=given)
            added = await client.post("/api/rag/tools/add_document", json={"content": "A tern."})
            assert rated.status_code == added.status_code == (200 if tools else 404)
    assert rated.json() == {"document_id": found["document_id"], "helpful": True}
    assert added.json()["status"] == "added"


async def test_no_feedback_is_taken_where_none_is_kept(database: Database, owner: asyncpg.Connection) -> None:
    services = replace(await harness.services(database), options={FeedbackOptions: FeedbackOptions(days=0)})
    async with harness.running(Settings(auth="none"), services) as app, harness.client(app) as client:
        body = {"query": QUERY, "document_id": str(uuid4()), "helpful": True}
        refused = await client.post("/api/rag/feedback", json=body)
        assert_problem(refused, 422, "invalid_request")
        assert "STEPWELL_FEEDBACK_DAYS" in refused.json()["detail"]


def test_feedback_is_grouped_by_query_and_a_helpful_passage_makes_its_document_relevant() -> None:
    def said(query: str, document: int, helpful: bool, uri: str | None) -> GivenFeedback:
        return GivenFeedback(query, helpful, UUID(int=document), uri)

    given = [said("a", 1, False, "x"), said("b", 1, False, "x"), said("a", 1, True, "x"), said("a", 2, False, None)]
    grouped = pipeline.group(given)
    assert [(one.text, one.relevant) for one in grouped] == [("a", {"x": 1, str(UUID(int=2)): 0}), ("b", {"x": 0})]
    assert grouped[0].query_id == pipeline.group(given[:1])[0].query_id
