"""Malformed, extreme and hostile requests get a documented answer from the whole service on real Postgres.

A blank query is 400 `blank_query`; any other bad value is 422; bytes that are not UTF-8 are 400; punctuation alone is
answered by the vector leg; the longest query has 2,000 characters. Most cases have one or two variants here and the
others where a small application is enough: bodies, numbers and characters in test_bodies; queries, limits, ids and
vectors in test_wire and test_search_api; cursors in test_documents_api; methods and paths in test_problems.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from api_caller import Caller
from example_app import CANARY, assert_problem

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


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize("raw", [b"{", b"", b"lime", b'{"query": xyzzy-canary-51}'])
async def test_invalid_json_is_reported_without_quoting_it(caller: Caller, method: str, path: str, raw: bytes) -> None:
    assert_problem(await _raw(caller, raw, method, path), 422, "invalid_json", "body")


@pytest.mark.parametrize(("method", "path"), BODIES)
async def test_bytes_that_are_not_utf8_are_400(caller: Caller, method: str, path: str) -> None:
    assert_problem(await _raw(caller, b'{"query": "\xff\xfe"}', method, path), 400, "invalid_encoding")


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize("kind", [None, "text/plain", "application/xml"])
async def test_another_content_type_is_415(caller: Caller, method: str, path: str, kind: str | None) -> None:
    body = json.dumps({"query": CANARY, "content": CANARY})
    assert_problem(await _raw(caller, body, method, path, kind), 415, "unsupported_media_type")


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize("depth", [900, 30_000])
async def test_deep_nesting_is_refused(caller: Caller, method: str, path: str, depth: int) -> None:
    raw = '{"query": "a", "content": "a", "metadata": ' + '{"a":' * depth + "1" + "}" * depth + "}"
    assert_problem(await _raw(caller, raw, method, path), 422, "too_deep", "body")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (SEARCH, '{"query": "a", "min_vector_score": %s}', "min_vector_score"),
        (SEARCH, '{"query": "a", "filters": {"metadata": {"year": {"gte": %s}}}}', "filters.metadata.year.gte"),
        (SIMILAR, '{"vector": [0.5, %s]}', "vector[1]"),
        (DOCUMENTS, '[{"content": "a", "metadata": {"n": %s}}]', "[0].metadata.n"),
    ],
)
async def test_a_number_that_is_none_is_refused(caller: Caller, path: str, body: str, field: str, number: str) -> None:
    assert_problem(await _raw(caller, body % number, path=path), 422, "invalid_number", field)


TEXTS = [
    (SEARCH, '{"query": "a%s"}', "query"),
    (SEARCH, '{"query": "a", "limit": "%s"}', "limit"),
    (SEARCH, '{"query": "a", "filters": {"metadata": {"k": "%s"}}}', "filters.metadata.k"),
    (SEARCH, '{"query": "a", "filters": {"metadata": {"%s": 1}}}', "filters.metadata.(key)"),
    (DOCUMENTS, '{"content": "a", "title": "%s"}', "title"),
    (DOCUMENTS, '{"content": "a%s"}', "content"),
    (DOCUMENTS, '{"content": "a", "uri": "%s"}', "uri"),
    (DOCUMENTS, '{"content": "a", "language": "%s"}', "language"),
]


@pytest.mark.parametrize(("path", "body", "field"), TEXTS)
async def test_half_a_surrogate_pair_is_refused(caller: Caller, path: str, body: str, field: str) -> None:
    assert_problem(await _raw(caller, body % "\\ud800", path=path), 422, "invalid_text", field)


@pytest.mark.parametrize(("path", "body", "field"), TEXTS)
async def test_nul_is_refused(caller: Caller, path: str, body: str, field: str) -> None:
    assert_problem(await _raw(caller, body % "\\u0000", path=path), 422, "invalid_text", field)


@pytest.mark.parametrize("parameter", ["cursor", "uri"])
async def test_nul_in_the_address_is_refused(caller: Caller, parameter: str) -> None:
    assert_problem(await caller.client.get(f"{DOCUMENTS}?{parameter}=%00"), 422, "invalid_text", parameter)


@pytest.mark.parametrize("blank", ["", "   ", "\u200b\u200d\ufeff", "\U000e0041"])
async def test_a_query_without_visible_characters_is_400(caller: Caller, blank: str) -> None:
    assert_problem(await _asked(caller, query=blank), 400, "blank_query", "query")


@pytest.mark.parametrize("shown", ["?!…", "😀", "--", '""', "+ -", "()"])
async def test_punctuation_and_emoji_are_answered_by_the_vector_leg(reader: Caller, shown: str) -> None:
    answer = await reader.search(shown)
    assert len(answer["results"]) == 2
    assert {hit["text_score"] for hit in answer["results"]} == {None}


async def test_stop_words_alone_are_answered_with_a_stated_degradation(reader: Caller) -> None:
    answer = await reader.search("the of and")
    assert (len(answer["results"]), answer["degraded"]) == (2, ["no_text_terms"])


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


async def test_an_unknown_field_is_named_and_of_duplicate_keys_the_last_one_counts(reader: Caller) -> None:
    assert_problem(await _asked(reader, lmit=5), 422, "invalid_request", "lmit")
    response = await _raw(reader, '{"query": "a", "limit": 99, "query": "lime", "limit": 1}')
    assert [hit["uri"] for hit in response.json()["results"]] == ["lime"]


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


@pytest.mark.parametrize("numbers", [[3e38] * 384, [1e-20] * 384, [0] * 383 + [1], [5e-324] * 383 + [1]])
async def test_a_vector_of_extreme_numbers_that_fit_is_answered(reader: Caller, numbers: list[float]) -> None:
    response = await reader.client.post(SIMILAR, json={"vector": numbers})
    assert (response.status_code, len(response.json()["results"])) == (200, 2)


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


async def test_offsets_count_code_points_and_both_forms_of_a_letter_find_the_same(reader: Caller) -> None:
    composed, decomposed = await reader.search("Zürich"), await reader.search("Zu\u0308rich")
    assert [hit["chunk_id"] for hit in composed["results"]] == [hit["chunk_id"] for hit in decomposed["results"]]
    hit = (await reader.search("lime", explain=True))["results"][0]
    start, end = hit["explain"]["start_offset"], hit["explain"]["end_offset"]
    document = (await reader.client.get(f"{DOCUMENTS}/{hit['document_id']}")).json()
    assert document["content"][start:end] == hit["content"]
    assert "🧱 stays" in hit["content"]


@pytest.mark.parametrize("cursor", ["x", "é" * 10, "' OR 1=1", "x" * 300])
async def test_a_tampered_cursor_is_422(caller: Caller, cursor: str) -> None:
    assert_problem(await caller.client.get(DOCUMENTS, params={"cursor": cursor}), 422, "invalid_cursor", "cursor")


async def test_wrong_methods_unknown_paths_and_trailing_slashes_are_problems(caller: Caller) -> None:
    for method, path in (("GET", SEARCH), ("PUT", DOCUMENTS), ("POST", f"{DOCUMENTS}/{uuid4()}")):
        response = await caller.client.request(method, path)
        assert_problem(response, 405, "method_not_allowed")
        assert response.headers["allow"]
    for path in ("/api/rag/serach", f"{SEARCH}/", f"{DOCUMENTS}/", "//api/rag/search", "/api/../etc/passwd"):
        assert_problem(await caller.client.post(path, json={"query": "a"}), 404, "not_found")
