"""Tests that the time of a search does not show whether another user sent the same query."""

from __future__ import annotations

from typing import Any

import harness
import httpx
import pytest

from app.database.transactions import Database
from app.models.base import CachingEmbedder
from app.settings import Settings
from benchmarks.fake_embedder import FakeEmbedder

QUERY = "is the merger with Gannet off?"
LISTS = [{"name": "a", "hits": [{"chunk_id": "x"}]}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/rag/search", {"query": QUERY}),
        ("/api/rag/search/two-pass", {"query": QUERY}),
        ("/api/rag/search/multihop", {"query": QUERY}),
        ("/api/rag/rerank", {"query": QUERY, "rerank": "cosine", "lists": LISTS}),
    ],
)
async def test_a_query_is_embedded_separately_for_every_user(
    database: Database, path: str, body: dict[str, Any]
) -> None:
    model = FakeEmbedder()
    services = await harness.services(database, CachingEmbedder(model))
    async with harness.running(Settings(auth="api_key"), services) as app:
        computed = []
        for user in (ana := harness.new_user(), harness.new_user(), ana):
            key = await harness.create_key(database, user)
            async with harness.client(app, Authorization=f"Bearer {key}") as client:
                before = len(model.queries)
                assert (await _asks(client, path, body)) == 200
                computed.append(len(model.queries) - before)
    assert computed[0] == computed[1] > 0
    assert computed[2] == 0


async def _asks(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> int:
    return (await client.post(path, json=body)).status_code
