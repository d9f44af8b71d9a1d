"""Draws requests from the OpenAPI document, sends them to a service in a process of its own and judges the answers."""

import copy
import json
from collections import Counter
from typing import Any

import fuzz_service
import openapi_operations
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi import checks

NOT_HTTP = (400, b"Invalid HTTP request received.")
"""The response that the server itself returns for a header such as an empty Content-Length."""
NOTES = [
    {"content": f"# Note {n}\n\nLime mortar, never cement; ERR_TIDE_{n}.", "uri": f"note-{n}", "metadata": {"n": n}}
    for n in range(5)
]
API = schemathesis.openapi.from_dict(copy.deepcopy(openapi_operations.DOCUMENT))
OPERATIONS = {found.ok().definition.raw["operationId"]: found.ok() for found in API.get_all_operations()}
load_all_checks()


@schemathesis.serializer("application/x-ndjson")
def _lines(_context: Any, value: Any) -> bytes:
    """Drawn text as it is; what is no text, as the JSON of a line."""
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace")


CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


class Door:
    """The service on a socket, in a process of its own, and what is behind it."""

    def __init__(self, dsn: str) -> None:
        self.session = requests.Session()
        self.tally: Counter[int] = Counter()
        self.known: dict[str, list[str]] = {}
        self._service = fuzz_service.Process(dsn)
        self.address, key = self._service.address, self._service.key
        # Else a drawn header would take this one's place, and every answer be 401.
        self.session.headers.update({"Authorization": f"Bearer {key}", "X-API-Key": key})

    def begin(self) -> None:
        """Store a few notes, so that some of what is asked for is there."""
        stored = self.session.post(f"{self.address}/api/rag/documents", json=NOTES).json()["documents"]
        found = self.session.post(f"{self.address}/api/rag/search", json={"query": "lime", "limit": 5}).json()
        self.known = {
            "document_id": [document["document_id"] for document in stored],
            "chunk_id": [hit["chunk_id"] for hit in found["results"]],
            "entity_id": [self._entity(n) for n in range(3)],
        }

    def _entity(self, n: int) -> str:
        given = {"type": "person", "name": f"Ana {n}", "aliases": ["lime"]}
        return str(self.session.post(f"{self.address}/api/rag/entities", json=given).json()["entity_id"])

    def stop(self) -> dict[str, Any]:
        """End the service; returns the costliest turn of its event loop."""
        with self.session:
            return self._service.stop()

    def check(self, case: Case) -> None:
        """Send one request and judge the answer."""
        response = case.call(self.address, session=self.session, headers=dict(self.session.headers))
        self.tally[response.status_code] += 1
        if (response.status_code, response.content) == NOT_HTTP:
            return
        case.validate_response(response, checks=CHECKS)
        judge(response)


def draw(name: str, mode: str) -> st.SearchStrategy[Case]:
    """Requests of an operation: `positive` ones follow the document, `negative` ones have a flaw."""
    drawn: st.SearchStrategy[Case] = OPERATIONS[name].as_strategy(generation_mode=GenerationMode(mode))
    return drawn


def judge(answer: Any) -> None:
    """A refusal is a short problem that tells its own status and holds no more than the envelope."""
    response = Response.from_any(answer)
    if response.status_code >= 400:
        assert response.headers["content-type"] == ["application/problem+json"]
        assert len(response.content) < 4_000
        problem = json.loads(response.content)
        assert (problem["status"], problem["request_id"]) == (response.status_code, response.headers["x-request-id"][0])
