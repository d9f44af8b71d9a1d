"""The offline model embeds texts of any length and content, also side by side, and finds where tokens begin."""

import asyncio
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.models.local import int8_model, minilm, onnx_model, tokenizing


@pytest.fixture(scope="module")
def model(offline_embedder):
    return offline_embedder


async def test_more_documents_than_one_tokenizer_batch_keep_their_order(model):
    texts = [f"passage {'long ' * (number % 7)}{number}" for number in range(onnx_model.TOKENIZER_BATCH + 1)]
    vectors = await model.embed_documents(texts)
    assert len(vectors) == len(texts)
    assert [vectors[place] for place in (0, 1, -2, -1)] == [await model.embed_query(texts[p]) for p in (0, 1, -2, -1)]


@pytest.mark.parametrize(
    "text",
    ["Mörtel trocknet, unbelievable!\n\n 日本 — ﬁve 12345 " * 300, " leading\u3000space", "", "no-spaces," * 60],
    ids=["mixed", "spaces", "nothing", "one word"],
)
async def test_tokens_of_a_text_of_any_length_are_those_that_are_embedded(model, text):
    starts = model.model.token_starts(text)
    assert list(starts) == sorted(starts)
    assert not any(text[start].isspace() for start in starts)
    words = text.split()  # no token spans two words, and a word has at most a few tokens
    assert len(starts) == sum(len(encoding.ids) - 2 for encoding in model._documents.encode(words))


AWKWARD = (
    "lime", "Mortar", "un-believable!", "don't", "[SEP]", "##s", "\u0301", "か\u3099", "日本語", "ﬁ", "İ", "ß", "👍🏽",
    "\u200b", "\xad", "\x00", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", " ", "  ", "\t", "\r\n", "\n", "x" * 40,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(AWKWARD), max_size=40).map("".join))
def test_tokens_of_words_that_are_remembered_are_those_of_the_whole_text(model, text):
    tokenizer = model._documents.tokenizer
    (whole,) = tokenizer._tokenize([text])
    assert tokenizer._by_word
    assert tokenizer.starts(text) == whole


def test_a_long_text_of_words_that_occur_once_takes_little_memory(monkeypatch):
    monkeypatch.setattr(tokenizing, "WORDS", 100)
    tokenizer = tokenizing.JsonTokenizer(minilm.locate_package() / minilm.TOKENIZER, max_tokens=256)
    text = " ".join(f"w{number:x}" for number in range(10_000))
    tracemalloc.start()
    try:
        starts = tokenizer.starts(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert starts == tokenizer._tokenize([text])[0]
    assert peak < 3 * starts.itemsize * len(starts) + 2**20


async def test_words_after_the_256th_token_are_ignored(model):
    long = "word " * (model.model.max_tokens - 2)  # [CLS] and [SEP] take two
    assert await model.embed_query(long + "stepwell") == await model.embed_query(long)
    assert await model.embed_query("stepwell " + long) != await model.embed_query(long)


async def test_odd_code_points_still_give_a_unit_vector(model):
    for text in ("\ud800", "water \udfff well", "\udc00\ud83d", "\x00\x00", "\ufffe\u202e\u200b"):
        assert np.linalg.norm(await model.embed_query(text)) == pytest.approx(1, abs=1e-6)


async def test_queries_are_answered_while_a_batch_of_documents_is_running():
    embedder = await int8_model.load(minilm.DESCRIBED, minilm.locate_package(), threads=1)
    documents = asyncio.create_task(embedder.embed_documents(["a long passage about water " * 30] * 8))
    answered = 0
    while not documents.done():
        await embedder.embed_query("water")
        answered += not documents.done()
    assert answered > 8  # in the thread for documents: at most one before each of the batches
    assert len(await documents) == 8
    await embedder.aclose()


async def test_calls_cancelled_by_a_timeout_leave_the_embedder_usable(model):
    vector = await model.embed_query("lime")
    documents = asyncio.create_task(model.embed_documents(["a long passage about water " * 30] * 400))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await model.embed_query("water")
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents
    assert await model.embed_query("lime") == vector
    assert await model.embed_documents(["lime"]) == [vector]


async def test_concurrent_callers_get_the_vectors_of_their_own_texts(model):
    texts = [f"water {number}" for number in range(9)]
    alone = [await model.embed_query(text) for text in texts]
    assert await asyncio.gather(*map(model.embed_query, texts * 3)) == alone * 3
