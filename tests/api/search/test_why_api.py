"""The explanation of a passage agrees with the search: on whether it is returned, where, and what brings it in."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import harness
import httpx
import pytest
from api_caller import Caller
from requests_of import search_body

from app.config import Settings
from app.providers.base import Embedder
from app.store.connection import transactions

SEARCH, WHY = "/api/rag/search", "/api/rag/search/why"
NOBODY = "00000000-0000-4000-8000-000000000000"
PER_SEARCH = 2
"""Chunks of which the explanation is compared with each search; all of them take minutes."""
QUERIES: list[dict[str, Any]] = [
    {"query": "Why do the buoys not report every minute?"},
    {"query": "Why do the buoys not report every minute?", "mode": "hybrid", "limit": 3},
    {"query": "lime mortar below the landing", "mode": "semantic", "limit": 2},
    {"query": "sync interval of the Gannet", "mode": "lexical", "limit": 2},
    {"query": "sync interval of the Gannet", "mode": "lexical", "candidates": 10},
    {"query": "battery swelled", "candidates": 10, "limit": 4},
    {"query": "battery swelled", "candidates": 10, "min_rrf_score": 0.02},
    {"query": "who pays for travel", "min_vector_score": 0.3},
    {"query": "who pays for travel", "min_relevance": 0.2, "limit": 4},
    {"query": "who pays for travel", "min_confidence": "high"},
    {"query": '"no cement below the third landing" lime'},
    {"query": '+masons lime -cement "third landing"', "mode": "lexical"},
    {"query": "outage -battery NOT gannet", "limit": 3},
    {"query": "What has cliffclarke been working on?", "limit": 4},
    {"query": "What has cliffclarke been working on?", "hierarchy": "force", "alpha": 0.2, "limit": 3},
    {"query": "What did Mara Tolland decide about money?", "rerank": "cosine", "mmr": True, "limit": 3},
    {"query": "which supplier was late", "rerank": "cosine", "limit": 4},
    {"query": "which supplier was late", "mmr": True, "limit": 4},
    {"query": "which supplier was late", "mmr": True, "rerank": "cosine", "min_relevance": 0.05},
    {"query": "which supplier was late", "group_size": 1, "limit": 3},
    {"query": "which supplier was late", "group_size": 3, "rerank": "cosine", "limit": 3},
    {"query": "battery swelled", "candidates": 10, "group_size": 3, "limit": 20},
    {"query": "mooring survey", "filters": {"metadata": {"type": "decision"}, "created_after": "2020-01-01"}},
    {
        "query": "mooring survey",
        "filters": {"any": [{"metadata": {"tags": "decision"}}], "not": {"metadata": {"team": "tide"}}},
    },
    {"query": "mooring survey", "filters": {"metadata": {"tags": ["decision"]}}, "min_relevance": 0.1},
    {"query": "qzxv unheard", "limit": 2},
    {"query": '"nowhere is this phrase"', "limit": 2},
    {"query": "Which musical instrument does the author of the backfill guide play?", "depth": "thorough", "limit": 3},
]


@pytest.fixture(scope="module")
async def client(
    new_database: Callable[..., Awaitable[Any]], demo_template: str, offline_embedder: Embedder
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service with the sample notes."""
    opened = transactions.connect((await new_database(demo_template)).service_dsn, pool_size=4, pool_wait_s=30.0)
    services = await harness.services(opened, offline_embedder)
    async with harness.running(Settings(auth="none"), services) as app, harness.client(app) as caller:
        yield caller
    await opened.close()


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
    response = await client.post(path, json=nested(body))
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture(scope="module")
async def chunks(client: httpx.AsyncClient) -> list[str]:
    """The ids of all chunks."""
    listed = (await client.get("/api/rag/documents", params={"limit": 100})).json()
    found = []
    for document in listed["documents"]:
        path = f"/api/rag/documents/{document['document_id']}/chunks"
        found += [chunk["chunk_id"] for chunk in (await client.get(path)).json()["chunks"]]
    assert len(found) > 60
    return found


def places(answer: dict[str, Any]) -> dict[str, tuple[int, dict[str, Any]]]:
    """The rank and the hit of each chunk of an answer."""
    return {
        hit["chunk_id"]: (rank, hit)
        for rank, result in enumerate(answer["results"], 1)
        for hit in (result, *(result.get("more") or ()))
    }


def changed(body: dict[str, Any], changes: list[dict[str, Any]]) -> dict[str, Any]:
    """The request with the changes of an explanation."""
    body = nested(body)
    for change in changes:
        field = change["field"]
        *path, name = field.split(".", 2) if field.startswith("filters.") else field.split(".")
        place = body
        for part in path:
            place[part] = {**place.get(part, {})}
            place = place[part]
        place[name] = change["value"]
        if change["value"] is None:
            del place[name]
    return body


def nested(body: dict[str, Any]) -> dict[str, Any]:
    """The request with its options at their places."""
    options = {**body}
    return search_body(options.pop("query"), **options)


@pytest.mark.parametrize("body", QUERIES, ids=lambda body: " ".join(map(str, body.values()))[:60])
async def test_the_verdict_agrees_with_the_search_and_the_changes_bring_the_passage_in(
    client: httpx.AsyncClient, chunks: list[str], body: dict[str, Any]
) -> None:
    returned = places(await post(client, SEARCH, body))
    chosen = random.Random(str(body)).sample(chunks, min(PER_SEARCH, len(chunks)))
    for chunk_id in {*list(returned)[:1], *chosen}:
        why = await post(client, WHY, {**body, "chunk_id": chunk_id})
        assert why["chunk"]["chunk_id"] == chunk_id
        assert (why["verdict"] == "returned") == (chunk_id in returned), why
        if chunk_id in returned:
            rank, hit = returned[chunk_id]
            assert (why["rank"], why["score"], why["relevance"]) == (rank, hit["score"], hit["relevance"])
            assert (why["changes"], why["rank_after"]) == ([], None)
            continue
        assert not all(step["passed"] for step in why["steps"]), why
        if why["changes"]:
            looser = changed(body, why["changes"])
            found = places(await post(client, SEARCH, looser)).get(chunk_id)
            is_enough = why["rank_after"] is not None and why["rank_after"] <= looser.get("limit", 5)
            assert (found and found[0]) == (why["rank_after"] if is_enough else None), why
        else:
            assert why["verdict"] == "not_a_candidate" or (why["rank"] or 51) > 50, why


@pytest.mark.parametrize(
    ("body", "without", "verdict"),
    [
        (
            {"query": "sync interval of the Gannet", "mode": "lexical", "limit": 8, "rerank": "cosine"},
            {"rerank": "none"},
            "reranked_out",
        ),
        ({"query": "lime mortar below the landing", "limit": 6, "mmr": True}, {"mmr": False}, "diversified_out"),
        (
            {"query": "What has cliffclarke been working on?", "limit": 8},
            {"hierarchy": "off", "boost": False},
            "guided_out",
        ),
        (
            {"query": "sync interval of the Gannet", "limit": 8, "group_size": 1},
            {"group_size": None},
            "grouped_out",
        ),
        (
            {"query": QUERIES[-1]["query"], "limit": 8, "depth": "thorough"},
            {"depth": "fast"},
            "hops_out",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_the_step_that_moves_a_passage_out_is_named(
    client: httpx.AsyncClient, body: dict[str, Any], without: dict[str, Any], verdict: str
) -> None:
    before, after = places(await post(client, SEARCH, {**body, **without})), places(await post(client, SEARCH, body))
    moved = [chunk_id for chunk_id in before if chunk_id not in after]
    assert moved
    for chunk_id in moved:
        why = await post(client, WHY, {**body, "chunk_id": chunk_id})
        assert why["verdict"] == verdict, why
        looser = changed(body, why["changes"])
        assert places(await post(client, SEARCH, looser))[chunk_id][0] == why["rank_after"], why


@pytest.mark.parametrize("leg", ["vector", "text"])
async def test_the_rank_in_a_leg_is_exact_beyond_its_candidates(client: httpx.AsyncClient, leg: str) -> None:
    mode = {"vector": "semantic", "text": "lexical"}[leg]
    body = {"query": "the battery of the Gannet buoy was replaced", "mode": mode, "boost": False, "hierarchy": "off"}
    hits = (await post(client, SEARCH, {**body, "limit": 50, "candidates": 200}))["results"]
    worst = hits[9][f"{leg}_score"]
    for hit in hits[::4]:
        (place,) = (await post(client, WHY, {**body, "candidates": 10, "chunk_id": hit["chunk_id"]}))["legs"]
        assert (place["leg"], place["candidates"], place["entry_score"]) == (leg, 10, pytest.approx(worst))
        assert (place["rank"], place["score"]) == (hit[f"{leg}_rank"], pytest.approx(hit[f"{leg}_score"]))
        assert place["candidate"] == (place["rank"] <= 10)


async def test_pages_reach_a_passage_at_its_rank_beyond_the_largest_limit(client: httpx.AsyncClient) -> None:
    body: dict[str, Any] = {"query": "the battery of the Gannet buoy was replaced", "limit": 50}
    first = await post(client, SEARCH, body)
    (beyond, *_) = (await post(client, SEARCH, {**body, "cursor": first["next_cursor"]}))["results"]
    why = await post(client, WHY, {**body, "chunk_id": beyond["chunk_id"]})
    assert (why["verdict"], why["rank"], why["changes"]) == ("outranked", 51, [])
    assert "next_cursor to result 51" in why["summary"]


FILTERS = [
    ({"document_ids": ["e0e5bc55-fb8e-5779-add3-0a16a3709a5c"]}, "filters.document_ids"),
    ({"source_ids": ["e0e5bc55-fb8e-5779-add3-0a16a3709a5c"]}, "filters.source_ids"),
    ({"created_after": "2100-01-01"}, "filters.created_after"),
    ({"created_before": "1999-01-01"}, "filters.created_before"),
    ({"metadata": {"tags": {"in": ["people"]}}}, "filters.metadata.tags"),
    ({"metadata": {"tags": ["lime", "people"]}}, "filters.metadata.tags"),
    ({"metadata": {"mood": {"exists": True}}}, "filters.metadata.mood"),
    ({"any": [{"metadata": {"tags": "people"}}, {"created_before": "1999-01-01"}]}, "filters.any"),
    ({"all": [{"metadata": {"tags": "decision"}}, {"metadata": {"tags": "people"}}]}, "filters.all"),
    ({"not": {"metadata": {"tags": "decision"}}}, "filters.not"),
]
LIME = "sample/decisions/D-019-lime.md"


@pytest.mark.parametrize(("given", "field"), FILTERS, ids=lambda value: str(value)[:40])
async def test_the_condition_of_a_filter_that_fails_is_named(
    client: httpx.AsyncClient, given: dict[str, Any], field: str
) -> None:
    metadata = {"tags": "decision", **given.get("metadata", {})}
    body = {"query": "lime mortar of the landing", "uri": LIME, "filters": {**given, "metadata": metadata}}
    why = await post(client, WHY, body)
    assert why["verdict"] == "filtered"
    failed = [step for step in why["steps"] if not step["passed"]]
    assert [(step["step"], step["field"]) for step in failed] == [("filter", field)]
    assert why["changes"][0] == {"field": field, "value": None}
    assert why["rank_after"] <= 5
    if "tags" in field:
        assert "decision" in failed[0]["value"]


async def test_a_passage_that_shares_only_an_identifier_with_the_incident_is_returned(
    client: httpx.AsyncClient,
) -> None:
    question = "Which company makes the cells that swelled at Hallin Reservoir?"
    body = {"query": question, "depth": "thorough", "limit": 5, "explain": True}
    maker = "sample/vendors/fennick.md"
    best = next(hit for hit in (await post(client, SEARCH, body))["results"] if hit["uri"] == maker)
    assert best["explain"]["signals"]["identifier"] > 0
    assert (await post(client, WHY, {**body, "uri": maker}))["verdict"] == "returned"


async def test_a_document_is_explained_by_its_best_placed_chunk(client: httpx.AsyncClient) -> None:
    body = {"query": "no cement below the third landing", "limit": 3}
    first = (await post(client, SEARCH, body))["results"][0]
    by_uri = await post(client, WHY, {**body, "uri": first["uri"]})
    by_id = await post(client, WHY, {**body, "document_id": first["document_id"]})
    assert by_uri["chunk"] == by_id["chunk"]
    assert (by_uri["verdict"], by_uri["rank"], by_uri["chunk"]["chunk_id"]) == ("returned", 1, first["chunk_id"])
    left_out = await post(client, WHY, {**body, "uri": first["uri"], "exclude_chunk_ids": [first["chunk_id"]]})
    assert left_out["chunk"]["chunk_id"] != first["chunk_id"]
    only = {**body, "chunk_id": first["chunk_id"], "exclude_chunk_ids": [first["chunk_id"]]}
    excluded = await post(client, WHY, only)
    assert (excluded["verdict"], excluded["changes"][0]) == ("excluded", {"field": "exclude_chunk_ids", "value": []})


@pytest.mark.parametrize("key", [{"uri": "no/such.md"}, {"chunk_id": NOBODY}, {"document_id": NOBODY}], ids=str)
async def test_a_passage_that_is_not_stored_is_not_found(client: httpx.AsyncClient, key: dict[str, str]) -> None:
    why = await post(client, WHY, {"query": "lime", **key})
    assert (why["verdict"], why["chunk"], why["rank"], why["legs"]) == ("not_found", None, None, [])


@pytest.mark.parametrize(
    ("extra", "field"),
    [({}, "body"), ({"uri": "a", "chunk_id": NOBODY}, "body"), ({"uri": "a", "cursor": "abc"}, "cursor")],
)
async def test_a_request_names_one_passage_and_no_page(
    client: httpx.AsyncClient, extra: dict[str, str], field: str
) -> None:
    response = await client.post(WHY, json={"query": "lime", **extra})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, field)


async def test_a_chunk_of_another_user_is_not_found_and_the_scope_of_a_search_is_needed(
    new_caller: Callable[..., Awaitable[Caller]],
) -> None:
    one, other, writer = await new_caller("search", "write"), await new_caller("search"), await new_caller("write")
    stored = await one.add("Below the third landing we use lime mortar.", "lime")
    chunk_id = (await one.search("lime"))["results"][0]["chunk_id"]
    for key in ({"chunk_id": chunk_id}, {"document_id": stored["document_id"]}, {"uri": "lime"}):
        assert (await post(one.client, WHY, {"query": "lime", **key}))["verdict"] == "returned"
        assert (await post(other.client, WHY, {"query": "lime", **key}))["verdict"] == "not_found"
    assert (await writer.client.post(WHY, json={"query": "lime", "uri": "lime"})).status_code == 403
