"""A request with a wrong value is refused with a code and the place of the value, and stores nothing.

Another test compares bounds and enumerations with the OpenAPI document; here is one of each kind.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from api_caller import Caller
from example_app import assert_problem

Json = dict[str, Any]
ID = str(UUID(int=1))
NOBODY = "00000000-0000-4000-8000-000000000000"
VECTOR = [0.1] * 384
LIME, BUOYS = {"metadata": {"team": "masonry"}}, {"metadata": {"team": "tide"}}


def nested(depth: int) -> Json:
    """Filters with this many nested groups."""
    return LIME if depth == 0 else {"not": nested(depth - 1)}


OPTIONS: list[tuple[Json, str, str]] = [
    ({"lmit": 5}, "invalid_request", "lmit"),
    ({"collapse": "all"}, "invalid_request", "collapse"),
    ({"explain": "yes"}, "invalid_request", "explain"),
    ({"cursor": "A" * 65}, "invalid_request", "cursor"),
    ({"exclude_chunk_ids": ["nonsense"]}, "invalid_request", "exclude_chunk_ids[0]"),
]
"""Values that every search refuses, with their field."""
RANKING: list[tuple[Json, str, str]] = [
    ({"weights": {"vector": 0, "text": 0}}, "no_leg", "ranking.weights"),
    ({"candidates": 100_000}, "invalid_request", "ranking.candidates"),
    ({"mmr": 1}, "invalid_request", "ranking.mmr"),
    ({"hops": {}}, "invalid_request", "ranking.hops"),
    ({"recency": "often"}, "invalid_request", "ranking.recency"),
    ({"recency": 30}, "invalid_request", "ranking.recency"),
    ({"recency": {"weight": 1.5}}, "invalid_request", "ranking.recency.weight"),
    ({"guidance": {"alpha": "0.5"}}, "invalid_request", "ranking.guidance.alpha"),
    ({"guidance": {"max_entities": 2.0}}, "invalid_request", "ranking.guidance.max_entities"),
    ({"guidance": {"boost": 1}}, "invalid_request", "ranking.guidance.boost"),
    ({"group": {"size": 11}}, "invalid_request", "ranking.group.size"),
]
FILTERS: list[tuple[Json, str, str]] = [
    ({"document_ids": ["'; DROP TABLE"]}, "invalid_request", "filters.document_ids[0]"),
    ({"source_ids": [1]}, "invalid_request", "filters.source_ids[0]"),
    ({"created_after": "yesterday"}, "invalid_request", "filters.created_after"),
    ({"any": []}, "invalid_request", "filters.any"),
    ({"all": [{}]}, "empty_filter", "filters.all[0]"),
    ({"not": {"metadata": {}}}, "empty_filter", "filters.not"),
    ({"any": LIME}, "invalid_request", "filters.any"),
    ({"not": [LIME]}, "invalid_request", "filters.not"),
    ({"any": [{"metadata": {"team": {"$ne": 1}}}]}, "unknown_operator", "filters.any[0].metadata.team"),
    ({"any": [LIME, {"not": {"document_ids": ["x"]}}]}, "invalid_request", "filters.any[1].not.document_ids[0]"),
    (nested(5), "too_deep", "filters"),
    ({"any": [LIME] * 201}, "too_many_values", "filters"),
    ({"not": {"metadata": {"n": {"in": [1] * 100}, "m": {"in": [1] * 100}, "k": 1}}}, "too_many_values", "filters"),
]
CONDITIONS: list[tuple[Any, str]] = [
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
    ({"gte": "soon"}, "invalid_range"),
    ({"gte": [1]}, "invalid_range"),
    ({"gte": 2024, "lt": "2025-01-01"}, "invalid_range"),
    *(({"gte": day}, "invalid_range") for day in ("2026-W03", "2026-017", "20260117", "2026-02-30", "10:00")),
]
"""Conditions on a key of the metadata."""
SEARCHES: list[tuple[Json, str, str]] = [
    *OPTIONS,
    *(({"ranking": wrong}, code, field) for wrong, code, field in RANKING),
    *(({"filters": wrong}, code, field) for wrong, code, field in FILTERS),
    *(({"filters": {"metadata": {"on": wrong}}}, code, "filters.metadata.on") for wrong, code in CONDITIONS),
    ({"query": None, "vector": None}, "invalid_request", "query"),
    ({"vector": VECTOR, "query": None, "ranking": {"rerank": "provider"}}, "no_words", "ranking.rerank"),
    ({"vector": VECTOR, "query": None, "ranking": {"min_relevance": 0.5}}, "invalid_request", "ranking.min_relevance"),
    ({"vector": VECTOR, "depth": "thorough"}, "invalid_request", "vector"),
    ({"depth": "thorough", "limit": 21}, "invalid_request", "limit"),
]
REFUSED: dict[str, tuple[Json, list[tuple[Any, str, str]]]] = {
    "POST search": ({"query": "lime"}, SEARCHES),
    "POST search/two-pass": (
        {"query": "lime"},
        [
            *OPTIONS,
            ({"query": " \u200b "}, "blank_query", "query"),
            ({"ranking": {"guidance": {"alpha": 1.5}}}, "invalid_request", "ranking.guidance.alpha"),
        ],
    ),
    "POST search/multihop": (
        {"query": "lime"},
        [
            *OPTIONS,
            ({"query": " "}, "blank_query", "query"),
            ({"depth": "auto"}, "invalid_request", "depth"),
            ({"ranking": {"min_confidence": "low"}}, "invalid_request", "ranking.min_confidence"),
            ({"ranking": {"hops": {"max_hops": 5}}}, "invalid_request", "ranking.hops.max_hops"),
            (
                {"ranking": {"hops": {"merge": "classic", "extractor": "none"}}},
                "invalid_request",
                "ranking.hops.extractor",
            ),
        ],
    ),
    "POST similar": (
        {},
        [
            ({"chunk_id": "x"}, "invalid_request", "chunk_id"),
            ({"chunk_id": ID, "vector": VECTOR}, "one_of", "body"),
            *(({"vector": numbers}, "invalid_request", "vector") for numbers in ([], [0.1] * 16_001)),
            *(({"vector": wrong * 384}, "invalid_request", "vector[0]") for wrong in (["1"], [True])),
            *(({"vector": numbers}, "invalid_vector", "vector") for numbers in ([0.1] * 385, [0.0] * 384)),
            ({"vector": VECTOR, "cursor": "A" * 65}, "invalid_request", "cursor"),
        ],
    ),
    "POST rerank": (
        {"lists": [{"name": "a", "hits": []}]},
        [
            ({"lists": None}, "invalid_request", "lists"),
            ({"lists": [{"name": "x"}]}, "invalid_request", "lists[0].hits"),
            ({"lists": [{"name": "x", "hits": [{}]}]}, "invalid_request", "lists[0].hits[0].chunk_id"),
            ({"lists": [{"name": "one", "hits": [{"chunk_id": one}]} for one in "ab"]}, "duplicate_name", "lists"),
            ({"rerank": "cosine"}, "invalid_request", "query"),
            ({"rerank": "provider"}, "invalid_request", "query"),
            ({"rerank": True}, "invalid_request", "rerank"),
            ({"query": " "}, "blank_query", "query"),
        ],
    ),
    **{
        f"POST documents/{path}": (
            {},
            [
                ({}, "no_selection", "filters"),
                ({"filters": {}}, "no_selection", "filters"),
                ({"filters": None, "dry_run": True}, "no_selection", "filters"),
                ({"all": False}, "no_selection", "filters"),
                ({"filters": LIME, "all": True}, "two_selections", "filters"),
                ({"filters": {"team": "red"}}, "invalid_request", "filters.team"),
            ],
        )
        for path in ("delete", "reindex")
    },
    "POST documents": (
        {"content": "x"},
        [
            ({"content": "\u200b "}, "blank_content", "content"),
            ({"content": 5}, "invalid_request", "content"),
            ({"uri": "u" * 2049}, "invalid_request", "uri"),
            ({"created_at": "now"}, "invalid_request", "created_at"),
            ({"created_at": "0001-01-01T00:00:00+23:59"}, "invalid_request", "created_at"),
            ({"metadata": {"big": "x" * 70_000}}, "too_large", "metadata"),
            ({"metadata": []}, "invalid_request", "metadata"),
            ([], "invalid_request", "body"),
            ([{"content": "x"}] * 501, "invalid_request", "body"),
            ([{"content": ""}, {"content": "x", "titel": "y"}], "blank_content", "[0].content"),
            ([5], "invalid_request", "[0]"),
            ("text", "invalid_request", "body"),
            (None, "invalid_json", "body"),
        ],
    ),
    "POST entities": (
        {"type": "person", "name": "Ana"},
        [
            *(({"name": name}, "blank_name", "name") for name in ("", "  ", "!?—", "\u200b", "ﷺ" * 150)),
            *(({"name": name}, "invalid_request", "name") for name in ("x" * 201, "x" * 5_000, 5, None)),
            *(({"type": kind}, "invalid_request", "type") for kind in ("Person", "", "p" * 41)),
            ({"aliases": ["Ana", "..."]}, "blank_name", "aliases[1]"),
            ({"role": " "}, "blank_text", "role"),
            ({"metadata": []}, "invalid_request", "metadata"),
            ({"members": ["nobody"]}, "invalid_request", "members[0]"),
            ({"members": [NOBODY]}, "invalid_request", "members[0]"),
        ],
    ),
}


@pytest.fixture(scope="module")
async def writer(new_caller: Callable[..., Awaitable[Caller]]) -> AsyncIterator[Caller]:
    """The user of all tests of this module. At the end it has stored nothing."""
    caller = await new_caller("search", "write")
    yield caller
    assert (await caller.client.get("/api/rag/stats")).json()["documents"] == 0
    assert (await caller.client.get("/api/rag/entities")).json()["entities"] == []


@pytest.mark.parametrize("operation", REFUSED)
async def test_a_wrong_value_is_refused_with_its_place(writer: Caller, operation: str) -> None:
    method, _, path = operation.partition(" ")
    base, rows = REFUSED[operation]
    for wrong, code, field in rows:
        body = {**base, **wrong} if isinstance(wrong, dict) else wrong
        response = await writer.client.request(method, f"/api/rag/{path}", json=body)
        assert_problem(response, 400 if code == "blank_query" else 422, code, field)
