"""Tests of a service on a new database, as an operator sets it up: upgrade, keys, health check, logs and SIGTERM."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import dockerfile
import harness
import httpx
import pytest
from typer.testing import CliRunner

from app.__main__ import app as cli

ROOT = Path(__file__).parents[1]
PASSWORD = "s3rvice-p@ss"
PATIENCE_S = 60.0


@pytest.fixture
async def fresh(new_database, wide_template) -> AsyncIterator[tuple[Any, str]]:
    """A database with the schema where the service's role needs its password, as over a network; and its address."""
    address = await new_database(wide_template)
    owner = await address.connect()
    rules = Path(await owner.fetchval("SHOW hba_file"))
    before = _put_first(rules, f"local {address.name} stepwell_service scram-sha-256\n")
    await owner.execute("SELECT pg_reload_conf()")
    await _until(lambda: _is_refused(address))
    yield address, address.service_dsn.replace("stepwell_service@", f"stepwell_service:{PASSWORD.replace('@', '%40')}@")
    _put_back(rules, before)
    await owner.execute("SELECT pg_reload_conf()")
    await owner.close()


def _put_first(rules: Path, rule: str) -> str:
    before = rules.read_text()
    rules.write_text(rule + before)
    return before


def _put_back(rules: Path, before: str) -> None:
    rules.write_text(before)


async def _is_refused(address) -> bool:
    try:
        await (await address.connect("stepwell_service")).close()
    except (asyncpg.InvalidPasswordError, asyncpg.InterfaceError):
        return True
    return False


async def _until(happened: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await happened():  # noqa: ASYNC110 - another process cannot set an event
            await asyncio.sleep(0.02)


def _health_command() -> list[str]:
    (check,) = [rest for name, rest in dockerfile.instructions() if name == "HEALTHCHECK"]
    command: list[str] = json.loads(check.partition("CMD ")[2])
    return command


async def _stepwell(*arguments: str, env: dict[str, str]) -> str:
    """A command's stdout; in this process, which has loaded everything already."""
    ran = await asyncio.to_thread(CliRunner().invoke, cli, arguments, env=env)
    assert ran.exit_code == 0, (ran.output, ran.exception)
    assert PASSWORD not in ran.output
    return ran.stdout


@asynccontextmanager
async def _serving(env: dict[str, str], log: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app", "serve", cwd=ROOT, env={**env, "STEPWELL_PORT": str(port)}, stderr=stderr
        )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_new_database_is_upgraded_served_with_keys_and_left_in_order_on_sigterm(fresh, tmp_path):
    database, service_dsn = fresh
    settings = {"DATABASE_URL": service_dsn, "STEPWELL_MIGRATION_URL": database.owner_dsn, "AUTH": "api_key"}
    assert "revision" in await _stepwell("db", "upgrade", "--set-service-password", env=settings)
    key = (await _stepwell("keys", "create", "you", env=settings)).strip()
    del settings["STEPWELL_MIGRATION_URL"]
    env = {**os.environ, **settings}
    log = tmp_path / "stderr"
    async with (
        _serving(env, log) as (process, address),
        httpx.AsyncClient(base_url=address, timeout=PATIENCE_S) as client,
    ):
        await _until(lambda: _answers(process, client))
        assert (await client.post("/api/rag/search", json={"query": "lime"})).status_code == 401
        client.headers["X-API-Key"] = key
        assert (await client.post("/api/rag/documents", json={"content": "Lime sets slowly."})).status_code == 201
        health = {**env, "STEPWELL_PORT": address.rpartition(":")[2]}
        checked = await asyncio.create_subprocess_exec(*_health_command(), env=health)
        assert await checked.wait() == 0
        answer = await _asked_while_stopping(database, process, client)
        assert (answer.status_code, len(answer.json()["results"])) == (200, 1)
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["logger"] for line in lines} >= {
        "app.serving.listening",
        "app.http.request_log",
        "uvicorn.error",
    }


async def _answers(process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> bool:
    assert process.returncode is None, "the service did not start"
    try:
        return (await client.get("/healthz")).status_code == 200
    except httpx.ConnectError:
        return False


async def _asked_while_stopping(database, process, client) -> httpx.Response:
    """The answer to a search that a lock holds up until the service was sent SIGTERM and stopped listening."""
    owner, watcher = await database.connect(), await database.connect()
    locked = owner.transaction()
    await locked.start()
    await owner.execute("LOCK TABLE stepwell.chunks IN ACCESS EXCLUSIVE MODE")
    search = asyncio.create_task(client.post("/api/rag/search", json={"query": "lime"}))

    async def waits() -> bool:
        # A transaction sees the backends as they were when it first asked for them.
        return await watcher.fetchval(harness.WAITING) > 0

    await _until(waits)
    process.send_signal(signal.SIGTERM)
    await _until(lambda: _has_stopped_listening(client.base_url.port))
    assert not search.done()
    await locked.rollback()
    await asyncio.gather(owner.close(), watcher.close())
    return await search


async def _has_stopped_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False
