"""`detail` and `omit_nulls` select the fields of a search's response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from api_caller import Caller
from app.api.multihop.multihop_models import MultihopAnswer
from example_app import assert_problem
from pydantic import TypeAdapter

from app.api.multihop.rerank_models import RerankAnswer
from app.api.search.search_responses import SearchAnswer

Newcomer = Callable[..., Awaitable[Caller]]

SEARCH, SIMILAR = "/api/rag/search", "/api/rag/similar"
MULTIHOP, RERANK = "/api/rag/search/multihop", "/api/rag/rerank"
COMPACT = {"chunk_id", "title", "uri", "heading_path", "content", "score", "relevance", "confidence", "via"}
IDS = {"chunk_id", "document_id", "score"}
QUESTION = "Where was the director of Silent Harbour born?"


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


async def sent(caller: Caller, path: str, **fields: Any) -> httpx.Response:
    response = await caller.client.post(path, json=fields)
    assert response.status_code == 200, response.text
    return response


async def request_of(caller: Caller, path: str) -> dict[str, Any]:
    """A request to a search endpoint that finds several hits."""
    if path == SIMILAR:
        return {"chunk_id": (await caller.search(QUESTION))["results"][0]["chunk_id"]}
    return {"query": QUESTION}


def nulls(value: object, path: str = "") -> Iterator[str]:
    """The paths of all nulls in a JSON value."""
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from nulls(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from nulls(item, path)


@pytest.mark.parametrize("path", [SEARCH, f"{SEARCH}/two-pass", SIMILAR, MULTIHOP])
async def test_compact_hits_and_ids_have_only_their_documented_fields(reader: Caller, path: str) -> None:
    request = await request_of(reader, path)
    full, compact, ids = [
        (await sent(reader, path, **request, detail=detail)).json() for detail in ("full", "compact", "ids")
    ]
    assert [answer["detail"] for answer in (full, compact, ids)] == ["full", "compact", "ids"]
    assert len(full["results"]) == 5
    fields = COMPACT | {"hop"} if path == MULTIHOP else COMPACT
    assert all(hit.keys() == fields for hit in compact["results"])
    assert all(hit.keys() == IDS for hit in ids["results"])
    for key in ("chunk_id", "title", "uri", "heading_path", "content", "confidence"):
        assert [hit[key] for hit in compact["results"]] == [hit[key] for hit in full["results"]]
    for hit in full["results"]:
        hit["score"] = round(hit["score"], 4)
    for key in IDS:
        assert [hit[key] for hit in ids["results"]] == [hit[key] for hit in full["results"]]


async def test_a_compact_hit_of_a_later_hop_has_the_name_that_led_to_it(reader: Caller) -> None:
    answer = (await sent(reader, MULTIHOP, query=QUESTION, extractor="entities", detail="compact")).json()
    by_title = {hit["title"]: hit["via"] for hit in answer["results"]}
    assert by_title["Ilse Brandt"] == {"name": "Ilse Brandt", "kind": "linked"}
    assert by_title["Silent Harbour"] is None


async def test_each_detail_is_smaller_than_the_next(reader: Caller) -> None:
    sizes = [
        len((await sent(reader, SEARCH, query=QUESTION, detail=detail)).content)
        for detail in ("ids", "compact", "preview")
    ]
    assert sizes == sorted(sizes)
    assert sizes[1] * 2 < sizes[2]


@pytest.mark.parametrize("path", [SEARCH, SIMILAR, MULTIHOP])
@pytest.mark.parametrize("detail", ["full", "compact"])
async def test_omitted_nulls_are_those_of_fields_and_not_of_metadata(reader: Caller, path: str, detail: str) -> None:
    request = await request_of(reader, path) | {"detail": detail}
    complete = (await sent(reader, path, **request)).json()
    lean = (await sent(reader, path, **request, omit_nulls=True)).json()
    of_metadata = {".results.metadata.number"} if detail == "full" else set()
    assert set(nulls(complete)) > of_metadata
    assert set(nulls(lean)) == of_metadata
    assert [hit["chunk_id"] for hit in lean["results"]] == [hit["chunk_id"] for hit in complete["results"]]


@pytest.mark.parametrize("detail", ["full", "preview", "compact", "ids"])
@pytest.mark.parametrize(
    ("path", "shape"), [(SEARCH, SearchAnswer), (SIMILAR, SearchAnswer), (MULTIHOP, MultihopAnswer)]
)
async def test_an_answer_without_nulls_conforms_to_its_schema(
    reader: Caller, path: str, shape: Any, detail: str
) -> None:
    request = await request_of(reader, path)
    response = await sent(reader, path, **request, detail=detail, omit_nulls=True)
    read = TypeAdapter(shape).validate_json(response.content)
    assert read.detail == detail
    assert len(read.results) == len(response.json()["results"]) == 5


async def test_a_merged_list_can_be_compact_or_ids(reader: Caller) -> None:
    hits = [{"chunk_id": "a", "note": None}, {"chunk_id": "b"}]
    request = {"lists": [{"name": "one", "hits": hits}, {"name": "two", "hits": hits[1:]}]}
    full, compact, ids = [
        (await sent(reader, RERANK, **request, detail=detail, omit_nulls=True)).json()
        for detail in ("full", "compact", "ids")
    ]
    order = [(hit["chunk_id"], round(hit["score"], 4)) for hit in full["results"]]
    assert [(hit["chunk_id"], hit["score"]) for hit in ids["results"]] == order
    assert [(hit["chunk_id"], hit["score"]) for hit in compact["results"]] == order
    assert [chunk_id for chunk_id, _score in order] == ["b", "a"]
    assert compact["results"][1]["hit"]["note"] is None
    for answer in (full, compact, ids):
        TypeAdapter(RerankAnswer).validate_python(answer)


@pytest.mark.parametrize("path", [SEARCH, MULTIHOP])
@pytest.mark.parametrize("detail", ["compact", "ids"])
async def test_a_lean_answer_cannot_be_explained(caller: Caller, path: str, detail: str) -> None:
    response = await caller.client.post(path, json={"query": "lime", "detail": detail, "explain": True})
    assert_problem(response, 422, "not_explainable", "explain")
