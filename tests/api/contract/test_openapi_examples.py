"""Tests that the examples of the OpenAPI document run as they are on the sample notes and show what is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import harness
import httpx
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator
from openapi_operations import DOCUMENT, OPERATIONS, PROBLEM, bodies, filled, sample_service, send, usable

from app.api.problems import problem_examples
from app.providers.base import Embedder


def cases(name: str) -> Iterator[Any]:
    """Every example of every operation whose path has this example.

    The source is added first, which others name, as its job; those that change or delete something come last.
    """
    for operation_id, (_method, path, operation) in sorted(OPERATIONS.items(), key=lambda one: one[0] != "add_source"):
        if (sent := filled(path, operation, name)) is not None:
            for body, kind, content in bodies(operation):
                yield pytest.param(operation_id, sent, kind, content, id=f"{operation_id}: {body}")


@pytest.fixture(scope="module")
async def client(
    new_database: Callable[..., Awaitable[Any]],
    demo_template: str,
    offline_embedder: Embedder,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that holds what `stepwell demo` stores."""
    dsn = (await new_database(demo_template)).service_dsn
    async with sample_service(dsn, offline_embedder) as caller:
        yield caller


@pytest.mark.parametrize(("operation_id", "path", "kind", "content"), list(cases("sample")))
async def test_an_example_succeeds_on_the_sample_notes(
    client: httpx.AsyncClient, operation_id: str, path: str, kind: str, content: str | None
) -> None:
    documented = OPERATIONS[operation_id][2]["responses"]
    response = await send(client, operation_id, path, kind, content)
    expected = next(status for status in (201, 200, 202) if str(status) in documented)
    assert response.status_code == expected, response.text
    if "results" in (answer := response.json() if "json" in response.headers["content-type"] else {}):
        assert answer["results"]
        assert answer.get("degraded", []) == answer.get("relaxed", []) == []
    if operation_id == "search_two_pass":
        assert [entity["name"] for entity in answer["pass1_entities"]] == ["Cliff Clarke"]
    if operation_id == "search_multihop":
        assert [hit["via"]["name"] for hit in answer["results"] if hit["hop"] == 2]


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
