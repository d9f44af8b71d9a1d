"""Warm-up opens the connections and runs the model, and a failing one does not stop the service."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from app.database import transactions
from app.search import search
from app.services import Services
from benchmarks.fake_embedder import FakeEmbedder

THEIRS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stepwell' AND datname = current_database()"
USERS = "SELECT count(*) FROM stepwell.tenants"


async def test_a_connection_is_open_for_each_turn_and_the_model_has_run(address: Any) -> None:
    watcher = await address.connect()
    before = await watcher.fetchval(THEIRS)
    embedder, database = FakeEmbedder(), transactions.connect(address.service_dsn)
    await search.warm_up(Services(database, embedder), concurrent=3)
    assert await watcher.fetchval(THEIRS) == before + 3
    assert (len(embedder.queries), database.in_use()) == (3, 0)
    assert await watcher.fetchval(USERS) == 0, "nobody has become a user"
    await database.close()
    await watcher.close()


async def test_an_unavailable_database_does_not_fail_the_warmup(caplog: pytest.LogCaptureFixture) -> None:
    away = Services(
        transactions.connect("postgresql://stepwell@/stepwell?host=/nonexistent/socket/folder"), FakeEmbedder()
    )
    with caplog.at_level(logging.WARNING):
        await search.warm_up(away, concurrent=2)
    assert "warmup_failed" in [getattr(record, "action", None) for record in caplog.records]
