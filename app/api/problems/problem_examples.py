"""Builds an example of each problem for the OpenAPI document, as the service renders it."""

from __future__ import annotations

from typing import Any

from app import errors
from app.api.bodies.bodies import UnsupportedMediaType
from app.api.contract import query_strings, validation_errors
from app.api.contract.validation_errors import FieldError

REQUEST_ID = "3f2b8c1de0a94d6f"
UNKNOWN_PARAMETER = "verbose"
"""The query parameter of the request in the examples of 422."""
UNKNOWN_SOURCE = "0d6c3a94-7a0e-4c3f-9d5b-6f1f0c8a2e71"
"""The source of the request in the examples of 404."""
_ERRORS: dict[int, errors.StepwellError] = {
    400: errors.MalformedRequest("This is not a valid HTTP request."),
    401: errors.Unauthorized("Send a key or the local token as `Authorization: Bearer …` or `X-API-Key`."),
    403: errors.OriginNotAllowed(),
    408: errors.RequestTimeout("Send a request's headers within 10 seconds."),
    413: errors.TooLarge("The body is larger than 10,000,000 bytes: send less, or in several requests."),
    415: UnsupportedMediaType("Send the body as JSON, with the header Content-Type: application/json."),
    421: errors.HostNotAllowed(),
    429: errors.RateLimited("The limit of requests per minute is reached.", retry_after_s=12),
    431: errors.HeadersTooLarge("Send at most 100 headers."),
    500: errors.StepwellError(""),
    502: errors.ProviderError("The embedding model did not respond."),
    503: errors.DatabaseUnavailable("The database does not respond; try again shortly."),
    504: errors.DeadlineExceeded("The search did not finish within its time limit."),
    507: errors.DiskFull("The database's disk is full: nothing was stored. Make room on it, then try again."),
}
# By a part of the operation's id.
_NOT_FOUND: dict[str, errors.StepwellError] = {
    "similar": errors.NotFound("No such chunk, or it has no vector.", field="chunk_id"),
    "by_uri": errors.NotFound("The user has no document with this uri."),
    "entit": errors.NotFound("No such entity."),
    "source": errors.NotFound(f"No such source: {UNKNOWN_SOURCE}."),
    "job": errors.NotFound("No such job."),
    "tool": errors.NotFound("There is no such tool. Did you mean search_documents?"),
}
_CONFLICTS: dict[str, errors.StepwellError] = {
    "add_source": errors.Conflict("A user has at most 1,000 sources."),
    "source": errors.Conflict("Several sources have this name: use the id of one."),
    "job": errors.Conflict("Jobs that update links, vectors or postings cannot be cancelled."),
    "document": errors.Conflict("Another document already has this uri or this content.", field="uri"),
    "entit": errors.Conflict("An entity has this type and name.", field="name"),
}


def error_of(status: int, operation: dict[str, Any]) -> errors.StepwellError:
    """A typical error with this status. Raises KeyError for a status that no operation declares."""
    name = operation["operationId"]
    if status == 404:
        return next((error for part, error in _NOT_FOUND.items() if part in name), errors.NotFound("No such document."))
    if status == 409:
        return next((error for part, error in _CONFLICTS.items() if part in name), errors.StaleCursor())
    if status == 400 and name.startswith("search"):
        return errors.BlankQuery()
    return _ERRORS[status]


def wrong_fields(operation: dict[str, Any]) -> list[FieldError]:
    """The field errors of the example of 422: an unknown query parameter."""
    takes_json = list(operation.get("requestBody", {}).get("content", {})) == ["application/json"]
    return validation_errors.read([query_strings.unknown(UNKNOWN_PARAMETER, {}, with_body=takes_json)])


def path_of(path: str, operation: dict[str, Any]) -> str:
    """The path with the last example of its parameter, which is that of an unknown id."""
    filled = path
    for parameter in operation.get("parameters", ()):
        for example in parameter.get("examples", {}).values() if parameter["in"] == "path" else ():
            filled = path.replace(f"{{{parameter['name']}}}", example["value"])
    return filled
