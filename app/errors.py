"""Defines the exceptions, and the HTTP status of each code that a problem may have.

StepwellError                the caller could not prevent it
├── BadRequest               a value in the request cannot be used; `field` names it
│   └── UnreadableFile       a file cannot be read; the code is the reason
├── RequestRefused           the request is refused before its content is read
├── Unauthorized             no valid API key
├── Forbidden                the key or the configuration does not allow it
│   └── OutsideOfKey         a write with a restricted key concerns what the key hides
├── NotFound
├── Conflict
├── Unavailable              carries Retry-After
│   ├── DatabaseUnavailable
│   │   └── Unreachable      the pool logs an outage once
│   │       └── ConnectionLost   a read is retried once
│   ├── ReadOnly             the database is a standby, or refuses writes
│   ├── Busy                 another write holds a required lock
│   ├── Overloaded
│   └── ModelReplaced        the vectors are computed again
├── DeadlineExceeded
├── ProviderError            a search degrades, an ingest reports it
│   └── BadEmbedding
├── DiskFull                 searches continue
├── BackupFailed
├── SchemaMismatch           the service refuses to start
└── EmbeddedServerError      the service refuses to start

A class exists where somebody catches it; other differences are in the code. A message names the field and the fix and
never contains input of the caller.
"""

from __future__ import annotations

from typing import Literal

_CODES = {
    400: "blank_query malformed_request upgrade_refused",
    401: "unauthorized",
    403: "forbidden folder_not_allowed fetch_not_allowed origin_not_allowed outside_of_key",
    404: "not_found",
    408: "request_timeout",
    409: "conflict stale_cursor source_unavailable",
    413: "too_large",
    421: "host_not_allowed",
    422: (
        "invalid_request blank_content invalid_vector invalid_cursor duplicate_uri blocked_url fetch_failed "
        "unsupported_format encrypted damaged no_text unknown_text_field parse_limit"
    ),
    429: "rate_limited",
    431: "headers_too_large",
    500: "internal_error local_token_unusable backup_failed embedded_server_failed",
    502: "provider_failed bad_embedding site_unavailable",
    503: (
        "unavailable database_unavailable read_only busy overloaded too_many_connections model_replaced schema_mismatch"
    ),
    504: "search_timeout",
    507: "disk_full",
}
STATUSES = {code: status for status, codes in _CODES.items() for code in codes.split()}
"""The status of each code."""
BLANK_QUERY = "The query is blank: send at least one visible character."
BLANK_CONTENT = "Must contain visible text, unless the document has a title."
INVALID_CURSOR = "Use the next_cursor of the page before, and leave all else unchanged."
STALE_CURSOR = "The documents or the order of the results have changed: search again without a cursor."
FETCH_NOT_ALLOWED = (
    "Pages of this host are not fetched, or it redirects to such a host: add it to STEPWELL_FETCH_HOSTS."
)
HOST_NOT_ALLOWED = "The Host header names no allowed host: add its name to STEPWELL_ALLOWED_HOSTS."
ORIGIN_NOT_ALLOWED = "A page of another origin made this request: add the origin to STEPWELL_ALLOWED_ORIGINS."

ProviderFault = Literal["address", "tls", "time", "key", "model", "limit", "request", "server", "answer", "vectors"]
"""What was wrong with a call to a provider: its address, certificate, response time, API key, model name, rate limit,
the request, its server, the form of its answer, or the number or content of the vectors in it."""

UnreadableReason = Literal["unsupported_format", "encrypted", "damaged", "no_text", "unknown_text_field", "parse_limit"]
"""Why a file cannot be read: its format, a password, invalid content, no text in it, no field of
the requested name, or the limits of parsing."""


class StepwellError(Exception):
    """Base of all errors; by itself an internal error.

    `field` names the value of the request that is wrong, and `retry_after_s` is in whole seconds.
    """

    code = "internal_error"
    status = STATUSES[code]
    retry_after_s: int | None = None

    def __init_subclass__(cls) -> None:
        cls.status = STATUSES.get(cls.code, cls.status)

    def __init__(
        self, message: str, *, field: str | None = None, code: str | None = None, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        if code is not None:
            self.code, self.status = code, STATUSES[code]
        if retry_after_s is not None:
            self.retry_after_s = retry_after_s


class BadRequest(StepwellError):
    """A value in the request cannot be used; `field` names it."""

    code = "invalid_request"


class UnreadableFile(BadRequest):
    """A file cannot be read; the code is the reason."""

    def __init__(self, reason: UnreadableReason, message: str) -> None:
        super().__init__(message, code=reason)


class RequestRefused(StepwellError):
    """A request is refused before its content is read: by its form, size, time, host or rate."""

    code = "malformed_request"


class Unauthorized(StepwellError):
    """The request has no valid API key."""

    code = "unauthorized"


class Forbidden(StepwellError):
    """The scopes of the key or the configuration do not allow the operation."""

    code = "forbidden"


class OutsideOfKey(Forbidden):
    """A write concerns a document that does not pass the filters of the key."""

    code = "outside_of_key"


class NotFound(StepwellError):
    """The user has no such object."""

    code = "not_found"


class Conflict(StepwellError):
    """The request conflicts with an existing object or with what has changed."""

    code = "conflict"


class Unavailable(StepwellError):
    """The service is temporarily unavailable."""

    code = "unavailable"
    retry_after_s = 1


class DatabaseUnavailable(Unavailable):
    """Postgres is down, restarting, or out of connections."""

    code = "database_unavailable"


class Unreachable(DatabaseUnavailable):
    """Postgres does not answer. The pool logs when that begins and when it ends."""


class ConnectionLost(Unreachable):
    """The connection was lost or could not be opened."""


class ReadOnly(Unavailable):
    """The database accepts no writes: it is a standby, or `default_transaction_read_only` is on."""

    code = "read_only"


class Busy(Unavailable):
    """Another write holds a lock or turn that this one needs."""

    code = "busy"


class Overloaded(Unavailable):
    """Too many requests are running or waiting; this one was not admitted."""

    code = "overloaded"


class ModelReplaced(Unavailable):
    """`reembed` has just replaced the model: a vector was computed with another model than the stored vectors."""

    code = "model_replaced"

    def __init__(self) -> None:
        super().__init__("The embedding model was replaced just now; try again.")


class DeadlineExceeded(StepwellError):
    """The operation exceeded its time budget."""

    code = "search_timeout"


class ProviderError(StepwellError):
    """An embedder, language model, reranker or site failed or sent an invalid response. `fault` is what was wrong."""

    code = "provider_failed"

    def __init__(
        self, message: str, *, fault: ProviderFault | None = None, field: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, field=field, code=code)
        self.fault = fault


def fault_of(error: Exception) -> str:
    """What was wrong in a call to a provider. Its message, which is not logged, may have text of the user."""
    fault = error.fault if isinstance(error, ProviderError) else None
    return fault or type(error).__name__


class BadEmbedding(ProviderError):
    """An embedder returned the wrong number, size or kind of vectors."""

    code = "bad_embedding"


class DiskFull(StepwellError):
    """The disk of the database, or the one for temporary files, is full."""

    code = "disk_full"


class BackupFailed(StepwellError):
    """A backup could not be written or restored."""

    code = "backup_failed"


class SchemaMismatch(StepwellError):
    """The schema of the database is not the one of this version; `is_shown`: callers without a key may read why."""

    code = "schema_mismatch"

    def __init__(self, message: str, *, is_shown: bool = False) -> None:
        super().__init__(message)
        self.is_shown = is_shown


class EmbeddedServerError(StepwellError):
    """The embedded Postgres could not be started."""

    code = "embedded_server_failed"
