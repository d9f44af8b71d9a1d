"""`detail` selects the fields of a search's response, and an answer is small."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from api_caller import Caller
from example_app import assert_problem
from openapi_operations import sample_service
from pydantic import TypeAdapter

from app.api.multihop.rerank_models import RerankAnswer
from app.api.search.search_responses import SearchAnswer
from app.pipelines.requests import moved_fields
from app.pipelines.requests.search_request import SearchRequest
from app.pipelines.requests.similar_request import SimilarRequest
from app.providers.base import Embedder

Newcomer = Callable[..., Awaitable[Caller]]

SEARCH, SIMILAR = "/api/rag/search", "/api/rag/similar"
MULTIHOP, TWO_PASS, WHY, RERANK = f"{SEARCH}/multihop", f"{SEARCH}/two-pass", f"{SEARCH}/why", "/api/rag/rerank"
COMMON = ["chunk_id", "document_id", "chunk_index", "title", "uri", "heading_path", "page"]
SCORES = ["metadata", "score", "relevance", "confidence", "rrf_score", "vector_score", "text_score"]
IDS = ["chunk_id", "document_id", "score"]
ANSWER = ["results", "total_results", "answerable", "next_cursor", "took_ms"]
QUESTION = "Where was the director of Silent Harbour born?"
SMALLEST_HIT, SMALLEST_ANSWER = 450, 300
"""Most bytes of a hit without what documents contain, and of an answer around its hits."""


@pytest.fixture(scope="module")
async def reader(new_caller: Newcomer) -> Caller:
    """A user with notes of which two are linked by a name."""
    caller = await new_caller("search", "write")
    await caller.add("Silent Harbour is a film whose director is Ilse Brandt.", title="Silent Harbour")
    await caller.add("Trained as a painter, her youth went by in Lundby.", title="Ilse Brandt")
    for number in range(8):
        text = f"Where the director of the harbour was born, {number}."
        await caller.add(text, f"note-{number}", title=f"note {number}", metadata={"number": None})
    return caller


@pytest.fixture(scope="module")
async def samples(
    new_database: Callable[..., Awaitable[Any]], demo_template: str, offline_embedder: Embedder
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that holds the sample notes."""
    dsn = (await new_database(demo_template)).service_dsn
    async with sample_service(dsn, offline_embedder) as caller:
        yield caller


async def sent(client: httpx.AsyncClient, path: str, **fields: Any) -> dict[str, Any]:
    response = await client.post(path, json=fields)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def request_of(caller: Caller, path: str) -> dict[str, Any]:
    """A request to a search endpoint that finds several hits."""
    if path == SIMILAR:
        return {"chunk_id": (await caller.search(QUESTION))["results"][0]["chunk_id"]}
    return {"query": QUESTION}


@pytest.mark.parametrize("path", [SEARCH, TWO_PASS, SIMILAR, MULTIHOP])
async def test_each_detail_has_its_documented_fields_in_their_order(reader: Caller, path: str) -> None:
    request = await request_of(reader, path)
    full, compact, ids = [
        await sent(reader.client, path, **request, detail=detail) for detail in ("full", "compact", "ids")
    ]
    of_kind = {MULTIHOP: ["hops"], TWO_PASS: ["search_mode", "pass1_entities"]}.get(path, [])
    for answer in (full, compact, ids):
        assert [name for name in answer if name != "hints"] == [*ANSWER, *of_kind]
    later = {MULTIHOP: ["hop", "via", "combined_score"], TWO_PASS: ["parent"]}.get(path, [])
    for answer, text in ((full, "content"), (compact, "snippet")):
        for hit in answer["results"]:
            assert list(hit) == [
                *COMMON,
                text,
                *SCORES,
                *(one for one in later if one not in ("via", "parent") or one in hit),
            ]
    for hit in ids["results"]:
        assert list(hit) == IDS
    assert len(full["results"]) == 5
    for key in IDS:
        in_ids = [hit[key] for hit in ids["results"]]
        assert in_ids == [hit[key] for hit in full["results"]] == [hit[key] for hit in compact["results"]]
    for answer in (full, compact, ids):
        TypeAdapter(SearchAnswer).validate_python(answer)


async def test_an_explained_answer_has_what_is_left_out_otherwise(reader: Caller) -> None:
    for detail in ("full", "compact"):
        answer = await sent(reader.client, SEARCH, query="director -painter", detail=detail, explain=True)
        assert answer["excluded"] == ["painter"]
        assert answer["explain"]["query_type"] == "keyword"
        assert answer["explain"]["depth"] == "fast"
        assert answer["explain"]["timings"]["total"] == answer["took_ms"]
        made = answer["results"][0]["explain"]
        assert (made["vector_rank"], made["strategies"][0], made["source"]) == (1, "vector", None)
        assert made["end_offset"] > made["start_offset"]
    response = await reader.client.post(SEARCH, json={"query": "lime", "detail": "ids", "explain": True})
    assert_problem(response, 422, "not_explainable", "explain")


async def test_a_hit_of_a_later_hop_has_the_name_that_led_to_it(reader: Caller) -> None:
    ranking = {"hops": {"extractor": "entities"}}
    answer = await sent(reader.client, MULTIHOP, query=QUESTION, ranking=ranking, detail="compact")
    by_title = {hit["title"]: hit.get("via") for hit in answer["results"]}
    source = next(hit["chunk_id"] for hit in answer["results"] if hit["title"] == "Silent Harbour")
    assert by_title["Ilse Brandt"] == {"name": "Ilse Brandt", "kind": "linked", "source_chunk_id": source}
    assert by_title["Silent Harbour"] is None


async def test_a_merged_list_can_be_compact_or_ids(reader: Caller) -> None:
    hits = [{"chunk_id": "a", "note": None}, {"chunk_id": "b"}]
    request = {"lists": [{"name": "one", "hits": hits}, {"name": "two", "hits": hits[1:]}]}
    full, compact, ids = [
        await sent(reader.client, RERANK, **request, detail=detail) for detail in ("full", "compact", "ids")
    ]
    order = [(hit["chunk_id"], round(hit["score"], 4)) for hit in full["results"]]
    assert [(hit["chunk_id"], hit["score"]) for hit in ids["results"]] == order
    assert [(hit["chunk_id"], hit["score"]) for hit in compact["results"]] == order
    assert [chunk_id for chunk_id, _score in order] == ["b", "a"]
    assert compact["results"][1]["hit"]["note"] is None
    for answer in (full, compact, ids):
        TypeAdapter(RerankAnswer).validate_python(answer)


def size(value: object) -> int:
    """The bytes of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    "query", ["Why do the buoys not report every minute?", "ERR_TIDE_4012", "lime mortar -cement", "Cliff Clarke"]
)
async def test_an_answer_is_small_around_the_texts(samples: httpx.AsyncClient, query: str) -> None:
    answer = await sent(samples, SEARCH, query=query)
    hits = answer.pop("results")
    assert len(hits) == 5
    assert size(answer) <= SMALLEST_ANSWER
    for hit in hits:
        assert size({key: value for key, value in hit.items() if key not in ("content", "metadata")}) <= SMALLEST_HIT


MOVED = [
    *(
        (path, name, told)
        for path in (SEARCH, TWO_PASS, MULTIHOP, WHY)
        for name, told in moved_fields.OF_SEARCH.items()
    ),
    *((SIMILAR, name, told) for name, told in moved_fields.OF_SIMILAR.items()),
    *((RERANK, name, told) for name, told in moved_fields.OF_MERGE.items()),
]


@pytest.mark.parametrize(("path", "name", "told"), MOVED)
async def test_a_field_at_its_old_place_is_refused_with_the_new_one(
    reader: Caller, path: str, name: str, told: str
) -> None:
    response = await reader.client.post(path, json={**await request_of(reader, path), name: 1})
    assert {one["field"]: one["message"] for one in response.json()["errors"]}[name] == told
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"


def places(schema: dict[str, Any], inside: dict[str, Any]) -> set[str]:
    """The paths of the fields of a schema."""
    found = set()
    for name, field in inside.get("properties", {}).items():
        found.add(name)
        for one in (field, *field.get("anyOf", ())):
            if "$ref" in one and name != "filters":
                nested = schema["$defs"][one["$ref"].rpartition("/")[2]]
                found |= {f"{name}.{path}" for path in places(schema, nested)}
    return found


@pytest.mark.parametrize(
    ("model", "table"), [(SearchRequest, moved_fields.OF_SEARCH), (SimilarRequest, moved_fields.OF_SIMILAR)]
)
def test_every_new_place_exists(model: Any, table: dict[str, str]) -> None:
    schema = model.model_json_schema()
    known = places(schema, schema)
    for told in table.values():
        if told.startswith("Moved"):
            assert told.removeprefix("Moved: use ").partition(":")[0].rstrip(".") in known


async def test_the_short_names_of_guidance_stand_for_its_options_and_are_given_once(reader: Caller) -> None:
    short = {"hierarchy": "off", "alpha": 0.2, "threshold": 0.9, "max_entities": 2}
    await sent(reader.client, SEARCH, query="lime", ranking=short)
    ranking = SearchRequest.model_validate({"query": "lime", "ranking": short}).ranking
    assert ranking.guidance.model_dump(exclude={"boost"}) == {"mode": "off", **{k: short[k] for k in list(short)[1:]}}
    response = await reader.client.post(SEARCH, json={"query": "lime", "ranking": {"alpha": 1, "guidance": {}}})
    assert_problem(response, 422, "moved_field", "ranking.alpha")


@pytest.mark.parametrize(
    ("path", "fields", "field"),
    [
        (SEARCH, {"ranking": {"hops": {}}}, "ranking.hops"),
        (MULTIHOP, {"depth": "fast"}, "depth"),
        (MULTIHOP, {"depth": "auto"}, "depth"),
        (MULTIHOP, {"limit": 21}, "limit"),
        (SEARCH, {"depth": "thorough", "limit": 21}, "limit"),
        (MULTIHOP, {"vector": [0.1] * 384}, "vector"),
        (MULTIHOP, {"ranking": {"min_confidence": "low"}}, "ranking.min_confidence"),
        (MULTIHOP, {"ranking": {"hops": {"merge": "classic", "extractor": "none"}}}, "ranking.hops.extractor"),
        (SEARCH, {"detail": "preview"}, "detail"),
    ],
)
async def test_options_that_would_have_no_effect_are_refused(
    reader: Caller, path: str, fields: dict[str, Any], field: str
) -> None:
    response = await reader.client.post(path, json={"query": "lime", **fields})
    assert_problem(response, 422, "invalid_request", field)
    allowed = {"query": "lime", "depth": "thorough", "ranking": {"hops": {"max_hops": 3}}}
    assert (await sent(reader.client, MULTIHOP, **allowed))["hops"]
