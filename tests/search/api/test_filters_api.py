"""Tests of filters with operators and groups over HTTP."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.database.transactions import Database

LIME, BUOYS = {"metadata": {"team": "masonry"}}, {"metadata": {"team": "tide"}}


@pytest.fixture(scope="module")
async def reader(new_caller: Callable[..., Awaitable[Caller]]) -> Caller:
    """A user with three notes that mention Ana Torres."""
    caller = await new_caller("search", "write")
    person = {"type": "person", "name": "Ana Torres"}
    assert (await caller.client.post("/api/rag/entities", json=person)).status_code == 201
    await caller.add("Ana Torres mixes lime.", "lime", metadata={"team": "masonry", "tags": ["decision", "lime"]})
    await caller.add("Ana Torres repairs buoys.", "buoys", metadata={"team": "tide", "year": 2024, "tags": "decision"})
    await caller.add("Ana Torres bakes bread.", "bread", created_at="2020-01-01")
    return caller


async def _found(caller: Caller, filters: dict[str, Any]) -> set[str]:
    answer = await caller.search("Ana Torres", filters=filters)
    return {hit["uri"] for hit in answer["results"]}


@pytest.mark.parametrize("path", ["search", "search/two-pass", "search/multihop", "similar"])
async def test_every_kind_of_search_applies_operators_and_groups(reader: Caller, path: str) -> None:
    chunk = next(hit for hit in (await reader.search("Ana Torres"))["results"] if hit["uri"] == "bread")
    asked = {"chunk_id": chunk["chunk_id"]} if path == "similar" else {"query": "What did Ana Torres do?"}
    for filters in ({"metadata": {"tags": "decision", "team": {"in": ["tide"]}}}, {"any": [BUOYS], "not": LIME}):
        response = await reader.client.post(f"/api/rag/{path}", json={**asked, "filters": filters})
        assert [hit["uri"] for hit in response.json()["results"]] == ["buoys"], response.text


def _nested(depth: int) -> dict[str, Any]:
    return LIME if depth == 0 else {"not": _nested(depth - 1)}


async def test_the_largest_groups_are_answered(reader: Caller) -> None:
    assert await _found(reader, _nested(4)) == {"lime"}
    assert await _found(reader, {"any": [*[BUOYS] * 199, LIME]}) == {"lime", "buoys"}


FOREIGN = {"year": {"eq": 2024}}


@pytest.mark.parametrize(
    ("condition", "advised"),
    [
        ({"year": {"eq": 2024}}, "the value itself"),
        ({"year": {"nin": [1999]}}, "`ne`"),
        ({"team": {"contains": "id"}}, "the value itself"),
        ({"year": {"between": [2020, 2030]}}, "`gte` and `lte`"),
        ({"team": {"notIn": ["masonry"]}}, "`ne`"),
        ({"team": {"starts_with": "ti"}}, "`filters.uri_prefix`"),
        ({"team": {"like": "ti%"}}, "whole values"),
        ({"team": {"REGEX": "^ti"}}, "whole values"),
        ({"year": {">=": 2020}}, "`gte`"),
        ({"place": {"country": {"eq": "NO"}}}, "the value itself"),
        ({"team": {"match": {"value": "tide"}}}, "the value itself"),
        ({"team": {"any": ["tide"]}}, "`in`"),
        ({"team": {"except": ["tide"]}}, "`ne`"),
        ({"team": {"is_empty": True}}, "`exists`"),
        ({"team": {"not": {"value": "tide"}}}, "`filters.not`"),
    ],
)
async def test_an_operator_of_another_system_is_refused_with_the_right_one(reader, condition, advised) -> None:
    response = await reader.client.post("/api/rag/search", json=_asking({"metadata": condition}))
    [error] = response.json()["errors"]
    assert response.status_code == 422
    assert error["field"].startswith(f"filters.metadata.{next(iter(condition))}.")
    assert advised in error["message"]


@pytest.mark.parametrize(
    ("group", "advised"),
    [
        ({"$and": [{"team": "tide"}, {"year": 2024}]}, "filters.all"),
        ({"$or": [{"team": "tide"}, {"year": 2024}]}, "filters.any"),
        ({"OR": [{"team": "tide"}]}, "filters.any"),
        ({"$not": {"team": "tide"}}, "filters.not"),
        ({"must_not": [{"team": "tide"}]}, "filters.not"),
    ],
)
async def test_a_group_of_another_system_inside_the_metadata_is_refused_and_deletes_nothing(reader, group, advised):
    [name] = group
    for filters, outer in (({"metadata": group}, ""), ({"not": {"metadata": group}}, ".not")):
        response = await reader.client.post("/api/rag/documents/delete", json={"filters": filters})
        [error] = response.json()["errors"]
        assert response.status_code == 422
        key = f'["{name}"]' if "$" in name else f".{name}"
        assert error["field"] == f"filters{outer}.metadata{key}"
        assert advised in error["message"]


@pytest.mark.parametrize("group", [{"$and": [{"year": {"$gt": 2020}}]}, {"$and": [{"year": {"gt": 2020}}]}])
async def test_a_group_of_another_system_with_operators_is_refused_with_the_right_group(reader: Caller, group) -> None:
    response = await reader.client.post("/api/rag/search", json=_asking({"metadata": group}))
    [error] = response.json()["errors"]
    assert (response.status_code, error["code"]) == (422, "nested_operator")
    assert "filters.all" in error["message"]


async def test_keys_of_documents_may_be_named_as_groups_and_operators(new_caller) -> None:
    caller = await new_caller("search", "write")
    await caller.add("Ana Torres has a boat.", "boat", metadata={"$or": ["a", "b"], "match": {"any": "x"}, "not": "y"})
    for condition in ({"$or": ["b"]}, {"match": {"any": "x"}}, {"not": "y"}):
        assert await _found(caller, {"metadata": condition}) == {"boat"}


def _asking(filters: dict[str, Any]) -> dict[str, Any]:
    return {"query": "Ana Torres", "filters": filters}


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("POST", "search", _asking({"metadata": FOREIGN})),
        ("POST", "search/multihop", _asking({"metadata": FOREIGN})),
        ("POST", "search/two-pass", _asking({"metadata": FOREIGN})),
        ("POST", "similar", {"vector": [1.0] * 384, "filters": {"metadata": FOREIGN}}),
        ("POST", "documents/delete", {"filters": {"metadata": FOREIGN}}),
        ("POST", "documents/reindex", {"filters": {"metadata": FOREIGN}}),
        ("GET", "documents", {"filters": json.dumps({"metadata": FOREIGN})}),
        ("POST", "tools/search_documents", {"query": "Ana Torres", "metadata": FOREIGN}),
        ("POST", "tools/list_documents", {"metadata": FOREIGN}),
    ],
)
async def test_wherever_filters_come_in_an_operator_of_another_system_is_refused(reader, method, path, sent) -> None:
    given = {"params": sent} if method == "GET" else {"json": sent}
    response = await reader.client.request(method, f"/api/rag/{path}", **given)
    assert response.status_code == 422, response.text
    whole = "metadata.year.eq" if path.startswith("tools/") else "filters.metadata.year.eq"
    assert [error["field"] for error in response.json()["errors"]] == [whole]


@pytest.fixture
async def restrict(app: FastAPI, owning: Database) -> AsyncIterator[Callable[..., Awaitable[Caller]]]:
    """Makes a key of a user that sees the documents which pass filters."""
    async with AsyncExitStack() as stack:

        async def restricted(full: Caller, filters: dict[str, Any]) -> Caller:
            key = await harness.create_key_as(owning, full.user_id, filters=filters)
            client = await stack.enter_async_context(harness.client(app, Authorization=f"Bearer {key}"))
            return Caller(full.user_id, key, client)

        yield restricted


async def test_a_nested_key_of_a_visible_document_is_no_operator(caller: Caller, restrict) -> None:
    """Also if it has the name of an operator elsewhere; a document that the key does not see does not count."""
    await caller.add("Ana Torres mixes lime.", "lime", metadata={"team": "masonry", "dose": {"eq": 3, "unit": "kg"}})
    asked = _asking({"metadata": {"dose": {"eq": 3}}})
    assert [hit["uri"] for hit in (await caller.search(**asked))["results"]] == ["lime"]
    for team, status in (("masonry", 200), ("tide", 422)):
        restricted = await restrict(caller, {"metadata": {"team": team}})
        assert (await restricted.client.post("/api/rag/search", json=asked)).status_code == status


async def test_a_key_that_shows_nothing_because_of_such_an_operator_says_so(reader: Caller, restrict) -> None:
    restricted = await restrict(reader, {"metadata": {"team": {"eq": "tide"}}})
    response = await restricted.client.post("/api/rag/search", json=_asking({}))
    assert response.status_code == 403
    assert "the value itself" in response.json()["detail"]
