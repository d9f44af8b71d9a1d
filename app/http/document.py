"""Completes the OpenAPI document: security schemes, problems, and an example of each successful response.

`success_examples.json` holds the responses by operation and status, as the service sends them for the sample notes;
`make examples` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from fastapi import FastAPI

from app import errors
from app.http import auth, bodies, problems
from app.requests import validation_errors

REQUEST_ID = "3f2b8c1de0a94d6f"
PATH = "/api/rag/search"
UNKNOWN_PARAMETER = "verbose"
"""The query parameter of the request in the example of 422."""
ERRORS: dict[int, errors.StepwellError] = {
    400: errors.BadRequest(errors.BLANK_QUERY, field="query", code="blank_query"),
    401: errors.Unauthorized("Send a key or the local token as `Authorization: Bearer …` or `X-API-Key`."),
    403: errors.Forbidden(errors.ORIGIN_NOT_ALLOWED, code="origin_not_allowed"),
    404: errors.NotFound("No such chunk, or it has no vector.", field="chunk_id"),
    408: errors.RequestRefused("Send a request's headers within 10 seconds.", code="request_timeout"),
    409: errors.Conflict(errors.STALE_CURSOR, field="cursor", code="stale_cursor"),
    413: errors.RequestRefused(
        "The body is larger than 10,000,000 bytes: send less, or in several requests.", code="too_large"
    ),
    415: bodies.UnsupportedMediaType("Send the body as JSON, with the header Content-Type: application/json."),
    421: errors.RequestRefused(errors.HOST_NOT_ALLOWED, code="host_not_allowed"),
    429: errors.RequestRefused("The limit of requests per minute is reached.", retry_after_s=12, code="rate_limited"),
    431: errors.RequestRefused("Send at most 100 headers.", code="headers_too_large"),
    500: errors.StepwellError(""),
    502: errors.ProviderError("The embedding model did not respond."),
    503: errors.DatabaseUnavailable("The database does not respond; try again shortly."),
    504: errors.DeadlineExceeded("The search did not finish within its time limit."),
    507: errors.DiskFull("The database's disk is full: nothing was stored. Make room on it, then try again."),
}
_SCHEMES = {
    one.scheme_name: one.model.model_dump(mode="json", by_alias=True, exclude_none=True)
    for one in (auth.BEARER, auth.API_KEY)
}
_OF_OPERATIONS = frozenset({404, 409, 422})
"""Statuses that depend on the operation; all others are declared together, as they are the same everywhere."""


def install(app: FastAPI) -> None:
    """Complete the document that `app.openapi` returns, once: FastAPI keeps it."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        is_new = app.openapi_schema is None
        document = generate()
        if is_new:
            document["components"]["securitySchemes"] = _SCHEMES
            operations = [operation for item in document["paths"].values() for operation in item.values()]
            _declare_problems(document["components"], operations)
            _add_examples(operations)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def stored_examples() -> dict[str, dict[str, Any]]:
    """The examples of successful responses: the id of an operation, then a status, then the body."""
    found: dict[str, dict[str, Any]] = json.loads(
        resources.files("app.http").joinpath("success_examples.json").read_text(encoding="utf-8")
    )
    return found


def _add_examples(operations: list[dict[str, Any]]) -> None:
    shown = stored_examples()
    for operation in operations:
        for status, example in shown.get(operation["operationId"], {}).items():
            for media in operation["responses"][status]["content"].values():
                media["example"] = example


def _declare_problems(components: dict[str, Any], operations: list[dict[str, Any]]) -> None:
    schemas = components.setdefault("schemas", {})
    for name, model in (("ProblemError", problems.ProblemError), ("Problem", problems.Problem)):
        schemas[name] = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas[name].pop("$defs", None)
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    declared = set().union(*(_refer(operation["responses"]) for operation in operations))
    own = {f"Problem{status}": _component((status,)) for status in sorted(declared & _OF_OPERATIONS)}
    components["responses"] = {"Problem": _component(sorted(declared - _OF_OPERATIONS)), **own}


def _refer(responses: dict[str, Any]) -> set[int]:
    """Replace the problems of an operation by references; returns their statuses."""
    declared = set()
    for status, response in list(responses.items()):
        schema = response.get("content", {}).get("application/json", {}).get("schema", {})
        if schema.get("$ref", "").rpartition("/")[2] in {"Problem", "HTTPValidationError"}:
            declared.add(int(status))
            del responses[status]
    for number in sorted(declared & _OF_OPERATIONS):
        responses[str(number)] = {"$ref": f"#/components/responses/Problem{number}"}
    if declared - _OF_OPERATIONS:
        responses["default"] = {"$ref": "#/components/responses/Problem"}
    return declared


def _component(statuses: Sequence[int]) -> dict[str, Any]:
    """The response with these statuses, and an example of each."""
    lines = [f"{status}: {problems.DESCRIPTIONS[status]}" for status in statuses]
    examples = {
        str(status): {"summary": problems.DESCRIPTIONS[status], "value": _example(status)} for status in statuses
    }
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}
    return {"description": "\n\n".join(lines), "content": {problems.MEDIA_TYPE: content}}


def _example(status: int) -> Any:
    """The problem that a request gets with this status; that of 422 has an unknown query parameter."""
    scope = {"path": PATH, "state": {"request_id": REQUEST_ID}}
    if status == 422:
        wrong = validation_errors.read([bodies.unknown_parameter(UNKNOWN_PARAMETER, {}, with_body=True)])
        detail, code = problems.summary(wrong), problems.code_of(wrong)
        response = problems.respond(scope, status, detail, code=code, errors=wrong)
    else:
        response = problems.of(ERRORS[status], scope)
    return json.loads(bytes(response.body))
