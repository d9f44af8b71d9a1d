"""Tests of searches with the caller's own vector, with and without a text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import harness
import pytest
from api_caller import Caller
from fastapi import FastAPI

from app.config import Settings
from app.shapes import Vector
from app.store.connection.transactions import Database
from benchmarks.fake_embedder import FakeEmbedder

Newcomer = Callable[..., Awaitable[Caller]]


class CountingEmbedder(FakeEmbedder):
    """An embedder that counts the queries that it embeds."""

    count = 0

    async def embed_query(self, text: str) -> Vector:
        """The fake embedder's vector."""
        self.count += 1
        return await super().embed_query(text)


@pytest.fixture(scope="module")
def embedder() -> CountingEmbedder:
    """What the application embeds with."""
    return CountingEmbedder()


@pytest.fixture(scope="module")
async def app(database: Database, embedder: CountingEmbedder) -> AsyncIterator[FastAPI]:
    """The application with that embedder."""
    async with harness.running(Settings(auth="api_key"), await harness.services(database, embedder)) as running:
        yield running


@pytest.fixture(scope="module")
async def reader(new_caller: Newcomer) -> Caller:
    """A user with two notes."""
    caller = await new_caller("search", "write")
    await caller.add("# Mortar\n\nBelow the third landing we use lime mortar.", "lime")
    await caller.add("# Buoys\n\nThe Gannet reports every eleven minutes.", "buoys")
    return caller


async def test_a_vector_replaces_that_of_the_text_and_is_not_embedded(
    reader: Caller, embedder: CountingEmbedder
) -> None:
    vector = await embedder.embed_query("The Gannet reports every eleven minutes.")
    embedded = embedder.count
    both = await reader.search("lime", vector=[0.25 * component for component in vector], explain=True)
    assert embedder.count == embedded
    by_uri = {hit["uri"]: hit for hit in both["results"]}
    assert (by_uri["buoys"]["explain"]["vector_rank"], by_uri["lime"]["explain"]["text_rank"]) == (1, 1)
    assert by_uri["buoys"]["vector_score"] <= 1
    assert both["explain"]["query_type"] == "keyword"
