"""Renders every error as application/problem+json (RFC 9457) and declares the errors of each operation.

A problem names the field and the fix, never the input, and has less than 4 kB. A bad value is 422. Its `code` is
`invalid_request`, or the code of the field errors if all share one that this service defines (`invalid_text`,
`too_deep`, …). A blank query is 400 `blank_query`, even if other fields are wrong too; `errors` lists all of them.
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
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from rapidfuzz import fuzz, process
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors
from app.requests import validation_errors
from app.requests.validation_errors import MAX_ERRORS

MEDIA_TYPE = "application/problem+json"
MAX_BYTES = 3_900
LONGEST_PATH, NEAREST_SCORE = 200, 80
"""Most characters of an unknown path that are compared, and the least similarity, of 100, of the suggested one."""

_logger = logging.getLogger(__name__)
_EXPECTED = {errors.Overloaded.code, errors.ReadOnly.code, "standby_behind"}
"""Codes of expected errors with a status of 500 or more. Only the request log contains them."""
_INTERNAL_ERROR = "The service failed. The error is logged under this request_id; a retry may succeed."
_CODES = {
    400: "bad_request",
    404: errors.NotFound.code,
    405: "method_not_allowed",
    500: errors.StepwellError.code,
    504: errors.DeadlineExceeded.code,
}
"""The default codes by status, for errors of the framework and of libraries."""
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}}
_DETAILS = {
    404: "This path does not exist: /docs lists every path.",
    405: "This path does not allow this method: the Allow header lists the allowed ones.",
}
DESCRIPTIONS = {
    400: "The query is blank, the body is not UTF-8, or the request is not valid HTTP.",
    401: "The request has no valid API key.",
    403: "The key lacks the required scope, or a web page of another origin sent the request.",
    404: "This user has no such object.",
    405: "The path does not allow this method.",
    408: "The headers or the body did not arrive in time.",
    409: "The request conflicts with a stored object or one with its Idempotency-Key that runs, "
    "or the results before a cursor have changed.",
    413: "The body is too large.",
    415: "The path does not accept this content type.",
    421: "The Host header names no allowed host.",
    422: "A value in the request is invalid; `errors` lists each field and what to send instead.",
    429: "The user or key has sent too many requests; retry after the seconds in Retry-After.",
    431: "The request line and headers are too large.",
    500: "The service failed; the log contains the error with the `request_id`.",
    502: "A provider failed.",
    503: "The service is unavailable or overloaded; retry after the seconds in Retry-After.",
    504: "The request did not finish within its time limit.",
    507: "The database's disk is full; searches still work.",
}


class ProblemError(BaseModel):
    """One wrong field."""

    field: str = Field(description="Path of the field, such as `filters.document_ids[3]`.", examples=["limit"])
    message: str = Field(description="What to send instead.", examples=["Must be 50 or less."])
    code: str = Field(description="Stable code of the error.", examples=["less_than_equal"])


class Problem(BaseModel):
    """The response to every failed request (RFC 9457)."""

    type: str = Field(description="Stable URN of the problem.", examples=["urn:stepwell:problem:invalid_request"])
    title: str = Field(description="The kind of problem in words.", examples=["Invalid request"])
    status: int = Field(description="HTTP status.", examples=[422])
    detail: str = Field(description="What is wrong and how to fix it.", examples=["limit: Must be 50 or less."])
    instance: str = Field(description="Path of the request.", examples=["/api/rag/search"])
    code: str = Field(description="Last part of `type`.", examples=["invalid_request"])
    request_id: str | None = Field(description="Also in the X-Request-ID header.", examples=["3f2b8c1de0a94d6f"])
    errors: list[ProblemError] = Field(description="The wrong fields, at most 20; empty if no field is wrong.")


def install(app: FastAPI) -> None:
    """Respond to every error of `app` with a problem."""
    app.add_exception_handler(errors.StepwellError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(TimeoutError, _timed_out)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(LastResort)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems with these statuses as FastAPI's `responses=`. Raises KeyError for an unknown status."""
    return {status: {"model": Problem, "description": DESCRIPTIONS[status]} for status in statuses}


EVERY_REQUEST = responses(400, 403, 408, 421, 431, 500, 503)
"""Malformed or slow requests, other origins and hosts, large headers, internal errors, too many connections."""
AUTHENTICATED = responses(401, 403, 422, 429, 503)
"""Operations that need a key: a missing or wrong key or scope, invalid parameters, rate limits, database outages."""
BODY = responses(400, 408, 413, 415)
"""Operations that read a body: a wrong encoding, slow, large, or of another media type."""
SEARCH = {**BODY, **responses(504)}
"""Searches: a deadline."""
PAGED_SEARCH = {**SEARCH, **responses(409)}
"""Searches with pages: a cursor whose results have changed."""
WRITE = {**BODY, **responses(502, 507)}
"""Operations that embed and store documents or entities: a failed provider, a full disk."""


def respond(
    scope: Scope,
    status: int,
    detail: str,
    *,
    code: str | None = None,
    errors: Sequence[validation_errors.FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Returns a problem as a response. `detail` and `errors` must not contain input; each status has a default `code`.

    The request's state keeps the code for the log and the metrics.
    """
    code = code or _CODES.get(status, _CODES[500 if status >= 500 else 400])
    state = scope.setdefault("state", {})
    state["problem"] = code
    envelope: dict[str, Any] = {
        "type": f"urn:stepwell:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail[:600],
        "instance": quote(scope.get("path", ""), safe="/", errors="replace")[:200],
        "code": code,
        "request_id": state.get("request_id"),
        "errors": [{"field": e.field, "message": e.message, "code": e.code} for e in errors[:MAX_ERRORS]],
    }
    while len(encoded := json.dumps(envelope).encode()) > MAX_BYTES and envelope["errors"]:
        envelope["errors"].pop()
    fixed = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return Response(encoded, status, fixed | _HEADERS.get(status, {}) | dict(headers or {}), MEDIA_TYPE)


def of(error: errors.StepwellError, scope: Scope) -> Response:
    """The response to `error`."""
    fields = [validation_errors.FieldError(error.field, error.message, error.code)] if error.field else []
    headers = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    is_shown = getattr(error, "is_shown", error.status != 500)
    detail = error.message if is_shown else _INTERNAL_ERROR
    return respond(scope, error.status, detail, code=error.code, errors=fields, headers=headers)


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.StepwellError)
    # The pool logs an outage once, and the request log has the code of every answer.
    if error.status >= 500 and error.code not in _EXPECTED and not isinstance(error, errors.Unreachable):
        # For a state such as a lost database, a traceback says nothing, and an outage would log many.
        level, cause = (logging.ERROR, error) if error.status == 500 else (logging.WARNING, None)
        _logger.log(level, "request failed: %s", error.message, extra={"code": error.code}, exc_info=cause)
    return of(error, request.scope)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fields = validation_errors.read(error.errors(), error.body)
    if any(field.code == "blank_query" for field in fields):
        blank = errors.BadRequest(errors.BLANK_QUERY, field="query", code="blank_query")
        return respond(request.scope, blank.status, blank.message, code=blank.code, errors=fields)
    return respond(request.scope, 422, summary(fields), code=code_of(fields), errors=fields)


def code_of(fields: Sequence[validation_errors.FieldError]) -> str:
    """The code that all field errors share, else `invalid_request`. Pydantic's codes are too specific to return."""
    (only, *others) = {field.code for field in fields} or {errors.BadRequest.code}
    return only if not others and not validation_errors.is_pydantic_code(only) else errors.BadRequest.code


def summary(fields: Sequence[validation_errors.FieldError]) -> str:
    if not fields:
        return "The request is invalid: compare it with the schema at /docs."
    more = "" if len(fields) == 1 else f" ({len(fields)} fields are wrong; errors lists up to {MAX_ERRORS}.)"
    return f"{fields[0].field}: {fields[0].message}{more}"


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    if status < 200 or status in {204, 304}:
        return Response(status_code=status, headers=error.headers)
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    stock = not isinstance(error.detail, str) or error.detail == phrase
    detail = _DETAILS.get(status, DESCRIPTIONS.get(status, "The request failed.")) if stock else error.detail
    if stock and status == 404:
        detail += _suggest_path(request)
    headers = dict(error.headers or {}) | (_allow(request) if status == 405 else {})
    return respond(request.scope, status, detail, headers=headers)


def _allow(request: Request) -> dict[str, str]:
    """The header with the methods of a path, of which each is a route of its own; none for a path of another kind."""
    found = [one for one in _operations(request) if one.matches(request.scope)[0] is not Match.NONE]
    same = [one for one in found if one.path == request.url.path] or found
    return {"Allow": ", ".join(sorted({method for one in same for method in one.methods or ()}))} if same else {}


def _suggest_path(request: Request) -> str:
    """The operation whose path ends most like that of the request, as a question; empty if none does."""
    paths = {_end(one.path): one.path for one in _operations(request)}
    found = process.extractOne(
        _end(request.url.path[:LONGEST_PATH]), paths.keys(), scorer=fuzz.ratio, score_cutoff=NEAREST_SCORE
    )
    return f" Did you mean {paths[found[0]]}?" if found else ""


def _operations(request: Request) -> list[APIRoute]:
    routers = [found for one in request.app.routes if (found := getattr(one, "original_router", None))]
    return [one for each in routers for one in each.routes if isinstance(one, APIRoute)]


def _end(path: str) -> str:
    """A path without its common beginning and without a slash at its end."""
    return "/".join(part for part in path.split("/") if part not in ("", "api", "rag", "v1"))


async def _timed_out(request: Request, error: Exception) -> Response:
    _logger.warning("request timed out", exc_info=error)
    return respond(request.scope, 504, "The request did not finish within its time limit: retry, or request less.")


async def _unexpected(request: Request, error: Exception) -> Response:
    _logger.error("request failed", extra={"code": "internal_error"}, exc_info=error)
    return respond(request.scope, 500, _INTERNAL_ERROR)


class LastResort:
    """Responds to exceptions that no handler caught. The server would log a traceback, which may quote the input."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_and_record(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_record)
        except ClientDisconnect:
            pass  # the request log has it, with status 0
        except Exception as error:
            if started:
                raise
            await (await _unexpected(Request(scope), error))(scope, receive, send)
