"""Serves the external knowledge API of Dify at /retrieval, with the errors that Dify shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app import errors
from app.agents import api as router
from app.agents.compat import dify
from app.http.authentication import auth, versions
from app.http.bodies import bodies
from app.requests import strict_json, validation_errors
from app.settings import Settings

PATH = "/retrieval"
LIMITS = bodies.SearchRoute.limits
_SCOPE = auth.Scope("search")
_CODES: Mapping[int, int] = {401: 1002, 403: 1002, 404: 2001}
"""The codes that Dify's documentation suggests, by status; others have the status as their code."""
_NO_BEARER = 1001


def install(app: FastAPI, settings: Settings) -> None:
    """Add the route where the settings name it."""
    if "dify" not in settings.compat:
        return
    app.router.routes.append(Route(PATH, endpoint=_retrieve, methods=["POST"], name="dify"))


async def _retrieve(request: Request) -> Response:
    try:
        user_id = await _SCOPE.authenticate(request)
        versions.required(request)
        given = dify.Retrieval.model_validate(strict_json.parse(await _body(request)))
        return JSONResponse(await dify.retrieve(given, router.context(request, user_id)))
    except errors.StepwellError as error:
        if error.status >= 500 and error.status != 503:
            raise
        return _failed(error.status, _CODES.get(error.status, error.status), error.message, request)
    except RequestValidationError as error:
        return _failed(422, 422, _summary(error.errors(), error.body), request)
    except ValidationError as error:
        raised = [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_url=False, include_input=False)]
        return _failed(422, 422, _summary(raised, None), request)


async def _body(request: Request) -> bytes:
    """The body within the limits of a search. Raises `too_large`, `request_timeout`."""
    body = bodies.Body(request, LIMITS, max_bytes=LIMITS.max_bytes or 1)
    body.check_declared_length()
    received, more = b"", True
    while more:
        message = await body.receive()
        received += message.get("body", b"")
        more = message.get("more_body", False)
    return received


def _summary(raised: Any, body: object) -> str:
    return "; ".join(f"{one.field}: {one.message}" for one in validation_errors.read(raised, body))[:600]


def _failed(status: int, code: int, message: str, request: Request) -> Response:
    has_bearer = request.headers.get("authorization", "").lower().startswith("bearer ")
    code = _NO_BEARER if status == 401 and not has_bearer else code
    return JSONResponse({"error_code": code, "error_msg": message}, status)
