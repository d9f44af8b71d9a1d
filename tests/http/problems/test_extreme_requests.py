"""Extreme and hostile requests get a documented answer from the whole service on real Postgres.

What one field refuses is in test_refused_fields; bodies, numbers and characters are in test_json_bodies, cursors in
test_documents_api, methods in test_origins.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest
from api_caller import Caller
from example_app import assert_problem

from app import enums

Newcomer = Callable[..., Awaitable[Caller]]

SEARCH, DOCUMENTS = "/api/rag/search", "/api/rag/documents"


async def _asked(caller: Caller, **fields: Any) -> httpx.Response:
    return await caller.client.post(SEARCH, json={"query": "lime", **fields})


@pytest.fixture(scope="module")
async def caller(new_caller: Newcomer) -> Caller:
    """A user who may search and write, of all tests of this module: what is refused stores nothing."""
    return await new_caller("search", "write")


@pytest.fixture(scope="module")
async def reader(new_caller: Newcomer) -> Caller:
    """A user with two notes."""
    caller = await new_caller("search", "write")
    await caller.add("Below the third landing we use lime mortar. 🧱 stays dry.", "lime", metadata={"a'b": 1})
    await caller.add("Café Zürich opens at nine.", "cafe")
    return caller


async def test_many_words_and_one_endless_word_are_answered(reader: Caller) -> None:
    words = " ".join(chr(0x4E00 + n) for n in range(1_000))
    for query in (words, "x" * 2_000, "lime-" * 400, "1.2." * 500):
        assert (await reader.search(query))["results"]


@pytest.mark.parametrize("listed", ["filters.document_ids", "filters.source_ids", "exclude_chunk_ids"])
async def test_a_thousand_ids_are_answered_and_more_are_422(reader: Caller, listed: str) -> None:
    def fields(count: int) -> dict[str, Any]:
        ids = [str(uuid4()) for _ in range(count)]
        outer, _, inner = listed.partition(".")
        return {outer: {inner: ids} if inner else ids}

    assert (await _asked(reader, **fields(1_000))).status_code == 200
    assert_problem(await _asked(reader, **fields(1_001)), 422, "invalid_request", listed)


@pytest.mark.parametrize("fusion", enums.values(enums.Fusion))
@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-7])
async def test_a_weight_too_small_to_count_breaks_nothing(reader: Caller, weight: float, fusion: str) -> None:
    ranking = {"weights": {"vector": weight, "text": 1}, "fusion": fusion}
    answer = await reader.search("lime", ranking=ranking, explain=True)
    assert [(hit["uri"], hit["explain"]["vector_rank"]) for hit in answer["results"]] == [("lime", None)]
    response = await _asked(reader, ranking={"weights": {"vector": weight, "text": weight}})
    assert_problem(response, 422, "no_leg", "ranking.weights")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        (f"{SEARCH}/", SEARCH),
        ("/v1/document", DOCUMENTS),
        ("//api/rag/search", SEARCH),
        ("/search/multi-hop", f"{SEARCH}/multihop"),
        ("/api/../etc/passwd", None),
    ],
)
async def test_another_spelling_of_a_path_is_not_found_and_names_the_one_that_is_meant(caller, path, meant) -> None:
    problem = assert_problem(await caller.client.post(path, json={"query": "a"}), 404, "not_found")
    assert problem["detail"].partition("Did you mean ")[2] == (f"{meant}?" if meant else "")


async def test_a_refused_method_is_answered_with_all_methods_of_the_path(caller: Caller) -> None:
    paths = {DOCUMENTS: "DELETE, GET, POST", f"{DOCUMENTS}/{uuid4()}": "DELETE, GET, PATCH, PUT"}
    for path, methods in {**paths, f"{DOCUMENTS}/delete": "POST", "/healthz": "GET, HEAD"}.items():
        refused = await caller.client.options(path)
        assert (refused.status_code, refused.headers["allow"]) == (405, methods)
