"""A user's query is embedded once and cached for that user alone, and every vector has length 1."""

from __future__ import annotations

import asyncio
import math

import pytest

from app import errors
from app.models import query_cache, unit_vectors
from benchmarks.fake_embedder import FakeEmbedder


class SlowEmbedder(FakeEmbedder):
    """An embedder that lets other callers ask before it answers."""

    async def embed_query(self, text):
        await asyncio.sleep(0.001)
        return await super().embed_query(text)


async def test_a_repeated_query_is_embedded_once_and_the_least_recently_used_one_is_evicted_first():
    inner = FakeEmbedder()
    cached = query_cache.CachingEmbedder(inner, size=2).for_user("ana")
    for text in ("well", "Well", "well", "well ", "well", "Well"):
        assert await cached.embed_query(text) == await FakeEmbedder().embed_query(text)
    assert inner.queries == ["well", "Well", "well ", "Well"]


async def test_a_cached_or_running_query_is_not_shared_with_other_users():
    inner = SlowEmbedder(dimension=8)
    shared = query_cache.CachingEmbedder(inner)
    ana, ben = shared.for_user("ana"), shared.for_user("ben")
    for _ in range(2):
        await asyncio.gather(*(embedder.embed_query("well") for embedder in (ana, ben, ana, ben)))
    assert len(inner.queries) == 2
    await shared.embed_query("well")
    assert len(inner.queries) == 3


async def test_the_size_limit_covers_all_users_together():
    inner = FakeEmbedder()
    shared = query_cache.CachingEmbedder(inner, size=2)
    for user in ("ana", "ben", "cleo", "ana"):
        await shared.for_user(user).embed_query("well")
    assert len(inner.queries) == 4


@pytest.mark.parametrize("length", [5e-324, 1e-300, 1e-25, 1.0, 1e38, 1e308])
def test_a_vector_of_any_length_is_scaled_to_length_1(length: float) -> None:
    unit = unit_vectors.unit_vector([length] * 384)
    assert math.hypot(*unit) == pytest.approx(1.0)
    assert unit == pytest.approx([384**-0.5] * 384)
    (same,) = unit_vectors.unit_arrays([[length] * 384], count=1, dimension=384)
    assert (same.typecode, same.tolist()) == ("f", pytest.approx(unit))


def test_the_direction_is_kept() -> None:
    assert unit_vectors.unit_vector([3e30, -4e30]) == pytest.approx([0.6, -0.8])
    assert unit_vectors.unit_vector([1.0, 1e-300]) == [1.0, 1e-300]


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [math.inf, 1.0], [math.nan, 1.0], [1.0, math.nan]])
def test_a_vector_without_a_direction_is_rejected(vector: list[float]) -> None:
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_vector(vector)
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_arrays([vector, vector], count=2, dimension=len(vector))


@pytest.mark.parametrize("computed", [[[1.0, 0.0]], [[1.0, 0.0], [1.0]], [[1.0, 0.0]] * 3])
def test_vectors_of_another_number_or_dimension_are_rejected(computed: list[list[float]]) -> None:
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_vectors(computed, count=2, dimension=2)
    with pytest.raises(errors.BadEmbedding):
        unit_vectors.unit_arrays(computed, count=2, dimension=2)
