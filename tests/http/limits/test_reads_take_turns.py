"""Tests that ordinary reads take turns by user: every route and tool that reads without searching."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from api_caller import Caller
from example_app import assert_problem
from openapi_operations import OPERATIONS

from app.agents import registry, search_tools
from app.database.transactions import Database
from app.http import admission
from app.jobs import store as jobs

READS = [name for name, (method, path, _) in OPERATIONS.items() if method == "get" and path.startswith("/api/rag/")]
TOOLS = [
    tool
    for tool in registry.list_all()
    if tool.scope == "search" and tool not in search_tools.TOOLS and not tool.is_optional
]
Newcomer = Callable[..., Awaitable[Caller]]


async def test_every_operation_that_only_reads_waits_for_a_turn_of_its_user(busy: Caller, new_caller: Newcomer) -> None:
    other = await new_caller("search", "write")
    some_id = str(uuid4())
    for name in sorted(set(READS) - {"list_tools", "describe_tools"}):
        path = OPERATIONS[name][1]
        for parameter in ("document_id", "entity_id", "source_id", "job_id"):
            path = path.replace(f"{{{parameter}}}", some_id)
        assert_problem(await busy.client.get(path), 503, "overloaded")
        assert (await other.client.get(path)).status_code in (200, 404), name
    assert (await busy.search("lime"))["results"] == []
    assert (await busy.client.delete("/api/rag/documents", params={"uri": "x"})).status_code == 404
    assert (await busy.client.get("/api/rag/tools")).status_code == 200


async def test_tools_that_only_read_wait_for_a_turn_too(busy: Caller, new_caller: Newcomer) -> None:
    other, some_id = await new_caller("search"), str(uuid4())
    for tool in TOOLS:
        arguments = {"document_id": some_id} if "get" in tool.name else {}
        path = f"/api/rag/tools/{tool.name}"
        assert_problem(await busy.client.post(path, json=arguments), 503, "overloaded")
        assert (await other.client.post(path, json=arguments)).status_code in (200, 404), tool.name


async def test_the_streams_of_a_user_are_counted_before_they_begin(app, new_caller, database, monkeypatch) -> None:
    monkeypatch.setattr(app.state.reads, "_timeout_s", 60.0)
    ana, ben = await new_caller("search", "write"), await new_caller("search", "write")
    async with _followed(ana, database, admission.STREAMS_OF_USER + 5) as following:
        async with asyncio.timeout(30):
            while sum(one.done() for one in following) < 5:
                await asyncio.wait([one for one in following if not one.done()], return_when=asyncio.FIRST_COMPLETED)
        for refused in (one for one in following if one.done()):
            assert_problem(refused.result(), 503, "overloaded")
        async with _followed(ben, database, 1) as others:
            pass
        assert [one.result().status_code for one in others] == [200]
    assert sorted(one.result().status_code for one in following) == [200] * admission.STREAMS_OF_USER + [503] * 5
    assert app.state.job_streams.running == 0


@asynccontextmanager
async def _followed(caller: Caller, database: Database, streams: int) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Streams of a job that is cancelled after the block, with which they end."""
    async with database.writing(caller.user_id) as writing:
        job_id = await jobs.add(writing, "unknown_to_workers", {})
    path = f"/api/rag/jobs/{job_id}"
    following = [asyncio.create_task(caller.client.get(f"{path}/events")) for _ in range(streams)]
    yield following
    assert (await caller.client.post(f"{path}/cancel")).status_code == 200
    await asyncio.gather(*following)
