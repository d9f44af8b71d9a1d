"""Builds the HTTP requests of operations and reads their responses."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import httpx

from stepwell_client.errors import ApiError, ConnectionFailed
from stepwell_client.models import Job
from stepwell_client.operations import Operation

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_S = 60.0
VERSION_HEADER = "X-Stepwell-Version"


def settings(url: str | None, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    """The arguments of an HTTP client: STEPWELL_URL and STEPWELL_API_KEY stand in for what is not given."""
    key = api_key or os.getenv("STEPWELL_API_KEY")
    return {
        "base_url": url or os.getenv("STEPWELL_URL") or DEFAULT_URL,
        "headers": {"Authorization": f"Bearer {key}"} if key else {},
        "timeout": timeout_s,
    }


class SeenVersion:
    """The newest version of the user's data that a response has named.

    It is sent with each request, so that a service with a standby does not answer from an older state.
    """

    def __init__(self) -> None:
        self._newest = 0

    def headers(self) -> dict[str, str]:
        """The header of the next request."""
        return {VERSION_HEADER: str(self._newest)} if self._newest else {}

    def note(self, response: httpx.Response) -> httpx.Response:
        """Record the version in a response, and return the response."""
        named = response.headers.get(VERSION_HEADER, "")
        if named.isascii() and named.isdigit():
            self._newest = max(self._newest, int(named))
        return response


def request(operation: Operation[Any], seen: SeenVersion) -> dict[str, Any]:
    """The arguments of a request."""
    return {
        "headers": seen.headers(),
        "method": operation.method,
        "url": operation.path,
        "params": operation.parameters,
        **({} if operation.body is None else {"json": operation.body}),
        **({"files": operation.files, "data": operation.form} if operation.files else {}),
    }


def result(operation: Operation[T], response: httpx.Response) -> T:
    """The result of an operation. Raises ApiError."""
    if response.is_error:
        raise ApiError.of(response)
    return operation.response.validate_json(response.content)


def failed(base_url: httpx.URL, error: httpx.HTTPError) -> ConnectionFailed:
    """The error for a request without a response."""
    return ConnectionFailed(f"{base_url} did not answer: {type(error).__name__}.")


def job_of(line: str) -> Job | None:
    """The state of a job in a line of its server-sent events; None for the other lines."""
    name, _, value = line.partition(":")
    return Job.model_validate_json(value) if name == "data" else None
