"""The 8-bit models compute exact integers, are close to the published ones, and keep their weights in a file.

canonical_minilm.json holds what sentence-transformers on PyTorch makes of the same folder, one text at a time:
SentenceTransformer(folder, device="cpu").encode(text), rounded to 7 digits; it names the versions.
"""

import json
import logging
import os
import runpy
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from app.errors import ProviderError
from app.models.local import e5, hub, int8_model, minilm
from app.runtime import configured_models
from app.settings import Settings

HERE = Path(__file__).parent
TEXTS = json.loads((HERE / "canonical_minilm.json").read_text(encoding="utf-8"))["texts"]
PACKAGE = minilm.locate_package()
MINILM = minilm.DESCRIBED
FILE = MINILM.weights
BOTH = pytest.mark.parametrize(
    ("described", "folder"), [(MINILM, PACKAGE), (e5.DESCRIBED, e5.locate_package())], ids=["minilm", "e5"]
)


@pytest.fixture(scope="module")
def content():
    return MINILM.content(PACKAGE)


@pytest.fixture(scope="module")
def model(offline_embedder):
    return offline_embedder


@pytest.fixture
def unpublished(tmp_path):
    """A folder with the tokenizer only."""
    folder = tmp_path / "package"
    folder.mkdir()
    shutil.copy(PACKAGE / "tokenizer.json", folder)
    return folder


async def vector_of(described=MINILM, folder=PACKAGE, **options):
    embedder = await int8_model.load(described, folder, threads=1, **options)
    try:
        return await embedder.embed_query("How deep is a stepwell?")
    finally:
        await embedder.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def expected(offline_embedder):
    """A vector of weights that are computed and stay in memory."""
    return await offline_embedder.embed_query("How deep is a stepwell?")


@BOTH
def test_the_committed_graph_is_that_of_the_published_weights_and_no_activations_saturate_16_bits(described, folder):
    tensors = list(int8_model.tensors(described.read(folder / described.published), described.layers))
    graph = runpy.run_path(str(HERE / "export_graphs.py"))["build_int8"](described, tensors)
    assert graph == described.graph.read_bytes()
    matrices = [tensor for name, tensor in tensors if tensor.dtype == np.int8 and name != "words.weight"]
    assert len(matrices) == 4 * described.layers
    for matrix in matrices:
        for sign in (1, -1):
            one_sign = np.maximum(sign * matrix.astype(np.int32), 0)  # 255 for these and 0 for the others is the worst
            assert (255 * (one_sign[0::2] + one_sign[1::2])).max() <= 2**15 - 1
            assert np.abs(matrix.astype(np.int32)).max() <= int8_model.GREATEST


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


async def test_weights_that_are_kept_are_used_and_others_only_if_they_are_the_published_ones(
    unpublished, content, tmp_path, expected
):
    hub.keep(content, tmp_path / FILE)
    assert await vector_of(folder=unpublished, cache=tmp_path) == expected
    with pytest.raises(ProviderError, match="does not exist"):
        await vector_of(folder=unpublished, cache=tmp_path / "other")
    (unpublished / minilm.WEIGHTS).write_bytes(b"not the published weights")
    with pytest.raises(ProviderError, match="not the published ones"):
        await vector_of(folder=unpublished)


@pytest.mark.parametrize("is_damaged", [True, False])
async def test_weights_that_are_damaged_or_missing_are_computed_again(is_damaged, content, tmp_path, expected):
    folder = tmp_path / "models"
    if is_damaged:
        hub.keep(bytes([content[0] ^ 1]) + content[1:], folder / FILE)
    assert not MINILM.is_kept(folder)
    assert await vector_of(cache=folder) == expected
    assert MINILM.is_kept(folder)
    assert [file.name for file in folder.iterdir()] == [FILE]


async def test_weights_stay_in_memory_where_the_folder_cannot_be_written(tmp_path, caplog, expected):
    (tmp_path / "file").write_text("no folder")
    with caplog.at_level(logging.INFO):
        assert await vector_of(cache=tmp_path / "file" / "models") == expected
    assert "stay in memory" in caplog.text


async def test_weights_that_a_machine_rounds_differently_are_used_and_not_kept(tmp_path, caplog, expected):
    assert await vector_of(replace(MINILM, sha256="0" * 64), cache=tmp_path) == expected
    assert "rounds the weights of minilm_int8.bin differently" in caplog.text
    assert not list(tmp_path.iterdir())


def test_processes_that_write_at_the_same_time_leave_a_whole_file_at_each_moment(content, tmp_path):
    hub.keep(content, tmp_path / FILE)
    with ThreadPoolExecutor(3) as threads:
        writing = [threads.submit(hub.keep, content, tmp_path / FILE) for _ in range(3)]
        while not all(one.done() for one in writing):
            assert MINILM.is_kept(tmp_path)
    for one in writing:
        one.result()
    assert [file.name for file in tmp_path.iterdir()] == [FILE]


def test_a_file_that_cannot_be_completed_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        hub.keep(b"weights", tmp_path / FILE)
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_another_one_writes_is_not(tmp_path):
    left, written = tmp_path / f"{FILE}.left", tmp_path / f"{FILE}.written"
    for draft in (left, written):
        draft.touch()
    os.utime(left, (0, 0))
    hub.keep(b"weights", tmp_path / FILE)
    assert {file.name for file in tmp_path.iterdir()} == {FILE, written.name}


def test_weights_are_kept_beside_the_data_of_the_embedded_server_or_in_a_folder_that_is_named(tmp_path):
    assert configured_models.computed_weights(Settings(data_dir=tmp_path)) == tmp_path / "models"
    elsewhere = {"database_url": "postgresql://db.example/stepwell"}
    assert configured_models.computed_weights(Settings(**elsewhere)) is None
    assert configured_models.computed_weights(Settings(data_dir=tmp_path, **elsewhere)) == tmp_path / "models"
