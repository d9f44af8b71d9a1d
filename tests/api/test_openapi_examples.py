"""Tests that the examples of the OpenAPI document run as they are on the sample notes and show what is sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import harness
import httpx
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator

from app.api import problem_examples
from app.cli import openapi
from app.config import Settings
from app.pipelines.source_folders import SourceRoots
from app.providers.base import Embedder
from app.store import db

DOCUMENT = json.loads(openapi.text())
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for method in METHODS
    for path, item in DOCUMENT["paths"].items()
    for name, operation in item.items()
    if name == method
}
PROBLEM = "application/problem+json"


def filled(path: str, operation: dict[str, Any], name: str) -> str | None:
    """The path with this example of its required parameter; None if it has no parameter with such an example.

    An id that only has an example of an unknown one is not in the sample data.
    """
    for parameter in operation.get("parameters", []):
        if parameter["required"]:
            examples = parameter["examples"]
            first = next(iter(examples))
            known = name if name in examples else first if name == "sample" and first != "unknown" else None
            if known is None:
                return None
            value = examples[known]["value"]
            filled = path.replace(f"{{{parameter['name']}}}", value)
            return filled if filled != path else f"{path}?{parameter['name']}={value}"
    return path if name == "sample" else None


def usable(path: str, operation: dict[str, Any]) -> str:
    """The path with any example of its required parameter."""
    return filled(path, operation, "sample") or filled(path, operation, "unknown") or ""


def bodies(operation: dict[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """The name, media type and text of each example of the body; one without a body for an operation without one."""
    content = operation.get("requestBody", {}).get("content", {})
    examples = [
        (name, kind, e["value"]) for kind, body in content.items() for name, e in body.get("examples", {}).items()
    ]
    assert examples or not content, f"{operation['operationId']} has no example"
    for name, kind, value in examples:
        yield name, kind, value if isinstance(value, str) else json.dumps(value)
    if not content:
        yield "as it is", "", None


def cases(name: str) -> Iterator[Any]:
    """Every example of every operation whose path has this example, those that change or delete something last."""
    for operation_id, (_method, path, operation) in OPERATIONS.items():
        if (sent := filled(path, operation, name)) is not None:
            for body, kind, content in bodies(operation):
                yield pytest.param(operation_id, sent, kind, content, id=f"{operation_id}: {body}")


@pytest.fixture(scope="module")
async def client(
    new_database: Callable[..., Awaitable[Any]],
    demo_template: str,
    offline_embedder: Embedder,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that holds what `stepwell demo` stores, and may add the folder `notes` as a source."""
    opened = db.connect((await new_database(demo_template)).service_dsn, pool_size=4, pool_wait_s=30.0)
    root = tmp_path_factory.mktemp("root")
    (root / "notes").mkdir()
    services = replace(await harness.services(opened, offline_embedder), source_roots=SourceRoots((root,)))
    async with harness.running(Settings(auth="none"), services) as app, harness.client(app) as caller:
        yield caller
    await opened.close()


async def send(client: httpx.AsyncClient, operation_id: str, path: str, *body: str | None) -> httpx.Response:
    """The response to an example, which must have a documented status and be as its schema says."""
    kind, content = body
    method, _path, operation = OPERATIONS[operation_id]
    if kind == "multipart/form-data":
        fields = json.loads(content or "{}")
        files = [("files", (f"{number}.txt", text)) for number, text in enumerate(fields.pop("files"))]
        response = await client.request(method, path, files=files, data=fields)
    else:
        response = await client.request(method, path, content=content, headers={"Content-Type": kind} if kind else {})
    said = operation["responses"][str(response.status_code)].get("content", {})
    if "schema" in (declared := said.get(response.headers["content-type"], {})):
        schema = {**declared["schema"], "components": DOCUMENT["components"]}
        Draft202012Validator(schema).validate(response.json())
    return response


@pytest.mark.parametrize(("operation_id", "path", "kind", "content"), list(cases("sample")))
async def test_an_example_succeeds_on_the_sample_notes(
    client: httpx.AsyncClient, operation_id: str, path: str, kind: str, content: str | None
) -> None:
    documented = OPERATIONS[operation_id][2]["responses"]
    response = await send(client, operation_id, path, kind, content)
    assert response.status_code == (201 if "201" in documented else 200), response.text
    if "results" in (answer := response.json() if "json" in response.headers["content-type"] else {}):
        assert answer["results"]
        assert answer.get("degraded", []) == answer.get("relaxed", []) == []
    if operation_id == "search_two_pass":
        assert [entity["name"] for entity in answer["pass1_entities"]] == ["Cliff Clarke"]
    if operation_id == "search_multihop":
        assert [hit["via"]["name"] for hit in answer["results"] if hit["hop"] == 2]


async def test_the_statuses_of_adding_a_document_are_shown_as_they_are_sent(client: httpx.AsyncClient) -> None:
    _method, path, operation = OPERATIONS["add_documents"]
    note = operation["requestBody"]["content"]["application/json"]["examples"]["one"]["value"]
    listed = await client.get(path, params={"uri": note["uri"]})
    for document in listed.json()["documents"]:
        await client.delete(f"{path}/{document['document_id']}")
    for status in (201, 200):
        response = await client.post(path, json=note)
        assert response.status_code == status
        sent = {name: value for name, value in response.json().items() if value is not None}
        assert sent == operation["responses"][str(status)]["content"]["application/json"]["example"]


@pytest.mark.parametrize(("operation_id", "path", "kind", "content"), list(cases("unknown")))
async def test_an_example_of_an_unknown_id_gets_the_problem_that_is_shown(
    client: httpx.AsyncClient, operation_id: str, path: str, kind: str, content: str | None
) -> None:
    response = await send(client, operation_id, path, kind, content)
    assert comparable(response.json()) == comparable(shown(operation_id, 404))


@pytest.mark.parametrize("operation_id", list(OPERATIONS))
async def test_an_unknown_parameter_gets_the_problem_that_is_shown(
    client: httpx.AsyncClient, operation_id: str
) -> None:
    method, path, operation = OPERATIONS[operation_id]
    sent = usable(path, operation)
    joint = "&" if "?" in sent else "?"
    response = await client.request(method, f"{sent}{joint}{problem_examples.UNKNOWN_PARAMETER}=1")
    assert comparable(response.json()) == comparable(shown(operation_id, 422))


@pytest.mark.parametrize("operation_id", [name for name, (*_, o) in OPERATIONS.items() if "401" in o["responses"]])
async def test_a_request_without_a_key_gets_the_problem_that_is_shown(app: FastAPI, operation_id: str) -> None:
    method, path, operation = OPERATIONS[operation_id]
    async with harness.client(app) as anonymous:
        response = await anonymous.request(method, usable(path, operation))
    assert comparable(response.json()) == comparable(shown(operation_id, 401))


@pytest.mark.parametrize("operation_id", list(OPERATIONS))
def test_each_problem_is_shown_with_its_own_status(operation_id: str) -> None:
    responses = OPERATIONS[operation_id][2]["responses"]
    problems = {int(status): said["content"][PROBLEM] for status, said in responses.items() if int(status) >= 400}
    assert {status: problem["example"]["status"] for status, problem in problems.items()} == {s: s for s in problems}
    assert len({problem["example"]["code"] for problem in problems.values()}) == len(problems)
    for problem in problems.values():
        Draft202012Validator({**problem["schema"], "components": DOCUMENT["components"]}).validate(problem["example"])


def shown(operation_id: str, status: int) -> dict[str, Any]:
    """The example of a problem."""
    problem: dict[str, Any] = OPERATIONS[operation_id][2]["responses"][str(status)]["content"][PROBLEM]["example"]
    return problem


def comparable(problem: dict[str, Any]) -> dict[str, Any]:
    """A problem without what differs between two requests."""
    return {key: value for key, value in problem.items() if key not in ("request_id", "instance")}
