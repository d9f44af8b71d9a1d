"""Tests that no operation reads or changes objects of another user.

The matrix is made from the OpenAPI document, so an operation that is added is in it by itself.
"""

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from api_caller import Caller
from openapi_operations import DOCUMENT

from app.database.transactions import Database
from app.jobs import store as jobs

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SECRET = "The quibblewort vault opens at midnight with the copper key."
Newcomer = Callable[..., Awaitable[Caller]]


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and operation of everything under /api."""
    for path, item in DOCUMENT["paths"].items():
        if path.startswith("/api/"):
            yield from ((method, path, operation) for method, operation in item.items() if "operationId" in operation)


def schema_of(operation: dict[str, Any]) -> dict[str, Any]:
    """The schema of an operation's JSON body."""
    content = operation.get("requestBody", {}).get("content", {})
    schema: dict[str, Any] = content.get("application/json", {}).get("schema", {})
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def example_of(operation: dict[str, Any]) -> Any:
    """The first example of an operation's JSON body."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return next((example["value"] for example in content.get("examples", {}).values()), None)


def ids_in(path: str, operation: dict[str, Any]) -> list[str]:
    """The names of the single ids that an operation takes, in its path or its body."""
    in_path = re.findall(r"{(\w+_id)}", path)
    return in_path or [name for name in schema_of(operation).get("properties", {}) if name.endswith("_id")]


WITH_IDS = [
    pytest.param(method, path, operation, name, id=f"{operation['operationId']}-{name}")
    for method, path, operation in operations()
    for name in ids_in(path, operation)
    if operation["operationId"] != "follow_job" and name != "source_id"
]
"""Operations on an id.

One whose response does not end before its job is asked in test_jobs_api.py, those on sources in test_sources_api.py.
"""
ASKING = [
    (method, path, operation)
    for method, path, operation in operations()
    if {"query", "vector"} & (fields := schema_of(operation).get("properties", {}).keys())
    and not {"lists", "document_id"} & fields
]
"""Operations that look for something; one that orders given lists is asked in test_rerank_and_merge_api.py."""


def named(cases: list[tuple[str, str, dict[str, Any]]]) -> list[Any]:
    """The operations as parameters."""
    return [pytest.param(*case, id=case[2]["operationId"]) for case in cases]


@pytest.fixture
async def alice(new_caller: Newcomer, database: Database) -> Caller:
    """Somebody with a secret, and with a job that no worker runs."""
    caller = await new_caller()
    async with database.writing(caller.user_id) as writing:
        await jobs.add(writing, "unknown_to_workers", {})
    await caller.add(SECRET, "alices-own", metadata={"secret": True})
    quibble = {"type": "person", "name": "Quibble Wort", "facts": [SECRET], "description": SECRET}
    assert (await caller.client.post("/api/rag/entities", json=quibble)).status_code == 201
    return caller


@pytest.fixture
async def bob(new_caller: Newcomer) -> Caller:
    """Somebody else, with a note of his own."""
    caller = await new_caller()
    await caller.add("A note about copper and keys.", "mine")
    return caller


async def ids_of(caller: Caller) -> dict[str, str]:
    """One id of each kind that a user has."""
    hit = (await caller.search("quibblewort"))["results"][0]
    (entity,) = (await caller.client.get("/api/rag/entities", params={"origin": "user"})).json()["entities"]
    listed = (await caller.client.get("/api/rag/jobs")).json()["jobs"]
    (job,) = [job["job_id"] for job in listed if job["kind"] == "unknown_to_workers"]
    ids = {"document_id": hit["document_id"], "chunk_id": hit["chunk_id"], "entity_id": entity["entity_id"]}
    return ids | {"job_id": job}


def test_the_matrix_covers_every_kind_of_id_and_every_search() -> None:
    kinds = {case.values[3] for case in WITH_IDS}
    assert kinds == {"document_id", "chunk_id", "entity_id", "job_id"}
    assert {operation["operationId"] for *_, operation in ASKING} >= {"search", "similar"}
    assert len(WITH_IDS) >= 5


@pytest.mark.parametrize(("method", "path", "operation", "name"), WITH_IDS)
async def test_another_users_id_is_answered_like_an_unknown_one(alice, bob, method, path, operation, name) -> None:
    properties = schema_of(operation).get("properties", {})

    async def answered(caller: Caller, given_id: str) -> tuple[int, Any]:
        """Status and body, without what differs by its nature."""
        body = example_of(operation)
        if name in properties:
            others = {"query": "quibblewort", "helpful": True}
            body = {name: given_id} | {field: value for field, value in others.items() if field in properties}
        if "entity_ids" in properties:
            fields = {"type": "person", "name": str(uuid4())}
            body = {"entity_ids": [(await caller.client.post("/api/rag/entities", json=fields)).json()["entity_id"]]}
        response = await caller.client.request(method, path.replace(f"{{{name}}}", given_id), json=body)
        answer = {key: value for key, value in response.json().items() if key not in ("request_id", "timings")}
        return response.status_code, {key: str(value).replace(given_id, "ID") for key, value in answer.items()}

    theirs = (await ids_of(alice))[name]
    status, body = await answered(bob, theirs)
    assert (status, body) == await answered(bob, str(uuid4()))
    assert (status, body.get("verdict")) in ((404, None), (200, "not_found"))
    assert (await alice.client.get("/api/rag/documents")).json()["documents"][0]["uri"] == "alices-own"
    status, body = await answered(alice, theirs)
    assert status in (200, 202)
    assert body.get("verdict") != "not_found"


@pytest.mark.parametrize(("method", "path", "operation"), named(ASKING))
async def test_no_search_returns_another_users_chunks(app, alice, bob, owner, method, path, operation) -> None:
    theirs = await _uuids(owner, alice.user_id) | {(await ids_of(alice))["entity_id"]}
    vector = await app.state.services.embedder.embed_query(SECRET)
    document_id = (await ids_of(alice))["document_id"]
    tries: list[dict[str, Any]] = [
        {"query": SECRET, "limit": 20, "explain": True},
        {"query": f'"{SECRET}"', "mode": "lexical"},
        {"query": SECRET, "mode": "semantic"},
        {"query": SECRET, "ranking": {"rerank": "cosine", "mmr": True}},
        {"query": SECRET, "filters": {"document_ids": [document_id]}},
        {"query": SECRET, "filters": {"metadata": {"secret": True}}},
        {"query": "quibblewor", "mode": "lexical"},
        {"query": "quibblewort", "exclude_chunk_ids": sorted(await _uuids(owner, bob.user_id))},
        {"query": "quibblewort"},
        {"vector": vector, "limit": 20},
        {"vector": vector, "filters": {"document_ids": [document_id]}},
    ]
    properties = schema_of(operation)["properties"].keys()
    unsupported = {"vector"} if path.endswith("multihop") else set()
    fitting = [body for body in tries if body.keys() <= properties - unsupported]
    assert fitting
    for body in fitting:
        answer = await bob.client.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
        assert not set(UUID.findall(answer.text)) & theirs
        assert "alices-own" not in answer.text
        own = await alice.client.request(method, path, json=body)
        assert set(UUID.findall(own.text)) & theirs, "the control must find what Bob must not"


async def test_listings_and_counts_cover_only_the_users_own_data_and_equal_texts_are_two_documents(alice, bob) -> None:
    for n in range(3):
        await alice.add(f"More {n}.")
    assert [d["uri"] for d in (await bob.client.get("/api/rag/documents")).json()["documents"]] == ["mine"]
    assert (await bob.client.get("/api/rag/documents", params={"uri": "alices-own"})).json()["documents"] == []
    assert (await bob.client.get("/api/rag/stats")).json()["documents"] == 1
    mine = await bob.add(SECRET, "alices-own")
    assert (mine["status"], mine["embedded"]) == ("added", 1)
    assert mine["document_id"] != (await ids_of(alice))["document_id"]


async def test_another_users_entities_are_neither_listed_nor_matched_nor_contained(alice: Caller, bob: Caller) -> None:
    theirs = (await ids_of(alice))["entity_id"]
    for params in ({}, {"q": "Quibble Wort"}, {"q": "quible"}, {"type": "person"}):
        answer = await bob.client.get("/api/rag/entities", params={**params, "limit": 200})
        assert "Quibble" not in answer.text
        assert "Quibble" in (await alice.client.get("/api/rag/entities", params=params)).text
    for members in ([theirs], [str(uuid4())]):
        body = {"type": "team", "name": "Thieves", "members": members}
        refused = await bob.client.post("/api/rag/entities", json=body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "members[0]")
    before = (await alice.client.get(f"/api/rag/entities/{theirs}")).json()
    line = f'{{"type": "person", "name": "Quibble Wort", "entity_id": "{theirs}"}}'
    headers = {"Content-Type": "application/x-ndjson"}
    answer = (await bob.client.post("/api/rag/entities/bulk", content=line, headers=headers)).json()
    assert answer["lines"][0]["status"] == "added", "an id that another user took is free"
    assert (await bob.client.get(f"/api/rag/entities/{theirs}")).json()["facts"] == []
    assert (await bob.client.delete(f"/api/rag/entities/{theirs}")).status_code < 300
    assert (await alice.client.get(f"/api/rag/entities/{theirs}")).json() == before
    same = await bob.client.post("/api/rag/entities", json={"type": "person", "name": "Quibble Wort"})
    assert same.status_code == 201, "a name that another user took is free"


async def _uuids(owner: asyncpg.Connection, user_id: str) -> set[str]:
    rows = await owner.fetch("SELECT chunk_id::text AS id FROM stepwell.chunks WHERE user_id = $1", user_id)
    return {row["id"] for row in rows}


async def test_no_cache_keeps_what_a_user_reads_for_another_one(new_caller: Newcomer) -> None:
    client = (await new_caller()).client
    for path in [path for method, path, _ in operations() if method == "get" and "{" not in path]:
        response = await client.get(path)
        assert (response.status_code, response.headers.get_list("cache-control")) == (200, ["no-store"]), path
