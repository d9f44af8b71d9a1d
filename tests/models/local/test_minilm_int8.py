"""The 8-bit model computes exact integers, is close to the published one, and keeps its weights in a file."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from app.errors import ProviderError
from app.maintenance.commands import doctor
from app.models.local import minilm, minilm_files, minilm_int8
from app.runtime import models
from app.settings import Settings

HERE = Path(__file__).parent
TEXTS = json.loads((HERE / "canonical_minilm.json").read_text(encoding="utf-8"))["texts"]
PACKAGE = minilm_files.packaged()


@pytest.fixture(scope="module")
def tensors():
    return dict(minilm_int8.tensors(PACKAGE / minilm_files.WEIGHTS))


@pytest.fixture(scope="module")
def content():
    return minilm_int8.content(PACKAGE / minilm_files.WEIGHTS)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model():
    embedder = await minilm.load(precision="int8")
    yield embedder
    await embedder.aclose()


@pytest.fixture
def unpublished(tmp_path):
    """A folder with the tokenizer only."""
    folder = tmp_path / "package"
    folder.mkdir()
    shutil.copy(PACKAGE / "tokenizer.json", folder)
    return folder


async def vector_of(*, precision="int8", **options):
    embedder = await minilm.load(precision=precision, **options)
    try:
        return embedder.model.precision, await embedder.embed_query("How deep is a stepwell?")
    finally:
        await embedder.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def expected():
    """The precision and a vector of weights that are computed and stay in memory."""
    return await vector_of()


def test_no_activations_saturate_16_bits(tensors):
    matrices = [tensor for name, tensor in tensors.items() if tensor.dtype == np.int8 and name != "words.weight"]
    assert len(matrices) == 4 * minilm_int8.LAYERS
    for matrix in matrices:
        for sign in (1, -1):
            one_sign = np.maximum(sign * matrix.astype(np.int32), 0)  # 255 for these and 0 for the others is the worst
            assert (255 * (one_sign[0::2] + one_sign[1::2])).max() <= 2**15 - 1
            assert np.abs(matrix.astype(np.int32)).max() <= minilm_int8.GREATEST


async def test_vectors_are_close_to_the_published_ones(model):
    cosines = [
        np.dot(await model.embed_query(entry["text"]), entry["vector"]) for entry in TEXTS if entry["text"].strip()
    ]
    assert min(cosines) > 0.99
    assert np.mean(cosines) > 0.995


async def test_a_vector_does_not_depend_on_the_other_texts(model):
    texts = [f"{entry['text']} {number}" for entry in TEXTS for number in range(3)]
    many = await model.embed_documents(texts)
    few = await model.embed_documents(texts[3:5])
    assert many[3:5] == few
    assert [await model.embed_query(text) for text in texts[3:5]] == few


async def test_weights_that_are_kept_are_used_without_the_published_ones(unpublished, content, tmp_path, expected):
    minilm_int8.keep(content, tmp_path)
    assert await vector_of(folder=unpublished, cache=tmp_path) == expected
    with pytest.raises(ProviderError, match="renew the files"):
        await minilm.load(folder=unpublished, precision="int8", cache=tmp_path / "other")


@pytest.mark.parametrize("damage", ["a byte", "cut", "none"])
async def test_weights_that_are_damaged_or_missing_are_computed_again(damage, content, tmp_path, expected):
    folder = tmp_path / "models"
    if damage != "none":
        changed = bytes([content[0] ^ 1]) + content[1:] if damage == "a byte" else content[:-64]
        minilm_int8.keep(changed, folder)
    assert not minilm_int8.is_kept(folder)
    assert await vector_of(cache=folder) == expected
    assert minilm_int8.is_kept(folder)
    assert [file.name for file in folder.iterdir()] == [minilm_int8.FILE_NAME]


async def test_weights_stay_in_memory_where_the_folder_cannot_be_written(tmp_path, caplog, expected):
    (tmp_path / "file").write_text("no folder")
    with caplog.at_level(logging.INFO):
        assert await vector_of(cache=tmp_path / "file" / "models") == expected
    assert "stay in memory" in caplog.text


async def test_weights_that_a_machine_rounds_differently_give_way_to_the_published_ones(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(minilm_int8, "SHA256", "0" * 64)
    assert await vector_of(cache=tmp_path) == await vector_of(precision="float32")
    assert "runs with float32" in caplog.text
    assert not list(tmp_path.iterdir())


def test_processes_that_write_at_the_same_time_leave_a_whole_file_at_each_moment(content, tmp_path):
    minilm_int8.keep(content, tmp_path)
    with ThreadPoolExecutor(3) as threads:
        writing = [threads.submit(minilm_int8.keep, content, tmp_path) for _ in range(6)]
        while not all(one.done() for one in writing):
            assert minilm_int8.is_kept(tmp_path)
    for one in writing:
        one.result()
    assert [file.name for file in tmp_path.iterdir()] == [minilm_int8.FILE_NAME]


def test_a_file_that_cannot_be_completed_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        minilm_int8.keep(b"weights", tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_another_one_writes_is_not(tmp_path):
    left, written = tmp_path / f"{minilm_int8.FILE_NAME}.left", tmp_path / f"{minilm_int8.FILE_NAME}.written"
    for draft in (left, written):
        draft.touch()
    os.utime(left, (0, 0))
    minilm_int8.keep(b"weights", tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {minilm_int8.FILE_NAME, written.name}


def test_the_digest_is_that_of_the_computed_weights(content):
    assert hashlib.sha256(content).hexdigest() == minilm_int8.SHA256


async def test_the_model_runs_with_8_bits_and_doctor_says_so(tmp_path):
    async with models.open_embedder(Settings(data_dir=tmp_path)) as embedder:
        assert await doctor.embed(embedder) == "all-MiniLM-L6-v2 (int8) returns 384 dimensions"
    assert minilm_int8.is_kept(tmp_path / "models")


def test_weights_are_kept_beside_the_data_of_the_embedded_server_or_in_a_folder_that_is_named(tmp_path):
    assert models.computed_weights(Settings(data_dir=tmp_path)) == tmp_path / "models"
    elsewhere = {"database_url": "postgresql://db.example/stepwell"}
    assert models.computed_weights(Settings(**elsewhere)) is None
    assert models.computed_weights(Settings(data_dir=tmp_path, **elsewhere)) == tmp_path / "models"
