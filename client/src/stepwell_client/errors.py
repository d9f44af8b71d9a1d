"""Defines the errors of the client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from stepwell_client.models import DocumentResults


class StepwellError(Exception):
    """Base of all errors of this package. `results` is what `add_many` had done when it failed, else None."""

    results: DocumentResults | None = None


class JobTimeout(StepwellError, TimeoutError):
    """A job had not ended in time; it goes on."""


class ConnectionFailed(StepwellError):
    """The service could not be reached, or the connection broke."""


@dataclass(eq=False)
class ApiError(StepwellError):
    """The service refused or failed a request.

    `code` is stable, such as `invalid_request` or `overloaded`; `detail` names the field and the fix; `errors` lists
    the wrong fields; `request_id` finds the request in the service's log.
    """

    status: int
    code: str
    detail: str
    errors: list[dict[str, Any]]
    request_id: str | None = None

    def __post_init__(self) -> None:
        # From these, copies are made: of an error that comes from another process, too.
        super().__init__(self.status, self.code, self.detail, self.errors, self.request_id)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.detail}"

    @classmethod
    def of(cls, response: httpx.Response) -> ApiError:
        """The error of a response, also if a proxy sent it and it is no problem+json."""
        try:
            problem = response.json()
        except ValueError:
            problem = None
        if not isinstance(problem, dict):
            problem = {}
        return cls(
            status=response.status_code,
            code=str(problem.get("code", "http_error")),
            detail=str(problem.get("detail") or response.reason_phrase or f"HTTP status {response.status_code}"),
            errors=[one for one in problem.get("errors") or () if isinstance(one, dict)],
            request_id=problem.get("request_id") or response.headers.get("x-request-id"),
        )
