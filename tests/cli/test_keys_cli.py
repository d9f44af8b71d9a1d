"""`stepwell keys` works as the database's owner, and a running service keeps no owner's session open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import given
import pytest

from app import runtime
from app.config import Settings
from app.main import create_app
from app.store import embedded
from app.store.embedded import EmbeddedPostgres

Stepwell = Callable[..., Any]
SESSIONS = """
SELECT usename::text, count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY usename
"""


@pytest.mark.parametrize("auth", ["none", "api_key"])
async def test_an_embedded_service_keeps_no_superusers_session_open(
    data_dir: Path, auth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_up = asyncio.Event()
    whole = runtime.naming.backfill

    async def noted(*args: Any, **options: Any) -> int:
        read = await whole(*args, **options)
        caught_up.set()
        return read

    monkeypatch.setattr(runtime.naming, "backfill", noted)
    app = create_app(Settings(data_dir=data_dir, auth=auth))
    dsn = EmbeddedPostgres(data_dir).dsn(user=embedded.OWNER, driver="postgresql")
    async with app.router.lifespan_context(app):
        await asyncio.wait_for(caught_up.wait(), 30)
        async with given.calling(app) as client:
            assert (await client.get("/readyz")).status_code == 200
        looking = await asyncpg.connect(dsn)
        try:
            found = {row["usename"] for row in await looking.fetch(SESSIONS)}
        finally:
            await looking.close()
    assert found == {embedded.SERVICE_ROLE}


def test_keys_are_not_managed_through_the_services_address(
    stepwell: Stepwell, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stepwell("keys", "list").code == 0
    server = EmbeddedPostgres(data_dir)
    monkeypatch.setenv("DATABASE_URL", server.service_dsn)
    for command in (("keys", "list"), ("keys", "create", "ana"), ("keys", "revoke", "0123456789ab")):
        ran = stepwell(*command)
        assert ran.code == 2
        assert "(STEPWELL_MIGRATION_URL)" in ran.err
    monkeypatch.setenv("STEPWELL_MIGRATION_URL", server.owner_dsn)
    assert stepwell("keys", "create", "ana").out.startswith("sw_")
