"""A wrong request is refused with a status, a code, the field and the fix; see the table."""

from __future__ import annotations

from typing import Any

import pytest
from over_http import API, NOBODY, Caller, refusal

JSON = {"Content-Type": "application/json"}
SEARCH = f"{API}/search"


def post(path: str, body: Any) -> dict[str, Any]:
    """A request with a JSON body."""
    return {"method": "POST", "path": API + path, "json": body}


def get(path: str, **parameters: Any) -> dict[str, Any]:
    """A request without a body."""
    return {"method": "GET", "path": path, "params": parameters}


REFUSED: dict[str, tuple[dict[str, Any], int, str, str | None]] = {
    "a body that is no JSON": (
        {"method": "POST", "path": SEARCH, "content": '{"query":', "headers": JSON},
        422, "invalid_json", "body",
    ),
    "a body that is no object": (post("/search", ["lime"]), 422, "invalid_request", None),
    "a body of another type": (
        {"method": "POST", "path": SEARCH, "content": "lime", "headers": {"Content-Type": "text/plain"}},
        415, "unsupported_media_type", None,
    ),
    "a body that is too large": (
        {"method": "POST", "path": SEARCH, "content": b'{"query": "' + b"a" * 1_000_000 + b'"}', "headers": JSON},
        413, "too_large", None,
    ),
    "no query": (post("/search", {}), 422, "invalid_request", "query"),
    "a blank query": (post("/search", {"query": " "}), 400, "blank_query", "query"),
    "a long query": (post("/search", {"query": "a" * 2_001}), 422, "invalid_request", "query"),
    "an unknown field": (post("/search", {"query": "a", "top_k": 3}), 422, "invalid_request", "top_k"),
    "an unknown option": (
        post("/search", {"query": "a", "ranking": {"fussion": "rrf"}}), 422, "invalid_request", "ranking.fussion",
    ),
    "a field of another type": (post("/search", {"query": "a", "limit": "5"}), 422, "invalid_request", "limit"),
    "a number that is too small": (post("/search", {"query": "a", "limit": 0}), 422, "invalid_request", "limit"),
    "a number that is too large": (post("/search", {"query": "a", "limit": 51}), 422, "invalid_request", "limit"),
    "an unknown mode": (post("/search", {"query": "a", "mode": "fts5"}), 422, "invalid_request", "mode"),
    "an unknown detail": (post("/search", {"query": "a", "detail": "preview"}), 422, "invalid_request", "detail"),
    "an option beyond its range": (
        post("/search", {"query": "a", "ranking": {"mmr_lambda": 2}}), 422, "invalid_request", "ranking.mmr_lambda",
    ),
    "a vector of another length": (post("/search", {"vector": [1, 2]}), 422, "invalid_vector", "vector"),
    "a vector without words for words alone": (
        post("/search", {"vector": [0.1] * 384, "mode": "lexical"}), 422, "no_words", "mode",
    ),
    "an explanation of ids": (
        post("/search", {"query": "a", "detail": "ids", "explain": True}), 422, "not_explainable", "explain",
    ),
    "groups of similar passages at their old place": (
        post("/similar", {"chunk_id": NOBODY, "group_by": "document"}), 422, "moved_field", "group_by",
    ),
    "an option of merging that is gone": (
        post("/rerank", {"lists": [{"name": "ours", "hits": []}], "omit_nulls": True}),
        422, "moved_field", "omit_nulls",
    ),
    "an unknown operator": (
        post("/search", {"query": "a", "filters": {"metadata": {"year": {"$gt": 1}}}}),
        422, "unknown_operator", "filters.metadata.year",
    ),
    "an unknown filter": (
        post("/search", {"query": "a", "filters": {"team": "tide"}}), 422, "invalid_request", "filters.team",
    ),
    "a malformed cursor": (post("/search", {"query": "a", "cursor": "xx"}), 422, "invalid_cursor", "cursor"),
    "an unknown query parameter": (
        {**post("/search", {"query": "a"}), "params": {"limit": 3}}, 422, "invalid_request", "limit",
    ),
    "a path that does not exist": (get(f"{API}/nothing"), 404, "not_found", None),
    "a method that is not allowed": (get(SEARCH), 405, "method_not_allowed", None),
    "an id that is none": (get(f"{API}/documents/nothing"), 422, "invalid_request", "document_id"),
    "no such document": (get(f"{API}/documents/{NOBODY[:-1]}1"), 404, "not_found", None),
    "no such entity": (get(f"{API}/entities/{NOBODY[:-1]}1"), 404, "not_found", None),
    "no such source": (get(f"{API}/sources/{NOBODY}"), 404, "not_found", None),
    "no such passage to judge": (
        post("/feedback", {"query": "a", "helpful": True, "chunk_id": NOBODY}), 404, "not_found", "chunk_id",
    ),
    "a judgement of nothing": (post("/feedback", {"query": "a", "helpful": True}), 422, "one_of", None),
    "a malformed cursor of a list": (get(f"{API}/documents", cursor="zz"), 422, "invalid_cursor", "cursor"),
    "filters that are no JSON": (get(f"{API}/documents", filters="{x"), 422, "invalid_json", "filters"),
    "a blank text": (post("/documents", {"content": ""}), 422, "blank_content", "content"),
    "an unknown language": (
        post("/documents", {"content": "a", "language": "klingon"}), 422, "invalid_request", "language",
    ),
    "a page that may not be fetched": (
        post("/documents", {"url": "https://example.com/"}), 403, "fetch_not_allowed", None,
    ),
    "a deletion of everything by accident": (post("/documents/delete", {}), 422, "no_selection", "filters"),
    "a malformed type of entity": (
        post("/entities", {"type": "Person!", "name": "x"}), 422, "invalid_request", "type",
    ),
    "a synonym of nothing": (
        {"method": "PUT", "path": f"{API}/synonyms", "json": {"groups": [{"terms": ["a"]}]}},
        422, "one_term", "groups[0]",
    ),
    "a host that is not allowed": (
        {"method": "GET", "path": "/healthz", "headers": {"Host": "other.example"}}, 421, "host_not_allowed", None,
    ),
    "a page of another origin": (
        {**post("/search", {"query": "a"}), "headers": {"Origin": "https://other.example"}},
        403, "origin_not_allowed", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "status", "code", "field"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_request_is_refused_with_the_field_and_the_fix(
    service: Caller, request_: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    response = service.call(status=status, **request_)
    refusal(response, code, field)
