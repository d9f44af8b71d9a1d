"""Tests of unknown fields and query parameters, and of null for fields with a default."""

from typing import Any

import pytest
from api_caller import Caller
from example_app import CANARY, assert_problem
from openapi_operations import OPERATIONS, usable

API = "/api/rag"
SEARCH, MULTIHOP, SIMILAR, RERANK = f"{API}/search", f"{API}/search/multihop", f"{API}/similar", f"{API}/rerank"
DOCUMENTS, ENTITIES = f"{API}/documents", f"{API}/entities"
BODIES: dict[str, dict[str, Any]] = {
    SEARCH: {"query": "lime"},
    f"{SEARCH}/two-pass": {"query": "lime"},
    MULTIHOP: {"query": "lime"},
    SIMILAR: {"vector": [0.1] * 384},
    RERANK: {"lists": [{"name": "a", "hits": [{"chunk_id": "x"}]}]},
    DOCUMENTS: {"content": "Lime, never cement."},
    ENTITIES: {"type": "person", "name": "Ana"},
}
FIELDS = [
    (SEARCH, {"top_k": 3}, "top_k", "limit"),
    (SEARCH, {"lmit": 3}, "lmit", "limit"),
    (SEARCH, {"score_threshold": 0.5}, "score_threshold", "ranking.min_vector_score"),
    (SEARCH, {"metadata": {"team": "tide"}}, "metadata", "filters.metadata"),
    (SEARCH, {"filters": {"team": "tide"}}, "filters.team", "filters.metadata.team"),
    (SEARCH, {"filters": {"any": [{"year": 2024}]}}, "filters.any[0].year", "filters.any[0].metadata.year"),
    (SEARCH, {"ranking": {"weights": {"vectors": 1}}}, "ranking.weights.vectors", "ranking.weights.vector"),
    (SEARCH, {"filters": {"$and": [{"metadata": {"year": 2024}}]}}, 'filters["$and"]', "filters.all"),
    (SEARCH, {"filters": {"all": [{"match": {"value": 1}}]}}, "filters.all[0].match", "filters.all[0].metadata"),
    (SEARCH, {"filters": {"has_id": [1]}}, "filters.has_id", "filters.document_ids"),
    (SEARCH, {"where_document": {"$contains": "lime"}}, "where_document", "query"),
    (SEARCH, {"num_candidates": 20}, "num_candidates", "ranking.candidates"),
    (SEARCH, {"lambda_mult": 0.5}, "lambda_mult", "ranking.mmr_lambda"),
    (SEARCH, {"ranking": {"rrf_k": 2}}, "ranking.rrf_k", "ranking.k"),
    (MULTIHOP, {"hops": 3}, "hops", "ranking.hops"),
    (SIMILAR, {"embedding": []}, "embedding", "vector"),
    (RERANK, {"lists": [{"name": "a", "documents": [], "hits": []}]}, "lists[0].documents", "lists[0].hits"),
    (DOCUMENTS, {"path": "lime.md"}, "path", "uri"),
    (DOCUMENTS, {"author": "Ana"}, "author", "metadata.author"),
    (ENTITIES, {"synonyms": ["Anita"]}, "synonyms", "aliases"),
]


@pytest.mark.parametrize(("path", "more", "field", "meant"), FIELDS)
async def test_an_unknown_field_is_refused_with_the_known_one_that_is_meant(caller, path, more, field, meant) -> None:
    response = await caller.client.post(path, json=BODIES[path] | more)
    problem = assert_problem(response, 422, "invalid_request", field)
    assert problem["errors"][0]["message"] == f"Unknown field. Did you mean {meant}?"


@pytest.mark.parametrize(
    ("path", "more"),
    [
        (DOCUMENTS, {"documents": [{"content": "Lime."}]}),
        (DOCUMENTS, {"docs": [{"text": "Lime.", "id": "a.md"}]}),
        (ENTITIES, {"entities": [{"type": "person", "name": "Ana"}]}),
    ],
)
async def test_a_field_with_what_may_be_the_body_is_refused_with_the_advice_to_send_its_list(caller, path, more):
    problem = assert_problem(await caller.client.post(path, json=BODIES[path] | more), 422, "invalid_request", *more)
    assert problem["errors"][0]["message"] == "Unknown field. Send its list itself as the body."
    authors = BODIES[DOCUMENTS] | {"authors": [{"name": "Ana"}]}
    problem = assert_problem(await caller.client.post(DOCUMENTS, json=authors), 422, "invalid_request", "authors")
    assert problem["errors"][0]["message"] == "Unknown field. Did you mean metadata.authors?"


@pytest.mark.parametrize("name", ["vector", "embedding", "embeddings", "dense_vector"])
async def test_a_vector_of_a_document_is_not_said_to_be_metadata(caller: Caller, name: str) -> None:
    document = BODIES[DOCUMENTS] | {name: [0.1]}
    for body, field in ((document, name), ([document], f"[0].{name}")):
        problem = assert_problem(await caller.client.post(DOCUMENTS, json=body), 422, "invalid_request", field)
        assert "STEPWELL_EMBEDDER" in problem["errors"][0]["message"]


@pytest.mark.parametrize(("name", "meant"), [("k", "limit"), ("alpha", "ranking.weights")])
async def test_a_moved_field_names_what_others_mean_by_it(caller: Caller, name: str, meant: str) -> None:
    response = await caller.client.post(SEARCH, json={"query": "lime", name: 1})
    problem = assert_problem(response, 422, "moved_field", name)
    assert meant in problem["errors"][0]["message"]


async def test_an_unknown_field_without_a_near_one_is_named_alone(caller: Caller) -> None:
    response = await caller.client.post(SEARCH, json={"query": "lime", "xyzzy": 1, f"<img src={CANARY}>": 2})
    problem = assert_problem(response, 422, "invalid_request", "xyzzy", "(key)")
    assert {error["message"] for error in problem["errors"]} == {"Unknown field: check its spelling or remove it."}


@pytest.mark.parametrize("key", ["城市", "कीमत", "city"])
async def test_a_key_of_metadata_in_its_place_is_named_in_any_script(caller: Caller, key: str) -> None:
    response = await caller.client.post(SEARCH, json={"query": "lime", "filters": {key: "x"}})
    problem = assert_problem(response, 422, "invalid_request", f"filters.{key}")
    assert problem["errors"][0]["message"] == f"Unknown field. Did you mean filters.metadata.{key}?"


@pytest.mark.parametrize("key", ["Unit price (EUR)", "k:v", "2024", "R&D", "", "日 本"])
async def test_a_key_that_is_no_identifier_is_named_in_quotes(caller: Caller, key: str) -> None:
    refused = {"uri": "b.md", "content": "Lime.", "metadata": {"fine": 1, key: 2**70}}
    stored = await caller.client.post(DOCUMENTS, json=[{"uri": "a.md", "content": "Lime."}, refused])
    assert [failure["field"] for failure in stored.json()["failed"]] == [f'metadata["{key}"]']
    response = await caller.client.post(DOCUMENTS, json=[refused])
    assert_problem(response, 422, "invalid_number", f'[0].metadata["{key}"]')
    unknown = await caller.client.post(DOCUMENTS, json=[{"uri": "b.md", "content": "Lime.", key: 1}])
    assert_problem(unknown, 422, "invalid_request", f'[0]["{key}"]')


@pytest.mark.parametrize("key", ["<b>", "it's", 'a"b', "a\\b", "a\nb", "\u202eb", "x" * 65])
async def test_a_key_that_may_be_markup_or_is_long_is_not_repeated(caller: Caller, key: str) -> None:
    body = {"uri": "b.md", "content": "Lime.", "metadata": {key: 2**70}}
    assert_problem(await caller.client.post(DOCUMENTS, json=body), 422, "invalid_number", "metadata.(key)")


async def test_an_unknown_field_of_filters_in_the_url_is_no_query_parameter(caller: Caller) -> None:
    response = await caller.client.get(DOCUMENTS, params={"filters": '{"metdata": {}}'})
    problem = assert_problem(response, 422, "invalid_request", "filters.metdata")
    assert problem["errors"][0]["message"] == "Unknown field. Did you mean filters.metadata?"


async def test_the_errors_of_known_fields_are_reported_beside_unknown_ones(caller: Caller) -> None:
    body = {"query": " ", "limit": 99, "mode": "magic", "filters": {"metadata": {"a": {"$x": 1}}}, "top_k": 3}
    response = await caller.client.post(SEARCH, json=body)
    problem = assert_problem(response, 400, "blank_query", "query", "limit", "filters.metadata.a", "mode", "top_k")
    messages = [error["message"] for error in problem["errors"]]
    assert messages[1] == "Must be 50 or less."
    assert messages[3].startswith("Must be one of: 'auto'")
    assert problem["errors"][2]["code"] == "unknown_operator"


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+03:00", -1e-113, "soon"])
async def test_an_invalid_date_is_reported_beside_an_unknown_field(caller: Caller, moment: object) -> None:
    document = {"content": "Lime.", "created_at": moment, "top_k": 3}
    query = {"query": "lime", "filters": {"created_before": moment, "top_k": 3}}
    for path, body, field, unknown in (
        (DOCUMENTS, document, "created_at", "top_k"),
        (SEARCH, query, "filters.created_before", "filters.top_k"),
    ):
        assert_problem(await caller.client.post(path, json=body), 422, "invalid_request", field, unknown)


PARAMETERS = [
    (DOCUMENTS, "offset", "Did you mean cursor?"),
    (DOCUMENTS, "xyzzy", "check its spelling"),
    (ENTITIES, "query", "Did you mean q?"),
]


@pytest.mark.parametrize(("path", "name", "advice"), PARAMETERS)
async def test_an_unknown_query_parameter_is_refused_with_the_known_one_that_is_meant(caller, path, name, advice):
    problem = assert_problem(await caller.client.get(path, params={name: "1"}), 422, "invalid_request", name)
    assert advice in problem["detail"]


async def test_a_field_of_the_body_in_the_url_is_refused_with_its_place(caller: Caller) -> None:
    response = await caller.client.post(f"{SEARCH}?limit=3", json={"query": "lime"})
    assert "Send it as a field of the JSON body." in assert_problem(response, 422, "invalid_request", "limit")["detail"]


async def test_null_means_the_default_of_every_field_that_has_one(caller: Caller) -> None:
    document = (await caller.client.get("/openapi.json")).json()
    checked = 0
    for path, body in BODIES.items():
        schema = _schema(document, path)
        nulls = dict.fromkeys(schema["properties"].keys() - set(schema.get("required", ())) - body.keys())
        response = await caller.client.post(path, json=body | nulls)
        assert response.status_code in (200, 201), response.text
        checked += len(nulls)
    assert checked > 50


@pytest.mark.parametrize("filters", [None, {"metadata": None, "any": None, "document_ids": None}])
async def test_null_inside_an_object_means_the_default_too(caller: Caller, filters: Any) -> None:
    await caller.add("Lime, never cement.")
    assert (await caller.search("lime", filters=filters, weights={"vector": None, "text": 2}))["results"]


def _schema(document: dict[str, Any], path: str) -> dict[str, Any]:
    """The schema of the objects that an operation takes."""
    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    while "$ref" in schema or "anyOf" in schema:
        name = schema.get("$ref", "").rpartition("/")[2]
        schema = document["components"]["schemas"][name] if name else schema["anyOf"][0]
    return dict(schema)


@pytest.mark.parametrize("operation_id", list(OPERATIONS))
async def test_every_operation_refuses_an_unknown_query_parameter(new_caller: Any, operation_id: str) -> None:
    method, path, operation = OPERATIONS[operation_id]
    sent = usable(path, operation)
    joint = "&" if "?" in sent else "?"
    response = await (await new_caller("admin")).client.request(method, f"{sent}{joint}verbose=1")
    assert [one["field"] for one in response.json()["errors"]] == ["verbose"]
