"""Builds the HTTP requests of operations and reads their responses."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from stepwell_client import encoding
from stepwell_client.errors import ApiError, ConnectionFailed
from stepwell_client.models import Job
from stepwell_client.operations import Operation
from stepwell_client.version import __version__

T = TypeVar("T")
AnyClient = httpx.Client | httpx.AsyncClient
DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_S = 60.0
VERSION_HEADER = "X-Stepwell-Version"
USER_AGENT = f"stepwell-client/{__version__}"
_THIS_MACHINE = re.compile(r"https?://(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])(?:[:/]|$)", re.I)


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go, with which headers, and how long each may take.

    With `relative` they go to the base URL of the HTTP client that the caller has passed.
    """

    url: str
    headers: dict[str, str]
    timeout_s: float | None
    relative: bool = False

    @classmethod
    def of(cls, url: str | None, api_key: str | None, timeout_s: float | None, http: AnyClient | None) -> Self:
        """The target of a client; STEPWELL_URL and STEPWELL_API_KEY stand in for what is not given.

        A client `http` of the caller keeps its own base URL, headers and timeout where nothing else is given. A key
        that was read from a file may end with a line break, which an error would show together with the key.
        """
        key = (api_key or (os.getenv("STEPWELL_API_KEY") if http is None else None) or "").strip()
        headers = {"User-Agent": USER_AGENT, **({"Authorization": f"Bearer {key}"} if key else {})}
        if http is None:
            address = (url or os.getenv("STEPWELL_URL") or DEFAULT_URL).strip()
            return cls(address, headers, TIMEOUT_S if timeout_s is None else timeout_s)
        return cls(url or str(http.base_url), headers, timeout_s, relative=url is None)

    @property
    def is_remote(self) -> bool:
        """Whether the service runs on another machine, so that requests take the proxy of the environment."""
        return _THIS_MACHINE.match(self.url) is None

    def address(self, path: str) -> str:
        """The address of a path of the service."""
        return path if self.relative else self.url.rstrip("/") + path


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


def request(operation: Operation[Any], seen: SeenVersion, target: Target) -> dict[str, Any]:
    """The arguments of a request."""
    content = operation.content if operation.body is None else encoding.encoded(operation.body)
    return {
        "headers": {
            **target.headers,
            **seen.headers(),
            **({} if content is None else {"Content-Type": operation.content_type}),
        },
        "method": operation.method,
        "url": target.address(operation.path),
        **({} if target.timeout_s is None else {"timeout": target.timeout_s}),
        "content": content,
        "params": None if operation.parameters is None else _query(operation.parameters),
        **({"files": operation.files, "data": operation.form} if operation.files else {}),
    }


def result(operation: Operation[T], response: httpx.Response) -> T:
    """The result of an operation. Raises ApiError."""
    if not response.is_success:
        raise refusal(response)
    try:
        found: T = _adapter(operation.response).validate_json(response.content)
    except ValidationError as error:
        raise refusal(response) from error
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _query(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, with objects as JSON."""
    return {
        name: encoding.encoded(value).decode() if isinstance(value, Mapping) else value
        for name, value in parameters.items()
    }


def is_stream(response: httpx.Response) -> bool:
    """Whether a response has server-sent events."""
    return response.is_success and response.headers.get("content-type", "").startswith("text/event-stream")


def refusal(response: httpx.Response) -> ApiError:
    """The error for a response that is not the result of an operation, also if a proxy sent a page of its own."""
    if not response.is_success:
        return ApiError.of(response)
    detail = "The answer is not the service's: a proxy may have sent it, or the versions differ."
    return ApiError(response.status_code, "unexpected_response", detail, [])


def failed(target: Target, error: httpx.HTTPError) -> ConnectionFailed:
    """The error for a request without a response."""
    reason = ": ".join(filter(None, (type(error).__name__, str(error).rstrip("."))))
    within = f" within {target.timeout_s:g} s" if isinstance(error, httpx.ReadTimeout) and target.timeout_s else ""
    return ConnectionFailed(f"{target.url} did not answer{within}: {reason}.")


def job_of(line: str) -> Job | None:
    """The state of a job in a line of its server-sent events; None for the other lines."""
    name, _, value = line.partition(":")
    return Job.model_validate_json(value) if name == "data" else None
