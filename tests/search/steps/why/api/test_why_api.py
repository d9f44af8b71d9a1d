"""The endpoint explains a passage that the key may see, and refuses anything else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import harness
import httpx
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.database.transactions import Database

WHY = "/api/rag/search/why"
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
async def one(new_caller: Callable[..., Awaitable[Caller]]) -> Caller:
    """A user with a note of each of two teams."""
    caller = await new_caller("search", "write")
    for team in ("tide", "reef"):
        await caller.add(f"The {team} team uses lime mortar.", f"{team}.md", metadata={"team": team})
    return caller


async def explain(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post(WHY, json={"query": "lime mortar", **body})


@pytest.mark.parametrize(
    ("extra", "field"),
    [({}, "body"), ({"uri": "a", "chunk_id": NOBODY}, "body"), ({"uri": "tide.md", "cursor": "abc"}, "cursor")],
)
async def test_a_request_names_one_passage_and_no_page(one: Caller, extra: dict[str, str], field: str) -> None:
    response = await explain(one.client, **extra)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, field)


async def test_only_the_user_and_a_key_that_sees_the_passage_explain_it(
    one: Caller, app: FastAPI, owning: Database, new_caller: Callable[..., Awaitable[Caller]]
) -> None:
    ids = (await explain(one.client, uri="tide.md")).json()
    passages = [{"chunk_id": ids["chunk_id"]}, {"document_id": ids["document_id"]}, {"uri": "tide.md"}]
    other, writer = await new_caller("search"), await new_caller("write")
    key = await harness.create_key_as(owning, one.user_id, "search", filters={"metadata": {"team": "reef"}})
    async with harness.client(app, Authorization=f"Bearer {key}") as restricted:
        for passage in passages:
            assert (await explain(restricted, **passage)).status_code == 404
            assert (await explain(other.client, **passage)).status_code == 404
            assert (await explain(writer.client, **passage)).status_code == 403
        seen = (await explain(restricted, uri="reef.md")).json()
    assert (seen["found"], seen["rank"], seen["legs"]["vector"]["rank"]) == (True, 1, 1)
