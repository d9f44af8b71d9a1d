"""A closed database leaves no connection open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from app import errors
from app.database import pools, transactions

PATIENCE_S = 10
OPEN = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'stepwell_service'"


async def test_a_connection_in_use_is_closed_after_its_transaction_and_no_other_is_opened(
    address: Any, owner: Any
) -> None:
    database = transactions.connect(address.service_dsn)
    async with database.shared() as used:
        await database.close()
        with pytest.raises(errors.DatabaseUnavailable):
            async with database.shared():
                pass
        assert await used.scalar(sa.text("SELECT 1")) == 1
        assert await owner.fetchval(OPEN) == 1
    await _all_end(owner)


async def test_connections_for_whose_orderly_end_no_time_is_left_are_aborted(
    address: Any, owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "DISPOSE_S", 0.0)
    database = transactions.connect(address.service_dsn, pool_size=3)
    async with database.shared(), database.shared(), database.shared():
        assert await owner.fetchval(OPEN) == 3
    await database.close()
    await _all_end(owner)


async def _all_end(owner: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await owner.fetchval(OPEN):  # noqa: ASYNC110 - the backend ends after its client
            await asyncio.sleep(0.01)
