"""Tests of the pages and groups of search results over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import FastAPI

from app.entities.linking import mention_refresh

Newcomer = Callable[..., Awaitable[Caller]]

SEARCH, SIMILAR, MULTIHOP = "/api/rag/search", "/api/rag/similar", "/api/rag/search/multihop"
PATHS = (SEARCH, f"{SEARCH}/two-pass", SIMILAR, MULTIHOP)
NOTES = [
    {
        "uri": f"note-{number}",
        "content": "\n\n".join(f"## Part {part}\n\n{'Lime mortar for the harbour wall. ' * 40}" for part in range(2)),
    }
    for number in range(7)
]


@pytest.fixture(scope="module")
async def reader(app: FastAPI, new_caller: Newcomer) -> Caller:
    """A user with seven notes of several chunks, whose names are linked."""
    caller = await filled(await new_caller("search", "write"))
    await mention_refresh.settle(caller.user_id, app.state.services)
    return caller


async def filled(caller: Caller) -> Caller:
    response = await caller.client.post("/api/rag/documents", json=NOTES)
    assert response.status_code == 201, response.text
    return caller


async def request_of(caller: Caller, path: str, **fields: Any) -> dict[str, Any]:
    if path == SIMILAR:
        chunk_id = (await caller.search("harbour", limit=1))["results"][0]["chunk_id"]
        return {"chunk_id": chunk_id, "collapse": "off", **fields}
    return {"query": "lime mortar", "collapse": "off", **fields}


def grouped(path: str, group: dict[str, Any]) -> dict[str, Any]:
    """The option that groups results."""
    return {"group": group} if path == SIMILAR else {"ranking": {"group": group}}


@pytest.mark.parametrize("path", PATHS)
async def test_a_cursor_of_another_request_is_422_and_of_other_documents_409(caller: Caller, path: str) -> None:
    reader = await filled(caller)
    request = await request_of(reader, path, limit=4)
    cursor = (await reader.post(path, request))["next_cursor"]
    assert cursor is not None
    for wrong in ({"cursor": "nonsense"}, {"cursor": cursor, "limit": 5}, {"cursor": cursor, **grouped(path, {})}):
        assert_problem(await reader.client.post(path, json=request | wrong), 422, "invalid_cursor", "cursor")
    await reader.add("Another note.", "another")
    assert_problem(await reader.client.post(path, json=request | {"cursor": cursor}), 409, "stale_cursor", "cursor")


@pytest.mark.parametrize("detail", ["full", "compact", "ids"])
@pytest.mark.parametrize("path", PATHS)
async def test_results_are_grouped_by_document_on_request(reader: Caller, path: str, detail: str) -> None:
    request = await request_of(reader, path, detail=detail, limit=3)
    by_document = await reader.post(path, request | grouped(path, {"size": 1}))
    assert len(by_document["results"]) == 3
    assert [len(hit["more"]) for hit in by_document["results"]] == [1, 1, 1]
    for hit in by_document["results"]:
        assert hit["more"][0].keys() == hit.keys() - {"more"}
        assert hit["more"][0]["document_id"] == hit["document_id"]
    flat = await reader.post(path, request)
    assert all("more" not in hit for hit in flat["results"])
