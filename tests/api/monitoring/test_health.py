"""Tests of the liveness and readiness endpoints."""

from __future__ import annotations

from dataclasses import replace

import harness
import pytest
from example_app import assert_problem
from fastapi import FastAPI

from app import __version__
from app.config import Settings
from app.store.connection import transactions
from app.store.connection.transactions import Database

NOWHERE = "postgresql://stepwell@/stepwell?host=/nonexistent/socket/folder"


@pytest.mark.usefixtures("patient_readiness")
async def test_a_healthy_service_reports_ready_without_a_key(app: FastAPI) -> None:
    async with harness.client(app) as client:
        alive, ready = await client.get("/healthz"), await client.get("/readyz")
    assert (alive.status_code, alive.json()) == (200, {"status": "ok", "version": __version__})
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "database": "writable", "standby": None, "providers": {}},
    )


async def test_without_a_database_the_process_is_live_and_not_ready_and_searches_are_503(database: Database) -> None:
    lost = transactions.connect(NOWHERE)
    services = replace(await harness.services(database), db=lost)
    async with harness.running(Settings(), services) as app, harness.client(app) as client:
        assert (await client.get("/healthz")).status_code == 200
        for response in (
            await client.get("/readyz"),
            await client.post("/api/rag/search", json={"query": "lime"}),
            await client.get("/api/rag/documents"),
            await client.get("/api/rag/stats"),
        ):
            assert_problem(response, 503, "database_unavailable")
            assert int(response.headers["retry-after"]) > 0
    await lost.close()


async def test_a_database_of_another_model_is_not_ready(database: Database) -> None:
    services = replace(await harness.services(database), expected_schema=("another-model", 384))
    async with harness.running(Settings(), services) as app, harness.client(app) as client:
        assert_problem(await client.get("/readyz"), 500, "schema_mismatch")
