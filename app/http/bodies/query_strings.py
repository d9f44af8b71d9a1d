"""Rejects NUL characters and unknown parameters in the URL of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from app.requests import field_names, validation_errors

_NUL = "Must not contain the NUL character."
_IN_BODY = {"remark": "Send it as a field of the JSON body."}


def parameters(dependant: Dependant) -> Iterator[str]:
    """The names of the query parameters of a route, at any depth of its dependencies."""
    yield from (field.alias for field in dependant.query_params)
    for dependency in dependant.dependencies:
        yield from parameters(dependency)


def check(request: Request, known: Mapping[str, str], *, with_body: bool) -> None:
    """Raises RequestValidationError that names the wrong parameters, and HTTPException 404 for NUL in the path.

    `known` maps the names of the route's parameters to themselves. `with_body`: the route takes fields as JSON.
    """
    for name in [name for name, value in request.query_params.multi_items() if "\0" in name + value]:
        raise RequestValidationError([{"loc": ("query", name), "type": "invalid_text", "msg": _NUL}])
    if "\0" in request.scope["path"]:
        raise HTTPException(404)
    names = [name for name in request.query_params if name not in known][: validation_errors.MAX_ERRORS]
    if names:
        raise RequestValidationError([unknown(name, known, with_body=with_body) for name in names])


def unknown(name: str, known: Mapping[str, str], *, with_body: bool) -> dict[str, object]:
    """The validation error of an unknown parameter, in pydantic's form; the arguments are those of `check`."""
    advice = _IN_BODY if with_body else field_names.advice(name, known)
    return {"loc": ("query", name), "type": "extra_forbidden", "msg": "Unknown query parameter.", "ctx": advice}
