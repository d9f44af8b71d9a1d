"""A request without a valid key is rejected, and no key is stored or logged."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import harness
import pytest
from api_caller import Caller
from example_app import assert_problem
from fastapi import FastAPI

from app.access import keys
from app.access.store import keys as stored_keys
from app.database.transactions import Database
from app.http.auth import MAX_GUESSES


async def _status(app: FastAPI, headers: dict[str, str], **params: str) -> int:
    async with harness.client(app, **headers) as client:
        return (await client.get("/api/rag/stats", params=params)).status_code


async def test_a_key_in_the_query_string_is_ignored(app: FastAPI, caller: Caller) -> None:
    for name in ("api_key", "key", "x-api-key", "X-API-Key", "authorization", "access_token", "token"):
        assert await _status(app, {}, **{name: caller.key}) == 401


@pytest.mark.parametrize(
    "spoil",
    [
        lambda key: key[:-1],
        lambda key: key[:-1] + ("a" if key[-1] != "a" else "b"),
        lambda key: key + "a",
        lambda key: key.upper(),
        lambda key: "sw_" + "0" * 12 + key[15:],
        lambda key: key.replace("sw_", "sk_"),
        lambda key: "x",
        lambda key: "x" * 10_000,
        lambda key: "%00",
    ],
)
async def test_a_wrong_key_is_401_whatever_is_wrong_with_it(app, caller, spoil) -> None:
    bodies = []
    for presented in (spoil(caller.key), "sw_" + "f" * 12 + "_" + "f" * 43):
        for header in ({"Authorization": f"Bearer {presented}"}, {"X-API-Key": presented}):
            async with harness.client(app, **header) as client:
                response = await client.get("/api/rag/stats")
            problem = assert_problem(response, 401, "unauthorized")
            bodies.append({name: value for name, value in problem.items() if name != "request_id"})
    assert all(body == bodies[0] for body in bodies)


async def test_a_revoked_key_and_an_expired_one_are_401_at_once(app, database, caller) -> None:
    assert await _status(app, {"X-API-Key": caller.key}) == 200
    async with harness.as_owner(database) as owner:
        await keys.revoke(caller.key, db=owner, actor="test")
    assert await _status(app, {"X-API-Key": caller.key}) == 401
    expired = await harness.create_key(database, harness.new_user(), lifetime=-timedelta(seconds=1))
    living = await harness.create_key(database, harness.new_user(), lifetime=timedelta(hours=1))
    assert await _status(app, {"X-API-Key": expired}) == 401
    assert await _status(app, {"X-API-Key": living}) == 200


async def test_neither_keys_nor_their_secrets_are_stored_readably(database, caller, owner) -> None:
    secret = caller.key.split("_", 2)[2]
    rows = await owner.fetch("SELECT k::text AS row FROM stepwell.api_keys AS k WHERE user_id = $1", caller.user_id)
    assert len(rows) == 1
    assert secret not in rows[0]["row"]
    async with harness.as_owner(database) as as_owner, as_owner.shared() as owner:
        (listed,) = await stored_keys.list_keys(owner, user_id=caller.user_id)
    assert secret not in repr(listed)


async def test_no_log_line_holds_a_key_or_a_text(caller: Caller, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="app")
    await caller.add("Canary text zyxwv.")
    await caller.search("canary question zyxwv")
    await caller.client.get("/api/rag/documents/7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11")
    logged = " ".join(
        f"{record.getMessage()} {vars(record)}" for record in caplog.records if record.name.startswith("app")
    )
    assert logged
    assert caller.key not in logged
    assert "zyxwv" not in logged


async def test_guessed_keys_share_few_lookups_and_a_key_that_was_valid_does_not_wait_for_them(
    app: FastAPI, caller: Caller, database: Database, owner: Any
) -> None:
    assert (await caller.client.get("/api/rag/stats")).status_code == 200
    guesses = [f"sw_{number:012x}_" + "0" * 43 for number in range(20)]

    async def reached(count: int) -> None:
        async with asyncio.timeout(30):
            while database.in_use() != count:  # noqa: ASYNC110 - the pool sets no event
                await asyncio.sleep(0)

    async with harness.client(app) as client:
        async with owner.transaction():
            await owner.execute("LOCK TABLE stepwell.api_keys IN ACCESS EXCLUSIVE MODE")
            asked = [asyncio.create_task(client.get("/api/rag/stats", headers={"X-API-Key": key})) for key in guesses]
            await reached(MAX_GUESSES)
            valid = [asyncio.create_task(caller.client.get("/api/rag/stats")) for _ in range(5)]
            await reached(MAX_GUESSES + 1)  # one look-up for all five
        assert {(await one).status_code for one in asked} == {401}
        assert {(await one).status_code for one in valid} == {200}
