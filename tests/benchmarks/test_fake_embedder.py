"""The embedder for tests is deterministic and behaves like a model."""

from __future__ import annotations

import math

import pytest

from app.errors import ProviderError
from benchmarks.fake_embedder import FakeEmbedder


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


async def test_the_same_text_gives_the_same_vector_in_every_process():
    vector = await FakeEmbedder(dimension=4).embed_query("Stepwell")
    assert vector == await FakeEmbedder(dimension=4).embed_query("Stepwell")
    # SHAKE-256 of "stepwell": four little-endian int16, doubled, plus one, normalised.
    whole = [2739, -16821, 47525, 53285]
    assert vector == pytest.approx([number / math.hypot(*whole) for number in whole], abs=1e-12)


async def test_a_query_and_a_document_of_the_same_text_have_the_same_vector():
    embedder = FakeEmbedder()
    assert await embedder.embed_documents(["a well", "a step"]) == [
        await embedder.embed_query("a well"),
        await embedder.embed_query("a step"),
    ]


@pytest.mark.parametrize("text", ["stepwell", "", "   ", "?!", "🚀", "\ud800", "well " * 1000])
async def test_every_text_gives_a_unit_vector_of_the_chosen_dimension(text):
    vector = await FakeEmbedder(dimension=768).embed_query(text)
    assert len(vector) == 768
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-9)


async def test_texts_with_words_in_common_are_closer_than_texts_without():
    embedder = FakeEmbedder()
    asked = await embedder.embed_query("deep stepwell")
    near, far = await embedder.embed_documents(["A DEEP shaft", "baked bread"])
    assert cosine(asked, near) > 0.3  # one word of two, one of three: 1 / √6 and chance
    assert abs(cosine(asked, far)) < 0.2


async def test_every_call_fails_while_failing_is_set():
    embedder = FakeEmbedder(failing=True)
    with pytest.raises(ProviderError):
        await embedder.embed_query("well")
    with pytest.raises(ProviderError):
        await embedder.embed_documents(["well"])
    embedder.failing = False
    assert len(await embedder.embed_query("well")) == 384


async def test_it_lists_the_texts_that_it_embedded():
    embedder = FakeEmbedder()
    await embedder.embed_query("q")
    await embedder.embed_documents(["a", "b"])
    assert (embedder.queries, embedder.documents) == (["q"], ["a", "b"])


async def test_the_model_has_the_given_name_and_dimension():
    model = FakeEmbedder(dimension=12, name="twelve").model
    assert (model.name, model.dimension) == ("twelve", 12)
