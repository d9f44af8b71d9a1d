"""The counts of queries and passages in flight rise while the model works and fall again, also after a failure."""

from __future__ import annotations

import pytest

from app import errors
from app.providers.caching import CachingEmbedder
from benchmarks.fake_embedder import FakeEmbedder


class Observer(FakeEmbedder):
    """Records the numbers in flight during a call."""

    counted: CachingEmbedder
    seen: tuple[int, int]

    async def embed_query(self, text):
        self.seen = (self.counted.queries_in_flight, self.counted.passages_in_flight)
        return await super().embed_query(text)

    async def embed_documents(self, texts):
        self.seen = (self.counted.queries_in_flight, self.counted.passages_in_flight)
        if "broken" in texts:
            raise errors.ProviderError("down")
        return await super().embed_documents(texts)


@pytest.fixture
def observer():
    embedder = Observer()
    embedder.counted = CachingEmbedder(embedder)
    return embedder


async def test_queries_and_passages_are_counted_while_they_are_embedded(observer):
    counted = observer.counted
    assert counted.model == observer.model
    assert await counted.for_user("ana").embed_query("lime") == await FakeEmbedder().embed_query("lime")
    assert observer.seen == (1, 0)
    assert await counted.embed_documents(["a", "b"]) == await FakeEmbedder().embed_documents(["a", "b"])
    assert observer.seen == (0, 2)
    assert (counted.queries_in_flight, counted.passages_in_flight) == (0, 0)


async def test_a_failure_leaves_nothing_in_flight(observer):
    with pytest.raises(errors.ProviderError):
        await observer.counted.embed_documents(["broken", "b", "c"])
    assert observer.seen == (0, 3)
    assert observer.counted.passages_in_flight == 0
