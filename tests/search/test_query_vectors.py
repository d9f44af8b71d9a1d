"""A user's query is embedded once and cached for that user alone."""

import asyncio
from typing import Any

from app.models.protocols import Embedder
from app.search import hybrid_request
from app.search.hybrid_request import QueryVectors
from app.search.state import SearchContext
from app.services import Services
from benchmarks.fake_embedder import FakeEmbedder


class SlowEmbedder(FakeEmbedder):
    """An embedder that lets other callers ask before it answers."""

    async def embed_query(self, text):
        await asyncio.sleep(0.001)
        return await super().embed_query(text)


def services(embedder: Embedder, database: Any = None, **vectors: int) -> Services:
    return Services(database, embedder, states={QueryVectors: QueryVectors(**vectors)})


async def test_a_repeated_query_is_embedded_once_and_the_least_recently_used_one_is_evicted_first():
    inner = FakeEmbedder()
    ana = SearchContext(services(inner, size=2), "ana")
    for text in ("well", "Well", "well", "well ", "well", "Well"):
        assert await hybrid_request.embed(text, ana) == await FakeEmbedder().embed_query(text)
    assert inner.queries == ["well", "Well", "well ", "Well"]


async def test_a_sentence_in_capitals_is_embedded_in_lower_case_but_not_codes_and_acronyms():
    inner = FakeEmbedder()
    ana = SearchContext(services(inner), "ana")
    for text in ("WHO SIGNED THE LEASE?", "ERR_TIDE_4012", "NATO HQ", "Who signed the LEASE?"):
        await hybrid_request.embed(text, ana)
    assert inner.queries == ["who signed the lease?", "ERR_TIDE_4012", "NATO HQ", "Who signed the LEASE?"]


async def test_a_cached_or_running_query_is_not_shared_with_other_users():
    inner = SlowEmbedder(dimension=8)
    shared = services(inner)
    ana, ben = SearchContext(shared, "ana"), SearchContext(shared, "ben")
    for _ in range(2):
        await asyncio.gather(*(hybrid_request.embed("well", user) for user in (ana, ben, ana, ben)))
    assert len(inner.queries) == 2


async def test_the_size_limit_covers_all_users_together():
    inner = FakeEmbedder()
    shared = services(inner, size=2)
    for user in ("ana", "ben", "cleo", "ana"):
        await hybrid_request.embed("well", SearchContext(shared, user))
    assert len(inner.queries) == 4
