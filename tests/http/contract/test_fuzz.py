"""Fuzzes every operation with valid and invalid requests generated from the OpenAPI document.

schemathesis draws requests from the OpenAPI document, sound ones and ones with a flaw; a real server on a socket, with
real Postgres behind it, answers them. The cases are the same in every run. With STEPWELL_FUZZ_CASES=10000 in the
environment (`make fuzz`) there are so many of them, and others each time.
"""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import openapi_operations
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi import checks

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""

WANTED = int(os.environ.get("STEPWELL_FUZZ_CASES", "0"))
CASES = WANTED or 240
SERVICE = Path(__file__).parents[2] / "fuzz_service.py"
NOT_HTTP = (400, b"Invalid HTTP request received.")
"""The response that the server itself returns for a header such as an empty Content-Length."""
NOTES = [
    {"content": f"# Note {n}\n\nLime mortar, never cement; ERR_TIDE_{n}.", "uri": f"note-{n}", "metadata": {"n": n}}
    for n in range(5)
]


def _cases(most: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=most,
        derandomize=not WANTED,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(hypothesis.Phase.generate,),
    )


API = schemathesis.openapi.from_dict(copy.deepcopy(openapi_operations.DOCUMENT))
OPERATIONS = {found.ok().definition.raw["operationId"]: found.ok() for found in API.get_all_operations()}
WITH_INPUT = {name for name, operation in OPERATIONS.items() if [*operation.iter_parameters(), *operation.body]}
SHARE = math.ceil(CASES / (2 * len(WITH_INPUT)))
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
        env = {**os.environ, "PYTHONPATH": f"{SERVICE.parent}{os.pathsep}{SERVICE.parents[1]}"}
        self._process = subprocess.Popen(
            [sys.executable, str(SERVICE), dsn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
        )
        started = self._reply()
        self.address = started["address"]
        # Else a drawn header would take this one's place, and every answer be 401.
        self.session.headers.update({"Authorization": f"Bearer {started['key']}", "X-API-Key": started["key"]})

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        return reply

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
        """End the service; returns the stalls of its event loop."""
        with self._process, self.session:
            assert self._process.stdin is not None
            self._process.stdin.close()
            return self._reply()

    def check(self, case: Case) -> None:
        """Send one request and judge the answer."""
        response = case.call(self.address, session=self.session, headers=dict(self.session.headers))
        self.tally[response.status_code] += 1
        if (response.status_code, response.content) == NOT_HTTP:
            return
        case.validate_response(response, checks=CHECKS)
        judge(response)


def judge(response: Response) -> None:
    """A refusal is a short problem that tells its own status and holds no more than the envelope."""
    if response.status_code >= 400:
        assert response.headers["content-type"] == ["application/problem+json"]
        assert len(response.content) < 4_000
        problem = json.loads(response.content)
        assert (problem["status"], problem["request_id"]) == (response.status_code, response.headers["x-request-id"][0])


@pytest.fixture(scope="module")
def door(address: Any) -> Iterator[Door]:
    """The service."""
    made = Door(address.service_dsn)
    made.begin()
    yield made
    stalls = made.stop()
    print(f"\n{made.tally.total():,} cases: {dict(sorted(made.tally.items()))}")
    for name, stall in stalls.items():
        times = {part: f"{stall[part]:.0f} ms" for part in ("wall", "loop_cpu", "process_cpu")}
        print(f"{name} stall of the event loop: {times}\n{stall['stack']}")


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", OPERATIONS)
def test_no_request_made_from_the_description_breaks_the_service(door: Door, name: str, mode: GenerationMode) -> None:
    if name not in WITH_INPUT and mode is GenerationMode.NEGATIVE:
        pytest.skip("it takes nothing that could be wrong")
    operation = OPERATIONS[name]
    drawn = operation.as_strategy(generation_mode=mode)
    known = st.none() | st.fixed_dictionaries({name: st.sampled_from(ids) for name, ids in door.known.items()})
    chunk = st.none() | st.sampled_from(door.known["chunk_id"])

    @_cases(SHARE)
    @hypothesis.given(drawn, known, chunk)
    def asked(case: Case, ids: dict[str, str] | None, chunk_id: str | None) -> None:
        for name in (ids or {}).keys() & (case.path_parameters or {}).keys():
            case.path_parameters[name] = ids[name]
        if chunk_id and isinstance(case.body, dict) and "chunk_id" in case.body:
            case.body = {**case.body, "chunk_id": chunk_id}
        door.check(case)

    asked()


_TEXT = st.text(st.characters(codec=None), max_size=60)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)
_COORDINATES = st.sampled_from([5e-324, -1e-45, 1e-38, 3e38, -0.0, 0.5, 1, -1])
_BODIES: dict[str, Callable[..., st.SearchStrategy[Any]]] = {
    "search": lambda: st.fixed_dictionaries({"query": _TEXT}, optional={"filters": st.just({}) | _filters()}),
    "similar": lambda: st.fixed_dictionaries({"vector": st.lists(_COORDINATES, min_size=384, max_size=384)}),
    "documents": lambda: st.fixed_dictionaries(
        {"content": _TEXT}, optional={"title": _TEXT, "uri": _TEXT, "language": _TEXT, "metadata": _VALUES}
    ),
    "entities": lambda: st.fixed_dictionaries(
        {"type": st.just("person"), "name": _TEXT},
        optional={"aliases": st.lists(_TEXT, max_size=3), "facts": st.lists(_TEXT, max_size=3), "role": _TEXT},
    ),
}


def _filters() -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"metadata": st.dictionaries(_TEXT, _VALUES, max_size=4)})


@pytest.mark.parametrize("name", _BODIES)
def test_no_text_or_number_that_json_can_write_breaks_the_service(door: Door, name: str) -> None:
    """NUL, halves of surrogate pairs, NaN and infinities among them, which no schema can describe."""

    @_cases(SHARE)
    @hypothesis.given(_BODIES[name]() | _VALUES)
    def sent(body: object) -> None:
        headers = {"Content-Type": "application/json"}
        answered = door.session.post(f"{door.address}/api/rag/{name}", data=json.dumps(body), headers=headers)
        door.tally[answered.status_code] += 1
        assert answered.status_code < 500, answered.text
        judge(Response.from_any(answered))

    sent()
