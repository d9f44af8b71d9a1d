"""Tests that the CPU time of parsing and validating a body is linear in its size."""

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from api_caller import Caller
from fastapi.exceptions import RequestValidationError
from harness import cpu_s
from pydantic import TypeAdapter, ValidationError

from app import errors
from app.documents.api.document_models import DocumentInput
from app.entities import api_models as entity_models
from app.entities.api_models import EntityInput
from app.query.search_request import SearchRequest
from app.requests import strict_json
from app.search.sent_lists import RerankRequest

MOST = 8.0
LEAST_S = 0.003

BODIES: dict[str, Callable[[int], bytes]] = {
    "open brackets": lambda n: b"[" * n,
    "open strings": lambda n: b'"' * n,
    "escapes": lambda n: b'"' + b"\\\\" * n + b'"',
    "escaped quotes": lambda n: b'["' + b'\\"[' * n + b'"]',
    "digits": lambda n: b"1" * n,
    "exponents": lambda n: b"[" + b"1e99," * n + b"1]",
    "empty lists": lambda n: b"[" + b"[]," * n + b"1]",
    "empty keys": lambda n: b"{" + b'"":1,' * n + b'"":1}',
    "surrogates": lambda n: b'"' + b"\\ud800" * n + b'"',
    "not UTF-8": lambda n: b"\xc3\xa4" * n + b"\xff",
}
MODELS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "documents": (list[DocumentInput], lambda n: [{"content": "a", "metadata": {"tags": ["b"] * 20}}] * (n // 20)),
    "a blank document": (DocumentInput, lambda n: {"content": "\u200b" * 40 * n}),
    "deep metadata": (DocumentInput, lambda n: {"content": "a", "metadata": {"a": [[[[[]]]]] * n}}),
    "many keys": (DocumentInput, lambda n: {"content": "a", **{str(number): 1 for number in range(n)}}),
    "entities": (
        list[EntityInput],
        lambda n: [{"type": "team", "name": f"A{k}", "facts": ["b"] * 9} for k in range(n // 9)],
    ),
    "bad entities": (list[EntityInput], lambda n: [{"type": "team", "name": ""}] * n),
    "a query": (SearchRequest, lambda n: {"query": "a\u0301" * n}),
    "ids": (SearchRequest, lambda n: {"query": "a", "exclude_chunk_ids": ["x"] * n}),
    "filters": (
        SearchRequest,
        lambda n: {"query": "a", "filters": {"metadata": {str(k): {"gte": 1} for k in range(n)}}},
    ),
    "lists of hits": (
        RerankRequest,
        lambda n: {"lists": [{"name": "a", "hits": [{"chunk_id": "x", "y": ["z"] * n}] * 9}]},
    ),
}
LINES: dict[str, Callable[[int], bytes]] = {
    "entities": lambda n: b'{"type": "team", "name": "Divers", "aliases": ["a", "b"]}\n' * (n // 10),
    "bad lines": lambda n: b'{"type": "team"}\n' * (n // 10),
    "blank lines": lambda n: b"\n" * n,
    "one long line": lambda n: b'{"type": "team", "name": "' + b"a" * 10 * n + b'"}',
    "no JSON": lambda n: b"[" * 10 * n,
}


def ratio(check: Callable[[Any], object], made: Callable[[int], Any], size: int) -> float:
    def work(given: Any) -> None:
        with contextlib.suppress(RequestValidationError, ValidationError, errors.BadRequest):
            check(given)

    small, large = made(size), made(4 * size)
    found = [MOST + 1]
    while found[-1] > MOST and len(found) < 4:
        longest = cpu_s(work, large)
        found.append(longest / cpu_s(work, small) if longest >= LEAST_S else 1.0)
    return found[-1]


@pytest.mark.parametrize("shape", BODIES)
def test_a_body_is_parsed_in_linear_time(shape: str) -> None:
    assert ratio(strict_json.parse, BODIES[shape], 20_000) <= MOST


@pytest.mark.parametrize("shape", MODELS)
def test_a_body_is_validated_in_linear_time(shape: str) -> None:
    model, made = MODELS[shape]
    assert ratio(TypeAdapter(model).validate_python, made, 2_000) <= MOST


@pytest.mark.parametrize("shape", LINES)
def test_lines_are_read_in_linear_time(shape: str) -> None:
    assert ratio(entity_models.read_lines, LINES[shape], 2_000) <= MOST


def test_more_lines_than_a_request_may_hold_are_refused_unread() -> None:
    with pytest.raises(errors.BadRequest, match="10,000 lines"):
        entity_models.read_lines(b"\n".join([b"{}"] * 10_001))


async def test_a_large_body_is_validated_outside_the_event_loop(caller: Caller) -> None:
    entities = [{"type": "team", "name": f"Team {n}", "facts": ["They dive. " * 8] * 150} for n in range(300)]
    body = json.dumps([*entities, {"type": "team", "name": "?"}]).encode()
    headers = {"Content-Type": "application/json"}
    shares = []
    for _ in range(3):
        whole, own = time.process_time(), time.thread_time()
        answer = await caller.client.post("/api/rag/entities", content=body, headers=headers)
        shares.append((time.thread_time() - own) / (time.process_time() - whole))
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "[300].name")
    assert min(shares) < 0.5
