"""Several processes serve one port: each answers, caches follow writes, metrics add up, one that dies is replaced."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import running_service
from running_service import DOCUMENTS, SEARCH, locked_chunks, until

from app import settings as config
from app.settings import Settings

ENTITIES = "/api/rag/entities"
START_S = 600.0
SLOWLY = {"within_s": START_S, "pause_s": 0.2}
"""Processes take seconds to start, and more on a busy machine."""
SEARCHES = 'stepwell_http_requests_total{method="POST",route="/api/rag/search",status="200"}'


@dataclass(frozen=True, slots=True)
class Served:
    """A running service of two processes and an open connection to each."""

    supervisor: asyncio.subprocess.Process
    address: str
    clients: dict[int, httpx.AsyncClient]


async def metrics(client: httpx.AsyncClient) -> dict[str, float]:
    """The samples of /metrics by name with labels."""
    lines = (await client.get("/metrics")).text.splitlines()
    return {name: float(value) for name, _, value in (one.rpartition(" ") for one in lines if one[:1] != "#")}


def pids(supervisor: asyncio.subprocess.Process) -> set[int]:
    """The processes that serve or start."""
    return {child.pid for child in psutil.Process(supervisor.pid).children()}


@asynccontextmanager
async def served(address: Any) -> AsyncIterator[Served]:
    """The service, once two processes serve, with a connection to each: the kernel chooses, so many are opened."""
    async with (
        running_service.process(DATABASE_URL=address.service_dsn, STEPWELL_WORKERS="2") as (started, client),
        AsyncExitStack() as stack,
    ):

        async def both() -> bool:
            assert started.returncode is None, "the service did not start"
            try:
                return (await metrics(client))["stepwell_processes"] == 2
            except httpx.ConnectError:
                return False

        await until(both, **SLOWLY)
        clients: dict[int, httpx.AsyncClient] = {}
        for _ in range(100):
            one = await stack.enter_async_context(httpx.AsyncClient(base_url=client.base_url, timeout=60))
            clients.setdefault(await answering_pid(one, pids(started)), one)
            if len(clients) == 2:
                break
        assert clients.keys() == pids(started)
        yield Served(started, str(client.base_url), clients)


async def answering_pid(client: httpx.AsyncClient, candidates: set[int]) -> int:
    """The process at the other end of the client's only connection."""
    response = await client.get("/healthz")
    own = response.extensions["network_stream"].get_extra_info("client_addr")[1]
    (pid,) = (
        pid
        for pid in candidates
        for one in psutil.Process(pid).net_connections("tcp")
        if one.raddr and one.raddr.port == own
    )
    return pid


async def test_two_processes_share_a_port_and_follow_each_others_writes_until_sigterm_drains_them(address: Any) -> None:
    async with served(address) as service:
        one, two = service.clients.values()
        await _sees_the_names_of_the_other(one, two)
        before = (await metrics(one))[SEARCHES]
        for client in (one, two, two):
            assert (await client.post(SEARCH, json={"query": "batteries"})).status_code == 200
        assert {(await metrics(client))[SEARCHES] for client in (one, two)} == {before + 3}
        await _is_replaced_after_being_killed(service)
        await _finishes_what_runs(service, address)


async def _sees_the_names_of_the_other(one: httpx.AsyncClient, two: httpx.AsyncClient) -> None:
    """What one process stores guides the next search of the other, whose caches hold the state before."""
    question = {"query": "what did Ana Torres do with batteries?", "ranking": {"hierarchy": "force"}}

    async def guided() -> list[str]:
        answer = (await two.post(SEARCH, json=question)).json()
        return [one["name"] for one in answer.get("pass1_entities") or ()]

    note = {"content": "Ana Torres calibrated the buoy batteries.", "uri": "batteries"}
    assert (await one.post(DOCUMENTS, json=note)).status_code == 201
    assert await guided() == []
    assert (await one.post(ENTITIES, json={"type": "person", "name": "Ana Torres"})).status_code == 201
    assert await guided() == ["Ana Torres"]


async def _is_replaced_after_being_killed(service: Served) -> None:
    """Every request is answered from the moment at which the process is gone."""
    victim, survivor = service.clients
    before = (await metrics(service.clients[survivor]))[SEARCHES]
    psutil.Process(victim).kill()
    await until(lambda: victim not in pids(service.supervisor), **SLOWLY)

    async def replaced() -> bool:
        async with httpx.AsyncClient(base_url=service.address, timeout=60) as newcomer:
            assert (await newcomer.post(SEARCH, json={"query": "batteries"})).status_code == 200
            return (await metrics(newcomer))["stepwell_processes"] == 2

    await until(replaced, **SLOWLY)
    assert len(pids(service.supervisor)) == 2
    assert (await metrics(service.clients[survivor]))[SEARCHES] > before
    del service.clients[victim]


async def _finishes_what_runs(service: Served, address: Any) -> None:
    (survivor,) = service.clients.values()
    async with locked_chunks(address) as hold, httpx.AsyncClient(base_url=service.address, timeout=60) as other:
        running = [asyncio.create_task(one.post(SEARCH, json={"query": "buoy"})) for one in (survivor, other)]
        await hold.reached(2)
        service.supervisor.send_signal(signal.SIGTERM)

        async def refuses() -> bool:
            try:
                (await asyncio.open_connection("127.0.0.1", httpx.URL(service.address).port))[1].close()
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:  # waited to be accepted when the listening ended
                pass
            return False

        await until(refuses, **SLOWLY)
        assert not [one for one in running if one.done()]
        await hold.release()
        assert [one.status_code for one in await asyncio.gather(*running)] == [200, 200]
    assert await asyncio.wait_for(service.supervisor.wait(), running_service.PATIENCE_S) == 0


async def test_a_process_whose_supervisor_is_killed_during_its_start_ends(address: Any, tmp_path: Path) -> None:
    supervisor, link = socket.socketpair()
    supervisor.close()
    environment = {**os.environ, "DATABASE_URL": address.service_dsn, "STEPWELL_PORT": "0", "STEPWELL_WORKERS": "2"}
    arguments = ("serve-process", "--number", "2", "--link", str(link.fileno()), "--folder", str(tmp_path))
    with link:
        started = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app", *arguments), env=environment, pass_fds=[link.fileno()]
        )
    try:
        assert await asyncio.wait_for(started.wait(), running_service.PATIENCE_S) == 0
    finally:
        with suppress(ProcessLookupError):
            started.kill()


async def test_a_start_that_fails_ends_the_service_with_the_status_of_the_process_which_logs_the_reason_in_one_line(
    new_database: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    without_schema = await new_database()
    env = {"DATABASE_URL": without_schema.service_dsn, "STEPWELL_WORKERS": "2", "STEPWELL_LOG_JSON": "true"}
    (tmp_path / "app.py").write_text('raise SystemExit("another program of this name")')
    with (tmp_path / "stderr").open("wb") as log:
        async with running_service.process(log=log, folder=tmp_path, **env) as (started, _client):
            assert await asyncio.wait_for(started.wait(), START_S) == 1
    lines = [json.loads(line) for line in (tmp_path / "stderr").read_text().splitlines()]
    assert "schema_mismatch" in [line.get("code") for line in lines], lines


def test_limits_of_the_service_are_divided_among_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "usable_cores", lambda: 8)
    whole = Settings(workers=4)
    first, second = whole.of_process(1), whole.of_process(2)
    assert (first.searches_at_once, first.model_threads) == (3, 2)
    assert Settings(workers=8).of_process(1).searches_at_once == 3
    assert Settings(workers=8, max_concurrent_searches=8).of_process(1).searches_at_once == 1
    assert (first.worker, second.worker) == (True, False)
    assert all(Settings(workers=count).of_process(1).pool_size * count <= 80 for count in (1, 2, 10, 20))
