"""Sends the requests of commands to a service, or to the application in this process."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from app import __version__, errors
from app.cli import terminal
from app.fetching.types import is_remote, refuse_bad_proxies

Body = Mapping[str, Any]
Answer = dict[str, Any]
Progress = Callable[[Answer], object]
"""Called with the states of a job."""

API = "/api/rag"
TIMEOUT = httpx.Timeout(600.0, connect=5.0)
PAGE = 200
PATIENCE_S = 30.0
"""How long a request is sent again while the service has no room for it."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


class Backend:
    """What answers requests: a service, which runs its jobs and finishes its requests itself."""

    is_local = False

    @property
    def reads_pictures(self) -> bool:
        """Whether to send pictures. True for a service, which decides itself whether it reads the text in them."""
        return True

    def start_jobs(self) -> None:
        """Start to run the user's jobs. A service does so itself."""

    def finish_jobs(self) -> None:
        """Run the jobs that complete what the user has stored. A service does so itself."""

    def cancel_requests(self) -> None:
        """Cancel the requests that run in other threads. A service finishes them itself."""


class ServiceError(errors.StepwellError):
    """A request was refused or has failed. Status, code and message come from the response."""

    def __init__(self, status: int, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message, field=field)
        self.status = status
        self.code = code


def connect(url: str, api_key: str | None) -> Client:
    """A client of the service at an address. Raises BadRequest for an address or a key that cannot be one."""
    address = check_address(url)
    headers = {"User-Agent": f"stepwell/{__version__}", **authorization(api_key)}
    # Loading the certificates of authorities takes longer than a request, so they are loaded only for HTTPS.
    verified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if address.startswith("http://") else True
    with refuse_bad_proxies():
        http = httpx.Client(
            base_url=address + API, headers=headers, timeout=TIMEOUT, verify=verified, trust_env=is_remote(address)
        )
    return Client(http, Backend())


def authorization(api_key: str | None) -> dict[str, str]:
    """The header field with a key, if there is one. Raises BadRequest for what cannot be a key."""
    key = (api_key or "").strip()  # one that was read from a file may end with a line break
    if not key.isascii() or not key.isprintable():
        raise errors.BadRequest("A key has printable ASCII characters only.", field="--api-key")
    return {"Authorization": f"Bearer {key}"} if key else {}


def check_address(url: str) -> str:
    """The address without a slash at its end. Raises BadRequest if it is not an HTTP address."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or parts.query or parts.fragment:
        raise errors.BadRequest("Give the address of a service, such as http://127.0.0.1:8000.", field="--url")
    return url.strip().rstrip("/")


class Client:
    """Sends requests of one user. Methods return the JSON of the API.

    They raise ServiceError, Unavailable, and BadRequest for what cannot be sent.
    """

    def __init__(self, http: httpx.Client, backend: Backend) -> None:
        self._http = http
        self.backend = backend

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def get(self, path: str, **parameters: Any) -> Answer:
        """Reads; parameters that are None are left out, and objects are sent as JSON."""
        given = {name: value for name, value in parameters.items() if value is not None}
        encoded = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in given.items()}
        return self.send("GET", path, params=encoded)

    def post(self, path: str, body: Body | None = None) -> Answer:
        """Sends an object."""
        return self.send("POST", path, json=body)

    def delete(self, path: str) -> Answer:
        """Deletes what a path names."""
        return self.send("DELETE", path)

    def list(self, path: str, name: str, *, limit: int, **parameters: Any) -> list[Answer]:
        """Up to `limit` items of a listing, read page by page. Standard error says if there are more."""
        items: list[Answer] = []
        cursor: str | None = None
        while True:
            page = self.get(path, **parameters, limit=min(PAGE, limit - len(items)), cursor=cursor)
            items += page[name]
            cursor = page["next_cursor"]
            if cursor is None:
                return items
            if len(items) >= limit:
                terminal.err.print(f"[yellow]Warning:[/] the list ends after {limit:,}; more exist.")
                return items

    def wait_for_job(self, job_id: str, progress: Progress) -> Answer:
        """Waits for a job and returns it: done, failed or cancelled, or queued again after a failed attempt."""
        self.backend.start_jobs()
        pause_s = FIRST_PAUSE_S
        while True:
            job = self.get(f"/jobs/{job_id}")
            progress(job)
            is_postponed = job["status"] == "queued" and job["error"]
            if is_postponed or job["status"] not in ("queued", "running"):
                return job
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def send(self, method: str, path: str, *, patience_s: float = PATIENCE_S, **request: Any) -> Answer:
        """The answer to a request, which is sent again for `patience_s` seconds while the service has no room."""
        response = self._send_repeatedly(method, path, patience_s, request)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.is_success and isinstance(answer, dict):
            return answer
        raise _error(response, answer if isinstance(answer, dict) else {})

    def _send_repeatedly(self, method: str, path: str, patience_s: float, request: Mapping[str, Any]) -> httpx.Response:
        began, pause_s = time.monotonic(), FIRST_PAUSE_S
        while True:
            response = self._send_once(method, path, request)
            asked = response.headers.get("Retry-After", "")
            if response.status_code not in (429, 503) or not asked.isdigit():
                return response
            wait_s = max(pause_s, float(asked))
            if time.monotonic() - began + wait_s > patience_s:
                return response
            time.sleep(wait_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _send_once(self, method: str, path: str, request: Mapping[str, Any]) -> httpx.Response:
        try:
            return self._http.request(method, path, **request)
        except httpx.HTTPError as error:
            place = str(self._http.base_url.copy_with(path="/")).rstrip("/")
            what = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
            message = f"The service at {place} {what}: is it running?"
            raise errors.Unavailable(message) from error
        except httpx.InvalidURL as error:
            raise errors.BadRequest("It is too long for the address of a request: shorten the filters.") from error
        except ValueError as error:  # infinite numbers, and bytes of an argument that are not UTF-8
            raise errors.BadRequest("A text or number in it cannot be sent: use UTF-8.") from error


def _error(response: httpx.Response, problem: Body) -> ServiceError:
    """The error of a response, also if a proxy has sent it."""
    if "code" not in problem:
        message = f"The answer with status {response.status_code} is not one of Stepwell: is the address right?"
        return ServiceError(502 if response.is_success else response.status_code, "http_error", message)
    wrong = (problem.get("errors") or [{}])[0]
    message = str(wrong.get("message") or problem.get("detail") or response.reason_phrase)
    return ServiceError(response.status_code, str(problem["code"]), message, field=wrong.get("field"))
