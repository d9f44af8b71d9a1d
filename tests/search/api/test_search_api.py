"""Tests of the endpoints for searches, and of what they share between users."""

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from api_caller import Caller
from example_app import assert_problem
from openapi_operations import OPERATIONS, bodies

from app.agents import registry
from app.query.search_request import Group, GuidanceOptions, HopOptions, Ranking, SearchRequest
from app.requests.filter_models import SearchFilters

Newcomer = Callable[..., Awaitable[Caller]]

DOCS = Path(__file__).parents[3] / "docs"
LIGATURE = "\ufdfa"
"""One character, which NFKC writes as 18."""


@pytest.fixture(scope="module")
async def reader(new_caller: Newcomer) -> Caller:
    """A user with three notes."""
    caller = await new_caller("search", "write")
    await caller.add("# Mortar\n\nBelow the third landing we use lime mortar.", "lime", metadata={"team": "masonry"})
    await caller.add("# Buoys\n\nThe Gannet reports every eleven minutes.", "buoys", metadata={"year": 2024})
    await caller.add("Café Zürich serves ERR_TIDE_4012.", "cafe", created_at="2020-01-01")
    return caller


def queried() -> Iterator[Any]:
    """The path and the example of every operation, and the path of every tool, with a query."""
    for method, path, operation in OPERATIONS.values():
        for _name, kind, text in bodies(operation):
            body = json.loads(text) if text and kind == "application/json" else None
            if method == "post" and isinstance(body, dict) and "query" in body and "{" not in path:
                yield pytest.param(path, body, id=f"{operation['operationId']}-{_name}")
    for tool in registry.list_offered(["admin"]):
        if "query" in tool.arguments.model_fields:
            yield pytest.param(f"/api/rag/tools/{tool.name}", {}, id=tool.name)


@pytest.mark.parametrize(("path", "body"), list(queried()))
async def test_a_query_is_as_long_as_its_words_written_out(reader: Caller, path: str, body: dict[str, Any]) -> None:
    most = 200 if path.endswith(("list_documents", "list_entities")) else 2_000
    if "chunk_id" in body:  # which must exist
        body = {**body, "chunk_id": (await reader.search("lime"))["results"][0]["chunk_id"]}
    if "uri" in body:
        body = {**body, "uri": (await reader.search("lime"))["results"][0]["uri"]}
    for query, is_refused in ((LIGATURE * (most // 18), False), (LIGATURE * (most // 18 + 1), True)):
        response = await reader.client.post(path, json={**body, "query": query})
        if is_refused:
            assert str(most) in assert_problem(response, 422, "invalid_request", "query")["detail"]
        else:
            assert response.status_code == 200, response.text


async def test_a_name_that_is_searched_for_is_as_long_as_its_words_written_out(caller: Caller) -> None:
    assert_problem(
        await caller.client.get("/api/rag/entities", params={"q": LIGATURE * 12}), 422, "invalid_request", "q"
    )
    assert (await caller.client.get("/api/rag/entities", params={"q": LIGATURE * 11})).status_code == 200


@pytest.mark.parametrize("number", [1e-320, 1e-25, 1e38, 1e300])
async def test_similar_accepts_vectors_of_every_length(reader: Caller, number: float) -> None:
    async def scores(component: float) -> dict[str, float]:
        response = await reader.client.post("/api/rag/similar", json={"vector": [component] * 384})
        assert response.status_code == 200, response.text
        return {hit["uri"]: hit["vector_score"] for hit in response.json()["results"]}

    assert await scores(number) == pytest.approx(await scores(0.05), abs=1e-4)
    short = await reader.client.post("/api/rag/similar", json={"vector": [number] * 383})
    assert "Must have 384 numbers" in assert_problem(short, 422, "invalid_vector", "vector")["detail"]


async def test_every_hit_of_a_leg_has_the_scores_of_both(reader: Caller) -> None:
    """The design's clients read them as numbers."""
    for mode in ("auto", "hybrid"):
        answer = await reader.search("lime", mode=mode, limit=20, candidates=10, explain=True)
        ranks = {(bool(hit["explain"]["vector_rank"]), bool(hit["explain"]["text_rank"])) for hit in answer["results"]}
        assert len(ranks) > 1
        for hit in answer["results"]:
            assert {type(hit[name]) for name in ("rrf_score", "vector_score", "text_score")} == {float}


def test_the_pages_about_searches_and_filters_name_each_field() -> None:
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("search.md", "filters.md"))
    models = (SearchRequest, Ranking, GuidanceOptions, HopOptions, Group, SearchFilters)
    named = [field.alias or name for model in models for name, field in model.model_fields.items()]
    assert [name for name in named if f"`{name}`" not in pages] == []
