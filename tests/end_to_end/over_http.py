"""What the cases of a service over HTTP share: its addresses, how they ask, and how they wait."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import httpx

API = "/api/rag"
NOBODY = "00000000-0000-4000-8000-000000000000"
PATIENCE_S = 180.0
SAMPLES = "sample/"
"""The sample notes have URIs with this beginning."""

Json = dict[str, Any]


class Caller:
    """A client of one service; it asserts the status of each answer."""

    def __init__(self, address: str, key: str | None = None) -> None:
        headers = {"X-API-Key": key} if key else {}
        self.http = httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S)

    def call(self, method: str, path: str, status: int = 200, **request: Any) -> httpx.Response:
        """The response, whose status must be `status`."""
        response = self.http.request(method, path, **request)
        assert response.status_code == status, (method, path, response.status_code, response.text[:500])
        return response

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON that a path below the API answers."""
        return self.call("GET", API + path, params=parameters).json()

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        """The JSON that a path below the API answers to a JSON body."""
        return self.call("POST", API + path, status, json=body).json()

    def is_gone(self, path: str) -> bool:
        """Whether a path below the API leads nowhere."""
        return refusal(self.call("GET", API + path, 404), "not_found") is not None

    def search(self, query: str, path: str = "/search", **fields: Any) -> Json:
        """The answer of a search."""
        answer: Json = self.post(path, {"query": query, **fields})
        return answer

    def add(self, content: str, uri: str, **fields: Any) -> Json:
        """Stores a new document."""
        stored: Json = self.post("/documents", {"content": content, "uri": uri, **fields}, 201)
        return stored

    def job_after(self, job_id: str) -> Json:
        """The job, once it has ended: so long its events are read."""
        with self.http.stream("GET", f"{API}/jobs/{job_id}/events") as events:
            lines = [line for line in events.iter_lines() if line.startswith("data: ")]
        job: Json = json.loads(lines[-1].removeprefix("data: "))
        assert job["finished_at"], job
        return job

    def finish_jobs(self) -> None:
        """Waits until no job of the user is left."""
        deadline = time.monotonic() + PATIENCE_S
        while any(self.get("/jobs", status=state)["jobs"] for state in ("running", "queued")):
            assert time.monotonic() < deadline, self.get("/jobs")


def uris(answer: Json) -> list[str]:
    """The URIs of the hits, in order."""
    return [hit["uri"] for hit in answer["results"]]


def ids(answer: Json) -> list[str]:
    """The ids of the passages, in order."""
    return [hit["chunk_id"] for hit in answer["results"]]


def sample(*paths: str) -> list[str]:
    """The URIs of sample notes."""
    return [SAMPLES + path for path in paths]


def falling(values: Iterable[float]) -> bool:
    """Whether no value is larger than the one before."""
    values = list(values)
    return values == sorted(values, reverse=True)


def refusal(response: httpx.Response, code: str, field: str | None = None) -> Json:
    """The problem of a refused request, which must have this code and name this field."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    problem: Json = response.json()
    assert problem["code"] == code, problem
    assert problem["status"] == response.status_code
    assert problem["type"].endswith(code)
    assert problem["detail"]
    assert problem["request_id"] == response.headers["x-request-id"]
    assert field is None or field in [error["field"] for error in problem["errors"]], problem
    return problem
