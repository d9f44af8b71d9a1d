"""A model in a folder is used as its published settings say, and a folder that cannot be used is an error."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_models
from small_models import token_vectors, unit

from app.errors import ProviderError
from app.models import protocols
from app.models.local import model_folder
from app.models.local.model_folder import Overrides
from app.models.local.onnx_embedder import OnnxEmbedder
from app.runtime import configured_models
from app.settings import Settings


@pytest.fixture
async def load(tmp_path: Path) -> Any:
    """A function that loads a small embedder with further files or overrides; closed after the test."""
    opened: list[OnnxEmbedder] = []

    def loaded(overrides: Overrides = Overrides(), **files: Any) -> OnnxEmbedder:
        folder = small_models.embedder(tmp_path / "small", **files)
        opened.append(model_folder.load_embedder(folder, overrides, threads=1))
        return opened[-1]

    yield loaded
    for embedder in opened:
        await embedder.aclose()


def _pooling(flag: str) -> dict[str, Any]:
    return {"1_Pooling/config": {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": False, flag: True}}


@pytest.mark.parametrize(
    ("published", "pool"),
    [
        (_pooling("pooling_mode_mean_tokens"), lambda tokens: tokens.mean(axis=0)),
        (_pooling("pooling_mode_cls_token"), lambda tokens: tokens[0]),
        (_pooling("pooling_mode_lasttoken"), lambda tokens: tokens[-1]),
        ({"1_Pooling/config": {"embedding_dimension": 8, "pooling_mode": "cls"}}, lambda tokens: tokens[0]),
    ],
    ids=["mean", "first", "last", "newer files"],
)
async def test_tokens_are_pooled_as_published_whatever_the_padding(load, published, pool) -> None:
    embedder = load(**published)
    texts = ["lime", "lime mortar water well", "water lime"]
    expected = [unit(pool(token_vectors(*text.split()))) for text in texts]
    assert np.abs(np.array(await embedder.embed_documents(texts)) - expected).max() < 1e-6
    assert np.abs(np.array(await embedder.embed_query(texts[1])) - expected[1]).max() < 1e-6


async def test_published_prompts_are_put_before_queries_and_passages(load: Callable[..., OnnxEmbedder]) -> None:
    prompts = {"config_sentence_transformers": {"prompts": {"query": "query: ", "passage": "passage: "}}}
    embedder = load(**prompts)
    query = unit(token_vectors("query", ":", "lime").mean(axis=0))
    passage = unit(token_vectors("passage", ":", "lime").mean(axis=0))
    assert np.allclose(await embedder.embed_query("lime"), query, atol=1e-6)
    assert np.allclose((await embedder.embed_documents(["lime"]))[0], passage, atol=1e-6)
    default = {"config_sentence_transformers": {"prompts": {"x": "water "}, "default_prompt_name": "x"}}
    assert np.allclose(await load(**default).embed_query("lime"), unit(token_vectors("water", "lime").mean(axis=0)))


async def test_settings_replace_the_published_prompts_and_limits(load: Callable[..., OnnxEmbedder]) -> None:
    prompts = {"config_sentence_transformers": {"prompts": {"query": "query: "}}}
    embedder = load(Overrides(query_prefix="water ", document_prefix="well ", max_tokens=3), **prompts)
    query, passage = (unit(token_vectors(prefix).mean(axis=0)) for prefix in ("water", "well"))
    assert np.allclose(await embedder.embed_query("lime"), query, atol=1e-6)
    assert np.allclose((await embedder.embed_documents(["lime"]))[0], passage, atol=1e-6)
    assert embedder.model.max_tokens == 3


async def test_the_published_maximum_of_tokens_truncates(load: Callable[..., OnnxEmbedder]) -> None:
    embedder = load(sentence_bert_config={"max_seq_length": 4})
    assert embedder.model.max_tokens == 4
    assert await embedder.embed_query("lime mortar water well") == await embedder.embed_query("lime mortar")
    assert load(tokenizer_config={"model_max_length": 5}).model.max_tokens == 5
    assert load(tokenizer_config={"model_max_length": 10**30}).model.max_tokens == model_folder.DEFAULT_MAX_TOKENS


async def test_a_smaller_dimension_truncates_and_the_length_stays_one_and_a_larger_one_is_rejected(load) -> None:
    with pytest.raises(ProviderError, match="8 dimensions, not 9") as raised:
        load(Overrides(dimension=9))
    assert raised.value.fault == "vectors"
    embedder = load(Overrides(dimension=4))
    vector = await embedder.embed_query("lime")
    assert embedder.model.dimension == 4
    assert np.allclose(vector, unit(token_vectors("lime").mean(axis=0)[:4]), atol=1e-6)


async def test_texts_are_lower_cased_if_the_model_wants_it(load: Callable[..., OnnxEmbedder]) -> None:
    assert await load().embed_query("LIME") != await load().embed_query("lime")
    embedder = load(sentence_bert_config={"do_lower_case": True})
    assert await embedder.embed_query("LIME") == await embedder.embed_query("lime")
    assert list(embedder.model.token_starts("İ LIME  mortar")) == [0, 2, 8]


async def test_a_model_gets_all_the_usual_inputs(load: Callable[..., OnnxEmbedder]) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    assert await load(inputs=inputs).embed_query("lime") == await load().embed_query("lime")


async def test_a_closed_embedder_raises_provider_error(load: Callable[..., OnnxEmbedder]) -> None:
    embedder = load()
    for _ in range(2):
        await embedder.aclose()
    with pytest.raises(ProviderError, match="closed"):
        await embedder.embed_query("water")
    with pytest.raises(ProviderError, match="closed"):
        await embedder.embed_documents(["water"])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (_pooling("pooling_mode_max_tokens"), "pooling_mode_max_tokens"),
        (_pooling("pooling_mode_other"), "pooling_mode_other"),
        ({"1_Pooling/config": {**small_models.POOLING, "pooling_mode_mean_tokens": False}}, "nothing"),
        ({"modules": [*small_models.MODULES, {"path": "2_Dense", "type": "x.Dense"}]}, "Dense"),
        ({"inputs": ("input_ids", "past_key_values.0.key")}, "past_key_values"),
        (
            {
                "1_Pooling/config": {**small_models.POOLING, "include_prompt": False},
                "config_sentence_transformers": {"prompts": {"query": "query: "}},
            },
            "prefixes",
        ),
    ],
)
def test_a_model_that_would_be_used_wrongly_is_rejected(load, files, message) -> None:
    with pytest.raises(ProviderError, match=message):
        load(**files)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: shutil.rmtree(folder), "is no folder"),
        (lambda folder: (folder / "model.onnx").unlink(), "no model.onnx"),
        (lambda folder: (folder / "model.onnx").write_bytes(b"<html>"), "not a complete model"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json"),
        (lambda folder: (folder / "modules.json").write_text("{"), "modules.json cannot be read"),
        (lambda folder: shutil.rmtree(folder / "1_Pooling"), "does not state its dimension"),
    ],
)
def test_a_folder_without_a_usable_file_is_an_error_that_names_it(tmp_path, damage, message) -> None:
    folder = small_models.embedder(tmp_path / "small")
    damage(folder)
    with pytest.raises(ProviderError, match=message):
        model_folder.load_embedder(folder, Overrides(), threads=1)


async def test_the_settings_choose_the_folder(tmp_path: Path) -> None:
    settings = Settings(embedder="onnx", embedder_model=str(small_models.embedder(tmp_path / "small")), embedder_dim=6)
    assert configured_models.embedding(settings) == ("small", 6)
    async with configured_models.open_embedder(settings) as embedder:
        assert (embedder.model.name, len(await embedder.embed_query("lime"))) == ("small", 6)
    with pytest.raises(ValueError, match="STEPWELL_EMBEDDER_MODEL"):
        Settings(embedder="onnx")


@pytest.mark.parametrize("labels", [1, 2])
async def test_a_cross_encoder_in_a_folder_scores_passages(tmp_path: Path, labels: int) -> None:
    folder = small_models.cross_encoder(tmp_path / "cross", labels=labels)
    passages = ["mortar", "lime lime lime", "water well", *["lime"] * 20, "mortar " * 30]
    async with configured_models.open_reranker(Settings(reranker="onnx", reranker_model=str(folder))) as reranker:
        assert reranker.name == "cross"
        found = await reranker.scores("lime", passages)
        assert await reranker.scores("lime", []) == []
    first = token_vectors("lime").sum(axis=0)
    logits = [first @ token_vectors(*text.split())[1:].sum(axis=0) for text in passages[:3]]
    expected = [1 / (1 + np.exp(-logit * labels)) for logit in logits]
    assert np.allclose(found[:3], expected, atol=1e-6)
    assert found[3:-1] == pytest.approx([found[3]] * 20)
    assert all(0 <= score <= 1 for score in found)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "model.onnx").unlink(),
        lambda folder: (folder / "tokenizer.json").write_text("[1"),
        lambda folder: (folder / "tokenizer_config.json").write_text("[]"),
        lambda folder: shutil.rmtree(folder),
    ],
)
async def test_a_cross_encoder_that_cannot_be_loaded_has_an_open_breaker_and_fails(tmp_path: Path, spoil: Any) -> None:
    folder = small_models.cross_encoder(tmp_path / "cross")
    spoil(folder)
    async with configured_models.open_reranker(Settings(reranker="onnx", reranker_model=str(folder))) as reranker:
        assert (reranker.name, protocols.calls_of(reranker).breaker.state) == ("cross", "open")
        with pytest.raises(ProviderError, match="cross"):
            await reranker.scores("lime", ["mortar"])


async def test_a_model_that_is_no_cross_encoder_is_rejected(tmp_path: Path) -> None:
    folder = small_models.cross_encoder(tmp_path / "classes", labels=3)
    with pytest.raises(ProviderError, match="no score"):
        model_folder.load_reranker(folder, name="classes", threads=1)
    with pytest.raises(ValueError, match="STEPWELL_RERANKER_MODEL"):
        Settings(reranker="onnx")
