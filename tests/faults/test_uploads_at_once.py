"""Many large uploads at once, whose clients disconnect or which still run at SIGTERM."""

import asyncio
import json
import random
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from uuid import uuid4

import child_processes
import harness
import made_files
import psutil
import pytest
import running_service
from running_service import DOCUMENTS, SEARCH, cancel, serving, until

from app.database import transactions
from app.documents import operations as documents
from app.enums import Vector
from app.http import admission
from app.parsing.process import ParseLimits
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

BYTES = 9_600_000
STOP_S = 15.0
OPEN, KEYED = Settings(auth="none"), Settings(auth="api_key")


class Endless(FakeEmbedder):
    """An embedder that never returns the vectors of a text with the word `endless`."""

    def __init__(self) -> None:
        super().__init__()
        self.running = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if not any("endless" in text for text in texts):
            return await super().embed_documents(texts)
        self.running += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.running -= 1
        raise AssertionError


PATIENT = ParseLimits(wall_s=3_600, cpu_s=3_600)


@pytest.mark.parametrize("kind", ["json", "form", "put"])
async def test_uploads_of_one_user_are_limited_and_end_when_their_clients_disconnect(address: Any, kind: str) -> None:
    embedder, greedy = Endless(), harness.new_user("greedy")
    async with serving(address, KEYED, embedder=embedder) as (client, database, app):
        keys = await running_service.keys(database, greedy, harness.new_user("modest"))
        first = (await client.post(DOCUMENTS, json={"content": "Clay."}, headers=keys[0])).json()["document_id"]
        method, path = ("PUT", f"{DOCUMENTS}/{first}") if kind == "put" else ("POST", DOCUMENTS)
        sent: list[dict[str, Any]] = [
            {"files": {"files": (f"{n}.md", f"An endless text {n}.".encode())}}
            if kind == "form"
            else {"json": {"content": f"An endless text {n}."}}
            for n in range(6)
        ]
        asked = [asyncio.create_task(client.request(method, path, headers=keys[0], **one)) for one in sent]
        await until(lambda: embedder.running == admission.UPLOADS_OF_USER)
        assert (await client.post(DOCUMENTS, json={"content": "Chalk."}, headers=keys[1])).status_code == 201
        assert (await client.post(SEARCH, json={"query": "chalk"}, headers=keys[1])).status_code == 200
        assert embedder.running == admission.UPLOADS_OF_USER
        await cancel(*asked)
        await until(lambda: embedder.running == 0 and app.state.uploads.running == 0)
        assert (await client.put(f"{DOCUMENTS}/{first}", json={"content": "Loam."}, headers=keys[0])).is_success
        assert (await documents.stats(greedy, db=database)).documents == 1


async def test_the_process_that_parses_a_file_ends_when_the_client_disconnects(address: Any) -> None:
    async with serving(address, OPEN, parse_limits=PATIENT) as (client, _database, app):
        asked = asyncio.create_task(client.post(DOCUMENTS, files={"files": ("slow.pdf", _slow())}))
        await until(lambda: child_processes.running("app.parsing.worker"))
        (parser,) = child_processes.running("app.parsing.worker")
        parser.suspend()
        await cancel(asked)
        await until(lambda: not child_processes.running("app.parsing.worker") and app.state.uploads.running == 0)
    assert not parser.is_running()


async def test_files_that_are_parsed_hold_no_turn(address: Any) -> None:
    async with serving(address, KEYED, parse_limits=PATIENT) as (client, database, app):
        keys = await running_service.keys(database, *(harness.new_user("parsing") for _ in range(3)))
        asked = [
            asyncio.create_task(client.post(DOCUMENTS, files={"files": ("slow.pdf", _slow())}, headers=keys[n % 2]))
            for n in range(admission.UPLOADS)
        ]
        await until(lambda: len(_suspended()) == admission.UPLOADS)
        assert (await client.post(DOCUMENTS, json={"content": "Chalk."}, headers=keys[2])).status_code == 201
        assert not any(one.done() for one in asked)
        await cancel(*asked)
        await until(lambda: not child_processes.running("app.parsing.worker") and app.state.uploads.running == 0)


async def test_a_form_of_hostile_files_is_read_within_the_time_of_a_request(address: Any) -> None:
    files = [("files", (f"{n}.pdf", _slow())) for n in range(20)] + [("files", ("a.md", b"Lime."))]
    async with serving(address, OPEN, parse_limits=ParseLimits(request_s=1.0)) as (client, _database, _app):
        answer = (await client.post(DOCUMENTS, files=files)).json()
    assert [document["uri"] for document in answer["documents"]] == ["a.md"]
    assert [(one["code"], "took 1 seconds, which is its limit" in one["detail"]) for one in answer["failed"]] == [
        ("parse_limit", True)
    ] * 20


async def test_an_upload_that_would_wait_too_long_is_refused(address: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "WAIT_S", 0.2)
    embedder = Endless()
    async with serving(address, OPEN, embedder=embedder) as (client, _database, _app):
        asked = [
            asyncio.create_task(client.post(DOCUMENTS, json={"content": f"An endless text {n}."})) for n in range(2)
        ]
        await until(lambda: embedder.running == 2)
        running_service.unavailable(await client.post(DOCUMENTS, json={"content": "Chalk."}), "overloaded")
        replacing = client.put(f"{DOCUMENTS}/{uuid4()}", json={"content": "Chalk."})
        running_service.unavailable(await replacing, "overloaded")
        await cancel(*asked)


@pytest.mark.skipif(not running_service.FULL, reason="it takes half a minute")
async def test_a_service_with_ten_running_uploads_ends_within_the_grace_period(address: Any) -> None:
    async with _served(address) as (started, client, keys):
        body = _body()
        writers = [await _begun(client.base_url.port or 0, keys[0], body) for _ in range(10)]
        await asyncio.sleep(3)
        began = time.perf_counter()
        started.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(started.wait(), running_service.PATIENCE_S) == 0
        took = time.perf_counter() - began
        print(f"ended {took:.1f} s after SIGTERM with ten running uploads")
        assert took <= STOP_S
        for writer in writers:
            writer.transport.abort()


@asynccontextmanager
async def _served(address: Any) -> AsyncIterator[Any]:
    """A service of its own process, with a client and two keys."""
    env = {"DATABASE_URL": address.service_dsn, "AUTH": "api_key", "STEPWELL_LOG_LEVEL": "error"}
    async with running_service.process(**env) as (started, client):
        await running_service.answers(started, client)
        database = transactions.connect(address.service_dsn)
        keys = await running_service.keys(database, harness.new_user(), harness.new_user())
        await database.close()
        yield started, client, keys


def _body() -> bytes:
    words = [f"w{n:x}ord" for n in range(40_000)]
    rng = random.Random(1)
    paragraphs = [" ".join(rng.choices(words, k=80)) + "." for _ in range(BYTES // 640)]
    return json.dumps({"content": "\n\n".join(paragraphs)[:BYTES]}).encode()


async def _begun(port: int, key: dict[str, str], body: bytes) -> asyncio.StreamWriter:
    """A connection on which an upload is being sent; its answer is never read."""
    _reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {DOCUMENTS} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {key['X-API-Key']}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return writer


@cache
def _slow() -> bytes:
    """A PDF that is parsed for minutes."""
    return made_files.pdf_of_streams(b"BT /F1 12 Tf 50 700 Td (Lime.) Tj ET " * 500, pages=5_000, filters="[]")


def _suspended() -> list[psutil.Process]:
    """The processes that parse files, which wait from now on."""
    found = child_processes.running("app.parsing.worker")
    for parser in found:
        parser.suspend()
    return found
