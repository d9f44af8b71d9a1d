"""The offline model returns the vectors of its reference implementation, and fails with ProviderError.

canonical_minilm.json holds what sentence-transformers on PyTorch makes of the same folder, one text at a time:
SentenceTransformer(folder, device="cpu").encode(text), rounded to 7 digits; it names the versions.
"""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import shutil
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import ProviderError
from app.models.local import minilm, model_folder, onnx_model, tokenizing
from app.models.local.model_folder import Overrides

HERE = Path(__file__).parent
CANONICAL = json.loads((HERE / "canonical_minilm.json").read_text(encoding="utf-8"))["texts"]
TEXTS = [entry["text"] for entry in CANONICAL]
VECTORS = np.array([entry["vector"] for entry in CANONICAL])
# Rounding, and the order in which two libraries add floats, make 2e-7; even an epsilon of 1e-7 would make 3e-6.
TOLERANCE = 2e-6


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model():
    embedder = await minilm.load()
    yield embedder
    await embedder.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def published(tmp_path_factory):
    """The published weights of 32 bits, in a folder as sentence-transformers lays it out."""
    folder = tmp_path_factory.mktemp("models") / minilm.MODEL.name
    shutil.copytree(minilm.packaged(), folder)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(runpy.run_path(str(HERE / "export_graphs.py"))["build"]())
    (folder / "model.safetensors").rename(folder / "onnx" / "model.safetensors")
    embedder = model_folder.load_embedder(folder, Overrides(), threads=None)
    assert embedder.model == minilm.MODEL
    yield embedder
    await embedder.aclose()


def apart(got, expected):
    return np.abs(np.array(got) - np.array(expected)).max()


async def test_queries_agree_with_the_reference_implementation(published):
    for text, vector in zip(TEXTS, VECTORS, strict=True):
        assert apart(await published.embed_query(text), vector) < TOLERANCE, text[:40]


async def test_documents_of_mixed_length_agree_with_the_reference_and_keep_their_order(published):
    assert apart(await published.embed_documents(TEXTS), VECTORS) < TOLERANCE
    assert apart(await published.embed_documents(TEXTS[::-1]), VECTORS[::-1]) < TOLERANCE


async def test_more_documents_than_one_tokenizer_batch_keep_their_order(model):
    texts = [f"passage {number}" for number in range(onnx_model.TOKENIZER_BATCH + 1)]
    vectors = await model.embed_documents(texts)
    assert len(vectors) == len(texts)
    for place in (0, 1, -2, -1):
        assert apart(vectors[place], await model.embed_query(texts[place])) < TOLERANCE


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


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(AWKWARD), max_size=40).map("".join))
def test_tokens_of_words_that_are_remembered_are_those_of_the_whole_text(model, text):
    offsets = model._documents.tokenizer._starts
    (whole,) = offsets._tokenize([text])
    assert offsets._by_word
    assert offsets.starts(text) == whole


def test_a_long_text_of_words_that_occur_once_takes_little_memory(model, monkeypatch):
    monkeypatch.setattr(tokenizing, "WORDS", 100)
    offsets = tokenizing.TokenOffsets(model._documents.tokenizer._offsets, by_word=True)
    text = " ".join(f"w{number:x}" for number in range(20_000))
    tracemalloc.start()
    try:
        starts = offsets.starts(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert starts == offsets._tokenize([text])[0]
    assert peak < 3 * starts.itemsize * len(starts) + 2**20


async def test_words_after_the_256th_token_are_ignored(model):
    long = "word " * (model.model.max_tokens - 2)  # [CLS] and [SEP] take two
    assert await model.embed_query(long + "stepwell") == await model.embed_query(long)
    assert apart(await model.embed_query("stepwell " + long), await model.embed_query(long)) > 1e-3


async def test_a_question_is_nearest_to_the_passage_that_answers_it(model):
    passages = await model.embed_documents(["Bread bakes at 230 degrees.", "Stepwells store rain water below ground."])
    scores = np.array(passages) @ np.array(await model.embed_query("where was rain kept in dry India?"))
    assert scores[1] > scores[0] + 0.2


@pytest.mark.parametrize("text", ["\ud800", "water \udfff well", "\udc00\ud83d", "\x00\x00", "\ufffe\u202e\u200b"])
async def test_odd_code_points_still_give_a_unit_vector(model, text):
    assert np.linalg.norm(await model.embed_query(text)) == pytest.approx(1, abs=1e-6)


async def test_queries_are_answered_while_a_batch_of_documents_is_running():
    embedder = await minilm.load(threads=1)
    documents = asyncio.create_task(embedder.embed_documents(["a long passage about water " * 30] * 16))
    answered = 0
    while not documents.done():
        await embedder.embed_query("water")
        answered += not documents.done()
    assert answered > 16  # in the thread for documents: at most one before each of the 8 batches
    assert len(await documents) == 16
    await embedder.aclose()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority for each thread")
async def test_documents_yield_to_everything_else():
    def niceness(_text):
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    embedder = await minilm.load(threads=2)
    own = niceness("")
    assert await embedder._documents.run(niceness, "") == min(own + onnx_model.DOCUMENTS_NICENESS, 19)
    assert await embedder._queries.run(niceness, "") == own
    await embedder.aclose()


async def test_as_many_queries_as_threads_are_computed_at_once(monkeypatch):
    embedder = await minilm.load(threads=2)
    together, infer = threading.Barrier(2, timeout=30), onnx_model.OnnxModel.infer
    monkeypatch.setattr(onnx_model.OnnxModel, "infer", lambda self, *args: (together.wait(), infer(self, *args))[1])
    first, second = await asyncio.gather(embedder.embed_query(TEXTS[0]), embedder.embed_query(TEXTS[0]))
    assert first == second
    await embedder.aclose()


async def test_calls_cancelled_by_a_timeout_leave_the_embedder_usable(published):
    documents = asyncio.create_task(published.embed_documents(["a long passage about water " * 30] * 400))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await published.embed_query("water")
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents
    assert apart(await published.embed_query(TEXTS[0]), VECTORS[0]) < TOLERANCE
    assert apart(await published.embed_documents(TEXTS[:1]), VECTORS[:1]) < TOLERANCE


async def test_concurrent_callers_get_the_vectors_of_their_own_texts(published):
    answers = await asyncio.gather(*(published.embed_query(text) for text in TEXTS * 3))
    assert apart(answers, np.concatenate([VECTORS] * 3)) < TOLERANCE


async def test_a_closed_embedder_raises_provider_error():
    embedder = await minilm.load(threads=1)
    await embedder.aclose()
    await embedder.aclose()
    with pytest.raises(ProviderError, match="closed"):
        await embedder.embed_query("water")
    with pytest.raises(ProviderError, match="closed"):
        await embedder.embed_documents(["water"])


async def test_weights_that_differ_from_the_published_ones_are_rejected(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"not the published weights")
    with pytest.raises(ProviderError, match="not the published ones"):
        await minilm.load(folder=tmp_path)


async def test_a_folder_without_the_model_is_a_provider_error_with_the_fix(tmp_path):
    with pytest.raises(ProviderError, match="does not exist"):
        await minilm.load(folder=tmp_path)
