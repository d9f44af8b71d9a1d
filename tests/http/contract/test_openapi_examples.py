"""Tests that the examples of the OpenAPI document run as they are on the sample notes and show what is sent."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from openapi_operations import DOCUMENT, OPERATIONS, bodies, filled, sample_service, send

from app.http import openapi_document


def cases(name: str) -> Iterator[Any]:
    """Every example of every operation whose path has this example.

    The source is added first, which others name, as its job; those that change or delete something come last.
    """
    for operation_id, (_method, path, operation) in sorted(OPERATIONS.items(), key=lambda one: one[0] != "add_source"):
        if (sent := filled(path, operation, name)) is not None:
            for body, kind, content in bodies(operation):
                yield pytest.param(operation_id, sent, kind, content, id=f"{operation_id}: {body}")


@pytest.fixture(scope="module")
async def client(new_database, demo_template, offline_embedder) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that holds what `stepwell demo` stores."""
    dsn = (await new_database(demo_template)).service_dsn
    async with sample_service(dsn, offline_embedder) as caller:
        yield caller


@pytest.mark.parametrize(("operation_id", "path", "kind", "content"), list(cases("sample")))
async def test_an_example_succeeds_on_the_sample_notes(client, operation_id, path, kind, content) -> None:
    documented = OPERATIONS[operation_id][2]["responses"]
    response = await send(client, operation_id, path, kind, content)
    expected = next(status for status in (201, 200, 202) if str(status) in documented)
    assert response.status_code == expected, response.text
    if "results" in (answer := response.json() if "json" in response.headers["content-type"] else {}):
        assert answer["results"]
        assert answer.get("degraded", []) == answer.get("relaxed", []) == []
    if operation_id == "search_entities":
        assert answer["entities"]
    if operation_id == "search_two_pass":
        assert [entity["name"] for entity in answer["pass1_entities"]] == ["Cliff Clarke"]
    if operation_id == "search_multihop":
        assert [hit["via"]["name"] for hit in answer["results"] if hit["hop"] == 2]


@pytest.mark.parametrize("operation_id", ["search", "search_two_pass", "search_multihop"])
async def test_a_search_with_every_declared_default_is_accepted(client, operation_id) -> None:
    """Clients that are generated for Go and Java send the defaults."""
    body, ranking = [
        {
            name: one["default"]
            for name, one in DOCUMENT["components"]["schemas"][schema]["properties"].items()
            if "default" in one
        }
        for schema in ("SearchRequest", "Ranking")
    ]
    response = await client.post(OPERATIONS[operation_id][1], json={"query": "lime", **body, "ranking": ranking})
    assert response.status_code == 200, response.text


def test_examples_have_the_types_of_their_schema_and_no_references() -> None:
    """Tools check examples as Swagger UI sends them, and many look for references in them."""
    for _method, _path, operation in OPERATIONS.values():
        for kind, body in operation.get("requestBody", {}).get("content", {}).items():
            if kind != "application/x-ndjson":
                schema = Draft202012Validator({**body["schema"], "components": DOCUMENT["components"]})
                for example in body.get("examples", {}).values():
                    schema.validate(example["value"])
    shown = [one for found in openapi_document.stored_examples().values() for one in found.values()]
    assert not any('"$ref"' in json.dumps(example) for example in shown)


@pytest.mark.parametrize(("operation_id", "path", "kind", "content"), list(cases("unknown")))
async def test_an_example_of_an_unknown_id_gets_the_problem_of_404(client, operation_id, path, kind, content) -> None:
    response = await send(client, operation_id, path, kind, content)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
