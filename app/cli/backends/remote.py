"""Carries out commands by a running service, over the REST API."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote
from uuid import UUID

import httpx

from app import __version__, errors
from app.cli import options
from app.cli.backends import addresses
from app.cli.backends.backend import Answer, Body, Progress

if TYPE_CHECKING:  # their modules take longer to import than most commands
    from app.cli.backends.ingesting import Files, Summary

API = "/api/rag"
TIMEOUT = httpx.Timeout(120.0, connect=5.0)
PAGE = 200
ATTEMPTS, LONGEST_WAIT_S = 5, 30.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


class ServiceError(errors.StepwellError):
    """The service has refused or failed a request; status, code and message are its own."""

    def __init__(self, status: int, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message, field=field)
        self.status = status
        self.code = code


class RemoteBackend:
    """Sends the operations of a command to the service at an address; a context manager.

    The key, or that the service needs none, decides whose documents are meant.
    """

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self._url = addresses.checked(url)
        headers = {"User-Agent": f"stepwell/{__version__}"}
        if api_key:
            if not api_key.isascii() or not api_key.isprintable():
                raise errors.BadRequest("A key has printable ASCII characters only.", field="--api-key")
            headers["Authorization"] = f"Bearer {api_key}"
        self._http = httpx.Client(headers=headers, timeout=TIMEOUT, verify=_verify(self._url))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    reads_pictures = True
    """Pictures in folders are sent: a service that does not read them says so, and they are left out."""

    def search(self, request: Body) -> Answer:
        return self._object("POST", "/search", json=request)

    def search_multihop(self, request: Body) -> Answer:
        return self._object("POST", "/search/multihop", json=request)

    def why(self, request: Body) -> Answer:
        return self._object("POST", "/search/why", json=request)

    def give_feedback(self, request: Body) -> Answer:
        return self._object("POST", "/feedback", json=request)

    def synonyms(self) -> Answer:
        return self._object("GET", "/synonyms")

    def set_synonyms(self, request: Body) -> Answer:
        return self._object("PUT", "/synonyms", json=request)

    def stats(self) -> Answer:
        return self._object("GET", "/stats")

    def facets(self, parameters: Body) -> Answer:
        return self._object("GET", "/facets", params=_filtered(parameters))

    def documents(self, parameters: Body, limit: int) -> list[Answer]:
        return self._listed("/documents", "documents", _filtered(parameters), limit)

    def document(self, id_or_uri: str) -> Answer:
        try:
            document_id = str(UUID(id_or_uri))
        except ValueError:
            document_id = self._document_id(id_or_uri)
        return self._object("GET", f"/documents/{document_id}")

    def _document_id(self, uri: str) -> str:
        """The document that a URI or a path means, also one that is relative to the working folder."""
        for named in (uri, options.absolute_path(uri)):
            if found := self._object("GET", "/documents", params={"uri": named, "limit": 1})["documents"]:
                return str(found[0]["document_id"])
        raise errors.NotFound("There is no document with this id or uri.")

    def delete_document(self, document_id: str) -> Answer:
        return self._object("DELETE", f"/documents/{document_id}")

    def delete_documents(self, request: Body) -> Answer:
        return self._object("POST", "/documents/delete", json=request)

    def ingest(self, files: Files, summary: Summary) -> None:
        from app.cli.backends import remote_ingest

        remote_ingest.run(files, summary, self)

    def seconds_per_chunk(self, texts: Sequence[str]) -> float | None:
        return None

    def upload(self, name: str, content: bytes, form: Mapping[str, str]) -> Answer:
        """The outcome of storing the documents of one file."""
        return self._object("POST", "/documents/upload", files={"files": (name, content)}, data=dict(form))

    def fetch(self, address: str, text_field: str | None) -> Answer:
        """The outcome of storing the page at an address."""
        given = {"url": address, "text_field": text_field}
        return self._object("POST", "/documents", json=_given(given))

    def jobs(self, limit: int) -> list[Answer]:
        return self._listed("/jobs", "jobs", {}, limit)

    def job(self, job_id: str) -> Answer:
        return self._object("GET", f"/jobs/{job_id}")

    def cancel_job(self, job_id: str) -> Answer:
        return self._object("POST", f"/jobs/{job_id}/cancel")

    def sources(self) -> list[Answer]:
        return self._listed("/sources", "sources", {}, 1_000)

    def source(self, key: str) -> Answer:
        return self._object("GET", f"/sources/{self._source_key(key)}")

    def path_of(self, path: Path) -> str:
        return str(path)

    def add_source(self, request: Body, progress: Progress) -> Answer:
        added = self._object("POST", "/sources", json=request)
        return {**added, "job": self.ended_job(added["job_id"], progress)}

    def sync_source(self, key: str, progress: Progress) -> Answer:
        queued = self._object("POST", f"/sources/{self._source_key(key)}/sync")
        return self.ended_job(queued["job_id"], progress)

    def delete_source(self, key: str) -> Answer:
        return self._object("DELETE", f"/sources/{self._source_key(key)}")

    def _source_key(self, key: str) -> str:
        """A name or id as a part of a path; of a folder, which is none, the id of its source."""
        if "/" not in key and key.strip("."):
            return quote(key, safe="")
        path = key.rstrip("/")
        for one in self.sources():
            if path in (one["path"], one["name"]):
                return str(one["source_id"])
        raise errors.NotFound(f"No such source: {key}.")

    def entities(self, parameters: Body, limit: int) -> list[Answer]:
        if parameters.get("q") is None:
            return self._listed("/entities", "entities", parameters, limit)
        given = {**_given(parameters), "limit": min(limit, PAGE)}
        return list(self._object("GET", "/entities", params=given)["entities"])

    def entity(self, entity_id: str) -> Answer:
        return self._object("GET", f"/entities/{entity_id}")

    def entity_documents(self, entity_id: str, limit: int) -> list[Answer]:
        return self._listed(f"/entities/{entity_id}/documents", "documents", {}, limit)

    def search_entities(self, request: Body) -> Answer:
        return self._object("POST", "/entities/search", json=request)

    def import_entities(self, lines: bytes) -> Answer:
        headers = {"Content-Type": "application/x-ndjson"}
        return self._object("POST", "/entities/bulk", content=lines, headers=headers)

    def ended_job(self, job_id: str, progress: Progress) -> Answer:
        """A job once it is done, failed or cancelled, or has failed and waits to be tried again."""
        pause_s = FIRST_PAUSE_S
        while True:
            job = self.job(job_id)
            progress(job)
            is_postponed = job["status"] == "queued" and job["error"]
            if is_postponed or job["status"] not in ("queued", "running"):
                return job
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _listed(self, path: str, name: str, parameters: Body, limit: int) -> list[Answer]:
        """Up to `limit` items of a listing, read page by page."""
        items: list[Answer] = []
        cursor: str | None = None
        while True:
            given = {**_given(parameters), "limit": min(PAGE, limit - len(items)), "cursor": cursor}
            page = self._object("GET", path, params=_given(given))
            items += page[name]
            cursor = page["next_cursor"]
            if cursor is None or len(items) >= limit:
                return items

    def _object(self, method: str, path: str, **request: Any) -> Answer:
        """The JSON object that the service answers with. Raises ServiceError, Unavailable."""
        response = self._sent(method, path, request)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.is_success and isinstance(answer, dict):
            return answer
        raise _error(response, answer if isinstance(answer, dict) else {})

    def _sent(self, method: str, path: str, request: Mapping[str, Any]) -> httpx.Response:
        """The response; a request that found no room is sent again."""
        for wait_s in _waits():
            try:
                response = self._http.request(method, self._url + API + path, **request)
            except httpx.HTTPError as error:
                reason = type(error).__name__
                message = f"The service at {self._url} did not answer ({reason}): is it running?"
                raise errors.Unavailable(message) from error
            except ValueError as error:  # infinite numbers, and bytes of an argument that are not UTF-8
                raise errors.BadRequest("A text or number in it cannot be sent: use UTF-8.") from error
            asked = response.headers.get("Retry-After", "")
            pause_s = max(wait_s, float(asked) if asked.isdigit() else 0.0)
            if response.status_code not in (429, 503) or not asked or not wait_s or pause_s > LONGEST_WAIT_S:
                break
            time.sleep(pause_s)
        return response


def _verify(url: str) -> ssl.SSLContext | bool:
    """The certificates of authorities, which take longer to load than a request, only where an address needs them."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.startswith("http://") else True


def _waits() -> Iterator[float]:
    """The seconds to wait after each attempt; 0 after the last."""
    yield from (0.25 * 2**attempt for attempt in range(ATTEMPTS - 1))
    yield 0.0


def _error(response: httpx.Response, problem: Mapping[str, Any]) -> ServiceError:
    """The error of a response, also if a proxy has sent it."""
    if "code" not in problem:
        message = f"The answer with status {response.status_code} is not one of Stepwell: is the address right?"
        return ServiceError(502 if response.is_success else response.status_code, "http_error", message)
    wrong = (problem.get("errors") or [{}])[0]
    message = str(wrong.get("message") or problem.get("detail") or response.reason_phrase)
    return ServiceError(response.status_code, str(problem["code"]), message, field=wrong.get("field"))


def _given(parameters: Body) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _filtered(parameters: Body) -> dict[str, Any]:
    """Parameters with their filters as JSON."""
    given = _given(parameters)
    return {**given, "filters": json.dumps(given["filters"])} if "filters" in given else given
