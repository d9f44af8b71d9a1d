"""Tests that a request is authenticated and its key has the scope before its body is read."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import harness
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import FastAPI
from openapi_operations import DOCUMENT

OPEN = {"/healthz", "/readyz"}


def operations() -> Iterator[Any]:
    """Every operation but the health checks: method and path."""
    for path, item in DOCUMENT["paths"].items():
        for method in item if path not in OPEN else ():
            yield pytest.param(method.upper(), path.replace("{", "").replace("}", ""), id=f"{method} {path}")


async def unread() -> AsyncIterator[bytes]:
    """A body that is an error to read."""
    pytest.fail("the body was read")
    yield b""


@pytest.mark.parametrize(("method", "path"), list(operations()))
async def test_without_a_valid_key_no_byte_of_a_body_is_read(app: FastAPI, method: str, path: str) -> None:
    body = {"Content-Type": "application/json", "Content-Length": "17"}
    guessed = {"Authorization": "Bearer sw_" + "0" * 12 + "_" + "0" * 43}
    async with harness.client(app) as client:
        for headers in (body, {**body, **guessed, "Content-Length": "99999999999"}):
            response = await client.request(method, path, content=unread(), headers=headers)
            assert_problem(response, 401, "unauthorized")


async def test_a_key_without_the_scope_is_refused_before_the_body_is_read(app: FastAPI, new_caller: Any) -> None:
    reader: Caller = await new_caller("search")
    headers = {"X-API-Key": reader.key, "Content-Type": "application/json", "Content-Length": "17"}
    async with harness.client(app) as client:
        assert (await client.post("/api/rag/documents", content=unread(), headers=headers)).status_code == 403
