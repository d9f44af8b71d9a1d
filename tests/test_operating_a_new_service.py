"""Tests of a service on a new database, as an operator sets it up: upgrade, keys, health check, logs and SIGTERM."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import dockerfile
import httpx
import pytest
from typer.testing import CliRunner

from app.__main__ import app as cli
from tests.faults import running_service

PASSWORD = "s3rvice-p@ss"


@pytest.fixture
async def fresh(new_database, wide_template) -> AsyncIterator[tuple[Any, str]]:
    """A database with the schema where the service's role needs its password, as over a network; and its address."""
    address = await new_database(wide_template)
    owner = await address.connect()
    rules = Path(await owner.fetchval("SHOW hba_file"))
    before = _put_first(rules, f"local {address.name} stepwell_service scram-sha-256\n")
    await owner.execute("SELECT pg_reload_conf()")
    await running_service.until(lambda: _is_refused(address))
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


async def _stepwell(*arguments: str, env: dict[str, str]) -> str:
    """A command's stdout; in this process, which has loaded everything already."""
    ran = await asyncio.to_thread(CliRunner().invoke, cli, arguments, env=env)
    assert ran.exit_code == 0, (ran.output, ran.exception)
    assert PASSWORD not in ran.output
    return ran.stdout


async def _address_behind_the_proxy_of_the_docs(client: httpx.AsyncClient) -> str:
    """The server that the tools' OpenAPI document names to a visitor of https://localhost:8443/stepwell/."""
    page = (running_service.ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    visit = {"scheme": "https", "host": "localhost", "http_host": "localhost:8443"}
    sent = {name: visit[value] for name, value in re.findall(r"proxy_set_header (\S+) \$(\w+);", page)}
    sent |= re.findall(r"proxy_set_header (X-Forwarded-Prefix) (\S+);", page)
    container = httpx.AsyncHTTPTransport(local_address="127.0.0.2")  # any address but that of the service
    async with httpx.AsyncClient(base_url=client.base_url, headers=client.headers, transport=container) as proxy:
        return (await proxy.get("/api/rag/tools/openapi.json", headers=sent)).json()["servers"][0]["url"]


async def test_a_new_database_is_upgraded_served_with_keys_and_left_in_order_on_sigterm(fresh, tmp_path):
    database, service_dsn = fresh
    settings = {"DATABASE_URL": service_dsn, "STEPWELL_MIGRATION_URL": database.owner_dsn, "AUTH": "api_key"}
    assert "revision" in await _stepwell("db", "upgrade", "--set-service-password", env=settings)
    key = (await _stepwell("keys", "create", "you", env=settings)).strip()
    del settings["STEPWELL_MIGRATION_URL"]
    log = tmp_path / "stderr"
    with log.open("wb") as stderr:
        async with running_service.process(log=stderr, **settings) as (process, client):
            await running_service.answers(process, client)
            assert (await client.post(running_service.SEARCH, json={"query": "lime"})).status_code == 401
            client.headers["X-API-Key"] = key
            stored = await client.post(running_service.DOCUMENTS, json={"content": "Lime sets slowly."})
            assert stored.status_code == 201
            assert len((await client.post(running_service.SEARCH, json={"query": "lime"})).json()["results"]) == 1
            assert (await _address_behind_the_proxy_of_the_docs(client)) == "https://localhost:8443/stepwell"
            health = {**os.environ, "STEPWELL_PORT": str(client.base_url.port)}
            checked = await asyncio.create_subprocess_exec(*dockerfile.health_check(), env=health)
            assert await checked.wait() == 0
            process.terminate()
            assert await asyncio.wait_for(process.wait(), running_service.PATIENCE_S) == 0
    loggers = {json.loads(line)["logger"] for line in log.read_text().splitlines()}
    assert loggers >= {"app.serving.listening", "app.http.request_log", "uvicorn.error"}
