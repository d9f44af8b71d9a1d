"""Extreme and hostile requests get a documented answer from the whole service on real Postgres.

What one field refuses is in test_refused_fields; bodies, numbers and characters are in test_bodies, cursors in
test_documents_api, methods and paths in test_problems.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from api_caller import Caller
from example_app import assert_problem

Newcomer = Callable[..., Awaitable[Caller]]

SEARCH, SIMILAR, DOCUMENTS = "/api/rag/search", "/api/rag/similar", "/api/rag/documents"
JSON = "application/json"
BODIES = [("POST", SEARCH), ("POST", SIMILAR), ("POST", DOCUMENTS), ("PUT", f"{DOCUMENTS}/{UUID(int=1)}")]


async def _raw(
    caller: Caller, raw: bytes | str, method: str = "POST", path: str = SEARCH, kind: str | None = JSON
) -> httpx.Response:
    headers = {} if kind is None else {"Content-Type": kind}
    return await caller.client.request(method, path, content=raw, headers=headers)


async def _asked(caller: Caller, **fields: Any) -> httpx.Response:
    return await _raw(caller, json.dumps({"query": "lime", **fields}))


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


async def test_the_longest_query_is_answered_and_one_character_more_is_422(reader: Caller) -> None:
    assert (await reader.search("lime " * 399 + "limes"))["results"]
    for length in (2_001, 200_000):
        response = await _asked(reader, query="a" * length)
        assert_problem(response, 422, "invalid_request", "query")
        assert len(response.content) < 2_000


@pytest.mark.parametrize(("method", "path"), BODIES)
async def test_a_body_past_the_cap_is_a_413_problem(caller: Caller, method: str, path: str) -> None:
    most = 64_000_000 if path.startswith(DOCUMENTS) else 256_000
    for media_type in ("application/json", "multipart/form-data; boundary=b"):
        headers = {"Content-Type": media_type}
        if path == DOCUMENTS or media_type == "application/json":
            streamed = await caller.client.request(method, path, content=_longer_than(most), headers=headers)
            assert_problem(streamed, 413, "too_large")
    declared = {"Content-Type": "application/json", "Content-Length": str(most + 1)}
    assert_problem(await caller.client.request(method, path, content=b"{}", headers=declared), 413, "too_large")


async def _longer_than(most: int) -> AsyncIterator[bytes]:
    """A JSON text or a part of a form of more bytes than `most`, a megabyte at a time."""
    yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    for _ in range(most // 1_000_000 + 1):
        yield b"a" * 1_000_000


@pytest.mark.parametrize("limit", ["0", "-1", "51", str(2**63), "1" + "0" * 5_000, '"5"', "5.0", "true", "[5]"])
@pytest.mark.parametrize(
    ("path", "rest"), [(SEARCH, '"query": "a"'), (SIMILAR, f'"chunk_id": "{uuid4()}"')], ids=["search", "similar"]
)
async def test_a_limit_that_is_no_number_from_1_to_50_is_422(caller: Caller, path: str, rest: str, limit: str) -> None:
    code = "invalid_number" if len(limit) > 18 else "invalid_request"
    assert_problem(await _raw(caller, f'{{{rest}, "limit": {limit}}}', path=path), 422, code, "limit")


@pytest.mark.parametrize("soup", ['foo & | !( "unclosed <-> :*', "NOT", "- +", "lime:*A <5> !mortar", '"" AND ""'])
async def test_a_soup_of_operators_is_answered(reader: Caller, soup: str) -> None:
    assert (await reader.search(soup))["results"]


async def test_many_words_and_one_endless_word_are_answered(reader: Caller) -> None:
    words = " ".join(chr(0x4E00 + n) for n in range(1_000))
    for query in (words, "x" * 2_000, "lime-" * 400, "1.2." * 500):
        assert (await reader.search(query))["results"]


@pytest.mark.parametrize("key", ["'; DROP TABLE stepwell.chunks; --", "$.x", "%s", "{0}", ":name", "\\", '"', "a.b[0]"])
@pytest.mark.parametrize("value", ["%s {0} '; --", {"gte": 1}, {"lt": "2024-01-01"}, [1, {"a": 1}]])
async def test_an_odd_metadata_key_is_compared_and_never_executed(reader: Caller, key: str, value: Any) -> None:
    answer = await reader.search("lime", filters={"metadata": {key: value}})
    assert (answer["results"], answer["hints"][:1]) == ([], ["The filters and exclusions leave out every document."])
    assert (await reader.search("lime", filters={"metadata": {"a'b": 1}}))["results"][0]["uri"] == "lime"


@pytest.mark.parametrize("many", [1_001, 5_000])
@pytest.mark.parametrize("listed", ["filters.document_ids", "filters.source_ids", "exclude_chunk_ids"])
async def test_a_thousand_ids_are_answered_and_more_are_422(reader: Caller, listed: str, many: int) -> None:
    def fields(count: int) -> dict[str, Any]:
        ids = [str(uuid4()) for _ in range(count)]
        outer, _, inner = listed.partition(".")
        return {outer: {inner: ids} if inner else ids}

    assert (await _asked(reader, **fields(1_000))).status_code == 200
    assert_problem(await _asked(reader, **fields(many)), 422, "invalid_request", listed)


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([0.1] * 383, "invalid_vector"),
        ([0.1] * 385, "invalid_vector"),
        ([0.0] * 384, "invalid_vector"),
        ([True] * 384, "invalid_request"),
        ([0.1] * 16_001, "invalid_request"),
    ],
)
async def test_a_vector_that_finds_nothing_is_refused(caller: Caller, numbers: list[float], code: str) -> None:
    response = await caller.client.post(SIMILAR, json={"vector": numbers})
    problem = assert_problem(response, 422, code, "vector[0]" if numbers[0] is True else "vector")
    assert len(numbers) in (384, 16_001) or "Must have 384 numbers" in problem["detail"]


@pytest.mark.parametrize("fusion", ["rrf", "convex"])
@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-7])
async def test_a_weight_too_small_to_count_breaks_nothing(reader: Caller, weight: float, fusion: str) -> None:
    ranking = {"weights": {"vector": weight, "text": 1}, "fusion": fusion}
    answer = await reader.search("lime", ranking=ranking, explain=True)
    assert [(hit["uri"], hit["explain"]["vector_rank"]) for hit in answer["results"]] == [("lime", None)]
    response = await _asked(reader, ranking={"weights": {"vector": weight, "text": weight}})
    assert_problem(response, 422, "no_leg", "ranking.weights")


@pytest.mark.parametrize("odd", ["\u202elime\u202c", "l" + "\u0301" * 1_900, "\U000e006c lime", "liｍe", "🧱", "łíме"])
async def test_odd_characters_are_answered(reader: Caller, odd: str) -> None:
    assert len((await reader.search(odd))["results"]) == 2


async def test_wrong_methods_unknown_paths_and_trailing_slashes_are_problems(caller: Caller) -> None:
    for method, path in (("GET", SEARCH), ("PUT", DOCUMENTS), ("POST", f"{DOCUMENTS}/{uuid4()}")):
        response = await caller.client.request(method, path)
        assert_problem(response, 405, "method_not_allowed")
        assert response.headers["allow"]
    for path in ("/api/rag/serach", f"{SEARCH}/", f"{DOCUMENTS}/", "//api/rag/search", "/api/../etc/passwd"):
        assert_problem(await caller.client.post(path, json={"query": "a"}), 404, "not_found")
