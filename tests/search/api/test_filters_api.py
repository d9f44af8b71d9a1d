"""Tests of filters with operators and groups over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from api_caller import Caller

LIME, BUOYS = {"metadata": {"team": "masonry"}}, {"metadata": {"team": "tide"}}


@pytest.fixture
async def reader(caller: Caller) -> Caller:
    """A user with three notes that mention Ana Torres."""
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
