"""Builds a small application with the request parsing and error handling of the API, and checks problem responses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Annotated, Any, Literal

import httpx
from fastapi import APIRouter, FastAPI, Request
from pydantic import Field
from starlette.exceptions import HTTPException

from app import errors
from app.http import bodies, metrics, problems, request_log
from app.requests import field_types
from app.web import pages

CANARY = "xyzzy-canary-51"


class Filters(field_types.WireModel):
    document_ids: field_types.IdList = Field(default=[])
    created_after: field_types.Moment | None = None
    metadata: field_types.Metadata = Field(default={})


class Search(field_types.WireModel):
    query: field_types.QueryText
    limit: Annotated[field_types.Int, Field(ge=1, le=50)] = 5
    min_score: field_types.Number | None = None
    explain: field_types.Flag = False
    mode: Literal["auto", "hybrid"] = "auto"
    filters: Filters = Filters()


class Document(field_types.WireModel):
    content: str
    metadata: field_types.Metadata = Field(default={})


class Similar(field_types.WireModel):
    vector: field_types.Vector


router = APIRouter(prefix="/rag", route_class=bodies.StrictRoute)


@router.post("/search", responses=problems.responses(400, 413, 415, 422, 503))
async def search(body: Search, request: Request) -> dict[str, Any]:
    request.state.timings = {"embed": 3.14159, "sql time": 4.5}
    return body.model_dump(mode="json")


@router.post("/documents")
async def add(body: Document | Annotated[list[Document], *field_types.at_most(3)]) -> int:
    return len(body) if isinstance(body, list) else 1


@router.post("/similar")
async def similar(body: Similar) -> int:
    field_types.expect_dimension(body.vector, 3)
    return len(body.vector)


@router.get("/documents/{name}")
async def document(name: str, limit: int = 5) -> str:
    return name * (limit > 0)


@router.get("/fail/{how}")
async def fail(how: str) -> None:
    raise {
        "missing": errors.NotFound("No such document."),
        "down": errors.DatabaseUnavailable("The database does not answer."),
        "lost": errors.ConnectionLost("The database cannot be reached."),
        "key": errors.Unauthorized("Send an API key."),
        "late": TimeoutError(),
        "bug": RuntimeError(f"password={CANARY}"),
        "schema": errors.SchemaMismatch("column chunks.embedding is missing"),
        "teapot": HTTPException(418),
    }[how]


def build() -> FastAPI:
    app = FastAPI(title="Example", docs_url=None, redoc_url=None)
    bodies.install(app)
    problems.install(app)
    metrics.install(app, access="off")
    request_log.install(app)
    pages.install(app)
    app.include_router(router)
    return app


make = cache(build)
"""The application that most tests share: it holds nothing that they change."""


@asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        yield client


async def get(path: str, **headers: str) -> httpx.Response:
    async with calling(make()) as client:
        return await client.get(path, headers=headers)


async def post(
    path: str, raw: bytes | str, content_type: str | None = "application/json", **headers: str
) -> httpx.Response:
    given = headers if content_type is None else {"Content-Type": content_type, **headers}
    async with calling(make()) as client:
        return await client.post(path, content=raw, headers=given)


async def search_raw(raw: bytes | str) -> httpx.Response:
    return await post("/rag/search", raw)


def assert_problem(response: httpx.Response, status: int, code: str, *fields: str) -> dict[str, Any]:
    """The envelope, after checking all that every problem promises."""
    assert response.headers["content-type"] == "application/problem+json"
    assert len(response.content) < 4_000
    problem: dict[str, Any] = response.json()
    assert set(problem) == {"type", "title", "status", "detail", "instance", "code", "request_id", "errors"}
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert problem["type"] == f"urn:stepwell:problem:{code}"
    assert problem["request_id"] == response.headers["x-request-id"]
    assert [e["field"] for e in problem["errors"]] == list(fields)
    assert CANARY not in response.text
    return problem
