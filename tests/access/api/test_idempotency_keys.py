"""Tests of writes that are sent again with the same Idempotency-Key."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import harness
import pytest
from api_caller import Caller
from example_app import assert_problem
from starlette.requests import Request

from app.access.store import idempotency as kept_responses
from app.access.store.idempotency import KeptResponse
from app.http import idempotency
from benchmarks.fake_embedder import FakeEmbedder

DOCUMENTS, ENTITIES = "/api/rag/documents", "/api/rag/entities"


def _key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


async def test_a_write_that_is_sent_again_gets_its_first_response_and_is_not_done_again(caller: Caller) -> None:
    key, body = _key(), {"content": "Lime.", "uri": "lime"}
    first = await caller.client.post(DOCUMENTS, json=body, headers=key)
    await caller.client.post(DOCUMENTS, json={"content": "Newer.", "uri": "lime"})
    again = await caller.client.post(DOCUMENTS, json=body, headers=key)
    assert (again.status_code, again.json()) == (first.status_code, first.json()) == (201, first.json())
    assert (first.headers.get("idempotent-replayed"), again.headers["idempotent-replayed"]) == (None, "true")
    stored = (await caller.client.get(f"{DOCUMENTS}/{first.json()['document_id']}")).json()
    assert stored["content"] == "Newer."


async def test_every_kind_of_write_takes_an_idempotency_key(caller: Caller) -> None:
    document_id = (await caller.add("Lime.", "lime"))["document_id"]
    path = f"{DOCUMENTS}/{document_id}"
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("PATCH", path, {"json": {"title": "Mortar"}}),
        ("PUT", path, {"json": {"content": "Sand."}}),
        ("POST", DOCUMENTS, {"files": [("files", ("a.md", "Clay."))]}),
        ("POST", ENTITIES, {"json": {"type": "person", "name": "Ana Silva"}}),
        ("POST", f"{ENTITIES}/bulk", {"content": b'{"type": "team", "name": "Divers"}\n'}),
        ("DELETE", path, {}),
    ]
    for method, target, body in requests:
        key = _key() | ({"Content-Type": "application/x-ndjson"} if "bulk" in target else {})
        request = caller.client.build_request(method, target, headers=key, **body)
        content, headers = await request.aread(), request.headers
        first, again = [await caller.client.request(method, target, content=content, headers=headers) for _ in range(2)]
        assert first.status_code in (200, 201), first.text
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers["idempotent-replayed"] == "true"


async def test_a_form_that_is_sent_again_with_another_boundary_is_the_same_request(caller: Caller) -> None:
    key, files = _key(), [("files", ("a.md", "Clay.")), ("files", ("b.md", "Sand."))]
    first, again = [await caller.client.post(DOCUMENTS, files=files, headers=key) for _ in range(2)]
    assert first.request.headers["content-type"] != again.request.headers["content-type"]
    assert (again.status_code, again.content, again.headers["idempotent-replayed"]) == (201, first.content, "true")
    other = await caller.client.post(DOCUMENTS, files=[files[0], ("files", ("b.md", "Silt."))], headers=key)
    assert_problem(other, 422, "invalid_request", "Idempotency-Key")


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1_000])
async def test_a_boundary_is_left_out_wherever_the_body_is_cut(size: int) -> None:
    async def fingerprint(boundary: str, text: str, size: int) -> bytes:
        body = f"--{boundary}\r\n{text}\r\n--{boundary}\r\n{text}--\r\n--{boundary}--".encode()
        parts = [body[start : start + size] for start in range(0, len(body), size)]
        messages = iter([{"type": "http.request", "body": part, "more_body": True} for part in parts])

        async def receive() -> Any:
            return next(messages, {"type": "http.request", "body": b"", "more_body": False})

        content_type = f'multipart/form-data; boundary="{boundary}"'.encode()
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "server": ("test", 80)}
        request = Request(scope | {"headers": [(b"content-type", content_type)]})
        return await idempotency._Hashing(request, receive).fingerprint()

    whole = await fingerprint("a" * 30, "Lime.", 1_000)
    assert await fingerprint("-----Boundary7", "Lime.", size) == await fingerprint("a" * 30, "Lime.", size) == whole
    assert await fingerprint("-----Boundary7", "Lime!", size) != whole


async def test_a_key_of_another_user_is_another_key(caller: Caller, new_caller: Any) -> None:
    key, other = _key(), await new_caller("search", "write")
    for one in (caller, other):
        response = await one.client.post(DOCUMENTS, json={"content": "Lime."}, headers=key)
        assert (response.status_code, "idempotent-replayed" in response.headers) == (201, False)


async def test_a_failed_write_may_be_sent_again_with_its_key(caller: Caller, embedder: FakeEmbedder) -> None:
    key, body = _key(), {"content": "Never seen before."}
    embedder.failing = True
    try:
        assert (await caller.client.post(DOCUMENTS, json=body, headers=key)).status_code == 502
    finally:
        embedder.failing = False
    assert (await caller.client.post(DOCUMENTS, json=body, headers=key)).status_code == 201
    invalid = _key()
    assert (await caller.client.post(DOCUMENTS, json={"content": ""}, headers=invalid)).status_code == 422
    assert (await caller.client.post(DOCUMENTS, json={"content": "Clay."}, headers=invalid)).status_code == 201


async def test_of_two_requests_at_once_one_is_done(caller: Caller) -> None:
    key, body = _key(), {"content": "Once only.", "uri": "once"}
    answers = await asyncio.gather(*(caller.client.post(DOCUMENTS, json=body, headers=key) for _ in range(4)))
    done = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.text for answer in done}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in done) == 1
    assert {answer.status_code for answer in answers} <= {201, 409}


async def test_a_write_whose_first_request_runs_is_told_to_wait_and_after_a_day_the_key_is_new(caller, owner) -> None:
    key, body = _key(), {"content": "Lime.", "uri": "lime"}
    await caller.client.post(DOCUMENTS, json=body, headers=key)
    change = "UPDATE stepwell.idempotency_keys SET {} WHERE key = $1"
    await owner.execute(change.format("status = NULL"), key["Idempotency-Key"])
    running = await caller.client.post(DOCUMENTS, json=body, headers=key)
    assert_problem(running, 409, "conflict", "Idempotency-Key")
    assert int(running.headers["retry-after"]) > 0
    await owner.execute(change.format("status = 201, created_at = now() - interval '25 h'"), key["Idempotency-Key"])
    later = await caller.client.post(DOCUMENTS, json=body, headers=key)
    assert (later.status_code, later.json()["status"]) == (200, "unchanged")
    assert "idempotent-replayed" not in later.headers


async def test_a_write_that_takes_longer_than_its_claim_gets_its_first_response_all_the_same(caller, owner) -> None:
    key, claimed, rest = _key(), asyncio.Event(), asyncio.Event()
    expire = "DELETE FROM stepwell.idempotency_keys WHERE key = $1"

    async def slow() -> AsyncIterator[bytes]:
        yield b'{"content": "Lime.", '
        claimed.set()
        await rest.wait()
        yield b'"uri": "lime"}'

    headers = {**key, "Content-Type": "application/json"}
    sent = asyncio.create_task(caller.client.post(DOCUMENTS, content=slow(), headers=headers))
    await claimed.wait()
    assert await owner.execute(expire, key["Idempotency-Key"]) == "DELETE 1"
    rest.set()
    first = await sent
    again = await caller.client.post(DOCUMENTS, content=b'{"content": "Lime.", "uri": "lime"}', headers=headers)
    assert (again.status_code, again.headers.get("idempotent-replayed")) == (201, "true")
    assert again.json() == first.json()


async def test_a_request_that_failed_late_leaves_the_response_to_another_one(caller, database, owner) -> None:
    key = _key()
    await caller.client.post(DOCUMENTS, json={"content": "Lime."}, headers=key)
    async with database.preparing(caller.user_id) as writing:
        await kept_responses.release(writing, key["Idempotency-Key"], mark=b"")
    again = await caller.client.post(DOCUMENTS, json={"content": "Lime."}, headers=key)
    assert again.headers.get("idempotent-replayed") == "true"


async def test_a_request_that_failed_late_leaves_the_key_to_the_request_that_has_claimed_it_since(
    caller: Caller, database: Any
) -> None:
    async with database.preparing(caller.user_id) as writing:
        assert await kept_responses.claim(writing, "a key", mark=b"second") is None
        await kept_responses.release(writing, "a key", mark=b"first")
        assert await kept_responses.claim(writing, "a key", mark=b"third") == KeptResponse(b"second")


async def test_whichever_answer_to_a_commit_is_lost_the_write_can_be_sent_again_with_its_key(caller: Caller) -> None:
    for number in itertools.count(1):
        key, body = _key(), {"content": f"Lime {number}.", "uri": f"lime {number}"}
        with harness.lost_commit(number) as is_lost:
            first = await caller.client.post(DOCUMENTS, json=body, headers=key)
        assert first.status_code in (200, 201), (number, first.text)
        again = await caller.client.post(DOCUMENTS, json=body, headers=key)
        assert (again.status_code, again.headers.get("idempotent-replayed")) == (first.status_code, "true"), number
        if not is_lost():
            break
    assert number > 4  # the claim, the look-up, the document, the response


async def test_a_request_that_died_before_the_clock_was_set_back_can_be_sent_again(caller, owner) -> None:
    key, body = _key(), {"content": "Lime.", "uri": "lime"}
    await caller.client.post(DOCUMENTS, json=body, headers=key)
    change = "UPDATE stepwell.idempotency_keys SET status = NULL, created_at = now() + interval '1 h' WHERE key = $1"
    await owner.execute(change, key["Idempotency-Key"])
    again = await caller.client.post(DOCUMENTS, json=body, headers=key)
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")


async def test_a_write_reads_no_other_key_of_its_user(caller, owner) -> None:
    old = _key()
    await caller.client.post(DOCUMENTS, json={"content": "Lime."}, headers=old)
    change = "UPDATE stepwell.idempotency_keys SET created_at = now() - interval '25 h' WHERE key = $1"
    await owner.execute(change, old["Idempotency-Key"])
    async with owner.transaction():
        await owner.execute("SELECT FROM stepwell.idempotency_keys WHERE key = $1 FOR UPDATE", old["Idempotency-Key"])
        written = await caller.client.post(DOCUMENTS, json={"content": "Oak."}, headers=_key())
    again = await caller.client.post(DOCUMENTS, json={"content": "Lime."}, headers=old)
    assert (written.status_code, again.status_code, "idempotent-replayed" in again.headers) == (201, 200, False)


async def test_kept_responses_of_all_users_are_deleted_after_a_day(caller: Caller, owner: Any, database: Any) -> None:
    old, new = _key(), _key()
    for key in (old, new):
        await caller.client.post(DOCUMENTS, json={"content": "Lime.", "uri": "lime"}, headers=key)
    change = "UPDATE stepwell.idempotency_keys SET created_at = now() - interval '25 h' WHERE key = $1"
    await owner.execute(change, old["Idempotency-Key"])
    async with database.shared() as shared:
        assert await kept_responses.expire(shared, None) >= 1
    kept = await owner.fetch("SELECT key FROM stepwell.idempotency_keys WHERE user_id = $1", caller.user_id)
    assert [row["key"] for row in kept] == [new["Idempotency-Key"]]


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there"])
async def test_a_malformed_key_is_422(caller: Caller, key: str) -> None:
    response = await caller.client.post(DOCUMENTS, json={"content": "Lime."}, headers={"Idempotency-Key": key})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["Idempotency-Key"]
