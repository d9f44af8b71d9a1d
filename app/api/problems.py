"""Renders every failure as one application/problem+json envelope (RFC 9457).

It names the field and the fix, never the input, and stays under 4 kB. A blank query is 400 `blank_query` even if other
fields are wrong too (they are listed with it): searching endpoints promise it without conditions. Any other bad value
is 422, whose `code` is the faults' own when they share one (`invalid_text`, `too_deep`, …), else `invalid_request`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors
from app.api import validation_errors

MEDIA_TYPE = "application/problem+json"
MOST_BYTES = 3_900

_logger = logging.getLogger(__name__)
_OUR_FAULT = "Something failed inside the service. It is logged under this request_id; trying again may help."
_CODES = {
    400: "bad_request",
    401: errors.Unauthorized.code,
    403: errors.Forbidden.code,
    404: errors.NotFound.code,
    405: "method_not_allowed",
    406: "not_acceptable",
    408: errors.RequestTimeout.code,
    409: errors.Conflict.code,
    413: errors.TooLarge.code,
    415: "unsupported_media_type",
    422: errors.BadRequest.code,
    429: errors.RateLimited.code,
    500: errors.StepwellError.code,
    502: errors.ProviderError.code,
    503: errors.Unavailable.code,
    504: errors.DeadlineExceeded.code,
    507: errors.DiskFull.code,
}
_DETAILS = {
    404: "There is nothing at this path: /docs lists every path.",
    405: "This path does not take this method: the Allow header lists those that it takes.",
}
_MEANINGS = {
    400: "The query is blank, or the body is not UTF-8.",
    401: "No usable API key came with the request.",
    403: "The key's scopes do not allow this.",
    404: "No such thing belongs to this user.",
    405: "The path does not take this method.",
    408: "The body did not arrive in time.",
    409: "The request collides with something that exists.",
    413: "The body is larger than the service accepts.",
    415: "The body is not declared as a content type that this path takes.",
    422: "A value in the request cannot be used; `errors` names each field and what to send instead.",
    429: "Too many requests of this user or key; Retry-After says when to try again.",
    500: "Something failed inside the service; `request_id` finds it in the log.",
    502: "A provider failed and nothing could replace it.",
    503: "The service cannot answer now; Retry-After says when to try again.",
    504: "The work did not finish within its time budget.",
    507: "The database's disk has no room for a write; searches go on.",
}


class ProblemError(BaseModel):
    """One wrong field."""

    field: str = Field(description="Path of the field, such as `filters.document_ids[3]`.", examples=["limit"])
    message: str = Field(description="What to send instead.", examples=["Must be 50 or less."])
    code: str = Field(description="Stable name of this kind of fault.", examples=["less_than_equal"])


class Problem(BaseModel):
    """What every failed request answers (RFC 9457)."""

    type: str = Field(description="Stable name of its kind.", examples=["urn:stepwell:problem:invalid_request"])
    title: str = Field(description="The kind of problem in words.", examples=["Invalid request"])
    status: int = Field(description="The HTTP status.", examples=[422])
    detail: str = Field(description="What happened and what to do.", examples=["limit: Must be 50 or less."])
    instance: str = Field(description="The path that was called.", examples=["/api/rag/search"])
    code: str = Field(description="The last part of `type`.", examples=["invalid_request"])
    request_id: str | None = Field(description="Also in the X-Request-ID header.", examples=["3f2b8c1de0a94d6f"])
    errors: list[ProblemError] = Field(description="The wrong fields, at most 20; empty if no field is to blame.")


def install(app: FastAPI) -> None:
    """Answer every failure of `app` with a problem, and say so in its OpenAPI document.

    Call it after `bodies.install`, so that failures of that middleware are answered too.
    """
    app.add_exception_handler(errors.StepwellError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(TimeoutError, _late)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(LastResort)
    _declare_media_type(app)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What an operation declares as `responses=`: the problems it may answer with. KeyError for an unknown status."""
    return {status: {"model": Problem, "description": _MEANINGS[status]} for status in statuses}


def respond(
    scope: Scope,
    status: int,
    detail: str,
    *,
    code: str | None = None,
    errors: Sequence[validation_errors.FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The problem as a response. `detail` and `errors` must not hold input; a status has a usual `code`."""
    code = code or _CODES.get(status, _CODES[500 if status >= 500 else 400])
    request_id = scope.get("state", {}).get("request_id")
    envelope = {
        "type": f"urn:stepwell:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail[:600],
        "instance": quote(scope.get("path", ""), safe="/", errors="replace")[:200],
        "code": code,
        "request_id": request_id,
        "errors": [{"field": e.field, "message": e.message, "code": e.code} for e in errors[: validation_errors.MOST]],
    }
    return Response(_fitting(envelope), status, _headers(status, request_id, headers), MEDIA_TYPE)


def of(error: errors.StepwellError, scope: Scope) -> Response:
    """The problem that `error` stands for."""
    named = [validation_errors.FieldError(error.field, error.message, error.code)] if error.field else []
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    detail = _OUR_FAULT if error.status == 500 else error.message
    return respond(scope, error.status, detail, code=error.code, errors=named, headers=headers)


def _fitting(envelope: dict[str, Any]) -> bytes:
    """The envelope as ASCII JSON, with as many of its errors as MOST_BYTES hold."""
    while len(encoded := json.dumps(envelope).encode()) > MOST_BYTES and envelope["errors"]:
        envelope["errors"].pop()
    return encoded


def _headers(status: int, request_id: str | None, given: Mapping[str, str] | None) -> dict[str, str]:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", **(given or {})}
    if request_id is not None:
        headers["X-Request-ID"] = request_id
    if status == 401:
        headers.setdefault("WWW-Authenticate", "Bearer")
    if status == 408:
        headers.setdefault("Connection", "close")
    return headers


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.StepwellError)
    if error.status >= 500 and not isinstance(error, errors.Overloaded):
        _logger.log(_severity(error.status), "request failed", extra={"code": error.code}, exc_info=error)
    return of(error, request.scope)


def _severity(status: int) -> int:
    return logging.ERROR if status == 500 else logging.WARNING


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = validation_errors.read(error.errors(), error.body)
    codes = {fault.code for fault in found}
    if errors.BlankQuery.code in codes:
        blank = errors.BlankQuery()
        return respond(request.scope, blank.status, blank.message, code=blank.code, errors=found)
    return respond(request.scope, 422, _summary(found), code=_shared(codes), errors=found)


def _shared(codes: set[str]) -> str:
    """The one code of all faults if it is the door's own, since pydantic's are too fine for a kind of problem."""
    (only, *others) = codes or {errors.BadRequest.code}
    return only if not others and not validation_errors.is_pydantic_code(only) else errors.BadRequest.code


def _summary(found: Sequence[validation_errors.FieldError]) -> str:
    if not found:
        return "The request cannot be used: compare it with the schema at /docs."
    more = "" if len(found) == 1 else f" ({len(found)} fields are wrong; errors lists up to {validation_errors.MOST}.)"
    return f"{found[0].field}: {found[0].message}{more}"


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    if status < 200 or status in {204, 304}:
        return Response(status_code=status, headers=error.headers)
    stock = not isinstance(error.detail, str) or error.detail == _phrase(status)
    detail = _DETAILS.get(status, _MEANINGS.get(status, "The request cannot be served.")) if stock else error.detail
    return respond(request.scope, status, detail, headers=error.headers)


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else ""


async def _late(request: Request, error: Exception) -> Response:
    _logger.warning("request timed out", exc_info=error)
    return respond(request.scope, 504, "The work did not finish within its time budget: try again, or ask for less.")


async def _unexpected(request: Request, error: Exception) -> Response:
    _logger.error("request failed", extra={"code": "internal_error"}, exc_info=error)
    return respond(request.scope, 500, _OUR_FAULT)


class LastResort:
    """Answers what no handler caught, before the server sees it and logs a second traceback that quotes everything."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            _logger.info("client left")
        except Exception as error:
            if started:
                raise
            await (await _unexpected(Request(scope), error))(scope, receive, send)


def _declare_media_type(app: FastAPI) -> None:
    """Have the OpenAPI document say application/problem+json, and Problem in place of FastAPI's own 422."""
    generate = app.openapi
    declared: dict[int, dict[str, Any]] = {}

    def openapi() -> dict[str, Any]:
        document = generate()
        if declared.get(id(document)) is not document:
            _rewrite(document)
            declared.clear()
            declared[id(document)] = document
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _rewrite(document: dict[str, Any]) -> None:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name, model in (("ProblemError", ProblemError), ("Problem", Problem)):
        schemas[name] = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas[name].pop("$defs", None)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    operations = (o for item in document["paths"].values() for o in item.values() if isinstance(o, dict))
    for response in (r for o in operations for r in o.get("responses", {}).values()):
        _rename_media_type(response.get("content", {}))


def _rename_media_type(content: dict[str, Any]) -> None:
    schema = content.get("application/json", {}).get("schema", {})
    if schema.get("$ref", "").rpartition("/")[2] in {"Problem", "HTTPValidationError"}:
        del content["application/json"]
        content[MEDIA_TYPE] = {"schema": {"$ref": "#/components/schemas/Problem"}}
