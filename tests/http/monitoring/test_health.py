"""Tests of the liveness and readiness endpoints."""

import asyncio
from dataclasses import replace

import harness
import pytest
from example_app import assert_problem
from fastapi import FastAPI

from app import __version__
from app.database import transactions
from app.database.transactions import Database
from app.errors import DatabaseUnavailable
from app.http import health
from app.settings import Settings

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""


@pytest.mark.usefixtures("patient_readiness")
async def test_a_healthy_service_reports_ready_without_a_key(app: FastAPI) -> None:
    async with harness.client(app) as client:
        alive, ready = await client.get("/healthz"), await client.get("/readyz")
        for path in ("/healthz", "/readyz"):  # `wget --spider` and many load balancers send HEAD
            assert (await client.head(path)).status_code == 200
    assert (alive.status_code, alive.json()) == (200, {"status": "ok", "version": __version__})
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "database": "writable", "standby": None, "providers": {}},
    )


async def test_a_database_of_another_model_is_not_ready(database: Database) -> None:
    services = replace(await harness.services(database), expected_schema=("another-model", 384))
    async with harness.calling(Settings(), services) as client:
        assert_problem(await client.get("/readyz"), 503, "schema_mismatch")


@pytest.mark.usefixtures("patient_readiness")
async def test_readiness_is_checked_once_in_two_seconds(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CACHE_S", 60.0)  # two seconds may pass in the test on a busy machine
    good = await harness.services(database)
    lost = replace(good, db=transactions.connect("postgresql://stepwell@/stepwell?host=/nonexistent/socket/folder"))
    ready, unready = health.ReadinessCheck(), health.ReadinessCheck()
    await asyncio.gather(*(ready(good) for _ in range(5)))
    await ready(lost)
    with pytest.raises(DatabaseUnavailable):
        await unready(lost)
    with pytest.raises(DatabaseUnavailable):
        await unready(good)
    await lost.db.close()
