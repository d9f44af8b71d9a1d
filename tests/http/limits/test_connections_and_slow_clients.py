"""Tests of the limits on memory, connections and slow clients."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from inspect import signature

import pytest
from raw_connections import PATIENCE_S, Running, running, until
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.http import connections

QUICK = connections.ConnectionLimits(head_s=0.2, idle_s=0.2, stalled_s=0.2, stopping_s=0.1, linger_s=0.2, check_s=0.02)
PATIENT = connections.ConnectionLimits(check_s=0.02)
GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture
async def quick() -> AsyncIterator[Running]:
    async with running(QUICK) as run:
        yield run


@pytest.fixture
async def patient() -> AsyncIterator[Running]:
    async with running(PATIENT) as run:
        yield run


# heads


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 101 + b"\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: a\r\n" * 101,
    ],
    ids=["a long header", "a long path", "many headers", "many trailers"],
)
async def test_a_head_over_the_limit_is_answered_431_and_the_connection_closed(patient: Running, head: bytes) -> None:
    client = await patient.connect(head)
    assert await client.refused() == (431, "headers_too_large")


@pytest.mark.parametrize(
    "opening",
    [
        b"GET / HTTP/1.1\r\nX: ",
        b"GET /",
        b"POST /read HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        b"POST /read HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;x=",
    ],
    ids=["header", "path", "trailer", "chunk extension"],
)
async def test_a_line_that_never_ends_is_cut_off_before_it_takes_memory(opening: bytes) -> None:
    async with running(replace(PATIENT, linger_bytes=1_000_000)) as run:
        client = await run.connect(opening)
        await run.count(1)
        sent = 0
        while run.server.server_state.connections:
            sent += 65_536
            assert sent < 20_000_000, "the system's socket buffers hold a few megabytes"
            with suppress(ConnectionError):
                await client.send(b"a" * 65_536)
            await asyncio.sleep(0)


async def test_headers_within_the_limits_are_served_and_trailers_are_not_headers(patient: Running) -> None:
    client = await patient.connect(b"POST /read HTTP/1.1\r\nA: " + b"a" * 30_000 + b"\r\n" + b"B: b\r\n" * 97)
    await client.send(b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: t\r\n\r\n")
    assert (await client.response())[0] == 200
    (scope,) = patient.app.scopes
    assert b"trailer" not in dict(scope["headers"])


async def test_ten_thousand_chunks_of_a_byte_are_read(patient: Running) -> None:
    client = await patient.connect(b"POST /read HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    await client.send(b"1\r\na\r\n" * 10_000 + b"0\r\n\r\n" + GET)
    assert [(await client.response())[0] for _ in range(2)] == [200, 200]


async def test_a_head_that_does_not_end_in_time_is_answered_408(quick: Running) -> None:
    client = await quick.connect(GET + b"GET / HTTP/1.1\r\nHos")
    assert (await client.response())[0] == 200
    assert await client.refused() == (408, "request_timeout")


# requests


async def test_an_idle_connection_is_closed_whether_it_is_silent_or_sends_blank_lines(quick: Running) -> None:
    silent, used, blank = [await quick.connect() for _ in range(3)]
    await used.send(GET)
    assert (await used.response())[0] == 200
    await blank.send(b"\r\n\r\n")
    for client in (silent, used, blank):
        assert await client.is_closed()


async def test_a_hundred_pipelined_requests_are_answered_in_order(patient: Running) -> None:
    client = await patient.connect(b"".join(b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n" % number for number in range(100)))
    for _ in range(100):
        assert (await client.response())[0] == 200
    assert [scope["path"] for scope in patient.app.scopes] == [f"/{number}" for number in range(100)]


async def test_pipelined_requests_over_the_limit_are_not_stored_and_those_within_are_answered() -> None:
    async with running(replace(PATIENT, pipelined=5)) as run:
        client = await run.connect(b"GET /wait HTTP/1.1\r\n\r\n" + GET * 20)
        await run.app.begun.get()
        (connection,) = run.server.server_state.connections
        await until(lambda: len(connection.pipeline) == 5)
        run.app.release.set()
        for _ in range(6):
            assert (await client.response())[0] == 200
        assert await client.refused() == (503, "too_many_connections")
        counted = {"status": "503", "code": "too_many_connections"}
        assert run.app.state.metrics.registry.get_sample_value("stepwell_http_problems_total", counted) == 1


async def test_a_pipelining_client_that_leaves_disconnects_the_request_that_runs(patient: Running) -> None:
    client = await patient.connect(b"GET /left HTTP/1.1\r\n\r\n" + GET * 3)
    assert await patient.app.begun.get() == "/left"
    client.writer.transport.abort()
    async with asyncio.timeout(PATIENCE_S):
        assert await patient.app.ended.get() == "/left"
    assert patient.app.begun.empty(), "requests that were queued are dropped"


async def test_what_is_not_http_is_answered_400_after_the_response_that_is_due(patient: Running) -> None:
    client = await patient.connect(b"GET /wait HTTP/1.1\r\n\r\n\x00\x01garbage\r\n\r\n")
    await patient.app.begun.get()
    patient.app.release.set()
    assert (await client.response())[0] == 200
    assert await client.refused() == (400, "malformed_request")


async def test_a_broken_body_ends_its_request(patient: Running) -> None:
    client = await patient.connect(b"POST /read HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nzz\r\n")
    assert await client.refused() == (400, "malformed_request")
    async with asyncio.timeout(PATIENCE_S):
        assert await patient.app.ended.get() == "/read"


async def test_a_websocket_is_refused_and_another_upgrade_ignored(patient: Running) -> None:
    websocket, h2c = [await patient.connect() for _ in range(2)]
    upgrade = b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n"
    await websocket.send(upgrade % b"websocket")
    assert await websocket.refused() == (400, "upgrade_refused")
    await h2c.send(upgrade % b"h2c" * 2 + GET)
    assert [(await h2c.response())[0] for _ in range(3)] == [200, 200, 200]
    assert len(patient.app.scopes) == 3


@pytest.mark.parametrize(
    "body", [b"Content-Length: 4\r\n\r\nlime", b"Transfer-Encoding: chunked\r\n\r\n4\r\nlime\r\n0\r\n\r\n"]
)
@pytest.mark.parametrize("sent_first", [None, 0, 2], ids=["in one piece", "after the head", "within the body"])
async def test_the_body_of_a_request_that_offers_http_2_is_read(patient: Running, body: bytes, sent_first) -> None:
    head = b"POST /read HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEA\r\n"
    request = head + body + GET
    split = 0 if sent_first is None else request.index(b"\r\n\r\n") + 4 + sent_first
    client = await patient.connect(request[:split])
    if split:
        assert await patient.app.begun.get() == "/read"
    await client.send(request[split:])
    assert [(await client.response())[0] for _ in range(2)] == [200, 200]
    assert patient.app.read == [b"lime"]
    assert b"upgrade" not in dict(patient.app.scopes[0]["headers"])


async def test_requests_that_offer_http_2_are_bounded_like_others() -> None:
    async with running(replace(PATIENT, pipelined=5)) as run:
        offer = b"GET /%s HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        client = await run.connect(offer % b"wait" + offer % b"" * 20)
        await run.app.begun.get()
        run.app.release.set()
        for _ in range(6):
            assert (await client.response())[0] == 200
        assert await client.refused() == (503, "too_many_connections")


async def test_http_1_0_is_answered_and_closed(patient: Running) -> None:
    client = await patient.connect(b"GET / HTTP/1.0\r\n\r\n")
    assert (await client.response())[0] == 200
    assert await client.is_closed()


async def test_a_connection_whose_body_continues_after_the_response_is_closed(quick: Running) -> None:
    client = await quick.connect(POST % 1 + b"a" + POST % 1_000_000 + b"a")
    assert "connection" not in (await client.response())[1]
    status, headers, _body = await client.response()
    assert (status, headers["connection"]) == (200, "close")
    while not client.reader.at_eof():
        try:
            await client.send(b"a")
        except ConnectionError:
            break
        await asyncio.sleep(0.01)
    await quick.count(0)


# responses


async def test_a_client_that_reads_nothing_is_cut_off_and_its_request_ended(quick: Running) -> None:
    client = await quick.connect()
    client.writer.transport.pause_reading()
    await client.send(b"GET /large HTTP/1.1\r\n\r\n")
    async with asyncio.timeout(PATIENCE_S):
        assert await quick.app.ended.get() == "/large"
    await quick.count(0)


async def test_a_client_that_reads_nothing_of_a_response_that_is_complete_is_cut_off(quick: Running) -> None:
    client = await quick.connect()
    client.writer.transport.pause_reading()
    await quick.count(1)
    (connection,) = quick.server.server_state.connections
    connection.transport.set_write_buffer_limits(high=100_000_000)  # the application is not paused
    await client.send(b"GET /large HTTP/1.0\r\n\r\n")
    await quick.count(0)


async def test_a_client_that_reads_slowly_gets_all_of_a_response_that_takes_longer_than_the_limit() -> None:
    limits = replace(QUICK, stalled_s=1.0)  # even a busy machine lets this process run within this time
    async with running(limits) as run:
        client = await run.connect(b"GET /large HTTP/1.1\r\nConnection: close\r\n\r\n")
        clock = asyncio.get_running_loop().time
        began, received = clock(), 0
        while data := await client.reader.read(500_000):
            received += len(data)
            if clock() - began < 1.3 * limits.stalled_s:
                await asyncio.sleep(0.05)
                assert run.app.ended.empty(), "the response is still being sent"
        assert received > 30_000_000


# connections


async def test_at_the_limit_the_connection_that_was_idle_longest_is_closed() -> None:
    async with running(replace(PATIENT, connections=3)) as run:
        busy, oldest = await run.connect(), await run.connect()
        await run.count(2)
        clock, connected = asyncio.get_running_loop().time, asyncio.get_running_loop().time()
        await until(lambda: clock() > connected)  # uvloop counts milliseconds
        younger = await run.connect()
        await run.count(3)
        await busy.send(b"GET /wait HTTP/1.1\r\n\r\n")
        await run.app.begun.get()
        new_caller = await run.connect()
        assert await oldest.is_closed()
        for client in (new_caller, younger):
            await client.send(GET)
            assert (await client.response())[0] == 200
        run.app.release.set()
        assert (await busy.response())[0] == 200


async def test_when_all_connections_are_busy_a_new_one_is_answered_503() -> None:
    async with running(replace(PATIENT, connections=2, refused=1)) as run:
        for _ in range(2):
            await run.connect(b"GET /wait HTTP/1.1\r\n\r\n")
            await run.app.begun.get()
        refused = await run.connect()
        status, headers, _ = await refused.response()
        assert (status, headers["retry-after"]) == (503, "1")
        assert await (await run.connect()).is_closed(), "beyond the reserve nothing is answered"
        await run.count(3)


# shutdown


async def test_slow_clients_do_not_hold_up_a_shutdown() -> None:
    async with running(replace(PATIENT, stopping_s=0.1)) as run:
        silent, head, body, unread = [await run.connect() for _ in range(4)]
        await head.send(b"GET / HTTP/1.1\r\nX: ")
        await body.send(POST % 1000 + b"a")
        assert (await body.response())[0] == 200
        unread.writer.transport.pause_reading()
        await unread.send(b"GET /large HTTP/1.1\r\n\r\n")
        await run.count(4)
        await until(lambda: any(one.flow.write_paused for one in run.server.server_state.connections))
        run.server.should_exit = True
        began = asyncio.get_running_loop().time()
        await run.count(0)
        assert asyncio.get_running_loop().time() - began < 5, "the grace period is ten seconds"
        assert await silent.is_closed()


# uvicorn


def test_uvicorn_still_has_every_method_that_is_overridden_and_none_that_is_added() -> None:
    own = {name for name in vars(connections.Protocol) if not name.startswith("__")}
    overridden = "connection_made connection_lost shutdown data_received on_message_begin on_url on_header"
    overridden += " on_headers_complete on_body on_message_complete on_response_complete send_400_response"
    overridden += " _start_asgi_task"
    assert own & set(dir(HttpToolsProtocol)) == set(overridden.split())
    for name in overridden.split():
        ours, theirs = getattr(connections.Protocol, name), getattr(HttpToolsProtocol, name)
        assert [*signature(ours).parameters] == [*signature(theirs).parameters], name
