"""Has an example of each problem for the OpenAPI document, as the service renders it."""

from __future__ import annotations

from app import errors
from app.http.bodies.bodies import UnsupportedMediaType
from app.http.contract import query_strings
from app.requests import validation_errors
from app.requests.validation_errors import FieldError

REQUEST_ID = "3f2b8c1de0a94d6f"
PATH = "/api/rag/search"
UNKNOWN_PARAMETER = "verbose"
"""The query parameter of the request in the example of 422."""
UNKNOWN_SOURCE = "0d6c3a94-7a0e-4c3f-9d5b-6f1f0c8a2e71"
"""The id of a source that does not exist."""
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
    415: UnsupportedMediaType("Send the body as JSON, with the header Content-Type: application/json."),
    421: errors.RequestRefused(errors.HOST_NOT_ALLOWED, code="host_not_allowed"),
    429: errors.RequestRefused("The limit of requests per minute is reached.", retry_after_s=12, code="rate_limited"),
    431: errors.RequestRefused("Send at most 100 headers.", code="headers_too_large"),
    500: errors.StepwellError(""),
    502: errors.ProviderError("The embedding model did not respond."),
    503: errors.DatabaseUnavailable("The database does not respond; try again shortly."),
    504: errors.DeadlineExceeded("The search did not finish within its time limit."),
    507: errors.DiskFull("The database's disk is full: nothing was stored. Make room on it, then try again."),
}


def wrong_fields() -> list[FieldError]:
    """The field errors of the example of 422: an unknown query parameter."""
    return validation_errors.read([query_strings.unknown(UNKNOWN_PARAMETER, {}, with_body=True)])
