"""Defines the exception hierarchy with the HTTP status and code of each error.

StepwellError                      500  internal_error
├── BadRequest                     422  invalid_request
│   ├── BlankQuery                 400  blank_query
│   ├── InvalidVector              422  invalid_vector
│   ├── InvalidCursor              422  invalid_cursor
│   ├── DuplicateUri               422  duplicate_uri
│   ├── BlockedUrl                 422  blocked_url            (an address that is not one of the public web)
│   ├── FetchFailed                422  fetch_failed           (the site has no such page, or one that cannot be read)
│   └── UnreadableFile             422  (the code is an UnreadableReason)
├── MalformedRequest               400  malformed_request
├── UpgradeRefused                 400  upgrade_refused
├── RequestTimeout                 408  request_timeout
├── HeadersTooLarge                431  headers_too_large
├── Unauthorized                   401  unauthorized
├── Forbidden                      403  forbidden
│   ├── FolderNotAllowed           403  folder_not_allowed
│   ├── FetchNotAllowed            403  fetch_not_allowed
│   └── OutsideOfKey               403  outside_of_key
├── NotFound                       404  not_found
├── HostNotAllowed                 421  host_not_allowed
├── OriginNotAllowed               403  origin_not_allowed
├── Conflict                       409  conflict
│   ├── StaleCursor                409  stale_cursor
│   ├── StillRunning               409  conflict               (carries Retry-After)
│   └── SourceUnavailable          409  source_unavailable     (the folder of a source is missing or was replaced)
├── TooLarge                       413  too_large
├── RateLimited                    429  rate_limited           (carries Retry-After)
├── Unavailable                    503  unavailable            (carries Retry-After)
│   ├── DatabaseUnavailable        503  database_unavailable
│   │   └── ConnectionLost         503  database_unavailable   (a read is retried once)
│   ├── ReadOnly                   503  read_only              (the database is a standby, or refuses writes)
│   ├── Busy                       503  busy                   (another write holds a required lock)
│   ├── Overloaded                 503  overloaded
│   ├── TooManyConnections         503  too_many_connections
│   └── ModelReplaced              503  model_replaced         (the vectors are computed again)
├── SiteUnavailable                502  site_unavailable       (the site of a page failed)
├── DeadlineExceeded               504  search_timeout
├── ProviderError                  502  provider_failed        (a search degrades, an ingest reports it)
│   └── BadEmbedding               502  bad_embedding
├── LocalTokenError                500  local_token_unusable   (the service refuses to start)
├── DiskFull                       507  disk_full              (searches continue)
├── BackupFailed                   500  backup_failed
├── SchemaMismatch                 500  schema_mismatch        (the service refuses to start)
│   └── RevisionMismatch           500  schema_mismatch        (responses name both revisions)
└── EmbeddedServerError            500  embedded_server_failed (the service refuses to start)

A message names the field and the fix and never contains input of the caller.
"""

from __future__ import annotations

from typing import Literal

ProviderFault = Literal["address", "tls", "time", "key", "model", "limit", "request", "server", "answer", "vectors"]
"""What was wrong with a call to a provider: its address, certificate, response time, API key, model name, rate limit,
the request, its server, the form of its answer, or the number or content of the vectors in it."""

UnreadableReason = Literal["unsupported_format", "encrypted", "damaged", "no_text", "unknown_text_field", "parse_limit"]
"""Why a file cannot be read: its format, a password, invalid content, no text in it, no field of
the requested name, or the limits of parsing."""


class StepwellError(Exception):
    """Base of all errors; by itself an internal error that the caller could not prevent."""

    status = 500
    code = "internal_error"
    retry_after_s: int | None = None

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class BadRequest(StepwellError):
    """A value in the request cannot be used; `field` names it."""

    status = 422
    code = "invalid_request"


class BlankQuery(BadRequest):
    """The query contains no visible character."""

    status = 400
    code = "blank_query"

    def __init__(self) -> None:
        super().__init__("The query is blank: send at least one visible character.", field="query")


class BlankContent(BadRequest):
    """A document has neither visible text nor a title."""

    code = "blank_content"

    def __init__(self) -> None:
        super().__init__("Must contain visible text, unless the document has a title.", field="content")


class InvalidVector(BadRequest):
    """A vector has the wrong dimension, is not finite, or is all zeros."""

    code = "invalid_vector"


class InvalidCursor(BadRequest):
    """A cursor is malformed, or was made for another request."""

    code = "invalid_cursor"

    def __init__(self) -> None:
        super().__init__("Use the next_cursor of the page before, and leave all else unchanged.", field="cursor")


class DuplicateUri(BadRequest):
    """Two files of one form have the same name."""

    code = "duplicate_uri"


class BlockedUrl(BadRequest):
    """An address is not fetched: it is no http or https address, or leads to a network that is not public."""

    code = "blocked_url"

    def __init__(self, message: str) -> None:
        super().__init__(message, field="url")


class FetchFailed(BadRequest):
    """A site has no page at an address, or one that exceeds the limits; trying again does not help."""

    code = "fetch_failed"

    def __init__(self, message: str) -> None:
        super().__init__(message, field="url")


class UnreadableFile(BadRequest):
    """A file cannot be read; the code is the reason."""

    def __init__(self, reason: UnreadableReason, message: str) -> None:
        super().__init__(message)
        self.code = reason


class MalformedRequest(StepwellError):
    """The bytes on the connection are not HTTP/1.1."""

    status = 400
    code = "malformed_request"


class UpgradeRefused(StepwellError):
    """The client requested a protocol that the service does not support."""

    status = 400
    code = "upgrade_refused"


class RequestTimeout(StepwellError):
    """The request did not arrive in time."""

    status = 408
    code = "request_timeout"


class HeadersTooLarge(StepwellError):
    """The request line and headers exceed the limits on size or number."""

    status = 431
    code = "headers_too_large"


class Unauthorized(StepwellError):
    """The request has no valid API key."""

    status = 401
    code = "unauthorized"


class Forbidden(StepwellError):
    """The key is valid but its scopes do not allow the operation."""

    status = 403
    code = "forbidden"


class FolderNotAllowed(Forbidden):
    """Sources may not be added from this folder."""

    code = "folder_not_allowed"


class FetchNotAllowed(Forbidden):
    """Pages may not be fetched from this host over HTTP."""

    code = "fetch_not_allowed"

    def __init__(self) -> None:
        message = "Pages of this host are not fetched, or it redirects to such a host: add it to STEPWELL_FETCH_HOSTS."
        super().__init__(message, field="url")


class OutsideOfKey(Forbidden):
    """A write with a key that has filters concerns what does not pass them."""

    code = "outside_of_key"


class NotFound(StepwellError):
    """The user has no such object."""

    status = 404
    code = "not_found"


class HostNotAllowed(StepwellError):
    """The Host header is not an allowed host."""

    status = 421
    code = "host_not_allowed"

    def __init__(self) -> None:
        super().__init__("The Host header names no allowed host: add its name to STEPWELL_ALLOWED_HOSTS.")


class OriginNotAllowed(StepwellError):
    """A browser made the request for a page of another origin."""

    status = 403
    code = "origin_not_allowed"

    def __init__(self) -> None:
        super().__init__("A page of another origin made this request: add the origin to STEPWELL_ALLOWED_ORIGINS.")


class Conflict(StepwellError):
    """The request conflicts with an existing object."""

    status = 409
    code = "conflict"


class StillRunning(Conflict):
    """An earlier request with the same idempotency key is being processed."""

    retry_after_s = 1


class SourceUnavailable(Conflict):
    """The folder of a source is missing, cannot be read, or has been replaced by a symbolic link."""

    code = "source_unavailable"


class StaleCursor(Conflict):
    """The results before a page are no longer those with which its cursor was made."""

    code = "stale_cursor"

    def __init__(self) -> None:
        message = "The documents or the order of the results have changed: search again without a cursor."
        super().__init__(message, field="cursor")


class RateLimited(StepwellError):
    """The user or the key sent more requests than its limit allows. `retry_after_s` is in whole seconds."""

    status = 429
    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooLarge(StepwellError):
    """The request is larger than the service accepts."""

    status = 413
    code = "too_large"


class Unavailable(StepwellError):
    """The service is temporarily unavailable."""

    status = 503
    code = "unavailable"
    retry_after_s = 1


class DatabaseUnavailable(Unavailable):
    """Postgres is down, restarting, or out of connections."""

    code = "database_unavailable"


class ConnectionLost(DatabaseUnavailable):
    """The connection was lost or could not be opened."""


class ReadOnly(Unavailable):
    """The database accepts no writes: it is a standby, or `default_transaction_read_only` is on."""

    code = "read_only"


class Busy(Unavailable):
    """Another write holds a lock or turn that this one needs."""

    code = "busy"


class ModelReplaced(Unavailable):
    """The stored vectors are those of another model than the one that computed a vector; `reembed` has replaced it."""

    code = "model_replaced"

    def __init__(self) -> None:
        super().__init__("The embedding model was replaced just now; try again.")


class Overloaded(Unavailable):
    """Too many requests are running or waiting; this one was not admitted. `retry_after_s` is in whole seconds."""

    code = "overloaded"

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooManyConnections(Unavailable):
    """More connections are open, or more requests wait on one, than the service accepts."""

    code = "too_many_connections"


class DeadlineExceeded(StepwellError):
    """The operation exceeded its time budget."""

    status = 504
    code = "search_timeout"


class ProviderError(StepwellError):
    """An embedder, language model or reranker failed or returned an invalid response. `fault` is what was wrong."""

    status = 502
    code = "provider_failed"

    def __init__(self, message: str, *, fault: ProviderFault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class SiteUnavailable(StepwellError):
    """The site of a page cannot be reached, is slow, or failed; trying again may help."""

    status = 502
    code = "site_unavailable"

    def __init__(self, message: str) -> None:
        super().__init__(message, field="url")


class BadEmbedding(ProviderError):
    """An embedder returned the wrong number, size or kind of vectors."""

    code = "bad_embedding"


class LocalTokenError(StepwellError):
    """The data folder's token is missing, unreadable or readable by others."""

    code = "local_token_unusable"


class DiskFull(StepwellError):
    """The disk of the database, or the one for temporary files, is full."""

    status = 507
    code = "disk_full"


class BackupFailed(StepwellError):
    """A backup could not be written or restored."""

    code = "backup_failed"


class SchemaMismatch(StepwellError):
    """The schema of the database is not the one of this version."""

    code = "schema_mismatch"


class RevisionMismatch(SchemaMismatch):
    """The database is at another revision than this version. The message may be shown to callers without a key."""


class EmbeddedServerError(StepwellError):
    """The embedded Postgres could not be started."""

    code = "embedded_server_failed"
