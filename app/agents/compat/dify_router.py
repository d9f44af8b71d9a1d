"""Serves the external knowledge API of Dify at /retrieval, with the errors that Dify shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticCustomError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app import errors, limits
from app.agents import api as router
from app.database.filter_types import OPERANDS, Filters
from app.http import auth, bodies
from app.query.search_request import SearchRequest
from app.query.types import Hit
from app.requests import strict_json, validation_errors, wire
from app.search import named_sources, search
from app.settings import Settings
from app.text import dates
from app.tools import ToolContext

EVERYTHING = "default"
"""The `knowledge_id` of all documents. Any other is the name or id of a source."""
MAX_CONDITIONS = 20
MAX_VALUES = 200
"""Most pairs of a key and a value in all conditions of a request."""


class RetrievalSetting(BaseModel):
    """How many records Dify asks for, and the smallest score."""

    top_k: Annotated[int, Field(ge=1)] = 5
    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


class MetadataCondition(BaseModel):
    """A condition on one key of metadata, or on several."""

    name: str | Annotated[list[str], Field(min_length=1, max_length=MAX_CONDITIONS)]
    comparison_operator: str
    value: Any = None


def _few(given: list[MetadataCondition]) -> list[MetadataCondition]:
    """Checks the conditions. Raises PydanticCustomError if they compare more values than filters may."""
    if sum(_length(one.name) * _length(one.value) for one in given) > MAX_VALUES:
        raise PydanticCustomError("too_many_values", f"Conditions must compare at most {MAX_VALUES} values in all.")
    return given


def _length(given: Any) -> int:
    return len(given) if isinstance(given, list) else 1


class MetadataConditions(BaseModel):
    """Conditions on metadata."""

    logical_operator: Literal["and", "or"] = "and"
    conditions: Annotated[list[MetadataCondition], Field(max_length=MAX_CONDITIONS), AfterValidator(_few)] = []


class Retrieval(BaseModel):
    """A request of Dify."""

    knowledge_id: Annotated[str, Field(min_length=1, max_length=limits.MAX_SOURCE_NAME)]
    query: wire.QueryText
    retrieval_setting: RetrievalSetting = RetrievalSetting()
    metadata_condition: MetadataConditions | None = None


async def retrieve(given: Retrieval, context: ToolContext) -> dict[str, Any]:
    """The records of a request. Raises NotFound for an unknown source, BadRequest for an unknown operator."""
    services, setting = context.services, given.retrieval_setting
    among = None
    if given.knowledge_id != EVERYTHING:
        among = await named_sources.find([given.knowledge_id], context.user_id, db=services.db)
    query = SearchRequest(
        query=given.query,
        limit=min(setting.top_k, limits.MAX_HITS),
        filters=_filters(given.metadata_condition, None if among is None else tuple(among)),
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


def _filters(given: MetadataConditions | None, source_ids: tuple[Any, ...] | None) -> Filters:
    if given is None or not given.conditions:
        return Filters(source_ids=source_ids)
    conditions = tuple(map(_condition, given.conditions))
    if given.logical_operator == "or":
        return Filters(source_ids=source_ids, any_of=conditions)
    return Filters(source_ids=source_ids, all_of=conditions)


def _condition(given: MetadataCondition) -> Filters:
    make = _OPERATORS.get(given.comparison_operator)
    if make is None:
        known = ", ".join(_OPERATORS)
        raise errors.BadRequest(f"Use one of the operators {known}.", field="metadata_condition.comparison_operator")
    names = [given.name] if isinstance(given.name, str) else given.name
    value = make(given.value)
    if value is _NO_SCALAR:
        raise errors.BadRequest("This operator takes another kind of value.", field="metadata_condition.value")
    every = tuple(Filters(metadata={name: value}) for name in names)
    return every[0] if len(every) == 1 else Filters(any_of=every)


_NO_SCALAR: Any = object()


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else _NO_SCALAR


def _list(value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    return {"in": values} if OPERANDS["in"].accepts(values) else _NO_SCALAR


def _other(value: Any) -> Any:
    return _NO_SCALAR if _scalar(value) is _NO_SCALAR else {"ne": value}


def _as_number(value: Any) -> float | None:
    """A number, which Dify may send as text."""
    try:
        number = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _number(value: Any) -> Any:
    """Metadata must have the number, or the same number as text."""
    number = _as_number(value)
    return _scalar(value) if number is None else {"in": [number, *([value] if isinstance(value, str) else [])]}


def _other_number(value: Any) -> Any:
    number = _as_number(value)
    return _other(value if number is None else number)


def _number_bound(operator: str) -> Callable[[Any], Any]:
    return lambda value: _NO_SCALAR if (number := _as_number(value)) is None else {operator: number}


def _date_bound(operator: str) -> Callable[[Any], Any]:
    """Dify sends dates as seconds since 1970. Dates in ISO 8601 are accepted too."""

    def make(value: Any) -> Any:
        seconds = _as_number(value)
        if seconds is None:
            is_moment = isinstance(value, str) and dates.microseconds(value) is not None
            return {operator: value} if is_moment else _NO_SCALAR
        try:
            return {operator: datetime.fromtimestamp(seconds, UTC).isoformat()}
        except (ValueError, OverflowError, OSError):
            return _NO_SCALAR

    return make


_OPERATORS: Mapping[str, Callable[[Any], Any]] = {
    "is": _scalar,
    "is not": _other,
    "in": _list,
    "=": _number,
    "≠": _other_number,
    ">": _number_bound("gt"),
    "<": _number_bound("lt"),
    "≥": _number_bound("gte"),
    "≤": _number_bound("lte"),
    "before": _date_bound("lt"),
    "after": _date_bound("gt"),
    "empty": lambda _value: {"exists": False},
    "not empty": lambda _value: {"exists": True},
}
"""The operators of Dify that filters support. Its other operators compare parts of texts."""


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
