"""Tests of filters with operators and groups over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from api_caller import Caller
from example_app import assert_problem

SEARCH = "/api/rag/search"
KNOWN = "in, ne, exists, gte, gt, lte, lt"
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


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"metadata": {"tags": "decision"}}, {"lime", "buoys"}),
        ({"metadata": {"tags": {"in": ["lime", "bread"]}}}, {"lime"}),
        ({"metadata": {"team": {"ne": "tide"}}}, {"lime", "bread"}),
        ({"metadata": {"team": {"exists": True}}}, {"lime", "buoys"}),
        ({"metadata": {"year": {"gte": 2020, "exists": True, "ne": 2023}}}, {"buoys"}),
        ({"any": [LIME, {"created_before": "2021-01-01"}]}, {"lime", "bread"}),
        ({"all": [{"metadata": {"tags": "decision"}}, {"not": LIME}]}, {"buoys"}),
        ({"not": {"any": [LIME, BUOYS]}}, {"bread"}),
    ],
)
async def test_operators_and_groups_select_documents(reader: Caller, filters: dict[str, Any], expected: Any) -> None:
    assert await _found(reader, filters) == expected


@pytest.mark.parametrize("path", ["search", "search/two-pass", "search/multihop", "similar"])
async def test_every_kind_of_search_applies_operators_and_groups(reader: Caller, path: str) -> None:
    chunk = next(hit for hit in (await reader.search("Ana Torres"))["results"] if hit["uri"] == "bread")
    asked = {"chunk_id": chunk["chunk_id"]} if path == "similar" else {"query": "What did Ana Torres do?"}
    for filters in ({"metadata": {"tags": "decision", "team": {"in": ["tide"]}}}, {"any": [BUOYS], "not": LIME}):
        response = await reader.client.post(f"/api/rag/{path}", json={**asked, "filters": filters})
        assert [hit["uri"] for hit in response.json()["results"]] == ["buoys"], response.text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"$in": ["tide"]}, "unknown_operator"),
        ({"$gte": 1, "lt": 2}, "unknown_operator"),
        ({"gte": 1, "until": 2}, "unknown_operator"),
        ({"in": ["tide"], "name": "Ana"}, "unknown_operator"),
        ({"author": {"ne": "Ana"}}, "nested_operator"),
        ([{"year": {"gte": 1}}], "nested_operator"),
        ({"in": "tide"}, "invalid_operand"),
        ({"in": [["tide"]]}, "invalid_operand"),
        ({"in": list(range(101))}, "invalid_operand"),
        ({"ne": ["tide"]}, "invalid_operand"),
        ({"exists": "yes"}, "invalid_operand"),
        ({"exists": 1}, "invalid_operand"),
        ({"gte": True}, "invalid_range"),
    ],
)
async def test_a_wrong_operator_or_operand_is_refused(caller: Caller, value: Any, code: str) -> None:
    body = {"query": "lime", "filters": {"metadata": {"team": value}}}
    problem = assert_problem(await caller.client.post(SEARCH, json=body), 422, code, "filters.metadata.team")
    assert (KNOWN in problem["detail"]) == (code == "unknown_operator")


async def test_an_object_without_operators_is_contained(reader: Caller) -> None:
    await reader.add("Ana Torres sings.", "song", metadata={"place": {"name": "Gannet", "depth": 30}})
    assert await _found(reader, {"metadata": {"place": {"name": "Gannet"}}}) == {"song"}
    assert await _found(reader, {"metadata": {"place": {"name": "Gannet", "depth": 31}}}) == set()


@pytest.mark.parametrize(
    "written", ["2026-01-31T12:00:00.1234567Z", " 2026-01-31", "2026-01-31 12:00+02", "2026-01-31T12:00:00,5 z "]
)
async def test_a_stored_date_equals_a_bound_that_is_written_alike(reader: Caller, written: str) -> None:
    await reader.add("Ana Torres sings.", "song", metadata={"day": written}, created_at=written)
    for bounds, found in (({"lte": written}, {"song"}), ({"gte": written}, {"song"}), ({"gt": written}, set())):
        assert await _found(reader, {"metadata": {"day": bounds}}) == found, bounds
    assert await _found(reader, {"created_after": written, "metadata": {"day": written}}) == {"song"}
    assert await _found(reader, {"created_before": written, "metadata": {"day": written}}) == set()


def _nested(depth: int) -> dict[str, Any]:
    return LIME if depth == 0 else {"not": _nested(depth - 1)}


@pytest.mark.parametrize(
    ("filters", "field", "code"),
    [
        ({"any": []}, "filters.any", "invalid_request"),
        ({"all": [{}]}, "filters.all[0]", "empty_filter"),
        ({"not": {"metadata": {}}}, "filters.not", "empty_filter"),
        ({"any": LIME}, "filters.any", "invalid_request"),
        ({"not": [LIME]}, "filters.not", "invalid_request"),
        ({"any": [{"metadata": {"team": {"$ne": 1}}}]}, "filters.any[0].metadata.team", "unknown_operator"),
        ({"any": [LIME, {"not": {"document_ids": ["x"]}}]}, "filters.any[1].not.document_ids[0]", "invalid_request"),
        (_nested(5), "filters", "too_deep"),
        ({"any": [LIME] * 201}, "filters", "too_many_values"),
        ({"not": {"metadata": {"n": {"in": [1] * 100}, "m": {"in": [1] * 100}, "k": 1}}}, "filters", "too_many_values"),
    ],
)
async def test_a_wrong_group_is_refused(caller: Caller, filters: dict[str, Any], field: str, code: str) -> None:
    body = {"query": "lime", "filters": filters}
    assert_problem(await caller.client.post(SEARCH, json=body), 422, code, field)


async def test_the_largest_groups_are_answered(reader: Caller) -> None:
    assert await _found(reader, _nested(4)) == {"lime"}
    assert await _found(reader, {"any": [*[BUOYS] * 199, LIME]}) == {"lime", "buoys"}
