"""Opens all-MiniLM-L6-v2, the embedder that needs neither a network nor an API key nor torch.

`minilm.onnx` and `minilm_int8.onnx` hold only the operators (see tests/models/local/export_minilm.py). Weights of 32
bits are byte ranges of the published model.safetensors, so one hash verifies all of them; those of 8 bits are computed
from it. Both are one model: their vectors can be compared.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from app.errors import ProviderError
from app.models import base
from app.models.local import minilm_files, minilm_int8, onnx_model
from app.models.local.onnx_embedder import EmbeddingSteps, OnnxEmbedder
from app.models.local.onnx_model import OnnxModel

log = logging.getLogger(__name__)

Precision = Literal["int8", "float32"]
MODEL = base.EmbeddingModel(name="all-MiniLM-L6-v2", dimension=384, max_tokens=256, unrelated=0.035)
NAME = "The offline embedding model"
GRAPH = Path(__file__).with_name("minilm.onnx")
INT8_GRAPH = Path(__file__).with_name("minilm_int8.onnx")


@dataclass(frozen=True, slots=True)
class _Source:
    """A graph and its weights: their folder, or the content of their files."""

    precision: Precision
    graph: Path
    weights: Path | Mapping[str, bytes]


async def load(
    *,
    threads: int | None = None,
    folder: Path | None = None,
    precision: Precision = "int8",
    cache: Path | None = None,
) -> OnnxEmbedder:
    """Load the model off the event loop.

    `threads` (default: the usable cores, at most 4) is how many inferences run at once, each in one thread: the model
    is so small that threads of one inference wait for each other for a sixth to a third of their time. `folder` holds
    model.safetensors and tokenizer.json (default: the installed package's). Weights of 8 bits are kept in the folder
    `cache`, in memory if it is None or cannot be written. Raises ProviderError when a file is missing or the weights
    are not the published ones, ValueError for a number below 1.
    """
    if threads is not None and threads < 1:
        raise ValueError("threads start at 1")
    opened = folder or minilm_files.packaged(), threads or onnx_model.usable_cores()
    return await asyncio.to_thread(_open, *opened, precision, cache)


def _open(folder: Path, threads: int, precision: Precision, cache: Path | None) -> OnnxEmbedder:
    try:
        weights = folder / minilm_files.WEIGHTS
        source = _int8(weights, cache) if precision == "int8" else _float32(weights)
        tokenizer = onnx_model.open_tokenizer(folder / minilm_files.TOKENIZER, max_tokens=MODEL.max_tokens)
        session = onnx_model.open_session(source.graph.read_bytes(), threads=1, weights=source.weights)
        # The activations of a batch would share a scale, so a vector would depend on the other texts.
        one_by_one = source.precision == "int8"
        graph = OnnxModel(NAME, session, tokenizer, concurrency=threads, one_by_one=one_by_one)
    except ProviderError:
        raise
    except Exception as error:  # the libraries' exceptions have no other common base
        raise ProviderError(f"The offline embedding model cannot be loaded: renew the files in {folder}.") from error
    return OnnxEmbedder(graph, replace(MODEL, precision=source.precision), EmbeddingSteps(output="vectors"))


def _float32(weights: Path) -> _Source:
    _verify(weights)
    return _Source("float32", GRAPH, weights.parent)


def _int8(weights: Path, cache: Path | None) -> _Source:
    """Weights of 8 bits: those that are kept, else computed and, if possible, kept."""
    if cache is not None and minilm_int8.is_kept(cache):
        return _Source("int8", INT8_GRAPH, cache)
    _verify(weights)
    content = minilm_int8.content(weights)
    if hashlib.sha256(content).hexdigest() != minilm_int8.SHA256:
        log.warning("the embedding model runs with float32: this machine rounds its 8-bit weights differently")
        return _Source("float32", GRAPH, weights.parent)
    if cache is not None:
        try:
            minilm_int8.keep(content, cache)
            return _Source("int8", INT8_GRAPH, cache)
        except OSError as error:
            log.info("the model's 8-bit weights stay in memory: %s cannot be written: %s", cache, error.strerror)
    return _Source("int8", INT8_GRAPH, {minilm_int8.FILE_NAME: content})


def _verify(weights: Path) -> None:
    with weights.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != minilm_files.WEIGHTS_SHA256:
            raise ProviderError(f"The offline model's weights are not the published ones: renew {weights}.")
