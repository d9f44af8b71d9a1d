"""Tests of AUTH=local_token: only requests with the data folder's token are served."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import harness
import pytest
from example_app import assert_problem

from app import errors
from app.database.transactions import Database
from app.runtime import local_token
from app.settings import Settings

STATS = "/api/rag/stats"


async def test_requests_need_the_token(database: Database, tmp_path: Path) -> None:
    token = local_token.load(tmp_path)
    services = replace(await harness.services(database), local_token=token)
    async with harness.calling(Settings(auth="local_token"), services) as client:
        assert (await client.get(STATS, headers={"Authorization": f"Bearer {token}"})).status_code == 200
        for wrong in (f"Bearer {token}x", f"Bearer {token[:-1]}", "Bearer é", f"Basic {token}", "Bearer ", ""):
            answer = await client.get(STATS, headers={"Authorization": wrong.encode()})
            assert_problem(answer, 401, "unauthorized")
        assert_problem(await client.get(STATS), 401, "unauthorized")
        assert_problem(await client.get("/metrics"), 401, "unauthorized")
        assert_problem(await client.post("/api/rag/documents", json={"content": "x"}), 401, "unauthorized")
        assert (await client.get("/healthz")).status_code == 200
        assert_problem(await client.get(STATS, headers={"Host": "evil.example"}), 421, "host_not_allowed")


async def test_an_empty_token_is_rejected(database: Database) -> None:
    services = await harness.services(database)
    async with harness.calling(Settings(auth="local_token"), services, Authorization="Bearer ") as client:
        assert_problem(await client.get(STATS), 401, "unauthorized")


def test_the_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    previous = os.umask(0)
    try:
        with ThreadPoolExecutor(8) as threads:
            tokens = set(threads.map(lambda _: local_token.load(folder), range(40)))
    finally:
        os.umask(previous)
    assert tokens == {local_token.load(folder)}
    assert [path.name for path in folder.iterdir()] == [local_token.FILE_NAME]
    assert stat.S_IMODE((folder / local_token.FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "mode"), [(None, 0o640), (None, 0o604), ("", 0o600), ("x" * 5_000, 0o600), ("swl_short", 0o600)]
)
def test_a_token_that_others_can_read_or_that_is_none_is_refused(tmp_path, content, mode) -> None:
    local_token.load(tmp_path)
    path = tmp_path / local_token.FILE_NAME
    if content is not None:
        path.write_text(content)
    path.chmod(mode)
    with pytest.raises(errors.StepwellError, match="delete it"):
        local_token.load(tmp_path)


def test_the_token_needs_loopback() -> None:
    with pytest.raises(ValueError, match="loopback only"):
        Settings(auth="local_token", host="0.0.0.0")
