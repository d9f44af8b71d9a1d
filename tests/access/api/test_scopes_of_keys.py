"""Tests which scopes permit which operations and tools, and that a key without `search` reads nothing.

The matrices are made from the OpenAPI document and the registry of tools, so that what is added is in
them by itself.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import harness
import httpx
import openapi_operations
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import FastAPI
from openapi_operations import OPERATIONS

from app.agents import registry
from app.database.transactions import Database
from app.jobs import store as jobs
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

READING = {
    *("list_documents", "get_document", "list_chunks", "stats", "list_jobs", "get_job", "follow_job"),
    *("list_entities", "search_entities", "get_entity", "list_entity_documents", "list_sources", "get_source"),
    *("search", "search_multihop", "search_two_pass", "explain_placement", "similar", "rerank", "get_synonyms"),
    "list_facets",
}
WRITING = {
    *("add_documents", "upload_documents", "replace_document", "delete_document", "delete_document_by_uri"),
    *("delete_documents", "add_entities", "upsert_entities", "delete_entity"),
    *("add_source", "sync_source", "delete_source", "cancel_job", "set_synonyms"),
}
CHANGING = {"change_document", "change_entity", "merge_entities", "change_source", "reindex_documents"}
"""Operations that write, and whose response shows what is stored: they need both scopes."""
JUDGING = {"give_feedback"}
"""Operations that write what a reader of passages may say of them: they need `search` only."""
NEEDED = {name: {"search"} for name in READING | JUDGING} | {name: {"write"} for name in WRITING}
NEEDED |= {name: {"search", "write"} for name in CHANGING}
NEEDED = {name: scopes for name, scopes in NEEDED.items() if name in OPERATIONS}
WORD = "quibblewort"
"""What every text, title, name, path and URI of a user contains here."""
SCOPES = [("search",), ("write",), ("search", "write"), ("metrics",), ("admin",)]


@dataclass(frozen=True, slots=True)
class Stored:
    """The ids of what a user has stored, by their names in the API, and a way to make clients with that user's keys."""

    ids: dict[str, str]
    client: Callable[..., Awaitable[httpx.AsyncClient]]

    def path(self, operation_id: str) -> str:
        """The path of an operation on what is stored."""
        template = OPERATIONS[operation_id][1]
        return f"{template}?uri=unknown" if operation_id == "delete_document_by_uri" else template.format(**self.ids)


@pytest.fixture(scope="module")
def database(own_database: Database) -> Database:
    """A database of which no application runs the jobs."""
    return own_database


@pytest.fixture(scope="module")
async def app(database: Database, embedder: FakeEmbedder) -> AsyncIterator[FastAPI]:
    """The application without a worker, so that jobs stay as they are queued."""
    services = await harness.services(database, embedder)
    async with harness.running(Settings(auth="api_key", worker=False), services) as running:
        yield running


@pytest.fixture
async def stored(database: Database, callers: Callable[..., Awaitable[Caller]]) -> Stored:
    """A user with a document, an entity, and a job that no worker runs. What sources show is tested with them."""
    caller = await callers(harness.new_user(), "search", "write")
    document = await caller.add(f"The {WORD} vault.", f"{WORD}.md", title=f"A {WORD}", metadata={"word": WORD})
    quibble = {"type": "person", "name": f"{WORD} Vane", "facts": [WORD], "description": WORD, "metadata": {"a": WORD}}
    entity = (await caller.client.post("/api/rag/entities", json=quibble)).json()
    async with database.writing(caller.user_id) as writing:
        job_id = await jobs.add(writing, "unknown_to_workers", {})
    ids: dict[str, Any] = {"source_id": uuid4(), "job_id": job_id, "name": "get_document"}
    ids |= {"document_id": document["document_id"], "entity_id": entity["entity_id"]}

    async def client(*scopes: str) -> httpx.AsyncClient:
        return (await callers(caller.user_id, *scopes)).client

    return Stored({name: str(value) for name, value in ids.items()}, client)


def test_the_matrix_has_every_operation_on_data_of_users() -> None:
    of_users = {name for name, (_method, path, _operation) in OPERATIONS.items() if path.startswith("/api/")}
    assert of_users == NEEDED.keys() | {"list_tools", "call_tool", "describe_tools"}


@pytest.mark.parametrize("scopes", SCOPES, ids="+".join)
async def test_a_key_permits_the_operations_of_its_scopes_only(stored: Stored, scopes: tuple[str, ...]) -> None:
    # The events of a job end with it.
    await (await stored.client("admin")).post(stored.path("cancel_job"))
    client = await stored.client(*scopes)
    permitted = set()
    for name in sorted(NEEDED):
        # A body that no operation accepts: scopes are checked before it is read.
        response = await client.request(OPERATIONS[name][0], stored.path(name), content=b"{")
        if response.status_code != 403:
            permitted.add(name)
        else:
            assert_problem(response, 403, "forbidden")
    held = {"search", "write"} if "admin" in scopes else {*scopes}
    assert permitted == {name for name, needed in NEEDED.items() if needed <= held}


@pytest.mark.parametrize("name", sorted(NEEDED.keys() - READING))
async def test_without_search_no_operation_returns_what_is_stored(stored: Stored, name: str) -> None:
    client = await stored.client("write")
    method, _path, operation = OPERATIONS[name]
    given: list[tuple[str | None, str | None]] = [("application/json", "{}")]
    given += [body[1:] for body in openapi_operations.bodies(operation)]
    for body in given:
        response = await client.request(method, stored.path(name), **openapi_operations.request(*body))
        assert WORD not in response.text


async def test_the_control_finds_what_a_key_without_search_must_not(stored: Stored) -> None:
    client = await stored.client("search", "write")
    for name in ("change_document", "change_entity"):
        assert WORD in (await client.patch(stored.path(name), json={})).text, name


@pytest.mark.parametrize("path", ["/api/rag/documents/delete", "/api/rag/documents/reindex"])
async def test_counting_what_passes_a_filter_needs_search(stored: Stored, path: str) -> None:
    counted = {"filters": {"metadata": {"word": WORD}}, "dry_run": True}
    writer, both = await stored.client("write"), await stored.client("search", "write")
    assert_problem(await writer.post(path, json=counted), 403, "forbidden")
    assert (await both.post(path, json=counted)).status_code == 200


async def test_a_taken_name_does_not_tell_the_id_of_its_entity(stored: Stored) -> None:
    client = await stored.client("write")
    taken = await client.post("/api/rag/entities", json={"type": "person", "name": f"{WORD} Vane"})
    assert_problem(taken, 409, "conflict", "name")
    assert stored.ids["entity_id"] not in taken.text


@pytest.mark.parametrize("tool", [tool.name for tool in registry.list_all() if tool.scope == "write"])
async def test_no_tool_returns_what_is_stored_without_search(stored: Stored, tool: str) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "add_document": {"content": "Copper."},
        "delete_document": {"document_id": stored.ids["document_id"]},
        "add_source": {"path": "/nowhere"},
        "sync_source": {"source_id": stored.ids["source_id"]},
    }
    client = await stored.client("write")
    response = await client.post(f"/api/rag/tools/{tool}", json=arguments[tool])
    assert response.status_code in (200, 403, 404)
    assert WORD not in response.text
