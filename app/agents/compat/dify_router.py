"""Serves the external knowledge API of Dify at /retrieval, with the errors that Dify shows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticCustomError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app import errors, limits
from app.agents import api as router
from app.database.filter_types import Filters
from app.http import auth, bodies
from app.query.search_request import SearchRequest
from app.query.search_types import Hit
from app.requests import field_types, strict_json, validation_errors
from app.search import search, source_names
from app.settings import Settings
from app.tools import ToolContext

EVERYTHING = "default"
"""The `knowledge_id` of all documents. Any other is the name or id of a source."""


class RetrievalSetting(BaseModel):
    """How many records Dify asks for, and the smallest score."""

    top_k: Annotated[int, Field(ge=1)] = 5
    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


def _refuse_conditions(given: list[Any]) -> list[Any]:
    """Accepts only an empty list. Raises PydanticCustomError for conditions, so that none is ignored silently."""
    if given:
        message = "Conditions on metadata are not supported: name a source as knowledge_id, or use a key with filters."
        raise PydanticCustomError("unsupported_condition", message)
    return given


class MetadataConditions(BaseModel):
    """Conditions on metadata. Only an empty list is accepted."""

    conditions: Annotated[list[Any], AfterValidator(_refuse_conditions)] = []


class Retrieval(BaseModel):
    """A request of Dify."""

    knowledge_id: Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)]
    query: field_types.QueryText
    retrieval_setting: RetrievalSetting = RetrievalSetting()
    metadata_condition: MetadataConditions | None = None


async def retrieve(given: Retrieval, context: ToolContext) -> dict[str, Any]:
    """The records of a request. Raises NotFound for an unknown source."""
    services, setting = context.services, given.retrieval_setting
    among = None
    if given.knowledge_id != EVERYTHING:
        among = await source_names.find([given.knowledge_id], context.user_id, db=services.db)
    query = SearchRequest(
        query=given.query,
        limit=min(setting.top_k, limits.MAX_HITS),
        filters=Filters(source_ids=None if among is None else tuple(among)),
        depth="auto",
    )
    answer = await context.admission.search(partial(search.run, query, context.user_id, services))
    records = [_record(hit) for hit in answer.hits]
    return {"records": [record for record in records if record["score"] >= setting.score_threshold]}


def _record(hit: Hit) -> dict[str, Any]:
    found = hit.candidate
    own = {
        "document_id": str(found.document_id),
        "chunk_id": str(found.chunk_id),
        "path": found.uri,
        "page": found.page,
    }
    return {
        "content": found.content,
        "score": round(found.score if hit.relevance is None else hit.relevance, 4),
        "title": found.title or found.uri or "",
        "metadata": {**found.metadata, **{name: value for name, value in own.items() if value is not None}},
    }


PATH = "/retrieval"
LIMITS = bodies.SearchRoute.limits
_SCOPE = auth.Scope("search")
_CODES: Mapping[int, int] = {401: 1002, 403: 1002, 404: 2001}
"""The codes that Dify's documentation suggests, by status. For other statuses the code is the status."""
_NO_BEARER = 1001


def install(app: FastAPI, settings: Settings) -> None:
    """Add the route if the settings enable it."""
    if "dify" not in settings.compat:
        return
    app.router.routes.append(Route(PATH, endpoint=_retrieve, methods=["POST"], name="dify"))


async def _retrieve(request: Request) -> Response:
    try:
        user_id = await _SCOPE.authenticate(request)
        auth.required_version(request)
        body = await bodies.ReceivedRequest(request, bodies.Body(request, LIMITS).receive).body()
        given = strict_json.validate(strict_json.parse(body), Retrieval)
        return JSONResponse(await retrieve(given, router.context(request, user_id)))
    except errors.StepwellError as error:
        if error.status >= 500 and error.status != 503:
            raise
        return _fail(error.status, error.message, request)
    except RequestValidationError as error:
        fields = validation_errors.read(error.errors())
        return _fail(422, "; ".join(f"{one.field}: {one.message}" for one in fields)[:600], request)


def _fail(status: int, message: str, request: Request) -> Response:
    has_bearer = request.headers.get("authorization", "").lower().startswith("bearer ")
    code = _NO_BEARER if status == 401 and not has_bearer else _CODES.get(status, status)
    return JSONResponse({"error_code": code, "error_msg": message}, status)
