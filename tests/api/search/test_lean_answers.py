"""`detail` selects the fields of a search's response, and an answer is small."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from api_caller import Caller
from pydantic import TypeAdapter

from app.api.multihop.rerank_models import RerankAnswer
from app.pipelines.requests import moved_fields
from app.pipelines.requests.search_request import SearchRequest
from app.pipelines.requests.similar_request import SimilarRequest

Newcomer = Callable[..., Awaitable[Caller]]

SEARCH, SIMILAR = "/api/rag/search", "/api/rag/similar"
MULTIHOP, TWO_PASS, WHY, RERANK = f"{SEARCH}/multihop", f"{SEARCH}/two-pass", f"{SEARCH}/why", "/api/rag/rerank"


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


async def sent(client: httpx.AsyncClient, path: str, **fields: Any) -> dict[str, Any]:
    response = await client.post(path, json=fields)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


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
